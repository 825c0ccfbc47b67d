/* main.c: the abut program: parses the command line and runs one command. */
#include "cli.h"
#include "progress.h"
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

int main(int argc, char **argv) {
  cli_options options;
  int code = cli_parse(argc, argv, &options);
  if (code >= 0) return code;
  progress_catch_interrupt();
  switch (options.command) {
  case COMMAND_INFO:
    return cli_info(&options);
  case COMMAND_CONVERT:
    return cli_convert(&options);
  case COMMAND_ROLLOUT:
    return cli_rollout(&options);
  case COMMAND_GRADIENT:
    return cli_gradient(&options);
  case COMMAND_OPTIMISE:
    return cli_optimise(&options);
  case COMMAND_QUERY:
    return cli_query(&options);
  default:
    return cli_bench(&options);
  }
}
