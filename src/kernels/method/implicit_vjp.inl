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
  elem idt = K(1 / k->dt);
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
  elem i2 = K(1 / (k->dt * k->dt));
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
  add_vec(W(bar_gravity), moved);
  mat3 dr = mat_sub(r, hat_r);
  vec3 dx = sub(get_vec(&AT(W(xpos), 3 * b)), get_vec(&AT(W(xpos_hat), 3 * b)));
  real psi = dot(gx, dx) + dot(gr.r0, dr.r0) + dot(gr.r1, dr.r1) + dot(gr.r2, dr.r2) -
             dot(get_vec(W(gravity)), moved);
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
  elem dt = K(k->dt);
  real l = AT(W(rhs), da), h = splat(K(m->jnt_damping[j]) / dt);
  if (m->jnt_frictionloss[j] > 0) {
    real r = (AT(W(qpos), qa) - AT(W(qpos_t), qa)) * (K(1) / dt);
    curve f =
        curve_stretch(curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), r, splat(K(k->slip))), K(1) / dt);
    h = h + f.h;
  }
  real a = l * K(m->jnt_armature[j] / (k->dt * k->dt));
  AT(W(bar_qpos), da) = AT(W(bar_qpos), da) + l * h + a;
  AT(W(bar_qvel), da) = AT(W(bar_qvel), da) + dt * a;
}

FN void turn_vjp(const step_params *k, real *w, int j, int qa, int da) {
  const abut_model *m = k->model;
  elem dt = K(k->dt);
  quat q = get_quat(&AT(W(qpos), qa)), q_t = get_quat(&AT(W(qpos_t), qa));
  vec3 l = get_vec(&AT(W(rhs), da));
  if (m->jnt_damping[j] > 0 || m->jnt_frictionloss[j] > 0) {
    vec3 phi = ball_turn(q, q_t);
    real theta = norm(phi);
    curve f = curve_friction(splat(K(m->jnt_frictionloss[j]) * dt), theta * (K(1) / dt), splat(K(k->slip)));
    curve c =
        curve_add(curve_quadratic(splat(K(m->jnt_damping[j]) / dt), theta), curve_stretch(f, K(1) / dt));
    add_vec(&AT(W(bar_qpos), da), ball_vjp(phi, c, l));
  }
  if (m->jnt_armature[j] > 0) {
    vec3 phi = ball_turn(q, get_quat(&AT(W(qpos_hat), qa)));
    curve c = curve_quadratic(splat(K(m->jnt_armature[j] / (k->dt * k->dt))), norm(phi));
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
  for (int a = 0; a < m->nu; a++) {
    int j = m->actuator_jnt[a], qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j];
    elem gear = K(m->actuator_gear[a]);
    actuator_line line = actuator_at(k, w, a, AT(W(qpos), qa), AT(W(qpos_t), qa));
    real l = AT(W(rhs), da), pass = splat(1);
    if (m->actuator_forcelimited[a])
      pass = saturate(line.f, K(m->actuator_forcerange[2 * a]), K(m->actuator_forcerange[2 * a + 1])).h;
    real b2 = AT(W(bias), 3 * a + 2);
    AT(W(bar_qpos), da) = AT(W(bar_qpos), da) - l * pass * b2 * (gear * gear * K(1 / k->dt));
    AT(W(bar_ctrl), a) = gear * l * pass * line.u_in * AT(W(gain), a);
  }
}

/* ---------------------------------------------------------------- friction */

/* Cotangents of one pair's lagged quantities while they are gathered. */
typedef struct lag_bar {
  vec3 turn; /* of the frame (rotation vector) */
  vec3 u;    /* of the plane at time t: normal */
  real e, s; /* offset and length */
  real ua;   /* inverse: of U_A */
  real psi;  /* friction part of lambda . dE */
} lag_bar;

/* What friction_reverse needs of the pair at the step's start. */
typedef struct lag_frame {
  plane_state p;
  mat3 f;         /* frame, rows e1 e2 u */
  vec3 c;         /* centre of the lagged points */
  real s, scale_; /* |n|, N s per -w P' */
  real z[3], lz[3];
  real spin; /* d psi / d weight of the spin floor */
} lag_frame;

/* psi = sum w r . rdot / |r|: cotangents of weight, lagged point P and frame of one point; then through
 * Y = T+ T_t^-1 P to the body's pose at t. */
FN void lag_point(const step_params *k, const lag_frame *t, vec3 y, real w, mat3 turn, vec3 x_t, vec3 x,
                  twist6 l, lag_bar *bar, vec3 *bar_p, real *bar_w, vec3 *bar_pose) {
  elem idt = K(1 / k->dt), e = K(k->slip);
  vec3 p = add(t->c, mat_tvec(t->f, y)), to = add(x, mat_vec(turn, sub(p, x_t)));
  vec3 v = add(l.v, cross(l.w, sub(to, x))), d = sub(to, p);
  real r1 = dot(t->f.r0, d) * idt - t->z[0] + t->z[2] * y.y,
       r2 = dot(t->f.r1, d) * idt - t->z[1] - t->z[2] * y.x;
  real v1 = dot(t->f.r0, v) * idt - t->lz[0] + t->lz[2] * y.y,
       v2 = dot(t->f.r1, v) * idt - t->lz[1] - t->lz[2] * y.x;
  real il = inverse_root(r1 * r1 + r2 * r2 + e * e), rv = (r1 * v1 + r2 * v2) * il;
  real h1 = w * r1 * il, h2 = w * r2 * il;
  real b1 = w * il * (v1 - r1 * rv * il), b2 = w * il * (v2 - r2 * rv * il);
  *bar_w = rv + t->spin;
  bar->psi = bar->psi + w * *bar_w;
  vec3 rb = scale(splat(idt), axpy(b1, t->f.r0, scale(b2, t->f.r1)));
  vec3 hb = scale(splat(idt), axpy(h1, t->f.r0, scale(h2, t->f.r1)));
  vec3 bar_to = add(rb, cross(hb, l.w)), back = mat_tvec(turn, bar_to);
  real y1 = -t->z[2] * b2 - t->lz[2] * h2, y2 = t->z[2] * b1 + t->lz[2] * h1;
  vec3 yb = axpy(y1, t->f.r0, scale(y2, t->f.r1)), arm = sub(p, t->c);
  *bar_p = add(sub(back, rb), yb);
  *bar_pose = scale(splat(-1), back); /* a force at P on the pose at t */
  vec3 e1 = add(scale(b1 * idt, d), add(scale(h1 * idt, v), scale(y1, arm)));
  vec3 e2 = add(scale(b2 * idt, d), add(scale(h2 * idt, v), scale(y2, arm)));
  bar->turn = add(bar->turn, add(cross(t->f.r0, e1), cross(t->f.r1, e2)));
}

/* From cotangents of a lagged point and its weight to those of the point x of the body at t and of the plane.
 */
FN vec3 lag_origin(const step_params *k, const barrier *br, const lag_frame *t, vec3 x, elem sign,
                   real radius, real weight, real w, vec3 bar_p, real bar_w, lag_bar *bar) {
  real height = dot(t->p.u, sub(x, t->p.c)) + t->p.e, margin = sign * height - radius, p, dp, ddp;
  elem il = br->inv_length;
  barrier_at(br, t->s * il * margin, &p, &dp, &ddp);
  real dw = t->scale_ * weight * -ddp * il; /* of w with respect to s margin */
  real bar_height = sign * bar_w * dw * t->s;
  bar->s = bar->s + bar_w * (w / t->s + dw * margin);
  bar->ua = bar->ua + bar_w * w;
  vec3 bar_x = bar_p;
  if (!k->vertex_friction) { /* P = x - height u */
    bar_height = bar_height - dot(bar_p, t->p.u);
    bar->u = axpy(-height, bar_p, bar->u);
  }
  bar->u = axpy(bar_height, sub(x, t->p.c), bar->u);
  bar->e = bar->e + bar_height;
  return axpy(bar_height, t->p.u, bar_x);
}

/* Passes cotangents of the plane at t, through p_t = argmin U(q_t, p), to the poses at t. A plane that the
 * step before left unsettled (contact_unsettled) is no such function of the poses and passes nothing on. */
FN void plane_vjp(const contact_frame *c, const lag_frame *t, const lag_bar *bar, twist6 out[2]) {
  plane_moments m[2];
  plane_terms terms;
  contact_moments(c, t->p, m);
  IN_MEMORY(m);
  plane_join(&c->br, &m[0], &m[1], t->p.e, t->p.sigma, c->mu, 1, &terms);
  IN_MEMORY(&terms);
  vec3 u_bar = add(bar->u, cross(bar->turn, t->p.u));
  int np = plane_unknowns(&c->br);
  real is = inverse(t->s), l[10], y[4];
  for (int i = 0; i < np; i++) y[i] = terms.g[i];
  plane_factor(np, terms.k, l);
  plane_solve_lower(np, l, y);
  mask settled = le(plane_decrement(np, l, y), K(1e-4) * terms.value);
  y[0] = dot(u_bar, t->f.r0) * is;
  y[1] = dot(u_bar, t->f.r1) * is;
  y[2] = bar->e * is;
  y[3] = bar->e * t->p.e * is - bar->s;
  plane_solve_lower(np, l, y);
  plane_solve_upper(np, l, y);
  for (int i = 0; i < np; i++) y[i] = sel(settled, y[i], zero());
  for (int j = 0; j < 2; j++) {
    vec3 rot = vec_zero(), lin = vec_zero();
    for (int i = 0; i < np; i++) {
      const real *b = terms.b[j][i];
      rot = axpy(-y[i], vec(b[0], b[1], b[2]), rot);
      lin = axpy(-y[i], vec(b[3], b[4], b[5]), lin);
    }
    out[j].v = mat_tvec(t->f, lin);
    out[j].w = add(mat_tvec(t->f, rot), cross(sub(t->p.c, c->x[j]), out[j].v));
  }
}

/* inverse: weights carry U_A = 1 + sqrt(12/A); spreads bar U_A over all points of one side. Returns d A / d
 * margin of a point times bar A. */
FN real spread_ua(const barrier *br, const lag_bar *bar, real a_total, real margin, real weight) {
  real q = root(K(12) / a_total), bar_a = bar->ua / (K(1) + q) * (K(-0.5) * q / a_total),
       i = splat(1) / margin;
  return -bar_a * weight * i * i / br->inv_length;
}

/* Adds -f, a force at arm from the body's origin, to the pose cotangent at t. */
FN void take_force(const step_params *k, real *w, int body, mask on, vec3 f, vec3 arm) {
  f = vec_sel(on, scale(splat(-1), f), vec_zero());
  add_vec(&AT(W(bar_force), 3 * body), f);
  add_mat(&AT(W(bar_phi), 9 * body), outer(f, arm));
}

/* One side's points. Pass 0: everything but U_A, whose cotangent is complete after it; pass 1 (inverse): U_A.
 */
FN void lag_side(const step_params *k, real *w, real *slots, int s, const contact_frame *c,
                 const lag_frame *t, int j, int pass, real a_total, twist6 l, mask on, lag_bar *bar) {
  int body = c->pair->side[j].body;
  elem sign = j ? K(-1) : K(1);
  const real *points = SLOT_AT(s, point_t) + (j ? POINT * c->set[0].num * LANE_STRIDE : 0);
  vec3 x_t = c->x[j], x = get_vec(&AT(W(xpos), 3 * body));
  mat3 turn = mat_matt(get_mat(&AT(W(xmat), 9 * body)), c->r[j]);
  for (int i = 0; i < c->set[j].num; i++) {
    IN_MEMORY(c);
    IN_MEMORY(t);
    IN_MEMORY(bar);
    vec3 at = add(mat_vec(c->r[j], point_at(&c->set[j], i)), x_t);
    real radius = radius_at(&c->set[j], i), weight = weight_at(&c->set[j], i),
         mass = AT(points, POINT * i + 3);
    if (pass) { /* A sums over all points, loaded or not */
      real height = dot(t->p.u, sub(at, t->p.c)) + t->p.e;
      real bar_height = sign * spread_ua(&c->br, bar, a_total, sign * height - radius, weight);
      bar->u = axpy(bar_height, sub(at, t->p.c), bar->u);
      bar->e = bar->e + bar_height;
      take_force(k, w, body, on, scale(bar_height, t->p.u), sub(at, x_t));
      continue;
    }
    if (!any(gt(mass, zero()))) continue;
    vec3 bar_p, bar_pose, y = get_vec(&AT(points, POINT * i));
    real bar_w;
    lag_point(k, t, y, mass, turn, x_t, x, l, bar, &bar_p, &bar_w, &bar_pose);
    vec3 p = add(t->c, mat_tvec(t->f, y));
    take_force(k, w, body, on, bar_pose, sub(p, x_t));
    vec3 bar_x = lag_origin(k, &c->br, t, at, sign, radius, weight, mass, bar_p, bar_w, bar);
    take_force(k, w, body, on, bar_x, sub(at, x_t));
  }
}

/* All input cotangents of one slot's friction and stiffness. l: twists of A and B under lambda, force
 * cotangent included. */
KERNEL void contact_vjp(const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos_t), W(xmat_t), k->barrier);
  int half = c.pair->halfspace;
  twist6 l[2];
  for (int j = 0; j < 2; j++) l[j] = get_twist(&AT(W(body_step), 6 * c.pair->side[j].body));
  l[0].v = add(l[0].v, get_vec(SLOT_AT(s, bar_contact)));
  real psi = zero();
  for (int j = 0; j < (half ? 1 : 2); j++)
    psi = psi + dot(get_vec(&AT(SLOT_AT(s, force), 3 * j)), l[j].v) +
          dot(axial(get_mat(&AT(SLOT_AT(s, phi), 9 * j))), l[j].w);
  AT(W(bar_stiffness), 0) = AT(W(bar_stiffness), 0) - sel(on, psi / c.mu, zero());
  const real *plane_t = SLOT_AT(s, plane_t);
  mask rubs = mask_and(on, gt(AT(plane_t, 6), zero()));
  if (!any(rubs)) return;
  lag_frame t;
  lag_bar bar = {vec_zero(), vec_zero(), zero(), zero(), zero(), zero()};
  t.p = get_plane(SLOT_AT(s, plane_begin));
  if (half) t.p = halfspace_plane(c.pair, c.x[0]);
  t.f = plane_frame(t.p.u);
  t.c = get_vec(&AT(plane_t, 3));
  t.s = half ? splat(1) : plane_length(&c.br, t.p.sigma);
  real mu_f = pair_friction(k, w, c.pair), a_total = splat(1);
  t.scale_ = mu_f * c.mu * t.s * (c.br.inv_length * K(k->dt));
  if (c.br.kind == BARRIER_INVERSE && !half) {
    plane_moments m[2];
    contact_moments(&c, t.p, m);
    a_total = m[0].value + m[1].value;
    t.scale_ = t.scale_ * (K(1) + root(K(12) / a_total));
  }
  for (int i = 0; i < 3; i++) t.z[i] = AT(SLOT_AT(s, motion), i);
  for (int i = 0; i < 3; i++) t.lz[i] = zero();
  t.spin = zero();
  if (!half) {
    elem r0 = K(k->spin_radius), e = K(k->slip);
    back_substitute(3, 6, 3, SLOT_AT(s, motion_rows), l, 0, t.lz);
    t.spin = t.z[2] * t.lz[2] * (r0 * r0) / root(t.z[2] * t.z[2] * (r0 * r0) + e * e);
  }
  for (int pass = 0; pass < (c.br.kind == BARRIER_INVERSE && !half ? 2 : 1); pass++)
    for (int j = 0; j < (half ? 1 : 2); j++)
      lag_side(k, w, slots, s, &c, &t, j, pass, a_total, l[j], rubs, &bar);
  if (!half) {
    twist6 out[2];
    plane_vjp(&c, &t, &bar, out);
    for (int j = 0; j < 2; j++) {
      int b = c.pair->side[j].body;
      add_vec(&AT(W(bar_force), 3 * b), vec_sel(rubs, scale(splat(-1), out[j].v), vec_zero()));
      add_mat(&AT(W(bar_phi), 9 * b), mat_scale(splat(K(-0.5)), hat(vec_sel(rubs, out[j].w, vec_zero()))));
    }
  }
  if (c.pair->friction < 0) {
    real f0 = AT(W(friction), c.pair->side[0].geom), f1 = AT(W(friction), c.pair->side[1].geom);
    real share =
        sel(mask_and(rubs, gt(mu_f, zero())), bar.psi / sel(gt(mu_f, zero()), mu_f, splat(1)), zero());
    mask first = ge(f0, f1);
    real *b0 = &AT(W(bar_friction), c.pair->side[0].geom), *b1 = &AT(W(bar_friction), c.pair->side[1].geom);
    *b0 = *b0 - sel(first, share, zero());
    *b1 = *b1 - sel(first, zero(), share);
  }
}

/* ---------------------------------------------------------------- the stage */

/* Cotangents of q- pass to q_t unchanged and to v through q- = q_t exp(-dt v); so do body poses at either. */
FN void velocity_vjp(const step_params *k, real *w, const real *bar_minus) {
  const abut_model *m = k->model;
  elem dt = K(k->dt);
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
  kinematics(k, q, W(xpos), W(xmat), W(xquat), W(twist));
  composite(k, w);
  fill(W(grad), k->model->nv, zero());
  for (int d = 0; d < k->model->nv; d++) project_dof(k, w, d, 0);
}

/* One step backwards, in three stages: begin and friction have run at q_t, evaluate at the recorded q+.
 * First: lambda, and what passes to q_t and v through joints. */
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
  factor(k, w, g->envelope);
  solve(k, w, g->envelope, W(rhs));
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
  joints_vjp(k, w);
}

/* Second: what passes through the pairs' friction and stiffness, in the order of slots. */
KERNEL void stage_reverse_pairs(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  for (int i = 0; i < g->nslot; i++) {
    int s = g->order[i];
    if (!(g->slot_on[s] & g->live)) continue;
    contact_vjp(k, w, slots, s, g->slot_pair[s], mask_from_bits(g->slot_on[s] & g->live));
  }
}

/* Last, after stage_reverse_far: what passes through inertia and gravity; then all pose cotangents to q_t and
 * v.
 */
KERNEL void stage_reverse_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  for (int b = 1; b < m->nbody; b++)
    if (m->body_weldid[b] != 0) inertia_vjp(k, w, b);
  integrate(k, W(qpos_t), W(qvel), splat(K(-k->dt)), 1, W(qpos_try));
  poses_vjp(k, w, W(qpos_try));
  velocity_vjp(k, w, W(grad));
  copy_sel(W(body_force), W(bar_force), 3 * m->nbody, mask_from_bits(ALL_LANES));
  copy_sel(W(body_phi), W(bar_phi), 9 * m->nbody, mask_from_bits(ALL_LANES));
  poses_vjp(k, w, W(qpos_t));
  for (int d = 0; d < m->nv; d++) AT(W(bar_qpos), d) = AT(W(bar_qpos), d) + AT(W(grad), d);
}

/* Start of the rollout for the lanes in live: adds the cotangents of its outputs at index 0, then turns
 * bar_qpos from Newton's coordinates into components of qpos (into qpos_try). */
KERNEL void stage_reverse_start(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  kinematics(k, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  copy_sel(W(rhs), W(bar_qpos), m->nv, mask_from_bits(ALL_LANES));
  reverse_poses(k, w, W(qpos_t));
  copy_sel(W(bar_qpos), W(rhs), m->nv, mask_not(live)); /* others are in the middle of their steps */
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], da = m->jnt_dofadr[j], type = m->jnt_type[j];
    int axes = type == ABUT_JOINT_BALL ? 0 : type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < axes; i++) AT(W(qpos_try), qa + i) = AT(W(bar_qpos), da + i);
    if (!joint_turns(type)) continue;
    quat q = get_quat(&AT(W(qpos_t), qa + axes)), b = quat_make(zero(), get_vec(&AT(W(bar_qpos), da + axes)));
    quat out = quat_mul(b, q); /* dq = (0, d) q / 2, and |dq| = |d| / 2 */
    put_quat(&AT(W(qpos_try), qa + axes), quat_make(K(2) * out.w, scale(splat(2), quat_vec(out))));
  }
}
