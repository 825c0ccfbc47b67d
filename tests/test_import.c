/* test_import.c: MJCF and URDF texts: what each element becomes, what is refused by name, bad input. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#ifdef ABUT_HAVE_MUJOCO
#include "host/import/import.h"
#include "host/model/model.h"
#include "import_text.h"
#include <mujoco/mujoco.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------- refused by name */

typedef struct refusal {
  const char *text, *words;
  int droppable;
} refusal;

static const refusal refusals[] = {
    {SCENE("<option><flag override='enable'/></option>", "", ""), "option flag override", 1},
    {SCENE("", "", "<actuator><muscle name='u' joint='ja' lengthrange='0 1'/></actuator>"),
     "actuator 'u' (muscle)", 1},
    {SCENE("", "", "<actuator><adhesion name='u' body='a' ctrlrange='0 1'/></actuator>"),
     "actuator 'u' (transmission body)", 1},
    {SCENE("",
           "<flexcomp name='f' type='grid' count='3 3 1' spacing='.1 .1 .1' dim='2' pos='0 0 5' mass='1' "
           "radius='.01'/>",
           ""),
     "flex 'f'", 0},
};

TEST(unsupported_elements_are_refused_by_name) {
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    abut_model *model = NULL;
    abut_status status = load(refusals[i].text, &model);
    CHECK_STATUS(status, ABUT_ERROR_UNSUPPORTED);
    CHECK(model == NULL);
    MESSAGE_HAS(refusals[i].words);
    MESSAGE_HAS("unsupported: ");
    abut_model_destroy(model);
  }
}

TEST(ignore_unsupported_drops_and_says_so) {
  abut_load_options ignore = {.ignore_unsupported = 1};
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    abut_model *model = NULL;
    abut_status status = load_as(".xml", refusals[i].text, &ignore, &model);
    CHECK_STATUS(status, refusals[i].droppable ? ABUT_OK : ABUT_ERROR_UNSUPPORTED);
    if (status == ABUT_OK)
      CHECK(strstr(abut_model_warnings(model), refusals[i].words) != NULL);
    else
      MESSAGE_HAS("cannot be ignored");
    abut_model_destroy(model);
  }
}

#define MUSCLE(name) "<muscle name='" name "' joint='ja' lengthrange='0 1'/>"

TEST(one_message_lists_everything) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load(SCENE("<option><flag override='enable'/></option>", "",
                 "<actuator>" MUSCLE("u") "<motor name='v' joint='ja'/>"
                                          "<adhesion name='w' body='a' ctrlrange='0 1'/></actuator>"),
           &model),
      ABUT_ERROR_UNSUPPORTED);
  MESSAGE_HAS("override");
  MESSAGE_HAS("'u'");
  MESSAGE_HAS("'w'");
  CHECK(!strstr(abut_error_message(), "'v'"));
}

TEST(long_lists_end_with_a_count) {
  enum { MUSCLES = 400 };
  char *text = malloc(200 + MUSCLES * 120), *at = text;
  REQUIRE(text);
  at +=
      sprintf(at, "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator>");
  for (int i = 0; i < MUSCLES; i++)
    at += sprintf(at, "<muscle name='muscle_number_%d' joint='j' lengthrange='0 1'/>", i);
  sprintf(at, "</actuator></mujoco>");
  abut_model *model = NULL;
  CHECK_STATUS(load(text, &model), ABUT_ERROR_UNSUPPORTED);
  MESSAGE_HAS("actuator 'muscle_number_0' (muscle)");
  MESSAGE_HAS(" more");
  free(text);
}

TEST(dropped_actuators_leave_the_others_in_order) {
  abut_load_options ignore = {.ignore_unsupported = 1};
  abut_model *model = NULL;
  CHECK_STATUS(load_as(".xml",
                       SCENE("", "",
                             "<actuator>" MUSCLE(
                                 "u") "<motor name='v' joint='ja' gear='3'/>"
                                      "<intvelocity name='i' joint='ja' actrange='-1 1' kp='1'/></actuator>"
                                      "<keyframe><key name='k' ctrl='5 7 9' act='.5 .25'/></keyframe>"),
                       &ignore, &model),
               ABUT_OK);
  REQUIRE(model);
  REQUIRE(model->nu == 2 && model->nkey == 1 && model->na == 1);
  CHECK(!strcmp(abut_model_name(model, 'a', 0), "v"));
  CHECK(model->key_ctrl[0] == 7 && model->key_ctrl[1] == 9 && model->key_act[0] == 0.25);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- accepted */

TEST(what_is_not_physics_is_accepted_in_silence) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load(
          SCENE("<option integrator='RK4' solver='CG' cone='elliptic' iterations='3'/><statistic extent='2'/>"
                "<visual><map znear='.1'/></visual><custom><numeric name='n' data='1 2'/></custom>"
                "<asset><texture name='x' type='skybox' builtin='gradient' width='4' height='4' rgb1='1 1 1' "
                "rgb2='0 0 0'/>"
                "<material name='mat' rgba='1 0 0 1'/></asset>",
                "<light pos='0 0 3'/><camera name='cam' pos='0 0 3'/><site name='s'/>"
                "<body name='target' mocap='true'><geom size='.1' contype='0' conaffinity='0'/></body>",
                "<sensor><jointpos joint='ja'/><accelerometer site='sa'/></sensor>"
                "<equality><joint name='e' joint1='ja' joint2='jb' active='false'/></equality>"),
          &model),
      ABUT_OK);
  REQUIRE(model);
  CHECK(!strcmp(abut_model_warnings(model), ""));
  CHECK(model->nbody == 5 && model->ngeom == 5);
  abut_model_destroy(model);
}

TEST(margins_are_noted) {
  abut_model *model = NULL;
  CHECK_STATUS(load(SCENE("", "<geom size='.1' margin='.01'/>", ""), &model), ABUT_OK);
  CHECK(model &&
        strstr(abut_model_warnings(model), "note: the margin of 1 geom (largest 0.01 m) is ignored"));
  abut_model_destroy(model);
}

TEST(friction_beyond_sliding_is_noted) {
  abut_model *model = NULL;
  CHECK_STATUS(load(SCENE("", "<geom size='.1' condim='4'/>", ""), &model), ABUT_OK);
  CHECK(model && strstr(abut_model_warnings(model),
                        "the torsional and rolling friction of 1 geom and pairs (condim 4, 6) is ignored"));
  abut_model_destroy(model);
  CHECK_STATUS(
      load(SCENE("", "", "<contact><pair geom1='ga' geom2='gb' friction='1 .5 0 0 0'/></contact>"), &model),
      ABUT_OK);
  CHECK(model && strstr(abut_model_warnings(model), "1 pair with two coefficients: the larger counts"));
  abut_model_destroy(model);
}

TEST(joints) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load("<mujoco><compiler angle='radian' autolimits='true'/><worldbody>"
           "<body><joint type='hinge' axis='0 3 4' pos='1 2 3' range='-1 2' ref='.5' springref='.25' "
           "stiffness='6' damping='7' armature='8' frictionloss='9' solreflimit='.1 .7'/>"
           "<joint type='slide'/><geom size='1'/></body>"
           "<body><joint type='ball' range='0 1.5'/><geom size='1'/></body>"
           "<body><freejoint/><geom size='1'/></body></worldbody></mujoco>",
           &model),
      ABUT_OK);
  REQUIRE(model);
  REQUIRE(model->njnt == 4 && model->nq == 13 && model->nv == 11);
  abut_joint_def hinge;
  CHECK_STATUS(abut_model_joint(model, 0, &hinge), ABUT_OK);
  CHECK(hinge.type == ABUT_JOINT_HINGE && hinge.limited == 1);
  CHECK_NEAR(hinge.axis[1], 0.6, 1e-15);
  CHECK_NEAR(hinge.axis[2], 0.8, 1e-15);
  CHECK(hinge.pos[0] == 1 && hinge.pos[1] == 2 && hinge.pos[2] == 3);
  CHECK(hinge.range[0] == -1 && hinge.range[1] == 2 && hinge.ref == 0.5 && hinge.springref == 0.25);
  CHECK(hinge.stiffness == 6 && hinge.damping == 7 && hinge.armature == 8 && hinge.frictionloss == 9);
  CHECK(hinge.solref[0] == 0.1 && hinge.solref[1] == 0.7);
  CHECK(model->jnt_type[1] == ABUT_JOINT_SLIDE && !model->jnt_limited[1]);
  CHECK(model->jnt_type[2] == ABUT_JOINT_BALL && model->jnt_limited[2] && model->jnt_range[5] == 1.5);
  CHECK(model->jnt_type[3] == ABUT_JOINT_FREE);
  abut_model_destroy(model);
}

TEST(hull_points_of_cylinders) {
  abut_load_options options = {.hull_points = 10};
  abut_model *model = NULL;
  const char *text =
      "<mujoco><worldbody><body><freejoint/><geom type='cylinder' size='1 2'/></body></worldbody></mujoco>";
  CHECK_STATUS(load_as(".xml", text, &options, &model), ABUT_OK);
  CHECK(model && model->geom_pointnum[0] == 10 && model->geom_hull_error[0] > 0);
  abut_model_destroy(model);
  options.hull_points = 7;
  CHECK_STATUS(load_as(".xml", text, &options, &model), ABUT_ERROR_MODEL);
  MESSAGE_HAS("hull_points is 7");
}

static void check_actuator(const abut_model *model, int id, double gear, double gain, double b0, double b1,
                           double b2) {
  abut_actuator_def def;
  CHECK_STATUS(abut_model_actuator(model, id, &def), ABUT_OK);
  CHECK(def.gear == gear && def.gain == gain);
  CHECK(def.bias[0] == b0 && def.bias[1] == b1 && def.bias[2] == b2);
}

#define TESSELLATED(k) SCENE("", "", "<custom><numeric name='tessellation' data='" k "'/></custom>")

/* 8 K^2 triangles a ball. */
TEST(tessellation_of_a_scene) {
  abut_model *model;
  abut_load_options options = {.tessellation = 3};
  CHECK_STATUS(load(TESSELLATED("2"), &model), ABUT_OK);
  if (model) CHECK(model->ntriangle == 3 * 32);
  abut_model_destroy(model);
  CHECK_STATUS(load_as(".xml", TESSELLATED("2"), &options, &model), ABUT_OK); /* the caller's counts */
  if (model) CHECK(model->ntriangle == 3 * 72);
  abut_model_destroy(model);
  const char *bad[] = {TESSELLATED("0"), TESSELLATED("101"), TESSELLATED("1.5"), TESSELLATED("-1e300")};
  for (int i = 0; i < 4; i++) {
    CHECK_STATUS(load(bad[i], &model), ABUT_ERROR_MODEL);
    MESSAGE_HAS("numeric tessellation: ");
    abut_model_destroy(model);
  }
}

TEST(actuators) {
  abut_model *model = NULL;
  CHECK_STATUS(load(SCENE("", "",
                          "<actuator><motor joint='ja' gear='3'/><position joint='jb' kp='5'/>"
                          "<velocity joint='ja' kv='4' ctrllimited='true' ctrlrange='-2 2'/>"
                          "<general jointinparent='jb' gainprm='2' biastype='affine' biasprm='1 -2 -3' "
                          "forcelimited='true' forcerange='-6 8'/></actuator>"),
                    &model),
               ABUT_OK);
  REQUIRE(model);
  REQUIRE(model->nu == 4);
  check_actuator(model, 0, 3, 1, 0, 0, 0);
  check_actuator(model, 1, 1, 5, 0, -5, 0);
  check_actuator(model, 2, 1, 4, 0, 0, -4);
  check_actuator(model, 3, 1, 2, 1, -2, -3);
  CHECK(model->actuator_ctrllimited[2] && model->actuator_ctrlrange[4] == -2);
  CHECK(model->actuator_forcelimited[3] && model->actuator_forcerange[7] == 8);
  CHECK(model->actuator_trnid[6] == 1);
  abut_model_destroy(model);
}

/* The joint's limit acts behind the gear. */
TEST(joint_force_range_moves_to_the_actuator) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load("<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-6 12'/><geom size='1'/></body>"
           "</worldbody><actuator><motor joint='j' gear='-2' forcerange='-4 4' forcelimited='true'/>"
           "</actuator></mujoco>",
           &model),
      ABUT_OK);
  REQUIRE(model);
  CHECK(model->actuator_forcelimited[0]);
  CHECK(model->actuator_forcerange[0] == -4 && model->actuator_forcerange[1] == 3);
  abut_model_destroy(model);
}

TEST(disable_flags) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load(SCENE("<option><flag gravity='disable' contact='disable' limit='disable' actuation='disable' "
                 "clampctrl='disable' frictionloss='disable'/></option>",
                 "<body><joint range='-1 1' limited='true' frictionloss='2'/><geom size='.1'/></body>",
                 "<actuator><position joint='ja' kp='5' ctrllimited='true' ctrlrange='-1 1'/></actuator>"),
           &model),
      ABUT_OK);
  REQUIRE(model);
  CHECK(model->option.gravity[2] == 0);
  CHECK(model->npair == 0);
  CHECK(!model->jnt_limited[3] && model->jnt_frictionloss[3] == 0);
  CHECK(model->actuator_gain[0] == 0 && model->actuator_bias[1] == 0 && !model->actuator_ctrllimited[0]);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- contact */

/* Coefficient of the pair of two named geoms, -1 if there is no such pair. */
static double friction_between(const abut_model *model, const char *name1, const char *name2) {
  for (int p = 0; p < model->npair; p++) {
    int g1 = model->pair_geom1[p], g2 = model->pair_geom2[p];
    const char *a = abut_model_name(model, 'g', g1), *b = abut_model_name(model, 'g', g2);
    if ((strcmp(a, name1) || strcmp(b, name2)) && (strcmp(a, name2) || strcmp(b, name1))) continue;
    if (model->pair_friction[p] >= 0) return model->pair_friction[p];
    return fmax(model->geom_friction[g1], model->geom_friction[g2]);
  }
  return -1;
}

TEST(friction_follows_condim_and_priority) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load("<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' friction='.4'/>"
           "<body><freejoint/><geom name='slick' size='.1' condim='1' friction='.9'/></body>"
           "<body><freejoint/><geom name='glass' size='.1' condim='1'/></body>"
           "<body><freejoint/><geom name='ruler' size='.1' friction='.2' priority='1'/></body>"
           "<body><freejoint/><geom name='rough' size='.1' friction='.7'/></body></worldbody></mujoco>",
           &model),
      ABUT_OK);
  REQUIRE(model);
  CHECK(friction_between(model, "slick", "glass") == 0);
  CHECK(friction_between(model, "slick", "floor") == 0.9);
  CHECK(friction_between(model, "rough", "floor") == 0.7);
  CHECK(friction_between(model, "ruler", "rough") == 0.2);
  CHECK(friction_between(model, "ruler", "floor") == 0.2);
  abut_model_destroy(model);
}

TEST(pairs_and_excludes) {
  abut_model *model = NULL;
  CHECK_STATUS(load(SCENE("", "",
                          "<contact><exclude body1='c' body2='a'/>"
                          "<pair geom1='gb' geom2='ga' friction='.3 .3 0 0 0'/></contact>"),
                    &model),
               ABUT_OK);
  REQUIRE(model);
  CHECK(friction_between(model, "ga", "gc") == -1);
  CHECK(friction_between(model, "ga", "gb") == 0.3);
  CHECK(friction_between(model, "gb", "gc") == 1);
  abut_model_destroy(model);
}

#define FAMILY(flag)                                                                                         \
  "<mujoco><option><flag filterparent='" flag                                                                \
  "'/></option><worldbody><body><freejoint/><geom name='p' size='.1'/>"                                      \
  "<body pos='0 0 1'><joint/><geom name='c' size='.1' friction='1.5'/></body></body></worldbody></mujoco>"

TEST(parents_and_children) {
  abut_model *model = NULL;
  CHECK_STATUS(load(FAMILY("enable"), &model), ABUT_OK);
  CHECK(model && friction_between(model, "p", "c") == -1);
  abut_model_destroy(model);
  CHECK_STATUS(load(FAMILY("disable"), &model), ABUT_OK);
  CHECK(model && friction_between(model, "p", "c") == 1.5);
  abut_model_destroy(model);
}

/* MuJoCo moves a mesh into its centre and principal axes, and the geom back: the points must not care. */
TEST(mesh_points_end_where_the_file_puts_them) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load("<mujoco><asset><mesh name='m' scale='1 1 2' vertex='0 0 0  1 0 0  0 2 0  0 0 3'/></asset>"
           "<worldbody><body><freejoint/><geom type='mesh' mesh='m' pos='1 0 0' euler='0 0 90'/></body>"
           "</worldbody></mujoco>",
           &model),
      ABUT_OK);
  REQUIRE(model);
  REQUIRE(model->npoint == 4);
  static const double expected[4][3] = {{1, 0, 0}, {1, 1, 0}, {-1, 0, 0}, {1, 0, 6}};
  for (int i = 0; i < 4; i++) {
    double nearest = 1;
    for (int k = 0; k < 4; k++) {
      const double *p = model->point + 3 * k, *e = expected[i];
      nearest = fmin(nearest, fabs(p[0] - e[0]) + fabs(p[1] - e[1]) + fabs(p[2] - e[2]));
    }
    CHECK(nearest < 1e-6);
  }
  CHECK_NEAR(model->body_mass[1], 2000, 1e-3);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- URDF */

#define LINK(name, mass)                                                                                     \
  "<link name='" name "'><inertial><mass value='" mass "'/>"                                                 \
  "<inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"

static const char urdf[] = "<?xml version='1.0'?>\n<!-- <robot> in a comment > -->\n<robot name='r'>" LINK(
    "base", "1") "</link>" LINK("arm", "2") "<visual><geometry><mesh "
                                            "filename='package://nowhere/skin.dae'/></geometry></visual>"
                                            "<collision><geometry><mesh "
                                            "filename='package://robot_pkg/meshes/block.obj'/></geometry>"
                                            "</collision></link><joint name='turn' type='revolute'><parent "
                                            "link='base'/><child link='arm'/>"
                                            "<origin xyz='0 0 1'/><axis xyz='0 1 0'/><limit lower='-1' "
                                            "upper='2' effort='5' velocity='1'/>"
                                            "</joint></robot>\n";

static const char block[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

/* A folder as ROS lays packages out: top/robot_pkg/{meshes,urdf}. */
static abut_status load_package(const char *text, const char *obj, abut_model **model) {
  char top[] = P_tmpdir "/abut_urdf_XXXXXX", path[PATH_MAX], mesh[PATH_MAX], folder[3][PATH_MAX];
  *model = NULL;
  if (!mkdtemp(top)) return ABUT_ERROR_FILE;
  snprintf(folder[0], PATH_MAX, "%s/robot_pkg", top);
  snprintf(folder[1], PATH_MAX, "%s/robot_pkg/meshes", top);
  snprintf(folder[2], PATH_MAX, "%s/robot_pkg/urdf", top);
  for (int i = 0; i < 3; i++) mkdir(folder[i], 0700);
  snprintf(path, sizeof path, "%s/robot_pkg/urdf/robot.urdf", top);
  snprintf(mesh, sizeof mesh, "%s/robot_pkg/meshes/block.obj", top);
  write_text(path, text);
  if (obj) write_text(mesh, obj);
  abut_status status = abut_model_load(path, NULL, model);
  unlink(path);
  unlink(mesh);
  for (int i = 2; i >= 0; i--) rmdir(folder[i]);
  rmdir(top);
  return status;
}

TEST(urdf_package_names_are_found_above_the_file) {
  abut_model *model = NULL;
  CHECK_STATUS(load_package(urdf, block, &model), ABUT_OK);
  REQUIRE(model);
  CHECK(model->njnt == 1 && model->jnt_range[0] == -1 && model->jnt_range[1] == 2);
  CHECK(model->ngeom == 1 && model->npoint == 4);
  CHECK_NEAR(model->body_mass[1], 2, 1e-15);
  abut_model_destroy(model);
}

/* Without its last face the block has no volume, which is noted where a link without <inertial> needs it. The
 * wheel is fixed to its axle, which has none. */
TEST(urdf_open_meshes) {
#define OBJ                                                                                                  \
  "<collision><geometry><mesh filename='package://robot_pkg/meshes/block.obj'/></geometry></collision>"
#define ROBOT(axle, wheel)                                                                                   \
  "<robot name='r'><link name='base'/>" axle "</link>" wheel "</link><joint name='turn' type='continuous'>"  \
  "<parent link='base'/><child link='axle'/></joint><joint name='weld' type='fixed'><parent link='axle'/>"   \
  "<child link='wheel'/></joint></robot>"
  static const char open[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n";
  abut_model *model;
  CHECK_STATUS(load_package(ROBOT("<link name='axle'>", LINK("wheel", "2") OBJ), open, &model), ABUT_OK);
  abut_model_destroy(model);
  CHECK_STATUS(load_package(ROBOT(LINK("axle", "2"), "<link name='wheel'>" OBJ), block, &model), ABUT_OK);
  abut_model_destroy(model);
  CHECK_STATUS(load_package(ROBOT(LINK("axle", "2"), "<link name='wheel'>" OBJ), open, &model), ABUT_OK);
  CHECK(strstr(abut_model_warnings(model),
               "mesh 'block' is not closed, but body 'axle' takes its mass from it"));
  abut_model_destroy(model);
}

TEST(urdf_package_that_is_nowhere) {
  abut_model *model = NULL;
  CHECK_STATUS(load_package(urdf, NULL, &model), ABUT_ERROR_FILE);
  MESSAGE_HAS("package://robot_pkg/meshes/block.obj");
  CHECK(model == NULL);
}

/* Line numbers stay those of the user's file, and nothing in comments or quotes is taken for a tag. */
TEST(urdf_text_keeps_its_lines) {
  const char *text =
      "<!-- <visual> -->\n<robot name='a>b'>\n<link name='x'>\n<visual>\n<x/>\n</visual>\n<visual/>\n"
      "<mesh filename='file:///m.obj'/>\n</link></robot>";
  char *prepared = NULL;
  CHECK(import_is_urdf(text));
  CHECK(!import_is_urdf("<?xml version='1.0'?><!-- <robot> --><mujoco/>"));
  CHECK(!import_is_urdf("robot"));
  CHECK_STATUS(import_prepare_urdf("x.urdf", text, &prepared), ABUT_OK);
  REQUIRE(prepared);
  CHECK(strstr(prepared, "<!-- <visual> -->\n<robot name='a>b'><mujoco>") == prepared);
  CHECK(!strstr(prepared, "<x/>") && !strstr(prepared, "</visual>"));
  CHECK(strstr(prepared, "<mesh filename='/m.obj'/>") != NULL);
  int lines = 0;
  for (const char *c = prepared; *c; c++) lines += *c == '\n';
  CHECK(lines == 8);
  free(prepared);
}

TEST(urdf_with_its_own_settings_keeps_them) {
  const char *text = "<robot><mujoco><compiler discardvisual='false'/></mujoco><visual/><mesh "
                     "filename='package://a/b'/></robot>";
  char *prepared = NULL;
  CHECK_STATUS(import_prepare_urdf("x.urdf", text, &prepared), ABUT_OK);
  CHECK(prepared && !strcmp(prepared, text));
  free(prepared);
}

TEST(urdf_cut_short) {
  size_t length = strlen(urdf);
  for (size_t cut = 0; cut < length; cut += 7) {
    char *text = strdup(urdf), *prepared = NULL;
    text[cut] = 0;
    import_is_urdf(text);
    if (import_prepare_urdf("x.urdf", text, &prepared) == ABUT_OK) free(prepared);
    free(text);
  }
}

/* ---------------------------------------------------------------------------------------- bad input */

typedef struct bad_input {
  const char *text, *words;
} bad_input;

static const bad_input bad_inputs[] = {
    {"", "scene.xml"},
    {"<mujoco><worldbody>", "MuJoCo cannot read it"},
    {"<mujoco><worldbody><nonsense/></worldbody></mujoco>", "nonsense"},
    {"<html></html>", "MuJoCo cannot read it"},
    {"<mujoco><asset><mesh name='pad' file='pad.obj'/></asset><worldbody/></mujoco>", "pad.obj"},
    {"<mujoco><include file='nowhere.xml'/></mujoco>", "nowhere.xml"},
    {"<mujoco><asset><mesh name='flat' vertex='0 0 0 1 0 0 0 1 0 1 1 "
     "0'/></asset><worldbody><body><freejoint/>"
     "<geom name='pad' type='mesh' mesh='flat' mass='1'/></body></worldbody></mujoco>",
     "a mesh must not be flat"},
    {"<mujoco><worldbody><body name='b'><freejoint/><geom size='.1' mass='0'/></body></worldbody></mujoco>",
     "mass"},
    {"<mujoco><worldbody><body name='b'><freejoint/><geom size='.1' mass='-1'/></body></worldbody></mujoco>",
     "mass"},
    {"<mujoco><worldbody><body name='b'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 "
     "-1'/></body>"
     "</worldbody></mujoco>",
     "inertia"},
    {"<mujoco><worldbody><body name='b'><freejoint/><geom size='-.1'/></body></worldbody></mujoco>", "size"},
    {"<mujoco><option timestep='0'/><worldbody/></mujoco>", "timestep"},
    {"<mujoco><option gravity='nan 0 0'/><worldbody/></mujoco>", ""},
    {"<mujoco><worldbody><body pos='nan 0 0'><freejoint/><geom size='.1'/></body></worldbody></mujoco>", ""},
};

TEST(bad_files) {
  for (size_t i = 0; i < sizeof bad_inputs / sizeof *bad_inputs; i++) {
    abut_model *model = NULL;
    abut_status status = load(bad_inputs[i].text, &model);
    if (status == ABUT_OK) test_fail(__FILE__, __LINE__, "accepted: %s", bad_inputs[i].text);
    MESSAGE_HAS(bad_inputs[i].words);
    MESSAGE_HAS("scene.xml");
    CHECK(!strchr(abut_error_message(), '\n'));
    CHECK(model == NULL);
    abut_model_destroy(model);
  }
}

TEST(bad_names) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_model_load("no/such/scene.xml", NULL, &model), ABUT_ERROR_FILE);
  MESSAGE_HAS("no/such/scene.xml");
  CHECK_STATUS(abut_model_load("no/such/scene.urdf", NULL, &model), ABUT_ERROR_FILE);
  CHECK_STATUS(abut_model_load("scene.usd", NULL, &model), ABUT_ERROR_FILE);
  MESSAGE_HAS("scene.usd");
  CHECK_STATUS(import_mujoco("tests", NULL, &model), ABUT_ERROR_FILE);
  CHECK_STATUS(import_mujoco(NULL, NULL, &model), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(import_mujoco("scene.xml", NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(model == NULL);
}

/* A tetrahedron, without a face, and with one face turned. */
#define TETRAHEDRON "0 2 1  0 1 3  1 2 3  0 3 2"
#define OPEN "0 2 1  0 1 3  1 2 3"
#define TURNED "0 2 1  0 1 3  1 2 3  0 2 3"
#define MESH_BODY(face, mesh, settings, body, geom)                                                          \
  "<mujoco>" settings "<asset><mesh name='m' " mesh " vertex='0 0 0  1 0 0  0 1 0  0 0 1' face='" face       \
  "'/></asset><worldbody><body name='b'>" body "<geom type='mesh' mesh='m' " geom                            \
  "/></body></worldbody></mujoco>"
#define MASSIVE "<freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"

/* A mass that comes from the volume of a mesh that has none is noted. */
TEST(open_meshes_are_noted) {
  static const struct {
    const char *text;
    int certain;
  } cases[] = {
      {MESH_BODY(TETRAHEDRON, "", "", "<freejoint/>", ""), 1},
      {MESH_BODY(OPEN, "", "", "<freejoint/>", ""), 0},
      {MESH_BODY(TURNED, "", "", "<freejoint/>", ""), 0},
      {MESH_BODY(OPEN, "inertia='exact'", "", "<freejoint/>", ""), 0},
      {MESH_BODY(OPEN, "inertia='convex'", "", "<freejoint/>", ""), 1},
      {MESH_BODY(OPEN, "inertia='shell'", "", "<freejoint/>", ""), 1},
      {MESH_BODY(OPEN, "", "", "<freejoint/>", "mass='1'"), 0},
      {MESH_BODY(OPEN, "", "", MASSIVE, ""), 1},
      {MESH_BODY(OPEN, "", "<compiler inertiafromgeom='true'/>", MASSIVE, ""), 0},
      {MESH_BODY(OPEN, "", "", "<freejoint/><geom size='.1'/>", "mass='0'"), 1},
      {MESH_BODY(OPEN, "", "<compiler inertiagrouprange='0 2'/>", "<freejoint/><geom size='.1'/>",
                 "group='3'"),
       1},
      {MESH_BODY(OPEN, "", "", "", ""), 1}, /* fixed to the world */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    abut_model *model;
    CHECK_STATUS(load(cases[i].text, &model), ABUT_OK);
    const char *note =
        strstr(abut_model_warnings(model), "mesh 'm' is not closed, but body 'b' takes its mass");
    if ((note == NULL) != cases[i].certain)
      test_fail(__FILE__, __LINE__, "case %zu: %s", i, abut_model_warnings(model));
    abut_model_destroy(model);
  }
}

/* A flat mesh that nothing touches is looked at only: it is left out, and noted. */
TEST(flat_visual_mesh_is_left_out) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load("<mujoco><asset><mesh name='flat' inertia='shell' vertex='0 0 0 1 0 0 0 1 0 1 1 0' "
           "face='0 1 2 1 3 2'/></asset><worldbody><body><freejoint/><geom name='ball' size='.1'/>"
           "<geom type='mesh' mesh='flat' mass='0' contype='0' conaffinity='0'/></body></worldbody></mujoco>",
           &model),
      ABUT_OK);
  REQUIRE(model);
  CHECK(model->ngeom == 1);
  CHECK(strstr(abut_model_warnings(model),
               "(mesh 'flat') is left out: it never collides and has no hull: hull of 4"));
  abut_model_destroy(model);
}

/* Whatever MuJoCo and its hull code print, the library does not. */
TEST(nothing_is_printed) {
  char name[] = P_tmpdir "/abut_output_XXXXXX";
  int file = mkstemp(name), out = dup(1), err = dup(2);
  REQUIRE(file >= 0);
  fflush(stdout);
  dup2(file, 1);
  dup2(file, 2);
  FILE *stderr_before = stderr;
  for (size_t i = 0; i < sizeof bad_inputs / sizeof *bad_inputs; i++) {
    abut_model *model = NULL;
    load(bad_inputs[i].text, &model);
    abut_model_destroy(model);
  }
  fflush(stdout);
  dup2(out, 1);
  dup2(err, 2);
  struct stat status;
  CHECK(fstat(file, &status) == 0 && status.st_size == 0);
  CHECK(stderr == stderr_before);
  CHECK(access("MUJOCO_LOG.TXT", F_OK) != 0);
  close(file);
  close(out);
  close(err);
  unlink(name);
}

static void *load_many(void *failures) {
  for (int i = 0; i < 20; i++) {
    abut_model *model = NULL;
    if (abut_model_load("scenes/ant_box.xml", NULL, &model) != ABUT_OK) ++*(int *)failures;
    abut_model_destroy(model);
    if (abut_model_load("no.xml", NULL, &model) != ABUT_ERROR_FILE) ++*(int *)failures;
  }
  return NULL;
}

TEST(threads_may_load_at_once) {
  pthread_t threads[4];
  int failures[4] = {0};
  for (int i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, load_many, &failures[i]) == 0);
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    CHECK(failures[i] == 0);
  }
}

static int heard, left, moved;
static jmp_buf here;
static void hear(const char *message) { heard += message != NULL; }
static void leave(const char *message) {
  left += message != NULL;
  longjmp(here, 1);
}
/* What MuJoCo says on other threads while this library imports is theirs, and so is standard error. */
TEST(other_threads_keep_their_handlers) {
  enum { TIMES = 20000 };
  void (*warning)(const char *) = mju_user_warning, (*error)(const char *) = mju_user_error;
  FILE *const stderr_before = stderr;
  pthread_t other;
  int failures = 0;
  heard = left = moved = 0;
  mju_user_warning = hear;
  mju_user_error = leave;
  REQUIRE(pthread_create(&other, NULL, load_many, &failures) == 0);
  for (volatile int i = 0; i < TIMES; i++) {
    mju_warning("of thread %d", i);
    if (!setjmp(here)) mju_error("of thread %d", i);
    moved += stderr != stderr_before;
  }
  pthread_join(other, NULL);
  CHECK(mju_user_warning == hear && mju_user_error == leave);
  mju_user_warning = warning;
  mju_user_error = error;
  CHECK(failures == 0 && heard == TIMES && left == TIMES && moved == 0);
}

#else

TEST(built_without_mujoco_says_so) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_model_load("scenes/stack5.xml", NULL, &model), ABUT_ERROR_UNSUPPORTED);
  CHECK(strstr(abut_error_message(), "MuJoCo") != NULL);
  CHECK(model == NULL);
}

#endif
