/* test_builder.c: describing a scene, what compiling makes of it, and what is refused. */
#include "host/model/builder.h"
#include "host/model/model.h"
#include "scene.h"
#include <stdio.h>
#include <stddef.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static int32_t add_body(abut_builder *b, const char *name, int32_t parent, double mass) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.name = name;
  def.parent = parent;
  def.mass = mass;
  for (int k = 0; k < 3; k++) def.inertia[k] = mass * 0.1;
  CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
  return id;
}

static int32_t add_joint(abut_builder *b, const char *name, int32_t body, int32_t type) {
  abut_joint_def def = abut_default_joint_def();
  int32_t id = -1;
  def.name = name;
  def.body = body;
  def.type = type;
  CHECK_STATUS(abut_builder_add_joint(b, &def, &id), ABUT_OK);
  return id;
}

static int32_t add_geom(abut_builder *b, const char *name, int32_t body, int32_t type) {
  abut_geom_def def = abut_default_geom_def();
  int32_t id = -1;
  def.name = name;
  def.body = body;
  def.type = type;
  def.size[0] = 0.1, def.size[1] = 0.2, def.size[2] = 0.3;
  CHECK_STATUS(abut_builder_add_geom(b, &def, &id), ABUT_OK);
  return id;
}

static int has_pair(const abut_model *m, int32_t g1, int32_t g2) {
  for (int32_t i = 0; i < m->npair; i++)
    if (m->pair_geom1[i] == g1 && m->pair_geom2[i] == g2) return 1;
  return 0;
}

/* Finishing fails, and the message has a part; the builder and what it made are freed. */
static void refuse_at(int line, abut_builder *b, const char *part) {
  abut_model *m = (abut_model *)&part;
  int status = abut_builder_finish(b, &m);
  if (status != ABUT_ERROR_MODEL)
    test_fail(__FILE__, line, "finish gave %d, not %d", status, ABUT_ERROR_MODEL);
  if (m) test_fail(__FILE__, line, "a model in spite of the failure");
  if (!strstr(abut_error_message(), part)) test_fail(__FILE__, line, "'%s'", abut_error_message());
  abut_model_destroy(m);
  abut_builder_destroy(b);
}

#define REFUSE(builder, part) refuse_at(__LINE__, builder, part)

/* ---------------------------------------------------------------------------------------- order */

TEST(empty_scene) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  abut_model_sizes sizes = abut_model_get_sizes(m);
  CHECK(sizes.nbody == 1 && sizes.njnt == 0 && sizes.nq == 0 && sizes.nv == 0 && sizes.nu == 0);
  CHECK(sizes.ngeom == 0 && sizes.npair == 0 && sizes.nkey == 0);
  CHECK(strcmp(abut_model_name(m, 'b', 0), "world") == 0);
  CHECK(strcmp(abut_model_warnings(m), "") == 0);
  CHECK(m->option.gravity[2] == -9.81 && m->option.timestep == 0.01);
  abut_model_destroy(m);
}

/* Two arms whose parts arrive out of order: ids are compiled to the order of bodies, and references follow.
 */
TEST(compiled_order) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t one = add_body(b, "one", 0, 1), two = add_body(b, "two", one, 1), three = add_body(b, NULL, 0, 1);
  CHECK(one == 1 && two == 2 && three == 3);
  int32_t late = add_joint(b, "late", three, ABUT_JOINT_BALL),
          first = add_joint(b, "first", one, ABUT_JOINT_HINGE);
  int32_t slide = add_joint(b, "slide", two, ABUT_JOINT_SLIDE),
          hinge = add_joint(b, "hinge", two, ABUT_JOINT_HINGE);
  CHECK(late == 0 && first == 1 && slide == 2 && hinge == 3);
  add_geom(b, "g3", three, ABUT_GEOM_BOX);
  add_geom(b, "g0", 0, ABUT_GEOM_PLANE);
  add_geom(b, "g1", one, ABUT_GEOM_SPHERE);
  abut_actuator_def motor = abut_default_actuator_def();
  motor.name = "motor";
  motor.joint = hinge;
  motor.bias[2] = -3;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);

  CHECK(m->nq == 7 && m->nv == 6 && m->njnt == 4);
  const char *joints[] = {"first", "slide", "hinge", "late"}, *geoms[] = {"g0", "g1", "g3"};
  for (int i = 0; i < 4; i++) CHECK(strcmp(abut_model_name(m, 'j', i), joints[i]) == 0);
  for (int i = 0; i < 3; i++) CHECK(strcmp(abut_model_name(m, 'g', i), geoms[i]) == 0);
  CHECK(strcmp(abut_model_name(m, 'b', 3), "") == 0);
  CHECK(strcmp(abut_model_name(m, 'a', 0), "motor") == 0);
  CHECK(abut_model_name(m, 'b', 4) == NULL && abut_model_name(m, 'k', 0) == NULL);
  CHECK(abut_model_name(m, 'x', 0) == NULL && abut_model_name(m, 'b', -1) == NULL);
  CHECK(m->actuator_trnid[0] == 2 && m->actuator_bias[2] == -3);
  const int32_t jntadr[] = {-1, 0, 1, 3}, dofadr[] = {-1, 0, 1, 3}, dofnum[] = {0, 1, 2, 3};
  const int32_t dof_parent[] = {-1, 0, 1, -1, 3, 4}, weldid[] = {0, 1, 2, 3};
  CHECK(memcmp(m->body_jntadr, jntadr, sizeof jntadr) == 0);
  CHECK(memcmp(m->body_dofadr, dofadr, sizeof dofadr) == 0);
  CHECK(memcmp(m->body_dofnum, dofnum, sizeof dofnum) == 0);
  CHECK(memcmp(m->dof_parent, dof_parent, sizeof dof_parent) == 0);
  CHECK(memcmp(m->body_weldid, weldid, sizeof weldid) == 0);
  CHECK(m->qpos0[3] == 1 && m->qpos0[4] == 0);
  abut_model_destroy(m);
}

/* dof_parent skips bodies without joints; weld groups span them. */
TEST(tree_over_welds) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t a = add_body(b, "a", 0, 1), w = add_body(b, "w", a, 0), c = add_body(b, "c", w, 1);
  int32_t fixed = add_body(b, "fixed", 0, 0), top = add_body(b, "top", fixed, 1);
  add_joint(b, "free", a, ABUT_JOINT_FREE);
  add_joint(b, "c", c, ABUT_JOINT_HINGE);
  add_joint(b, "top", top, ABUT_JOINT_HINGE);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  const int32_t weldid[] = {0, 1, 1, 3, 0, 5}, dof_parent[] = {-1, 0, 1, 2, 3, 4, 5, -1};
  CHECK(memcmp(m->body_weldid, weldid, sizeof weldid) == 0);
  CHECK(memcmp(m->dof_parent, dof_parent, sizeof dof_parent) == 0);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- masses */

/* A body of two geoms, against closed forms: a box and a ball, moved and turned. */
TEST(mass_from_geoms) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_body_def body = abut_default_body_def();
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  abut_geom_def box = abut_default_geom_def(), ball = abut_default_geom_def();
  box.body = ball.body = 1;
  box.type = ABUT_GEOM_BOX;
  box.size[0] = 0.1, box.size[1] = 0.2, box.size[2] = 0.3;
  box.pos[0] = 1;
  box.quat[0] = box.quat[3] = sqrt(0.5); /* x to y */
  box.density = 500;
  ball.size[0] = 0.2;
  ball.pos[0] = -1;
  CHECK_STATUS(abut_builder_add_geom(b, &box, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_add_geom(b, &ball, NULL), ABUT_OK);
  add_joint(b, NULL, 1, ABUT_JOINT_FREE);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  double mb = 500 * 8 * 0.1 * 0.2 * 0.3, ms = 1000 * 4.0 / 3 * pi * 0.008, mass = mb + ms,
         x = (mb - ms) / mass;
  CHECK_REL(m->body_mass[1], mass, 1e-14);
  CHECK_REL(m->body_ipos[3], x, 1e-14);
  /* moments about the frame's origin: xx of box is its y half size */
  const double expected[10] = {mass,
                               mb - ms,
                               0,
                               0,
                               mb * (0.04 / 3 + 1) + ms * (0.04 / 5 + 1),
                               mb * 0.01 / 3 + ms * 0.04 / 5,
                               mb * 0.09 / 3 + ms * 0.04 / 5,
                               0,
                               0,
                               0};
  for (int k = 0; k < 10; k++) CHECK_NEAR(m->body_moment[10 + k], expected[k], 1e-13 * mass);
  double iyy = expected[4] + expected[6] - mass * x * x, found = INFINITY;
  for (int k = 0; k < 3; k++) found = fmin(found, fabs(m->body_inertia[3 + k] - iyy));
  CHECK(found < 1e-12 * iyy);
  abut_model_destroy(m);
}

TEST(given_mass_wins) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t body = add_body(b, "a", 0, 2);
  add_geom(b, NULL, body, ABUT_GEOM_BOX);
  add_joint(b, NULL, body, ABUT_JOINT_FREE);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  CHECK(m->body_mass[1] == 2 && m->body_inertia[3] == 0.2 && m->body_mass[0] == 0);
  abut_builder_destroy(b);
  abut_model_destroy(m);
}

#ifdef ABUT_HAVE_QHULL
/* The hull's volume is the mesh's mass; its points are in the body's frame. */
TEST(mesh_geom) {
  static const double points[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 0.1, 0.1};
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_body_def body = abut_default_body_def();
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  abut_geom_def mesh = abut_default_geom_def();
  double copy[15];
  memcpy(copy, points, sizeof copy);
  mesh.body = 1;
  mesh.type = ABUT_GEOM_MESH;
  mesh.points = copy;
  mesh.npoint = 5;
  mesh.density = 6;
  mesh.pos[2] = 5;
  mesh.quat[0] = 0, mesh.quat[3] = 2; /* half a turn about z; made unit */
  CHECK_STATUS(abut_builder_add_geom(b, &mesh, NULL), ABUT_OK);
  memset(copy, 0, sizeof copy); /* the builder has its own */
  add_joint(b, NULL, 1, ABUT_JOINT_FREE);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  CHECK(m->npoint == 4 && m->nface == 4 && m->geom_pointnum[0] == 4 && m->geom_facenum[0] == 4);
  CHECK_REL(m->body_mass[1], 1, 1e-13);
  CHECK_NEAR(m->body_ipos[3], -0.25, 1e-13);
  CHECK_NEAR(m->body_ipos[5], 5.25, 1e-13);
  CHECK_NEAR(m->point[3], -1, 1e-15);
  CHECK_NEAR(m->point[11], 6, 1e-15);
  abut_builder_destroy(b);
  abut_model_destroy(m);
}
#endif

/* ---------------------------------------------------------------------------------------- limits */

/* A two-link arm: what a joint moves in the reference pose decides its limit's stiffness. */
TEST(limit_stiffness) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_body_def body = abut_default_body_def();
  body.mass = 3;
  for (int k = 0; k < 3; k++) body.inertia[k] = 0.5;
  body.ipos[0] = 1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  body.parent = 1;
  body.pos[0] = 2;
  body.quat[0] = body.quat[3] = sqrt(0.5); /* the second link points along y */
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  abut_joint_def joint = abut_default_joint_def();
  joint.body = 1;
  joint.limited = 1;
  joint.range[1] = 1;
  joint.armature = 0.25;
  joint.solref[0] = 0.1, joint.solref[1] = 2;
  joint.axis[2] = 7; /* made unit */
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  joint.type = ABUT_JOINT_SLIDE;
  joint.solref[0] = -50, joint.solref[1] = -1;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  joint.type = ABUT_JOINT_BALL;
  joint.body = 2;
  joint.solref[0] = 0.1, joint.solref[1] = 1;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  /* about the origin: links at (1, 0) and (2, 1), each 0.5 about its centre */
  CHECK_REL(m->jnt_inertia[0], 0.5 + 3 * 1 + 0.5 + 3 * 5 + 0.25, 1e-13);
  CHECK_REL(m->jnt_inertia[2], (0.5 + 3.5 + 3.5) / 3 + 0.25, 1e-13);
  CHECK(m->jnt_axis[2] == 1);
  abut_builder_destroy(b);
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- pairs */

/* floor, a chain a-b-c with b's geoms, a body fixed to a, a body hanging on the world. */
TEST(pair_filters) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t a = add_body(b, "a", 0, 1), w = add_body(b, "w", a, 0), c = add_body(b, "c", w, 1);
  int32_t d = add_body(b, "d", c, 1), s = add_body(b, "s", 0, 0), e = add_body(b, "e", s, 1);
  add_joint(b, NULL, a, ABUT_JOINT_FREE);
  add_joint(b, NULL, c, ABUT_JOINT_HINGE);
  add_joint(b, NULL, d, ABUT_JOINT_HINGE);
  add_joint(b, NULL, e, ABUT_JOINT_HINGE);
  int32_t floor = add_geom(b, "floor", 0, ABUT_GEOM_PLANE), wall = add_geom(b, "wall", 0, ABUT_GEOM_PLANE);
  int32_t ga = add_geom(b, "ga", a, ABUT_GEOM_BOX), gw = add_geom(b, "gw", w, ABUT_GEOM_SPHERE);
  int32_t gc = add_geom(b, "gc", c, ABUT_GEOM_CAPSULE), gd = add_geom(b, "gd", d, ABUT_GEOM_BOX);
  int32_t gs = add_geom(b, "gs", s, ABUT_GEOM_BOX), ge = add_geom(b, "ge", e, ABUT_GEOM_SPHERE);
  CHECK_STATUS(abut_builder_exclude(b, d, 0), ABUT_OK);
  CHECK_STATUS(scene_pair(b, ga, gc, 0.25), ABUT_OK);
  CHECK_STATUS(scene_pair(b, ge, gd, -3), ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  CHECK(!has_pair(m, floor, wall) && !has_pair(m, gs, floor) && !has_pair(m, ga, gw));
  CHECK(has_pair(m, ga, floor) && has_pair(m, ge, floor) && has_pair(m, gc, wall));
  /* a child of the world's group may touch it, a child of a moving group may not touch that, unless asked to
   */
  CHECK(has_pair(m, ge, gs));
  CHECK(!has_pair(m, gw, gc) && !has_pair(m, gc, gw) && !has_pair(m, gc, gd));
  CHECK(has_pair(m, gc, ga));
  CHECK(has_pair(m, gw, gd) && has_pair(m, ga, gd));
  /* an exclude is of these two bodies, not of their groups */
  CHECK(!has_pair(m, gd, floor) && has_pair(m, gd, gs));
  CHECK(has_pair(m, ge, gd));
  for (int32_t i = 0; i < m->npair; i++) {
    int32_t g1 = m->pair_geom1[i], g2 = m->pair_geom2[i];
    double expected = g1 == gc && g2 == ga ? 0.25 : -1;
    CHECK(m->pair_friction[i] == expected);
    CHECK(m->geom_type[g1] != ABUT_GEOM_PLANE);
    CHECK(m->geom_type[g2] == ABUT_GEOM_PLANE || m->geom_pointnum[g1] <= m->geom_pointnum[g2]);
    if (i == 0) continue;
    int32_t p1 = m->pair_geom1[i - 1], p2 = m->pair_geom2[i - 1];
    int plane = m->geom_type[g2] == ABUT_GEOM_PLANE, before = m->geom_type[p2] == ABUT_GEOM_PLANE;
    CHECK(before >= plane);
    if (before == plane) CHECK(m->geom_pointnum[p1] <= m->geom_pointnum[g1]);
  }
  int32_t geoms[2];
  CHECK_STATUS(abut_model_pair(m, 0, geoms), ABUT_OK);
  CHECK(geoms[0] == m->pair_geom1[0] && geoms[1] == m->pair_geom2[0]);
  CHECK_STATUS(abut_model_pair(m, m->npair, geoms), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_model_pair(m, -1, geoms), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_model_pair(NULL, 0, geoms), ABUT_ERROR_ARGUMENT);
  abut_model_destroy(m);
}

/* One side's mask is enough. */
/* Shapes of all kinds in no order, some pairs given, some excluded: pairs are those that counting finds, and
 * in the order that validation wants. */
TEST(pairs_are_sorted) {
  static const int32_t types[] = {ABUT_GEOM_BOX,    ABUT_GEOM_SPHERE, ABUT_GEOM_PLANE, ABUT_GEOM_CAPSULE,
                                  ABUT_GEOM_SPHERE, ABUT_GEOM_BOX,    ABUT_GEOM_PLANE};
  enum { N = 35 };
  abut_builder *b = scene_begin(-9.81);
  int expected = 0;
  for (int i = 0; i < N; i++) {
    int32_t type = types[i % 7], plane = type == ABUT_GEOM_PLANE;
    int32_t body = plane ? 0 : scene_free_body(b, i, 0, 0, 1, 0.1, 0.1, 0.1);
    scene_geom(b, body, type, 0.1, 0.1, 0.1);
    for (int j = 0; j < i; j++) expected += !plane || types[j % 7] != ABUT_GEOM_PLANE;
  }
  CHECK_STATUS(abut_builder_exclude(b, 1, 2), ABUT_OK);
  CHECK_STATUS(abut_builder_exclude(b, 4, 3), ABUT_OK);
  CHECK_STATUS(scene_pair(b, 9, 0, 0.5), ABUT_OK);
  CHECK_STATUS(scene_pair(b, 2, 1, 0.25), ABUT_OK);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  CHECK(abut_model_get_sizes(m).npair == expected - 2);
  CHECK_STATUS(model_validate(m), ABUT_OK);
  int given = 0;
  for (int32_t i = 0; i < m->npair; i++) given += m->pair_friction[i] != -1;
  CHECK(given == 2);
  abut_model_destroy(m);
}

TEST(pair_masks) {
  static const int32_t masks[][5] = {{1, 1, 1, 1, 1}, {0, 1, 1, 0, 1}, {1, 0, 0, 1, 1}, {0, 1, 0, 1, 0},
                                     {1, 0, 1, 0, 0}, {2, 0, 0, 3, 1}, {2, 4, 4, 1, 1}, {2, 4, 1, 1, 0}};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    abut_builder *b;
    abut_model *m;
    REQUIRE(abut_builder_create(&b) == ABUT_OK);
    for (int k = 0; k < 2; k++) {
      add_joint(b, NULL, add_body(b, NULL, 0, 1), ABUT_JOINT_FREE);
      abut_geom_def def = abut_default_geom_def();
      def.body = k + 1;
      def.size[0] = 1;
      def.contype = masks[i][2 * k];
      def.conaffinity = masks[i][2 * k + 1];
      CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
    }
    REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
    CHECK(m->npair == masks[i][4]);
    abut_builder_destroy(b);
    abut_model_destroy(m);
  }
}

TEST(pairs_refused) {
  abut_builder *b;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t body = add_body(b, "a", 0, 1);
  add_joint(b, NULL, body, ABUT_JOINT_FREE);
  int32_t g1 = add_geom(b, "one", body, ABUT_GEOM_BOX), g2 = add_geom(b, "two", body, ABUT_GEOM_BOX);
  CHECK_STATUS(scene_pair(b, g1, g1, 1), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(scene_pair(b, g1, 2, 1), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(scene_pair(b, g1, g2, NAN), ABUT_ERROR_MODEL);
  CHECK_STATUS(abut_builder_exclude(b, 0, 2), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(scene_pair(b, g1, g2, 1), ABUT_OK);
  REFUSE(b, "geom 'one' and geom 'two' are fixed to each other");

  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  body = add_body(b, "a", 0, 1);
  add_joint(b, NULL, body, ABUT_JOINT_FREE);
  g1 = add_geom(b, "one", body, ABUT_GEOM_BOX), g2 = add_geom(b, "two", 0, ABUT_GEOM_BOX);
  CHECK_STATUS(scene_pair(b, g1, g2, 1), ABUT_OK);
  CHECK_STATUS(scene_pair(b, g2, g1, 2), ABUT_OK);
  REFUSE(b, "the contact pair of geom 'two' and geom 'one' is given twice");
}

/* ---------------------------------------------------------------------------------------- keys */

TEST(keys) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_body_def body = abut_default_body_def();
  body.mass = 1;
  body.pos[2] = 3;
  for (int k = 0; k < 3; k++) body.inertia[k] = 1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  add_joint(b, NULL, 1, ABUT_JOINT_FREE);
  const double qpos[7] = {1, 2, 3, 0, 0, 2, 0}, qvel[6] = {1, 2, 3, 4, 5, 6};
  CHECK_STATUS(scene_key(b, "home", NULL, NULL), ABUT_OK);
  CHECK_STATUS(scene_key(b, NULL, qpos, qvel), ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  CHECK(m->nkey == 2 && strcmp(abut_model_name(m, 'k', 0), "home") == 0);
  CHECK(m->key_qpos[2] == 3 && m->key_qpos[3] == 1 && m->key_qvel[0] == 0);
  CHECK(m->key_qpos[7] == 1 && m->key_qpos[7 + 5] == 1 && m->key_qvel[6 + 5] == 6);
  abut_model_destroy(m);
  /* a joint after the keys changes what they mean */
  add_joint(b, NULL, add_body(b, NULL, 1, 1), ABUT_JOINT_HINGE);
  REFUSE(b, "key 0 'home': added at nq 7, nv 6, na 0, nu 0, nmocap 0, the scene has 8, 7, 0, 0, 0");

  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  add_joint(b, "ball", add_body(b, NULL, 0, 1), ABUT_JOINT_BALL);
  const double zero[4] = {0};
  CHECK_STATUS(scene_key(b, "zero", zero, NULL), ABUT_OK);
  REFUSE(b, "key 'zero': the quaternion of joint 'ball' is not unit");
}

/* ---------------------------------------------------------------------------------------- bad bodies */

/* A builder with one body on a joint; body and joint definitions may be wrong. */
static abut_builder *one_body(const abut_body_def *body, const abut_joint_def *joint) {
  abut_builder *b;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  CHECK_STATUS(abut_builder_add_body(b, body, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_add_joint(b, joint, NULL), ABUT_OK);
  return b;
}

TEST(bad_mass) {
  abut_body_def body = abut_default_body_def();
  abut_joint_def joint = abut_default_joint_def();
  body.name = "arm";
  joint.body = 1;
  REFUSE(one_body(&body, &joint), "body 'arm': mass is 0");
  body.mass = -2;
  REFUSE(one_body(&body, &joint), "body 'arm': mass is -2, must not be negative");
  body.mass = NAN;
  REFUSE(one_body(&body, &joint), "body 'arm': mass is nan");
  body.mass = 1;
  REFUSE(one_body(&body, &joint), "body 'arm': inertia is (0, 0, 0)");
  body.ipos[0] = 0.3,
  body.ipos[1] = 0.7; /* a point mass away from the frame's origin has no inertia either */
  REFUSE(one_body(&body, &joint), "body 'arm': inertia is");
  body.inertia[0] = body.inertia[1] = 1, body.inertia[2] = 2.1;
  REFUSE(one_body(&body, &joint), "body 'arm': inertia (1, 1, 2.1) breaks the triangle inequality");
  body.inertia[2] = -1;
  REFUSE(one_body(&body, &joint), "body 'arm': inertia[2] is -1");
  body.inertia[2] = INFINITY;
  REFUSE(one_body(&body, &joint), "body 'arm': inertia is inf");
  body.inertia[2] = 1;
  body.pos[1] = NAN;
  REFUSE(one_body(&body, &joint), "body 'arm': pos is nan");
}

/* A moving body without mass is carried by what is fixed to it. */
TEST(mass_of_group) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  int32_t frame = add_body(b, "frame", 0, 0);
  add_joint(b, NULL, frame, ABUT_JOINT_HINGE);
  add_body(b, "load", frame, 1);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_model_destroy(m);
  /* a body below on a joint does not carry it */
  int32_t other = add_body(b, "other", 0, 0);
  add_joint(b, NULL, other, ABUT_JOINT_HINGE);
  add_joint(b, NULL, add_body(b, NULL, other, 1), ABUT_JOINT_HINGE);
  REFUSE(b, "body 'other': mass is 0");
}

TEST(bad_bodies) {
  abut_builder *b;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_body_def body = abut_default_body_def();
  body.name = "arm";
  body.parent = 1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "body 'arm': parent body 1 does not exist") != NULL);
  body.parent = -1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_ERROR_ARGUMENT);
  body.parent = 0;
  body.quat[0] = 0;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "body 'arm': quat is (0, 0, 0, 0)") != NULL);
  body.quat[0] = 1;
  body.iquat[2] = NAN;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_ERROR_MODEL);
  CHECK_STATUS(abut_builder_add_body(b, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_builder_add_body(NULL, &body, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_builder_create(NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_builder_finish(b, NULL), ABUT_ERROR_ARGUMENT);
  abut_builder_destroy(b);
  abut_builder_destroy(NULL);
  abut_model_destroy(NULL);
}

/* ---------------------------------------------------------------------------------------- bad joints */

TEST(bad_joints) {
  abut_body_def body = abut_default_body_def();
  body.mass = 1;
  for (int k = 0; k < 3; k++) body.inertia[k] = 1;
  abut_joint_def good = abut_default_joint_def(), joint;
  good.body = 1;
  good.name = "hip";
  joint = good, joint.damping = -1;
  REFUSE(one_body(&body, &joint), "joint 'hip': damping is -1");
  joint = good, joint.stiffness = -2;
  REFUSE(one_body(&body, &joint), "joint 'hip': stiffness is -2");
  joint = good, joint.armature = -3;
  REFUSE(one_body(&body, &joint), "joint 'hip': armature is -3");
  joint = good, joint.frictionloss = -4;
  REFUSE(one_body(&body, &joint), "joint 'hip': frictionloss is -4");
  joint = good, joint.pos[1] = NAN;
  REFUSE(one_body(&body, &joint), "joint 'hip': pos is nan");
  joint = good, joint.limited = 1;
  REFUSE(one_body(&body, &joint), "joint 'hip': range (0, 0) is empty");
  joint.range[1] = 1, joint.solref[0] = 0;
  REFUSE(one_body(&body, &joint), "joint 'hip': solref (0, 1)");
  joint.solref[0] = 1, joint.solref[1] = 0;
  REFUSE(one_body(&body, &joint), "joint 'hip': solref (1, 0)");
  joint.type = ABUT_JOINT_FREE;
  REFUSE(one_body(&body, &joint), "joint 'hip': a free joint cannot be limited");
  joint = good, joint.ref = INFINITY;
  REFUSE(one_body(&body, &joint), "qpos0[0] is inf");

  abut_builder *b = one_body(&body, &good);
  joint = good, joint.axis[2] = 0;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "joint 'hip': axis is (0, 0, 0)") != NULL);
  joint = good, joint.body = 0;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_ERROR_MODEL);
  joint.body = 2;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_ERROR_ARGUMENT);
  joint = good, joint.type = 4;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_builder_add_joint(b, NULL, NULL), ABUT_ERROR_ARGUMENT);
  joint = good, joint.type = ABUT_JOINT_FREE;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  REFUSE(b, "a free joint must be the only joint of a child of the world");
  b = one_body(&body, &good);
  joint.body = add_body(b, NULL, 1, 1);
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  REFUSE(b, "joint 'hip': a free joint must be the only joint of a child of the world");
}

TEST(bad_actuators) {
  abut_body_def body = abut_default_body_def();
  body.mass = 1;
  for (int k = 0; k < 3; k++) body.inertia[k] = 1;
  abut_joint_def joint = abut_default_joint_def();
  joint.body = 1;
  joint.name = "hip";
  abut_actuator_def good = abut_default_actuator_def(), motor;
  good.name = "motor";
  abut_builder *b = one_body(&body, &joint);
  motor = good, motor.joint = 1;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "actuator 'motor': joint 1 does not exist") != NULL);
  motor = good, motor.gain = NAN;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  REFUSE(b, "actuator 'motor': gain is nan");
  b = one_body(&body, &joint);
  motor = good, motor.ctrllimited = 1, motor.ctrlrange[0] = 1;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  REFUSE(b, "actuator 'motor': ctrlrange (1, 0) is empty");
  b = one_body(&body, &joint);
  motor = good, motor.forcelimited = 1;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  REFUSE(b, "actuator 'motor': forcerange (0, 0) is empty");
  b = one_body(&body, &joint);
  motor = good, motor.dynamics = ABUT_DYNAMICS_FILTER, motor.tau = 0;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  REFUSE(b, "actuator 'motor': time constant is 0 s");
  b = one_body(&body, &joint);
  motor = good, motor.transmission = ABUT_TRANSMISSION_TENDON;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "actuator 'motor': tendon 0 does not exist") != NULL);
  motor.transmission = 9;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "transmission 9 does not exist") != NULL);
  abut_builder_destroy(b);
}

/* ---------------------------------------------------------------------------------------- bad geoms,
 * settings */

TEST(bad_geoms) {
  abut_builder *b;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_geom_def good = abut_default_geom_def(), geom;
  good.name = "pad";
  good.size[0] = good.size[1] = good.size[2] = 1;
  geom = good, geom.body = 1;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_ARGUMENT);
  geom = good, geom.size[0] = -1;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "geom 'pad': radius is -1, must be positive") != NULL);
  geom = good, geom.density = -1;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_MODEL);
  geom = good, geom.quat[0] = 0;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_MODEL);
  CHECK_STATUS(abut_builder_add_geom(b, NULL, NULL), ABUT_ERROR_ARGUMENT);
  geom = good, geom.friction = -0.5;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  REFUSE(b, "geom 'pad': friction is -0.5");

  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  geom = good, geom.type = ABUT_GEOM_PLANE, geom.body = add_body(b, "cart", 0, 1);
  add_joint(b, NULL, 1, ABUT_JOINT_SLIDE);
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  REFUSE(b, "geom 'pad': a plane must be fixed to the world, body 1 moves");
}

TEST(bad_meshes) {
  abut_builder *b;
  double flat[12] = {0, 0, 0, 1, 0, NAN, 0, 1, 0, 1, 1, 0};
  abut_geom_def geom = abut_default_geom_def();
  geom.name = "pad";
  geom.type = ABUT_GEOM_MESH;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "geom 'pad': mesh has no vertices") != NULL);
  geom.points = flat, geom.npoint = 4;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "geom 'pad': vertex 1 has coordinate nan") != NULL);
  flat[5] = 0;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
#ifdef ABUT_HAVE_QHULL
  REFUSE(b, "geom 'pad': hull has 4 coplanar vertices");
#else
  abut_model *m;
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_ERROR_UNSUPPORTED);
  CHECK(strstr(abut_error_message(), "geom 'pad': built without qhull") != NULL);
  abut_builder_destroy(b);
#endif
}

/* Refuses options of a scene in which one number is x. */
static void refuse_option(abut_builder *b, size_t offset, double x, const char *why) {
  abut_scene_options options = abut_default_scene_options();
  memcpy((char *)&options + offset, &x, sizeof x);
  CHECK_STATUS(abut_builder_set_scene(b, &options), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), why) != NULL);
}

TEST(settings) {
  abut_builder *b;
  abut_model *m;
  REQUIRE(abut_builder_create(&b) == ABUT_OK);
  abut_scene_options options = abut_default_scene_options();
  options.gravity[2] = 3;
  options.timestep = 0.004;
  CHECK_STATUS(abut_builder_set_scene(b, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_builder_set_scene(b, &options), ABUT_OK);
  refuse_option(b, offsetof(abut_scene_options, gravity) + 8, NAN, "gravity[1] is nan");
  refuse_option(b, offsetof(abut_scene_options, timestep), 0, "timestep is 0 s");
  refuse_option(b, offsetof(abut_scene_options, timestep), -1, "timestep is -1 s");
  refuse_option(b, offsetof(abut_scene_options, timestep), NAN, "timestep is nan s");
  refuse_option(b, offsetof(abut_scene_options, density), -1, "density is -1");
  refuse_option(b, offsetof(abut_scene_options, impratio), 0, "impratio is 0");
  CHECK_STATUS(builder_set_warnings(b, "old"), ABUT_OK);
  CHECK_STATUS(builder_set_warnings(b, "ignored: one\nignored: two\n"), ABUT_OK);
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  CHECK(m->option.gravity[2] == 3 && m->option.timestep == 0.004);
  CHECK(strcmp(abut_model_warnings(m), "ignored: one\nignored: two\n") == 0);
  abut_builder_destroy(b);
  abut_model_destroy(m);
  CHECK(strcmp(abut_model_warnings(NULL), "") == 0);
  CHECK(abut_model_get_sizes(NULL).nbody == 0);
}

/* ---------------------------------------------------------------------------------------- memory */

TEST(allocation_refused) {
  /* counts whose product no integer holds are found before anything is allocated */
  abut_model m = {.nbody = 1, .nkey = INT32_MAX, .nq = INT32_MAX, .nv = INT32_MAX};
  CHECK_STATUS(model_allocate(&m), ABUT_ERROR_MEMORY);
  CHECK(m.key_qpos == NULL && m.body_pos == NULL);
  m = (abut_model){.nbody = 1, .ngeom = -1};
  CHECK_STATUS(model_allocate(&m), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "ngeom is -1") != NULL);
  CHECK(model_array_bytes(-1, 1, 8) == -1 && model_array_bytes(1, -1, 8) == -1);
  CHECK(model_array_bytes(INT32_MAX, INT32_MAX, 8) == -1 && model_array_bytes(2, 3, 8) == 48);
}
