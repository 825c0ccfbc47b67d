/* hull.h: convex hulls of points, and mass moments of closed triangle meshes. */
#ifndef ABUT_SHAPE_HULL_H
#define ABUT_SHAPE_HULL_H
#include "abut/abut.h"

/* Convex hull of n points (n x 3). *hull_points: those on it, in the order of the input, npoint x 3; *faces:
 * nface x 3 indices of hull points, outward, a closed surface. Free both with free(). The message of a
 * failure says what is wrong with the hull ("hull has 4 coplanar vertices"), without a subject. */
abut_status hull_build(const double *points, int64_t n, double **hull_points, int32_t *npoint,
                       int32_t **faces, int32_t *nface);

/* Refuses (ABUT_ERROR_MODEL) triangles that bound no volume: open, or with an edge that more than two of
 * them, or two on the same side, have. Equal points must be one. */
abut_status mesh_check_closed(const int32_t *faces, int64_t nface);
/* Moments (moment.h) of the solid of density 1 within triangles, closed and outward. Refuses open,
 * non-manifold and inside-out surfaces: they have no volume. */
abut_status mesh_moment(const double *points, int64_t npoint, const int32_t *faces, int64_t nface,
                        double moment[10]);

#endif
