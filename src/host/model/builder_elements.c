/* builder_elements.c: adds to a builder what acts between bodies: sites, tendons, equalities, actuators,
 * sensors, pairs, keys. What depends on the rest of the scene is checked once it is compiled
 * (model_validate.c); ids must exist when they are named. */
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/model/builder_add.h"
#include <stdlib.h>

abut_status abut_builder_add_site(abut_builder *builder, const abut_site_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_site_def site = *def;
  char who[LABEL];
  label(who, "site", def->name, builder->nsite);
  ATTEMPT(check_id(who, "body", def->body, builder->nbody));
  ATTEMPT(make_unit(who, "quat", site.quat, 4));
  abut_status status = ABUT_OK;
  site.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  return append_site(builder, &site, id);
}

static abut_status check_wrap(const abut_builder *builder, const char *who, const abut_wrap *wrap) {
  switch (wrap->type) {
  case ABUT_WRAP_JOINT:
    return check_id(who, "joint", wrap->obj, builder->njoint);
  case ABUT_WRAP_SITE:
    return check_id(who, "site", wrap->obj, builder->nsite);
  case ABUT_WRAP_SPHERE:
  case ABUT_WRAP_CYLINDER:
    return check_id(who, "geom", wrap->obj, builder->ngeom);
  case ABUT_WRAP_PULLEY:
    return ABUT_OK;
  default:
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: wrap type %d does not exist", who, wrap->type);
  }
}

abut_status abut_builder_add_tendon(abut_builder *builder, const abut_tendon_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_tendon_def tendon = *def;
  char who[LABEL];
  label(who, "tendon", def->name, builder->ntendon);
  if (def->nwrap < 1 || !def->wraps)
    return fail_with(ABUT_ERROR_MODEL, "%s: it runs along nothing (nwrap is %d)", who, def->nwrap);
  for (int32_t i = 0; i < def->nwrap; i++) ATTEMPT(check_wrap(builder, who, def->wraps + i));
  abut_status status = ABUT_OK;
  tendon.name = copy_text(&status, def->name);
  tendon.wraps = copy_bytes(&status, def->wraps, (size_t)def->nwrap * sizeof *def->wraps);
  if (status == ABUT_OK) return append_tendon(builder, &tendon, id);
  free_tendon(&tendon);
  return status;
}

abut_status abut_builder_add_equality(abut_builder *builder, const abut_equality_def *def, int32_t *id) {
  static const char *const nouns[] = {"body", "body", "joint", "tendon"};
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_equality_def equality = *def;
  char who[LABEL];
  label(who, "equality", def->name, builder->nequality);
  if (def->type < ABUT_EQUALITY_CONNECT || def->type > ABUT_EQUALITY_TENDON)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: type %d does not exist", who, def->type);
  const int32_t counts[] = {builder->nbody, builder->nbody, builder->njoint, builder->ntendon};
  const int bodies = def->type <= ABUT_EQUALITY_WELD;
  if (bodies && def->obj2 == -1) equality.obj2 = 0;
  ATTEMPT(check_id(who, nouns[def->type], def->obj1, counts[def->type]));
  if (equality.obj2 != -1) ATTEMPT(check_id(who, nouns[def->type], equality.obj2, counts[def->type]));
  if (equality.obj1 == equality.obj2)
    return fail_with(ABUT_ERROR_MODEL, "%s: it ties %s %d to itself", who, nouns[def->type], def->obj1);
  abut_status status = ABUT_OK;
  equality.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  return append_equality(builder, &equality, id);
}

abut_status abut_builder_add_actuator(abut_builder *builder, const abut_actuator_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_actuator_def actuator = *def;
  char who[LABEL];
  label(who, "actuator", def->name, builder->nactuator);
  switch (def->transmission) {
  case ABUT_TRANSMISSION_JOINT:
  case ABUT_TRANSMISSION_JOINTINPARENT:
    ATTEMPT(check_id(who, "joint", def->joint, builder->njoint));
    break;
  case ABUT_TRANSMISSION_TENDON:
    ATTEMPT(check_id(who, "tendon", def->joint, builder->ntendon));
    break;
  case ABUT_TRANSMISSION_SLIDERCRANK:
    ATTEMPT(check_id(who, "crank site", def->joint, builder->nsite));
    ATTEMPT(check_id(who, "slider site", def->reference, builder->nsite));
    break;
  case ABUT_TRANSMISSION_SITE:
    ATTEMPT(check_id(who, "site", def->joint, builder->nsite));
    if (def->reference != -1) ATTEMPT(check_id(who, "reference site", def->reference, builder->nsite));
    break;
  default:
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: transmission %d does not exist", who, def->transmission);
  }
  abut_status status = ABUT_OK;
  actuator.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  ATTEMPT(append_actuator(builder, &actuator, id));
  builder->na += def->dynamics != ABUT_DYNAMICS_NONE;
  return ABUT_OK;
}

/* How many objects of a kind there are so far; -1: there is no such kind. */
static int32_t count_of(const abut_builder *builder, char kind) {
  switch (kind) {
  case 'b':
  case 'i':
    return builder->nbody;
  case 'j':
    return builder->njoint;
  case 'g':
    return builder->ngeom;
  case 's':
    return builder->nsite;
  case 't':
    return builder->ntendon;
  case 'a':
    return builder->nactuator;
  default:
    return -1;
  }
}

static abut_status check_object(const abut_builder *builder, const char *who, char kind, int32_t id) {
  if (kind == 0) return ABUT_OK;
  if (count_of(builder, kind) < 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: there is no kind of object '%c'", who, kind);
  return check_id(who, "object", id, count_of(builder, kind));
}

abut_status abut_builder_add_sensor(abut_builder *builder, const abut_sensor_def *def, int32_t *id) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  abut_sensor_def sensor = *def;
  char who[LABEL];
  label(who, "sensor", def->name, builder->nsensor);
  if (def->type < 0 || def->type >= ABUT_SENSOR_NUM)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: type %d does not exist", who, def->type);
  ATTEMPT(check_object(builder, who, def->kind, def->id));
  ATTEMPT(check_object(builder, who, def->reference_kind, def->reference));
  abut_status status = ABUT_OK;
  sensor.name = copy_text(&status, def->name);
  if (status != ABUT_OK) return status;
  return append_sensor(builder, &sensor, id);
}

abut_status abut_builder_exclude(abut_builder *builder, int32_t body1, int32_t body2) {
  REQUIRE_POINTER(builder, "builder");
  ATTEMPT(check_id("exclude", "body", body1, builder->nbody));
  ATTEMPT(check_id("exclude", "body", body2, builder->nbody));
  exclude_def def = {body1, body2};
  return append_exclude(builder, &def, NULL);
}

abut_status abut_builder_add_pair(abut_builder *builder, const abut_pair_def *def) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  const int32_t geom1 = def->geom1, geom2 = def->geom2;
  ATTEMPT(check_id("contact pair", "geom", geom1, builder->ngeom));
  ATTEMPT(check_id("contact pair", "geom", geom2, builder->ngeom));
  if (geom1 == geom2)
    return fail_with(ABUT_ERROR_ARGUMENT, "contact pair: geom %d cannot touch itself", geom1);
  if (!isfinite(def->friction) || !isfinite(def->friction2))
    return fail_with(ABUT_ERROR_MODEL, "contact pair of geoms %d and %d: friction is %g, %g", geom1, geom2,
                     def->friction, def->friction2);
  abut_pair_def pair = *def;
  return append_pair(builder, &pair, NULL);
}

abut_status abut_builder_add_key(abut_builder *builder, const abut_key_def *def) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(def, "def");
  key_def key = {{0}, builder->nq, builder->nv, builder->na, builder->nactuator, builder->nmocap};
  abut_status status = ABUT_OK;
  const size_t real = sizeof(double);
  key.def.name = copy_text(&status, def->name);
  key.def.qpos = copy_bytes(&status, def->qpos, (size_t)key.nq * real);
  key.def.qvel = copy_bytes(&status, def->qvel, (size_t)key.nv * real);
  key.def.act = copy_bytes(&status, def->act, (size_t)key.na * real);
  key.def.ctrl = copy_bytes(&status, def->ctrl, (size_t)key.nu * real);
  key.def.mpos = copy_bytes(&status, def->mpos, (size_t)key.nmocap * 3 * real);
  key.def.mquat = copy_bytes(&status, def->mquat, (size_t)key.nmocap * 4 * real);
  if (status == ABUT_OK) return append_key(builder, &key, NULL);
  free_key(&key);
  return status;
}
