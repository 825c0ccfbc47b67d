/* import_mujoco.c: MJCF and URDF become a model: MuJoCo compiles the file (import_compile.c), a builder takes
 * over what it compiled. */
#include "host/import/import.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/import/import_job.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

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
  def.gravcomp = disabled(mj, mjDSBL_GRAVITY) ? 0 : mj->body_gravcomp[body];
  def.mocap = mj->body_mocapid[body] >= 0;
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
  import_solver(mj->jnt_solref, mj->jnt_solimp, joint, def.solref, def.solimp);
  import_solver(mj->dof_solref, mj->dof_solimp, dof, def.solreffriction, def.solimpfriction);
  def.margin = mj->jnt_margin[joint];
  def.actfrclimited = mj->jnt_actfrclimited[joint] && import_drives(mj, joint) > 1;
  COPY(def.actfrcrange, mj->jnt_actfrcrange, joint, 2);
  def.actgravcomp = mj->jnt_actgravcomp[joint];
  def.stiffness = disabled(mj, mjDSBL_SPRING) ? 0 : mj->jnt_stiffness[joint];
  def.damping = disabled(mj, mjDSBL_DAMPER) ? 0 : mj->dof_damping[dof];
  def.armature = mj->dof_armature[dof];
  def.frictionloss = constraint_disabled(mj, mjDSBL_FRICTIONLOSS) ? 0 : mj->dof_frictionloss[dof];
  return abut_builder_add_joint(job->builder, &def, NULL);
}

/* ---------------------------------------------------------------------------------------- geoms */

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
  case mjGEOM_HFIELD:
    return ABUT_GEOM_HFIELD;
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

/* Gives a height field to the builder: its heights are floats in MuJoCo. */
static abut_status add_hfield_geom(import_job *job, int geom, abut_geom_def *def) {
  const mjModel *mj = job->mj;
  const int hfield = mj->geom_dataid[geom];
  const float *data = mj->hfield_data + mj->hfield_adr[hfield];
  def->nrow = mj->hfield_nrow[hfield];
  def->ncol = mj->hfield_ncol[hfield];
  COPY(def->hfield_size, mj->hfield_size, hfield, 4);
  const size_t count = (size_t)def->nrow * (size_t)def->ncol;
  double *heights = malloc((count + 1) * sizeof *heights);
  if (!heights) return fail_with(ABUT_ERROR_MEMORY, "height field %d: no memory for its heights", hfield);
  for (size_t i = 0; i < count; i++) heights[i] = data[i];
  def->heights = heights;
  abut_status status = abut_builder_add_geom(job->builder, def, &job->geoms[geom]);
  free(heights);
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
  def.friction = mj->geom_friction[3 * geom];
  memcpy(def.turning, mj->geom_friction + 3 * geom + 1, sizeof def.turning);
  def.condim = mj->geom_condim[geom];
  def.priority = mj->geom_priority[geom];
  def.solmix = mj->geom_solmix[geom];
  import_solver(mj->geom_solref, mj->geom_solimp, geom, def.solref, def.solimp);
  def.margin = mj->geom_margin[geom];
  def.gap = mj->geom_gap[geom];
  COPY(def.fluid, mj->geom_fluid, geom, mjNFLUID);
  def.hull_points = job->hull_points;
  def.tessellation = job->tessellation;
  int touches = !constraint_disabled(mj, mjDSBL_CONTACT);
  def.contype = touches ? mj->geom_contype[geom] : 0;
  def.conaffinity = touches ? mj->geom_conaffinity[geom] : 0;
  if (def.type == ABUT_GEOM_MESH) return add_mesh_geom(job, geom, &def);
  if (def.type == ABUT_GEOM_HFIELD) return add_hfield_geom(job, geom, &def);
  return abut_builder_add_geom(job->builder, &def, &job->geoms[geom]);
}

/* ---------------------------------------------------------------------------------------- contact filters */

/* The two bodies of an exclusion. */
static void excluded_bodies(const mjModel *mj, int exclude, int bodies[2]) {
  bodies[0] = mj->exclude_signature[exclude] >> 16;
  bodies[1] = mj->exclude_signature[exclude] & 0xffff;
}

static abut_status add_pair(import_job *job, int pair) {
  const mjModel *mj = job->mj;
  abut_pair_def def = abut_default_pair_def();
  const mjtNum *friction = mj->pair_friction + 5 * pair;
  def.geom1 = job->geoms[mj->pair_geom1[pair]];
  def.geom2 = job->geoms[mj->pair_geom2[pair]];
  if (def.geom1 < 0 || def.geom2 < 0) return ABUT_OK;
  def.friction = friction[0];
  def.friction2 = friction[1];
  memcpy(def.turning, friction + 2, sizeof def.turning);
  def.condim = mj->pair_dim[pair];
  import_solver(mj->pair_solref, mj->pair_solimp, pair, def.solref, def.solimp);
  COPY(def.solreffriction, mj->pair_solreffriction, pair, mjNREF);
  def.margin = mj->pair_margin[pair];
  def.gap = mj->pair_gap[pair];
  return abut_builder_add_pair(job->builder, &def);
}

static abut_status add_filters(import_job *job) {
  const mjModel *mj = job->mj;
  if (constraint_disabled(mj, mjDSBL_CONTACT)) return ABUT_OK;
  for (int i = 0; i < mj->nexclude; i++) {
    int bodies[2];
    excluded_bodies(mj, i, bodies);
    ATTEMPT(abut_builder_exclude(job->builder, bodies[0], bodies[1]));
  }
  for (int i = 0; i < mj->npair; i++) ATTEMPT(add_pair(job, i));
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- all of it */

static int32_t integrator(const mjModel *mj) {
  switch (mj->opt.integrator) {
  case mjINT_RK4:
    return ABUT_INTEGRATOR_RK4;
  case mjINT_IMPLICIT:
    return ABUT_INTEGRATOR_IMPLICIT;
  case mjINT_IMPLICITFAST:
    return ABUT_INTEGRATOR_IMPLICITFAST;
  default:
    return ABUT_INTEGRATOR_EULER;
  }
}

static abut_status set_scene(import_job *job) {
  const mjModel *mj = job->mj;
  static const struct {
    int mujoco, abut;
  } flags[] = {{mjDSBL_EULERDAMP, ABUT_DISABLE_EULERDAMP},
               {mjDSBL_REFSAFE, ABUT_DISABLE_REFSAFE},
               {mjDSBL_WARMSTART, ABUT_DISABLE_WARMSTART},
               {mjDSBL_FILTERPARENT, ABUT_DISABLE_FILTERPARENT}};
  abut_scene_options options = abut_default_scene_options();
  memset(options.gravity, 0, sizeof options.gravity);
  if (!disabled(mj, mjDSBL_GRAVITY)) memcpy(options.gravity, mj->opt.gravity, sizeof options.gravity);
  memcpy(options.wind, mj->opt.wind, sizeof options.wind);
  memcpy(options.magnetic, mj->opt.magnetic, sizeof options.magnetic);
  options.timestep = mj->opt.timestep;
  options.density = mj->opt.density;
  options.viscosity = mj->opt.viscosity;
  options.impratio = mj->opt.impratio;
  options.tolerance = mj->opt.tolerance;
  options.integrator = integrator(mj);
  options.cone = mj->opt.cone == mjCONE_ELLIPTIC ? ABUT_CONE_ELLIPTIC : ABUT_CONE_PYRAMIDAL;
  options.iterations = mj->opt.iterations;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (disabled(mj, flags[i].mujoco)) options.disable |= flags[i].abut;
  return abut_builder_set_scene(job->builder, &options);
}

static abut_status describe(import_job *job) {
  const mjModel *mj = job->mj;
  ATTEMPT(set_scene(job));
  for (int i = 1; i < mj->nbody; i++) ATTEMPT(add_body(job, i));
  for (int i = 0; i < mj->njnt; i++) ATTEMPT(add_joint(job, i));
  for (int i = 0; i < mj->ngeom; i++) ATTEMPT(add_geom(job, i));
  ATTEMPT(import_elements(job));
  ATTEMPT(add_filters(job));
  char *text = findings_text(&job->findings);
  if (!text) return fail_with(ABUT_ERROR_MEMORY, "warnings: out of memory");
  abut_status status = builder_set_warnings(job->builder, text);
  free(text);
  return status;
}

static abut_status build(import_job *job, abut_model **model) {
  job->geoms = malloc((size_t)(job->mj->ngeom + 1) * sizeof *job->geoms);
  job->actuators = malloc((size_t)(job->mj->nactuator + 1) * sizeof *job->actuators);
  if (!job->geoms || !job->actuators)
    return fail_with(ABUT_ERROR_MEMORY, "out of memory for %d geoms", (int)job->mj->ngeom);
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
  free(job.actuators);
  mj_deleteModel(mj);
  return status;
}
#endif
