/* model_check_elements.c: checks what acts between bodies: sites, tendons, equalities, actuators, sensors,
 * explicit pairs, height fields, keys; a scene's options. */
#include "host/model/model_check.h"
#include "host/model/sensors.h"
#include <math.h>
#include <string.h>

abut_status model_check_options(const abut_scene_options *o) {
  for (int k = 0; k < 3; k++) {
    if (!isfinite(o->gravity[k])) return fail_with(ABUT_ERROR_MODEL, "gravity[%d] is %g", k, o->gravity[k]);
    if (!isfinite(o->wind[k])) return fail_with(ABUT_ERROR_MODEL, "wind[%d] is %g", k, o->wind[k]);
    if (!isfinite(o->magnetic[k]))
      return fail_with(ABUT_ERROR_MODEL, "magnetic[%d] is %g", k, o->magnetic[k]);
  }
  if (!(o->timestep > 0 && isfinite(o->timestep)))
    return fail_with(ABUT_ERROR_MODEL, "timestep is %g s, must be positive", o->timestep);
  if (!(o->density >= 0 && isfinite(o->density)))
    return fail_with(ABUT_ERROR_MODEL, "density is %g, must not be negative", o->density);
  if (!(o->viscosity >= 0 && isfinite(o->viscosity)))
    return fail_with(ABUT_ERROR_MODEL, "viscosity is %g, must not be negative", o->viscosity);
  if (!(o->impratio > 0 && isfinite(o->impratio)))
    return fail_with(ABUT_ERROR_MODEL, "impratio is %g, must be positive", o->impratio);
  if (!(o->tolerance >= 0 && isfinite(o->tolerance)))
    return fail_with(ABUT_ERROR_MODEL, "tolerance is %g, must not be negative", o->tolerance);
  if (o->iterations < 1) return fail_with(ABUT_ERROR_MODEL, "iterations is %d, at least 1", o->iterations);
  if (o->integrator < ABUT_INTEGRATOR_EULER || o->integrator > ABUT_INTEGRATOR_IMPLICITFAST)
    return fail_with(ABUT_ERROR_MODEL, "integrator %d does not exist", o->integrator);
  if (o->cone < ABUT_CONE_PYRAMIDAL || o->cone > ABUT_CONE_ELLIPTIC)
    return fail_with(ABUT_ERROR_MODEL, "cone %d does not exist", o->cone);
  return ABUT_OK;
}

abut_status check_solref(const abut_model *m, char kind, int32_t id, const char *what, const double *solref) {
  if (solref[0] > 0 ? solref[1] > 0 : solref[0] < 0 && solref[1] <= 0) return ABUT_OK;
  return bad(m, kind, id, "%s (%g, %g) is neither (time constant, damping ratio) nor (-stiffness, -damping)",
             what, solref[0], solref[1]);
}

abut_status check_condim(const abut_model *m, char kind, int32_t id, int32_t condim) {
  if (condim == 1 || condim == 3 || condim == 4 || condim == 6) return ABUT_OK;
  return bad(m, kind, id, "condim is %d, not 1, 3, 4 or 6", condim);
}

static abut_status check_nonnegative(const abut_model *m, char kind, int32_t id, const char *what,
                                     double value) {
  if (value >= 0) return ABUT_OK;
  return bad(m, kind, id, "%s is %g, must not be negative", what, value);
}

static abut_status check_range(const abut_model *m, char kind, int32_t id, const char *what, int32_t limited,
                               const double *ranges) {
  const double *range = ranges + 2 * (size_t)id;
  if (!limited || range[0] < range[1]) return ABUT_OK;
  return bad(m, kind, id, "%s (%g, %g) is empty", what, range[0], range[1]);
}

static int is_scalar(const abut_model *m, int32_t jnt) {
  return m->jnt_type[jnt] == ABUT_JOINT_SLIDE || m->jnt_type[jnt] == ABUT_JOINT_HINGE;
}

/* ---------------------------------------------------------------- sites, height fields */

static abut_status check_sites(const abut_model *m) {
  for (int32_t s = 0; s < m->nsite; s++) {
    const int32_t type = m->site_type[s];
    if (m->site_body[s] < 0 || m->site_body[s] >= m->nbody)
      return bad(m, 's', s, "body %d does not exist", m->site_body[s]);
    if (type < ABUT_GEOM_SPHERE || type > ABUT_GEOM_BOX) return bad(m, 's', s, "type %d is no volume", type);
    if (!is_unit(m->site_quat + 4 * (size_t)s, 4)) return bad(m, 's', s, "quat is not a unit quaternion");
    for (size_t k = 0; k < 3; k++)
      ATTEMPT(check_nonnegative(m, 's', s, "size", m->site_size[3 * (size_t)s + k]));
  }
  return ABUT_OK;
}

/* The data of the geoms' height fields follow each other. */
static abut_status check_hfields(const abut_model *m) {
  int32_t next = 0;
  int64_t data = 0;
  for (int32_t g = 0; g < m->ngeom; g++) {
    const int32_t h = m->geom_hfield[g], wanted = m->geom_type[g] == ABUT_GEOM_HFIELD ? next : -1;
    if (h != wanted) return bad(m, 'g', g, "height field is %d, not %d", h, wanted);
    if (h < 0) continue;
    next++;
    if (h >= m->nhfield) return bad(m, 'g', g, "height field %d of %d", h, m->nhfield);
    const double *size = m->hfield_size + 4 * (size_t)h;
    if (m->hfield_nrow[h] < 2 || m->hfield_ncol[h] < 2)
      return bad(m, 'g', g, "height field of %d x %d, at least 2 x 2", m->hfield_nrow[h], m->hfield_ncol[h]);
    const int64_t count = (int64_t)m->hfield_nrow[h] * m->hfield_ncol[h];
    if (m->hfield_adr[h] != data || count > m->nhfielddata - data)
      return bad(m, 'g', g, "heights at %d of %d", m->hfield_adr[h], m->nhfielddata);
    for (int k = 0; k < 4; k++)
      if (!(size[k] > 0)) return bad(m, 'g', g, "hfield_size[%d] is %g, must be positive", k, size[k]);
    for (int64_t i = data; i < data + count; i++)
      if (m->hfield_data[i] < 0 || m->hfield_data[i] > 1)
        return bad(m, 'g', g, "height %lld is %g, not within 0 and 1", (long long)(i - data),
                   m->hfield_data[i]);
    data += count;
  }
  if (next != m->nhfield || data != m->nhfielddata)
    return fail_with(ABUT_ERROR_MODEL, "model: %d height fields of %d data, its geoms have %d of %lld",
                     m->nhfield, m->nhfielddata, next, (long long)data);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- tendons */

static abut_status check_wrap(const abut_model *m, int32_t t, int32_t row) {
  const int32_t type = m->wrap_type[row], obj = m->wrap_obj[row];
  const double prm = m->wrap_prm[row];
  const int32_t counts[] = {0, m->njnt, 0, m->nsite, m->ngeom, m->ngeom};
  if (type < ABUT_WRAP_JOINT || type > ABUT_WRAP_CYLINDER)
    return bad(m, 't', t, "wrap type %d does not exist", type);
  if (type == ABUT_WRAP_PULLEY)
    return prm > 0 ? ABUT_OK : bad(m, 't', t, "a pulley's divisor is %g, must be positive", prm);
  if (obj < 0 || obj >= counts[type]) return bad(m, 't', t, "object %d of a wrap does not exist", obj);
  if (type == ABUT_WRAP_JOINT && !is_scalar(m, obj)) {
    char label[LABEL_SIZE];
    return bad(m, 't', t, "%s is neither slide nor hinge", model_label(m, 'j', obj, label));
  }
  if (type < ABUT_WRAP_SPHERE) return ABUT_OK;
  if (m->geom_type[obj] != (type == ABUT_WRAP_SPHERE ? ABUT_GEOM_SPHERE : ABUT_GEOM_CYLINDER))
    return bad(m, 't', t, "it wraps geom %d, which is no %s", obj,
               type == ABUT_WRAP_SPHERE ? "sphere" : "cylinder");
  if (prm != (int32_t)prm || prm < -1 || prm >= m->nsite)
    return bad(m, 't', t, "side site %g does not exist", prm);
  return ABUT_OK;
}

/* A fixed tendon has joints only. A spatial one is strands from site to site, with at most one geom between
 * two sites, divided by pulleys; each strand has two sites. */
static abut_status check_path(const abut_model *m, int32_t t) {
  const int32_t first = m->tendon_adr[t], end = first + m->tendon_num[t];
  const int fixed = m->wrap_type[first] == ABUT_WRAP_JOINT;
  int sites = 0, previous = ABUT_WRAP_PULLEY;
  for (int32_t row = first; row <= end; row++) {
    const int type = row < end ? m->wrap_type[row] : ABUT_WRAP_PULLEY;
    if (row < end) ATTEMPT(check_wrap(m, t, row));
    if (row < end && (type == ABUT_WRAP_JOINT) != fixed)
      return bad(m, 't', t, "it mixes joints with other parts");
    if (fixed) continue;
    if (type >= ABUT_WRAP_SPHERE && previous != ABUT_WRAP_SITE)
      return bad(m, 't', t, "part %d is a geom that does not follow a site", row - first);
    if (type == ABUT_WRAP_PULLEY && (previous >= ABUT_WRAP_SPHERE || (row > first && sites < 2)))
      return bad(m, 't', t, "a strand must run from site to site, part %d ends one that does not",
                 row - first);
    sites = type == ABUT_WRAP_PULLEY ? 0 : sites + (type == ABUT_WRAP_SITE);
    previous = type;
  }
  return ABUT_OK;
}

static abut_status check_tendons(const abut_model *m) {
  int32_t next = 0;
  for (int32_t t = 0; t < m->ntendon; t++) {
    const double *rest = m->tendon_lengthspring + 2 * (size_t)t;
    if (m->tendon_adr[t] != next || m->tendon_num[t] < 1 || m->tendon_num[t] > m->nwrap - next)
      return bad(m, 't', t, "%d parts from %d of %d", m->tendon_num[t], m->tendon_adr[t], m->nwrap);
    next += m->tendon_num[t];
    ATTEMPT(check_path(m, t));
    ATTEMPT(check_nonnegative(m, 't', t, "stiffness", m->tendon_stiffness[t]));
    ATTEMPT(check_nonnegative(m, 't', t, "damping", m->tendon_damping[t]));
    ATTEMPT(check_nonnegative(m, 't', t, "armature", m->tendon_armature[t]));
    ATTEMPT(check_nonnegative(m, 't', t, "frictionloss", m->tendon_frictionloss[t]));
    ATTEMPT(check_range(m, 't', t, "range", m->tendon_limited[t], m->tendon_range));
    ATTEMPT(check_range(m, 't', t, "actfrcrange", m->tendon_actfrclimited[t], m->tendon_actfrcrange));
    ATTEMPT(check_solref(m, 't', t, "solref", m->tendon_solref + 2 * (size_t)t));
    ATTEMPT(check_solref(m, 't', t, "solreffriction", m->tendon_solreffriction + 2 * (size_t)t));
    if (!(rest[0] <= rest[1])) return bad(m, 't', t, "lengthspring (%g, %g) is empty", rest[0], rest[1]);
  }
  if (next != m->nwrap)
    return fail_with(ABUT_ERROR_MODEL, "model: nwrap is %d, its tendons have %d", m->nwrap, next);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- equalities */

static abut_status check_equality(const abut_model *m, int32_t e) {
  static const char *const nouns[] = {"body", "body", "joint", "tendon"};
  const int32_t type = m->eq_type[e], a = m->eq_obj1[e], b = m->eq_obj2[e];
  const int32_t counts[] = {m->nbody, m->nbody, m->njnt, m->ntendon};
  if (type < ABUT_EQUALITY_CONNECT || type > ABUT_EQUALITY_TENDON)
    return bad(m, 'e', e, "type %d does not exist", type);
  const int bodies = type <= ABUT_EQUALITY_WELD;
  if (a < 0 || a >= counts[type]) return bad(m, 'e', e, "%s %d does not exist", nouns[type], a);
  if (b < (bodies ? 0 : -1) || b >= counts[type])
    return bad(m, 'e', e, "%s %d does not exist", nouns[type], b);
  if (a == b) return bad(m, 'e', e, "it ties %s %d to itself", nouns[type], a);
  const int32_t joints[2] = {a, b};
  for (int i = 0; type == ABUT_EQUALITY_JOINT && i < 2; i++) {
    char label[LABEL_SIZE];
    if (joints[i] >= 0 && !is_scalar(m, joints[i]))
      return bad(m, 'e', e, "%s is neither slide nor hinge", model_label(m, 'j', joints[i], label));
  }
  if (!is_unit(m->eq_relquat + 4 * (size_t)e, 4)) return bad(m, 'e', e, "relquat is not a unit quaternion");
  ATTEMPT(check_nonnegative(m, 'e', e, "torquescale", m->eq_torquescale[e]));
  return check_solref(m, 'e', e, "solref", m->eq_solref + 2 * (size_t)e);
}

static abut_status check_equalities(const abut_model *m) {
  for (int32_t e = 0; e < m->neq; e++) ATTEMPT(check_equality(m, e));
  return ABUT_OK;
}

/* ---------------------------------------------------------------- actuators */

static abut_status check_transmission(const abut_model *m, int32_t a) {
  const int32_t type = m->actuator_trntype[a], *id = m->actuator_trnid + 2 * (size_t)a;
  const int32_t counts[] = {m->njnt, m->njnt, m->nsite, m->ntendon, m->nsite};
  static const char *const nouns[] = {"joint", "joint", "crank site", "tendon", "site"};
  if (type < ABUT_TRANSMISSION_JOINT || type > ABUT_TRANSMISSION_SITE)
    return bad(m, 'a', a, "transmission %d does not exist", type);
  if (id[0] < 0 || id[0] >= counts[type]) return bad(m, 'a', a, "%s %d does not exist", nouns[type], id[0]);
  if (type == ABUT_TRANSMISSION_SLIDERCRANK) {
    if (id[1] < 0 || id[1] >= m->nsite) return bad(m, 'a', a, "slider site %d does not exist", id[1]);
    if (!(m->actuator_cranklength[a] > 0))
      return bad(m, 'a', a, "crank length is %g, must be positive", m->actuator_cranklength[a]);
  } else if (id[1] < -1 || id[1] >= (type == ABUT_TRANSMISSION_SITE ? m->nsite : 0)) {
    return bad(m, 'a', a, "reference site %d does not exist", id[1]);
  }
  return ABUT_OK;
}

/* Activations count up. */
static abut_status check_activation(const abut_model *m, int32_t a, int32_t *act) {
  const int32_t type = m->actuator_dyntype[a], wanted = type == ABUT_DYNAMICS_NONE ? -1 : *act;
  if (type < ABUT_DYNAMICS_NONE || type > ABUT_DYNAMICS_FILTEREXACT)
    return bad(m, 'a', a, "dynamics %d does not exist", type);
  if (m->actuator_actadr[a] != wanted)
    return bad(m, 'a', a, "activation is %d, not %d", m->actuator_actadr[a], wanted);
  if (type >= ABUT_DYNAMICS_FILTER && !(m->actuator_dynprm[a] > 0))
    return bad(m, 'a', a, "time constant is %g s, must be positive", m->actuator_dynprm[a]);
  *act += type != ABUT_DYNAMICS_NONE;
  return ABUT_OK;
}

static abut_status check_actuators(const abut_model *m) {
  int32_t act = 0;
  for (int32_t a = 0; a < m->nu; a++) {
    ATTEMPT(check_transmission(m, a));
    ATTEMPT(check_activation(m, a, &act));
    ATTEMPT(check_range(m, 'a', a, "ctrlrange", m->actuator_ctrllimited[a], m->actuator_ctrlrange));
    ATTEMPT(check_range(m, 'a', a, "forcerange", m->actuator_forcelimited[a], m->actuator_forcerange));
    ATTEMPT(check_range(m, 'a', a, "actrange", m->actuator_actlimited[a], m->actuator_actrange));
  }
  if (act != m->na) return fail_with(ABUT_ERROR_MODEL, "model: na is %d, its actuators have %d", m->na, act);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- sensors */

/* How many objects of a kind there are; -1: there is no such kind. 'i' is a body's centre of mass. */
static int32_t count_of(const abut_model *m, int32_t kind) {
#define X(letter, count, noun)                                                                               \
  if (kind == letter) return m->count;
  MODEL_NAMED(X)
#undef X
  return kind == 'i' ? m->nbody : -1;
}

static abut_status check_object(const abut_model *m, int32_t n, const char *kinds, int32_t kind, int32_t id) {
  if (kind <= 0 || kind > 127 || !strchr(kinds, (char)kind))
    return bad(m, 'n', n, "its kind of object is %d, not one of '%s'", kind, kinds);
  if (id < 0 || id >= count_of(m, kind)) return bad(m, 'n', n, "object %d does not exist", id);
  return ABUT_OK;
}

static abut_status check_sensors(const abut_model *m) {
  int32_t next = 0;
  for (int32_t n = 0; n < m->nsensor; n++) {
    const int32_t type = m->sensor_type[n];
    if (type < 0 || type >= ABUT_SENSOR_NUM) return bad(m, 'n', n, "type %d does not exist", type);
    if (m->sensor_dim[n] != sensor_dim(type) || m->sensor_adr[n] != next)
      return bad(m, 'n', n, "%d data from %d, not %d from %d", m->sensor_dim[n], m->sensor_adr[n],
                 sensor_dim(type), next);
    if (m->sensor_dim[n] > m->nsensordata - next)
      return bad(m, 'n', n, "its data end behind %d", m->nsensordata);
    next += m->sensor_dim[n];
    if (*sensor_kinds(type))
      ATTEMPT(check_object(m, n, sensor_kinds(type), m->sensor_objtype[n], m->sensor_objid[n]));
    if (m->sensor_reftype[n] && !sensor_has_reference(type)) return bad(m, 'n', n, "it has no reference");
    if (m->sensor_reftype[n]) ATTEMPT(check_object(m, n, "bigs", m->sensor_reftype[n], m->sensor_refid[n]));
    ATTEMPT(check_nonnegative(m, 'n', n, "cutoff", m->sensor_cutoff[n]));
  }
  if (next != m->nsensordata)
    return fail_with(ABUT_ERROR_MODEL, "model: nsensordata is %d, its sensors have %d", m->nsensordata, next);
  return ABUT_OK;
}

/* ---------------------------------------------------------------- pairs, keys */

static abut_status check_explicit(const abut_model *m) {
  for (int32_t i = 0; i < m->nexplicit; i++) {
    const double *friction = m->explicit_friction + 5 * (size_t)i,
                 *solref = m->explicit_solref + 2 * (size_t)i;
    const int32_t condim = m->explicit_condim[i];
    if (condim != 1 && condim != 3 && condim != 4 && condim != 6)
      return fail_with(ABUT_ERROR_MODEL, "explicit contact pair %d: condim is %d, not 1, 3, 4 or 6", i,
                       condim);
    for (int k = 0; k < 5; k++)
      if (friction[k] < 0 && !(k < 2 && friction[k] == -1))
        return fail_with(ABUT_ERROR_MODEL, "explicit contact pair %d: friction[%d] is %g", i, k, friction[k]);
    if (!(solref[0] > 0 ? solref[1] > 0 : solref[0] < 0 && solref[1] <= 0))
      return fail_with(ABUT_ERROR_MODEL, "explicit contact pair %d: solref is (%g, %g)", i, solref[0],
                       solref[1]);
  }
  return ABUT_OK;
}

static abut_status check_keys(const abut_model *m) {
  for (int32_t k = 0; k < m->nkey; k++)
    for (int32_t i = 0; i < m->nmocap; i++)
      if (!is_unit(m->key_mquat + 4 * ((size_t)k * (size_t)m->nmocap + (size_t)i), 4))
        return bad(m, 'k', k, "the quaternion of mocap body %d is not unit", i);
  return ABUT_OK;
}

abut_status model_check_elements(const abut_model *m) {
  ATTEMPT(check_sites(m));
  ATTEMPT(check_hfields(m));
  ATTEMPT(check_tendons(m));
  ATTEMPT(check_equalities(m));
  ATTEMPT(check_actuators(m));
  ATTEMPT(check_sensors(m));
  ATTEMPT(check_explicit(m));
  return check_keys(m);
}
