/* geom.h: a geom's definition as points, faces and volume. */
#ifndef ABUT_SHAPE_GEOM_H
#define ABUT_SHAPE_GEOM_H
#include "abut/abut.h"

/* The hull that stands for a geom in contact, in the geom's frame. */
typedef struct geom_shape {
  double *points; /* npoint x 3 (m); none for a half-space */
  int32_t npoint;
  int32_t *faces; /* nface x 3, outward; none where the shape is round or a half-space */
  int32_t nface;
  double radius;     /* added around every point (m) */
  double hull_error; /* largest distance from the true surface to the hull (m) */
  double size[3];    /* the definition's; mesh: half the extents of its hull (m) */
} geom_shape;

/* Checks sizes and numbers of a definition. The message has no subject ("radius is -1"). */
abut_status shape_check(const abut_geom_def *def);
/* Compiles a definition that passed the check. */
abut_status shape_build(const abut_geom_def *def, geom_shape *shape);
void shape_free(geom_shape *shape);
/* Moments (moment.h) at density 1 of the true shape without rounding, in the geom's frame. */
abut_status shape_moment(const abut_geom_def *def, const geom_shape *shape, double moment[10]);

#endif
