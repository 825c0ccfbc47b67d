/* moment.c: mass moments of rigid bodies. */
#include "host/shape/moment.h"
#include "host/base/geometry.h"

/* s (3x3) = second moments of a moment vector. */
static void unpack(double s[9], const double moment[10]) {
  const double *p = moment + 4;
  const double r[9] = {p[0], p[3], p[4], p[3], p[1], p[5], p[4], p[5], p[2]};
  memcpy(s, r, sizeof r);
}

static void pack(double moment[10], const double s[9]) {
  const double r[6] = {s[0], s[4], s[8], s[1], s[2], s[5]};
  memcpy(moment + 4, r, sizeof r);
}

/* r = m s m^T */
static void rotate_second(double r[9], const double m[9], const double s[9]) {
  double t[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      t[3 * i + j] = m[3 * i] * s[j] + m[3 * i + 1] * s[3 + j] + m[3 * i + 2] * s[6 + j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) r[3 * i + j] = dot3(t + 3 * i, m + 3 * j);
}

void moment_add(double sum[10], double scale, const double moment[10], const double pos[3],
                const double quat[4]) {
  double rotation[9], s[9], rotated[9], mc[3], out[10];
  quat_matrix(rotation, quat);
  unpack(s, moment);
  rotate_second(rotated, rotation, s);
  for (int i = 0; i < 3; i++) mc[i] = dot3(rotation + 3 * i, moment + 1);
  out[0] = moment[0];
  for (int i = 0; i < 3; i++) {
    out[1 + i] = mc[i] + moment[0] * pos[i];
    for (int j = 0; j < 3; j++)
      rotated[3 * i + j] += pos[i] * mc[j] + mc[i] * pos[j] + moment[0] * pos[i] * pos[j];
  }
  pack(out, rotated);
  for (int i = 0; i < MOMENT_SIZE; i++) sum[i] += scale * out[i];
}

void moment_from_principal(double moment[10], double mass, const double ipos[3], const double iquat[4],
                           const double inertia[3]) {
  double half_trace = 0.5 * (inertia[0] + inertia[1] + inertia[2]);
  double central[10] = {mass};
  for (int i = 0; i < 3; i++) central[4 + i] = half_trace - inertia[i];
  memset(moment, 0, MOMENT_SIZE * sizeof *moment);
  moment_add(moment, 1, central, ipos, iquat);
}

double moment_about(const double moment[10], const double point[3], const double axis[3]) {
  static const double identity[4] = {1, 0, 0, 0};
  const double back[3] = {-point[0], -point[1], -point[2]};
  double m[10] = {0}, s[9], along = 0;
  moment_add(m, 1, moment, back, identity);
  unpack(s, m);
  for (int i = 0; i < 3; i++) along += axis[i] * dot3(s + 3 * i, axis);
  return s[0] + s[4] + s[8] - along;
}

/* One Jacobi rotation: zeroes a[p][q] of symmetric a, turns the columns of v along. */
static void jacobi_rotate(double a[9], double v[9], int p, int q) {
  double apq = a[3 * p + q];
  if (apq == 0) return;
  double theta = (a[4 * q] - a[4 * p]) / (2 * apq);
  double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
  double c = 1 / hypot(t, 1), s = t * c;
  for (int k = 0; k < 3; k++) {
    double akp = a[3 * k + p], akq = a[3 * k + q];
    a[3 * k + p] = c * akp - s * akq;
    a[3 * k + q] = s * akp + c * akq;
  }
  for (int k = 0; k < 3; k++) {
    double apk = a[3 * p + k], aqk = a[3 * q + k], vkp = v[3 * k + p], vkq = v[3 * k + q];
    a[3 * p + k] = c * apk - s * aqk;
    a[3 * q + k] = s * apk + c * aqk;
    v[3 * k + p] = c * vkp - s * vkq;
    v[3 * k + q] = s * vkp + c * vkq;
  }
  a[3 * p + q] = a[3 * q + p] = 0;
}

/* q = unit quaternion of rotation matrix m, by its largest component; w >= 0. */
static void matrix_quat(double q[4], const double m[9]) {
  const double square[4] = {1 + m[0] + m[4] + m[8], 1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8],
                            1 - m[0] - m[4] + m[8]};
  const double row[4][4] = {{square[0], m[7] - m[5], m[2] - m[6], m[3] - m[1]},
                            {m[7] - m[5], square[1], m[3] + m[1], m[2] + m[6]},
                            {m[2] - m[6], m[3] + m[1], square[2], m[7] + m[5]},
                            {m[3] - m[1], m[2] + m[6], m[7] + m[5], square[3]}};
  int best = 0;
  for (int i = 1; i < 4; i++)
    if (square[i] > square[best]) best = i;
  for (int i = 0; i < 4; i++) q[i] = row[best][0] < 0 ? -row[best][i] : row[best][i];
  normalise(q, 4);
}

void moment_to_principal(const double moment[10], double ipos[3], double iquat[4], double inertia[3]) {
  double a[9], v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  unpack(a, moment);
  for (int i = 0; i < 3; i++) ipos[i] = moment[1 + i] / moment[0];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) a[3 * i + j] -= moment[1 + i] * ipos[j];
  /* quadratic convergence: five sweeps are enough for any 3x3, ten cost nothing */
  for (int sweep = 0; sweep < 10; sweep++) {
    jacobi_rotate(a, v, 0, 1);
    jacobi_rotate(a, v, 0, 2);
    jacobi_rotate(a, v, 1, 2);
  }
  matrix_quat(iquat, v);
  inertia[0] = a[4] + a[8];
  inertia[1] = a[0] + a[8];
  inertia[2] = a[0] + a[4];
}
