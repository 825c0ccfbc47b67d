/* mesh_grid.c: a signed distance sampled on a regular grid. */
#include "host/shape/mesh_grid.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

void mesh_grid_free(mesh_grid *grid) {
  free(grid->distance);
  memset(grid, 0, sizeof *grid);
}

int64_t mesh_grid_size(const mesh_grid *grid) { return (int64_t)grid->n[0] * grid->n[1] * grid->n[2]; }

void mesh_grid_point(const mesh_grid *grid, int64_t i, double x[3]) {
  for (int k = 0; k < 3; k++) {
    x[k] = grid->origin[k] + grid->spacing * (double)(i % grid->n[k]);
    i /= grid->n[k];
  }
}

abut_status mesh_grid_make(const double low[3], const double high[3], int32_t samples, double border,
                           mesh_grid *grid) {
  double longest = 0;
  for (int k = 0; k < 3; k++) longest = fmax(longest, high[k] - low[k]);
  *grid = (mesh_grid){.spacing = longest / samples};
  for (int k = 0; k < 3; k++) {
    double side = high[k] - low[k] + 2 * border;
    grid->n[k] = 1 + (int32_t)ceil(side / grid->spacing);
    /* the grid's middle is the box's */
    grid->origin[k] = (low[k] + high[k]) / 2 - grid->spacing * (grid->n[k] - 1) / 2;
  }
  grid->distance = malloc((size_t)mesh_grid_size(grid) * sizeof *grid->distance);
  if (grid->distance) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for a grid of %d x %d x %d", grid->n[0], grid->n[1],
                   grid->n[2]);
}

/* Makes the side on which the winding number exceeds 1/2 negative; winding: of every point. */
static abut_status sign_grid(mesh_grid *grid, const float *winding, abut_fit_report *report) {
  int64_t size = mesh_grid_size(grid), above = 0, below = 0;
  double most = 0;
  for (int64_t i = 0; i < size; i++) {
    above += winding[i] > 0.5f, below += winding[i] < -0.5f;
    most = fmax(most, fabs((double)winding[i]));
  }
  report->flipped = below > above;
  float facing = report->flipped ? -1 : 1;
  for (int64_t i = 0; i < size; i++)
    if (facing * winding[i] > 0.5f) grid->distance[i] = -grid->distance[i];
  if (above || below) return ABUT_OK;
  return fail_with(ABUT_ERROR_MODEL,
                   "fit: the mesh encloses none of %d x %d x %d points (largest winding number %.3g): it is "
                   "open, or too thin for this grid",
                   grid->n[0], grid->n[1], grid->n[2], most);
}

/* What is known at one point of a row, and how far it carries. The winding number is harmonic off the mesh:
 * within a third of the way to the mesh a value below 0.1 stays below 0.3, one above 0.9 above 0.7 (Harnack's
 * inequality), so the side is known without another look. */
typedef struct known {
  double distance, winding;
  double passed; /* length of the row since */
} known;

static double winding_at(const mesh_tree *tree, const double x[3], known *side) {
  double part = fabs(side->winding);
  int carries = side->passed < side->distance / 3 && (part < 0.1 || (part > 0.9 && part < 1.1));
  if (!carries) *side = (known){.winding = mesh_tree_winding(tree, x)};
  return side->winding;
}

/* Fills one row; distances to points that are outside and further than `enough` may come out too small, but
 * stay above `enough`. */
static void fill_row(mesh_grid *grid, const mesh_tree *tree, int64_t first, double enough, float *winding) {
  known near = {.distance = -1}, side = {.distance = -1};
  for (int64_t i = first; i < first + grid->n[0]; i++) {
    double x[3];
    mesh_grid_point(grid, i, x);
    near.passed += grid->spacing, side.passed += grid->spacing;
    winding[i] = (float)winding_at(tree, x, &side);
    int far = fabs((double)winding[i]) < 0.3 && near.distance - near.passed > enough;
    /* the neighbour's distance bounds this one's */
    double bound = i > first ? near.distance + 1.001 * near.passed : 1e9;
    if (!far) near = (known){.distance = mesh_tree_distance(tree, x, bound)};
    grid->distance[i] = (float)(near.distance - near.passed);
    if (side.passed == 0) side.distance = near.distance - near.passed;
  }
}

abut_status mesh_grid_fill(mesh_grid *grid, const mesh_tree *tree, double enough, abut_fit_report *report) {
  int64_t size = mesh_grid_size(grid);
  float *winding = malloc((size_t)size * sizeof *winding);
  if (!winding)
    return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld winding numbers", (long long)size);
  for (int64_t i = 0; i < size; i += grid->n[0]) fill_row(grid, tree, i, enough, winding);
  abut_status status = sign_grid(grid, winding, report);
  free(winding);
  return status;
}

double mesh_grid_volume(const mesh_grid *grid) {
  int64_t size = mesh_grid_size(grid);
  double sum = 0, cell = grid->spacing * grid->spacing * grid->spacing;
  for (int64_t i = 0; i < size; i++) {
    double part = 0.5 - (double)grid->distance[i] / grid->spacing;
    sum += part > 0 ? (part < 1 ? part : 1) : 0;
  }
  return sum * cell;
}
