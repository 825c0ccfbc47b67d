/* surface_view.c: converts a surface's primitives to the frame, unit and real type of kernels, with the
 * spheres that bound each one's distance. */
#include "host/surface/surface_view.h"
#include "host/base/geometry.h"
#include "host/base/real.h"
#include "host/base/status.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNBOUNDED = 1000000000 };

static void rotate(const double r[9], const double v[3], double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
}

/* Largest Euclidean length on the unit sphere of the p-norm of (x/a, y/b): at an end of the longer axis for
 * p <= 2, else between the axes. */
static double longest(double a, double b, double p) {
  if (p <= 2) return fmax(a, b);
  double k = 2 * p / (p - 2), large = fmax(a, b), small = fmin(a, b);
  return large * pow(1 + pow(small / large, k), 1 / k);
}

/* |x| - outer <= phi = |x| - |x|/h <= |x| - inner: the surface lies between two spheres about the centre. */
static void bound_superquadric(const abut_primitive *q, double unit, sdf_source *out) {
  double p1 = 2 / q->exponents[0], p2 = 2 / q->exponents[1], sum = 0, least = INFINITY;
  for (int i = 0; i < 3; i++) {
    sum += 1 / (q->size[i] * q->size[i]);
    least = fmin(least, q->size[i]);
  }
  /* the octahedron of the axes' ends lies within every one; for norms of 2 and above the ellipsoid does */
  out->inner = (p1 >= 2 && p2 >= 2 ? least : 1 / sqrt(sum)) * (1 - 1e-6) / unit;
  out->outer = longest(longest(q->size[0], q->size[1], p2), q->size[2], p1) * (1 + 1e-6) / unit;
  out->slope = 1;
}

static void place_superquadric(const abut_primitive *q, double unit, sdf_source *out) {
  quat_matrix(out->rotation, q->quaternion);
  for (int i = 0; i < 3; i++) {
    out->center[i] = q->position[i] / unit;
    out->size[i] = q->size[i] / unit;
  }
  memcpy(out->exponents, q->exponents, sizeof out->exponents);
  for (int k = 0; k < 2; k++) { /* 0 where single precision would not have it in full */
    const double power = pow(SDF_FLOOR_VJP, 2 / q->exponents[k]);
    out->floor_power[k] = power > 1e-36 ? power : 0;
  }
  bound_superquadric(q, unit, out);
}

/* Rows of a polyhedron: normal, offset in the surface's frame. It may be unbounded: no outer sphere. */
static void place_polyhedron(const abut_surface *s, const abut_primitive *q, double unit, double *rows) {
  double r[9];
  quat_matrix(r, q->quaternion);
  for (int32_t i = 0; i < q->plane_count; i++, rows += SDF_ROW) {
    const double *plane = s->planes + 4 * (q->first_plane + i);
    rotate(r, plane, rows);
    rows[3] = plane[3] / unit;
    for (int k = 0; k < 3; k++) rows[3] += rows[k] * q->position[k] / unit;
  }
}

/* Twice the distance from point i to its sixth neighbour, or to the farthest where there are fewer. */
static double default_sigma(const double *points, int32_t n, int32_t i) {
  double nearest[6];
  int found = 0;
  for (int32_t j = 0; j < n; j++) {
    if (j == i) continue;
    double d = 0;
    for (int k = 0; k < 3; k++) d += pow(points[7 * j + k] - points[7 * i + k], 2);
    if (found < 6)
      nearest[found++] = d;
    else if (d < nearest[5])
      nearest[5] = d;
    for (int at = found - 1; at > 0 && nearest[at] < nearest[at - 1]; at--) {
      double larger = nearest[at - 1];
      nearest[at - 1] = nearest[at];
      nearest[at] = larger;
    }
  }
  return found && nearest[found - 1] > 0 ? 2 * sqrt(nearest[found - 1]) : 1;
}
static void place_cloud(const abut_surface *s, const abut_primitive *q, double unit, double *rows,
                        double *given) {
  double r[9];
  quat_matrix(r, q->quaternion);
  const double *points = s->points + 7 * (int64_t)q->first_plane;
  for (int32_t i = 0; i < q->plane_count; i++, rows += SDF_ROW) {
    double sigma = points[7 * i + 6] > 0 ? points[7 * i + 6] : default_sigma(points, q->plane_count, i);
    given[i] = points[7 * i + 6];
    rotate(r, points + 7 * i, rows);
    rotate(r, points + 7 * i + 3, rows + 3);
    for (int k = 0; k < 3; k++) rows[k] = (rows[k] + q->position[k]) / unit;
    rows[6] = unit * unit / (sigma * sigma);
  }
}

static void put_rows(const item_kernels *k, void *to, const double *rows, int64_t n) {
  for (int64_t i = 0; i < n; i++) real_put(k, to, i, rows[i]);
}

static int32_t rows_of(const abut_primitive *q) {
  return q->kind == ABUT_PRIMITIVE_SUPERQUADRIC ? 0 : q->plane_count;
}

static void fill(const abut_surface *s, double unit, surface_view *view, sdf_source *sources, double *rows) {
  int32_t place = 0, row = 0;
  for (int subtracted = 0; subtracted < 2; subtracted++) {
    for (int32_t i = 0; i < s->primitive_count; i++) {
      const abut_primitive *q = &s->primitives[i];
      if ((q->subtracted != 0) != subtracted) continue;
      sdf_source *out = &sources[place];
      view->primitives[place] = *q;
      view->order[place++] = i;
      *out = (sdf_source){
          .kind = SDF_SUPERQUADRIC, .subtracted = subtracted, .size = {1, 1, 1}, .exponents = {1, 1}};
      if (q->kind == ABUT_PRIMITIVE_SUPERQUADRIC) {
        place_superquadric(q, unit, out);
        continue;
      }
      out->kind = q->kind == ABUT_PRIMITIVE_POLYHEDRON ? SDF_POLYHEDRON : SDF_CLOUD;
      out->first = row;
      out->num = q->plane_count;
      out->outer = UNBOUNDED;
      out->inner = -UNBOUNDED;
      out->slope = 1;
      for (int k = 0; k < 3; k++) out->center[k] = q->position[k] / unit;
      if (out->kind == SDF_POLYHEDRON)
        place_polyhedron(s, q, unit, rows + (int64_t)row * SDF_ROW);
      else
        place_cloud(s, q, unit, rows + (int64_t)row * SDF_ROW, view->sigma + row);
      row += q->plane_count;
    }
    if (!subtracted) view->sdf.plus = place;
  }
}

/* Slopes of a cloud's logits are x/sigma^2, and are multiplied by heights and squared. */
static abut_status check_sigmas(const item_kernels *k, const surface_view *view, const double *rows,
                                double unit) {
  const double least = k->elem_size == 8 ? 1e-8 : 1e-4;
  int64_t row = 0;
  for (int32_t i = 0; i < view->sdf.num; i++) {
    const abut_primitive *q = &view->primitives[i];
    for (int32_t j = 0; j < rows_of(q); j++, row++)
      if (q->kind == ABUT_PRIMITIVE_POINT_CLOUD && rows[row * SDF_ROW + 6] * least * least > 1)
        return fail_with(ABUT_ERROR_ARGUMENT, "point %d: sigma is %g, in %s precision at least %g",
                         q->first_plane + j, unit / sqrt(rows[row * SDF_ROW + 6]),
                         k->elem_size == 8 ? "double" : "single", least * unit);
  }
  return ABUT_OK;
}
/* Lengths in units of a surface that is much smaller than it is far away need not be there any more. */
static abut_status check_lengths(const item_kernels *k, const surface_view *view, const sdf_source *sources,
                                 const double *rows, double unit) {
  for (int32_t i = 0; i < view->sdf.num; i++)
    for (int c = 0; c < 3; c++)
      if (!real_holds(k->elem_size, sources[i].center[c]) || !real_holds(k->elem_size, sources[i].size[c]))
        return fail_with(ABUT_ERROR_ARGUMENT,
                         "primitive %d: position %g or size %g is beyond single precision in units of %g",
                         view->order[i], unit * sources[i].center[c], unit * sources[i].size[c], unit);
  for (int64_t i = 0; i < (int64_t)view->sdf.num_rows * SDF_ROW; i++)
    if (!real_holds(k->elem_size, rows[i]))
      return fail_with(ABUT_ERROR_ARGUMENT,
                       "row %lld of planes and points: %g is beyond single precision in units of %g",
                       (long long)(i / SDF_ROW), rows[i], unit);
  return ABUT_OK;
}
double surface_view_reach(const item_kernels *kernels, const surface_view *view) {
  int clouds = 0;
  for (int32_t i = 0; i < view->sdf.num; i++)
    clouds |= view->primitives[i].kind == ABUT_PRIMITIVE_POINT_CLOUD;
  return clouds && kernels->elem_size == 4 ? 1e6 : 1e12;
}

abut_status surface_view_create(const item_kernels *kernels, const abut_surface *surface, double unit,
                                double tau, surface_view *view) {
  int64_t num = surface->primitive_count, nrow = 0;
  for (int64_t i = 0; i < num; i++) nrow += rows_of(&surface->primitives[i]);
  size_t primitives = (size_t)(num * kernels->manifold.primitive_size + 63) / 64 * 64,
         row_bytes = (size_t)(nrow * SDF_ROW * kernels->elem_size + 64) / 64 * 64;
  sdf_source *sources = calloc((size_t)num, sizeof *sources);
  double *rows = calloc((size_t)(nrow * SDF_ROW + 1), sizeof *rows);
  *view = (surface_view){
      .sdf = {.num = (int32_t)num, .num_rows = (int32_t)nrow, .tau = (tau > 0 ? tau : surface->tau) / unit}};
  view->memory = aligned_alloc(64, primitives + row_bytes);
  view->order = calloc((size_t)num, sizeof *view->order);
  view->primitives = calloc((size_t)num, sizeof *view->primitives);
  view->sigma = calloc((size_t)nrow + 1, sizeof *view->sigma);
  view->num_planes = surface->plane_count;
  view->num_points = surface->point_count;
  abut_status status = ABUT_OK;
  if (!sources || !rows || !view->memory || !view->order || !view->primitives || !view->sigma) {
    status = fail_with(ABUT_ERROR_MEMORY, "a surface of %lld primitives: out of memory", (long long)num);
    surface_view_destroy(view);
  } else {
    fill(surface, unit, view, sources, rows);
    status = check_lengths(kernels, view, sources, rows, unit);
    kernels->manifold.prepare(sources, (int)num, view->memory);
    void *to = (char *)view->memory + primitives;
    put_rows(kernels, to, rows, nrow * SDF_ROW);
    view->sdf.primitives = view->memory;
    view->sdf.rows = to;
    if (status == ABUT_OK) status = check_sigmas(kernels, view, rows, unit);
    if (status != ABUT_OK) surface_view_destroy(view);
  }
  free(sources);
  free(rows);
  return status;
}

void surface_view_destroy(surface_view *view) {
  free(view->memory);
  free(view->order);
  free(view->primitives);
  free(view->sigma);
  *view = (surface_view){0};
}

static void grow(double low[3], double high[3], const double x[3], double radius) {
  for (int k = 0; k < 3; k++) {
    low[k] = fmin(low[k], x[k] - radius);
    high[k] = fmax(high[k], x[k] + radius);
  }
}
double abut_surface_diagonal(const abut_surface *surface) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int32_t i = 0; i < surface->vertex_count; i++) grow(low, high, surface->vertices + 3 * (int64_t)i, 0);
  for (int32_t i = 0; i < surface->primitive_count && surface->vertex_count == 0; i++) {
    const abut_primitive *q = &surface->primitives[i];
    double largest =
        q->kind == ABUT_PRIMITIVE_SUPERQUADRIC ? fmax(q->size[0], fmax(q->size[1], q->size[2])) : 0;
    for (int32_t j = 0; q->kind == ABUT_PRIMITIVE_POLYHEDRON && j < q->plane_count; j++)
      largest = fmax(largest, fabs(surface->planes[4 * (q->first_plane + j) + 3]));
    for (int32_t j = 0; q->kind == ABUT_PRIMITIVE_POINT_CLOUD && j < q->plane_count; j++)
      for (int k = 0; k < 3; k++)
        largest = fmax(largest, fabs(surface->points[7 * (int64_t)(q->first_plane + j) + k]));
    grow(low, high, q->position, largest);
  }
  double square = 0;
  for (int k = 0; k < 3; k++) square += (high[k] - low[k]) * (high[k] - low[k]);
  return square > 0 && square < DBL_MAX ? sqrt(square) : 1;
}
