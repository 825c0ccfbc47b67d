/* test_friction.c: friction on inclines, from sliding to rolling, and in steady creep. */
#include "scene.h"

static const double g = 9.81, pi = 3.14159265358979323846;

/* ---------------------------------------------------------------------------------------- incline */

/* scenes/incline.abut: 1 kg on 16 degrees. Distance down the slope at each step is written to way. */
static void slide_down(double mu, abut_options options, int steps, double *way) {
  const double down[3] = {cos(16 * pi / 180), 0, -sin(16 * pi / 180)};
  abut_model *model = scene_model("scenes/incline.abut");
  REQUIRE(model);
  options.friction = mu;
  scene_run *r = scene_rollout(model, options, steps, NULL, NULL, NULL);
  REQUIRE(r);
  for (int t = 0; t <= steps; t++) {
    const double *x = scene_xpos(r, 0, t, r->size.nbody - 1), *start = scene_xpos(r, 0, 0, r->size.nbody - 1);
    double d[3] = {x[0] - start[0], x[1] - start[1], x[2] - start[2]};
    way[t] = vec3_dot(d, down);
    CHECK_NEAR(d[1], 0, 1e-6);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* tan 16 degrees = 0.2867: slides at 0.28 with g (sin - mu cos), holds at 0.30, where it creeps at e r/sqrt(1
 * - r^2), r = tan 16 / 0.30. */
static void check_incline(abut_options options) {
  enum { STEPS = 400 };
  const double dt = 0.01, slope = 16 * pi / 180;
  double way[STEPS + 1] = {0};
  slide_down(0.28, options, STEPS, way);
  double v1 = (way[200] - way[199]) / dt, v2 = (way[STEPS] - way[STEPS - 1]) / dt;
  CHECK_REL((v2 - v1) / (200 * dt), g * (sin(slope) - 0.28 * cos(slope)), 0.03);
  slide_down(0.30, options, STEPS, way);
  double creep = (way[STEPS] - way[200]) / (200 * dt), r = tan(slope) / 0.30;
  CHECK(creep < 1e-3);
  CHECK_REL(creep, abut_default_options().implicit.slip_velocity * r / sqrt(1 - r * r), 0.03);
}
TEST(block_on_an_incline_local) { check_incline(abut_default_options()); }
TEST(block_on_an_incline_inverse) {
  abut_options o = abut_default_options();
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  check_incline(o);
}
TEST(block_on_an_incline_vertex_friction) {
  abut_options o = abut_default_options();
  o.implicit.friction_form = ABUT_FRICTION_VERTEX;
  check_incline(o);
}

/* A block pushed along a fixed box: mu m g holds against less and gives way to more, the force on it being mu
 * m g. */
TEST(block_on_a_box) {
  const double mu = 0.4, m = 2, dt = 0.01;
  for (int slips = 0; slips < 2; slips++) {
    double push = mu * m * g * (slips ? 1.5 : 0.8);
    abut_builder *b = scene_begin(0);
    REQUIRE(b);
    scene_gravity(b, push / m, 0, -g);
    scene_geom(b, scene_body(b, 0, 0, 0, -0.1, 0, 0, 0, 0), ABUT_GEOM_BOX, 5, 5, 0.1);
    scene_geom(b, scene_free_body(b, 0, 0, 0.1, m, 0.02, 0.02, 0.02), ABUT_GEOM_BOX, 0.2, 0.2, 0.1);
    abut_model *model = scene_finish(b);
    REQUIRE(model);
    abut_options options = abut_default_options();
    options.friction = mu;
    scene_run *r = scene_rollout(model, options, 200, NULL, NULL, NULL);
    REQUIRE(r);
    double along = (scene_xpos(r, 0, 200, 2)[0] - scene_xpos(r, 0, 100, 2)[0]) / (100 * dt);
    double rub = fabs(scene_force(r, 0, 199, 0)[0]);
    CHECK_REL(rub, slips ? mu * m * g : push, 1e-3);
    if (!slips)
      CHECK(along < 1e-3);
    else
      CHECK_REL((scene_qvel(r, 0, 200)[0] - scene_qvel(r, 0, 100)[0]) / (100 * dt), (push - mu * m * g) / m,
                0.01);
    CHECK(scene_failed(r) == 0);
    scene_run_free(r);
    abut_model_destroy(model);
  }
}

/* ---------------------------------------------------------------------------------------- sliding to rolling
 */

/* A round body of radius 0.5 m and 1 kg; moment: I/(m r^2) about the rolling axis y. A disc is a capsule
 * across the way, whose two points lie on the axis. */
static abut_model *roller(double moment, int32_t type, int on_box) {
  const double radius = 0.5;
  abut_builder *b = scene_begin(-g);
  if (!b) return NULL;
  double i = moment * radius * radius;
  abut_geom_def def = abut_default_geom_def();
  def.body = scene_free_body(b, 0, 0, radius, 1, 0.8 * i, i, 0.8 * i);
  def.type = type;
  def.size[0] = radius;
  def.size[1] = type == ABUT_GEOM_CAPSULE ? 0.2 : 0;
  if (type == ABUT_GEOM_CAPSULE) def.quat[0] = def.quat[1] = sqrt(0.5);
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
  if (on_box)
    scene_geom(b, scene_body(b, 0, 1, 0, -0.1, 0, 0, 0, 0), ABUT_GEOM_BOX, 3, 2, 0.1);
  else
    scene_floor(b);
  return scene_finish(b);
}

/* Where a single body comes to rest on its ground, written to q; 0 if it does not. */
static int settle(const abut_model *model, abut_options options, double q[7]) {
  options.timestep = 0.02; /* damps */
  scene_run *r = scene_rollout(model, options, 100, NULL, NULL, NULL);
  if (!r) return 0;
  memcpy(q, scene_qpos(r, 0, 100), 7 * sizeof *q);
  int still = scene_failed(r) == 0 && fabs(scene_qvel(r, 0, 100)[2]) < 1e-6;
  scene_run_free(r);
  return still;
}

/* It slides at 1 m/s without turning until it rolls. Friction takes angular momentum about no point of the
 * ground, so it rolls at 1/(1 + moment). */
static void check_rolling(double moment, int32_t type, int on_box) {
  const double radius = 0.5, mu = 0.25, dt = 0.002;
  enum { STEPS = 120 };
  abut_model *model = roller(moment, type, on_box);
  REQUIRE(model);
  double v0[6] = {1, 0, 0, 0, 0, 0}, slide = moment / (1 + moment) / (mu * g);
  abut_options options = abut_default_options();
  double q0[7];
  options.timestep = dt;
  options.friction = mu;
  CHECK(settle(model, options, q0));
  scene_run *r = scene_rollout(model, options, STEPS, q0, v0, NULL);
  REQUIRE(r);
  int half = (int)(0.5 * slide / dt);
  const double *sliding = scene_qvel(r, 0, half), *v = scene_qvel(r, 0, STEPS);
  CHECK(STEPS * dt > 1.2 * slide);
  CHECK_REL(sliding[0], 1 - mu * g * half * dt, 0.02);
  CHECK_REL(v[0], 1 / (1 + moment), 0.005);
  CHECK_REL(v[4] * radius, v[0], 0.005);
  CHECK_NEAR(v[1], 0, 1e-6);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

TEST(sphere_ends_rolling_at_five_sevenths) {
  for (int on_box = 0; on_box < 2; on_box++) check_rolling(2. / 5, ABUT_GEOM_SPHERE, on_box);
}
TEST(disc_ends_rolling_at_two_thirds) {
  for (int on_box = 0; on_box < 2; on_box++) check_rolling(1. / 2, ABUT_GEOM_CAPSULE, on_box);
}
/* ---------------------------------------------------------------------------------------- spinning */

/* A box that spins on the floor about its vertical axis stops by friction alone, and does not walk away. */
TEST(spinning_box_stops) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  scene_floor(b);
  scene_geom(b, scene_free_body(b, 0, 0, 0.1, 0, 0, 0, 0), ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  abut_options options = abut_default_options();
  double q0[7];
  options.friction = 0.3;
  CHECK(settle(model, options, q0));
  scene_run *r = scene_rollout(model, options, 200, q0, (double[6]){0, 0, 0, 0, 0, 3}, NULL);
  REQUIRE(r);
  /* four corners, equally loaded: the torque is mu m g a sqrt 2, the moment of inertia 2/3 m a^2 */
  double rate = 0.3 * g * sqrt(2) * 1.5 / 0.1;
  CHECK_REL(scene_qvel(r, 0, 3)[5], 3 - rate * 0.03, 0.05);
  CHECK_NEAR(scene_qvel(r, 0, 200)[5], 0, 1e-4);
  CHECK_NEAR(scene_xpos(r, 0, 200, 1)[0], 0, 1e-4);
  CHECK_NEAR(scene_xpos(r, 0, 200, 1)[1], 0, 1e-4);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}
