/* test_mocap.c: bodies that others place, and bodies whose weight is held up. */
#include "rollout.h"
#include "scene.h"

static abut_tensor pose_tensor(double *data, int64_t *shape) { return scene_tensor(data, 2, 64, 2, shape); }

/* mocap_pos or mocap_quat of `rows` rows. */
static abut_status place(abut_batch *b, double *pos, double *quat, int64_t rows) {
  int64_t three[2] = {rows, 3}, four[2] = {rows, 4};
  abut_tensor p = pose_tensor(pos, three), q = pose_tensor(quat, four);
  abut_parameters parameters = {0};
  parameters.mocap_pos = pos ? &p : NULL;
  parameters.mocap_quat = quat ? &q : NULL;
  return abut_batch_set_parameters(b, &parameters);
}

static int32_t hand(abut_builder *b, double z) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.name = "hand", def.mocap = 1, def.pos[2] = z;
  CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
  return id;
}

/* A hand at (0, 0, 1) from which a pendulum hangs: its centre 0.5 below its hinge about y. */
static abut_model *hanging(void) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  int32_t top = hand(b, 1), rod = scene_body(b, top, 0, 0, -0.5, 2, 0.1, 0.1, 0.1);
  scene_joint(b, scene_joint_def(rod, ABUT_JOINT_HINGE, 0, 1, 0, 0.5));
  const double there[3] = {4, 5, 6}, turned[4] = {0, 0, 0, 1};
  CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "k", .mpos = there, .mquat = turned}),
               ABUT_OK);
  return scene_finish(b);
}

static void moment(abut_batch *b, const scene *s, const abut_options *o, run *r, int64_t steps) {
  run_create(r, s, o, steps);
  run_go(r, b);
}
static const double *at(const run *r, int out, int64_t env, int64_t row, int64_t body, int64_t n) {
  const array *a = &r->out[out];
  return (const double *)a->t.data + ((env * a->shape[1] + row) * a->shape[2] + body) * n;
}

/* Poses are the caller's, by environment; what hangs on one goes with it; a reset puts it back, a key's
 * reset where the key has it. */
TEST(mocap_bodies_go_where_they_are_put) {
  scene s = {hanging(), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = test_options(3);
  abut_batch *b = batch_of(&s, &o);
  const double c = 0.6; /* half a turn's cosine: the quaternion is not unit */
  double pos[9] = {0, 0, 1, 7, 8, 9, 0, 0, 1}, quat[12] = {1, 0, 0, 0, 2 * c, 0, 0, 2 * 0.8, 1, 0, 0, 0};
  CHECK_STATUS(place(b, pos, quat, 3), ABUT_OK);
  run r;
  moment(b, &s, &o, &r, 1);
  const double *x = at(&r, OUT_XPOS, 1, 1, 1, 3), *q = at(&r, OUT_XQUAT, 1, 1, 1, 4);
  for (int i = 0; i < 3; i++) CHECK(x[i] == pos[3 + i] && at(&r, OUT_XPOS, 0, 1, 1, 3)[i] == pos[i]);
  CHECK_NEAR(q[0], c, 1e-15);
  CHECK_NEAR(q[3], 0.8, 1e-15);
  CHECK_NEAR(at(&r, OUT_XPOS, 1, 1, 2, 3)[2], 8.5, 1e-12); /* the rod hangs still */
  CHECK(run_status(&r, 1) == 0);
  run_free(&r);
  const uint8_t last[3] = {0, 0, 1}, second[3] = {0, 1, 0};
  CHECK_STATUS(abut_batch_reset(b, last, 0), ABUT_OK);
  CHECK_STATUS(abut_batch_reset(b, second, -1), ABUT_OK);
  moment(b, &s, &o, &r, 0);
  const double expected[3][3] = {{0, 0, 1}, {0, 0, 1}, {4, 5, 6}};
  for (int64_t e = 0; e < 3; e++)
    for (int i = 0; i < 3; i++) CHECK(at(&r, OUT_XPOS, e, 0, 1, 3)[i] == expected[e][i]);
  CHECK(at(&r, OUT_XQUAT, 2, 0, 1, 4)[3] == 1 && at(&r, OUT_XQUAT, 1, 0, 1, 4)[0] == 1);
  run_free(&r);
  abut_batch_destroy(b);
  abut_model_destroy(s.model);
}

/* A box on a plate that is fixed, or that others place; the plate's ids are the same in both. */
static abut_model *plate(int mocap) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  int32_t under = mocap ? hand(b, 0.5) : scene_body(b, 0, 0, 0, 0.5, 0, 0, 0, 0);
  scene_geom(b, under, ABUT_GEOM_BOX, 0.3, 0.3, 0.05);
  int32_t box = scene_free_body(b, 0, 0, 0.651, 0, 0, 0, 0);
  scene_geom(b, box, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  return scene_finish(b);
}

/* Within a step they are as what is fixed, to the bit. */
TEST(mocap_bodies_carry_as_fixed_ones_do) {
  run r[2];
  for (int mocap = 0; mocap < 2; mocap++) {
    scene s = {plate(mocap), {0}};
    REQUIRE(s.model);
    s.n = abut_model_get_sizes(s.model);
    abut_options o = test_options(1);
    abut_batch *b = batch_of(&s, &o);
    moment(b, &s, &o, &r[mocap], 30);
    CHECK(run_status(&r[mocap], 0) == 0);
    CHECK(fabs(array_get(&r[mocap].out[OUT_FORCE], 3 * 29 + 2)) > 1);
    abut_batch_destroy(b);
    abut_model_destroy(s.model);
  }
  run_check_same("mocap and fixed", &r[0], 0, &r[1], 0);
  run_free(&r[0]);
  run_free(&r[1]);
}

/* The plate sinks by 2 cm between two rollouts: the box falls after it. It rises by 2 mm: the box is pushed
 * out by the separation; by 2 cm: too far to be moved apart. Environments do not see each other's. */
TEST(mocap_bodies_meet_others_where_they_come) {
  scene s = {plate(1), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = test_options(3);
  abut_batch *b = batch_of(&s, &o);
  run r;
  moment(b, &s, &o, &r, 20);
  run_free(&r);
  double pos[9] = {0, 0, 0.48, 0, 0, 0.502, 0, 0, 0.52};
  CHECK_STATUS(place(b, pos, NULL, 3), ABUT_OK);
  moment(b, &s, &o, &r, 20);
  CHECK(run_status(&r, 0) == 0 && run_status(&r, 1) == 0);
  CHECK_NEAR(at(&r, OUT_XPOS, 0, 20, 2, 3)[2], 0.63, 2e-3);
  CHECK_NEAR(at(&r, OUT_XPOS, 1, 0, 2, 3)[2], 0.652, 1e-3);
  CHECK_NEAR(at(&r, OUT_XPOS, 1, 20, 2, 3)[2], 0.652, 2e-3);
  CHECK(array_get(&r.out[OUT_MOVED], 1) > 1e-3 && array_get(&r.out[OUT_MOVED], 0) == 0);
  CHECK(run_status(&r, 2) & ABUT_ENV_OVERLAP);
  run_free(&r);
  abut_batch_destroy(b);
  abut_model_destroy(s.model);
}

TEST(bad_mocap_poses_are_refused) {
  scene s = {hanging(), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = test_options(2);
  abut_batch *b = batch_of(&s, &o);
  double none[8] = {1, 0, 0, 0, 0, 0, 0, 0}, nan[3] = {0, NAN, 0};
  CHECK_STATUS(place(b, NULL, none, 2), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "mocap_quat[1]: the quaternion of body 'hand' has norm 0") != NULL);
  CHECK_STATUS(place(b, nan, NULL, 1), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "mocap_pos[0, 1]: nan") != NULL);
  abut_batch_destroy(b);
  abut_model_destroy(s.model);
}

/* A plane's place in the world is one for all environments. */
TEST(planes_of_mocap_bodies_are_refused) {
  abut_builder *build = scene_begin(-9.81);
  REQUIRE(build);
  scene_geom(build, hand(build, 0), ABUT_GEOM_PLANE, 1, 1, 1);
  scene_geom(build, scene_free_body(build, 0, 0, 1, 0, 0, 0, 0), ABUT_GEOM_SPHERE, 0.1, 0, 0);
  abut_model *m = scene_finish(build);
  REQUIRE(m);
  abut_options o = test_options(1);
  abut_batch *b = NULL;
  CHECK_STATUS(abut_batch_create(m, &o, &b), ABUT_ERROR_UNSUPPORTED);
  CHECK(strstr(abut_error_message(), "geom 0") && strstr(abut_error_message(), "mocap"));
  abut_model_destroy(m);
}

/* Balls whose weight is held up by no, a quarter, all and more of it fall with what is left, whatever their
 * mass; the energy that is told is that of the force that acts. */
TEST(gravity_is_compensated) {
  static const double share[4] = {0, 0.25, 1, 1.5};
  abut_builder *b = scene_begin(-10);
  REQUIRE(b);
  for (int i = 0; i < 4; i++) {
    abut_body_def def = abut_default_body_def();
    int32_t id = -1;
    def.pos[0] = i, def.mass = 1 + i, def.gravcomp = share[i], def.ipos[1] = 0.1 * i;
    for (int c = 0; c < 3; c++) def.inertia[c] = 0.1;
    CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
    scene_joint(b, scene_joint_def(id, ABUT_JOINT_FREE, 0, 0, 1, 0));
  }
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  abut_options o = test_options(1);
  o.timestep = 0.01;
  scene_run *r = scene_rollout(m, o, 50, NULL, NULL, NULL);
  REQUIRE(r);
  for (int i = 0; i < 4; i++) CHECK_NEAR(scene_qvel(r, 0, 50)[6 * i + 2], -10 * (1 - share[i]) * 0.5, 1e-10);
  double fallen = 0;
  for (int i = 0; i < 4; i++)
    fallen +=
        (1 + i) * 10 * (1 - share[i]) * (scene_xpos(r, 0, 50, i + 1)[2] - scene_xpos(r, 0, 1, i + 1)[2]);
  CHECK_NEAR(r->energy[4 * 49 + 1] - r->energy[1], fallen, 1e-9);
  scene_run_free(r);
  abut_model_destroy(m);
}
