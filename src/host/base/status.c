/* status.c: what went wrong last, per thread. */
#include "host/base/status.h"
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[4096];

abut_status fail_with(abut_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return status;
}

const char *abut_error_message(void) { return message; }

const char *abut_version(void) { return ABUT_VERSION; }
