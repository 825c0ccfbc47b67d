/* counted.cc: the kernels over numbers that count (counted.h), compiled as C++, as nvcc compiles them, and
 * with a call before every access to memory (touched.c). */
#define ABUT_LANES 1
#define ABUT_COUNTED
#define ABUT_NO_LONGRANGE
#include <math.h>
#include "kernels.inl"
#include "bench.inl"

#define STAGE(name)                                                                                          \
  static void counted_##name(const step_params *k, lane_group *g, program_io *io) {                          \
    tally_begin(k, g, io, sizeof(elem));                                                                     \
    stage_##name(k, g, io);                                                                                  \
    tally_end(STAGE_##name);                                                                                 \
  }
#define DECIDE(name) STAGE(name)
#include "stages.def"

#define NAME_(bits) counted_kernels_f##bits
#define NAME(bits) NAME_(bits)
const abut_kernels NAME(ABUT_REAL) = {
    "counted",
    ABUT_LANES,
    sizeof(elem),
    {
#define STAGE(name) counted_##name,
#define DECIDE(name) counted_##name,
#include "stages.def"
    },
    query_plane,
    NULL,
    {}, /* contacts of manifolds are not counted */
    bench_plane,
};
