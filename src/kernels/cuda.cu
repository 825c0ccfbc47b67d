/* cuda.cu: instantiates the kernels for GPUs, for one real type (ABUT_REAL). No arithmetic: a stage of whole
 * environments is one thread per environment, a body of one pair is one thread per environment and slot, so
 * that what such a body returns for its environment goes to `out`, to be summed in the order of slots.
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
#define GLOBAL(name) extern "C" __global__ void __launch_bounds__(64) NAME(name, ABUT_REAL)

/* ------------------------------------------------------------------ stages of whole environments */

#define STAGE(name)                                                                                          \
  GLOBAL(name)(const step_params *k, lane_group *g, int num) {                                               \
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                    \
    if (e < num) stage_##name(k, g + e);                                                                     \
  }
#define STAGE_WITH(name)                                                                                     \
  GLOBAL(name)(const step_params *k, lane_group *g, int num, int choice) {                                   \
    int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                    \
    if (e < num) stage_##name(k, g + e, choice);                                                             \
  }

STAGE(begin)
STAGE_WITH(boxes)
STAGE(start)
STAGE(friction)
STAGE_WITH(evaluate)
STAGE(direction)
STAGE(try)
STAGE(accept)
STAGE(finish)
STAGE(energies)
STAGE(gaps)
STAGE(displace)
STAGE(reverse)
STAGE(reverse_start)

/* ------------------------------------------------------------------ bodies of one pair */

/* blockIdx.y counts slots in the order of sums; leaves where this environment has none. */
#define PAIR_BEGIN(which)                                                                                    \
  int e = (int)(blockIdx.x * blockDim.x + threadIdx.x), i = (int)blockIdx.y;                                 \
  if (e >= num || i >= g[e].nslot) return;                                                                   \
  real *w = (real *)g[e].work, *slots = (real *)g[e].slots;                                                  \
  int s = g[e].order[i];                                                                                     \
  uint32_t bits = which;                                                                                     \
  if (!bits) return;                                                                                         \
  mask on = mask_from_bits(bits);

GLOBAL(pair_start)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_new[s])
  contact_start(k, w, slots, s, g[e].slot_pair[s], on, &g[e].overlap);
}
GLOBAL(pair_friction)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_begin(k, w, slots, s, g[e].slot_pair[s], on);
}
GLOBAL(pair_polish)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_polish(k, w, slots, s, g[e].slot_pair[s], on, W(xpos), W(xmat));
}
GLOBAL(pair_evaluate)(const step_params *k, lane_group *g, int num, int exact) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_evaluate(k, w, slots, s, g[e].slot_pair[s], on, 1, exact);
}
GLOBAL(pair_direction)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_direction(k, w, slots, s, g[e].slot_pair[s], on, W(body_step));
}
GLOBAL(pair_try)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_try(k, w, slots, s, g[e].slot_pair[s], on);
}
GLOBAL(pair_accept)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_accept(k, w, slots, s, on);
}
GLOBAL(pair_gap)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_gap(k, w, slots, s, g[e].slot_pair[s], on);
}
GLOBAL(pair_vjp)(const step_params *k, lane_group *g, int num) {
  PAIR_BEGIN(g[e].slot_on[s] & g[e].live)
  contact_vjp(k, w, slots, s, g[e].slot_pair[s], on);
}

GLOBAL(query_plane)(query_block *q, int num) {
  int e = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (e < num) query_plane(q + e);
}
