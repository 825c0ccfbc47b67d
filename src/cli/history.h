/* history.h: what an optimisation leaves: losses of every iteration, the trajectory of every environment. */
#ifndef ABUT_CLI_HISTORY_H
#define ABUT_CLI_HISTORY_H
#include "array.h"
#include "job.h"
#include "task.h"

typedef struct history {
  const job *job;
  const task *task;
  int64_t iterations, room;
  double *loss, *gradient_norm; /* [iterations, N]; of the whole problem, before clipping */
  int64_t *frame;               /* [iterations] step at which the rollouts began */
  int64_t frames;               /* moments so far, the start included */
  double *terms;                /* [steps + 1, N] sum of the terms; +inf: that environment froze */
  double *qpos, *xpos, *xquat;  /* [steps + 1, N, ...] */
  double *ctrl;                 /* [steps, N, nu] */
  array part[6];                /* outputs of one replay */
  int64_t best;                 /* environment that is shown */
} history;

int history_open(history *out, const job *job, const task *task);
/* Bytes that history_open and one replay take. */
double history_bytes(const job *job, const task *task, int64_t nenv);
int history_iteration(history *out, const abut_optimiser *optimiser, int64_t frame);
/* Replays n steps of the best variables and appends their moments. */
int history_replay(history *out, abut_optimiser *optimiser, int64_t n, abut_progress progress, void *user);
/* The environment with the least terms at the last moment. */
int64_t history_nearest(const history *in);
void history_close(history *out);

#endif
