/* test_golden.c: the strict build computes the same bits with every instance of the kernels and every
 * compiler: hashes of states and gradients, committed. After a change that is meant to change results, run
 * build-strict/tests/test_golden: a failure prints the line to put in its place. */
#include "host/batch/batch.h"
#include "rollout.h"
#include <inttypes.h>
#include <stdio.h>

enum { ENVS = 5, STEPS = 12 };

typedef struct golden {
  const char *scene;
  int32_t contact, dtype;
  uint64_t forward, gradient;
} golden;

static const golden list[] = {
    {"stack5", ABUT_CONTACT_LOCAL, ABUT_F64, 0x300c752e5cd1c2bf, 0xdcb6143bf381c75c},
    {"stack5", ABUT_CONTACT_INVERSE, ABUT_F64, 0x9cb7f426d7b4472b, 0xf5303b72a96b946b},
    {"stack5", ABUT_CONTACT_LOCAL, ABUT_F32, 0x254251230678bffe, 0xa3813d5a0a0b8f03},
    {"ant_box", ABUT_CONTACT_LOCAL, ABUT_F64, 0x33856aae979dcab9, 0x30e33230a421ea5e},
    {"ant_box", ABUT_CONTACT_INVERSE, ABUT_F32, 0xf194f30f60cafe6b, 0xc6c97432592eef9c},
    {"chains4x8", ABUT_CONTACT_LOCAL, ABUT_F64, 0xde0faee0c899c969, 0x815cbab9abef6e70},
    {"pile", ABUT_CONTACT_LOCAL, ABUT_F64, 0xab12af190568b803, 0xedd5df2fbafd987e},
    {"incline", ABUT_CONTACT_LOCAL, ABUT_F64, 0x99c2dcc12d80f03b, 0xfe297a189199a436},
    {"arm_mesh", ABUT_CONTACT_LOCAL, ABUT_F64, 0x212aab7f4276ba21, 0xbc426187acfad1cc},
    {"planks20", ABUT_CONTACT_INVERSE, ABUT_F64, 0xd974cd2ac60035a4, 0x6e7c2c095a7b2826},
};

/* FNV-1a 64 */
static uint64_t hash(uint64_t h, const array *a) {
  const unsigned char *bytes = a->t.data;
  for (size_t i = 0; i < a->bytes; i++) h = (h ^ bytes[i]) * 0x100000001b3ull;
  return h;
}

/* Controls in [-1, 1] that depend on nothing but their place. */
static void fill_controls(array *ctrl) {
  for (size_t i = 0; i < ctrl->count; i++) array_set(ctrl, i, (double)(i * 37 % 65) / 32 - 1);
}

/* With an instance of the CPU's kernels, or (k NULL) with what ABUT_TEST_DEVICE names. A kicked rollout
 * (uniform noise: no libm, whose last bits differ) and the gradient of the sum of all its positions and
 * velocities. */
static int run_golden(const golden *g, const method_kernels *k, uint64_t *forward, uint64_t *gradient) {
  scene s;
  char path[64];
  snprintf(path, sizeof path, "scenes/%s.abut", g->scene);
  if (!scene_load(path, &s)) return 0;
  abut_options o = test_options(ENVS);
  o.implicit.contact = g->contact;
  o.dtype = g->dtype;
  abut_batch *b = batch_of(&s, &o);
  if (!b) return 0;
  if (k) CHECK_STATUS(batch_use_kernels(b, k), ABUT_OK);
  char real = g->dtype == ABUT_F32 ? 'f' : 'd';
  const int64_t n = ENVS, m = STEPS + 1;
  run r;
  run_create(&r, &s, &o, STEPS);
  array ctrl, bar_qpos, bar_qvel, out[5];
  array_create(&ctrl, real, 3, (int64_t[]){n, STEPS, s.n.nu});
  array_create(&bar_qpos, real, 3, (int64_t[]){n, m, s.n.nq});
  array_create(&bar_qvel, real, 3, (int64_t[]){n, m, s.n.nv});
  array_create(&out[0], real, 2, (int64_t[]){n, s.n.nq});
  array_create(&out[1], real, 2, (int64_t[]){n, s.n.nv});
  array_create(&out[2], real, 2, (int64_t[]){n, s.n.nbody});
  array_create(&out[3], real, 2, (int64_t[]){n, s.n.ngeom});
  array_create(&out[4], real, 3, (int64_t[]){n, STEPS, s.n.nu});
  fill_controls(&ctrl);
  for (size_t i = 0; i < bar_qpos.count; i++) array_set(&bar_qpos, i, 1);
  for (size_t i = 0; i < bar_qvel.count; i++) array_set(&bar_qvel, i, 1);
  r.args.record = 1;
  r.args.kick = 0.02;
  r.args.ctrl = s.n.nu ? tensor(&ctrl) : NULL;
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos = tensor(&bar_qpos);
  v.qvel = tensor(&bar_qvel);
  v.qpos0 = tensor(&out[0]);
  v.qvel0 = tensor(&out[1]);
  v.mass = tensor(&out[2]);
  v.friction = tensor(&out[3]);
  v.ctrl = s.n.nu ? tensor(&out[4]) : NULL;
  int ok = run_go(&r, b);
  CHECK_STATUS(abut_rollout_vjp(b, &v, NULL, NULL), ABUT_OK);
  *forward = *gradient = 0xcbf29ce484222325ull;
  for (int i = 0; i < OUT_COUNT; i++) *forward = hash(*forward, &r.out[i]);
  for (int i = 0; i < 5; i++) *gradient = hash(*gradient, &out[i]);
  for (int i = 0; i < 5; i++) array_free(&out[i]);
  array_free(&ctrl);
  array_free(&bar_qpos);
  array_free(&bar_qvel);
  run_free(&r);
  abut_batch_destroy(b);
  scene_free(&s);
  return ok;
}

/* Fails with the line to put in place of the golden one, if it has other bits. */
static void check_golden(const golden *g, const method_kernels *k, const char *where) {
  uint64_t forward = 0, gradient = 0;
  if (!run_golden(g, k, &forward, &gradient)) return;
  if (forward == g->forward && gradient == g->gradient) return;
  test_fail(__FILE__, __LINE__, "%s: {\"%s\", %s, %s, 0x%016" PRIx64 ", 0x%016" PRIx64 "}", where, g->scene,
            g->contact == ABUT_CONTACT_LOCAL ? "ABUT_CONTACT_LOCAL" : "ABUT_CONTACT_INVERSE",
            g->dtype == ABUT_F64 ? "ABUT_F64" : "ABUT_F32", forward, gradient);
}

TEST(bits_are_those_committed) {
  static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512", "generic"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (getenv("ABUT_TEST_DEVICE")) {
      check_golden(&list[i], NULL, getenv("ABUT_TEST_DEVICE"));
      continue;
    }
    for (size_t j = 0; j < sizeof isas / sizeof *isas; j++) {
      const method_kernels *k = method_kernels_find(methods[0]->instances, list[i].dtype, isas[j]);
      if (k) check_golden(&list[i], k, isas[j]);
    }
  }
}
