/* manifold_pairs.inl: pairs of selected edges: closest points, how near a pair is among its row and column,
 * how deep its points lie, and what contact that makes. */
#include "kernels/items/manifold_select.inl"

/* What is done for pairs of edges by rows k and columns l of their table: sums along a row belong to the
 * thread of k, all else to that of l, so that either is added up in order. */

/* Copies numbers of edges to their pairs: pair k l has k's of surface 0 and l's of surface 1; past the end
 * the last one's. */
KERNEL void spread(elem *to, const elem *from, int rows, int columns, int by_row) {
  int n = rows * columns;
  for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) to[k * columns + l] = from[by_row ? k : l];
  TEAM_FOR(i, manifold_pad(n) - n) to[n + i] = from[by_row ? rows - 1 : columns - 1];
}

KERNEL void pair_up(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  const side_work *a = &w->side[0], *b = &w->side[1];
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  for (int c = 0; c < 3; c++) {
    spread(q->p1 + c * q->n, a->start + c * a->ke, rows, columns, 1);
    spread(q->t1 + c * q->n, a->along + c * a->ke, rows, columns, 1);
    spread(q->p2 + c * q->n, b->start + c * b->ke, rows, columns, 0);
    spread(q->t2 + c * q->n, b->along + c * b->ke, rows, columns, 0);
  }
  for (int k = 0; k < rows; k++)
    TEAM_FOR(l, columns) q->gate[k * columns + l] = a->edge_gate[k] * b->edge_gate[l];
  TEAM_SYNC();
}
/* Sums pairs' cotangents over the partners of each edge. */
KERNEL void pair_up_vjp(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  side_work *a = &w->side[0], *b = &w->side[1];
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  for (int c = 0; c < 3; c++) {
    const elem *s1 = q->g_start1 + c * q->n, *t1 = q->g_along1 + c * q->n;
    const elem *s2 = q->g_start2 + c * q->n, *t2 = q->g_along2 + c * q->n;
    TEAM_FOR(k, rows) for (int l = 0; l < columns; l++) {
      a->g_start[c * a->ke + k] += s1[k * columns + l];
      a->g_along[c * a->ke + k] += t1[k * columns + l];
    }
    for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) {
        b->g_start[c * b->ke + l] += s2[k * columns + l];
        b->g_along[c * b->ke + l] += t2[k * columns + l];
      }
  }
  TEAM_FOR(k, rows)
  for (int l = 0; l < columns; l++) a->g_edge_gate[k] += q->g_gate[k * columns + l] * b->edge_gate[l];
  for (int k = 0; k < rows; k++)
    TEAM_FOR(l, columns) b->g_edge_gate[l] += q->g_gate[k * columns + l] * a->edge_gate[k];
  TEAM_SYNC();
}

KERNEL void cross_edges(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  edge_soft soft = edge_soft_of(&p->edges);
  ITEMS(i, manifold_group(p, 2)) {
    vec3 start1 = load_vec(q->p1, q->n, i), start2 = load_vec(q->p2, q->n, i), r = sub(start1, start2);
    vec3 t1 = load_vec(q->t1, q->n, i), t2 = load_vec(q->t2, q->n, i);
    edges_witness e = edges_closest(&soft, r, t1, t2);
    store_vec(q->r, q->n, i, r);
    store(q->alpha1, i, e.alpha1);
    store(q->alpha2, i, e.alpha2);
    store(q->colliding, i, e.colliding);
    store_vec(q->p1, q->n, i, axpy(e.alpha1, t1, start1));
    store_vec(q->p2, q->n, i, axpy(e.alpha2, t2, start2));
    store(q->d, i, norm(axpy(e.alpha1, t1, axpy(-e.alpha2, t2, r))));
  }
  TEAM_SYNC();
}
KERNEL void cross_edges_vjp(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  edge_soft soft = edge_soft_of(&p->edges);
  int n = manifold_group(p, 2);
  ITEMS(i, n) {
    vec3 r = load_vec(q->r, q->n, i), t1 = load_vec(q->t1, q->n, i), t2 = load_vec(q->t2, q->n, i);
    vec3 delta = sub(load_vec(q->p1, q->n, i), load_vec(q->p2, q->n, i));
    real gd = load(q->g_d, i) * inverse(rmax(load(q->d, i), splat(K(MANIFOLD_POINT))));
    vec3 g1 = axpy(gd, delta, load_vec(q->g_p1, q->n, i)), g2 = axpy(-gd, delta, load_vec(q->g_p2, q->n, i));
    vec3 gr = vec_zero(), gt1 = vec_zero(), gt2 = vec_zero();
    edges_witness g = {dot(g1, t1), dot(g2, t2), load(q->g_colliding, i)};
    if (!vec_zero_everywhere(
            vec_max(vec(rabs(g.alpha1), rabs(g.alpha2), rabs(g.colliding)),
                    vec_max(vec(max_abs(g1), zero(), zero()), vec(max_abs(g2), zero(), zero())))))
      edges_closest_vjp(&soft, r, t1, t2, g, &gr, &gt1, &gt2);
    mask there = exists(i, n);
    store_vec(q->g_start1, q->n, i, vec_sel(there, add(g1, gr), vec_zero()));
    store_vec(q->g_along1, q->n, i, vec_sel(there, axpy(load(q->alpha1, i), g1, gt1), vec_zero()));
    store_vec(q->g_start2, q->n, i, vec_sel(there, sub(g2, gr), vec_zero()));
    store_vec(q->g_along2, q->n, i, vec_sel(there, axpy(load(q->alpha2, i), g2, gt2), vec_zero()));
  }
  TEAM_SYNC();
}

/* Softmax of -d/tau along rows (near1) and columns (near2). */
KERNEL void neighbour(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  elem inv_tau = K(1 / p->tau_near);
  TEAM_FOR(k, rows) {
    elem least = ELEM_HUGE;
    for (int l = 0; l < columns; l++) least = q->d[k * columns + l] < least ? q->d[k * columns + l] : least;
    q->row[k] = least;
  }
  TEAM_FOR(l, columns) q->column[l] = ELEM_HUGE;
  for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) {
      elem d = q->d[k * columns + l];
      q->column[l] = d < q->column[l] ? d : q->column[l];
    }
  TEAM_SYNC();
  spread(q->near1, q->row, rows, columns, 1);
  spread(q->near2, q->column, rows, columns, 0);
  TEAM_SYNC();
  ITEMS(i, rows * columns) {
    real d = load(q->d, i);
    store(q->near1, i, exponential((load(q->near1, i) - d) * inv_tau));
    store(q->near2, i, exponential((load(q->near2, i) - d) * inv_tau));
  }
  TEAM_SYNC();
  TEAM_FOR(k, rows) {
    elem sum = 0;
    for (int l = 0; l < columns; l++) sum += q->near1[k * columns + l];
    q->row[k] = 1 / sum;
  }
  TEAM_FOR(l, columns) q->column[l] = 0;
  for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) q->column[l] += q->near2[k * columns + l];
  TEAM_FOR(l, columns) q->column[l] = 1 / q->column[l];
  TEAM_SYNC();
  for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) {
      q->near1[k * columns + l] *= q->row[k];
      q->near2[k * columns + l] *= q->column[l];
    }
  TEAM_SYNC();
}
/* dnear_kl = near_kl (sum_m near_km dd_km - dd_kl)/tau */
KERNEL void neighbour_vjp(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  elem inv_tau = K(1 / p->tau_near);
  TEAM_FOR(k, rows) {
    elem sum = 0;
    for (int i = k * columns; i < (k + 1) * columns; i++) sum += q->g_near1[i] * q->near1[i];
    q->row[k] = sum;
  }
  TEAM_FOR(l, columns) q->column[l] = 0;
  for (int k = 0; k < rows; k++)
    TEAM_FOR(l, columns) q->column[l] += q->g_near2[k * columns + l] * q->near2[k * columns + l];
  TEAM_SYNC();
  for (int k = 0; k < rows; k++) TEAM_FOR(l, columns) {
      int i = k * columns + l;
      q->g_d[i] += inv_tau *
                   (q->near1[i] * (q->row[k] - q->g_near1[i]) + q->near2[i] * (q->column[l] - q->g_near2[i]));
    }
  TEAM_SYNC();
}

/* One pair of edges where it is judged: closest points p1, p2, normals and distances there. */
typedef struct judged {
  vec3 p1, p2, n1, n2;
  real f1, f2; /* distance of p1 to surface 1, of p2 to surface 0 */
  real colliding, near1, near2, gate;
} judged;
/* One contact. */
typedef struct contact_out {
  vec3 point, normal;
  real distance, activity;
} contact_out;

FN real tanh_lane(real x) { return K(2) * logistic(K(2) * x) - K(1); }
/* 1 above 2 cutoff, 0 below cutoff, smooth to the second derivative: 6 t^5 - 15 t^4 + 10 t^3 */
FN real cut_at(real x, elem cutoff) {
  if (!(cutoff > 0)) return splat(1);
  real t = rmin(rmax(x * (1 / cutoff) - K(1), zero()), splat(1));
  return t * t * t * (t * (t * K(6) - K(15)) + K(10));
}
FN real cut_slope(real x, elem cutoff) {
  if (!(cutoff > 0)) return zero();
  real t = rmin(rmax(x * (1 / cutoff) - K(1), zero()), splat(1)), s = t * (splat(1) - t);
  return s * s * K(30) * (1 / cutoff);
}

/* The witness on surface 0 (second: on surface 1). paper: n = g nbar, distance = g d on surface 0, -g d on
 * surface 1, g = tanh(n.nbar/tau). linear: n = the other surface's normal, distance = n.(p - other p). */
FN void judge_side(const manifold_params *p, const judged *j, int second, contact_out *out) {
  vec3 delta = sub(j->p1, j->p2), n = second ? j->n1 : j->n2;
  real sign = splat(second ? -1 : 1), cheap = j->colliding * (second ? j->near2 : j->near1) * j->gate;
  out->point = second ? j->p2 : j->p1;
  if (p->paper) {
    real square = dot(delta, delta);
    vec3 nbar = scale(inverse_root(square + K(p->normal_square)), delta);
    real g = tanh_lane(dot(n, nbar) * K(1 / p->tau_sign));
    out->normal = scale(g, nbar);
    out->distance = sign * g * root(square);
  } else {
    out->normal = n;
    out->distance = sign * dot(n, delta);
  }
  real penetrating = logistic((second ? j->f2 : j->f1) * K(-1 / p->tau_penetration));
  real clashing = logistic(dot(j->n1, j->n2) * K(-1 / p->tau_clash));
  real worth = cheap * penetrating;
  out->activity = worth * cut_at(worth, K(p->cutoff)) * clashing;
}
/* Adds the cotangents of what a judged pair is made of. */
FN void judge_side_vjp(const manifold_params *p, const judged *j, int second, contact_out g, judged *bar) {
  vec3 delta = sub(j->p1, j->p2), n = second ? j->n1 : j->n2, gdelta, gn;
  real sign = splat(second ? -1 : 1), near = second ? j->near2 : j->near1,
       cheap = j->colliding * near * j->gate;
  if (p->paper) {
    real square = dot(delta, delta), inv = inverse_root(square + K(p->normal_square)), d = root(square);
    vec3 nbar = scale(inv, delta);
    real g_ = tanh_lane(dot(n, nbar) * K(1 / p->tau_sign));
    real gg = (dot(g.normal, nbar) + sign * g.distance * d) * (splat(1) - g_ * g_) * K(1 / p->tau_sign);
    vec3 gnbar = axpy(gg, n, scale(g_, g.normal));
    gn = scale(gg, nbar);
    gdelta = scale(inv, axpy(-dot(nbar, gnbar), nbar, gnbar));
    gdelta = axpy(sign * g.distance * g_ * inverse(rmax(d, splat(K(MANIFOLD_POINT)))), delta, gdelta);
  } else {
    gn = axpy(sign * g.distance, delta, g.normal);
    gdelta = scale(sign * g.distance, n);
  }
  elem inv_pen = K(-1 / p->tau_penetration), inv_clash = K(-1 / p->tau_clash);
  real penetrating = logistic((second ? j->f2 : j->f1) * inv_pen),
       clashing = logistic(dot(j->n1, j->n2) * inv_clash);
  real worth = cheap * penetrating, cut = cut_at(worth, K(p->cutoff)),
       activity = worth * cut * clashing * g.activity;
  real gworth = g.activity * clashing * (cut + worth * cut_slope(worth, K(p->cutoff)));
  real gclash = activity * (splat(1) - clashing) * inv_clash, gcheap = gworth * penetrating;
  real gf = gworth * worth * (splat(1) - penetrating) * inv_pen;
  bar->n1 = axpy(gclash, j->n2, bar->n1);
  bar->n2 = axpy(gclash, j->n1, bar->n2);
  bar->p1 = add(bar->p1, gdelta);
  bar->p2 = sub(bar->p2, gdelta);
  bar->colliding = bar->colliding + gcheap * near * j->gate;
  bar->gate = bar->gate + gcheap * near * j->colliding;
  real gnear = gcheap * j->colliding * j->gate;
  if (second) {
    bar->p2 = add(bar->p2, g.point);
    bar->n1 = add(bar->n1, gn);
    bar->f2 = bar->f2 + gf;
    bar->near2 = bar->near2 + gnear;
  } else {
    bar->p1 = add(bar->p1, g.point);
    bar->n2 = add(bar->n2, gn);
    bar->f1 = bar->f1 + gf;
    bar->near1 = bar->near1 + gnear;
  }
}

/* Fields of a contact in its group. */
FN void put_contact(elem *group, int stride, const int32_t *index, int i, int n, contact_out c) {
  scatter_vec(group, stride, index, i, n, c.point);
  scatter(group + 3 * stride, index, i, n, c.distance);
  scatter_vec(group + 4 * stride, stride, index, i, n, c.normal);
  scatter(group + 7 * stride, index, i, n, c.activity);
}
FN contact_out get_contact(const elem *group, int stride, const int32_t *index, int i, int n) {
  contact_out c;
  mask there = exists(i, n);
  c.point = vec_sel(there, gather_vec(group, stride, index, i, n), vec_zero());
  c.distance = sel(there, gather(group + 3 * stride, index, i, n), zero());
  c.normal = vec_sel(there, gather_vec(group + 4 * stride, stride, index, i, n), vec_zero());
  c.activity = sel(there, gather(group + 7 * stride, index, i, n), zero());
  return c;
}
KERNEL elem *group_at(const manifold_params *p, const void *contacts, int group) {
  elem *at = (elem *)contacts;
  for (int g = 0; g < group; g++) at += (int64_t)MANIFOLD_CONTACT * manifold_pad(manifold_group(p, g));
  return at;
}

/* What pairs must be worth to be looked at: more than this. */
FN elem worthless(const manifold_params *p) { return p->cutoff > 0 ? K(p->cutoff) : K(-1); }
/* Pairs whose activity may reach the cut-off by what is known without looking at surfaces, in order. */
KERNEL void list_pairs(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int n = manifold_group(p, 2);
  TEAM_FOR(i, n)
  q->worth[i] = q->colliding[i] * (q->near1[i] > q->near2[i] ? q->near1[i] : q->near2[i]) * q->gate[i];
  TEAM_SYNC();
  int num = list_those(q->worth, n, ABOVE, worthless(p), n, q->list, w->board);
  if (LEADER) q->num = num;
  TEAM_SYNC();
}

/* What is not judged: its closest points, apart by d along the line between them, and not active. */
KERNEL void leave_pairs(const manifold_params *p, const pair_work *q, elem *first, elem *second) {
  ITEMS(i, manifold_group(p, 2)) {
    vec3 p1 = load_vec(q->p1, q->n, i), p2 = load_vec(q->p2, q->n, i), n = direction(sub(p1, p2));
    for (int side = 0; side < 2; side++) {
      elem *group = side ? second : first;
      store_vec(group, q->n, i, side ? p2 : p1);
      store(group + 3 * q->n, i, load(q->d, i));
      store_vec(group + 4 * q->n, q->n, i, side ? scale(splat(-1), n) : n);
      store(group + 7 * q->n, i, zero());
    }
  }
}
/* Pairs that were not judged: their points, the distance between them and its direction. */
KERNEL void leave_pairs_vjp(const manifold_params *p, pair_work *q, const elem *first, const elem *second) {
  TEAM_FOR(i, manifold_group(p, 2)) {
    if (q->worth[i] > worthless(p)) continue;
    elem delta[3], gn[3], d = q->d[i], along = 0;
    for (int c = 0; c < 3; c++) {
      delta[c] = d > 0 ? (q->p1[c * q->n + i] - q->p2[c * q->n + i]) / d : 0;
      gn[c] = first[(4 + c) * q->n + i] - second[(4 + c) * q->n + i];
      along += delta[c] * gn[c];
    }
    for (int c = 0; c < 3; c++) {
      elem g = d > 0 ? (gn[c] - along * delta[c]) / d : 0;
      q->g_p1[c * q->n + i] = first[c * q->n + i] + g;
      q->g_p2[c * q->n + i] = second[c * q->n + i] - g;
    }
    q->g_d[i] = first[3 * q->n + i] + second[3 * q->n + i];
  }
}

/* How deep the closest points of listed pairs lie in the other surface; those whose activity may reach the
 * cut-off so are judged. */
KERNEL void penetrate(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  elem inv_pen = K(-1 / p->tau_penetration);
  const int32_t *list = q->list;
  int n = manifold_group(p, 2), num = q->num;
  ITEMS(i, num) {
    vec3 x1 = project(p, 0, w, gather_vec(q->p1, q->n, list, i, num));
    vec3 x2 = project(p, 1, w, gather_vec(q->p2, q->n, list, i, num));
    real f1 = surface_at(p, 1, w, x1, trace_at(&q->f1_trace, i)).phi;
    real f2 = surface_at(p, 0, w, x2, trace_at(&q->f2_trace, i)).phi;
    real worth = rmax(gather(q->near1, list, i, num) * logistic(f1 * inv_pen),
                      gather(q->near2, list, i, num) * logistic(f2 * inv_pen));
    scatter_vec(q->x1, q->n, list, i, num, x1);
    scatter_vec(q->x2, q->n, list, i, num, x2);
    scatter(q->f1, list, i, num, f1);
    scatter(q->f2, list, i, num, f2);
    scatter(q->worth, list, i, num,
            worth * gather(q->colliding, list, i, num) * gather(q->gate, list, i, num));
  }
  TEAM_SYNC();
  int num_judged = list_those(q->worth, n, ABOVE, worthless(p), n, q->judged, w->board);
  if (LEADER) q->num_judged = num_judged;
  TEAM_SYNC();
}
/* Of points `own` of listed pairs, from those of where they were moved: x to p. A distance has no normal that
 * turns with its surface. */
KERNEL void penetrate_side_vjp(const manifold_params *p, int own, manifold_work *w,
                               const manifold_bars *bars) {
  pair_work *q = &w->pair;
  const int32_t *list = q->list;
  int num = q->num;
  const elem *at = own ? q->x2 : q->x1, *from = own ? q->p2 : q->p1, *g_f = own ? q->g_f2 : q->g_f1;
  elem *g_x = own ? q->g_x2 : q->g_x1;
  const trace_list *traces = own ? &q->f2_trace : &q->f1_trace;
  ITEMS(i, num) {
    mask there = exists(i, num);
    vec3 x = gather_vec(at, q->n, list, i, num), none = vec_zero();
    vec3 g = vec_sel(there, gather_vec(g_x, q->n, list, i, num), none);
    real gf = sel(there, gather(g_f, list, i, num), zero());
    g = add(g, surface_vjp(p, !own, w, x, none, gf, none, trace_at(traces, i), bars, i));
    if (p->projections > 0) g = project_vjp(p, own, w, gather_vec(from, q->n, list, i, num), g, bars, i);
    scatter_vec(g_x, q->n, list, i, num, g);
  }
}
/* Adds to the cotangents of closest points. */
KERNEL void penetrate_vjp(const manifold_params *p, manifold_work *w, const manifold_bars *bars) {
  pair_work *q = &w->pair;
  penetrate_side_vjp(p, 0, w, bars);
  penetrate_side_vjp(p, 1, w, bars);
  TEAM_SYNC();
  TEAM_FOR(i, 3 * q->n) {
    q->g_p1[i] += q->g_x1[i];
    q->g_p2[i] += q->g_x2[i];
  }
  TEAM_SYNC();
}

FN judged judged_at(const pair_work *q, int i) {
  judged j;
  const int32_t *list = q->judged;
  int num = q->num_judged;
  j.p1 = gather_vec(q->x1, q->n, list, i, num);
  j.p2 = gather_vec(q->x2, q->n, list, i, num);
  j.f1 = gather(q->f1, list, i, num);
  j.f2 = gather(q->f2, list, i, num);
  j.colliding = gather(q->colliding, list, i, num);
  j.near1 = gather(q->near1, list, i, num);
  j.near2 = gather(q->near2, list, i, num);
  j.gate = gather(q->gate, list, i, num);
  return j;
}
KERNEL void judge(const manifold_params *p, manifold_work *w, elem *first, elem *second) {
  pair_work *q = &w->pair;
  if (q->num_judged < manifold_group(p, 2)) leave_pairs(p, q, first, second);
  TEAM_SYNC();
  ITEMS(i, q->num_judged) {
    judged j = judged_at(q, i);
    j.n1 = surface_at(p, 0, w, j.p1, trace_at(&q->n1_trace, i)).normal;
    j.n2 = surface_at(p, 1, w, j.p2, trace_at(&q->n2_trace, i)).normal;
    store_vec(q->n1, q->n, i, j.n1); /* by place in the list */
    store_vec(q->n2, q->n, i, j.n2);
    contact_out c;
    judge_side(p, &j, 0, &c);
    put_contact(first, q->n, q->judged, i, q->num_judged, c);
    judge_side(p, &j, 1, &c);
    put_contact(second, q->n, q->judged, i, q->num_judged, c);
  }
}
/* To everything but the normals' points. */
KERNEL void judge_sides_vjp(const manifold_params *p, manifold_work *w, const elem *first,
                            const elem *second) {
  pair_work *q = &w->pair;
  const int32_t *list = q->judged;
  int num = q->num_judged;
  ITEMS(i, num) {
    contact_out g1 = get_contact(first, q->n, list, i, num), g2 = get_contact(second, q->n, list, i, num);
    judged j = judged_at(q, i), bar;
    bar.p1 = bar.p2 = bar.n1 = bar.n2 = vec_zero();
    bar.f1 = bar.f2 = bar.colliding = bar.near1 = bar.near2 = bar.gate = zero();
    j.n1 = load_vec(q->n1, q->n, i);
    j.n2 = load_vec(q->n2, q->n, i);
    judge_side_vjp(p, &j, 0, g1, &bar);
    judge_side_vjp(p, &j, 1, g2, &bar);
    scatter(q->g_f1, list, i, num, bar.f1);
    scatter(q->g_f2, list, i, num, bar.f2);
    scatter(q->g_colliding, list, i, num, bar.colliding);
    scatter(q->g_near1, list, i, num, bar.near1);
    scatter(q->g_near2, list, i, num, bar.near2);
    scatter(q->g_gate, list, i, num, bar.gate);
    scatter_vec(q->g_x1, q->n, list, i, num, bar.p1);
    scatter_vec(q->g_x2, q->n, list, i, num, bar.p2);
    store_vec(q->g_n1, q->n, i, bar.n1); /* by place in the list */
    store_vec(q->g_n2, q->n, i, bar.n2);
  }
}
/* A normal turns with the point it is taken at. */
KERNEL void judge_normals_vjp(const manifold_params *p, int own, manifold_work *w,
                              const manifold_bars *bars) {
  pair_work *q = &w->pair;
  const int32_t *list = q->judged;
  int num = q->num_judged;
  const elem *at = own ? q->x2 : q->x1, *normal = own ? q->n2 : q->n1, *g_n = own ? q->g_n2 : q->g_n1;
  elem *g_x = own ? q->g_x2 : q->g_x1;
  const trace_list *traces = own ? &q->n2_trace : &q->n1_trace;
  ITEMS(i, num) {
    vec3 x = gather_vec(at, q->n, list, i, num), n = load_vec(normal, q->n, i);
    vec3 g = surface_vjp(p, own, w, x, n, zero(), load_vec(g_n, q->n, i), trace_at(traces, i), bars, i);
    scatter_vec(g_x, q->n, list, i, num, add(gather_vec(g_x, q->n, list, i, num), g));
  }
}
KERNEL void judge_vjp(const manifold_params *p, manifold_work *w, const manifold_bars *bars,
                      const elem *first, const elem *second) {
  judge_sides_vjp(p, w, first, second);
  judge_normals_vjp(p, 0, w, bars);
  judge_normals_vjp(p, 1, w, bars);
  TEAM_SYNC();
}
