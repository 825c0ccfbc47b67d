/* test_instances.c: every instance of the kernels that this processor runs computes the same rollouts and
 * contact manifolds. */
#include "batch.h"
#include "manifold.h"
#include "rollout.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512", "generic"};
enum { ISAS = sizeof isas / sizeof *isas };

static int run_with(run *r, const scene *s, const abut_options *o, const abut_kernels *k, int64_t nstep) {
  abut_batch *b = batch_of(s, o);
  if (!b) return 0;
  CHECK_STATUS(batch_use_kernels(b, k), ABUT_OK);
  abut_batch_perturb(b, NULL, 1, 0, 0, 0.02);
  run_create(r, s, o, nstep);
  int ok = run_go(r, b);
  abut_batch_destroy(b);
  return ok;
}

/* Compares every instance with the widest one. Returns how many ran. */
static int compare(const char *path, int32_t dtype, int64_t nstep, double tolerance, double bound) {
  scene s;
  if (!scene_load(path, &s)) return 0;
  abut_options o = test_options(19);
  o.dtype = dtype;
  o.tolerance = tolerance;
  run best, r;
  int count = 0;
  if (!run_with(&best, &s, &o, abut_kernels_find(dtype, NULL), nstep)) return 0;
  for (int i = 0; i < ISAS; i++) {
    const abut_kernels *k = abut_kernels_find(dtype, isas[i]);
    if (!k || !run_with(&r, &s, &o, k, nstep)) continue;
    double q = run_distance(&r, &best, OUT_QPOS), x = run_distance(&r, &best, OUT_XPOS);
    if (!(q <= bound && x <= bound))
      test_fail(__FILE__, __LINE__, "%s: %s of f%d differs by %g in qpos, %g in xpos", path, isas[i],
                8 * k->elem_size, q, x);
    for (int64_t env = 0; env < o.nenv; env++) CHECK(run_status(&r, env) == 0);
    run_free(&r);
    count++;
  }
  run_free(&best);
  scene_free(&s);
  return count;
}

TEST(instances_agree_f64) {
  CHECK(compare("scenes/stack5.abut", ABUT_F64, 50, 1e-8, 1e-9) >= 2);
  CHECK(compare("scenes/ant_box.abut", ABUT_F64, 20, 1e-8, 1e-9) >= 2);
}
TEST(instances_agree_f32) { CHECK(compare("scenes/stack5.abut", ABUT_F32, 20, 1e-2, 1e-4) >= 1); }

/* Contacts of three pairs of poses, their poses' and primitives' cotangents. */
enum { PAIRS = 3, BLENDED = 3, NUMBERS = 20000 };
typedef struct manifold_results {
  double contacts[NUMBERS], poses[12 * PAIRS], vertices[24], primitives[11 * BLENDED];
} manifold_results;

static int64_t run_manifold(const abut_surface *s, int selection, const abut_kernels *k,
                            manifold_results *out) {
  static const double poses[14 * PAIRS] = {0, 0, 0, 1, 0, 0, 0, 1.1, 0.4, 0.9, 0.8, 0.36, 0.48, 0, /**/
                                           0, 0, 0, 1, 0, 0, 0, 0.3, 0.2, 1.7, 0.6, 0,    0.8,  0, /**/
                                           0, 0, 0, 1, 0, 0, 0, 0,   0,   1.9, 1,   0,    0,    0};
  abut_manifold_options o = abut_default_manifold_options();
  o.dtype = k->elem_size == 8 ? ABUT_F64 : ABUT_F32;
  o.selection = selection;
  o.vertices[0] = 5;
  o.edges[0] = 7;
  o.edges[1] = 12;
  o.projections = 1;
  abut_manifold *m = NULL;
  abut_manifold_counts counts = {0};
  CHECK_STATUS(manifold_create_with(s, s, &o, k, &m), ABUT_OK);
  abut_manifold_size(m, &counts);
  const int64_t n = counts.contacts * PAIRS;
  static double ones[NUMBERS];
  for (int64_t i = 0; i < 8 * n; i++) ones[i] = 1 + (double)(i % 5);
  abut_contacts c = {out->contacts, out->contacts + 3 * n, out->contacts + 4 * n, out->contacts + 7 * n},
                bar = {ones, ones + 3 * n, ones + 4 * n, ones + 7 * n};
  abut_manifold_bars bars = {
      .poses = out->poses, .vertices = {out->vertices, NULL}, .primitives = {NULL, out->primitives}};
  CHECK(8 * n <= NUMBERS);
  memset(out, 0, sizeof *out);
  CHECK_STATUS(abut_manifold_gradient(m, PAIRS, poses, &bar, &bars, &c), ABUT_OK);
  abut_manifold_destroy(m);
  return 8 * n;
}

/* The last bits of multiply-adds differ from instance to instance but in a strict build; what a cotangent
 * sums may be a thousand times it. */
static void compare_manifolds(int32_t dtype, int selection) {
  static manifold_results best, r;
  abut_primitive blended[BLENDED] = {
      {.quaternion = {1, 0, 0, 0}, .size = {1, 0.6, 0.8}, .exponents = {0.3, 0.9}},
      {.position = {0.5, 0.4, 0},
       .quaternion = {0.8, 0, 0.6, 0},
       .size = {0.5, 0.5, 0.9},
       .exponents = {1, 0.5}},
      {.position = {-0.6, 0, 0.3},
       .quaternion = {1, 0, 0, 0},
       .size = {0.4, 0.7, 0.4},
       .exponents = {1.3, 0.1}}};
  abut_surface s = {.primitives = blended, .primitive_count = BLENDED, .tau = 0.05};
  double vertices[24];
  int32_t edges[24], count = 0;
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) {
      vertices[3 * i + k] = (i >> k & 1 ? 0.8 : -0.8) + 0.01 * ((3 * i + k) % 7);
      if (!(i >> k & 1)) edges[count++] = i, edges[count++] = i | 1 << k;
    }
  s.vertices = vertices;
  s.vertex_count = 8;
  s.edges = edges;
  s.edge_count = 12;
  int64_t n = run_manifold(&s, selection, abut_kernels_find(dtype, NULL), &best);
  double bound = dtype == ABUT_F64 ? 1e-10 : 1e-3;
  for (int i = 0; i < ISAS; i++) {
    const abut_kernels *k = abut_kernels_find(dtype, isas[i]);
    if (!k) continue;
    run_manifold(&s, selection, k, &r);
#ifdef ABUT_STRICT
    if (memcmp(&best, &r, sizeof r)) test_fail(__FILE__, __LINE__, "%s has other bits", isas[i]);
    (void)n, (void)bound;
#else
    const double *a = best.contacts, *b = r.contacts;
    for (int64_t j = 0; j < n; j++) CHECK(fabs(a[j] - b[j]) <= bound * 0.1);
    const double *ga = best.poses, *gb = r.poses;
    int numbers = (int)((sizeof r - sizeof r.contacts) / sizeof *ga);
    for (int j = 0; j < numbers; j++) CHECK(fabs(ga[j] - gb[j]) <= bound * fmax(1, fabs(ga[j])));
#endif
  }
}
TEST(instances_make_the_same_manifolds) {
  for (int selection = ABUT_SELECT_HARD; selection <= ABUT_SELECT_SOFTSORT; selection++) {
    compare_manifolds(ABUT_F64, selection);
    compare_manifolds(ABUT_F32, selection);
  }
}

TEST(instances_are_found_by_name) {
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    CHECK(abut_kernels_find(dtype, NULL) != NULL);
    CHECK(abut_kernels_find(dtype, "none such") == NULL);
    for (int i = 0; i < ISAS; i++) {
      const abut_kernels *k = abut_kernels_find(dtype, isas[i]);
      CHECK(!k || (!strcmp(k->isa, isas[i]) && k->elem_size == (dtype == ABUT_F32 ? 4 : 8)));
    }
  }
  CHECK(abut_kernels_find(ABUT_F64, "scalar") != NULL);
}
