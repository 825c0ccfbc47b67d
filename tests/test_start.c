/* test_start.c: scenes whose shapes overlap where they start: what is left out, lifted, refused. */
#include "scene.h"

/* A fixed base and two links on hinges, boxes of half sizes 0.1, 0.1 apart: each overlaps its neighbours and
 * the last one the base; MuJoCo's filter stops neighbours that move, not the base and the first link. */
static abut_builder *arm(void) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  int32_t parent = 0;
  for (int i = 0; i < 4; i++) {
    parent = scene_body(b, parent, i ? 0.05 : 0, 0, i ? 0 : 2, 0, 0, 0, 0);
    if (i) scene_joint(b, scene_joint_def(parent, ABUT_JOINT_HINGE, 0, 1, 0, 0));
    scene_geom(b, parent, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  }
  return b;
}

static abut_batch *start(abut_model *m, int32_t overlap, abut_status expected) {
  abut_options o = abut_default_options();
  abut_batch *batch = NULL;
  o.nenv = 1;
  o.implicit.overlap = overlap;
  CHECK_STATUS(abut_batch_create(m, &o, &batch), expected);
  return batch;
}

static int lines(const char *text) {
  int count = 0;
  for (; *text; text++) count += *text == '\n';
  return count;
}

TEST(overlaps_of_a_tree_are_left_out) {
  abut_builder *b = arm();
  REQUIRE(b);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  CHECK(abut_model_get_sizes(m).npair == 4); /* base with three links, first link with the last */
  abut_batch *batch = start(m, ABUT_OVERLAP_EXCLUDE, ABUT_OK);
  REQUIRE(batch);
  CHECK(lines(abut_batch_warnings(batch)) == 4);
  CHECK(strstr(abut_batch_warnings(batch), "geom 0 of body 1 and geom 1 of body 2 overlap by ") != NULL);
  abut_rollout_args args = abut_default_rollout_args();
  abut_rollout_result result;
  args.nstep = 100;
  CHECK_STATUS(abut_rollout(batch, &args, &result, NULL, NULL), ABUT_OK);
  CHECK(result.failed_envs == 0 && result.newton_iterations > 0);
  abut_batch_destroy(batch);
  CHECK(start(m, ABUT_OVERLAP_REFUSE, ABUT_ERROR_MODEL) == NULL);
  CHECK(strstr(abut_error_message(), "geom 0 of body 1 and geom 1 of body 2 overlap by ") != NULL);
  batch = start(m, ABUT_OVERLAP_SEPARATE, ABUT_OK); /* as it is: it cannot start */
  REQUIRE(batch);
  CHECK(!strcmp(abut_batch_warnings(batch), ""));
  CHECK_STATUS(abut_rollout(batch, &args, &result, NULL, NULL), ABUT_OK);
  CHECK(result.failed_envs == 1);
  abut_batch_destroy(batch);
  CHECK(start(m, 3, ABUT_ERROR_ARGUMENT) == NULL);
  abut_model_destroy(m);
}

/* A free box of half size 0.1 whose lowest face is `depth` below the floor at the reference, and at a key 1 m
 * above. */
static abut_model *sunk(double depth) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  scene_floor(b);
  int32_t box = scene_free_body(b, 0, 0, 0.1 - depth, 1, 0.01, 0.01, 0.01);
  scene_geom(b, box, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  const double high[7] = {0, 0, 1, 1, 0, 0, 0};
  CHECK_STATUS(scene_key(b, "high", high, NULL), ABUT_OK);
  return scene_finish(b);
}

static double height(abut_batch *batch) {
  double q[7] = {0};
  abut_tensor t = scene_tensor(q, 2, 64, 2, (int64_t[]){1, 7});
  CHECK_STATUS(abut_batch_get_state(batch, NULL, &t, NULL), ABUT_OK);
  return q[2];
}

TEST(what_stands_in_the_floor_is_lifted) {
  abut_model *m = sunk(0.3);
  REQUIRE(m);
  abut_batch *batch = start(m, ABUT_OVERLAP_EXCLUDE, ABUT_OK);
  REQUIRE(batch);
  const double gap0 = abut_batch_get_options(batch).implicit.gap0;
  CHECK_NEAR(height(batch), 0.1 + gap0, 1e-9);
  CHECK(strstr(abut_batch_warnings(batch),
               "body 1 stands in geom 0 where the scene starts: it is lifted by 0.3"));
  CHECK_STATUS(abut_batch_reset(batch, NULL, 0), ABUT_OK);
  CHECK(height(batch) == 1);
  CHECK_STATUS(abut_batch_reset(batch, NULL, -1), ABUT_OK);
  CHECK_NEAR(height(batch), 0.1 + gap0, 1e-9);
  abut_batch_destroy(batch);
  CHECK(start(m, ABUT_OVERLAP_REFUSE, ABUT_ERROR_MODEL) == NULL);
  CHECK(strstr(abut_error_message(), "body 1 stands in geom 0 by 0.3 m") != NULL);
  abut_model_destroy(m);
  m = sunk(0.001); /* little enough for what moves shapes apart when a rollout begins */
  REQUIRE(m);
  batch = start(m, ABUT_OVERLAP_EXCLUDE, ABUT_OK);
  REQUIRE(batch);
  CHECK(height(batch) == 0.1 - 0.001 && !strcmp(abut_batch_warnings(batch), ""));
  abut_batch_destroy(batch);
  abut_model_destroy(m);
}

/* A box on a vertical slide that just touches the floor keeps its contact: the slide yields. */
TEST(what_a_joint_can_move_away_still_collides) {
  abut_builder *b = scene_begin(-9.81);
  REQUIRE(b);
  scene_floor(b);
  int32_t box = scene_body(b, 0, 0, 0, 0.1, 0, 0, 0, 0);
  scene_joint(b, scene_joint_def(box, ABUT_JOINT_SLIDE, 0, 0, 1, 0));
  scene_geom(b, box, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  scene_run *r = scene_rollout(m, abut_default_options(), 100, NULL, NULL, NULL);
  REQUIRE(r);
  CHECK(scene_qpos(r, 0, 100)[0] > 0 && scene_qpos(r, 0, 100)[0] < 1e-3);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(m);
}

/* A servo that starts at a key holds the key's angle, where the rollout gives no control; a reset to the
 * reference holds zero; environments may differ. */
TEST(keys_hold_their_control) {
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  int32_t body = scene_body(b, 0, 0, 0, 0, 1, 0.1, 0.1, 0.1);
  scene_joint(b, scene_joint_def(body, ABUT_JOINT_HINGE, 0, 0, 1, 0));
  abut_actuator_def servo = abut_default_actuator_def();
  servo.gain = 20, servo.bias[1] = -20, servo.bias[2] = -5;
  scene_actuator(b, servo);
  const double angle = 0.4;
  CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "home", .qpos = &angle, .ctrl = &angle}),
               ABUT_OK);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  abut_key_def key;
  CHECK_STATUS(abut_model_key(m, 0, &key), ABUT_OK);
  CHECK(key.ctrl[0] == angle && key.qpos[0] == angle && key.qvel[0] == 0);
  CHECK_STATUS(abut_model_key(m, 1, &key), ABUT_ERROR_ARGUMENT);
  abut_options o = abut_default_options();
  abut_batch *batch = NULL;
  o.nenv = 2;
  CHECK_STATUS(abut_batch_create(m, &o, &batch), ABUT_OK);
  REQUIRE(batch);
  const uint8_t second[2] = {0, 1};
  CHECK_STATUS(abut_batch_reset(batch, second, 0), ABUT_OK);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 300;
  double q[2] = {9, 9};
  abut_tensor t = scene_tensor(q, 2, 64, 2, (int64_t[]){2, 1});
  CHECK_STATUS(abut_rollout(batch, &args, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(batch, NULL, &t, NULL), ABUT_OK);
  CHECK_NEAR(q[0], 0, 1e-12);
  CHECK_NEAR(q[1], angle, 1e-9);
  CHECK_STATUS(abut_batch_reset(batch, NULL, -1), ABUT_OK);
  CHECK_STATUS(abut_rollout(batch, &args, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(batch, NULL, &t, NULL), ABUT_OK);
  CHECK_NEAR(q[1], 0, 1e-12);
  abut_batch_destroy(batch);
  abut_model_destroy(m);
}

/* Depths of shapes that touch or overlap a little are exact: boxes whose faces lie on each other, or 3 mm in,
 * on a vertical slide, are moved apart and keep their contact, whatever the direction in which they are
 * looked for. */
TEST(boxes_that_touch_boxes_still_collide) {
  static const double depths[3] = {0, 1e-12, 3e-3};
  for (int i = 0; i < 3; i++) {
    abut_builder *b = scene_begin(-9.81);
    REQUIRE(b);
    int32_t table = scene_body(b, 0, 0.013, -0.02, 0, 0, 0, 0, 0);
    scene_geom(b, table, ABUT_GEOM_BOX, 0.3, 0.2, 0.05);
    int32_t box = scene_body(b, 0, 0, 0, 0.15 - depths[i], 0, 0, 0, 0);
    scene_joint(b, scene_joint_def(box, ABUT_JOINT_SLIDE, 0, 0, 1, 0));
    scene_geom(b, box, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
    abut_model *m = scene_finish(b);
    REQUIRE(m);
    abut_batch *batch = start(m, ABUT_OVERLAP_EXCLUDE, ABUT_OK);
    REQUIRE(batch);
    CHECK(!strcmp(abut_batch_warnings(batch), ""));
    abut_batch_destroy(batch);
    scene_run *r = scene_rollout(m, abut_default_options(), 100, NULL, NULL, NULL);
    REQUIRE(r);
    CHECK(scene_qpos(r, 0, 100)[0] > depths[i] && scene_qpos(r, 0, 100)[0] < depths[i] + 1e-3);
    CHECK(scene_failed(r) == 0);
    scene_run_free(r);
    abut_model_destroy(m);
  }
}
