/* mesh_clean.c: a triangle mesh made ready for fitting: cleaned, moved to the origin, its diagonal one. */
#include "host/shape/mesh_clean.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

enum { MOST = INT32_MAX / 16 };
/* lengths beyond these would over- or underflow in volumes and moments */
static const double largest = 1e25, smallest = 1e-25;

void clean_mesh_free(clean_mesh *mesh) { triangle_mesh_free(&mesh->mesh); }

static abut_status no_memory(const abut_triangles *t) {
  return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for a mesh of %lld triangles", (long long)t->ntriangle);
}

/* ---------------------------------------------------------------------------------------- input */

static abut_status check_input(const abut_triangles *t) {
  if (t->ntriangle < 1 || t->nvertex < 1)
    return fail_with(ABUT_ERROR_MODEL, "fit: the mesh is empty: %lld triangles, %lld vertices",
                     (long long)t->ntriangle, (long long)t->nvertex);
  if (t->ntriangle > MOST || t->nvertex > MOST)
    return fail_with(ABUT_ERROR_MODEL, "fit: a mesh of %lld triangles and %lld vertices is too large",
                     (long long)t->ntriangle, (long long)t->nvertex);
  if (!t->vertices || !t->triangles)
    return fail_with(ABUT_ERROR_ARGUMENT, "fit: the mesh's %s are NULL",
                     t->vertices ? "triangles" : "vertices");
  for (int64_t i = 0; i < 3 * t->nvertex; i++)
    if (!(fabs(t->vertices[i]) <= largest))
      return fail_with(ABUT_ERROR_MODEL, "fit: vertex %lld has coordinate %g", (long long)(i / 3),
                       t->vertices[i]);
  for (int64_t i = 0; i < 3 * t->ntriangle; i++)
    if (t->triangles[i] < 0 || t->triangles[i] >= t->nvertex)
      return fail_with(ABUT_ERROR_MODEL, "fit: triangle %lld has vertex %d, there are %lld",
                       (long long)(i / 3), t->triangles[i], (long long)t->nvertex);
  return ABUT_OK;
}

/* Box around the vertices that triangles use; its diagonal becomes the unit of length. */
static abut_status scale_mesh(clean_mesh *out) {
  triangle_mesh *m = &out->mesh;
  for (int k = 0; k < 3; k++) out->low[k] = INFINITY, out->high[k] = -INFINITY;
  for (int64_t i = 0; i < 3 * m->nface; i++)
    for (int k = 0; k < 3; k++) {
      double x = m->points[3 * (int64_t)m->faces[i] + k];
      out->low[k] = fmin(out->low[k], x), out->high[k] = fmax(out->high[k], x);
    }
  double square = 0, extent = 0;
  for (int k = 0; k < 3; k++) extent = fmax(extent, out->high[k] - out->low[k]);
  if (!(extent > smallest))
    return fail_with(ABUT_ERROR_MODEL, "fit: the mesh's largest extent is %g, must be above %g", extent,
                     smallest);
  for (int k = 0; k < 3; k++) {
    double side = (out->high[k] - out->low[k]) / extent;
    square += side * side;
    out->middle[k] = (out->high[k] + out->low[k]) / 2;
  }
  out->diagonal = extent * sqrt(square);
  for (int64_t i = 0; i < 3 * m->npoint; i++)
    m->points[i] = (m->points[i] - out->middle[i % 3]) / out->diagonal;
  for (int k = 0; k < 3; k++) {
    out->high[k] = (out->high[k] - out->middle[k]) / out->diagonal;
    out->low[k] = -out->high[k];
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- cleaning */

/* Whether a triangle's sides have no area to speak of: height below 1e-12 of the longest side. */
static int is_flat(const triangle_mesh *m, const int32_t f[3]) {
  double side[3][3], normal[3], longest = 0;
  if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) return 1;
  for (int i = 0; i < 3; i++) {
    const double *a = m->points + 3 * (int64_t)f[i], *b = m->points + 3 * (int64_t)f[(i + 1) % 3];
    for (int k = 0; k < 3; k++) side[i][k] = b[k] - a[k];
    longest = fmax(longest, dot3(side[i], side[i]));
  }
  cross3(normal, side[0], side[1]);
  return !(sqrt(dot3(normal, normal)) > 1e-12 * longest);
}

/* A triangle with its corners in ascending order, to find repeated ones. */
typedef struct corners {
  int32_t v[3];
  int32_t face;
} corners;

static int compare_corners(const void *a, const void *b) {
  const corners *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
  return p->face < q->face ? -1 : 1;
}

static void sort3(int32_t v[3]) {
  for (int pass = 0; pass < 3; pass++)
    for (int i = pass % 2; i < 2; i += 2)
      if (v[i] > v[i + 1]) {
        int32_t swap = v[i];
        v[i] = v[i + 1], v[i + 1] = swap;
      }
}

/* Drops flat triangles, then all but the first of those with the same corners. */
static abut_status drop_faces(triangle_mesh *m, abut_fit_report *report) {
  corners *list = malloc((size_t)m->nface * sizeof *list);
  char *repeated = calloc((size_t)m->nface, 1);
  int64_t count = 0;
  if (!list || !repeated) {
    free(list), free(repeated);
    return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld triangles", (long long)m->nface);
  }
  for (int64_t i = 0; i < m->nface; i++)
    if (is_flat(m, m->faces + 3 * i))
      report->dropped_triangles++;
    else
      memmove(m->faces + 3 * count++, m->faces + 3 * i, 3 * sizeof *m->faces);
  m->nface = count;
  for (int64_t i = 0; i < m->nface; i++) {
    memcpy(list[i].v, m->faces + 3 * i, sizeof list[i].v);
    sort3(list[i].v);
    list[i].face = (int32_t)i;
  }
  qsort(list, (size_t)m->nface, sizeof *list, compare_corners);
  for (int64_t i = 1; i < m->nface; i++)
    if (memcmp(list[i].v, list[i - 1].v, sizeof list[i].v) == 0) repeated[list[i].face] = 1;
  count = 0;
  for (int64_t i = 0; i < m->nface; i++)
    if (repeated[i])
      report->duplicate_triangles++;
    else
      memmove(m->faces + 3 * count++, m->faces + 3 * i, 3 * sizeof *m->faces);
  m->nface = count;
  free(list), free(repeated);
  return ABUT_OK;
}

/* One side of a triangle: its ends in ascending order, and whether that turned them. */
typedef struct side {
  int32_t a, b, turned;
} side;

static int compare_sides(const void *a, const void *b) {
  const side *p = a, *q = b;
  if (p->a != q->a) return p->a < q->a ? -1 : 1;
  if (p->b != q->b) return p->b < q->b ? -1 : 1;
  return p->turned - q->turned;
}

static abut_status count_edges(const triangle_mesh *m, abut_fit_report *report) {
  int64_t count = 3 * m->nface;
  side *sides = malloc((size_t)count * sizeof *sides);
  if (!sides) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld edges", (long long)count);
  for (int64_t i = 0; i < count; i++) {
    int32_t a = m->faces[i], b = m->faces[i % 3 == 2 ? i - 2 : i + 1];
    sides[i] = a < b ? (side){a, b, 0} : (side){b, a, 1};
  }
  qsort(sides, (size_t)count, sizeof *sides, compare_sides);
  for (int64_t i = 0, end; i < count; i = end) {
    int turned = sides[i].turned;
    for (end = i + 1; end < count && sides[end].a == sides[i].a && sides[end].b == sides[i].b; end++)
      turned += sides[end].turned;
    if (end - i == 1)
      report->open_edges++;
    else if (end - i > 2 || turned != 1)
      report->nonmanifold_edges++;
  }
  free(sides);
  return ABUT_OK;
}

static abut_status clean(const abut_triangles *t, clean_mesh *out, abut_fit_report *report) {
  triangle_mesh *m = &out->mesh;
  size_t points = 3 * (size_t)t->nvertex * sizeof *m->points;
  size_t faces = 3 * (size_t)t->ntriangle * sizeof *m->faces;
  m->points = malloc(points), m->faces = malloc(faces);
  if (!m->points || !m->faces) return no_memory(t);
  memcpy(m->points, t->vertices, points);
  memcpy(m->faces, t->triangles, faces);
  m->npoint = t->nvertex, m->nface = t->ntriangle;
  ATTEMPT(scale_mesh(out));
  ATTEMPT(triangle_mesh_join(m));
  ATTEMPT(drop_faces(m, report));
  if (m->nface == 0)
    return fail_with(ABUT_ERROR_MODEL, "fit: none of the mesh's %lld triangles has an area",
                     (long long)t->ntriangle);
  return count_edges(m, report);
}

abut_status clean_mesh_make(const abut_triangles *triangles, clean_mesh *out, abut_fit_report *report) {
  memset(out, 0, sizeof *out);
  ATTEMPT(check_input(triangles));
  abut_status status = clean(triangles, out, report);
  report->diagonal = out->diagonal;
  if (status != ABUT_OK) clean_mesh_free(out);
  return status;
}

/* ---------------------------------------------------------------------------------------- samples */

/* One round of splitmix64, a bijection that leaves no bit where it was. */
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

point_draw point_draw_start(uint64_t seed, uint64_t stream) {
  return (point_draw){.key = scramble(seed + 0x9e3779b97f4a7c15 * (stream + 1))};
}

double point_draw_next(point_draw *draw) {
  uint64_t bits = scramble(draw->key + 0x9e3779b97f4a7c15 * ++draw->count);
  return (double)(bits >> 11) * 0x1p-53;
}

static double area_of(const double *points, const int32_t *f) {
  double u[3], v[3], normal[3];
  for (int k = 0; k < 3; k++) {
    u[k] = points[3 * (int64_t)f[1] + k] - points[3 * (int64_t)f[0] + k];
    v[k] = points[3 * (int64_t)f[2] + k] - points[3 * (int64_t)f[0] + k];
  }
  cross3(normal, u, v);
  return sqrt(dot3(normal, normal)) / 2;
}

abut_status fit_sample(const double *points, const int32_t *faces, int64_t nface, point_draw draw,
                       int64_t count, double *samples) {
  double *sum = malloc((size_t)nface * sizeof *sum), total = 0;
  if (!sum) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld triangles", (long long)nface);
  for (int64_t i = 0; i < nface; i++) sum[i] = total += area_of(points, faces + 3 * i);
  int64_t face = 0;
  for (int64_t i = 0; i < count; i++) {
    /* one point in each of count parts of the area: even, and found by walking on */
    double at = ((double)i + point_draw_next(&draw)) / (double)count * total;
    double u = point_draw_next(&draw), v = point_draw_next(&draw);
    while (face < nface - 1 && sum[face] <= at) face++;
    if (u + v > 1) u = 1 - u, v = 1 - v;
    const int32_t *f = faces + 3 * face;
    for (int k = 0; k < 3; k++) {
      double a = points[3 * (int64_t)f[0] + k];
      samples[3 * i + k] =
          a + u * (points[3 * (int64_t)f[1] + k] - a) + v * (points[3 * (int64_t)f[2] + k] - a);
    }
  }
  free(sum);
  return ABUT_OK;
}
