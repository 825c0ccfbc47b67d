/* scene.h: what physics tests share: scenes described in a few calls, a rollout with all its outputs, and the
 * small vectors to judge them with. Helpers report failures to the running test and return NULL; REQUIRE the
 * result. */
#ifndef ABUT_TEST_SCENE_H
#define ABUT_TEST_SCENE_H
#include "describe.h"
#include <string.h>

/* ---------------------------------------------------------------------------------------- vectors */

static inline void vec3_cross(const double a[3], const double b[3], double out[3]) {
  double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  memcpy(out, c, sizeof c);
}
static inline double vec3_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double vec3_norm(const double a[3]) { return sqrt(vec3_dot(a, a)); }

/* v turned by the unit quaternion q (w first). */
static inline void quat_turn(const double q[4], const double v[3], double out[3]) {
  double t[3], u[3];
  vec3_cross(q + 1, v, t);
  vec3_cross(q + 1, t, u);
  for (int c = 0; c < 3; c++) out[c] = v[c] + 2 * (q[0] * t[c] + u[c]);
}

/* A point of a body frame in the world. */
static inline void pose_point(const double x[3], const double q[4], const double p[3], double out[3]) {
  double r[3];
  quat_turn(q, p, r);
  for (int c = 0; c < 3; c++) out[c] = x[c] + r[c];
}

/* Numbers in [0, 1) that depend on the seed and on how many were drawn (splitmix64). */
static inline double scene_random(uint64_t *seed) {
  uint64_t x = *seed += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

/* Uniform on the unit sphere of n dimensions: directions (n = 3), rotations (n = 4). */
static inline void scene_random_unit(uint64_t *seed, int n, double *out) {
  double square;
  do {
    square = 0;
    for (int c = 0; c < n; c++) {
      out[c] = 2 * scene_random(seed) - 1;
      square += out[c] * out[c];
    }
  } while (square > 1 || square < 1e-4);
  for (int c = 0; c < n; c++) out[c] /= sqrt(square);
}

/* ---------------------------------------------------------------------------------------- describing */

/* An empty scene under gravity gz (m/s^2) along z. */
static inline abut_builder *scene_begin(double gz) {
  abut_builder *b = NULL;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  if (b) scene_gravity(b, 0, 0, gz);
  return b;
}

/* A body at (x, y, z) of its parent's frame. Mass (kg) and principal moments (kg m^2) come from its geoms
 * where mass is 0. */
static inline int32_t scene_body(abut_builder *b, int32_t parent, double x, double y, double z, double mass,
                                 double ix, double iy, double iz) {
  abut_body_def def = abut_default_body_def();
  int32_t id = -1;
  def.parent = parent;
  def.pos[0] = x, def.pos[1] = y, def.pos[2] = z;
  def.mass = mass;
  def.inertia[0] = ix, def.inertia[1] = iy, def.inertia[2] = iz;
  CHECK_STATUS(abut_builder_add_body(b, &def, &id), ABUT_OK);
  return id;
}

static inline int32_t scene_joint(abut_builder *b, abut_joint_def def) {
  int32_t id = -1;
  CHECK_STATUS(abut_builder_add_joint(b, &def, &id), ABUT_OK);
  return id;
}

/* A joint without any forces of its own, through (0, 0, z) of the body frame. */
static inline abut_joint_def scene_joint_def(int32_t body, int32_t type, double ax, double ay, double az,
                                             double z) {
  abut_joint_def def = abut_default_joint_def();
  def.body = body;
  def.type = type;
  def.axis[0] = ax, def.axis[1] = ay, def.axis[2] = az;
  def.pos[2] = z;
  return def;
}

/* A body of given mass properties that floats. */
static inline int32_t scene_free_body(abut_builder *b, double x, double y, double z, double mass, double ix,
                                      double iy, double iz) {
  int32_t id = scene_body(b, 0, x, y, z, mass, ix, iy, iz);
  scene_joint(b, scene_joint_def(id, ABUT_JOINT_FREE, 0, 0, 1, 0));
  return id;
}

static inline int32_t scene_geom(abut_builder *b, int32_t body, int32_t type, double s0, double s1,
                                 double s2) {
  abut_geom_def def = abut_default_geom_def();
  int32_t id = -1;
  def.body = body;
  def.type = type;
  def.size[0] = s0, def.size[1] = s1, def.size[2] = s2;
  CHECK_STATUS(abut_builder_add_geom(b, &def, &id), ABUT_OK);
  return id;
}

/* The half-space z < 0. */
static inline int32_t scene_floor(abut_builder *b) { return scene_geom(b, 0, ABUT_GEOM_PLANE, 1, 1, 1); }

/* A mesh geom: the convex hull of npoint points of the body frame. */
static inline int32_t scene_mesh(abut_builder *b, int32_t body, const double *points, int64_t npoint) {
  abut_geom_def def = abut_default_geom_def();
  int32_t id = -1;
  def.body = body;
  def.type = ABUT_GEOM_MESH;
  def.points = points;
  def.npoint = npoint;
  CHECK_STATUS(abut_builder_add_geom(b, &def, &id), ABUT_OK);
  return id;
}

static inline int32_t scene_actuator(abut_builder *b, abut_actuator_def def) {
  int32_t id = -1;
  CHECK_STATUS(abut_builder_add_actuator(b, &def, &id), ABUT_OK);
  return id;
}

/* Compiles and destroys the builder. */
static inline abut_model *scene_finish(abut_builder *b) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_builder_finish(b, &model), ABUT_OK);
  abut_builder_destroy(b);
  return model;
}

static inline abut_model *scene_model(const char *path) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_model_load(path, NULL, &model), ABUT_OK);
  return model;
}

/* ---------------------------------------------------------------------------------------- running */

/* A compact CPU tensor over data; shape must outlive it. */
static inline abut_tensor scene_tensor(void *data, int code, int bits, int32_t ndim, int64_t *shape) {
  abut_tensor t = {0};
  t.data = data;
  t.device.device_type = 1;
  t.ndim = ndim;
  t.dtype.code = (uint8_t)code;
  t.dtype.bits = (uint8_t)bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

/* A rollout in double and all that it put out, row-major: [nenv][nstep + 1][..] and [nenv][nstep][..]. */
typedef struct scene_run {
  abut_batch *batch;
  abut_rollout_result result;
  int64_t nenv, nstep;
  abut_model_sizes size;
  double *qpos, *qvel, *xpos, *xquat; /* nstep + 1 */
  double *force, *gap, *energy;       /* nstep */
  int32_t *iterations;
  uint32_t *status; /* [nenv] */
  double *moved;    /* [nenv] */
} scene_run;

static inline void scene_run_free(scene_run *r) {
  if (!r) return;
  abut_batch_destroy(r->batch);
  free(r->qpos);
  free(r->qvel);
  free(r->xpos);
  free(r->xquat);
  free(r->force);
  free(r->gap);
  free(r->energy);
  free(r->iterations);
  free(r->status);
  free(r->moved);
  free(r);
}

/* Index of the first entry of (env, step) in an array of n entries per step and rows steps per environment.
 */
static inline size_t scene_row(const scene_run *r, int64_t env, int64_t step, int moment, int64_t n) {
  return (size_t)((env * (r->nstep + moment) + step) * n);
}
static inline const double *scene_qpos(const scene_run *r, int64_t env, int64_t step) {
  return r->qpos + scene_row(r, env, step, 1, r->size.nq);
}
static inline const double *scene_qvel(const scene_run *r, int64_t env, int64_t step) {
  return r->qvel + scene_row(r, env, step, 1, r->size.nv);
}
static inline const double *scene_xpos(const scene_run *r, int64_t env, int64_t step, int32_t body) {
  return r->xpos + scene_row(r, env, step, 1, 3 * r->size.nbody) + 3 * body;
}
static inline const double *scene_xquat(const scene_run *r, int64_t env, int64_t step, int32_t body) {
  return r->xquat + scene_row(r, env, step, 1, 4 * r->size.nbody) + 4 * body;
}
static inline const double *scene_force(const scene_run *r, int64_t env, int64_t step, int32_t pair) {
  return r->force + scene_row(r, env, step, 0, 3 * r->size.npair) + 3 * pair;
}
/* Kinetic, gravity, contact and spring energy at the end of a step, in all. */
static inline double scene_energy(const scene_run *r, int64_t env, int64_t step) {
  const double *e = r->energy + scene_row(r, env, step, 0, 4);
  return e[0] + e[1] + e[2] + e[3];
}

/* Runs nstep steps of a new batch. qpos0 [nenv][nq], qvel0 [nenv][nv], ctrl [nu], held; NULL: the model's,
 * zero, zero. */
static inline scene_run *scene_rollout(const abut_model *model, abut_options options, int64_t nstep,
                                       double *qpos0, double *qvel0, double *ctrl) {
  scene_run *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  abut_status status = abut_batch_create(model, &options, &r->batch);
  CHECK_STATUS(status, ABUT_OK);
  if (status != ABUT_OK) {
    scene_run_free(r);
    return NULL;
  }
  r->nenv = options.nenv;
  r->nstep = nstep;
  r->size = abut_model_get_sizes(model);
  int64_t n = r->nenv, t = nstep, nq = r->size.nq, nv = r->size.nv, nbody = r->size.nbody,
          npair = r->size.npair;
  struct {
    double **data;
    int64_t shape[4];
    int32_t ndim;
  } list[] = {
      {&r->qpos, {n, t + 1, nq}, 3},       {&r->qvel, {n, t + 1, nv}, 3},
      {&r->xpos, {n, t + 1, nbody, 3}, 4}, {&r->xquat, {n, t + 1, nbody, 4}, 4},
      {&r->force, {n, t, npair, 3}, 4},    {&r->gap, {n, t}, 2},
      {&r->energy, {n, t, 4}, 3},          {&r->moved, {n}, 1},
  };
  abut_tensor out[8];
  for (int i = 0; i < 8; i++) {
    size_t count = 1;
    for (int d = 0; d < list[i].ndim; d++) count *= (size_t)list[i].shape[d];
    *list[i].data = calloc(count + 1, sizeof(double));
    out[i] = scene_tensor(*list[i].data, 2, 64, list[i].ndim, list[i].shape);
  }
  r->status = calloc((size_t)n, sizeof *r->status);
  r->iterations = calloc((size_t)(n * t) + 1, sizeof *r->iterations);
  int64_t per_env[1] = {n}, per_step[2] = {n, t}, shape_q[2] = {n, nq}, shape_v[2] = {n, nv};
  int64_t shape_u[3] = {1, 1, r->size.nu};
  abut_tensor flags = scene_tensor(r->status, 1, 32, 1, per_env),
              counts = scene_tensor(r->iterations, 0, 32, 2, per_step);
  abut_tensor start_q = scene_tensor(qpos0, 2, 64, 2, shape_q),
              start_v = scene_tensor(qvel0, 2, 64, 2, shape_v);
  abut_tensor hold = scene_tensor(ctrl, 2, 64, 3, shape_u);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = nstep;
  args.qpos0 = qpos0 ? &start_q : NULL;
  args.qvel0 = qvel0 ? &start_v : NULL;
  args.ctrl = ctrl ? &hold : NULL;
  args.qpos = &out[0], args.qvel = &out[1], args.xpos = &out[2], args.xquat = &out[3];
  args.contact_force = npair > 0 ? &out[4] : NULL;
  args.min_gap = &out[5], args.energy = &out[6], args.moved = &out[7];
  args.status = &flags, args.iterations = &counts;
  status = abut_rollout(r->batch, &args, &r->result, NULL, NULL);
  CHECK_STATUS(status, ABUT_OK);
  if (status == ABUT_OK) return r;
  scene_run_free(r);
  return NULL;
}

/* Sum of m (com(t + 1) - com(t)) / dt, and the sum of its parts' sizes (N s). */
static inline double scene_momentum(const abut_model *model, const scene_run *r, int64_t env, int64_t t,
                                    double p[3]) {
  double size = 0, dt = abut_batch_get_options(r->batch).timestep;
  memset(p, 0, 3 * sizeof *p);
  for (int32_t body = 1; body < r->size.nbody; body++) {
    abut_body_def def;
    double at[2][3], part[3];
    abut_model_body(model, body, &def);
    for (int k = 0; k < 2; k++)
      pose_point(scene_xpos(r, env, t + k, body), scene_xquat(r, env, t + k, body), def.ipos, at[k]);
    for (int c = 0; c < 3; c++) p[c] += part[c] = def.mass * (at[1][c] - at[0][c]) / dt;
    size += vec3_norm(part);
  }
  return size;
}

/* Environments with any status bit. */
static inline int64_t scene_failed(const scene_run *r) {
  int64_t failed = 0;
  for (int64_t i = 0; i < r->nenv; i++) failed += r->status[i] != 0;
  return failed;
}

#endif
