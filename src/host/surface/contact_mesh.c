/* contact_mesh.c: the contact mesh: few triangles, vertices on the zero level, edges inside. */
#include "host/surface/contact_mesh.h"
#include "host/base/geometry.h"
#include "host/shape/hull.h"
#include "host/base/status.h"
#include "host/surface/mesh_repair.h"
#include "host/surface/surface_distance.h"
#include <stdlib.h>
#ifdef ABUT_HAVE_MESHOPTIMIZER
#include <meshoptimizer.h>
#endif

/* points of a grid along the longest side; of the samples along an edge and a triangle's side */
enum { SAMPLES = 110, ALONG = 8 };

/* |phi| / |grad phi|, signed: the distance to first order. */
static double height(const posed_primitive *posed, int32_t count, double tau, const double x[3]) {
  double gradient[3], phi = posed_union(posed, count, tau, x, gradient);
  double length = sqrt(dot3(gradient, gradient));
  /* between primitives the gradient fades, but phi is about a distance */
  return length > 0.5 ? phi / length : phi;
}

static void between(const double *a, const double *b, double t, double x[3]) {
  for (int k = 0; k < 3; k++) x[k] = a[k] + t * (b[k] - a[k]);
}

/* ---------------------------------------------------------------------------------------- gaps */

abut_status surface_gaps(const abut_surface *s, const mesh_tree *fine, abut_fit_report *report) {
  posed_primitive *posed;
  ATTEMPT(surface_pose(s, &posed));
  double vertex = 0, out = 0, most = 0, x[3];
  for (int32_t i = 0; i < s->vertex_count; i++)
    vertex = fmax(vertex, fabs(height(posed, s->primitive_count, s->tau, s->vertices + 3 * i)));
  for (int32_t i = 0; i < s->edge_count; i++)
    for (int q = 1; q < ALONG; q++) {
      between(s->vertices + 3 * s->edges[2 * i], s->vertices + 3 * s->edges[2 * i + 1], (double)q / ALONG, x);
      double at = mesh_tree_distance(fine, x, INFINITY);
      most = fmax(most, at);
      if (at > out && posed_union(posed, s->primitive_count, s->tau, x, NULL) > 0) out = at;
    }
  for (int32_t i = 0; i < s->triangle_count; i++) {
    const int32_t *f = s->triangles + 3 * i;
    for (int u = 1; u < ALONG; u++)
      for (int v = 1; u + v < ALONG; v++) {
        for (int k = 0; k < 3; k++)
          x[k] = ((ALONG - u - v) * s->vertices[3 * f[0] + k] + u * s->vertices[3 * f[1] + k] +
                  v * s->vertices[3 * f[2] + k]) /
                 ALONG;
        most = fmax(most, mesh_tree_distance(fine, x, INFINITY));
      }
  }
  free(posed);
  report->vertex_gap = vertex, report->edge_out = out, report->largest_gap = fmax(vertex, most);
  return ABUT_OK;
}

#ifdef ABUT_HAVE_MESHOPTIMIZER
/* part of the vertices that decimation leaves to edges that stick out */
static const double spared = 0.2;
/* an edge that sticks out by less than this part of the mesh's extent is inside */
static const double tolerable = 2e-4;

enum { PASSES = 40 };

typedef struct draft {
  const posed_primitive *posed;
  int32_t primitive_count;
  double tau, extent;
  double *points; /* room for vertices x 3 */
  int32_t npoint, most_points;
  int32_t *faces; /* room for 2 x vertices */
  int32_t nface;
} draft;

/* ---------------------------------------------------------------------------------------- edges */

static int compare_edges(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  return p[0] != q[0] ? (p[0] < q[0] ? -1 : 1) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* The edges of closed triangles, each once. */
static int32_t list_edges(const int32_t *faces, int32_t nface, int32_t *edges) {
  int32_t count = 0;
  for (int32_t i = 0; i < 3 * nface; i++) {
    int32_t a = faces[i], b = faces[i % 3 == 2 ? i - 2 : i + 1];
    if (a > b) continue; /* the neighbour has it the other way round */
    edges[2 * count] = a, edges[2 * count + 1] = b;
    count++;
  }
  qsort(edges, (size_t)count, 2 * sizeof *edges, compare_edges);
  return count;
}

/* How far the edge sticks out at most, and where. */
static double stick_out(const draft *d, int32_t a, int32_t b, double *where) {
  double most = 0, x[3];
  for (int q = 1; q < ALONG; q++) {
    between(d->points + 3 * a, d->points + 3 * b, (double)q / ALONG, x);
    double at = height(d->posed, d->primitive_count, d->tau, x);
    if (at > most) most = at, *where = (double)q / ALONG;
  }
  return most;
}

/* Moves x to the zero level: walks along the gradient, a little further than phi says, until phi has changed
 * sign, then halves the last step. Newton's steps alone would circle at creases. Stays where the walk does
 * not arrive. */
static void settle(const draft *d, double x[3]) {
  enum { STEPS = 100 };
  double from[3], to[3], half[3], gradient[3];
  memcpy(to, x, sizeof to);
  double phi = posed_union(d->posed, d->primitive_count, d->tau, to, gradient), start = phi;
  for (int i = 0; i < STEPS && (phi > 0) == (start > 0); i++) {
    memcpy(from, to, sizeof to);
    /* where the gradient fades between primitives its length says nothing */
    double slope = fmax(sqrt(dot3(gradient, gradient)), 0.5);
    double step = 1.2 * phi / slope + copysign(1e-9 * d->extent, phi);
    if (!normalise(gradient, 3)) return;
    for (int k = 0; k < 3; k++) to[k] = from[k] - step * gradient[k];
    phi = posed_union(d->posed, d->primitive_count, d->tau, to, gradient);
  }
  if ((phi > 0) == (start > 0)) return;
  for (int i = 0; i < 50; i++) {
    between(from, to, 0.5, half);
    double there = posed_union(d->posed, d->primitive_count, d->tau, half, NULL);
    memcpy((there > 0) == (start > 0) ? from : to, half, sizeof half);
  }
  memcpy(x, to, sizeof to);
}

/* Puts a vertex on the edge a b, on the zero level, and cuts the triangles on both sides. */
static void split_edge(draft *d, int32_t a, int32_t b, double where) {
  int32_t middle = d->npoint++, count = d->nface;
  double *x = d->points + 3 * middle;
  between(d->points + 3 * a, d->points + 3 * b, where, x);
  settle(d, x);
  for (int32_t i = 0; i < count; i++) {
    int32_t *f = d->faces + 3 * i;
    for (int k = 0; k < 3; k++) {
      int32_t from = f[k], to = f[(k + 1) % 3];
      if (!((from == a && to == b) || (from == b && to == a))) continue;
      int32_t *g = d->faces + 3 * d->nface++;
      memcpy(g, f, 3 * sizeof *f);
      f[(k + 1) % 3] = middle, g[k] = middle;
      break;
    }
  }
}

/* Twice the area of a triangle, as a vector. */
static void area_vector(const draft *d, int32_t a, int32_t b, int32_t c, double normal[3]) {
  double u[3], v[3];
  for (int k = 0; k < 3; k++) {
    u[k] = d->points[3 * b + k] - d->points[3 * a + k];
    v[k] = d->points[3 * c + k] - d->points[3 * a + k];
  }
  cross3(normal, u, v);
}

/* Whether the triangle keeps to the side that `out` points to. */
static int faces_along(const draft *d, int32_t a, int32_t b, int32_t c, const double out[3]) {
  double normal[3];
  area_vector(d, a, b, c, normal);
  return dot3(normal, out) > 0.3 * sqrt(dot3(normal, normal) * dot3(out, out));
}

/* How far the edge is from the surface at most, on either side. */
static double edge_gap(const draft *d, int32_t a, int32_t b) {
  double most = 0, x[3];
  for (int q = 1; q < ALONG; q++) {
    between(d->points + 3 * a, d->points + 3 * b, (double)q / ALONG, x);
    most = fmax(most, fabs(height(d->posed, d->primitive_count, d->tau, x)));
  }
  return most;
}

/* Replaces the edge a b by the other diagonal of its two triangles where that is less far from the surface
 * than the edge sticks out, is not an edge yet, and folds nothing. Returns whether it did. */
static int flip_edge(draft *d, const int32_t a, const int32_t b, double out) {
  int32_t *left = NULL, *right = NULL, c = -1, e = -1;
  double first[3], second[3];
  for (int32_t i = 0; i < d->nface; i++)
    for (int k = 0; k < 3; k++) {
      int32_t *f = d->faces + 3 * i, from = f[k], to = f[(k + 1) % 3];
      if (from == a && to == b) left = f, c = f[(k + 2) % 3];
      if (from == b && to == a) right = f, e = f[(k + 2) % 3];
    }
  if (!left || !right || c == e || edge_gap(d, c, e) > 0.8 * out) return 0;
  for (int32_t i = 0; i < 3 * d->nface; i++)
    if (d->faces[i] == c &&
        (d->faces[i % 3 == 2 ? i - 2 : i + 1] == e || d->faces[i % 3 ? i - 1 : i + 2] == e))
      return 0;
  area_vector(d, a, b, c, first), area_vector(d, b, a, e, second);
  for (int k = 0; k < 3; k++) first[k] += second[k];
  if (!faces_along(d, c, a, e, first) || !faces_along(d, e, b, c, first)) return 0;
  left[0] = c, left[1] = a, left[2] = e;
  right[0] = e, right[1] = b, right[2] = c;
  return 1;
}

typedef struct chord {
  double out, where;
  int32_t a, b;
} chord;

static int compare_chords(const void *a, const void *b) {
  const chord *p = a, *q = b;
  if (p->out != q->out) return p->out > q->out ? -1 : 1;
  return p->a != q->a ? p->a - q->a : p->b - q->b;
}

/* Flips or splits edges that stick out, the worst first, until there is no such edge, or no vertex left and
 * nothing to flip. Both leave all other edges where they are. chords: room for 3 x most_points. */
static void tuck_edges(draft *d, int32_t vertices, chord *chords) {
  for (int32_t changes = 1, passes = 0; changes > 0 && passes < PASSES; passes++) {
    int32_t count = 0;
    changes = 0;
    for (int32_t i = 0; i < 3 * d->nface; i++) {
      chord c = {.a = d->faces[i], .b = d->faces[i % 3 == 2 ? i - 2 : i + 1]};
      if (c.a > c.b) continue; /* the neighbour has it the other way round */
      c.out = stick_out(d, c.a, c.b, &c.where);
      if (c.out > tolerable * d->extent) chords[count++] = c;
    }
    qsort(chords, (size_t)count, sizeof *chords, compare_chords);
    for (int32_t i = 0; i < count; i++)
      if (flip_edge(d, chords[i].a, chords[i].b, chords[i].out))
        changes++;
      else if (d->npoint < vertices)
        split_edge(d, chords[i].a, chords[i].b, chords[i].where), changes++;
  }
}

/* ---------------------------------------------------------------------------------------- decimation */

/* Keeps the points that the draft's faces have, numbered in their order; 0 where there is no room for them.
 */
static int keep_used(draft *d, const double *points, int32_t *number, int64_t npoint) {
  for (int64_t i = 0; i < npoint; i++) number[i] = -1;
  d->npoint = 0;
  for (int32_t i = 0; i < 3 * d->nface; i++) {
    int32_t *at = number + d->faces[i];
    if (*at < 0) {
      if (d->npoint == d->most_points) return 0;
      memcpy(d->points + 3 * d->npoint, points + 3 * (int64_t)d->faces[i], 3 * sizeof *points);
      *at = d->npoint++;
    }
    d->faces[i] = *at;
  }
  return 1;
}

/* Gives pairs of triangles that share a doubled edge a vertex each on it, and on the zero level. */
static abut_status part_edges(draft *d) {
  int32_t before = d->npoint, (*ends)[2] = malloc((size_t)d->most_points * sizeof *ends);
  if (!ends) return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d vertices", d->most_points);
  abut_status status =
      faces_split_doubled(d->faces, 2 * d->most_points, &d->nface, d->most_points, &d->npoint, ends);
  for (int32_t i = before; i < d->npoint && status == ABUT_OK; i++) {
    between(d->points + 3 * ends[i][0], d->points + 3 * ends[i][1], 0.5, d->points + 3 * i);
    settle(d, d->points + 3 * i);
  }
  free(ends);
  return status;
}

/* Gives sheets that touch in a vertex one each. */
static abut_status part_sheets(draft *d) {
  int32_t before = d->npoint, *original = malloc((size_t)d->most_points * sizeof *original);
  if (!original) return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d vertices", d->most_points);
  abut_status status = faces_part_sheets(d->faces, d->nface, d->most_points, &d->npoint, original);
  for (int32_t i = before; i < d->npoint && status == ABUT_OK; i++)
    memcpy(d->points + 3 * i, d->points + 3 * original[i], 3 * sizeof *d->points);
  free(original);
  return status;
}

/* Room that decimation works in. */
typedef struct mesh_room {
  float *positions;      /* npoint x 3, in extents about the middle */
  unsigned *from, *kept; /* corners before and after */
  int32_t *number;
} mesh_room;

/* About `vertices` of the fine vertices with triangles between them. Collapsing edges can leave a surface
 * that is not closed where two sheets meet: then a little more is kept. */
static abut_status decimate(draft *d, const triangle_mesh *fine, const mesh_room *w, int32_t vertices) {
  size_t corners = 3 * (size_t)fine->nface;
  for (int attempt = 0; attempt < 12; attempt++) {
    size_t wanted = 6 * (size_t)(vertices * (1 + 0.02 * attempt) - 2);
    if (wanted > corners) wanted = corners;
    size_t got = meshopt_simplify(w->kept, w->from, corners, w->positions, (size_t)fine->npoint,
                                  3 * sizeof *w->positions, wanted, 1, 0, NULL);
    if (got > 3 * 2 * (size_t)d->most_points) continue;
    for (size_t i = 0; i < got; i++) d->faces[i] = (int32_t)w->kept[i];
    d->nface = (int32_t)(got / 3);
    ATTEMPT(faces_drop_folds(d->faces, &d->nface));
    if (d->nface < 4 || !keep_used(d, fine->points, w->number, fine->npoint)) continue;
    ATTEMPT(part_edges(d));
    if (mesh_check_closed(d->faces, d->nface) == ABUT_OK) return part_sheets(d);
  }
  return fail_with(ABUT_ERROR_MODEL, "surface: its %lld triangles do not decimate to %d vertices",
                   (long long)fine->nface, vertices);
}

/* ------------------------------------------------------------------------------------------- order */

/* One vertex and its coordinate along the axis that is split. */
typedef struct placed {
  double x;
  int32_t vertex;
} placed;
static int compare_places(const void *a, const void *b) {
  const placed *p = a, *q = b;
  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}
/* Halves a set of vertices across its longest side until CLUSTER or fewer are left. */
static void cluster(const double *points, placed *set, int32_t n) {
  enum { CLUSTER = 16 }; /* numbers in the widest vectors */
  if (n <= CLUSTER) return;
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  int axis = 0;
  for (int32_t i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      low[k] = fmin(low[k], points[3 * set[i].vertex + k]);
      high[k] = fmax(high[k], points[3 * set[i].vertex + k]);
    }
  for (int k = 1; k < 3; k++)
    if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
  for (int32_t i = 0; i < n; i++) set[i].x = points[3 * set[i].vertex + axis];
  qsort(set, (size_t)n, sizeof *set, compare_places);
  int32_t clusters = (n + CLUSTER - 1) / CLUSTER, half = clusters / 2 * CLUSTER;
  cluster(points, set, half);
  cluster(points, set + half, n - half);
}
/* Numbers vertices so that those in sequence are near each other: sixteen of them, looked at together, then
 * have the same few primitives near. */
static abut_status order_vertices(draft *d) {
  const int32_t n = d->npoint;
  placed *set = malloc((size_t)n * sizeof *set);
  double *points = malloc(3 * (size_t)n * sizeof *points);
  int32_t *number = malloc((size_t)n * sizeof *number);
  if (!set || !points || !number) {
    free(set), free(points), free(number);
    return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d vertices", n);
  }
  for (int32_t i = 0; i < n; i++) set[i].vertex = i;
  cluster(d->points, set, n);
  for (int32_t i = 0; i < n; i++) {
    memcpy(points + 3 * i, d->points + 3 * set[i].vertex, 3 * sizeof *points);
    number[set[i].vertex] = i;
  }
  memcpy(d->points, points, 3 * (size_t)n * sizeof *points);
  for (int32_t i = 0; i < 3 * d->nface; i++) d->faces[i] = number[d->faces[i]];
  free(set), free(points), free(number);
  return ABUT_OK;
}

static double extent_of(const triangle_mesh *mesh, double middle[3]) {
  double extent = 0;
  for (int k = 0; k < 3; k++) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < mesh->npoint; i++)
      low = fmin(low, mesh->points[3 * i + k]), high = fmax(high, mesh->points[3 * i + k]);
    middle[k] = (low + high) / 2;
    extent = fmax(extent, high - low);
  }
  return extent;
}

static abut_status draft_mesh(draft *d, const triangle_mesh *fine, int32_t vertices) {
  double middle[3];
  size_t corners = 3 * (size_t)fine->nface, points = 3 * (size_t)fine->npoint;
  mesh_room w = {malloc(points * sizeof *w.positions), malloc(corners * sizeof *w.from),
                 malloc(corners * sizeof *w.kept), malloc(points * sizeof *w.number)};
  chord *chords = malloc(3 * (size_t)d->most_points * sizeof *chords);
  abut_status status = ABUT_OK;
  d->extent = extent_of(fine, middle);
  if (!w.positions || !w.from || !w.kept || !w.number || !chords) {
    status = fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %lld triangles", (long long)fine->nface);
  } else {
    for (size_t i = 0; i < points; i++)
      w.positions[i] = (float)((fine->points[i] - middle[i % 3]) / d->extent);
    for (size_t i = 0; i < corners; i++) w.from[i] = (unsigned)fine->faces[i];
    status = decimate(d, fine, &w, (int32_t)(vertices * (1 - spared)));
  }
  if (status == ABUT_OK) {
    tuck_edges(d, vertices, chords);
    status = order_vertices(d);
  }
  free(w.positions), free(w.from), free(w.kept), free(w.number), free(chords);
  return status;
}

abut_status surface_decimate(abut_surface *s, const triangle_mesh *fine, int32_t vertices) {
  posed_primitive *posed;
  ATTEMPT(surface_pose(s, &posed));
  /* some room above what is wanted, where decimation stops early */
  int32_t most = vertices + vertices / 4 + 8;
  draft d = {.posed = posed, .primitive_count = s->primitive_count, .tau = s->tau, .most_points = most};
  d.points = malloc(3 * (size_t)most * sizeof *d.points);
  d.faces = malloc(6 * (size_t)most * sizeof *d.faces);
  int32_t *edges = malloc(6 * (size_t)most * sizeof *edges);
  abut_status status = d.points && d.faces && edges
                           ? draft_mesh(&d, fine, vertices)
                           : fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d vertices", most);
  free(posed);
  if (status != ABUT_OK) {
    free(d.points), free(d.faces), free(edges);
    return status;
  }
  free(s->vertices), free(s->edges), free(s->triangles);
  s->vertices = d.points, s->vertex_count = d.npoint;
  s->triangles = d.faces, s->triangle_count = d.nface;
  s->edges = edges, s->edge_count = list_edges(d.faces, d.nface, edges);
  return ABUT_OK;
}
#else
abut_status surface_decimate(abut_surface *s, const triangle_mesh *fine, int32_t vertices) {
  (void)s, (void)fine, (void)vertices;
  return fail_with(ABUT_ERROR_UNSUPPORTED, "built without meshoptimizer: contact meshes are not made");
}
#endif

abut_status abut_surface_make_mesh(abut_surface *surface, int32_t vertices) {
  ATTEMPT(surface_check_plain(surface));
  if (vertices < FEWEST_VERTICES || vertices > MOST_VERTICES)
    return fail_with(ABUT_ERROR_ARGUMENT, "surface: vertices is %d, must be from %d to %d", vertices,
                     FEWEST_VERTICES, MOST_VERTICES);
  triangle_mesh fine;
  ATTEMPT(surface_march(surface, SAMPLES, &fine));
  abut_status status = surface_decimate(surface, &fine, vertices);
  triangle_mesh_free(&fine);
  return status;
}
