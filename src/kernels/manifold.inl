/* manifold.inl: contacts between two surfaces at one pair of poses, and their reverse pass.
 *
 * Lanes are items of one pair of poses: vertices, pairs of edges. A single pair fills the lanes as well as a
 * thousand, neighbours in a mesh are neighbours in lanes, so that far primitives are skipped for all of them
 * at once, and a GPU's thread would be an item, too. Items lie field by field, [field][padded count].
 *
 *   place      vertices of either surface in the other's frame, their distances to it
 *   select     the deepest K vertices and edges, with a weight that fades before they change
 *   cross      closest points of all pairs of selected edges
 *   neighbour  how near a pair is among its row and column
 *   judge      distances and normals at the closest points of pairs that may be active
 *
 * Sums over lanes are made of 32 partial sums by item number, so that they do not depend on the width. */
#include "edges.inl"
#include "sdf.inl"

enum { SLOTS = 32 };
#define MANIFOLD_POINT 1e-20 /* distances below have no direction: what is divided by them is 0 */

FN real load(const elem *a, int i) { return *(const real *)(a + i); }
FN void store(elem *a, int i, real x) { *(real *)(a + i) = x; }
FN vec3 load_vec(const elem *a, int stride, int i) {
  return vec(load(a, i), load(a + stride, i), load(a + 2 * stride, i));
}
FN void store_vec(elem *a, int stride, int i, vec3 v) {
  store(a, i, v.x);
  store(a + stride, i, v.y);
  store(a + 2 * stride, i, v.z);
}
FN void add_to(elem *a, int i, real x) { store(a, i, load(a, i) + x); }
FN void add_vec_to(elem *a, int stride, int i, vec3 v) {
  store_vec(a, stride, i, add(load_vec(a, stride, i), v));
}
/* a[index[i]] of lanes' items i .. ; past the end the last one's */
FN real gather(const elem *a, const int32_t *index, int i, int n) {
  union {
    real x;
    elem e[ABUT_LANES];
  } u;
  for (int l = 0; l < ABUT_LANES; l++) u.e[l] = a[index[i + l < n ? i + l : n - 1]];
  return u.x;
}
FN vec3 gather_vec(const elem *a, int stride, const int32_t *index, int i, int n) {
  return vec(gather(a, index, i, n), gather(a + stride, index, i, n), gather(a + 2 * stride, index, i, n));
}
FN void scatter(elem *a, const int32_t *index, int i, int n, real x) {
  union {
    real x;
    elem e[ABUT_LANES];
  } u;
  u.x = x;
  for (int l = 0; l < ABUT_LANES && i + l < n; l++) a[index[i + l]] = u.e[l];
}
FN void scatter_vec(elem *a, int stride, const int32_t *index, int i, int n, vec3 v) {
  scatter(a, index, i, n, v.x);
  scatter(a + stride, index, i, n, v.y);
  scatter(a + 2 * stride, index, i, n, v.z);
}
/* lanes' items i .. that exist */
FN mask exists(int i, int n) { return mask_from_bits(n - i >= ABUT_LANES ? ALL_LANES : (1u << (n - i)) - 1); }
FN int all_zero(real a) { return !any(gt(rabs(a), zero())); }
FN int vec_zero_everywhere(vec3 a) { return all_zero(max_abs(a)); }

#define ITEMS(i, n) for (int i = 0; i < (n); i += ABUT_LANES)

/* partial sums of item i's lanes go to sums[...][i % SLOTS] */
FN void add_slots(elem *sums, int i, real x) { add_to(sums, i % SLOTS, x); }
FN void add_slots_vec(elem *sums, int i, vec3 v) {
  add_slots(sums, i, v.x);
  add_slots(sums + SLOTS, i, v.y);
  add_slots(sums + 2 * SLOTS, i, v.z);
}
static double sum_slots(const elem *sums) {
  double part[SLOTS];
  for (int i = 0; i < SLOTS; i++) part[i] = (double)sums[i];
  for (int half = SLOTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

/* ------------------------------------------------------------------------------------ what is in memory */

/* Traces of evaluations, pack by pack. */
typedef struct trace_list {
  real *values;
  int32_t *lists;
  int stride; /* of lists */
} trace_list;
FN sdf_trace trace_at(const trace_list *t, int i) {
  int pack = i / ABUT_LANES;
  sdf_trace trace = {t->values + 2 * SDF_TRACE * pack, t->lists + (int64_t)t->stride * pack};
  return trace;
}

/* One surface: v in this surface's frame, of the vertices as they are selected. */
typedef struct side_work {
  int n, k, ne, ke;                   /* padded */
  elem *phi, *normal;                 /* all vertices: of the other's distance, frame 0 */
  trace_list trace, v_trace;          /* of all vertices; of selected ones, where they are mixed */
  elem *edge_phi;                     /* all edges: mean of their ends */
  int32_t *vertex_order, *edge_order; /* deepest first, the selected ones and what select needs */
  elem *vertex_gate, *edge_gate;      /* [k], [ke] */
  elem *vertex_mix, *edge_mix;        /* softsort: weights [k][n], [ke][ne] */
  elem *v, *v_phi, *v_normal;         /* selected; normals in frame 0 */
  elem *start, *along;                /* selected edges, frame 0 */
  /* cotangents of: all vertices (frame 0), their phi and normals; selected ones'; edges */
  elem *g_world, *g_phi, *g_normal, *g_v, *g_v_phi, *g_v_normal, *g_vertex_gate, *g_edge_gate, *g_edge_phi,
      *g_start, *g_along, *g_row;
} side_work;

/* Pairs of edges. */
typedef struct pair_work {
  int n; /* padded */
  elem *r, *t1, *t2, *alpha1, *alpha2, *colliding, *p1, *p2, *d, *near1, *near2, *gate;
  elem *x1, *x2, *f1, *f2,
      *worth;         /* of those in `list`: points on their own surfaces, distances to the others */
  elem *n1, *n2;      /* of those in `judged`: normals there */
  elem *row, *column; /* [padded ke] */
  int32_t *list, *judged, num, num_judged;
  trace_list f1_trace, f2_trace, n1_trace, n2_trace; /* by place in the lists */
  elem *g_x1, *g_x2, *g_f1, *g_f2, *g_p1, *g_p2, *g_colliding, *g_near1, *g_near2, *g_gate, *g_d, *g_start1,
      *g_along1, *g_start2, *g_along2;
} pair_work;

typedef struct manifold_work {
  side_work side[2];
  pair_work pair;
  elem *sums; /* force, torque, out_force, out_torque: [12][SLOTS] */
  sdf_scratch sdf;
  trace_list path;  /* of one evaluation on the way */
  elem *parameters; /* lanes' sums of one evaluation */
} manifold_work;

typedef struct carver {
  elem *base;
  int64_t at;
} carver;
static elem *carve(carver *c, int64_t n) {
  elem *p = c->base ? c->base + c->at : 0;
  c->at += (n + MANIFOLD_PAD - 1) / MANIFOLD_PAD * MANIFOLD_PAD;
  return p;
}
static int32_t *carve_int(carver *c, int64_t n) {
  return (int32_t *)carve(c,
                          (n * (int64_t)sizeof(int32_t) + (int64_t)sizeof(elem) - 1) / (int64_t)sizeof(elem));
}

static trace_list carve_traces(carver *c, int64_t n, int primitives) {
  int64_t packs = (n + ABUT_LANES - 1) / ABUT_LANES;
  trace_list t;
  t.stride = primitives + 2;
  t.values = (real *)carve(c, packs * 2 * SDF_TRACE * ABUT_LANES);
  t.lists = carve_int(c, packs * t.stride);
  return t;
}
static void carve_side(carver *c, const manifold_params *p, int which, side_work *s) {
  const manifold_surface *m = &p->surface[which];
  int64_t n = s->n = manifold_pad(m->nvertex), k = s->k = manifold_pad(m->kvertex);
  int64_t ne = s->ne = manifold_pad(m->nedge), ke = s->ke = manifold_pad(m->kedge);
  s->phi = carve(c, n);
  s->normal = carve(c, 3 * n);
  s->trace = carve_traces(c, n, p->surface[!which].sdf.num);
  s->v_trace = carve_traces(c, p->softsort ? k : 0, p->surface[!which].sdf.num);
  s->edge_phi = carve(c, ne);
  s->vertex_order = carve_int(c, n);
  s->edge_order = carve_int(c, ne);
  s->vertex_gate = carve(c, k);
  s->edge_gate = carve(c, ke);
  s->vertex_mix = carve(c, p->softsort ? m->kvertex * n : 0);
  s->edge_mix = carve(c, p->softsort ? m->kedge * ne : 0);
  s->v = carve(c, 3 * k);
  s->v_phi = carve(c, k);
  s->v_normal = carve(c, 3 * k);
  s->start = carve(c, 3 * ke);
  s->along = carve(c, 3 * ke);
  elem **own[] = {&s->g_world, &s->g_normal}, **selected[] = {&s->g_v, &s->g_v_normal};
  elem **edges[] = {&s->g_start, &s->g_along};
  for (int i = 0; i < 2; i++) *own[i] = carve(c, 3 * n);
  for (int i = 0; i < 2; i++) *selected[i] = carve(c, 3 * k);
  for (int i = 0; i < 2; i++) *edges[i] = carve(c, 3 * ke);
  s->g_phi = carve(c, n);
  s->g_v_phi = carve(c, k);
  s->g_vertex_gate = carve(c, k);
  s->g_edge_gate = carve(c, ke);
  s->g_edge_phi = carve(c, ne);
  s->g_row = carve(c, n > ne ? n : ne);
}

static int64_t manifold_carve(const manifold_params *p, manifold_work *w, elem *base) {
  carver c = {base, 0};
  int64_t num = p->surface[0].sdf.num > p->surface[1].sdf.num ? p->surface[0].sdf.num : p->surface[1].sdf.num;
  pair_work *q = &w->pair;
  for (int i = 0; i < 2; i++) carve_side(&c, p, i, &w->side[i]);
  int64_t n = q->n = manifold_pad(manifold_group(p, 2));
  elem **one[] = {&q->alpha1, &q->alpha2, &q->colliding,   &q->d,       &q->near1,  &q->near2,
                  &q->gate,   &q->f1,     &q->f2,          &q->worth,   &q->g_f1,   &q->g_f2,
                  &q->g_d,    &q->g_gate, &q->g_colliding, &q->g_near1, &q->g_near2};
  elem **three[] = {&q->r,    &q->t1,       &q->t2,       &q->p1,       &q->p2,      &q->x1,
                    &q->x2,   &q->n1,       &q->n2,       &q->g_x1,     &q->g_x2,    &q->g_p1,
                    &q->g_p2, &q->g_start1, &q->g_along1, &q->g_start2, &q->g_along2};
  for (int i = 0; i < (int)(sizeof one / sizeof *one); i++) *one[i] = carve(&c, n);
  for (int i = 0; i < (int)(sizeof three / sizeof *three); i++) *three[i] = carve(&c, 3 * n);
  q->f1_trace = carve_traces(&c, n, p->surface[1].sdf.num);
  q->f2_trace = carve_traces(&c, n, p->surface[0].sdf.num);
  q->n1_trace = carve_traces(&c, n, p->surface[0].sdf.num);
  q->n2_trace = carve_traces(&c, n, p->surface[1].sdf.num);
  w->path = carve_traces(&c, ABUT_LANES, (int)num);
  q->judged = carve_int(&c, n);
  q->row = carve(&c, w->side[0].ke);
  q->column = carve(&c, w->side[1].ke);
  q->list = carve_int(&c, n);
  w->sums = carve(&c, 12 * SLOTS);
  w->sdf.rows = (real *)carve(&c, num * SDF_SCRATCH * ABUT_LANES);
  w->sdf.kept = carve_int(&c, num);
  w->parameters = carve(&c, num * SDF_PARAMETERS * ABUT_LANES);
  return c.at;
}
static int64_t manifold_scratch(const manifold_params *p) {
  manifold_work w;
  return manifold_carve(p, &w, 0);
}

/* ------------------------------------------------------------------------- distances in either's frame */

/* Pose of surface 1 in frame 0, which is where everything is; surface 0's pose is the identity. */
typedef struct manifold_pose {
  mat3 r;
  vec3 t;
} manifold_pose;
static manifold_pose manifold_pose_of(const manifold_job *job) {
  manifold_pose p;
  const double *r = job->rotation;
  p.r = mat(vec_splat(r), vec_splat(r + 3), vec_splat(r + 6));
  p.t = vec_splat(job->translation);
  return p;
}
/* Distance and normal of surface `which` at x, both in frame 0. */
FN sdf_value surface_at(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, sdf_scratch w,
                        sdf_trace trace) {
  const sdf_view *s = &p->surface[which].sdf;
  if (!which) return sdf_at(s, x, w, trace);
  sdf_value v = sdf_at(s, mat_tvec(pose->r, sub(x, pose->t)), w, trace);
  v.normal = mat_vec(pose->r, v.normal);
  return v;
}

/* What reverse passes add to, for items i .. */
typedef struct manifold_bars {
  elem *sums;       /* [12][SLOTS] */
  real *parameters; /* of one evaluation; NULL where nobody asks */
  elem *parameter_bar[2];
} manifold_bars;

static void keep_parameters(manifold_bars *bars, int which, int num, int i) {
  if (!bars->parameter_bar[which]) return;
  for (int k = 0; k < num * SDF_PARAMETERS; k++) {
    add_slots(bars->parameter_bar[which] + (int64_t)k * SLOTS, i, bars->parameters[k]);
    bars->parameters[k] = zero();
  }
}
/* Cotangent of x; those of the pose and the primitives are added to the sums. normal: as surface_at gave it.
 */
KERNEL vec3 surface_vjp(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, vec3 normal,
                        real gphi, vec3 gn, sdf_trace trace, manifold_bars *bars, int i) {
  const sdf_view *s = &p->surface[which].sdf;
  real *parameters = bars->parameter_bar[which] ? bars->parameters : 0;
  if (all_zero(gphi) && vec_zero_everywhere(gn)) return vec_zero();
  vec3 gx;
  if (!which) {
    gx = sdf_vjp(s, x, gphi, gn, trace, parameters);
  } else {
    vec3 d = sub(x, pose->t);
    gx = mat_vec(pose->r, sdf_vjp(s, mat_tvec(pose->r, d), gphi, mat_tvec(pose->r, gn), trace, parameters));
    add_slots_vec(bars->sums, i, scale(splat(-1), gx));
    add_slots_vec(bars->sums + 3 * SLOTS, i, sub(cross(normal, gn), cross(d, gx)));
  }
  keep_parameters(bars, which, s->num, i);
  return gx;
}

/* ---------------------------------------------------------------------------------------------- place */

/* Vertices i .. of surface `which` in frame 0. */
FN vec3 vertex_at(const manifold_params *p, int which, const manifold_pose *pose, vec3 v) {
  (void)p;
  return which ? add(mat_vec(pose->r, v), pose->t) : v;
}

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

/* --------------------------------------------------------------------------------------------- select */

/* order[0 .. k): indices of the k smallest of phi[0 .. n), smallest first, ties by index: an item's place is
 * the number of those before it. */
static void order_of(const elem *phi, int n, int k, int32_t *order) {
  ITEMS(i, n) {
    union {
      real x;
      elem e[ABUT_LANES];
    } item, place;
    item.x = load(phi, i);
    place.x = zero();
    for (int l = 0; l < ABUT_LANES; l++)
      if (i + l >= n) item.e[l] = ELEM_HUGE;
    real index = zero();
    for (int l = 0; l < ABUT_LANES; l++) ((elem *)&index)[l] = K(i + l);
    for (int j = 0; j < n; j++) {
      real other = splat(phi[j]);
      mask before = mask_or(lt(other, item.x), mask_and(mask_not(lt(item.x, other)), lt(splat(K(j)), index)));
      place.x = place.x + sel(before, splat(1), zero());
    }
    for (int l = 0; l < ABUT_LANES && i + l < n; l++)
      if (place.e[l] < K(k)) order[(int)place.e[l]] = i + l;
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
  order_of(phi, n, n, order);
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

/* ---------------------------------------------------------------------------------------------- cross */

/* x moved onto the surface `which` by a fixed number of steps along its normal. */
FN vec3 project(const manifold_params *p, int which, const manifold_pose *pose, vec3 x,
                const manifold_work *w) {
  for (int i = 0; i < p->projections; i++) {
    sdf_value v = surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0));
    x = axpy(-v.phi, v.normal, x);
  }
  return x;
}
KERNEL vec3 project_vjp(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, vec3 g,
                        const manifold_work *w, manifold_bars *bars, int i, int steps) {
  if (steps == 0) return g;
  sdf_value v = surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0));
  vec3 after = project_vjp(p, which, pose, axpy(-v.phi, v.normal, x), g, w, bars, i, steps - 1);
  if (steps > 1)
    surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0)); /* the trace of this step again */
  return add(after, surface_vjp(p, which, pose, x, v.normal, -dot(v.normal, after), scale(-v.phi, after),
                                trace_at(&w->path, 0), bars, i));
}

/* Copies numbers of edges to their pairs: pair k l has k's of surface 0 and l's of surface 1. */
static void spread(elem *to, const elem *from, int rows, int columns, int by_row) {
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) to[k * columns + l] = from[by_row ? k : l];
}
static void spread_last(elem *to, int n, int padded) {
  for (int i = n; i < padded; i++) to[i] = to[n - 1];
}

static void pair_up(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  const side_work *a = &w->side[0], *b = &w->side[1];
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge, n = rows * columns;
  for (int c = 0; c < 3; c++) {
    spread(q->p1 + c * q->n, a->start + c * a->ke, rows, columns, 1);
    spread(q->t1 + c * q->n, a->along + c * a->ke, rows, columns, 1);
    spread(q->p2 + c * q->n, b->start + c * b->ke, rows, columns, 0);
    spread(q->t2 + c * q->n, b->along + c * b->ke, rows, columns, 0);
    elem *each[] = {q->p1, q->t1, q->p2, q->t2};
    for (int i = 0; i < 4; i++) spread_last(each[i] + c * q->n, n, q->n);
  }
}
static void cross_edges(const manifold_params *p, manifold_work *w) {
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
}

/* ------------------------------------------------------------------------------------------ neighbour */

/* Softmax of -d/tau along rows (near1) and columns (near2). */
static void neighbour(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge, n = rows * columns;
  elem inv_tau = K(1 / p->tau_near);
  for (int k = 0; k < rows; k++) q->row[k] = ELEM_HUGE;
  for (int l = 0; l < columns; l++) q->column[l] = ELEM_HUGE;
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      elem d = q->d[k * columns + l];
      if (d < q->row[k]) q->row[k] = d;
      if (d < q->column[l]) q->column[l] = d;
    }
  spread(q->near1, q->row, rows, columns, 1);
  spread(q->near2, q->column, rows, columns, 0);
  spread_last(q->near1, n, q->n);
  spread_last(q->near2, n, q->n);
  ITEMS(i, n) {
    real d = load(q->d, i);
    store(q->near1, i, exponential((load(q->near1, i) - d) * inv_tau));
    store(q->near2, i, exponential((load(q->near2, i) - d) * inv_tau));
  }
  for (int k = 0; k < rows; k++) q->row[k] = 0;
  for (int l = 0; l < columns; l++) q->column[l] = 0;
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      q->row[k] += q->near1[k * columns + l];
      q->column[l] += q->near2[k * columns + l];
    }
  for (int k = 0; k < rows; k++) q->row[k] = 1 / q->row[k];
  for (int l = 0; l < columns; l++) q->column[l] = 1 / q->column[l];
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      q->near1[k * columns + l] *= q->row[k];
      q->near2[k * columns + l] *= q->column[l];
    }
}
/* dnear_kl = near_kl (sum_m near_km dd_km - dd_kl)/tau */
static void neighbour_vjp(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  elem inv_tau = K(1 / p->tau_near);
  for (int k = 0; k < rows; k++) q->row[k] = 0;
  for (int l = 0; l < columns; l++) q->column[l] = 0;
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      int i = k * columns + l;
      q->row[k] += q->g_near1[i] * q->near1[i];
      q->column[l] += q->g_near2[i] * q->near2[i];
    }
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      int i = k * columns + l;
      q->g_d[i] += inv_tau *
                   (q->near1[i] * (q->row[k] - q->g_near1[i]) + q->near2[i] * (q->column[l] - q->g_near2[i]));
    }
}

/* ---------------------------------------------------------------------------------------------- judge */

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
static elem *group_at(const manifold_params *p, const void *contacts, int group) {
  elem *at = (elem *)contacts;
  for (int g = 0; g < group; g++) at += (int64_t)MANIFOLD_CONTACT * manifold_pad(manifold_group(p, g));
  return at;
}

/* Pairs whose activity may reach the cut-off by what is known without looking at surfaces, in order. */
static void list_pairs(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  int n = manifold_group(p, 2), columns = p->surface[1].kedge;
  elem cutoff = K(p->cutoff);
  q->num = 0;
  for (int i = 0; i < n; i++) {
    q->gate[i] = w->side[0].edge_gate[i / columns] * w->side[1].edge_gate[i % columns];
    elem near = q->near1[i] > q->near2[i] ? q->near1[i] : q->near2[i];
    if (q->colliding[i] * near * q->gate[i] > cutoff || cutoff == 0) q->list[q->num++] = i;
  }
}

/* What is not judged: its closest points, apart by d along the line between them, and not active. */
static void leave_pairs(const manifold_params *p, const pair_work *q, elem *first, elem *second) {
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

/* How deep the closest points of listed pairs lie in the other surface; those whose activity may reach the
 * cut-off so are judged. */
static void penetrate(const manifold_params *p, const manifold_pose *pose, manifold_work *w) {
  pair_work *q = &w->pair;
  elem inv_pen = K(-1 / p->tau_penetration), cutoff = K(p->cutoff);
  ITEMS(i, q->num) {
    vec3 x1 = project(p, 0, pose, gather_vec(q->p1, q->n, q->list, i, q->num), w);
    vec3 x2 = project(p, 1, pose, gather_vec(q->p2, q->n, q->list, i, q->num), w);
    real f1 = surface_at(p, 1, pose, x1, w->sdf, trace_at(&q->f1_trace, i)).phi;
    real f2 = surface_at(p, 0, pose, x2, w->sdf, trace_at(&q->f2_trace, i)).phi;
    real worth1 = gather(q->near1, q->list, i, q->num) * logistic(f1 * inv_pen);
    real worth2 = gather(q->near2, q->list, i, q->num) * logistic(f2 * inv_pen);
    scatter_vec(q->x1, q->n, q->list, i, q->num, x1);
    scatter_vec(q->x2, q->n, q->list, i, q->num, x2);
    scatter(q->f1, q->list, i, q->num, f1);
    scatter(q->f2, q->list, i, q->num, f2);
    scatter(q->worth, q->list, i, q->num, rmax(worth1, worth2));
  }
  q->num_judged = 0;
  for (int i = 0; i < q->num; i++) {
    int pair = q->list[i];
    if (q->worth[pair] * q->colliding[pair] * q->gate[pair] > cutoff || cutoff == 0)
      q->judged[q->num_judged++] = pair;
  }
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
static void judge(const manifold_params *p, const manifold_pose *pose, manifold_work *w, elem *first,
                  elem *second) {
  pair_work *q = &w->pair;
  if (q->num_judged < manifold_group(p, 2)) leave_pairs(p, q, first, second);
  ITEMS(i, q->num_judged) {
    judged j = judged_at(q, i);
    j.n1 = surface_at(p, 0, pose, j.p1, w->sdf, trace_at(&q->n1_trace, i)).normal;
    j.n2 = surface_at(p, 1, pose, j.p2, w->sdf, trace_at(&q->n2_trace, i)).normal;
    store_vec(q->n1, q->n, i, j.n1); /* by place in the list */
    store_vec(q->n2, q->n, i, j.n2);
    contact_out c;
    judge_side(p, &j, 0, &c);
    put_contact(first, q->n, q->judged, i, q->num_judged, c);
    judge_side(p, &j, 1, &c);
    put_contact(second, q->n, q->judged, i, q->num_judged, c);
  }
}

/* ------------------------------------------------------------------------------------------- vertices */

static void vertex_contacts(const manifold_params *p, int which, const manifold_pose *pose, manifold_work *w,
                            elem *group) {
  side_work *s = &w->side[which];
  ITEMS(i, p->surface[which].kvertex) {
    real phi = load(s->v_phi, i);
    store_vec(group, s->k, i, vertex_at(p, which, pose, load_vec(s->v, s->k, i)));
    store(group + 3 * s->k, i, phi);
    store_vec(group + 4 * s->k, s->k, i, load_vec(s->v_normal, s->k, i));
    store(group + 7 * s->k, i, load(s->vertex_gate, i) * logistic(phi * K(-1 / p->tau_penetration)));
  }
}

static void manifold_contacts(const manifold_params *p, manifold_job *job) {
  manifold_work w;
  manifold_pose pose = manifold_pose_of(job);
  manifold_carve(p, &w, (elem *)job->scratch);
  int edges = manifold_group(p, 2) > 0;
  for (int which = 0; which < 2; which++) {
    if (!p->side[which] && !edges) continue;
    place(p, which, &pose, &w);
    if (p->side[which]) {
      select_vertices(p, which, &pose, &w);
      vertex_contacts(p, which, &pose, &w, group_at(p, job->contacts, which));
    }
    if (edges) select_edges(p, which, &pose, &w);
  }
  job->listed = job->judged = 0;
  if (!edges) return;
  pair_up(p, &w);
  cross_edges(p, &w);
  neighbour(p, &w);
  list_pairs(p, &w);
  penetrate(p, &pose, &w);
  judge(p, &pose, &w, group_at(p, job->contacts, 2), group_at(p, job->contacts, 3));
  job->listed = w.pair.num;
  job->judged = w.pair.num_judged;
}

/* ------------------------------------------------------------------------------------------- in reverse */

static void clear(elem *a, int64_t n) {
  for (int64_t i = 0; i < n; i++) a[i] = 0;
}

/* Pairs that were not judged: their points, the distance between them and its direction. */
static void leave_pairs_vjp(const manifold_params *p, pair_work *q, const elem *first, const elem *second) {
  for (int i = 0, listed = 0; i < manifold_group(p, 2); i++) {
    if (listed < q->num_judged && q->judged[listed] == i) {
      listed++;
      continue;
    }
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

static void judge_vjp(const manifold_params *p, const manifold_pose *pose, manifold_work *w,
                      manifold_bars *bars, const elem *first, const elem *second) {
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
    bar.p1 =
        add(bar.p1, surface_vjp(p, 0, pose, j.p1, j.n1, zero(), bar.n1, trace_at(&q->n1_trace, i), bars, i));
    bar.p2 =
        add(bar.p2, surface_vjp(p, 1, pose, j.p2, j.n2, zero(), bar.n2, trace_at(&q->n2_trace, i), bars, i));
    scatter_vec(q->g_x1, q->n, list, i, num, bar.p1);
    scatter_vec(q->g_x2, q->n, list, i, num, bar.p2);
    scatter(q->g_f1, list, i, num, bar.f1);
    scatter(q->g_f2, list, i, num, bar.f2);
    scatter(q->g_colliding, list, i, num, bar.colliding);
    scatter(q->g_near1, list, i, num, bar.near1);
    scatter(q->g_near2, list, i, num, bar.near2);
    scatter(q->g_gate, list, i, num, bar.gate);
  }
}
/* Adds to the cotangents of closest points; a distance has no normal that turns with its surface. */
static void penetrate_vjp(const manifold_params *p, const manifold_pose *pose, manifold_work *w,
                          manifold_bars *bars) {
  pair_work *q = &w->pair;
  ITEMS(i, q->num) {
    mask there = exists(i, q->num);
    vec3 x1 = gather_vec(q->x1, q->n, q->list, i, q->num), x2 = gather_vec(q->x2, q->n, q->list, i, q->num);
    vec3 g1 = vec_sel(there, gather_vec(q->g_x1, q->n, q->list, i, q->num), vec_zero());
    vec3 g2 = vec_sel(there, gather_vec(q->g_x2, q->n, q->list, i, q->num), vec_zero());
    real gf1 = sel(there, gather(q->g_f1, q->list, i, q->num), zero());
    real gf2 = sel(there, gather(q->g_f2, q->list, i, q->num), zero());
    g1 =
        add(g1, surface_vjp(p, 1, pose, x1, vec_zero(), gf1, vec_zero(), trace_at(&q->f1_trace, i), bars, i));
    g2 =
        add(g2, surface_vjp(p, 0, pose, x2, vec_zero(), gf2, vec_zero(), trace_at(&q->f2_trace, i), bars, i));
    if (p->projections > 0) {
      g1 = project_vjp(p, 0, pose, gather_vec(q->p1, q->n, q->list, i, q->num), g1, w, bars, i,
                       p->projections);
      g2 = project_vjp(p, 1, pose, gather_vec(q->p2, q->n, q->list, i, q->num), g2, w, bars, i,
                       p->projections);
    }
    scatter_vec(q->g_x1, q->n, q->list, i, q->num, g1);
    scatter_vec(q->g_x2, q->n, q->list, i, q->num, g2);
  }
  for (int i = 0; i < 3 * q->n; i++) {
    q->g_p1[i] += q->g_x1[i];
    q->g_p2[i] += q->g_x2[i];
  }
}

static void cross_edges_vjp(const manifold_params *p, manifold_work *w) {
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
}

/* Sums pairs' cotangents over the partners of each edge. */
static void pair_up_vjp(const manifold_params *p, manifold_work *w) {
  pair_work *q = &w->pair;
  side_work *a = &w->side[0], *b = &w->side[1];
  int rows = p->surface[0].kedge, columns = p->surface[1].kedge;
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < rows; k++) {
      const elem *s1 = q->g_start1 + c * q->n + k * columns, *t1 = q->g_along1 + c * q->n + k * columns;
      const elem *s2 = q->g_start2 + c * q->n + k * columns, *t2 = q->g_along2 + c * q->n + k * columns;
      for (int l = 0; l < columns; l++) {
        a->g_start[c * a->ke + k] += s1[l];
        a->g_along[c * a->ke + k] += t1[l];
        b->g_start[c * b->ke + l] += s2[l];
        b->g_along[c * b->ke + l] += t2[l];
      }
    }
  for (int k = 0; k < rows; k++)
    for (int l = 0; l < columns; l++) {
      elem g = q->g_gate[k * columns + l];
      a->g_edge_gate[k] += g * b->edge_gate[l];
      b->g_edge_gate[l] += g * a->edge_gate[k];
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

static contact_out vertex_bar(const elem *group, int stride, int i) {
  contact_out g = {load_vec(group, stride, i), load_vec(group + 4 * stride, stride, i),
                   load(group + 3 * stride, i), load(group + 7 * stride, i)};
  return g;
}

static void vertex_contacts_vjp(const manifold_params *p, int which, manifold_work *w, const elem *group) {
  side_work *s = &w->side[which];
  elem inv_pen = K(-1 / p->tau_penetration);
  ITEMS(i, p->surface[which].kvertex) {
    contact_out g = vertex_bar(group, s->k, i);
    real penetrating = logistic(load(s->v_phi, i) * inv_pen), gate = load(s->vertex_gate, i);
    store_vec(s->g_v, s->k, i, g.point);
    store_vec(s->g_v_normal, s->k, i, g.normal);
    store(s->g_v_phi, i, g.distance + g.activity * gate * penetrating * (splat(1) - penetrating) * inv_pen);
    store(s->g_vertex_gate, i, g.activity * penetrating);
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

/* Moving all results as one rigid body, about surface 0's origin. */
static void results_vjp(const manifold_params *p, const manifold_job *job, elem *sums) {
  for (int group = 0; group < MANIFOLD_GROUPS; group++) {
    int n = manifold_group(p, group), stride = manifold_pad(n);
    const elem *out = group_at(p, job->contacts, group), *bar = group_at(p, job->bar, group);
    ITEMS(i, n) {
      contact_out c = vertex_bar(out, stride, i), g = vertex_bar(bar, stride, i);
      mask there = exists(i, n);
      add_slots_vec(sums, i, vec_sel(there, g.point, vec_zero()));
      add_slots_vec(sums + 3 * SLOTS, i,
                    vec_sel(there, add(cross(c.point, g.point), cross(c.normal, g.normal)), vec_zero()));
    }
  }
}

static void clear_bars(const manifold_params *p, const manifold_job *job, manifold_work *w) {
  pair_work *q = &w->pair;
  for (int which = 0; which < 2; which++) {
    side_work *s = &w->side[which];
    clear(s->g_world, 3 * s->n);
    clear(s->g_normal, 3 * s->n);
    clear(s->g_phi, s->n);
    clear(s->g_edge_phi, s->ne);
    clear(s->g_edge_gate, s->ke);
    clear(s->g_start, 3 * s->ke);
    clear(s->g_along, 3 * s->ke);
  }
  elem *one[] = {q->g_colliding, q->g_near1, q->g_near2, q->g_gate, q->g_d, q->g_f1, q->g_f2};
  elem *three[] = {q->g_p1, q->g_p2, q->g_x1, q->g_x2};
  for (int i = 0; i < 7; i++) clear(one[i], q->n);
  for (int i = 0; i < 4; i++) clear(three[i], 3 * q->n);
  clear(w->sums, 12 * SLOTS);
  int num = p->surface[0].sdf.num > p->surface[1].sdf.num ? p->surface[0].sdf.num : p->surface[1].sdf.num;
  if (job->parameter_bar[0] || job->parameter_bar[1])
    clear(w->parameters, (int64_t)num * SDF_PARAMETERS * ABUT_LANES);
}

static void manifold_contacts_vjp(const manifold_params *p, manifold_job *job) {
  manifold_work w;
  manifold_pose pose = manifold_pose_of(job);
  manifold_carve(p, &w, (elem *)job->scratch);
  int edges = manifold_group(p, 2) > 0;
  w.pair.num = job->listed;
  w.pair.num_judged = job->judged;
  clear_bars(p, job, &w);
  manifold_bars bars = {
      w.sums, (real *)w.parameters, {(elem *)job->parameter_bar[0], (elem *)job->parameter_bar[1]}};
  if (edges) {
    const elem *first = group_at(p, job->bar, 2), *second = group_at(p, job->bar, 3);
    if (w.pair.num_judged < manifold_group(p, 2)) leave_pairs_vjp(p, &w.pair, first, second);
    judge_vjp(p, &pose, &w, &bars, first, second);
    penetrate_vjp(p, &pose, &w, &bars);
    neighbour_vjp(p, &w);
    cross_edges_vjp(p, &w);
    pair_up_vjp(p, &w);
  }
  for (int which = 0; which < 2; which++) {
    if (edges) select_edges_vjp(p, which, &pose, &w);
    if (p->side[which]) {
      vertex_contacts_vjp(p, which, &w, group_at(p, job->bar, which));
      select_vertices_vjp(p, which, &pose, &w, &bars);
    }
    if (p->side[which] || edges) place_vjp(p, which, &pose, &w, &bars, (elem *)job->vertex_bar[which]);
  }
  results_vjp(p, job, w.sums + 6 * SLOTS);
  double *out[] = {job->force, job->torque, job->out_force, job->out_torque};
  for (int i = 0; i < 12; i++) out[i / 3][i % 3] = sum_slots(w.sums + (int64_t)i * SLOTS);
}
