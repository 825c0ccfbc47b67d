/* actuator.inl: energies of actuators (docs/step.md section 3). Each is a function of one scalar coordinate
 * q, be it a joint's or a tendon's length: who has the coordinate passes its value in and spreads the slope
 * and the second derivative over the dofs that move it. */

/* What an actuator's gain multiplies, and its derivatives by its control and by its activation at the step's
 * start. */
typedef struct actuator_drive {
  real u, by_ctrl, by_act;
} actuator_drive;

/* The control within its range; outside, it has no derivative. */
FN actuator_drive actuator_control(const step_params *k, const real *w, int a) {
  const abut_model *m = k->model;
  actuator_drive d = {AT(W(ctrl), a), splat(1), zero()};
  if (m->actuator_ctrllimited[a]) {
    real lo = splat(K(m->actuator_ctrlrange[2 * a])), hi = splat(K(m->actuator_ctrlrange[2 * a + 1]));
    d.by_ctrl = sel(mask_or(lt(d.u, lo), gt(d.u, hi)), zero(), splat(1));
    d.u = rmin(rmax(d.u, lo), hi);
  }
  return d;
}

/* 1 - exp(-x) for x > 0, of plain numbers: a series near 0, then 1 - e^-2x = y (2 - y). */
FN double decay(double x) {
  int doublings = 0;
  double y = 0, term = 1;
  if (x > 64) return 1;
  for (; x > 0.125; doublings++) x *= 0.5;
  for (int i = 1; i < 14; i++) {
    term *= -x / i;
    y -= term;
  }
  for (; doublings > 0; doublings--) y *= 2 - y;
  return y;
}

/* The activation at the step's end. */
FN actuator_drive actuator_next(const step_params *k, const real *w, int a) {
  const abut_model *m = k->model;
  double dt = k->options.timestep;
  actuator_drive d = actuator_control(k, w, a);
  real act = AT(W(act), m->actuator_actadr[a]);
  int type = m->actuator_dyntype[a];
  if (type == ABUT_DYNAMICS_INTEGRATOR) {
    d.u = act + K(dt) * d.u;
    d.by_ctrl = K(dt) * d.by_ctrl;
    d.by_act = splat(1);
  } else {
    double share = dt / m->actuator_dynprm[a];
    if (type == ABUT_DYNAMICS_FILTEREXACT) share = decay(share);
    d.u = act + K(share) * (d.u - act);
    d.by_ctrl = K(share) * d.by_ctrl;
    d.by_act = splat(K(1 - share));
  }
  if (m->actuator_actlimited[a]) {
    real lo = splat(K(m->actuator_actrange[2 * a])), hi = splat(K(m->actuator_actrange[2 * a + 1]));
    mask out = mask_or(lt(d.u, lo), gt(d.u, hi));
    d.by_ctrl = sel(out, zero(), d.by_ctrl);
    d.by_act = sel(out, zero(), d.by_act);
    d.u = rmin(rmax(d.u, lo), hi);
  }
  return d;
}

FN actuator_drive actuator_driven(const step_params *k, const real *w, int a) {
  const abut_model *m = k->model;
  if (m->actuator_actadr[a] < 0) return actuator_control(k, w, a);
  if (m->actuator_actearly[a]) return actuator_next(k, w, a);
  actuator_drive d = {AT(W(act), m->actuator_actadr[a]), zero(), splat(1)};
  return d;
}

/* Activations go on to the step's end. */
FN void actuators_advance(const step_params *k, real *w, mask on) {
  const abut_model *m = k->model;
  for (int a = 0; m->na > 0 && a < m->nu; a++) {
    if (m->actuator_actadr[a] < 0) continue;
    real *act = &AT(W(act), m->actuator_actadr[a]);
    *act = sel(on, actuator_next(k, w, a).u, *act);
  }
}
/* The reverse: bar is the cotangent of what the gain multiplies. Sets that of ctrl. */
FN void actuator_drive_vjp(const step_params *k, real *w, int a, real bar) {
  const abut_model *m = k->model;
  int at = m->actuator_actadr[a];
  if (at < 0) {
    AT(W(bar_ctrl), a) = bar * actuator_control(k, w, a).by_ctrl;
    return;
  }
  actuator_drive next = actuator_next(k, w, a);
  real end = AT(W(bar_act), at);
  if (m->actuator_actearly[a]) end = end + bar;
  AT(W(bar_ctrl), a) = end * next.by_ctrl;
  AT(W(bar_act), at) = end * next.by_act;
  if (!m->actuator_actearly[a]) AT(W(bar_act), at) = AT(W(bar_act), at) + bar;
}

/* Force of an actuator before saturation at coordinate q: f = gain u + b0 + b1 L + b2 (L - L_t)/dt. */
typedef struct actuator_line {
  real f, slope;
} actuator_line; /* f at q; df/dq */
FN actuator_line actuator_at(const step_params *k, const real *w, int a, real q, real q_t) {
  const abut_model *m = k->model;
  elem gear = K(m->actuator_gear[6 * a]), idt = K(1 / k->options.timestep);
  real u = actuator_driven(k, w, a).u, b1 = AT(W(bias), 3 * a + 1), b2 = AT(W(bias), 3 * a + 2);
  actuator_line r;
  r.f = AT(W(gain), a) * u + AT(W(bias), 3 * a) + b1 * gear * q + b2 * gear * (q - q_t) * idt;
  r.slope = gear * (b1 + b2 * idt);
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

/* The reverse of actuator_curve: l is the slope of q along lambda. Sets the cotangent of ctrl, that of act
 * becomes the start's; returns that of q_t. */
FN real actuator_vjp(const step_params *k, real *w, int a, real q, real q_t, real l) {
  const abut_model *m = k->model;
  elem gear = K(m->actuator_gear[6 * a]);
  actuator_line line = actuator_at(k, w, a, q, q_t);
  real pass = splat(1), b2 = AT(W(bias), 3 * a + 2);
  if (m->actuator_forcelimited[a])
    pass = saturate(line.f, K(m->actuator_forcerange[2 * a]), K(m->actuator_forcerange[2 * a + 1])).h;
  actuator_drive_vjp(k, w, a, gear * l * pass * AT(W(gain), a));
  return -(l * pass * b2 * (gear * gear * K(1 / k->options.timestep)));
}

/* Energy of all actuators at qpos. If grad is not null, adds to grad and hess at the same point. */
FN real actuators_energy(const step_params *k, real *w, const real *qpos, real *grad, real *hess,
                         real energy) {
  const abut_model *m = k->model;
  for (int a = 0; a < m->nu; a++) {
    int j = m->actuator_trnid[2 * a];
    if (m->actuator_trntype[a] == ABUT_TRANSMISSION_TENDON) {
      curve c = actuator_curve(k, w, a, AT(W(tendon_at), j), AT(W(tendon_t), j));
      energy = energy + c.e;
      tendon_add(k, w, j, c.g, c.h);
      continue;
    }
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j];
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
    int j = m->actuator_trnid[2 * a];
    if (m->actuator_trntype[a] == ABUT_TRANSMISSION_TENDON) {
      real l = tendon_along(k, w, j);
      tendon_add(k, w, j, actuator_vjp(k, w, a, AT(W(tendon_at), j), AT(W(tendon_t), j), l), zero());
      continue;
    }
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j];
    real bar = actuator_vjp(k, w, a, AT(W(qpos), qa), AT(W(qpos_t), qa), AT(W(rhs), da));
    AT(W(bar_qpos), da) = AT(W(bar_qpos), da) + bar;
  }
}
