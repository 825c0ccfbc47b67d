/* test_activation.c: actuators that remember: integrators and filters against their closed forms, forward and
 * in reverse; activations as a state of the batch. */
#include "rollout.h"
#include "scene.h"

enum { INTEGRATOR, FILTER, EXACT, EARLY, LIMITED, PLAIN, KINDS, ACTS = PLAIN, STEPS = 6 };
static const double DT = 0.01, TAU = 0.05, GAIN = 3, GEAR = 2, MASS = 2;

/* A cart on a slide for each kind of actuator, without gravity. The last actuator has no dynamics and is not
 * the last that is added, so that places in act and in ctrl differ. */
static abut_model *carts(void) {
  abut_builder *b = scene_begin(0);
  if (!b) return NULL;
  const double act[ACTS] = {0.125, 0.25, 0.375, 0.5, 0.625}, ctrl[KINDS] = {1, 1, 1, 1, 1, 1};
  for (int i = 0; i < KINDS; i++) {
    const int kind = i == 0 ? PLAIN : i - 1;
    int32_t body = scene_body(b, 0, i, 0, 0, MASS, 1, 1, 1);
    abut_actuator_def def = abut_default_actuator_def();
    def.joint = scene_joint(b, scene_joint_def(body, ABUT_JOINT_SLIDE, 1, 0, 0, 0));
    def.gear = GEAR, def.gain = GAIN, def.tau = TAU;
    def.dynamics = kind == PLAIN    ? ABUT_DYNAMICS_NONE
                   : kind == FILTER ? ABUT_DYNAMICS_FILTER
                   : kind == EXACT  ? ABUT_DYNAMICS_FILTEREXACT
                                    : ABUT_DYNAMICS_INTEGRATOR;
    def.actearly = kind == EARLY;
    def.actlimited = kind == LIMITED, def.actrange[1] = 0.53;
    def.ctrllimited = 1, def.ctrlrange[0] = -1, def.ctrlrange[1] = 2;
    scene_actuator(b, def);
  }
  CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "k", .act = act, .ctrl = ctrl}), ABUT_OK);
  return scene_finish(b);
}

/* Activation of a kind after t steps from a at a control u within its range. */
static double expected(int kind, double a, double u, int t) {
  switch (kind) {
  case FILTER:
    return u + (a - u) * pow(1 - DT / TAU, t);
  case EXACT:
    return u + (a - u) * exp(-DT * t / TAU);
  case LIMITED:
    return fmin(0.53, a + DT * u * t);
  default:
    return a + DT * u * t;
  }
}

/* A rollout whose arrays of activations lie in act0 [n][ACTS] and act [n][STEPS + 1][ACTS]. */
typedef struct course {
  scene s;
  abut_options o;
  abut_batch *b;
  array act0, act, ctrl;
  run r;
} course;
static int course_create(course *c, int64_t n, int dtype) {
  memset(c, 0, sizeof *c);
  c->s.model = carts();
  if (!c->s.model) return 0;
  c->s.n = abut_model_get_sizes(c->s.model);
  CHECK(c->s.n.na == ACTS && c->s.n.nu == KINDS);
  c->o = test_options(n);
  c->o.timestep = DT;
  c->o.dtype = dtype;
  c->o.tolerance = dtype == ABUT_F32 ? 1e-3 : 1e-10;
  char real = dtype == ABUT_F32 ? 'f' : 'd';
  c->b = batch_of(&c->s, &c->o);
  array_create(&c->act0, real, 2, (int64_t[]){n, ACTS});
  array_create(&c->act, real, 3, (int64_t[]){n, STEPS + 1, ACTS});
  array_create(&c->ctrl, real, 3, (int64_t[]){1, 1, KINDS});
  for (size_t i = 0; i < c->act0.count; i++) array_set(&c->act0, i, 0.1 + 0.1 * (double)i);
  for (size_t i = 0; i < KINDS; i++) array_set(&c->ctrl, i, 1.5);
  array_set(&c->ctrl, 1 + INTEGRATOR, 7); /* beyond its range: 2 */
  run_create(&c->r, &c->s, &c->o, STEPS);
  c->r.args.ctrl = tensor(&c->ctrl);
  c->r.args.act0 = tensor(&c->act0);
  c->r.args.act = tensor(&c->act);
  return c->b != NULL;
}
static void course_free(course *c) {
  run_free(&c->r);
  array_free(&c->act0);
  array_free(&c->act);
  array_free(&c->ctrl);
  abut_batch_destroy(c->b);
  abut_model_destroy(c->s.model);
}

TEST(activations_and_forces_follow_their_laws) {
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    course c;
    REQUIRE(course_create(&c, 2, dtype));
    REQUIRE(run_go(&c.r, c.b));
    const double near = dtype == ABUT_F32 ? 1e-5 : 1e-12;
    for (int env = 0; env < 2; env++)
      for (int kind = 0; kind < ACTS; kind++) {
        const double a = array_get(&c.act0, (size_t)(env * ACTS + kind)), u = kind == INTEGRATOR ? 2 : 1.5;
        double v = 0;
        for (int t = 0; t <= STEPS; t++) {
          const size_t at = (size_t)(env * (STEPS + 1) + t);
          CHECK_NEAR(array_get(&c.act, at * ACTS + (size_t)kind), t ? expected(kind, a, u, t) : a, near);
          CHECK_NEAR(array_get(&c.r.out[OUT_QVEL], at * KINDS + 1 + (size_t)kind), v, 10 * near);
          const double acts = kind == EARLY ? expected(kind, a, u, t + 1) : t ? expected(kind, a, u, t) : a;
          v += DT * GEAR * GAIN * acts / MASS;
        }
      }
    const double plain = DT * STEPS * GEAR * GAIN * 1.5 / MASS;
    CHECK_NEAR(array_get(&c.r.out[OUT_QVEL], STEPS * KINDS), plain, 10 * near);
    course_free(&c);
  }
}

/* Reset, set, get, snapshot, the next rollout: activations are state. */
TEST(activations_are_state) {
  course c, whole;
  array back;
  REQUIRE(course_create(&c, 2, ABUT_F64));
  REQUIRE(course_create(&whole, 2, ABUT_F64));
  array_create(&back, 'd', 2, (int64_t[]){2, ACTS});
  CHECK_STATUS(abut_batch_get_act(c.b, NULL, tensor(&back)), ABUT_OK);
  for (size_t i = 0; i < back.count; i++) CHECK(array_get(&back, i) == 0);
  const uint8_t second[2] = {0, 1};
  CHECK_STATUS(abut_batch_reset(c.b, second, 0), ABUT_OK);
  CHECK_STATUS(abut_batch_get_act(c.b, NULL, tensor(&back)), ABUT_OK);
  for (size_t i = 0; i < ACTS; i++)
    CHECK(array_get(&back, i) == 0 && array_get(&back, ACTS + i) == 0.125 * (double)(i + 1));
  array row;
  array_create(&row, 'd', 2, (int64_t[]){1, ACTS});
  for (size_t i = 0; i < ACTS; i++) array_set(&row, i, 1 + (double)i);
  const uint8_t first[2] = {1, 0};
  CHECK_STATUS(abut_batch_set_act(c.b, first, tensor(&row)), ABUT_OK);
  CHECK_STATUS(abut_batch_get_act(c.b, NULL, tensor(&back)), ABUT_OK);
  for (size_t i = 0; i < ACTS; i++)
    CHECK(array_get(&back, i) == 1 + (double)i && array_get(&back, ACTS + i) == 0.125 * (double)(i + 1));
  /* two halves of a rollout, the second one twice, are the whole */
  REQUIRE(run_go(&whole.r, whole.b));
  run half;
  run_create(&half, &c.s, &c.o, STEPS / 2);
  half.args.ctrl = tensor(&c.ctrl);
  half.args.act0 = tensor(&c.act0);
  REQUIRE(run_go(&half, c.b));
  abut_snapshot *saved = NULL;
  CHECK_STATUS(abut_batch_snapshot(c.b, &saved), ABUT_OK);
  half.args.act0 = NULL;
  for (int i = 0; i < 2; i++) {
    REQUIRE(run_go(&half, c.b));
    CHECK_STATUS(abut_batch_get_act(c.b, NULL, tensor(&back)), ABUT_OK);
    for (size_t env = 0; env < 2; env++)
      for (size_t k = 0; k < ACTS; k++)
        CHECK(array_get(&back, env * ACTS + k) ==
              array_get(&whole.act, (env * (STEPS + 1) + STEPS) * ACTS + k));
    for (size_t k = 0; k < KINDS; k++)
      CHECK(array_get(&half.out[OUT_QVEL], STEPS / 2 * KINDS + k) ==
            array_get(&whole.r.out[OUT_QVEL], STEPS * KINDS + k));
    CHECK_STATUS(abut_batch_restore(c.b, saved), ABUT_OK);
  }
  abut_snapshot_destroy(saved);
  run_free(&half);
  array_free(&back);
  array_free(&row);
  course_free(&c);
  course_free(&whole);
}

/* d act_T/d act_0 and d act_T/d u of linear laws, for a loss of the last activations alone; then the force's
 * share, of the velocities. */
TEST(cotangents_of_activations) {
  course c;
  REQUIRE(course_create(&c, 1, ABUT_F64));
  c.r.args.record = 1;
  REQUIRE(run_go(&c.r, c.b));
  array bar_act, bar_qvel, act0, ctrl;
  array_create(&bar_act, 'd', 3, (int64_t[]){1, STEPS + 1, ACTS});
  array_create(&bar_qvel, 'd', 3, (int64_t[]){1, STEPS + 1, KINDS});
  array_create(&act0, 'd', 2, (int64_t[]){1, ACTS});
  array_create(&ctrl, 'd', 3, (int64_t[]){1, STEPS, KINDS});
  for (size_t i = 0; i < bar_act.count; i++) array_set(&bar_act, i, i >= STEPS * ACTS);
  for (size_t i = 0; i < bar_qvel.count; i++) array_set(&bar_qvel, i, i >= STEPS * KINDS);
  abut_vjp_args v = abut_default_vjp_args();
  v.act = tensor(&bar_act), v.act0 = tensor(&act0), v.ctrl = tensor(&ctrl);
  CHECK_STATUS(abut_rollout_vjp(c.b, &v, NULL, NULL), ABUT_OK);
  const double shares[2] = {DT / TAU, 1 - exp(-DT / TAU)};
  for (int kind = 0; kind < ACTS; kind++) {
    const int filters = kind == FILTER || kind == EXACT;
    const double share = filters ? shares[kind == EXACT] : 0;
    /* LIMITED reaches its bound: nothing passes */
    CHECK_NEAR(array_get(&act0, (size_t)kind), kind == LIMITED ? 0 : pow(1 - share, STEPS), 1e-13);
    for (int t = 0; t < STEPS; t++) {
      double by = filters ? share * pow(1 - share, STEPS - 1 - t) : DT;
      if (kind == LIMITED || kind == INTEGRATOR) by = 0; /* the latter's control is out of range */
      CHECK_NEAR(array_get(&ctrl, (size_t)(t * KINDS + 1 + kind)), by, 1e-13);
    }
  }
  v.act = NULL, v.qvel = tensor(&bar_qvel);
  CHECK_STATUS(abut_rollout_vjp(c.b, &v, NULL, NULL), ABUT_OK);
  const double push = DT * GEAR * GAIN / MASS;
  CHECK_NEAR(array_get(&act0, INTEGRATOR), STEPS * push, 1e-9);
  CHECK_NEAR(array_get(&act0, EARLY), STEPS * push, 1e-9);
  CHECK_NEAR(array_get(&act0, FILTER), push * (1 - pow(1 - shares[0], STEPS)) / shares[0], 1e-9);
  for (int t = 0; t < STEPS; t++) {
    CHECK_NEAR(array_get(&ctrl, (size_t)(t * KINDS)), push, 1e-9);
    CHECK_NEAR(array_get(&ctrl, (size_t)(t * KINDS + 1 + EARLY)), (STEPS - t) * DT * push, 1e-9);
  }
  array *all[] = {&bar_act, &bar_qvel, &act0, &ctrl};
  for (int i = 0; i < 4; i++) array_free(all[i]);
  course_free(&c);
}

/* An environment that cannot go on keeps its activations; its neighbour does not notice. */
TEST(frozen_activations) {
  course c, good;
  REQUIRE(course_create(&c, 2, ABUT_F64));
  REQUIRE(course_create(&good, 2, ABUT_F64));
  array_set(&c.act0, ACTS + FILTER, NAN);
  REQUIRE(run_go(&c.r, c.b));
  REQUIRE(run_go(&good.r, good.b));
  CHECK(run_status(&c.r, 0) == 0 && run_status(&c.r, 1) == ABUT_ENV_NONFINITE);
  for (size_t i = 0; i < (STEPS + 1) * ACTS; i++) {
    CHECK(array_get(&c.act, i) == array_get(&good.act, i));
    if (i % ACTS != FILTER)
      CHECK(array_get(&c.act, (STEPS + 1) * ACTS + i) == array_get(&c.act0, ACTS + i % ACTS));
  }
  course_free(&c);
  course_free(&good);
}

TEST(misshapen_activations_are_refused) {
  course c;
  REQUIRE(course_create(&c, 2, ABUT_F64));
  c.act0.shape[1]--;
  CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(!strcmp(abut_error_message(), "act0: has shape [2, 4], needs [2, 5]"));
  CHECK_STATUS(abut_batch_set_act(c.b, NULL, tensor(&c.act0)), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_get_act(c.b, NULL, tensor(&c.act0)), ABUT_ERROR_ARGUMENT);
  c.act0.shape[1]++;
  c.act.shape[1]--;
  CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(!strcmp(abut_error_message(), "act: has shape [2, 6, 5], needs [2, 7, 5]"));
  CHECK(array_untouched(&c.act));
  CHECK_STATUS(abut_batch_set_act(c.b, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_get_act(NULL, NULL, tensor(&c.act0)), ABUT_ERROR_ARGUMENT);
  course_free(&c);
}
