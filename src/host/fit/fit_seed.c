/* fit_seed.c: where a new primitive should begin: the largest region of the inside that is not covered. */
#include "host/fit/fit.h"
#include "host/base/geometry.h"
#include "host/shape/moment.h"
#include "host/base/status.h"
#include <stdlib.h>

/* depths below this many spacings are noise of the grid */
static const double shallow = 0.6;
enum { SMALLEST = 8 }; /* points of a region, and of the part that is cut out of it */

/* Grid points with their depth: how far inside the mesh and outside of all primitives; 0 elsewhere. */
typedef struct field {
  const mesh_grid *grid;
  float *depth;
  int32_t *region; /* number of the region, -1: none */
  int32_t *queue;
} field;

/* Calls for the six neighbours of a point; -1 beyond the grid. */
static int64_t neighbour(const mesh_grid *grid, int64_t i, int side) {
  const int64_t step[3] = {1, grid->n[0], (int64_t)grid->n[0] * grid->n[1]};
  int axis = side / 2;
  int64_t at = i / step[axis] % grid->n[axis];
  if (side % 2 ? at + 1 >= grid->n[axis] : at == 0) return -1;
  return side % 2 ? i + step[axis] : i - step[axis];
}

/* Marks the points above `cut` that hang together with point `from`, which are of region `of`, as `as`;
 * returns their number, in the queue's front. */
static int32_t flood(field *in, int64_t from, float cut, int32_t of, int32_t as) {
  int32_t head = 0, tail = 0;
  in->queue[tail++] = (int32_t)from;
  in->region[from] = as;
  while (head < tail) {
    int64_t i = in->queue[head++];
    for (int side = 0; side < 6; side++) {
      int64_t to = neighbour(in->grid, i, side);
      if (to < 0 || in->region[to] != of || !(in->depth[to] > cut)) continue;
      in->region[to] = as;
      in->queue[tail++] = (int32_t)to;
    }
  }
  return tail;
}

typedef struct region {
  double sum; /* of depths */
  int64_t deepest;
  int32_t number;
} region;

static int compare_regions(const void *a, const void *b) {
  const region *p = a, *q = b;
  if (p->sum != q->sum) return p->sum > q->sum ? -1 : 1;
  return p->number - q->number;
}

/* The region of this rank; sum 0 where there is none. */
static abut_status find_region(const fit_state *fit, field *in, int32_t rank, region *found) {
  int32_t count = 0, capacity = 64;
  region *list = malloc((size_t)capacity * sizeof *list);
  float cut = (float)(shallow * fit->grid.spacing);
  *found = (region){0};
  for (int64_t k = 0; list && k < fit->inside_count; k++) {
    int64_t i = fit->inside[k];
    if (in->region[i] >= 0 || !(in->depth[i] > cut)) continue;
    int32_t size = flood(in, i, cut, -1, count);
    region r = {.number = count, .deepest = i};
    for (int32_t q = 0; q < size; q++) {
      int64_t at = in->queue[q];
      r.sum += in->depth[at];
      if (in->depth[at] > in->depth[r.deepest]) r.deepest = at;
    }
    if (count == capacity) {
      region *grown = realloc(list, 2 * (size_t)capacity * sizeof *list);
      if (!grown) free(list);
      list = grown, capacity *= 2;
    }
    if (list) list[count++] = r;
  }
  if (!list) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %d regions", count);
  qsort(list, (size_t)count, sizeof *list, compare_regions);
  if (rank < count) *found = list[rank];
  free(list);
  return ABUT_OK;
}

/* The ellipsoid with the moments of the points in the queue, grown by `margin`; a solid ellipsoid's variance
 * along an axis of half length a is a^2 / 5. */
static void ellipsoid_of(const field *in, int32_t size, double margin, abut_primitive *start) {
  double moment[10] = {0}, inertia[3];
  for (int32_t q = 0; q < size; q++) {
    double x[3];
    mesh_grid_point(in->grid, in->queue[q], x);
    const double part[10] = {1,           x[0],        x[1],        x[2],        x[0] * x[0],
                             x[1] * x[1], x[2] * x[2], x[0] * x[1], x[0] * x[2], x[1] * x[2]};
    for (int k = 0; k < 10; k++) moment[k] += part[k];
  }
  *start = (abut_primitive){.kind = ABUT_PRIMITIVE_SUPERQUADRIC, .exponents = {1, 1}};
  moment_to_principal(moment, start->position, start->quaternion, inertia);
  double half = (inertia[0] + inertia[1] + inertia[2]) / 2;
  for (int k = 0; k < 3; k++) start->size[k] = sqrt(fmax(0, 5 * (half - inertia[k]) / size)) + margin;
}

static abut_status seed_in(const fit_state *fit, field *in, int32_t rank, double depth, abut_primitive *start,
                           int32_t *found) {
  region best;
  ATTEMPT(find_region(fit, in, rank, &best));
  if (!(best.sum > 0)) return ABUT_OK;
  float cut = (float)(depth * in->depth[best.deepest]);
  int32_t size = flood(in, best.deepest, cut, best.number, INT32_MAX);
  if (size < SMALLEST) return ABUT_OK;
  ellipsoid_of(in, size, cut, start);
  *found = 1;
  return ABUT_OK;
}

abut_status fit_seed(const fit_state *fit, int32_t rank, double depth, abut_primitive *start,
                     int32_t *found) {
  size_t size = (size_t)mesh_grid_size(&fit->grid);
  field in = {.grid = &fit->grid};
  in.depth = calloc(size, sizeof *in.depth);
  in.region = malloc(size * sizeof *in.region);
  in.queue = malloc((size_t)(fit->inside_count + 1) * sizeof *in.queue);
  *found = 0;
  abut_status status = ABUT_OK;
  if (in.depth && in.region && in.queue) {
    for (size_t i = 0; i < size; i++) in.region[i] = -1;
    for (int64_t k = 0; k < fit->inside_count; k++) {
      /* depth below the mesh, and height above the primitives */
      float below = -fit->grid.distance[fit->inside[k]], above = fit->cover[k];
      float least = below < above ? below : above;
      in.depth[fit->inside[k]] = least > 0 ? least : 0;
    }
    status = seed_in(fit, &in, rank, depth, start, found);
  } else {
    status = fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %zu grid points", size);
  }
  free(in.depth), free(in.region), free(in.queue);
  return status;
}
