/* cli.c: what every command shares: errors, the end of the output, the clock. */
#include "cli.h"
#include "abut/abut.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

int cli_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("abut: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return CLI_BAD_INPUT;
}

int cli_library_error(void) { return cli_error("%s", abut_error_message()); }

int cli_flush(void) {
  if (fflush(stdout) || ferror(stdout)) return cli_error("standard output: %s", strerror(errno));
  return CLI_OK;
}

double cli_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
