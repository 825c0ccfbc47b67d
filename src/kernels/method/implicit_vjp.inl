/* implicit_vjp.inl: the adjoint of one step (docs/gradients.md).
 *
 * At the converged (q+, p+, z+), with E the step's objective and `bar` the cotangents of its results:
 *   H lambda = bar q+                (exact H, planes and friction motion eliminated as in the forward pass)
 *   bar theta = - d/dtheta [ lambda . dE/d(q+, p, z) ]   for every input theta
 * so each term only differentiates psi = lambda . dE once more. A cotangent f of a contact force -dE/dx_A
 * acts like an extra translation of A in that pair's lambda. */

/* ---------------------------------------------------------------- rotations */

/* (1 - (t/2) cot(t/2)) / t^2 */
FN real log_curvature(real t2) {
  mask small = lt(t2, splat(K(1e-6)));
  real safe = sel(small, splat(1), t2), t = root(safe), s, c;
  sincos_lane(K(0.5) * t, &s, &c);
  return sel(small, K(1.0 / 12) + t2 * K(1.0 / 720), (K(1) - K(0.5) * t * c / s) / safe);
}
/* J_l^-T(phi) v (sign +1) and J_r^-T(phi) v (sign -1): how a cotangent of phi = log R passes to a turn of R
 * on its left or right. */
FN vec3 log_vjp(vec3 phi, vec3 v, elem sign) {
  vec3 pv = cross(phi, v);
  return add(axpy(K(0.5) * sign + zero(), pv, v), scale(log_curvature(dot(phi, phi)), cross(phi, pv)));
}
/* J_l^T(phi) v: how a cotangent of a left turn of exp(phi) passes to phi. */
FN vec3 exp_vjp(vec3 phi, vec3 v) {
  real t2 = dot(phi, phi), s, c;
  mask small = lt(t2, splat(K(1e-6)));
  real safe = sel(small, splat(1), t2), t = root(safe);
  sincos_lane(t, &s, &c);
  real a = sel(small, K(0.5) - t2 * K(1.0 / 24), (K(1) - c) / safe);
  real b = sel(small, K(1.0 / 6) - t2 * K(1.0 / 120), (t - s) / (safe * t));
  vec3 pv = cross(phi, v);
  return add(axpy(-a, pv, v), scale(b, cross(phi, pv)));
}
/* Cotangent of a quaternion to that of a turn on its left: dq = (0, d) q / 2. */
FN vec3 quat_vjp(quat q, quat bar) {
  vec3 v = quat_vec(q), b = quat_vec(bar);
  return scale(splat(K(0.5)), add(sub(scale(q.w, b), scale(bar.w, v)), cross(v, b)));
}

/* ---------------------------------------------------------------- outputs of the step */

/* bar_qpos += cotangents of qpos and of body poses, at the configuration whose poses, quaternions and twists
 * are in xpos, xquat and twist. */
FN void reverse_poses(const step_params *k, real *w, const real *qpos) {
  const abut_model *m = k->model;
  fill(W(body_force), 3 * m->nbody, zero());
  fill(W(body_phi), 9 * m->nbody, zero());
  for (int b = 1; b < m->nbody; b++) {
    put_vec(&AT(W(body_force), 3 * b), get_vec(&AT(W(bar_out_xpos), 3 * b)));
    vec3 torque = quat_vjp(get_quat(&AT(W(xquat), 4 * b)), get_quat(&AT(W(bar_out_xquat), 4 * b)));
    put_mat(&AT(W(body_phi), 9 * b), mat_scale(splat(K(0.5)), hat(torque))); /* axial(hat(t)/2) = t */
  }
  fill(W(body_k), 21 * m->nbody, zero());
  composite(k, w);
  fill(W(grad), m->nv, zero());
  for (int d = 0; d < m->nv; d++) project_dof(k, w, d, 0);
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++)
      AT(W(bar_qpos), da + i) = AT(W(bar_qpos), da + i) + AT(W(grad), da + i) + AT(W(bar_out_qpos), qa + i);
    if (!joint_turns(type)) continue;
    vec3 out = quat_vjp(get_quat(&AT(qpos, qa + axes)), get_quat(&AT(W(bar_out_qpos), qa + axes)));
    add_vec(&AT(W(bar_qpos), da + axes), add(out, get_vec(&AT(W(grad), da + axes))));
  }
}

/* Cotangent of v = log(q_t^-1 q+)/dt: to bar_qpos for q+; its negative belongs to q_t and is left in
 * bar_qvel. */
FN void reverse_velocity(const step_params *k, real *w) {
  const abut_model *m = k->model;
  elem idt = K(1 / k->options.timestep);
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) AT(W(bar_qvel), da + i) = idt * AT(W(bar_qvel), da + i);
    if (joint_turns(type)) {
      quat q_t = get_quat(&AT(W(qpos_t), qa + axes));
      vec3 phi = quat_log(quat_mul(quat_conj(q_t), get_quat(&AT(W(qpos), qa + axes))));
      vec3 v = log_vjp(phi, scale(splat(idt), get_vec(&AT(W(bar_qvel), da + axes))), 1);
      put_vec(&AT(W(bar_qvel), da + axes), quat_rotate(q_t, v));
    }
  }
  for (int d = 0; d < m->nv; d++) AT(W(bar_qpos), d) = AT(W(bar_qpos), d) + AT(W(bar_qvel), d);
}

/* Right-hand side: bar_qpos minus the eliminated blocks times the force cotangents. */
FN void reverse_rhs(const step_params *k, real *w, real *slots, const lane_group *g) {
  const abut_model *m = k->model;
  fill(W(body_pull), 6 * m->nbody, zero());
  for (int i = 0; i < g->nslot; i++) {
    int s = g->order[i];
    const pair_info *pair = &k->pairs[g->slot_pair[s]];
    if (!(g->slot_on[s] & g->live)) continue;
    vec3 f = get_vec(SLOT_AT(s, bar_contact));
    const real *block = SLOT_AT(s, block);
    block6 own = get_block(block);
    if (pair->side[0].moves) {
      twist6 pull = {mat_vec(own.wv, f), sym_vec(own.vv, f)};
      add_twist(&AT(W(body_pull), 6 * pair->side[0].body), pull);
    }
    if (pair->side[1].moves) {
      twist6 pull = {mat_tvec(get_mat(&AT(block, 60)), f), mat_tvec(get_mat(&AT(block, 69)), f)};
      add_twist(&AT(W(body_pull), 6 * pair->side[1].body), pull);
    }
  }
  for (int d = 0; d < m->nv; d++) AT(W(grad), d) = -AT(W(bar_qpos), d);
  reduce_rhs(k, w); /* rhs = -(grad + pull) = bar_qpos - pull */
}

/* ---------------------------------------------------------------- inertia, gravity, mass */

/* Pose cotangents through That = 2 T_t - T_-: the half that concerns T_- goes to body_force and body_phi. */
FN void inertia_vjp(const step_params *k, real *w, int b) {
  body_mass q = mass_of(k, w, b);
  twist6 l = get_twist(&AT(W(body_step), 6 * b));
  elem i2 = K(1 / (k->options.timestep * k->options.timestep));
  mat3 r = get_mat(&AT(W(xmat), 9 * b)), r_t = get_mat(&AT(W(xmat_t), 9 * b)),
       hat_r = get_mat(&AT(W(xmat_hat), 9 * b));
  mat3 turn = hat_mat(l.w, r); /* d T along lambda */
  vec3 gx = scale(splat(i2), axpy(q.m, l.v, mat_vec(turn, q.mc)));
  mat3 gr = mat_scale(splat(i2), mat_add(mat_mat(turn, q.s), outer(l.v, q.mc)));
  add_vec(&AT(W(bar_force), 3 * b), scale(splat(2), gx));
  add_mat(&AT(W(bar_phi), 9 * b), mat_scale(splat(2), mat_matt(gr, r_t)));
  mat3 r_minus = mat_sub(mat_scale(splat(2), r_t), hat_r);
  put_vec(&AT(W(body_force), 3 * b), scale(splat(-1), gx));
  put_mat(&AT(W(body_phi), 9 * b), mat_scale(splat(-1), mat_matt(gr, r_minus)));
  vec3 moved = axpy(q.m, l.v, mat_vec(turn, q.mc)); /* m times the velocity of the centre of mass */
  add_vec(W(bar_gravity), scale(splat(K(1 - k->model->body_gravcomp[b])), moved));
  mat3 dr = mat_sub(r, hat_r);
  vec3 dx = sub(get_vec(&AT(W(xpos), 3 * b)), get_vec(&AT(W(xpos_hat), 3 * b)));
  real psi = dot(gx, dx) + dot(gr.r0, dr.r0) + dot(gr.r1, dr.r1) + dot(gr.r2, dr.r2) -
             dot(gravity_of(k, w, b), moved);
  real mass = AT(W(mass), b);
  mask heavy = gt(mass, zero());
  AT(W(bar_mass), b) = AT(W(bar_mass), b) - sel(heavy, psi / sel(heavy, mass, splat(1)), zero());
}

/* ---------------------------------------------------------------- joints */

/* Cotangent of the reference turn of a radial ball term: J_r^-T [h'' n n^T + (h'/t)(1 - n n^T)] lambda. */
FN vec3 ball_vjp(vec3 phi, curve c, vec3 lambda) {
  real theta = norm(phi);
  mask small = lt(theta, splat(K(1e-14))); /* a kink of friction loss may be 1e-9 wide */
  real safe = sel(small, splat(1), theta), side = sel(small, c.h, c.g / safe);
  real along = sel(small, zero(), (c.h - side) * dot(phi, lambda) / (safe * safe));
  return log_vjp(phi, axpy(along, phi, scale(side, lambda)), -1);
}

/* One slide, hinge or translation axis: cotangents of q_t and v through damping, friction loss and armature.
 */
FN void axis_vjp(const step_params *k, real *w, int j, int qa, int da) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep);
  real l = AT(W(rhs), da), h = splat(K(m->jnt_damping[j]) / dt);
  if (m->jnt_frictionloss[j] > 0) {
    real r = (AT(W(qpos), qa) - AT(W(qpos_t), qa)) * (K(1) / dt);
    curve f = curve_stretch(
        curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), r, splat(K(k->options.implicit.slip_velocity))),
        K(1) / dt);
    h = h + f.h;
  }
  if (m->jnt_limited[j] && m->jnt_type[j] != ABUT_JOINT_FREE)
    AT(W(bar_qpos), da) = AT(W(bar_qpos), da) - l * joint_limit_vjp(k, j, AT(W(qpos), qa), AT(W(qpos_t), qa));
  real a = l * K(m->jnt_armature[j] / (k->options.timestep * k->options.timestep));
  AT(W(bar_qpos), da) = AT(W(bar_qpos), da) + l * h + a;
  AT(W(bar_qvel), da) = AT(W(bar_qvel), da) + dt * a;
}

FN void turn_vjp(const step_params *k, real *w, int j, int qa, int da) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep);
  quat q = get_quat(&AT(W(qpos), qa)), q_t = get_quat(&AT(W(qpos_t), qa));
  vec3 l = get_vec(&AT(W(rhs), da));
  if (m->jnt_damping[j] > 0 || m->jnt_frictionloss[j] > 0) {
    vec3 phi = ball_turn(q, q_t);
    real theta = norm(phi);
    curve f = curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), theta * (K(1) / dt),
                             splat(K(k->options.implicit.slip_velocity)));
    curve c =
        curve_add(curve_quadratic(splat(K(m->jnt_damping[j]) / dt), theta), curve_stretch(f, K(1) / dt));
    add_vec(&AT(W(bar_qpos), da), ball_vjp(phi, c, l));
  }
  if (m->jnt_limited[j] && m->jnt_type[j] == ABUT_JOINT_BALL) {
    vec3 phi = quat_log(q), phi_t = quat_log(q_t);
    real theta = norm(phi), theta_t = norm(phi_t), least = splat(K(1e-14));
    real turned = dot(phi, l) / rmax(theta, least) * joint_limit_vjp(k, j, theta, theta_t);
    add_vec(&AT(W(bar_qpos), da), scale(-turned / rmax(theta_t, least), phi_t));
  }
  if (m->jnt_armature[j] > 0) {
    vec3 phi = ball_turn(q, get_quat(&AT(W(qpos_hat), qa)));
    curve c = curve_quadratic(splat(K(m->jnt_armature[j] / (k->options.timestep * k->options.timestep))),
                              norm(phi));
    vec3 hat_bar = ball_vjp(phi, c, l), step = scale(splat(dt), get_vec(&AT(W(qvel), da)));
    add_vec(&AT(W(bar_qpos), da), hat_bar);
    add_vec(&AT(W(bar_qvel), da), scale(splat(dt), exp_vjp(step, quat_rotate(quat_conj(q_t), hat_bar))));
  }
}

FN void joints_vjp(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) axis_vjp(k, w, j, qa + i, da + i);
    if (joint_turns(type)) turn_vjp(k, w, j, qa + axes, da + axes);
  }
  actuators_vjp(k, w);
}

/* ---------------------------------------------------------------- the stage */

/* Cotangents of q- pass to q_t unchanged and to v through q- = q_t exp(-dt v); so do body poses at either. */
FN void velocity_vjp(const step_params *k, real *w, const real *bar_minus) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep);
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) {
      AT(W(bar_qpos), da + i) = AT(W(bar_qpos), da + i) + AT(bar_minus, da + i);
      AT(W(bar_qvel), da + i) = AT(W(bar_qvel), da + i) - dt * AT(bar_minus, da + i);
    }
    if (!joint_turns(type)) continue;
    qa += axes;
    da += axes;
    vec3 bar = get_vec(&AT(bar_minus, da)), step = scale(splat(-dt), get_vec(&AT(W(qvel), da)));
    quat q_t = get_quat(&AT(W(qpos_t), qa));
    add_vec(&AT(W(bar_qpos), da), bar);
    add_vec(&AT(W(bar_qvel), da), scale(splat(-dt), exp_vjp(step, quat_rotate(quat_conj(q_t), bar))));
  }
}

/* Pose cotangents (body_force, body_phi) at configuration q, as a dof cotangent in grad. Uses xpos, xmat,
 * twist. */
FN void poses_vjp(const step_params *k, real *w, const real *q) {
  kinematics(k, w, q, W(xpos), W(xmat), W(xquat), W(twist));
  composite(k, w);
  fill(W(grad), k->model->nv, zero());
  for (int d = 0; d < k->model->nv; d++) project_dof(k, w, d, 0);
}

/* One step backwards: begin has run at q_t, evaluate at the recorded q+. First: lambda, and what passes to
 * q_t and v through joints; then the terms (stage_vjp_*). */
KERNEL void stage_reverse_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  if (LEADER) {
    reverse_poses(k, w, W(qpos));
    reverse_velocity(k, w);
    reverse_rhs(k, w, slots, g);
  }
  TEAM_SYNC();
  factor(k, w, own(g)->envelope);
  solve(k, w, own(g)->envelope, W(rhs));
  if (!LEADER) return;
  for (int b = 0; b < m->nbody; b++) {
    twist6 t = body_step(k, w, W(rhs), b);
    put_twist(&AT(W(body_step), 6 * b), t.w, t.v);
  }
  for (int d = 0; d < m->nv; d++) { /* from here on: cotangents of q_t and of v at the start */
    AT(W(bar_qpos), d) = -AT(W(bar_qvel), d);
    AT(W(bar_qvel), d) = zero();
  }
  fill(W(bar_force), 3 * m->nbody, zero());
  fill(W(bar_phi), 9 * m->nbody, zero());
  fill(W(body_force), 3 * m->nbody, zero());
  fill(W(body_phi), 9 * m->nbody, zero());
  tendons_reverse(k, w);
  joints_vjp(k, w);
  equalities_vjp(k, w);
  tendons_vjp(k, w);
}

/* Last: what passes through inertia and gravity; then all pose cotangents to q_t and
 * v.
 */
KERNEL void stage_reverse_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  for (int b = 1; b < m->nbody; b++)
    if (m->body_weldid[b] != 0) inertia_vjp(k, w, b);
  integrate(k, W(qpos_t), W(qvel), splat(K(-k->options.timestep)), 1, W(qpos_try));
  if (m->ntendon) {
    kinematics(k, w, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
    tendons_before_vjp(k, w);
  }
  poses_vjp(k, w, W(qpos_try));
  velocity_vjp(k, w, W(grad));
  copy_sel(W(body_force), W(bar_force), 3 * m->nbody, mask_from_bits(ALL_LANES));
  copy_sel(W(body_phi), W(bar_phi), 9 * m->nbody, mask_from_bits(ALL_LANES));
  poses_vjp(k, w, W(qpos_t));
  for (int d = 0; d < m->nv; d++) AT(W(bar_qpos), d) = AT(W(bar_qpos), d) + AT(W(grad), d);
}

/* Start of the rollout for the lanes in live: adds the cotangents of its outputs at index 0, then turns
 * bar_qpos from Newton's coordinates into components of qpos (into bar_qpos0). */
KERNEL void stage_reverse_start(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  kinematics(k, w, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  copy_sel(W(rhs), W(bar_qpos), m->nv, mask_from_bits(ALL_LANES));
  reverse_poses(k, w, W(qpos_t));
  copy_sel(W(bar_qpos), W(rhs), m->nv, mask_not(live)); /* others are in the middle of their steps */
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) AT(W(bar_qpos0), qa + i) = AT(W(bar_qpos), da + i);
    if (!joint_turns(type)) continue;
    quat q = get_quat(&AT(W(qpos_t), qa + axes)), b = quat_make(zero(), get_vec(&AT(W(bar_qpos), da + axes)));
    quat out = quat_mul(b, q); /* dq = (0, d) q / 2, and |dq| = |d| / 2 */
    put_quat(&AT(W(bar_qpos0), qa + axes), quat_make(K(2) * out.w, scale(splat(2), quat_vec(out))));
  }
}
