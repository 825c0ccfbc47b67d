/* manifold_select.inl: vertices in the other surface's distance, and the choice of the deepest ones and of
 * edges: hard, with gates that fade before a choice changes, or SoftSort. */
#include "kernels/items/manifold_surface.inl"

KERNEL void place(const manifold_params *p, int which, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  ITEMS(i, m->nvertex) {
    vec3 x = vertex_at(which, w, load_vec(vertices, s->n, i));
    sdf_value v = surface_at(p, !which, w, x, trace_at(&s->trace, i));
    store(s->phi, i, v.phi);
    store_vec(s->normal, s->n, i, v.normal);
  }
  TEAM_SYNC();
  TEAM_FOR(e, m->nedge) s->edge_phi[e] = K(0.5) * (s->phi[m->edges[2 * e]] + s->phi[m->edges[2 * e + 1]]);
  TEAM_SYNC();
}
/* From vertices in frame 0, their distances and normals to poses and to the vertices themselves. */
KERNEL void place_vjp(const manifold_params *p, int which, manifold_work *w, const manifold_bars *bars,
                      elem *bar) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  ITEMS(i, m->nvertex) {
    vec3 x = vertex_at(which, w, load_vec(vertices, s->n, i)), g = load_vec(s->g_world, s->n, i);
    g = add(g, surface_vjp(p, !which, w, x, load_vec(s->normal, s->n, i), load(s->g_phi, i),
                           load_vec(s->g_normal, s->n, i), trace_at(&s->trace, i), bars, i));
    if (which) {
      add_slots_vec(bars->sums, i, g);
      add_slots_vec(bars->sums + 3 * SLOTS, i, cross(sub(x, w->pose.t), g));
      g = mat_tvec(w->pose.r, g);
    }
    if (bar) store_vec(bar, s->n, i, g);
  }
}

typedef union elem_key {
  elem x;
  elem_integer key;
} elem_key;
/* Bits as an integer in the order of the numbers they stand for; its own inverse. */
FN elem_integer in_order(elem_integer bits) {
  return bits < 0 ? (elem_integer)(~(elem_bits)bits ^ ((elem_bits)1 << (8 * sizeof(elem) - 1))) : bits;
}
KERNEL int count_to(const elem *a, int n, elem most, team_board *board) {
  real count = zero();
  int whole = n / ABUT_LANES * ABUT_LANES, total = 0, before;
  ITEMS(i, whole) count = count + sel(le(load(a, i), splat(most)), splat(1), zero());
  for (int l = 0; l < ABUT_LANES; l++) total += (int)((const elem *)&count)[l];
  for (int i = whole; i < n; i++) total += a[i] <= most;
  return team_sum(board, total, &before);
}
/* The smallest and the largest of a[0 .. n). */
KERNEL void range_of(const elem *a, int n, team_board *board, elem *least, elem *most) {
  *least = *most = a[0];
  TEAM_FOR(i, n) {
    *least = a[i] < *least ? a[i] : *least;
    *most = a[i] > *most ? a[i] : *most;
  }
  if (ABUT_TEAM == 1) return;
  board->least[TEAM_RANK] = *least;
  board->most[TEAM_RANK] = *most;
  TEAM_SYNC();
  for (int i = 0; i < ABUT_TEAM; i++) {
    *least = board->least[i] < *least ? board->least[i] : *least;
    *most = board->most[i] > *most ? board->most[i] : *most;
  }
  TEAM_SYNC();
}
/* The k-th smallest of a[0 .. n), k from 1: bisection between the smallest and the largest. */
KERNEL elem smallest(const elem *a, int n, int k, team_board *board) {
  elem_key low, high, middle;
  range_of(a, n, board, &low.x, &high.x);
  elem_integer from = in_order(low.key), to = in_order(high.key);
  while (from < to) {
    elem_integer half = from + (elem_integer)(((elem_bits)to - (elem_bits)from) / 2);
    middle.key = in_order(half);
    if (count_to(a, n, middle.x, board) >= k)
      to = half;
    else
      from = half + 1;
  }
  middle.key = in_order(to);
  return middle.x;
}

/* order[0 .. k): indices of the k smallest of phi[0 .. n), smallest first, ties by index. */
KERNEL void order_of(const elem *phi, int n, int k, int32_t *order, team_board *board) {
  elem last = smallest(phi, n, k, board);
  int num = list_those(phi, n, BELOW, last, k, order, board);
  list_those(phi, n, EQUAL, last, k - num, order + num, board);
  if (LEADER) /* by insertion; what equals the last stays where it is */
    for (int i = 1; i < num; i++) {
      int32_t moved = order[i];
      int at = i;
      for (; at > 0 && phi[order[at - 1]] > phi[moved]; at--) order[at] = order[at - 1];
      order[at] = moved;
    }
  TEAM_SYNC();
}

/* Half way between the last that is selected and the first that is not. */
FN elem threshold_of(const elem *phi, const int32_t *order, int k) {
  return K(0.5) * (phi[order[k - 1]] + phi[order[k]]);
}

/* The k deepest, and their gates sigma((threshold - phi)/tau): what is about to be replaced has faded to 1/2.
 */
KERNEL void select_hard(const manifold_params *p, const elem *phi, int n, int k, int32_t *order, elem *gate,
                        team_board *board) {
  if (k == n) {
    TEAM_FOR(i, n) order[i] = i;
    TEAM_FOR(i, manifold_pad(k)) gate[i] = 1;
    TEAM_SYNC();
    return;
  }
  order_of(phi, n, k + 1, order, board);
  elem threshold = threshold_of(phi, order, k);
  ITEMS(i, k) store(gate, i, logistic((splat(threshold) - gather(phi, order, i, k)) * K(1 / p->tau_select)));
  TEAM_SYNC();
}
/* Cotangents of all phi from those of the gates. */
KERNEL void select_hard_vjp(const manifold_params *p, int n, int k, const int32_t *order, const elem *gate,
                            const elem *g_gate, elem *g_phi) {
  if (k < n && LEADER) {
    elem total = 0;
    for (int i = 0; i < k; i++) {
      elem g = g_gate[i] * gate[i] * (1 - gate[i]) * K(1 / p->tau_select);
      g_phi[order[i]] -= g;
      total += g;
    }
    g_phi[order[k - 1]] += K(0.5) * total;
    g_phi[order[k]] += K(0.5) * total;
  }
  TEAM_SYNC();
}

/* SoftSort: row j of the weights is the softmax of -|phi_(j) - phi_i|/tau, phi_(j) the j-th smallest. Sums
 * are every thread's own, all of them the same. */
KERNEL void select_soft(const manifold_params *p, const elem *phi, int n, int k, int32_t *order, elem *mix,
                        team_board *board) {
  int padded = manifold_pad(n);
  order_of(phi, n, k, order, board);
  for (int j = 0; j < k; j++) {
    elem *row = mix + (int64_t)j * padded, sum = 0;
    real at = splat(phi[order[j]]);
    ITEMS(i, n) {
      real e = exponential(rabs(load(phi, i) - at) * K(-1 / p->tau_select));
      store(row, i, sel(exists(i, n), e, zero()));
    }
    TEAM_SYNC();
    for (int i = 0; i < n; i++) sum += row[i];
    TEAM_SYNC();
    ITEMS(i, n) store(row, i, load(row, i) * (K(1) / sum));
  }
  TEAM_SYNC();
}
/* g_row is a row's: row by row, mixes are too large to keep two of them. The leader's. */
KERNEL void select_soft_vjp(const manifold_params *p, const elem *phi, int n, int j, const int32_t *order,
                            const elem *row, const elem *g_row, elem *g_phi) {
  elem mean = 0, total = 0;
  for (int i = 0; i < n; i++) mean += row[i] * g_row[i];
  for (int i = 0; i < n; i++) { /* d|phi_(j) - phi_i|: its sign, 0 at itself */
    elem d = phi[i] - phi[order[j]], sign = d > 0 ? K(1) : d < 0 ? K(-1) : K(0);
    elem g = row[i] * (g_row[i] - mean) * K(-1 / p->tau_select) * sign;
    g_phi[i] += g;
    total += g;
  }
  g_phi[order[j]] -= total;
}

FN void mix_points(const elem *mix, const elem *from, int n, int stride, int j, int k, elem *out) {
  for (int c = 0; c < 3; c++) {
    elem sum = 0;
    for (int i = 0; i < n; i++) sum += mix[i] * from[c * stride + i];
    out[c * k + j] = sum;
  }
}

KERNEL void select_vertices(const manifold_params *p, int which, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  int k = m->kvertex, n = m->nvertex;
  if (!p->softsort) {
    select_hard(p, s->phi, n, k, s->vertex_order, s->vertex_gate, w->board);
    ITEMS(i, k) {
      store_vec(s->v, s->k, i, gather_vec(vertices, s->n, s->vertex_order, i, k));
      store(s->v_phi, i, gather(s->phi, s->vertex_order, i, k));
      store_vec(s->v_normal, s->k, i, gather_vec(s->normal, s->n, s->vertex_order, i, k));
    }
    return;
  }
  select_soft(p, s->phi, n, k, s->vertex_order, s->vertex_mix, w->board);
  TEAM_FOR(j, s->k) { /* past the end the last one */
    const elem *mix = s->vertex_mix + (int64_t)(j < k ? j : k - 1) * s->n;
    mix_points(mix, vertices, n, s->n, j, s->k, s->v);
  }
  TEAM_SYNC();
  ITEMS(i, k) {
    vec3 x = vertex_at(which, w, load_vec(s->v, s->k, i));
    sdf_value v = surface_at(p, !which, w, x, trace_at(&s->v_trace, i));
    store(s->v_phi, i, v.phi);
    store_vec(s->v_normal, s->k, i, v.normal);
    store(s->vertex_gate, i, splat(1));
  }
}
/* Cotangents v of frame 0 in surface `which`'s own. */
FN void own_frame(const manifold_work *w, int which, const elem v[3], elem out[3]) {
  const elem *r = (const elem *)(const void *)&w->pose.r; /* of the first lane: all have the same */
  for (int c = 0; c < 3; c++) {
    out[c] = which ? 0 : v[c];
    for (int i = 0; which && i < 3; i++) out[c] += r[(3 * i + c) * ABUT_LANES] * v[i];
  }
}
KERNEL void select_vertices_vjp(const manifold_params *p, int which, manifold_work *w,
                                const manifold_bars *bars) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kvertex, n = m->nvertex, nk = s->k, nv = s->n;
  if (!p->softsort) {
    select_hard_vjp(p, n, k, s->vertex_order, s->vertex_gate, s->g_vertex_gate, s->g_phi);
    TEAM_FOR(j, k) {
      int i = s->vertex_order[j];
      s->g_phi[i] += s->g_v_phi[j];
      for (int c = 0; c < 3; c++) {
        s->g_normal[c * nv + i] += s->g_v_normal[c * nk + j];
        s->g_world[c * nv + i] += s->g_v[c * nk + j];
      }
    }
    TEAM_SYNC();
    return;
  }
  ITEMS(i, k) {
    vec3 x = vertex_at(which, w, load_vec(s->v, nk, i));
    add_vec_to(s->g_v, nk, i,
               surface_vjp(p, !which, w, x, load_vec(s->v_normal, nk, i), load(s->g_v_phi, i),
                           load_vec(s->g_v_normal, nk, i), trace_at(&s->v_trace, i), bars, i));
  }
  TEAM_SYNC();
  for (int j = 0; j < k; j++) {
    const elem *mix = s->vertex_mix + (int64_t)j * nv;
    const elem world[3] = {s->g_v[j], s->g_v[nk + j], s->g_v[2 * nk + j]};
    elem g[3];
    own_frame(w, which, world, g);
    TEAM_FOR(i, n) {
      s->g_row[i] = 0;
      for (int c = 0; c < 3; c++) {
        s->g_row[i] += g[c] * v[c * nv + i];
        s->g_world[c * nv + i] += mix[i] * world[c];
      }
    }
    TEAM_SYNC();
    if (LEADER) select_soft_vjp(p, s->phi, n, j, s->vertex_order, mix, s->g_row, s->g_phi);
    TEAM_SYNC();
  }
}

/* Start and length of edge j among the selected ones, in the surface's own frame. */
FN void select_edge(const manifold_surface *m, const side_work *s, int j, int softsort, elem start[3],
                    elem along[3]) {
  const elem *v = (const elem *)m->vertices, *mix = s->edge_mix + (int64_t)j * s->ne;
  for (int c = 0; c < 3; c++) {
    const elem *x = v + c * s->n;
    elem first = 0, second = 0;
    if (softsort) {
      for (int e = 0; e < m->nedge; e++) {
        first += mix[e] * x[m->edges[2 * e]];
        second += mix[e] * x[m->edges[2 * e + 1]];
      }
    } else {
      const int32_t *ends = m->edges + 2 * s->edge_order[j];
      first = x[ends[0]];
      second = x[ends[1]];
    }
    start[c] = first;
    along[c] = second - first;
  }
}
KERNEL void select_edges(const manifold_params *p, int which, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  int k = m->kedge, n = m->nedge, ke = s->ke;
  if (p->softsort)
    select_soft(p, s->edge_phi, n, k, s->edge_order, s->edge_mix, w->board);
  else
    select_hard(p, s->edge_phi, n, k, s->edge_order, s->edge_gate, w->board);
  TEAM_FOR(j, ke) {
    elem start[3], along[3];
    select_edge(m, s, j < k ? j : k - 1, p->softsort, start, along);
    if (p->softsort) s->edge_gate[j] = 1;
    for (int c = 0; c < 3; c++) {
      s->start[c * ke + j] = start[c];
      s->along[c * ke + j] = along[c];
    }
  }
  if (which) ITEMS(i, k) {
      store_vec(s->start, ke, i, add(mat_vec(w->pose.r, load_vec(s->start, ke, i)), w->pose.t));
      store_vec(s->along, ke, i, mat_vec(w->pose.r, load_vec(s->along, ke, i)));
    }
}

/* Edges share vertices: the leader's. */
KERNEL void select_edges_hard_vjp(const manifold_params *p, int which, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  int k = m->kedge, n = m->nedge, ke = s->ke, nv = s->n;
  select_hard_vjp(p, n, k, s->edge_order, s->edge_gate, s->g_edge_gate, s->g_edge_phi);
  if (LEADER)
    for (int j = 0; j < k + (k < n); j++) { /* the first that is not selected moves the threshold */
      const int32_t *ends = m->edges + 2 * s->edge_order[j];
      elem half = K(0.5) * s->g_edge_phi[s->edge_order[j]];
      for (int i = 0; i < 2; i++) s->g_phi[ends[i]] += half;
      for (int c = 0; c < 3 && j < k; c++) {
        elem start = s->g_start[c * ke + j], along = s->g_along[c * ke + j];
        s->g_world[c * nv + ends[0]] += start - along;
        s->g_world[c * nv + ends[1]] += along;
      }
    }
  TEAM_SYNC();
}
KERNEL void select_edges_soft_vjp(const manifold_params *p, int which, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kedge, n = m->nedge, ke = s->ke, nv = s->n;
  for (int j = 0; j < k && LEADER; j++) {
    const elem *mix = s->edge_mix + (int64_t)j * s->ne;
    elem g_start[3], g_along[3], start[3], along[3];
    for (int c = 0; c < 3; c++) {
      g_start[c] = s->g_start[c * ke + j];
      g_along[c] = s->g_along[c * ke + j];
    }
    own_frame(w, which, g_start, start);
    own_frame(w, which, g_along, along);
    for (int e = 0; e < n; e++) {
      const int32_t *ends = m->edges + 2 * e;
      elem g = 0;
      for (int c = 0; c < 3; c++) {
        g += (start[c] - along[c]) * v[c * nv + ends[0]] + along[c] * v[c * nv + ends[1]];
        s->g_world[c * nv + ends[0]] += mix[e] * (g_start[c] - g_along[c]);
        s->g_world[c * nv + ends[1]] += mix[e] * g_along[c];
      }
      s->g_row[e] = g; /* a row of weights' cotangents */
    }
    select_soft_vjp(p, s->edge_phi, n, j, s->edge_order, mix, s->g_row, s->g_edge_phi);
  }
  for (int e = 0; e < n && LEADER; e++)
    for (int i = 0; i < 2; i++) s->g_phi[m->edges[2 * e + i]] += K(0.5) * s->g_edge_phi[e];
  TEAM_SYNC();
}
/* From edges to all vertices in frame 0 (g_world) and to the vertices' phi. */
KERNEL void select_edges_vjp(const manifold_params *p, int which, manifold_work *w) {
  if (p->softsort)
    select_edges_soft_vjp(p, which, w);
  else
    select_edges_hard_vjp(p, which, w);
}
