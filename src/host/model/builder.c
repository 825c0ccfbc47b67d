/* builder.c: collects a scene's definitions, checking each as it arrives. */
#include "host/model/builder_add.h"
#include "host/model/model.h"
#include "abut/surface.h"
#include "host/base/geometry.h"
#include "host/shape/geom.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------- lifetime */

abut_status abut_builder_create(abut_builder **builder) {
  REQUIRE_POINTER(builder, "builder");
  *builder = calloc(1, sizeof **builder);
  if (!*builder) return fail_with(ABUT_ERROR_MEMORY, "builder: no memory");
  (*builder)->option = abut_default_scene_options();
  abut_body_def world = abut_default_body_def();
  world.name = "world";
  abut_status status = abut_builder_add_body(*builder, &world, NULL);
  if (status == ABUT_OK) return ABUT_OK;
  abut_builder_destroy(*builder);
  *builder = NULL;
  return status;
}

void free_body(abut_body_def *def) { free((char *)def->name); }
void free_joint(abut_joint_def *def) { free((char *)def->name); }
void free_site(abut_site_def *def) { free((char *)def->name); }
void free_equality(abut_equality_def *def) { free((char *)def->name); }
void free_actuator(abut_actuator_def *def) { free((char *)def->name); }
void free_sensor(abut_sensor_def *def) { free((char *)def->name); }
void free_exclude(exclude_def *def) { (void)def; }
void free_pair(abut_pair_def *def) { (void)def; }

void free_tendon(abut_tendon_def *def) {
  free((char *)def->name);
  free((abut_wrap *)def->wraps);
}

void free_geom(abut_geom_def *def) {
  free((char *)def->name);
  free((double *)def->points);
  free((double *)def->vertices);
  free((int32_t *)def->triangles);
  free((double *)def->heights);
  abut_surface_destroy((abut_surface *)def->surface);
}

void free_key(key_def *key) {
  abut_key_def *def = &key->def;
  free((char *)def->name);
  free((double *)def->qpos);
  free((double *)def->qvel);
  free((double *)def->act);
  free((double *)def->ctrl);
  free((double *)def->mpos);
  free((double *)def->mquat);
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

#define X(type, name, plural)                                                                                \
  abut_status append_##name(abut_builder *builder, type *def, int32_t *id) {                                 \
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

void *copy_bytes(abut_status *status, const void *bytes, size_t size) {
  if (!bytes || *status != ABUT_OK) return NULL;
  void *copy = malloc(size ? size : 1);
  if (copy)
    memcpy(copy, bytes, size);
  else
    *status = fail_with(ABUT_ERROR_MEMORY, "builder: no memory for %zu bytes", size);
  return copy;
}

char *copy_text(abut_status *status, const char *text) {
  return copy_bytes(status, text, text ? strlen(text) + 1 : 0);
}

/* ---------------------------------------------------------------------------------------- checks */

const char *label(char buffer[LABEL], const char *noun, const char *name, int32_t id) {
  if (name && *name)
    snprintf(buffer, LABEL, "%s '%s'", noun, name);
  else
    snprintf(buffer, LABEL, "%s %d", noun, id);
  return buffer;
}

abut_status check_id(const char *who, const char *noun, int32_t id, int32_t count) {
  if (id >= 0 && id < count) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "%s: %s %d does not exist (there are %d)", who, noun, id, count);
}

abut_status make_unit(const char *who, const char *what, double *v, int n) {
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
  ATTEMPT(append_body(builder, &body, id));
  builder->nmocap += def->mocap != 0;
  return ABUT_OK;
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
  int mesh = def->type == ABUT_GEOM_MESH, hfield = def->type == ABUT_GEOM_HFIELD;
  if (!hfield) geom.nrow = geom.ncol = 0;
  if (!mesh) geom.npoint = 0;
  if (!mesh || !def->triangles) geom.nvertex = geom.ntriangle = 0;
  abut_status status = ABUT_OK;
  geom.name = copy_text(&status, def->name);
  geom.points = copy_bytes(&status, mesh ? def->points : NULL, (size_t)geom.npoint * 3 * sizeof *def->points);
  geom.vertices = copy_bytes(&status, geom.nvertex ? def->vertices : NULL,
                             (size_t)geom.nvertex * 3 * sizeof *def->vertices);
  geom.triangles = copy_bytes(&status, geom.ntriangle ? def->triangles : NULL,
                              (size_t)geom.ntriangle * 3 * sizeof *def->triangles);
  geom.heights = copy_bytes(&status, hfield ? def->heights : NULL,
                            (size_t)geom.nrow * (size_t)geom.ncol * sizeof *def->heights);
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

/* ---------------------------------------------------------------------------------------- settings */

abut_status abut_builder_set_scene(abut_builder *builder, const abut_scene_options *options) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(options, "options");
  ATTEMPT(model_check_options(options));
  builder->option = *options;
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
