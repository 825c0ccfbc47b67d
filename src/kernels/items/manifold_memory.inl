/* manifold_memory.inl: what one evaluation keeps, for its stages and for the way back. */
#include "kernels/items/manifold_items.inl"

/* Pose of surface 1 in frame 0, which is where everything is; surface 0's pose is the identity. */
typedef struct manifold_pose {
  mat3 r;
  vec3 t;
} manifold_pose;

/* Traces of evaluations, pack by pack; those of a team's threads interleave. */
typedef struct trace_list {
  real *values;
  int32_t *lists;
  int numbers, stride; /* of each: values, lists */
} trace_list;
FN sdf_trace trace_at(const trace_list *t, int i) {
  int pack = i / ABUT_LANES, block = pack / ABUT_TEAM * ABUT_TEAM, own = pack % ABUT_TEAM;
  sdf_trace trace = {t->values + (int64_t)t->numbers * block + own,
                     t->lists + (int64_t)t->stride * block + own};
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
  elem *worth;             /* at least the activity */
  elem *x1, *x2, *f1, *f2; /* of those in `list`: points on their own surfaces, distances to the others */
  elem *n1, *n2;           /* of those in `judged`: normals there */
  elem *row, *column;      /* [padded ke] */
  int32_t *list, *judged, num, num_judged;
  trace_list f1_trace, f2_trace, n1_trace, n2_trace; /* by place in the lists */
  elem *g_x1, *g_x2, *g_f1, *g_f2, *g_p1, *g_p2, *g_colliding, *g_near1, *g_near2, *g_gate, *g_d, *g_start1,
      *g_along1, *g_start2, *g_along2, *g_n1, *g_n2;
} pair_work;

typedef struct manifold_work {
  manifold_pose pose;
  side_work side[2];
  pair_work pair;
  elem *sums; /* force, torque, out_force, out_torque: [12][SLOTS] */
  team_board *board;
  /* every thread's own, by its rank: room of sdf_at; of points on the way and of one evaluation there; lanes'
   * sums of one evaluation */
  sdf_scratch sdf;
  real *way; /* [projections][3] */
  trace_list path;
  elem *parameters;
  int64_t num_parameters;
} manifold_work;
FN sdf_scratch own_scratch(const manifold_work *w) {
  sdf_scratch own = {w->sdf.rows + TEAM_RANK, w->sdf.seen + TEAM_RANK};
  return own;
}
FN sdf_trace own_path(const manifold_work *w) { return trace_at(&w->path, TEAM_RANK * ABUT_LANES); }

typedef struct carver {
  elem *base;
  int64_t at;
} carver;
KERNEL elem *carve(carver *c, int64_t n) {
  elem *p = c->base ? c->base + c->at : 0;
  c->at += (n + MANIFOLD_PAD - 1) / MANIFOLD_PAD * MANIFOLD_PAD;
  return p;
}
KERNEL int32_t *carve_int(carver *c, int64_t n) {
  return (int32_t *)carve(c,
                          (n * (int64_t)sizeof(int32_t) + (int64_t)sizeof(elem) - 1) / (int64_t)sizeof(elem));
}

KERNEL trace_list carve_traces(carver *c, int64_t n, int primitives) {
  const int64_t whole = ABUT_LANES * ABUT_TEAM, packs = (n + whole - 1) / whole * ABUT_TEAM;
  trace_list t;
  t.numbers = SDF_TRACE_NUMBERS(primitives);
  t.stride = primitives + 2;
  t.values = (real *)carve(c, packs * t.numbers * ABUT_LANES);
  t.lists = carve_int(c, packs * t.stride);
  return t;
}
KERNEL void carve_side(carver *c, const manifold_params *p, int which, side_work *s) {
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

KERNEL int64_t most_parameters(const manifold_params *p) {
  int64_t a = sdf_parameters(&p->surface[0].sdf), b = sdf_parameters(&p->surface[1].sdf);
  return a > b ? a : b;
}

/* Where everything lies from base on (NULL: only counts); returns how many numbers that takes. */
KERNEL int64_t manifold_carve(const manifold_params *p, manifold_work *w, elem *base) {
  carver c = {base, 0};
  carve(&c, (int64_t)(sizeof *w / sizeof(elem)) + 1); /* w itself */
  int64_t num = p->surface[0].sdf.num > p->surface[1].sdf.num ? p->surface[0].sdf.num : p->surface[1].sdf.num;
  pair_work *q = &w->pair;
  for (int i = 0; i < 2; i++) carve_side(&c, p, i, &w->side[i]);
  int64_t n = q->n = manifold_pad(manifold_group(p, 2));
  elem **one[] = {&q->alpha1, &q->alpha2, &q->colliding,   &q->d,       &q->near1,  &q->near2,
                  &q->gate,   &q->f1,     &q->f2,          &q->worth,   &q->g_f1,   &q->g_f2,
                  &q->g_d,    &q->g_gate, &q->g_colliding, &q->g_near1, &q->g_near2};
  elem **three[] = {&q->r,        &q->t1,       &q->t2,       &q->p1,   &q->p2,   &q->x1,   &q->x2,
                    &q->n1,       &q->n2,       &q->g_x1,     &q->g_x2, &q->g_p1, &q->g_p2, &q->g_start1,
                    &q->g_along1, &q->g_start2, &q->g_along2, &q->g_n1, &q->g_n2};
  for (int i = 0; i < (int)(sizeof one / sizeof *one); i++) *one[i] = carve(&c, n);
  for (int i = 0; i < (int)(sizeof three / sizeof *three); i++) *three[i] = carve(&c, 3 * n);
  q->f1_trace = carve_traces(&c, n, p->surface[1].sdf.num);
  q->f2_trace = carve_traces(&c, n, p->surface[0].sdf.num);
  q->n1_trace = carve_traces(&c, n, p->surface[0].sdf.num);
  q->n2_trace = carve_traces(&c, n, p->surface[1].sdf.num);
  w->path = carve_traces(&c, ABUT_LANES * ABUT_TEAM, (int)num);
  q->judged = carve_int(&c, n);
  q->row = carve(&c, w->side[0].ke);
  q->column = carve(&c, w->side[1].ke);
  q->list = carve_int(&c, n);
  w->sums = carve(&c, 12 * SLOTS);
  w->board = (team_board *)carve(&c, (int64_t)(sizeof(team_board) / sizeof(elem)) + 1);
  w->sdf.rows = (real *)carve(&c, num * SDF_SCRATCH * ABUT_LANES * ABUT_TEAM);
  w->sdf.seen = carve_int(&c, num * ABUT_TEAM);
  w->way = (real *)carve(&c, (int64_t)p->projections * 3 * ABUT_LANES * ABUT_TEAM);
  w->num_parameters = most_parameters(p);
  w->parameters = carve(&c, w->num_parameters * ABUT_LANES * ABUT_TEAM);
  return c.at;
}
KERNEL int64_t manifold_scratch(const manifold_params *p) {
  manifold_work w;
  return manifold_carve(p, &w, 0);
}

/* Lays out the scratch and puts the pose there, for the whole team. */
KERNEL manifold_work *manifold_open(const manifold_params *p, const manifold_job *job) {
  manifold_work *w = (manifold_work *)job->scratch;
  const double *r = job->rotation;
  if (LEADER) {
    manifold_carve(p, w, (elem *)job->scratch);
    w->pose.r = mat(vec_splat(r), vec_splat(r + 3), vec_splat(r + 6));
    w->pose.t = vec_splat(job->translation);
    w->pair.num = w->pair.num_judged = 0;
  }
  TEAM_SYNC();
  return w;
}

KERNEL void clear(elem *a, int64_t n) { TEAM_FOR(i, n) a[i] = 0; }

KERNEL void clear_bars(const manifold_job *job, manifold_work *w) {
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
  if (job->parameter_bar[0] || job->parameter_bar[1])
    clear(w->parameters, w->num_parameters * ABUT_LANES * ABUT_TEAM);
  TEAM_SYNC();
}
