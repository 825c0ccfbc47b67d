/* manifold_query.c: the pieces of contacts alone: closest points of edges and of triangles, distances to
 * surfaces. */
#include "abut/manifold.h"
#include "host/base/kernels.h"
#include "host/base/real.h"
#include "host/surface/surface_view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- closest points */

/* A query about two edges, or a point and a triangle, as kernels see it. */
typedef struct witness {
  double r[3], t1[3], t2[3]; /* between the starts, and along either edge or two sides (m) */
  int32_t relative;
  double soft[4]; /* w_reg, tau_clip, tau_min, tau_comp */
  double unit;    /* of kernels' lengths: a power of two (m) */
} witness;

#define BAD(...) return fail_with(ABUT_ERROR_ARGUMENT, "query " __VA_ARGS__)
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
  int exponent;
  frexp(largest, &exponent);
  q->unit = ldexp(1, exponent);
  for (int k = 0; k < 3; k++)
    if (!(fabs(q->r[k]) <= 1e12 * q->unit))
      BAD("%lld: %g apart along axis %d, must lie within %g", (long long)i, q->r[k], k, 1e12 * q->unit);
  return ABUT_OK;
}
static double square_of(const double t[3]) { return t[0] * t[0] + t[1] * t[1] + t[2] * t[2]; }

/* results and cotangents are walked three numbers at a time */
_Static_assert(sizeof(abut_edges_result) == 3 * sizeof(double) &&
                   sizeof(abut_face_result) == 3 * sizeof(double),
               "");

static abut_status edges_witness(int64_t i, const void *queries, witness *w) {
  const abut_edges_query *q = (const abut_edges_query *)queries + i;
  ATTEMPT(check_numbers(i, "e1", q->edge1[0], 6));
  ATTEMPT(check_numbers(i, "e2", q->edge2[0], 6));
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
static abut_status face_witness(int64_t i, const void *queries, witness *w) {
  const abut_face_query *q = (const abut_face_query *)queries + i;
  ATTEMPT(check_numbers(i, "v", q->point, 3));
  ATTEMPT(check_numbers(i, "f", q->face[0], 9));
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

enum { PACKS = 16, WIDEST = 16, QUEUE = PACKS * WIDEST };

/* Queries of the same softness that wait for the lanes of one call. */
typedef struct witness_queue {
  const item_kernels *kernels;
  void (*kernel)(witness_block *);
  int32_t num;
  witness same; /* softness of all */
  double unit[QUEUE];
  _Alignas(64) double memory[8][3 * QUEUE]; /* r, t1, t2, out, bar, gr, gt1, gt2: [packs][3][lanes] */
} witness_queue;

/* Where query i's first numbers are; the next ones are `lanes` further. lanes is a power of two. */
static int32_t place_of(const witness_queue *q, int32_t i) {
  int32_t lane = i & (q->kernels->lanes - 1);
  return 3 * (i - lane) + lane;
}
static void put_query(witness_queue *q, int32_t i, int array, const double x[3], double factor) {
  const int32_t at = place_of(q, i), lanes = q->kernels->lanes;
  for (int c = 0; c < 3; c++) real_put(q->kernels, q->memory[array], at + c * lanes, factor * x[c]);
}
static void get_answer(const witness_queue *q, int32_t i, int array, double factor, double x[3]) {
  const int32_t at = place_of(q, i), lanes = q->kernels->lanes;
  for (int c = 0; c < 3; c++) x[c] = factor * real_get(q->kernels, q->memory[array], at + c * lanes);
}
/* Absolute softness is in squares of the unit, so that units must agree, too. */
static int may_join(const witness_queue *q, const witness *w) {
  if (q->num == 0) return 1;
  return q->num < PACKS * q->kernels->lanes && w->relative == q->same.relative &&
         (w->relative || w->unit == q->same.unit) && !memcmp(w->soft, q->same.soft, sizeof w->soft);
}
static void join(witness_queue *q, const witness *w, const double bar[3]) {
  int32_t i = q->num++;
  if (i == 0) q->same = *w;
  q->unit[i] = w->unit;
  put_query(q, i, 0, w->r, 1 / w->unit);
  put_query(q, i, 1, w->t1, 1 / w->unit);
  put_query(q, i, 2, w->t2, 1 / w->unit);
  if (bar) put_query(q, i, 4, bar, 1);
}
/* Answers those that wait; lanes left over repeat the last. */
static void answer(witness_queue *q, int gradient) {
  const witness *w = &q->same;
  const int32_t lanes = q->kernels->lanes;
  double square = w->relative ? 1 : w->unit * w->unit;
  for (int32_t i = q->num; i % lanes != 0; i++)
    for (int array = 0; array < 5; array++) {
      double x[3];
      if (array == 3 || (array == 4 && !gradient)) continue;
      get_answer(q, q->num - 1, array, 1, x);
      put_query(q, i, array, x, 1);
    }
  witness_block block = {
      .soft = {w->soft[0] / square, w->soft[1], w->soft[2] / square, w->soft[3], w->relative},
      .packs = (q->num + lanes - 1) / lanes,
      .r = q->memory[0],
      .t1 = q->memory[1],
      .t2 = q->memory[2],
      .out = q->memory[3],
      .bar = gradient ? q->memory[4] : NULL,
      .gr = q->memory[5],
      .gt1 = q->memory[6],
      .gt2 = q->memory[7]};
  q->kernel(&block);
}

/* What the four functions below differ in. Results and their cotangents are three numbers each. */
typedef struct witness_kind {
  abut_status (*read)(int64_t i, const void *queries, witness *w);
  void (*write)(int64_t i, double g[3][3], void *bars); /* from cotangents of r, t1, t2 */
} witness_kind;

static void take_answers(const witness_queue *q, const witness_kind *kind, int64_t first, double *results,
                         void *bars) {
  for (int32_t i = 0; i < q->num; i++) {
    double g[3][3];
    if (results) get_answer(q, i, 3, 1, results + 3 * (first + i));
    for (int k = 0; bars && k < 3; k++) get_answer(q, i, 5 + k, 1 / q->unit[i], g[k]);
    if (bars) kind->write(first + i, g, bars);
  }
}
static abut_status run_witnesses(const item_kernels *k, void (*kernel)(witness_block *),
                                 const witness_kind *kind, int64_t count, const void *queries,
                                 double *results, const double *bar, void *bars) {
  witness_queue q; /* its memory, 48 KiB, is written before it is read */
  q.kernels = k;
  q.kernel = kernel;
  q.num = 0;
  for (int64_t i = 0; i <= count; i++) {
    witness w;
    if (i < count) ATTEMPT(kind->read(i, queries, &w));
    if (q.num > 0 && (i == count || !may_join(&q, &w))) {
      answer(&q, bar != NULL);
      take_answers(&q, kind, i - q.num, results, bars);
      q.num = 0;
    }
    for (int c = 0; bar && i < count && c < 3; c++)
      if (!real_holds(k->elem_size, bar[3 * i + c]))
        return fail_with(ABUT_ERROR_ARGUMENT, "query %lld: cotangent %d is %g, %s", (long long)i, c,
                         bar[3 * i + c], real_misfit(bar[3 * i + c]));
    if (i < count) join(&q, &w, bar ? bar + 3 * i : NULL);
  }
  return ABUT_OK;
}

static void write_edges(int64_t i, double g[3][3], void *bars) {
  abut_edges_bars *to = (abut_edges_bars *)bars + i;
  for (int c = 0; c < 3; c++) {
    to->edge1[0][c] = g[0][c] - g[1][c];
    to->edge1[1][c] = g[1][c];
    to->edge2[0][c] = -g[0][c] - g[2][c];
    to->edge2[1][c] = g[2][c];
  }
}
static void write_face(int64_t i, double g[3][3], void *bars) {
  abut_face_bars *to = (abut_face_bars *)bars + i;
  for (int c = 0; c < 3; c++) {
    to->point[c] = -g[0][c];
    to->face[0][c] = g[0][c] - g[1][c] - g[2][c];
    to->face[1][c] = g[1][c];
    to->face[2][c] = g[2][c];
  }
}
static const witness_kind edges = {edges_witness, write_edges}, face = {face_witness, write_face};

static abut_status check_call(int64_t count, const void *queries, int32_t dtype,
                              const item_kernels **kernels) {
  if (count > 0 && !queries) return fail_with(ABUT_ERROR_ARGUMENT, "queries is NULL");
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  return item_kernels_for(dtype, kernels);
}

abut_status abut_query_edges(int64_t count, const abut_edges_query *queries, abut_edges_result *results,
                             int32_t dtype) {
  const item_kernels *k;
  ATTEMPT(check_call(count, queries, dtype, &k));
  REQUIRE_POINTER(count == 0 || results, "results");
  return run_witnesses(k, k->manifold.query_edges, &edges, count, queries, (double *)results, NULL, NULL);
}
abut_status abut_query_edges_gradient(int64_t count, const abut_edges_query *queries,
                                      const abut_edges_result *bar, abut_edges_bars *bars, int32_t dtype) {
  const item_kernels *k;
  ATTEMPT(check_call(count, queries, dtype, &k));
  REQUIRE_POINTER(count == 0 || bar, "bar");
  REQUIRE_POINTER(count == 0 || bars, "bars");
  return run_witnesses(k, k->manifold.query_edges, &edges, count, queries, NULL, (const double *)bar, bars);
}

abut_status abut_query_face(int64_t count, const abut_face_query *queries, abut_face_result *results,
                            int32_t dtype) {
  const item_kernels *k;
  ATTEMPT(check_call(count, queries, dtype, &k));
  REQUIRE_POINTER(count == 0 || results, "results");
  return run_witnesses(k, k->manifold.query_face, &face, count, queries, (double *)results, NULL, NULL);
}
abut_status abut_query_face_gradient(int64_t count, const abut_face_query *queries,
                                     const abut_face_result *bar, abut_face_bars *bars, int32_t dtype) {
  const item_kernels *k;
  ATTEMPT(check_call(count, queries, dtype, &k));
  REQUIRE_POINTER(count == 0 || bar, "bar");
  REQUIRE_POINTER(count == 0 || bars, "bars");
  return run_witnesses(k, k->manifold.query_face, &face, count, queries, NULL, (const double *)bar, bars);
}

/* ------------------------------------------------------------------------------------------- distances */

abut_status abut_query_distance(const abut_surface *surface, int64_t count, const double *points,
                                double *distance, double *normal, double *gradient, int32_t dtype) {
  REQUIRE_POINTER(surface, "surface");
  REQUIRE_POINTER(count <= 0 || points, "points");
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  const item_kernels *k;
  ATTEMPT(item_kernels_for(dtype, &k));
  ATTEMPT(abut_surface_check(surface));
  double unit = exp2(round(log2(abut_surface_diagonal(surface))));
  surface_view view;
  ATTEMPT(surface_view_create(k, surface, unit, 0, &view));
  const double reach = surface_view_reach(k, &view) * unit;
  abut_status status = ABUT_OK;
  for (int64_t i = 0; status == ABUT_OK && i < 3 * count; i++)
    if (!(fabs(points[i]) <= reach))
      status = fail_with(ABUT_ERROR_ARGUMENT, "point %lld: coordinate %d is %g, must lie within %g",
                         (long long)(i / 3), (int)(i % 3), points[i], reach);
  size_t row = (size_t)k->lanes * (size_t)k->elem_size, num = (size_t)surface->primitive_count;
  char *memory = aligned_alloc(64, ((10 + DISTANCE_NUMBERS(num)) * row + 63) / 64 * 64);
  int32_t *kept = malloc(DISTANCE_LISTS(num) * sizeof *kept);
  if (!memory || !kept) status = fail_with(ABUT_ERROR_MEMORY, "query: out of memory");
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
