/* test_scale.c: nothing in the library knows how large a metre is. A scene scaled by a power of two in length
 * and mass, with options scaled alike, goes through the very same numbers: no constant with a unit hides in
 * the separation or in a step. */
#include "host/model/model.h"
#include "scene.h"
#include <stdio.h>

enum { STEPS = 60, NQ = 21 };

static void add_box(abut_builder *b, double l, double x, double z, double half, double mass) {
  double inertia = 2.0 / 3 * mass * half * half;
  int32_t body = scene_free_body(b, l * x, 0, l * z, l * mass, l * l * l * inertia, l * l * l * inertia,
                                 l * l * l * inertia);
  scene_geom(b, body, ABUT_GEOM_BOX, l * half, l * half, l * half);
}

/* A stack that touches exactly, and a capsule that lies beside it. Time is not scaled, so gravity is. */
static abut_model *scaled_scene(double l) {
  abut_builder *b = scene_begin(-9.81 * l);
  if (!b) return NULL;
  scene_floor(b);
  add_box(b, l, 0, 0.125, 0.125, 8);
  add_box(b, l, 0.03, 0.3125, 0.0625, 1);
  int32_t lying = scene_free_body(b, 0.5 * l, 0.01 * l, 0.07 * l, l, 0.01 * l * l * l, 0.01 * l * l * l,
                                  0.002 * l * l * l);
  abut_geom_def def = abut_default_geom_def();
  def.body = lying;
  def.type = ABUT_GEOM_CAPSULE;
  def.size[0] = 0.0625 * l, def.size[1] = 0.125 * l;
  def.quat[0] = def.quat[1] = 0.5, def.quat[2] = def.quat[3] = 0.5; /* along x */
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
  return scene_finish(b);
}

/* Time is not scaled. */
static void scaled_options(abut_options *o, int32_t contact, double l, double mass) {
  int local = contact == ABUT_CONTACT_LOCAL;
  o->implicit.contact = contact;
  o->implicit.length = l;
  o->implicit.stiffness = (local ? 1e-7 : 1e-8) * mass * l * l;
  o->implicit.gap0 = (local ? 5e-4 : 1e-4) * l;
  o->implicit.max_separation = 5e-3 * l;
  o->implicit.slip_velocity = 1e-4 * l;
  o->tolerance = 1e-6 * mass * l;
}

static void check_scale(int32_t contact, double l) {
  double end[2][NQ];
  for (int k = 0; k < 2; k++) {
    double s = k ? l : 1;
    abut_model *model = scaled_scene(s);
    REQUIRE(model);
    abut_options o = abut_default_options();
    o.nenv = 1;
    o.threads = 1;
    scaled_options(&o, contact, s, s);
    scene_run *r = scene_rollout(model, o, STEPS, NULL, NULL, NULL);
    REQUIRE(r);
    CHECK(scene_failed(r) == 0);
    memcpy(end[k], scene_qpos(r, 0, STEPS), sizeof end[k]);
    for (int i = 0; i < NQ; i++)
      if (i % 7 < 3) end[k][i] /= s;
    scene_run_free(r);
    abut_model_destroy(model);
  }
  /* rounding may differ where a power of two meets a threshold; a hidden unit would show in the first digits
   */
  for (int i = 0; i < NQ; i++) CHECK_NEAR(end[1][i], end[0][i], 1e-11);
}

static void check_scales(int32_t contact) {
  check_scale(contact, 0x1p-10);
  check_scale(contact, 0x1p10);
}
TEST(local_scales) { check_scales(ABUT_CONTACT_LOCAL); }
TEST(inverse_scales) { check_scales(ABUT_CONTACT_INVERSE); }

/* ---------------------------------------------------------------------------------------- whole scenes */

static void scale(double *values, int64_t count, double by) {
  for (int64_t i = 0; i < count; i++) values[i] *= by;
}

/* One state: what slides, and the first three of a free joint, are lengths; the rest turns. */
static void scale_state(const abut_model *m, double *qpos, double *qvel, double l) {
  for (int32_t j = 0; j < m->njnt; j++) {
    int32_t type = m->jnt_type[j], lengths = type == ABUT_JOINT_FREE ? 3 : type == ABUT_JOINT_SLIDE;
    if (qpos) scale(qpos + m->jnt_qposadr[j], lengths, l);
    if (qvel) scale(qvel + m->jnt_dofadr[j], lengths, l);
  }
}

/* A joint's forces: mass * l / s^2 against slides, mass * l^2 / s^2 against hinges and balls. */
static void scale_joint(abut_model *m, int32_t j, double l, double mass) {
  int slides = m->jnt_type[j] == ABUT_JOINT_SLIDE;
  double inertia = slides ? mass : mass * l * l;
  m->jnt_stiffness[j] *= inertia;
  m->jnt_damping[j] *= inertia;
  m->jnt_armature[j] *= inertia;
  m->jnt_frictionloss[j] *= slides ? mass * l : inertia;
  if (slides) scale(m->jnt_range + 2 * j, 2, l);
}

static void scale_actuator(abut_model *m, int32_t a, double l, double mass) {
  int slides = m->jnt_type[m->actuator_trnid[2 * a]] == ABUT_JOINT_SLIDE;
  double force = slides ? mass * l : mass * l * l;
  m->actuator_gain[3 * a] *= force;
  m->actuator_bias[3 * a] *= force;
  scale(m->actuator_bias + 3 * a + 1, 2, slides ? mass : force);
  scale(m->actuator_forcerange + 2 * a, 2, force);
}

/* Lengths times l, masses times mass; time stays. */
static void scale_model(abut_model *m, double l, double mass) {
  scale(m->option.gravity, 3, l);
  scale(m->body_pos, 3 * m->nbody, l);
  scale(m->body_ipos, 3 * m->nbody, l);
  scale(m->body_mass, m->nbody, mass);
  scale(m->body_inertia, 3 * m->nbody, mass * l * l);
  scale(m->jnt_pos, 3 * m->njnt, l);
  scale(m->geom_size, 3 * m->ngeom, l);
  scale(m->geom_pos, 3 * m->ngeom, l);
  scale(m->geom_radius, m->ngeom, l);
  scale(m->geom_hull_error, m->ngeom, l);
  scale(m->point, 3 * m->npoint, l);
  scale_state(m, m->qpos0, NULL, l);
  scale_state(m, m->qpos_spring, NULL, l);
  for (int32_t j = 0; j < m->njnt; j++) scale_joint(m, j, l, mass);
  for (int32_t a = 0; a < m->nu; a++) scale_actuator(m, a, l, mass);
  CHECK_STATUS(model_validate(m), ABUT_OK);
  model_derive(m);
}

enum { SCENE_ENVS = 2, SCENE_STEPS = 40 };
static const double more_iterations =
    0.03; /* share by which scales may differ: rounding decides where a pile falls */

/* Every body is thrown a little, actuators hold half of their range. */
static scene_run *run_scaled(const char *name, int32_t contact, double l, double mass) {
  char path[64];
  snprintf(path, sizeof path, "scenes/%s.abut", name);
  abut_model *m = scene_model(path);
  if (!m) return NULL;
  abut_options o = abut_default_options();
  o.nenv = SCENE_ENVS;
  o.threads = 1;
  scaled_options(&o, contact, l, mass);
  double *qpos = calloc((size_t)(SCENE_ENVS * m->nq + 1), sizeof *qpos);
  double *qvel = calloc((size_t)(SCENE_ENVS * m->nv + 1), sizeof *qvel);
  double *ctrl = calloc((size_t)m->nu + 1, sizeof *ctrl);
  uint64_t seed = 1;
  scale_model(m, l, mass);
  for (int i = 0; i < SCENE_ENVS; i++) {
    memcpy(qpos + i * m->nq, m->qpos0, (size_t)m->nq * sizeof *qpos);
    for (int32_t d = 0; d < m->nv; d++) qvel[i * m->nv + d] = 0.1 * (2 * scene_random(&seed) - 1);
    scale_state(m, NULL, qvel + i * m->nv, l);
  }
  for (int32_t a = 0; a < m->nu; a++) ctrl[a] = (a % 2 ? 0.5 : -0.5) * m->actuator_ctrlrange[2 * a + 1];
  scene_run *r = scene_rollout(m, o, SCENE_STEPS, qpos, qvel, ctrl);
  for (int64_t i = 0; r && i < SCENE_ENVS * (SCENE_STEPS + 1); i++)
    scale_state(m, r->qpos + i * m->nq, r->qvel + i * m->nv, 1 / l);
  free(qpos);
  free(qvel);
  free(ctrl);
  abut_model_destroy(m);
  return r;
}

/* Largest difference of two rollouts' configurations in the units of the first (m, rad). */
static double difference(const scene_run *a, const scene_run *b) {
  double largest = 0;
  for (int64_t i = 0; i < SCENE_ENVS * (SCENE_STEPS + 1) * a->size.nq; i++)
    largest = fmax(largest, fabs(a->qpos[i] - b->qpos[i]));
  return largest;
}

/* A power of two changes no bit. With other scales rounding differs from the first number on, and grows as
 * the motion lets it. */
static void check_scene(const char *name, int32_t contact, double tolerance) {
  static const double factors[] = {0x1p-10, 0x1p10, 1e-3, 1e3};
  scene_run *whole = run_scaled(name, contact, 1, 1);
  REQUIRE(whole);
  CHECK(scene_failed(whole) == 0);
  double iterations = (double)whole->result.newton_iterations;
  for (int i = 0; i < 4; i++) {
    scene_run *r = run_scaled(name, contact, factors[i], factors[i]);
    REQUIRE(r);
    double apart = difference(whole, r), more = (double)r->result.newton_iterations / iterations;
    if (scene_failed(r) || !(apart <= (i < 2 ? 0 : tolerance)) || !(fabs(more - 1) <= more_iterations))
      test_fail(__FILE__, __LINE__,
                "%s, contact %d, times %g: %lld failed, %.3g apart, %.3f times the iterations", name, contact,
                factors[i], (long long)scene_failed(r), apart, more);
    scene_run_free(r);
  }
  scene_run_free(whole);
}

TEST(every_scene_scales) {
  static const char *const names[] = {"stack5", "ant_box", "chains4x8", "pile", "incline", "arm_mesh"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i += test_quick() ? 2 : 1)
    for (int32_t contact = ABUT_CONTACT_LOCAL; contact <= ABUT_CONTACT_INVERSE; contact++)
      check_scene(names[i], contact, 1e-5);
}

/* Nineteen planks that touch exactly start up to 3e-5 m apart: of two equal gaps rounding decides which
 * counts. */
TEST(planks_scale) {
  check_scene("planks20", ABUT_CONTACT_LOCAL, 1e-3);
  if (!test_quick()) check_scene("planks20", ABUT_CONTACT_INVERSE, 1e-3);
}
