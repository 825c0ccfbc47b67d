/* fit_superquadric.c: a superquadric's parameters in least squares: log sizes, exponents through a sigmoid, a
 * turn about the start's axes, the position. */
#include "host/fit/fit_form.h"
#include "host/base/geometry.h"

enum { SIZE = 0, EXPONENT = 3, TURN = 5, MOVE = 8, PARAMETERS = 11 };

/* exponents stay where phi is smooth enough to descend on; sizes where the grid can tell them from nothing */
static const double exponent_low = 0.06, exponent_high = 1.9;
static const double size_low = 2e-3, size_high = 2;

static double bounded(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

static double exponent_of(double s) { return exponent_low + (exponent_high - exponent_low) / (1 + exp(-s)); }

static double exponent_slope(double e) {
  double part = (e - exponent_low) / (exponent_high - exponent_low);
  return (exponent_high - exponent_low) * part * (1 - part);
}

static double exponent_parameter(double e) {
  double part = bounded((e - exponent_low) / (exponent_high - exponent_low), 1e-4, 1 - 1e-4);
  return log(part / (1 - part));
}

static void quat_of_turn(double q[4], const double w[3]) {
  double angle = sqrt(dot3(w, w));
  double s = angle > 1e-8 ? sin(angle / 2) / angle : 0.5;
  q[0] = cos(angle / 2);
  for (int k = 0; k < 3; k++) q[1 + k] = s * w[k];
}

static int count(const fit_primitive *start) {
  (void)start;
  return PARAMETERS;
}

static void encode(const fit_primitive *start, double *x) {
  const abut_primitive *p = &start->primitive;
  for (int k = 0; k < 3; k++) {
    x[SIZE + k] = log(p->size[k]);
    x[TURN + k] = 0;
    x[MOVE + k] = p->position[k];
  }
  for (int k = 0; k < 2; k++) x[EXPONENT + k] = exponent_parameter(p->exponents[k]);
}

static void decode(const fit_primitive *start, const double *x, fit_primitive *moved) {
  abut_primitive *p = &moved->primitive;
  double turn[4];
  *p = start->primitive;
  quat_of_turn(turn, x + TURN);
  quat_product(p->quaternion, p->quaternion, turn);
  normalise(p->quaternion, 4);
  for (int k = 0; k < 3; k++) {
    p->size[k] = bounded(exp(x[SIZE + k]), size_low, size_high);
    p->position[k] = bounded(x[MOVE + k], -2, 2);
  }
  for (int k = 0; k < 2; k++) p->exponents[k] = exponent_of(x[EXPONENT + k]);
}

/* exp(w + d) = exp(w) exp(J d) to first order: J = 1 - (1 - cos a)/a^2 [w] + (a - sin a)/a^3 [w]^2, a = |w|.
 * slope = J^T turned */
static void turn_slope(const double w[3], const double turned[3], double slope[3]) {
  double a = sqrt(dot3(w, w)), once[3], twice[3];
  double first = a > 1e-4 ? (1 - cos(a)) / (a * a) : 0.5,
         second = a > 1e-4 ? (a - sin(a)) / (a * a * a) : 1.0 / 6;
  /* [w]^T v = -w x v */
  cross3(once, w, turned);
  cross3(twice, w, once);
  for (int k = 0; k < 3; k++) slope[k] = turned[k] + first * once[k] + second * twice[k];
}

static double slopes_at(const fit_primitive *start, const double *x, const fit_primitive *moved,
                        const posed_primitive *posed, const double point[3], double *row) {
  double gradient[3], slopes[SLOPES];
  double phi = primitive_slopes(posed, point, gradient, slopes);
  (void)start;
  memcpy(row + SIZE, slopes + SLOPE_SIZE, 3 * sizeof *row);
  turn_slope(x + TURN, slopes + SLOPE_TURN, row + TURN);
  memcpy(row + MOVE, slopes + SLOPE_MOVE, 3 * sizeof *row);
  for (int k = 0; k < 2; k++)
    row[EXPONENT + k] = slopes[SLOPE_EXPONENT + k] * exponent_slope(moved->primitive.exponents[k]);
  return phi;
}

const fit_form fit_superquadric = {count, encode, decode, slopes_at};
