/* sphere_tree_build.c: builds sphere hierarchies: first the order of the triangles, then the spheres. */
#include "host/shape/sphere_tree_build.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

/* Triangles of a node: order[first .. first + count). */
typedef struct span {
  int32_t first, count;
} span;

typedef struct builder {
  const double *points;
  const int32_t *faces;
  double *middle; /* nface x 3: centroids */
  int32_t *order; /* triangles, those of one node together */
  span *spans;    /* per node */
  int64_t *seen;  /* per point: last node that counted it */
  sphere_tree *tree;
} builder;

static abut_status check_input(const double *points, int64_t npoint, const int32_t *faces, int64_t nface) {
  if (nface < 1) return fail_with(ABUT_ERROR_MODEL, "it has no triangles");
  if (nface > INT32_MAX / 2)
    return fail_with(ABUT_ERROR_MODEL, "it has %lld triangles, %d at most", (long long)nface, INT32_MAX / 2);
  for (int64_t i = 0; i < 3 * nface; i++)
    if (faces[i] < 0 || faces[i] >= npoint)
      return fail_with(ABUT_ERROR_MODEL, "triangle %lld has vertex %d, there are %lld", (long long)(i / 3),
                       faces[i], (long long)npoint);
  for (int64_t i = 0; i < 3 * npoint; i++)
    if (!(fabs(points[i]) <= 1e75))
      return fail_with(ABUT_ERROR_MODEL, "vertex %lld has a coordinate of %g, must lie within 1e75",
                       (long long)(i / 3), points[i]);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- order */

typedef struct sort_key {
  double at;
  int32_t triangle;
} sort_key;

static int compare_keys(const void *a, const void *b) {
  const sort_key *p = a, *q = b;
  if (p->at != q->at) return p->at < q->at ? -1 : 1;
  return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

/* Sorts a span's triangles along the longest extent of their centroids. */
static void sort_span(builder *b, span s, sort_key *keys) {
  int longest = 0;
  double extent[3];
  for (int axis = 0; axis < 3; axis++) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = s.first; i < s.first + s.count; i++) {
      low = fmin(low, b->middle[3 * b->order[i] + axis]);
      high = fmax(high, b->middle[3 * b->order[i] + axis]);
    }
    extent[axis] = high - low;
    if (extent[axis] > extent[longest]) longest = axis;
  }
  for (int32_t i = 0; i < s.count; i++) {
    int32_t t = b->order[s.first + i];
    keys[i] = (sort_key){b->middle[3 * t + longest], t};
  }
  qsort(keys, (size_t)s.count, sizeof *keys, compare_keys);
  for (int32_t i = 0; i < s.count; i++) b->order[s.first + i] = keys[i].triangle;
}

/* Splits every span of two or more triangles in halves. */
static abut_status split_halves(builder *b, int32_t nface) {
  sort_key *keys = malloc((size_t)nface * sizeof *keys);
  if (!keys) return fail_with(ABUT_ERROR_MEMORY, "no memory for %d triangles", nface);
  for (int32_t i = 0; i < nface; i++) b->order[i] = i;
  b->spans[0] = (span){0, nface};
  b->tree->nodenum = 1;
  for (int32_t n = 0; n < b->tree->nodenum; n++) {
    span s = b->spans[n];
    if (s.count == 1) {
      b->tree->child[n] = ~b->order[s.first];
      continue;
    }
    sort_span(b, s, keys);
    int32_t left = (s.count + 1) / 2;
    b->tree->child[n] = b->tree->nodenum;
    b->spans[b->tree->nodenum++] = (span){s.first, left};
    b->spans[b->tree->nodenum++] = (span){s.first + left, s.count - left};
  }
  free(keys);
  return ABUT_OK;
}

/* The given tree; every triangle and every pair must be in it once. */
static abut_status take_shape(builder *b, const sphere_tree_shape *shape, int32_t nface) {
  if (shape->pairnum != nface - 1)
    return fail_with(ABUT_ERROR_MODEL, "its tree joins %d pairs, %d triangles need %d", shape->pairnum, nface,
                     nface - 1);
  int32_t *from = calloc((size_t)(2 * nface), sizeof *from); /* what a node is: triangle, or ~pair */
  char *used = calloc((size_t)(2 * nface), 1);
  abut_status status =
      from && used ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "no memory for %d triangles", nface);
  if (status == ABUT_OK) from[0] = shape->pairnum ? ~0 : 0;
  b->tree->nodenum = 1;
  for (int32_t n = 0; status == ABUT_OK && n < b->tree->nodenum; n++) {
    int32_t c = from[n], id = c < 0 ? nface + ~c : c;
    if (c >= nface || ~c >= shape->pairnum)
      status = fail_with(ABUT_ERROR_MODEL, "its tree has triangle %d, there are %d", c, nface);
    else if (used[id]++)
      status = fail_with(ABUT_ERROR_MODEL, "its tree has triangle %d twice", c < 0 ? 0 : c);
    else if (c >= 0)
      b->tree->child[n] = ~c;
    else {
      b->tree->child[n] = b->tree->nodenum;
      for (int j = 0; j < 2; j++) from[b->tree->nodenum++] = shape->pair[~c][j];
    }
  }
  free(from);
  free(used);
  return status;
}

/* order and spans of a given tree: leaves from left to right, each node those below it. */
static void span_shape(builder *b) {
  sphere_tree *t = b->tree;
  for (int32_t n = t->nodenum - 1; n >= 0; n--)
    b->spans[n].count = t->child[n] < 0 ? 1 : b->spans[t->child[n]].count + b->spans[t->child[n] + 1].count;
  b->spans[0].first = 0;
  for (int32_t n = 0; n < t->nodenum; n++) {
    int32_t c = t->child[n], first = b->spans[n].first;
    if (c < 0) {
      b->order[first] = ~c;
    } else {
      b->spans[c].first = first;
      b->spans[c + 1].first = first + b->spans[c].count;
    }
  }
}

/* ---------------------------------------------------------------------------------------- spheres */

/* Mean of a node's distinct vertices. */
static void center_of(builder *b, int32_t n, double center[3]) {
  int64_t count = 0;
  double sum[3] = {0, 0, 0};
  for (int32_t i = b->spans[n].first; i < b->spans[n].first + b->spans[n].count; i++)
    for (int k = 0; k < 3; k++) {
      int32_t v = b->faces[3 * b->order[i] + k];
      if (b->seen[v] == n + 1) continue;
      b->seen[v] = n + 1;
      count++;
      for (int c = 0; c < 3; c++) sum[c] += b->points[3 * v + c];
    }
  for (int c = 0; c < 3; c++) center[c] = sum[c] / (double)count;
}

static double distance(const double a[3], const double b[3]) {
  return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

static abut_status make_spheres(builder *b) {
  sphere_tree *t = b->tree;
  double total = 0;
  for (int32_t n = t->nodenum - 1; n >= 0; n--) {
    double *s = t->sphere + 5 * (int64_t)n;
    int32_t c = t->child[n];
    center_of(b, n, s);
    if (c >= 0) {
      const double *p = t->sphere + 5 * (int64_t)c, *q = p + 5;
      s[3] = fmax(distance(s, p) + p[3], distance(s, q) + q[3]);
      s[4] = p[4] + q[4];
      continue;
    }
    const double *x = t->corners + 9 * (int64_t)~c;
    double u[3], v[3], normal[3];
    for (int k = 0; k < 3; k++) {
      s[3] = fmax(s[3], distance(s, x + 3 * k));
      u[k] = x[3 + k] - x[k];
      v[k] = x[6 + k] - x[k];
    }
    cross3(normal, u, v);
    s[4] = sqrt(dot3(normal, normal)) / 2;
    total += s[4];
  }
  if (!(total > 0) || !isfinite(total))
    return fail_with(ABUT_ERROR_MODEL, "its triangles have an area of %g", total);
  for (int32_t n = 0; n < t->nodenum; n++) t->sphere[5 * (int64_t)n + 4] /= total;
  t->area = total;
  return ABUT_OK;
}

static void fill_corners(builder *b, int32_t nface) {
  for (int64_t i = 0; i < nface; i++)
    for (int c = 0; c < 3; c++) {
      const double *x = b->tree->corners + 9 * i;
      b->middle[3 * i + c] = 0;
      for (int k = 0; k < 3; k++)
        b->tree->corners[9 * i + 3 * k + c] = b->points[3 * (int64_t)b->faces[3 * i + k] + c];
      for (int k = 0; k < 3; k++) b->middle[3 * i + c] += x[3 * k + c] / 3;
    }
}

abut_status sphere_tree_build(const double *points, int64_t npoint, const int32_t *faces, int64_t nface,
                              const sphere_tree_shape *shape, sphere_tree *tree) {
  *tree = (sphere_tree){0};
  ATTEMPT(check_input(points, npoint, faces, nface));
  size_t n = (size_t)nface;
  builder b = {points,
               faces,
               calloc(3 * n, sizeof(double)),
               calloc(n, sizeof(int32_t)),
               calloc(2 * n, sizeof(span)),
               calloc((size_t)npoint, sizeof(int64_t)),
               tree};
  tree->sphere = calloc(10 * n, sizeof *tree->sphere);
  tree->child = calloc(2 * n, sizeof *tree->child);
  tree->corners = calloc(9 * n, sizeof *tree->corners);
  tree->trianglenum = (int32_t)nface;
  abut_status status = ABUT_OK;
  if (!b.middle || !b.order || !b.spans || !b.seen || !tree->sphere || !tree->child || !tree->corners)
    status = fail_with(ABUT_ERROR_MEMORY, "no memory for %lld triangles", (long long)nface);
  if (status == ABUT_OK) {
    fill_corners(&b, (int32_t)nface);
    status = shape ? take_shape(&b, shape, (int32_t)nface) : split_halves(&b, (int32_t)nface);
  }
  if (status == ABUT_OK && shape) span_shape(&b);
  if (status == ABUT_OK) status = make_spheres(&b);
  free(b.middle);
  free(b.order);
  free(b.spans);
  free(b.seen);
  if (status != ABUT_OK) sphere_tree_free(tree);
  return status;
}

void sphere_tree_free(sphere_tree *tree) {
  free(tree->sphere);
  free(tree->child);
  free(tree->corners);
  *tree = (sphere_tree){0};
}

tree_view sphere_tree_view(const sphere_tree *tree) {
  tree_view v = {tree->sphere, tree->child, tree->corners};
  return v;
}
