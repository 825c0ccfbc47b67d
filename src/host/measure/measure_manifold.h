/* measure_manifold.h: times the pieces of contact manifolds for `abut bench`, without the copies that their
 * public functions make. */
#ifndef ABUT_MEASURE_MANIFOLD_H
#define ABUT_MEASURE_MANIFOLD_H
#include "abut/manifold.h"

/* ns per pair of edges, of random ends in a box of size 2. */
double measure_edges(int dtype);
/* ns per point for distance and normal at count points (count x 3, in the surface's frame), which are looked
 * at in packs of neighbours. skip 0: no primitive may be left out at any point. */
abut_status measure_distance(const abut_surface *surface, int64_t count, const double *points, int skip,
                             int dtype, double *ns);

/* measure_manifold_cuda.c: the same on a GPU, many at once, by its clock; ABUT_ERROR_DEVICE where there is no
 * such GPU. */
abut_status measure_edges_cuda(int32_t device_id, int32_t dtype, double *ns);
abut_status measure_distance_cuda(int32_t device_id, const abut_surface *surface, int64_t count,
                                  const double *points, int skip, int32_t dtype, double *ns);
/* What the kernels of the manifold's last call took by the device's clock (s); 0 on the CPU. */
double measure_manifold_cuda(const abut_manifold *manifold);

#endif
