/* test_optimiser.c: the optimiser: its gradient against differences of the whole objective, the same bits
 * again, receding horizons, what it refuses, what it finds. */
#include "optimiser.h"
#include "scene.h"

enum { BALL = 1, SLED, BOX };

/* The call fails with this status, and its message holds the text. */
#define CHECK_ERROR(call, status, text)                                                                      \
  do {                                                                                                       \
    CHECK_STATUS(call, status);                                                                              \
    if (!strstr(abut_error_message(), text))                                                                 \
      test_fail(__FILE__, __LINE__, "'%s' is not in: %s", text, abut_error_message());                       \
  } while (0)

/* A sled on two slides with servos, and a box whose centre of mass is off its origin, on a floor. */
static abut_model *sled_and_box(void) {
  abut_builder *b = scene_begin(-9.81);
  scene_floor(b);
  scene_free_body(b, -2, 0, 0.2, 1, 0.01, 0.01, 0.01);
  scene_geom(b, BALL, ABUT_GEOM_SPHERE, 0.1, 0, 0);
  scene_body(b, 0, 0, 0, 0.15, 1, 0.01, 0.01, 0.01);
  scene_geom(b, SLED, ABUT_GEOM_SPHERE, 0.1, 0, 0);
  abut_body_def box = abut_default_body_def();
  int32_t id;
  box.pos[0] = 0.35, box.pos[1] = 0.05, box.pos[2] = 0.12;
  box.mass = 0.5, box.ipos[0] = 0.03, box.ipos[1] = -0.02, box.ipos[2] = 0.01;
  box.inertia[0] = box.inertia[1] = box.inertia[2] = 0.003;
  CHECK_STATUS(abut_builder_add_body(b, &box, &id), ABUT_OK);
  scene_joint(b, scene_joint_def(BOX, ABUT_JOINT_FREE, 0, 0, 1, 0));
  scene_geom(b, BOX, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  for (int axis = 0; axis < 2; axis++) {
    abut_actuator_def servo = abut_default_actuator_def();
    servo.joint = scene_joint(b, scene_joint_def(SLED, ABUT_JOINT_SLIDE, axis == 0, axis == 1, 0, 0));
    servo.gear = 1, servo.gain = 100, servo.bias[1] = -100, servo.bias[2] = -15;
    servo.ctrllimited = 1, servo.ctrlrange[0] = -2, servo.ctrlrange[1] = 2;
    scene_actuator(b, servo);
  }
  return scene_finish(b);
}

static abut_options inverse_options(int64_t nenv) {
  abut_options o = abut_default_options();
  o.nenv = nenv;
  o.contact = ABUT_CONTACT_INVERSE;
  o.stiffness = 1e-5;
  o.timestep = 0.02;
  return o;
}

/* Every kind of variable, and terms on two bodies. */
enum { STEPS = 10, SERVO_X = 0, SERVO_Y = 1 };
static abut_loss_term terms[2];
static abut_variable variables[4];

static abut_problem full_problem(void) {
  abut_problem p = abut_default_problem();
  for (int i = 0; i < 2; i++) terms[i] = abut_default_loss_term();
  terms[0].body = BOX, terms[0].target[0] = 1, terms[0].target[1] = 0.3, terms[0].tolerance = 0.1;
  terms[1].body = BALL, terms[1].axes = 3, terms[1].target[0] = -1, terms[1].target[1] = 0.2;
  terms[1].weight = 0.3;
  for (int i = 0; i < 4; i++) variables[i] = abut_default_variable();
  variables[0].kind = ABUT_VARIABLE_QPOS, variables[0].index = 1; /* of the ball */
  variables[1].kind = ABUT_VARIABLE_QVEL, variables[1].index = 0, variables[1].start[0] = 0.7;
  variables[2].kind = ABUT_VARIABLE_SPLINE, variables[2].index = SERVO_X, variables[2].count = 4;
  variables[2].start[0] = 0.9;
  variables[3].kind = ABUT_VARIABLE_SINES, variables[3].index = SERVO_Y, variables[3].count = 2;
  variables[3].start[0] = 0.3, variables[3].start[1] = 1.5, variables[3].start[2] = 0.4;
  p.nstep = STEPS;
  p.terms = terms, p.nterm = 2;
  p.variables = variables, p.nvariable = 4;
  p.running_weight = 0.7;
  return p;
}

static abut_optimiser *optimiser_of(abut_batch *b, const abut_problem *p) {
  abut_optimiser *o = NULL;
  CHECK_STATUS(abut_optimiser_create(b, p, &o), ABUT_OK);
  return o;
}

static abut_batch *batch_with(const abut_model *m, const abut_options *o) {
  abut_batch *b = NULL;
  CHECK_STATUS(abut_batch_create(m, o, &b), ABUT_OK);
  return b;
}

/* ------------------------------------------------------------------------------------------ gradient */

/* The gradient of the whole objective, by every number of every kind of variable, against central
 * differences; all copies are environments of one batch. Steps are solved to 1e-12 N; differences of 2e-5
 * then have errors of 1e-12 / 2e-5 in the loss and h^2 times a third derivative, which sharp contact makes
 * large. */
TEST(gradient_of_the_objective) {
  enum { VALUES = 1 + 1 + 4 + 6, COPIES = 1 + 2 * VALUES };
  const double h = 1e-5;
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(COPIES);
  options.tolerance = 1e-12;
  abut_problem p = full_problem();
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  CHECK(o->nvalue == VALUES);
  for (int i = 0; i < VALUES; i++) {
    o->value[i] += 0.05 * (i % 5); /* the knots and waves are not all alike */
    for (int copy = 1; copy < COPIES; copy++) o->value[copy * VALUES + i] = o->value[i];
  }
  for (int i = 0; i < VALUES; i++) {
    o->value[(1 + 2 * i) * VALUES + i] += h;
    o->value[(2 + 2 * i) * VALUES + i] -= h;
  }
  abut_optimiser_report report;
  CHECK_STATUS(abut_optimiser_step(o, &report, NULL, NULL), ABUT_OK);
  abut_optimiser_view view = abut_optimiser_get(o);
  CHECK(report.failed_envs == 0 && report.reached_envs == 0);
  double largest = 0;
  int identical = 0;
  for (int i = 0; i < VALUES; i++) largest = fmax(largest, fabs(view.gradient[i]));
  for (int i = 0; i < VALUES; i++) {
    double slope = (view.loss[1 + 2 * i] - view.loss[2 + 2 * i]) / (2 * h);
    CHECK_NEAR(view.gradient[i], slope, 1e-7 * largest);
    CHECK(fabs(slope) > 1e-3 * largest); /* the loss depends on each of them */
    identical += slope == view.gradient[i];
  }
  CHECK(identical < VALUES); /* the differences are not the thing they check */
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

/* The box lies still 25 cm off: the global barrier tells the sled where it is, the local one does not. */
TEST(only_a_global_barrier_sees_far) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  for (int contact = ABUT_CONTACT_LOCAL; contact <= ABUT_CONTACT_INVERSE; contact++) {
    abut_options options = inverse_options(1);
    options.contact = contact;
    abut_problem p = full_problem();
    variables[0] = variables[2];
    variables[0].start[0] = 0;
    p.nterm = p.nvariable = 1;
    abut_batch *b = batch_with(m, &options);
    abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
    REQUIRE(o);
    abut_optimiser_report report;
    CHECK_STATUS(abut_optimiser_step(o, &report, NULL, NULL), ABUT_OK);
    CHECK(report.loss > 0.1);
    CHECK((report.gradient_norm == 0) == (contact == ABUT_CONTACT_LOCAL));
    abut_optimiser_destroy(o);
    abut_batch_destroy(b);
  }
  abut_model_destroy(m);
}

/* --------------------------------------------------------------------------------------- same bits again */

/* Some iterations; fills best [nvalue] and loss of environment env. */
static void descend(const abut_model *m, int64_t nenv, int32_t threads, uint64_t seed, int64_t env,
                    double *best, double *loss) {
  abut_options options = inverse_options(nenv);
  options.threads = threads;
  abut_problem p = full_problem();
  p.seed = seed;
  variables[1].noise[0] = 0.1, variables[2].noise[0] = 0.1;
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  for (int i = 0; i < 4; i++) CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
  abut_optimiser_view view = abut_optimiser_get(o);
  memcpy(best, view.best_variables + env * view.nvalue, (size_t)view.nvalue * sizeof *best);
  *loss = view.best_loss[env];
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
}

TEST(same_bits) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  double best[3][16] = {{0}}, loss[3];
  descend(m, 3, 1, 1, 2, best[0], &loss[0]);
  descend(m, 11, 2, 1, 2, best[1], &loss[1]); /* more neighbours, more threads */
  descend(m, 3, 1, 2, 2, best[2], &loss[2]);
  CHECK(!memcmp(best[0], best[1], sizeof best[0]) && loss[0] == loss[1]);
  CHECK(memcmp(best[0], best[2], sizeof best[0]) && loss[0] != loss[2]);
  abut_model_destroy(m);
}

/* ------------------------------------------------------------------------------------- receding horizon */

static abut_problem sequence_problem(void) {
  abut_problem p = full_problem();
  for (int i = 0; i < 2; i++) {
    variables[i] = abut_default_variable();
    variables[i].kind = ABUT_VARIABLE_SEQUENCE;
    variables[i].index = i;
    variables[i].start[0] = 0.1;
  }
  p.nvariable = 2;
  p.rate = 0.1;
  return p;
}

/* Three horizons, one step of each applied: the states are those of one rollout with the applied controls, to
 * the last bit; a shifted sequence is the best one, one step on. */
TEST(receding_horizon) {
  enum { APPLIED = 3 };
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(2);
  abut_problem p = sequence_problem();
  abut_batch *b = batch_with(m, &options), *other = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o && other);
  int64_t nq = abut_model_get_sizes(m).nq;
  double *moved = calloc((size_t)(2 * 2 * nq), sizeof *moved), applied[2 * APPLIED * 2], ctrl[2 * 2];
  double *whole = calloc((size_t)(2 * (APPLIED + 1) * nq), sizeof *whole), before[2 * STEPS];
  int64_t shape_q[] = {2, 2, nq}, shape_u[] = {2, 1, 2}, all_q[] = {2, APPLIED + 1, nq},
          all_u[] = {2, APPLIED, 2};
  abut_tensor qpos = scene_tensor(moved, 2, 64, 3, shape_q), u = scene_tensor(ctrl, 2, 64, 3, shape_u);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 1;
  args.qpos = &qpos;
  args.ctrl = &u;
  for (int t = 0; t < APPLIED; t++) {
    for (int i = 0; i < 3; i++) CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
    memcpy(before, abut_optimiser_get(o).best_variables, sizeof before);
    CHECK_STATUS(abut_optimiser_replay(o, &args, NULL, NULL), ABUT_OK);
    for (int env = 0; env < 2; env++)
      memcpy(applied + (env * APPLIED + t) * 2, ctrl + 2 * env, 2 * sizeof(double));
    CHECK(ctrl[0] == before[0] && ctrl[1] == before[STEPS]);
    CHECK_STATUS(abut_optimiser_shift(o, 1), ABUT_OK);
    CHECK(!memcmp(o->value, before + 1, (STEPS - 1) * sizeof(double)) &&
          o->value[STEPS - 1] == before[STEPS - 1]);
    CHECK(o->best_loss[0] == INFINITY && o->iteration == 0 && o->steps[0] == 0);
  }
  abut_tensor path = scene_tensor(whole, 2, 64, 3, all_q), plan = scene_tensor(applied, 2, 64, 3, all_u);
  abut_rollout_args again = abut_default_rollout_args();
  again.nstep = APPLIED;
  again.ctrl = &plan;
  again.qpos = &path;
  CHECK_STATUS(abut_rollout(other, &again, NULL, NULL, NULL), ABUT_OK);
  for (int env = 0; env < 2; env++)
    CHECK(!memcmp(moved + (2 * env + 1) * nq, whole + (env * (APPLIED + 1) + APPLIED) * nq,
                  (size_t)nq * sizeof(double)));
  CHECK(memcmp(applied, applied + 2, 2 * sizeof(double))); /* something was optimised */
  free(moved);
  free(whole);
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
  abut_batch_destroy(other);
  abut_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------- outcomes */

/* A sled with nothing in its way goes where it is wanted, stays within its bounds, and reports it. */
TEST(reaches_a_target) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(2);
  abut_problem p = sequence_problem();
  p.nterm = 1, p.nstep = 25, p.running_weight = 0;
  terms[0].body = SLED, terms[0].axes = 2, terms[0].target[1] = -0.3, terms[0].tolerance = 0.01;
  variables[1].min = -0.6;
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  abut_optimiser_report first, report;
  CHECK_STATUS(abut_optimiser_step(o, &first, NULL, NULL), ABUT_OK);
  for (report = first; report.reached_envs == 0 && report.iteration < 60;)
    CHECK_STATUS(abut_optimiser_step(o, &report, NULL, NULL), ABUT_OK);
  abut_optimiser_view view = abut_optimiser_get(o);
  CHECK(first.loss > 0.05 && report.loss == 0 && report.reached_envs == 2);
  CHECK(view.final_terms[0] == 0 && view.best_loss[0] == 0);
  for (int i = 0; i < 2 * 25; i++) CHECK(view.variables[i] >= -0.6 - 1e-15);
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

/* An environment whose rollout cannot start goes back to where it was, at half the rate, and the others do
 * not notice: the ball is moved into the floor by a huge rate. */
TEST(frozen_environments_step_back) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(1);
  abut_problem p = full_problem();
  p.nterm = p.nvariable = 1;
  terms[0].body = BALL, terms[0].axes = 4, terms[0].target[2] = -5;
  variables[0].index = 2, variables[0].rate[0] = 0.5;
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  abut_optimiser_report report;
  CHECK_STATUS(abut_optimiser_step(o, &report, NULL, NULL), ABUT_OK);
  CHECK(report.failed_envs == 0 && o->value[0] < -0.4);
  double good = abut_optimiser_get(o).best_variables[0], loss = report.loss;
  CHECK_STATUS(abut_optimiser_step(o, &report, NULL, NULL), ABUT_OK);
  CHECK(report.failed_envs == 1 && report.loss == INFINITY && report.loss_mean == INFINITY);
  abut_optimiser_view view = abut_optimiser_get(o);
  CHECK(view.loss[0] == INFINITY && view.best_loss[0] == loss);
  CHECK(o->value[0] == good && o->scale[0] == 0.5);
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

/* f32 finds the same descent to its precision: 1e-3 of the first loss. */
TEST(single_precision) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  double loss[2];
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    abut_options options = inverse_options(2);
    options.dtype = dtype;
    options.tolerance = 1e-4;
    abut_problem p = full_problem();
    abut_batch *b = batch_with(m, &options);
    abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
    REQUIRE(o);
    for (int i = 0; i < 3; i++) CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
    loss[dtype] = abut_optimiser_get(o).best_loss[1];
    abut_optimiser_destroy(o);
    abut_batch_destroy(b);
  }
  CHECK_REL(loss[ABUT_F64], loss[ABUT_F32], 1e-3);
  CHECK(loss[ABUT_F64] != loss[ABUT_F32]);
  abut_model_destroy(m);
}

/* A rate that overshoots: the best variables are an earlier iteration's, with keep_latest the last one's. */
TEST(keeps_the_best_or_the_latest) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  for (int latest = 0; latest < 2; latest++) {
    abut_options options = inverse_options(1);
    abut_problem p = sequence_problem();
    p.nterm = 1, p.rate = 1, p.keep_latest = latest;
    terms[0].body = SLED, terms[0].axes = 2, terms[0].target[1] = 0.2, terms[0].tolerance = 0;
    abut_batch *b = batch_with(m, &options);
    abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
    REQUIRE(o);
    double least = INFINITY;
    for (int i = 0; i < 4; i++) {
      CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
      least = fmin(least, abut_optimiser_get(o).loss[0]);
    }
    abut_optimiser_view view = abut_optimiser_get(o);
    CHECK(view.loss[0] > least);
    CHECK(view.best_loss[0] == (latest ? view.loss[0] : least));
    int same = !memcmp(view.best_variables, view.variables, 2 * STEPS * sizeof(double));
    CHECK(same == latest);
    abut_optimiser_destroy(o);
    abut_batch_destroy(b);
  }
  abut_model_destroy(m);
}

static int stop_at_once(void *user, double fraction) {
  (void)user, (void)fraction;
  return 1;
}

/* Terms along a rollout: by hand at the start, where the poses are known. */
TEST(terms_of_poses) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(2);
  abut_problem p = full_problem();
  abut_batch *b = batch_with(m, &options);
  REQUIRE(b);
  double xpos[2][1][4][3] = {{{{0}}}}, xquat[2][1][4][4] = {{{{0}}}}, sum[2][1];
  int64_t shape_x[] = {2, 1, 4, 3}, shape_r[] = {2, 1, 4, 4}, shape_t[] = {2, 1}, wrong[] = {2, 2};
  for (int env = 0; env < 2; env++)
    for (int body = 0; body < 4; body++) xquat[env][0][body][0] = 1;
  xpos[1][0][BOX][0] = 1 - 0.03, xpos[1][0][BOX][1] = 0.3 + 0.02,
  xpos[1][0][BOX][2] = -0.01;                                                   /* on the target */
  xpos[1][0][BALL][0] = -1, xpos[1][0][BALL][1] = 0.2, xpos[1][0][BALL][2] = 9; /* above it: z is free */
  /* environment 0: the box turned by half a turn about z, its centre at (-0.03, 0.02, 0.01) */
  xquat[0][0][BOX][0] = 0, xquat[0][0][BOX][3] = 1;
  abut_tensor x = scene_tensor(xpos, 2, 64, 4, shape_x), r = scene_tensor(xquat, 2, 64, 4, shape_r);
  abut_tensor t = scene_tensor(sum, 2, 64, 2, shape_t), bad = scene_tensor(sum, 2, 64, 2, wrong);
  CHECK_STATUS(abut_problem_terms(b, &p, &x, &r, &t), ABUT_OK);
  double box = 1.03 * 1.03 + 0.28 * 0.28 + 0.01 * 0.01 - 0.01;
  CHECK_NEAR(sum[0][0], box + 0.3 * (1 + 0.2 * 0.2), 1e-14);
  CHECK_NEAR(sum[1][0], 0, 0);
  CHECK_ERROR(abut_problem_terms(b, &p, &x, &r, &bad), ABUT_ERROR_ARGUMENT,
              "terms: has shape [2, 2], needs [2, 1]");
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

/* -------------------------------------------------------------------------------------------- refusals */

TEST(refuses_bad_problems) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(1);
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = NULL;
  REQUIRE(b);
  abut_problem p = full_problem();
#define REFUSED(change, text)                                                                                \
  do {                                                                                                       \
    p = full_problem();                                                                                      \
    change;                                                                                                  \
    CHECK_ERROR(abut_optimiser_create(b, &p, &o), ABUT_ERROR_ARGUMENT, text);                                \
    CHECK(!o);                                                                                               \
  } while (0)
  REFUSED(p.nstep = 0, "nstep 0: must be from 1");
  REFUSED(p.nterm = 0, "nterm 0");
  REFUSED(p.terms = NULL, "a loss needs a term");
  REFUSED(p.nvariable = 0, "nvariable 0");
  REFUSED(p.rate = 0, "rate 0");
  REFUSED(p.rate = NAN, "rate nan");
  REFUSED(p.beta1 = 1, "beta1 1");
  REFUSED(p.beta2 = -0.5, "beta2 -0.5");
  REFUSED(p.epsilon = -1, "epsilon -1");
  REFUSED(p.clip = INFINITY, "clip inf");
  REFUSED(p.final_weight = -1, "final_weight -1");
  REFUSED(p.running_weight = NAN, "running_weight nan");
  REFUSED(p.final_weight = p.running_weight = 0, "no loss");
  REFUSED(terms[1].body = 4, "terms[1].body 4: the model has bodies 1 to 3");
  REFUSED(terms[1].body = 0, "terms[1].body 0");
  REFUSED(terms[0].axes = 8, "terms[0].axes 8");
  REFUSED(terms[0].target[2] = NAN, "terms[0].target[2] nan");
  REFUSED(terms[0].tolerance = -1, "terms[0].tolerance -1");
  REFUSED(terms[0].weight = 0, "terms[0].weight 0");
  REFUSED(variables[0].kind = 5, "variables[0].kind 5");
  REFUSED(variables[0].index = 99, "variables[0].index 99: the model has 16 entries of qpos");
  REFUSED(variables[0].index = 3, "variables[0].index 3: this entry of qpos belongs to a quaternion");
  REFUSED(variables[2].index = 2, "variables[2].index 2: the model has 2 actuators");
  REFUSED(variables[3].index = SERVO_X, "variables[3].index 0: variables[2] has it already");
  REFUSED(variables[2].count = 1, "variables[2].count 1: must be at least 2");
  REFUSED(variables[3].count = 0, "variables[3].count 0: must be at least 1");
  REFUSED(variables[3].start[2] = INFINITY, "variables[3].start[2] inf");
  REFUSED(variables[3].noise[1] = -1, "variables[3].noise[1] -1");
  REFUSED(variables[3].rate[0] = NAN, "variables[3].rate[0] nan");
  REFUSED((variables[0].min = 2, variables[0].max = 1), "variables[0]: min 2 is not below max 1");
#undef REFUSED
  p = full_problem();
  CHECK_ERROR(abut_optimiser_create(NULL, &p, &o), ABUT_ERROR_ARGUMENT, "batch is NULL");
  CHECK_ERROR(abut_optimiser_create(b, NULL, &o), ABUT_ERROR_ARGUMENT, "problem is NULL");
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

TEST(refuses_bad_calls) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(1);
  abut_batch *b = batch_with(m, &options);
  abut_problem p = full_problem();
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  double short_qpos[1];
  int64_t shape[] = {1, 1, 1};
  abut_tensor wrong = scene_tensor(short_qpos, 2, 64, 3, shape);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = STEPS + 1;
  CHECK_ERROR(abut_optimiser_replay(o, &args, NULL, NULL), ABUT_ERROR_ARGUMENT,
              "nstep 11, must be from 1 to 10");
  args.nstep = 1;
  args.xpos = &wrong;
  CHECK_ERROR(abut_optimiser_replay(o, &args, NULL, NULL), ABUT_ERROR_ARGUMENT, "xpos: has shape [1, 1, 1]");
  CHECK_ERROR(abut_optimiser_shift(o, 1), ABUT_ERROR_ARGUMENT, "variables[0].kind 0: not a sequence");
  CHECK_ERROR(abut_optimiser_shift(o, -1), ABUT_ERROR_ARGUMENT, "nstep -1, must be from 0 to 10");
  CHECK_ERROR(abut_optimiser_step(NULL, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT, "optimiser is NULL");
  /* stopped half way: as before */
  CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
  double value = o->value[0], best = o->best_loss[0];
  CHECK_ERROR(abut_optimiser_step(o, NULL, stop_at_once, NULL), ABUT_ERROR_ARGUMENT, "stopped");
  CHECK(o->value[0] == value && o->best_loss[0] == best && o->iteration == 1);
  abut_optimiser_destroy(o);
  abut_optimiser_destroy(NULL);
  abut_batch_destroy(b);
  abut_model_destroy(m);
}
