/* tape.c: what a recorded rollout keeps for its reverse pass. */
#include "tape.h"
#include "status.h"
#include <stdlib.h>
#include <string.h>

void tape_free(abut_tape *t) {
  free(t->qpos_start);
  free(t->qvel);
  free(t->qpos);
  free(t->done);
  free((void *)t->ctrl.data);
  record_free(&t->start);
  record_free(&t->steps);
  memset(t, 0, sizeof *t);
}

static abut_status allocate(abut_batch *b, int64_t nstep) {
  abut_tape *t = &b->tape;
  size_t n = (size_t)b->options.nenv, e = elem_size(b), rows = n * (size_t)nstep;
  tape_free(t);
  t->qpos_start = malloc(n * (size_t)b->model->nq * e + 1);
  t->qvel = malloc(rows * (size_t)b->model->nv * e + 1);
  t->qpos = malloc(rows * (size_t)b->model->nq * e + 1);
  t->done = calloc(n, sizeof *t->done);
  if (!t->qpos_start || !t->qvel || !t->qpos || !t->done)
    return abut_fail(ABUT_ERROR_MEMORY, "record of %lld steps: out of memory", (long long)nstep);
  ABUT_TRY(record_allocate(b, b->options.nenv, &t->start));
  ABUT_TRY(record_allocate(b, b->options.nenv * (nstep > 0 ? nstep : 1), &t->steps));
  t->capacity_steps = nstep;
  return ABUT_OK;
}

abut_status tape_prepare(abut_batch *b, const abut_rollout_args *a) {
  abut_tape *t = &b->tape;
  if (!t->qpos || t->capacity_steps < a->nstep) {
    abut_status status = allocate(b, a->nstep);
    if (status != ABUT_OK) {
      tape_free(t);
      return status;
    }
  }
  t->nstep = a->nstep;
  free((void *)t->ctrl.data);
  t->ctrl = (input_array){NULL, a->ctrl ? a->ctrl->shape[0] : 0, a->ctrl ? a->ctrl->shape[1] : 0};
  size_t bytes = (size_t)(t->ctrl.rows * t->ctrl.steps) * (size_t)b->model->nu * elem_size(b);
  if (bytes) {
    char *copy = malloc(bytes);
    if (!copy) return abut_fail(ABUT_ERROR_MEMORY, "record of controls: out of memory");
    memcpy(copy, (const char *)a->ctrl->data + a->ctrl->byte_offset, bytes);
    t->ctrl.data = copy;
  }
  b->tape_valid = 1;
  return ABUT_OK;
}
