/* program.c: what readers of the program need of main.c: messages are made, but not shown. */
#include "fuzz.h"
#include "cli/cli.h"
#include "abut/abut.h"
#include <stdarg.h>
#include <stdio.h>

int cli_error(const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return CLI_BAD_INPUT;
}

int cli_library_error(void) { return cli_error("%s", abut_error_message()); }

int cli_flush(void) { return CLI_OK; }

/* Results go to standard output, and nobody reads them. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return freopen("/dev/null", "w", stdout) ? 0 : 1;
}
