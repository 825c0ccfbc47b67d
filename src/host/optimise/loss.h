/* loss.h: the loss of an optimisation: how far bodies are from their targets. */
#ifndef ABUT_LOSS_H
#define ABUT_LOSS_H
#include "host/batch/batch.h"
#include "abut/optimise.h"

/* Poses of one environment, [nstep + 1, nbody] in the batch's real type. */
typedef struct loss_poses {
  const char *xpos, *xquat;
} loss_poses;

/* Sum of the terms at one moment of a rollout. */
double loss_terms(const abut_batch *b, const abut_problem *p, loss_poses at, int64_t step);
/* The whole loss; where given, writes its cotangents, zeros elsewhere. */
double loss_evaluate(const abut_batch *b, const abut_problem *p, loss_poses at, char *bar_xpos,
                     char *bar_xquat);

#endif
