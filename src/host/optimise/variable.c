/* variable.c: sequences, splines and sums of sines, and their derivatives. */
#include "host/optimise/variable.h"
#include "host/batch/noise.h"
#include <math.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586;

int64_t variable_size(const abut_variable *v, int64_t nstep) {
  switch (v->kind) {
  case ABUT_VARIABLE_SEQUENCE:
    return nstep;
  case ABUT_VARIABLE_SPLINE:
    return v->count;
  case ABUT_VARIABLE_SINES:
    return 3 * (int64_t)v->count;
  default:
    return 1;
  }
}

int variable_is_control(const abut_variable *v) { return v->kind >= ABUT_VARIABLE_SEQUENCE; }

int variable_part(const abut_variable *v, int64_t i) {
  return v->kind == ABUT_VARIABLE_SINES ? (int)(i % 3) : 0;
}

void variable_begin(const abut_variable *v, int64_t nstep, double *value) {
  int64_t size = variable_size(v, nstep);
  for (int64_t i = 0; i < size; i++) value[i] = v->start[variable_part(v, i)];
}

void variable_disturb(const abut_variable *v, int64_t nstep, uint64_t seed, int64_t env, int32_t id,
                      double *value) {
  int64_t size = variable_size(v, nstep);
  int whole = v->kind == ABUT_VARIABLE_SEQUENCE || v->kind == ABUT_VARIABLE_SPLINE;
  for (int64_t i = 0; env > 0 && i < size; i++) {
    double sigma = v->noise[variable_part(v, i)];
    uint64_t entry = whole ? 0 : (uint64_t)i;
    if (sigma > 0) value[i] += sigma * noise_normal(seed, (uint64_t)env, (uint64_t)id, entry);
  }
}

void variable_bound(const abut_variable *v, int64_t nstep, const double range[2], double *value) {
  int64_t size = variable_size(v, nstep);
  double low = v->min, high = v->max;
  if (v->kind == ABUT_VARIABLE_SINES) return;
  if (variable_is_control(v)) {
    low = fmax(low, range[0]);
    high = fmin(high, range[1]);
  }
  for (int64_t i = 0; i < size; i++) value[i] = fmin(fmax(value[i], low), high);
}

/* Weights of the knots first to first + 3 at a step; those beyond the ends are the mirror images of their
 * neighbours, 2 p[0] - p[1], so that the curve meets the end knots. Every number stays between the knots'
 * least and largest: the sums of weights per knot are not negative. */
static int64_t spline_weights(int64_t knots, int64_t nstep, int64_t step, double w[4]) {
  double at = nstep > 1 ? (double)(knots - 1) * (double)step / (double)(nstep - 1) : 0;
  int64_t piece = (int64_t)at;
  if (piece > knots - 2) piece = knots - 2;
  double u = at - (double)piece, r = 1 - u;
  w[0] = r * r * r / 6;
  w[1] = (3 * u * u * u - 6 * u * u + 4) / 6;
  w[2] = (3 * r * r * r - 6 * r * r + 4) / 6;
  w[3] = u * u * u / 6;
  if (piece == 0) {
    w[1] += 2 * w[0];
    w[2] -= w[0];
    w[0] = 0;
  }
  if (piece == knots - 2) {
    w[2] += 2 * w[3];
    w[1] -= w[3];
    w[3] = 0;
  }
  return piece - 1;
}

double variable_control(const abut_variable *v, int64_t nstep, double dt, const double *value, int64_t step) {
  double sum = 0, w[4], time = (double)step * dt;
  if (v->kind == ABUT_VARIABLE_SEQUENCE) return value[step];
  if (v->kind == ABUT_VARIABLE_SINES) {
    for (int32_t k = 0; k < v->count; k++)
      sum += value[3 * k] * sin(TWO_PI * value[3 * k + 1] * time + value[3 * k + 2]);
    return sum;
  }
  int64_t first = spline_weights(v->count, nstep, step, w);
  for (int i = 0; i < 4; i++)
    if (w[i] != 0) sum += w[i] * value[first + i];
  return sum;
}

void variable_control_bar(const abut_variable *v, int64_t nstep, double dt, const double *value, int64_t step,
                          double bar, double *value_bar) {
  double w[4], time = (double)step * dt;
  if (v->kind == ABUT_VARIABLE_SEQUENCE) {
    value_bar[step] += bar;
  } else if (v->kind == ABUT_VARIABLE_SINES) {
    for (int32_t k = 0; k < v->count; k++) {
      double angle = TWO_PI * value[3 * k + 1] * time + value[3 * k + 2];
      double slope = bar * value[3 * k] * cos(angle);
      value_bar[3 * k] += bar * sin(angle);
      value_bar[3 * k + 1] += TWO_PI * time * slope;
      value_bar[3 * k + 2] += slope;
    }
  } else {
    int64_t first = spline_weights(v->count, nstep, step, w);
    for (int i = 0; i < 4; i++)
      if (w[i] != 0) value_bar[first + i] += w[i] * bar;
  }
}
