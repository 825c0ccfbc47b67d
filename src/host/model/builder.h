/* builder.h: a scene while it is described. builder.c collects definitions, compile.c turns them into a
 * model. */
#ifndef ABUT_BUILDER_H
#define ABUT_BUILDER_H
#include "abut/abut.h"

typedef struct abut_exclude_def {
  int32_t body1, body2;
} abut_exclude_def;

typedef struct abut_pair_def {
  int32_t geom1, geom2;
  double friction; /* < 0: maximum of the geoms' */
} abut_pair_def;

typedef struct abut_key_def {
  char *name;
  double *qpos, *qvel, *ctrl; /* NULL: default */
  int32_t nq, nv, nu;         /* sizes of the scene when the key was added */
} abut_key_def;

/* X(type, name, plural): every list of a builder. Names and points in the definitions are the builder's
 * copies. */
#define ABUT_BUILDER_LISTS(X)                                                                                \
  X(abut_body_def, body, bodies)                                                                             \
  X(abut_joint_def, joint, joints)                                                                           \
  X(abut_geom_def, geom, geoms)                                                                              \
  X(abut_actuator_def, actuator, actuators)                                                                  \
  X(abut_exclude_def, exclude, excludes)                                                                     \
  X(abut_pair_def, pair, pairs)                                                                              \
  X(abut_key_def, key, keys)

struct abut_builder {
#define X(type, name, plural)                                                                                \
  type *plural;                                                                                              \
  int32_t n##name, name##_capacity;
  ABUT_BUILDER_LISTS(X)
#undef X
  int32_t nq, nv; /* of the joints so far */
  double gravity[3];
  double timestep;
  char *warnings;
};

/* Keeps a copy of text (one warning a line) as the model's warnings. */
abut_status abut_builder_set_warnings(abut_builder *builder, const char *text);

#endif
