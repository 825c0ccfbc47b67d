/* tendons.h: what tests of tendons share: a scene with every kind of part, term and coupling that a tendon
 * may have, on a tree, a loose body and the world. */
#ifndef ABUT_TEST_TENDONS_H
#define ABUT_TEST_TENDONS_H
#include "describe.h"

static inline int32_t tendon_body(abut_builder *b, int32_t parent, double x, double y, double z,
                                  double mass) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.parent = parent;
  def.pos[0] = x, def.pos[1] = y, def.pos[2] = z;
  def.mass = mass;
  def.inertia[0] = 0.02 * mass, def.inertia[1] = 0.03 * mass, def.inertia[2] = 0.04 * mass;
  def.ipos[1] = 0.05;
  CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
  return id;
}

static inline int32_t tendon_joint(abut_builder *b, int32_t body, int32_t type, double x, double y,
                                   double z) {
  abut_joint_def def = abut_default_joint_def();
  int32_t id = -1;
  def.body = body;
  def.type = type;
  def.axis[0] = x, def.axis[1] = y, def.axis[2] = z;
  CHECK_STATUS(abut_builder_add_joint(b, &def, &id), ABUT_OK);
  return id;
}

static inline int32_t tendon_site(abut_builder *b, int32_t body, double x, double y, double z) {
  abut_site_def def = abut_default_site_def();
  int32_t id = -1;
  def.body = body;
  def.pos[0] = x, def.pos[1] = y, def.pos[2] = z;
  CHECK_STATUS(abut_builder_add_site(b, &def, &id), ABUT_OK);
  return id;
}

/* A geom to wrap, that touches nothing; a cylinder's axis is tilted. */
static inline int32_t tendon_geom(abut_builder *b, int32_t body, int32_t type, double radius, double tilt) {
  abut_geom_def def = abut_default_geom_def();
  int32_t id = -1;
  def.body = body;
  def.type = type;
  def.contype = def.conaffinity = 0;
  def.size[0] = radius, def.size[1] = 0.5;
  def.quat[0] = cos(tilt / 2), def.quat[1] = sin(tilt / 2);
  CHECK_STATUS(abut_builder_add_geom(b, &def, &id), ABUT_OK);
  return id;
}

static inline abut_tendon_def tendon_def(const abut_wrap *wraps, int32_t nwrap) {
  abut_tendon_def def = abut_default_tendon_def();
  def.wraps = wraps;
  def.nwrap = nwrap;
  return def;
}
static inline int32_t tendon_add(abut_builder *b, abut_tendon_def def) {
  int32_t id = -1;
  CHECK_STATUS(abut_builder_add_tendon(b, &def, &id), ABUT_OK);
  return id;
}

static inline void tendon_actuator(abut_builder *b, int32_t tendon, double gain, double spring,
                                   double damping, double limit) {
  abut_actuator_def def = abut_default_actuator_def();
  def.transmission = ABUT_TRANSMISSION_TENDON;
  def.joint = tendon;
  def.gear = 1.5;
  def.gain = gain, def.bias[1] = -spring, def.bias[2] = -damping;
  def.forcelimited = limit > 0;
  def.forcerange[0] = -limit, def.forcerange[1] = limit;
  CHECK_STATUS(abut_builder_add_actuator(b, &def, NULL), ABUT_OK);
}

static inline void tendon_equality(abut_builder *b, int32_t first, int32_t second, double slope,
                                   double bend) {
  abut_equality_def def = abut_default_equality_def();
  def.type = ABUT_EQUALITY_TENDON;
  def.obj1 = first, def.obj2 = second;
  def.polycoef[1] = slope, def.polycoef[2] = bend;
  def.solref[0] = 0.1;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
}

/* Ids of its tendons. */
enum { TENDON_STRAND, TENDON_SUM, TENDON_ROUND, TENDON_CABLE, TENDON_IDLE };

static inline abut_model *tendon_scene(void) {
  abut_builder *b = NULL;
  abut_model *m = NULL;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  scene_gravity(b, 0.3, 0, -9.81);
  const int32_t drum = tendon_body(b, 0, 0, 0, 0, 2), upper = tendon_body(b, 0, -0.8, 0.3, 0.1, 1);
  const int32_t lower = tendon_body(b, upper, 0.3, 0, 0, 1), lift = tendon_body(b, 0, 0.8, -0.3, 0.1, 1.5);
  const int32_t loose = tendon_body(b, 0, 0, 0.8, 0.5, 1);
  tendon_joint(b, drum, ABUT_JOINT_BALL, 0, 0, 1);
  tendon_joint(b, upper, ABUT_JOINT_BALL, 0, 0, 1);
  const int32_t knee = tendon_joint(b, lower, ABUT_JOINT_HINGE, 0, 1, 0);
  const int32_t slide = tendon_joint(b, lift, ABUT_JOINT_SLIDE, 0, 0, 1);
  const int32_t turn = tendon_joint(b, lift, ABUT_JOINT_HINGE, 1, 0, 0);
  tendon_joint(b, loose, ABUT_JOINT_FREE, 0, 0, 1);
  const int32_t ball = tendon_geom(b, drum, ABUT_GEOM_SPHERE, 0.3, 0);
  const int32_t shaft = tendon_geom(b, drum, ABUT_GEOM_CYLINDER, 0.25, 0.7);
  const int32_t w0 = tendon_site(b, 0, -1, 0.1, 0), w1 = tendon_site(b, 0, 1, -0.2, 0.3);
  const int32_t u0 = tendon_site(b, upper, 0.1, 0.1, 0), l0 = tendon_site(b, lower, 0.1, 0, 0.1);
  const int32_t e0 = tendon_site(b, lift, -0.1, 0.1, 0), f0 = tendon_site(b, loose, -0.1, 0.1, 0);
  const int32_t side = tendon_site(b, drum, 0.05, 0.5, 0.1);
  const abut_wrap strand[] = {{ABUT_WRAP_SITE, w0, 0},   {ABUT_WRAP_SITE, u0, 0}, {ABUT_WRAP_SITE, f0, 0},
                              {ABUT_WRAP_PULLEY, -1, 2}, {ABUT_WRAP_SITE, l0, 0}, {ABUT_WRAP_SITE, e0, 0},
                              {ABUT_WRAP_SITE, f0, 0}};
  const abut_wrap sum[] = {
      {ABUT_WRAP_JOINT, knee, 2}, {ABUT_WRAP_JOINT, turn, -0.5}, {ABUT_WRAP_JOINT, slide, 3}};
  const abut_wrap around[] = {
      {ABUT_WRAP_SITE, w0, 0},   {ABUT_WRAP_SPHERE, ball, side}, {ABUT_WRAP_SITE, w1, 0},
      {ABUT_WRAP_PULLEY, -1, 2}, {ABUT_WRAP_SITE, l0, 0},        {ABUT_WRAP_CYLINDER, shaft, -1},
      {ABUT_WRAP_SITE, e0, 0},   {ABUT_WRAP_SPHERE, ball, -1},   {ABUT_WRAP_SITE, u0, 0}};
  const abut_wrap cable[] = {{ABUT_WRAP_SITE, u0, 0}, {ABUT_WRAP_SITE, e0, 0}};
  abut_tendon_def t0 = tendon_def(strand, 7), t1 = tendon_def(sum, 3), t2 = tendon_def(around, 9);
  t0.stiffness = 30, t0.damping = 0.5, t0.armature = 0.2, t0.frictionloss = 0.5;
  t0.limited = 1, t0.range[1] = 2.6;
  t1.stiffness = 2, t1.lengthspring[0] = -0.02, t1.lengthspring[1] = 0.02, t1.damping = 0.1,
  t1.armature = 0.05;
  t1.limited = 1, t1.range[0] = -0.1, t1.range[1] = 0.1, t1.frictionloss = 0.1, t1.margin = 0.01;
  t2.stiffness = 60, t2.damping = 1, t2.armature = 0.1;
  t2.lengthspring[0] = t2.lengthspring[1] = 2.5;
  tendon_add(b, t0);
  tendon_add(b, t1);
  tendon_add(b, t2);
  tendon_add(b, tendon_def(cable, 2));
  tendon_add(b, tendon_def(strand, 7));
  tendon_actuator(b, TENDON_CABLE, 2, 3, 0.4, 0);
  tendon_actuator(b, TENDON_SUM, 1, 0, 0, 0);
  tendon_actuator(b, TENDON_ROUND, 20, 30, 2, 12);
  tendon_equality(b, TENDON_CABLE, TENDON_SUM, 0.3, 0.1);
  tendon_equality(b, TENDON_ROUND, -1, 0, 0);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

#endif
