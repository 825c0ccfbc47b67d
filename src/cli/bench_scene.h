/* bench_scene.h: the benchmark scenes and their regimes: a batch that has reached one, and its next steps. */
#ifndef ABUT_CLI_BENCH_SCENE_H
#define ABUT_CLI_BENCH_SCENE_H
#include "array.h"
#include "job.h"
#include "progress.h"

enum { BENCH_STEPS = 50 };

typedef struct regime {
  const char *scene, *name;
  double kick; /* m/s, rad/s: uniform noise on every velocity at every step */
  int random;  /* actuators follow uniform random controls */
} regime;

/* What is measured kernel by kernel. */
enum { KERNEL_REGIMES = 2 };
extern const regime kernel_regimes[KERNEL_REGIMES];

/* A scene that has reached its regime. */
typedef struct fixture {
  job job;
  const regime *regime;
  array ctrl; /* [N, STEPS, nu] or [1, 1, nu] */
  abut_snapshot *snapshot;
  progress *bar;
} fixture;

/* The scene's file: compiled where there is one, as it loads without MuJoCo. */
void scene_path(const cli_options *options, const char *scene, char path[512]);
/* The library's options of step lines. */
abut_options scene_options(const cli_options *options, int64_t envs, int threads);

/* Settles, runs BENCH_STEPS in the regime and takes the snapshot. recorded: steps that a record has room for.
 */
int fixture_open(fixture *out, const cli_options *options, const regime *chosen, int64_t envs, int threads,
                 int64_t recorded, progress *bar);
void fixture_close(fixture *out);
/* Back to the snapshot. */
int fixture_restore(fixture *in);
/* The BENCH_STEPS after it. */
int fixture_run(fixture *in, int record, abut_rollout_result *result);

#endif
