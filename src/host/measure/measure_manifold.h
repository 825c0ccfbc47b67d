/* measure_manifold.h: times the pieces of contact manifolds for `abut bench`, without the copies that their
 * public functions make. */
#ifndef ABUT_HOST_BENCH_MANIFOLD_H
#define ABUT_HOST_BENCH_MANIFOLD_H
#include "abut/surface.h"

/* ns per pair of edges, of random ends in a box of size 2. */
double abut_bench_edges(int dtype);
/* ns per point for distance and normal at count points (count x 3, in the surface's frame), which are looked
 * at in packs of neighbours. skip 0: no primitive may be left out at any point. */
abut_status abut_bench_distance(const abut_surface *surface, int64_t count, const double *points, int skip,
                                int dtype, double *ns);

#endif
