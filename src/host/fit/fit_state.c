/* fit_state.c: a fit's samples and grid, its cost. */
#include "host/fit/fit.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

/* In diagonals. What is further than the truncation does not matter how far; the border leaves room for what
 * should not be there. */
static const double truncation = 0.025, border = 0.06;
static const double default_tau = 0.002;
/* Parts of the samples that lie on the surface, in a band around it, deep inside and far outside; how many
 * samples there are in all. */
static const double on_part = 0.375, near_part = 0.375, deep_part = 0.17, far_part = 0.08;
enum { PER_PRIMITIVE = 1500, FEWEST = 6000, MOST = 24000 };
/* Off the surface a sample counts less: the surface is what shall fit. */
static const double weight_off = 0.6;
enum { STREAM_ON = 1, STREAM_NEAR = 2, STREAM_DEEP = 3, STREAM_FAR = 4 };

double fit_truncate(const fit_state *fit, double distance) {
  return fit->truncation * tanh(distance / fit->truncation);
}

void fit_free(fit_state *fit) {
  clean_mesh_free(&fit->mesh);
  mesh_tree_free(&fit->tree);
  mesh_grid_free(&fit->grid);
  free(fit->inside), free(fit->cover);
  free(fit->points), free(fit->target), free(fit->weight);
  free(fit->primitives), free(fit->phi), free(fit->slope);
}

/* ---------------------------------------------------------------------------------------- samples */

static void add_sample(fit_state *fit, const double x[3], double distance, double weight) {
  memcpy(fit->points + 3 * fit->count, x, 3 * sizeof *x);
  fit->target[fit->count] = fit_truncate(fit, distance);
  fit->weight[fit->count] = weight;
  fit->count++;
}

/* About `wanted` of the grid points with low < distance < high, every one with the same chance. */
static void sample_grid(fit_state *fit, double low, double high, int64_t wanted, uint64_t stream) {
  const mesh_grid *grid = &fit->grid;
  int64_t size = mesh_grid_size(grid), there = 0, taken = 0;
  point_draw draw = point_draw_start(fit->options.seed, stream);
  for (int64_t i = 0; i < size; i++) there += grid->distance[i] > low && grid->distance[i] < high;
  double chance = (double)wanted / fmax(1, (double)there);
  for (int64_t i = 0; i < size && taken < wanted; i++) {
    if (!(grid->distance[i] > low && grid->distance[i] < high)) continue;
    if (point_draw_next(&draw) >= chance) continue;
    double x[3];
    mesh_grid_point(grid, i, x);
    add_sample(fit, x, grid->distance[i], weight_off);
    taken++;
  }
}

static int64_t sample_count(const fit_state *fit) {
  int64_t count = (int64_t)PER_PRIMITIVE * fit->options.primitives;
  /* a coarse grid has no more to say */
  int64_t most = (int64_t)MOST * (fit->options.grid < 100 ? fit->options.grid : 100) / 100;
  if (count > most) count = most;
  return count < FEWEST ? FEWEST : count;
}

static abut_status make_samples(fit_state *fit) {
  const triangle_mesh *m = &fit->mesh.mesh;
  double most = (double)sample_count(fit), t = fit->truncation;
  size_t on_count = (size_t)(on_part * most), size = (size_t)most + 4;
  fit->points = malloc(3 * size * sizeof *fit->points);
  fit->target = malloc(size * sizeof *fit->target);
  fit->weight = malloc(size * sizeof *fit->weight);
  double *on = malloc(3 * on_count * sizeof *on);
  abut_status status = ABUT_OK;
  if (!fit->points || !fit->target || !fit->weight || !on)
    status = fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %zu samples", size);
  if (status == ABUT_OK)
    status = fit_sample(m->points, m->faces, m->nface, point_draw_start(fit->options.seed, STREAM_ON),
                        (int64_t)on_count, on);
  if (status == ABUT_OK) {
    for (size_t i = 0; i < on_count; i++) add_sample(fit, on + 3 * i, 0, 1);
    sample_grid(fit, -2 * t, 3 * t, (int64_t)(near_part * most), STREAM_NEAR);
    sample_grid(fit, -INFINITY, -t / 2, (int64_t)(deep_part * most), STREAM_DEEP);
    sample_grid(fit, 3 * t, INFINITY, (int64_t)(far_part * most), STREAM_FAR);
  }
  free(on);
  return status;
}

static abut_status list_inside(fit_state *fit) {
  int64_t size = mesh_grid_size(&fit->grid), count = 0;
  for (int64_t i = 0; i < size; i++) count += fit->grid.distance[i] < 0;
  fit->inside = malloc((size_t)count * sizeof *fit->inside);
  fit->cover = malloc((size_t)count * sizeof *fit->cover);
  if (!fit->inside || !fit->cover)
    return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld points inside", (long long)count);
  for (int64_t i = 0; i < size; i++)
    if (fit->grid.distance[i] < 0) fit->inside[fit->inside_count++] = (int32_t)i;
  return ABUT_OK;
}

abut_status fit_prepare(fit_state *fit, abut_fit_report *report) {
  const triangle_mesh *m = &fit->mesh.mesh;
  fit->truncation = truncation;
  fit->tau = fit->options.tau > 0 ? fit->options.tau / fit->mesh.diagonal : default_tau;
  ATTEMPT(mesh_tree_build(m->points, m->faces, m->nface, &fit->tree));
  ATTEMPT(mesh_grid_make(fit->mesh.low, fit->mesh.high, fit->options.grid, border, &fit->grid));
  ATTEMPT(mesh_grid_fill(&fit->grid, &fit->tree, 3 * truncation, report));
  ATTEMPT(list_inside(fit));
  ATTEMPT(make_samples(fit));
  size_t rows = (size_t)fit->options.primitives + 1;
  fit->primitives = calloc(rows, sizeof *fit->primitives);
  fit->phi = malloc(rows * (size_t)fit->count * sizeof *fit->phi);
  fit->slope = malloc(rows * (size_t)fit->count * sizeof *fit->slope);
  if (fit->primitives && fit->phi && fit->slope) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %d primitives at %lld samples",
                   fit->options.primitives, (long long)fit->count);
}

/* ---------------------------------------------------------------------------------------- cost */

posed_primitive fit_pose(const fit_state *fit, const fit_primitive *primitive) {
  const abut_surface surface = {.primitives = (abut_primitive *)&primitive->primitive,
                                .primitive_count = 1,
                                .planes = (double *)primitive->planes[0],
                                .plane_count = primitive->primitive.plane_count,
                                .tau = fit->tau};
  return pose_primitive(&surface, 0);
}

void fit_evaluate(fit_state *fit, int32_t l) {
  posed_primitive posed = fit_pose(fit, fit->primitives + l);
  double *phi = fit->phi + l * fit->count, *slope = fit->slope + l * fit->count;
  for (int64_t i = 0; i < fit->count; i++) {
    double gradient[3];
    phi[i] = posed_distance(&posed, fit->points + 3 * i, gradient);
    double length = sqrt(dot3(gradient, gradient));
    /* near the surface it is 1 or more; the bounds keep corners and the centre from being special */
    slope[i] = fmin(fmax(length, 1), 4);
  }
}

int32_t fit_nearest(const fit_state *fit, int64_t i) {
  int32_t near = -1;
  double least = INFINITY;
  for (int32_t l = 0; l < fit->primitive_count; l++)
    if (fit->phi[l * fit->count + i] < least) least = fit->phi[l * fit->count + i], near = l;
  return near;
}

double fit_miss(const fit_state *fit, int64_t i, int32_t without) {
  double least = INFINITY, sum = 0, slope = 1;
  for (int32_t l = 0; l < fit->primitive_count; l++) {
    double phi = fit->phi[l * fit->count + i];
    if (l != without && phi < least) least = phi, slope = fit->slope[l * fit->count + i];
  }
  for (int32_t l = 0; l < fit->primitive_count; l++) {
    double above = fit->phi[l * fit->count + i] - least;
    /* what is further adds less than a rounding error */
    if (l != without && above < 40 * fit->tau) sum += exp(-above / fit->tau);
  }
  double all = least < INFINITY ? least - fit->tau * log(sum) : INFINITY;
  double miss = fit->weight[i] * (fit_truncate(fit, all / slope) - fit->target[i]);
  return miss * miss;
}

double fit_cost(const fit_state *fit, int32_t without) {
  double cost = 0;
  for (int64_t i = 0; i < fit->count; i++) cost += fit_miss(fit, i, without);
  return cost;
}

void fit_cover(fit_state *fit, int32_t without) {
  for (int64_t k = 0; k < fit->inside_count; k++) fit->cover[k] = INFINITY;
  for (int32_t l = 0; l < fit->primitive_count; l++) {
    if (l == without) continue;
    posed_primitive posed = fit_pose(fit, fit->primitives + l);
    for (int64_t k = 0; k < fit->inside_count; k++) {
      double x[3];
      mesh_grid_point(&fit->grid, fit->inside[k], x);
      float phi = (float)posed_distance(&posed, x, NULL);
      if (phi < fit->cover[k]) fit->cover[k] = phi;
    }
  }
}
