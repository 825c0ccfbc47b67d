/* cuda.cu: instantiates the stages of a method (METHOD, METHOD_KERNELS) for GPUs, for one real type
 * (ABUT_REAL) and team (ABUT_TEAM): no arithmetic. A kernel is one stage for all environments; each has a
 * lane group of one lane.
 *
 * ABUT_TEAM 32: a warp works for one environment, whose fields lie one after the other. Its threads share
 *   pairs, bodies and rows of H. For batches that would leave the GPU idle otherwise.
 * ABUT_TEAM 1: a thread works for one environment; the fields of 32 neighbours interleave, so that a warp's
 *   loads are whole lines. For batches that fill the GPU with threads.
 *
 * This file is C as well: with ABUT_TWIN (tests) a compiler for CPUs makes functions that do what one thread
 * of the launch does. */
#define ABUT_LANES 1
#if ABUT_TEAM == 1
#define LANE_STRIDE 32
#endif
#include <math.h>
#include "kernels/lane/global.h"
#include METHOD_KERNELS

#define NAME__(method, name, bits, team) abut_##method##_##name##_f##bits##_team##team
#define NAME_(method, name, bits, team) NAME__(method, name, bits, team)
#define NAME(name) NAME_(METHOD, name, ABUT_REAL, ABUT_TEAM)

#define STAGE(name)                                                                                          \
  GLOBAL(stage_##name)(const step_params *k, lane_group *g, program_io *io, int num) {                       \
    int e = TEAM_NUMBER;                                                                                     \
    if (e < num && g[e].live) stage_##name(k, g + e, io);                                                    \
  }
#define DECIDE(name)                                                                                         \
  GLOBAL(stage_##name)(const step_params *k, lane_group *g, program_io *io, int num) {                       \
    int e = TEAM_NUMBER;                                                                                     \
    if (e < num) stage_##name(k, g + e, io);                                                                 \
  }
#include "kernels/clock/clock.def"
#define DECIDE(name)                                                                                         \
  GLOBAL(stage_##name)(const step_params *k, lane_group *g, program_io *io, int num) {                       \
    int e = TEAM_NUMBER;                                                                                     \
    if (e < num) stage_##name(k, g + e, io);                                                                 \
  }
#include METHOD_DEF

/* By the method's STAGE_*, for cudaLaunchKernel. */
LINKAGE const void *const NAME(stages)[STAGE_NUM] = {
#define DECIDE(name) (const void *)NAME(stage_##name),
#include "kernels/clock/clock.def"
#define STAGE(name) (const void *)NAME(stage_##name),
#define DECIDE(name) (const void *)NAME(stage_##name),
#include METHOD_DEF
};
