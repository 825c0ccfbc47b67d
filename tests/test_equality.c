/* test_equality.c: equality constraints at rest, in motion and in reverse. Numbers said to be MuJoCo's are
 * what MuJoCo 4.0 comes to rest at, at timestep 0.002 and tolerance 1e-12. */
#include "scene.h"

/* A rod of 1 kg along x from a hinge about y at (x, y, z). */
static int32_t rod(abut_builder *b, int32_t parent, double x, double y, double z, double length, double ref,
                   double stiffness) {
  int32_t body = scene_body(b, parent, x, y, z, 0, 0, 0, 0);
  abut_joint_def hinge = scene_joint_def(body, ABUT_JOINT_HINGE, 0, 1, 0, 0);
  hinge.damping = 2;
  hinge.ref = ref;
  hinge.stiffness = stiffness;
  scene_joint(b, hinge);
  abut_geom_def geom = abut_default_geom_def();
  const double pi = 3.14159265358979323846, r = 0.02;
  geom.body = body;
  geom.type = ABUT_GEOM_CAPSULE;
  geom.size[0] = r, geom.size[1] = length / 2;
  geom.pos[0] = length / 2;
  geom.quat[0] = geom.quat[2] = sqrt(0.5); /* its axis along x */
  geom.density = 1 / (pi * r * r * length + 4.0 / 3 * pi * r * r * r);
  geom.contype = geom.conaffinity = 0;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  return body;
}
static int32_t ball(abut_builder *b, double x, double y, double z, double mass, double radius) {
  int32_t body = scene_body(b, 0, x, y, z, mass, 0.4 * mass * radius * radius, 0.4 * mass * radius * radius,
                            0.4 * mass * radius * radius);
  return body;
}
static void tie(abut_builder *b, abut_equality_def def) {
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
}
static abut_equality_def equality(int32_t type, int32_t obj1, int32_t obj2) {
  abut_equality_def def = abut_default_equality_def();
  def.type = type, def.obj1 = obj1, def.obj2 = obj2;
  return def;
}

/* Two rods and a weight of 2 kg on a vertical slide, whose centre holds their end. */
static abut_model *linkage(void) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  int32_t upper = rod(b, 0, 0, 0, 1, 0.5, 0, 0), lower = rod(b, upper, 0.5, 0, 0, 0.5, 0, 0);
  int32_t weight = ball(b, 1.1, 0, 0.7, 2, 0.05);
  abut_joint_def slide = scene_joint_def(weight, ABUT_JOINT_SLIDE, 0, 0, 1, 0);
  slide.damping = 10;
  scene_joint(b, slide);
  abut_equality_def def = equality(ABUT_EQUALITY_CONNECT, lower, weight);
  def.anchor1[0] = 0.5;
  tie(b, def);
  return scene_finish(b);
}

static void rests_at(abut_model *m, const double *qpos, int n, int steps, double tolerance) {
  scene_run *r = scene_rollout(m, abut_default_options(), steps, NULL, NULL, NULL);
  REQUIRE(r);
  for (int i = 0; i < n; i++) CHECK_NEAR(scene_qpos(r, 0, steps)[i], qpos[i], tolerance);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
}

TEST(connect_rests_as_in_mujoco) {
  static const double mujoco[3] = {0.112325, -0.031927, -0.096507};
  abut_model *m = linkage();
  REQUIRE(m);
  rests_at(m, mujoco, 3, 2000, 1e-6); /* six digits are given */
  abut_model_destroy(m);
}

/* A free box of 3 kg whose frame is welded to a rod, torques at half a metre. */
static abut_model *welded(double gravity) {
  abut_builder *b = scene_begin(gravity);
  if (!b) return NULL;
  int32_t arm = rod(b, 0, 0, 0, 1, 0.5, 0, 0);
  abut_body_def box = abut_default_body_def();
  int32_t free = -1;
  box.mass = 3;
  box.pos[0] = 0.7, box.pos[2] = 1;
  box.ipos[0] = 0.1, box.ipos[1] = 0.05;
  const double half[3] = {0.2, 0.05, 0.03}, turn[4] = {0.95125124, 0.04494346, 0.254887, 0.16773126};
  memcpy(box.quat, turn, sizeof turn);
  for (int k = 0; k < 3; k++)
    box.inertia[k] = (pow(half[(k + 1) % 3], 2) + pow(half[(k + 2) % 3], 2)); /* m (b^2 + c^2)/3 */
  CHECK_STATUS(abut_builder_add_body(b, &box, &free), ABUT_OK);
  scene_joint(b, scene_joint_def(free, ABUT_JOINT_FREE, 0, 0, 0, 0));
  abut_equality_def def = equality(ABUT_EQUALITY_WELD, free, arm);
  const double point[3] = {-0.48827861, 0.17771888, -0.3}; /* (0.1, 0, 0) of the rod */
  memcpy(def.anchor1, point, sizeof point);
  def.torquescale = 0.5;
  def.solref[0] = 0.03;
  tie(b, def);
  return scene_finish(b);
}

TEST(joints_rest_as_in_mujoco) {
  static const double mujoco[3] = {0.229651, 0.150758, 0.204599};
  abut_builder *b = scene_begin(-9.81);
  REQUIRE(b);
  rod(b, 0, 0, 0, 1, 0.5, 0.1 * 3.14159265358979323846 / 180, 0);
  rod(b, 0, 0, 1, 1, 0.5, 0, 30);
  rod(b, 0, 0, 2, 1, 0.3, 0, 0);
  abut_equality_def follow = equality(ABUT_EQUALITY_JOINT, 0, 1), hold = equality(ABUT_EQUALITY_JOINT, 2, -1);
  const double along[5] = {0.1, 0.8, 0.3, -0.2, 0.1}, at[5] = {0.2, 0, 0, 0, 0},
               soft[5] = {0.8, 0.9, 0.05, 0.3, 3};
  memcpy(follow.polycoef, along, sizeof along);
  memcpy(hold.polycoef, at, sizeof at);
  memcpy(hold.solimp, soft, sizeof soft);
  tie(b, follow);
  tie(b, hold);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  rests_at(m, mujoco, 3, 2000, 1e-6);
  abut_model_destroy(m);
}

/* What is inactive does nothing: the rods hang. */
TEST(inactive_equalities_do_nothing) {
  abut_builder *b = scene_begin(-9.81);
  REQUIRE(b);
  int32_t body = rod(b, 0, 0, 0, 1, 0.5, 0, 0);
  for (int type = ABUT_EQUALITY_CONNECT; type <= ABUT_EQUALITY_JOINT; type++) {
    abut_equality_def def = equality(type, type == ABUT_EQUALITY_JOINT ? 0 : body, -1);
    def.inactive = 1;
    tie(b, def);
  }
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  const double hangs = 1.57079632679489661923;
  rests_at(m, &hangs, 1, 3000, 1e-6);
  abut_model_destroy(m);
}

/* Two free bodies welded to each other in nothing: no momentum comes or goes, no energy comes, at three step
 * lengths. */
TEST(welds_keep_momentum) {
  static const double steps[3] = {1e-2, 3e-3, 1e-3};
  for (int i = 0; i < 3; i++) {
    abut_builder *b = scene_begin(0);
    REQUIRE(b);
    const int32_t one = scene_free_body(b, 0, 0, 0, 1, 0.1, 0.2, 0.25),
                  two = scene_free_body(b, 1, 0.2, 0, 2, 0.3, 0.2, 0.4);
    abut_equality_def def = equality(ABUT_EQUALITY_WELD, one, two);
    def.anchor1[0] = 0.5;
    tie(b, def);
    abut_model *m = scene_finish(b);
    REQUIRE(m);
    abut_options o = abut_default_options();
    o.timestep = steps[i];
    o.tolerance = 1e-10;
    double qvel[12] = {1, 0, -0.5, 0.3, 2, -1, -1, 0.5, 0, 0, 1, 0.5};
    const int n = (int)(10 / steps[i]);
    scene_run *r = scene_rollout(m, o, n, NULL, qvel, NULL);
    REQUIRE(r);
    const double *v0 = scene_qvel(r, 0, 0), *v = scene_qvel(r, 0, n);
    for (int c = 0; c < 3; c++)
      CHECK_NEAR(v[c] + 2 * v[6 + c], v0[c] + 2 * v0[6 + c], 1e-7); /* n tolerances */
    CHECK(scene_energy(r, 0, n - 1) <= scene_energy(r, 0, 0));
    CHECK(scene_failed(r) == 0);
    scene_run_free(r);
    abut_model_destroy(m);
  }
}

TEST(welds_rest_as_in_mujoco) {
  static const double mujoco[8] = {1.537594, 0.032354, -0.045451, 0.301721,
                                   0.518191, 0.128917, 0.843478,  0.058336};
  abut_model *m = welded(-9.81);
  REQUIRE(m);
  rests_at(m, mujoco, 8, 10000, 2e-6);
  abut_model_destroy(m);
}
