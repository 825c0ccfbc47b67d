/* cuda.cu: instantiates the kernels for GPUs, for one real type (ABUT_REAL): no arithmetic. One thread per
 * environment; a stage that visits pairs comes in parts, so that a later launch may give every pair a thread.
 *
 * g[e] is environment e with one lane; its work and slots start at its lane of its tile. */
#define ABUT_LANES 1
#include "lane.h"
#include "vector.h"
#include "table.h"
#include "plane.inl"
#include "closest.inl"
#include "rigid.inl"
#include "actuation.inl"
#include "friction.inl"
#include "contact.inl"
#include "contact_step.inl"
#include "newton.inl"
#include "step.inl"
#include "reverse.inl"
#include "query.inl"

#define NAME_(name, bits) abut_##name##_f##bits
#define NAME(name, bits) NAME_(name, bits)
#define GLOBAL(name) extern "C" __global__ void __launch_bounds__(64, 4) NAME(name, ABUT_REAL)

/* ------------------------------------------------------------------ stages of whole environments */

#define STAGE(name)                                                                                          \
  GLOBAL(name)(const step_params *k, lane_group *g, int num) {                                               \
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                    \
    if (e < num) name(k, g + e);                                                                             \
  }
#define STAGE_WITH(name)                                                                                     \
  GLOBAL(name)(const step_params *k, lane_group *g, int num, int choice) {                                   \
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                    \
    if (e < num) name(k, g + e, choice);                                                                     \
  }

STAGE(stage_begin)
STAGE_WITH(stage_boxes)
STAGE(evaluate_open)
STAGE_WITH(evaluate_pairs)
STAGE(evaluate_close)
STAGE(direction_open)
STAGE(direction_pairs)
STAGE(direction_close)
STAGE(try_open)
STAGE(try_pairs)
STAGE(try_close)
STAGE(stage_accept)
STAGE(stage_finish)
STAGE(stage_energies)
STAGE(stage_displace)
STAGE(reverse_open)
STAGE(reverse_pairs)
STAGE(reverse_close)
STAGE(stage_reverse_start)
STAGE(stage_gaps)
STAGE(stage_start)
STAGE(stage_friction)
GLOBAL(query_plane)(query_block *q, int num) {
  int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (e < num) query_plane(q + e);
}
