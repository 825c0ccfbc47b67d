/* measure_ball.c: a ball of so many triangles. */
#include "host/measure/measure_ball.h"
#include "host/base/status.h"
#include "host/shape/triangles.h"
#include <stdlib.h>

abut_status measure_ball(double radius, int32_t tessellation, abut_triangles **ball) {
  abut_geom_def def = abut_default_geom_def();
  geom_surface surface;
  def.type = ABUT_GEOM_SPHERE;
  def.size[0] = radius;
  def.tessellation = tessellation;
  ATTEMPT(geom_surface_build(&def, NULL, &surface));
  *ball = malloc(sizeof **ball);
  if (!*ball) {
    geom_surface_free(&surface);
    return fail_with(ABUT_ERROR_MEMORY, "no memory for a ball");
  }
  **ball = (abut_triangles){.vertices = surface.points,
                            .nvertex = surface.npoint,
                            .triangles = surface.faces,
                            .ntriangle = surface.nface};
  return ABUT_OK;
}
