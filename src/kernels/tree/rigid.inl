/* rigid.inl: kinematics and twists of the tree (docs/step.md section 1).
 *
 * Newton's coordinates: a slide or hinge adds to its qpos; a ball turns on its parent's side, q' = exp(d) q,
 * and a free joint is three slides and a ball in the world. (qvel keeps MuJoCo's body-side convention; begin
 * and finish convert.) Bodies act through F = sum dE/dx and Phi = sum dE/dx (x - origin)^T and a 6x6 block
 * about their origin; everything generalised follows from these and the twists. */

typedef struct twist6 {
  vec3 w, v;
} twist6;
typedef struct pose {
  vec3 x;
  quat q;
} pose;

FN twist6 get_twist(const real *p) {
  twist6 t = {get_vec(p), get_vec(&AT(p, 3))};
  return t;
}
FN void put_twist(real *p, vec3 w, vec3 v) {
  put_vec(p, w);
  put_vec(&AT(p, 3), v);
}
/* the same motion seen at a point r away from the old origin */
FN twist6 twist_at(twist6 t, vec3 r) {
  t.v = add(t.v, cross(t.w, r));
  return t;
}

/* Applies joint j to the frame p of its body. twist, if wanted, receives w and, for dofs that turn, the
 * anchor in place of v until the body's origin is known (twist_close). */
FN pose joint_apply(const abut_model *m, int j, const real *qpos, pose p, real *twist) {
  const real *q = &AT(qpos, m->jnt_qposadr[j]);
  real *s = twist ? &AT(twist, 6 * m->jnt_dofadr[j]) : 0;
  int type = m->jnt_type[j];
  if (type == ABUT_JOINT_FREE) {
    p.x = get_vec(q);
    p.q = get_quat(&AT(q, 3));
    mat3 e = mat_identity();
    vec3 axes[3] = {e.r0, e.r1, e.r2};
    for (int i = 0; s && i < 3; i++) {
      put_twist(&AT(s, 6 * i), vec_zero(), axes[i]);
      put_twist(&AT(s, 6 * (i + 3)), axes[i], p.x);
    }
    return p;
  }
  vec3 local = vec_splat(m->jnt_pos + 3 * j), axis = vec_splat(m->jnt_axis + 3 * j);
  vec3 world_axis = quat_rotate(p.q, axis), anchor = add(p.x, quat_rotate(p.q, local));
  if (type == ABUT_JOINT_SLIDE) {
    p.x = axpy(AT(q, 0) - K(m->qpos0[m->jnt_qposadr[j]]), world_axis, p.x);
    if (s) put_twist(s, vec_zero(), world_axis);
    return p;
  }
  if (type == ABUT_JOINT_BALL) {
    mat3 e = mat_t(quat_mat(p.q));
    vec3 axes[3] = {e.r0, e.r1, e.r2};
    for (int i = 0; s && i < 3; i++) put_twist(&AT(s, 6 * i), axes[i], anchor);
    p.q = quat_mul(p.q, get_quat(q));
  } else {
    real sn, cs;
    sincos_lane(K(0.5) * (AT(q, 0) - K(m->qpos0[m->jnt_qposadr[j]])), &sn, &cs);
    p.q = quat_mul(p.q, quat_make(cs, scale(sn, axis)));
    if (s) put_twist(s, world_axis, anchor);
  }
  p.x = sub(anchor, quat_rotate(p.q, local));
  return p;
}

/* A turning dof moves the body's origin x by w x (x - anchor). */
FN void twist_close(const abut_model *m, int b, vec3 x, real *twist) {
  for (int d = m->body_dofadr[b]; d < m->body_dofadr[b] + m->body_dofnum[b]; d++) {
    real *s = &AT(twist, 6 * d);
    int type = m->jnt_type[m->dof_jnt[d]], within = d - m->jnt_dofadr[m->dof_jnt[d]];
    if (type == ABUT_JOINT_SLIDE || (type == ABUT_JOINT_FREE && within < 3)) continue;
    put_vec(&AT(s, 3), cross(get_vec(s), sub(x, get_vec(&AT(s, 3)))));
  }
}

/* World poses of every body at qpos, and the twists of every dof if twist is not null. Bodies that others
 * place (mocap) are where the environment's parameters say. */
KERNEL void kinematics(const step_params *k, const real *w, const real *qpos, real *xpos, real *xmat,
                       real *xquat, real *twist) {
  const abut_model *m = k->model;
  for (int b = 0; b < m->nbody; b++) {
    int parent = m->body_parent[b], first = m->body_jntadr[b];
    pose p = {vec_zero(), {splat(1), zero(), zero(), zero()}};
    if (b > 0) {
      quat q = get_quat(&AT(xquat, 4 * parent));
      p.x = add(get_vec(&AT(xpos, 3 * parent)), quat_rotate(q, vec_splat(m->body_pos + 3 * b)));
      p.q = quat_mul(q, quat_splat(m->body_quat + 4 * b));
    }
    int mocap = m->body_mocapid[b];
    if (mocap >= 0) {
      p.x = get_vec(&AT(W(mocap_pos), 3 * mocap));
      p.q = quat_normalize(get_quat(&AT(W(mocap_quat), 4 * mocap)));
    }
    for (int j = first; j < first + m->body_jntnum[b]; j++) p = joint_apply(m, j, qpos, p, twist);
    put_quat(&AT(xquat, 4 * b), p.q);
    put_vec(&AT(xpos, 3 * b), p.x);
    put_mat(&AT(xmat, 9 * b), quat_mat(p.q));
    if (twist) twist_close(m, b, p.x, twist);
  }
}

/* out = qpos (+) t d in Newton's coordinates (turn_body 0) or MuJoCo's (turn_body 1: q exp(d)). */
KERNEL void integrate(const step_params *k, const real *qpos, const real *d, real t, int turn_body,
                      real *out) {
  const abut_model *m = k->model;
  for (int j = 0; j < m->njnt; j++) {
    const real *q = &AT(qpos, m->jnt_qposadr[j]), *dj = &AT(d, m->jnt_dofadr[j]);
    real *o = &AT(out, m->jnt_qposadr[j]);
    int type = m->jnt_type[j];
    if (type == ABUT_JOINT_SLIDE || type == ABUT_JOINT_HINGE) AT(o, 0) = AT(q, 0) + t * AT(dj, 0);
    if (type == ABUT_JOINT_FREE) {
      put_vec(o, axpy(t, get_vec(dj), get_vec(q)));
      q = &AT(q, 3);
      o = &AT(o, 3);
      dj = &AT(dj, 3);
    }
    if (type == ABUT_JOINT_FREE || type == ABUT_JOINT_BALL) {
      quat r = quat_exp(scale(t, get_vec(dj))), old = get_quat(q);
      put_quat(o, quat_normalize(turn_body ? quat_mul(old, r) : quat_mul(r, old)));
    }
  }
}

/* v with qpos (+) dt v = next, MuJoCo's convention. */
KERNEL void difference(const step_params *k, const real *qpos, const real *next, real *v) {
  const abut_model *m = k->model;
  real inv = splat(K(1) / K(k->options.timestep));
  for (int j = 0; j < m->njnt; j++) {
    const real *a = &AT(qpos, m->jnt_qposadr[j]), *b = &AT(next, m->jnt_qposadr[j]);
    real *o = &AT(v, m->jnt_dofadr[j]);
    int type = m->jnt_type[j];
    if (type == ABUT_JOINT_SLIDE || type == ABUT_JOINT_HINGE) AT(o, 0) = inv * (AT(b, 0) - AT(a, 0));
    if (type == ABUT_JOINT_FREE) {
      put_vec(o, scale(inv, sub(get_vec(b), get_vec(a))));
      a = &AT(a, 3);
      b = &AT(b, 3);
      o = &AT(o, 3);
    }
    if (type == ABUT_JOINT_FREE || type == ABUT_JOINT_BALL)
      put_vec(o, scale(inv, quat_log(quat_mul(quat_conj(get_quat(a)), get_quat(b)))));
  }
}
