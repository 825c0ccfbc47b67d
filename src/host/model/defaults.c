/* defaults.c: what a definition holds that nobody filled: MuJoCo's defaults. */
#include "abut/abut.h"
#include <math.h>
#include <string.h>

static const double solref[2] = {0.02, 1}, solimp[5] = {0.9, 0.95, 0.001, 0.5, 2};

abut_scene_options abut_default_scene_options(void) {
  abut_scene_options options = {0};
  options.gravity[2] = -9.81;
  options.timestep = 0.01;
  options.magnetic[1] = -0.5;
  options.impratio = 1;
  options.tolerance = 1e-8;
  options.iterations = 100;
  return options;
}

abut_body_def abut_default_body_def(void) {
  abut_body_def def = {0};
  def.quat[0] = def.iquat[0] = 1;
  return def;
}

abut_joint_def abut_default_joint_def(void) {
  abut_joint_def def = {0};
  def.type = ABUT_JOINT_HINGE;
  def.axis[2] = 1;
  memcpy(def.solref, solref, sizeof solref);
  memcpy(def.solimp, solimp, sizeof solimp);
  memcpy(def.solreffriction, solref, sizeof solref);
  memcpy(def.solimpfriction, solimp, sizeof solimp);
  return def;
}

abut_geom_def abut_default_geom_def(void) {
  abut_geom_def def = {0};
  def.type = ABUT_GEOM_SPHERE;
  def.quat[0] = 1;
  def.density = 1000;
  def.friction = 1;
  def.turning[0] = 0.005;
  def.turning[1] = 0.0001;
  def.condim = 3;
  def.solmix = 1;
  memcpy(def.solref, solref, sizeof solref);
  memcpy(def.solimp, solimp, sizeof solimp);
  def.contype = def.conaffinity = 1;
  return def;
}

abut_site_def abut_default_site_def(void) {
  abut_site_def def = {0};
  def.type = ABUT_GEOM_SPHERE;
  def.size[0] = def.size[1] = def.size[2] = 0.005;
  def.quat[0] = 1;
  return def;
}

abut_tendon_def abut_default_tendon_def(void) {
  abut_tendon_def def = {0};
  memcpy(def.solref, solref, sizeof solref);
  memcpy(def.solimp, solimp, sizeof solimp);
  memcpy(def.solreffriction, solref, sizeof solref);
  memcpy(def.solimpfriction, solimp, sizeof solimp);
  def.lengthspring[0] = def.lengthspring[1] = -1;
  return def;
}

abut_equality_def abut_default_equality_def(void) {
  abut_equality_def def = {0};
  def.obj2 = -1;
  for (int k = 0; k < 3; k++) def.anchor2[k] = NAN;
  def.torquescale = 1;
  def.polycoef[1] = 1;
  memcpy(def.solref, solref, sizeof solref);
  memcpy(def.solimp, solimp, sizeof solimp);
  return def;
}

abut_actuator_def abut_default_actuator_def(void) {
  abut_actuator_def def = {0};
  def.reference = -1;
  def.gear = def.gain = 1;
  def.tau = 1;
  return def;
}

abut_sensor_def abut_default_sensor_def(void) {
  abut_sensor_def def = {0};
  def.id = def.reference = -1;
  return def;
}

abut_pair_def abut_default_pair_def(void) {
  abut_pair_def def = {0};
  def.friction = def.friction2 = -1;
  def.turning[0] = 0.005;
  def.turning[1] = def.turning[2] = 0.0001;
  def.condim = 3;
  memcpy(def.solref, solref, sizeof solref);
  memcpy(def.solimp, solimp, sizeof solimp);
  return def;
}
