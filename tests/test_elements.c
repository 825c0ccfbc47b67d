/* test_elements.c: what acts between bodies, from definitions to the compiled scene and back: sites, tendons,
 * equalities, actuators, sensors, height fields, keys; what is wrong with one is refused by name. */
#include "describe.h"
#include "host/model/model.h"
#include <math.h>
#include <stdio.h>

/* Two bodies of 1 kg, x apart, on hinges about y; a box on each, a site in each. */
static abut_builder *two_links(void) {
  abut_builder *b = NULL;
  if (abut_builder_create(&b) != ABUT_OK) return NULL;
  for (int32_t i = 1; i <= 2; i++) {
    abut_body_def body = abut_default_body_def();
    body.name = i == 1 ? "upper" : "lower";
    body.parent = i - 1;
    body.pos[0] = 1;
    body.mass = 1;
    for (int k = 0; k < 3; k++) body.inertia[k] = 0.1;
    CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
    abut_joint_def joint = abut_default_joint_def();
    joint.name = i == 1 ? "hip" : "knee";
    joint.body = i;
    joint.axis[1] = 1, joint.axis[2] = 0;
    CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
    abut_geom_def geom = abut_default_geom_def();
    geom.body = i;
    geom.size[0] = 0.1;
    CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
    abut_site_def site = abut_default_site_def();
    site.name = i == 1 ? "above" : "below";
    site.body = i;
    site.pos[2] = 0.5;
    CHECK_STATUS(abut_builder_add_site(b, &site, NULL), ABUT_OK);
  }
  return b;
}

static const abut_wrap sites[2] = {{ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_SITE, 1, 0}};
static const abut_wrap joints[2] = {{ABUT_WRAP_JOINT, 0, 2}, {ABUT_WRAP_JOINT, 1, -1}};

static abut_tendon_def tendon_of(const char *name, const abut_wrap *wraps, int32_t nwrap) {
  abut_tendon_def def = abut_default_tendon_def();
  def.name = name;
  def.wraps = wraps;
  def.nwrap = nwrap;
  return def;
}

/* A scene that cannot be finished, and why. */
static void refuse(abut_builder *b, const char *why) {
  abut_model *m = NULL;
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_ERROR_MODEL);
  if (!strstr(abut_error_message(), why))
    test_fail(__FILE__, __LINE__, "'%s': %s", why, abut_error_message());
  abut_builder_destroy(b);
}

TEST(everything_comes_back) {
  abut_builder *b = two_links();
  REQUIRE(b);
  abut_tendon_def cable = tendon_of("cable", sites, 2), sum = tendon_of("sum", joints, 2);
  cable.stiffness = 3, sum.limited = 1, sum.range[1] = 2;
  CHECK_STATUS(abut_builder_add_tendon(b, &cable, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_add_tendon(b, &sum, NULL), ABUT_OK);
  abut_equality_def weld = abut_default_equality_def();
  weld.name = "glue", weld.type = ABUT_EQUALITY_WELD, weld.obj1 = 2, weld.anchor1[1] = 0.25;
  CHECK_STATUS(abut_builder_add_equality(b, &weld, NULL), ABUT_OK);
  abut_actuator_def motor = abut_default_actuator_def();
  motor.name = "pull", motor.transmission = ABUT_TRANSMISSION_TENDON, motor.joint = 1;
  motor.dynamics = ABUT_DYNAMICS_FILTER, motor.tau = 0.5, motor.wrench[4] = 7, motor.gains[1] = -2;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  abut_sensor_def gyro = abut_default_sensor_def(), clock = gyro;
  gyro.name = "gyro", gyro.type = ABUT_SENSOR_GYRO, gyro.kind = 's', gyro.id = 1;
  clock.type = ABUT_SENSOR_CLOCK;
  CHECK_STATUS(abut_builder_add_sensor(b, &gyro, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_add_sensor(b, &clock, NULL), ABUT_OK);
  const double act = 0.125;
  CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "k", .act = &act}), ABUT_OK);
  abut_model *m = NULL;
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  const abut_model_sizes n = abut_model_get_sizes(m);
  CHECK(n.nsite == 2 && n.ntendon == 2 && n.neq == 1 && n.na == 1 && n.nsensor == 2 && n.nsensordata == 4);
  CHECK(!strcmp(abut_model_name(m, 't', 1), "sum") && !strcmp(abut_model_name(m, 'e', 0), "glue"));
  CHECK(!strcmp(abut_model_name(m, 's', 1), "below") && !strcmp(abut_model_name(m, 'n', 0), "gyro"));
  abut_tendon_def t;
  abut_wrap wrap;
  CHECK_STATUS(abut_model_tendon(m, 1, &t), ABUT_OK);
  CHECK(t.nwrap == 2 && t.limited && t.range[1] == 2 && t.stiffness == 0);
  CHECK_STATUS(abut_model_wrap(m, 1, 1, &wrap), ABUT_OK);
  CHECK(wrap.type == ABUT_WRAP_JOINT && wrap.obj == 1 && wrap.prm == -1);
  CHECK_STATUS(abut_model_wrap(m, 1, 2, &wrap), ABUT_ERROR_ARGUMENT);
  abut_equality_def e;
  CHECK_STATUS(abut_model_equality(m, 0, &e), ABUT_OK);
  /* the second body of "glue" is the world: at the reference the anchor lies 2 along x */
  CHECK(e.obj2 == 0 && e.relquat[0] == 1 && !e.inactive);
  CHECK_NEAR(e.anchor2[0], 2, 1e-15);
  CHECK_NEAR(e.anchor2[1], 0.25, 1e-15);
  abut_actuator_def a;
  CHECK_STATUS(abut_model_actuator(m, 0, &a), ABUT_OK);
  CHECK(a.transmission == ABUT_TRANSMISSION_TENDON && a.joint == 1 && a.reference == -1);
  CHECK(a.dynamics == ABUT_DYNAMICS_FILTER && a.tau == 0.5 && a.wrench[4] == 7 && a.gains[1] == -2);
  abut_sensor_def s;
  CHECK_STATUS(abut_model_sensor(m, 0, &s), ABUT_OK);
  CHECK(s.type == ABUT_SENSOR_GYRO && s.kind == 's' && s.id == 1 && s.reference_kind == 0);
  CHECK(m->sensor_adr[1] == 3 && m->key_act[0] == act);
  abut_model_destroy(m);
}

/* Links of 1 kg and 0.1 kg m^2 whose centres lie on their hinges, 1 m apart: M = [1.2 0.1; 0.1 0.1]. */
TEST(inverse_weights) {
  abut_builder *b = two_links();
  REQUIRE(b);
  abut_model *m = NULL;
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  const double det = 1.2 * 0.1 - 0.1 * 0.1, first = 0.1 / det, second = 1.2 / det, cross = -0.1 / det;
  CHECK_NEAR(m->dof_invweight0[0], first, 1e-12);
  CHECK_NEAR(m->dof_invweight0[1], second, 1e-12);
  /* the upper link's centre stays; the lower one moves along z with the hip alone; both turn about y */
  CHECK_NEAR(m->body_invweight0[2], 0, 1e-15);
  CHECK_NEAR(m->body_invweight0[3], first / 3, 1e-12);
  CHECK_NEAR(m->body_invweight0[4], first / 3, 1e-12);
  CHECK_NEAR(m->body_invweight0[5], (first + 2 * cross + second) / 3, 1e-12);
  CHECK(m->body_invweight0[0] == 0 && m->body_invweight0[1] == 0);
  abut_model_destroy(m);
}

TEST(bad_tendons) {
  static const abut_wrap lone[1] = {{ABUT_WRAP_SITE, 0, 0}},
                         mixed[2] = {{ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_JOINT, 0, 1}};
  static const abut_wrap pulley[4] = {
      {ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_SITE, 1, 0}, {ABUT_WRAP_PULLEY, -1, 0}, {ABUT_WRAP_SITE, 1, 0}};
  static const abut_wrap sphere[3] = {
      {ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_CYLINDER, 0, -1}, {ABUT_WRAP_SITE, 1, 0}};
  static const abut_wrap ends[2] = {{ABUT_WRAP_SITE, 0, 0}, {ABUT_WRAP_SPHERE, 0, -1}};
  static const struct {
    const abut_wrap *wraps;
    int32_t nwrap;
    const char *why;
  } bad[] = {{lone, 1, "tendon 't': a strand must run from site to site"},
             {mixed, 2, "tendon 't': it mixes joints with other parts"},
             {pulley, 4, "tendon 't': a pulley's divisor is 0"},
             {sphere, 3, "tendon 't': it wraps geom 0, which is no cylinder"},
             {ends, 2, "tendon 't': a strand must run from site to site"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    abut_builder *b = two_links();
    REQUIRE(b);
    abut_tendon_def def = tendon_of("t", bad[i].wraps, bad[i].nwrap);
    CHECK_STATUS(abut_builder_add_tendon(b, &def, NULL), ABUT_OK);
    refuse(b, bad[i].why);
  }
  abut_builder *b = two_links();
  REQUIRE(b);
  abut_tendon_def def = tendon_of("t", NULL, 0);
  CHECK_STATUS(abut_builder_add_tendon(b, &def, NULL), ABUT_ERROR_MODEL);
  const abut_wrap far = {ABUT_WRAP_SITE, 2, 0};
  def = tendon_of("t", &far, 1);
  CHECK_STATUS(abut_builder_add_tendon(b, &def, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "tendon 't': site 2 does not exist (there are 2)") != NULL);
  def = tendon_of("t", sites, 2), def.stiffness = -1;
  CHECK_STATUS(abut_builder_add_tendon(b, &def, NULL), ABUT_OK);
  refuse(b, "tendon 't': stiffness is -1, must not be negative");
}

TEST(bad_equalities) {
  abut_builder *b = two_links();
  REQUIRE(b);
  abut_equality_def good = abut_default_equality_def(), def;
  good.name = "e", good.type = ABUT_EQUALITY_JOINT;
  def = good, def.obj2 = 0;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "equality 'e': it ties joint 0 to itself") != NULL);
  def = good, def.obj1 = 5;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_ERROR_ARGUMENT);
  def = good, def.type = 4;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_ERROR_ARGUMENT);
  def = good, def.solref[1] = -1;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
  refuse(b, "equality 'e': solref (0.02, -1) is neither");
  b = two_links();
  REQUIRE(b);
  def = good, def.polycoef[3] = INFINITY;
  CHECK_STATUS(abut_builder_add_equality(b, &def, NULL), ABUT_OK);
  refuse(b, "equality 'e': polycoef is inf");
}

TEST(bad_sites_and_sensors) {
  abut_builder *b = two_links();
  REQUIRE(b);
  abut_site_def site = abut_default_site_def();
  site.name = "s", site.body = 7;
  CHECK_STATUS(abut_builder_add_site(b, &site, NULL), ABUT_ERROR_ARGUMENT);
  abut_sensor_def good = abut_default_sensor_def(), def;
  good.name = "n", good.type = ABUT_SENSOR_JOINTPOS, good.kind = 'j', good.id = 0;
  def = good, def.kind = 'q';
  CHECK_STATUS(abut_builder_add_sensor(b, &def, NULL), ABUT_ERROR_ARGUMENT);
  def = good, def.type = ABUT_SENSOR_NUM;
  CHECK_STATUS(abut_builder_add_sensor(b, &def, NULL), ABUT_ERROR_ARGUMENT);
  def = good, def.kind = 's';
  CHECK_STATUS(abut_builder_add_sensor(b, &def, NULL), ABUT_OK);
  refuse(b, "sensor 'n': its kind of object is 115, not one of 'j'");
  b = two_links();
  REQUIRE(b);
  site.body = 1, site.type = ABUT_GEOM_PLANE;
  CHECK_STATUS(abut_builder_add_site(b, &site, NULL), ABUT_OK);
  refuse(b, "site 's': type 0 is no volume");
}

TEST(mocap_bodies) {
  for (int i = 0; i < 2; i++) {
    abut_builder *b = two_links();
    REQUIRE(b);
    abut_body_def hand = abut_default_body_def();
    hand.name = "hand", hand.mocap = 1, hand.parent = i, hand.pos[1] = 3;
    CHECK_STATUS(abut_builder_add_body(b, &hand, NULL), ABUT_OK);
    const double mpos[3] = {1, 2, 3};
    CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "here"}), ABUT_OK);
    CHECK_STATUS(abut_builder_add_key(b, &(abut_key_def){.name = "there", .mpos = mpos}), ABUT_OK);
    if (i) {
      refuse(b, "body 'hand': a mocap body must be a child of the world");
      continue;
    }
    abut_model *m = NULL;
    REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
    abut_builder_destroy(b);
    CHECK(m->nmocap == 1 && m->body_mocapid[3] == 0 && m->body_mocapid[1] == -1);
    CHECK(m->key_mpos[1] == 3 && m->key_mpos[4] == 2 && m->key_mquat[0] == 1);
    abut_model_destroy(m);
  }
}

TEST(height_fields) {
  static const double heights[6] = {0, 0.5, 1, 0, 0.25, 2};
  abut_geom_def good = abut_default_geom_def(), def;
  good.name = "hills", good.type = ABUT_GEOM_HFIELD, good.heights = heights, good.nrow = 2, good.ncol = 2;
  for (int k = 0; k < 4; k++) good.hfield_size[k] = 1;
  abut_builder *b = two_links();
  REQUIRE(b);
  def = good, def.nrow = 1;
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "geom 'hills': height field has 1 x 2 heights, at least 2 x 2") != NULL);
  def = good, def.ncol = 3;
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "geom 'hills': height 5 is 2, not within 0 and 1") != NULL);
  def = good, def.hfield_size[2] = 0;
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_ERROR_MODEL);
  CHECK_STATUS(abut_builder_add_geom(b, &good, NULL), ABUT_OK);
  abut_model *m = NULL;
  REQUIRE(abut_builder_finish(b, &m) == ABUT_OK);
  abut_builder_destroy(b);
  abut_geom_def back;
  CHECK_STATUS(abut_model_geom(m, 0, &back), ABUT_OK);
  CHECK(back.type == ABUT_GEOM_HFIELD && back.nrow == 2 && back.heights[2] == 1 && back.hfield_size[3] == 1);
  CHECK(m->npair == 2); /* both links may touch it */
  abut_options options = abut_default_options();
  abut_batch *batch = NULL;
  options.nenv = 1;
  CHECK_STATUS(abut_batch_create(m, &options, &batch), ABUT_ERROR_UNSUPPORTED);
  CHECK(strstr(abut_error_message(), "geom 'hills'") != NULL);
  abut_model_destroy(m);
}
