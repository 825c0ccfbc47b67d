/* mesh_distance.h: nearest points of a triangle mesh, and how often it winds around a point. */
#ifndef ABUT_FIT_TREE_H
#define ABUT_FIT_TREE_H
#include "host/shape/mesh_file.h"

typedef struct mesh_node mesh_node;
typedef struct mesh_tree {
  const double *points; /* the mesh's, which must outlive the tree */
  int32_t (*faces)[3];  /* in the tree's order */
  mesh_node *nodes;
  int32_t count;
} mesh_tree;

abut_status mesh_tree_build(const double *points, const int32_t *faces, int64_t nface, mesh_tree *tree);
void mesh_tree_free(mesh_tree *tree);
/* Distance from q to the mesh, if it is below `bound`; else bound. */
double mesh_tree_distance(const mesh_tree *tree, const double q[3], double bound);
/* Generalised winding number at q: 1 inside a closed outward mesh, 0 outside, in between for open ones. Far
 * triangles count as dipoles, with errors below about 0.02. */
double mesh_tree_winding(const mesh_tree *tree, const double q[3]);

#endif
