/* hull.c: convex hulls of points, through qhull, and mass moments of closed triangle meshes. */
#include "host/shape/hull.h"
#include "host/base/geometry.h"
#include "host/shape/moment.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>
#ifdef ABUT_HAVE_QHULL
#include <libqhull_r/qhull_ra.h>
#endif

/* ---------------------------------------------------------------------------------------- hull */

static abut_status coplanar(int64_t n) {
  return fail_with(ABUT_ERROR_MODEL, "hull has %lld coplanar vertices", (long long)n);
}

#ifdef ABUT_HAVE_QHULL
/* What grows while facets are read off. */
typedef struct hull_output {
  int32_t *faces; /* indices into the input */
  int64_t nface, capacity;
} hull_output;

static int push_face(hull_output *out, int32_t a, int32_t b, int32_t c) {
  if (out->nface == out->capacity) {
    int64_t capacity = out->capacity ? 2 * out->capacity : 64;
    int32_t *faces = realloc(out->faces, (size_t)capacity * 3 * sizeof *faces);
    if (!faces) return 0;
    out->faces = faces;
    out->capacity = capacity;
  }
  int32_t *face = out->faces + 3 * out->nface++;
  face[0] = a, face[1] = b, face[2] = c;
  return 1;
}

/* Twice the area vector of a polygon, by Newell's sum. */
static void polygon_normal(qhT *qh, setT *polygon, double normal[3]) {
  int n = qh_setsize(qh, polygon);
  for (int k = 0; k < 3; k++) normal[k] = 0;
  for (int i = 0; i < n; i++) {
    const double *a = SETelemt_(polygon, i, vertexT)->point,
                 *b = SETelemt_(polygon, (i + 1) % n, vertexT)->point;
    double cross[3], from[3], to[3];
    const double *origin = SETfirstt_(polygon, vertexT)->point;
    for (int k = 0; k < 3; k++) from[k] = a[k] - origin[k], to[k] = b[k] - origin[k];
    cross3(cross, from, to);
    for (int k = 0; k < 3; k++) normal[k] += cross[k];
  }
}

/* A facet, a convex polygon after qhull's merges, as a fan of outward triangles. */
static int push_facet(qhT *qh, facetT *facet, hull_output *out) {
  setT *polygon = qh_facet3vertex(qh, facet);
  int n = qh_setsize(qh, polygon), good = 1;
  double normal[3];
  polygon_normal(qh, polygon, normal);
  int outward = dot3(normal, facet->normal) > 0;
  int32_t first = qh_pointid(qh, SETfirstt_(polygon, vertexT)->point);
  for (int i = 1; i + 1 < n && good; i++) {
    int32_t b = qh_pointid(qh, SETelemt_(polygon, i, vertexT)->point);
    int32_t c = qh_pointid(qh, SETelemt_(polygon, i + 1, vertexT)->point);
    good = push_face(out, first, outward ? b : c, outward ? c : b);
  }
  qh_settempfree(qh, &polygon);
  return good;
}

/* Reads all facets off. Its own error exit: qh_new_qhull has ended qhull's, and without one a failure in here
 * would end the process. Returns qhull's exit code, -1 if memory ran out. */
static int read_facets(qhT *qh, hull_output *out) {
  int code = setjmp(qh->errexit);
  if (code) {
    qh->NOerrexit = True;
    return code;
  }
  qh->NOerrexit = False;
  facetT *facet;
  int good = 1;
  FORALLfacets { good = good && push_facet(qh, facet, out); }
  qh->NOerrexit = True;
  return good ? 0 : -1;
}

static abut_status qhull_failure(int code, int64_t n, const char *messages) {
  if (code < 0 || code == qh_ERRmem)
    return fail_with(ABUT_ERROR_MEMORY, "hull of %lld points: no memory", (long long)n);
  if (code == qh_ERRsingular) return coplanar(n);
  int line = (int)strcspn(messages, "\n");
  return fail_with(ABUT_ERROR_MODEL, "hull of %lld vertices failed: %.*s", (long long)n, line, messages);
}

/* Triangles of the hull, as indices into points. */
static abut_status qhull_faces(double *points, int32_t n, hull_output *out) {
  char command[] = "qhull", *text = NULL;
  size_t length = 0;
  /* qhull prints what it has to say: catch it */
  FILE *messages = open_memstream(&text, &length);
  if (!messages) return fail_with(ABUT_ERROR_MEMORY, "hull of %d points: no memory", n);
  qhT qhull, *qh = &qhull;
  qh_zero(qh, messages);
  int code = qh_new_qhull(qh, 3, n, points, False, command, NULL, messages);
  if (!code) code = read_facets(qh, out);
  int curlong, totlong;
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &curlong, &totlong);
  fclose(messages);
  abut_status status = code ? qhull_failure(code, n, text ? text : "") : ABUT_OK;
  free(text);
  return status;
}

/* Keeps the points that faces use, in order, and renumbers the faces. order: n entries of scratch. */
static void keep_used(double *points, int32_t n, const hull_output *out, int32_t *order, int32_t *npoint) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; i++) order[i] = -1;
  for (int64_t i = 0; i < 3 * out->nface; i++) order[out->faces[i]] = 0;
  for (int32_t i = 0; i < n; i++) {
    if (order[i] < 0) continue;
    memmove(points + 3 * (size_t)count, points + 3 * (size_t)i, 3 * sizeof *points);
    order[i] = count++;
  }
  for (int64_t i = 0; i < 3 * out->nface; i++) out->faces[i] = order[out->faces[i]];
  *npoint = count;
}

/* points: a copy of the input, which becomes the output. */
static abut_status hull_in_place(double *points, int32_t n, int32_t *npoint, hull_output *out) {
  ATTEMPT(qhull_faces(points, n, out));
  if (out->nface > INT32_MAX) return fail_with(ABUT_ERROR_MODEL, "hull has more than %d faces", INT32_MAX);
  int32_t *order = malloc((size_t)n * sizeof *order);
  if (!order) return fail_with(ABUT_ERROR_MEMORY, "hull of %d points: no memory", n);
  keep_used(points, n, out, order, npoint);
  free(order);
  return ABUT_OK;
}

static abut_status hull_of(const double *points, int32_t n, double **hull_points, int32_t *npoint,
                           int32_t **faces, int32_t *nface) {
  hull_output out = {0};
  double *copy = malloc((size_t)n * 3 * sizeof *copy);
  if (!copy) return fail_with(ABUT_ERROR_MEMORY, "hull of %d points: no memory", n);
  memcpy(copy, points, (size_t)n * 3 * sizeof *copy);
  abut_status status = hull_in_place(copy, n, npoint, &out);
  if (status != ABUT_OK) {
    free(copy);
    free(out.faces);
    return status;
  }
  *hull_points = copy;
  *faces = out.faces;
  *nface = (int32_t)out.nface;
  return ABUT_OK;
}
#else
static abut_status hull_of(const double *points, int32_t n, double **hull_points, int32_t *npoint,
                           int32_t **faces, int32_t *nface) {
  (void)points, (void)hull_points, (void)npoint, (void)faces, (void)nface;
  return fail_with(ABUT_ERROR_UNSUPPORTED, "built without qhull: the hull of %d points needs it", n);
}
#endif

abut_status hull_build(const double *points, int64_t n, double **hull_points, int32_t *npoint,
                       int32_t **faces, int32_t *nface) {
  if (!points || !hull_points || !npoint || !faces || !nface)
    return fail_with(ABUT_ERROR_ARGUMENT, "hull: a pointer is null");
  *hull_points = NULL, *faces = NULL, *npoint = 0, *nface = 0;
  if (n < 4) return coplanar(n);
  if (n > INT32_MAX / 8)
    return fail_with(ABUT_ERROR_MODEL, "hull of %lld vertices is too large", (long long)n);
  int differ = 0;
  for (int64_t i = 0; i < 3 * n; i++) {
    if (!isfinite(points[i]))
      return fail_with(ABUT_ERROR_MODEL, "vertex %lld has coordinate %g", (long long)(i / 3), points[i]);
    differ |= points[i] != points[i % 3];
  }
  /* qhull takes equal points for a fault of its own */
  if (!differ) return coplanar(n);
  return hull_of(points, (int32_t)n, hull_points, npoint, faces, nface);
}

/* ---------------------------------------------------------------------------------------- volume */

static int compare_edges(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
  return p[1] < q[1] ? -1 : p[1] > q[1];
}

/* A surface bounds a volume if every directed edge occurs once and its reverse too. */
abut_status mesh_check_closed(const int32_t *faces, int64_t nface) {
  size_t count = 3 * (size_t)nface;
  int32_t *edges = malloc((count + 1) * 2 * sizeof *edges);
  if (!edges) return fail_with(ABUT_ERROR_MEMORY, "mesh of %lld faces: no memory", (long long)nface);
  for (size_t i = 0; i < count; i++) {
    edges[2 * i] = faces[i];
    edges[2 * i + 1] = faces[i / 3 * 3 + (i + 1) % 3];
  }
  qsort(edges, count, 2 * sizeof *edges, compare_edges);
  abut_status status = ABUT_OK;
  for (size_t i = 0; i < count && status == ABUT_OK; i++) {
    const int32_t *edge = edges + 2 * i, reverse[2] = {edge[1], edge[0]};
    if (i > 0 && compare_edges(edge, edge - 2) == 0)
      status = fail_with(ABUT_ERROR_MODEL, "mesh has no volume: edge %d-%d bounds several faces on one side",
                         edge[0], edge[1]);
    else if (!bsearch(reverse, edges, count, 2 * sizeof *edges, compare_edges))
      status = fail_with(ABUT_ERROR_MODEL, "mesh has no volume: it is open at edge %d-%d", edge[0], edge[1]);
  }
  free(edges);
  return status;
}

/* moment += that of the tetrahedron of origin and the corners p, signed. */
static void add_tetrahedron(double moment[10], const double origin[3], const double *p[3]) {
  static const int first[6] = {0, 1, 2, 0, 0, 1}, second[6] = {0, 1, 2, 1, 2, 2};
  double e[3][3], cross[3], sum[3];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) e[i][k] = p[i][k] - origin[k];
  for (int k = 0; k < 3; k++) sum[k] = e[0][k] + e[1][k] + e[2][k];
  cross3(cross, e[1], e[2]);
  double volume = dot3(e[0], cross) / 6;
  moment[0] += volume;
  for (int k = 0; k < 3; k++) moment[1 + k] += volume * sum[k] / 4;
  /* integral of x_j x_k over a tetrahedron with one corner at 0: V/20 (sum_i e_ij e_ik + s_j s_k) */
  for (int c = 0; c < 6; c++) {
    int j = first[c], k = second[c];
    double squares = e[0][j] * e[0][k] + e[1][j] * e[1][k] + e[2][j] * e[2][k];
    moment[4 + c] += volume / 20 * (squares + sum[j] * sum[k]);
  }
}

abut_status mesh_moment(const double *points, int64_t npoint, const int32_t *faces, int64_t nface,
                        double moment[10]) {
  if (nface < 1) return fail_with(ABUT_ERROR_MODEL, "mesh has no volume: it has no faces");
  if (!points || !faces || !moment) return fail_with(ABUT_ERROR_ARGUMENT, "mesh moment: a pointer is null");
  for (int64_t i = 0; i < 3 * nface; i++)
    if (faces[i] < 0 || faces[i] >= npoint)
      return fail_with(ABUT_ERROR_ARGUMENT, "mesh face %lld has vertex %d of %lld", (long long)(i / 3),
                       faces[i], (long long)npoint);
  ATTEMPT(mesh_check_closed(faces, nface));
  /* about the first vertex, which is near: a mesh far from its frame's origin keeps its digits */
  double local[10] = {0};
  static const double upright[4] = {1, 0, 0, 0};
  const double *origin = points + 3 * (size_t)faces[0];
  for (int64_t f = 0; f < nface; f++) {
    const double *corner[3];
    for (int i = 0; i < 3; i++) corner[i] = points + 3 * (size_t)faces[3 * f + i];
    add_tetrahedron(local, origin, corner);
  }
  if (!(local[0] > 0) || !isfinite(local[0]))
    return fail_with(ABUT_ERROR_MODEL, "mesh has volume %g: its faces must point outward", local[0]);
  memset(moment, 0, MOMENT_SIZE * sizeof *moment);
  moment_add(moment, 1, local, origin, upright);
  return ABUT_OK;
}
