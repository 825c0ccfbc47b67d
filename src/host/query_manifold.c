/* query_manifold.c: the pieces of contacts alone: closest points of edges and of triangles, distances to
 * surfaces. */
#include "abut/manifold.h"
#include "status.h"
#include "surface_view.h"
#include <math.h>
#include <stdlib.h>

static const abut_kernels *kernels_for(int32_t dtype) {
  return dtype == ABUT_F64 || dtype == ABUT_F32 ? abut_kernels_find(dtype, NULL) : NULL;
}

/* ------------------------------------------------------------------------------------- closest points */

/* A query about two edges, or a point and a triangle, as kernels see it. */
typedef struct witness {
  double r[3], t1[3], t2[3]; /* between the starts, and along either edge or two sides (m) */
  int32_t relative;
  double soft[4]; /* w_reg, tau_clip, tau_min, tau_comp */
  double unit;    /* of kernels' lengths: a power of two (m) */
} witness;

#define BAD(...) return abut_fail(ABUT_ERROR_ARGUMENT, "query " __VA_ARGS__)
static abut_status check_numbers(int64_t i, const char *name, const double *x, int num) {
  for (int k = 0; k < num; k++)
    if (!(fabs(x[k]) <= 1e12)) BAD("%lld: %s[%d] is %g, must lie within 1e12", (long long)i, name, k, x[k]);
  return ABUT_OK;
}
/* Sets the unit: lengths are brought to size 1, as single precision wants. */
static abut_status check_witness(int64_t i, witness *q) {
  static const char *const names[] = {"w_reg", "tau_clip", "tau_min", "tau_comp"};
  double largest = 0;
  for (int k = 0; k < 4; k++)
    if (!(q->soft[k] >= 1e-9 && q->soft[k] <= 1e6))
      BAD("%lld: %s is %g, must lie in [1e-9, 1e6]", (long long)i, names[k], q->soft[k]);
  for (int k = 0; k < 3; k++) largest = fmax(largest, fmax(fabs(q->t1[k]), fabs(q->t2[k])));
  q->unit = exp2(round(log2(largest)));
  for (int k = 0; k < 3; k++)
    if (!(fabs(q->r[k]) <= 1e12 * q->unit))
      BAD("%lld: %g apart along axis %d, must lie within %g", (long long)i, q->r[k], k, 1e12 * q->unit);
  return ABUT_OK;
}
static double square_of(const double t[3]) { return t[0] * t[0] + t[1] * t[1] + t[2] * t[2]; }

static abut_status edges_witness(int64_t i, const abut_edges_query *q, witness *w) {
  ABUT_TRY(check_numbers(i, "e1", q->edge1[0], 6));
  ABUT_TRY(check_numbers(i, "e2", q->edge2[0], 6));
  *w = (witness){.relative = q->relative, .soft = {q->w_reg, q->tau_clip, q->tau_min, q->tau_comp}};
  for (int k = 0; k < 3; k++) {
    w->r[k] = q->edge1[0][k] - q->edge2[0][k];
    w->t1[k] = q->edge1[1][k] - q->edge1[0][k];
    w->t2[k] = q->edge2[1][k] - q->edge2[0][k];
  }
  if (!(square_of(w->t1) > 0)) BAD("%lld: e1 has no length", (long long)i);
  if (!(square_of(w->t2) > 0)) BAD("%lld: e2 has no length", (long long)i);
  return check_witness(i, w);
}
static abut_status face_witness(int64_t i, const abut_face_query *q, witness *w) {
  ABUT_TRY(check_numbers(i, "v", q->point, 3));
  ABUT_TRY(check_numbers(i, "f", q->face[0], 9));
  *w = (witness){.relative = q->relative, .soft = {q->w_reg, q->tau_clip, q->tau_min, q->tau_comp}};
  for (int k = 0; k < 3; k++) {
    w->r[k] = q->face[0][k] - q->point[k];
    w->t1[k] = q->face[1][k] - q->face[0][k];
    w->t2[k] = q->face[2][k] - q->face[0][k];
  }
  if (!(square_of(w->t1) + square_of(w->t2) > 0)) BAD("%lld: f has no size", (long long)i);
  return check_witness(i, w);
}
#undef BAD

static void put_lanes(const abut_kernels *k, void *to, const double x[3], double factor) {
  for (int c = 0; c < 3; c++)
    for (int l = 0; l < k->lanes; l++) real_put(k, to, c * k->lanes + l, factor * x[c]);
}
/* Runs a kernel that gives out, or with a bar the cotangents g of r, t1, t2. Softness differs from query to
 * query: all lanes do the same. */
static void run_witness(const abut_kernels *k, void (*kernel)(witness_block *), const witness *q,
                        const double bar[3], double out[3], double g[3][3]) {
  _Alignas(64) double memory[8][3 * 16];
  double square = q->relative ? 1 : q->unit * q->unit;
  witness_block block = {
      .soft = {q->soft[0] / square, q->soft[1], q->soft[2] / square, q->soft[3], q->relative},
      .r = memory[0],
      .t1 = memory[1],
      .t2 = memory[2],
      .out = memory[3],
      .bar = bar ? memory[4] : NULL,
      .gr = memory[5],
      .gt1 = memory[6],
      .gt2 = memory[7]};
  put_lanes(k, memory[0], q->r, 1 / q->unit);
  put_lanes(k, memory[1], q->t1, 1 / q->unit);
  put_lanes(k, memory[2], q->t2, 1 / q->unit);
  if (bar) put_lanes(k, memory[4], bar, 1);
  kernel(&block);
  for (int c = 0; c < 3; c++) {
    if (out) out[c] = real_get(k, memory[3], c * k->lanes);
    for (int i = 0; g && i < 3; i++) g[i][c] = real_get(k, memory[5 + i], c * k->lanes) / q->unit;
  }
}

static abut_status check_call(int64_t count, const void *queries, int32_t dtype) {
  ABUT_REQUIRE(count <= 0 || queries, "queries");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  if (!kernels_for(dtype)) return abut_fail(ABUT_ERROR_ARGUMENT, "dtype %d is unknown", dtype);
  return ABUT_OK;
}

abut_status abut_query_edges(int64_t count, const abut_edges_query *queries, abut_edges_result *results,
                             int32_t dtype) {
  witness w;
  double out[3];
  ABUT_TRY(check_call(count, queries, dtype));
  ABUT_REQUIRE(count == 0 || results, "results");
  const abut_kernels *k = kernels_for(dtype);
  for (int64_t i = 0; i < count; i++) {
    ABUT_TRY(edges_witness(i, &queries[i], &w));
    run_witness(k, k->manifold.query_edges, &w, NULL, out, NULL);
    results[i] = (abut_edges_result){out[0], out[1], out[2]};
  }
  return ABUT_OK;
}
abut_status abut_query_edges_gradient(int64_t count, const abut_edges_query *queries,
                                      const abut_edges_result *bar, abut_edges_bars *bars, int32_t dtype) {
  witness w;
  double g[3][3];
  ABUT_TRY(check_call(count, queries, dtype));
  ABUT_REQUIRE(count == 0 || bar, "bar");
  ABUT_REQUIRE(count == 0 || bars, "bars");
  const abut_kernels *k = kernels_for(dtype);
  for (int64_t i = 0; i < count; i++) {
    double from[3] = {bar[i].alpha1, bar[i].alpha2, bar[i].colliding};
    ABUT_TRY(edges_witness(i, &queries[i], &w));
    run_witness(k, k->manifold.query_edges, &w, from, NULL, g);
    for (int c = 0; c < 3; c++) {
      bars[i].edge1[0][c] = g[0][c] - g[1][c];
      bars[i].edge1[1][c] = g[1][c];
      bars[i].edge2[0][c] = -g[0][c] - g[2][c];
      bars[i].edge2[1][c] = g[2][c];
    }
  }
  return ABUT_OK;
}

abut_status abut_query_face(int64_t count, const abut_face_query *queries, abut_face_result *results,
                            int32_t dtype) {
  witness w;
  double out[3];
  ABUT_TRY(check_call(count, queries, dtype));
  ABUT_REQUIRE(count == 0 || results, "results");
  const abut_kernels *k = kernels_for(dtype);
  for (int64_t i = 0; i < count; i++) {
    ABUT_TRY(face_witness(i, &queries[i], &w));
    run_witness(k, k->manifold.query_face, &w, NULL, out, NULL);
    results[i] = (abut_face_result){out[0], out[1], out[2]};
  }
  return ABUT_OK;
}
abut_status abut_query_face_gradient(int64_t count, const abut_face_query *queries,
                                     const abut_face_result *bar, abut_face_bars *bars, int32_t dtype) {
  witness w;
  double g[3][3];
  ABUT_TRY(check_call(count, queries, dtype));
  ABUT_REQUIRE(count == 0 || bar, "bar");
  ABUT_REQUIRE(count == 0 || bars, "bars");
  const abut_kernels *k = kernels_for(dtype);
  for (int64_t i = 0; i < count; i++) {
    double from[3] = {bar[i].beta1, bar[i].beta2, bar[i].colliding};
    ABUT_TRY(face_witness(i, &queries[i], &w));
    run_witness(k, k->manifold.query_face, &w, from, NULL, g);
    for (int c = 0; c < 3; c++) {
      bars[i].point[c] = -g[0][c];
      bars[i].face[0][c] = g[0][c] - g[1][c] - g[2][c];
      bars[i].face[1][c] = g[1][c];
      bars[i].face[2][c] = g[2][c];
    }
  }
  return ABUT_OK;
}

/* ------------------------------------------------------------------------------------------- distances */

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
