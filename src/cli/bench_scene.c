/* bench_scene.c: scenes settle, reach their regime, and run on from a snapshot of that moment. */
#include "bench_scene.h"
#include "ctrl.h"
#include <string.h>
#include <unistd.h>

static const double TIMESTEP = 0.01, SETTLE_TIME = 2.0, FRICTION = 0.5; /* s, s, - */

const regime kernel_regimes[KERNEL_REGIMES] = {{"stack5", "kicked", 0.05, 0}, {"ant_box", "random", 0, 1}};

void scene_path(const cli_options *options, const char *scene, char path[512]) {
  snprintf(path, 512, "%s/%s.abut", options->scenes, scene);
  if (access(path, R_OK)) snprintf(path, 512, "%s/%s.xml", options->scenes, scene);
}

abut_options scene_options(const cli_options *options, int64_t envs, int threads) {
  abut_options out = abut_default_options();
  out.device = options->batch.device == ABUT_DEVICE_CUDA ? ABUT_DEVICE_CUDA : ABUT_DEVICE_CPU;
  out.nenv = envs;
  out.threads = threads;
  out.dtype = options->batch.dtype;
  out.timestep = TIMESTEP;
  out.friction = FRICTION;
  return out;
}

int fixture_run(fixture *in, int record, abut_rollout_result *result) {
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = BENCH_STEPS;
  args.record = record;
  args.ctrl = array_tensor(&in->ctrl);
  args.kick = in->regime->kick;
  args.kick_seed = 1;
  if (abut_rollout(in->job.batch, &args, result, progress_report, in->bar) != ABUT_OK)
    return cli_library_error();
  return progress_interrupted() ? cli_error("interrupted") : CLI_OK;
}

/* Settles one copy, at rest every other would do the same, and gives its state to all. */
static int settle(fixture *out, const abut_options *options) {
  array qpos = {0}, qvel = {0};
  abut_options single = *options;
  abut_batch *batch = NULL;
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = (int64_t)(SETTLE_TIME / TIMESTEP + 0.5);
  single.nenv = 1;
  single.device = ABUT_DEVICE_CPU;
  int code = array_create(&qpos, "qpos", options->dtype, 2, (int64_t[]){1, out->job.sizes.nq});
  if (code == CLI_OK)
    code = array_create(&qvel, "qvel", options->dtype, 2, (int64_t[]){1, out->job.sizes.nv});
  if (code == CLI_OK && (abut_batch_create(out->job.model, &single, &batch) != ABUT_OK ||
                         abut_rollout(batch, &args, NULL, progress_report, out->bar) != ABUT_OK ||
                         abut_batch_get_state(batch, NULL, &qpos.tensor, &qvel.tensor) != ABUT_OK ||
                         abut_batch_set_state(out->job.batch, NULL, &qpos.tensor, &qvel.tensor) != ABUT_OK))
    code = cli_library_error();
  abut_batch_destroy(batch);
  array_destroy(&qpos);
  array_destroy(&qvel);
  return code;
}

static int make_ctrl(fixture *out, int64_t envs) {
  ctrl controls;
  const char *source = out->regime->random ? "random" : "zero";
  int code = ctrl_open(&controls, out->job.model, source, -1, out->job.options.dtype, 1, envs, BENCH_STEPS);
  if (code == CLI_OK && controls.nu)
    code = array_create(&out->ctrl, "controls", out->job.options.dtype, 3,
                        (int64_t[]){controls.envs, controls.steps, controls.nu});
  if (code == CLI_OK && controls.nu) ctrl_fill(&controls, 0, &out->ctrl);
  ctrl_close(&controls);
  return code;
}

int fixture_open(fixture *out, const cli_options *options, const regime *chosen, int64_t envs, int threads,
                 int64_t recorded, progress *bar) {
  char path[512];
  abut_options wanted = scene_options(options, envs, threads);
  scene_path(options, chosen->scene, path);
  memset(out, 0, sizeof *out);
  out->regime = chosen;
  out->bar = bar;
  int code = job_load(&out->job, path, options);
  if (code == CLI_OK) code = job_create(&out->job, &wanted, recorded, 0);
  if (code == CLI_OK) code = settle(out, &wanted);
  if (code == CLI_OK) code = make_ctrl(out, envs);
  if (code == CLI_OK) code = fixture_run(out, 0, NULL);
  if (code == CLI_OK && abut_batch_snapshot(out->job.batch, &out->snapshot) != ABUT_OK)
    code = cli_library_error();
  return code;
}

void fixture_close(fixture *out) {
  abut_snapshot_destroy(out->snapshot);
  array_destroy(&out->ctrl);
  job_close(&out->job);
}

int fixture_restore(fixture *in) {
  return abut_batch_restore(in->job.batch, in->snapshot) == ABUT_OK ? CLI_OK : cli_library_error();
}
