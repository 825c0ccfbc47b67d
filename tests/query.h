/* query.h: point sets and plane queries on them, for tests. */
#ifndef ABUT_TEST_QUERY_H
#define ABUT_TEST_QUERY_H
#include "rollout.h"

enum { MAX_POINTS = 24 };

/* One side of a query. */
typedef struct side {
  int32_t n;
  double x[3 * MAX_POINTS], r[MAX_POINTS], w[MAX_POINTS];
} side;

/* A query, and room for its answer. */
typedef struct question {
  side a, b;
  int32_t contact;
  double reach, length;
  abut_plane_result result;
  double grad_a[3 * MAX_POINTS], grad_b[3 * MAX_POINTS];
} question;

static inline side side_of(int32_t n, const double *x) {
  side s = {0};
  s.n = n;
  memcpy(s.x, x, sizeof(double) * 3 * (size_t)n);
  for (int i = 0; i < MAX_POINTS; i++) s.w[i] = 1;
  return s;
}

static inline abut_plane_query query_of(question *q) {
  abut_plane_query p = {0};
  p.contact = q->contact;
  p.reach = q->reach;
  p.length = q->length;
  p.na = q->a.n, p.nb = q->b.n;
  p.a = q->a.x, p.b = q->b.x;
  p.radii_a = q->a.r, p.radii_b = q->b.r;
  p.weights_a = q->a.w, p.weights_b = q->b.w;
  q->result.grad_a = q->grad_a;
  q->result.grad_b = q->grad_b;
  return p;
}
static inline int ask_as(question *q, int32_t dtype, const double *plane) {
  abut_plane_query p = query_of(q);
  p.plane = plane;
  int status = abut_query_plane(1, &p, &q->result, dtype);
  CHECK_STATUS(status, ABUT_OK);
  return status == ABUT_OK;
}
static inline int ask(question *q) { return ask_as(q, ABUT_F64, NULL); }

/* A box of random size, orientation and corner jitter: side 0 above the plane z = gap / 2, side 1 below -gap
 * / 2, each touching its plane in one point. */
static inline side random_side(uint64_t seed, int which, double size, double gap) {
  side s = {0};
  double m[9], lowest = INFINITY;
  s.n = 8;
  for (int i = 0; i < 9; i++) m[i] = test_uniform(seed * 31 + (uint64_t)i, -1, 1) * size;
  for (int i = 0; i < 8; i++)
    for (int c = 0; c < 3; c++)
      s.x[3 * i + c] = m[c] * (i & 1 ? 1 : -1) + m[3 + c] * (i & 2 ? 1 : -1) + m[6 + c] * (i & 4 ? 1 : -1) +
                       0.1 * size * test_uniform(seed * 97 + (uint64_t)(3 * i + c), -1, 1);
  double sign = which ? -1 : 1;
  for (int i = 0; i < 8; i++) lowest = fmin(lowest, sign * s.x[3 * i + 2]);
  for (int i = 0; i < 8; i++) s.x[3 * i + 2] += sign * (0.5 * gap - lowest);
  for (int i = 0; i < MAX_POINTS; i++) s.w[i] = 1;
  return s;
}
/* Two such boxes, at most `gap` + their offset apart: the true distance is at least gap. */
static inline question random_question(uint64_t seed, int32_t contact, double reach, double size,
                                       double gap) {
  question q = {0};
  q.contact = contact;
  q.reach = reach;
  q.length = 1;
  q.a = random_side(2 * seed, 0, size, gap);
  q.b = random_side(2 * seed + 1, 1, size, gap);
  return q;
}

/* Turns by the rotation vector about the origin (Rodrigues), then shifts. */
static inline void move_point(double x[3], const double turn[3], const double shift[3]) {
  double t = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
  double k[3] = {turn[0] / t, turn[1] / t, turn[2] / t}, y[3];
  double dot = k[0] * x[0] + k[1] * x[1] + k[2] * x[2], s = sin(t), c = cos(t);
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, l = (i + 2) % 3;
    y[i] = x[i] * c + (k[j] * x[l] - k[l] * x[j]) * s + k[i] * dot * (1 - c);
  }
  for (int i = 0; i < 3; i++) x[i] = y[i] + shift[i];
}

static inline double largest(const double *x, int n) {
  double m = 0;
  for (int i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
  return m;
}
static inline void check_close(const char *what, const double *got, const double *want, int n, double tol) {
  double size = fmax(largest(got, n), largest(want, n));
  for (int i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i]) <= tol * size)) {
      test_fail(__FILE__, __LINE__, "%s[%d] = %.17g, not %.17g", what, i, got[i], want[i]);
      return;
    }
}

#endif
