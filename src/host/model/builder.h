/* builder.h: a scene while it is described. builder.c collects definitions, compile.c turns them into a
 * model. */
#ifndef ABUT_BUILDER_H
#define ABUT_BUILDER_H
#include "abut/abut.h"

typedef struct exclude_def {
  int32_t body1, body2;
} exclude_def;

typedef struct pair_def {
  int32_t geom1, geom2;
  double friction; /* < 0: maximum of the geoms' */
} pair_def;

typedef struct key_def {
  char *name;
  double *qpos, *qvel, *ctrl; /* NULL: default */
  int32_t nq, nv, nu;         /* sizes of the scene when the key was added */
} key_def;

/* X(type, name, plural): every list of a builder. Names and points in the definitions are the builder's
 * copies. */
#define BUILDER_LISTS(X)                                                                                     \
  X(abut_body_def, body, bodies)                                                                             \
  X(abut_joint_def, joint, joints)                                                                           \
  X(abut_geom_def, geom, geoms)                                                                              \
  X(abut_actuator_def, actuator, actuators)                                                                  \
  X(exclude_def, exclude, excludes)                                                                          \
  X(pair_def, pair, pairs)                                                                                   \
  X(key_def, key, keys)

struct abut_builder {
#define X(type, name, plural)                                                                                \
  type *plural;                                                                                              \
  int32_t n##name, name##_capacity;
  BUILDER_LISTS(X)
#undef X
  int32_t nq, nv; /* of the joints so far */
  double gravity[3];
  double timestep;
  char *warnings;
};

/* Keeps a copy of text (one warning a line) as the model's warnings. */
abut_status builder_set_warnings(abut_builder *builder, const char *text);

#endif
