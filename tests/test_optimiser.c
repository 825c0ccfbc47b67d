/* test_optimiser.c: the optimiser: its gradient against differences of the whole objective, the same bits
 * again, receding horizons, what it finds. */
#include "sled.h"

/* ------------------------------------------------------------------------------------------ gradient */

/* The gradient of the whole objective, by every number of every kind of variable, against central
 * differences; all copies are environments of one batch. A forward pass repeats itself to about 1e-13 m,
 * which differences over 2e-5 turn into 1e-8; h^2 times a third derivative adds as much. */
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
    CHECK_NEAR(view.gradient[i], slope, 3e-7 * largest);
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
    options.implicit.contact = contact;
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

/* All environments follow the best one: a replay leads them to one state, from which the next starts differ
 * by new noise, environment 0's excepted. */
TEST(followers_share_a_trajectory) {
  enum { ENVS = 4 };
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options options = inverse_options(ENVS);
  abut_problem p = sequence_problem();
  variables[0].noise[0] = 0.2;
  abut_batch *b = batch_with(m, &options);
  abut_optimiser *o = b ? optimiser_of(b, &p) : NULL;
  REQUIRE(o);
  int64_t nq = abut_model_get_sizes(m).nq, shape[] = {ENVS, nq};
  double *state = calloc((size_t)(ENVS * nq), sizeof *state), drawn[2];
  abut_tensor qpos = scene_tensor(state, 2, 64, 2, shape);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 2;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) CHECK_STATUS(abut_optimiser_step(o, NULL, NULL, NULL), ABUT_OK);
    abut_optimiser_view view = abut_optimiser_get(o);
    int64_t best = view.best_env;
    double first = view.best_variables[best * view.nvalue], loss = view.best_loss[best];
    CHECK_STATUS(abut_optimiser_share(o), ABUT_OK);
    view = abut_optimiser_get(o);
    for (int env = 0; env < ENVS; env++)
      CHECK(view.best_variables[env * view.nvalue] == first && view.best_loss[env] == loss);
    CHECK_STATUS(abut_optimiser_replay(o, &args, NULL, NULL), ABUT_OK);
    CHECK_STATUS(abut_batch_get_state(b, NULL, &qpos, NULL), ABUT_OK);
    for (int env = 1; env < ENVS; env++) CHECK(!memcmp(state, state + env * nq, (size_t)nq * sizeof(double)));
    CHECK_STATUS(abut_optimiser_shift(o, 2), ABUT_OK);
    CHECK_STATUS(abut_optimiser_disturb(o, (uint64_t)round), ABUT_OK);
    CHECK(o->value[0] == view.best_variables[0]); /* shifted: the bests were reset to the values */
    drawn[round] = o->value[o->nvalue] - o->value[0];
    CHECK(drawn[round] != 0 &&
          fabs(o->value[o->nvalue + STEPS] - o->value[STEPS]) < 1e-15); /* without noise */
  }
  CHECK(drawn[0] != drawn[1]);
  free(state);
  abut_optimiser_destroy(o);
  abut_batch_destroy(b);
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

/* f32 finds the same descent to its precision: 1e-4 of the loss, as the steps are solved to 1e-4 N. */
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
  CHECK_REL(loss[ABUT_F64], loss[ABUT_F32], 1e-4);
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
