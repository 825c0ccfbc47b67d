/* manifold_select.inl: vertices in the other surface's distance, and the choice of the deepest ones and of
 * edges: hard, with gates that fade before a choice changes, or SoftSort. */
#include "manifold_surface.inl"

static void place(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  ITEMS(i, m->nvertex) {
    vec3 x = vertex_at(p, which, pose, load_vec(vertices, s->n, i));
    sdf_value v = surface_at(p, !which, pose, x, w->sdf, trace_at(&s->trace, i));
    store(s->phi, i, v.phi);
    store_vec(s->normal, s->n, i, v.normal);
  }
  for (int e = 0; e < m->nedge; e++)
    s->edge_phi[e] = K(0.5) * (s->phi[m->edges[2 * e]] + s->phi[m->edges[2 * e + 1]]);
}
/* From vertices in frame 0, their distances and normals to poses and to the vertices themselves. */
static void place_vjp(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w,
                      manifold_bars *bars, elem *bar) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  ITEMS(i, m->nvertex) {
    vec3 x = vertex_at(p, which, pose, load_vec(vertices, s->n, i)), g = load_vec(s->g_world, s->n, i);
    g = add(g, surface_vjp(p, !which, pose, x, load_vec(s->normal, s->n, i), load(s->g_phi, i),
                           load_vec(s->g_normal, s->n, i), trace_at(&s->trace, i), bars, i));
    if (which) {
      add_slots_vec(bars->sums, i, g);
      add_slots_vec(bars->sums + 3 * SLOTS, i, cross(sub(x, pose->t), g));
      g = mat_tvec(pose->r, g);
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
static int count_to(const elem *a, int n, elem most) {
  real count = zero();
  int whole = n / ABUT_LANES * ABUT_LANES, total = 0;
  for (int i = 0; i < whole; i += ABUT_LANES)
    count = count + sel(le(load(a, i), splat(most)), splat(1), zero());
  for (int l = 0; l < ABUT_LANES; l++) total += (int)((const elem *)&count)[l];
  for (int i = whole; i < n; i++) total += a[i] <= most;
  return total;
}
/* The k-th smallest of a[0 .. n), k from 1: bisection between the smallest and the largest. */
static elem smallest(const elem *a, int n, int k) {
  elem_key low = {a[0]}, high = {a[0]}, middle;
  for (int i = 1; i < n; i++) {
    low.x = a[i] < low.x ? a[i] : low.x;
    high.x = a[i] > high.x ? a[i] : high.x;
  }
  elem_integer from = in_order(low.key), to = in_order(high.key);
  while (from < to) {
    elem_integer half = from + (elem_integer)(((elem_bits)to - (elem_bits)from) / 2);
    middle.key = in_order(half);
    if (count_to(a, n, middle.x) >= k)
      to = half;
    else
      from = half + 1;
  }
  middle.key = in_order(to);
  return middle.x;
}

/* order[0 .. k): indices of the k smallest of phi[0 .. n), smallest first, ties by index. */
static void order_of(const elem *phi, int n, int k, int32_t *order) {
  elem last = smallest(phi, n, k);
  int num = 0, ties = k;
  for (int i = 0; i < n; i++) ties -= phi[i] < last;
  for (int i = 0; i < n; i++) {
    if (!(phi[i] < last || (phi[i] == last && ties-- > 0))) continue;
    int at = num++;
    for (; at > 0 && phi[order[at - 1]] > phi[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
}

/* Half way between the last that is selected and the first that is not. */
FN elem threshold_of(const elem *phi, const int32_t *order, int k) {
  return K(0.5) * (phi[order[k - 1]] + phi[order[k]]);
}

/* The k deepest, and their gates sigma((threshold - phi)/tau): what is about to be replaced has faded to 1/2.
 */
static void select_hard(const manifold_params *p, const elem *phi, int n, int k, int32_t *order, elem *gate) {
  if (k == n) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = 0; i < manifold_pad(k); i++) gate[i] = 1;
    return;
  }
  order_of(phi, n, k + 1, order);
  elem threshold = threshold_of(phi, order, k);
  ITEMS(i, k) store(gate, i, logistic((splat(threshold) - gather(phi, order, i, k)) * K(1 / p->tau_select)));
}
/* Cotangents of all phi from those of the gates. */
static void select_hard_vjp(const manifold_params *p, const elem *phi, int n, int k, const int32_t *order,
                            const elem *gate, const elem *g_gate, elem *g_phi) {
  if (k == n) return;
  (void)phi;
  elem total = 0;
  for (int i = 0; i < k; i++) {
    elem g = g_gate[i] * gate[i] * (1 - gate[i]) * K(1 / p->tau_select);
    g_phi[order[i]] -= g;
    total += g;
  }
  g_phi[order[k - 1]] += K(0.5) * total;
  g_phi[order[k]] += K(0.5) * total;
}

/* SoftSort: row j of the weights is the softmax of -|phi_(j) - phi_i|/tau, phi_(j) the j-th smallest. */
static void select_soft(const manifold_params *p, const elem *phi, int n, int k, int32_t *order, elem *mix) {
  int padded = manifold_pad(n);
  order_of(phi, n, k, order);
  for (int j = 0; j < k; j++) {
    elem *row = mix + (int64_t)j * padded, sum = 0;
    real at = splat(phi[order[j]]);
    ITEMS(i, n) {
      real e = exponential(rabs(load(phi, i) - at) * K(-1 / p->tau_select));
      store(row, i, sel(exists(i, n), e, zero()));
    }
    for (int i = 0; i < n; i++) sum += row[i];
    ITEMS(i, n) store(row, i, load(row, i) * (K(1) / sum));
  }
}
/* g_mix is a row's: row by row, mixes are too large to keep two of them. */
static void select_soft_vjp(const manifold_params *p, const elem *phi, int n, int j, const int32_t *order,
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

static void select_vertices(const manifold_params *p, int which, const manifold_pose *pose,
                            manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *vertices = (const elem *)m->vertices;
  int k = m->kvertex, n = m->nvertex;
  if (!p->softsort) {
    select_hard(p, s->phi, n, k, s->vertex_order, s->vertex_gate);
    ITEMS(i, k) {
      store_vec(s->v, s->k, i, gather_vec(vertices, s->n, s->vertex_order, i, k));
      store(s->v_phi, i, gather(s->phi, s->vertex_order, i, k));
      store_vec(s->v_normal, s->k, i, gather_vec(s->normal, s->n, s->vertex_order, i, k));
    }
    return;
  }
  select_soft(p, s->phi, n, k, s->vertex_order, s->vertex_mix);
  for (int j = 0; j < k; j++) mix_points(s->vertex_mix + (int64_t)j * s->n, vertices, n, s->n, j, s->k, s->v);
  for (int j = k; j < s->k; j++)
    for (int c = 0; c < 3; c++) s->v[c * s->k + j] = s->v[c * s->k + k - 1];
  ITEMS(i, k) {
    sdf_value v = surface_at(p, !which, pose, vertex_at(p, which, pose, load_vec(s->v, s->k, i)), w->sdf,
                             trace_at(&s->v_trace, i));
    store(s->v_phi, i, v.phi);
    store_vec(s->v_normal, s->k, i, v.normal);
    store(s->vertex_gate, i, splat(1));
  }
}
static void select_vertices_vjp(const manifold_params *p, int which, const manifold_pose *pose,
                                manifold_work *w, manifold_bars *bars) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kvertex, n = m->nvertex, nk = s->k, nv = s->n;
  if (!p->softsort) {
    select_hard_vjp(p, s->phi, n, k, s->vertex_order, s->vertex_gate, s->g_vertex_gate, s->g_phi);
    for (int j = 0; j < k; j++) {
      int i = s->vertex_order[j];
      s->g_phi[i] += s->g_v_phi[j];
      for (int c = 0; c < 3; c++) {
        s->g_normal[c * nv + i] += s->g_v_normal[c * nk + j];
        s->g_world[c * nv + i] += s->g_v[c * nk + j];
      }
    }
    return;
  }
  ITEMS(i, k) {
    vec3 x = vertex_at(p, which, pose, load_vec(s->v, nk, i));
    add_vec_to(s->g_v, nk, i,
               surface_vjp(p, !which, pose, x, load_vec(s->v_normal, nk, i), load(s->g_v_phi, i),
                           load_vec(s->g_v_normal, nk, i), trace_at(&s->v_trace, i), bars, i));
  }
  elem r[9];
  for (int i = 0; i < 9; i++)
    r[i] = which ? ((const elem *)(const void *)&pose->r)[i * ABUT_LANES] : (elem)(i % 4 == 0);
  for (int j = 0; j < k; j++) {
    const elem *mix = s->vertex_mix + (int64_t)j * nv;
    elem g[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < 3; i++) g[c] += r[3 * i + c] * s->g_v[i * nk + j];
    for (int i = 0; i < n; i++) {
      s->g_row[i] = 0;
      for (int c = 0; c < 3; c++) {
        s->g_row[i] += g[c] * v[c * nv + i];
        s->g_world[c * nv + i] += mix[i] * s->g_v[c * nk + j];
      }
    }
    select_soft_vjp(p, s->phi, n, j, s->vertex_order, mix, s->g_row, s->g_phi);
  }
}

static void select_edges(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kedge, n = m->nedge, nv = s->n, ke = s->ke;
  if (p->softsort) {
    select_soft(p, s->edge_phi, n, k, s->edge_order, s->edge_mix);
    for (int j = 0; j < k; j++) {
      const elem *mix = s->edge_mix + (int64_t)j * s->ne;
      for (int c = 0; c < 3; c++) {
        elem start = 0, end = 0;
        for (int e = 0; e < n; e++) {
          start += mix[e] * v[c * nv + m->edges[2 * e]];
          end += mix[e] * v[c * nv + m->edges[2 * e + 1]];
        }
        s->start[c * ke + j] = start;
        s->along[c * ke + j] = end - start;
      }
      s->edge_gate[j] = 1;
    }
  } else {
    select_hard(p, s->edge_phi, n, k, s->edge_order, s->edge_gate);
    for (int j = 0; j < k; j++) {
      const int32_t *ends = m->edges + 2 * s->edge_order[j];
      for (int c = 0; c < 3; c++) {
        s->start[c * ke + j] = v[c * nv + ends[0]];
        s->along[c * ke + j] = v[c * nv + ends[1]] - v[c * nv + ends[0]];
      }
    }
  }
  for (int j = k; j < ke; j++)
    for (int c = 0; c < 3; c++) {
      s->start[c * ke + j] = s->start[c * ke + k - 1];
      s->along[c * ke + j] = s->along[c * ke + k - 1];
    }
  if (which) ITEMS(i, k) {
      store_vec(s->start, ke, i, add(mat_vec(pose->r, load_vec(s->start, ke, i)), pose->t));
      store_vec(s->along, ke, i, mat_vec(pose->r, load_vec(s->along, ke, i)));
    }
}
/* From edges to all vertices in frame 0 (g_world) and to the vertices' phi. */
static void select_edges_vjp(const manifold_params *p, int which, const manifold_pose *pose,
                             manifold_work *w) {
  const manifold_surface *m = &p->surface[which];
  side_work *s = &w->side[which];
  const elem *v = (const elem *)m->vertices;
  int k = m->kedge, n = m->nedge, ke = s->ke, nv = s->n;
  if (!p->softsort) {
    select_hard_vjp(p, s->edge_phi, n, k, s->edge_order, s->edge_gate, s->g_edge_gate, s->g_edge_phi);
    for (int j = 0; j < k; j++) {
      const int32_t *ends = m->edges + 2 * s->edge_order[j];
      for (int c = 0; c < 3; c++) {
        elem start = s->g_start[c * ke + j], along = s->g_along[c * ke + j];
        s->g_world[c * nv + ends[0]] += start - along;
        s->g_world[c * nv + ends[1]] += along;
      }
    }
  } else {
    elem r[9]; /* cotangents in the surface's own frame, where the mixed ends are */
    for (int i = 0; i < 9; i++)
      r[i] = which ? ((const elem *)(const void *)&pose->r)[i * ABUT_LANES] : (elem)(i % 4 == 0);
    for (int j = 0; j < k; j++) {
      const elem *mix = s->edge_mix + (int64_t)j * s->ne;
      elem start[3], along[3];
      for (int c = 0; c < 3; c++) {
        start[c] = along[c] = 0;
        for (int i = 0; i < 3; i++) {
          start[c] += r[3 * i + c] * s->g_start[i * ke + j];
          along[c] += r[3 * i + c] * s->g_along[i * ke + j];
        }
      }
      for (int e = 0; e < n; e++) {
        const int32_t *ends = m->edges + 2 * e;
        elem g = 0;
        for (int c = 0; c < 3; c++) {
          g += (start[c] - along[c]) * v[c * nv + ends[0]] + along[c] * v[c * nv + ends[1]];
          s->g_world[c * nv + ends[0]] += mix[e] * (s->g_start[c * ke + j] - s->g_along[c * ke + j]);
          s->g_world[c * nv + ends[1]] += mix[e] * s->g_along[c * ke + j];
        }
        s->g_row[e] = g; /* a row of weights' cotangents */
      }
      select_soft_vjp(p, s->edge_phi, n, j, s->edge_order, mix, s->g_row, s->g_edge_phi);
    }
  }
  for (int e = 0; e < n; e++)
    for (int i = 0; i < 2; i++) s->g_phi[m->edges[2 * e + i]] += K(0.5) * s->g_edge_phi[e];
}
