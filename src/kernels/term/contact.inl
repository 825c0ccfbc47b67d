/* contact.inl: one pair ("slot") of one lane group: its energy, and its forces, blocks and elimination rows
 * in world axes about the bodies' origins. Plane and friction motion are eliminated here, pair by pair: H -=
 * B^T K^-1 B,   g -= B^T K^-1 g_aux,   and after the solve  d_aux = -K^-1 (g_aux + B d). */

typedef struct row12 {
  vec3 w[2], v[2];
} row12; /* a covector on the twists of A and B */

FN point_set side_points(const pair_side *side) {
  point_set p = {side->points, 0, side->pointnum, K(side->radius), K(side->weight)};
  return p;
}
FN barrier step_barrier(const step_params *k, int kind) {
  barrier b = {kind, K(k->reach), K(1 / k->length)};
  return b;
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
FN plane_state halfspace_plane(const pair_info *pair, vec3 c) {
  plane_state p;
  p.u = vec_splat(pair->normal);
  p.c = c;
  p.e = dot(p.u, c) - K(pair->offset);
  p.sigma = zero();
  return p;
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
 * fields.def lays them out. */
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

typedef struct contact_frame { /* what both parts of a pair need */
  const pair_info *pair;
  point_set set[2];
  mat3 r[2];
  vec3 x[2];
  barrier br;
  real mu;
} contact_frame;

/* kind: k->barrier; a constant where a body is compiled once per barrier. */
FN contact_frame contact_at(const step_params *k, real *w, int pair_id, const real *xpos, const real *xmat,
                            int kind) {
  contact_frame c;
  c.pair = &k->pairs[pair_id];
  c.br = step_barrier(k, kind);
  c.mu = AT(W(stiffness), 0);
  for (int j = 0; j < 2; j++) {
    c.set[j] = side_points(&c.pair->side[j]);
    c.r[j] = get_mat(&AT(xmat, 9 * c.pair->side[j].body));
    c.x[j] = get_vec(&AT(xpos, 3 * c.pair->side[j].body));
  }
  return c;
}

/* Both sides' moments at a plane. */
FN void contact_moments(const contact_frame *c, plane_state p, plane_moments m[2]) {
  real s = plane_length(&c->br, p.sigma);
  mat3 f = plane_frame(p.u), v;
  vec3 o;
  for (int j = 0; j < 2; j++) {
    plane_view(f, p.c, c->r[j], c->x[j], &v, &o);
    m[j] = plane_side(&c->br, &c->set[j], j ? K(-1) : K(1), v, o, p.e, s);
  }
}

/* One-sided terms against a half-space: no unknowns, side B empty. */
FN void halfspace_terms(const contact_frame *c, plane_state p, plane_terms *t) {
  mat3 f = plane_frame(p.u), v;
  vec3 o;
  plane_view(f, p.c, c->r[0], c->x[0], &v, &o);
  plane_moments m = plane_side(&c->br, &c->set[0], 1, v, o, p.e, splat(1));
  t->value = c->mu * m.value;
  t->gap = t->low = m.smallest;
  t->f0[0] = c->mu * m.f0;
  t->f1[0] = scale(c->mu, m.f1);
  t->h0[0] = c->mu * m.h0;
  t->h1[0] = scale(c->mu, m.h1);
  t->h11[0] = c->mu * m.h11;
  t->h12[0] = c->mu * m.h12;
  t->h22[0] = c->mu * m.h22;
}

/* Accumulates what one part (normal or friction) of a pair gives to both bodies. */
typedef struct contact_sum {
  real value, gap, low, residual;
  vec3 force[2];
  mat3 phi[2];
  pair_block block;
  row12 pull;
} contact_sum;

/* A force F that turns with its plane makes H indefinite: with B_F the part of B that is due to it,
 * elimination takes B_F^T K^-1 B_F, where two points meet about F/gap, from the bodies' tangential block.
 * Gives `convex` times that back: with 2 the curvature becomes about its absolute value, and a step about a
 * gap long. */
FN void contact_convex(const contact_frame *c, const plane_terms *t, plane_state p, mat3 f, const vec3 arm[2],
                       const real *plane_rows, real convex, contact_sum *sum) {
  int both = c->pair->side[1].moves, np = plane_unknowns(&c->br);
  real inv = inverse(plane_length(&c->br, p.sigma)), l[10];
  row12 r[4] = {row_zero(), row_zero(), row_zero(), row_zero()};
  for (int j = 0; j < (both ? 2 : 1); j++) {
    vec3 f1 = scale(inv, t->f1[j]);
    real f0 = inv * t->f0[j];
    row_side(&r[0], j, f, arm[j], vec(zero(), f1.z, -f1.y), vec(f0, zero(), zero()));
    row_side(&r[1], j, f, arm[j], vec(-f1.z, zero(), f1.x), vec(zero(), f0, zero()));
  }
  for (int i = 0; i < np * (np + 1) / 2; i++) l[i] = AT(plane_rows, i);
  rows_solve_lower(np, l, both ? 2 : 1, r);
  for (int i = 0; i < np; i++) {
    pair_rank1(&sum->block, both, convex * l[i * (i + 1) / 2 + i], r[i]);
    IN_MEMORY(sum);
  }
}

FN void contact_normal(const contact_frame *c, plane_state p, int exact, real convex, real *slot_rows,
                       contact_sum *sum) {
  plane_terms t;
  int half = c->pair->halfspace, both = c->pair->side[1].moves;
  if (half) {
    halfspace_terms(c, p, &t);
  } else {
    plane_moments m[2];
    contact_moments(c, p, m);
    IN_MEMORY(m);
    plane_join(&c->br, &m[0], &m[1], p.e, p.sigma, c->mu, exact, &t);
  }
  IN_MEMORY(&t);
  mat3 f = plane_frame(p.u);
  sum->value = t.value;
  sum->gap = t.gap;
  sum->low = t.low;
  vec3 arm[2];
  for (int j = 0; j < 2; j++) {
    arm[j] = sub(p.c, c->x[j]);
    if (j && !both) break;
    normal_world(&t, j, f, arm[j], &sum->force[j], &sum->phi[j], &sum->block.own[j]);
  }
  if (half) return;
  int np = plane_unknowns(&c->br);
  row12 rows[4];
  for (int i = 0; i < np; i++) rows[i] = row_zero();
  for (int i = 0; i < np; i++)
    for (int j = 0; j < (both ? 2 : 1); j++)
      row_side(&rows[i], j, f, arm[j], vec(t.b[j][i][0], t.b[j][i][1], t.b[j][i][2]),
               vec(t.b[j][i][3], t.b[j][i][4], t.b[j][i][5]));
  if (c->br.kind == BARRIER_INVERSE) {
    row12 g = row_zero();
    for (int j = 0; j < (both ? 2 : 1); j++)
      row_side(&g, j, f, arm[j], vec(t.f1[j].y, -t.f1[j].x, zero()), vec(zero(), zero(), t.f0[j]));
    pair_rank1(&sum->block, both, sel(gt(convex, zero()), zero(), t.curl), g);
  }
  elem inv_l = c->br.inv_length;
  sum->residual = rmax(rmax(rabs(t.g[0]), rabs(t.g[1])) * inv_l, rabs(t.g[2]));
  if (np == 4) sum->residual = rmax(sum->residual, rabs(t.g[3]) * inv_l);
  eliminate(np, 10, 4, t.k, t.g, rows, both, slot_rows, &sum->block, &sum->pull);
  IN_MEMORY(sum);
  if (any(gt(convex, zero()))) contact_convex(c, &t, p, f, arm, slot_rows, convex, sum);
}

/* What rounding of a pair's poses is relative to (m): they are as large as this. */
FN real contact_size(const step_params *k, const contact_frame *c, vec3 at) {
  elem radii = K(k->body_radius[c->pair->side[0].body] + k->body_radius[c->pair->side[1].body]);
  return radii + norm(sub(c->x[0], at));
}

FN void contact_friction(const step_params *k, const contact_frame *c, real *w, real *slots, int s, mask on,
                         int exact, contact_sum *sum) {
  const real *plane_t = SLOT_AT(s, plane_t), *motion = SLOT_AT(s, motion);
  real *points = SLOT_AT(s, point_t);
  vec3 u = get_vec(plane_t), c_t = get_vec(&AT(plane_t, 3));
  real z[3] = {AT(motion, 0), AT(motion, 1), AT(motion, 2)}, weight = AT(plane_t, 6);
  int half = c->pair->halfspace, both = c->pair->side[1].moves;
  mat3 f = plane_frame(u);
  friction_terms t = friction_zero();
  row12 rows[3] = {row_zero(), row_zero(), row_zero()};
  mat3 a[2];
  vec3 b[2];
  for (int j = 0; j < (half ? 1 : 2); j++) {
    int body = c->pair->side[j].body;
    friction_view(f, c_t, get_mat(&AT(W(xmat_t), 9 * body)), get_vec(&AT(W(xpos_t), 3 * body)), c->r[j],
                  c->x[j], &a[j], &b[j]);
    friction_side_slips(k, points + (j ? POINT * c->set[0].num * LANE_STRIDE : 0), c->set[j].num, a[j], b[j],
                        z, on, &t);
    IN_MEMORY(a);
    IN_MEMORY(b);
    IN_MEMORY(&t);
  }
  real size = contact_size(k, c, c_t);
  AT(SLOT_AT(s, noise), 1) = sel(on, size * friction_rub(k, K(k->slip), weight, t.value, size), zero());
  if (!half) friction_spin_terms(k, weight, z[2], SLOT_AT(s, spin_dual), on, exact, &t);
  real hold = half ? zero() : friction_hold(k, weight, &t);
  for (int j = 0; j < (half ? 1 : 2); j++) {
    vec3 arm = sub(c_t, c->x[j]), force;
    mat3 phi;
    block6 block;
    friction_side_terms(k, points + (j ? POINT * c->set[0].num * LANE_STRIDE : 0), c->set[j].num, a[j], b[j],
                        z, hold, exact, &t, &t.side[j]);
    IN_MEMORY(&t);
    if (j && !both) break;
    friction_world(&t.side[j], f, arm, &force, &phi, &block);
    IN_MEMORY(&block);
    sum->force[j] = add(sum->force[j], force);
    sum->phi[j] = mat_add(sum->phi[j], phi);
    sum->block.own[j] = block_add(sum->block.own[j], block);
    IN_MEMORY(sum);
    for (int i = 0; i < 3 && !half; i++) {
      const real *q = t.side[j].bz[i];
      row_side(&rows[i], j, f, arm, vec(q[0], q[1], q[2]), vec(q[3], q[4], zero()));
    }
  }
  if (!half) {
    elem idt = K(1 / k->dt), inv_l = c->br.inv_length;
    sum->residual = rmax(sum->residual, rmax(rmax(rabs(t.g[0]), rabs(t.g[1])), rabs(t.g[2]) * inv_l) * idt);
    eliminate(3, 6, 3, t.k, t.g, rows, both, SLOT_AT(s, motion_rows), &sum->block, &sum->pull);
  }
  sum->value = sum->value + t.value;
}

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

/* Evaluates one slot at the iterate: writes force, phi, block, pull, rows, gap, energy, value, residual and
 * noise. exact: friction's true Hessian (reverse pass). Lanes outside `on` write
 * zeros. */
FN void contact_evaluate_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                            int all_on, int exact) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), kind);
  contact_sum sum = contact_zero();
  struct {
    int all_on, exact;
    mask on;
  } later = {all_on, exact, on}; /* not in registers until then */
  IN_MEMORY(&later);
  plane_state p = c.pair->halfspace ? halfspace_plane(c.pair, get_vec(&AT(SLOT_AT(s, plane), 3)))
                                    : get_plane(SLOT_AT(s, plane));
  IN_MEMORY(&sum);
  contact_normal(&c, p, exact, exact ? zero() : sel(on, AT(W(convex), 0), zero()), SLOT_AT(s, plane_rows),
                 &sum);
  IN_MEMORY(&p);
  IN_MEMORY(&sum);
  AT(SLOT_AT(s, gap), 0) = sel(on, sum.gap, splat(ELEM_HUGE));
  AT(SLOT_AT(s, low), 0) = sum.low;
  AT(SLOT_AT(s, noise), 1) = zero();
  AT(SLOT_AT(s, energy), 0) = sel(on, sum.value, zero());
  real weight = AT(SLOT_AT(s, plane_t), 6);
  mask rubs = mask_and(later.on, gt(weight, zero()));
  if (any(rubs))
    contact_friction(k, &c, w, slots, s, later.on, later.exact, &sum);
  else
    for (int i = 0; i < 45; i++) AT(SLOT_AT(s, motion_rows), i) = zero();
  for (int j = 0; j < 2; j++) {
    put_vec(&AT(SLOT_AT(s, force), 3 * j), sum.force[j]);
    put_mat(&AT(SLOT_AT(s, phi), 9 * j), sum.phi[j]);
    put_block(&AT(SLOT_AT(s, block), 21 * j), sum.block.own[j]);
  }
  put_mat(&AT(SLOT_AT(s, block), 42), sum.block.ww);
  put_mat(&AT(SLOT_AT(s, block), 51), sum.block.wv);
  put_mat(&AT(SLOT_AT(s, block), 60), sum.block.vw);
  put_mat(&AT(SLOT_AT(s, block), 69), sum.block.vv);
  put_row(SLOT_AT(s, pull), sum.pull);
  if (!later.all_on) {
    put_sel(SLOT_AT(s, force), 6, later.on);
    put_sel(SLOT_AT(s, phi), 18, later.on);
    put_sel(SLOT_AT(s, block), 78, later.on);
    put_sel(SLOT_AT(s, pull), 12, later.on);
  }
  real size = contact_size(k, &c, p.c);
  AT(SLOT_AT(s, noise), 0) = sel(later.on, size * max_abs(sum.force[0]), zero());
  AT(SLOT_AT(s, residual), 0) = sum.residual;
  AT(SLOT_AT(s, value), 0) = sel(later.on, sum.value, zero());
}
KERNEL void contact_evaluate(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                             int all_on, int exact) {
  if (k->barrier == BARRIER_LOCAL)
    contact_evaluate_as(BARRIER_LOCAL, k, w, slots, s, pair_id, on, all_on, exact);
  else
    contact_evaluate_as(BARRIER_INVERSE, k, w, slots, s, pair_id, on, all_on, exact);
}
