/* mesh_distance.h: nearest points of a triangle mesh, and how often it winds around a point. */
#ifndef ABUT_FIT_TREE_H
#define ABUT_FIT_TREE_H
#include "host/shape/mesh_file.h"

typedef struct abut_fit_node abut_fit_node;
typedef struct abut_fit_tree {
  const double *points; /* the mesh's, which must outlive the tree */
  int32_t (*faces)[3];  /* in the tree's order */
  abut_fit_node *nodes;
  int32_t count;
} abut_fit_tree;

abut_status abut_fit_tree_build(const double *points, const int32_t *faces, int64_t nface,
                                abut_fit_tree *tree);
void abut_fit_tree_free(abut_fit_tree *tree);
/* Distance from q to the mesh, if it is below `bound`; else bound. */
double abut_fit_tree_distance(const abut_fit_tree *tree, const double q[3], double bound);
/* Generalised winding number at q: 1 inside a closed outward mesh, 0 outside, in between for open ones. Far
 * triangles count as dipoles, with errors below about 0.02. */
double abut_fit_tree_winding(const abut_fit_tree *tree, const double q[3]);

#endif
