/* actuator.inl: energies of actuators (docs/step.md section 3). Each is a function of one scalar coordinate
 * q, be it a joint's or a tendon's length: who has the coordinate passes its value in and spreads the slope
 * and the second derivative over the dofs that move it. */

/* Force of an actuator before saturation at coordinate q: f = gain u + b0 + b1 L + b2 (L - L_t)/dt. */
typedef struct actuator_line {
  real f, slope, u_in;
} actuator_line; /* f at q; df/dq; 1 where ctrl is in range */
FN actuator_line actuator_at(const step_params *k, const real *w, int a, real q, real q_t) {
  const abut_model *m = k->model;
  elem gear = K(m->actuator_gear[6 * a]), idt = K(1 / k->options.timestep);
  real u = AT(W(ctrl), a), in = splat(1), b1 = AT(W(bias), 3 * a + 1), b2 = AT(W(bias), 3 * a + 2);
  if (m->actuator_ctrllimited[a]) {
    real lo = splat(K(m->actuator_ctrlrange[2 * a])), hi = splat(K(m->actuator_ctrlrange[2 * a + 1]));
    in = sel(mask_or(lt(u, lo), gt(u, hi)), zero(), splat(1));
    u = rmin(rmax(u, lo), hi);
  }
  actuator_line r;
  r.f = AT(W(gain), a) * u + AT(W(bias), 3 * a) + b1 * gear * q + b2 * gear * (q - q_t) * idt;
  r.slope = gear * (b1 + b2 * idt);
  r.u_in = in;
  return r;
}

/* Smooth saturation of x to [lo, hi], exact but for a hundredth of the range around each corner:
 * value g, slope h and primitive e. */
FN curve saturate(real x, elem lo, elem hi) {
  real width = splat(K(0.01) * (hi - lo)), one = splat(1);
  real half = K(0.5) * width;
  real in = rmin(rmax(x, lo - half), hi + half); /* beyond, e is a line: squares there would cancel */
  curve up = curve_ramp(one, in - lo + half, width), down = curve_ramp(one, in - hi + half, width);
  curve c = {up.e - down.e + (in - lo) * lo, up.g - down.g + lo, up.h - down.h};
  c.e = c.e + c.g * (x - in);
  return c;
}

/* Energy whose negative slope is the force on its coordinate. With a position- or velocity-dependent force it
 * is -gear/slope times the primitive of the saturation. */
FN curve actuator_curve(const step_params *k, const real *w, int a, real q, real q_t) {
  const abut_model *m = k->model;
  elem gear = K(m->actuator_gear[6 * a]);
  actuator_line l = actuator_at(k, w, a, q, q_t);
  curve c;
  if (!m->actuator_forcelimited[a]) {
    c.e = -gear * (q - q_t) * (l.f - K(0.5) * l.slope * (q - q_t));
    c.g = -gear * l.f;
    c.h = -gear * l.slope;
    return c;
  }
  elem lo = K(m->actuator_forcerange[2 * a]), hi = K(m->actuator_forcerange[2 * a + 1]);
  curve s = saturate(l.f, lo, hi), s0 = saturate(l.f - l.slope * (q - q_t), lo, hi);
  mask flat = lt(rabs(l.slope), splat(ELEM_TINY));
  c.e = -gear * sel(flat, s.g * (q - q_t), (s.e - s0.e) / sel(flat, splat(1), l.slope));
  c.g = -gear * s.g;
  c.h = -gear * s.h * l.slope;
  return c;
}

/* The reverse of actuator_curve: l is the slope of q along lambda. Sets the cotangent of ctrl, returns that
 * of q_t. */
FN real actuator_vjp(const step_params *k, real *w, int a, real q, real q_t, real l) {
  const abut_model *m = k->model;
  elem gear = K(m->actuator_gear[6 * a]);
  actuator_line line = actuator_at(k, w, a, q, q_t);
  real pass = splat(1), b2 = AT(W(bias), 3 * a + 2);
  if (m->actuator_forcelimited[a])
    pass = saturate(line.f, K(m->actuator_forcerange[2 * a]), K(m->actuator_forcerange[2 * a + 1])).h;
  AT(W(bar_ctrl), a) = gear * l * pass * line.u_in * AT(W(gain), a);
  return -(l * pass * b2 * (gear * gear * K(1 / k->options.timestep)));
}

/* Energy of all actuators at qpos. If grad is not null, adds to grad and hess at the same point. */
FN real actuators_energy(const step_params *k, const real *w, const real *qpos, real *grad, real *hess,
                         real energy) {
  const abut_model *m = k->model;
  for (int a = 0; a < m->nu; a++) {
    int j = m->actuator_trnid[2 * a], qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j];
    curve c = actuator_curve(k, w, a, AT(qpos, qa), AT(W(qpos_t), qa));
    energy = energy + c.e;
    if (!grad) continue;
    AT(grad, da) = AT(grad, da) + c.g;
    *hess_at(hess, da, da) = *hess_at(hess, da, da) + c.h;
  }
  return energy;
}
FN void actuators_vjp(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int a = 0; a < m->nu; a++) {
    int j = m->actuator_trnid[2 * a], qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j];
    real bar = actuator_vjp(k, w, a, AT(W(qpos), qa), AT(W(qpos_t), qa), AT(W(rhs), da));
    AT(W(bar_qpos), da) = AT(W(bar_qpos), da) + bar;
  }
}
