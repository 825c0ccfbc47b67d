/* sled.h: what tests of the optimiser share: a scene, a problem with every kind of variable. */
#ifndef ABUT_TEST_SLED_H
#define ABUT_TEST_SLED_H
#include "host/optimise/optimiser.h"
#include "scene.h"

enum { BALL = 1, SLED, BOX };

/* The call fails with this status, and its message holds the text. */
#define CHECK_ERROR(call, status, text)                                                                      \
  do {                                                                                                       \
    CHECK_STATUS(call, status);                                                                              \
    if (!strstr(abut_error_message(), text))                                                                 \
      test_fail(__FILE__, __LINE__, "'%s' is not in: %s", text, abut_error_message());                       \
  } while (0)

/* A sled on two slides with servos, and a box whose centre of mass is off its origin, on a floor. */
static inline abut_model *sled_and_box(void) {
  abut_builder *b = scene_begin(-9.81);
  scene_floor(b);
  scene_free_body(b, -2, 0, 0.2, 1, 0.01, 0.01, 0.01);
  scene_geom(b, BALL, ABUT_GEOM_SPHERE, 0.1, 0, 0);
  scene_body(b, 0, 0, 0, 0.15, 1, 0.01, 0.01, 0.01);
  scene_geom(b, SLED, ABUT_GEOM_SPHERE, 0.1, 0, 0);
  abut_body_def box = abut_default_body_def();
  int32_t id;
  box.pos[0] = 0.35, box.pos[1] = 0.05, box.pos[2] = 0.12;
  box.mass = 0.5, box.ipos[0] = 0.03, box.ipos[1] = -0.02, box.ipos[2] = 0.01;
  box.inertia[0] = box.inertia[1] = box.inertia[2] = 0.003;
  CHECK_STATUS(abut_builder_add_body(b, &box, &id), ABUT_OK);
  scene_joint(b, scene_joint_def(BOX, ABUT_JOINT_FREE, 0, 0, 1, 0));
  scene_geom(b, BOX, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  for (int axis = 0; axis < 2; axis++) {
    abut_actuator_def servo = abut_default_actuator_def();
    servo.joint = scene_joint(b, scene_joint_def(SLED, ABUT_JOINT_SLIDE, axis == 0, axis == 1, 0, 0));
    servo.gear = 1, servo.gain = 100, servo.bias[1] = -100, servo.bias[2] = -15;
    servo.ctrllimited = 1, servo.ctrlrange[0] = -2, servo.ctrlrange[1] = 2;
    scene_actuator(b, servo);
  }
  return scene_finish(b);
}

static inline abut_options inverse_options(int64_t nenv) {
  abut_options o = abut_default_options();
  o.nenv = nenv;
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  o.implicit.stiffness = 1e-5;
  o.timestep = 0.02;
  return o;
}

/* Every kind of variable, and terms on two bodies. */
enum { STEPS = 10, SERVO_X = 0, SERVO_Y = 1 };
static abut_loss_term terms[2];
static abut_variable variables[4];

static inline abut_problem full_problem(void) {
  abut_problem p = abut_default_problem();
  for (int i = 0; i < 2; i++) terms[i] = abut_default_loss_term();
  terms[0].body = BOX, terms[0].target[0] = 1, terms[0].target[1] = 0.3, terms[0].tolerance = 0.1;
  terms[1].body = BALL, terms[1].axes = 3, terms[1].target[0] = -1, terms[1].target[1] = 0.2;
  terms[1].weight = 0.3;
  for (int i = 0; i < 4; i++) variables[i] = abut_default_variable();
  variables[0].kind = ABUT_VARIABLE_QPOS, variables[0].index = 1; /* of the ball */
  variables[1].kind = ABUT_VARIABLE_QVEL, variables[1].index = 0, variables[1].start[0] = 0.7;
  variables[2].kind = ABUT_VARIABLE_SPLINE, variables[2].index = SERVO_X, variables[2].count = 4;
  variables[2].start[0] = 0.9;
  variables[3].kind = ABUT_VARIABLE_SINES, variables[3].index = SERVO_Y, variables[3].count = 2;
  variables[3].start[0] = 0.3, variables[3].start[1] = 1.5, variables[3].start[2] = 0.4;
  p.nstep = STEPS;
  p.terms = terms, p.nterm = 2;
  p.variables = variables, p.nvariable = 4;
  p.running_weight = 0.7;
  return p;
}

static inline abut_optimiser *optimiser_of(abut_batch *b, const abut_problem *p) {
  abut_optimiser *o = NULL;
  CHECK_STATUS(abut_optimiser_create(b, p, &o), ABUT_OK);
  return o;
}

static inline abut_batch *batch_with(const abut_model *m, const abut_options *o) {
  abut_batch *b = NULL;
  CHECK_STATUS(abut_batch_create(m, o, &b), ABUT_OK);
  return b;
}

/* Sequences for both servos. */
static inline abut_problem sequence_problem(void) {
  abut_problem p = full_problem();
  for (int i = 0; i < 2; i++) {
    variables[i] = abut_default_variable();
    variables[i].kind = ABUT_VARIABLE_SEQUENCE;
    variables[i].index = i;
    variables[i].start[0] = 0.1;
  }
  p.nvariable = 2;
  p.rate = 0.1;
  return p;
}

#endif
