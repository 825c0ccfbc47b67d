/* model_query.c: reads a compiled scene back, object by object. */
#include "host/model/model.h"
#include "host/base/status.h"
#include <string.h>

static abut_status check(const char *kind, int32_t id, int32_t count) {
  if (id >= 0 && id < count) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "%s %d: the model has %d", kind, id, count);
}

static void copy(double *to, const double *from, int32_t index, int n) {
  memcpy(to, from + (size_t)index * (size_t)n, (size_t)n * sizeof *to);
}

abut_status abut_model_body(const abut_model *model, int32_t body, abut_body_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("body", body, model->nbody));
  *def = abut_default_body_def();
  def->name = abut_model_name(model, 'b', body);
  def->parent = model->body_parent[body];
  def->mass = model->body_mass[body];
  copy(def->pos, model->body_pos, body, 3);
  copy(def->quat, model->body_quat, body, 4);
  copy(def->ipos, model->body_ipos, body, 3);
  copy(def->iquat, model->body_iquat, body, 4);
  copy(def->inertia, model->body_inertia, body, 3);
  def->gravcomp = model->body_gravcomp[body];
  def->mocap = model->body_mocapid[body] >= 0;
  return ABUT_OK;
}

abut_status abut_model_joint(const abut_model *model, int32_t joint, abut_joint_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("joint", joint, model->njnt));
  *def = abut_default_joint_def();
  def->name = abut_model_name(model, 'j', joint);
  def->body = model->jnt_body[joint];
  def->type = model->jnt_type[joint];
  def->limited = model->jnt_limited[joint];
  def->stiffness = model->jnt_stiffness[joint];
  def->damping = model->jnt_damping[joint];
  def->armature = model->jnt_armature[joint];
  def->frictionloss = model->jnt_frictionloss[joint];
  copy(def->pos, model->jnt_pos, joint, 3);
  copy(def->axis, model->jnt_axis, joint, 3);
  copy(def->range, model->jnt_range, joint, 2);
  copy(def->solref, model->jnt_solref, joint, 2);
  copy(def->solimp, model->jnt_solimp, joint, 5);
  copy(def->solreffriction, model->jnt_solreffriction, joint, 2);
  copy(def->solimpfriction, model->jnt_solimpfriction, joint, 5);
  copy(def->actfrcrange, model->jnt_actfrcrange, joint, 2);
  def->margin = model->jnt_margin[joint];
  def->actfrclimited = model->jnt_actfrclimited[joint];
  def->actgravcomp = model->jnt_actgravcomp[joint];
  if (def->type == ABUT_JOINT_SLIDE || def->type == ABUT_JOINT_HINGE) {
    def->ref = model->qpos0[model->jnt_qposadr[joint]];
    def->springref = model->qpos_spring[model->jnt_qposadr[joint]];
  }
  return ABUT_OK;
}

abut_status abut_model_geom(const abut_model *model, int32_t geom, abut_geom_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("geom", geom, model->ngeom));
  *def = abut_default_geom_def();
  def->name = abut_model_name(model, 'g', geom);
  def->body = model->geom_body[geom];
  def->type = model->geom_type[geom];
  def->density = 0;
  def->friction = model->geom_friction[geom];
  def->contype = model->geom_contype[geom];
  def->conaffinity = model->geom_conaffinity[geom];
  if (def->type == ABUT_GEOM_BOX || def->type == ABUT_GEOM_MESH) def->rounding = model->geom_radius[geom];
  if (def->type == ABUT_GEOM_CYLINDER || def->type == ABUT_GEOM_ELLIPSOID)
    def->hull_points = model->geom_pointnum[geom];
  def->condim = model->geom_condim[geom];
  def->priority = model->geom_priority[geom];
  def->solmix = model->geom_solmix[geom];
  def->margin = model->geom_margin[geom];
  def->gap = model->geom_gap[geom];
  copy(def->turning, model->geom_turning, geom, 2);
  copy(def->solref, model->geom_solref, geom, 2);
  copy(def->solimp, model->geom_solimp, geom, 5);
  copy(def->fluid, model->geom_fluid, geom, 12);
  if (def->type == ABUT_GEOM_HFIELD) {
    const int32_t h = model->geom_hfield[geom];
    def->heights = model->hfield_data + model->hfield_adr[h];
    def->nrow = model->hfield_nrow[h];
    def->ncol = model->hfield_ncol[h];
    copy(def->hfield_size, model->hfield_size, h, 4);
  }
  copy(def->size, model->geom_size, geom, 3);
  copy(def->pos, model->geom_pos, geom, 3);
  copy(def->quat, model->geom_quat, geom, 4);
  return ABUT_OK;
}

abut_status abut_model_actuator(const abut_model *model, int32_t actuator, abut_actuator_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("actuator", actuator, model->nu));
  *def = abut_default_actuator_def();
  def->name = abut_model_name(model, 'a', actuator);
  def->transmission = model->actuator_trntype[actuator];
  def->joint = model->actuator_trnid[2 * (size_t)actuator];
  def->reference = model->actuator_trnid[2 * (size_t)actuator + 1];
  def->gear = model->actuator_gear[6 * (size_t)actuator];
  memcpy(def->wrench, model->actuator_gear + 6 * (size_t)actuator + 1, sizeof def->wrench);
  def->cranklength = model->actuator_cranklength[actuator];
  def->gain = model->actuator_gain[3 * (size_t)actuator];
  memcpy(def->gains, model->actuator_gain + 3 * (size_t)actuator + 1, sizeof def->gains);
  def->dynamics = model->actuator_dyntype[actuator];
  def->tau = model->actuator_dynprm[actuator];
  def->actearly = model->actuator_actearly[actuator];
  def->ctrllimited = model->actuator_ctrllimited[actuator];
  def->forcelimited = model->actuator_forcelimited[actuator];
  def->actlimited = model->actuator_actlimited[actuator];
  copy(def->bias, model->actuator_bias, actuator, 3);
  copy(def->ctrlrange, model->actuator_ctrlrange, actuator, 2);
  copy(def->forcerange, model->actuator_forcerange, actuator, 2);
  copy(def->actrange, model->actuator_actrange, actuator, 2);
  return ABUT_OK;
}

abut_status abut_model_site(const abut_model *model, int32_t site, abut_site_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("site", site, model->nsite));
  *def = abut_default_site_def();
  def->name = abut_model_name(model, 's', site);
  def->body = model->site_body[site];
  def->type = model->site_type[site];
  copy(def->size, model->site_size, site, 3);
  copy(def->pos, model->site_pos, site, 3);
  copy(def->quat, model->site_quat, site, 4);
  return ABUT_OK;
}

abut_status abut_model_tendon(const abut_model *model, int32_t tendon, abut_tendon_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("tendon", tendon, model->ntendon));
  *def = abut_default_tendon_def();
  def->name = abut_model_name(model, 't', tendon);
  def->nwrap = model->tendon_num[tendon];
  def->limited = model->tendon_limited[tendon];
  def->margin = model->tendon_margin[tendon];
  def->stiffness = model->tendon_stiffness[tendon];
  def->damping = model->tendon_damping[tendon];
  def->armature = model->tendon_armature[tendon];
  def->frictionloss = model->tendon_frictionloss[tendon];
  def->actfrclimited = model->tendon_actfrclimited[tendon];
  copy(def->range, model->tendon_range, tendon, 2);
  copy(def->solref, model->tendon_solref, tendon, 2);
  copy(def->solimp, model->tendon_solimp, tendon, 5);
  copy(def->solreffriction, model->tendon_solreffriction, tendon, 2);
  copy(def->solimpfriction, model->tendon_solimpfriction, tendon, 5);
  copy(def->lengthspring, model->tendon_lengthspring, tendon, 2);
  copy(def->actfrcrange, model->tendon_actfrcrange, tendon, 2);
  return ABUT_OK;
}

abut_status abut_model_wrap(const abut_model *model, int32_t tendon, int32_t part, abut_wrap *wrap) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(wrap, "wrap");
  ATTEMPT(check("tendon", tendon, model->ntendon));
  ATTEMPT(check("part of a tendon", part, model->tendon_num[tendon]));
  const int32_t row = model->tendon_adr[tendon] + part;
  *wrap = (abut_wrap){model->wrap_type[row], model->wrap_obj[row], model->wrap_prm[row]};
  return ABUT_OK;
}

abut_status abut_model_equality(const abut_model *model, int32_t equality, abut_equality_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("equality", equality, model->neq));
  *def = abut_default_equality_def();
  def->name = abut_model_name(model, 'e', equality);
  def->type = model->eq_type[equality];
  def->obj1 = model->eq_obj1[equality];
  def->obj2 = model->eq_obj2[equality];
  def->inactive = !model->eq_active[equality];
  def->torquescale = model->eq_torquescale[equality];
  copy(def->anchor1, model->eq_anchor1, equality, 3);
  copy(def->anchor2, model->eq_anchor2, equality, 3);
  copy(def->relquat, model->eq_relquat, equality, 4);
  copy(def->polycoef, model->eq_polycoef, equality, 5);
  copy(def->solref, model->eq_solref, equality, 2);
  copy(def->solimp, model->eq_solimp, equality, 5);
  return ABUT_OK;
}

abut_status abut_model_sensor(const abut_model *model, int32_t sensor, abut_sensor_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("sensor", sensor, model->nsensor));
  *def = abut_default_sensor_def();
  def->name = abut_model_name(model, 'n', sensor);
  def->type = model->sensor_type[sensor];
  def->kind = (char)model->sensor_objtype[sensor];
  def->id = model->sensor_objid[sensor];
  def->reference_kind = (char)model->sensor_reftype[sensor];
  def->reference = model->sensor_refid[sensor];
  def->cutoff = model->sensor_cutoff[sensor];
  return ABUT_OK;
}

abut_status abut_model_ctrlrange(const abut_model *model, int32_t actuator, double range[2]) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(range, "range");
  ATTEMPT(check("actuator", actuator, model->nu));
  range[0] = -1;
  range[1] = 1;
  if (model->actuator_ctrllimited[actuator]) copy(range, model->actuator_ctrlrange, actuator, 2);
  return ABUT_OK;
}

abut_status abut_model_scene(const abut_model *model, abut_scene_options *options) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(options, "options");
  *options = model->option;
  return ABUT_OK;
}

abut_status abut_model_key(const abut_model *model, int32_t key, abut_key_def *def) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(def, "def");
  ATTEMPT(check("key", key, model->nkey));
  const size_t k = (size_t)key;
  def->name = abut_model_name(model, 'k', key);
  def->qpos = model->key_qpos + k * (size_t)model->nq;
  def->qvel = model->key_qvel + k * (size_t)model->nv;
  def->act = model->key_act + k * (size_t)model->na;
  def->ctrl = model->key_ctrl + k * (size_t)model->nu;
  def->mpos = model->key_mpos + k * 3 * (size_t)model->nmocap;
  def->mquat = model->key_mquat + k * 4 * (size_t)model->nmocap;
  return ABUT_OK;
}

double abut_model_timestep(const abut_model *model) { return model ? model->option.timestep : 0; }

abut_status abut_model_hull(const abut_model *model, int32_t geom, abut_hull *hull) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(hull, "hull");
  ATTEMPT(check("geom", geom, model->ngeom));
  memset(hull, 0, sizeof *hull);
  if (model->geom_pointadr[geom] >= 0) {
    hull->points = model->point + 3 * (size_t)model->geom_pointadr[geom];
    hull->npoint = model->geom_pointnum[geom];
  }
  if (model->geom_faceadr[geom] >= 0) {
    hull->faces = model->face + 3 * (size_t)model->geom_faceadr[geom];
    hull->nface = model->geom_facenum[geom];
  }
  hull->radius = model->geom_radius[geom];
  hull->error = model->geom_hull_error[geom];
  return ABUT_OK;
}

abut_status abut_model_triangles(const abut_model *model, int32_t geom, const double **corners,
                                 int64_t *count) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(corners, "corners");
  REQUIRE_POINTER(count, "count");
  ATTEMPT(check("geom", geom, model->ngeom));
  const int32_t nodes = model->geom_nodenum[geom]; /* of a binary tree with one triangle per leaf */
  *count = nodes > 0 ? (nodes + 1) / 2 : 0;
  *corners = nodes > 0 ? model->triangle + 9 * (size_t)model->geom_triangleadr[geom] : NULL;
  return ABUT_OK;
}
