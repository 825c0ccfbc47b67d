/* manifold_test.h: surfaces of one primitive, softnesses and memory for tests of contact manifolds. */
#ifndef ABUT_TEST_MANIFOLD_TEST_H
#define ABUT_TEST_MANIFOLD_TEST_H
#include "abut/manifold.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Both surfaces at the origin. */
static const double at_rest[14] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};

/* Room for n contacts, all in point's memory. */
static inline abut_contacts contacts_new(int64_t n) {
  double *m = calloc((size_t)n * 8, sizeof *m);
  abut_contacts c = {m, m + 3 * n, m + 4 * n, m + 7 * n};
  return c;
}
static inline int all_finite(const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

/* Softer than the defaults, so that differences see everything. */
static inline abut_manifold_options soft_options(void) {
  abut_manifold_options o = abut_default_manifold_options();
  o.dtype = ABUT_F64;
  o.threads = 1;
  o.edges[0] = o.edges[1] = 6;
  o.tau_pen = o.tau_near = o.tau_select = 0.05;
  o.tau_clip = o.tau_comp = 0.1;
  o.tau_min = 0.1;
  return o;
}

static inline abut_surface one_primitive(abut_primitive *q) {
  abut_surface s = {.primitives = q, .primitive_count = 1, .tau = 1};
  return s;
}
/* Of position, quaternion, size and exponents, with eight vertices. */
static inline abut_surface case_surface(abut_primitive *q, const double primitive[12],
                                        const double vertices[8][3], const int32_t edges[12][2]) {
  memset(q, 0, sizeof *q);
  memcpy(q->position, primitive, sizeof q->position);
  memcpy(q->quaternion, primitive + 3, sizeof q->quaternion);
  memcpy(q->size, primitive + 7, sizeof q->size);
  memcpy(q->exponents, primitive + 10, sizeof q->exponents);
  abut_surface s = one_primitive(q);
  s.tau = 0.01;
  s.vertices = (double *)(uintptr_t)vertices;
  s.vertex_count = 8;
  s.edges = (int32_t *)(uintptr_t)edges;
  s.edge_count = 12;
  return s;
}

#endif
