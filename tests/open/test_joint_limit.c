/* test_joint_limit.c: a hinge that falls on its limit comes to rest. */
#include "scene.h"
static const double g = 9.81, dt = 0.01;
/* A pendulum (1 kg, 0.5 m) falls onto its limit. With the limit's stiffness k = I/(t r)^2 behind a run-in of
 * 0.01 rad, it stops within 0.01 + w t r, w the speed of impact; then it leans on the limit by what its
 * weight needs. */
TEST(hinge_stops_at_its_limit) {
  const double m = 1, l = 0.5, own = 0.01, inertia = own + m * l * l, limit = -0.4, start = 1, run_in = 0.01;
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  int32_t bob = scene_body(b, 0, l, 0, 0, m, own, own, own);
  abut_joint_def def = scene_joint_def(bob, ABUT_JOINT_HINGE, 0, -1, 0, 0);
  def.pos[0] = -l;
  def.limited = 1;
  def.range[0] = limit;
  def.range[1] = 2;
  def.solref[0] = 0.02;
  abut_model *model = NULL;
  scene_joint(b, def);
  model = scene_finish(b);
  REQUIRE(model);
  abut_options options = abut_default_options();
  options.timestep = 0.002;
  double q = start;
  scene_run *r = scene_rollout(model, options, 2500, &q, (double[1]){0}, NULL);
  REQUIRE(r);
  double lowest = start, speed = sqrt(2 * m * g * l * (sin(start) - sin(limit)) / inertia);
  for (int n = 0; n <= 2500; n++) lowest = fmin(lowest, scene_qpos(r, 0, n)[0]);
  double torque = m * g * l * cos(limit), k = inertia / (def.solref[0] * def.solref[0]), sag = torque / k;
  CHECK(lowest < limit);
  CHECK(lowest > limit - run_in - sag - speed * def.solref[0]);
  double rest = scene_qpos(r, 0, 2500)[0];
  CHECK(rest < limit && rest > limit - run_in - sag);
  CHECK(fabs(scene_qvel(r, 0, 2500)[0]) < 1e-3);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}
