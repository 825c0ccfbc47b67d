/* mesh_distance.c: a tree of boxes over triangles, for nearest points and the generalised winding number.
 *
 * The winding number is the sum of the signed solid angles of all triangles over 4 pi (Jacobson et al. 2013);
 * a node that is far away counts as one dipole at the center of its area (Barill et al. 2018). */
#include "host/shape/mesh_distance.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

struct mesh_node {
  double low[3], high[3];
  double centre[3], radius; /* of its area; reaches all its corners */
  double dipole[3];         /* sum of area times normal */
  int32_t first, count;     /* faces; inner nodes: count 0, children at first, first + 1 */
};

enum { LEAF = 6, DEPTH = 64 };
/* a node counts as a dipole from this many radii on */
static const double far_away = 2.3;
static const double pi = 3.14159265358979323846;

void mesh_tree_free(mesh_tree *tree) {
  free(tree->faces);
  free(tree->nodes);
  memset(tree, 0, sizeof *tree);
}

/* ---------------------------------------------------------------------------------------- build */

typedef struct keyed {
  double key;
  int32_t face[3];
  int32_t number;
} keyed;

static int compare_keyed(const void *a, const void *b) {
  const keyed *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return p->number < q->number ? -1 : 1;
}

static const double *corner(const mesh_tree *tree, const int32_t *face, int i) {
  return tree->points + 3 * (int64_t)face[i];
}

/* Box, dipole and its center of the faces first .. first + count. */
static void measure(const mesh_tree *tree, const keyed *faces, mesh_node *node, int32_t first,
                    int32_t count) {
  double area = 0, sum[3] = {0, 0, 0}, square = 0;
  *node = (mesh_node){.first = first, .count = count};
  for (int k = 0; k < 3; k++) node->low[k] = INFINITY, node->high[k] = -INFINITY;
  for (int32_t i = first; i < first + count; i++) {
    double u[3], v[3], normal[3];
    const double *a = corner(tree, faces[i].face, 0), *b = corner(tree, faces[i].face, 1),
                 *c = corner(tree, faces[i].face, 2);
    for (int k = 0; k < 3; k++) {
      node->low[k] = fmin(node->low[k], fmin(a[k], fmin(b[k], c[k])));
      node->high[k] = fmax(node->high[k], fmax(a[k], fmax(b[k], c[k])));
      u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    }
    cross3(normal, u, v);
    double twice = sqrt(dot3(normal, normal));
    area += twice;
    for (int k = 0; k < 3; k++) {
      node->dipole[k] += normal[k] / 2;
      sum[k] += twice * (a[k] + b[k] + c[k]) / 3;
    }
  }
  for (int k = 0; k < 3; k++) node->centre[k] = sum[k] / area;
  for (int k = 0; k < 3; k++) {
    double reach = fmax(node->high[k] - node->centre[k], node->centre[k] - node->low[k]);
    square += reach * reach;
  }
  node->radius = sqrt(square);
}

/* Splits at the median of the box's longest side until few faces are left. */
static void split(mesh_tree *tree, keyed *faces, int32_t index, int32_t first, int32_t count) {
  mesh_node *node = tree->nodes + index;
  measure(tree, faces, node, first, count);
  if (count <= LEAF) return;
  int axis = 0;
  for (int k = 1; k < 3; k++)
    if (node->high[k] - node->low[k] > node->high[axis] - node->low[axis]) axis = k;
  for (int32_t i = first; i < first + count; i++)
    faces[i].key = corner(tree, faces[i].face, 0)[axis] + corner(tree, faces[i].face, 1)[axis] +
                   corner(tree, faces[i].face, 2)[axis];
  qsort(faces + first, (size_t)count, sizeof *faces, compare_keyed);
  int32_t children = tree->count, half = count / 2;
  tree->count += 2;
  node->first = children, node->count = 0;
  split(tree, faces, children, first, half);
  split(tree, faces, children + 1, first + half, count - half);
}

abut_status mesh_tree_build(const double *points, const int32_t *faces, int64_t nface, mesh_tree *tree) {
  keyed *order = malloc((size_t)nface * sizeof *order);
  *tree = (mesh_tree){.points = points, .count = 1};
  tree->faces = malloc((size_t)nface * sizeof *tree->faces);
  tree->nodes = malloc(2 * (size_t)nface * sizeof *tree->nodes);
  if (!order || !tree->faces || !tree->nodes) {
    free(order);
    mesh_tree_free(tree);
    return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for a tree of %lld triangles", (long long)nface);
  }
  for (int64_t i = 0; i < nface; i++) {
    memcpy(order[i].face, faces + 3 * i, sizeof order[i].face);
    order[i].number = (int32_t)i;
  }
  split(tree, order, 0, 0, (int32_t)nface);
  for (int64_t i = 0; i < nface; i++) memcpy(tree->faces[i], order[i].face, sizeof order[i].face);
  free(order);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- distance */

/* Squared distance from q to triangle abc: the region of its plane that q projects to decides between
 * corners, sides and the face. */
static double triangle_distance2(const double q[3], const double a[3], const double b[3], const double c[3]) {
  double ab[3], ac[3], aq[3], normal[3], best = INFINITY;
  for (int k = 0; k < 3; k++) ab[k] = b[k] - a[k], ac[k] = c[k] - a[k], aq[k] = q[k] - a[k];
  cross3(normal, ab, ac);
  double nn = dot3(normal, normal), side[3];
  /* barycentric coordinates of the projection, times nn */
  cross3(side, aq, ac);
  double v = dot3(side, normal);
  cross3(side, ab, aq);
  double w = dot3(side, normal);
  if (nn > 0 && v >= 0 && w >= 0 && v + w <= nn) {
    double height = dot3(aq, normal);
    return height * height / nn;
  }
  const double *ends[4] = {a, b, c, a};
  for (int i = 0; i < 3; i++) {
    double along[3], from[3], square = 0;
    for (int k = 0; k < 3; k++) along[k] = ends[i + 1][k] - ends[i][k], from[k] = q[k] - ends[i][k];
    double t = dot3(from, along) / dot3(along, along);
    t = t > 0 ? (t < 1 ? t : 1) : 0;
    for (int k = 0; k < 3; k++) square += (from[k] - t * along[k]) * (from[k] - t * along[k]);
    best = fmin(best, square);
  }
  return best;
}

static double box_distance2(const mesh_node *node, const double q[3]) {
  double square = 0;
  for (int k = 0; k < 3; k++) {
    double out = q[k] < node->low[k] ? node->low[k] - q[k] : q[k] > node->high[k] ? q[k] - node->high[k] : 0;
    square += out * out;
  }
  return square;
}

double mesh_tree_distance(const mesh_tree *tree, const double q[3], double bound) {
  int32_t stack[DEPTH], depth = 0;
  double best = bound * bound;
  stack[depth++] = 0;
  while (depth) {
    const mesh_node *node = tree->nodes + stack[--depth];
    if (box_distance2(node, q) >= best) continue;
    for (int32_t i = node->first; i < node->first + node->count; i++) {
      const int32_t *f = tree->faces[i];
      double d = triangle_distance2(q, corner(tree, f, 0), corner(tree, f, 1), corner(tree, f, 2));
      if (d < best) best = d;
    }
    if (node->count) continue;
    /* the nearer child is looked at first */
    int32_t near = node->first, far = near + 1;
    if (box_distance2(tree->nodes + near, q) > box_distance2(tree->nodes + far, q))
      near = far, far = node->first;
    stack[depth++] = far;
    stack[depth++] = near;
  }
  return sqrt(best);
}

/* ---------------------------------------------------------------------------------------- winding */

/* Signed solid angle of a triangle over 4 pi (van Oosterom and Strackee 1983). */
static double triangle_winding(const double q[3], const double *p0, const double *p1, const double *p2) {
  double a[3], b[3], c[3], bc[3];
  for (int k = 0; k < 3; k++) a[k] = p0[k] - q[k], b[k] = p1[k] - q[k], c[k] = p2[k] - q[k];
  double la = sqrt(dot3(a, a)), lb = sqrt(dot3(b, b)), lc = sqrt(dot3(c, c));
  cross3(bc, b, c);
  double below = la * lb * lc + dot3(a, b) * lc + dot3(b, c) * la + dot3(c, a) * lb;
  return atan2(dot3(a, bc), below) / (2 * pi);
}

double mesh_tree_winding(const mesh_tree *tree, const double q[3]) {
  int32_t stack[DEPTH], depth = 0;
  double sum = 0;
  stack[depth++] = 0;
  while (depth) {
    const mesh_node *node = tree->nodes + stack[--depth];
    const double d[3] = {node->centre[0] - q[0], node->centre[1] - q[1], node->centre[2] - q[2]};
    double square = dot3(d, d), reach = far_away * node->radius;
    if (square > reach * reach) {
      sum += dot3(node->dipole, d) / (4 * pi * square * sqrt(square));
      continue;
    }
    for (int32_t i = node->first; i < node->first + node->count; i++) {
      const int32_t *f = tree->faces[i];
      sum += triangle_winding(q, corner(tree, f, 0), corner(tree, f, 1), corner(tree, f, 2));
    }
    if (node->count) continue;
    stack[depth++] = node->first + 1;
    stack[depth++] = node->first;
  }
  return sum;
}
