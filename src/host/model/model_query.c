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
  def->joint = model->actuator_jnt[actuator];
  def->gear = model->actuator_gear[actuator];
  def->gain = model->actuator_gain[actuator];
  def->ctrllimited = model->actuator_ctrllimited[actuator];
  def->forcelimited = model->actuator_forcelimited[actuator];
  copy(def->bias, model->actuator_bias, actuator, 3);
  copy(def->ctrlrange, model->actuator_ctrlrange, actuator, 2);
  copy(def->forcerange, model->actuator_forcerange, actuator, 2);
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

abut_status abut_model_gravity(const abut_model *model, double gravity[3]) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(gravity, "gravity");
  memcpy(gravity, model->gravity, sizeof model->gravity);
  return ABUT_OK;
}

double abut_model_timestep(const abut_model *model) { return model ? model->timestep : 0; }

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
