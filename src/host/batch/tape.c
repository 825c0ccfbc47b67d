/* tape.c: what a recorded rollout keeps for its reverse pass, in the backend's memory. */
#include "host/batch/tape.h"
#include "host/base/memory.h"
#include "host/base/status.h"
#include <string.h>

void tape_free(abut_batch *b) {
  rollout_tape *t = &b->tape;
  void *arrays[] = {t->qpos_start, t->qvel, t->qpos, t->act, t->done, t->ctrl};
  for (int i = 0; i < 6; i++) b->backend->release(b, arrays[i]);
  record_free(b, b->backend, &t->start);
  record_free(b, b->backend, &t->steps);
  memset(t, 0, sizeof *t);
}

/* Sizes can be counted, and on the CPU are not more than the machine has. */
static abut_status check_size(const abut_batch *b, int64_t nstep) {
  int64_t bytes = bytes_add(0, b->options.nenv, tape_bytes(b, nstep));
  double installed = memory_installed();
  if (bytes < INT64_MAX && (b->cuda || (double)bytes <= installed)) return ABUT_OK;
  if (b->cuda)
    return fail_with(ABUT_ERROR_MEMORY,
                     "record of %lld steps of %lld environment%s: more bytes than can be counted",
                     (long long)nstep, (long long)b->options.nenv, PLURAL(b->options.nenv));
  return fail_with(ABUT_ERROR_MEMORY,
                   "record of %lld steps of %lld environment%s: %s%.3g GiB, this machine has %.1f",
                   (long long)nstep, (long long)b->options.nenv, PLURAL(b->options.nenv),
                   bytes == INT64_MAX ? "more than " : "", (double)bytes / 0x1p30, installed / 0x1p30);
}

static abut_status allocate(abut_batch *b, int64_t nstep) {
  rollout_tape *t = &b->tape;
  size_t n = (size_t)b->options.nenv, e = elem_size(b), rows = n * (size_t)nstep;
  char *done = NULL;
  tape_free(b);
  ATTEMPT(b->backend->allocate(b, n * (size_t)b->model->nq * e, &t->qpos_start));
  ATTEMPT(b->backend->allocate(b, rows * (size_t)b->model->nv * e, &t->qvel));
  ATTEMPT(b->backend->allocate(b, rows * (size_t)b->model->nq * e, &t->qpos));
  ATTEMPT(b->backend->allocate(b, rows * (size_t)b->model->na * e, &t->act));
  ATTEMPT(b->backend->allocate(b, rows * (size_t)b->model->nu * e, &t->ctrl));
  ATTEMPT(b->backend->allocate(b, n * sizeof *t->done, &done));
  t->done = (int64_t *)(void *)done;
  ATTEMPT(record_allocate(b, b->backend, b->options.nenv, &t->start));
  ATTEMPT(record_allocate(b, b->backend, b->options.nenv * (nstep > 0 ? nstep : 1), &t->steps));
  t->capacity_steps = nstep;
  return ABUT_OK;
}

abut_status tape_prepare(abut_batch *b, const abut_rollout_args *a) {
  rollout_tape *t = &b->tape;
  if (!t->qpos || t->capacity_steps < a->nstep) {
    ATTEMPT(check_size(b, a->nstep));
    ATTEMPT(b->backend->settle(b, NULL)); /* the old record may be in use */
    abut_status status = allocate(b, a->nstep);
    if (status != ABUT_OK) {
      tape_free(b);
      if (status != ABUT_ERROR_MEMORY) return status;
      return fail_with(status, "record of %lld steps: out of memory", (long long)a->nstep);
    }
  }
  t->nstep = a->nstep;
  return ABUT_OK;
}
