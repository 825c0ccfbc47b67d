/* mesh_grid.h: a signed distance sampled on a regular grid. */
#ifndef ABUT_FIT_GRID_H
#define ABUT_FIT_GRID_H
#include "host/shape/mesh_clean.h"
#include "host/shape/mesh_distance.h"

typedef struct mesh_grid {
  int32_t n[3];
  double origin[3], spacing; /* of point (0, 0, 0) */
  float *distance;           /* n[2] x n[1] x n[0]; negative inside */
} mesh_grid;

/* Point number i, x fastest. */
void mesh_grid_point(const mesh_grid *grid, int64_t i, double x[3]);
int64_t mesh_grid_size(const mesh_grid *grid);
/* A grid over a box with `samples` points along its longest side and `border` around it; no distances yet. */
abut_status mesh_grid_make(const double low[3], const double high[3], int32_t samples, double border,
                           mesh_grid *grid);
/* Distances to a mesh; outside of it they are exact up to `enough`, from there on only large enough. Inside
 * is where its winding number is above 1/2, or below -1/2 where that is more (report->flipped). Fails where
 * nothing is inside. */
abut_status mesh_grid_fill(mesh_grid *grid, const mesh_tree *tree, double enough, abut_fit_report *report);
/* Volume where the distance is negative; points near the surface count in part. */
double mesh_grid_volume(const mesh_grid *grid);
void mesh_grid_free(mesh_grid *grid);

#endif
