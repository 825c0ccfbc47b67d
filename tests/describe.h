/* describe.h: what a test's scene says besides its bodies, in one call each. */
#ifndef ABUT_TEST_DESCRIBE_H
#define ABUT_TEST_DESCRIBE_H
#include "test.h"
#include <string.h>

/* Sets a scene's gravity (m/s^2). */
static inline void scene_gravity(abut_builder *b, double x, double y, double z) {
  abut_scene_options options = abut_default_scene_options();
  options.gravity[0] = x, options.gravity[1] = y, options.gravity[2] = z;
  CHECK_STATUS(abut_builder_set_scene(b, &options), ABUT_OK);
}

static inline void scene_model_gravity(const abut_model *m, double gravity[3]) {
  abut_scene_options options;
  CHECK_STATUS(abut_model_scene(m, &options), ABUT_OK);
  memcpy(gravity, options.gravity, sizeof options.gravity);
}

/* Has two geoms collide with a friction of their own. */
static inline abut_status scene_pair(abut_builder *b, int32_t geom1, int32_t geom2, double friction) {
  abut_pair_def def = abut_default_pair_def();
  def.geom1 = geom1, def.geom2 = geom2, def.friction = friction;
  return abut_builder_add_pair(b, &def);
}

/* A key; NULL: default. */
static inline abut_status scene_key(abut_builder *b, const char *name, const double *qpos,
                                    const double *qvel) {
  return abut_builder_add_key(b, &(abut_key_def){.name = name, .qpos = qpos, .qvel = qvel});
}

#endif
