/* test_problem.c: what an optimisation may be asked: its terms by hand, problems and calls that are refused.
 */
#include "sled.h"

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

static int stop_at_once(void *user, double fraction) {
  (void)user, (void)fraction;
  return 1;
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
