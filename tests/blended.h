/* blended.h: contact manifolds of two blended superquadrics with many vertices and edges, for tests that
 * compare kernels: instruction sets, teams, GPUs. */
#ifndef ABUT_TEST_BLENDED_H
#define ABUT_TEST_BLENDED_H
#include "host/items/manifold_parts.h"
#include "test.h"
#include <math.h>
#include <string.h>

/* More vertices and edges than a team has threads, and not a multiple of them. */
enum { BLENDED = 3, BLENDED_VERTICES = 70, BLENDED_EDGES = 90, BLENDED_PAIRS = 3, BLENDED_NUMBERS = 60000 };

typedef struct blended {
  abut_primitive primitives[BLENDED];
  double vertices[3 * BLENDED_VERTICES];
  int32_t edges[2 * BLENDED_EDGES];
  abut_surface surface;
} blended;
/* Not to be copied: the surface points into it. */
static inline void blended_make(blended *b) {
  static const abut_primitive primitives[BLENDED] = {
      {.quaternion = {1, 0, 0, 0}, .size = {1, 0.6, 0.8}, .exponents = {0.3, 0.9}},
      {.position = {0.5, 0.4, 0},
       .quaternion = {0.8, 0, 0.6, 0},
       .size = {0.5, 0.5, 0.9},
       .exponents = {1, 0.5}},
      {.position = {-0.6, 0, 0.3},
       .quaternion = {1, 0, 0, 0},
       .size = {0.4, 0.7, 0.4},
       .exponents = {1.3, 0.1}}};
  memset(b, 0, sizeof *b);
  memcpy(b->primitives, primitives, sizeof primitives);
  for (int i = 0; i < 3 * BLENDED_VERTICES; i++)
    b->vertices[i] = (i % 2 ? 0.8 : -0.8) * (0.5 + 0.5 * ((37 * i) % 101) / 101.0);
  for (int i = 0; i < BLENDED_EDGES; i++) {
    b->edges[2 * i] = i % BLENDED_VERTICES;
    b->edges[2 * i + 1] = (i * 11 + 3) % BLENDED_VERTICES;
  }
  b->surface = (abut_surface){.primitives = b->primitives, .primitive_count = BLENDED, .tau = 0.05};
  b->surface.vertices = b->vertices;
  b->surface.vertex_count = BLENDED_VERTICES;
  b->surface.edges = b->edges;
  b->surface.edge_count = BLENDED_EDGES;
}

/* Contacts of three pairs of poses and all kinds of cotangents. */
typedef struct blended_results {
  double contacts[BLENDED_NUMBERS], poses[12 * BLENDED_PAIRS], vertices[3 * BLENDED_VERTICES],
      primitives[11 * BLENDED];
} blended_results;
static const double blended_poses[14 * BLENDED_PAIRS] = {
    0, 0, 0, 1, 0, 0, 0, 1.1, 0.4, 0.9, 0.8, 0.36, 0.48, 0, /**/
    0, 0, 0, 1, 0, 0, 0, 0.3, 0.2, 1.7, 0.6, 0,    0.8,  0, /**/
    0, 0, 0, 1, 0, 0, 0, 0,   0,   1.9, 1,   0,    0,    0};

static inline abut_manifold_options blended_options(int32_t dtype, int32_t selection) {
  abut_manifold_options o = abut_default_manifold_options();
  o.dtype = dtype;
  o.selection = selection;
  o.vertices[0] = 41;
  o.edges[0] = 7;
  o.edges[1] = 35;
  o.projections = 2;
  o.threads = 1;
  return o;
}
/* Runs m forward and back; returns how many numbers its contacts have. */
static inline int64_t blended_run(const abut_manifold *m, blended_results *out) {
  static double ones[BLENDED_NUMBERS];
  abut_manifold_counts counts = {0};
  abut_manifold_size(m, &counts);
  const int64_t n = counts.contacts * BLENDED_PAIRS;
  CHECK(8 * n <= BLENDED_NUMBERS);
  if (8 * n > BLENDED_NUMBERS) return 0;
  for (int64_t i = 0; i < 8 * n; i++) ones[i] = 1 + (double)(i % 5);
  abut_contacts c = {out->contacts, out->contacts + 3 * n, out->contacts + 4 * n, out->contacts + 7 * n},
                bar = {ones, ones + 3 * n, ones + 4 * n, ones + 7 * n};
  abut_manifold_bars bars = {
      .poses = out->poses, .vertices = {out->vertices, NULL}, .primitives = {NULL, out->primitives}};
  memset(out, 0, sizeof *out);
  CHECK_STATUS(abut_manifold_gradient(m, BLENDED_PAIRS, blended_poses, &bar, &bars, &c), ABUT_OK);
  return 8 * n;
}
/* By kernels of some instance. */
static inline int64_t blended_run_with(const item_kernels *k, int32_t selection, blended_results *out) {
  static blended b;
  blended_make(&b);
  abut_manifold_options o = blended_options(k->elem_size == 8 ? ABUT_F64 : ABUT_F32, selection);
  abut_manifold *m = NULL;
  CHECK_STATUS(manifold_create_with(&b.surface, &b.surface, &o, k, &m), ABUT_OK);
  int64_t n = m ? blended_run(m, out) : 0;
  abut_manifold_destroy(m);
  return n;
}

/* Contacts within a tenth of the bound, cotangents within its share of them: sums of many that cancel. */
static inline int blended_close(const blended_results *a, const blended_results *b, double bound) {
  int close = 1;
  for (int64_t j = 0; j < BLENDED_NUMBERS; j++) close &= fabs(a->contacts[j] - b->contacts[j]) <= bound * 0.1;
  const double *ga = a->poses, *gb = b->poses;
  int numbers = (int)((sizeof *a - sizeof a->contacts) / sizeof *ga);
  double most = 1;
  for (int j = 0; j < numbers; j++) most = fmax(most, fabs(ga[j]));
  for (int j = 0; j < numbers; j++) close &= fabs(ga[j] - gb[j]) <= bound * most;
  return close;
}

#endif
