/* mesh_friction.inl: lagged friction between the triangles of two meshes (docs/longrange.md).
 *
 * At the step's start every pair of triangles that has a plane leaves one mark: the point y of the plane
 * where its force acts, the same for both sides since the plane is in equilibrium, the plane's normal u, and
 * a weight w = mu_f (1 - phi) |F| dt. During the step each body carries the mark with it; the plane,
 * massless, slides as it likes in between. What remains of the least over its sliding is a function of both
 * marks' distance:
 *
 *   D = sum w ( sqrt(|r|^2 + 4 e^2) - 2 e ),    r = (I - u u^T) (Y_B - Y_A) / dt
 *
 * One mark has no lever, so nothing spins. Lanes are marks of one environment; sums go mark by mark, so that
 * they do not depend on the number of lanes. */

/* One mark per lane. */
typedef struct far_mark {
  vec3 a, b;       /* in A's frame and in B's (m) */
  vec3 u;          /* normal at the step's start, world */
  real w;          /* N s */
  real l1, l2;     /* dual of the norm (friction_dual), on the axes of plane_frame(u) */
  real old1, old2; /* slip for which it holds (m/s) */
} far_mark;
enum { FAR_MARK = FAR_MARK_VALUES };
WALKED(far_mark, FAR_MARK);

/* World poses of A and B, the same in every lane. */
typedef struct far_bodies {
  mat3 r[2];
  vec3 x[2];
} far_bodies;

/* Marks of a pair of bodies. */
typedef struct far_marks {
  const far_entry *entry; /* the leaves, planes counted in the list of the step's start */
  elem *values;           /* [num][FAR_MARK] */
  int32_t num;
  elem idt, e; /* 1/dt; 2 e of the formula above */
} far_marks;

/* Marks first .. first + num - 1; spare lanes repeat the first, without weight. */
FN far_mark far_mark_load(const far_marks *k, int first, int num) {
  far_mark m;
  real *to = (real *)&m;
  for (int l = 0; l < ABUT_LANES; l++) {
    const elem *from = k->values + (int64_t)(first + (l < num ? l : 0)) * FAR_MARK;
    for (int i = 0; i < FAR_MARK; i++) lane_put(&to[i], l, from[i]);
    if (l >= num) lane_put(&m.w, l, 0);
  }
  return m;
}
FN void far_mark_store(const far_marks *k, int first, int num, const far_mark *m) {
  const real *from = (const real *)m;
  for (int l = 0; l < num; l++)
    for (int i = 0; i < FAR_MARK; i++) k->values[(int64_t)(first + l) * FAR_MARK + i] = ((elem *)&from[i])[l];
}

/* Adds the lanes of a pack to sums, one after the other. */
FN void far_add_lanes(elem *sum, const real *terms, int values, int num) {
  for (int i = 0; i < values; i++)
    for (int l = 0; l < num; l++) sum[i] += ((const elem *)&terms[i])[l];
}
FN int far_part(int32_t num, int32_t first) { return num - first < ABUT_LANES ? num - first : ABUT_LANES; }

/* Moments of both triangles about a plane, in its frame. */
FN mat3 far_moments(const far_pair *p, const far_triangles *t, plane_state s, plane_moments m[2]) {
  barrier br = {BARRIER_INVERSE, 0, K(1) / p->length};
  point_set a = {0, t->a, 3, 0, 1}, b = {0, t->b, 3, 0, 1};
  mat3 f = plane_frame(s.u), view;
  vec3 at;
  plane_view(f, s.c, mat_identity(), vec_zero(), &view, &at);
  m[0] = plane_side(&br, &a, 1, view, at, s.e, splat(1));
  m[1] = plane_side(&br, &b, -1, view, at, s.e, splat(1));
  return f;
}

/* The mark of one pair of triangles. scale_: mu_f mu dt. turn: from A's frame to the world's. */
FN far_mark far_mark_of(const far_pair *p, const far_triangles *t, plane_state s, real w, real scale_,
                        mat3 turn) {
  plane_moments m[2];
  far_mark k;
  mat3 f = far_moments(p, t, s, m);
  real force = -m[0].f0, ir = inverse(force);
  vec3 y = axpy(-ir * m[0].f1.x, f.r0, axpy(-ir * m[0].f1.y, f.r1, axpy(-s.e, s.u, s.c)));
  k.a = y;
  k.b = mat_tvec(p->r, sub(y, p->x));
  k.u = mat_vec(turn, s.u);
  k.w = scale_ * w * force * (K(1) + SQRT12 * inverse_root(m[0].value + m[1].value));
  k.l1 = k.l2 = k.old1 = k.old2 = zero();
  return k;
}

/* Marks of all pairs of triangles that have a plane at the pose in *p, at which the list was evaluated. */
CALL int32_t far_mark_all(const far_pair *p, const far_list *list, far_entry *entry, far_marks *k,
                          elem scale_, const mat3 *turn) {
  k->num = 0;
  for (int32_t i = 0; i < list->num; i++) {
    const far_entry *e = &list->entry[i];
    if (e->child < 0 && far_plane_of(list, e)[FAR_LOW] > 0) entry[k->num++] = *e;
  }
  for (int32_t first = 0; first < k->num; first += ABUT_LANES) {
    int num = far_part(k->num, first);
    far_nodes n = far_gather(p, entry + first, num);
    far_triangles x;
    real phi[3], c[3], low;
    far_weights(p, &n, phi, c);
    far_corners(p, entry + first, num, x.a, x.b);
    plane_state s = far_load(list, entry + first, num, 0, &low);
    far_mark m = far_mark_of(p, &x, s, n.w * (K(1) - phi[0]), splat(scale_), *turn);
    far_mark_store(k, first, num, &m);
  }
  return k->num;
}

/* Where both bodies have carried a mark. */
typedef struct far_slide {
  mat3 f;          /* axes of the slip, and u */
  vec3 arm[2];     /* of Y_A, Y_B about their bodies' origins, world */
  vec3 apart;      /* Y_B - Y_A */
  real r1, r2, il; /* slip; 1/sqrt(|r|^2 + 4 e^2) */
} far_slide;

FN far_slide far_slide_of(const far_marks *k, const far_mark *m, const far_bodies *at) {
  far_slide s;
  s.f = plane_frame(m->u);
  s.arm[0] = mat_vec(at->r[0], m->a);
  s.arm[1] = mat_vec(at->r[1], m->b);
  s.apart = add(sub(at->x[1], at->x[0]), sub(s.arm[1], s.arm[0]));
  s.r1 = k->idt * dot(s.f.r0, s.apart);
  s.r2 = k->idt * dot(s.f.r1, s.apart);
  s.il = inverse_root(s.r1 * s.r1 + s.r2 * s.r2 + k->e * k->e);
  return s;
}
FN real far_slide_value(const far_marks *k, const far_mark *m, const far_slide *s) {
  real rr = s->r1 * s->r1 + s->r2 * s->r2;
  return m->w * rr * inverse((rr + k->e * k->e) * s->il + k->e);
}

CALL elem far_rub_value(const far_marks *k, const far_bodies *at) {
  elem sum = 0;
  for (int32_t first = 0; first < k->num; first += ABUT_LANES) {
    int num = far_part(k->num, first);
    far_mark m = far_mark_load(k, first, num);
    far_slide s = far_slide_of(k, &m, at);
    real value = far_slide_value(k, &m, &s);
    far_add_lanes(&sum, &value, 1, num);
  }
  return sum;
}

/* What friction gives to both bodies: on B the force g = dD/dY_B, on A its negative; M = d2D/dY_B2. */
typedef struct far_rub {
  real value, weight;
  vec3 g;
  mat3 phi[2]; /* g arm^T */
  sym3 m;
  mat3 wv[2];  /* [arm] M */
  sym3 ww[2];  /* [arm] M [arm]^T */
  mat3 across; /* [arm_A] M [arm_B]^T */
} far_rub;
enum { FAR_RUB = 68 };
WALKED(far_rub, FAR_RUB);

FN mat3 far_hat_t(mat3 m, vec3 a) {
  return mat(cross(a, m.r0), cross(a, m.r1), cross(a, m.r2));
} /* M [a]^T */

/* exact: the true Hessian; else that of the dual, which follows (docs/step.md, friction). */
FN far_rub far_rub_of(const far_marks *k, far_mark *m, const far_bodies *at, int exact) {
  far_slide s = far_slide_of(k, m, at);
  far_rub t;
  real wi = m->w * s.il, l1 = s.r1 * s.il, l2 = s.r2 * s.il;
  friction_dual(m->old1, m->old2, s.r1, s.r2, k->e, &m->l1, &m->l2);
  m->old1 = s.r1;
  m->old2 = s.r2;
  if (!exact) {
    l1 = m->l1;
    l2 = m->l2;
  }
  real c = wi * (k->idt * k->idt), d12 = K(-0.5) * c * (l1 * s.r2 + l2 * s.r1) * s.il;
  real d11 = c * (K(1) - l1 * s.r1 * s.il), d22 = c * (K(1) - l2 * s.r2 * s.il);
  vec3 e1 = s.f.r0, e2 = s.f.r1;
  t.value = far_slide_value(k, m, &s);
  t.weight = m->w;
  t.g = scale(wi * k->idt, axpy(s.r1, e1, scale(s.r2, e2)));
  t.m =
      sym_outer(sym_outer(sym_zero(), axpy(d11, e1, scale(d12, e2)), e1), axpy(d12, e1, scale(d22, e2)), e2);
  for (int j = 0; j < 2; j++) {
    t.phi[j] = outer(t.g, s.arm[j]);
    t.wv[j] = hat_mat(s.arm[j], sym_mat(t.m));
    mat3 ww = far_hat_t(t.wv[j], s.arm[j]);
    t.ww[j] = sym(ww.r0.x, ww.r1.x, ww.r1.y, ww.r2.x, ww.r2.y, ww.r2.z);
  }
  t.across = far_hat_t(t.wv[0], s.arm[1]);
  return t;
}

/* Sums over all marks at the iterate. */
CALL void far_rub_sum(const far_marks *k, const far_bodies *at, int exact, elem sum[FAR_RUB]) {
  for (int i = 0; i < FAR_RUB; i++) sum[i] = 0;
  for (int32_t first = 0; first < k->num; first += ABUT_LANES) {
    int num = far_part(k->num, first);
    far_mark m = far_mark_load(k, first, num);
    far_rub t = far_rub_of(k, &m, at, exact);
    far_add_lanes(sum, (const real *)&t, FAR_RUB, num);
    far_mark_store(k, first, num, &m);
  }
}

/* ------------------------------------------------------------------------------- reverse pass */

/* Cotangents: of the friction's share of lambda . dE, and of poses at the step's start: a force and its
 * moment about the body's origin for A and for B, in A's axes at the start. */
typedef struct far_back {
  real psi;
  vec3 f[2], t[2];
} far_back;
enum { FAR_BACK = 13 };
WALKED(far_back, FAR_BACK);

/* Of one mark: point and normal in A's axes at the start, weight. */
typedef struct far_mark_bar {
  vec3 y, u;
  real w;
} far_mark_bar;

FN void far_pull(far_back *out, int j, vec3 f, vec3 arm) {
  out->f[j] = add(out->f[j], f);
  out->t[j] = add(out->t[j], cross(arm, f));
}

/* psi = w r . v / sqrt(|r|^2 + 4 e^2), v the slip of a motion l of both bodies at the iterate: through Y_A
 * and Y_B, r and v, to the mark and to the poses that it was fixed to. p: the pair at the step's start; turn:
 * A's axes there. */
CALL far_mark_bar far_slide_back(const far_marks *k, const far_mark *m, const far_bodies *at,
                                 const twist6 l[2], const far_pair *p, mat3 turn, far_back *out) {
  far_slide s = far_slide_of(k, m, at);
  vec3 e1 = s.f.r0, e2 = s.f.r1, u = m->u;
  vec3 v = sub(add(l[1].v, cross(l[1].w, s.arm[1])), add(l[0].v, cross(l[0].w, s.arm[0])));
  real v1 = k->idt * dot(e1, v), v2 = k->idt * dot(e2, v), wi = m->w * s.il * k->idt;
  real rv = (s.r1 * v1 + s.r2 * v2) * s.il, lean = dot(u, s.apart);
  vec3 r_bar = scale(wi, axpy(v1 - s.r1 * rv * s.il, e1, scale(v2 - s.r2 * rv * s.il, e2)));
  vec3 g = scale(wi, axpy(s.r1, e1, scale(s.r2, e2)));
  vec3 on_a = scale(splat(-1), add(r_bar, cross(g, l[0].w))), on_b = add(r_bar, cross(g, l[1].w));
  vec3 back[2] = {mat_tvec(at->r[0], on_a), mat_vec(p->r, mat_tvec(at->r[1], on_b))};
  far_mark_bar bar;
  bar.y = add(back[0], back[1]);
  bar.w = rv;
  bar.u = mat_tvec(turn, scale(wi * k->idt, axpy(rv * s.il * lean - dot(u, v), s.apart, scale(-lean, v))));
  out->psi = m->w * rv;
  far_pull(out, 0, scale(splat(-1), back[0]), m->a);
  far_pull(out, 1, scale(splat(-1), back[1]), sub(m->a, p->x));
  return bar;
}

/* Through p = argmin U, the plane at the start: from cotangents of its normal and offset to the poses. */
CALL void far_plane_back(const far_pair *p, const plane_moments m[2], mat3 f, vec3 c, vec3 u_bar, real e_bar,
                         far_back *out) {
  plane_terms q;
  real l[10], y[3] = {dot(u_bar, f.r0), dot(u_bar, f.r1), e_bar};
  barrier br = {BARRIER_INVERSE, 0, K(1) / p->length};
  plane_join(&br, &m[0], &m[1], zero(), zero(), splat(1), 1, &q);
  plane_factor(3, q.k, l);
  plane_solve_lower(3, l, y);
  plane_solve_upper(3, l, y);
  for (int j = 0; j < 2; j++) {
    vec3 rot = vec_zero(), lin = vec_zero();
    for (int i = 0; i < 3; i++) {
      const real *b = q.b[j][i];
      rot = axpy(-y[i], vec(b[0], b[1], b[2]), rot);
      lin = axpy(-y[i], vec(b[3], b[4], b[5]), lin);
    }
    far_pull(out, j, mat_tvec(f, lin), j ? sub(c, p->x) : c);
    out->t[j] = add(out->t[j], mat_tvec(f, rot));
  }
}

/* From cotangents of a mark to the poses at the start. The plane's origin is the mark itself, its offset 0:
 * y = sum f (x - h u) / sum f over A's corners, h = u . (x - c) + offset, f = P'(h). */
CALL void far_mark_back(const far_pair *p, const far_triangles *x, const far_nodes *n, const real phi[3],
                        vec3 y, vec3 u, real w, far_mark_bar bar, far_back *out) {
  barrier br = {BARRIER_INVERSE, 0, K(1) / p->length};
  plane_state s = {u, y, zero(), zero()};
  plane_moments m[2];
  mat3 f = far_moments(p, x, s, m);
  real a = m[0].value + m[1].value, q = SQRT12 * inverse_root(a), ir = splat(1) / m[0].f0, wb = bar.w * w;
  real a_bar = wb / (K(1) + q) * (K(-0.5) * q / a), e_bar = zero(), lift = dot(bar.y, u);
  vec3 u_bar = axpy(-ir * m[0].f1.z, bar.y, bar.u);
  for (int j = 0; j < 2; j++)
    for (int i = 0; i < 3; i++) {
      const real *at = (j ? x->b : x->a) + 5 * i;
      elem sign = j ? K(-1) : K(1), il = br.inv_length;
      vec3 d = sub(vec(at[0], at[1], at[2]), y), x_bar;
      real h = dot(u, d), v, dv, ddv;
      barrier_at(&br, il * sign * h, &v, &dv, &ddv);
      real force = sign * il * dv, h_bar = a_bar * force;
      if (!j) {
        real f_bar = ir * (dot(bar.y, axpy(-h, u, d)) + wb);
        h_bar = h_bar + f_bar * (il * il * ddv) - ir * force * lift;
      }
      x_bar = scale(h_bar, u);
      if (!j) x_bar = axpy(ir * force, bar.y, x_bar);
      u_bar = axpy(h_bar, d, u_bar);
      e_bar = e_bar + h_bar;
      far_pull(out, j, x_bar, j ? sub(add(d, y), p->x) : add(d, y));
    }
  far_plane_back(p, m, f, y, u_bar, e_bar, out);
  vec3 fade = scale(-wb * phi[1] / (K(1) - phi[0]), n->n);
  far_pull(out, 0, fade, n->a);
  far_pull(out, 1, scale(splat(-1), fade), sub(n->b, p->x));
}

/* Sums over all marks. l: motions of A and B (lambda) about their origins. */
CALL void far_rub_back(const far_marks *k, const far_bodies *at, const twist6 l[2], const far_pair *p,
                       const mat3 *turn, elem sum[FAR_BACK]) {
  for (int i = 0; i < FAR_BACK; i++) sum[i] = 0;
  for (int32_t first = 0; first < k->num; first += ABUT_LANES) {
    int num = far_part(k->num, first);
    const far_entry *entry = k->entry + first;
    far_mark m = far_mark_load(k, first, num);
    far_back out = {zero(), {vec_zero(), vec_zero()}, {vec_zero(), vec_zero()}};
    far_mark_bar bar = far_slide_back(k, &m, at, l, p, *turn, &out);
    far_nodes n = far_gather(p, entry, num);
    far_triangles x;
    real phi[3], c[3];
    far_weights(p, &n, phi, c);
    far_corners(p, entry, num, x.a, x.b);
    far_mark_back(p, &x, &n, phi, m.a, mat_tvec(*turn, m.u), m.w, bar, &out);
    far_add_lanes(sum, (const real *)&out, FAR_BACK, num);
  }
}
