/* trajectory.c: runs segment after segment and hands each one's outputs to a sink. */
#include "trajectory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers per environment and step of all arrays with a time axis. */
static double width(const trajectory *in, int64_t nenv) {
  abut_model_sizes sizes = in->job->sizes;
  double numbers = 1;
  if (in->wanted & WANT_STATE) numbers += sizes.nq + sizes.nv + sizes.na;
  if (in->wanted & WANT_POSES) numbers += 7.0 * sizes.nbody;
  if (in->wanted & WANT_FORCE) numbers += 3.0 * sizes.npair;
  if (in->ctrl_steps > 1) numbers += (double)sizes.nu * (double)in->ctrl_envs / (double)nenv;
  return numbers;
}

double trajectory_plan(trajectory *out, int64_t nenv, int dtype, double buffer) {
  double bytes_per_step = width(out, nenv) * (double)nenv * (dtype == ABUT_F64 ? 8 : 4);
  double fit = buffer / bytes_per_step - 1;
  out->segment = fit >= (double)out->steps ? out->steps : fit < 1 ? 1 : (int64_t)fit;
  return bytes_per_step * ((double)out->segment + 1);
}

static int allocate(trajectory *out) {
  abut_model_sizes sizes = out->job->sizes;
  int dtype = out->job->options.dtype, code = CLI_OK;
  int64_t n = out->job->options.nenv, rows = out->segment + 1;
  int64_t ctrl_rows = out->ctrl_steps == 1 ? 1 : out->segment;
  if (code == CLI_OK)
    code = array_create(&out->ctrl, "controls", dtype, 3, (int64_t[]){out->ctrl_envs, ctrl_rows, sizes.nu});
  if (code == CLI_OK) code = array_create(&out->status, "status", ARRAY_U32, 1, &n);
  if (code == CLI_OK) code = array_create(&out->moved, "moved", dtype, 1, &n);
  if (code == CLI_OK) code = array_create(&out->overlap_pair, "overlap_pair", ARRAY_I32, 1, &n);
  if (code == CLI_OK && out->wanted & WANT_STATE) {
    code = array_create(&out->qpos, "qpos", dtype, 3, (int64_t[]){n, rows, sizes.nq});
    if (code == CLI_OK) code = array_create(&out->qvel, "qvel", dtype, 3, (int64_t[]){n, rows, sizes.nv});
    if (code == CLI_OK) code = array_create(&out->act, "act", dtype, 3, (int64_t[]){n, rows, sizes.na});
  }
  if (code == CLI_OK && out->wanted & WANT_POSES) {
    code = array_create(&out->xpos, "xpos", dtype, 4, (int64_t[]){n, rows, sizes.nbody, 3});
    if (code == CLI_OK)
      code = array_create(&out->xquat, "xquat", dtype, 4, (int64_t[]){n, rows, sizes.nbody, 4});
  }
  if (code == CLI_OK && out->wanted & WANT_FORCE)
    code = array_create(&out->contact_force, "contact_force", dtype, 4,
                        (int64_t[]){n, rows - 1, sizes.npair, 3});
  if (code == CLI_OK && out->wanted & WANT_GAP)
    code = array_create(&out->min_gap, "min_gap", dtype, 2, (int64_t[]){n, rows - 1});
  out->env_status = calloc((size_t)n, sizeof *out->env_status);
  return code == CLI_OK && !out->env_status ? cli_error("out of memory") : code;
}

static void set_length(trajectory *out, int64_t n) {
  if (out->ctrl_steps > 1) array_set_rows(&out->ctrl, n);
  if (out->wanted & WANT_FORCE) array_set_rows(&out->contact_force, n);
  if (out->wanted & WANT_GAP) array_set_rows(&out->min_gap, n);
  array *longer[] = {&out->qpos, &out->qvel, &out->act, &out->xpos, &out->xquat};
  for (int i = 0; i < 5; i++)
    if (longer[i]->tensor.data) array_set_rows(longer[i], n + 1);
}

static void add_result(trajectory *out, const abut_rollout_result *part) {
  abut_rollout_result *sum = &out->result;
  sum->newton_iterations += part->newton_iterations;
  if (part->newton_iterations_max > sum->newton_iterations_max)
    sum->newton_iterations_max = part->newton_iterations_max;
  sum->unconverged_steps += part->unconverged_steps;
  sum->reruns += part->reruns;
  sum->seconds += part->seconds;
  sum->failed_envs = 0;
  for (int64_t i = 0; i < out->status.count; i++) {
    out->env_status[i] |= ((const uint32_t *)out->status.tensor.data)[i];
    sum->failed_envs += (out->env_status[i] & (ABUT_ENV_FROZEN | ABUT_ENV_UNCONVERGED)) != 0;
    out->moved_max = fmax(out->moved_max, array_get(&out->moved, i));
  }
}

static int run_segment(trajectory *out, int64_t first, int64_t n, progress *bar) {
  set_length(out, n);
  if (first == 0 || out->ctrl_steps > 1) out->fill_ctrl(out->ctrl_user, first, &out->ctrl);
  abut_rollout_args args = abut_default_rollout_args();
  abut_rollout_result part;
  args.nstep = n;
  args.ctrl = out->job->sizes.nu ? &out->ctrl.tensor : NULL;
  args.qpos = array_tensor(&out->qpos);
  args.qvel = array_tensor(&out->qvel);
  args.act = array_tensor(&out->act);
  args.xpos = array_tensor(&out->xpos);
  args.xquat = array_tensor(&out->xquat);
  args.contact_force = array_tensor(&out->contact_force);
  args.min_gap = array_tensor(&out->min_gap);
  args.status = &out->status.tensor;
  args.moved = &out->moved.tensor;
  args.overlap_pair = first == 0 ? &out->overlap_pair.tensor : NULL;
  double share = out->share / (double)out->steps;
  progress_part(bar, out->done + share * (double)first, share * (double)n);
  if (abut_rollout(out->job->batch, &args, &part, progress_report, bar) != ABUT_OK)
    return progress_interrupted() ? cli_error("interrupted") : cli_library_error();
  if (progress_interrupted()) return cli_error("interrupted");
  add_result(out, &part);
  return out->sink ? out->sink(out->sink_user, out, first, n) : CLI_OK;
}

int trajectory_run(trajectory *out, progress *bar) {
  int code = allocate(out);
  out->done = bar->done;
  out->share = bar->share;
  for (int64_t first = 0; code == CLI_OK && first < out->steps; first += out->segment) {
    int64_t left = out->steps - first;
    code = run_segment(out, first, left < out->segment ? left : out->segment, bar);
  }
  return code;
}

void trajectory_free(trajectory *out) {
  array *all[] = {&out->ctrl,   &out->qpos,  &out->qvel,          &out->act,
                  &out->xpos,   &out->xquat, &out->contact_force, &out->min_gap,
                  &out->status, &out->moved, &out->overlap_pair};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) array_destroy(all[i]);
  free(out->env_status);
  out->env_status = NULL;
}
