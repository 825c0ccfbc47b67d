/* gradient.h: a recorded rollout, its cotangents, and the differences that check them. */
#ifndef ABUT_CLI_GRADIENT_H
#define ABUT_CLI_GRADIENT_H
#include "array.h"
#include "ctrl.h"
#include "failures.h"
#include "job.h"
#include "progress.h"

/* What the loss is differentiated by; qpos in tangent space (nv entries). */
enum { BY_QPOS, BY_QVEL, BY_ACT, BY_CTRL, BY_GRAVITY, BY_FRICTION, BY_MASS, BY_STIFFNESS, INPUT_COUNT };
extern const char *const gradient_input_names[INPUT_COUNT];

/* Loss: sum over steps and entries of a fixed pseudo-random cotangent times qpos and qvel. */
typedef struct gradient_run {
  job job;
  ctrl controls;
  uint64_t seed;
  int64_t envs, steps;
  array qpos, qvel, act;    /* the start, [N, nq], [N, nv], [N, na] */
  array cot_qpos, cot_qvel; /* of the loss, [N, T+1, nq], [N, T+1, nv] */
  array contact_force;      /* [N, T, npair, 3], where it was asked for */
  array grad[INPUT_COUNT];  /* as abut_vjp_args: qpos has nq entries here */
  array min_pivot, status;  /* [N] */
  array overlap_pair;       /* [N] */
  abut_rollout_result forward;
  failures failed;
  double reverse_seconds;
} gradient_run;

/* How the cotangents compare with central differences. */
typedef struct gradient_check {
  int64_t entries[INPUT_COUNT]; /* directions compared */
  double largest[INPUT_COUNT];  /* largest cotangent, in units of the input's own size for parameters */
  double error[INPUT_COUNT];    /* largest absolute difference, same units */
  double doubt[INPUT_COUNT];    /* largest error estimate of the differences themselves */
  int64_t pairs_active, active_set_changes;
} gradient_check;

/* Gives the scene's geoms distinct friction coefficients: a pair takes the larger of two, which has no
 * derivative where they are equal. */
int gradient_set_frictions(gradient_run *in);
/* Runs every perturbed copy as an environment of one batch. Writes zeros first. */
int gradient_compare(const gradient_run *in, const cli_options *options, gradient_check *out, progress *bar);

#endif
