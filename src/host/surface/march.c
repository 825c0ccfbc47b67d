/* march.c: triangles of a surface's zero level, by marching tetrahedra.
 *
 * Every cell of a grid is cut into the six tetrahedra around its diagonal, whose corners are reached by
 * adding the axes one after another (Kuhn's triangulation); neighbours agree on their common faces, so the
 * triangles are closed and have no ambiguous cases. A corner is a number of three bits, and every edge leads
 * from a corner to one with more bits: seven edges start at every grid point. */
#include "host/shape/mesh_grid.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/surface/contact_mesh.h"
#include <stdlib.h>

enum { EDGES = 7, MOST_TRIPLES = 64 };

typedef struct march {
  const posed_primitive *posed;
  int32_t primitive_count;
  double tau;
  const mesh_grid *grid; /* distance: phi */
  int64_t step[8];       /* to the point at a corner of its cell */
  int32_t *vertex;       /* EDGES per grid point: number of the vertex on it, -1 */
  triangle_mesh *mesh;
  int64_t point_capacity, face_capacity;
  int missing; /* there was no memory */
} march;

/* ---------------------------------------------------------------------------------------- bounds */

static void widen(double low[3], double high[3], const double x[3]) {
  for (int k = 0; k < 3; k++) low[k] = fmin(low[k], x[k]), high[k] = fmax(high[k], x[k]);
}

/* The box of a superquadric: its frame's box, turned. */
static void widen_superquadric(const posed_primitive *p, double low[3], double high[3]) {
  double a[3], b[3];
  for (int k = 0; k < 3; k++) {
    double reach = 0;
    for (int j = 0; j < 3; j++) reach += fabs(p->rotation[3 * k + j]) * p->size[j];
    a[k] = p->position[k] - reach, b[k] = p->position[k] + reach;
  }
  widen(low, high, a), widen(low, high, b);
}

/* The point that three planes have in common; 0 if there is none to speak of. */
static int meet(const double *a, const double *b, const double *c, double x[3]) {
  double bc[3], ca[3], ab[3];
  cross3(bc, b, c), cross3(ca, c, a), cross3(ab, a, b);
  double volume = dot3(a, bc);
  if (fabs(volume) < 1e-9) return 0;
  for (int k = 0; k < 3; k++) x[k] = (a[3] * bc[k] + b[3] * ca[k] + c[3] * ab[k]) / volume;
  return 1;
}

/* The corners of a polyhedron: where three of its planes meet below all others. */
static void widen_polyhedron(const posed_primitive *p, double low[3], double high[3]) {
  int32_t n = p->plane_count < MOST_TRIPLES ? p->plane_count : MOST_TRIPLES;
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = i + 1; j < n; j++)
      for (int32_t k = j + 1; k < n; k++) {
        double x[3], size;
        if (!meet(p->planes + 4 * i, p->planes + 4 * j, p->planes + 4 * k, x)) continue;
        size = fabs(x[0]) + fabs(x[1]) + fabs(x[2]);
        int outside = 0;
        for (int32_t q = 0; q < p->plane_count; q++)
          outside |= dot3(p->planes + 4 * q, x) > p->planes[4 * q + 3] + 1e-9 * size;
        if (outside) continue;
        double y[3];
        for (int r = 0; r < 3; r++) y[r] = p->position[r] + dot3(p->rotation + 3 * r, x);
        widen(low, high, y);
      }
}

/* ---------------------------------------------------------------------------------------- triangles */

static int32_t push(march *m, const double x[3]) {
  triangle_mesh *mesh = m->mesh;
  if (mesh->npoint == m->point_capacity) {
    int64_t capacity = m->point_capacity ? 2 * m->point_capacity : 4096;
    double *points = realloc(mesh->points, 3 * (size_t)capacity * sizeof *points);
    if (!points) m->missing = 1;
    if (!points) return 0;
    mesh->points = points, m->point_capacity = capacity;
  }
  memcpy(mesh->points + 3 * mesh->npoint, x, 3 * sizeof *x);
  return (int32_t)mesh->npoint++;
}

static void push_face(march *m, int32_t a, int32_t b, int32_t c, int turned) {
  triangle_mesh *mesh = m->mesh;
  if (mesh->nface == m->face_capacity) {
    int64_t capacity = m->face_capacity ? 2 * m->face_capacity : 8192;
    int32_t *faces = realloc(mesh->faces, 3 * (size_t)capacity * sizeof *faces);
    if (!faces) m->missing = 1;
    if (!faces) return;
    mesh->faces = faces, m->face_capacity = capacity;
  }
  int32_t *face = mesh->faces + 3 * mesh->nface++;
  face[0] = a, face[1] = turned ? c : b, face[2] = turned ? b : c;
}

static void between(const double *a, const double *b, double t, double x[3]) {
  for (int k = 0; k < 3; k++) x[k] = a[k] + t * (b[k] - a[k]);
}

/* Where phi changes sign between x and y, as a part of the way: false position (Illinois), which always keeps
 * the change between its two ends. */
static double crossing(const march *m, const double x[3], const double y[3], double at_x, double at_y) {
  double low = 0, high = 1, t = 0.5, p[3];
  for (int i = 0, side = 0; i < 40 && high - low > 1e-12; i++) {
    t = low + (high - low) * at_x / (at_x - at_y);
    between(x, y, t, p);
    double phi = posed_union(m->posed, m->primitive_count, m->tau, p, NULL);
    if (fabs(phi) < 1e-12 * m->grid->spacing) return t;
    int same = (phi < 0) == (at_x < 0);
    if (same) low = t, at_x = phi;
    if (!same) high = t, at_y = phi;
    /* an end that stays twice counts half */
    if (same && side == 1) at_y /= 2;
    if (!same && side == -1) at_x /= 2;
    side = same ? 1 : -1;
  }
  return t;
}

/* The vertex between two corners of the cell at a grid point, on opposite sides of the surface. */
static int32_t vertex_between(march *m, int64_t cell, int a, int b) {
  int low = a < b ? a : b, high = a ^ b ^ low;
  int64_t from = cell + m->step[low], to = cell + m->step[high];
  int32_t *vertex = m->vertex + EDGES * from + (high - low - 1);
  if (*vertex >= 0) return *vertex;
  double x[3], y[3], at[3];
  mesh_grid_point(m->grid, from, x);
  mesh_grid_point(m->grid, to, y);
  /* not at the ends, where vertices of several edges would be one point */
  double t = crossing(m, x, y, m->grid->distance[from], m->grid->distance[to]);
  between(x, y, fmin(fmax(t, 1e-5), 1 - 1e-5), at);
  *vertex = push(m, at);
  return *vertex;
}

/* Triangles of one tetrahedron of corners c; turned: it is left-handed. Each order of the corners below is an
 * even permutation, so that one rule says which way is out. */
static void march_tetrahedron(march *m, int64_t cell, const int c[4], int turned) {
  static const int alone[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  static const int pairs[6][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2},
                                  {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 3, 0, 1}};
  int inside = 0;
  for (int i = 0; i < 4; i++) inside |= (m->grid->distance[cell + m->step[c[i]]] < 0) << i;
  for (int i = 0; i < 4; i++) {
    /* one corner apart from the other three */
    if (inside != 1 << i && inside != (15 ^ 1 << i)) continue;
    const int *o = alone[i];
    int32_t v[3];
    for (int k = 0; k < 3; k++) v[k] = vertex_between(m, cell, c[o[0]], c[o[k + 1]]);
    push_face(m, v[0], v[1], v[2], turned ^ (inside != 1 << i));
  }
  for (int i = 0; i < 6; i++) {
    const int *o = pairs[i];
    if (inside != (1 << o[0] | 1 << o[1])) continue;
    int32_t a = vertex_between(m, cell, c[o[0]], c[o[2]]), b = vertex_between(m, cell, c[o[0]], c[o[3]]),
            d = vertex_between(m, cell, c[o[1]], c[o[3]]), e = vertex_between(m, cell, c[o[1]], c[o[2]]);
    push_face(m, a, b, d, turned);
    push_face(m, a, d, e, turned);
  }
}

/* high - low of two corners of an edge is the axes' bits, because low's are among high's. */
static void march_cell(march *m, int64_t cell) {
  static const int orders[6][3] = {{1, 2, 4}, {2, 4, 1}, {4, 1, 2}, {2, 1, 4}, {1, 4, 2}, {4, 2, 1}};
  int inside = 0;
  for (int i = 0; i < 8; i++) inside += m->grid->distance[cell + m->step[i]] < 0;
  if (inside == 0 || inside == 8) return;
  for (int i = 0; i < 6; i++) {
    const int c[4] = {0, orders[i][0], orders[i][0] | orders[i][1], 7};
    march_tetrahedron(m, cell, c, i >= 3);
  }
}

static abut_status march_grid(const abut_surface *s, const posed_primitive *posed, const mesh_grid *grid,
                              triangle_mesh *mesh) {
  march m = {
      .posed = posed, .primitive_count = s->primitive_count, .tau = s->tau, .grid = grid, .mesh = mesh};
  int64_t size = mesh_grid_size(grid);
  m.vertex = malloc(EDGES * (size_t)size * sizeof *m.vertex);
  if (!m.vertex) return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %lld cells", (long long)size);
  for (int64_t i = 0; i < EDGES * size; i++) m.vertex[i] = -1;
  for (int i = 0; i < 8; i++)
    m.step[i] = (i & 1) + (i >> 1 & 1) * (int64_t)grid->n[0] + (i >> 2) * (int64_t)grid->n[0] * grid->n[1];
  for (int32_t z = 0; z + 1 < grid->n[2]; z++)
    for (int32_t y = 0; y + 1 < grid->n[1]; y++)
      for (int32_t x = 0; x + 1 < grid->n[0]; x++)
        march_cell(&m, ((int64_t)z * grid->n[1] + y) * grid->n[0] + x);
  free(m.vertex);
  if (m.missing) return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for its triangles");
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- surface */

/* phi at every grid point; fails where the union reaches the grid's border or no point is inside. */
static abut_status fill(const abut_surface *s, const posed_primitive *posed, mesh_grid *grid) {
  int64_t size = mesh_grid_size(grid), inside = 0;
  for (int64_t i = 0; i < size; i++) {
    double x[3];
    int64_t rest = i, border = 0;
    mesh_grid_point(grid, i, x);
    grid->distance[i] = (float)posed_union(posed, s->primitive_count, s->tau, x, NULL);
    for (int k = 0; k < 3; rest /= grid->n[k], k++)
      border |= rest % grid->n[k] == 0 || rest % grid->n[k] == grid->n[k] - 1;
    inside += grid->distance[i] < 0;
    if (border && grid->distance[i] < 0)
      return fail_with(ABUT_ERROR_MODEL,
                       "surface: it reaches beyond (%g, %g, %g): a polyhedron is not bounded, "
                       "or tau of %g is large beside its primitives",
                       x[0], x[1], x[2], s->tau);
  }
  if (inside) return ABUT_OK;
  return fail_with(ABUT_ERROR_MODEL, "surface: none of %lld points is inside: its primitives are too thin",
                   (long long)size);
}

static abut_status march_posed(const abut_surface *s, const posed_primitive *posed, int32_t samples,
                               triangle_mesh *mesh) {
  mesh_grid grid = {0};
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, longest = 0;
  for (int32_t l = 0; l < s->primitive_count; l++)
    if (posed[l].kind == ABUT_PRIMITIVE_POLYHEDRON)
      widen_polyhedron(posed + l, low, high);
    else
      widen_superquadric(posed + l, low, high);
  for (int k = 0; k < 3; k++) longest = fmax(longest, high[k] - low[k]);
  if (!(longest > 0 && longest < INFINITY))
    return fail_with(ABUT_ERROR_MODEL, "surface: the planes of a polyhedron bound nothing");
  double border = s->tau * log(s->primitive_count) + 2 * longest / samples;
  ATTEMPT(mesh_grid_make(low, high, samples, border, &grid));
  abut_status status = fill(s, posed, &grid);
  if (status == ABUT_OK) status = march_grid(s, posed, &grid, mesh);
  mesh_grid_free(&grid);
  return status;
}

abut_status surface_march(const abut_surface *surface, int32_t samples, triangle_mesh *mesh) {
  posed_primitive *posed;
  memset(mesh, 0, sizeof *mesh);
  ATTEMPT(surface_pose(surface, &posed));
  abut_status status = march_posed(surface, posed, samples, mesh);
  free(posed);
  if (status != ABUT_OK) triangle_mesh_free(mesh);
  return status;
}
