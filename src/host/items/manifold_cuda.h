/* manifold_cuda.h: contact manifolds on a GPU. */
#ifndef ABUT_CUDA_MANIFOLD_H
#define ABUT_CUDA_MANIFOLD_H
#include "host/items/manifold_run.h"

/* Copies the manifold's surfaces to its device; fails as a batch's creation does where there is none. */
abut_status cuda_manifold_open(abut_manifold *m);
/* What the last call's kernels took by the device's clock (s); 0 on the CPU. */
double cuda_manifold_seconds(const abut_manifold *m);

/* Kernels of contact manifolds (kernels/items/manifold.cu). */
typedef enum manifold_kernel_id {
  MANIFOLD_contacts,
  MANIFOLD_gradient,
  MANIFOLD_room,
  MANIFOLD_edges,
  MANIFOLD_distances,
  MANIFOLD_COUNT
} manifold_kernel_id;
const void *const *cuda_manifold_kernels(int32_t dtype);

#endif
