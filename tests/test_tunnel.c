/* test_tunnel.c: nothing passes through a thin plate, however fast, and nothing beside it is touched. */
#include "scene.h"

enum { STEPS = 4, CUBE = 2 };
static const double speed = 50, dt = 0.04, half_plate = 10, half_cube = 0.01, thickness = 1e-3;

/* A fixed plate of 1 mm in the plane z = 0 and a cube of 2 cm. */
static abut_model *plate_and_cube(double half_width) {
  abut_builder *b = scene_begin(0);
  if (!b) return NULL;
  scene_geom(b, scene_body(b, 0, 0, 0, 0, 0, 0, 0, 0), ABUT_GEOM_BOX, half_width, half_width, thickness / 2);
  scene_geom(b, scene_free_body(b, 0, 0, 1, 0, 0, 0, 0), ABUT_GEOM_BOX, half_cube, half_cube, half_cube);
  return scene_finish(b);
}

/* Aimed at the middle of the plate from up to a step's way and anywhere around, spinning. */
static void throw_cube(uint64_t *seed, double q[7], double v[6]) {
  double d[3], away;
  do {
    scene_random_unit(seed, 3, d);
    away = 0.1 + speed * dt * scene_random(seed);
  } while (fabs(d[2]) * away < 0.03);
  for (int c = 0; c < 3; c++) {
    q[c] = -away * d[c] + (c < 2 ? scene_random(seed) - 0.5 : 0);
    v[c] = speed * d[c];
    v[3 + c] = 20 * (scene_random(seed) - 0.5);
  }
  scene_random_unit(seed, 4, q + 3);
}

/* Lowest corner of the cube above the plate's middle plane, on the side where it started. */
static double lowest_corner(const scene_run *r, int64_t env, int64_t step, double side) {
  double low = INFINITY;
  for (int k = 0; k < 8; k++) {
    double corner[3] = {k & 1 ? half_cube : -half_cube, k & 2 ? half_cube : -half_cube,
                        k & 4 ? half_cube : -half_cube},
           x[3];
    pose_point(scene_xpos(r, env, step, CUBE), scene_xquat(r, env, step, CUBE), corner, x);
    low = fmin(low, side * x[2]);
  }
  return low;
}

static void check_throws(abut_options options) {
  int64_t n = options.nenv;
  double *q0 = malloc((size_t)n * 7 * sizeof *q0), *v0 = malloc((size_t)n * 6 * sizeof *v0);
  abut_model *model = plate_and_cube(half_plate);
  REQUIRE(model && q0 && v0);
  uint64_t seed = 3;
  for (int64_t i = 0; i < n; i++) throw_cube(&seed, q0 + 7 * i, v0 + 6 * i);
  options.timestep = dt;
  options.max_iterations = 3000;
  scene_run *r = scene_rollout(model, options, STEPS, q0, v0, NULL);
  REQUIRE(r);
  int64_t hit = 0, passed = 0, penetrating = 0;
  for (int64_t i = 0; i < n; i++) {
    double side = q0[7 * i + 2] > 0 ? 1 : -1;
    for (int64_t t = 1; t <= STEPS; t++) {
      double low = lowest_corner(r, i, t, side);
      passed += low < -half_cube;
      penetrating += low <= thickness / 2;
    }
    hit += side * scene_qvel(r, i, STEPS)[2] > side * v0[6 * i + 2] + 0.1;
  }
  CHECK(passed == 0);
  CHECK(penetrating == 0);
  CHECK(hit == n); /* every one of them met the plate */
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
  free(q0);
  free(v0);
}

static abut_options throws(void) {
  abut_options o = abut_default_options();
  o.nenv = test_quick() ? 100 : 1000;
  return o;
}

TEST(thrown_cubes_never_pass) { check_throws(throws()); }

TEST(thrown_cubes_never_pass_with_a_short_reach) {
  abut_options o = throws();
  o.implicit.reach = 1e-4;
  check_throws(o);
}

TEST(thrown_cubes_never_pass_inverse) {
  abut_options o = throws();
  o.nenv = test_quick() ? 20 : 200;
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  check_throws(o);
}

/* A cube that flies past 1 mm beside the edge of a plate, at every angle to the plate, within one step: its
 * velocity stays what it was: where rounding ends a step, 1e-10 N m of contact may be left, 7e-8 rad/s. */
TEST(cube_beside_the_plate_is_not_slowed) {
  enum { WAYS = 64 };
  double q0[7 * WAYS], v0[6 * WAYS], pi = 3.14159265358979323846;
  abut_model *model = plate_and_cube(0.5);
  REQUIRE(model);
  for (int i = 0; i < WAYS; i++) { /* in the plane x = 0.5 + 1 mm + half a cube, through (., 0, 0) */
    double angle = 2 * pi * i / WAYS, d[3] = {0, cos(angle), sin(angle)}, away = 0.6 + 0.8 * (i % 7) / 7;
    double q[7] = {0.5 + 1e-3 + half_cube, -away * d[1], -away * d[2], 1, 0, 0, 0};
    double v[6] = {0, speed * d[1], speed * d[2], 0, 0, 0};
    memcpy(q0 + 7 * i, q, sizeof q);
    memcpy(v0 + 6 * i, v, sizeof v);
  }
  for (int k = 0; k < 2; k++) {
    abut_options options = abut_default_options();
    options.nenv = WAYS;
    options.timestep = dt;
    options.max_iterations = 3000;
    options.implicit.reach = k ? 2e-4 : 1e-3;
    options.tolerance = 1e-12;
    scene_run *r = scene_rollout(model, options, 1, q0, v0, NULL);
    REQUIRE(r);
    for (int i = 0; i < WAYS; i++)
      for (int c = 0; c < 6; c++) CHECK_NEAR(scene_qvel(r, i, 1)[c], v0[6 * i + c], 4e-9 * speed);
    CHECK(scene_failed(r) == 0);
    scene_run_free(r);
  }
  abut_model_destroy(model);
}
