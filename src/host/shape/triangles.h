/* triangles.h: a geom's surface as triangles, for long-range contact. */
#ifndef ABUT_SHAPE_SURFACE_H
#define ABUT_SHAPE_SURFACE_H
#include "host/shape/geom.h"

typedef struct abut_shape_surface {
  double *points; /* npoint x 3, in the geom's frame (m); corners of neighbours are one point */
  int64_t npoint;
  int32_t *faces; /* nface x 3 */
  int64_t nface;
} abut_shape_surface;

/* Surface of a definition that passed abut_shape_check; shape: its hull. Points of round shapes lie on them.
 * Free with abut_shape_surface_free. */
abut_status abut_shape_surface_build(const abut_geom_def *def, const abut_shape *shape,
                                     abut_shape_surface *surface);
void abut_shape_surface_free(abut_shape_surface *surface);

#endif
