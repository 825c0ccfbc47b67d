/* surface_distance.h: a surface's signed distance at many points, for the library's own use. */
#ifndef ABUT_HOST_SURFACE_H
#define ABUT_HOST_SURFACE_H
#include "abut/surface.h"
#include "host/surface/primitive.h"

/* As abut_surface_check; and nothing that fits and files do not take: clouds, what is subtracted, fewer than
 * four planes. */
abut_status surface_check_plain(const abut_surface *surface);
/* Every primitive of a surface that passed abut_surface_check, free with free(). */
abut_status surface_pose(const abut_surface *surface, posed_primitive **posed);
/* phi of the union at x, and its gradient, which may be NULL. */
double posed_union(const posed_primitive *posed, int32_t count, double tau, const double x[3],
                   double gradient[3]);

#endif
