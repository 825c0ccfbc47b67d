/* manifold_cuda.h: contact manifolds on a GPU. */
#ifndef ABUT_CUDA_MANIFOLD_H
#define ABUT_CUDA_MANIFOLD_H
#include "host/items/manifold_run.h"

/* Copies the manifold's surfaces to its device; fails as a batch's creation does where there is none. */
abut_status cuda_manifold_open(abut_manifold *m);
void cuda_manifold_close(abut_manifold *m);
/* Contacts of all poses of `a`, and their reverse pass where it has bars; sums go to a->sums chunk by chunk.
 * Callers on several threads wait for one another. */
abut_status cuda_manifold_run(manifold_run *a);
/* What the last call's kernels took by the device's clock (s); 0 on the CPU. */
double cuda_manifold_seconds(const abut_manifold *m);

#endif
