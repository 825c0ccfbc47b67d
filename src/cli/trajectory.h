/* trajectory.h: a rollout in segments of time, so that its outputs never need more than a fixed buffer. */
#ifndef ABUT_CLI_TRAJECTORY_H
#define ABUT_CLI_TRAJECTORY_H
#include "array.h"
#include "job.h"
#include "progress.h"

enum { WANT_STATE = 1, WANT_POSES = 2, WANT_FORCE = 4, WANT_GAP = 8 };

typedef struct trajectory trajectory;

struct trajectory {
  job *job;
  int64_t steps, segment; /* segment: steps per call of the library */
  unsigned wanted;
  /* fills controls [ctrl_envs, n or 1, nu] from step `first`; called once where ctrl_steps is 1 */
  void (*fill_ctrl)(void *ctrl_user, int64_t first, array *out);
  void *ctrl_user;
  int64_t ctrl_envs, ctrl_steps;
  /* takes the outputs of steps first to first + n; index 0 of a T+1 axis is the state before them */
  int (*sink)(void *sink_user, trajectory *from, int64_t first, int64_t n);
  void *sink_user;
  /* the running segment's arrays; those not wanted have no data. overlap_pair is the first segment's: where
   * an environment starts */
  array ctrl, qpos, qvel, act, xpos, xquat, contact_force, min_gap, status, moved, overlap_pair;
  uint32_t *env_status;       /* bits of all segments so far */
  double done, share;         /* of the progress bar: where the trajectory starts, what it fills */
  double moved_max;           /* m, separation at the start */
  abut_rollout_result result; /* of all segments */
};

/* Chooses the segment's length for a buffer of this many bytes; returns the bytes that the arrays will take.
 */
double trajectory_plan(trajectory *out, int64_t nenv, int dtype, double buffer);
/* Fills the part of the bar that was set before. */
int trajectory_run(trajectory *out, progress *bar);
void trajectory_free(trajectory *out);

#endif
