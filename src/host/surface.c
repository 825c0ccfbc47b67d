/* surface.c: checks of surfaces. */
#include "abut/surface.h"
#include "status.h"
#include <math.h>

static abut_status check_primitive(const abut_surface *s, int32_t i) {
  const abut_primitive *q = &s->primitives[i];
#define BAD(...) return abut_fail(ABUT_ERROR_ARGUMENT, "primitive " __VA_ARGS__)
  if (q->kind < 0 || q->kind > ABUT_PRIMITIVE_POINT_CLOUD) BAD("%d: kind %d is unknown", i, q->kind);
  double square = 0;
  for (int k = 0; k < 4; k++) square += q->quaternion[k] * q->quaternion[k];
  for (int k = 0; k < 3; k++)
    if (!(fabs(q->position[k]) <= 1e12)) BAD("%d: position[%d] is %g", i, k, q->position[k]);
  if (!(fabs(square - 1) < 1e-6)) BAD("%d: its quaternion has length %g, must be 1", i, sqrt(square));
  if (q->kind == ABUT_PRIMITIVE_SUPERQUADRIC) {
    for (int k = 0; k < 3; k++)
      if (!(q->size[k] > 0 && q->size[k] <= 1e12))
        BAD("%d: size[%d] is %g, must be positive", i, k, q->size[k]);
    for (int k = 0; k < 2; k++)
      if (!(q->exponents[k] >= 1e-3 && q->exponents[k] <= 2))
        BAD("%d: exponent e%d is %g, must lie in [1e-3, 2]", i, k + 1, q->exponents[k]);
    return ABUT_OK;
  }
  int32_t have = q->kind == ABUT_PRIMITIVE_POLYHEDRON ? s->plane_count : s->point_count;
  if (q->plane_count < 1 || q->first_plane < 0 || q->first_plane > have - q->plane_count)
    BAD("%d: rows %d to %d of %d", i, q->first_plane, q->first_plane + q->plane_count, have);
#undef BAD
  return ABUT_OK;
}

static abut_status check_normal(const char *what, int32_t i, const double n[3]) {
  double square = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
  return fabs(square - 1) < 1e-6
             ? ABUT_OK
             : abut_fail(ABUT_ERROR_ARGUMENT, "%s %d: its normal has length %g, must be 1", what, i,
                         sqrt(square));
}

abut_status abut_surface_check(const abut_surface *s) {
  ABUT_REQUIRE(s, "surface");
  if (s->primitive_count < 1 || !s->primitives)
    return abut_fail(ABUT_ERROR_ARGUMENT, "a surface without primitives");
  if (!(s->tau > 0 && s->tau <= 1e12))
    return abut_fail(ABUT_ERROR_ARGUMENT, "tau is %g, must be positive", s->tau);
  int32_t united = 0;
  for (int32_t i = 0; i < s->primitive_count; i++) {
    ABUT_TRY(check_primitive(s, i));
    united += !s->primitives[i].subtracted;
  }
  if (!united) return abut_fail(ABUT_ERROR_ARGUMENT, "every primitive is subtracted");
  for (int32_t i = 0; i < s->plane_count; i++) {
    ABUT_TRY(check_normal("plane", i, s->planes + 4 * (int64_t)i));
    if (!(fabs(s->planes[4 * (int64_t)i + 3]) <= 1e12))
      return abut_fail(ABUT_ERROR_ARGUMENT, "plane %d: offset %g", i, s->planes[4 * (int64_t)i + 3]);
  }
  for (int32_t i = 0; i < s->point_count; i++) {
    const double *p = s->points + 7 * (int64_t)i;
    ABUT_TRY(check_normal("point", i, p + 3));
    for (int k = 0; k < 7; k++)
      if (!(fabs(p[k]) <= 1e12))
        return abut_fail(ABUT_ERROR_ARGUMENT, "point %d: number %d is %g", i, k, p[k]);
    if (p[6] < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "point %d: sigma is %g", i, p[6]);
  }
  for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
    if (!(fabs(s->vertices[i]) <= 1e12))
      return abut_fail(ABUT_ERROR_ARGUMENT, "vertex %lld: coordinate %d is %g", (long long)(i / 3),
                       (int)(i % 3), s->vertices[i]);
  for (int64_t i = 0; i < 2 * (int64_t)s->edge_count; i++)
    if (s->edges[i] < 0 || s->edges[i] >= s->vertex_count)
      return abut_fail(ABUT_ERROR_ARGUMENT, "edge %lld: vertex %d of %d", (long long)(i / 2), s->edges[i],
                       s->vertex_count);
  return ABUT_OK;
}
