/* fit_refine.c: adds primitives one by one where the most is uncovered, then moves them about. */
#include "host/fit/fit_form.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

#ifdef ABUT_HAVE_CMINPACK
/* Evaluations of one move: of one start of several (of some samples), of the best, of a primitive in its
 * place. */
enum { TRIAL_MOVE = 8, FIRST_MOVE = 25, NEXT_MOVE = 8, TRIAL_STRIDE = 3 };
/* A change must lower the cost by this part of it. */
static const double worthwhile = 1e-3;

static abut_status sweep(fit_state *fit, int times) {
  for (int i = 0; i < times; i++)
    for (int32_t l = 0; l < fit->primitive_count; l++) ATTEMPT(fit_move(fit, l, NEXT_MOVE, 1));
  return ABUT_OK;
}

/* Turns the frame so that axis k becomes z: a superquadric has one axis that is unlike the others. */
static void make_axis_z(abut_primitive *p, int k) {
  if (k == 2) return;
  /* a third of a turn about (1, 1, 1) moves x to y, y to z, z to x: new x is old y; and the other way round
   */
  const double part = k == 0 ? 0.5 : -0.5, turn[4] = {0.5, part, part, part};
  const double size[3] = {p->size[0], p->size[1], p->size[2]};
  for (int j = 0; j < 3; j++) p->size[j] = size[(j + k + 1) % 3];
  quat_product(p->quaternion, p->quaternion, turn);
}

static void restore(fit_state *fit, const fit_primitive *saved, int32_t count) {
  memcpy(fit->primitives, saved, (size_t)count * sizeof *saved);
  fit->primitive_count = count;
  for (int32_t l = 0; l < count; l++) fit_evaluate(fit, l);
}

/* Puts a primitive behind the others. */
static void append(fit_state *fit, const abut_primitive *primitive) {
  int32_t l = fit->primitive_count++;
  fit->primitives[l] = (fit_primitive){.primitive = *primitive};
  fit_evaluate(fit, l);
}

/* Adds the best of several starts in the region of this rank; *added: whether it lowers the cost. */
static abut_status add_in_region(fit_state *fit, int32_t rank, int32_t *added) {
  static const double depths[] = {0.5, 0.25, 0.75};
  int32_t l = fit->primitive_count;
  double before = fit_cost(fit, -1), best = INFINITY;
  abut_primitive winner;
  *added = 0;
  fit_cover(fit, -1);
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    abut_primitive start;
    int32_t found;
    ATTEMPT(fit_seed(fit, rank, depths[i], &start, &found));
    for (int axis = 0; found && axis < 3; axis++) {
      abut_primitive turned = start;
      make_axis_z(&turned, axis);
      append(fit, &turned);
      ATTEMPT(fit_move(fit, l, TRIAL_MOVE, TRIAL_STRIDE));
      double cost = fit_cost(fit, -1);
      if (cost < best) best = cost, winner = fit->primitives[l].primitive;
      fit->primitive_count = l;
    }
  }
  if (!(best < INFINITY)) return ABUT_OK;
  append(fit, &winner);
  ATTEMPT(fit_move(fit, l, FIRST_MOVE, 1));
  *added = fit_cost(fit, -1) < before * (1 - worthwhile);
  if (!*added) fit->primitive_count = l;
  return ABUT_OK;
}

typedef struct misfit {
  double miss; /* of the samples nearest to the primitive */
  int32_t primitive;
} misfit;

static int compare_misfits(const void *a, const void *b) {
  const misfit *p = a, *q = b;
  if (p->miss != q->miss) return p->miss > q->miss ? -1 : 1;
  return p->primitive - q->primitive;
}

/* The primitive of this rank by misfit, the worst first. */
static int32_t worst(const fit_state *fit, int32_t rank) {
  misfit list[FIT_MOST] = {0};
  for (int32_t l = 0; l < fit->primitive_count; l++) list[l].primitive = l;
  for (int64_t i = 0; i < fit->count; i++) {
    int32_t near = fit_nearest(fit, i);
    if (near >= 0) list[near].miss += fit_miss(fit, i, -1);
  }
  qsort(list, (size_t)fit->primitive_count, sizeof *list, compare_misfits);
  return list[rank].primitive;
}

/* Makes two of the primitive of this rank by misfit, side by side along its longest axis. */
static abut_status add_by_split(fit_state *fit, int32_t rank, fit_primitive *saved, int32_t *added) {
  int32_t l = worst(fit, rank), count = fit->primitive_count, longest = 0;
  double before = fit_cost(fit, -1), axes[9];
  memcpy(saved, fit->primitives, (size_t)count * sizeof *saved);
  abut_primitive half = fit->primitives[l].primitive, other;
  for (int k = 1; k < 3; k++)
    if (half.size[k] > half.size[longest]) longest = k;
  quat_matrix(axes, half.quaternion);
  half.size[longest] *= 0.55;
  other = half;
  for (int k = 0; k < 3; k++) {
    double along = axes[3 * k + longest] * half.size[longest] * 0.85;
    half.position[k] -= along, other.position[k] += along;
  }
  fit->primitives[l].primitive = half;
  fit_evaluate(fit, l);
  append(fit, &other);
  for (int i = 0; i < 4; i++) {
    ATTEMPT(fit_move(fit, l, NEXT_MOVE, 1));
    ATTEMPT(fit_move(fit, count, NEXT_MOVE, 1));
  }
  *added = fit_cost(fit, -1) < before * (1 - worthwhile);
  if (!*added) restore(fit, saved, count);
  return ABUT_OK;
}

/* Ways to add one: the largest regions that are not covered, then splits of what fits worst. */
enum { REGIONS = 3, SPLITS = 3, WAYS = REGIONS + SPLITS };

static abut_status add_one(fit_state *fit, int32_t way, fit_primitive *saved, int32_t *added) {
  *added = 0;
  if (way < REGIONS) return add_in_region(fit, way, added);
  int32_t rank = way - REGIONS;
  return rank < fit->primitive_count ? add_by_split(fit, rank, saved, added) : ABUT_OK;
}

static void remove_one(fit_state *fit, int32_t l) {
  int32_t last = --fit->primitive_count;
  fit->primitives[l] = fit->primitives[last];
  fit_evaluate(fit, l);
}

static abut_status add_all(fit_state *fit, fit_primitive *saved) {
  int32_t way = 0;
  while (fit->primitive_count < fit->options.primitives && way < WAYS) {
    int32_t added;
    ATTEMPT(add_one(fit, way, saved, &added));
    way = added ? 0 : way + 1;
    if (added) ATTEMPT(sweep(fit, 1));
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- moving about */

/* The primitive whose loss costs least, of those not marked. */
static int32_t least_useful(const fit_state *fit, const char *tried) {
  int32_t best = -1;
  double least = INFINITY;
  for (int32_t l = 0; l < fit->primitive_count; l++) {
    double cost = tried[l] ? INFINITY : fit_cost(fit, l);
    if (cost < least) least = cost, best = l;
  }
  return best;
}

/* Takes the least useful primitive away and adds one elsewhere, for as long as that helps. kept: room for the
 * primitives before a round, saved: room for add_one. */
static abut_status move_about(fit_state *fit, fit_primitive *kept, fit_primitive *saved) {
  char tried[FIT_MOST] = {0};
  for (int32_t round = 0, way = 0; round < fit->options.rounds; round++) {
    double before = fit_cost(fit, -1);
    int32_t count = fit->primitive_count, l = least_useful(fit, tried), added = 0;
    if (l < 0 || count < 2) break;
    memcpy(kept, fit->primitives, (size_t)count * sizeof *kept);
    remove_one(fit, l);
    ATTEMPT(add_one(fit, way, saved, &added));
    if (added) ATTEMPT(sweep(fit, 2));
    if (added && fit_cost(fit, -1) < before * (1 - worthwhile)) {
      memset(tried, 0, sizeof tried);
      way = 0;
      continue;
    }
    restore(fit, kept, count);
    /* other places are tried before other primitives */
    way = (way + 1) % WAYS;
    if (way == 0) tried[l] = 1;
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- polyhedra */

/* Lets a polyhedron stand for a superquadric where it leaves less than this part of the misfit around it. */
static const double clearly = 0.5;

/* The sum that is minimised over the samples that this primitive, as it was, is nearest to. */
static double cost_near(const fit_state *fit, const int32_t *nearest, int32_t l) {
  double cost = 0;
  for (int64_t i = 0; i < fit->count; i++)
    if (nearest[i] == l) cost += fit_miss(fit, i, -1);
  return cost;
}

static abut_status try_polyhedron(fit_state *fit, int32_t l, int32_t *nearest) {
  for (int64_t i = 0; i < fit->count; i++) nearest[i] = fit_nearest(fit, i);
  double before = fit_cost(fit, -1), near = cost_near(fit, nearest, l);
  fit_primitive kept = fit->primitives[l];
  fit->primitives[l] = fit_planes_around(&kept.primitive);
  fit_evaluate(fit, l);
  ATTEMPT(fit_move(fit, l, FIRST_MOVE, 1));
  if (fit_cost(fit, -1) < before && cost_near(fit, nearest, l) < clearly * near) return ABUT_OK;
  fit->primitives[l] = kept;
  fit_evaluate(fit, l);
  return ABUT_OK;
}

static abut_status try_polyhedra(fit_state *fit) {
  int32_t *nearest = malloc((size_t)fit->count * sizeof *nearest);
  if (!nearest) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld samples", (long long)fit->count);
  abut_status status = ABUT_OK;
  for (int32_t l = 0; l < fit->primitive_count && status == ABUT_OK; l++)
    status = try_polyhedron(fit, l, nearest);
  free(nearest);
  return status;
}

abut_status fit_run(fit_state *fit) {
  size_t most = (size_t)fit->options.primitives;
  fit_primitive *room = malloc(2 * most * sizeof *room);
  if (!room) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %zu primitives", most);
  abut_status status =
      fit->inside_count
          ? add_all(fit, room)
          : fail_with(ABUT_ERROR_MODEL, "fit: the mesh encloses none of the grid's points: it is "
                                        "open, or too thin for this grid");
  if (status == ABUT_OK && fit->primitive_count == 0)
    status = fail_with(ABUT_ERROR_MODEL,
                       "fit: no primitive covers any of the %lld grid points inside: the "
                       "mesh is too thin for this grid",
                       (long long)fit->inside_count);
  if (status == ABUT_OK) status = sweep(fit, 3);
  if (status == ABUT_OK) status = move_about(fit, room, room + most);
  if (status == ABUT_OK && fit->options.polyhedra) status = try_polyhedra(fit);
  if (status == ABUT_OK) status = sweep(fit, 6);
  free(room);
  return status;
}
#endif
