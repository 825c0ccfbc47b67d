/* measure_manifold.c: times the kernels of edge pairs and of signed distances. */
#include "host/measure/measure_manifold.h"
#include "abut/manifold.h"
#include "host/measure/measure_time.h"
#include "kernels/lane/random.h"
#include "host/base/kernels.h"
#include "host/surface/surface_view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE_PACKS = 64, EDGE_SWEEPS = 100, EDGE_FIELDS = 12, DISTANCE_SWEEPS = 10 };

static char *aligned(int64_t n, const item_kernels *k) {
  size_t bytes = ((size_t)n * (size_t)k->elem_size + 64) / 64 * 64;
  char *p = aligned_alloc(64, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

typedef struct edge_sweep {
  const item_kernels *kernels;
  witness_block block;
} edge_sweep;
static void run_edges(void *context) {
  edge_sweep *s = context;
  for (int i = 0; i < EDGE_SWEEPS; i++) s->kernels->manifold.query_edges(&s->block);
}

double measure_edges(int dtype) {
  const item_kernels *k;
  if (item_kernels_for(dtype, &k) != ABUT_OK) return NAN;
  const abut_manifold_options o = abut_default_manifold_options();
  const int64_t n = (int64_t)EDGE_PACKS * k->lanes, bytes = n * k->elem_size;
  char *memory = aligned(n * EDGE_FIELDS, k);
  if (!memory) return NAN;
  for (int64_t i = 0; i < 9 * n; i++) real_put(k, memory, i, 2 * hash_uniform(1, (uint64_t)i, 0, 0) - 1);
  edge_sweep s = {k, {.soft = {o.w_reg, o.tau_clip, o.tau_min, o.tau_comp, 1}, .packs = EDGE_PACKS}};
  s.block.r = memory;
  s.block.t1 = memory + 3 * bytes;
  s.block.t2 = memory + 6 * bytes;
  s.block.out = memory + 9 * bytes;
  double seconds = median_seconds(run_edges, &s);
  free(memory);
  return 1e9 * seconds / ((double)EDGE_SWEEPS * (double)n);
}

typedef struct distance_sweep {
  const item_kernels *kernels;
  distance_block block;
  int64_t packs, pack_bytes;
  const char *points; /* [packs][3][lanes] */
} distance_sweep;
static void run_distances(void *context) {
  distance_sweep *s = context;
  for (int sweep = 0; sweep < DISTANCE_SWEEPS; sweep++)
    for (int64_t i = 0; i < s->packs; i++) {
      s->block.x = s->points + i * s->pack_bytes;
      s->kernels->manifold.query_distance(&s->block);
    }
}

abut_status measure_distance(const abut_surface *surface, int64_t count, const double *points, int skip,
                             int dtype, double *ns) {
  const item_kernels *k;
  ATTEMPT(item_kernels_for(dtype, &k));
  surface_view view;
  ATTEMPT(surface_view_create(k, surface, abut_surface_diagonal(surface), 0, &view));
  if (!skip) view.sdf.tau = 1000; /* every primitive weighs something everywhere */
  const int64_t lanes = k->lanes, packs = count / lanes, num = surface->primitive_count;
  char *at = aligned(packs * lanes * 3, k), *out = aligned(lanes * 4, k),
       *scratch = aligned(DISTANCE_NUMBERS(num) * lanes, k);
  int32_t *kept = calloc((size_t)DISTANCE_LISTS(num), sizeof *kept);
  abut_status status = ABUT_OK;
  if (!at || !out || !scratch || !kept || packs == 0) {
    status = fail_with(ABUT_ERROR_MEMORY, "distances at %lld points: out of memory", (long long)count);
  } else {
    for (int64_t i = 0; i < packs * lanes; i++)
      for (int c = 0; c < 3; c++)
        real_put(k, at, (i / lanes * 3 + c) * lanes + i % lanes,
                 points[3 * i + c] / abut_surface_diagonal(surface));
    distance_sweep s = {.kernels = k, .packs = packs, .pack_bytes = 3 * lanes * k->elem_size, .points = at};
    s.block = (distance_block){.surface = &view.sdf, .phi = out, .scratch = scratch, .kept = kept};
    s.block.normal = out + lanes * k->elem_size;
    *ns = 1e9 * median_seconds(run_distances, &s) / ((double)DISTANCE_SWEEPS * (double)(packs * lanes));
  }
  free(at);
  free(out);
  free(scratch);
  free(kept);
  surface_view_destroy(&view);
  return status;
}
