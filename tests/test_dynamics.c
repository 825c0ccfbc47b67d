/* test_dynamics.c: free bodies and pendulums against closed forms and a fine reference, and what collisions
 * conserve. */
#include "scene.h"

static const double g = 9.81;

/* ---------------------------------------------------------------------------------------- free fall */

/* v(n) = v0 + n dt g, x(n) = x0 + n dt v0 + n (n + 1)/2 dt^2 g: exactly, at any spin of a ball. */
TEST(free_fall_follows_the_scheme) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  scene_geom(b, scene_free_body(b, 0.1, 0.2, 5, 0, 0, 0, 0), ABUT_GEOM_BOX, 0.1, 0.2, 0.3);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double v0[6] = {1, -2, 3, 0.3, 0.2, -0.1};
  abut_options options = abut_default_options();
  options.timestep = 0.02;
  scene_run *r = scene_rollout(model, options, 50, NULL, v0, NULL);
  REQUIRE(r);
  for (int n = 0; n <= 50; n++) {
    const double *x = scene_xpos(r, 0, n, 1), dt = 0.02;
    CHECK_NEAR(x[0], 0.1 + n * dt * 1, 1e-11);
    CHECK_NEAR(x[1], 0.2 - n * dt * 2, 1e-11);
    CHECK_NEAR(x[2], 5 + n * dt * 3 - g * dt * dt * n * (n + 1) / 2, 1e-11);
    CHECK_NEAR(scene_qvel(r, 0, n)[2], 3 - n * dt * g, 1e-11);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- tumbling */

enum { TUMBLE = 7 };
static const double tumble_inertia[3] = {0.1, 0.2, 0.25}, tumble_spin[3] = {1.0, 0.4, -0.6};

/* d/dt of (quaternion, body spin) without torque. */
static void euler_rates(const double y[TUMBLE], double out[TUMBLE]) {
  const double *w = y + 4, *i = tumble_inertia;
  out[0] = -0.5 * (y[1] * w[0] + y[2] * w[1] + y[3] * w[2]);
  out[1] = 0.5 * (y[0] * w[0] + y[2] * w[2] - y[3] * w[1]);
  out[2] = 0.5 * (y[0] * w[1] + y[3] * w[0] - y[1] * w[2]);
  out[3] = 0.5 * (y[0] * w[2] + y[1] * w[1] - y[2] * w[0]);
  for (int c = 0; c < 3; c++) {
    int d = (c + 1) % 3, e = (c + 2) % 3;
    out[4 + c] = (i[d] - i[e]) / i[c] * w[d] * w[e];
  }
}

/* The reference: Runge-Kutta at a thousandth of the coarsest step; error below 1e-12. */
static void tumble_exactly(double seconds, double y[TUMBLE]) {
  enum { STEPS = 4000 };
  double h = seconds / STEPS, k[4][TUMBLE], at[TUMBLE];
  for (int n = 0; n < STEPS; n++) {
    for (int s = 0; s < 4; s++) {
      double reach = s == 0 ? 0 : s == 3 ? h : h / 2;
      for (int c = 0; c < TUMBLE; c++) at[c] = y[c] + (s ? reach * k[s - 1][c] : 0);
      euler_rates(at, k[s]);
    }
    for (int c = 0; c < TUMBLE; c++) y[c] += h / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
  }
}

/* Angle between the attitude after a rollout of some seconds and the exact one (rad). */
static double tumble_error(const abut_model *model, double dt, double seconds) {
  double exact[TUMBLE] = {1, 0, 0, 0}, v0[6] = {0}, q0[7] = {0, 0, 0, 1, 0, 0, 0};
  memcpy(exact + 4, tumble_spin, sizeof tumble_spin);
  memcpy(v0 + 3, tumble_spin, sizeof tumble_spin);
  tumble_exactly(seconds, exact);
  abut_options options = abut_default_options();
  options.timestep = dt;
  options.tolerance = 1e-11;
  int64_t steps = llround(seconds / dt);
  scene_run *r = scene_rollout(model, options, steps, q0, v0, NULL);
  if (!r) return NAN;
  const double *q = scene_xquat(r, 0, steps, 1);
  double overlap = 0;
  for (int c = 0; c < 4; c++) overlap += q[c] * exact[c];
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  return 2 * acos(fmin(1, fabs(overlap)));
}

TEST(tumbling_converges_at_first_order) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  scene_free_body(b, 0, 0, 0, 2, tumble_inertia[0], tumble_inertia[1], tumble_inertia[2]);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double last = tumble_error(model, 0.008, 2);
  CHECK(last < 0.05);
  for (double dt = 0.004; dt > 0.0009; dt /= 2) {
    double error = tumble_error(model, dt, 2), order = log2(last / error);
    if (!(order > 0.8 && order < 1.2))
      test_fail(__FILE__, __LINE__, "dt %g: error %g, order %g", dt, error, order);
    last = error;
  }
  abut_model_destroy(model);
}

/* Without torque, angular momentum (world axes) and energy fade at first order and never grow. */
TEST(tumbling_only_dissipates) {
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  scene_free_body(b, 0, 0, 0, 2, tumble_inertia[0], tumble_inertia[1], tumble_inertia[2]);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double v0[6] = {0, 0, 0, 2, 1, -3}, lost[2];
  for (int half = 0; half < 2; half++) {
    abut_options options = abut_default_options();
    options.timestep = half ? 0.0025 : 0.005;
    options.tolerance = 1e-11;
    int64_t steps = half ? 400 : 200;
    scene_run *r = scene_rollout(model, options, steps, NULL, v0, NULL);
    REQUIRE(r);
    for (int64_t t = 1; t < steps; t++) CHECK(scene_energy(r, 0, t) <= scene_energy(r, 0, t - 1) + 1e-12);
    lost[half] = 1 - scene_energy(r, 0, steps - 1) / scene_energy(r, 0, 0);
    scene_run_free(r);
  }
  CHECK(lost[0] > 0 && lost[0] < 0.2);
  CHECK(lost[0] / lost[1] > 1.7 && lost[0] / lost[1] < 2.3);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- pendulum */

/* Period of a pendulum of mass m whose centre hangs at a distance l, inertia i about the pivot, released at
 * angle a: 2 pi sqrt(i/(m g l)) / agm(1, cos(a/2)). */
static double pendulum_period(double i, double m, double l, double a) {
  double x = 1, y = cos(a / 2);
  for (int n = 0; n < 8; n++) {
    double mean = (x + y) / 2;
    y = sqrt(x * y);
    x = mean;
  }
  return 2 * 3.14159265358979323846 * sqrt(i / (m * g * l)) / x;
}

/* From one fall through the bottom to the next in the same direction, with dt; -1 if there is none. */
static double measured_period(const abut_model *model, double dt, double angle, double seconds) {
  double q0[1] = {angle}, crossing[2];
  int found = 0;
  abut_options options = abut_default_options();
  options.timestep = dt;
  options.tolerance = 1e-10;
  int64_t steps = llround(seconds / dt);
  scene_run *r = scene_rollout(model, options, steps, q0, (double[1]){0}, NULL);
  if (!r) return -1;
  CHECK(scene_failed(r) == 0);
  for (int64_t t = 0; t < steps && found < 2; t++) {
    double before = scene_qpos(r, 0, t)[0], after = scene_qpos(r, 0, t + 1)[0];
    if (before > 0 && after <= 0) crossing[found++] = dt * ((double)t + before / (before - after));
  }
  scene_run_free(r);
  return found == 2 ? crossing[1] - crossing[0] : -1;
}

TEST(pendulum_period_converges_at_first_order) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  double m = 1.3, l = 0.7, own = 0.02;
  int32_t bob = scene_body(b, 0, 0, 0, 2, m, own, own, own);
  scene_joint(b, scene_joint_def(bob, ABUT_JOINT_HINGE, 0, 1, 0, l));
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double exact = pendulum_period(own + m * l * l, m, l, 1), last = 0;
  for (double dt = 0.004; dt > 0.0004; dt /= 2) {
    double error = fabs(measured_period(model, dt, 1, 2.5) - exact), order = log2(last / error);
    CHECK(error < 0.05 * exact);
    if (last > 0 && !(order > 0.8 && order < 1.2))
      test_fail(__FILE__, __LINE__, "dt %g: error %g s of %g s, order %g", dt, error, exact, order);
    last = error;
  }
  abut_model_destroy(model);
}

/* A double pendulum without damping: the scheme takes energy, it never gives any. */
TEST(double_pendulum_only_dissipates) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  int32_t upper = scene_body(b, 0, 0, 0, 2, 1, 0.01, 0.01, 0.002);
  int32_t lower = scene_body(b, upper, 0, 0, -0.6, 0.7, 0.01, 0.01, 0.002);
  scene_joint(b, scene_joint_def(upper, ABUT_JOINT_HINGE, 0, 1, 0, 0.5));
  scene_joint(b, scene_joint_def(lower, ABUT_JOINT_HINGE, 0.2, 1, 0, 0.3));
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double q0[2] = {2.5, 1}, v0[2] = {1, -3};
  scene_run *r = scene_rollout(model, abut_default_options(), 500, q0, v0, NULL);
  REQUIRE(r);
  for (int64_t t = 1; t < 500; t++) CHECK(scene_energy(r, 0, t) <= scene_energy(r, 0, t - 1) + 1e-7);
  CHECK(scene_energy(r, 0, 499) < scene_energy(r, 0, 0) - 1);
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}
