/* implicit_scene.c: what a scene may hold that the implicit step cannot do: refused by name. */
#include "host/base/status.h"
#include "host/method/implicit_scene.h"
#include "host/model/tendon.h"

static abut_status cannot(const abut_model *m, char kind, int32_t id, const char *what) {
  char label[LABEL_SIZE];
  return fail_with(ABUT_ERROR_UNSUPPORTED, "%s: the implicit step has no %s", model_label(m, kind, id, label),
                   what);
}

static abut_status check_actuators(const abut_model *m) {
  for (int32_t a = 0; a < m->nu; a++) {
    const int32_t joint = m->actuator_trnid[2 * (size_t)a];
    const double *gain = m->actuator_gain + 3 * (size_t)a;
    const int tendon = m->actuator_trntype[a] == ABUT_TRANSMISSION_TENDON;
    if (m->actuator_trntype[a] > ABUT_TRANSMISSION_JOINTINPARENT && !tendon)
      return cannot(m, 'a', a, "actuator that pulls at a site");
    if (tendon && m->tendon_actfrclimited[joint])
      return cannot(m, 't', joint, "limit of the sum of actuators' forces");
    if (!tendon && m->jnt_type[joint] != ABUT_JOINT_SLIDE && m->jnt_type[joint] != ABUT_JOINT_HINGE)
      return cannot(m, 'a', a, "actuator on a ball or free joint");
    if (gain[1] != 0 || gain[2] != 0) return cannot(m, 'a', a, "gain that depends on the state");
  }
  return ABUT_OK;
}

static abut_status check_joints(const abut_model *m) {
  for (int32_t j = 0; j < m->njnt; j++)
    if (m->jnt_actfrclimited[j]) return cannot(m, 'j', j, "limit of the sum of actuators' forces");
  return ABUT_OK;
}

/* A part of a tendon on which something acts. */
static abut_status check_wrap(const abut_model *m, const model_pose *pose, int32_t t, int32_t row) {
  if (m->wrap_type[row] < ABUT_WRAP_SPHERE || m->wrap_prm[row] < 0) return ABUT_OK;
  const int32_t site = (int32_t)m->wrap_prm[row], geom = m->wrap_obj[row];
  if (m->body_weldid[m->site_body[site]] != m->body_weldid[m->geom_body[geom]])
    return cannot(m, 't', t, "tendon around a geom against which its side site moves");
  if (model_wrap_inside(m, pose, row))
    return cannot(m, 't', t, "tendon through a geom, as its side site lies inside");
  return ABUT_OK;
}

static abut_status check_tendons(const abut_model *m) {
  model_pose pose;
  abut_status status = ABUT_OK;
  if (m->ntendon == 0) return ABUT_OK;
  ATTEMPT(model_pose_make(m, m->qpos0, &pose));
  for (int32_t t = 0; t < m->ntendon; t++)
    for (int32_t i = 0; i < m->tendon_num[t] && status == ABUT_OK && model_tendon_acts(m, t); i++)
      status = check_wrap(m, &pose, t, m->tendon_adr[t] + i);
  model_pose_free(&pose);
  return status;
}

abut_status implicit_check_scene(const abut_model *m) {
  for (int32_t i = 0; i < m->npair; i++)
    for (int j = 0; j < 2; j++) {
      const int32_t geom = j ? m->pair_geom2[i] : m->pair_geom1[i];
      int32_t body = m->geom_body[geom];
      while (m->body_parent[body] > 0) body = m->body_parent[body];
      if (m->geom_type[geom] == ABUT_GEOM_HFIELD) return cannot(m, 'g', geom, "contact with height fields");
      if (m->geom_type[geom] == ABUT_GEOM_PLANE && m->body_mocapid[body] >= 0)
        return cannot(m, 'g', geom, "contact with planes that others place (mocap)");
    }
  if (m->option.density != 0 || m->option.viscosity != 0)
    return fail_with(ABUT_ERROR_UNSUPPORTED,
                     "the scene's fluid (density %g, viscosity %g): the implicit step has none",
                     m->option.density, m->option.viscosity);
  ATTEMPT(check_joints(m));
  ATTEMPT(check_actuators(m));
  return check_tendons(m);
}
