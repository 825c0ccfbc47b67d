/* query_manifold.c: the pieces of contacts alone: closest points of edges, distances to surfaces. */
#include "abut/manifold.h"
#include "status.h"
#include "surface_view.h"
#include <math.h>
#include <stdlib.h>

static const abut_kernels *kernels_for(int32_t dtype) {
  return dtype == ABUT_F64 || dtype == ABUT_F32 ? abut_kernels_find(dtype, NULL) : NULL;
}

static abut_status check_edges(int64_t i, const abut_edges_query *q) {
#define BAD(...) return abut_fail(ABUT_ERROR_ARGUMENT, "query " __VA_ARGS__)
  const double *x[2] = {q->edge1[0], q->edge2[0]};
  for (int j = 0; j < 2; j++) {
    double square = 0;
    for (int k = 0; k < 6; k++)
      if (!(fabs(x[j][k]) <= 1e12))
        BAD("%lld: e%d[%d] is %g, must lie within 1e12", (long long)i, j + 1, k, x[j][k]);
    for (int k = 0; k < 3; k++) square += (x[j][3 + k] - x[j][k]) * (x[j][3 + k] - x[j][k]);
    if (!(square > 0)) BAD("%lld: e%d has no length", (long long)i, j + 1);
  }
  const double soft[] = {q->w_reg, q->tau_clip, q->tau_min, q->tau_comp};
  static const char *const names[] = {"w_reg", "tau_clip", "tau_min", "tau_comp"};
  for (int k = 0; k < 4; k++)
    if (!(soft[k] >= 1e-9 && soft[k] <= 1e6))
      BAD("%lld: %s is %g, must lie in [1e-9, 1e6]", (long long)i, names[k], soft[k]);
  return ABUT_OK;
#undef BAD
}

/* Edges are brought to size 1 by a power of two, as single precision wants. */
static double unit_of(const abut_edges_query *q) {
  double largest = 0;
  for (int k = 0; k < 3; k++) {
    largest = fmax(largest, fabs(q->edge1[1][k] - q->edge1[0][k]));
    largest = fmax(largest, fabs(q->edge2[1][k] - q->edge2[0][k]));
  }
  return exp2(round(log2(largest)));
}

abut_status abut_query_edges(int64_t count, const abut_edges_query *queries, abut_edges_result *results,
                             int32_t dtype) {
  ABUT_REQUIRE(count <= 0 || queries, "queries");
  ABUT_REQUIRE(count <= 0 || results, "results");
  const abut_kernels *k = kernels_for(dtype);
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  if (!k) return abut_fail(ABUT_ERROR_ARGUMENT, "dtype %d is unknown", dtype);
  for (int64_t i = 0; i < count; i++) ABUT_TRY(check_edges(i, &queries[i]));
  _Alignas(64) double memory[12 * 16];
  for (int64_t i = 0; i < count; i++) { /* softness differs from query to query: all lanes do the same */
    const abut_edges_query *q = &queries[i];
    double unit = unit_of(q), square = q->relative ? 1 : unit * unit;
    edges_block block = {
        .soft = {q->w_reg / square, q->tau_clip, q->tau_min / square, q->tau_comp, q->relative}, .packs = 1};
    char *at = (char *)memory;
    size_t row = (size_t)k->lanes * (size_t)k->elem_size;
    for (int c = 0; c < 3; c++)
      for (int l = 0; l < k->lanes; l++) {
        real_put(k, at, c * k->lanes + l, (q->edge1[0][c] - q->edge2[0][c]) / unit);
        real_put(k, at + 3 * row, c * k->lanes + l, (q->edge1[1][c] - q->edge1[0][c]) / unit);
        real_put(k, at + 6 * row, c * k->lanes + l, (q->edge2[1][c] - q->edge2[0][c]) / unit);
      }
    block.r = at;
    block.t1 = at + 3 * row;
    block.t2 = at + 6 * row;
    block.alpha1 = at + 9 * row;
    block.alpha2 = at + 10 * row;
    block.colliding = at + 11 * row;
    k->manifold.query_edges(&block);
    results[i] = (abut_edges_result){real_get(k, block.alpha1, 0), real_get(k, block.alpha2, 0),
                                     real_get(k, block.colliding, 0)};
  }
  return ABUT_OK;
}

abut_status abut_query_distance(const abut_surface *surface, int64_t count, const double *points,
                                double *distance, double *normal, double *gradient, int32_t dtype) {
  ABUT_REQUIRE(surface, "surface");
  ABUT_REQUIRE(count <= 0 || points, "points");
  const abut_kernels *k = kernels_for(dtype);
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  if (!k) return abut_fail(ABUT_ERROR_ARGUMENT, "dtype %d is unknown", dtype);
  ABUT_TRY(abut_surface_check(surface));
  double unit = exp2(round(log2(surface_diagonal(surface))));
  for (int64_t i = 0; i < 3 * count; i++)
    if (!(fabs(points[i]) <= 1e12 * unit))
      return abut_fail(ABUT_ERROR_ARGUMENT, "point %lld: coordinate %d is %g, must lie within %g",
                       (long long)(i / 3), (int)(i % 3), points[i], 1e12 * unit);
  surface_view view;
  ABUT_TRY(surface_view_create(k, surface, unit, 0, &view));
  size_t row = (size_t)k->lanes * (size_t)k->elem_size, num = (size_t)surface->primitive_count;
  char *memory = aligned_alloc(64, ((18 + 5 * num) * row + 63) / 64 * 64);
  int32_t *kept = malloc((2 * num + 2) * sizeof *kept);
  abut_status status = memory && kept ? ABUT_OK : abut_fail(ABUT_ERROR_MEMORY, "query: out of memory");
  for (int64_t i = 0; status == ABUT_OK && i < count; i += k->lanes) {
    distance_block block = {&view.sdf,         memory, memory + 3 * row, memory + 4 * row, memory + 7 * row,
                            memory + 10 * row, kept};
    for (int c = 0; c < 3; c++)
      for (int l = 0; l < k->lanes; l++)
        real_put(k, memory, c * k->lanes + l, points[3 * (i + l < count ? i + l : count - 1) + c] / unit);
    k->manifold.query_distance(&block);
    for (int l = 0; l < k->lanes && i + l < count; l++) {
      if (distance) distance[i + l] = unit * real_get(k, block.phi, l);
      for (int c = 0; normal && c < 3; c++)
        normal[3 * (i + l) + c] = real_get(k, block.normal, c * k->lanes + l);
      for (int c = 0; gradient && c < 3; c++)
        gradient[3 * (i + l) + c] = real_get(k, block.gradient, c * k->lanes + l);
    }
  }
  free(memory);
  free(kept);
  surface_view_destroy(&view);
  return status;
}
