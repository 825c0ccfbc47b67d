/* control.cu: the kernels that steer a program on a GPU, whatever its method (clock/program.inl), and the one
 * that measures roofs, for one real type (ABUT_REAL): no arithmetic. C as well, as cuda.cu is. */
#define ABUT_LANES 1
#include <math.h>
#include "kernels/lane/global.h"
#include "kernels/lane/lane.h"
#include "kernels/lane/team.h"
#include "kernels/clock/program_io.h"
#include "kernels/clock/program.inl"
#include "kernels/lane/roof.inl"

#define NAME__(name, bits) abut_##name##_f##bits
#define NAME_(name, bits) NAME__(name, bits)
#define NAME(name) NAME_(name, ABUT_REAL)

GLOBAL(roof)(elem *out, int which, int rounds) { roof(out, which, rounds); }
LINKAGE const void *const NAME(roof_kernel) = (const void *)NAME(roof);

#if ABUT_REAL == 64 /* one suffices */
GLOBAL(again)(const program_io *io, int which, cudaGraphConditionalHandle loop) {
  cudaGraphSetConditional(loop, program_again(io, which));
}
GLOBAL(begin)(program_io *io, program_io from) { program_begin(io, &from); }
GLOBAL(commit)(program_io *io, int num, int qpos, int qvel, int act, int contact) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i / 32 < num) program_commit(io, i / 32, (int)(i % 32), qpos, qvel, act, contact);
}
GLOBAL(gate)(program_tally *tally, int64_t generation, cudaGraphConditionalHandle branch) {
  cudaGraphSetConditional(branch, program_open(tally, generation));
}
/* In the order of control_id. */
LINKAGE const void *const abut_controls[] = {(const void *)NAME(again), (const void *)NAME(begin),
                                             (const void *)NAME(commit), (const void *)NAME(gate)};
#endif
