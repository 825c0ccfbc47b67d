/* test_import_extras.c: what MuJoCo 4 lets joints, actuators, geoms and options say besides is refused or
 * noted, by name. */
#include "test.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/model/model.h"
#include "import_text.h"

static const struct {
  const char *text, *words;
} extras[] = {
    {SCENE("", "<body><joint name='j' stiffness='1 2 3'/><geom size='.1'/></body>", ""),
     "joint 'j' (stiffness 2 3 of higher powers)"},
    {SCENE("", "<body><joint name='j' damping='1 0 3'/><geom size='.1'/></body>", ""),
     "joint 'j' (damping 0 3 of higher powers)"},
    {SCENE("", "<body><joint name='j' type='slide' stiffness='1' springyield='.5'/><geom size='.1'/></body>",
           ""),
     "joint 'j' (springyield 0.5)"},
    {SCENE("", "", "<actuator><motor name='u' joint='ja' delay='.004' nsample='2'/></actuator>"),
     "actuator 'u' (delay 0.004 s)"},
    {SCENE("", "", "<actuator><motor name='u' joint='ja' damping='2'/></actuator>"),
     "actuator 'u' (damping 2 0 0)"},
    {SCENE("", "", "<actuator><motor name='u' joint='ja' damping='0 3'/></actuator>"),
     "actuator 'u' (damping 0 3 0)"},
    {SCENE("", "", "<actuator><motor name='u' joint='ja' armature='.1'/></actuator>"),
     "actuator 'u' (armature 0.1)"},
    {SCENE("", "<geom name='g' size='.1' surfacevel='1 0 0'/>", ""), "geom 'g' (surfacevel 1 0 0 0 0 0)"},
    {SCENE("", "<geom name='g' size='.1' adhesion='2'/>", ""), "geom 'g' (adhesion 2)"},
    {SCENE("", "", "<contact><pair geom1='ga' geom2='gb' adhesion='2'/></contact>"),
     "pair of geoms 'ga' and 'gb' (adhesion 2)"},
    {SCENE("", "", "<actuator><pid name='u' joint='ja' kp='1' kv='1' input='pos vel'/></actuator>"),
     "actuator 'u' (2 controls)"},
    {SCENE("", "", "<actuator><dcmotor name='u' joint='ja' motorconst='1' resistance='1'/></actuator>"),
     "actuator 'u' (dynamics dcmotor)"},
};

TEST(extras_are_refused_by_name) {
  abut_load_options ignore = {.ignore_unsupported = 1};
  for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
    abut_model *model = NULL;
    CHECK_STATUS(load(extras[i].text, &model), ABUT_ERROR_UNSUPPORTED);
    CHECK(model == NULL);
    MESSAGE_HAS(extras[i].words);
    CHECK_STATUS(load_as(".xml", extras[i].text, &ignore, &model), ABUT_OK);
    CHECK(model && strstr(abut_model_warnings(model), extras[i].words));
    abut_model_destroy(model);
  }
}

/* A control that has no actuator of its own shifts those of later actuators. */
TEST(controls_are_found_by_their_address) {
  abut_load_options ignore = {.ignore_unsupported = 1};
  abut_model *model = NULL;
  CHECK_STATUS(load_as(".xml",
                       SCENE("", "",
                             "<actuator><pid name='u' joint='jb' kp='1' kv='1' input='pos vel'/>"
                             "<motor name='v' joint='ja' ctrlrange='-4 6'/></actuator>"
                             "<keyframe><key name='k' ctrl='5 7 3'/></keyframe>"),
                       &ignore, &model),
               ABUT_OK);
  REQUIRE(model);
  REQUIRE(model->nu == 1 && model->nkey == 1);
  CHECK(!strcmp(abut_model_name(model, 'a', 0), "v"));
  CHECK(model->key_ctrl[0] == 3);
  CHECK(model->actuator_ctrlrange[0] == -4 && model->actuator_ctrlrange[1] == 6);
  abut_model_destroy(model);
}

/* What MuJoCo does otherwise with some flags is said, each by name. */
TEST(flags_of_stepping_are_noted) {
  static const char *const names[] = {"sleep", "speculative", "diagexact"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[1024], note[64];
    abut_model *model = NULL;
    snprintf(text, sizeof text,
             "<mujoco><option><flag %s='enable'/></option><worldbody><geom size='1'/></worldbody></mujoco>",
             names[i]);
    snprintf(note, sizeof note, "note: option flag %s", names[i]);
    CHECK_STATUS(load(text, &model), ABUT_OK);
    CHECK(model && strstr(abut_model_warnings(model), note));
    abut_model_destroy(model);
  }
}

TEST(sensor_delays_are_noted) {
  abut_model *model = NULL;
  CHECK_STATUS(
      load(SCENE("", "", "<sensor><jointpos name='s' joint='ja' delay='.004' nsample='2'/></sensor>"),
           &model),
      ABUT_OK);
  CHECK(model && strstr(abut_model_warnings(model), "note: sensor 's': its delay (0.004 s)"));
  abut_model_destroy(model);
}
#endif
