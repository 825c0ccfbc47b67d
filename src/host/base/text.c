/* text.c: lines of text that grow. */
#include "host/base/text.h"
#include "host/base/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

abut_status text_line(text_lines *lines, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  char *text = length < 0 ? NULL : realloc(lines->text, lines->length + (size_t)length + 2);
  if (text) {
    lines->text = text;
    vsnprintf(text + lines->length, (size_t)length + 1, format, again);
    lines->length += (size_t)length + 1;
    text[lines->length - 1] = '\n';
    text[lines->length] = 0;
  }
  va_end(again);
  va_end(args);
  return text ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "notes: out of memory");
}
