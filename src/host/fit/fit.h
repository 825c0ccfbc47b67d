/* fit.h: a fit in progress: the mesh as a grid and as samples, the primitives so far. Lengths are in
 * diagonals of the mesh's bounding box.
 *
 * What is minimised is the sum over samples x of (weight (T(phi(x) / g) - T(d(x))))^2: d is the mesh's signed
 * distance, phi that of the union of all primitives, g = |grad phi| (lagged) turns the radial phi into a
 * distance near the surface, and T(d) = t tanh(d / t) ends the interest in what is far away. */
#ifndef ABUT_FIT_H
#define ABUT_FIT_H
#include "host/shape/mesh_grid.h"
#include "host/surface/primitive.h"

enum { FIT_PLANES = 24, FIT_MOST = 256 };

/* A primitive with planes of its own. */
typedef struct fit_primitive {
  abut_primitive primitive;
  double planes[FIT_PLANES][4];
} fit_primitive;

typedef struct fit_state {
  abut_fit_options options;
  clean_mesh mesh;
  mesh_tree tree;
  mesh_grid grid;
  int64_t inside_count;
  int32_t *inside; /* grid points with negative distance */
  float *cover;    /* phi of the union there (fit_cover) */
  int64_t count;
  double *points; /* count x 3 samples */
  double *target; /* T(d) */
  double *weight;
  double tau, truncation;
  int32_t primitive_count;
  fit_primitive *primitives; /* options.primitives + 1 of them */
  double *phi;               /* options.primitives + 1 rows: phi of each primitive at every sample */
  double *slope;             /* the same: |grad phi|, bounded */
} fit_state;

/* Everything up to the samples: tree, grid, memory. The mesh is there already. Free with fit_free. */
abut_status fit_prepare(fit_state *fit, abut_fit_report *report);
void fit_free(fit_state *fit);
double fit_truncate(const fit_state *fit, double distance);
/* The primitive ready to be evaluated; it must stay where it is. */
posed_primitive fit_pose(const fit_state *fit, const fit_primitive *primitive);
/* Fills the row of a primitive in phi and slope. */
void fit_evaluate(fit_state *fit, int32_t l);
/* The primitive with the smallest phi at a sample, -1 where there are none. */
int32_t fit_nearest(const fit_state *fit, int64_t sample);
/* What a sample adds to the sum that is minimised, and the sum; without: a primitive that is left out, or -1.
 */
double fit_miss(const fit_state *fit, int64_t sample, int32_t without);
double fit_cost(const fit_state *fit, int32_t without);
/* phi of the union at the grid points inside, without one primitive (-1: with all). */
void fit_cover(fit_state *fit, int32_t without);

/* fit_seed.c: starts for a new primitive. A region is a connected part of the mesh's inside that no primitive
 * covers; rank 0 is the one with the largest sum of depths. depth in (0, 1): how much of it, cut at this part
 * of its depth around its deepest point. Uses fit->cover. *found: 0 where there is no such region. */
abut_status fit_seed(const fit_state *fit, int32_t rank, double depth, abut_primitive *start, int32_t *found);

/* fit_least.c: least squares. Moves primitive l for at most `evaluations` evaluations of every stride-th of
 * the samples, as far as they are near it; its rows are up to date afterwards. */
abut_status fit_move(fit_state *fit, int32_t l, int32_t evaluations, int32_t stride);

/* fit_refine.c: adds primitives until there are options.primitives, then improves them. */
abut_status fit_run(fit_state *fit);

#endif
