/* mesh_grid.h: a signed distance sampled on a regular grid. */
#ifndef ABUT_FIT_GRID_H
#define ABUT_FIT_GRID_H
#include "host/shape/mesh_clean.h"
#include "host/shape/mesh_distance.h"

typedef struct abut_fit_grid {
  int32_t n[3];
  double origin[3], spacing; /* of point (0, 0, 0) */
  float *distance;           /* n[2] x n[1] x n[0]; negative inside */
} abut_fit_grid;

/* Point number i, x fastest. */
void abut_fit_grid_point(const abut_fit_grid *grid, int64_t i, double x[3]);
int64_t abut_fit_grid_size(const abut_fit_grid *grid);
/* A grid over a box with `samples` points along its longest side and `border` around it; no distances yet. */
abut_status abut_fit_grid_make(const double low[3], const double high[3], int32_t samples, double border,
                               abut_fit_grid *grid);
/* Distances to a mesh; outside of it they are exact up to `enough`, from there on only large enough. Inside
 * is where its winding number is above 1/2, or below -1/2 where that is more (report->flipped). Fails where
 * nothing is inside. */
abut_status abut_fit_grid_fill(abut_fit_grid *grid, const abut_fit_tree *tree, double enough,
                               abut_fit_report *report);
/* Volume where the distance is negative; points near the surface count in part. */
double abut_fit_grid_volume(const abut_fit_grid *grid);
void abut_fit_grid_free(abut_fit_grid *grid);

#endif
