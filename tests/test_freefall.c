/* test_freefall.c: a method of the tests' own (freefall.c), one row in a list that only they have, runs
 * forward and in reverse on the CPU and on a fake GPU; the library's own method beside it is what it was. */
#include "scene.h"
#include "fake_cuda.h"
#include "outcome.h"
#include "team_run.h"

enum { FREEFALL = 1, ENVS = 40, STEPS = 9 };

/* A body on three slides, the third at an angle: its axis is (0.6, 0, 0.8). */
static scene slides(void) {
  scene s = {0};
  const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0.6, 0, 0.8}};
  abut_builder *b = scene_begin(-9.81);
  for (int i = 0; i < 3; i++) {
    int32_t body = scene_body(b, 0, 0, 0, i, 1, 0.1, 0.1, 0.1);
    scene_joint(b, scene_joint_def(body, ABUT_JOINT_SLIDE, axis[i][0], axis[i][1], axis[i][2], 0));
  }
  s.model = scene_finish(b);
  if (s.model) s.n = abut_model_get_sizes(s.model);
  return s;
}

static outcome fall(const scene *s, abut_options o) {
  outcome out;
  abut_batch *b = NULL;
  o.method = FREEFALL;
  outcome_create(&out, s, &o, STEPS);
  out.r.args.kick = 0;
  CHECK_STATUS(abut_batch_create(s->model, &o, &b), ABUT_OK);
  if (b) CHECK_STATUS(abut_batch_perturb(b, NULL, 3, 0, 0.1, 0.5), ABUT_OK);
  if (b) outcome_go(&out, b);
  CHECK(b && out.forward == ABUT_OK && out.reverse == ABUT_OK);
  abut_batch_destroy(b);
  return out;
}

/* q_n = q_0 + n dt v_0 + dt^2 a n (n + 1) / 2; the loss is the sum of all q_n. */
TEST(freefall_is_the_closed_form) {
  const double a[3] = {0, 0, -9.81 * 0.8};
  scene s = slides();
  REQUIRE(s.model);
  abut_options o = test_options(ENVS);
  outcome out = fall(&s, o);
  for (size_t env = 0; env < ENVS; env++)
    for (size_t n = 0; n <= STEPS; n++)
      for (size_t d = 0; d < 3; d++) {
        size_t row = env * (STEPS + 1), at = 3 * (row + n) + d;
        double q0 = array_get(&out.r.out[OUT_QPOS], 3 * row + d),
               v0 = array_get(&out.r.out[OUT_QVEL], 3 * row + d);
        double dt = o.timestep, t = dt * (double)n, fallen = dt * dt * a[d] * (double)(n * (n + 1)) / 2;
        CHECK_NEAR(array_get(&out.r.out[OUT_QPOS], at), q0 + t * v0 + fallen, 1e-14);
        CHECK_NEAR(array_get(&out.r.out[OUT_QVEL], at), v0 + t * a[d], 1e-13);
      }
  for (size_t i = 0; i < 3 * ENVS; i++) {
    CHECK_NEAR(array_get(&out.qpos0, i), STEPS + 1, 1e-12);
    CHECK_NEAR(array_get(&out.qvel0, i), o.timestep * STEPS * (STEPS + 1) / 2, 1e-14);
  }
  outcome_free(&out);
  abut_model_destroy(s.model);
}

TEST(freefall_on_a_gpu_has_the_cpus_bits) {
  scene s = slides();
  REQUIRE(s.model);
  for (int32_t dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    abut_options o = test_options(ENVS);
    o.dtype = dtype;
    outcome cpu = fall(&s, o);
    o.device = ABUT_DEVICE_CUDA;
    for (o.team = 1; o.team <= 32; o.team += 31) {
      fake_use((fake_plan){0});
      team_use((team_plan){TEAM_FIBRES, 1, -1});
      outcome gpu = fall(&s, o);
      CHECK(!team_parted());
#ifdef ABUT_STRICT
      CHECK(same_outcome(&cpu, &gpu));
#else
      double far = dtype == ABUT_F64 ? 1e-13 : 1e-5; /* contraction differs */
      for (size_t i = 0; i < cpu.r.out[OUT_QPOS].count; i++)
        CHECK_NEAR(array_get(&gpu.r.out[OUT_QPOS], i), array_get(&cpu.r.out[OUT_QPOS], i), far);
      for (size_t i = 0; i < cpu.qvel0.count; i++)
        CHECK_NEAR(array_get(&gpu.qvel0, i), array_get(&cpu.qvel0, i), far);
#endif
      outcome_free(&gpu);
    }
    outcome_free(&cpu);
  }
  CHECK(fake_live_objects() == 0);
  abut_model_destroy(s.model);
}

TEST(methods_are_known_by_number) {
  scene s, sliding = slides();
  abut_batch *b = NULL;
  REQUIRE(scene_load("scenes/stack5.abut", &s) && sliding.model);
  abut_options o = test_options(1);
  CHECK_STATUS(abut_batch_create(s.model, &o, &b), ABUT_OK);
  abut_batch_destroy(b);
  o.method = FREEFALL;
  CHECK_STATUS(abut_batch_create(s.model, &o, &b), ABUT_ERROR_UNSUPPORTED);
  CHECK(strstr(abut_error_message(), "slides only"));
  o.method = 2;
  CHECK_STATUS(abut_batch_create(sliding.model, &o, &b), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "method") && !b);
  scene_free(&s);
  abut_model_destroy(sliding.model);
}
