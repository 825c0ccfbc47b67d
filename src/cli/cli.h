/* cli.h: what every command shares: its entry point, exit codes and errors. */
#ifndef ABUT_CLI_H
#define ABUT_CLI_H
#include "abut/abut.h"
#include "options.h"
#include <stdint.h>

/* Exit codes. */
enum { CLI_OK = 0, CLI_CHECK_FAILED = 1, CLI_BAD_INPUT = 2 };

/* Ends a noun of messages after a number: "1 environment", "2 environments". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Prints one sentence on standard error; returns CLI_BAD_INPUT. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with the library's message. */
int cli_library_error(void);
/* CLI_OK if everything written to standard output arrived. */
int cli_flush(void);
/* Monotonic time (s). */
double cli_now(void);

int cli_info(const cli_options *options);
int cli_convert(const cli_options *options);
int cli_rollout(const cli_options *options);
int cli_gradient(const cli_options *options);
int cli_optimise(const cli_options *options);
int cli_fit(const cli_options *options);
int cli_query(const cli_options *options);
int cli_manifold(const cli_options *options);
int cli_bench(const cli_options *options);

#endif
