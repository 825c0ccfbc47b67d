/* manifold_forward.inl: forward mode: how every contact of a pair of poses moves with surface 1, column by
 * column: its translation along the axes of frame 0, then its turn about them, at its origin.
 *
 * Stages are those of the forward pass, one _jvp for each. What primitives do to a point is asked of their
 * reverse pass: the slope of a distance is one, the slopes of a normal are three of them, at the points that
 * the forward pass has left with their traces. A tangent of a field [components][padded] is six of that
 * field, column by column. */
#include "kernels/items/manifold.inl"

enum { COLUMNS = 6 };

typedef struct side_tangents {
  elem *phi, *normal;                               /* of all vertices */
  elem *v, *v_phi, *v_normal, *vertex_gate;         /* of selected ones; v in frame 0 */
  elem *edge_phi, *edge_gate, *start, *along, *mix; /* mix: of a row of weights */
} side_tangents;

typedef struct manifold_tangents {
  side_tangents side[2];
  elem *p1, *p2, *d, *colliding, *near1, *near2, *gate; /* of all pairs */
  elem *x1, *x2, *f1, *f2;                              /* of listed ones, by pair */
  elem *row, *column;                                   /* sums along them */
  int32_t *row_of, *column_of;                          /* of a pair */
} manifold_tangents;

static int64_t tangents_carve(const manifold_params *p, const manifold_work *w, manifold_tangents *t,
                              elem *base) {
  carver c = {base, 0};
  for (int which = 0; which < 2; which++) {
    const side_work *s = &w->side[which];
    side_tangents *d = &t->side[which];
    d->phi = carve(&c, COLUMNS * s->n);
    d->normal = carve(&c, COLUMNS * 3 * s->n);
    d->v = carve(&c, COLUMNS * 3 * s->k);
    d->v_phi = carve(&c, COLUMNS * s->k);
    d->v_normal = carve(&c, COLUMNS * 3 * s->k);
    d->vertex_gate = carve(&c, COLUMNS * s->k);
    d->edge_phi = carve(&c, COLUMNS * s->ne);
    d->edge_gate = carve(&c, COLUMNS * s->ke);
    d->start = carve(&c, COLUMNS * 3 * s->ke);
    d->along = carve(&c, COLUMNS * 3 * s->ke);
    d->mix = carve(&c, p->softsort ? (s->n > s->ne ? s->n : s->ne) : 0);
  }
  int64_t n = w->pair.n;
  elem **one[] = {&t->d, &t->colliding, &t->near1, &t->near2, &t->gate, &t->f1, &t->f2};
  elem **three[] = {&t->p1, &t->p2, &t->x1, &t->x2};
  for (int i = 0; i < 7; i++) *one[i] = carve(&c, COLUMNS * n);
  for (int i = 0; i < 4; i++) *three[i] = carve(&c, COLUMNS * 3 * n);
  t->row = carve(&c, w->side[0].ke);
  t->column = carve(&c, w->side[1].ke);
  t->row_of = carve_int(&c, n);
  t->column_of = carve_int(&c, n);
  return c.at;
}
static int64_t tangents_scratch(const manifold_params *p) {
  manifold_work w;
  manifold_tangents t;
  manifold_carve(p, &w, 0);
  return tangents_carve(p, &w, &t, 0);
}

/* --------------------------------------------------------------------------------------------- motions */

FN vec3 axis_of(int column) {
  int k = column % 3;
  return vec(splat(k == 0), splat(k == 1), splat(k == 2));
}
/* Of a vector, and of a point, that surface 1 carries with it. */
FN vec3 turned(int column, vec3 v) { return column < 3 ? vec_zero() : cross(axis_of(column), v); }
FN vec3 carried(int column, const manifold_pose *pose, vec3 x) {
  return column < 3 ? axis_of(column) : cross(axis_of(column), sub(x, pose->t));
}

/* The slope of surface `which` in frame 0 of gphi phi + gn.normal at x. */
KERNEL vec3 surface_slope(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, real gphi,
                          vec3 gn, sdf_trace trace) {
  const sdf_view *s = &p->surface[which].sdf;
  if (!which) return sdf_vjp(s, x, gphi, gn, trace, 0);
  return mat_vec(pose->r,
                 sdf_vjp(s, mat_tvec(pose->r, sub(x, pose->t)), gphi, mat_tvec(pose->r, gn), trace, 0));
}
FN vec3 phi_slope(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, sdf_trace trace) {
  return surface_slope(p, which, pose, x, splat(1), vec_zero(), trace);
}
/* rows: slopes of the normal's components */
FN mat3 normal_slope(const manifold_params *p, int which, const manifold_pose *pose, vec3 x,
                     sdf_trace trace) {
  return mat(surface_slope(p, which, pose, x, zero(), axis_of(0), trace),
             surface_slope(p, which, pose, x, zero(), axis_of(1), trace),
             surface_slope(p, which, pose, x, zero(), axis_of(2), trace));
}
/* Tangents of phi and the normal at a point that moves by dx, on a surface that may move itself. */
FN real phi_jvp(int which, const manifold_pose *pose, vec3 slope, vec3 x, vec3 dx, int column) {
  return dot(slope, which ? sub(dx, carried(column, pose, x)) : dx);
}
FN vec3 normal_jvp(int which, const manifold_pose *pose, mat3 slope, vec3 x, vec3 normal, vec3 dx,
                   int column) {
  if (!which) return mat_vec(slope, dx);
  return add(mat_vec(slope, sub(dx, carried(column, pose, x))), turned(column, normal));
}

/* ------------------------------------------------------------------------------------------- selection */

static void place_jvp(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w,
                      side_tangents *d) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  ITEMS(i, m->nvertex) {
    vec3 x = vertex_at(which, w, load_vec(vertices, s->n, i)), normal = load_vec(s->normal, s->n, i);
    sdf_trace trace = trace_at(&s->trace, i);
    vec3 slope = phi_slope(p, !which, pose, x, trace);
    mat3 turns = normal_slope(p, !which, pose, x, trace);
    for (int k = 0; k < COLUMNS; k++) {
      vec3 dx = which ? carried(k, pose, x) : vec_zero();
      store(d->phi + k * s->n, i, phi_jvp(!which, pose, slope, x, dx, k));
      store_vec(d->normal + 3 * k * s->n, s->n, i, normal_jvp(!which, pose, turns, x, normal, dx, k));
    }
  }
  for (int k = 0; k < COLUMNS; k++)
    for (int e = 0; e < m->nedge; e++)
      d->edge_phi[k * s->ne + e] =
          K(0.5) * (d->phi[k * s->n + m->edges[2 * e]] + d->phi[k * s->n + m->edges[2 * e + 1]]);
}

/* One column, of gates sigma((threshold - phi)/tau). */
static void select_hard_jvp(const manifold_params *p, const elem *dphi, int n, int k, const int32_t *order,
                            const elem *gate, elem *dgate) {
  for (int i = 0; i < manifold_pad(k); i++) dgate[i] = 0;
  if (k == n) return;
  elem dthreshold = threshold_of(dphi, order, k);
  for (int i = 0; i < k; i++)
    dgate[i] = gate[i] * (1 - gate[i]) * K(1 / p->tau_select) * (dthreshold - dphi[order[i]]);
}
/* One column of row j of the weights: dw_i = w_i (l_i - sum w_m l_m), l_i = -d|phi_(j) - phi_i|/tau. */
static void select_soft_jvp(const manifold_params *p, const elem *phi, const elem *dphi, int n, int j,
                            const int32_t *order, const elem *row, elem *drow) {
  elem mean = 0;
  for (int i = 0; i < n; i++) {
    elem d = phi[i] - phi[order[j]], sign = d > 0 ? K(1) : d < 0 ? K(-1) : K(0);
    drow[i] = K(-1 / p->tau_select) * sign * (dphi[i] - dphi[order[j]]);
    mean += row[i] * drow[i];
  }
  for (int i = 0; i < n; i++) drow[i] = row[i] * (drow[i] - mean);
}

static void select_vertices_jvp(const manifold_params *p, int which, const manifold_pose *pose,
                                manifold_work *w, side_tangents *d) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  int k = m->kvertex, n = m->nvertex;
  for (int c = 0; c < COLUMNS; c++) {
    const elem *dphi = d->phi + c * s->n, *dnormal = d->normal + 3 * c * s->n;
    elem *dv = d->v + 3 * c * s->k;
    for (int j = 0; p->softsort && j < k; j++) {
      const elem *mix = s->vertex_mix + (int64_t)j * s->n;
      select_soft_jvp(p, s->phi, dphi, n, j, s->vertex_order, mix, d->mix);
      mix_points(d->mix, (const elem *)m->vertices, n, s->n, j, s->k, dv);
    }
    if (!p->softsort)
      select_hard_jvp(p, dphi, n, k, s->vertex_order, s->vertex_gate, d->vertex_gate + c * s->k);
    ITEMS(i, k) {
      vec3 x = vertex_at(which, w, load_vec(s->v, s->k, i));
      vec3 mixed = p->softsort ? load_vec(dv, s->k, i) : vec_zero();
      store_vec(dv, s->k, i, which ? add(mat_vec(pose->r, mixed), carried(c, pose, x)) : mixed);
      if (p->softsort) continue;
      store(d->v_phi + c * s->k, i, gather(dphi, s->vertex_order, i, k));
      store_vec(d->v_normal + 3 * c * s->k, s->k, i, gather_vec(dnormal, s->n, s->vertex_order, i, k));
    }
  }
  if (!p->softsort) return;
  clear(d->vertex_gate, COLUMNS * s->k);
  ITEMS(i, k) {
    vec3 x = vertex_at(which, w, load_vec(s->v, s->k, i)), normal = load_vec(s->v_normal, s->k, i);
    vec3 slope = phi_slope(p, !which, pose, x, trace_at(&s->v_trace, i));
    mat3 turns = normal_slope(p, !which, pose, x, trace_at(&s->v_trace, i));
    for (int c = 0; c < COLUMNS; c++) {
      vec3 dx = load_vec(d->v + 3 * c * s->k, s->k, i);
      store(d->v_phi + c * s->k, i, phi_jvp(!which, pose, slope, x, dx, c));
      store_vec(d->v_normal + 3 * c * s->k, s->k, i, normal_jvp(!which, pose, turns, x, normal, dx, c));
    }
  }
}

static void select_edges_jvp(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w,
                             side_tangents *d) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kedge, n = m->nedge, nv = s->n, ke = s->ke;
  clear(d->start, COLUMNS * 3 * ke);
  clear(d->along, COLUMNS * 3 * ke);
  clear(d->edge_gate, COLUMNS * ke);
  for (int c = 0; c < COLUMNS; c++) {
    const elem *dphi = d->edge_phi + c * s->ne;
    elem *start = d->start + 3 * c * ke, *along = d->along + 3 * c * ke;
    if (!p->softsort) select_hard_jvp(p, dphi, n, k, s->edge_order, s->edge_gate, d->edge_gate + c * ke);
    for (int j = 0; p->softsort && j < k; j++) {
      const elem *mix = s->edge_mix + (int64_t)j * s->ne;
      select_soft_jvp(p, s->edge_phi, dphi, n, j, s->edge_order, mix, d->mix);
      for (int a = 0; a < 3; a++)
        for (int e = 0; e < n; e++) {
          elem first = v[a * nv + m->edges[2 * e]], second = v[a * nv + m->edges[2 * e + 1]];
          start[a * ke + j] += d->mix[e] * first;
          along[a * ke + j] += d->mix[e] * (second - first);
        }
    }
    if (!which) continue;
    ITEMS(i, k) {
      vec3 mixed = mat_vec(pose->r, load_vec(start, ke, i)),
           spread_ = mat_vec(pose->r, load_vec(along, ke, i));
      store_vec(start, ke, i, add(mixed, carried(c, pose, load_vec(s->start, ke, i))));
      store_vec(along, ke, i, add(spread_, turned(c, load_vec(s->along, ke, i))));
    }
  }
}

/* ----------------------------------------------------------------------------------------------- pairs */

static void cross_edges_jvp(const manifold_params *p, manifold_work *w, manifold_tangents *t) {
  const pair_work *q = &w->pair;
  const side_tangents *a = &t->side[0], *b = &t->side[1];
  edge_soft soft = edge_soft_of(&p->edges);
  int columns = p->surface[1].kedge, n = manifold_group(p, 2), ka = w->side[0].ke, kb = w->side[1].ke;
  for (int i = 0; i < n; i++) {
    t->row_of[i] = i / columns;
    t->column_of[i] = i % columns;
  }
  ITEMS(i, n) {
    vec3 r = load_vec(q->r, q->n, i), t1 = load_vec(q->t1, q->n, i), t2 = load_vec(q->t2, q->n, i);
    vec3 apart = direction(sub(load_vec(q->p1, q->n, i), load_vec(q->p2, q->n, i)));
    real alpha1 = load(q->alpha1, i), alpha2 = load(q->alpha2, i);
    vec3 gr[3], gt1[3], gt2[3]; /* slopes of alpha1, alpha2, colliding */
    for (int o = 0; o < 3; o++) {
      edges_witness g = {splat(o == 0), splat(o == 1), splat(o == 2)};
      edges_closest_vjp(&soft, r, t1, t2, g, &gr[o], &gt1[o], &gt2[o]);
    }
    for (int c = 0; c < COLUMNS; c++) {
      vec3 start1 = gather_vec(a->start + 3 * c * ka, ka, t->row_of, i, n);
      vec3 along1 = gather_vec(a->along + 3 * c * ka, ka, t->row_of, i, n);
      vec3 start2 = gather_vec(b->start + 3 * c * kb, kb, t->column_of, i, n);
      vec3 along2 = gather_vec(b->along + 3 * c * kb, kb, t->column_of, i, n);
      vec3 dr = sub(start1, start2);
      real out[3];
      for (int o = 0; o < 3; o++) out[o] = dot(gr[o], dr) + dot(gt1[o], along1) + dot(gt2[o], along2);
      vec3 dp1 = add(start1, axpy(out[0], t1, scale(alpha1, along1)));
      vec3 dp2 = add(start2, axpy(out[1], t2, scale(alpha2, along2)));
      store_vec(t->p1 + 3 * c * q->n, q->n, i, dp1);
      store_vec(t->p2 + 3 * c * q->n, q->n, i, dp2);
      store(t->colliding + c * q->n, i, out[2]);
      store(t->d + c * q->n, i, dot(apart, sub(dp1, dp2)));
      store(t->gate + c * q->n, i,
            gather(a->edge_gate + c * ka, t->row_of, i, n) *
                    gather(w->side[1].edge_gate, t->column_of, i, n) +
                gather(w->side[0].edge_gate, t->row_of, i, n) *
                    gather(b->edge_gate + c * kb, t->column_of, i, n));
    }
  }
}

/* dnear_kl = near_kl (sum_m near_km dd_km - dd_kl)/tau */
static void neighbour_jvp(const manifold_params *p, const pair_work *q, manifold_tangents *t) {
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge, n = rows * columns;
  elem inv_tau = K(1 / p->tau_near);
  for (int c = 0; c < COLUMNS; c++) {
    const elem *dd = t->d + c * q->n;
    clear(t->row, rows);
    clear(t->column, columns);
    for (int i = 0; i < n; i++) {
      t->row[t->row_of[i]] += q->near1[i] * dd[i];
      t->column[t->column_of[i]] += q->near2[i] * dd[i];
    }
    for (int i = 0; i < n; i++) {
      t->near1[c * q->n + i] = q->near1[i] * inv_tau * (t->row[t->row_of[i]] - dd[i]);
      t->near2[c * q->n + i] = q->near2[i] * inv_tau * (t->column[t->column_of[i]] - dd[i]);
    }
  }
}

/* Points moved onto the surface `which` step by step, as project does. dx: six columns, replaced. */
static void project_jvp(const manifold_params *p, int which, const manifold_pose *pose, vec3 x,
                        const manifold_work *w, vec3 dx[COLUMNS]) {
  for (int i = 0; i < p->projections; i++) {
    sdf_trace trace = own_path(w);
    sdf_value v = surface_at(p, which, w, x, trace);
    vec3 slope = phi_slope(p, which, pose, x, trace);
    mat3 turns = normal_slope(p, which, pose, x, trace);
    for (int c = 0; c < COLUMNS; c++) {
      real dphi = phi_jvp(which, pose, slope, x, dx[c], c);
      vec3 dnormal = normal_jvp(which, pose, turns, x, v.normal, dx[c], c);
      dx[c] = axpy(-dphi, v.normal, axpy(-v.phi, dnormal, dx[c]));
    }
    x = axpy(-v.phi, v.normal, x);
  }
}

static void penetrate_jvp(const manifold_params *p, const manifold_pose *pose, manifold_work *w,
                          manifold_tangents *t) {
  pair_work *q = &w->pair;
  elem *const point[2] = {q->p1, q->p2}, *const moved[2] = {q->x1, q->x2};
  elem *const dpoint[2] = {t->p1, t->p2}, *const dmoved[2] = {t->x1, t->x2}, *const df[2] = {t->f1, t->f2};
  const trace_list *const traces[2] = {&q->f1_trace, &q->f2_trace};
  for (int own = 0; own < 2; own++) ITEMS(i, q->num) {
      vec3 dx[COLUMNS], x = gather_vec(moved[own], q->n, q->list, i, q->num);
      for (int c = 0; c < COLUMNS; c++)
        dx[c] = gather_vec(dpoint[own] + 3 * c * q->n, q->n, q->list, i, q->num);
      project_jvp(p, own, pose, gather_vec(point[own], q->n, q->list, i, q->num), w, dx);
      vec3 slope = phi_slope(p, !own, pose, x, trace_at(traces[own], i));
      for (int c = 0; c < COLUMNS; c++) {
        scatter_vec(dmoved[own] + 3 * c * q->n, q->n, q->list, i, q->num, dx[c]);
        scatter(df[own] + c * q->n, q->list, i, q->num, phi_jvp(!own, pose, slope, x, dx[c], c));
      }
    }
}

/* One contact of a judged pair: from tangents of all that it is made of. */
FN contact_out judge_side_jvp(const manifold_params *p, const judged *j, const judged *d, int second) {
  vec3 delta = sub(j->p1, j->p2), ddelta = sub(d->p1, d->p2);
  vec3 n = second ? j->n1 : j->n2, dn = second ? d->n1 : d->n2;
  real sign = splat(second ? -1 : 1), near = second ? j->near2 : j->near1,
       dnear = second ? d->near2 : d->near1;
  contact_out out;
  out.point = second ? d->p2 : d->p1;
  if (p->paper) {
    real square = dot(delta, delta), inv = inverse_root(square + K(p->normal_square)), length = root(square);
    vec3 nbar = scale(inv, delta), dnbar = scale(inv, axpy(-dot(nbar, ddelta), nbar, ddelta));
    real g = tanh_lane(dot(n, nbar) * K(1 / p->tau_sign));
    real dg = (splat(1) - g * g) * K(1 / p->tau_sign) * (dot(dn, nbar) + dot(n, dnbar));
    real dlength = dot(delta, ddelta) * inverse(rmax(length, splat(K(MANIFOLD_POINT))));
    out.normal = axpy(dg, nbar, scale(g, dnbar));
    out.distance = sign * (dg * length + g * dlength);
  } else {
    out.normal = dn;
    out.distance = sign * (dot(dn, delta) + dot(n, ddelta));
  }
  elem inv_pen = K(-1 / p->tau_penetration), inv_clash = K(-1 / p->tau_clash);
  real penetrating = logistic((second ? j->f2 : j->f1) * inv_pen), cheap = j->colliding * near * j->gate;
  real dcheap = d->colliding * near * j->gate + j->colliding * (dnear * j->gate + near * d->gate);
  real worth = cheap * penetrating, cut = cut_at(worth, K(p->cutoff));
  real dworth =
      penetrating * (dcheap + cheap * (splat(1) - penetrating) * inv_pen * (second ? d->f2 : d->f1));
  real clashing = logistic(dot(j->n1, j->n2) * inv_clash);
  real dclash = clashing * (splat(1) - clashing) * inv_clash * (dot(d->n1, j->n2) + dot(j->n1, d->n2));
  out.activity = dworth * (cut + worth * cut_slope(worth, K(p->cutoff))) * clashing + worth * cut * dclash;
  return out;
}

static void leave_pairs_jvp(const manifold_params *p, const pair_work *q, const manifold_tangents *t, int c,
                            elem *first, elem *second) {
  ITEMS(i, manifold_group(p, 2)) {
    vec3 dp1 = load_vec(t->p1 + 3 * c * q->n, q->n, i), dp2 = load_vec(t->p2 + 3 * c * q->n, q->n, i);
    vec3 n = direction(sub(load_vec(q->p1, q->n, i), load_vec(q->p2, q->n, i))), ddelta = sub(dp1, dp2);
    real inv = inverse(rmax(load(q->d, i), splat(K(MANIFOLD_POINT))));
    vec3 dn = scale(inv, axpy(-dot(n, ddelta), n, ddelta));
    dn = vec_sel(gt(load(q->d, i), zero()), dn, vec_zero());
    for (int side = 0; side < 2; side++) {
      elem *group = side ? second : first;
      store_vec(group, q->n, i, side ? dp2 : dp1);
      store(group + 3 * q->n, i, load(t->d + c * q->n, i));
      store_vec(group + 4 * q->n, q->n, i, side ? scale(splat(-1), dn) : dn);
      store(group + 7 * q->n, i, zero());
    }
  }
}

/* out: a column's contacts */
static void judge_jvp(const manifold_params *p, const manifold_pose *pose, manifold_work *w,
                      const manifold_tangents *t, elem *out, int64_t column_size) {
  pair_work *q = &w->pair;
  const int32_t *list = q->judged;
  int num = q->num_judged;
  for (int c = 0; c < COLUMNS && num < manifold_group(p, 2); c++)
    leave_pairs_jvp(p, q, t, c, group_at(p, out + c * column_size, 2), group_at(p, out + c * column_size, 3));
  ITEMS(i, num) {
    judged j = judged_at(q, i), d;
    j.n1 = load_vec(q->n1, q->n, i);
    j.n2 = load_vec(q->n2, q->n, i);
    mat3 turns1 = normal_slope(p, 0, pose, j.p1, trace_at(&q->n1_trace, i));
    mat3 turns2 = normal_slope(p, 1, pose, j.p2, trace_at(&q->n2_trace, i));
    for (int c = 0; c < COLUMNS; c++) {
      d.p1 = gather_vec(t->x1 + 3 * c * q->n, q->n, list, i, num);
      d.p2 = gather_vec(t->x2 + 3 * c * q->n, q->n, list, i, num);
      d.f1 = gather(t->f1 + c * q->n, list, i, num);
      d.f2 = gather(t->f2 + c * q->n, list, i, num);
      d.colliding = gather(t->colliding + c * q->n, list, i, num);
      d.near1 = gather(t->near1 + c * q->n, list, i, num);
      d.near2 = gather(t->near2 + c * q->n, list, i, num);
      d.gate = gather(t->gate + c * q->n, list, i, num);
      d.n1 = normal_jvp(0, pose, turns1, j.p1, j.n1, d.p1, c);
      d.n2 = normal_jvp(1, pose, turns2, j.p2, j.n2, d.p2, c);
      for (int second = 0; second < 2; second++)
        put_contact(group_at(p, out + c * column_size, 2 + second), q->n, list, i, num,
                    judge_side_jvp(p, &j, &d, second));
    }
  }
}

static void vertex_contacts_jvp(const manifold_params *p, int which, manifold_work *w, const side_tangents *d,
                                int c, elem *group) {
  side_work *s = &w->side[which];
  elem inv_pen = K(-1 / p->tau_penetration);
  ITEMS(i, p->surface[which].kvertex) {
    real penetrating = logistic(load(s->v_phi, i) * inv_pen), dphi = load(d->v_phi + c * s->k, i);
    store_vec(group, s->k, i, load_vec(d->v + 3 * c * s->k, s->k, i));
    store(group + 3 * s->k, i, dphi);
    store_vec(group + 4 * s->k, s->k, i, load_vec(d->v_normal + 3 * c * s->k, s->k, i));
    store(group + 7 * s->k, i,
          penetrating * (load(d->vertex_gate + c * s->k, i) +
                         load(s->vertex_gate, i) * (splat(1) - penetrating) * inv_pen * dphi));
  }
}

/* After manifold_contacts, on the same scratch. Not for teams. */
static void manifold_jacobian(const manifold_params *p, manifold_job *job) {
  manifold_work *w = (manifold_work *)job->scratch;
  manifold_tangents t;
  const manifold_pose *pose = &w->pose;
  tangents_carve(p, w, &t, (elem *)job->tangents);
  elem *out = (elem *)job->jacobian;
  int64_t column_size = group_at(p, out, MANIFOLD_GROUPS) - out;
  int edges = manifold_group(p, 2) > 0;
  for (int which = 0; which < 2; which++) {
    side_tangents *d = &t.side[which];
    if (!p->side[which] && !edges) continue;
    place_jvp(p, which, pose, w, d);
    if (p->side[which]) {
      select_vertices_jvp(p, which, pose, w, d);
      for (int c = 0; c < COLUMNS; c++)
        vertex_contacts_jvp(p, which, w, d, c, group_at(p, out + c * column_size, which));
    }
    if (edges) select_edges_jvp(p, which, pose, w, d);
  }
  if (!edges) return;
  cross_edges_jvp(p, w, &t);
  neighbour_jvp(p, &w->pair, &t);
  penetrate_jvp(p, pose, w, &t);
  judge_jvp(p, pose, w, &t, out, column_size);
}
