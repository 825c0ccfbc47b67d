/* test_gradient_terms.c: cotangents against differences where a term of the step starts, stops or bends:
 * contact made and broken, joint limits, near-parallel edges, rolling, every joint's passive forces,
 * actuators at their limits. */
#include "gradient.h"

/* ---------------------------------------------------------------------------------------- scenes */

static abut_builder *begin(double gx, double gz) {
  abut_builder *b = NULL;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  scene_gravity(b, gx, 0, gz);
  return b;
}

static int32_t add_body(abut_builder *b, int32_t parent, double x, double y, double z) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.parent = parent;
  def.pos[0] = x, def.pos[1] = y, def.pos[2] = z;
  CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
  return id;
}

static int32_t add_joint(abut_builder *b, abut_joint_def def) {
  int32_t id = -1;
  CHECK_STATUS(abut_builder_add_joint(b, &def, &id), ABUT_OK);
  return id;
}
static abut_joint_def joint_def(int32_t body, int32_t type) {
  abut_joint_def def = abut_default_joint_def();
  def.body = body;
  def.type = type;
  return def;
}

static void add_geom(abut_builder *b, int32_t body, int32_t type, double s0, double s1, double s2,
                     double friction) {
  abut_geom_def def = abut_default_geom_def();
  def.body = body;
  def.type = type;
  def.size[0] = s0, def.size[1] = s1, def.size[2] = s2;
  def.friction = friction;
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
}

static int32_t add_free(abut_builder *b, double x, double y, double z, int32_t type, double s0, double s1,
                        double s2, double friction) {
  int32_t id = add_body(b, 0, x, y, z);
  add_joint(b, joint_def(id, ABUT_JOINT_FREE));
  add_geom(b, id, type, s0, s1, s2, friction);
  return id;
}

static void add_floor(abut_builder *b, double friction) {
  add_geom(b, 0, ABUT_GEOM_PLANE, 1, 1, 1, friction);
}

static abut_actuator_def actuator_def(int32_t joint, double gain, double spring, double damping) {
  abut_actuator_def def = abut_default_actuator_def();
  def.joint = joint;
  def.gain = gain;
  def.bias[1] = -spring;
  def.bias[2] = -damping;
  return def;
}
static void add_actuator(abut_builder *b, abut_actuator_def def) {
  CHECK_STATUS(abut_builder_add_actuator(b, &def, NULL), ABUT_OK);
}

static int finish(problem *p, const char *name, abut_builder *b, abut_options o, int64_t nstep) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_builder_finish(b, &model), ABUT_OK);
  abut_builder_destroy(b);
  return model && problem_create(p, name, model, o, nstep);
}

/* Angle vector turn of the quaternion at qpos[at]. */
static void turn_start(problem *p, int64_t at, double x, double y, double z) {
  double q[4];
  turned(p->input[IN_QPOS] + at, (double[3]){x, y, z}, q);
  memcpy(p->input[IN_QPOS] + at, q, sizeof q);
}

/* Both barriers where the scene has contact pairs; checks and frees what make describes. */
typedef int (*make_problem)(problem *p, abut_options o);

static checked check_both(make_problem make) {
  checked r[2] = {{{0}, {0}, 0, 0, 0, 0, 0, 0, 0}};
  for (int inverse = 0; inverse < 2; inverse++) {
    problem p;
    abut_options o = test_options(1);
    o.implicit.contact = inverse ? ABUT_CONTACT_INVERSE : ABUT_CONTACT_LOCAL;
    if (!make(&p, o)) return r[0];
    if (!inverse || p.scene.n.npair > 0) r[inverse] = problem_check(&p);
    problem_free(&p);
  }
  return r[0];
}

/* ---------------------------------------------------------------------------------------- contact */

static int make_landing(problem *p, abut_options o) { /* a tumbling box meets the floor while it slides */
  abut_builder *b = begin(0, -9.81);
  add_floor(b, 0.4);
  add_free(b, 0, 0, 0.085, ABUT_GEOM_BOX, 0.1, 0.08, 0.05, 0.3);
  if (!finish(p, "landing", b, o, 16)) return 0;
  const double v[6] = {0.6, 0.1, -0.5, 0.3, 0.8, 0.2};
  memcpy(p->input[IN_QVEL], v, sizeof v);
  turn_start(p, 3, 0.05, 0.03, 0.2);
  return 1;
}
TEST(contact_made) {
  checked r = check_both(make_landing);
  CHECK(r.active == 1 && r.changes >= 1);
}

static int make_parting(problem *p,
                        abut_options o) { /* pushed together, then pulled apart by gravity and a control */
  abut_builder *b = begin(0, 0);
  int32_t left = add_body(b, 0, 0, 0, 0),
          right = add_free(b, 0.207, 0.02, 0, ABUT_GEOM_SPHERE, 0.1, 0, 0, 0.6);
  (void)right;
  abut_joint_def slide = joint_def(left, ABUT_JOINT_SLIDE);
  slide.axis[0] = 1, slide.axis[2] = 0;
  int32_t joint = add_joint(b, slide);
  add_geom(b, left, ABUT_GEOM_BOX, 0.1, 0.1, 0.1, 0.5);
  add_actuator(b, actuator_def(joint, 1, 0, 0));
  if (!finish(p, "parting", b, o, 14)) return 0;
  p->input[IN_QVEL][0] = 0.1;
  for (int64_t t = 0; t < p->nstep; t++) p->input[IN_CTRL][t] = t < 5 ? 40 : -400;
  return 1;
}
TEST(contact_made_and_broken) {
  checked r = check_both(make_parting);
  CHECK(r.active == 1 && r.changes >= 2);
}

static int make_spheres(problem *p, abut_options o) {
  abut_builder *b = begin(0, -9.81);
  add_geom(b, 0, ABUT_GEOM_SPHERE, 0.3, 0, 0, 0.7);
  add_free(b, 0.02, 0.01, 0.3999, ABUT_GEOM_SPHERE, 0.1, 0, 0, 0.4);
  add_free(b, 0.03, 0.0, 0.5520, ABUT_GEOM_SPHERE, 0.05, 0, 0, 0.5);
  if (!finish(p, "spheres", b, o, 10)) return 0;
  problem_random(p, 3, 0.2, 0);
  return 1;
}
TEST(sphere_on_sphere) {
  checked r = check_both(make_spheres);
  CHECK(r.active >= 1);
}

static int make_capsule(problem *p, abut_options o) {
  abut_builder *b = begin(0, -9.81);
  add_geom(b, 0, ABUT_GEOM_BOX, 0.3, 0.2, 0.1, 0.7);
  add_free(b, 0.25, 0.01, 0.4, ABUT_GEOM_CAPSULE, 0.05, 0.15, 0, 0.4);
  if (!finish(p, "capsule on box", b, o, 10)) return 0;
  p->input[IN_QPOS][2] = 0.1505; /* lying, its middle on an edge of the box */
  turn_start(p, 3, 0, M_PI / 2, 0);
  p->input[IN_QVEL][0] = 0.1, p->input[IN_QVEL][3] = 0.3, p->input[IN_QVEL][5] = 0.5;
  return 1;
}
TEST(capsule_on_box) {
  checked r = check_both(make_capsule);
  CHECK(r.active == 1);
}

static int make_edges(problem *p, abut_options o) { /* two boxes edge on edge, 1 mrad from parallel */
  abut_builder *b = begin(0, -9.81);
  int32_t low = add_body(b, 0, 0, 0, 0);
  abut_joint_def ball = joint_def(low, ABUT_JOINT_BALL);
  ball.stiffness = 50;
  ball.damping = 1;
  add_joint(b, ball);
  add_geom(b, low, ABUT_GEOM_BOX, 0.3, 0.1, 0.1, 0.8);
  add_free(b, 0, 0, 0.2 * sqrt(2) + 8e-4, ABUT_GEOM_BOX, 0.3, 0.1, 0.1, 0.6);
  if (!finish(p, "edges", b, o, 8)) return 0;
  turn_start(p, 0, M_PI / 4, 0, 0);
  turn_start(p, 7, 0, 0, 1e-3);
  turn_start(p, 7, M_PI / 4, 0, 0);
  p->input[IN_QVEL][3] = 0.05;
  return 1;
}
TEST(near_parallel_edges) {
  checked r = check_both(make_edges);
  CHECK(r.active == 1);
}

static int make_rolling(problem *p, abut_options o) { /* slides at 0.3 m/s until it rolls at 5/7 of that */
  abut_builder *b = begin(0, -9.81);
  add_floor(b, 0.3);
  add_free(b, 0, 0, 0.1004, ABUT_GEOM_SPHERE, 0.1, 0, 0, 0.2);
  if (!finish(p, "rolling", b, o, 10)) return 0;
  p->input[IN_QVEL][0] = 0.1;
  return 1;
}
TEST(sliding_to_rolling) {
  check_both(make_rolling);
  problem p;
  REQUIRE(make_rolling(&p, test_options(1)));
  adjoint a;
  REQUIRE(adjoint_create(&a, &p, p.options, 1));
  adjoint_cotangents(&a, &p);
  CHECK(adjoint_go(&a, &p));
  const double *v = a.run.out[OUT_QVEL].t.data, *end = v + p.nstep * p.scene.n.nv;
  CHECK(v[0] > 2 * 0.1 * v[4]);                       /* slides at first */
  CHECK(fabs(end[0] - 0.1 * end[4]) < 1e-2 * end[0]); /* rolls at last */
  adjoint_free(&a);
  problem_free(&p);
}

/* ---------------------------------------------------------------------------------------- joints */

static int make_joints(problem *p, abut_options o) { /* every type with every passive force, in one chain */
  abut_builder *b = begin(1, -9.81);
  static const int32_t types[4] = {ABUT_JOINT_BALL, ABUT_JOINT_SLIDE, ABUT_JOINT_HINGE, ABUT_JOINT_BALL};
  int32_t parent = 0;
  for (int i = 0; i < 4; i++) {
    int32_t body = add_body(b, parent, 0.1, 0.02, -0.3);
    abut_joint_def def = joint_def(body, types[i]);
    def.axis[0] = 0.3, def.axis[1] = 1, def.axis[2] = 0.2;
    def.pos[2] = 0.05;
    def.damping = 0.05 * (i + 1);
    def.stiffness = 2 + i;
    def.springref = types[i] == ABUT_JOINT_BALL ? 0 : 0.1;
    def.armature = 0.01 * (i + 1);
    def.frictionloss = 0.02 * (i + 1);
    def.limited = 1;
    def.range[0] = types[i] == ABUT_JOINT_BALL ? 0 : -0.04;
    def.range[1] = types[i] == ABUT_JOINT_BALL ? 0.2 : 0.03;
    add_joint(b, def);
    add_geom(b, body, ABUT_GEOM_CAPSULE, 0.03, 0.1, 0, 0.5);
    parent = body;
  }
  int32_t loose = add_body(b, 0, 2, 0, 0);
  abut_joint_def def = joint_def(loose, ABUT_JOINT_FREE);
  def.damping = 0.1;
  def.armature = 0.02;
  def.frictionloss = 0.05;
  def.stiffness = 3;
  add_joint(b, def);
  add_geom(b, loose, ABUT_GEOM_BOX, 0.1, 0.05, 0.07, 0.5);
  if (!finish(p, "joints", b, o, 15)) return 0;
  problem_random(p, 5, 1.5, 0);
  p->directions = test_quick() ? 2 : 20;
  return 1;
}
TEST(joint_forces) {
  problem p;
  REQUIRE(make_joints(&p, test_options(1)));
  problem_check(&p);
  problem_free(&p);
}

TEST(f32_gradient_is_near_f64) {
  problem p;
  adjoint a;
  REQUIRE(make_joints(&p, test_options(1)));
  REQUIRE(adjoint_create(&a, &p, p.options, 1));
  a.args.qpos = tensor(&p.cot[OUT_QPOS]);
  CHECK(adjoint_go(&a, &p));
  abut_options o = abut_default_options();
  o.nenv = 1;
  o.dtype = ABUT_F32;
  abut_batch *b = batch_of(&p.scene, &o);
  array q, v, cot, grad;
  array_create(&q, 'f', 2, (int64_t[]){1, p.scene.n.nq});
  array_create(&v, 'f', 2, (int64_t[]){1, p.scene.n.nv});
  array_create(&cot, 'f', 3, p.cot[OUT_QPOS].shape);
  array_create(&grad, 'f', 2, (int64_t[]){1, p.scene.n.nv});
  for (size_t i = 0; i < q.count; i++) array_set(&q, i, p.input[IN_QPOS][i]);
  for (size_t i = 0; i < v.count; i++) array_set(&v, i, p.input[IN_QVEL][i]);
  for (size_t i = 0; i < cot.count; i++) array_set(&cot, i, array_get(&p.cot[OUT_QPOS], i));
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = p.nstep;
  args.record = 1;
  args.qpos0 = tensor(&q);
  args.qvel0 = tensor(&v);
  abut_vjp_args vjp = abut_default_vjp_args();
  vjp.qpos = tensor(&cot);
  vjp.qvel0 = tensor(&grad);
  CHECK_STATUS(abut_rollout(b, &args, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_rollout_vjp(b, &vjp, NULL, NULL), ABUT_OK);
  double distance = gradient_distance(&a.grad.of[IN_QVEL], &grad);
  CHECK(distance > 0 && distance < 1e-2);
  abut_batch_destroy(b);
  array_free(&q);
  array_free(&v);
  array_free(&cot);
  array_free(&grad);
  adjoint_free(&a);
  problem_free(&p);
}

static int make_limit(problem *p,
                      abut_options o) { /* a motor drives a hinge into its limit, and a ball falls into its */
  abut_builder *b = begin(0, -9.81);
  int32_t arm = add_body(b, 0, 0, 0, 0), tail = add_body(b, 0, 1, 0, 0);
  abut_joint_def hinge = joint_def(arm, ABUT_JOINT_HINGE), ball = joint_def(tail, ABUT_JOINT_BALL);
  hinge.axis[1] = 1, hinge.axis[2] = 0;
  hinge.limited = ball.limited = 1;
  hinge.range[0] = -0.5, hinge.range[1] = 0.2;
  ball.range[1] = 0.15;
  int32_t joint = add_joint(b, hinge);
  add_joint(b, ball);
  abut_geom_def rod = abut_default_geom_def();
  rod.type = ABUT_GEOM_CAPSULE;
  rod.size[0] = 0.03, rod.size[1] = 0.1;
  rod.pos[2] = -0.2;
  rod.body = arm;
  CHECK_STATUS(abut_builder_add_geom(b, &rod, NULL), ABUT_OK);
  rod.pos[0] = 0.2;
  rod.body = tail;
  CHECK_STATUS(abut_builder_add_geom(b, &rod, NULL), ABUT_OK);
  add_actuator(b, actuator_def(joint, 2, 0, 0));
  if (!finish(p, "limit", b, o, 20)) return 0;
  p->input[IN_QVEL][0] = 2;
  for (int64_t t = 0; t < p->nstep; t++) p->input[IN_CTRL][t] = 1;
  return 1;
}
TEST(joint_limits_reached) {
  problem p;
  REQUIRE(make_limit(&p, test_options(1)));
  problem_check(&p);
  adjoint a;
  REQUIRE(adjoint_create(&a, &p, p.options, 1));
  CHECK(adjoint_go(&a, &p));
  double hinge = 0, ball = 0;
  for (int64_t t = 0; t <= p.nstep; t++) {
    const double *q = (const double *)a.run.out[OUT_QPOS].t.data + t * p.scene.n.nq;
    hinge = fmax(hinge, q[0]);
    ball = fmax(ball, 2 * acos(fmin(1, fabs(q[1]))));
  }
  CHECK(p.input[IN_QPOS][0] == 0 && hinge > 0.2);
  CHECK(ball > 0.15);
  adjoint_free(&a);
  problem_free(&p);
}

/* ---------------------------------------------------------------------------------------- equalities */

/* Two free bodies tied at a point and, in the second scene, by their frames, one of them to an arm of two
 * hinges that follow each other; one hinge is held too. Everything starts away from where it is held. */
static int make_tied(problem *p, abut_options o, int32_t type) {
  abut_builder *b = begin(0.3, -2);
  int32_t arm = add_body(b, 0, 0, 0, 0.5), hand = add_body(b, arm, 0.3, 0, 0);
  abut_joint_def hinge = joint_def(arm, ABUT_JOINT_HINGE);
  hinge.axis[1] = 1, hinge.axis[2] = 0;
  int32_t shoulder = add_joint(b, hinge);
  hinge.body = hand, hinge.axis[0] = 0.5;
  int32_t elbow = add_joint(b, hinge);
  add_geom(b, arm, ABUT_GEOM_BOX, 0.1, 0.04, 0.03, 0.3);
  add_geom(b, hand, ABUT_GEOM_BOX, 0.08, 0.04, 0.03, 0.3);
  int32_t one = add_free(b, 0.6, 0, 0.5, ABUT_GEOM_BOX, 0.05, 0.06, 0.08, 0.3);
  int32_t two = add_free(b, 1.0, 0.2, 0.5, ABUT_GEOM_BOX, 0.05, 0.06, 0.08, 0.3);
  abut_equality_def def = abut_default_equality_def();
  def.type = type;
  def.torquescale = 0.3;
  def.anchor1[0] = 0.2, def.anchor1[1] = 0.1;
  def.obj1 = hand, def.obj2 = one;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
  def.obj1 = two, def.obj2 = one, def.solref[0] = -3000, def.solref[1] = -40;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
  def.obj1 = two, def.obj2 = 0, def.solref[0] = 0.1, def.solref[1] = 0.5, def.solimp[2] = 0.2,
  def.solimp[4] = 1.5;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
  abut_equality_def follow = abut_default_equality_def();
  const double along[5] = {0.05, 0.7, -0.4, 0.3, 0.2}, wide[5] = {0.5, 0.9, 0.3, 0.4, 3};
  follow.type = ABUT_EQUALITY_JOINT;
  follow.obj1 = elbow, follow.obj2 = shoulder;
  memcpy(follow.polycoef, along, sizeof along);
  memcpy(follow.solimp, wide, sizeof wide);
  CHECK_STATUS(abut_builder_add_equality(b, &follow, NULL), ABUT_OK);
  follow.obj1 = shoulder, follow.obj2 = -1;
  CHECK_STATUS(abut_builder_add_equality(b, &follow, NULL), ABUT_OK);
  if (!finish(p, "tied", b, o, 8)) return 0;
  for (int i = 0; i < 2; i++) p->input[IN_QPOS][i] = 0.1 - 0.3 * i;
  turn_start(p, 5, 0.2, -0.1, 0.3);
  turn_start(p, 12, -0.1, 0.2, 0.1);
  p->input[IN_QVEL][0] = 1, p->input[IN_QVEL][3] = -0.5, p->input[IN_QVEL][9] = 0.7;
  return 1;
}
TEST(equalities_pull) {
  for (int32_t type = ABUT_EQUALITY_CONNECT; type <= ABUT_EQUALITY_WELD; type++) {
    problem p;
    REQUIRE(make_tied(&p, test_options(1), type));
    problem_check(&p);
    problem_free(&p);
  }
}

/* ---------------------------------------------------------------------------------------- weight, mocap */

/* An arm of two links whose weights are held up by different shares, on a body that others place. */
static int make_held(problem *p, abut_options o) {
  abut_builder *b = begin(0.5, -9.81);
  abut_body_def base = abut_default_body_def(), link = base;
  base.mocap = 1, base.quat[0] = 0.8, base.quat[1] = 0.6;
  CHECK_STATUS(abut_builder_add_body(b, &base, &link.parent), ABUT_OK);
  for (int i = 0; i < 2; i++) {
    int32_t id = -1;
    link.pos[0] = 0.3, link.gravcomp = i ? 1.4 : 0.3;
    CHECK_STATUS(abut_builder_add_body(b, &link, &id), ABUT_OK);
    add_joint(b, joint_def(id, i ? ABUT_JOINT_BALL : ABUT_JOINT_HINGE));
    add_geom(b, id, ABUT_GEOM_BOX, 0.1, 0.04, 0.03, 0.3);
    link.parent = id;
  }
  return finish(p, "held", b, o, 8);
}
TEST(compensated_gravity) {
  problem p;
  REQUIRE(make_held(&p, test_options(1)));
  problem_random(&p, 5, 1, 0);
  problem_check(&p);
  problem_free(&p);
}

/* ---------------------------------------------------------------------------------------- actuators */

enum { MOTOR, POSITION, VELOCITY, WEAK_MOTOR, WEAK_POSITION, CLAMPED, ACTUATORS };

static int make_actuators(problem *p, abut_options o) { /* one hinge or slide each */
  abut_builder *b = begin(0, -2);
  for (int i = 0; i < ACTUATORS; i++) {
    int32_t body = add_body(b, 0, i, 0, 0);
    abut_joint_def def = joint_def(body, i % 2 ? ABUT_JOINT_SLIDE : ABUT_JOINT_HINGE);
    def.axis[0] = 1, def.axis[2] = 0.5;
    int32_t joint = add_joint(b, def);
    abut_geom_def geom = abut_default_geom_def();
    geom.body = body;
    geom.type = ABUT_GEOM_SPHERE;
    geom.size[0] = 0.05;
    geom.pos[1] = 0.1;
    CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
    int spring = i == POSITION || i == WEAK_POSITION;
    abut_actuator_def act = actuator_def(joint, spring ? 20 : 3, spring ? 20 : 0,
                                         i == VELOCITY ? 3
                                         : spring      ? 0.5
                                                       : 0);
    act.gear = 1 + 0.2 * i;
    act.bias[0] = 0.1 * i;
    if (i == WEAK_MOTOR || i == WEAK_POSITION) {
      act.forcelimited = 1;
      act.forcerange[0] = -1.5, act.forcerange[1] = 2;
    }
    if (i == CLAMPED) {
      act.ctrllimited = 1;
      act.ctrlrange[0] = -0.5, act.ctrlrange[1] = 0.5;
    }
    add_actuator(b, act);
  }
  if (!finish(p, "actuators", b, o, 12)) return 0;
  problem_random(p, 9, 0.5, 0.9);
  p->directions = test_quick() ? 4 : 40;
  for (int64_t t = 0; t < p->nstep; t++) {
    double *u = p->input[IN_CTRL] + t * ACTUATORS;
    /* within, at the corners of, and beyond the force range */
    u[WEAK_MOTOR] = t < 4 ? 0.3 : t < 8 ? (2 - 0.1 * WEAK_MOTOR) / 3 : 2;
    u[CLAMPED] = t % 2 ? 0.3 : t % 4 ? 0.9 : -0.8;
  }
  return 1;
}
TEST(actuators_and_their_limits) {
  problem p;
  REQUIRE(make_actuators(&p, test_options(1)));
  problem_check(&p);
  adjoint a;
  REQUIRE(adjoint_create(&a, &p, p.options, 1));
  adjoint_cotangents(&a, &p);
  CHECK(adjoint_go(&a, &p));
  for (int64_t t = 0; t < p.nstep; t++) {
    const double *g = (const double *)a.grad.of[IN_CTRL].t.data + t * ACTUATORS;
    CHECK((g[CLAMPED] == 0) == (t % 2 == 0)); /* a control beyond its range moves nothing */
    CHECK((g[WEAK_MOTOR] == 0) == (t >= 8));  /* nor does a force */
    CHECK(g[MOTOR] != 0 && g[POSITION] != 0 && g[VELOCITY] != 0);
  }
  adjoint_free(&a);
  problem_free(&p);
}

/* ---------------------------------------------------------------------------------------- saddle */

/* A small ball on top of another in one long step: friction-free, the step's objective bends down sideways.
 */
TEST(step_that_is_no_minimum_is_reported) {
  abut_builder *b = begin(0, -9.81);
  add_geom(b, 0, ABUT_GEOM_SPHERE, 0.1, 0, 0, 0);
  add_free(b, 0, 0, 0.2005, ABUT_GEOM_SPHERE, 0.1, 0, 0, 0);
  abut_options o = test_options(1);
  o.timestep = 1;
  problem p;
  adjoint a;
  REQUIRE(finish(&p, "balanced", b, o, 1));
  REQUIRE(adjoint_create(&a, &p, p.options, 1));
  adjoint_cotangents(&a, &p);
  CHECK(adjoint_go(&a, &p));
  CHECK(run_status(&a.run, 0) == 0);
  CHECK(((const uint32_t *)a.status.t.data)[0] == ABUT_ENV_NOT_MINIMUM);
  CHECK(array_get(&a.min_pivot, 0) < 0);
  adjoint_free(&a);
  problem_free(&p);
}
