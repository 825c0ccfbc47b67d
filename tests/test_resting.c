/* test_resting.c: bodies at rest weigh what they weigh, at the gap that the barrier gives. */
#include "scene.h"

static const double g = 9.81, pi = 3.14159265358979323846;

/* Settles for six seconds with a long step, which damps. */
static scene_run *settle(const abut_model *model, abut_options options) {
  options.timestep = 0.03;
  options.tolerance = 1e-8;
  return scene_rollout(model, options, 200, NULL, NULL, NULL);
}

/* At the end of a run the contacts of the last moving body carry weight (N), and it lies still. */
static void check_weight(const scene_run *r, double weight) {
  double sum[3] = {0};
  REQUIRE(r);
  for (int32_t p = 0; p < r->size.npair; p++)
    for (int c = 0; c < 3; c++) sum[c] += scene_force(r, 0, r->nstep - 1, p)[c];
  CHECK_NEAR(sum[0], 0, 1e-5 * weight);
  CHECK_NEAR(sum[1], 0, 1e-5 * weight);
  CHECK_REL(fabs(sum[2]), weight, 1e-5);
  CHECK(vec3_norm(scene_qvel(r, 0, r->nstep)) < 1e-5);
  CHECK(scene_failed(r) == 0);
}

/* One geom of 1 kg, touching z = 0 (height: of the body's origin), on a half-space or on a fixed box. */
static abut_model *one_body(const abut_geom_def *geom, double height, int on_box) {
  abut_builder *b = scene_begin(-g);
  if (!b) return NULL;
  if (on_box)
    scene_geom(b, scene_body(b, 0, 0, 0, -0.1, 0, 0, 0, 0), ABUT_GEOM_BOX, 1, 1, 0.1);
  else
    scene_floor(b);
  abut_geom_def def = *geom;
  def.body = scene_free_body(b, 0, 0, height, 1, 0.01, 0.01, 0.01);
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
  return scene_finish(b);
}

static abut_geom_def shape(int32_t type, double s0, double s1, double s2) {
  abut_geom_def def = abut_default_geom_def();
  def.type = type;
  def.size[0] = s0, def.size[1] = s1, def.size[2] = s2;
  return def;
}

static void check_rest(abut_geom_def geom, double height, abut_options options) {
  for (int on_box = 0; on_box < 2; on_box++) {
    abut_model *model = one_body(&geom, height, on_box);
    REQUIRE(model);
    scene_run *r = settle(model, options);
    check_weight(r, g);
    scene_run_free(r);
    abut_model_destroy(model);
  }
}

static void check_all_shapes(abut_options options) {
  abut_geom_def lying = shape(ABUT_GEOM_CAPSULE, 0.05, 0.1, 0);
  lying.quat[0] = lying.quat[2] = sqrt(0.5);
  check_rest(shape(ABUT_GEOM_BOX, 0.1, 0.08, 0.05), 0.05, options);
  check_rest(shape(ABUT_GEOM_SPHERE, 0.1, 0, 0), 0.1, options);
  check_rest(lying, 0.05, options);
  check_rest(shape(ABUT_GEOM_CYLINDER, 0.1, 0.06, 0), 0.06, options);
#ifdef ABUT_HAVE_QHULL
  static const double tent[] = {-0.1,  -0.1, -0.05, 0.1,   -0.1, -0.05, 0.1, 0.1,
                                -0.05, -0.1, 0.1,   -0.05, 0.02, 0.03,  0.1};
  abut_geom_def mesh = shape(ABUT_GEOM_MESH, 0, 0, 0);
  mesh.points = tent;
  mesh.npoint = 5;
  check_rest(mesh, 0.05, options);
#endif
}

TEST(shapes_at_rest_weigh_their_weight_local) { check_all_shapes(abut_default_options()); }
TEST(shapes_at_rest_weigh_their_weight_inverse) {
  abut_options o = abut_default_options();
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  check_all_shapes(o);
}
TEST(shapes_at_rest_weigh_their_weight_normalised) {
  abut_options o = abut_default_options();
  o.implicit.weights = ABUT_WEIGHTS_NORMALISED;
  check_all_shapes(o);
}

/* Two boxes in a pile: the lower contact carries both. */
TEST(pile_of_two_weighs_both) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  int32_t floor_geom = scene_floor(b);
  for (int i = 0; i < 2; i++)
    scene_geom(b, scene_free_body(b, 0, 0, 0.1 + 0.2 * i, 1 + i, 0.01, 0.01, 0.01), ABUT_GEOM_BOX, 0.1, 0.1,
               0.1);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  scene_run *r = settle(model, abut_default_options());
  REQUIRE(r);
  for (int32_t p = 0; p < r->size.npair; p++) {
    int32_t geoms[2];
    CHECK_STATUS(abut_model_pair(model, p, geoms), ABUT_OK);
    int ground = geoms[0] == floor_geom || geoms[1] == floor_geom;
    double f = fabs(scene_force(r, 0, r->nstep - 1, p)[2]);
    if (f > 0) CHECK_REL(f, ground ? 3 * g : 2 * g, 1e-5);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* Height of a body at rest above where it would touch. */
static double rest_gap(abut_geom_def geom, double height, int32_t weights) {
  abut_options o = abut_default_options();
  o.implicit.weights = weights;
  abut_model *model = one_body(&geom, height, 0);
  scene_run *r = model ? settle(model, o) : NULL;
  double gap = r ? scene_xpos(r, 0, r->nstep, r->size.nbody - 1)[2] - height : NAN;
  scene_run_free(r);
  abut_model_destroy(model);
  return gap;
}

/* w points carry m g: w mu |P'(gap)| = m g, P' of the local barrier. */
static void check_gap(double gap, double points) {
  abut_options o = abut_default_options();
  double s = o.implicit.reach, slope = pow(s - gap, 3) * (5 * s - gap) / pow(gap, 6), stiffness = 1e-7;
  CHECK_REL(points * stiffness * slope, g, 1e-5);
}

/* With unit weights a finer cylinder stands higher; normalised, it stands as high as a box. */
TEST(refining_a_face_changes_nothing_when_normalised) {
  abut_geom_def coarse = shape(ABUT_GEOM_CYLINDER, 0.1, 0.06, 0), fine = coarse,
                box = shape(ABUT_GEOM_BOX, 0.1, 0.1, 0.06);
  coarse.hull_points = 16;
  fine.hull_points = 64;
  check_gap(rest_gap(box, 0.06, ABUT_WEIGHTS_UNIT), 4);
  check_gap(rest_gap(coarse, 0.06, ABUT_WEIGHTS_UNIT), 8);
  check_gap(rest_gap(fine, 0.06, ABUT_WEIGHTS_UNIT), 32);
  check_gap(rest_gap(box, 0.06, ABUT_WEIGHTS_NORMALISED), 4);
  check_gap(rest_gap(coarse, 0.06, ABUT_WEIGHTS_NORMALISED), 4);
  check_gap(rest_gap(fine, 0.06, ABUT_WEIGHTS_NORMALISED), 4);
}

/* Contact only ever takes energy: a box dropped on its corner with spin. */
TEST(falling_box_only_loses_energy) {
  abut_builder *b = scene_begin(-g);
  REQUIRE(b);
  scene_floor(b);
  scene_geom(b, scene_free_body(b, 0, 0, 0.5, 0, 0, 0, 0), ABUT_GEOM_BOX, 0.1, 0.15, 0.08);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double q0[7] = {0, 0, 0.5, cos(pi / 8), sin(pi / 8) * 0.6, sin(pi / 8) * 0.8, 0},
         v0[6] = {1, 0.5, 0, 2, -1, 3};
  abut_options o = abut_default_options();
  o.friction = 0.4;
  scene_run *r = scene_rollout(model, o, 300, q0, v0, NULL);
  REQUIRE(r);
  for (int64_t t = 1; t < 300; t++) {
    double before = scene_energy(r, 0, t - 1), after = scene_energy(r, 0, t);
    if (!(after <= before + 1e-6 * fabs(before)))
      test_fail(__FILE__, __LINE__, "step %d: energy grew from %.9g to %.9g J", (int)t, before, after);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}
