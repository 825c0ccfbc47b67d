/* sphere_tree.h: the triangles of a body under a hierarchy of bounding spheres, as kernels and host code see
 * it. */
#ifndef ABUT_TREE_H
#define ABUT_TREE_H
#include <stdint.h>

/* Child of a node in tree_view: c >= 0: nodes c and c + 1; c < 0: the node is a leaf, of triangle ~c. */
typedef struct tree_view {
  const double *sphere;  /* [node][5] center (mean of the node's distinct vertices), radius (m), weight */
  const int32_t *child;  /* [node] */
  const double *corners; /* [triangle][9] body frame (m) */
} tree_view;

/* Numbers that a pair of nodes has in memory: value, gradient and Hessian; of leaves the planes at iterate
 * and trial (mesh_potential.inl); of friction's marks (mesh_friction.inl). */
enum { FAR_ROW_VALUES = 28, FAR_PLANE_VALUES = 16, FAR_MARK_VALUES = 14 };

/* A pair of nodes that the traversal met. */
typedef struct far_entry {
  int32_t a, b;
  int32_t child; /* > 0: the pairs of its children start there; < 0: leaves, pair ~child; 0: spheres apart */
} far_entry;

#endif
