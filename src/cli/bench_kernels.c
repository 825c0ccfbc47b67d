/* bench_kernels.c: lines of single kernels on a GPU, and of what its card can do at best. */
#include "bench.h"
#include "host/measure/measure_roof.h"
#include "host/measure/measure_stages.h"
#include <stdio.h>
#include <string.h>

enum { RUNS = 3, ENOUGH = 10 /* s */ };

int bench_roof_lines(bench *in) {
  gpu_roofs roofs;
  char names[4][NAME_SIZE];
  const char *const kinds[4] = {"memory", "fma", "division", "root"};
  int wanted = 0;
  for (int i = 0; i < 4; i++) {
    snprintf(names[i], NAME_SIZE, "roof.%s.%s.cuda", kinds[i], cli_choice("dtype", in->options->batch.dtype));
    wanted += bench_wanted(in, names[i]);
  }
  if (!wanted) return CLI_OK;
  if (measure_roofs(0, in->options->batch.dtype, &roofs) != ABUT_OK) return cli_library_error();
  const double values[4] = {roofs.memory, roofs.fma, roofs.division, roofs.root};
  for (int i = 0; i < 4; i++)
    if (bench_wanted(in, names[i])) bench_line(in, names[i], 1e-9 * values[i], i ? "G/s" : "GB/s");
  return CLI_OK;
}

/* kernel.SCENE.REGIME.DTYPE.STAGE.cuda.n<envs> */
static void kernel_name(const bench *in, const regime *line, const char *stage, char name[NAME_SIZE]) {
  snprintf(name, NAME_SIZE, "kernel.%s.%s.%s.%s%s", line->scene, line->name,
           cli_choice("dtype", in->options->batch.dtype), stage, in->suffix);
}

static int any_wanted(bench *in, const regime *line) {
  char name[NAME_SIZE];
  int wanted = 0;
  for (int s = 0; stage_name(ABUT_METHOD_IMPLICIT, s); s++) {
    kernel_name(in, line, stage_name(ABUT_METHOD_IMPLICIT, s), name);
    wanted |= bench_wanted(in, name);
  }
  return wanted;
}

/* Means over RUNS runs of the fixture's steps, or fewer where they take long, after one that wakes the card's
 * clocks. */
static int profile_runs(fixture *at, stage_profile *mean) {
  int code = CLI_OK, runs = 0;
  const double start = cli_now();
  memset(mean, 0, sizeof *mean);
  for (int i = -1; code == CLI_OK && (i < 1 || (i < RUNS && cli_now() - start < ENOUGH)); i++) {
    stage_profile one;
    code = fixture_restore(at);
    batch_profile(at->job.batch, &one);
    if (code == CLI_OK) code = fixture_run(at, 0, NULL);
    batch_profile(at->job.batch, NULL);
    if (code != CLI_OK || i < 0) continue;
    for (int s = 0; s < MAX_STAGES; s++) {
      mean->seconds[s] += one.seconds[s];
      mean->idle[s] += one.idle[s];
      mean->launches[s] = one.launches[s]; /* the same in every run */
    }
    mean->gap += one.gap;
    runs++;
  }
  for (int s = 0; s < MAX_STAGES && runs > 0; s++) {
    mean->seconds[s] /= runs;
    mean->idle[s] /= runs;
  }
  if (runs > 0) mean->gap /= runs;
  return code;
}

static int run_kernel_lines(bench *in, const regime *line) {
  fixture at;
  stage_profile p;
  char name[NAME_SIZE], of[NAME_SIZE + 16];
  if (!any_wanted(in, line)) return CLI_OK;
  int code = fixture_open(&at, in->options, line, in->envs, 1, 1, &in->bar);
  if (code == CLI_OK) code = profile_runs(&at, &p);
  for (int s = 0; code == CLI_OK && stage_name(ABUT_METHOD_IMPLICIT, s); s++) {
    kernel_name(in, line, stage_name(ABUT_METHOD_IMPLICIT, s), name);
    if (p.launches[s] == 0 || !bench_wanted(in, name)) continue;
    bench_line(in, name, 1e6 * p.seconds[s] / BENCH_STEPS, "us/step");
    snprintf(of, sizeof of, "launches.%s", name);
    bench_line(in, of, (double)p.launches[s] / BENCH_STEPS, "1/step");
    snprintf(of, sizeof of, "idle.%s", name);
    bench_line(in, of, 1e6 * p.idle[s], "us");
  }
  if (code == CLI_OK) {
    kernel_name(in, line, "gap", name);
    bench_line(in, name, 1e6 * p.gap, "us");
  }
  fixture_close(&at);
  return code;
}

int bench_kernel_lines(bench *in) {
  int code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < KERNEL_REGIMES; i++) code = run_kernel_lines(in, &kernel_regimes[i]);
  return code;
}
