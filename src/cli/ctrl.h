/* ctrl.h: the controls of a rollout: zero, random, of a key, or from a file. */
#ifndef ABUT_CLI_CTRL_H
#define ABUT_CLI_CTRL_H
#include "array.h"
#include "cli.h"

typedef struct ctrl {
  int64_t envs, steps; /* 1, or as many as the rollout has */
  int64_t nu;
  int random;
  uint64_t seed;
  double *file;   /* [envs, steps, nu], or NULL */
  double *ranges; /* nu x 2 */
} ctrl;

/* source: "zero", "random" or a .npy file whose shape must fit [nenv or 1, nstep or 1, nu], and its numbers
 * dtype; NULL: those of a key, which are held, zero for key -1. */
int ctrl_open(ctrl *out, const abut_model *model, const char *source, int32_t key, int dtype, uint64_t seed,
              int64_t nenv, int64_t nstep);
void ctrl_close(ctrl *out);
/* Actuator k of an environment at a step; random: uniform in ctrlrange, a function of (seed, env, step, k).
 */
double ctrl_value(const ctrl *from, int64_t env, int64_t step, int64_t k);
/* Fills [envs, n, nu] (or [envs, 1, nu] where the controls do not change) for steps first to first + n. */
void ctrl_fill(const ctrl *from, int64_t first, array *out);

#endif
