/* actuation.inl: energies of single joints: armature, damping, springs, limits, friction loss, actuators
 * (docs/step.md section 3). Each is a function of one joint coordinate, or of a ball's angle from a
 * reference. */

/* All passive terms of a slide, a hinge or one axis of a free joint's translation, at coordinate q. */
FN curve joint_passive(const step_params *k, int j, real q, real q_t, real q_hat, elem spring) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep), i2 = K(1 / (k->options.timestep * k->options.timestep));
  curve c = curve_quadratic(splat(K(m->jnt_armature[j]) * i2), q - q_hat);
  if (m->jnt_damping[j] > 0) c = curve_add(c, curve_quadratic(splat(K(m->jnt_damping[j]) / dt), q - q_t));
  if (m->jnt_stiffness[j] > 0) c = curve_add(c, curve_quadratic(splat(K(m->jnt_stiffness[j])), q - spring));
  if (m->jnt_frictionloss[j] > 0) {
    curve f = curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), (q - q_t) * (K(1) / dt),
                             splat(K(k->options.implicit.slip_velocity)));
    c = curve_add(c, curve_stretch(f, K(1) / dt));
  }
  return c;
}

/* How far a joint is beyond its upper (side 1) or lower (0) limit, at coordinate or ball's angle q. */
FN real limit_violation(const abut_model *m, int j, int side, real q) {
  elem margin = K(m->jnt_margin[j]);
  return side ? q - K(m->jnt_range[2 * j + 1]) + margin : K(m->jnt_range[2 * j]) - q + margin;
}
FN soft joint_limit_at(const abut_model *m, int j, real r_t) {
  return limit_at(m->jnt_solref + 2 * j, m->jnt_solimp + 5 * j, m->dof_invweight0[m->jnt_dofadr[j]], r_t);
}
FN curve joint_limit(const step_params *k, int j, real q, real q_t) {
  const abut_model *m = k->model;
  curve sum = {zero(), zero(), zero()};
  for (int side = m->jnt_type[j] == ABUT_JOINT_BALL; side < 2; side++) {
    real r_t = limit_violation(m, j, side, q_t);
    curve c =
        limit_curve(joint_limit_at(m, j, r_t), limit_violation(m, j, side, q), r_t, K(k->options.timestep));
    if (!side) c.g = -c.g;
    sum = curve_add(sum, c);
  }
  return sum;
}
/* Derivative of its slope by q_t. */
FN real joint_limit_vjp(const step_params *k, int j, real q, real q_t) {
  const abut_model *m = k->model;
  real sum = zero();
  for (int side = m->jnt_type[j] == ABUT_JOINT_BALL; side < 2; side++) {
    real r_t = limit_violation(m, j, side, q_t);
    sum = sum + limit_curve_vjp(joint_limit_at(m, j, r_t), limit_violation(m, j, side, q), r_t,
                                K(k->options.timestep));
  }
  return sum;
}

/* Force of an actuator before saturation at joint coordinate q: f = gain u + b0 + b1 L + b2 (L - L_t)/dt. */
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

/* Energy whose negative slope is the actuator's joint force. With a position- or velocity-dependent force it
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

/* Function h of a ball's angle from a reference orientation, as gradient and 3x3 Hessian in the joint's
 * parent-side axes: g = h' n, H = h'' n n^T + (h'/2) cot(theta/2) (I - n n^T). */
typedef struct ball_terms {
  real e;
  vec3 g;
  mat3 h;
} ball_terms;
FN ball_terms ball_radial(vec3 phi, real theta, curve c) {
  mask small = lt(theta, splat(K(1e-14))); /* a kink of friction loss may be 1e-9 wide */
  real safe = sel(small, splat(1), theta), s, co;
  sincos_lane(K(0.5) * safe, &s, &co);
  real g_over = sel(small, c.h, c.g / safe), side = sel(small, c.h, K(0.5) * c.g * co / s);
  ball_terms b;
  b.e = c.e;
  b.g = scale(g_over, phi);
  mat3 nn = mat_scale(sel(small, zero(), splat(1) / (safe * safe)), outer(phi, phi));
  b.h = mat_add(mat_scale(side, mat_identity()), mat_scale(c.h - side, nn));
  return b;
}
FN ball_terms ball_add(ball_terms a, ball_terms b) {
  ball_terms c = {a.e + b.e, add(a.g, b.g), mat_add(a.h, b.h)};
  return c;
}
FN vec3 ball_turn(quat q, quat reference) { return quat_log(quat_mul(q, quat_conj(reference))); }

/* All terms of a ball, or of a free joint's rotation. */
FN ball_terms ball_joint(const step_params *k, int j, quat q, quat q_t, quat q_hat, quat spring) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep), i2 = K(1 / (k->options.timestep * k->options.timestep));
  ball_terms sum = {zero(), vec_zero(), mat_zero()};
  if (m->jnt_armature[j] > 0) {
    vec3 phi = ball_turn(q, q_hat);
    sum = ball_add(
        sum, ball_radial(phi, norm(phi), curve_quadratic(splat(K(m->jnt_armature[j]) * i2), norm(phi))));
  }
  if (m->jnt_damping[j] > 0 || m->jnt_frictionloss[j] > 0) {
    vec3 phi = ball_turn(q, q_t);
    real theta = norm(phi);
    curve c = curve_quadratic(splat(K(m->jnt_damping[j]) / dt), theta);
    curve f = curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), theta * (K(1) / dt),
                             splat(K(k->options.implicit.slip_velocity)));
    sum = ball_add(sum, ball_radial(phi, theta, curve_add(c, curve_stretch(f, K(1) / dt))));
  }
  if (m->jnt_stiffness[j] > 0) {
    vec3 phi = ball_turn(q, spring);
    sum =
        ball_add(sum, ball_radial(phi, norm(phi), curve_quadratic(splat(K(m->jnt_stiffness[j])), norm(phi))));
  }
  if (m->jnt_limited[j] && m->jnt_type[j] == ABUT_JOINT_BALL) {
    vec3 phi = quat_log(q);
    real theta = norm(phi);
    sum = ball_add(sum, ball_radial(phi, theta, joint_limit(k, j, theta, norm(quat_log(q_t)))));
  }
  return sum;
}

FN int joint_turns(int type) { return type == ABUT_JOINT_FREE || type == ABUT_JOINT_BALL; }
FN int joint_has_terms(const abut_model *m, int j) {
  return m->jnt_armature[j] > 0 || m->jnt_damping[j] > 0 || m->jnt_stiffness[j] > 0 ||
         m->jnt_frictionloss[j] > 0 || m->jnt_limited[j];
}

/* Energy of all joints at qpos. If grad is not null, adds to grad and hess at the same point. */
KERNEL real joints_energy(const step_params *k, real *w, const real *qpos, real *grad, real *hess) {
  const abut_model *m = k->model;
  real energy = zero();
  for (int j = 0; j < m->njnt; j++) {
    if (!joint_has_terms(m, j)) continue;
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) {
      real q = AT(qpos, qa + i);
      curve c =
          joint_passive(k, j, q, AT(W(qpos_t), qa + i), AT(W(qpos_hat), qa + i), K(m->qpos_spring[qa + i]));
      if (m->jnt_limited[j] && axes == 1) c = curve_add(c, joint_limit(k, j, q, AT(W(qpos_t), qa + i)));
      energy = energy + c.e;
      if (!grad) continue;
      AT(grad, da + i) = AT(grad, da + i) + c.g;
      *hess_at(hess, da + i, da + i) = *hess_at(hess, da + i, da + i) + c.h;
    }
    if (!joint_turns(type)) continue;
    qa += axes;
    da += axes;
    ball_terms b = ball_joint(k, j, get_quat(&AT(qpos, qa)), get_quat(&AT(W(qpos_t), qa)),
                              get_quat(&AT(W(qpos_hat), qa)), quat_splat(m->qpos_spring + qa));
    energy = energy + b.e;
    if (!grad) continue;
    add_vec(&AT(grad, da), b.g);
    real h[6];
    h[0] = b.h.r0.x;
    h[1] = b.h.r1.x;
    h[2] = b.h.r1.y;
    h[3] = b.h.r2.x;
    h[4] = b.h.r2.y;
    h[5] = b.h.r2.z;
    for (int i = 0; i < 3; i++)
      for (int l = 0; l <= i; l++) {
        real *e = hess_at(hess, da + i, da + l);
        *e = *e + h[i * (i + 1) / 2 + l];
      }
  }
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
