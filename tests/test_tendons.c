/* test_tendons.c: lengths of tendons in closed form, what is derived from them, and what they do in the
 * implicit step: springs, damping, armature, limits, friction loss, actuators, equalities, wrapping. */
#include "gradient.h"
#include "scene.h"
#include "tendons.h"
#include "host/model/tendon.h"
#include <stdio.h>

/* ---------------------------------------------------------------------------------------- lengths */

/* Sites at 2 from the axis of a ball or shaft of radius 1, `angle` (degrees) apart and `rise` along it; a
 * third one, at `beside` from the axis, `at` from the first. */
static double wrapped_length(int32_t type, double angle, double rise, double beside, double at) {
  const double degree = M_PI / 180;
  abut_builder *b = scene_begin(0);
  const int32_t geom = tendon_geom(b, 0, type, 1, 0);
  const int32_t from = tendon_site(b, 0, 2, 0, 0);
  const int32_t to = tendon_site(b, 0, 2 * cos(angle * degree), 2 * sin(angle * degree), rise);
  const int32_t side = tendon_site(b, 0, beside * cos(at * degree), beside * sin(at * degree), 0);
  const abut_wrap way[] = {
      {ABUT_WRAP_SITE, from, 0},
      {type == ABUT_GEOM_SPHERE ? ABUT_WRAP_SPHERE : ABUT_WRAP_CYLINDER, geom, beside < 0 ? -1 : side},
      {ABUT_WRAP_SITE, to, 0}};
  tendon_add(b, tendon_def(way, 3));
  abut_model *m = scene_finish(b);
  if (!m) return NAN;
  const double length = m->tendon_length0[0];
  CHECK(m->tendon_invweight0[0] == 0);
  abut_model_destroy(m);
  return length;
}

TEST(ways_around_geoms) {
  const double free = 2 * sqrt(3), arc = M_PI / 180; /* a tangent is sqrt 3 long and leaves 60 degrees over */
  static const int32_t types[] = {ABUT_GEOM_SPHERE, ABUT_GEOM_CYLINDER};
  for (int i = 0; i < 2; i++) {
    CHECK_NEAR(wrapped_length(types[i], 150, 0, -1, 0), free + 30 * arc, 1e-12);
    CHECK_NEAR(wrapped_length(types[i], -150, 0, -1, 0), free + 30 * arc, 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 90, 0, -1, 0), sqrt(8), 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 150, 0, 3, 20), free + 30 * arc, 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 150, 0, 3, -50), free + 90 * arc, 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 90, 0, 3, -100), free + 150 * arc, 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 90, 0, 3, 10), sqrt(8), 1e-12);
    /* touches the inside half way; passes through it */
    CHECK_NEAR(wrapped_length(types[i], 60, 0, 0.5, 0), 2 * sqrt(5 - free), 1e-12);
    CHECK_NEAR(wrapped_length(types[i], 150, 0, 0.5, 0), 4 * sin(75 * arc), 1e-12);
  }
  CHECK_NEAR(wrapped_length(ABUT_GEOM_CYLINDER, 150, 1.5, -1, 0), hypot(free + 30 * arc, 1.5), 1e-12);
  CHECK_NEAR(wrapped_length(ABUT_GEOM_CYLINDER, 60, 1.5, 0.5, 0), hypot(2 * sqrt(5 - free), 1.5), 1e-12);
}

/* Two sliders along x under a cable of two strands, and their weighted sum. */
static abut_builder *two_sliders(double gravity, double mass0, double mass1) {
  abut_builder *b = scene_begin(gravity);
  const double mass[2] = {mass0, mass1};
  for (int i = 0; i < 2; i++) {
    const int32_t body = scene_body(b, 0, 0, i, 0, mass[i], 1, 1, 1);
    tendon_joint(b, body, ABUT_JOINT_SLIDE, 0, 0, 1);
    tendon_site(b, body, 0, 0, 0);
  }
  for (int i = 0; i < 2; i++) tendon_site(b, 0, 0, i, 1); /* above them */
  return b;
}
static const abut_wrap hoist[] = {
    {ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_SITE, 2, 0}, {ABUT_WRAP_SITE, 3, 0}, {ABUT_WRAP_SITE, 1, 0}};
static const abut_wrap tackle[] = {{ABUT_WRAP_SITE, 0, 0},
                                   {ABUT_WRAP_SITE, 2, 0},
                                   {ABUT_WRAP_PULLEY, -1, 4},
                                   {ABUT_WRAP_SITE, 3, 0},
                                   {ABUT_WRAP_SITE, 1, 0}};
static const abut_wrap weighted[] = {{ABUT_WRAP_JOINT, 0, 2}, {ABUT_WRAP_JOINT, 1, -3}};

TEST(derived_numbers) {
  abut_builder *b = two_sliders(0, 2, 5);
  tendon_add(b, tendon_def(hoist, 4));
  tendon_add(b, tendon_def(tackle, 5));
  abut_tendon_def sum = tendon_def(weighted, 2);
  sum.lengthspring[0] = -2, sum.lengthspring[1] = -1;
  tendon_add(b, sum);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  CHECK_NEAR(m->tendon_length0[0], 3, 1e-15);
  CHECK_NEAR(m->tendon_length0[1], 1.25, 1e-15);
  CHECK(m->tendon_length0[2] == 0);
  CHECK_NEAR(m->tendon_invweight0[0], 1 / 2. + 1 / 5., 1e-15);
  CHECK_NEAR(m->tendon_invweight0[1], 1 / 2. + 1 / 80., 1e-15);
  CHECK_NEAR(m->tendon_invweight0[2], 4 / 2. + 9 / 5., 1e-15);
  /* a spring without a rest length rests at the reference */
  CHECK(m->tendon_lengthspring[0] == m->tendon_length0[0] &&
        m->tendon_lengthspring[1] == m->tendon_length0[0]);
  CHECK(m->tendon_lengthspring[4] == -2 && m->tendon_lengthspring[5] == -1);
  abut_model_destroy(m);
}

/* Armature counts where both dofs are of one chain: the rotor of a winch on a hinge. */
TEST(armature_in_inverse_weights) {
  abut_builder *b = scene_begin(0);
  const int32_t body = scene_body(b, 0, 0, 0, 0, 1, 0.5, 0.5, 0.5);
  tendon_joint(b, body, ABUT_JOINT_HINGE, 0, 0, 1);
  const abut_wrap turn = {ABUT_WRAP_JOINT, 0, 2};
  abut_tendon_def def = tendon_def(&turn, 1);
  def.armature = 0.25;
  tendon_add(b, def);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  CHECK_NEAR(m->tendon_invweight0[0], 4 / 1.5, 1e-14); /* 0.5 + 2^2 0.25 = 1.5 */
  CHECK_NEAR(m->dof_invweight0[0], 1 / 1.5, 1e-14);
  abut_model_destroy(m);
}

/* Slopes against differences of lengths, over turned configurations. */
TEST(slopes_of_lengths) {
  abut_model *m = tendon_scene();
  REQUIRE(m);
  uint64_t seed = 5;
  double *qpos = calloc((size_t)m->nq, sizeof *qpos), *slope = calloc((size_t)m->nv, sizeof *slope);
  for (int round = 0; round < 10; round++) {
    memcpy(qpos, m->qpos0, (size_t)m->nq * sizeof *qpos);
    for (int32_t j = 0; j < m->njnt; j++) {
      double *q = qpos + m->jnt_qposadr[j];
      if (m->jnt_type[j] == ABUT_JOINT_BALL) scene_random_unit(&seed, 4, q);
      if (m->jnt_type[j] == ABUT_JOINT_HINGE) q[0] = scene_random(&seed) - 0.5;
    }
    for (int32_t t = 0; t < m->ntendon; t++) {
      model_pose pose;
      REQUIRE(model_pose_make(m, qpos, &pose) == ABUT_OK);
      model_tendon_length(m, qpos, &pose, t, slope);
      model_pose_free(&pose);
      for (int32_t j = 0; j < m->njnt; j++) { /* of the joints that are numbers */
        const int32_t at = m->jnt_qposadr[j];
        double length[2];
        if (m->jnt_type[j] != ABUT_JOINT_HINGE && m->jnt_type[j] != ABUT_JOINT_SLIDE) continue;
        for (int i = 0; i < 2; i++) {
          const double kept = qpos[at];
          qpos[at] += i ? 1e-6 : -1e-6;
          REQUIRE(model_pose_make(m, qpos, &pose) == ABUT_OK);
          length[i] = model_tendon_length(m, qpos, &pose, t, NULL);
          model_pose_free(&pose);
          qpos[at] = kept;
        }
        CHECK_NEAR(slope[m->jnt_dofadr[j]], (length[1] - length[0]) / 2e-6, 1e-8);
      }
    }
  }
  free(qpos);
  free(slope);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- one step */

/* Speeds of the two sliders after one step from rest, but for gravity at speed 1 and -1. */
static void one_step(abut_tendon_def def, double dt, double gravity, const double start[2], double *ctrl,
                     double speed[2]) {
  abut_builder *b = two_sliders(gravity, 2, 5);
  tendon_add(b, def);
  if (ctrl) tendon_actuator(b, 0, 4, 10, 3, 0);
  abut_model *m = scene_finish(b);
  speed[0] = speed[1] = NAN;
  if (!m) return;
  abut_options o = abut_default_options();
  o.timestep = dt;
  o.tolerance = 1e-12;
  double v0[2] = {start[0], start[1]};
  scene_run *r = scene_rollout(m, o, 1, NULL, v0, ctrl);
  if (r) memcpy(speed, scene_qvel(r, 0, 1), 2 * sizeof *speed);
  CHECK(r && scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(m);
}

/* (M + a J J^T + dt c J J^T + dt^2 k J J^T) v+ = M (v + dt g) + a J J^T v + dt f J, J = (2, -3), M = (2, 5).
 */
static void expect_speed(double armature, double drag, double force, double dt, double gravity,
                         const double start[2], double out[2]) {
  const double mass[2] = {2, 5}, slope[2] = {2, -3}, along = 2 * start[0] - 3 * start[1];
  double side[2], a = armature + drag;
  for (int i = 0; i < 2; i++)
    side[i] = mass[i] * (start[i] + dt * gravity) + slope[i] * (armature * along + dt * force);
  const double h00 = mass[0] + a * 4, h01 = -6 * a, h11 = mass[1] + a * 9, det = h00 * h11 - h01 * h01;
  out[0] = (h11 * side[0] - h01 * side[1]) / det;
  out[1] = (h00 * side[1] - h01 * side[0]) / det;
}

TEST(fixed_tendon_step) {
  const double dt = 0.02, g = -9.81, start[2] = {1, -1};
  double got[2], want[2], ctrl = 0.7;
  abut_tendon_def def = tendon_def(weighted, 2);
  def.stiffness = 30, def.damping = 4;
  one_step(def, dt, g, start, NULL, got);
  expect_speed(0, dt * 4 + dt * dt * 30, 0, dt, g, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  /* armature couples the sliders though they hang on nothing common */
  def = tendon_def(weighted, 2), def.armature = 3;
  one_step(def, dt, g, start, NULL, got);
  expect_speed(3, 0, 0, dt, g, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  /* gear 1.5: force 1.5 (4 u - 10 (1.5 L) - 3 (1.5 L')) */
  def = tendon_def(weighted, 2);
  one_step(def, dt, g, start, &ctrl, got);
  expect_speed(0, 2.25 * (dt * 3 + dt * dt * 10), 1.5 * 4 * ctrl, dt, g, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  /* beyond its rest lengths, -2 to -1, the spring pulls at once: by k (L + 1), L = 0 */
  def = tendon_def(weighted, 2);
  def.stiffness = 30, def.lengthspring[0] = -2, def.lengthspring[1] = -1;
  one_step(def, dt, g, start, NULL, got);
  expect_speed(0, dt * dt * 30, -30, dt, g, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  /* and not between them */
  def.lengthspring[1] = 1;
  one_step(def, dt, g, start, NULL, got);
  expect_speed(0, 0, 0, dt, g, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-9);
  /* friction loss that slips everywhere: a constant force against L' */
  def = tendon_def(weighted, 2), def.frictionloss = 2;
  one_step(def, dt, 0, start, NULL, got);
  expect_speed(0, 0, -2, dt, 0, start, want);
  for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-8);
}

/* ---------------------------------------------------------------------------------------- hoists */

static const double g = 9.81;

/* Two weights of 2 and 5 kg over two pulleys, by a rope of which `def` says what holds it. Returns how the
 * first has moved after 0.5 s. */
static double hoisted(abut_tendon_def def, int tied, double dt, double lengths[2]) {
  abut_builder *b = two_sliders(-g, 2, 5);
  tendon_add(b, def);
  if (tied) tendon_equality(b, 0, -1, 0, 0);
  abut_model *m = scene_finish(b);
  if (!m) return NAN;
  abut_options o = abut_default_options();
  o.timestep = dt;
  const int64_t steps = (int64_t)round(0.5 / dt);
  scene_run *r = scene_rollout(m, o, steps, NULL, NULL, NULL);
  double moved = NAN;
  if (r) {
    const double *q = scene_qpos(r, 0, steps);
    moved = q[0];
    lengths[0] = m->tendon_length0[0];
    lengths[1] = 3 - q[0] - q[1];
    CHECK(scene_failed(r) == 0);
  }
  scene_run_free(r);
  abut_model_destroy(m);
  return moved;
}

/* Atwood's machine: (5 - 2) g/(5 + 2), within what the rope gives. */
TEST(weights_on_a_rope) {
  const double fall = 0.5 * (3 * g / 7) * 0.25;
  double lengths[2];
  abut_tendon_def def = tendon_def(hoist, 4);
  def.limited = 1, def.range[1] = 3;
  def.solref[0] = 0.005;
  CHECK_NEAR(hoisted(def, 0, 5e-4, lengths), fall, 2e-3);
  CHECK(lengths[1] > lengths[0] && lengths[1] < lengths[0] + 1e-3);
  def = tendon_def(hoist, 4);
  CHECK_NEAR(hoisted(def, 1, 5e-4, lengths), fall, 0.05); /* its time constant is 0.1 s */
  def.stiffness = 1e6, def.damping = 1e3;
  CHECK_NEAR(hoisted(def, 0, 5e-4, lengths), fall, 2e-3);
  /* a rope with much inertia of its own: (5 - 2) g/(5 + 2 + ...) does not change, as its length does not */
  def.armature = 10;
  CHECK_NEAR(hoisted(def, 0, 5e-4, lengths), fall, 2e-3);
}

/* A weight on a rope that is limited, at rest: m g = K d^2 r/((1 - d) A) by the default solref and solimp. */
TEST(rope_at_rest) {
  abut_builder *b = scene_begin(-g);
  const int32_t body = scene_body(b, 0, 0, 0, 0, 3, 1, 1, 1);
  abut_joint_def slide = scene_joint_def(body, ABUT_JOINT_SLIDE, 0, 0, 1, 0);
  slide.damping = 20;
  scene_joint(b, slide);
  const int32_t low = tendon_site(b, body, 0, 0, 0), high = tendon_site(b, 0, 0, 0, 1);
  const abut_wrap straight[] = {{ABUT_WRAP_SITE, low, 0}, {ABUT_WRAP_SITE, high, 0}};
  abut_tendon_def def = tendon_def(straight, 2);
  def.limited = 1, def.range[1] = 1;
  tendon_add(b, def);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  abut_options o = abut_default_options();
  o.timestep = 0.02;
  o.tolerance = 1e-9;
  scene_run *r = scene_rollout(m, o, 500, NULL, NULL, NULL);
  REQUIRE(r);
  double sag = 0; /* r below half of solimp's width of 1e-3 */
  for (int i = 0; i < 60; i++) {
    const double x = sag / 1e-3, d = 0.9 + 0.05 * 2 * x * x;
    sag = 3 * g / (d * d / (1 - d) * 3 / pow(0.95 * 0.02, 2));
  }
  CHECK(sag > 5e-5 && sag < 5e-4);
  CHECK_NEAR(scene_qpos(r, 0, 500)[0], -sag, 1e-9);
  scene_run_free(r);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- wrapping */

/* The steps' lengths are those of the host, through the energy of springs: no other tendon has one. */
TEST(steps_wrap_as_the_host_does) {
  static const int32_t types[] = {ABUT_GEOM_SPHERE, ABUT_GEOM_CYLINDER};
  for (int i = 0; i < 4; i++) {
    abut_builder *b = scene_begin(-g);
    const int32_t drum = scene_free_body(b, 0, 0, 0, 2, 0.1, 0.2, 0.25);
    const int32_t geom = tendon_geom(b, drum, types[i / 2], 0.3, 0.7);
    const int32_t from = tendon_site(b, 0, 1, 0.1, 0), to = tendon_site(b, 0, -1, 0.2, 0.3);
    const int32_t side = tendon_site(b, drum, 0.02, 0.6, 0.1);
    const abut_wrap way[] = {
        {ABUT_WRAP_SITE, from, 0},
        {types[i / 2] == ABUT_GEOM_SPHERE ? ABUT_WRAP_SPHERE : ABUT_WRAP_CYLINDER, geom, i % 2 ? side : -1},
        {ABUT_WRAP_SITE, to, 0}};
    abut_tendon_def def = tendon_def(way, 3);
    def.stiffness = 40, def.damping = 0.1;
    def.lengthspring[0] = def.lengthspring[1] = 1.9;
    tendon_add(b, def);
    abut_model *m = scene_finish(b);
    REQUIRE(m);
    abut_options o = abut_default_options();
    o.timestep = 0.005;
    double start[6] = {0.2, 0.3, -0.5, 1, -2, 3};
    scene_run *r = scene_rollout(m, o, 300, NULL, start, NULL);
    REQUIRE(r);
    CHECK(scene_failed(r) == 0);
    int wrapped = 0, straight = 0, same = 0;
    for (int64_t t = 1; t <= 300; t++) {
      const double *q = scene_qpos(r, 0, t), *e = r->energy + 4 * (t - 1);
      model_pose pose;
      REQUIRE(model_pose_make(m, q, &pose) == ABUT_OK);
      const double length = model_tendon_length(m, q, &pose, 0, NULL), shortest = sqrt(4 + 0.01 + 0.09);
      model_pose_free(&pose);
      wrapped += length > shortest + 1e-6, straight += length < shortest + 1e-12;
      same += fabs(e[3] - 20 * pow(length - 1.9, 2)) < 1e-9;
    }
    /* a step that crosses to the other side goes on around the same one to its end */
    CHECK(same >= 295);
    CHECK(wrapped > 20 && wrapped + straight > 250);
    scene_run_free(r);
    abut_model_destroy(m);
  }
}

/* Three free bodies, a tendon from one around the second to the third: nothing pushes from outside. */
TEST(wrapping_conserves_momentum) {
  abut_builder *b = scene_begin(0);
  int32_t body[3], site[2];
  for (int i = 0; i < 3; i++)
    body[i] = scene_free_body(b, 0.7 * (i - 1), 0.1 * i, 0.2 * i * i, 1 + i, 0.1, 0.2, 0.15);
  const int32_t geom = tendon_geom(b, body[1], ABUT_GEOM_CYLINDER, 0.25, 0.5);
  for (int i = 0; i < 2; i++) site[i] = tendon_site(b, body[2 * i], 0.05, 0.1, 0);
  const abut_wrap way[] = {
      {ABUT_WRAP_SITE, site[0], 0}, {ABUT_WRAP_CYLINDER, geom, -1}, {ABUT_WRAP_SITE, site[1], 0}};
  abut_tendon_def def = tendon_def(way, 3);
  def.stiffness = 50, def.damping = 1;
  def.lengthspring[0] = def.lengthspring[1] = 1;
  tendon_add(b, def);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  double start[18] = {0.5, 0, -0.2, 1, 0, -1, 0, 0.3, 0, 2, 1, 0, -0.1, 0.2, 0.3, 0, 0, 1}, first[3], p[3];
  abut_options o = abut_default_options();
  o.tolerance = 1e-11;
  scene_run *r = scene_rollout(m, o, 200, NULL, start, NULL);
  REQUIRE(r);
  const double size = scene_momentum(m, r, 0, 0, first);
  for (int64_t t = 1; t < 200; t++) {
    scene_momentum(m, r, 0, t, p);
    for (int c = 0; c < 3; c++) CHECK_NEAR(p[c], first[c], 1e-9 * size);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- everything */

TEST(gradient_of_everything) {
  abut_model *m = tendon_scene();
  REQUIRE(m);
  problem p;
  REQUIRE(problem_create(&p, "tendons", m, abut_default_options(), 6));
  problem_random(&p, 3, 0.8, 0.9);
  checked c = problem_check(&p);
  CHECK(c.failed == 0 && c.status == 0);
  CHECK(c.largest[IN_QPOS] > 0 && c.largest[IN_QVEL] > 0 && c.largest[IN_CTRL] > 0);
  problem_free(&p);
}

/* Lanes that begin their steps at other times than their neighbours keep what is theirs. */
TEST(alone_as_in_a_batch) {
  enum { ENVS = 11, STEPS = 25 };
  abut_model *m = tendon_scene();
  REQUIRE(m);
  uint64_t seed = 9;
  double *start = calloc((size_t)(ENVS * m->nv), sizeof *start);
  for (int32_t i = 0; i < ENVS * m->nv; i++) start[i] = (i / m->nv) * (scene_random(&seed) - 0.5);
  abut_options o = abut_default_options();
  o.nenv = ENVS;
  scene_run *all = scene_rollout(m, o, STEPS, NULL, start, NULL);
  REQUIRE(all);
  o.nenv = 1;
  for (int64_t e = 0; e < ENVS; e += 2) {
    scene_run *one = scene_rollout(m, o, STEPS, NULL, start + e * m->nv, NULL);
    REQUIRE(one);
    CHECK(!memcmp(one->qpos, scene_qpos(all, e, 0), (size_t)((STEPS + 1) * m->nq) * sizeof(double)));
    CHECK(!memcmp(one->energy, all->energy + 4 * STEPS * e, 4 * STEPS * sizeof(double)));
    scene_run_free(one);
  }
  scene_run_free(all);
  free(start);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- refused */

static void refused(abut_model *m, const char *why) {
  abut_options o = abut_default_options();
  abut_batch *batch = NULL;
  REQUIRE(m);
  CHECK_STATUS(abut_batch_create(m, &o, &batch), ABUT_ERROR_UNSUPPORTED);
  if (!strstr(abut_error_message(), why))
    test_fail(__FILE__, __LINE__, "'%s': %s", why, abut_error_message());
  abut_model_destroy(m);
}

/* A tendon around a ball, its side site on a body at (x, 0, 0). */
static abut_model *sided(int32_t moving, double x, double stiffness) {
  abut_builder *b = scene_begin(0);
  const int32_t body = scene_free_body(b, 0, 0, 0, 1, 1, 1, 1);
  const int32_t geom = tendon_geom(b, body, ABUT_GEOM_SPHERE, 0.3, 0);
  const int32_t from = tendon_site(b, 0, 0, -1, 0), to = tendon_site(b, 0, 0, 1, 0);
  const int32_t side = tendon_site(b, moving ? body : 0, x, 0, 0);
  const abut_wrap way[] = {
      {ABUT_WRAP_SITE, from, 0}, {ABUT_WRAP_SPHERE, geom, side}, {ABUT_WRAP_SITE, to, 0}};
  abut_tendon_def def = tendon_def(way, 3);
  def.name = "band";
  def.stiffness = stiffness;
  tendon_add(b, def);
  return scene_finish(b);
}

TEST(what_tendons_cannot_do) {
  refused(sided(1, 0.1, 1),
          "tendon 'band': the implicit step has no tendon through a geom, as its side site lies inside");
  refused(sided(0, 0.5, 1),
          "tendon 'band': the implicit step has no tendon around a geom against which its side site moves");
  abut_model *idle = sided(1, 0.1, 0); /* nothing acts on it */
  REQUIRE(idle);
  abut_options o = abut_default_options();
  scene_run *r = scene_rollout(idle, o, 3, NULL, NULL, NULL);
  CHECK(r && scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(idle);
  abut_builder *b = two_sliders(0, 1, 1);
  abut_tendon_def def = tendon_def(weighted, 2);
  def.name = "sum", def.actfrclimited = 1, def.actfrcrange[1] = 1;
  tendon_add(b, def);
  tendon_actuator(b, 0, 1, 0, 0, 0);
  refused(scene_finish(b), "tendon 'sum': the implicit step has no limit of the sum of actuators' forces");
}
