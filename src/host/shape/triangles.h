/* triangles.h: a geom's surface as triangles, for long-range contact. */
#ifndef ABUT_SHAPE_SURFACE_H
#define ABUT_SHAPE_SURFACE_H
#include "host/shape/geom.h"

typedef struct geom_surface {
  double *points; /* npoint x 3, in the geom's frame (m); corners of neighbours are one point */
  int64_t npoint;
  int32_t *faces; /* nface x 3 */
  int64_t nface;
} geom_surface;

/* Surface of a definition that passed shape_check; shape: its hull. Points of round shapes lie on them.
 * Free with geom_surface_free. */
abut_status geom_surface_build(const abut_geom_def *def, const geom_shape *shape, geom_surface *surface);
void geom_surface_free(geom_surface *surface);

#endif
