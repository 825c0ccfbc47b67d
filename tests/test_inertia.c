/* test_inertia.c: joint-space inertia and gravity of a compiled scene (host/model/dynamics.h). */
#include "host/model/dynamics.h"
#include "host/model/model.h"
#include "host/shape/moment.h"
#include "scene.h"

enum { MOST_DOFS = 32, MOST_BODIES = 8 };

/* A body with an arbitrary frame, centre of mass and inertia. */
static int32_t add_any_body(abut_builder *builder, int32_t parent, uint64_t *seed) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.parent = parent;
  def.mass = 0.5 + scene_random(seed);
  for (int k = 0; k < 3; k++) {
    def.pos[k] = scene_random(seed) - 0.5;
    def.ipos[k] = 0.4 * (scene_random(seed) - 0.5);
    def.inertia[k] = 0.02 + 0.01 * scene_random(seed);
  }
  scene_random_unit(seed, 4, def.quat);
  scene_random_unit(seed, 4, def.iquat);
  CHECK_STATUS(abut_builder_add_body(builder, &def, &id), ABUT_OK);
  return id;
}

static void add_any_joint(abut_builder *builder, int32_t body, int32_t type, double armature,
                          uint64_t *seed) {
  abut_joint_def def = abut_default_joint_def();
  def.body = body;
  def.type = type;
  def.armature = armature;
  for (int k = 0; k < 3 && type != ABUT_JOINT_FREE; k++) def.pos[k] = 0.3 * (scene_random(seed) - 0.5);
  scene_random_unit(seed, 3, def.axis);
  def.ref = type >= ABUT_JOINT_SLIDE ? 0.3 : 0;
  CHECK_STATUS(abut_builder_add_joint(builder, &def, NULL), ABUT_OK);
}

/* Every kind of joint, several on one body, bodies without any, and two trees. */
static abut_model *make_tree(double armature) {
  uint64_t seed = 7;
  abut_builder *builder = scene_begin(-9.81);
  scene_gravity(builder, 1, -2, -9);
  int32_t root = add_any_body(builder, 0, &seed);
  add_any_joint(builder, root, ABUT_JOINT_FREE, armature, &seed);
  int32_t fixed = add_any_body(builder, root, &seed), ball = add_any_body(builder, fixed, &seed);
  add_any_joint(builder, ball, ABUT_JOINT_BALL, armature, &seed);
  int32_t several = add_any_body(builder, ball, &seed);
  add_any_joint(builder, several, ABUT_JOINT_HINGE, armature, &seed);
  add_any_joint(builder, several, ABUT_JOINT_SLIDE, armature, &seed);
  add_any_joint(builder, several, ABUT_JOINT_HINGE, armature, &seed);
  add_any_body(builder, several, &seed);
  int32_t other = add_any_body(builder, 0, &seed);
  add_any_joint(builder, other, ABUT_JOINT_SLIDE, armature, &seed);
  add_any_joint(builder, other, ABUT_JOINT_BALL, armature, &seed);
  abut_model *model = NULL;
  CHECK_STATUS(abut_builder_finish(builder, &model), ABUT_OK);
  abut_builder_destroy(builder);
  return model;
}

/* qpos moved by h along v: MuJoCo's convention, to first order beyond rounding (quaternions are normalised).
 */
static void move(const abut_model *m, const double *qpos, const double *v, double h, double *out) {
  memcpy(out, qpos, (size_t)m->nq * sizeof *out);
  for (int32_t j = 0; j < m->njnt; j++) {
    int32_t type = m->jnt_type[j];
    double *q = out + m->jnt_qposadr[j];
    const double *w = v + m->jnt_dofadr[j];
    if (type >= ABUT_JOINT_SLIDE) q[0] += h * w[0];
    if (type == ABUT_JOINT_FREE) {
      for (int k = 0; k < 3; k++) q[k] += h * w[k];
      q += 3, w += 3;
    }
    if (type > ABUT_JOINT_BALL) continue;
    const double x = h / 2 * w[0], y = h / 2 * w[1], z = h / 2 * w[2];
    const double turned[4] = {q[0] - q[1] * x - q[2] * y - q[3] * z, q[1] + q[0] * x + q[2] * z - q[3] * y,
                              q[2] + q[0] * y + q[3] * x - q[1] * z, q[3] + q[0] * z + q[1] * y - q[2] * x};
    double length = sqrt(1 + x * x + y * y + z * z);
    for (int k = 0; k < 4; k++) q[k] = turned[k] / length;
  }
}

/* Centres of mass and the principal axes scaled so that half their squared velocities are the energy. */
typedef struct marks {
  double at[MOST_BODIES][4][3], mass[MOST_BODIES][4];
} marks;

/* Four point masses have a body's mass and inertia: one at the centre, one on each principal axis and its
 * mirror (whose velocities relative to the centre are opposite, so that one stands for both). */
static marks make_marks(const abut_model *m, const double *qpos) {
  marks result = {0};
  model_pose pose;
  CHECK_STATUS(model_pose_make(m, qpos, &pose), ABUT_OK);
  for (int32_t b = 1; b < m->nbody; b++) {
    const double *inertia = m->body_inertia + 3 * b;
    double half = (inertia[0] + inertia[1] + inertia[2]) / 2;
    pose_point(pose.xpos + 3 * b, pose.xquat + 4 * b, m->body_ipos + 3 * b, result.at[b][0]);
    result.mass[b][0] = m->body_mass[b];
    for (int k = 0; k < 3; k++) {
      double unit[3] = {k == 0, k == 1, k == 2}, local[3];
      quat_turn(m->body_iquat + 4 * b, unit, local);
      quat_turn(pose.xquat + 4 * b, local, result.at[b][k + 1]);
      result.mass[b][k + 1] = half - inertia[k];
    }
  }
  model_pose_free(&pose);
  return result;
}

/* Kinetic energy at velocity v by central differences, and the power of gravity. */
static double kinetic_energy(const abut_model *m, const double *qpos, const double *v, double *power) {
  const double h = 1e-5;
  double ahead[64], behind[64], sum = 0;
  move(m, qpos, v, h, ahead);
  move(m, qpos, v, -h, behind);
  marks a = make_marks(m, ahead), b = make_marks(m, behind);
  *power = 0;
  for (int32_t i = 1; i < m->nbody; i++)
    for (int p = 0; p < 4; p++)
      for (int k = 0; k < 3; k++) {
        double speed = (a.at[i][p][k] - b.at[i][p][k]) / (2 * h);
        sum += a.mass[i][p] * speed * speed / 2;
        if (p == 0) *power += a.mass[i][p] * m->option.gravity[k] * speed;
      }
  return sum;
}

/* Any configuration, quaternions unit. */
static void any_configuration(const abut_model *m, uint64_t *seed, double *qpos) {
  for (int32_t q = 0; q < m->nq; q++) qpos[q] = 2 * scene_random(seed) - 1;
  for (int32_t j = 0; j < m->njnt; j++)
    if (m->jnt_type[j] <= ABUT_JOINT_BALL)
      scene_random_unit(seed, 4, qpos + m->jnt_qposadr[j] + (m->jnt_type[j] == ABUT_JOINT_FREE ? 3 : 0));
}

TEST(inertia_is_that_of_moving_masses) {
  abut_model *m = make_tree(0);
  REQUIRE(m && m->nv <= MOST_DOFS && m->nbody <= MOST_BODIES);
  uint64_t seed = 3;
  for (int trial = 0; trial < 20; trial++) {
    double qpos[64], v[MOST_DOFS], mass[MOST_DOFS * MOST_DOFS], force[MOST_DOFS], energy = 0, work = 0, power;
    any_configuration(m, &seed, qpos);
    for (int32_t d = 0; d < m->nv; d++) v[d] = 2 * scene_random(&seed) - 1;
    CHECK_STATUS(model_mass_matrix(m, qpos, mass), ABUT_OK);
    CHECK_STATUS(model_gravity_force(m, qpos, force), ABUT_OK);
    for (int32_t d = 0; d < m->nv; d++) work += force[d] * v[d];
    for (int32_t d = 0; d < m->nv; d++)
      for (int32_t e = 0; e < m->nv; e++) energy += v[d] * mass[d * m->nv + e] * v[e] / 2;
    CHECK_REL(energy, kinetic_energy(m, qpos, v, &power), 1e-8);
    CHECK_REL(work, power, 1e-8);
  }
  abut_model_destroy(m);
}

TEST(armature_is_on_the_diagonal) {
  abut_model *without = make_tree(0), *with = make_tree(0.25);
  REQUIRE(without && with && with->nv <= MOST_DOFS);
  double a[MOST_DOFS * MOST_DOFS], b[MOST_DOFS * MOST_DOFS];
  CHECK_STATUS(model_mass_matrix(without, without->qpos0, a), ABUT_OK);
  CHECK_STATUS(model_mass_matrix(with, with->qpos0, b), ABUT_OK);
  for (int32_t d = 0; d < with->nv; d++)
    for (int32_t e = 0; e < with->nv; e++)
      CHECK_NEAR(b[d * with->nv + e] - a[d * with->nv + e], d == e ? 0.25 : 0, 1e-14);
  abut_model_destroy(without);
  abut_model_destroy(with);
}

/* Two rods of length 1 and mass 1 with masses at their ends, hinges along y, hanging down at 0. */
TEST(double_pendulum) {
  abut_builder *builder = scene_begin(-10);
  for (int32_t i = 0; i < 2; i++) {
    abut_body_def body = abut_default_body_def();
    abut_joint_def joint = abut_default_joint_def();
    body.parent = i;
    body.pos[2] = i == 0 ? 0 : -1;
    body.mass = 1;
    body.ipos[2] = -1;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.01;
    joint.body = i + 1;
    joint.axis[1] = 1, joint.axis[2] = 0;
    CHECK_STATUS(abut_builder_add_body(builder, &body, NULL), ABUT_OK);
    CHECK_STATUS(abut_builder_add_joint(builder, &joint, NULL), ABUT_OK);
  }
  abut_model *m = NULL;
  CHECK_STATUS(abut_builder_finish(builder, &m), ABUT_OK);
  abut_builder_destroy(builder);
  REQUIRE(m);
  const double a = 0.3, b = 0.5, qpos[2] = {a, b};
  double mass[4], force[2];
  CHECK_STATUS(model_mass_matrix(m, qpos, mass), ABUT_OK);
  CHECK_STATUS(model_gravity_force(m, qpos, force), ABUT_OK);
  CHECK_NEAR(mass[0], 1 + (2 + 2 * cos(b)) + 0.02, 1e-14);
  CHECK_NEAR(mass[1], 1 + cos(b) + 0.01, 1e-14);
  CHECK_NEAR(mass[2], mass[1], 0);
  CHECK_NEAR(mass[3], 1.01, 1e-14);
  CHECK_NEAR(force[0], -10 * (2 * sin(a) + sin(a + b)), 1e-13);
  CHECK_NEAR(force[1], -10 * sin(a + b), 1e-13);
  abut_model_destroy(m);
}
