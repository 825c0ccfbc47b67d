/* curve.inl: functions of one coordinate with two derivatives, of which the energies of joints, constraints
 * and actuators are made. */

/* Value, first and second derivative of a function of one coordinate. */
typedef struct curve {
  real e, g, h;
} curve;

FN curve curve_add(curve a, curve b) {
  curve c = {a.e + b.e, a.g + b.g, a.h + b.h};
  return c;
}

/* k/2 (x - x0)^2 */
FN curve curve_quadratic(real k, real d) {
  curve c = {K(0.5) * k * d * d, k * d, k + zero()};
  return c;
}

/* One-sided C2 penalty: slope k relu(x) rounded over (0, width) by 3t^2 - 2t^3 in the second derivative. */
FN curve curve_ramp(real k, real x, real width) {
  real t = rmax(x / width, zero()), in = rmin(t, splat(1)), out = rmax(t - K(1), zero()), t2 = in * in;
  curve c;
  c.h = k * t2 * (K(3) - K(2) * in);
  c.g = k * width * (t2 * in * (K(1) - K(0.5) * in) + out);
  c.e = k * width * width * (t2 * t2 * (K(0.25) - K(0.1) * in) + K(0.5) * out * (K(1) + out));
  return c;
}

/* f (sqrt(r^2 + e^2) - e) */
FN curve curve_friction(real f, real r, real e) {
  real q = root(r * r + e * e), iq = splat(1) / q;
  curve c = {f * r * r / (q + e), f * r * iq, f * e * e * iq * iq * iq};
  return c;
}

/* c(s x) as a function of x */
FN curve curve_stretch(curve c, elem s) {
  c.g = c.g * s;
  c.h = c.h * (s * s);
  return c;
}
