/* sphere_tree_build.h: a hierarchy of bounding spheres over the triangles of one body. */
#ifndef ABUT_SHAPE_TREE_H
#define ABUT_SHAPE_TREE_H
#include "abut/abut.h"
#include "kernels/shape/sphere_tree.h"

/* Layered: a node's center is the mean of its distinct vertices, its radius reaches around its children's
 * spheres (a leaf's around its corners), its weight is its share of the body's area. Node 0 is the root,
 * children come after their parents, two neighbours each. */
typedef struct sphere_tree {
  int32_t nodenum, trianglenum;
  double *sphere;  /* nodenum x 5: center (m), radius (m), weight */
  int32_t *child;  /* nodenum: first child, or ~triangle */
  double *corners; /* trianglenum x 9 (m), in the order of the faces */
  double area;     /* m^2 */
} sphere_tree;

/* A binary tree of given shape: pair k joins two subtrees; c >= 0: triangle c, c < 0: pair ~c. Pair 0 is the
 * root; no pairs: one triangle. */
typedef struct sphere_tree_shape {
  const int32_t (*pair)[2];
  int32_t pairnum;
} sphere_tree_shape;

/* faces: nface x 3 indices of points (npoint x 3); corners with the same index are one vertex. shape NULL:
 * split at the median of the longest extent. Refuses no faces, indices out of range, numbers that are not
 * finite, and a total area of zero; the message has no subject. Free with sphere_tree_free. */
abut_status sphere_tree_build(const double *points, int64_t npoint, const int32_t *faces, int64_t nface,
                              const sphere_tree_shape *shape, sphere_tree *tree);
void sphere_tree_free(sphere_tree *tree);
tree_view sphere_tree_view(const sphere_tree *tree);

#endif
