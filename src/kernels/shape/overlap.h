/* overlap.h: whether two convex shapes overlap where they stand. */
#ifndef ABUT_SHAPE_OVERLAP_H
#define ABUT_SHAPE_OVERLAP_H
#include <stdint.h>

/* A hull grown by a radius, at a pose. */
typedef struct placed_hull {
  const double *points; /* num x 3, in its frame (m) */
  int32_t num;
  double radius;
  double x[3], rotation[9]; /* of the frame in the world, row-major */
} placed_hull;

/* Signed distance (m): minus the depth where they overlap by less than `shallow`; deeper, minus a depth by
 * which some motion separates them. normal: unit, from b to a; point: between them. */
typedef struct placed_gap {
  double gap, normal[3], point[3];
} placed_gap;
placed_gap overlap_gap(const placed_hull *a, const placed_hull *b, double shallow);
/* The same of a above the plane normal . x = offset. */
placed_gap overlap_plane_gap(const placed_hull *a, const double normal[3], double offset);

#endif
