/* test_instances.c: every instance of the kernels that this processor runs computes the same rollouts and
 * contact manifolds. */
#include "host/batch/batch.h"
#include "blended.h"
#include "rollout.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512", "generic"};
enum { ISAS = sizeof isas / sizeof *isas };

static int run_with(run *r, const scene *s, const abut_options *o, const method_kernels *k, int64_t nstep) {
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
  if (!run_with(&best, &s, &o, method_kernels_find(methods[0]->instances, dtype, NULL), nstep)) return 0;
  for (int i = 0; i < ISAS; i++) {
    const method_kernels *k = method_kernels_find(methods[0]->instances, dtype, isas[i]);
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

/* The last bits of multiply-adds differ from instance to instance but in a strict build; what a cotangent
 * sums may be a thousand times it. */
static void compare_manifolds(int32_t dtype, int selection) {
  static blended_results best, r;
  CHECK(blended_run_with(item_kernels_find(dtype, NULL), selection, &best) > 0);
  for (int i = 0; i < ISAS; i++) {
    const item_kernels *k = item_kernels_find(dtype, isas[i]);
    if (!k) continue;
    blended_run_with(k, selection, &r);
#ifdef ABUT_STRICT
    if (memcmp(&best, &r, sizeof r)) test_fail(__FILE__, __LINE__, "%s has other bits", isas[i]);
#else
    CHECK(blended_close(&best, &r, dtype == ABUT_F64 ? 1e-10 : 1e-3));
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
    CHECK(method_kernels_find(methods[0]->instances, dtype, NULL) != NULL &&
          item_kernels_find(dtype, NULL) != NULL);
    CHECK(method_kernels_find(methods[0]->instances, dtype, "none such") == NULL &&
          item_kernels_find(dtype, "none such") == NULL);
    for (int i = 0; i < ISAS; i++) {
      const method_kernels *k = method_kernels_find(methods[0]->instances, dtype, isas[i]);
      const item_kernels *of = item_kernels_find(dtype, isas[i]);
      CHECK(!k || (!strcmp(k->isa, isas[i]) && k->elem_size == (dtype == ABUT_F32 ? 4 : 8)));
      CHECK(!k == !of);
      CHECK(!k || !of || !strcmp(k->isa, of->isa));
      CHECK(!k || !of || (k->lanes == of->lanes && k->elem_size == of->elem_size));
    }
  }
  CHECK(method_kernels_find(methods[0]->instances, ABUT_F64, "scalar") != NULL);
}

/* This executable is linked with --wrap: where the build has nothing for the processor, whoever needs kernels
 * says so. */
static int32_t missing = -1; /* dtype */
const method_kernels *__real_method_kernels_find(const method_kernels *const *list, int32_t dtype,
                                                 const char *isa);
const method_kernels *__wrap_method_kernels_find(const method_kernels *const *list, int32_t dtype,
                                                 const char *isa);
const method_kernels *__wrap_method_kernels_find(const method_kernels *const *list, int32_t dtype,
                                                 const char *isa) {
  return dtype == missing ? NULL : __real_method_kernels_find(list, dtype, isa);
}
const item_kernels *__real_item_kernels_find(int32_t dtype, const char *isa);
const item_kernels *__wrap_item_kernels_find(int32_t dtype, const char *isa);
const item_kernels *__wrap_item_kernels_find(int32_t dtype, const char *isa) {
  return dtype == missing ? NULL : __real_item_kernels_find(dtype, isa);
}
TEST(no_instance_for_this_processor) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  double x[3] = {0}, y[3] = {1, 0, 0}, distance;
  abut_plane_query plane = {.contact = ABUT_CONTACT_INVERSE, .na = 1, .nb = 1, .a = x, .b = y, .length = 1};
  abut_plane_result result = {0};
  abut_primitive ball = {.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}, .exponents = {1, 1}};
  abut_surface surface = {.primitives = &ball, .primitive_count = 1, .tau = 0.01};
  for (missing = ABUT_F64; missing <= ABUT_F32; missing++) {
    const char *text = missing == ABUT_F64 ? "dtype f64: this build has no such kernels"
                                           : "dtype f32: this build has no such kernels";
    abut_batch *b = NULL;
    abut_manifold *m = NULL;
    int64_t bytes;
    abut_options o = test_options(1);
    abut_manifold_options how = abut_default_manifold_options();
    o.dtype = how.dtype = missing;
#define REFUSED(call)                                                                                        \
  CHECK_STATUS(call, ABUT_ERROR_UNSUPPORTED);                                                                \
  CHECK(strstr(abut_error_message(), text))
    REFUSED(abut_batch_create(s.model, &o, &b));
    REFUSED(abut_batch_memory(s.model, &o, 1, NULL, &bytes));
    REFUSED(abut_query_plane(1, &plane, &result, missing));
    REFUSED(abut_query_longrange(0, NULL, NULL, missing));
    REFUSED(abut_query_edges(0, NULL, NULL, missing));
    REFUSED(abut_query_distance(&surface, 1, x, &distance, NULL, NULL, missing));
    REFUSED(abut_manifold_create(&surface, &surface, &how, &m));
#undef REFUSED
    CHECK(!b && !m);
  }
  missing = -1;
  scene_free(&s);
}
