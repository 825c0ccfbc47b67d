/* loss.c: terms of centres of mass, and their derivatives by body poses. */
#include "host/optimise/loss.h"
#include "host/optimise/problem.h"
#include "host/base/status.h"
#include "host/batch/tensor.h"
#include <math.h>
#include <string.h>

/* A body's pose, its centre of mass in the body frame, and the term's derivative by that centre's place. */
typedef struct moment {
  double x[3], q[4], c[3], bar[3];
} moment;

static void cross(const double a[3], const double b[3], double out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static moment moment_of(const abut_batch *b, int32_t body, loss_poses at, int64_t step) {
  moment m;
  int64_t row = step * b->model->nbody + body;
  for (int i = 0; i < 3; i++) m.x[i] = elem_get(b, at.xpos, 3 * row + i);
  for (int i = 0; i < 4; i++) m.q[i] = elem_get(b, at.xquat, 4 * row + i);
  memcpy(m.c, b->model->body_ipos + 3 * body, sizeof m.c);
  return m;
}

/* weight * max(0, |x + R(q) c - target|^2 - tolerance^2), R(q) c = c + 2 w (u x c) + 2 u x (u x c). */
static double term_value(const abut_loss_term *term, moment *m) {
  double once[3], twice[3], square = 0;
  cross(m->q + 1, m->c, once);
  cross(m->q + 1, once, twice);
  for (int i = 0; i < 3; i++) {
    double place = m->x[i] + m->c[i] + 2 * (m->q[0] * once[i] + twice[i]);
    m->bar[i] = term->axes >> i & 1 ? place - term->target[i] : 0;
    square += m->bar[i] * m->bar[i];
  }
  double over = square - term->tolerance * term->tolerance;
  for (int i = 0; i < 3; i++) m->bar[i] *= over > 0 ? 2 * term->weight : 0;
  return over > 0 ? term->weight * over : 0;
}

/* Derivative of bar . R(q) c by q. */
static void turn_bar(const moment *m, double out[4]) {
  const double *u = m->q + 1;
  double once[3], back[3];
  cross(u, m->c, once);
  cross(m->c, m->bar, back);
  double uc = dot(u, m->c), ug = dot(u, m->bar), gc = dot(m->bar, m->c);
  out[0] = 2 * dot(m->bar, once);
  for (int i = 0; i < 3; i++)
    out[1 + i] = 2 * (m->q[0] * back[i] + m->bar[i] * uc + m->c[i] * ug - 2 * u[i] * gc);
}

static void add(const abut_batch *b, char *array, int64_t i, double x) {
  if (x != 0) elem_put(b, array, i, elem_get(b, array, i) + x);
}

static double terms_at(const abut_batch *b, const abut_problem *p, loss_poses at, int64_t step, double weight,
                       char *bar_xpos, char *bar_xquat) {
  double sum = 0;
  for (int32_t k = 0; k < p->nterm; k++) {
    moment m = moment_of(b, p->terms[k].body, at, step);
    int64_t row = step * b->model->nbody + p->terms[k].body;
    double turn[4];
    sum += term_value(&p->terms[k], &m);
    if (!bar_xpos) continue;
    turn_bar(&m, turn);
    for (int i = 0; i < 3; i++) add(b, bar_xpos, 3 * row + i, weight * m.bar[i]);
    for (int i = 0; i < 4; i++) add(b, bar_xquat, 4 * row + i, weight * turn[i]);
  }
  return weight * sum;
}

double loss_terms(const abut_batch *b, const abut_problem *p, loss_poses at, int64_t step) {
  return terms_at(b, p, at, step, 1, NULL, NULL);
}

double loss_evaluate(const abut_batch *b, const abut_problem *p, loss_poses at, char *bar_xpos,
                     char *bar_xquat) {
  size_t rows = (size_t)(p->nstep + 1) * (size_t)b->model->nbody * elem_size(b);
  double loss = 0;
  if (bar_xpos) memset(bar_xpos, 0, 3 * rows);
  if (bar_xpos) memset(bar_xquat, 0, 4 * rows);
  for (int64_t t = 1; t <= p->nstep; t++) {
    double weight = p->running_weight / (double)p->nstep + (t == p->nstep ? p->final_weight : 0);
    if (weight > 0) loss += terms_at(b, p, at, t, weight, bar_xpos, bar_xquat);
  }
  return loss;
}

abut_status abut_problem_terms(const abut_batch *b, const abut_problem *p, const abut_tensor *xpos,
                               const abut_tensor *xquat, abut_tensor *terms) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(p, "problem");
  REQUIRE_POINTER(xpos, "xpos");
  REQUIRE_POINTER(xquat, "xquat");
  REQUIRE_POINTER(terms, "terms");
  ATTEMPT(problem_check(p, b));
  int64_t n = b->options.nenv, nbody = b->model->nbody,
          m = xpos->ndim == 4 && xpos->shape ? xpos->shape[1] : 1;
  if (m < 1) return fail_with(ABUT_ERROR_ARGUMENT, "xpos: has %lld moments, needs 1 or more", (long long)m);
  int64_t shape_x[] = {n, m, nbody, 3}, shape_r[] = {n, m, nbody, 4}, shape_t[] = {n, m};
  ATTEMPT(tensor_check_host("xpos", xpos, &b->options, 'r', 4, shape_x));
  ATTEMPT(tensor_check_host("xquat", xquat, &b->options, 'r', 4, shape_r));
  ATTEMPT(tensor_check_host("terms", terms, &b->options, 'r', 2, shape_t));
  loss_poses all = {tensor_data(xpos), tensor_data(xquat)}; /* environments follow each other like moments */
  for (int64_t i = 0; i < n * m; i++) elem_put(b, tensor_data(terms), i, loss_terms(b, p, all, i));
  return ABUT_OK;
}
