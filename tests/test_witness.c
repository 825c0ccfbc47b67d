/* test_witness.c: smooth closest points of a triangle to a point, and the reverse passes of those and of two
 * edges'. Edges' reference values are in test_manifold. */
#include "abut/manifold.h"

#include "outcome.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 1;
static double uniform(double low, double high) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t x = state;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return low + (high - low) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static abut_face_query random_face(void) {
  abut_face_query q = {.relative = 1, .w_reg = 0.01, .tau_clip = 0.02, .tau_min = 0.01, .tau_comp = 0.02};
  for (int k = 0; k < 3; k++) q.point[k] = uniform(-1, 1);
  for (int k = 0; k < 9; k++) q.face[k / 3][k % 3] = uniform(-1, 1);
  return q;
}
static abut_face_result closest(const abut_face_query *q, int32_t dtype) {
  abut_face_result r = {NAN, NAN, NAN};
  CHECK_STATUS(abut_query_face(1, q, &r, dtype), ABUT_OK);
  return r;
}
static void point_at(const abut_face_query *q, double beta1, double beta2, double x[3]) {
  for (int k = 0; k < 3; k++)
    x[k] = q->face[0][k] + beta1 * (q->face[1][k] - q->face[0][k]) + beta2 * (q->face[2][k] - q->face[0][k]);
}
static double apart(const double a[3], const double b[3]) {
  return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* The closest point for a fixed beta1: on a segment. */
static double best_beta2(const abut_face_query *q, double beta1) {
  double start[3], along = 0, square = 0;
  point_at(q, beta1, 0, start);
  for (int k = 0; k < 3; k++) {
    double t = q->face[2][k] - q->face[0][k];
    along += t * (q->point[k] - start[k]);
    square += t * t;
  }
  return fmin(fmax(along / square, 0), 1 - beta1);
}
/* The closest point of the triangle by search over beta1: the distance is convex in it. */
static void search(const abut_face_query *q, double x[3]) {
  double low = 0, high = 1;
  for (int i = 0; i < 80; i++) {
    double left = low + (high - low) / 3, right = high - (high - low) / 3, a[3], b[3];
    point_at(q, left, best_beta2(q, left), a);
    point_at(q, right, best_beta2(q, right), b);
    if (apart(a, q->point) < apart(b, q->point))
      high = right;
    else
      low = left;
  }
  point_at(q, low, best_beta2(q, low), x);
}

TEST(closest_point_of_a_triangle_against_search) {
  int rounds = test_quick() ? 1000 : 10000;
  double worst = 0;
  for (int i = 0; i < rounds; i++) {
    abut_face_query q = random_face();
    double x[3], exact[3];
    q.w_reg = q.tau_clip = q.tau_min = q.tau_comp = 1e-9;
    abut_face_result r = closest(&q, ABUT_F64);
    point_at(&q, r.beta1, r.beta2, x);
    search(&q, exact);
    worst = fmax(worst, apart(x, exact));
  }
  /* softness of 1e-9 over the flattest of these triangles' height squared: 5e-8 is the worst known */
  CHECK(worst < 1e-6);
}

TEST(closest_point_does_not_depend_on_the_order_of_corners) {
  for (int i = 0; i < 1000; i++) {
    abut_face_query q = random_face(), turned = q;
    abut_face_result a = closest(&q, ABUT_F64);
    double before[3] = {1 - a.beta1 - a.beta2, a.beta1, a.beta2};
    for (int first = 0; first < 3; first++)
      for (int step = 1; step < 3; step++) {
        int order[3] = {first, (first + step) % 3, (first + 2 * step) % 3};
        for (int j = 0; j < 3; j++) memcpy(turned.face[j], q.face[order[j]], sizeof q.face[0]);
        abut_face_result b = closest(&turned, ABUT_F64);
        /* w keeps det Q above 3e-4 of its terms: rounding grows to 1e-12 at most */
        CHECK_NEAR(b.beta1, before[order[1]], 1e-11);
        CHECK_NEAR(b.beta2, before[order[2]], 1e-11);
        CHECK_NEAR(b.colliding, a.colliding, 1e-11);
      }
  }
}

TEST(single_precision_agrees) {
  double worst = 0;
  for (int i = 0; i < 10000; i++) {
    abut_face_query q = random_face();
    abut_face_result a = closest(&q, ABUT_F64), b = closest(&q, ABUT_F32);
    worst = fmax(
        worst, fmax(fabs(b.colliding - a.colliding), fmax(fabs(b.beta1 - a.beta1), fabs(b.beta2 - a.beta2))));
  }
  CHECK(worst < 2e-5); /* 3e-6 is the worst known: 2^-24 over det Q's 1e-2 */
}

/* With `relative` the witness has no length in it; its derivatives have one over it. */
TEST(scale_does_not_matter) {
  static const double scales[] = {1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9};
  for (int i = 0; i < 600; i++) {
    abut_face_query q = random_face(), big = q;
    abut_face_result bar = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
    abut_face_bars g, h;
    double scale = scales[i % 6];
    for (int k = 0; k < 3; k++) big.point[k] *= scale;
    for (int k = 0; k < 9; k++) big.face[k / 3][k % 3] *= scale;
    for (int f32 = 0; f32 < 2; f32++) {
      int32_t dtype = f32 ? ABUT_F32 : ABUT_F64;
      abut_face_result a = closest(&q, dtype), b = closest(&big, dtype);
      /* scales that are no powers of two round the corners */
      double tol = f32 ? 1e-4 : 1e-11, size = 1;
      CHECK_NEAR(b.beta1, a.beta1, tol);
      CHECK_NEAR(b.beta2, a.beta2, tol);
      CHECK_NEAR(b.colliding, a.colliding, tol);
      CHECK_STATUS(abut_query_face_gradient(1, &q, &bar, &g, dtype), ABUT_OK);
      CHECK_STATUS(abut_query_face_gradient(1, &big, &bar, &h, dtype), ABUT_OK);
      for (int k = 0; k < 9; k++) size = fmax(size, fabs(g.face[k / 3][k % 3]));
      for (int k = 0; k < 3; k++) CHECK_NEAR(h.point[k] * scale, g.point[k], 10 * tol * size);
      for (int k = 0; k < 9; k++)
        CHECK_NEAR(h.face[k / 3][k % 3] * scale, g.face[k / 3][k % 3], 10 * tol * size);
    }
  }
}

/* ----------------------------------------------------------------------------------------- reverse passes */

static double face_loss(const double x[12], const abut_face_query *soft, const double bar[3]) {
  abut_face_query q = *soft;
  memcpy(q.point, x, sizeof q.point);
  memcpy(q.face, x + 3, sizeof q.face);
  abut_face_result r = closest(&q, ABUT_F64);
  return bar[0] * r.beta1 + bar[1] * r.beta2 + bar[2] * r.colliding;
}
static double edges_loss(const double x[12], const abut_face_query *soft, const double bar[3]) {
  abut_edges_query q = {.relative = soft->relative,
                        .w_reg = soft->w_reg,
                        .tau_clip = soft->tau_clip,
                        .tau_min = soft->tau_min,
                        .tau_comp = soft->tau_comp};
  abut_edges_result r = {NAN, NAN, NAN};
  memcpy(q.edge1, x, sizeof q.edge1);
  memcpy(q.edge2, x + 6, sizeof q.edge2);
  CHECK_STATUS(abut_query_edges(1, &q, &r, ABUT_F64), ABUT_OK);
  return bar[0] * r.alpha1 + bar[1] * r.alpha2 + bar[2] * r.colliding;
}
/* Largest error of g against fourth-order differences, over its largest entry. */
static double gradient_error(double (*loss)(const double *, const abut_face_query *, const double *),
                             const double x[12], const abut_face_query *soft, const double bar[3],
                             const double g[12]) {
  static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1}, step = 1e-4;
  double worst = 0, largest = 1e-3;
  for (int i = 0; i < 12; i++) {
    double sum = 0, moved[12];
    for (int j = 0; j < 4; j++) {
      memcpy(moved, x, sizeof moved);
      moved[i] += at[j] * step;
      sum += weight[j] * loss(moved, soft, bar);
    }
    worst = fmax(worst, fabs(sum / (12 * step) - g[i]));
    largest = fmax(largest, fabs(g[i]));
  }
  return worst / largest;
}

TEST(reverse_passes_against_differences) {
  double worst_face = 0, worst_edges = 0;
  for (int i = 0; i < (test_quick() ? 200 : 2000); i++) {
    abut_face_query q = random_face();
    double x[12], bar[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, g[12];
    abut_face_bars face_bars;
    abut_edges_bars edges_bars;
    q.relative = i % 2;
    q.tau_min = q.tau_clip = q.tau_comp = q.w_reg = 0.1; /* sharper ones need smaller steps */
    memcpy(x, q.point, sizeof q.point);
    memcpy(x + 3, q.face, sizeof q.face);
    abut_face_result face_bar = {bar[0], bar[1], bar[2]};
    CHECK_STATUS(abut_query_face_gradient(1, &q, &face_bar, &face_bars, ABUT_F64), ABUT_OK);
    memcpy(g, face_bars.point, sizeof face_bars.point);
    memcpy(g + 3, face_bars.face, sizeof face_bars.face);
    worst_face = fmax(worst_face, gradient_error(face_loss, x, &q, bar, g));
    abut_edges_query e = {{{0}}, {{0}}, q.relative, q.w_reg, q.tau_clip, q.tau_min, q.tau_comp};
    abut_edges_result edges_bar = {bar[0], bar[1], bar[2]};
    memcpy(e.edge1, x, sizeof e.edge1);
    memcpy(e.edge2, x + 6, sizeof e.edge2);
    CHECK_STATUS(abut_query_edges_gradient(1, &e, &edges_bar, &edges_bars, ABUT_F64), ABUT_OK);
    memcpy(g, edges_bars.edge1, sizeof edges_bars.edge1);
    memcpy(g + 6, edges_bars.edge2, sizeof edges_bars.edge2);
    worst_edges = fmax(worst_edges, gradient_error(edges_loss, x, &q, bar, g));
  }
  /* 1e-8 is the worst known, the differences' own error at this step */
  CHECK(worst_face < 1e-6);
  CHECK(worst_edges < 1e-6);
}

/* ------------------------------------------------------------------------------------------- hard inputs */

static int finite_and_inside(const abut_face_query *q, int32_t dtype) {
  abut_face_result r = closest(q, dtype), bar = {1, 1, 1};
  abut_face_bars g;
  int good = r.colliding >= 0 && r.colliding <= 1;
  /* a free minimum beside the triangle is let through a little: at most tau_comp/e of a side */
  good = good && r.beta1 > -0.01 && r.beta2 > -0.01 && r.beta1 + r.beta2 < 1.01;
  CHECK_STATUS(abut_query_face_gradient(1, q, &bar, &g, dtype), ABUT_OK);
  for (int k = 0; k < 3; k++) good = good && isfinite(g.point[k]);
  for (int k = 0; k < 9; k++) good = good && isfinite(g.face[k / 3][k % 3]);
  return good;
}
TEST(degenerate_triangles_are_segments) {
  static const double faces[][3][3] = {
      {{0, 0, 0}, {1, 0, 0}, {0.5, 0, 0}},     {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}},
      {{1, 0, 0}, {1, 0, 0}, {0, 0, 0}},       {{0, 0, 0}, {0, 0, 0}, {1, 0, 0}},
      {{0, 0, 0}, {1, 0, 0}, {0.3, 1e-12, 0}}, {{0, 0, 0}, {1, 0, 0}, {0, 1e-300, 0}},
      {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};
  static const double points[][3] = {{0, 0, 0},     {1, 0, 0},      {0.5, 0, 0},          {0.3, 0, 2},
                                     {-3, 1, 0},    {1e11, 1, 1e9}, {1e-300, 0, 0},       {0.25, 0.25, 0},
                                     {0.5, 0.5, 0}, {0, -1e11, 0},  {1 / 3.0, 1 / 3.0, 0}};
  for (size_t f = 0; f < sizeof faces / sizeof *faces; f++)
    for (size_t p = 0; p < sizeof points / sizeof *points; p++)
      for (int kind = 0; kind < 8; kind++) {
        abut_face_query q = random_face();
        memcpy(q.face, faces[f], sizeof q.face);
        memcpy(q.point, points[p], sizeof q.point);
        q.relative = kind & 1;
        if (kind & 2) q.w_reg = q.tau_clip = q.tau_min = q.tau_comp = 1e-9;
        int good = finite_and_inside(&q, kind & 4 ? ABUT_F32 : ABUT_F64);
        if (!good) printf("triangle %zu, point %zu, kind %d\n", f, p, kind);
        CHECK(good);
      }
  abut_face_query q = random_face();
  double x[3];
  memcpy(q.face, faces[0], sizeof q.face);
  memcpy(q.point, points[3], sizeof q.point);
  q.w_reg = q.tau_clip = q.tau_min = q.tau_comp = 1e-9;
  abut_face_result r = closest(&q, ABUT_F64);
  point_at(&q, r.beta1, r.beta2, x);
  CHECK_NEAR(x[0], 0.3, 1e-4); /* as sharp as above */
}

/* Queries share lanes where their softness is the same; nobody must notice. */
TEST(batches_change_no_bit) {
  enum { COUNT = 700 };
  static abut_face_query queries[COUNT];
  static abut_face_result all[COUNT], bar[COUNT];
  static abut_face_bars bars[COUNT];
  for (int i = 0; i < COUNT; i++) {
    queries[i] = random_face();
    bar[i] = (abut_face_result){uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
    if (i > 500) queries[i].relative = i % 2; /* 500 in one batch, then some of one or two */
    if (i > 600 && i % 5 == 0) queries[i].tau_min = 0.1;
    if (i % 7 == 0)
      for (int k = 0; k < 9; k++) queries[i].face[k / 3][k % 3] *= 100; /* another unit */
  }
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    CHECK_STATUS(abut_query_face(COUNT, queries, all, dtype), ABUT_OK);
    CHECK_STATUS(abut_query_face_gradient(COUNT, queries, bar, bars, dtype), ABUT_OK);
    for (int i = 0; i < COUNT; i++) {
      abut_face_result one = closest(&queries[i], dtype);
      abut_face_bars one_bars;
      CHECK_STATUS(abut_query_face_gradient(1, &queries[i], &bar[i], &one_bars, dtype), ABUT_OK);
      CHECK(!memcmp(&one, &all[i], sizeof one) && !memcmp(&one_bars, &bars[i], sizeof one_bars));
    }
  }
}

TEST(bad_queries_are_refused) {
  abut_face_query good = random_face(), q;
  abut_face_result r;
  abut_face_bars bars;
#define REFUSED(name, value)                                                                                 \
  do {                                                                                                       \
    q = good;                                                                                                \
    q.name = (value);                                                                                        \
    CHECK_STATUS(abut_query_face(1, &q, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);                                 \
    CHECK_STATUS(abut_query_face_gradient(1, &q, &r, &bars, ABUT_F64), ABUT_ERROR_ARGUMENT);                 \
  } while (0)
  REFUSED(point[1], NAN);
  REFUSED(point[2], 2e12);
  REFUSED(face[1][2], INFINITY);
  REFUSED(w_reg, 0);
  REFUSED(tau_clip, NAN);
  REFUSED(tau_min, -1);
  REFUSED(tau_comp, 1e7);
#undef REFUSED
  q = good;
  memcpy(q.face[1], q.face[0], sizeof q.face[0]);
  memcpy(q.face[2], q.face[0], sizeof q.face[0]);
  CHECK_STATUS(abut_query_face(1, &q, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "f has no size"));
  q = good;
  for (int k = 0; k < 9; k++) q.face[k / 3][k % 3] *= 1e-13;
  CHECK_STATUS(abut_query_face(1, &q, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_face(1, &good, &r, 7), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_face(-1, &good, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_face(1, NULL, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_face(1, &good, NULL, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_face(0, NULL, NULL, ABUT_F64), ABUT_OK);
}
