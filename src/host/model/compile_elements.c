/* compile_elements.c: compiles what acts between bodies: sites, tendons, equalities, actuators, sensors;
 * keys. They keep their ids; the joints and geoms that they name have new ones. */
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/model/compile.h"
#include "host/model/dynamics.h"
#include "host/model/sensors.h"

abut_status compile_count_elements(abut_model *m, const abut_builder *builder) {
  int64_t nwrap = 0, nsensordata = 0;
  for (int32_t i = 0; i < builder->ntendon; i++) nwrap += builder->tendons[i].nwrap;
  for (int32_t i = 0; i < builder->nsensor; i++) nsensordata += sensor_dim(builder->sensors[i].type);
  if (nwrap > INT32_MAX || nsensordata > INT32_MAX)
    return fail_with(ABUT_ERROR_MODEL, "model: tendons of %lld parts, %lld sensor data are too many",
                     (long long)nwrap, (long long)nsensordata);
  m->nsite = builder->nsite;
  m->ntendon = builder->ntendon;
  m->nwrap = (int32_t)nwrap;
  m->neq = builder->nequality;
  m->nu = builder->nactuator;
  m->na = builder->na;
  m->nsensor = builder->nsensor;
  m->nsensordata = (int32_t)nsensordata;
  m->nkey = builder->nkey;
  return ABUT_OK;
}

/* ---------------------------------------------------------------- sites, tendons */

static void fill_sites(abut_model *m, const abut_builder *builder) {
  for (int32_t s = 0; s < m->nsite; s++) {
    const abut_site_def *def = builder->sites + s;
    m->site_body[s] = def->body;
    m->site_type[s] = def->type;
    put(m->site_size, s, def->size, 3);
    put(m->site_pos, s, def->pos, 3);
    put(m->site_quat, s, def->quat, 4);
  }
}

static void fill_tendon_numbers(abut_model *m, int32_t t, const abut_tendon_def *def) {
  m->tendon_limited[t] = def->limited != 0;
  m->tendon_actfrclimited[t] = def->actfrclimited != 0;
  m->tendon_margin[t] = def->margin;
  m->tendon_stiffness[t] = def->stiffness;
  m->tendon_damping[t] = def->damping;
  m->tendon_armature[t] = def->armature;
  m->tendon_frictionloss[t] = def->frictionloss;
  put(m->tendon_range, t, def->range, 2);
  put(m->tendon_solref, t, def->solref, 2);
  put(m->tendon_solimp, t, def->solimp, 5);
  put(m->tendon_solreffriction, t, def->solreffriction, 2);
  put(m->tendon_solimpfriction, t, def->solimpfriction, 5);
  put(m->tendon_lengthspring, t, def->lengthspring, 2);
  put(m->tendon_actfrcrange, t, def->actfrcrange, 2);
}

static int32_t compiled_wrap(const plan *p, const abut_wrap *wrap) {
  switch (wrap->type) {
  case ABUT_WRAP_JOINT:
    return p->joint_at[wrap->obj];
  case ABUT_WRAP_SPHERE:
  case ABUT_WRAP_CYLINDER:
    return p->geom_at[wrap->obj];
  case ABUT_WRAP_SITE:
    return wrap->obj;
  default:
    return -1;
  }
}

static void fill_tendons(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t row = 0;
  for (int32_t t = 0; t < m->ntendon; t++) {
    const abut_tendon_def *def = builder->tendons + t;
    fill_tendon_numbers(m, t, def);
    m->tendon_adr[t] = row;
    m->tendon_num[t] = def->nwrap;
    for (int32_t i = 0; i < def->nwrap; i++, row++) {
      m->wrap_type[row] = def->wraps[i].type;
      m->wrap_obj[row] = compiled_wrap(p, def->wraps + i);
      m->wrap_prm[row] = def->wraps[i].prm;
    }
  }
}

/* ---------------------------------------------------------------- equalities */

/* Where the second body of a connect or weld is held: as at the reference configuration. */
static void place_second(abut_model *m, int32_t e, const model_pose *pose, const abut_equality_def *def) {
  const size_t a = (size_t)def->obj1, b = (size_t)def->obj2;
  double point[3], back[4], offset[3];
  static const double origin[3] = {0, 0, 0};
  for (int k = 0; k < 4; k++) back[k] = (k ? -1 : 1) * pose->xquat[4 * b + (size_t)k];
  if (isnan(def->anchor2[0])) {
    transform_point(point, pose->xpos + 3 * a, pose->xquat + 4 * a, def->anchor1);
    for (size_t k = 0; k < 3; k++) offset[k] = point[k] - pose->xpos[3 * b + k];
    transform_point(m->eq_anchor2 + 3 * (size_t)e, origin, back, offset);
  }
  const double *q = def->relquat;
  if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) {
    for (int k = 0; k < 4; k++) back[k] = (k ? -1 : 1) * pose->xquat[4 * a + (size_t)k];
    quat_product(m->eq_relquat + 4 * (size_t)e, back, pose->xquat + 4 * b);
  }
}

static abut_status fill_equalities(abut_model *m, const abut_builder *builder, const plan *p) {
  model_pose pose = {0};
  if (m->neq) ATTEMPT(model_pose_make(m, m->qpos0, &pose));
  for (int32_t e = 0; e < m->neq; e++) {
    const abut_equality_def *def = builder->equalities + e;
    const int joints = def->type == ABUT_EQUALITY_JOINT;
    m->eq_type[e] = def->type;
    m->eq_obj1[e] = joints ? p->joint_at[def->obj1] : def->obj1;
    m->eq_obj2[e] = joints && def->obj2 >= 0 ? p->joint_at[def->obj2] : def->obj2;
    m->eq_active[e] = !def->inactive;
    m->eq_torquescale[e] = def->torquescale;
    put(m->eq_anchor1, e, def->anchor1, 3);
    if (!isnan(def->anchor2[0])) put(m->eq_anchor2, e, def->anchor2, 3);
    put(m->eq_relquat, e, def->relquat, 4);
    put(m->eq_polycoef, e, def->polycoef, 5);
    put(m->eq_solref, e, def->solref, 2);
    put(m->eq_solimp, e, def->solimp, 5);
    if (def->type <= ABUT_EQUALITY_WELD) {
      place_second(m, e, &pose, def);
      normalise(m->eq_relquat + 4 * (size_t)e, 4);
    } else {
      memset(m->eq_anchor2 + 3 * (size_t)e, 0, 3 * sizeof(double));
      m->eq_relquat[4 * (size_t)e] = 1;
    }
  }
  model_pose_free(&pose);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- actuators, sensors */

static void fill_actuators(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t act = 0;
  for (int32_t a = 0; a < m->nu; a++) {
    const abut_actuator_def *def = builder->actuators + a;
    const int joint = def->transmission <= ABUT_TRANSMISSION_JOINTINPARENT;
    const int sites =
        def->transmission == ABUT_TRANSMISSION_SITE || def->transmission == ABUT_TRANSMISSION_SLIDERCRANK;
    const double gear[6] = {def->gear,      def->wrench[0], def->wrench[1],
                            def->wrench[2], def->wrench[3], def->wrench[4]};
    const double gain[3] = {def->gain, def->gains[0], def->gains[1]};
    m->actuator_trntype[a] = def->transmission;
    m->actuator_trnid[2 * (size_t)a] = joint ? p->joint_at[def->joint] : def->joint;
    m->actuator_trnid[2 * (size_t)a + 1] = sites ? def->reference : -1;
    m->actuator_dyntype[a] = def->dynamics;
    m->actuator_actadr[a] = def->dynamics == ABUT_DYNAMICS_NONE ? -1 : act++;
    m->actuator_ctrllimited[a] = def->ctrllimited != 0;
    m->actuator_forcelimited[a] = def->forcelimited != 0;
    m->actuator_actlimited[a] = def->actlimited != 0;
    m->actuator_actearly[a] = def->actearly != 0;
    m->actuator_dynprm[a] = def->tau;
    m->actuator_cranklength[a] = def->cranklength;
    put(m->actuator_gear, a, gear, 6);
    put(m->actuator_gain, a, gain, 3);
    put(m->actuator_bias, a, def->bias, 3);
    put(m->actuator_ctrlrange, a, def->ctrlrange, 2);
    put(m->actuator_forcerange, a, def->forcerange, 2);
    put(m->actuator_actrange, a, def->actrange, 2);
  }
}

/* Compiled id of an object that a sensor names. */
static int32_t compiled_object(const plan *p, char kind, int32_t id) {
  return kind == 0 ? -1 : kind == 'j' ? p->joint_at[id] : kind == 'g' ? p->geom_at[id] : id;
}

static void fill_sensors(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t at = 0;
  for (int32_t n = 0; n < m->nsensor; n++) {
    const abut_sensor_def *def = builder->sensors + n;
    m->sensor_type[n] = def->type;
    m->sensor_objtype[n] = def->kind;
    m->sensor_objid[n] = compiled_object(p, def->kind, def->id);
    m->sensor_reftype[n] = def->reference_kind;
    m->sensor_refid[n] = compiled_object(p, def->reference_kind, def->reference);
    m->sensor_adr[n] = at;
    m->sensor_dim[n] = sensor_dim(def->type);
    m->sensor_cutoff[n] = def->cutoff;
    at += m->sensor_dim[n];
  }
}

static void fill_explicit(abut_model *m, const abut_builder *builder) {
  for (int32_t i = 0; i < m->nexplicit; i++) {
    const abut_pair_def *def = builder->pairs + i;
    const double first = def->friction < 0 ? -1 : def->friction;
    const double second = def->friction < 0 || def->friction2 < 0 ? first : def->friction2;
    const double friction[5] = {first, second, def->turning[0], def->turning[1], def->turning[2]};
    put(m->explicit_friction, i, friction, 5);
    put(m->explicit_solref, i, def->solref, 2);
    put(m->explicit_solreffriction, i, def->solreffriction, 2);
    put(m->explicit_solimp, i, def->solimp, 5);
    m->explicit_condim[i] = def->condim;
    m->explicit_margin[i] = def->margin;
    m->explicit_gap[i] = def->gap;
  }
}

abut_status compile_fill_elements(abut_model *m, const abut_builder *builder, const plan *p) {
  fill_sites(m, builder);
  fill_tendons(m, builder, p);
  fill_actuators(m, builder, p);
  fill_sensors(m, builder, p);
  fill_explicit(m, builder);
  return fill_equalities(m, builder, p);
}

/* ---------------------------------------------------------------- keys */

/* Makes the quaternions of a configuration unit; those that cannot be are left for validation to name. */
static void normalise_configuration(const abut_model *m, double *qpos) {
  for (int32_t j = 0; j < m->njnt; j++) {
    double *q = qpos + m->jnt_qposadr[j];
    if (m->jnt_type[j] == ABUT_JOINT_FREE) normalise(q + 3, 4);
    if (m->jnt_type[j] == ABUT_JOINT_BALL) normalise(q, 4);
  }
}

/* The key's places of mocap bodies: where they are unless it says otherwise. */
static void fill_mocap(abut_model *m, int32_t k, const abut_key_def *def) {
  for (int32_t b = 1; b < m->nbody; b++) {
    const int32_t i = m->body_mocapid[b];
    if (i < 0) continue;
    double *pos = m->key_mpos + 3 * ((size_t)k * (size_t)m->nmocap + (size_t)i);
    double *quat = m->key_mquat + 4 * ((size_t)k * (size_t)m->nmocap + (size_t)i);
    memcpy(pos, def->mpos ? def->mpos + 3 * (size_t)i : m->body_pos + 3 * (size_t)b, 3 * sizeof *pos);
    memcpy(quat, def->mquat ? def->mquat + 4 * (size_t)i : m->body_quat + 4 * (size_t)b, 4 * sizeof *quat);
    normalise(quat, 4);
  }
}

abut_status compile_fill_keys(abut_model *m, const abut_builder *builder) {
  for (int32_t k = 0; k < m->nkey; k++) {
    const key_def *key = builder->keys + k;
    const abut_key_def *def = &key->def;
    if (key->nq != m->nq || key->nv != m->nv || key->na != m->na || key->nu != m->nu ||
        key->nmocap != m->nmocap)
      return fail_with(
          ABUT_ERROR_MODEL,
          "key %d '%s': added at nq %d, nv %d, na %d, nu %d, nmocap %d, the scene has %d, %d, %d, "
          "%d, %d: add keys last",
          k, def->name ? def->name : "", key->nq, key->nv, key->na, key->nu, key->nmocap, m->nq, m->nv, m->na,
          m->nu, m->nmocap);
    put(m->key_qpos, k, def->qpos ? def->qpos : m->qpos0, m->nq);
    if (def->qvel) put(m->key_qvel, k, def->qvel, m->nv);
    if (def->act) put(m->key_act, k, def->act, m->na);
    if (def->ctrl) put(m->key_ctrl, k, def->ctrl, m->nu);
    fill_mocap(m, k, def);
    normalise_configuration(m, m->key_qpos + (size_t)k * (size_t)m->nq);
  }
  return ABUT_OK;
}
