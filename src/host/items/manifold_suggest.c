/* manifold_suggest.c: how many vertices and edges a manifold needs, from poses in which the surfaces touch.
 */
#include "abut/manifold.h"
#include "host/shape/mesh_clean.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/surface/surface_view.h"
#include <stdlib.h>

enum {
  BLOCK = 64,          /* poses that are looked for at once */
  STEPS = 128,         /* of a way to touching, at most */
  HALVINGS = 12,       /* of its last step: to 1e-6 of the diagonal */
  PARTS = 32,          /* of a diagonal: points on edges are not further apart */
  MOST_PAIRS = 1 << 16 /* of edges, at once */
};

/* One surface and the points that look for touching: its vertices, then points along its edges. */
typedef struct probed {
  const abut_surface *surface;
  abut_surface probe;
  int32_t *first; /* [edges + 1]: an edge's points along it */
  double *area;   /* [triangles]: sum of areas up to here */
  double diagonal;
} probed;

/* A way to touching: surface 2 at start + along direction. */
typedef struct approach {
  double quaternion[4], start[3], direction[3], depth; /* direction: away from surface 1; depth (m) */
  double along, out;                                   /* where it is looked at; last place outside (m) */
  int32_t inside;
} approach;

typedef struct suggestion {
  abut_manifold_sampling sampling;
  abut_manifold_options options; /* in force */
  probed side[2];
  abut_manifold *manifold; /* of all points against the other surface */
  double reach;            /* contacts further out than this are not active (m) */
  double *poses, *distance;
  int32_t *needed[4]; /* vertices of either surface, edges of either: [touched] */
  int64_t touched;
} suggestion;

abut_manifold_sampling abut_default_manifold_sampling(void) {
  return (abut_manifold_sampling){.samples = 256, .quantile = 0.99, .threshold = 0.1};
}

/* -------------------------------------------------------------------------------------------- surfaces */

static double edge_length(const abut_surface *s, int32_t e) {
  const double *a = s->vertices + 3 * (int64_t)s->edges[2 * e],
               *b = s->vertices + 3 * (int64_t)s->edges[2 * e + 1];
  return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

/* Twice the area times the normal. */
static void face_normal(const abut_surface *s, int32_t t, double normal[3]) {
  const int32_t *f = s->triangles + 3 * (int64_t)t;
  double u[3], v[3];
  for (int k = 0; k < 3; k++) {
    u[k] = s->vertices[3 * (int64_t)f[1] + k] - s->vertices[3 * (int64_t)f[0] + k];
    v[k] = s->vertices[3 * (int64_t)f[2] + k] - s->vertices[3 * (int64_t)f[0] + k];
  }
  cross3(normal, u, v);
}

static abut_status sum_areas(const abut_surface *s, int which, probed *p) {
  double total = 0, normal[3];
  p->area = malloc(((size_t)s->triangle_count + 1) * sizeof *p->area);
  if (!p->area) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  for (int32_t t = 0; t < s->triangle_count; t++) {
    face_normal(s, t, normal);
    p->area[t] = total += sqrt(dot3(normal, normal));
  }
  if (total > 0) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "manifold: surface %d has no triangles to touch with", which + 1);
}

static abut_status probe_surface(const abut_surface *s, int which, probed *p) {
  ATTEMPT(sum_areas(s, which, p));
  p->surface = s;
  p->diagonal = abut_surface_diagonal(s);
  p->probe = *s;
  p->probe.edge_count = p->probe.triangle_count = 0;
  p->probe.vertices = NULL;
  p->first = malloc(((size_t)s->edge_count + 1) * sizeof *p->first);
  if (!p->first) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  int64_t count = s->vertex_count;
  for (int32_t e = 0; e <= s->edge_count; e++) {
    if (count > INT32_MAX / 4)
      return fail_with(ABUT_ERROR_ARGUMENT, "manifold: surface %d has %d edges, too many to sample",
                       which + 1, s->edge_count);
    p->first[e] = (int32_t)count;
    if (e < s->edge_count) count += (int64_t)ceil(PARTS * edge_length(s, e) / p->diagonal);
  }
  p->probe.vertex_count = (int32_t)count;
  p->probe.vertices = malloc(3 * (size_t)count * sizeof *p->probe.vertices);
  if (!p->probe.vertices) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  memcpy(p->probe.vertices, s->vertices, 3 * (size_t)s->vertex_count * sizeof *s->vertices);
  for (int32_t e = 0; e < s->edge_count; e++) {
    const double *a = s->vertices + 3 * (int64_t)s->edges[2 * e],
                 *b = s->vertices + 3 * (int64_t)s->edges[2 * e + 1];
    int32_t num = p->first[e + 1] - p->first[e];
    for (int32_t i = 0; i < num; i++)
      for (int k = 0; k < 3; k++)
        p->probe.vertices[3 * (int64_t)(p->first[e] + i) + k] = a[k] + (b[k] - a[k]) * (i + 1) / (num + 1);
  }
  return ABUT_OK;
}

/* ------------------------------------------------------------------------------------------------ poses */

/* A point of the surface, evenly by area, and its triangle's normal. */
static void draw_point(const probed *p, point_draw *draw, double x[3], double normal[3]) {
  const abut_surface *s = p->surface;
  double at = point_draw_next(draw) * p->area[s->triangle_count - 1];
  double u = point_draw_next(draw), v = point_draw_next(draw);
  int32_t low = 0, high = s->triangle_count - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (p->area[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  if (u + v > 1) u = 1 - u, v = 1 - v;
  const int32_t *f = s->triangles + 3 * (int64_t)low;
  for (int k = 0; k < 3; k++) {
    double a = s->vertices[3 * (int64_t)f[0] + k];
    x[k] = a + u * (s->vertices[3 * (int64_t)f[1] + k] - a) + v * (s->vertices[3 * (int64_t)f[2] + k] - a);
  }
  face_normal(s, low, normal);
  normalise(normal, 3);
}
static void draw_quaternion(point_draw *draw, double q[4]) {
  static const double turn = 6.283185307179586;
  double u = point_draw_next(draw), a = turn * point_draw_next(draw), b = turn * point_draw_next(draw);
  double r = sqrt(1 - u), s = sqrt(u);
  double evenly[4] = {s * cos(b), r * sin(a), r * cos(a), s * sin(b)};
  memcpy(q, evenly, sizeof evenly);
}
/* q followed by the shortest turn of its image of `from` against `to`. */
static void face_against(double q[4], const double from[3], const double to[3]) {
  static const double origin[3] = {0, 0, 0};
  double n[3], turn[4];
  transform_point(n, origin, q, from);
  turn[0] = 1 - dot3(n, to);
  turn[1] = n[2] * to[1] - n[1] * to[2];
  turn[2] = n[0] * to[2] - n[2] * to[0];
  turn[3] = n[1] * to[0] - n[0] * to[1];
  if (normalise(turn, 4)) quat_product(q, turn, q);
}
/* Sample i: even ones meet with two triangles flat on each other, odd ones in any way. */
static approach draw_approach(const suggestion *g, int64_t i) {
  static const double origin[3] = {0, 0, 0}, up[3] = {0, 0, 1};
  point_draw draw = point_draw_start(g->sampling.seed, (uint64_t)i);
  approach a;
  double x[2][3], normal[2][3], any[4];
  for (int s = 0; s < 2; s++) draw_point(&g->side[s], &draw, x[s], normal[s]);
  draw_quaternion(&draw, a.quaternion);
  draw_quaternion(&draw, any);
  if (i % 2) {
    transform_point(a.direction, origin, any, up);
  } else {
    face_against(a.quaternion, normal[1], normal[0]);
    memcpy(a.direction, normal[0], sizeof a.direction);
  }
  transform_point(a.start, origin, a.quaternion, x[1]);
  for (int k = 0; k < 3; k++) a.start[k] = x[0][k] - a.start[k];
  a.depth = (1 - point_draw_next(&draw)) * g->sampling.depth;
  a.along = a.out = g->side[0].diagonal + g->side[1].diagonal; /* apart for certain */
  a.inside = 0;
  return a;
}

static void place(const approach *a, double along, double pose[14]) {
  static const double first[7] = {0, 0, 0, 1, 0, 0, 0};
  memcpy(pose, first, sizeof first);
  for (int k = 0; k < 3; k++) pose[7 + k] = a->start[k] + along * a->direction[k];
  memcpy(pose + 10, a->quaternion, sizeof a->quaternion);
}
static int64_t points_of(const suggestion *g) {
  return (int64_t)g->side[0].probe.vertex_count + g->side[1].probe.vertex_count;
}
/* Distances of all points, pose by pose. */
static abut_status look(suggestion *g, const approach *a, int64_t count) {
  abut_contacts contacts = {.distance = g->distance};
  for (int64_t i = 0; i < count; i++) place(&a[i], a[i].along, g->poses + 14 * i);
  return abut_manifold_contacts(g->manifold, count, g->poses, &contacts);
}
static double deepest(const suggestion *g, int64_t i) {
  const double *distance = g->distance + i * points_of(g);
  double least = distance[0];
  for (int64_t j = 1; j < points_of(g); j++) least = fmin(least, distance[j]);
  return least;
}

/* Moves surface 2 towards surface 1 until its deepest point is `depth` inside, or the other's. */
static abut_status approach_all(suggestion *g, approach *a, int64_t count) {
  double least = fmin(g->side[0].diagonal, g->side[1].diagonal) / 64;
  double far = g->side[0].diagonal + g->side[1].diagonal;
  int moving = 1;
  for (int step = 0; step < STEPS && moving; step++) {
    moving = 0;
    ATTEMPT(look(g, a, count));
    for (int64_t i = 0; i < count; i++) {
      double d = deepest(g, i) + a[i].depth;
      if (d < 0) a[i].inside = 1;
      if (a[i].inside || a[i].along < -far) continue;
      moving = 1;
      a[i].out = a[i].along;
      a[i].along -= fmax(0.5 * d, least); /* half: distances of primitives may be too large */
    }
  }
  double in[BLOCK];
  for (int64_t i = 0; i < count; i++) in[i] = a[i].along;
  for (int step = 0; step < HALVINGS; step++) {
    for (int64_t i = 0; i < count; i++) a[i].along = 0.5 * (in[i] + a[i].out);
    ATTEMPT(look(g, a, count));
    for (int64_t i = 0; i < count; i++) *(deepest(g, i) + a[i].depth < 0 ? &in[i] : &a[i].out) = a[i].along;
  }
  for (int64_t i = 0; i < count; i++) a[i].along = in[i];
  return look(g, a, count);
}

/* ------------------------------------------------------------------------------------------------ ranks */

/* Edges of which a point may lie within reach: half a gap further out than points that were looked at, for
 * distances that grow by 2 a metre. */
static int32_t list_edges(const suggestion *g, int which, const double *distance, int32_t *list) {
  const probed *p = &g->side[which];
  const abut_surface *s = p->surface;
  int32_t num = 0;
  for (int32_t e = 0; e < s->edge_count; e++) {
    double least = fmin(distance[s->edges[2 * e]], distance[s->edges[2 * e + 1]]);
    for (int32_t i = p->first[e]; i < p->first[e + 1]; i++) least = fmin(least, distance[i]);
    if (least < g->reach + edge_length(s, e) / (p->first[e + 1] - p->first[e] + 1)) list[num++] = e;
  }
  return num;
}

/* Marks edges of active contacts that surface `which` has on edges listed; the other has all of its edges, so
 * that activities are those of a manifold of all. */
static abut_status mark_edges(const suggestion *g, int which, const double *pose, const int32_t *list,
                              int32_t num, char *const marked[2]) {
  abut_surface surface[2] = {*g->side[0].surface, *g->side[1].surface};
  int32_t others = surface[!which].edge_count;
  abut_manifold *m = NULL;
  surface[which].edges = malloc(2 * (size_t)num * sizeof *list);
  double *activity = malloc(2 * (size_t)num * (size_t)others * sizeof *activity);
  abut_status status =
      surface[which].edges && activity ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  for (int32_t i = 0; status == ABUT_OK && i < 2 * num; i++)
    surface[which].edges[i] = g->side[which].surface->edges[2 * list[i / 2] + i % 2];
  surface[which].edge_count = num;
  if (status == ABUT_OK) status = abut_manifold_create(&surface[0], &surface[1], &g->options, &m);
  abut_contacts contacts = {.activity = activity};
  if (status == ABUT_OK) status = abut_manifold_contacts(m, 1, pose, &contacts);
  if (status == ABUT_OK)
    for (int32_t i = 0; i < num; i++)
      for (int32_t j = 0; j < others; j++) {
        int64_t pair = which ? (int64_t)j * num + i + (int64_t)num * others : (int64_t)i * others + j;
        if (activity[pair] > g->sampling.threshold) marked[which][list[i]] = marked[!which][j] = 1;
      }
  abut_manifold_destroy(m);
  free(activity);
  free(surface[which].edges);
  return status;
}

/* How many of the deepest edges have all marked ones among them: by the mean of their ends, as a manifold
 * selects. */
static int32_t last_rank(const abut_surface *s, const double *distance, const char *marked) {
  double last = -INFINITY;
  int32_t at = -1, rank = 0;
  for (int32_t e = 0; e < s->edge_count; e++) {
    double mean = 0.5 * (distance[s->edges[2 * e]] + distance[s->edges[2 * e + 1]]);
    if (marked[e] && mean >= last) {
      last = mean;
      at = e;
    }
  }
  for (int32_t e = 0; at >= 0 && e < s->edge_count; e++) {
    double mean = 0.5 * (distance[s->edges[2 * e]] + distance[s->edges[2 * e + 1]]);
    rank += mean < last || (mean == last && e <= at);
  }
  return rank;
}

static abut_status count_edges(suggestion *g, const double *pose, const double *const distance[2]) {
  int32_t count[2] = {g->side[0].surface->edge_count, g->side[1].surface->edge_count};
  int32_t *list = malloc(((size_t)count[0] + (size_t)count[1]) * sizeof *list);
  char *memory = calloc((size_t)count[0] + (size_t)count[1], 1), *marked[2] = {memory, memory + count[0]};
  abut_status status = list && memory ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  for (int s = 0; s < 2 && status == ABUT_OK; s++) {
    int32_t num = list_edges(g, s, distance[s], list), rows = MOST_PAIRS / count[!s] + 1;
    for (int32_t first = 0; status == ABUT_OK && first < num; first += rows)
      status = mark_edges(g, s, pose, list + first, num - first < rows ? num - first : rows, marked);
  }
  for (int s = 0; s < 2 && status == ABUT_OK; s++)
    g->needed[2 + s][g->touched] = last_rank(g->side[s].surface, distance[s], marked[s]);
  free(list);
  free(memory);
  return status;
}

/* Adds what pose i of a block needs. */
static abut_status count_pose(suggestion *g, int64_t i) {
  const double *first = g->distance + i * points_of(g);
  const double *const distance[2] = {first, first + g->side[0].probe.vertex_count};
  for (int s = 0; s < 2; s++) { /* a vertex is the more active the deeper it is: their number is the rank */
    g->needed[s][g->touched] = g->needed[2 + s][g->touched] = 0;
    for (int32_t v = 0; v < g->side[s].surface->vertex_count; v++)
      g->needed[s][g->touched] += distance[s][v] < g->reach;
  }
  if (g->options.edges[0] != 0) ATTEMPT(count_edges(g, g->poses + 14 * i, distance));
  g->touched++;
  return ABUT_OK;
}

/* ------------------------------------------------------------------------------------------------- call */

static abut_status check_sampling(const abut_manifold_sampling *s) {
#define BAD(...) return fail_with(ABUT_ERROR_ARGUMENT, "manifold: " __VA_ARGS__)
  if (s->samples < 1 || s->samples > 1 << 24)
    BAD("samples is %lld, must lie in [1, 2^24]", (long long)s->samples);
  if (!(s->quantile >= 0 && s->quantile <= 1)) BAD("quantile is %g, must lie in [0, 1]", s->quantile);
  if (!(s->threshold >= 1e-6 && s->threshold <= 0.5))
    BAD("threshold is %g, must lie in [1e-6, 0.5]", s->threshold);
  if (!(s->depth >= 0 && s->depth <= 1e6)) BAD("depth is %g, must lie in [0, 1e6]", s->depth);
  return ABUT_OK;
#undef BAD
}

/* Checks surfaces and options, and fills in the latter, by a manifold of one pair of edges. */
static abut_status settle(suggestion *g, const abut_surface *const surface[2],
                          const abut_manifold_options *options) {
  abut_manifold *m = NULL;
  int32_t *edges = g->options.edges;
  g->options = options ? *options : abut_default_manifold_options();
  g->options.vertices[0] = g->options.vertices[1] = -1;
  g->options.selection = ABUT_SELECT_HARD;
  g->options.device = ABUT_DEVICE_CPU;
  if (edges[0] != 0 && edges[1] != 0 && surface[0]->edge_count > 0 && surface[1]->edge_count > 0)
    edges[0] = edges[1] = 1;
  else
    edges[0] = edges[1] = 0;
  ATTEMPT(abut_manifold_create(surface[0], surface[1], &g->options, &m));
  abut_status status = abut_manifold_settings(m, &g->options);
  abut_manifold_destroy(m);
  if (g->sampling.depth == 0) g->sampling.depth = g->options.tau_pen;
  /* activity <= sigma(-phi/tau_pen) */
  g->reach = g->options.tau_pen * log(1 / g->sampling.threshold - 1);
  return status;
}
/* The manifold of points, and memory; the options become those of pairs of edges. */
static abut_status prepare(suggestion *g, const abut_surface *const surface[2]) {
  abut_manifold_options points = g->options;
  points.vertices[0] = points.vertices[1] = -1;
  points.edges[0] = points.edges[1] = 0;
  for (int s = 0; s < 2; s++) {
    ATTEMPT(probe_surface(surface[s], s, &g->side[s]));
    g->options.vertices[s] = 0;
    g->options.edges[s] = g->options.edges[s] ? -1 : 0;
  }
  g->options.threads = 1;
  ATTEMPT(abut_manifold_create(&g->side[0].probe, &g->side[1].probe, &points, &g->manifold));
  g->poses = malloc(14 * BLOCK * sizeof *g->poses);
  g->distance = malloc(BLOCK * (size_t)points_of(g) * sizeof *g->distance);
  int ok = g->poses && g->distance;
  for (int i = 0; i < 4; i++)
    ok = (g->needed[i] = malloc((size_t)g->sampling.samples * sizeof *g->needed[i])) && ok;
  return ok ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
}

static abut_status sample(suggestion *g) {
  approach a[BLOCK];
  for (int64_t first = 0; first < g->sampling.samples; first += BLOCK) {
    int64_t left = g->sampling.samples - first, count = left < BLOCK ? left : BLOCK;
    for (int64_t i = 0; i < count; i++) a[i] = draw_approach(g, first + i);
    ATTEMPT(approach_all(g, a, count));
    for (int64_t i = 0; i < count; i++)
      if (a[i].inside) ATTEMPT(count_pose(g, i));
  }
  if (g->touched) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "manifold: the surfaces met in none of %lld poses",
                   (long long)g->sampling.samples);
}

static int by_size(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}
/* The least number that is enough in a share `quantile` of poses. */
static int32_t quantile_of(const suggestion *g, int group) {
  int64_t at = (int64_t)ceil(g->sampling.quantile * (double)g->touched) - 1;
  qsort(g->needed[group], (size_t)g->touched, sizeof *g->needed[group], by_size);
  return g->needed[group][at > 0 ? at : 0];
}

static void suggestion_free(suggestion *g) {
  abut_manifold_destroy(g->manifold);
  for (int s = 0; s < 2; s++) {
    free(g->side[s].probe.vertices);
    free(g->side[s].first);
    free(g->side[s].area);
  }
  for (int i = 0; i < 4; i++) free(g->needed[i]);
  free(g->poses);
  free(g->distance);
}

abut_status abut_manifold_suggest(const abut_surface *surface1, const abut_surface *surface2,
                                  const abut_manifold_options *options,
                                  const abut_manifold_sampling *sampling, abut_manifold_counts *counts) {
  REQUIRE_POINTER(surface1, "surface1");
  REQUIRE_POINTER(surface2, "surface2");
  REQUIRE_POINTER(counts, "counts");
  const abut_surface *surface[2] = {surface1, surface2};
  suggestion g = {.sampling = sampling ? *sampling : abut_default_manifold_sampling()};
  ATTEMPT(check_sampling(&g.sampling));
  ATTEMPT(settle(&g, surface, options));
  abut_status status = prepare(&g, surface);
  if (status == ABUT_OK) status = sample(&g);
  if (status == ABUT_OK) {
    *counts = (abut_manifold_counts){
        {quantile_of(&g, 0), quantile_of(&g, 1)}, {quantile_of(&g, 2), quantile_of(&g, 3)}, 0};
    counts->contacts =
        counts->vertices[0] + counts->vertices[1] + 2 * (int64_t)counts->edges[0] * counts->edges[1];
  }
  suggestion_free(&g);
  return status;
}
