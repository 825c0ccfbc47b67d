/* import_extras.c: what elements that abut has may say besides in MuJoCo 4, and abut has no counterpart for:
 * springs and dampers that are no straight line or give way, delays, surfaces that move or stick. */
#include "host/import/import.h"
#ifdef ABUT_HAVE_MUJOCO
#include <mujoco/mujoco.h>

/* Whether any coefficient of a polynomial beyond the linear one is there. */
static int has_powers(const mjtNum *poly) {
  for (int i = 0; i < mjNPOLY; i++)
    if (poly[i] != 0) return 1;
  return 0;
}

static void refuse_joint_extras(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->njnt; i++) {
    object_label name = import_label(mj, mjOBJ_JOINT, i);
    const mjtNum *stiffness = mj->jnt_stiffnesspoly + mjNPOLY * i;
    const mjtNum *damping = mj->dof_dampingpoly + mjNPOLY * mj->jnt_dofadr[i];
    if (has_powers(stiffness))
      findings_add(findings, FINDING_DROPPABLE, "joint %s (stiffness %g %g of higher powers)", name.text,
                   stiffness[0], stiffness[1]);
    if (has_powers(damping))
      findings_add(findings, FINDING_DROPPABLE, "joint %s (damping %g %g of higher powers)", name.text,
                   damping[0], damping[1]);
    if (mj->jnt_springyield[i] > 0)
      findings_add(findings, FINDING_DROPPABLE, "joint %s (springyield %g)", name.text,
                   mj->jnt_springyield[i]);
  }
}

static void refuse_actuator_extras(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->nactuator; i++) {
    object_label name = import_label(mj, mjOBJ_ACTUATOR, i);
    const mjtNum *poly = mj->actuator_dampingpoly + mjNPOLY * i;
    if (mj->actuator_delay[i] > 0)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (delay %g s)", name.text, mj->actuator_delay[i]);
    if (mj->actuator_damping[i] != 0 || has_powers(poly))
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (damping %g %g %g)", name.text,
                   mj->actuator_damping[i], poly[0], poly[1]);
    if (mj->actuator_armature[i] != 0)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (armature %g)", name.text,
                   mj->actuator_armature[i]);
  }
}

static void refuse_surface_extras(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->ngeom; i++) {
    object_label name = import_label(mj, mjOBJ_GEOM, i);
    const mjtNum *v = mj->geom_surfacevel + 6 * i;
    if (!import_geom_collides(mj, i)) continue;
    if (v[0] != 0 || v[1] != 0 || v[2] != 0 || v[3] != 0 || v[4] != 0 || v[5] != 0)
      findings_add(findings, FINDING_DROPPABLE, "geom %s (surfacevel %g %g %g %g %g %g)", name.text, v[0],
                   v[1], v[2], v[3], v[4], v[5]);
    if (mj->geom_adhesion[i] != 0)
      findings_add(findings, FINDING_DROPPABLE, "geom %s (adhesion %g)", name.text, mj->geom_adhesion[i]);
  }
  if (mj->opt.disableflags & (mjDSBL_CONSTRAINT | mjDSBL_CONTACT)) return;
  for (int i = 0; i < mj->npair; i++)
    if (mj->pair_adhesion[i] != 0)
      findings_add(findings, FINDING_DROPPABLE, "pair of geoms %s and %s (adhesion %g)",
                   import_label(mj, mjOBJ_GEOM, mj->pair_geom1[i]).text,
                   import_label(mj, mjOBJ_GEOM, mj->pair_geom2[i]).text, mj->pair_adhesion[i]);
}

/* What changes MuJoCo's way of making a step, not the scene. */
static void note_flags(const mjModel *mj, finding_list *findings) {
  static const struct {
    int flag;
    const char *text;
  } flags[] = {{mjENBL_SLEEP, "sleep (nothing sleeps)"},
               {mjENBL_SPECULATIVE, "speculative (nothing passes through anyway)"},
               {mjENBL_DIAGEXACT, "diagexact"},
               {mjENBL_IPC, "ipc"}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (mj->opt.enableflags & flags[i].flag)
      findings_add(findings, FINDING_NOTE, "option flag %s is ignored", flags[i].text);
}

static void note_sensors(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->nsensor; i++)
    if (mj->sensor_delay[i] > 0 || mj->sensor_interval[2 * i] > 0)
      findings_add(findings, FINDING_NOTE, "sensor %s: its delay (%g s) and interval (%g s) are ignored",
                   import_label(mj, mjOBJ_SENSOR, i).text, mj->sensor_delay[i], mj->sensor_interval[2 * i]);
}

void import_refuse_extras(const struct mjModel_ *mj, finding_list *findings) {
  refuse_joint_extras(mj, findings);
  refuse_actuator_extras(mj, findings);
  refuse_surface_extras(mj, findings);
  note_flags(mj, findings);
  note_sensors(mj, findings);
}

#endif
