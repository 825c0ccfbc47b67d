/* history.c: collects iterations and moments. */
#include "history.h"
#include "progress.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART_QPOS, PART_XPOS, PART_XQUAT, PART_CTRL, PART_TERMS, PART_STATUS, PART_COUNT };

static int64_t most_steps(const task *task) { return task->horizon ? task->apply : task->steps; }

double history_bytes(const job *job, const task *task, int64_t nenv) {
  double row = job->sizes.nq + 7.0 * job->sizes.nbody + job->sizes.nu + 1;
  return 8 * row * (double)nenv * ((double)task->steps + (double)most_steps(task) + 2);
}

static int allocate_parts(history *out) {
  const abut_model_sizes *sizes = &out->job->sizes;
  int dtype = out->job->options.dtype;
  int64_t n = out->job->options.nenv, rows = most_steps(out->task) + 1;
  array *part = out->part;
  int code = array_create(&part[PART_QPOS], "qpos", dtype, 3, (int64_t[]){n, rows, sizes->nq});
  if (code == CLI_OK)
    code = array_create(&part[PART_XPOS], "xpos", dtype, 4, (int64_t[]){n, rows, sizes->nbody, 3});
  if (code == CLI_OK)
    code = array_create(&part[PART_XQUAT], "xquat", dtype, 4, (int64_t[]){n, rows, sizes->nbody, 4});
  if (code == CLI_OK)
    code = array_create(&part[PART_CTRL], "ctrl", dtype, 3, (int64_t[]){n, rows - 1, sizes->nu});
  if (code == CLI_OK) code = array_create(&part[PART_TERMS], "terms", dtype, 2, (int64_t[]){n, rows});
  if (code == CLI_OK) code = array_create(&part[PART_STATUS], "status", ARRAY_U32, 1, &n);
  return code;
}

int history_open(history *out, const job *job, const task *task) {
  size_t n = (size_t)job->options.nenv, rows = (size_t)task->steps + 1;
  const abut_model_sizes *sizes = &job->sizes;
  *out = (history){.job = job, .task = task};
  out->terms = calloc(rows, n * sizeof(double));
  out->qpos = calloc(rows, n * ((size_t)sizes->nq + 1) * sizeof(double));
  out->xpos = calloc(rows, n * (size_t)sizes->nbody * 3 * sizeof(double));
  out->xquat = calloc(rows, n * (size_t)sizes->nbody * 4 * sizeof(double));
  out->ctrl = calloc(rows, n * ((size_t)sizes->nu + 1) * sizeof(double));
  if (!out->terms || !out->qpos || !out->xpos || !out->xquat || !out->ctrl) return cli_error("out of memory");
  return allocate_parts(out);
}

void history_close(history *out) {
  void *const all[] = {out->loss, out->gradient_norm, out->frame, out->terms,
                       out->qpos, out->xpos,          out->xquat, out->ctrl};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  for (int i = 0; i < PART_COUNT; i++) array_destroy(&out->part[i]);
  memset(out, 0, sizeof *out);
}

/* ---------------------------------------------------------------------------------------- iterations */

static int grow(history *out) {
  size_t room = 2 * (size_t)out->room + 64, n = (size_t)out->job->options.nenv;
  double *loss = realloc(out->loss, room * n * sizeof *loss);
  if (loss) out->loss = loss;
  double *norms = realloc(out->gradient_norm, room * n * sizeof *norms);
  if (norms) out->gradient_norm = norms;
  int64_t *frame = realloc(out->frame, room * sizeof *frame);
  if (frame) out->frame = frame;
  if (!loss || !norms || !frame) return cli_error("out of memory");
  out->room = (int64_t)room;
  return CLI_OK;
}

int history_iteration(history *out, const abut_optimiser *optimiser, int64_t frame) {
  abut_optimiser_view view = abut_optimiser_get(optimiser);
  if (out->iterations == out->room && grow(out) != CLI_OK) return CLI_BAD_INPUT;
  for (int64_t env = 0; env < view.nenv; env++) {
    int64_t at = out->iterations * view.nenv + env;
    double sum = 0;
    for (int64_t i = 0; i < view.nvalue; i++) {
      double g = view.gradient[env * view.nvalue + i];
      sum += g * g;
    }
    out->loss[at] = view.loss[env];
    out->gradient_norm[at] = sqrt(sum);
  }
  out->frame[out->iterations++] = frame;
  return CLI_OK;
}

/* ------------------------------------------------------------------------------------------- moments */

/* Rows `first` to n of every environment, [N, n, width], to the moments that begin at `frame`. */
static void append(const array *from, int64_t first, int64_t frame, double *to) {
  int64_t envs = from->shape[0], n = from->shape[1], width = envs && n ? from->count / (envs * n) : 0;
  for (int64_t env = 0; env < envs; env++)
    for (int64_t t = first; t < n; t++)
      for (int64_t i = 0; i < width; i++)
        to[((frame + t - first) * envs + env) * width + i] = array_get(from, (env * n + t) * width + i);
}

int history_replay(history *out, abut_optimiser *optimiser, int64_t n, abut_progress progress, void *user) {
  array *part = out->part;
  abut_rollout_args args = abut_default_rollout_args();
  for (int i = 0; i < PART_STATUS; i++) array_set_rows(&part[i], i == PART_CTRL ? n : n + 1);
  args.nstep = n;
  args.qpos = &part[PART_QPOS].tensor;
  args.xpos = &part[PART_XPOS].tensor;
  args.xquat = &part[PART_XQUAT].tensor;
  args.ctrl = out->job->sizes.nu ? &part[PART_CTRL].tensor : NULL;
  args.status = &part[PART_STATUS].tensor;
  if (abut_optimiser_replay(optimiser, &args, progress, user) != ABUT_OK)
    return progress_interrupted() ? cli_error("interrupted") : cli_library_error();
  if (abut_problem_terms(out->job->batch, &out->task->problem, args.xpos, args.xquat,
                         &part[PART_TERMS].tensor) != ABUT_OK)
    return cli_library_error();
  for (int64_t env = 0; env < part[PART_STATUS].count; env++)
    for (int64_t t = 0; t <= n; t++)
      if ((uint32_t)array_get(&part[PART_STATUS], env) & ABUT_ENV_FROZEN)
        array_set(&part[PART_TERMS], env * (n + 1) + t, INFINITY);
  /* the first row is the moment that the last replay ended with */
  int64_t first = out->frames > 0, frame = out->frames;
  append(&part[PART_QPOS], first, frame, out->qpos);
  append(&part[PART_XPOS], first, frame, out->xpos);
  append(&part[PART_XQUAT], first, frame, out->xquat);
  append(&part[PART_TERMS], first, frame, out->terms);
  append(&part[PART_CTRL], 0, frame - first, out->ctrl);
  out->frames += n + 1 - first;
  return CLI_OK;
}

int64_t history_nearest(const history *in) {
  int64_t n = in->job->options.nenv, best = 0;
  const double *terms = in->terms + (in->frames - 1) * n;
  for (int64_t env = 1; env < n; env++)
    if (terms[env] < terms[best]) best = env;
  return best;
}
