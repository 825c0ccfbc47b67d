/* import_refuse.c: what an MJCF or URDF file asks for that abut cannot represent, by name. */
#include "host/import/import.h"
#include "host/base/status.h"
#ifdef ABUT_HAVE_MUJOCO
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void findings_add(finding_list *findings, int32_t level, const char *format, ...) {
  if (findings->count == findings->capacity) {
    int32_t capacity = findings->capacity ? 2 * findings->capacity : 16;
    import_finding *list = realloc(findings->list, (size_t)capacity * sizeof *list);
    if (!list) {
      findings->out_of_memory = 1;
      return;
    }
    findings->list = list;
    findings->capacity = capacity;
  }
  import_finding *finding = &findings->list[findings->count++];
  finding->level = level;
  va_list args;
  va_start(args, format);
  vsnprintf(finding->text, sizeof finding->text, format, args);
  va_end(args);
}

void findings_free(finding_list *findings) {
  free(findings->list);
  memset(findings, 0, sizeof *findings);
}

abut_status findings_check(const finding_list *findings, const char *path, int32_t ignore_unsupported) {
  if (findings->out_of_memory) return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory while reading", path);
  int32_t allowed = ignore_unsupported ? FINDING_DROPPABLE : FINDING_NOTE;
  char list[3500] = "";
  size_t length = 0;
  int32_t refused = 0, shown = 0;
  for (int32_t i = 0; i < findings->count; i++) {
    const import_finding *finding = &findings->list[i];
    if (finding->level <= allowed) continue;
    refused++;
    if (length + strlen(finding->text) + 3 > sizeof list) continue;
    length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", shown ? ", " : "", finding->text);
    shown++;
  }
  if (!refused) return ABUT_OK;
  char more[32] = "";
  if (shown < refused) snprintf(more, sizeof more, " and %d more", refused - shown);
  return fail_with(ABUT_ERROR_UNSUPPORTED, "%s: %s: %s%s", path,
                   ignore_unsupported ? "unsupported and cannot be ignored" : "unsupported", list, more);
}

char *findings_text(const finding_list *findings) {
  if (findings->out_of_memory) return NULL;
  static const char *const prefixes[] = {"note: ", "ignored: ", "refused: "};
  size_t size = 1;
  for (int32_t i = 0; i < findings->count; i++) size += strlen(findings->list[i].text) + 16;
  char *text = calloc(size, 1);
  size_t length = 0;
  for (int32_t i = 0; text && i < findings->count; i++)
    length += (size_t)snprintf(text + length, size - length, "%s%s\n", prefixes[findings->list[i].level],
                               findings->list[i].text);
  return text;
}

object_label import_label(const struct mjModel_ *mj, int32_t type, int32_t id) {
  object_label result;
  const char *name = mj_id2name(mj, type, id);
  if (name && name[0])
    snprintf(result.text, sizeof result.text, "'%s'", name);
  else if (type == mjOBJ_GEOM)
    snprintf(result.text, sizeof result.text, "%d of body %.60s", id,
             import_label(mj, mjOBJ_BODY, mj->geom_bodyid[id]).text);
  else
    snprintf(result.text, sizeof result.text, "%d", id);
  return result;
}

static const char *choose(const char *const *names, int count, int index) {
  return index >= 0 && index < count ? names[index] : "unknown";
}
#define CHOOSE(names, index) choose(names, (int)(sizeof(names) / sizeof *(names)), index)

/* Those of flexes; the others abut has. */
static void refuse_equality(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->neq; i++)
    if (mj->eq_type[i] > mjEQ_TENDON)
      findings_add(findings, FINDING_FATAL, "equality %s (of flex %s)",
                   import_label(mj, mjOBJ_EQUALITY, i).text,
                   import_label(mj, mjOBJ_FLEX, mj->eq_obj1id[i]).text);
}

static void refuse_soft_parts(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->nskin; i++)
    findings_add(findings, FINDING_NOTE, "skin %s is left out: it is only to be looked at",
                 import_label(mj, mjOBJ_SKIN, i).text);
  for (int i = 0; i < mj->nflex; i++)
    findings_add(findings, FINDING_FATAL, "flex %s", import_label(mj, mjOBJ_FLEX, i).text);
}

int32_t import_geom_supported(const struct mjModel_ *mj, int32_t geom) {
  switch (mj->geom_type[geom]) {
  case mjGEOM_PLANE:
  case mjGEOM_SPHERE:
  case mjGEOM_CAPSULE:
  case mjGEOM_ELLIPSOID:
  case mjGEOM_CYLINDER:
  case mjGEOM_BOX:
  case mjGEOM_MESH:
  case mjGEOM_HFIELD:
    return 1;
  default:
    return 0;
  }
}

int32_t import_geom_collides(const struct mjModel_ *mj, int32_t geom) {
  if (mj->opt.disableflags & (mjDSBL_CONSTRAINT | mjDSBL_CONTACT)) return 0;
  if (mj->geom_contype[geom] || mj->geom_conaffinity[geom]) return 1;
  for (int i = 0; i < mj->npair; i++)
    if (mj->pair_geom1[i] == geom || mj->pair_geom2[i] == geom) return 1;
  return 0;
}

static void refuse_geoms(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->ngeom; i++)
    if (!import_geom_supported(mj, i))
      findings_add(findings, import_geom_collides(mj, i) ? FINDING_FATAL : FINDING_DROPPABLE, "geom %s (sdf)",
                   import_label(mj, mjOBJ_GEOM, i).text);
}

static void refuse_bodies(const mjModel *mj, finding_list *findings) {
  for (int i = 1; i < mj->nbody; i++)
    if (mj->body_plugin[i] >= 0)
      findings_add(findings, FINDING_FATAL, "body %s (plugin)", import_label(mj, mjOBJ_BODY, i).text);
}

int32_t import_drives(const struct mjModel_ *mj, int32_t joint) {
  int32_t count = 0;
  for (int i = 0; i < mj->nactuator; i++) {
    int on_joint = mj->actuator_trntype[i] == mjTRN_JOINT || mj->actuator_trntype[i] == mjTRN_JOINTINPARENT;
    count += on_joint && mj->actuator_trnid[2 * i] == joint;
  }
  return count;
}

/* MuJoCo takes its default where solref is neither (time constant, damping ratio) nor (-stiffness, -damping).
 */
static void note_solref(const mjModel *mj, finding_list *findings) {
  for (int i = 0; i < mj->njnt; i++) {
    const mjtNum *solref = mj->jnt_solref + mjNREF * i;
    const int standard = solref[0] > 0 && solref[1] > 0, direct = solref[0] < 0 && solref[1] <= 0;
    if (mj->jnt_limited[i] && !standard && !direct)
      findings_add(findings, FINDING_NOTE, "joint %s: solreflimit %g %g is taken for 0.02 1",
                   import_label(mj, mjOBJ_JOINT, i).text, solref[0], solref[1]);
  }
}

static int fixed_gain(const mjModel *mj, int actuator) {
  return mj->actuator_gaintype[actuator] == mjGAIN_FIXED || mj->actuator_gaintype[actuator] == mjGAIN_AFFINE;
}

static int affine_bias(const mjModel *mj, int actuator) {
  return mj->actuator_biastype[actuator] == mjBIAS_NONE || mj->actuator_biastype[actuator] == mjBIAS_AFFINE;
}

static int actuator_plugin(const mjModel *mj, int actuator) { return mj->actuator_plugin[actuator] >= 0; }

int32_t import_actuator_supported(const struct mjModel_ *mj, int32_t actuator) {
  return !actuator_plugin(mj, actuator) && mj->actuator_trntype[actuator] <= mjTRN_SITE &&
         mj->actuator_dyntype[actuator] <= mjDYN_FILTEREXACT && fixed_gain(mj, actuator) &&
         affine_bias(mj, actuator) && mj->actuator_ctrlnum[actuator] == 1;
}

static void refuse_actuators(const mjModel *mj, finding_list *findings) {
  static const char *const transmissions[] = {"joint", "jointinparent", "slidercrank", "tendon",
                                              "site",  "body",          "so3"};
  static const char *const dynamics[] = {"none",   "integrator", "filter", "filterexact",
                                         "muscle", "dcmotor",    "pid",    "user"};
  for (int i = 0; i < mj->nactuator; i++) {
    object_label name = import_label(mj, mjOBJ_ACTUATOR, i);
    if (import_actuator_supported(mj, i)) continue;
    if (actuator_plugin(mj, i))
      findings_add(findings, FINDING_FATAL, "actuator %s (plugin)", name.text);
    else if (mj->actuator_gaintype[i] == mjGAIN_MUSCLE || mj->actuator_dyntype[i] == mjDYN_MUSCLE)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (muscle)", name.text);
    else if (mj->actuator_dyntype[i] > mjDYN_FILTEREXACT)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (dynamics %s)", name.text,
                   CHOOSE(dynamics, mj->actuator_dyntype[i]));
    else if (mj->actuator_ctrlnum[i] != 1)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (%d controls)", name.text,
                   mj->actuator_ctrlnum[i]);
    else if (mj->actuator_trntype[i] > mjTRN_SITE)
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (transmission %s)", name.text,
                   CHOOSE(transmissions, mj->actuator_trntype[i]));
    else
      findings_add(findings, FINDING_DROPPABLE, "actuator %s (gain or bias of another kind)", name.text);
  }
}

static void refuse_options(const mjModel *mj, finding_list *findings) {
  if (mj->opt.enableflags & mjENBL_OVERRIDE)
    findings_add(findings, FINDING_DROPPABLE, "option flag override (contact override)");
}

/* abut's contact and limits have a reach of their own: margins shift MuJoCo's rest distance, and only that.
 */
static void note_margins(const mjModel *mj, finding_list *findings) {
  int geoms = 0, joints = 0;
  double geom_largest = 0, joint_largest = 0;
  for (int i = 0; i < mj->ngeom; i++) {
    if (mj->geom_margin[i] == 0 || !import_geom_collides(mj, i)) continue;
    geoms++;
    if (mj->geom_margin[i] > geom_largest) geom_largest = mj->geom_margin[i];
  }
  for (int i = 0; i < mj->njnt; i++) {
    if (mj->jnt_margin[i] == 0 || !mj->jnt_limited[i]) continue;
    joints++;
    if (mj->jnt_margin[i] > joint_largest) joint_largest = mj->jnt_margin[i];
  }
  if (geoms)
    findings_add(findings, FINDING_NOTE, "the margin of %d geom%s (largest %g m) is ignored", geoms,
                 PLURAL(geoms), geom_largest);
  if (joints)
    findings_add(findings, FINDING_NOTE, "the limit margin of %d joint%s (largest %g) is ignored", joints,
                 PLURAL(joints), joint_largest);
}

/* Friction is sliding friction here, the same along both tangents. */
static void note_friction(const mjModel *mj, finding_list *findings) {
  int turning = 0, uneven = 0;
  for (int i = 0; i < mj->ngeom; i++)
    turning += import_geom_collides(mj, i) && mj->geom_condim[i] >= 4 && mj->geom_friction[3 * i + 1] > 0;
  for (int i = 0; i < mj->npair; i++) {
    turning += mj->pair_dim[i] >= 4 && mj->pair_friction[5 * i + 2] > 0;
    uneven += mj->pair_dim[i] >= 3 && mj->pair_friction[5 * i] != mj->pair_friction[5 * i + 1];
  }
  if (turning)
    findings_add(findings, FINDING_NOTE,
                 "the torsional and rolling friction of %d geom%s and pairs (condim 4, 6) is ignored",
                 turning, PLURAL(turning));
  if (uneven)
    findings_add(findings, FINDING_NOTE, "%d pair%s with two coefficients: the larger counts", uneven,
                 PLURAL(uneven));
}

void import_refuse(const struct mjModel_ *mj, finding_list *findings) {
  refuse_options(mj, findings);
  refuse_bodies(mj, findings);
  note_solref(mj, findings);
  refuse_geoms(mj, findings);
  refuse_actuators(mj, findings);
  refuse_equality(mj, findings);
  refuse_soft_parts(mj, findings);
  import_refuse_extras(mj, findings);
  note_margins(mj, findings);
  note_friction(mj, findings);
}

#endif
