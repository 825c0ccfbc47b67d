/* constraint.inl: soft constraints on one coordinate, as MuJoCo's solref and solimp describe them, as
 * energies (docs/step.md section 3). With r the violation, A the inverse inertia that it meets, d the
 * impedance at |r|, MuJoCo's force at rest is
 *
 *   k r,   k = K d^2/((1 - d) A),   K = 1/(dmax T z)^2       solref = (T, z)
 *
 * and B/(K d) = tau times r' is added to r, B = 2/(dmax T). Here k and tau are those of the step's start, so
 * that the energy is quadratic, and r' = (r - r_t)/dt:
 *
 *   s = r + tau (r - r_t)/dt,   E = k/(1 + tau/dt) s^2/2,   dE/dr = k s
 *
 * A limit pushes one way only: s^2/2 is a ramp, and what was not beyond the limit is not damped. */

/* Stiffness and damping time at the step's start, and their derivatives by r_t. */
typedef struct soft {
  real k, tau, dk, dtau;
} soft;

/* x^p for x in [0, 1], p >= 1 */
FN real power_of(real x, double p) {
  real y = x;
  if (p > 16 || p != (int)p) return exponential2(K(p) * logarithm2(rmax(x, splat(K(1e-30)))));
  for (int i = 1; i < (int)p; i++) y = y * x;
  return y;
}

/* MuJoCo's impedance at |r|, and its derivative. */
FN real impedance(const double *solimp, real size, real *slope) {
  double d0 = solimp[0], d1 = solimp[1], width = solimp[2], middle = solimp[3], p = solimp[4];
  d0 = d0 < 1e-4 ? 1e-4 : d0 > 0.9999 ? 0.9999 : d0;
  d1 = d1 < 1e-4 ? 1e-4 : d1 > 0.9999 ? 0.9999 : d1;
  middle = middle < 1e-4 ? 1e-4 : middle > 0.9999 ? 0.9999 : middle;
  p = p < 1 ? 1 : p;
  *slope = zero();
  if (d0 == d1 || !(width > 1e-15)) return splat(K(0.5 * (d0 + d1)));
  /* y = m (x/m)^p below the middle m, 1 - (1 - m) ((1 - x)/(1 - m))^p above: both m there */
  real x = rmin(size * K(1 / width), splat(1)), low = rmin(x * K(1 / middle), splat(1)),
       high = (splat(1) - x) * K(1 / (1 - middle));
  high = rmin(high, splat(1));
  mask under = lt(x, splat(K(middle))), inside = lt(x, splat(1));
  real y = sel(under, K(middle) * power_of(low, p), splat(1) - K(1 - middle) * power_of(high, p));
  real dy = p == 1 ? splat(1) : sel(under, K(p) * power_of(low, p - 1), K(p) * power_of(high, p - 1));
  *slope = sel(inside, K((d1 - d0) / width) * dy, zero());
  return K(d0) + K(d1 - d0) * y;
}

/* At violation r_t; A = invweight > 0. */
FN soft soft_at(const double *solref, const double *solimp, double invweight, real r_t) {
  double dmax = solimp[1] < 1e-4 ? 1e-4 : solimp[1] > 0.9999 ? 0.9999 : solimp[1], stiffness, time;
  if (solref[0] > 0) {
    double t = dmax * solref[0] * solref[1];
    stiffness = 1 / (t * t);
    time = 2 * dmax * solref[0] * solref[1] * solref[1];
  } else { /* -stiffness, -damping */
    stiffness = -solref[0] / (dmax * dmax);
    time = solref[1] / solref[0] * dmax;
  }
  real slope, d = impedance(solimp, rabs(r_t), &slope), left = splat(1) - d;
  real sign = sel(lt(r_t, zero()), splat(-1), splat(1)), c = splat(K(stiffness / invweight));
  soft p;
  p.k = c * d * d / left;
  p.dk = c * d * (K(2) - d) / (left * left) * slope * sign;
  p.tau = K(time) / d;
  p.dtau = -p.tau / d * slope * sign;
  return p;
}

/* Both ways: energy of r. */
FN curve soft_curve(soft p, real r, real r_t, elem dt) {
  real a = p.tau * (K(1) / dt) + K(1), s = r + p.tau * (r - r_t) * (K(1) / dt);
  curve c = {K(0.5) * p.k / a * s * s, p.k * s, p.k * a};
  return c;
}
/* Derivative of its slope by r_t. */
FN real soft_curve_vjp(soft p, real r, real r_t, elem dt) {
  real rate = (r - r_t) * (K(1) / dt);
  return p.dk * (r + p.tau * rate) + p.k * (p.dtau * rate - p.tau * (K(1) / dt));
}

/* Width over which a limit's stiffness comes in, half of it on either side (rad or m). */
#define LIMIT_WIDTH 1e-4

/* As soft_at, of what pushes one way only. */
FN soft limit_at(const double *solref, const double *solimp, double invweight, real r_t) {
  mask beyond = gt(r_t, zero());
  soft p = soft_at(solref, solimp, invweight, rmax(r_t, zero()));
  real t = rmin(rmax(r_t * K(1 / LIMIT_WIDTH) + K(0.5), zero()), splat(1));
  real gate = t * t * (K(3) - K(2) * t), slope = K(6 / LIMIT_WIDTH) * t * (splat(1) - t);
  p.dk = sel(beyond, p.dk, zero());
  p.dtau = sel(beyond, p.dtau, zero()) * gate + p.tau * slope;
  p.tau = p.tau * gate;
  return p;
}
FN curve limit_curve(soft p, real r, real r_t, elem dt) {
  real a = p.tau * (K(1) / dt) + K(1), s = r + p.tau * (r - r_t) * (K(1) / dt);
  curve c = curve_ramp(splat(1), s + K(0.5 * LIMIT_WIDTH), splat(K(LIMIT_WIDTH)));
  c.e = p.k / a * c.e;
  c.g = p.k * c.g;
  c.h = p.k * a * c.h;
  return c;
}
FN real limit_curve_vjp(soft p, real r, real r_t, elem dt) {
  real rate = (r - r_t) * (K(1) / dt), s = r + p.tau * rate;
  curve c = curve_ramp(splat(1), s + K(0.5 * LIMIT_WIDTH), splat(K(LIMIT_WIDTH)));
  return p.dk * c.g + p.k * c.h * (p.dtau * rate - p.tau * (K(1) / dt));
}
