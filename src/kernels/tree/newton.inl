/* newton.inl: the reduced system of one lane group: assembly from bodies and pairs, factorisation, solve.
 * H lies in one lower triangle; row i is non-zero only from envelope[i] on (tree and contacts decide, one
 * envelope for the whole group: what lies outside is exactly zero in every lane, so skipping it changes no
 * bit). */

FN void add_twist(real *p, twist6 t) {
  add_vec(p, t.w);
  add_vec(&AT(p, 3), t.v);
}

/* Inertia term of a dof alone, m/dt^2: the scale of its diagonal entry. */
FN double dof_stiffness(const step_params *k, int d) {
  const abut_model *m = k->model;
  int j = m->dof_jnt[d], linear = m->jnt_type[j] == ABUT_JOINT_FREE && d - m->jnt_dofadr[j] < 3;
  return (linear ? m->body_mass[m->dof_body[d]] : m->jnt_inertia[j]) /
         (k->options.timestep * k->options.timestep);
}

/* Adds one slot's forces and blocks to those of its bodies that this thread owns. */
FN void gather_slot(const step_params *k, real *w, const real *slots, int s, int pair_id) {
  const pair_info *pair = &k->pairs[pair_id];
  for (int j = 0; j < 2; j++) {
    int b = pair->side[j].body;
    if (!pair->side[j].moves || !OWNED(b)) continue;
    add_vec(&AT(W(body_force), 3 * b), get_vec(&AT(SLOT_AT(s, force), 3 * j)));
    add_mat(&AT(W(body_phi), 9 * b), get_mat(&AT(SLOT_AT(s, phi), 9 * j)));
    add_twist(&AT(W(body_pull), 6 * b), get_twist(&AT(SLOT_AT(s, pull), 6 * j)));
    for (int i = 0; i < 21; i++)
      AT(W(body_k), 21 * b + i) = AT(W(body_k), 21 * b + i) + AT(SLOT_AT(s, block), 21 * j + i);
  }
}

/* H += J_A^T K_AB J_B + transpose, both bodies moving: the rows that this thread owns. */
FN void cross_slot(const step_params *k, real *w, const real *slots, int s, int pair_id) {
  const pair_info *pair = &k->pairs[pair_id];
  const abut_model *m = k->model;
  int a = pair->side[0].body, b = pair->side[1].body;
  if (!pair->side[0].moves || !pair->side[1].moves) return;
  const real *p = SLOT_AT(s, block);
  mat3 ww = get_mat(&AT(p, 42)), wv = get_mat(&AT(p, 51)), vw = get_mat(&AT(p, 60)), vv = get_mat(&AT(p, 69));
  vec3 xa = get_vec(&AT(W(xpos), 3 * a)), xb = get_vec(&AT(W(xpos), 3 * b));
  for (int i = k->path_adr[b]; i < k->path_adr[b + 1]; i++) {
    int e = k->path[i], last = k->path[k->path_adr[a + 1] - 1]; /* paths ascend */
    if (e > last && !OWNED(e)) continue;
    twist6 t = get_twist(&AT(W(twist), 6 * e));
    t = twist_at(t, sub(xb, get_vec(&AT(W(xpos), 3 * m->dof_body[e]))));
    vec3 rot = add(mat_vec(ww, t.w), mat_vec(wv, t.v)), lin = add(mat_vec(vw, t.w), mat_vec(vv, t.v));
    for (int j = k->path_adr[a]; j < k->path_adr[a + 1]; j++) {
      int d = k->path[j];
      if (!OWNED(d > e ? d : e)) continue;
      twist6 q = get_twist(&AT(W(twist), 6 * d));
      q = twist_at(q, sub(xa, get_vec(&AT(W(xpos), 3 * m->dof_body[d]))));
      real v = dot(q.w, rot) + dot(q.v, lin);
      real *h = d > e ? hess_at(W(hess), d, e) : hess_at(W(hess), e, d);
      *h = *h + v * K(d == e ? 2 : 1);
    }
  }
}

/* Leaves to roots for the pull covectors, then rhs = -(grad + pull). */
FN void reduce_rhs(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int b = m->nbody - 1; b > 0; b--) {
    int p = m->body_parent[b];
    if (p == 0 || m->body_weldid[p] == 0) continue;
    vec3 r = sub(get_vec(&AT(W(xpos), 3 * b)), get_vec(&AT(W(xpos), 3 * p)));
    twist6 t = get_twist(&AT(W(body_pull), 6 * b));
    t.w = add(t.w, cross(r, t.v));
    add_twist(&AT(W(body_pull), 6 * p), t);
  }
  for (int d = 0; d < m->nv; d++) {
    twist6 s = get_twist(&AT(W(twist), 6 * d)), f = get_twist(&AT(W(body_pull), 6 * m->dof_body[d]));
    AT(W(rhs), d) = -(AT(W(grad), d) + dot(s.w, f.w) + dot(s.v, f.v));
  }
}

/* H := L D L^T in place, D kept as its inverse on the diagonal. pivot receives the smallest pivot,
 * pivot_relative the smallest over its dof's inertia term; in lanes where that is not positive the factor has
 * no meaning for a descent. Column by column: below the diagonal the entries hold L D until their row's own
 * turn comes. */
KERNEL void factor(const step_params *k, real *w, const int32_t *envelope) {
  real *h = W(hess), smallest = splat(ELEM_HUGE), relative = splat(ELEM_HUGE);
  for (int j = 0; j < k->model->nv; j++) {
    int first = envelope[j];
    real *rj = hess_at(h, j, 0);
    if (LEADER) {
      real d = AT(rj, j);
      for (int m = first; m < j; m++) {
        real g = AT(rj, m), l = g * AT(hess_at(h, m, 0), m);
        d = d - g * l;
        AT(rj, m) = l;
      }
      smallest = rmin(smallest, d);
      relative = rmin(relative, d * K(1 / dof_stiffness(k, j)));
      AT(rj, j) = splat(1) / d;
    }
    TEAM_SYNC();
    for (int i = j + 1 + TEAM_RANK; i < k->model->nv; i += ABUT_TEAM) {
      if (envelope[i] > j) continue;
      real *ri = hess_at(h, i, 0), v = AT(ri, j);
      for (int m = envelope[i] > first ? envelope[i] : first; m < j; m++) v = v - AT(ri, m) * AT(rj, m);
      AT(ri, j) = v;
    }
    TEAM_SYNC();
  }
  if (LEADER) AT(W(pivot), 0) = smallest;
  if (LEADER) AT(W(pivot_relative), 0) = relative;
  TEAM_SYNC();
}

/* Factors H. Returns the lanes (of `live`) in which it is not clearly positive definite and contact is not
 * yet made convex: these are to be evaluated again, their factor has no meaning. Where that was not enough H
 * is shifted by multiples of the joints' inertia terms: like a shorter time step, for this iteration's
 * direction only. */
KERNEL mask factor_positive(const step_params *k, real *w, const int32_t *envelope, mask live) {
  int n = k->model->nv;
  real shift = zero();
  mask open = live, raw = mask_none();
  TEAM_FOR(i, n) {
    for (int j = envelope[i]; j <= i; j++) *hess_at(W(hess_kept), i, j) = *hess_at(W(hess), i, j);
  }
  for (int round = 0; round < 12 && any(open); round++) {
    if (round > 0) TEAM_FOR(i, n) {
        for (int j = envelope[i]; j <= i; j++) *hess_at(W(hess), i, j) = *hess_at(W(hess_kept), i, j);
        *hess_at(W(hess), i, i) = *hess_at(W(hess), i, i) + shift * K(dof_stiffness(k, i));
      }
    TEAM_SYNC();
    factor(k, w, envelope);
    open = mask_and(open, mask_not(gt(AT(W(pivot_relative), 0), splat(K(1e-3)))));
    raw = mask_or(raw, mask_and(open, le(AT(W(convex), 0), zero())));
    open = mask_and(open, mask_not(raw));
    shift = sel(open, rmax(splat(1), K(4) * shift), shift);
    TEAM_SYNC();
  }
  return raw;
}

/* x := H^-1 x with the factor in place. */
KERNEL void solve(const step_params *k, real *w, const int32_t *envelope, real *x) {
  real *h = W(hess);
  int n = k->model->nv;
  for (int j = 0; j < n; j++) {
    for (int i = j + 1 + TEAM_RANK; i < n; i += ABUT_TEAM)
      if (envelope[i] <= j) AT(x, i) = AT(x, i) - AT(hess_at(h, i, 0), j) * AT(x, j);
    TEAM_SYNC();
  }
  TEAM_FOR(i, n) AT(x, i) = AT(x, i) * AT(hess_at(h, i, 0), i);
  TEAM_SYNC();
  for (int i = n - 1; i >= 0; i--) {
    real *ri = hess_at(h, i, 0), v = AT(x, i);
    for (int j = envelope[i] + TEAM_RANK; j < i; j += ABUT_TEAM) AT(x, j) = AT(x, j) - AT(ri, j) * v;
    TEAM_SYNC();
  }
}
