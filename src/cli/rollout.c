/* rollout.c: abut rollout: simulate a batch, report, write trajectories and an animation. */
#include "ctrl.h"
#include "failures.h"
#include "json.h"
#include "output_file.h"
#include "trajectory.h"
#include "write_gltf.h"
#include "write_hdf5.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a rollout collects while it runs. */
typedef struct recorder {
  hdf5_file *hdf5;
  output_file gltf;
  gltf_motion motion;
  int64_t env; /* shown by the animation */
  double smallest_gap;
} recorder;

static void fill_ctrl(void *user, int64_t first, array *out) { ctrl_fill(user, first, out); }

static void take_frames(recorder *out, const trajectory *from, int64_t first, int64_t n) {
  int64_t nbody = out->motion.nbody, row = out->env * (n + 1) * nbody;
  for (int64_t i = 0; i < (n + 1) * nbody; i++) {
    for (int k = 0; k < 3; k++)
      out->motion.xpos[3 * (first * nbody + i) + k] = (float)array_get(&from->xpos, 3 * (row + i) + k);
    for (int k = 0; k < 4; k++)
      out->motion.xquat[4 * (first * nbody + i) + k] = (float)array_get(&from->xquat, 4 * (row + i) + k);
  }
}

static int record(void *user, trajectory *from, int64_t first, int64_t n) {
  recorder *out = user;
  for (int64_t i = 0; i < from->min_gap.count; i++)
    out->smallest_gap = fmin(out->smallest_gap, array_get(&from->min_gap, i));
  if (out->motion.xpos) take_frames(out, from, first, n);
  return out->hdf5 ? hdf5_write(out->hdf5, from, first, n) : CLI_OK;
}

static uint64_t hash_bytes(uint64_t hash, const array *from) {
  const unsigned char *bytes = from->tensor.data;
  for (size_t i = 0; i < from->bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* FNV-1a 64 over the final qpos, then qvel. */
static int hash_state(const job *in, uint64_t *hash) {
  array qpos = {0}, qvel = {0};
  int64_t n = in->options.nenv;
  int code = array_create(&qpos, "qpos", in->options.dtype, 2, (int64_t[]){n, in->sizes.nq});
  if (code == CLI_OK) code = array_create(&qvel, "qvel", in->options.dtype, 2, (int64_t[]){n, in->sizes.nv});
  if (code == CLI_OK && abut_batch_get_state(in->batch, NULL, &qpos.tensor, &qvel.tensor) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK) *hash = hash_bytes(hash_bytes(UINT64_C(0xcbf29ce484222325), &qpos), &qvel);
  array_destroy(&qpos);
  array_destroy(&qvel);
  return code;
}

/* Whether no environment took a step. */
static int all_frozen(const trajectory *run, const failures *failed, int64_t nenv) {
  return run->result.newton_iterations == 0 &&
         failed->envs[FAILED_OVERLAP] + failed->envs[FAILED_NONFINITE] == nenv;
}

static void print_json(const job *in, const trajectory *run, const failures *failed, uint64_t hash,
                       int frozen) {
  const abut_rollout_result *result = &run->result;
  double env_steps = (double)in->options.nenv * (double)run->steps;
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_integer(&json, "envs", in->options.nenv);
  emit_integer(&json, "steps", run->steps);
  emit_integer(&json, "nv", in->sizes.nv);
  emit_number(&json, "seconds", result->seconds);
  if (!frozen) emit_number(&json, "env_steps_per_second", env_steps / result->seconds);
  emit_number(&json, "newton_iterations_mean", (double)result->newton_iterations / env_steps);
  emit_integer(&json, "newton_iterations_max", result->newton_iterations_max);
  emit_integer(&json, "failed_envs", result->failed_envs);
  emit_integer(&json, "bytes_per_env", in->bytes_per_env);
  emit_integer(&json, "reruns", result->reruns);
  emit_text(&json, "state_hash", text);
  failures_json(&json, failed, in->model);
  emit_close(&json, '}');
  printf("\n");
}

static void print_heading(const job *in, const trajectory *run, const char *scene) {
  const abut_options *used = &in->options;
  printf("%s: nbody %d, nv %d, nu %d, ngeom %d, npair %d\n", scene, in->sizes.nbody, in->sizes.nv,
         in->sizes.nu, in->sizes.ngeom, in->sizes.npair);
  printf("%lld environment%s, %lld step%s of %g s, %s, %s barrier, %s\n", (long long)used->nenv,
         PLURAL(used->nenv), (long long)run->steps, PLURAL(run->steps), used->timestep,
         used->device == ABUT_DEVICE_CUDA ? "CUDA" : "CPU", cli_choice("contact", used->implicit.contact),
         used->dtype == ABUT_F64 ? "f64" : "f32");
  fflush(stdout);
}

static void print_table(const job *in, const trajectory *run, const failures *failed,
                        const recorder *recorded, uint64_t hash, int frozen) {
  const abut_rollout_result *result = &run->result;
  double env_steps = (double)in->options.nenv * (double)run->steps;
  printf("  seconds                 %.3f\n", result->seconds);
  if (!frozen) printf("  env-steps/s             %.0f\n", env_steps / result->seconds);
  printf("  Newton iterations       %.2f mean, %lld max\n", (double)result->newton_iterations / env_steps,
         (long long)result->newton_iterations_max);
  printf("  unconverged steps       %lld\n", (long long)result->unconverged_steps);
  printf("  failed environments     %lld\n", (long long)result->failed_envs);
  failures_print(failed, in->model);
  if (isfinite(recorded->smallest_gap)) printf("  smallest gap            %.6g m\n", recorded->smallest_gap);
  if (run->moved_max > 0) printf("  moved apart at start    %.6g m\n", run->moved_max);
  printf("  bytes_per_env           %lld\n", (long long)in->bytes_per_env);
  printf("  reruns                  %lld\n", (long long)result->reruns);
  printf("  state_hash              %016llx\n", (unsigned long long)hash);
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && !strcmp(text + length - tail, end);
}

/* Options that contradict each other, before any work. */
static int check_options(const cli_options *options) {
  if (options->out && hdf5_check() != CLI_OK) return CLI_BAD_INPUT;
  if (options->env >= options->envs)
    return cli_error("--env %lld: the run has %lld environment%s", (long long)options->env,
                     (long long)options->envs, PLURAL(options->envs));
  if (options->out && !ends_with(options->out, ".h5") && !ends_with(options->out, ".hdf5"))
    return cli_error("--out %s: the name must end in .h5 or .hdf5", options->out);
  if (options->gltf && !ends_with(options->gltf, ".glb"))
    return cli_error("--gltf %s: the name must end in .glb", options->gltf);
  if (options->gltf && options->out && !strcmp(options->gltf, options->out))
    return cli_error("--gltf %s: --out has the same name", options->gltf);
  return CLI_OK;
}

static int open_outputs(recorder *out, const trajectory *plan, const cli_options *options) {
  int code = CLI_OK;
  if (options->gltf) {
    size_t count = (size_t)(plan->steps + 1) * (size_t)plan->job->sizes.nbody;
    out->motion = (gltf_motion){
        .nframe = plan->steps + 1, .nbody = plan->job->sizes.nbody, .dt = plan->job->options.timestep};
    out->motion.xpos = calloc(count, 3 * sizeof *out->motion.xpos);
    out->motion.xquat = calloc(count, 4 * sizeof *out->motion.xquat);
    code = out->motion.xpos && out->motion.xquat ? output_file_open(&out->gltf, options->gltf)
                                                 : cli_error("out of memory");
  }
  if (code == CLI_OK && options->out) code = hdf5_open(&out->hdf5, options->out, plan, options);
  return code;
}

/* Gives the outputs their names if all went well, else removes them. */
static int close_outputs(recorder *out, const trajectory *run, int code) {
  if (code == CLI_OK && out->motion.xpos)
    code = gltf_write(out->gltf.partial, out->gltf.path, run->job->model, run->job->options.implicit.contact,
                      &out->motion);
  int closed = hdf5_close(out->hdf5, code == CLI_OK);
  if (code == CLI_OK) code = closed;
  closed = output_file_close(&out->gltf, code == CLI_OK);
  free(out->motion.xpos);
  free(out->motion.xquat);
  return code == CLI_OK ? closed : code;
}

static int run(const cli_options *options, job *work, trajectory *plan, recorder *recorded) {
  progress bar;
  uint64_t hash = 0;
  int code = job_start(work, options);
  if (code == CLI_OK) code = open_outputs(recorded, plan, options);
  if (code == CLI_OK && !options->json) print_heading(work, plan, options->arguments[0]);
  if (code == CLI_OK) {
    progress_begin(&bar, "rollout");
    code = trajectory_run(plan, &bar);
    progress_end(&bar);
  }
  if (code == CLI_OK) code = hash_state(work, &hash);
  code = close_outputs(recorded, plan, code);
  if (code != CLI_OK) return code;
  failures failed = failures_count(plan->env_status, &plan->overlap_pair, work->options.nenv);
  const int frozen = all_frozen(plan, &failed, work->options.nenv);
  if (options->json)
    print_json(work, plan, &failed, hash, frozen);
  else
    print_table(work, plan, &failed, recorded, hash, frozen);
  code = cli_flush();
  if (code != CLI_OK || !frozen) return code;
  cli_error("every environment froze where it started: %s",
            failed.envs[FAILED_OVERLAP] ? "shapes overlap there (see --overlap and --max-separation)"
                                        : "its state is not finite");
  return CLI_CHECK_FAILED;
}

int cli_rollout(const cli_options *options) {
  job work = {0};
  ctrl controls = {0};
  recorder recorded = {.env = options->env, .smallest_gap = INFINITY};
  int code = check_options(options);
  if (code == CLI_OK) code = job_load(&work, options->arguments[0], options);
  if (code == CLI_OK) code = job_ctrl(&work, options, options->envs, options->steps, &controls);
  trajectory plan = {.job = &work,
                     .steps = options->steps,
                     .fill_ctrl = fill_ctrl,
                     .ctrl_user = &controls,
                     .ctrl_envs = controls.envs,
                     .ctrl_steps = controls.steps,
                     .sink = record,
                     .sink_user = &recorded};
  if (code == CLI_OK) {
    abut_options asked = job_options(options);
    plan.wanted = options->out ? WANT_STATE | WANT_POSES | WANT_FORCE | WANT_GAP : 0;
    if (options->gltf) plan.wanted |= WANT_POSES;
    if (!options->json) plan.wanted |= WANT_GAP;
    double extra = trajectory_plan(&plan, asked.nenv, asked.dtype, (double)options->buffer * 0x1p20);
    if (options->gltf) extra += 28.0 * work.sizes.nbody * ((double)options->steps + 1);
    code = job_check(options, &asked);
    if (code == CLI_OK) code = job_create(&work, &asked, 1, extra);
  }
  if (code == CLI_OK) code = run(options, &work, &plan, &recorded);
  trajectory_free(&plan);
  ctrl_close(&controls);
  job_close(&work);
  return code;
}
