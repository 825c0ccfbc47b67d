/* rollout.c: T steps of N environments in one call: checks, threads, growth of lists, commit. */
#include "program.h"
#include "status.h"
#include "tape.h"
#include "tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

abut_rollout_args abut_default_rollout_args(void) {
  abut_rollout_args a = {0};
  a.nstep = 1;
  return a;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static abut_status check_args(const abut_batch *b, const abut_rollout_args *a) {
  if (a->nstep < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "nstep %lld is negative", (long long)a->nstep);
  if (!(a->kick >= 0) || !isfinite(a->kick))
    return abut_fail(ABUT_ERROR_ARGUMENT, "kick %g must not be negative", a->kick);
  const abut_model *m = b->model;
  int64_t n = b->options.nenv, t = a->nstep;
  const struct {
    const char *name;
    const abut_tensor *x;
    char code;
    int32_t ndim;
    int64_t shape[4];
    int input;
  } list[] = {
      {"qpos0", a->qpos0, 'r', 2, {n, m->nq}, 1},
      {"qvel0", a->qvel0, 'r', 2, {n, m->nv}, 1},
      {"ctrl", a->ctrl, 'r', 3, {n, t, m->nu}, 1},
      {"qpos", a->qpos, 'r', 3, {n, t + 1, m->nq}, 0},
      {"qvel", a->qvel, 'r', 3, {n, t + 1, m->nv}, 0},
      {"xpos", a->xpos, 'r', 4, {n, t + 1, m->nbody, 3}, 0},
      {"xquat", a->xquat, 'r', 4, {n, t + 1, m->nbody, 4}, 0},
      {"contact_force", a->contact_force, 'r', 4, {n, t, m->npair, 3}, 0},
      {"min_gap", a->min_gap, 'r', 2, {n, t}, 0},
      {"min_pair", a->min_pair, 'i', 2, {n, t}, 0},
      {"energy", a->energy, 'r', 3, {n, t, 4}, 0},
      {"status", a->status, 'u', 1, {n}, 0},
      {"iterations", a->iterations, 'i', 2, {n, t}, 0},
      {"moved", a->moved, 'r', 1, {n}, 0},
      {"overlap_pair", a->overlap_pair, 'i', 1, {n}, 0},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    int64_t bc[4] = {list[i].input, list[i].input && list[i].ndim == 3, 0, 0};
    ABUT_TRY(tensor_check(list[i].name, list[i].x, b->options.dtype, list[i].code, list[i].ndim,
                          list[i].shape, bc));
  }
  return ABUT_OK;
}

static void program_main(worker *w, void *io) { program_run(w, io); }

/* Forgets what an abandoned attempt left in the lanes. */
static void clear_lanes(abut_batch *b) {
  for (int32_t i = 0; i < b->nworker; i++) {
    worker *w = &b->workers[i];
    slots_release(w, ~0u);
    slots_order(w);
    for (int lane = 0; lane < 16; lane++) w->env[lane] = -1;
    w->newton = w->newton_max = w->unconverged = 0;
    w->need = 0;
  }
}

static int32_t list_need(const abut_batch *b) {
  int32_t need = 0;
  for (int32_t i = 0; i < b->nworker; i++)
    if (b->workers[i].need > need) need = b->workers[i].need;
  return need;
}

static void commit(abut_batch *b, const abut_rollout_args *a, abut_rollout_result *r) {
  batch_state swap = b->state;
  b->state = b->next;
  b->next = swap;
  for (int64_t i = 0; i < b->options.nenv; i++) r->failed_envs += b->state.status[i] != 0;
  if (a->status)
    memcpy((char *)a->status->data + a->status->byte_offset, b->state.status,
           (size_t)b->options.nenv * sizeof(uint32_t));
  for (int32_t i = 0; i < b->nworker; i++) {
    const worker *w = &b->workers[i];
    r->newton_iterations += w->newton;
    r->unconverged_steps += w->unconverged;
    if (w->newton_max > r->newton_iterations_max) r->newton_iterations_max = w->newton_max;
  }
}

abut_status abut_rollout(abut_batch *b, const abut_rollout_args *a, abut_rollout_result *result,
                         abut_progress progress, void *user) {
  ABUT_REQUIRE(b, "batch");
  ABUT_REQUIRE(a, "args");
  ABUT_TRY(check_args(b, a));
  abut_rollout_result r = {0};
  double start = seconds();
  for (;; r.reruns++) {
    b->tape_valid = 0;
    if (a->record) ABUT_TRY(tape_prepare(b, a));
    clear_lanes(b);
    program_io io = {b, a, 0, 0, 0, 0, progress, user, start};
    workers_run(b, program_main, &io);
    int32_t need = list_need(b);
    if (io.stop) {
      clear_lanes(b);
      b->tape_valid = 0;
      return abut_fail(ABUT_ERROR_ARGUMENT, "rollout stopped by its progress callback");
    }
    if (!need) break;
    ABUT_TRY(batch_grow(b, need));
  }
  commit(b, a, &r);
  r.seconds = seconds() - start;
  if (result) *result = r;
  return ABUT_OK;
}
