/* main.c: the abut program: parses the command line and runs one command. */
#include "cli.h"
#include "progress.h"

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
  case COMMAND_FIT:
    return cli_fit(&options);
  case COMMAND_QUERY:
    return cli_query(&options);
  case COMMAND_MANIFOLD:
    return cli_manifold(&options);
  default:
    return cli_bench(&options);
  }
}
