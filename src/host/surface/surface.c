/* surface.c: a surface's memory, checks and signed distance. */
#include "host/surface/surface_distance.h"
#include "host/base/geometry.h"
#include "host/surface/primitive.h"
#include "host/base/status.h"
#include <stdlib.h>

/* how far a unit vector's length may be off, relative */
static const double unit_tolerance = 1e-6;
/* lengths beyond these would over- or underflow in ratios */
static const double shortest = 1e-30, longest = 1e30;
/* far above any surface, far below int32's overflow */
enum { MOST = INT32_MAX / 16 };

static int is_unit(const double *v, int n) {
  double square = 0;
  for (int i = 0; i < n; i++) square += v[i] * v[i];
  return fabs(square - 1) <= 2 * unit_tolerance;
}

/* ---------------------------------------------------------------------------------------- checks */

static abut_status check_counts(const abut_surface *s) {
  const struct {
    const char *what;
    int32_t count;
    int missing;
  } lists[] = {{"primitives", s->primitive_count, !s->primitives},
               {"planes", s->plane_count, !s->planes},
               {"points", s->point_count, !s->points},
               {"vertices", s->vertex_count, !s->vertices},
               {"edges", s->edge_count, !s->edges},
               {"triangles", s->triangle_count, !s->triangles}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (lists[i].count < 0 || lists[i].count > MOST)
      return fail_with(ABUT_ERROR_MODEL, "surface has %d %s, must be 0 to %d", lists[i].count, lists[i].what,
                       MOST);
    if (lists[i].count > 0 && lists[i].missing)
      return fail_with(ABUT_ERROR_MODEL, "surface has %d %s, but the pointer to them is NULL", lists[i].count,
                       lists[i].what);
  }
  if (s->primitive_count < 1) return fail_with(ABUT_ERROR_MODEL, "surface has no primitives");
  if (!(s->tau >= shortest && s->tau <= longest))
    return fail_with(ABUT_ERROR_MODEL, "surface's tau is %g, must lie in [%g, %g]", s->tau, shortest,
                     longest);
  return ABUT_OK;
}

static abut_status check_superquadric(const abut_primitive *p, int32_t i) {
  for (int k = 0; k < 3; k++)
    if (!(p->size[k] >= shortest && p->size[k] <= longest))
      return fail_with(ABUT_ERROR_MODEL, "primitive %d: size[%d] is %g, must lie in [%g, %g]", i, k,
                       p->size[k], shortest, longest);
  for (int k = 0; k < 2; k++)
    if (!(p->exponents[k] > 0 && p->exponents[k] <= 2))
      return fail_with(ABUT_ERROR_MODEL, "primitive %d: exponents[%d] is %.9g, must be in (0, 2]", i, k,
                       p->exponents[k]);
  if (p->first_plane || p->plane_count)
    return fail_with(ABUT_ERROR_MODEL, "primitive %d: a superquadric with plane_count %d, must be 0", i,
                     p->plane_count);
  return ABUT_OK;
}

static abut_status check_polyhedron(const abut_surface *s, const abut_primitive *p, int32_t i) {
  if (p->plane_count < 1 || p->first_plane < 0 || p->first_plane > s->plane_count - p->plane_count)
    return fail_with(ABUT_ERROR_MODEL, "primitive %d: planes %d to %lld of %d do not make a polyhedron", i,
                     p->first_plane, (long long)p->first_plane + p->plane_count, s->plane_count);
  return ABUT_OK;
}

static abut_status check_cloud(const abut_surface *s, const abut_primitive *p, int32_t i) {
  if (p->plane_count < 1 || p->first_plane < 0 || p->first_plane > s->point_count - p->plane_count)
    return fail_with(ABUT_ERROR_MODEL, "primitive %d: points %d to %lld of %d do not make a cloud", i,
                     p->first_plane, (long long)p->first_plane + p->plane_count, s->point_count);
  return ABUT_OK;
}

static abut_status check_primitive(const abut_surface *s, int32_t i) {
  const abut_primitive *p = s->primitives + i;
  if (p->subtracted != 0 && p->subtracted != 1)
    return fail_with(ABUT_ERROR_MODEL, "primitive %d: subtracted is %d", i, p->subtracted);
  for (int k = 0; k < 3; k++)
    if (!(fabs(p->position[k]) <= longest))
      return fail_with(ABUT_ERROR_MODEL, "primitive %d: position[%d] is %g", i, k, p->position[k]);
  if (!is_unit(p->quaternion, 4))
    return fail_with(ABUT_ERROR_MODEL, "primitive %d: quaternion is not a unit quaternion", i);
  if (p->kind == ABUT_PRIMITIVE_SUPERQUADRIC) return check_superquadric(p, i);
  if (p->kind == ABUT_PRIMITIVE_POLYHEDRON) return check_polyhedron(s, p, i);
  if (p->kind == ABUT_PRIMITIVE_POINT_CLOUD) return check_cloud(s, p, i);
  return fail_with(ABUT_ERROR_MODEL, "primitive %d: kind %d is not known", i, p->kind);
}

static abut_status check_planes(const abut_surface *s) {
  for (int32_t i = 0; i < s->plane_count; i++) {
    const double *plane = s->planes + 4 * (size_t)i;
    if (!is_unit(plane, 3)) return fail_with(ABUT_ERROR_MODEL, "plane %d: its normal is not unit", i);
    if (!(fabs(plane[3]) <= longest))
      return fail_with(ABUT_ERROR_MODEL, "plane %d: its offset is %g", i, plane[3]);
  }
  return ABUT_OK;
}

static abut_status check_points(const abut_surface *s) {
  for (int32_t i = 0; i < s->point_count; i++) {
    const double *p = s->points + 7 * (size_t)i;
    if (!is_unit(p + 3, 3)) return fail_with(ABUT_ERROR_MODEL, "point %d: its normal is not unit", i);
    for (int k = 0; k < 7; k++)
      if (!(fabs(p[k]) <= longest) || (k == 6 && p[k] < 0))
        return fail_with(ABUT_ERROR_MODEL, "point %d: number %d is %g", i, k, p[k]);
  }
  return ABUT_OK;
}

static abut_status check_indices(const char *what, const int32_t *list, int32_t rows, int columns,
                                 int32_t vertices) {
  for (int64_t i = 0; i < (int64_t)rows * columns; i++)
    if (list[i] < 0 || list[i] >= vertices)
      return fail_with(ABUT_ERROR_MODEL, "%s %lld has vertex %d, there are %d", what,
                       (long long)(i / columns), list[i], vertices);
  return ABUT_OK;
}

abut_status abut_surface_check(const abut_surface *surface) {
  REQUIRE_POINTER(surface, "surface");
  ATTEMPT(check_counts(surface));
  int32_t united = 0;
  for (int32_t i = 0; i < surface->primitive_count; i++) {
    ATTEMPT(check_primitive(surface, i));
    united += !surface->primitives[i].subtracted;
  }
  if (!united) return fail_with(ABUT_ERROR_MODEL, "every primitive of a surface is subtracted");
  ATTEMPT(check_planes(surface));
  ATTEMPT(check_points(surface));
  for (int64_t i = 0; i < 3 * (int64_t)surface->vertex_count; i++)
    if (!(fabs(surface->vertices[i]) <= longest))
      return fail_with(ABUT_ERROR_MODEL, "vertex %lld has coordinate %g", (long long)(i / 3),
                       surface->vertices[i]);
  ATTEMPT(check_indices("edge", surface->edges, surface->edge_count, 2, surface->vertex_count));
  return check_indices("triangle", surface->triangles, surface->triangle_count, 3, surface->vertex_count);
}

abut_status surface_check_plain(const abut_surface *surface) {
  ATTEMPT(abut_surface_check(surface));
  for (int32_t i = 0; i < surface->primitive_count; i++) {
    const abut_primitive *p = surface->primitives + i;
    if (p->kind == ABUT_PRIMITIVE_POINT_CLOUD || p->subtracted)
      return fail_with(ABUT_ERROR_UNSUPPORTED,
                       "primitive %d %s: manifolds and queries take it, fits and files do not", i,
                       p->subtracted ? "is subtracted" : "is a point cloud");
    if (p->kind == ABUT_PRIMITIVE_POLYHEDRON && p->plane_count < 4)
      return fail_with(ABUT_ERROR_MODEL, "primitive %d: %d planes do not make a polyhedron", i,
                       p->plane_count);
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- memory */

void abut_surface_destroy(abut_surface *surface) {
  if (!surface) return;
  free(surface->primitives);
  free(surface->planes);
  free(surface->points);
  free(surface->vertices);
  free(surface->edges);
  free(surface->triangles);
  free(surface);
}

/* A copy of count elements; *missing is set where there is no memory for it. */
static void *copy_list(const void *list, int32_t count, size_t element, int *missing) {
  if (count == 0) return NULL;
  void *copy = malloc((size_t)count * element);
  if (copy)
    memcpy(copy, list, (size_t)count * element);
  else
    *missing = 1;
  return copy;
}

abut_status abut_surface_copy(const abut_surface *surface, abut_surface **copy) {
  REQUIRE_POINTER(copy, "copy");
  *copy = NULL;
  ATTEMPT(surface_check_plain(surface));
  abut_surface *s = calloc(1, sizeof *s);
  int missing = !s;
  if (s) {
    *s = *surface;
    s->primitives = copy_list(surface->primitives, surface->primitive_count, sizeof *s->primitives, &missing);
    s->planes = copy_list(surface->planes, surface->plane_count, 4 * sizeof *s->planes, &missing);
    s->points = copy_list(surface->points, surface->point_count, 7 * sizeof *s->points, &missing);
    s->vertices = copy_list(surface->vertices, surface->vertex_count, 3 * sizeof *s->vertices, &missing);
    s->edges = copy_list(surface->edges, surface->edge_count, 2 * sizeof *s->edges, &missing);
    s->triangles = copy_list(surface->triangles, surface->triangle_count, 3 * sizeof *s->triangles, &missing);
  }
  if (!missing) {
    *copy = s;
    return ABUT_OK;
  }
  abut_surface_destroy(s);
  return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for a copy of %d primitives and %d vertices",
                   surface->primitive_count, surface->vertex_count);
}

/* ---------------------------------------------------------------------------------------- distance */

double posed_union(const posed_primitive *posed, int32_t count, double tau, const double x[3],
                   double gradient[3]) {
  /* one pass: what was summed is scaled down whenever a nearer primitive turns up */
  double least = INFINITY, sum = 0, total[3] = {0, 0, 0};
  for (int32_t l = 0; l < count; l++) {
    double slope[3];
    double phi = posed_distance(posed + l, x, gradient ? slope : NULL);
    double before = phi < least ? exp((phi - least) / tau) : 1;
    double share = phi < least ? 1 : exp((least - phi) / tau);
    least = phi < least ? phi : least;
    sum = sum * before + share;
    for (int k = 0; gradient && k < 3; k++) total[k] = total[k] * before + share * slope[k];
  }
  for (int k = 0; gradient && k < 3; k++) gradient[k] = total[k] / sum;
  return least - tau * log(sum);
}

abut_status surface_pose(const abut_surface *surface, posed_primitive **posed) {
  *posed = malloc((size_t)surface->primitive_count * sizeof **posed);
  if (!*posed)
    return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d primitives", surface->primitive_count);
  for (int32_t l = 0; l < surface->primitive_count; l++) (*posed)[l] = pose_primitive(surface, l);
  return ABUT_OK;
}

abut_status abut_surface_distance(const abut_surface *surface, int64_t count, const double *points,
                                  double *distance, double *gradient) {
  ATTEMPT(surface_check_plain(surface));
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "%s: count is %lld", __func__, (long long)count);
  if (count == 0) return ABUT_OK;
  REQUIRE_POINTER(points, "points");
  REQUIRE_POINTER(distance, "distance");
  for (int64_t i = 0; i < 3 * count; i++)
    if (!(fabs(points[i]) <= longest))
      return fail_with(ABUT_ERROR_ARGUMENT, "%s: point %lld has coordinate %g", __func__, (long long)(i / 3),
                       points[i]);
  posed_primitive *posed;
  ATTEMPT(surface_pose(surface, &posed));
  for (int64_t i = 0; i < count; i++)
    distance[i] = posed_union(posed, surface->primitive_count, surface->tau, points + 3 * i,
                              gradient ? gradient + 3 * i : NULL);
  free(posed);
  return ABUT_OK;
}
