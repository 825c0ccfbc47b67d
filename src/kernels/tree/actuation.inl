/* actuation.inl: energies of single joints: armature, damping, springs, limits, friction loss (docs/step.md
 * section 3). Each is a function of one joint coordinate, or of a ball's angle from a reference. */

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
  return actuators_energy(k, w, qpos, grad, hess, energy);
}
