/* import_elements.c: takes over from MuJoCo's model what acts between bodies: sites, tendons, equalities,
 * actuators, sensors; keys. */
#include "host/import/import.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/base/status.h"
#include "host/import/import_job.h"
#include "host/model/sensors.h"
#include <stdlib.h>

void import_solver(const mjtNum *solrefs, const mjtNum *solimps, int index, double solref[2],
                   double solimp[5]) {
  memcpy(solref, solrefs + mjNREF * index, 2 * sizeof *solref);
  memcpy(solimp, solimps + mjNIMP * index, 5 * sizeof *solimp);
  const int standard = solref[0] > 0 && solref[1] > 0, direct = solref[0] <= 0 && solref[1] <= 0;
  if (standard || (direct && solref[0] < 0)) return;
  solref[0] = 0.02;
  solref[1] = 1;
}

/* ---------------------------------------------------------------- sites, tendons */

static int32_t site_type(int type) {
  switch (type) {
  case mjGEOM_CAPSULE:
    return ABUT_GEOM_CAPSULE;
  case mjGEOM_ELLIPSOID:
    return ABUT_GEOM_ELLIPSOID;
  case mjGEOM_CYLINDER:
    return ABUT_GEOM_CYLINDER;
  case mjGEOM_BOX:
    return ABUT_GEOM_BOX;
  default:
    return ABUT_GEOM_SPHERE;
  }
}

static abut_status add_site(import_job *job, int site) {
  const mjModel *mj = job->mj;
  abut_site_def def = abut_default_site_def();
  def.name = name_of(mj, mjOBJ_SITE, site);
  def.body = mj->site_bodyid[site];
  def.type = site_type(mj->site_type[site]);
  COPY(def.size, mj->site_size, site, 3);
  COPY(def.pos, mj->site_pos, site, 3);
  COPY(def.quat, mj->site_quat, site, 4);
  return abut_builder_add_site(job->builder, &def, NULL);
}

static abut_wrap wrap_of(const import_job *job, int wrap) {
  const mjModel *mj = job->mj;
  const int id = mj->wrap_objid[wrap];
  const double prm = mj->wrap_prm[wrap];
  switch (mj->wrap_type[wrap]) {
  case mjWRAP_JOINT:
    return (abut_wrap){ABUT_WRAP_JOINT, id, prm};
  case mjWRAP_PULLEY:
    return (abut_wrap){ABUT_WRAP_PULLEY, -1, prm};
  case mjWRAP_SPHERE:
    return (abut_wrap){ABUT_WRAP_SPHERE, job->geoms[id], prm};
  case mjWRAP_CYLINDER:
    return (abut_wrap){ABUT_WRAP_CYLINDER, job->geoms[id], prm};
  default:
    return (abut_wrap){ABUT_WRAP_SITE, id, 0};
  }
}

static abut_status add_tendon(import_job *job, int tendon) {
  const mjModel *mj = job->mj;
  abut_tendon_def def = abut_default_tendon_def();
  def.name = name_of(mj, mjOBJ_TENDON, tendon);
  def.nwrap = mj->tendon_num[tendon];
  abut_wrap *wraps = malloc(((size_t)def.nwrap + 1) * sizeof *wraps);
  if (!wraps) return fail_with(ABUT_ERROR_MEMORY, "tendon %d: out of memory", tendon);
  for (int i = 0; i < def.nwrap; i++) wraps[i] = wrap_of(job, mj->tendon_adr[tendon] + i);
  def.wraps = wraps;
  def.limited = mj->tendon_limited[tendon] && !constraint_disabled(mj, mjDSBL_LIMIT);
  def.actfrclimited = mj->tendon_actfrclimited[tendon];
  def.margin = mj->tendon_margin[tendon];
  def.stiffness = disabled(mj, mjDSBL_SPRING) ? 0 : mj->tendon_stiffness[tendon];
  def.damping = disabled(mj, mjDSBL_DAMPER) ? 0 : mj->tendon_damping[tendon];
  def.armature = mj->tendon_armature[tendon];
  def.frictionloss = constraint_disabled(mj, mjDSBL_FRICTIONLOSS) ? 0 : mj->tendon_frictionloss[tendon];
  COPY(def.range, mj->tendon_range, tendon, 2);
  COPY(def.lengthspring, mj->tendon_lengthspring, tendon, 2);
  COPY(def.actfrcrange, mj->tendon_actfrcrange, tendon, 2);
  import_solver(mj->tendon_solref_lim, mj->tendon_solimp_lim, tendon, def.solref, def.solimp);
  import_solver(mj->tendon_solref_fri, mj->tendon_solimp_fri, tendon, def.solreffriction, def.solimpfriction);
  abut_status status = abut_builder_add_tendon(job->builder, &def, NULL);
  free(wraps);
  return status;
}

/* ---------------------------------------------------------------- equalities */

/* Bodies and anchors of a connect or weld that names sites: their frames are the ones that are held
 * together. */
static void tie_sites(const mjModel *mj, int equality, abut_equality_def *def) {
  const int a = mj->eq_obj1id[equality], b = mj->eq_obj2id[equality];
  mjtNum back[4];
  def->obj1 = mj->site_bodyid[a];
  def->obj2 = mj->site_bodyid[b];
  COPY(def->anchor1, mj->site_pos, a, 3);
  COPY(def->anchor2, mj->site_pos, b, 3);
  /* q1 s1 = q2 s2: the second body is at s1 s2^-1 in the first */
  mju_negQuat(back, mj->site_quat + 4 * b);
  mju_mulQuat(def->relquat, mj->site_quat + 4 * a, back);
}

/* MuJoCo's numbers of a connect: the anchor in either body's frame; of a weld: the anchor in the second's,
 * where it is in the first's, the second's orientation in the first's, the torque's scale. */
static void tie_bodies(const mjModel *mj, int equality, abut_equality_def *def) {
  const mjtNum *data = mj->eq_data + mjNEQDATA * equality;
  const int weld = mj->eq_type[equality] == mjEQ_WELD;
  memcpy(def->anchor1, data + (weld ? 3 : 0), sizeof def->anchor1);
  memcpy(def->anchor2, data + (weld ? 0 : 3), sizeof def->anchor2);
  if (weld) memcpy(def->relquat, data + 6, sizeof def->relquat);
}

static abut_status add_equality(import_job *job, int equality) {
  const mjModel *mj = job->mj;
  const mjtNum *data = mj->eq_data + mjNEQDATA * equality;
  abut_equality_def def = abut_default_equality_def();
  def.name = name_of(mj, mjOBJ_EQUALITY, equality);
  def.obj1 = mj->eq_obj1id[equality];
  def.obj2 = mj->eq_obj2id[equality];
  def.inactive = !mj->eq_active0[equality] || constraint_disabled(mj, mjDSBL_EQUALITY);
  import_solver(mj->eq_solref, mj->eq_solimp, equality, def.solref, def.solimp);
  switch (mj->eq_type[equality]) {
  case mjEQ_CONNECT:
  case mjEQ_WELD:
    def.type = mj->eq_type[equality] == mjEQ_WELD ? ABUT_EQUALITY_WELD : ABUT_EQUALITY_CONNECT;
    if (def.type == ABUT_EQUALITY_WELD) def.torquescale = data[10];
    if (mj->eq_objtype[equality] == mjOBJ_SITE)
      tie_sites(mj, equality, &def);
    else
      tie_bodies(mj, equality, &def);
    break;
  case mjEQ_JOINT:
  case mjEQ_TENDON:
    def.type = mj->eq_type[equality] == mjEQ_JOINT ? ABUT_EQUALITY_JOINT : ABUT_EQUALITY_TENDON;
    memcpy(def.polycoef, data, sizeof def.polycoef);
    break;
  default:
    return ABUT_OK; /* of flexes: refused */
  }
  return abut_builder_add_equality(job->builder, &def, NULL);
}

/* ---------------------------------------------------------------- actuators */

/* The joint's own limit on actuator force, moved to its only actuator. */
static void limit_by_joint(const mjModel *mj, int actuator, abut_actuator_def *def) {
  const int joint = mj->actuator_trnid[2 * actuator];
  if (!mj->jnt_actfrclimited[joint] || def->gear == 0 || import_drives(mj, joint) > 1) return;
  double a = mj->jnt_actfrcrange[2 * joint] / def->gear, b = mj->jnt_actfrcrange[2 * joint + 1] / def->gear;
  double low = mju_min(a, b), high = mju_max(a, b);
  if (def->forcelimited) {
    low = mju_clip(low, def->forcerange[0], def->forcerange[1]);
    high = mju_clip(high, def->forcerange[0], def->forcerange[1]);
  }
  def->forcelimited = 1;
  def->forcerange[0] = low;
  def->forcerange[1] = high;
}

/* Actuators that the file switches off keep their place in ctrl and push with nothing. */
static int switched_off(const mjModel *mj, int actuator) {
  if (disabled(mj, mjDSBL_ACTUATION)) return 1;
  int group = mj->actuator_group[actuator];
  return group >= 0 && group <= 30 && (mj->opt.disableactuator & (1 << group));
}

static void fill_transmission(const import_job *job, int actuator, abut_actuator_def *def) {
  const mjModel *mj = job->mj;
  const int *id = mj->actuator_trnid + 2 * actuator;
  const mjtNum *gear = mj->actuator_gear + 6 * mj->actuator_outadr[actuator];
  def->gear = gear[0];
  memcpy(def->wrench, gear + 1, sizeof def->wrench);
  def->joint = id[0];
  switch (mj->actuator_trntype[actuator]) {
  case mjTRN_JOINT:
    def->transmission = ABUT_TRANSMISSION_JOINT;
    limit_by_joint(mj, actuator, def);
    break;
  case mjTRN_JOINTINPARENT:
    def->transmission = ABUT_TRANSMISSION_JOINTINPARENT;
    limit_by_joint(mj, actuator, def);
    break;
  case mjTRN_SLIDERCRANK:
    def->transmission = ABUT_TRANSMISSION_SLIDERCRANK;
    def->reference = id[1];
    def->cranklength = mj->actuator_cranklength[actuator];
    break;
  case mjTRN_TENDON:
    def->transmission = ABUT_TRANSMISSION_TENDON;
    break;
  default:
    def->transmission = ABUT_TRANSMISSION_SITE;
    def->reference = id[1];
  }
}

static void fill_dynamics(const mjModel *mj, int actuator, abut_actuator_def *def) {
  static const int32_t types[] = {[mjDYN_NONE] = ABUT_DYNAMICS_NONE,
                                  [mjDYN_INTEGRATOR] = ABUT_DYNAMICS_INTEGRATOR,
                                  [mjDYN_FILTER] = ABUT_DYNAMICS_FILTER,
                                  [mjDYN_FILTEREXACT] = ABUT_DYNAMICS_FILTEREXACT};
  def->dynamics = types[mj->actuator_dyntype[actuator]];
  /* MuJoCo divides by no less than mjMINVAL */
  if (def->dynamics >= ABUT_DYNAMICS_FILTER)
    def->tau = mju_max(mjMINVAL, mj->actuator_dynprm[mjNDYN * actuator]);
  def->actearly = mj->actuator_actearly[actuator];
  def->actlimited = mj->actuator_actlimited[actuator];
  COPY(def->actrange, mj->actuator_actrange, actuator, 2);
}

static abut_status add_actuator(import_job *job, int actuator) {
  const mjModel *mj = job->mj;
  abut_actuator_def def = abut_default_actuator_def();
  job->actuators[actuator] = -1;
  if (!import_actuator_supported(mj, actuator)) return ABUT_OK;
  def.name = name_of(mj, mjOBJ_ACTUATOR, actuator);
  const int ctrl = mj->actuator_ctrladr[actuator];
  const mjtNum *gain = mj->actuator_gainprm + mjNGAIN * actuator;
  def.gain = 0;
  if (!switched_off(mj, actuator)) {
    def.gain = gain[0];
    if (mj->actuator_gaintype[actuator] == mjGAIN_AFFINE) memcpy(def.gains, gain + 1, sizeof def.gains);
    if (mj->actuator_biastype[actuator] == mjBIAS_AFFINE)
      memcpy(def.bias, mj->actuator_biasprm + mjNBIAS * actuator, sizeof def.bias);
  }
  def.ctrllimited = mj->actuator_ctrllimited[ctrl] && !disabled(mj, mjDSBL_CLAMPCTRL);
  def.forcelimited = mj->actuator_forcelimited[actuator];
  COPY(def.ctrlrange, mj->actuator_ctrlrange, ctrl, 2);
  COPY(def.forcerange, mj->actuator_forcerange, actuator, 2);
  fill_dynamics(mj, actuator, &def);
  fill_transmission(job, actuator, &def);
  return abut_builder_add_actuator(job->builder, &def, &job->actuators[actuator]);
}

/* ---------------------------------------------------------------- sensors */

/* abut's type of a sensor, -1: it has none. */
static int32_t sensor_type(const mjModel *mj, int sensor) {
  const int type = mj->sensor_type[sensor];
  if (type <= mjSENS_RANGEFINDER) return ABUT_SENSOR_TOUCH + type - mjSENS_TOUCH;
  if (type >= mjSENS_JOINTPOS && type <= mjSENS_SUBTREEANGMOM)
    return ABUT_SENSOR_JOINTPOS + type - mjSENS_JOINTPOS;
  return type == mjSENS_CLOCK ? ABUT_SENSOR_CLOCK : -1;
}
_Static_assert(mjSENS_RANGEFINDER - mjSENS_TOUCH == ABUT_SENSOR_RANGEFINDER - ABUT_SENSOR_TOUCH &&
                   mjSENS_BALLQUAT - mjSENS_JOINTPOS == ABUT_SENSOR_BALLQUAT - ABUT_SENSOR_JOINTPOS &&
                   mjSENS_FRAMEPOS - mjSENS_JOINTPOS == ABUT_SENSOR_FRAMEPOS - ABUT_SENSOR_JOINTPOS &&
                   mjSENS_SUBTREEANGMOM - mjSENS_JOINTPOS == ABUT_SENSOR_SUBTREEANGMOM - ABUT_SENSOR_JOINTPOS,
               "MuJoCo's sensors have another order");

/* Letter of an object's type, 0: abut has none. A body's own frame is MuJoCo's xbody. */
static char object_kind(int type) {
  switch (type) {
  case mjOBJ_BODY:
    return 'i';
  case mjOBJ_XBODY:
    return 'b';
  case mjOBJ_JOINT:
    return 'j';
  case mjOBJ_GEOM:
    return 'g';
  case mjOBJ_SITE:
    return 's';
  case mjOBJ_TENDON:
    return 't';
  case mjOBJ_ACTUATOR:
    return 'a';
  default:
    return 0;
  }
}

/* Builder's id of an object, -1 if there is none. */
static int32_t object_id(const import_job *job, char kind, int id) {
  return kind == 0 || id < 0 ? -1 : kind == 'g' ? job->geoms[id] : kind == 'a' ? job->actuators[id] : id;
}

/* A sensor without a counterpart changes no motion: it is noted. */
static abut_status add_sensor(import_job *job, int sensor) {
  const mjModel *mj = job->mj;
  abut_sensor_def def = abut_default_sensor_def();
  def.name = name_of(mj, mjOBJ_SENSOR, sensor);
  def.type = sensor_type(mj, sensor);
  def.kind = object_kind(mj->sensor_objtype[sensor]);
  if (def.type >= ABUT_SENSOR_SUBTREECOM && def.type <= ABUT_SENSOR_SUBTREEANGMOM) def.kind = 'b';
  if (mj->sensor_refid[sensor] >= 0) def.reference_kind = object_kind(mj->sensor_reftype[sensor]);
  def.id = object_id(job, def.kind, mj->sensor_objid[sensor]);
  def.reference = object_id(job, def.reference_kind, mj->sensor_refid[sensor]);
  def.cutoff = mj->sensor_cutoff[sensor];
  const int missing =
      (mj->sensor_objid[sensor] >= 0 && def.id < 0) || (mj->sensor_refid[sensor] >= 0 && def.reference < 0);
  if (def.type >= 0 && !missing && mj->sensor_plugin[sensor] < 0 &&
      mj->sensor_dim[sensor] == sensor_dim(def.type))
    return abut_builder_add_sensor(job->builder, &def, NULL);
  findings_add(&job->findings, FINDING_NOTE, "sensor %s is left out: abut has none of its kind",
               import_label(mj, mjOBJ_SENSOR, sensor).text);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- keys */

/* A key's controls and activations without those of dropped actuators. */
static abut_status add_key(import_job *job, int key) {
  const mjModel *mj = job->mj;
  double *ctrl = malloc((size_t)(mj->nu + mj->na + 1) * sizeof *ctrl), *act = ctrl + mj->nu;
  if (!ctrl) return fail_with(ABUT_ERROR_MEMORY, "key %d: out of memory", key);
  int nu = 0, na = 0;
  for (int i = 0; i < mj->nactuator; i++) {
    if (job->actuators[i] < 0) continue;
    ctrl[nu++] = mj->key_ctrl[(size_t)key * (size_t)mj->nu + (size_t)mj->actuator_ctrladr[i]];
    if (mj->actuator_actadr[i] >= 0)
      act[na++] = mj->key_act[(size_t)key * (size_t)mj->na + (size_t)mj->actuator_actadr[i]];
  }
  const abut_key_def def = {.name = name_of(mj, mjOBJ_KEY, key),
                            .qpos = mj->key_qpos + (size_t)key * (size_t)mj->nq,
                            .qvel = mj->key_qvel + (size_t)key * (size_t)mj->nv,
                            .act = act,
                            .ctrl = ctrl,
                            .mpos = mj->key_mpos + 3 * (size_t)key * (size_t)mj->nmocap,
                            .mquat = mj->key_mquat + 4 * (size_t)key * (size_t)mj->nmocap};
  abut_status status = abut_builder_add_key(job->builder, &def);
  free(ctrl);
  return status;
}

abut_status import_elements(import_job *job) {
  const mjModel *mj = job->mj;
  for (int i = 0; i < mj->nsite; i++) ATTEMPT(add_site(job, i));
  for (int i = 0; i < mj->ntendon; i++) ATTEMPT(add_tendon(job, i));
  for (int i = 0; i < mj->neq; i++) ATTEMPT(add_equality(job, i));
  for (int i = 0; i < mj->nactuator; i++) ATTEMPT(add_actuator(job, i));
  for (int i = 0; i < mj->nsensor; i++) ATTEMPT(add_sensor(job, i));
  for (int i = 0; i < mj->nkey; i++) ATTEMPT(add_key(job, i));
  return ABUT_OK;
}
#endif
