/* optimiser.h: what an optimiser is made of. */
#ifndef ABUT_OPTIMISER_H
#define ABUT_OPTIMISER_H
#include "host/batch/batch.h"
#include "abut/optimise.h"

/* Arrays that cross the rollout's API, in the batch's real type. */
enum {
  RUN_QPOS0,
  RUN_QVEL0,
  RUN_CTRL,
  RUN_XPOS,
  RUN_XQUAT,
  RUN_STATUS,
  RUN_BAR_XPOS,
  RUN_BAR_XQUAT,
  RUN_BAR_QPOS0,
  RUN_BAR_QVEL0,
  RUN_BAR_CTRL,
  RUN_COUNT
};

struct abut_optimiser {
  abut_batch *batch;
  abut_problem problem; /* with terms and variables of its own */
  int64_t nenv, nvalue, iteration;
  int has_qpos, has_qvel;   /* whether the initial state is a variable */
  abut_snapshot *start;     /* where rollouts begin */
  char *qpos, *qvel;        /* the same state, [N, nq], [N, nv], real type */
  char *run[RUN_COUNT];     /* environment first, as abut.h has them */
  int64_t *first;           /* [nvariable + 1] first number of each variable */
  double *rate;             /* [nvalue] */
  double *range;            /* [nvariable, 2] of the actuators */
  double *value;            /* [N, nvalue] of the next iteration */
  double *tried;            /* [N, nvalue] of the last one */
  double *gradient;         /* [N, nvalue] */
  double *mean, *square;    /* [N, nvalue] of Adam */
  int64_t *steps;           /* [N] of Adam since its means were zero */
  double *scale;            /* [N] of the rates: halved when a rollout froze */
  double *loss, *final;     /* [N] */
  double *best, *best_loss; /* [N, nvalue], [N] */
  uint8_t *best_reached;    /* [N] whether all terms were zero at its last step */
};

/* optimiser_run.c */
/* Runs nstep steps from the start with these numbers [N, nvalue]; outputs of args are written. */
abut_status optimiser_forward(abut_optimiser *o, const double *value, const abut_rollout_args *args,
                              abut_progress progress, void *user);
/* The loss of every environment of the last forward, and its cotangents. */
void optimiser_loss(abut_optimiser *o);
/* Walks it back to the gradient by the numbers `tried`. */
abut_status optimiser_reverse(abut_optimiser *o, abut_progress progress, void *user);

#endif
