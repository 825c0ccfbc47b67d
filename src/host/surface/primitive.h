/* primitive.h: signed distances of single primitives, with derivatives; the union of several. */
#ifndef ABUT_PRIMITIVE_H
#define ABUT_PRIMITIVE_H
#include "abut/surface.h"

/* A primitive whose frame is known as a matrix, so that many points can be asked. */
typedef struct posed_primitive {
  int32_t kind;
  double position[3], rotation[9]; /* columns: its axes */
  double size[3], p1, p2;          /* powers 2 / e1, 2 / e2 */
  const double *planes;            /* plane_count x 4 */
  int32_t plane_count;
  double tau;
} posed_primitive;

posed_primitive pose_primitive(const abut_surface *surface, int32_t primitive);
/* phi at x (m); gradient may be NULL. */
double posed_distance(const posed_primitive *posed, const double x[3], double gradient[3]);

/* Slopes of a superquadric's phi by its parameters. */
enum { SLOPE_SIZE = 0, SLOPE_EXPONENT = 3, SLOPE_TURN = 5, SLOPE_MOVE = 8, SLOPES = 11 };
/* phi, its gradient, and slopes: by log a, b, c, by e1, e2, by a turn about the primitive's own axes, by its
 * position. */
double primitive_slopes(const posed_primitive *posed, const double x[3], double gradient[3],
                        double slopes[SLOPES]);

/* -tau log(exp(-a/tau) + exp(-b/tau)); *share: weight of a in its gradient. b may be infinite. */
double soft_minimum(double a, double b, double tau, double *share);

#endif
