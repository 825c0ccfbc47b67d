/* outcome.h: a rollout and its gradient with every array they write, for tests of the CUDA backend. */
#ifndef ABUT_TEST_OUTCOME_H
#define ABUT_TEST_OUTCOME_H
#include "rollout.h"

/* A recorded, kicked rollout and its gradient. */
typedef struct outcome {
  run r;
  array bar, qpos0, qvel0, ctrl, given;
  abut_status forward, reverse;
  int enqueue;
  abut_rollout_result result;
} outcome;

static inline void outcome_create(outcome *o, const scene *s, const abut_options *options, int64_t nstep) {
  const int64_t n = options->nenv;
  char real = options->dtype == ABUT_F32 ? 'f' : 'd';
  memset(o, 0, sizeof *o);
  run_create(&o->r, s, options, nstep);
  array_create(&o->bar, real, 3, (int64_t[]){n, nstep + 1, s->n.nq});
  array_create(&o->qpos0, real, 2, (int64_t[]){n, s->n.nq});
  array_create(&o->qvel0, real, 2, (int64_t[]){n, s->n.nv});
  array_create(&o->ctrl, real, 3, (int64_t[]){n, nstep, s->n.nu});
  array_create(&o->given, real, 3, (int64_t[]){1, nstep, s->n.nu});
  for (size_t i = 0; i < o->bar.count; i++) array_set(&o->bar, i, 1);
  for (size_t i = 0; i < o->given.count; i++) array_set(&o->given, i, (double)(i % 5) / 2 - 1);
  o->r.args.record = 1;
  o->r.args.kick = 0.05;
  o->r.args.ctrl = s->n.nu ? tensor(&o->given) : NULL;
}
/* Every array of it. */
enum { OUTCOME_ARRAYS = OUT_COUNT + 5 };
static inline array *outcome_array(outcome *o, int i) {
  array *arrays[] = {&o->bar, &o->qpos0, &o->qvel0, &o->ctrl, &o->given};
  return i < OUT_COUNT ? &o->r.out[i] : arrays[i - OUT_COUNT];
}
static inline void outcome_free(outcome *o) {
  for (int i = 0; i < OUTCOME_ARRAYS; i++) array_free(outcome_array(o, i));
}
static inline void outcome_go(outcome *o, abut_batch *b) {
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos = tensor(&o->bar);
  v.qpos0 = tensor(&o->qpos0);
  v.qvel0 = tensor(&o->qvel0);
  v.ctrl = o->r.args.ctrl ? tensor(&o->ctrl) : NULL;
  o->r.args.enqueue = v.enqueue = o->enqueue;
  o->forward = abut_rollout(b, &o->r.args, o->enqueue ? NULL : &o->result, NULL, NULL);
  o->reverse = o->forward == ABUT_OK ? abut_rollout_vjp(b, &v, NULL, NULL) : o->forward;
}

static inline int same_outcome(const outcome *a, const outcome *b) {
  int same =
      array_same(&a->qpos0, &b->qpos0) && array_same(&a->qvel0, &b->qvel0) && array_same(&a->ctrl, &b->ctrl);
  for (int i = 0; i < OUT_COUNT; i++) same &= array_same(&a->r.out[i], &b->r.out[i]);
  return same;
}

#endif
