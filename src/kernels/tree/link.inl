/* link.inl: what acts between two points, or two directions, that are fixed to bodies: its forces, blocks and
 * cotangents. Body 0 and all that is fixed to it feel nothing. */

/* An end: a body, the point from the body's origin (world axes), and 1, or a direction, and 0: what does not
 * move with the body, only turns. */
typedef struct link_end {
  int body, moves;
  vec3 r;
} link_end;

FN int body_moves(const abut_model *m, int b) { return m->body_weldid[b] != 0; }

/* Local point or direction p of body b at the given poses. */
FN link_end link_point(const real *xmat, int body, int moves, const double *p) {
  link_end e = {body, moves, mat_vec(get_mat(&AT(xmat, 9 * body)), vec_splat(p))};
  return e;
}
FN vec3 link_place(const real *xpos, link_end e) {
  return e.moves ? add(get_vec(&AT(xpos, 3 * e.body)), e.r) : e.r;
}
/* How a body's twist moves the end. */
FN vec3 link_motion(link_end e, twist6 t) {
  vec3 turned = cross(t.w, e.r);
  return e.moves ? add(t.v, turned) : turned;
}

/* Pose cotangents (force-like, Phi-like, per body) of one end whose place has cotangent g. */
FN void link_pull(const step_params *k, real *force, real *phi, link_end e, vec3 g) {
  if (!body_moves(k->model, e.body)) return;
  if (e.moves) add_vec(&AT(force, 3 * e.body), g);
  add_mat(&AT(phi, 9 * e.body), outer(g, e.r));
}

/* A^T q A of one end, A = [-[r]x, 1 or 0]. */
FN void link_own(const step_params *k, real *w, link_end e, sym3 q) {
  if (!body_moves(k->model, e.body)) return;
  mat3 rq = hat_mat(e.r, sym_mat(q)); /* [r] q */
  vec3 c0 = cross(e.r, rq.r0), c1 = cross(e.r, rq.r1), c2 = cross(e.r, rq.r2);
  block6 own = {sym(c0.x, c1.x, c1.y, c2.x, c2.y, c2.z), mat_zero(), sym_zero()};
  if (e.moves) own.wv = rq, own.vv = q;
  real *block = &AT(W(body_k), 21 * e.body);
  put_block(block, block_add(get_block(block), own));
}

/* -J_a^T q J_b and its transpose into H. */
FN void link_cross(const step_params *k, real *w, link_end a, link_end b, sym3 q) {
  const abut_model *m = k->model;
  if (!body_moves(m, a.body) || !body_moves(m, b.body)) return;
  vec3 xa = get_vec(&AT(W(xpos), 3 * a.body)), xb = get_vec(&AT(W(xpos), 3 * b.body));
  for (int i = k->path_adr[b.body]; i < k->path_adr[b.body + 1]; i++) {
    int e = k->path[i];
    twist6 t = get_twist(&AT(W(twist), 6 * e));
    vec3 pull = sym_vec(q, link_motion(b, twist_at(t, sub(xb, get_vec(&AT(W(xpos), 3 * m->dof_body[e]))))));
    for (int j = k->path_adr[a.body]; j < k->path_adr[a.body + 1]; j++) {
      int d = k->path[j];
      twist6 s = get_twist(&AT(W(twist), 6 * d));
      s = twist_at(s, sub(xa, get_vec(&AT(W(xpos), 3 * m->dof_body[d]))));
      real v = dot(link_motion(a, s), pull), *h = d > e ? hess_at(W(hess), d, e) : hess_at(W(hess), e, d);
      *h = *h - v * K(d == e ? 2 : 1);
    }
  }
}

/* A function of x_b - x_a, with gradient f and Hessian q: adds it to the bodies' sums and to H. */
FN void link_accumulate(const step_params *k, real *w, link_end a, link_end b, vec3 f, sym3 q) {
  link_pull(k, W(body_force), W(body_phi), a, scale(splat(-1), f));
  link_pull(k, W(body_force), W(body_phi), b, f);
  link_own(k, w, a, q);
  link_own(k, w, b, q);
  link_cross(k, w, a, b, q);
  real lever = rmax(max_abs(link_place(W(xpos), a)), max_abs(link_place(W(xpos), b)));
  AT(W(noise), 0) = AT(W(noise), 0) + max_abs(f) * lever;
}
