/* work.c: abut_work: what each kernel has to do in the scenes that `abut bench` times kernel by kernel,
 * counted by running them with numbers that count. Takes the options of `abut bench`; prints one line per
 * kernel:
 *
 *   name additions multiplications divisions roots bytes
 *
 * all per environment and step. Additions include subtractions. */
#include "cli/bench_scene.h"
#include "host/batch.h"
#include "host/profile.h"
#include "tally.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { ENVIRONMENTS = 16, NAME_SIZE = 96 };

static int kernel_wanted(const cli_options *o, const regime *r, int stage, char name[NAME_SIZE]) {
  snprintf(name, NAME_SIZE, "kernel.%s.%s.%s.%s", r->scene, r->name, cli_choice("dtype", o->dtype),
           stage_names[stage]);
  return fnmatch(o->filter, name, 0) == 0;
}

static void print_kernels(const cli_options *o, const regime *r) {
  const double env_steps = (double)ENVIRONMENTS * BENCH_STEPS;
  char name[NAME_SIZE];
  for (int s = 0; s < STAGE_COUNT; s++) {
    const tally *t = &tally_stage[s];
    if (t->calls && kernel_wanted(o, r, s, name))
      printf("%s %.6g %.6g %.6g %.6g %.6g\n", name, (double)t->additions / env_steps,
             (double)t->multiplications / env_steps, (double)t->divisions / env_steps,
             (double)t->roots / env_steps, (double)t->bytes / env_steps);
  }
}

static int count(const cli_options *o, const regime *r, progress *bar) {
  fixture at;
  char name[NAME_SIZE];
  int wanted = 0;
  for (int s = 0; s < STAGE_COUNT; s++) wanted |= kernel_wanted(o, r, s, name);
  if (!wanted) return CLI_OK;
  const abut_kernels *kernels = o->dtype == ABUT_F64 ? &counted_kernels_f64 : &counted_kernels_f32;
  int code = fixture_open(&at, o, r, ENVIRONMENTS, 1, 1, bar);
  if (code == CLI_OK && batch_use_kernels(at.job.batch, kernels) != ABUT_OK) code = cli_library_error();
  if (code == CLI_OK) code = fixture_restore(&at);
  memset(tally_stage, 0, sizeof tally_stage);
  if (code == CLI_OK) code = fixture_run(&at, 0, NULL);
  fixture_close(&at);
  if (code == CLI_OK) print_kernels(o, r);
  return code;
}

int main(int argc, char **argv) {
  char *arguments[16] = {argv[0], "bench"};
  cli_options options;
  progress bar;
  if (argc > 14) return cli_error("%d arguments: more than abut bench has options", argc - 1);
  for (int i = 1; i < argc; i++) arguments[i + 1] = argv[i];
  int code = cli_parse(argc + 1, arguments, &options);
  if (code >= 0) return code;
  options.device = ABUT_DEVICE_CPU;
  progress_begin(&bar, "work");
  code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < KERNEL_REGIMES; i++) code = count(&options, &kernel_regimes[i], &bar);
  progress_end(&bar);
  return code == CLI_OK ? cli_flush() : code;
}
