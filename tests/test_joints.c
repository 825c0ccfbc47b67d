/* test_joints.c: passive joint terms, limits and actuators against what each must do by itself. */
#include "scene.h"

static const double g = 9.81, dt = 0.01;

/* A scene of one body of 2 kg that slides along x or turns about y (then about its own centre, 0.5 kg m^2).
 */
typedef struct rig {
  abut_builder *builder;
  abut_joint_def joint;
} rig;

static rig rig_begin(int32_t type) {
  rig r = {scene_begin(0), abut_default_joint_def()};
  if (!r.builder) return r;
  int32_t body = scene_body(r.builder, 0, 0, 0, 0, 2, 0.5, 0.5, 0.5);
  r.joint = scene_joint_def(body, type, type == ABUT_JOINT_SLIDE, type == ABUT_JOINT_HINGE, 0, 0);
  return r;
}

/* Adds the joint, and the actuator if there is one, and runs from (q, v) under a held control. The model
 * outlives the run no longer than the caller needs it: its arrays are all a test reads. */
static scene_run *rig_run(rig r, const abut_actuator_def *actuator, double q, double v, double u,
                          int64_t steps, abut_model **model) {
  if (!r.builder) return NULL;
  int32_t joint = scene_joint(r.builder, r.joint);
  if (actuator) {
    abut_actuator_def def = *actuator;
    def.joint = joint;
    scene_actuator(r.builder, def);
  }
  *model = scene_finish(r.builder);
  if (!*model) return NULL;
  abut_options options = abut_default_options();
  options.timestep = dt;
  options.tolerance = 1e-10;
  scene_run *run = scene_rollout(*model, options, steps, &q, &v, actuator ? &u : NULL);
  if (run) CHECK(scene_failed(run) == 0);
  return run;
}

static void rig_free(scene_run *run, abut_model *model) {
  scene_run_free(run);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- passive terms */

/* m (v+ - v) = -dt d v+ */
TEST(damping_is_implicit) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_model *model = NULL;
  s.joint.damping = 3;
  scene_run *r = rig_run(s, NULL, 0.1, 2, 0, 100, &model);
  REQUIRE(r);
  for (int n = 0; n <= 100; n++) CHECK_NEAR(scene_qvel(r, 0, n)[0], 2 * pow(2 / (2 + dt * 3), n), 1e-10);
  rig_free(r, model);
}

/* A damped hinge slows like exp(-d t/I) to first order in dt. */
TEST(damping_of_a_hinge) {
  rig s = rig_begin(ABUT_JOINT_HINGE);
  abut_model *model = NULL;
  s.joint.damping = 1;
  scene_run *r = rig_run(s, NULL, 0, 0.5, 0, 50, &model);
  REQUIRE(r);
  CHECK_REL(scene_qvel(r, 0, 50)[0], 0.5 * exp(-1.0 * 50 * dt / 0.5), 0.02);
  rig_free(r, model);
}

/* m (q++ - 2 q+ + q)/dt^2 = -k (q++ - q0), step by step. */
TEST(spring_is_implicit) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_model *model = NULL;
  s.joint.stiffness = 40;
  s.joint.springref = 0.3;
  scene_run *r = rig_run(s, NULL, 0, 1, 0, 200, &model);
  REQUIRE(r);
  double q = 0, v = 1, k = 40 * dt * dt / 2;
  for (int n = 0; n <= 200; n++) {
    CHECK_NEAR(scene_qpos(r, 0, n)[0], q, 1e-9);
    double next = (q + dt * v + k * 0.3) / (1 + k);
    v = (next - q) / dt;
    q = next;
  }
  CHECK_NEAR(scene_energy(r, 0, 0),
             0.5 * 2 * pow(scene_qvel(r, 0, 1)[0], 2) + 20 * pow(scene_qpos(r, 0, 1)[0] - 0.3, 2), 1e-9);
  for (int n = 1; n < 200; n++) CHECK(scene_energy(r, 0, n) <= scene_energy(r, 0, n - 1) + 1e-12);
  rig_free(r, model);
}

/* Armature is mass that gravity does not pull: a = m g/(m + armature). */
TEST(armature_adds_inertia_without_weight) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_model *model = NULL;
  REQUIRE(s.builder);
  scene_gravity(s.builder, -g, 0, 0);
  s.joint.armature = 3;
  scene_run *r = rig_run(s, NULL, 0, 0, 0, 50, &model);
  REQUIRE(r);
  for (int n = 0; n <= 50; n++) CHECK_NEAR(scene_qvel(r, 0, n)[0], -n * dt * g * 2 / (2 + 3), 1e-10);
  rig_free(r, model);
}

/* Friction loss f against a weight w. Below f it creeps at e w/sqrt(f^2 - w^2); above it falls with w - f. */
TEST(frictionloss_holds_below_its_bound_and_slips_above) {
  const double weight = 2 * g, e = abut_default_options().implicit.slip_velocity;
  for (int holds = 0; holds < 2; holds++) {
    rig s = rig_begin(ABUT_JOINT_SLIDE);
    abut_model *model = NULL;
    REQUIRE(s.builder);
    scene_gravity(s.builder, -g, 0, 0);
    s.joint.frictionloss = weight * (holds ? 1.25 : 0.75);
    scene_run *r = rig_run(s, NULL, 0, 0, 0, 100, &model);
    REQUIRE(r);
    double v = scene_qvel(r, 0, 100)[0];
    if (holds)
      CHECK_REL(v, -e / sqrt(1.25 * 1.25 - 1), 1e-6);
    else
      CHECK_REL(v, -g * 0.25 * 100 * dt, 1e-4);
    rig_free(r, model);
  }
}

/* A ball joint, to be added, of a new body with moments of inertia 0.1. */
static abut_joint_def ball_of_body(abut_builder *b) {
  return scene_joint_def(scene_body(b, 0, 0, 0, 0, 1, 0.1, 0.1, 0.1), ABUT_JOINT_BALL, 0, 0, 1, 0);
}

/* Friction loss of a ball joint slows it by f/I until it rests. Its kink is dt e = 1e-6 rad wide: Newton must
 * see the curvature inside it. */
TEST(ball_frictionloss_stops_it) {
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  abut_joint_def def = ball_of_body(b);
  def.frictionloss = 0.2;
  scene_joint(b, def);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double v0[3] = {0.3, 0.4, 0};
  scene_run *r = scene_rollout(model, abut_default_options(), 100, NULL, v0, NULL);
  REQUIRE(r);
  CHECK(scene_failed(r) == 0);
  CHECK_REL(vec3_norm(scene_qvel(r, 0, 10)), 0.5 - 0.2 / 0.1 * 10 * dt, 1e-3); /* kink: e/v squared */
  CHECK(vec3_norm(scene_qvel(r, 0, 100)) < 1e-9);
  for (int n = 0; n < 100; n++) CHECK(r->iterations[n] <= 20);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- limits */

/* How far a force (N, N m) pushes a joint of this inertia into its limit at rest: k r = force, k = K d^2/((1
 * - d) A), by MuJoCo's defaults for solref and solimp; r below solimp's width of 1e-3. */
static double rest_violation(double force, double inertia) {
  double r = 0;
  for (int i = 0; i < 60; i++) {
    double x = r / 1e-3, y = x < 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x), d = 0.9 + 0.05 * y;
    double k = d * d / (1 - d) * inertia / pow(0.95 * 0.02, 2);
    r = force / k;
  }
  return r;
}

/* A pendulum (1 kg, 0.5 m) falls onto its limit and comes to lean on it by what its weight needs. Stiffness
 * and damping of the limit stop it within a time constant of the speed of impact. */
TEST(hinge_stops_at_its_limit) {
  const double m = 1, l = 0.5, own = 0.01, inertia = own + m * l * l, limit = -0.4, start = 1;
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  int32_t bob = scene_body(b, 0, l, 0, 0, m, own, own, own);
  abut_joint_def def = scene_joint_def(bob, ABUT_JOINT_HINGE, 0, -1, 0, 0);
  def.pos[0] = -l;
  def.limited = 1;
  def.damping = 0.3;
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
  double rest = scene_qpos(r, 0, 2500)[0], sag = rest_violation(m * g * l * cos(rest), inertia);
  CHECK(lowest < limit);
  CHECK(lowest > limit - speed * def.solref[0]);
  CHECK(sag > 1e-4 && sag < 1e-3); /* where rest_violation holds, and beyond the run-in */
  CHECK_NEAR(rest, limit - sag, 1e-8);
  CHECK(fabs(scene_qvel(r, 0, 2500)[0]) < 1e-3);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* The same for a slide that runs into its upper limit without gravity: it comes back, slower, never through.
 */
TEST(slide_rebounds_from_its_limit) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_model *model = NULL;
  s.joint.limited = 1;
  s.joint.range[0] = -0.1;
  s.joint.range[1] = 0.1;
  scene_run *r = rig_run(s, NULL, 0, 3, 0, 300, &model);
  REQUIRE(r);
  double top = 0;
  for (int n = 0; n <= 300; n++) top = fmax(top, fabs(scene_qpos(r, 0, n)[0]));
  CHECK(top > 0.1 && top < 0.1 + 3 * 0.02);
  CHECK(fabs(scene_qvel(r, 0, 300)[0]) < 3);
  rig_free(r, model);
}

/* A ball's limit bounds its angle, whichever way it turns. */
TEST(ball_stops_at_its_limit) {
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  abut_joint_def def = ball_of_body(b);
  def.limited = 1;
  def.range[1] = 0.5;
  scene_joint(b, def);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double v0[3] = {1, -1.5, 0.7}, widest = 0;
  scene_run *r = scene_rollout(model, abut_default_options(), 100, NULL, v0, NULL);
  REQUIRE(r);
  for (int n = 0; n <= 100; n++) widest = fmax(widest, 2 * acos(fmin(1, fabs(scene_qpos(r, 0, n)[0]))));
  CHECK(widest > 0.5 && widest < 0.5 + 0.02 * vec3_norm(v0));
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- actuators */

/* Motor: the joint feels gear * gain * u. */
TEST(motor_accelerates) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_actuator_def motor = abut_default_actuator_def();
  abut_model *model = NULL;
  motor.gear = 3;
  motor.gain = 2;
  scene_run *r = rig_run(s, &motor, 0, 0, 0.7, 50, &model);
  REQUIRE(r);
  for (int n = 0; n <= 50; n++) CHECK_NEAR(scene_qvel(r, 0, n)[0], n * dt * 3 * 2 * 0.7 / 2, 1e-10);
  rig_free(r, model);
}

/* Motor against damping: v -> gear gain u/d. A control beyond its range acts as its bound. */
TEST(motor_control_is_clamped) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_actuator_def motor = abut_default_actuator_def();
  abut_model *model = NULL;
  s.joint.damping = 8;
  motor.ctrllimited = 1;
  motor.ctrlrange[0] = -1;
  motor.ctrlrange[1] = 1.5;
  scene_run *r = rig_run(s, &motor, 0, 0, 100, 800, &model);
  REQUIRE(r);
  CHECK_REL(scene_qvel(r, 0, 800)[0], 1.5 / 8, 1e-9);
  rig_free(r, model);
}

/* Position servo against a spring: kp gear (u - gear q) = k q. */
TEST(position_servo_balances_a_spring) {
  rig s = rig_begin(ABUT_JOINT_HINGE);
  abut_actuator_def servo = abut_default_actuator_def();
  abut_model *model = NULL;
  double kp = 60, k = 20, gear = 2, u = 0.4;
  s.joint.stiffness = k;
  s.joint.damping = 4;
  servo.gear = gear;
  servo.gain = kp;
  servo.bias[1] = -kp;
  scene_run *r = rig_run(s, &servo, 0, 0, u, 1500, &model);
  REQUIRE(r);
  CHECK_REL(scene_qpos(r, 0, 1500)[0], kp * gear * u / (kp * gear * gear + k), 1e-8);
  rig_free(r, model);
}

/* Velocity servo against damping: kv gear (u - gear v) = d v; step by step, implicit in v. */
TEST(velocity_servo_balances_damping) {
  rig s = rig_begin(ABUT_JOINT_SLIDE);
  abut_actuator_def servo = abut_default_actuator_def();
  abut_model *model = NULL;
  double kv = 5, d = 3, gear = 1.5, u = 2, v = 0;
  s.joint.damping = d;
  servo.gear = gear;
  servo.gain = kv;
  servo.bias[2] = -kv;
  scene_run *r = rig_run(s, &servo, 0, 0, u, 600, &model);
  REQUIRE(r);
  for (int n = 0; n <= 600; n++) {
    CHECK_NEAR(scene_qvel(r, 0, n)[0], v, 1e-9);
    v = (2 * v + dt * kv * gear * u) / (2 + dt * (d + kv * gear * gear));
  }
  CHECK_REL(v, kv * gear * u / (kv * gear * gear + d), 1e-6);
  rig_free(r, model);
}

/* Far from its target a position servo pushes with its largest force: a spring then gives way by
 * forcerange/k, a free body accelerates with it, in both directions. */
TEST(force_limits_saturate) {
  for (int sign = -1; sign <= 1; sign += 2) {
    abut_actuator_def servo = abut_default_actuator_def();
    abut_model *model = NULL;
    servo.gain = 1000;
    servo.bias[1] = -1000;
    servo.bias[2] = -20;
    servo.forcelimited = 1;
    servo.forcerange[0] = -2;
    servo.forcerange[1] = 3;
    double force = sign < 0 ? -2 : 3;
    rig s = rig_begin(ABUT_JOINT_SLIDE);
    s.joint.stiffness = 10;
    s.joint.damping = 5;
    scene_run *r = rig_run(s, &servo, 0, 0, 5 * sign, 2000, &model);
    REQUIRE(r);
    CHECK_REL(scene_qpos(r, 0, 2000)[0], force / 10, 1e-6);
    rig_free(r, model);
    r = rig_run(rig_begin(ABUT_JOINT_SLIDE), &servo, 0, 0, 100 * sign, 100, &model);
    REQUIRE(r);
    CHECK_REL(scene_qvel(r, 0, 100)[0], 100 * dt * force / 2, 1e-9);
    rig_free(r, model);
  }
}

/* Within its range a limited actuator is the unlimited one. */
TEST(force_limits_do_nothing_within_the_range) {
  double end[2];
  for (int limited = 0; limited < 2; limited++) {
    rig s = rig_begin(ABUT_JOINT_HINGE);
    abut_actuator_def servo = abut_default_actuator_def();
    abut_model *model = NULL;
    servo.gain = 10;
    servo.bias[1] = -10;
    servo.bias[2] = -2;
    servo.forcelimited = limited;
    servo.forcerange[0] = -30;
    servo.forcerange[1] = 30;
    scene_run *r = rig_run(s, &servo, 0, 0, 0.5, 60, &model);
    REQUIRE(r);
    end[limited] = scene_qpos(r, 0, 60)[0];
    rig_free(r, model);
  }
  CHECK_NEAR(end[0], end[1], 1e-9);
}

/* ---------------------------------------------------------------------------------------- balls and hinges
 */

/* A rod (nearly without inertia about its own length) on a ball, and on two crossed hinges. */
static scene_run *swing_rod(int hinges, double turn_x, double turn_y, double speed, int64_t steps,
                            abut_model **model) {
  const double l = 0.6;
  abut_builder *b = scene_begin(-g);
  if (!b) return NULL;
  int32_t rod = scene_body(b, 0, 0, 0, 0, 1, 0.03, 0.03, 1e-9);
  double ball[4] = {1, 0, 0, 0}, spin[3] = {0}, pair[2] = {turn_x, turn_y}, rate[2] = {0, 0};
  if (hinges) {
    scene_joint(b, scene_joint_def(rod, ABUT_JOINT_HINGE, 1, 0, 0, l));
    scene_joint(b, scene_joint_def(rod, ABUT_JOINT_HINGE, 0, 1, 0, l));
    rate[1] = speed;
  } else {
    scene_joint(b, scene_joint_def(rod, ABUT_JOINT_BALL, 0, 0, 1, l));
    double cx = cos(turn_x / 2), sx = sin(turn_x / 2), cy = cos(turn_y / 2), sy = sin(turn_y / 2);
    double q[4] = {cx * cy, sx * cy, cx * sy, sx * sy};
    memcpy(ball, q, sizeof q);
    spin[1] = speed; /* the inner hinge's axis is the body's own y */
  }
  *model = scene_finish(b);
  abut_options options = abut_default_options();
  options.timestep = 0.005;
  options.tolerance = 1e-10;
  return *model ? scene_rollout(*model, options, steps, hinges ? pair : ball, hinges ? rate : spin, NULL)
                : NULL;
}

/* In a plane and around: the rod's centre goes the same way. */
TEST(ball_pendulum_equals_two_hinges) {
  const double starts[2][3] = {{0, 1, 0}, {0.5, 0.3, 2.5}};
  for (int i = 0; i < 2; i++) {
    abut_model *model[2] = {NULL, NULL};
    scene_run *r[2];
    for (int h = 0; h < 2; h++) r[h] = swing_rod(h, starts[i][0], starts[i][1], starts[i][2], 400, &model[h]);
    REQUIRE(r[0] && r[1]);
    double travel = 0;
    for (int n = 0; n <= 400; n++) {
      const double *a = scene_xpos(r[0], 0, n, 1), *b = scene_xpos(r[1], 0, n, 1);
      for (int c = 0; c < 3; c++) CHECK_NEAR(a[c], b[c], 2e-6);
      travel = fmax(travel, fabs(a[0] - scene_xpos(r[0], 0, 0, 1)[0]));
    }
    CHECK(travel > 0.2);
    for (int h = 0; h < 2; h++) rig_free(r[h], model[h]);
  }
}
