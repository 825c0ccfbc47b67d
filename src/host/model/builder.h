/* builder.h: a scene while it is described. builder.c collects definitions, compile.c turns them into a
 * model. */
#ifndef ABUT_BUILDER_H
#define ABUT_BUILDER_H
#include "abut/abut.h"

typedef struct exclude_def {
  int32_t body1, body2;
} exclude_def;

typedef struct key_def {
  abut_key_def def;               /* its arrays may be NULL: default */
  int32_t nq, nv, na, nu, nmocap; /* sizes of the scene when the key was added */
} key_def;

/* X(type, name, plural): every list of a builder. Names and arrays in the definitions are the builder's
 * copies. */
#define BUILDER_LISTS(X)                                                                                     \
  X(abut_body_def, body, bodies)                                                                             \
  X(abut_joint_def, joint, joints)                                                                           \
  X(abut_geom_def, geom, geoms)                                                                              \
  X(abut_site_def, site, sites)                                                                              \
  X(abut_tendon_def, tendon, tendons)                                                                        \
  X(abut_equality_def, equality, equalities)                                                                 \
  X(abut_actuator_def, actuator, actuators)                                                                  \
  X(abut_sensor_def, sensor, sensors)                                                                        \
  X(exclude_def, exclude, excludes)                                                                          \
  X(abut_pair_def, pair, pairs)                                                                              \
  X(key_def, key, keys)

struct abut_builder {
#define X(type, name, plural)                                                                                \
  type *plural;                                                                                              \
  int32_t n##name, name##_capacity;
  BUILDER_LISTS(X)
#undef X
  int32_t nq, nv, na, nmocap; /* of the joints, actuators and bodies so far */
  abut_scene_options option;
  char *warnings;
};

/* Keeps a copy of text (one warning a line) as the model's warnings. */
abut_status builder_set_warnings(abut_builder *builder, const char *text);

#endif
