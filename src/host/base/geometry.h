/* geometry.h: vectors and quaternions (w, x, y, z) of the host, in double. */
#ifndef ABUT_GEOMETRY_H
#define ABUT_GEOMETRY_H
#include <math.h>
#include <string.h>

static inline double dot3(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* r = a x b; r may be neither. */
static inline void cross3(double r[3], const double a[3], const double b[3]) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

/* Divides v by its length. Returns 0, v untouched, where the length is zero or not finite. */
static inline int normalise(double *v, int n) {
  double largest = 0, sum = 0;
  for (int i = 0; i < n; i++) {
    if (!isfinite(v[i])) return 0;
    largest = fmax(largest, fabs(v[i]));
  }
  if (largest == 0) return 0;
  /* scaled, so that no square over- or underflows */
  for (int i = 0; i < n; i++) sum += v[i] / largest * (v[i] / largest);
  double length = sqrt(sum);
  for (int i = 0; i < n; i++) v[i] = v[i] / largest / length;
  return 1;
}

/* m = row-major rotation matrix of unit q. */
static inline void quat_matrix(double m[9], const double q[4]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                       2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                       2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(m, r, sizeof r);
}

/* r = a b, Hamilton's product; r may be a or b. */
static inline void quat_product(double r[4], const double a[4], const double b[4]) {
  const double product[4] = {
      a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
      a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
      a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
      a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
  };
  memcpy(r, product, sizeof product);
}

/* r = pos + rotation of v by unit quat; r may be v. */
static inline void transform_point(double r[3], const double pos[3], const double quat[4],
                                   const double v[3]) {
  double m[9], u[3] = {v[0], v[1], v[2]};
  quat_matrix(m, quat);
  for (int i = 0; i < 3; i++) r[i] = pos[i] + dot3(m + 3 * i, u);
}

#endif
