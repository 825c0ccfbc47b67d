/* import_mujoco.c: MJCF and URDF become a model: MuJoCo compiles the file (import_compile.c), a builder takes
 * over what it compiled. */
#include "host/import/import.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/model/builder.h"
#include "host/base/status.h"
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if mjVERSION_HEADER >= 336
enum { NO_SPRING = mjDSBL_SPRING, NO_DAMPER = mjDSBL_DAMPER };
#else
enum { NO_SPRING = mjDSBL_PASSIVE, NO_DAMPER = mjDSBL_PASSIVE };
#endif

/* What is carried from MuJoCo's model to the builder's. */
typedef struct import_job {
  const mjModel *mj;
  abut_builder *builder;
  finding_list findings;
  int32_t hull_points, tessellation;
  int32_t *geoms; /* builder's id of each geom, -1 if dropped */
} import_job;

static int disabled(const mjModel *mj, int flag) { return (mj->opt.disableflags & flag) != 0; }

/* Constraints of one kind are off: by their own flag or by that of all constraints. */
static int constraint_disabled(const mjModel *mj, int flag) { return disabled(mj, flag | mjDSBL_CONSTRAINT); }

static const char *name_of(const mjModel *mj, int type, int id) { return mj_id2name(mj, type, id); }

#define COPY(to, from, index, n) memcpy((to), (from) + (size_t)(n) * (size_t)(index), (n) * sizeof(double))

static abut_status add_body(import_job *job, int body) {
  const mjModel *mj = job->mj;
  abut_body_def def = abut_default_body_def();
  def.name = name_of(mj, mjOBJ_BODY, body);
  def.parent = mj->body_parentid[body];
  def.mass = mj->body_mass[body];
  COPY(def.pos, mj->body_pos, body, 3);
  COPY(def.quat, mj->body_quat, body, 4);
  COPY(def.ipos, mj->body_ipos, body, 3);
  COPY(def.iquat, mj->body_iquat, body, 4);
  COPY(def.inertia, mj->body_inertia, body, 3);
  return abut_builder_add_body(job->builder, &def, NULL);
}

static int32_t joint_type(int type) {
  switch (type) {
  case mjJNT_FREE:
    return ABUT_JOINT_FREE;
  case mjJNT_BALL:
    return ABUT_JOINT_BALL;
  case mjJNT_SLIDE:
    return ABUT_JOINT_SLIDE;
  default:
    return ABUT_JOINT_HINGE;
  }
}

static abut_status add_joint(import_job *job, int joint) {
  const mjModel *mj = job->mj;
  abut_joint_def def = abut_default_joint_def();
  int qpos = mj->jnt_qposadr[joint], dof = mj->jnt_dofadr[joint];
  def.name = name_of(mj, mjOBJ_JOINT, joint);
  def.body = mj->jnt_bodyid[joint];
  def.type = joint_type(mj->jnt_type[joint]);
  COPY(def.pos, mj->jnt_pos, joint, 3);
  COPY(def.axis, mj->jnt_axis, joint, 3);
  if (def.type == ABUT_JOINT_SLIDE || def.type == ABUT_JOINT_HINGE) {
    def.ref = mj->qpos0[qpos];
    def.springref = mj->qpos_spring[qpos];
  }
  def.limited = mj->jnt_limited[joint] && !constraint_disabled(mj, mjDSBL_LIMIT);
  COPY(def.range, mj->jnt_range, joint, 2);
  memcpy(def.solref, mj->jnt_solref + mjNREF * joint, sizeof def.solref);
  def.stiffness = disabled(mj, NO_SPRING) ? 0 : mj->jnt_stiffness[joint];
  def.damping = disabled(mj, NO_DAMPER) ? 0 : mj->dof_damping[dof];
  def.armature = mj->dof_armature[dof];
  def.frictionloss = constraint_disabled(mj, mjDSBL_FRICTIONLOSS) ? 0 : mj->dof_frictionloss[dof];
  return abut_builder_add_joint(job->builder, &def, NULL);
}

/* ---------------------------------------------------------------------------------------- geoms */

/* Coefficient of a geom when the other geom does not decide: condim 1 is contact without friction. */
static double friction_of(const mjModel *mj, int geom) {
  return mj->geom_condim[geom] == 1 ? 0 : mj->geom_friction[3 * geom];
}

/* MuJoCo's rule for two geoms: the higher priority decides alone, else the larger of condim and of friction.
 */
static double pair_friction(const mjModel *mj, int geom1, int geom2) {
  int rank1 = mj->geom_priority[geom1], rank2 = mj->geom_priority[geom2];
  if (rank1 != rank2) return friction_of(mj, rank1 > rank2 ? geom1 : geom2);
  if (mj->geom_condim[geom1] == 1 && mj->geom_condim[geom2] == 1) return 0;
  return mju_max(mj->geom_friction[3 * geom1], mj->geom_friction[3 * geom2]);
}

static int32_t geom_type(int type) {
  switch (type) {
  case mjGEOM_PLANE:
    return ABUT_GEOM_PLANE;
  case mjGEOM_SPHERE:
    return ABUT_GEOM_SPHERE;
  case mjGEOM_CAPSULE:
    return ABUT_GEOM_CAPSULE;
  case mjGEOM_ELLIPSOID:
    return ABUT_GEOM_ELLIPSOID;
  case mjGEOM_CYLINDER:
    return ABUT_GEOM_CYLINDER;
  case mjGEOM_BOX:
    return ABUT_GEOM_BOX;
  default:
    return ABUT_GEOM_MESH;
  }
}

/* Points of a mesh that matter: those of the hull where MuJoCo has one, else all. malloc; NULL without
 * memory. */
static double *mesh_points(const mjModel *mj, int mesh, int64_t *count) {
  const float *vertices = mj->mesh_vert + 3 * mj->mesh_vertadr[mesh];
  const int *hull = mj->mesh_graphadr[mesh] < 0 ? NULL : mj->mesh_graph + mj->mesh_graphadr[mesh];
  int n = hull ? hull[0] : mj->mesh_vertnum[mesh];
  /* a hull is: number of vertices, of faces, addresses of edges per vertex, ids of vertices, ... */
  const int *ids = hull ? hull + 2 + n : NULL;
  double *points = malloc((size_t)(n > 0 ? n : 1) * 3 * sizeof *points);
  for (int i = 0; points && i < n; i++)
    for (int k = 0; k < 3; k++) points[3 * i + k] = vertices[3 * (ids ? ids[i] : i) + k];
  *count = n;
  return points;
}

/* The mesh as it is, convex or not, into the definition; *vertices are to be freed. Without triangles the
 * hull stands for it. */
static abut_status mesh_surface(const mjModel *mj, int mesh, abut_geom_def *def, double **surface) {
  int n = mj->mesh_vertnum[mesh];
  if (mj->mesh_facenum[mesh] <= 0) return ABUT_OK;
  double *vertices = *surface = malloc((size_t)n * 3 * sizeof *vertices);
  if (!vertices) return fail_with(ABUT_ERROR_MEMORY, "mesh %d: no memory for its %d vertices", mesh, n);
  for (int i = 0; i < 3 * n; i++) vertices[i] = mj->mesh_vert[3 * mj->mesh_vertadr[mesh] + i];
  def->vertices = vertices;
  def->nvertex = n;
  def->triangles = mj->mesh_face + 3 * mj->mesh_faceadr[mesh];
  def->ntriangle = mj->mesh_facenum[mesh];
  return ABUT_OK;
}

/* Gives the mesh of a geom to the builder, unless the mesh is flat and the geom only to be looked at. */
static abut_status add_mesh_geom(import_job *job, int geom, abut_geom_def *def) {
  const mjModel *mj = job->mj;
  int mesh = mj->geom_dataid[geom];
  const char *name = name_of(mj, mjOBJ_MESH, mesh);
  double *points = mesh_points(mj, mesh, &def->npoint);
  if (!points) return fail_with(ABUT_ERROR_MEMORY, "mesh '%s': out of memory", name);
  double *surface = NULL;
  int solid = 1; /* what collides is for the builder to refuse */
  abut_status status =
      import_geom_collides(mj, geom) ? ABUT_OK : import_has_hull(points, def->npoint, &solid);
  if (status == ABUT_OK && solid) {
    def->points = points;
    status = mesh_surface(mj, mesh, def, &surface);
    if (status == ABUT_OK) status = abut_builder_add_geom(job->builder, def, &job->geoms[geom]);
  } else if (status == ABUT_OK) {
    findings_add(&job->findings, FINDING_NOTE,
                 "geom %d (mesh '%s') is left out: it never collides and has no hull: %s", geom, name,
                 abut_error_message());
  }
  free(points);
  free(surface);
  return status;
}

static abut_status add_geom(import_job *job, int geom) {
  const mjModel *mj = job->mj;
  job->geoms[geom] = -1;
  if (!import_geom_supported(mj, geom)) return ABUT_OK;
  abut_geom_def def = abut_default_geom_def();
  def.name = name_of(mj, mjOBJ_GEOM, geom);
  def.body = mj->geom_bodyid[geom];
  def.type = geom_type(mj->geom_type[geom]);
  COPY(def.size, mj->geom_size, geom, 3);
  COPY(def.pos, mj->geom_pos, geom, 3);
  COPY(def.quat, mj->geom_quat, geom, 4);
  def.density = 0; /* masses are MuJoCo's, zero included */
  def.friction = friction_of(mj, geom);
  def.hull_points = job->hull_points;
  def.tessellation = job->tessellation;
  int touches = !constraint_disabled(mj, mjDSBL_CONTACT);
  def.contype = touches ? mj->geom_contype[geom] : 0;
  def.conaffinity = touches ? mj->geom_conaffinity[geom] : 0;
  if (def.type == ABUT_GEOM_MESH) return add_mesh_geom(job, geom, &def);
  return abut_builder_add_geom(job->builder, &def, &job->geoms[geom]);
}

/* ---------------------------------------------------------------------------------------- contact filters */

/* The two bodies of an exclusion; versions before 3 count them from 1. */
static void excluded_bodies(const mjModel *mj, int exclude, int bodies[2]) {
  const int first = mjVERSION_HEADER < 300;
  bodies[0] = (mj->exclude_signature[exclude] >> 16) - first;
  bodies[1] = (mj->exclude_signature[exclude] & 0xffff) - first;
}

static int excluded(const mjModel *mj, int body1, int body2) {
  for (int i = 0; i < mj->nexclude; i++) {
    int bodies[2];
    excluded_bodies(mj, i, bodies);
    if ((bodies[0] == body1 && bodies[1] == body2) || (bodies[0] == body2 && bodies[1] == body1)) return 1;
  }
  return 0;
}

/* Body to which the body that moves this one is attached. */
static int weld_parent(const mjModel *mj, int weld) { return mj->body_weldid[mj->body_parentid[weld]]; }

/* A moving body and the one that carries it; the world does not count as carrying. */
static int parent_and_child(const mjModel *mj, int body1, int body2) {
  int weld1 = mj->body_weldid[body1], weld2 = mj->body_weldid[body2];
  return weld1 && weld2 && (weld_parent(mj, weld1) == weld2 || weld_parent(mj, weld2) == weld1);
}

/* MuJoCo's filters, all but the one between parent and child. */
static int masks_allow(const mjModel *mj, int geom1, int geom2) {
  int body1 = mj->geom_bodyid[geom1], body2 = mj->geom_bodyid[geom2];
  return mj->body_weldid[body1] != mj->body_weldid[body2] && !excluded(mj, body1, body2) &&
         ((mj->geom_contype[geom1] & mj->geom_conaffinity[geom2]) ||
          (mj->geom_contype[geom2] & mj->geom_conaffinity[geom1]));
}

/* Pairs whose coefficient is not the larger of their geoms', and parents with their children where the file
 * lets them collide, become explicit pairs. */
static abut_status add_special_pairs(import_job *job, int geom1) {
  const mjModel *mj = job->mj;
  for (int geom2 = geom1 + 1; geom2 < mj->ngeom; geom2++) {
    if (job->geoms[geom1] < 0 || job->geoms[geom2] < 0 || !masks_allow(mj, geom1, geom2)) continue;
    int family = parent_and_child(mj, mj->geom_bodyid[geom1], mj->geom_bodyid[geom2]);
    if (family && !disabled(mj, mjDSBL_FILTERPARENT)) continue;
    double friction = pair_friction(mj, geom1, geom2);
    int usual = friction == mju_max(friction_of(mj, geom1), friction_of(mj, geom2));
    if (usual && !family) continue;
    ATTEMPT(abut_builder_add_pair(job->builder, job->geoms[geom1], job->geoms[geom2], usual ? -1 : friction));
  }
  return ABUT_OK;
}

static abut_status add_filters(import_job *job) {
  const mjModel *mj = job->mj;
  if (constraint_disabled(mj, mjDSBL_CONTACT)) return ABUT_OK;
  for (int i = 0; i < mj->nexclude; i++) {
    int bodies[2];
    excluded_bodies(mj, i, bodies);
    ATTEMPT(abut_builder_exclude(job->builder, bodies[0], bodies[1]));
  }
  for (int i = 0; i < mj->ngeom; i++) ATTEMPT(add_special_pairs(job, i));
  for (int i = 0; i < mj->npair; i++) {
    int32_t geom1 = job->geoms[mj->pair_geom1[i]], geom2 = job->geoms[mj->pair_geom2[i]];
    const mjtNum *friction = mj->pair_friction + 5 * i;
    if (geom1 < 0 || geom2 < 0) continue;
    ATTEMPT(abut_builder_add_pair(job->builder, geom1, geom2,
                                  mj->pair_dim[i] == 1 ? 0 : mju_max(friction[0], friction[1])));
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- actuators, keys */

/* The joint's own limit on actuator force, moved to its only actuator. */
static void limit_by_joint(const mjModel *mj, int actuator, abut_actuator_def *def) {
#if mjVERSION_HEADER >= 300
  int joint = mj->actuator_trnid[2 * actuator];
  if (!mj->jnt_actfrclimited[joint] || def->gear == 0) return;
  double a = mj->jnt_actfrcrange[2 * joint] / def->gear, b = mj->jnt_actfrcrange[2 * joint + 1] / def->gear;
  double low = mju_min(a, b), high = mju_max(a, b);
  if (def->forcelimited) {
    low = mju_clip(low, def->forcerange[0], def->forcerange[1]);
    high = mju_clip(high, def->forcerange[0], def->forcerange[1]);
  }
  def->forcelimited = 1;
  def->forcerange[0] = low;
  def->forcerange[1] = high;
#else
  (void)mj, (void)actuator, (void)def;
#endif
}

/* Actuators that the file switches off keep their place in ctrl and push with nothing. */
static int switched_off(const mjModel *mj, int actuator) {
  if (disabled(mj, mjDSBL_ACTUATION)) return 1;
#if mjVERSION_HEADER >= 310
  int group = mj->actuator_group[actuator];
  if (group >= 0 && group <= 30 && (mj->opt.disableactuator & (1 << group))) return 1;
#else
  (void)actuator;
#endif
  return 0;
}

static abut_status add_actuator(import_job *job, int actuator) {
  const mjModel *mj = job->mj;
  abut_actuator_def def = abut_default_actuator_def();
  def.name = name_of(mj, mjOBJ_ACTUATOR, actuator);
  def.joint = mj->actuator_trnid[2 * actuator];
  def.gear = mj->actuator_gear[6 * actuator];
  if (switched_off(mj, actuator)) {
    def.gain = 0;
  } else {
    def.gain = mj->actuator_gainprm[mjNGAIN * actuator];
    if (mj->actuator_biastype[actuator] == mjBIAS_AFFINE)
      memcpy(def.bias, mj->actuator_biasprm + mjNBIAS * actuator, sizeof def.bias);
  }
  def.ctrllimited = mj->actuator_ctrllimited[actuator] && !disabled(mj, mjDSBL_CLAMPCTRL);
  def.forcelimited = mj->actuator_forcelimited[actuator];
  COPY(def.ctrlrange, mj->actuator_ctrlrange, actuator, 2);
  COPY(def.forcerange, mj->actuator_forcerange, actuator, 2);
  limit_by_joint(mj, actuator, &def);
  return abut_builder_add_actuator(job->builder, &def, NULL);
}

/* A key's controls without those of dropped actuators. */
static abut_status add_key(import_job *job, int key) {
  const mjModel *mj = job->mj;
  double *ctrl = malloc((size_t)(mj->nu + 1) * sizeof *ctrl);
  if (!ctrl) return fail_with(ABUT_ERROR_MEMORY, "key %d: out of memory", key);
  int nu = 0;
  for (int i = 0; i < mj->nu; i++)
    if (import_actuator_supported(mj, i)) ctrl[nu++] = mj->key_ctrl[(size_t)key * (size_t)mj->nu + (size_t)i];
  abut_status status = abut_builder_add_key(job->builder, name_of(mj, mjOBJ_KEY, key),
                                            mj->key_qpos + (size_t)key * (size_t)mj->nq,
                                            mj->key_qvel + (size_t)key * (size_t)mj->nv, ctrl);
  free(ctrl);
  return status;
}

/* ---------------------------------------------------------------------------------------- all of it */

static abut_status describe(import_job *job) {
  static const double none[3] = {0, 0, 0};
  const mjModel *mj = job->mj;
  ATTEMPT(abut_builder_set_gravity(job->builder, disabled(mj, mjDSBL_GRAVITY) ? none : mj->opt.gravity));
  ATTEMPT(abut_builder_set_timestep(job->builder, mj->opt.timestep));
  for (int i = 1; i < mj->nbody; i++) ATTEMPT(add_body(job, i));
  for (int i = 0; i < mj->njnt; i++) ATTEMPT(add_joint(job, i));
  for (int i = 0; i < mj->ngeom; i++) ATTEMPT(add_geom(job, i));
  for (int i = 0; i < mj->nu; i++)
    if (import_actuator_supported(mj, i)) ATTEMPT(add_actuator(job, i));
  ATTEMPT(add_filters(job));
  for (int i = 0; i < mj->nkey; i++) ATTEMPT(add_key(job, i));
  char *text = findings_text(&job->findings);
  if (!text) return fail_with(ABUT_ERROR_MEMORY, "warnings: out of memory");
  abut_status status = builder_set_warnings(job->builder, text);
  free(text);
  return status;
}

static abut_status build(import_job *job, abut_model **model) {
  job->geoms = malloc((size_t)(job->mj->ngeom + 1) * sizeof *job->geoms);
  if (!job->geoms) return fail_with(ABUT_ERROR_MEMORY, "out of memory for %d geoms", job->mj->ngeom);
  ATTEMPT(abut_builder_create(&job->builder));
  ATTEMPT(describe(job));
  return abut_builder_finish(job->builder, model);
}

/* The builder speaks of objects only: says which file they are in. */
static abut_status name_file(abut_status status, const char *path) {
  if (status == ABUT_OK) return status;
  char message[4096];
  snprintf(message, sizeof message, "%s", abut_error_message());
  return fail_with(status, "%s: %s", path, message);
}

/* <custom><numeric name="tessellation" data="K"/></custom>: a scene says what the caller does not. */
static abut_status read_tessellation(import_job *job, const char *path) {
  int id = mj_name2id(job->mj, mjOBJ_NUMERIC, "tessellation");
  if (id < 0 || job->tessellation) return ABUT_OK;
  double k = job->mj->numeric_data[job->mj->numeric_adr[id]];
  if (!(k >= 1 && k <= 100 && k == (int32_t)k))
    return fail_with(ABUT_ERROR_MODEL, "%s: numeric tessellation: %g is not an integer from 1 to 100", path,
                     k);
  job->tessellation = (int32_t)k;
  return ABUT_OK;
}

abut_status import_mujoco(const char *path, const abut_load_options *options, abut_model **model) {
  if (!path || !model) return fail_with(ABUT_ERROR_ARGUMENT, "import_mujoco: a pointer is null");
  static const abut_load_options defaults = {0};
  if (!options) options = &defaults;
  mjModel *mj = NULL;
  *model = NULL;
  import_job job = {.hull_points = options->hull_points, .tessellation = options->tessellation};
  abut_status status = import_compile(path, &job.findings, &mj);
  if (status == ABUT_OK) {
    job.mj = mj;
    import_refuse(mj, &job.findings);
    status = findings_check(&job.findings, path, options->ignore_unsupported);
  }
  if (status == ABUT_OK) status = read_tessellation(&job, path);
  if (status == ABUT_OK) status = name_file(build(&job, model), path);
  abut_builder_destroy(job.builder);
  findings_free(&job.findings);
  free(job.geoms);
  mj_deleteModel(mj);
  return status;
}
#endif
