/* inertia.inl: inertia and gravity of bodies, and from sums over bodies to gradient and Hessian of the dofs
 * (docs/step.md section 2). */

/* Mass, first and second moments of body b in its frame, for this environment's mass. */
typedef struct body_mass {
  real m;
  vec3 mc;
  mat3 s;
} body_mass;
FN body_mass mass_of(const step_params *k, const real *w, int b) {
  const double *p = k->model->body_moment + 10 * b;
  real ratio = AT(W(mass), b) * K(p[0] > 0 ? 1 / p[0] : 0);
  body_mass r;
  r.m = ratio * K(p[0]);
  r.mc = scale(ratio, vec_splat(p + 1));
  r.s = mat_scale(ratio, mat(vec(splat(K(p[4])), splat(K(p[7])), splat(K(p[8]))),
                             vec(splat(K(p[7])), splat(K(p[5])), splat(K(p[9]))),
                             vec(splat(K(p[8])), splat(K(p[9])), splat(K(p[6])))));
  return r;
}

/* Gravity as body b feels it: what compensates it pulls the other way, in proportion to its mass. */
FN vec3 gravity_of(const step_params *k, const real *w, int b) {
  return scale(splat(K(1 - k->model->body_gravcomp[b])), get_vec(W(gravity)));
}

/* Inertia and gravity of one body at pose (r, x): tr[(T - That) M (T - That)^T] / (2 dt^2) - m g.(com -
 * com_t). Gravity counts from the start of the step so that energies stay small and their differences exact.
 */
FN real inertia_value(const step_params *k, const real *w, int b, mat3 r, vec3 x) {
  body_mass q = mass_of(k, w, b);
  mat3 dr = mat_sub(r, get_mat(&AT(W(xmat_hat), 9 * b)));
  vec3 dx = sub(x, get_vec(&AT(W(xpos_hat), 3 * b))), g = gravity_of(k, w, b);
  mat3 ds = mat_mat(dr, q.s);
  real quad = dot(ds.r0, dr.r0) + dot(ds.r1, dr.r1) + dot(ds.r2, dr.r2) + K(2) * dot(dx, mat_vec(dr, q.mc)) +
              q.m * dot(dx, dx);
  vec3 moved = sub(x, get_vec(&AT(W(xpos_t), 3 * b)));
  vec3 turned = mat_vec(mat_sub(r, get_mat(&AT(W(xmat_t), 9 * b))), q.mc);
  return K(0.5 / (k->options.timestep * k->options.timestep)) * quad - q.m * dot(g, moved) - dot(g, turned);
}

/* Adds the same term's F, Phi and 6x6 block at the iterate. */
FN void inertia_accumulate(const step_params *k, real *w, int b) {
  body_mass q = mass_of(k, w, b);
  mat3 r = get_mat(&AT(W(xmat), 9 * b)), dr = mat_sub(r, get_mat(&AT(W(xmat_hat), 9 * b)));
  vec3 dx = sub(get_vec(&AT(W(xpos), 3 * b)), get_vec(&AT(W(xpos_hat), 3 * b))), g = gravity_of(k, w, b);
  vec3 c = mat_vec(r, q.mc); /* m (com - origin), world */
  real i2 = splat(K(1 / (k->options.timestep * k->options.timestep)));
  vec3 f = sub(scale(i2, axpy(q.m, dx, mat_vec(dr, q.mc))), scale(q.m, g));
  mat3 phi = mat_scale(i2, mat_matt(mat_add(mat_mat(dr, q.s), outer(dx, q.mc)), r));
  phi = mat_sub(phi, outer(g, c));
  add_vec(&AT(W(body_force), 3 * b), f);
  add_mat(&AT(W(body_phi), 9 * b), phi);
  real turning = rmax(max_abs(phi.r0), rmax(max_abs(phi.r1), max_abs(phi.r2)));
  AT(W(body_noise), b) = max_abs(f) * max_abs(get_vec(&AT(W(xpos), 3 * b))) + turning;
  mat3 s = mat_matt(mat_mat(r, q.s), r);
  real tr = trace(s), *block = &AT(W(body_k), 21 * b);
  real ww[6] = {tr - s.r0.x, -s.r1.x, tr - s.r1.y, -s.r2.x, -s.r2.y, tr - s.r2.z};
  for (int i = 0; i < 6; i++) AT(block, i) = AT(block, i) + i2 * ww[i];
  add_mat(&AT(block, 6), mat_scale(i2, hat(c)));
  AT(block, 15) = AT(block, 15) + i2 * q.m;
  AT(block, 17) = AT(block, 17) + i2 * q.m;
  AT(block, 20) = AT(block, 20) + i2 * q.m;
}

/* 6x6 block: W (rotation), C (rotation rows, translation columns), V (translation). */
typedef struct block6 {
  sym3 ww;
  mat3 wv;
  sym3 vv;
} block6;
WALKED(block6, 21);
FN block6 get_block(const real *p) {
  block6 k = {get_sym(p), get_mat(&AT(p, 6)), get_sym(&AT(p, 15))};
  return k;
}
FN void put_block(real *p, block6 k) {
  put_sym(p, k.ww);
  put_mat(&AT(p, 6), k.wv);
  put_sym(&AT(p, 15), k.vv);
}
FN block6 block_add(block6 a, block6 b) {
  block6 k = {sym_add(a.ww, b.ww), mat_add(a.wv, b.wv), sym_add(a.vv, b.vv)};
  return k;
}
/* The block about an origin from which the old origin is seen at r: v_old = v + w x r, so
 * W' = W + [r] C^T + C [r]^T + [r] V [r]^T, C' = C + [r] V. */
FN block6 block_shift(block6 k, vec3 r) {
  mat3 hv = hat_mat(r, sym_mat(k.vv)), hc = hat_mat(r, mat_t(k.wv));
  vec3 c0 = cross(r, hv.r0), c1 = cross(r, hv.r1), c2 = cross(r, hv.r2); /* rows of [r] V [r]^T */
  block6 s;
  s.vv = k.vv;
  s.wv = mat_add(k.wv, hv);
  s.ww = sym(k.ww.xx + K(2) * hc.r0.x + c0.x, k.ww.xy + hc.r1.x + hc.r0.y + c1.x,
             k.ww.yy + K(2) * hc.r1.y + c1.y, k.ww.xz + hc.r2.x + hc.r0.z + c2.x,
             k.ww.yz + hc.r2.y + hc.r1.z + c2.y, k.ww.zz + K(2) * hc.r2.z + c2.z);
  return s;
}
FN twist6 block_mul(block6 k, twist6 t) {
  twist6 r = {add(sym_vec(k.ww, t.w), mat_vec(k.wv, t.v)), add(mat_tvec(k.wv, t.w), sym_vec(k.vv, t.v))};
  return r;
}

/* Leaves to roots: F, Phi and blocks of every body become those of its subtree, about its own origin. */
KERNEL void composite(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int b = m->nbody - 1; b > 0; b--) {
    int p = m->body_parent[b];
    if (p == 0 || m->body_weldid[p] == 0) continue;
    vec3 r = sub(get_vec(&AT(W(xpos), 3 * b)), get_vec(&AT(W(xpos), 3 * p)));
    vec3 f = get_vec(&AT(W(body_force), 3 * b));
    add_vec(&AT(W(body_force), 3 * p), f);
    add_mat(&AT(W(body_phi), 9 * p), mat_add(get_mat(&AT(W(body_phi), 9 * b)), outer(f, r)));
    real *block = &AT(W(body_k), 21 * p);
    put_block(block, block_add(get_block(block), block_shift(get_block(&AT(W(body_k), 21 * b)), r)));
  }
}

FN real *hess_at(real *h, int i, int j) { return &AT(h, i * (i + 1) / 2 + j); }

/* Gradient and Hessian row of a dof from the composites: g_k = w.axial(Phi) + v.F,
 * H_jk = S_j . K S_k + w_j . sum (w_k x y + v_k) x f for j at or above k; symmetric inside one ball. */
KERNEL void project_dof(const step_params *k, real *w, int d, int with_hessian) {
  const abut_model *m = k->model;
  int b = m->dof_body[d], jd = m->dof_jnt[d];
  vec3 f = get_vec(&AT(W(body_force), 3 * b)), x = get_vec(&AT(W(xpos), 3 * b));
  mat3 phi = get_mat(&AT(W(body_phi), 9 * b));
  twist6 s = get_twist(&AT(W(twist), 6 * d));
  AT(W(grad), d) = AT(W(grad), d) + dot(s.w, axial(phi)) + dot(s.v, f);
  if (!with_hessian) return;
  block6 block = get_block(&AT(W(body_k), 21 * b));
  twist6 ks = block_mul(block, s);
  vec3 curl = add(sub(mat_tvec(phi, s.w), scale(trace(phi), s.w)), cross(s.v, f));
  for (int e = d; e >= 0; e = m->dof_parent[e]) {
    twist6 t = get_twist(&AT(W(twist), 6 * e));
    t = twist_at(t, sub(x, get_vec(&AT(W(xpos), 3 * m->dof_body[e]))));
    real geometric = dot(t.w, curl);
    int turning = m->jnt_type[jd] == ABUT_JOINT_BALL ||
                  (m->jnt_type[jd] == ABUT_JOINT_FREE && e - m->jnt_dofadr[jd] >= 3);
    if (e != d && m->dof_jnt[e] == jd && turning) {
      vec3 other = add(sub(mat_tvec(phi, t.w), scale(trace(phi), t.w)), cross(t.v, f));
      geometric = K(0.5) * (geometric + dot(s.w, other));
    }
    real *h = hess_at(W(hess), d, e);
    *h = *h + dot(t.w, ks.w) + dot(t.v, ks.v) + geometric;
  }
}
