/* measure_ball.h: a ball of so many triangles, for long-range queries without a scene. */
#ifndef ABUT_MEASURE_BALL_H
#define ABUT_MEASURE_BALL_H
#include "abut/surface.h"

/* The surface that a sphere of this radius (m) and tessellation has in a scene: 8 tessellation^2 triangles
 * around the origin. Destroy with abut_triangles_destroy. */
abut_status measure_ball(double radius, int32_t tessellation, abut_triangles **ball);

#endif
