/* cuda.cu: instantiates the kernels for GPUs, for one real type (ABUT_REAL) and team (ABUT_TEAM): no
 * arithmetic. A kernel is one stage for all environments; each has a lane group of one lane.
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
#include "kernels/kernels.inl"
#include "kernels/items/roof.inl"

#define NAME__(name, bits, team) abut_##name##_f##bits##_team##team
#define NAME_(name, bits, team) NAME__(name, bits, team)
#define NAME(name) NAME_(name, ABUT_REAL, ABUT_TEAM)
#define METHOD_NAME(name) NAME(implicit_##name)

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
#include "kernels/method/implicit.def"

/* By the method's STAGE_*, for cudaLaunchKernel. */
LINKAGE const void *const METHOD_NAME(stages)[STAGE_NUM] = {
#define DECIDE(name) (const void *)NAME(stage_##name),
#include "kernels/clock/clock.def"
#define STAGE(name) (const void *)NAME(stage_##name),
#define DECIDE(name) (const void *)NAME(stage_##name),
#include "kernels/method/implicit.def"
};

#if ABUT_TEAM == 1
GLOBAL(roof)(elem *out, int which, int rounds) { roof(out, which, rounds); }
LINKAGE const void *const NAME(roof_kernel) = (const void *)NAME(roof);
#endif

#if ABUT_REAL == 64 && ABUT_TEAM == 1 /* one suffices */
GLOBAL(again)(const program_io *io, int which, cudaGraphConditionalHandle loop) {
  cudaGraphSetConditional(loop, program_again(io, which));
}
GLOBAL(begin)(program_io *io, program_io from) { program_begin(io, &from); }
GLOBAL(commit)(program_io *io, int num, int qpos, int qvel, int contact) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i / 32 < num) program_commit(io, i / 32, (int)(i % 32), qpos, qvel, contact);
}
GLOBAL(gate)(program_tally *tally, int64_t generation, cudaGraphConditionalHandle branch) {
  cudaGraphSetConditional(branch, program_open(tally, generation));
}
/* In the order of control_id. */
LINKAGE const void *const abut_controls[] = {(const void *)NAME(again), (const void *)NAME(begin),
                                             (const void *)NAME(commit), (const void *)NAME(gate)};
#endif
