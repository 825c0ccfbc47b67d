/* manifold.cu: instantiates the kernels of contact manifolds for GPUs, for one real type (ABUT_REAL): no
 * arithmetic. A warp works for one pair of poses, its threads for vertices and pairs of edges of that.
 *
 * This file is C as well, as cuda.cu is. */
#define ABUT_LANES 1
#define ABUT_TEAM 32
#include <math.h>
#include "kernels/lane/global.h"
#include "kernels/items/manifold_batch.inl"

#define NAME__(name, bits) abut_##name##_f##bits##_team32
#define NAME_(name, bits) NAME__(name, bits)
#define NAME(name) NAME_(name, ABUT_REAL)

GLOBAL(manifold_contacts)(manifold_batch *b, int warps) {
  if (TEAM_NUMBER < warps) manifold_share(b, TEAM_NUMBER, warps, 0);
}
GLOBAL(manifold_gradient)(manifold_batch *b, int warps) {
  if (TEAM_NUMBER < warps) manifold_share(b, TEAM_NUMBER, warps, 1);
}
/* How many numbers of scratch a warp needs. */
GLOBAL(manifold_room)(manifold_batch *b, int warps) {
  if (TEAM_NUMBER < warps && LEADER) b->scratch_numbers = manifold_scratch(&b->params);
}
GLOBAL(edges)(edges_batch *b, int warps) {
  if (TEAM_NUMBER < warps) edges_share(b, TEAM_NUMBER, warps);
}
GLOBAL(distances)(distances_batch *b, int warps) {
  if (TEAM_NUMBER < warps) distances_share(b, TEAM_NUMBER, warps);
}

/* In the order of manifold_kernel_id, for cudaLaunchKernel. */
LINKAGE const void *const NAME(manifold_kernels)[] = {
    (const void *)NAME(manifold_contacts), (const void *)NAME(manifold_gradient),
    (const void *)NAME(manifold_room), (const void *)NAME(edges), (const void *)NAME(distances)};
