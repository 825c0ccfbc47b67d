/* builder.c: collects a scene's definitions, checking each as it arrives. */
#include "host/model/builder.h"
#include "abut/surface.h"
#include "host/base/geometry.h"
#include "host/shape/geom.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------- defaults */

abut_body_def abut_default_body_def(void) {
  abut_body_def def = {0};
  def.quat[0] = def.iquat[0] = 1;
  return def;
}

abut_joint_def abut_default_joint_def(void) {
  abut_joint_def def = {0};
  def.type = ABUT_JOINT_HINGE;
  def.axis[2] = 1;
  def.solref[0] = 0.02;
  def.solref[1] = 1;
  return def;
}

abut_geom_def abut_default_geom_def(void) {
  abut_geom_def def = {0};
  def.type = ABUT_GEOM_SPHERE;
  def.quat[0] = 1;
  def.density = 1000;
  def.friction = 1;
  def.contype = def.conaffinity = 1;
  return def;
}

abut_actuator_def abut_default_actuator_def(void) {
  abut_actuator_def def = {0};
  def.gear = def.gain = 1;
  return def;
}

/* ---------------------------------------------------------------------------------------- lifetime */

abut_status abut_builder_create(abut_builder **builder) {
  REQUIRE_POINTER(builder, "builder");
  *builder = calloc(1, sizeof **builder);
  if (!*builder) return fail_with(ABUT_ERROR_MEMORY, "builder: no memory");
  (*builder)->gravity[2] = -9.81;
  (*builder)->timestep = 0.01;
  abut_body_def world = abut_default_body_def();
  world.name = "world";
  abut_status status = abut_builder_add_body(*builder, &world, NULL);
  if (status == ABUT_OK) return ABUT_OK;
  abut_builder_destroy(*builder);
  *builder = NULL;
  return status;
}

/* Frees what a definition owns. */
static void free_body(abut_body_def *def) { free((char *)def->name); }
static void free_joint(abut_joint_def *def) { free((char *)def->name); }
static void free_actuator(abut_actuator_def *def) { free((char *)def->name); }
static void free_exclude(exclude_def *def) { (void)def; }
static void free_pair(pair_def *def) { (void)def; }

static void free_geom(abut_geom_def *def) {
  free((char *)def->name);
  free((double *)def->points);
  free((double *)def->vertices);
  free((int32_t *)def->triangles);
  abut_surface_destroy((abut_surface *)def->surface);
}

static void free_key(key_def *def) {
  free(def->name);
  free(def->qpos);
  free(def->qvel);
  free(def->ctrl);
}

void abut_builder_destroy(abut_builder *builder) {
  if (!builder) return;
#define X(type, name, plural)                                                                                \
  for (int32_t i = 0; i < builder->n##name; i++) free_##name(builder->plural + i);                           \
  free(builder->plural);
  BUILDER_LISTS(X)
#undef X
  free(builder->warnings);
  free(builder);
}

/* ---------------------------------------------------------------------------------------- lists */

/* Room for one more element: the list, moved if need be; NULL if there is none (the list stays valid). */
static void *grow(void *list, int32_t count, int32_t *capacity, size_t element) {
  if (count < *capacity) return list;
  if (count > INT32_MAX / 4) {
    fail_with(ABUT_ERROR_MEMORY, "builder: more than %d objects of a kind", count);
    return NULL;
  }
  int32_t wanted = count ? 2 * count : 8;
  void *grown = realloc(list, (size_t)wanted * element);
  if (grown)
    *capacity = wanted;
  else
    fail_with(ABUT_ERROR_MEMORY, "builder: no memory for %d objects", wanted);
  return grown;
}

/* append_body(builder, def, id) and its kin: takes over what def owns, or frees it on failure. */
#define X(type, name, plural)                                                                                \
  static abut_status append_##name(abut_builder *builder, type *def, int32_t *id) {                          \
    type *list = grow(builder->plural, builder->n##name, &builder->name##_capacity, sizeof(type));           \
    if (!list) {                                                                                             \
      free_##name(def);                                                                                      \
      return ABUT_ERROR_MEMORY;                                                                              \
    }                                                                                                        \
    builder->plural = list;                                                                                  \
    list[builder->n##name] = *def;                                                                           \
    if (id) *id = builder->n##name;                                                                          \
    builder->n##name++;                                                                                      \
    return ABUT_OK;                                                                                          \
  }
BUILDER_LISTS(X)
#undef X

/* Copy of bytes; NULL for NULL, and once *status is a failure. */
static void *copy_bytes(abut_status *status, const void *bytes, size_t size) {
  if (!bytes || *status != ABUT_OK) return NULL;
  void *copy = malloc(size ? size : 1);
  if (copy)
    memcpy(copy, bytes, size);
  else
    *status = fail_with(ABUT_ERROR_MEMORY, "builder: no memory for %zu bytes", size);
  return copy;
}

static char *copy_text(abut_status *status, const char *text) {
  return copy_bytes(status, text, text ? strlen(text) + 1 : 0);
}

/* ---------------------------------------------------------------------------------------- checks */

enum { LABEL = 128 };

/* "joint 'hip'", or "joint 3" for the one about to be added. */
static const char *label(char buffer[LABEL], const char *noun, const char *name, int32_t id) {
  if (name && *name)
    snprintf(buffer, LABEL, "%s '%s'", noun, name);
  else
    snprintf(buffer, LABEL, "%s %d", noun, id);
  return buffer;
}

static abut_status check_id(const char *who, const char *noun, int32_t id, int32_t count) {
  if (id >= 0 && id < count) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "%s: %s %d does not exist (there are %d)", who, noun, id, count);
}

/* Makes v unit; what: "quat". */
static abut_status make_unit(const char *who, const char *what, double *v, int n) {
  if (normalise(v, n)) return ABUT_OK;
  if (n == 3) return fail_with(ABUT_ERROR_MODEL, "%s: %s is (%g, %g, %g)", who, what, v[0], v[1], v[2]);
  return fail_with(ABUT_ERROR_MODEL, "%s: %s is (%g, %g, %g, %g)", who, what, v[0], v[1], v[2], v[3]);
}

/* ---------------------------------------------------------------------------------------- objects */

abut_status abut_builder_add_body(abut_builder *builder, const abut_body_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_body_def body = *def;
  char who[LABEL];
  label(who, "body", def->name, builder->nbody);
  /* the first is the world, its own parent */
  if (builder->nbody > 0) ATTEMPT(check_id(who, "parent body", def->parent, builder->nbody));
  ATTEMPT(make_unit(who, "quat", body.quat, 4));
  ATTEMPT(make_unit(who, "iquat", body.iquat, 4));
  abut_status status = ABUT_OK;
  body.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  return append_body(builder, &body, id);
}

abut_status abut_builder_add_joint(abut_builder *builder, const abut_joint_def *def, int32_t *id) {
  static const int32_t position_size[] = {7, 4, 1, 1}, velocity_size[] = {6, 3, 1, 1};
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_joint_def joint = *def;
  char who[LABEL];
  label(who, "joint", def->name, builder->njoint);
  ATTEMPT(check_id(who, "body", def->body, builder->nbody));
  if (def->body == 0) return fail_with(ABUT_ERROR_MODEL, "%s: body 0 is the world, which cannot move", who);
  if (def->type < ABUT_JOINT_FREE || def->type > ABUT_JOINT_HINGE)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: type %d does not exist", who, def->type);
  if (def->type == ABUT_JOINT_SLIDE || def->type == ABUT_JOINT_HINGE)
    ATTEMPT(make_unit(who, "axis", joint.axis, 3));
  if (builder->nq > INT32_MAX - 7)
    return fail_with(ABUT_ERROR_MODEL, "%s: more than %d coordinates", who, builder->nq);
  abut_status status = ABUT_OK;
  joint.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  ATTEMPT(append_joint(builder, &joint, id));
  builder->nq += position_size[def->type];
  builder->nv += velocity_size[def->type];
  return ABUT_OK;
}

/* What the shape compiler has to say, with the geom in front. */
static abut_status geom_shape_check(const char *who, const abut_geom_def *def) {
  abut_status status = shape_check(def);
  if (status == ABUT_OK) return ABUT_OK;
  char why[512];
  snprintf(why, sizeof why, "%s", abut_error_message());
  return fail_with(status, "%s: %s", who, why);
}

abut_status abut_builder_add_geom(abut_builder *builder, const abut_geom_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_geom_def geom = *def;
  char who[LABEL];
  label(who, "geom", def->name, builder->ngeom);
  ATTEMPT(check_id(who, "body", def->body, builder->nbody));
  ATTEMPT(geom_shape_check(who, def));
  ATTEMPT(make_unit(who, "quat", geom.quat, 4));
  if (!(def->density >= 0 && isfinite(def->density)))
    return fail_with(ABUT_ERROR_MODEL, "%s: density is %g, must not be negative", who, def->density);
  int mesh = def->type == ABUT_GEOM_MESH;
  if (!mesh) geom.npoint = 0;
  if (!mesh || !def->triangles) geom.nvertex = geom.ntriangle = 0;
  abut_status status = ABUT_OK;
  geom.name = copy_text(&status, def->name);
  geom.points = copy_bytes(&status, mesh ? def->points : NULL, (size_t)geom.npoint * 3 * sizeof *def->points);
  geom.vertices = copy_bytes(&status, geom.nvertex ? def->vertices : NULL,
                             (size_t)geom.nvertex * 3 * sizeof *def->vertices);
  geom.triangles = copy_bytes(&status, geom.ntriangle ? def->triangles : NULL,
                              (size_t)geom.ntriangle * 3 * sizeof *def->triangles);
  if (geom.surface && status == ABUT_OK) {
    abut_surface *copy;
    status = abut_surface_copy(def->surface, &copy);
    geom.surface = copy;
  } else {
    geom.surface = NULL;
  }
  if (status == ABUT_OK) return append_geom(builder, &geom, id);
  free_geom(&geom);
  return status;
}

abut_status abut_builder_add_actuator(abut_builder *builder, const abut_actuator_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_actuator_def actuator = *def;
  char who[LABEL];
  label(who, "actuator", def->name, builder->nactuator);
  ATTEMPT(check_id(who, "joint", def->joint, builder->njoint));
  abut_status status = ABUT_OK;
  actuator.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  return append_actuator(builder, &actuator, id);
}

abut_status abut_builder_exclude(abut_builder *builder, int32_t body1, int32_t body2) {
  REQUIRE_POINTER(builder, "builder");
  ATTEMPT(check_id("exclude", "body", body1, builder->nbody));
  ATTEMPT(check_id("exclude", "body", body2, builder->nbody));
  exclude_def def = {body1, body2};
  return append_exclude(builder, &def, NULL);
}

abut_status abut_builder_add_pair(abut_builder *builder, int32_t geom1, int32_t geom2, double friction) {
  REQUIRE_POINTER(builder, "builder");
  ATTEMPT(check_id("contact pair", "geom", geom1, builder->ngeom));
  ATTEMPT(check_id("contact pair", "geom", geom2, builder->ngeom));
  if (geom1 == geom2)
    return fail_with(ABUT_ERROR_ARGUMENT, "contact pair: geom %d cannot touch itself", geom1);
  if (!isfinite(friction))
    return fail_with(ABUT_ERROR_MODEL, "contact pair of geoms %d and %d: friction is %g", geom1, geom2,
                     friction);
  pair_def def = {geom1, geom2, friction < 0 ? -1 : friction};
  return append_pair(builder, &def, NULL);
}

abut_status abut_builder_add_key(abut_builder *builder, const char *name, const double *qpos,
                                 const double *qvel, const double *ctrl) {
  REQUIRE_POINTER(builder, "builder");
  key_def key = {.nq = builder->nq, .nv = builder->nv, .nu = builder->nactuator};
  abut_status status = ABUT_OK;
  key.name = copy_text(&status, name);
  key.qpos = copy_bytes(&status, qpos, (size_t)key.nq * sizeof *qpos);
  key.qvel = copy_bytes(&status, qvel, (size_t)key.nv * sizeof *qvel);
  key.ctrl = copy_bytes(&status, ctrl, (size_t)key.nu * sizeof *ctrl);
  if (status == ABUT_OK) return append_key(builder, &key, NULL);
  free_key(&key);
  return status;
}

/* ---------------------------------------------------------------------------------------- settings */

abut_status abut_builder_set_gravity(abut_builder *builder, const double gravity[3]) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(gravity, "gravity");
  for (int k = 0; k < 3; k++)
    if (!isfinite(gravity[k])) return fail_with(ABUT_ERROR_MODEL, "gravity[%d] is %g", k, gravity[k]);
  memcpy(builder->gravity, gravity, sizeof builder->gravity);
  return ABUT_OK;
}

abut_status abut_builder_set_timestep(abut_builder *builder, double timestep) {
  REQUIRE_POINTER(builder, "builder");
  if (!(timestep > 0 && isfinite(timestep)))
    return fail_with(ABUT_ERROR_MODEL, "timestep is %g s, must be positive", timestep);
  builder->timestep = timestep;
  return ABUT_OK;
}

abut_status builder_set_warnings(abut_builder *builder, const char *text) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(text, "text");
  abut_status status = ABUT_OK;
  char *copy = copy_text(&status, text);
  if (status != ABUT_OK) return status;
  free(builder->warnings);
  builder->warnings = copy;
  return ABUT_OK;
}
