/* mesh_potential.inl: the potential of two triangle meshes that feel each other at any distance
 * (docs/longrange.md).
 *
 * Each body's triangles lie under a binary tree of spheres (sphere_tree.h). A pair of nodes whose spheres are
 * at least d2 apart counts as two points; a pair of triangles nearer than d1 has a separating plane
 * (plane.inl); between d1 = R_I + R_J and d2 = (1 + epsilon) d1 the value of the children fades into that of
 * the points:
 *
 *   P_IJ = (1 - phi) S + phi C,   phi = Phi((r - d1) / (d2 - d1)),   r = |x_I - x_J|,
 *   S    = P_tri for two leaves, else the sum over the pairs of their children (a leaf is its own child),
 *   C    = w (12 (1 + q)^2 - base),   P_tri = w (U* - base),   q = sqrt(L0 / rho).
 *
 *   paper      w = 1, base = 0, rho = r                   (000, eqs. 5 to 8)
 *   weighted   w = w_I w_J, base = 12, rho = r + d1       (areas; refining a mesh changes next to nothing)
 *
 * The list of pairs is its own queue: a pair that is not yet far enough appends the pairs of its children, so
 * that children lie together and after their parents. Backwards, every pair finds its children's sums. Each
 * number has one place to be added up, whoever else is in the list: a list that holds more than it must gives
 * the same bits, since phi is exactly 0 or 1 outside of the band.
 *
 * Derivatives are those of the relative pose: of a twist of A (rotation, translation) about A's origin in A's
 * axes with B held, in exponential coordinates. Lanes are pairs of one environment. */

/* Value, gradient and Hessian of one pair: 28 numbers in this order, a row in memory. */
typedef struct far_terms {
  real value;
  vec3 w, v;
  block6 h;
} far_terms;
enum { FAR_ROW = FAR_ROW_VALUES };
WALKED(far_terms, FAR_ROW);

typedef struct far_pair {
  tree_view tree[2];
  mat3 r; /* B's pose in A's frame, the same in every lane */
  vec3 x;
  elem epsilon, length, share; /* share: factor of all weights */
  int weighted;
} far_pair;

/* Planes of a pair of triangles that outlive an evaluation, in A's frame: at the iterate, then at the trial.
 */
enum { FAR_U = 0, FAR_C = 3, FAR_E = 6, FAR_LOW = 7, FAR_TRIAL = 8, FAR_PLANE = FAR_PLANE_VALUES };

/* What the traversal found, and room for the sums. */
typedef struct far_list {
  far_entry *entry;
  elem *rows;  /* [capacity][FAR_ROW] */
  elem *plane; /* [leaves][FAR_PLANE], NULL: every plane is found anew; FAR_LOW (smallest margin) <= 0: none
                  yet */
  int32_t num, capacity, leaves;
} far_list;

/* A pair of nodes per lane. */
typedef struct far_nodes {
  vec3 a, b;     /* centers in A's frame */
  vec3 n;        /* unit, from b to a; r = 0: any */
  real r, d1, w; /* distance, sum of radii, product of weights */
} far_nodes;

FN void lane_put(real *v, int lane, elem x) { ((elem *)v)[lane] = x; }

/* Entries first .. first + num - 1; spare lanes repeat the first. */
FN far_nodes far_gather(const far_pair *p, const far_entry *entry, int num) {
  far_nodes n;
  for (int l = 0; l < ABUT_LANES; l++) {
    const far_entry *e = &entry[l < num ? l : 0];
    const double *a = p->tree[0].sphere + 5 * (int64_t)e->a, *b = p->tree[1].sphere + 5 * (int64_t)e->b;
    lane_put(&n.a.x, l, K(a[0]));
    lane_put(&n.a.y, l, K(a[1]));
    lane_put(&n.a.z, l, K(a[2]));
    lane_put(&n.b.x, l, K(b[0]));
    lane_put(&n.b.y, l, K(b[1]));
    lane_put(&n.b.z, l, K(b[2]));
    lane_put(&n.d1, l, K(a[3] + b[3]));
    lane_put(&n.w, l, K(a[4] * b[4]));
  }
  n.b = add(mat_vec(p->r, n.b), p->x);
  vec3 d = sub(n.a, n.b);
  n.r = norm(d);
  mask apart = gt(n.r, zero());
  n.n = vec_sel(apart, scale(inverse(sel(apart, n.r, splat(1))), d), vec(zero(), zero(), splat(1)));
  if (!p->weighted) n.w = splat(1);
  n.w = p->share * n.w;
  return n;
}

FN int far_children(const far_pair *p, const far_entry *e) {
  return (p->tree[0].child[e->a] < 0 ? 1 : 2) * (p->tree[1].child[e->b] < 0 ? 1 : 2);
}

/* Appends the pairs of an entry's children. Returns their number, or 0 where they find no room. */
FN int far_append(const far_pair *p, far_list *list, int i) {
  int32_t a = p->tree[0].child[list->entry[i].a], b = p->tree[1].child[list->entry[i].b], at = list->num;
  int na = a < 0 ? 1 : 2, nb = b < 0 ? 1 : 2;
  if (list->num + na * nb > list->capacity) return 0;
  for (int j = 0; j < na; j++)
    for (int k = 0; k < nb; k++) {
      far_entry *e = &list->entry[list->num++];
      e->a = a < 0 ? list->entry[i].a : a + j;
      e->b = b < 0 ? list->entry[i].b : b + k;
      e->child = 0;
    }
  list->entry[i].child = at;
  return na * nb;
}

/* Lists the pairs whose spheres are nearer than d2 + margin, and their children. Returns whether there was
 * room; if not, the list is as far as it came. */
KERNEL int far_traverse(const far_pair *p, far_list *list, elem margin) {
  list->num = list->leaves = 0;
  if (list->capacity < 1) return 0;
  far_entry top = {0, 0, 0};
  list->entry[list->num++] = top;
  for (int i = 0; i < list->num;) {
    int num = list->num - i < ABUT_LANES ? list->num - i : ABUT_LANES;
    far_nodes n = far_gather(p, &list->entry[i], num);
    uint32_t near = bits_from_mask(lt(n.r - (K(1) + p->epsilon) * n.d1, splat(margin)));
    for (int l = 0; l < num; l++, i++) {
      far_entry *e = &list->entry[i];
      if (!(near >> l & 1u)) continue;
      if (p->tree[0].child[e->a] < 0 && p->tree[1].child[e->b] < 0)
        e->child = ~list->leaves++;
      else if (!far_append(p, list, i))
        return 0;
    }
  }
  return 1;
}

/* ---------------------------------------------------------------------------------------- one pair */

/* The part of an exponential-coordinate Hessian that forces f = dU/dx at points x have by themselves: of
 * f . (w x (w x x) + w x v) / 2, with phi = sum f x^T. */
FN void block_add_geometric(block6 *h, vec3 f, mat3 phi) {
  real t = trace(phi);
  h->ww = sym_add(h->ww, sym(phi.r0.x - t, K(0.5) * (phi.r0.y + phi.r1.x), phi.r1.y - t,
                             K(0.5) * (phi.r0.z + phi.r2.x), K(0.5) * (phi.r1.z + phi.r2.y), phi.r2.z - t));
  h->wv = mat_add(h->wv, mat_scale(splat(K(-0.5)), hat(f)));
}

FN far_terms far_zero(void) {
  far_terms t = {zero(), vec_zero(), vec_zero(), {sym_zero(), mat_zero(), sym_zero()}};
  return t;
}

/* (1 - phi) S + phi C, in place. S: sums with their derivatives; phi, c: value and derivatives in r. order 0:
 * value only. */
CALL void far_blend(const far_nodes *n, const real phi[3], const real c[3], int order, far_terms *t) {
  real keep = splat(1) - phi[0], diff = c[0] - t->value;
  real b1 = phi[0] * c[1] + phi[1] * diff;
  real b2 = phi[0] * c[2] + K(2) * phi[1] * c[1] + phi[2] * diff;
  t->value = keep * t->value + phi[0] * c[0];
  if (order == 0) return;
  vec3 rw = cross(n->a, n->n), rv = n->n, e1, e2; /* dr/dtwist */
  vec3 cw = sub(scale(K(0.5) * b2, rw), scale(phi[1], t->w)),
       cv = sub(scale(K(0.5) * b2, rv), scale(phi[1], t->v));
  block6 h = t->h;
  h.ww = sym(keep * h.ww.xx, keep * h.ww.xy, keep * h.ww.yy, keep * h.ww.xz, keep * h.ww.yz, keep * h.ww.zz);
  h.wv = mat_scale(keep, h.wv);
  h.vv = sym(keep * h.vv.xx, keep * h.vv.xy, keep * h.vv.yy, keep * h.vv.xz, keep * h.vv.yz, keep * h.vv.zz);
  /* phi'' C dr dr^T and the like, and -phi' (dr dS^T + dS dr^T) */
  h.ww = sym_outer(sym_outer(h.ww, cw, rw), rw, cw);
  h.wv = mat_add(h.wv, mat_add(outer(cw, rv), outer(rw, cv)));
  h.vv = sym_outer(sym_outer(h.vv, cv, rv), rv, cv);
  /* d2r */
  real bend = b1 * inverse(sel(gt(n->r, zero()), n->r, splat(1)));
  frame_from_normal(n->n, &e1, &e2);
  block_rank1(&h, bend, cross(n->a, e1), e1);
  block_rank1(&h, bend, cross(n->a, e2), e2);
  vec3 f = scale(b1, n->n);
  block_add_geometric(&h, f, outer(f, n->a));
  t->h = h;
  t->w = axpy(b1, rw, scale(keep, t->w));
  t->v = axpy(b1, rv, scale(keep, t->v));
}

/* phi and C with their first two derivatives in r. */
FN void far_weights(const far_pair *p, const far_nodes *n, real phi[3], real c[3]) {
  real width = p->epsilon * n->d1, inv = splat(1) / rmax(width, splat(ELEM_TINY));
  real t = rmin(rmax((n->r - n->d1) * inv, zero()), splat(1)), s = splat(1) - t;
  mask full = ge(n->r, n->d1 + width); /* exactly 1 from there on */
  phi[0] = sel(full, splat(1), t * t * t * (K(10) + t * (K(6) * t - K(15))));
  phi[1] = sel(full, zero(), K(30) * t * t * s * s * inv);
  phi[2] = sel(full, zero(), K(60) * t * s * (s - t) * inv * inv);
  real rho = n->r;
  if (p->weighted) rho = rho + n->d1;
  rho = sel(gt(phi[0], zero()), rho, splat(1)); /* nested bodies: r may be 0 */
  real q = root(p->length / rho), w = K(12) * n->w, ir = splat(1) / rho;
  c[0] = w * ((K(2) + q) * q);
  if (!p->weighted) c[0] = c[0] + w;
  c[1] = -w * (q + q * q) * ir;
  c[2] = w * (K(1.5) * q + K(2) * q * q) * (ir * ir);
}

/* The two triangles of every leaf pair, A's frame: points as a point_set has them. */
FN void far_corners(const far_pair *p, const far_entry *entry, int num, real a[15], real b[15]) {
  for (int i = 0; i < 3; i++) {
    vec3 x[2];
    for (int l = 0; l < ABUT_LANES; l++) {
      const far_entry *e = &entry[l < num && entry[l].child < 0 ? l : 0];
      int32_t ta = p->tree[0].child[e->a], tb = p->tree[1].child[e->b];
      const double *ca = p->tree[0].corners + 9 * (int64_t)(ta < 0 ? ~ta : 0) + 3 * i;
      const double *cb = p->tree[1].corners + 9 * (int64_t)(tb < 0 ? ~tb : 0) + 3 * i;
      lane_put(&x[0].x, l, K(ca[0]));
      lane_put(&x[0].y, l, K(ca[1]));
      lane_put(&x[0].z, l, K(ca[2]));
      lane_put(&x[1].x, l, K(cb[0]));
      lane_put(&x[1].y, l, K(cb[1]));
      lane_put(&x[1].z, l, K(cb[2]));
    }
    x[1] = add(mat_vec(p->r, x[1]), p->x);
    for (int j = 0; j < 2; j++) {
      real *to = (j ? b : a) + 5 * i;
      to[0] = x[j].x;
      to[1] = x[j].y;
      to[2] = x[j].z;
      to[3] = zero();
      to[4] = splat(1);
    }
  }
}

/* Points of both triangles. */
typedef struct far_triangles {
  real a[15], b[15];
} far_triangles;

/* Smallest and largest u . (x - c) of a triangle. */
FN void far_extent(const real *x, vec3 u, vec3 c, real *low, real *high) {
  *low = splat(ELEM_HUGE);
  *high = splat(-ELEM_HUGE);
  for (int i = 0; i < 3; i++) {
    real h = dot(u, sub(vec(x[5 * i], x[5 * i + 1], x[5 * i + 2]), c));
    *low = rmin(*low, h);
    *high = rmax(*high, h);
  }
}

/* The plane half-way between two triangles along u, and the margin of both; <= 0 where u does not separate
 * them. */
FN plane_state far_halfway(const far_triangles *t, vec3 u, vec3 c, real *low) {
  real a, b, skip;
  plane_state s = {u, c, zero(), zero()};
  far_extent(t->a, u, c, &a, &skip);
  far_extent(t->b, u, c, &skip, &b);
  s.e = K(-0.5) * (a + b);
  *low = K(0.5) * (a - b);
  return s;
}

FN elem *far_plane_of(const far_list *list, const far_entry *e) {
  return list->plane + (int64_t)~e->child * FAR_PLANE;
}

/* A plane in memory of every lane that has one; others low -1. */
FN plane_state far_load(const far_list *list, const far_entry *entry, int num, int at, real *low) {
  plane_state s = {vec(zero(), zero(), splat(1)), vec_zero(), zero(), zero()};
  *low = splat(-1);
  for (int l = 0; l < num; l++) {
    if (!list->plane || entry[l].child >= 0) continue;
    const elem *p = far_plane_of(list, &entry[l]) + at;
    real *to[7] = {&s.u.x, &s.u.y, &s.u.z, &s.c.x, &s.c.y, &s.c.z, &s.e};
    for (int i = 0; i < 7; i++) lane_put(to[i], l, p[i]);
    lane_put(low, l, p[FAR_LOW]);
  }
  return s;
}
FN void far_store(const far_list *list, const far_entry *entry, int num, int at, plane_state s, real low) {
  for (int l = 0; l < num; l++) {
    if (!list->plane || entry[l].child >= 0) continue;
    elem *p = far_plane_of(list, &entry[l]) + at;
    real *from[8] = {&s.u.x, &s.u.y, &s.u.z, &s.c.x, &s.c.y, &s.c.z, &s.e, &low};
    for (int i = 0; i < 8; i++) p[i] = ((elem *)from[i])[l];
  }
}

/* The plane of lanes `on` between two triangles, from the last one that still separates them, else from their
 * closest points. Returns lanes where there is none: they meet. */
CALL mask far_solve(const far_pair *p, const far_list *list, const far_entry *entry, int num,
                    const far_triangles *t, mask on, int at, plane_state *s) {
  barrier br = {BARRIER_INVERSE, 0, K(1) / p->length};
  point_set a = {0, t->a, 3, 0, 1}, b = {0, t->b, 3, 0, 1};
  mat3 one = mat_identity();
  vec3 none = vec_zero();
  mask warm = mask_none(), done;
  for (int i = 0; i < 2; i++) { /* the trial's plane: that of the iterate, if it was accepted */
    real had, low;
    plane_state old = far_load(list, entry, num, i ? at : FAR_TRIAL - at, &had),
                now = far_halfway(t, old.u, old.c, &low);
    mask fits = mask_and(mask_and(on, mask_not(warm)), mask_and(gt(had, zero()), gt(low, zero())));
    /* where its offset leaves a good part of the room on both sides it is a better start than half-way */
    mask still = lt(rabs(old.e - now.e), K(0.5) * low);
    s->u = vec_sel(fits, now.u, s->u);
    s->c = vec_sel(fits, now.c, s->c);
    s->e = sel(fits, sel(still, old.e, now.e), s->e);
    warm = mask_or(warm, fits);
  }
  mask cold = mask_and(on, mask_not(warm)), apart = warm;
  if (any(cold)) {
    closest cl = closest_points(&a, &b, one, none, one, none, cold, K(0.999), 64);
    mask found = mask_and(cold, gt(cl.gap, zero()));
    plane_state now = plane_between(&br, cl);
    s->u = vec_sel(found, now.u, s->u);
    s->c = vec_sel(found, now.c, s->c);
    s->e = sel(found, now.e, s->e);
    apart = mask_or(apart, found);
  }
  s->sigma = zero();
  plane_solve(&br, &a, &b, one, none, one, none, s, apart, K(1e-22), 100, &done);
  return mask_and(on, mask_not(apart));
}

/* The least weight of a pair of triangles: a degenerate one's is 0, and its plane's Hessian is divided by. */
#define FAR_LIGHT K(ABUT_REAL == 64 ? 1e-100 : 1e-20)

/* P_tri at its plane, with its derivatives for order 2. gap: distance along the plane's normal. */
CALL void far_leaf(const far_pair *p, const far_triangles *t, plane_state s, real w, int order,
                   far_terms *out, real *gap) {
  barrier br = {BARRIER_INVERSE, 0, K(1) / p->length};
  point_set a = {0, t->a, 3, 0, 1}, b = {0, t->b, 3, 0, 1};
  mat3 one = mat_identity();
  vec3 none = vec_zero();
  real base = splat(K(p->weighted ? 12 : 0));
  w = rmax(w, splat(FAR_LIGHT));
  if (order == 0) {
    real low;
    out->value = w * (plane_value(&br, &a, &b, one, none, one, none, s, splat(1), &low, gap) - base);
    return;
  }
  mat3 f = plane_frame(s.u), view, phi;
  vec3 at;
  plane_moments m[2];
  plane_view(f, s.c, one, none, &view, &at);
  m[0] = plane_side(&br, &a, 1, view, at, s.e, splat(1));
  m[1] = plane_side(&br, &b, -1, view, at, s.e, splat(1));
  plane_terms q;
  plane_join(&br, &m[0], &m[1], s.e, s.sigma, w, 1, &q);
  normal_world(&q, 0, f, s.c, &out->v, &phi, &out->h);
  out->w = axial(phi);
  row12 row[4] = {row_zero(), row_zero(), row_zero(), row_zero()};
  for (int i = 0; i < 3; i++)
    row_side(&row[i], 0, f, s.c, vec(q.b[0][i][0], q.b[0][i][1], q.b[0][i][2]),
             vec(q.b[0][i][3], q.b[0][i][4], q.b[0][i][5]));
  row_side(&row[3], 0, f, s.c, vec(q.f1[0].y, -q.f1[0].x, zero()), vec(zero(), zero(), q.f0[0]));
  block_rank1(&out->h, q.curl, row[3].w[0], row[3].v[0]);
  real l[10];
  plane_factor(3, q.k, l);
  rows_solve_lower(3, l, 1, row);
  for (int i = 0; i < 3; i++) block_rank1(&out->h, -l[i * (i + 1) / 2 + i], row[i].w[0], row[i].v[0]);
  block_add_geometric(&out->h, out->v, phi);
  out->value = q.value - w * base;
  *gap = q.gap;
}

/* ---------------------------------------------------------------------------------------- all pairs */

/* What a list adds up to. */
typedef struct far_sum {
  elem value,
      gap;    /* gap: smallest distance between triangles along their planes; of spheres where none (m) */
  elem clear; /* with a motion: smallest certified margin (m) */
  int64_t exact, centred;
  int touching;
} far_sum;

/* How both bodies move from the iterate to the trial, for the certificate (the same in every lane). */
typedef struct far_motion {
  mat3 r_now; /* B in A's frame at the iterate */
  vec3 x_now;
  mat3 r[2][2]; /* [A, B][iterate, trial]: world poses */
  vec3 x[2][2];
  real turn[2];   /* |R_trial - R_iterate| */
  real arc, arcs; /* t^2/8 |x''| of the bodies: the larger one, and the sum (m) */
} far_motion;

/* Distance from 0 to the segment from a to b. */
FN real far_nearest(vec3 a, vec3 b) {
  vec3 d = sub(b, a);
  real t = rmin(rmax(-dot(a, d) / rmax(dot(d, d), splat(ELEM_TINY)), zero()), splat(1));
  return norm(axpy(t, d, a));
}

/* A lower bound of the margin of two nodes' balls all the way from the iterate to the trial: their centers
 * are never farther from the chords of their ways than the bodies' arcs. old, n: nodes at both poses. */
FN real far_clear_balls(const far_motion *m, const far_nodes *old, const far_nodes *n) {
  vec3 before = mat_vec(m->r[0][0], sub(old->a, old->b)), after = mat_vec(m->r[0][1], sub(n->a, n->b));
  return far_nearest(before, after) - n->d1 - m->arcs;
}

/* The same of two triangles: of a plane that moves with the mean of both bodies, from that of the iterate to
 * q (hull_dip). then: the pair at the iterate. */
CALL real far_clear_plane(const far_pair *then, const far_list *list, const far_entry *entry, int num,
                          const far_motion *m, const far_nodes *old, plane_state q, real low_try) {
  far_triangles before;
  far_corners(then, entry, num, before.a, before.b);
  real had, low_now, low_mid;
  plane_state s = far_load(list, entry, num, 0, &had);
  vec3 middle = scale(splat(K(0.5)), add(old->a, old->b));
  plane_state between =
      far_halfway(&before, old->n, middle, &low_mid); /* where none was needed: spheres are apart */
  mask none = le(had, zero());
  s.u = vec_sel(none, between.u, s.u);
  s.c = vec_sel(none, between.c, s.c);
  low_now = sel(none, low_mid, had);
  vec3 moved[2], local[2] = {s.c, mat_tvec(m->r_now, sub(s.c, m->x_now))};
  real spread = zero();
  for (int j = 0; j < 2; j++) {
    real far2 = zero();
    const real *x = j ? before.b : before.a;
    for (int i = 0; i < 3; i++) {
      vec3 d = sub(vec(x[5 * i], x[5 * i + 1], x[5 * i + 2]), s.c);
      far2 = rmax(far2, dot(d, d));
    }
    spread = rmax(spread, m->turn[j] * root(far2));
    moved[j] =
        sub(add(mat_vec(m->r[j][1], local[j]), m->x[j][1]), add(mat_vec(m->r[j][0], local[j]), m->x[j][0]));
  }
  spread = spread + K(0.5) * norm(sub(moved[0], moved[1]));
  vec3 dn = sub(mat_vec(m->r[0][1], q.u), mat_vec(m->r[0][0], s.u));
  return rmin(low_now, low_try) - norm(dn) * spread * K(0.25) - m->arc;
}

/* Up to ABUT_LANES entries that are looked at together. */
typedef struct far_pack {
  far_entry entry[ABUT_LANES];
  int32_t id[ABUT_LANES]; /* where they are in the list */
  int num;
} far_pack;

FN void far_pack_add(far_pack *pack, const far_list *list, int32_t id) {
  pack->entry[pack->num] = list->entry[id];
  pack->id[pack->num++] = id;
}

/* Sums of the children's rows of every lane whose entry has children. */
FN void far_collect(const far_pair *p, const far_list *list, const far_pack *pack, int rows, far_terms *t) {
  real *field = (real *)t;
  for (int l = 0; l < pack->num; l++) {
    const far_entry *e = &pack->entry[l];
    if (e->child <= 0) continue;
    elem sum[FAR_ROW];
    const elem *row = list->rows + (int64_t)e->child * FAR_ROW;
    for (int k = 0; k < rows; k++) sum[k] = row[k];
    for (int c = 1; c < far_children(p, e); c++)
      for (int k = 0; k < rows; k++) sum[k] = sum[k] + row[c * FAR_ROW + k];
    for (int k = 0; k < rows; k++) lane_put(&field[k], l, sum[k]);
  }
}

/* One evaluation of a list, and what it has found so far. motion, if not NULL: the pose in *p is that of a
 * trial, whose way from the iterate, *then, is to be certified; it ends where that fails. */
typedef struct far_visit {
  const far_pair *p, *then;
  far_list *list;
  const far_motion *motion;
  int order; /* 0: values; 2: with gradients and Hessians */
  far_sum sum;
} far_visit;

FN int far_refused(const far_visit *v) { return v->motion && !(v->sum.clear > 0); }

FN void far_put_rows(far_visit *v, const far_pack *pack, const far_terms *t) {
  for (int l = 0; l < pack->num; l++) {
    elem *row = v->list->rows + (int64_t)pack->id[l] * FAR_ROW;
    for (int k = 0; k < (v->order == 0 ? 1 : FAR_ROW); k++) row[k] = ((const elem *)((const real *)t + k))[l];
  }
}

/* Smallest of sum's margins and of what the lanes have: clear; gap of lanes whose bit is set. */
FN void far_put_margins(far_visit *v, const far_pack *pack, uint32_t bits, real gap, real clear) {
  for (int l = 0; l < pack->num; l++) {
    elem g = ((elem *)&gap)[l], safe = ((elem *)&clear)[l];
    if ((bits >> l & 1u) && g < v->sum.gap) v->sum.gap = g;
    if (!(safe >= v->sum.clear)) v->sum.clear = safe;
  }
}

/* Pairs of triangles nearer than d2 (and those that a margin added). */
CALL void far_visit_leaves(far_visit *v, const far_pack *pack) {
  const far_pair *p = v->p;
  int at = v->motion ? FAR_TRIAL : 0, num = pack->num;
  far_nodes n = far_gather(p, pack->entry, num), old = n;
  far_terms t = far_zero(), q = far_zero();
  far_triangles x;
  real phi[3], c[3], gap = n.r - n.d1, clear = splat(ELEM_HUGE), low, between = zero();
  if (v->motion) {
    old = far_gather(v->then, pack->entry, num);
    clear = far_clear_balls(v->motion, &old, &n);
  }
  far_weights(p, &n, phi, c);
  mask all = mask_from_bits((uint32_t)((1ull << num) - 1)), exact = mask_and(all, lt(phi[0], splat(1)));
  far_corners(p, pack->entry, num, x.a, x.b);
  plane_state s = far_halfway(&x, n.n, scale(splat(K(0.5)), add(n.a, n.b)), &low);
  mask meet = far_solve(p, v->list, pack->entry, num, &x, exact, at, &s);
  far_leaf(p, &x, s, n.w, v->order, &q, &between);
  for (int k = 0; k < (v->order == 0 ? 1 : FAR_ROW); k++)
    ((real *)&t)[k] = sel(exact, ((real *)&q)[k], ((real *)&t)[k]);
  t.value = sel(meet, splat(ELEM_HUGE), t.value);
  real a, b, skip;
  far_extent(x.a, s.u, s.c, &a, &skip);
  far_extent(x.b, s.u, s.c, &skip, &b);
  low = sel(exact, sel(meet, splat(-1), rmin(a + s.e, -b - s.e)), low);
  mask doubt = v->motion ? mask_and(all, le(clear, zero())) : mask_none();
  if (any(doubt))
    clear = sel(doubt, far_clear_plane(v->then, v->list, pack->entry, num, v->motion, &old, s, low), clear);
  far_store(v->list, pack->entry, num, at, s, sel(exact, low, splat(-1)));
  far_blend(&n, phi, c, v->order, &t);
  far_put_rows(v, pack, &t);
  uint32_t exact_bits = bits_from_mask(exact);
  far_put_margins(v, pack, exact_bits, between, clear);
  far_put_margins(v, pack, ~exact_bits, gap, clear);
  v->sum.exact += __builtin_popcount(exact_bits);
  v->sum.centred += num - __builtin_popcount(exact_bits);
  v->sum.touching |= any(meet);
}

/* Pairs of nodes, after those of their children. */
CALL void far_visit_nodes(far_visit *v, const far_pack *pack) {
  int num = pack->num;
  far_nodes n = far_gather(v->p, pack->entry, num);
  far_terms t = far_zero();
  real phi[3], c[3], clear = splat(ELEM_HUGE);
  uint32_t inner = 0;
  for (int l = 0; l < num; l++) inner |= (uint32_t)(pack->entry[l].child > 0) << l;
  if (v->motion) { /* children answer for those that have some */
    far_nodes old = far_gather(v->then, pack->entry, num);
    clear = sel(mask_from_bits(inner), splat(ELEM_HUGE), far_clear_balls(v->motion, &old, &n));
  }
  far_weights(v->p, &n, phi, c);
  far_collect(v->p, v->list, pack, v->order == 0 ? 1 : FAR_ROW, &t);
  far_blend(&n, phi, c, v->order, &t);
  far_put_rows(v, pack, &t);
  uint32_t centred = bits_from_mask(ge(phi[0], splat(1))) & (uint32_t)((1ull << num) - 1);
  far_put_margins(v, pack, centred, n.r - n.d1, clear);
  v->sum.centred += __builtin_popcount(centred);
}

/* Sums up a list at the pose in *p; the row of entry 0 holds the result. Valid where the list holds all that
 * is nearer than d2. Triangles first, since that is where lanes are worth filling; then nodes backwards. */
CALL far_sum far_evaluate_as(const far_pair *p, far_list *list, int order, const far_motion *motion) {
  far_pair then = *p;
  if (motion) {
    then.r = motion->r_now;
    then.x = motion->x_now;
  }
  far_visit v = {p, &then, list, motion, order, {0, K(ELEM_HUGE), K(ELEM_HUGE), 0, 0, 0}};
  far_pack pack;
  pack.num = 0;
  for (int32_t i = list->num - 1; i >= 0 && !far_refused(&v); i--) {
    if (list->entry[i].child < 0) far_pack_add(&pack, list, i);
    if (pack.num < (i > 0 ? ABUT_LANES : 1)) continue;
    far_visit_leaves(&v, &pack);
    pack.num = 0;
  }
  for (int32_t i = list->num - 1; i >= 0 && !far_refused(&v); i--) {
    int32_t child = list->entry[i].child;
    if (child < 0) continue;
    if (pack.num == ABUT_LANES || (pack.num > 0 && child > 0 && child <= pack.id[0])) { /* its children? */
      far_visit_nodes(&v, &pack);
      pack.num = 0;
    }
    far_pack_add(&pack, list, i);
  }
  if (pack.num > 0) far_visit_nodes(&v, &pack);
  v.sum.value = list->rows[0];
  return v.sum;
}
KERNEL far_sum far_evaluate(const far_pair *p, far_list *list) { return far_evaluate_as(p, list, 2, 0); }
KERNEL far_sum far_value(const far_pair *p, far_list *list) { return far_evaluate_as(p, list, 0, 0); }
KERNEL far_sum far_try(const far_pair *p, far_list *list, const far_motion *motion) {
  return far_evaluate_as(p, list, 0, motion);
}
