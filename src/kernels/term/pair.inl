/* pair.inl: what the terms have in common: one pair ("slot") of one lane group, its forces, blocks and
 * elimination rows in world axes about the bodies' origins. Unknowns of a pair are eliminated here, pair by
 * pair: H -= B^T K^-1 B,   g -= B^T K^-1 g_aux,   and after the solve  d_aux = -K^-1 (g_aux + B d). */

enum { TERM_BEGIN, TERM_EVALUATE, TERM_TRY }; /* when a term prepares itself (NAME_prepare) */

typedef struct row12 {
  vec3 w[2], v[2];
} row12; /* a covector on the twists of A and B */

FN point_set side_points(const pair_side *side) {
  point_set p = {side->points, 0, side->pointnum, K(side->radius), K(side->weight)};
  return p;
}
FN plane_state get_plane(const real *p) {
  plane_state s = {get_vec(p), get_vec(&AT(p, 3)), AT(p, 6), AT(p, 7)};
  return s;
}
FN void put_plane(real *p, mask on, plane_state s) {
  put_vec_sel(p, on, s.u);
  put_vec_sel(&AT(p, 3), on, s.c);
  AT(p, 6) = sel(on, s.e, AT(p, 6));
  AT(p, 7) = sel(on, s.sigma, AT(p, 7));
}
/* Friction coefficient of a pair: fixed, or the larger of the two geoms'. */
FN real pair_friction(const step_params *k, const real *w, const pair_info *pair) {
  if (pair->friction >= 0) return splat(K(pair->friction));
  return rmax(AT(W(friction), pair->side[0].geom), AT(W(friction), pair->side[1].geom));
}

FN row12 row_zero(void) {
  row12 r = {{vec_zero(), vec_zero()}, {vec_zero(), vec_zero()}};
  return r;
}
/* Covector (rotation, translation) in local axes about a point seen at r from the body's origin, to world. */
FN void row_side(row12 *row, int j, mat3 f, vec3 r, vec3 rot, vec3 lin) {
  vec3 v = mat_tvec(f, lin);
  row->v[j] = v;
  row->w[j] = add(mat_tvec(f, rot), cross(r, v));
}
FN void put_row(real *p, row12 r) {
  put_vec(p, r.w[0]);
  put_vec(&AT(p, 3), r.v[0]);
  put_vec(&AT(p, 6), r.w[1]);
  put_vec(&AT(p, 9), r.v[1]);
}

/* 12x12 block of a pair: own blocks of A and B, and the cross block with A's coordinates as rows. */
typedef struct pair_block {
  block6 own[2];
  mat3 ww, wv, vw, vv;
} pair_block;

FN void block_rank1(block6 *b, real c, vec3 w, vec3 v) {
  vec3 cw = scale(c, w);
  b->ww = sym_outer(b->ww, cw, w);
  b->wv = mat_add(b->wv, outer(cw, v));
  b->vv = sym_outer(b->vv, scale(c, v), v);
}
FN void pair_rank1(pair_block *b, int both, real c, row12 r) {
  block_rank1(&b->own[0], c, r.w[0], r.v[0]);
  if (!both) return;
  block_rank1(&b->own[1], c, r.w[1], r.v[1]);
  vec3 cw = scale(c, r.w[0]), cv = scale(c, r.v[0]);
  b->ww = mat_add(b->ww, outer(cw, r.w[1]));
  b->wv = mat_add(b->wv, outer(cw, r.v[1]));
  b->vw = mat_add(b->vw, outer(cv, r.w[1]));
  b->vv = mat_add(b->vv, outer(cv, r.v[1]));
}

/* rows := L^-1 rows */
FN void rows_solve_lower(int n, const real *l, int sides, row12 *rows) {
  for (int i = 1; i < n; i++) {
    for (int m = 0; m < i; m++) {
      real c = -l[i * (i + 1) / 2 + m];
      for (int j = 0; j < sides; j++) {
        rows[i].w[j] = axpy(c, rows[m].w[j], rows[i].w[j]);
        rows[i].v[j] = axpy(c, rows[m].v[j], rows[i].v[j]);
      }
    }
    IN_MEMORY(rows);
  }
}

/* Eliminates n unknowns: factors K, turns g and B into L^-1 g and L^-1 B, stores them for the back
 * substitution, subtracts their products from block and pull. rows: L (nl entries), g (ng), B (12 each) as
 * implicit.def lays them out. */
FN void eliminate(int n, int nl, int ng, const real *kk, const real *g, row12 *b, int both, real *rows,
                  pair_block *block, row12 *pull) {
  real l[10], y[4];
  int sides = both ? 2 : 1;
  plane_factor(n, kk, l);
  IN_MEMORY(l);
  for (int i = 0; i < n; i++) y[i] = g[i];
  plane_solve_lower(n, l, y);
  IN_MEMORY(y);
  rows_solve_lower(n, l, sides, b);
  for (int i = 0; i < n; i++) {
    IN_MEMORY(b);
    real minus = -l[i * (i + 1) / 2 + i];
    pair_rank1(block, both, minus, b[i]);
    for (int j = 0; j < sides; j++) {
      pull->w[j] = axpy(minus * y[i], b[i].w[j], pull->w[j]);
      pull->v[j] = axpy(minus * y[i], b[i].v[j], pull->v[j]);
    }
    AT(rows, nl + i) = y[i];
    put_row(&AT(rows, nl + ng + 12 * i), b[i]);
  }
  for (int i = 0; i < n * (n + 1) / 2; i++) AT(rows, i) = l[i];
}

/* plane_decrement of stored rows */
FN real rows_decrement(int n, int nl, const real *rows) {
  real l[10], y[4];
  for (int i = 0; i < n * (n + 1) / 2; i++) l[i] = AT(rows, i);
  for (int i = 0; i < n; i++) y[i] = AT(rows, nl + i);
  return plane_decrement(n, l, y);
}

/* d := -K^-1 (g + B d_twist) from stored rows; g_on 0 leaves g out (reverse pass). */
FN void back_substitute(int n, int nl, int ng, const real *rows, const twist6 t[2], int g_on, real *d) {
  real l[10];
  for (int i = 0; i < n * (n + 1) / 2; i++) l[i] = AT(rows, i);
  for (int i = 0; i < n; i++) {
    const real *r = &AT(rows, nl + ng + 12 * i);
    d[i] = -(dot(get_vec(r), t[0].w) + dot(get_vec(&AT(r, 3)), t[0].v) + dot(get_vec(&AT(r, 6)), t[1].w) +
             dot(get_vec(&AT(r, 9)), t[1].v));
    if (g_on) d[i] = d[i] - AT(rows, nl + i);
  }
  plane_solve_upper(n, l, d);
}

/* Normal part of one side in world axes about its body's origin, seen from which c is at r. The block is that
 * of the points' weighted mean, one row tau = (torque arm, u), plus their spread about it, which only turns.
 */
FN void normal_world(const plane_terms *t, int j, mat3 f, vec3 r, vec3 *force, mat3 *phi, block6 *block) {
  vec3 e1 = f.r0, e2 = f.r1, u = f.r2;
  *force = scale(t->f0[j], u);
  *phi = outer(u, axpy(t->f0[j], r, mat_tvec(f, t->f1[j])));
  real inv = inverse(rmax(t->h0[j], splat(ELEM_TINY))), m1 = t->h1[j].x * inv, m2 = t->h1[j].y * inv;
  real s11 = t->h11[j] - m1 * t->h1[j].x, s12 = t->h12[j] - m1 * t->h1[j].y,
       s22 = t->h22[j] - m2 * t->h1[j].y;
  vec3 a1 = axpy(s22, e1, scale(-s12, e2)), a2 = axpy(s11, e2, scale(-s12, e1));
  vec3 arm = add(axpy(m2, e1, scale(-m1, e2)), cross(r, u));
  block->ww = sym_outer(sym_outer(sym_zero(), a1, e1), a2, e2);
  block->wv = mat_zero();
  block->vv = sym_zero();
  block_rank1(block, t->h0[j], arm, u);
}

/* What the parts of a pair need: its shapes, and its bodies at a pose. */
typedef struct contact_frame {
  const pair_info *pair;
  point_set set[2];
  mat3 r[2];
  vec3 x[2];
  barrier br;
  real mu;
} contact_frame;

/* kind: BARRIER_*, a constant where a body is compiled once per barrier. */
FN contact_frame contact_at(const step_params *k, real *w, int pair_id, const real *xpos, const real *xmat,
                            int kind) {
  contact_frame c;
  c.pair = &k->pairs[pair_id];
  c.br.kind = kind;
  c.br.reach = K(k->options.implicit.reach);
  c.br.inv_length = K(1 / k->options.implicit.length);
  c.mu = AT(W(stiffness), 0);
  for (int j = 0; j < 2; j++) {
    c.set[j] = side_points(&c.pair->side[j]);
    c.r[j] = get_mat(&AT(xmat, 9 * c.pair->side[j].body));
    c.x[j] = get_vec(&AT(xpos, 3 * c.pair->side[j].body));
  }
  return c;
}
FN int step_barrier(const step_params *k) {
  return k->options.implicit.contact == ABUT_CONTACT_LOCAL ? BARRIER_LOCAL : BARRIER_INVERSE;
}

/* Accumulates what one part (normal or friction) of a pair gives to both bodies. */
typedef struct contact_sum {
  real value, gap, low, residual;
  vec3 force[2];
  mat3 phi[2];
  pair_block block;
  row12 pull;
} contact_sum;

FN contact_sum contact_zero(void) {
  block6 none = {sym_zero(), mat_zero(), sym_zero()};
  contact_sum s = {zero(),
                   zero(),
                   zero(),
                   zero(),
                   {vec_zero(), vec_zero()},
                   {mat_zero(), mat_zero()},
                   {{none, none}, mat_zero(), mat_zero(), mat_zero(), mat_zero()},
                   row_zero()};
  return s;
}

FN void put_sel(real *p, int n, mask on) {
  for (int i = 0; i < n; i++) AT(p, i) = sel(on, AT(p, i), zero());
}

/* What rounding of a pair's poses is relative to (m): they are as large as this. */
FN real contact_size(const step_params *k, const contact_frame *c, vec3 at) {
  elem radii = K(k->body_radius[c->pair->side[0].body] + k->body_radius[c->pair->side[1].body]);
  return radii + norm(sub(c->x[0], at));
}

/* Stores a pair's evaluation in its slot: zeros in lanes that are not `on`, which may be skipped where all
 * are. sides 1: what the second body would get, which is fixed, is not there. at: a point of the contact. */
FN void contact_put(const step_params *k, real *slots, int s, const contact_frame *c, mask on, int all_on,
                    int sides, vec3 at, const contact_sum *sum) {
  for (int j = 0; j < sides; j++) {
    put_vec(&AT(SLOT_AT(s, force), 3 * j), sum->force[j]);
    put_mat(&AT(SLOT_AT(s, phi), 9 * j), sum->phi[j]);
    put_block(&AT(SLOT_AT(s, block), 21 * j), sum->block.own[j]);
  }
  if (sides == 2) {
    put_mat(&AT(SLOT_AT(s, block), 42), sum->block.ww);
    put_mat(&AT(SLOT_AT(s, block), 51), sum->block.wv);
    put_mat(&AT(SLOT_AT(s, block), 60), sum->block.vw);
    put_mat(&AT(SLOT_AT(s, block), 69), sum->block.vv);
  }
  put_row(SLOT_AT(s, pull), sum->pull);
  if (!all_on) {
    put_sel(SLOT_AT(s, force), 3 * sides, on);
    put_sel(SLOT_AT(s, phi), 9 * sides, on);
    put_sel(SLOT_AT(s, block), sides == 2 ? 78 : 21, on);
    put_sel(SLOT_AT(s, pull), 6 * sides, on);
  }
  real size = contact_size(k, c, at);
  AT(SLOT_AT(s, noise), 0) = sel(on, size * max_abs(sum->force[0]), zero());
  AT(SLOT_AT(s, residual), 0) = sum->residual;
  AT(SLOT_AT(s, value), 0) = sel(on, sum->value, zero());
}

/* Extreme point of a side against u: where its margin is smallest. */
FN vec3 nearest_point(const contact_frame *c, int j, vec3 u) {
  elem sign = j ? K(-1) : K(1);
  real low = splat(ELEM_HUGE);
  vec3 du = mat_tvec(c->r[j], u), best = vec_zero();
  for (int i = 0; i < c->set[j].num; i++) {
    vec3 p = point_at(&c->set[j], i);
    real h = sign * dot(du, p);
    mask m = lt(h, low);
    low = sel(m, h, low);
    best = vec_sel(m, p, best);
  }
  return axpy(-sign * splat(c->set[j].radius), u, add(mat_vec(c->r[j], best), c->x[j]));
}

FN twist6 body_step(const step_params *k, const real *w, const real *d, int body) {
  twist6 t = {vec_zero(), vec_zero()};
  vec3 x = get_vec(&AT(W(xpos), 3 * body));
  for (int i = k->path_adr[body]; i < k->path_adr[body + 1]; i++) {
    int e = k->path[i];
    twist6 s =
        twist_at(get_twist(&AT(W(twist), 6 * e)), sub(x, get_vec(&AT(W(xpos), 3 * k->model->dof_body[e]))));
    real de = AT(d, e);
    t.w = axpy(de, s.w, t.w);
    t.v = axpy(de, s.v, t.v);
  }
  return t;
}

/* Energy's share psi = lambda . dE of a pair's forces, off the cotangent of the stiffness, with which all of
 * them grow. l: twists of its bodies under lambda, the force cotangent included. */
FN void stiffness_vjp(const step_params *k, real *w, real *slots, int s, mask on, int sides,
                      const twist6 l[2]) {
  real psi = zero();
  for (int j = 0; j < sides; j++)
    psi = psi + dot(get_vec(&AT(SLOT_AT(s, force), 3 * j)), l[j].v) +
          dot(axial(get_mat(&AT(SLOT_AT(s, phi), 9 * j))), l[j].w);
  AT(W(bar_stiffness), 0) = AT(W(bar_stiffness), 0) - sel(on, psi / AT(W(stiffness), 0), zero());
}
/* Twists of a slot's bodies under lambda. A cotangent of the contact force acts like an extra translation of
 * the first. */
FN void lambda_twists(const step_params *k, real *w, real *slots, int s, const pair_info *pair, twist6 l[2]) {
  for (int j = 0; j < 2; j++) l[j] = get_twist(&AT(W(body_step), 6 * pair->side[j].body));
  l[0].v = add(l[0].v, get_vec(SLOT_AT(s, bar_contact)));
}

/* Separation of a slot for the start of a rollout, of lanes `on`; others may share the slot in the middle of
 * a step: direction u, supports a, b of both sides, gap along u. */
FN void contact_put_gap(const step_params *k, real *slots, int s, mask on, vec3 u, vec3 a, vec3 b) {
  put_vec_sel(SLOT_AT(s, push_u), on, u);
  put_vec_sel(SLOT_AT(s, push_support), on, a);
  put_vec_sel(&AT(SLOT_AT(s, push_support), 3), on, b);
  AT(SLOT_AT(s, gap), 0) = sel(on, dot(u, sub(a, b)), AT(SLOT_AT(s, gap), 0));
}
