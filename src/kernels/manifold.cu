/* manifold.cu: instantiates the kernels of contact manifolds for GPUs, for one real type (ABUT_REAL): no
 * arithmetic. A warp works for one pair of poses, its threads for vertices and pairs of edges of that.
 *
 * This file is C as well, as cuda.cu is. */
#define ABUT_LANES 1
#define ABUT_TEAM 32
#include <math.h>
#include "manifold_batch.inl"

#define NAME__(name, bits) abut_##name##_f##bits##_team32
#define NAME_(name, bits) NAME__(name, bits)
#define NAME(name) NAME_(name, ABUT_REAL)

#ifdef ABUT_TWIN
#include "twin.h"
#define LINKAGE
#define GLOBAL(name) static void NAME(name)
#else
#define LINKAGE extern "C"
#define GLOBAL(name) static __global__ void __launch_bounds__(64, 4) NAME(name)
#endif

#define WARP ((int)(((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / ABUT_TEAM))

GLOBAL(manifold_contacts)(manifold_batch *b, int warps) {
  if (WARP < warps) manifold_share(b, WARP, warps, 0);
}
GLOBAL(manifold_gradient)(manifold_batch *b, int warps) {
  if (WARP < warps) manifold_share(b, WARP, warps, 1);
}
/* How many numbers of scratch a warp needs. */
GLOBAL(manifold_room)(manifold_batch *b, int warps) {
  if (WARP < warps && LEADER) b->scratch_numbers = manifold_scratch(&b->params);
}
GLOBAL(edges)(edges_batch *b, int warps) {
  if (WARP < warps) edges_share(b, WARP, warps);
}
GLOBAL(distances)(distances_batch *b, int warps) {
  if (WARP < warps) distances_share(b, WARP, warps);
}

/* In the order of manifold_kernel_id, for cudaLaunchKernel. */
LINKAGE const void *const NAME(manifold_kernels)[] = {
    (const void *)NAME(manifold_contacts), (const void *)NAME(manifold_gradient),
    (const void *)NAME(manifold_room), (const void *)NAME(edges), (const void *)NAME(distances)};
