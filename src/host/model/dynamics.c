/* dynamics.c: joint-space inertia and gravity of a compiled scene, by its composite bodies. */
#include "host/model/dynamics.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/model/tendon.h"
#include "host/shape/moment.h"
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------- kinematics */

static void rotate(double r[3], const double quat[4], const double v[3]) {
  static const double origin[3] = {0, 0, 0};
  transform_point(r, origin, quat, v);
}

/* A turn about a world axis through a point, as seen at the centre. */
static void put_turn(double motion[6], const double axis[3], const double point[3], const double centre[3]) {
  const double arm[3] = {centre[0] - point[0], centre[1] - point[1], centre[2] - point[2]};
  memcpy(motion, axis, 3 * sizeof *axis);
  cross3(motion + 3, axis, arm);
}

static void put_slide(double motion[6], const double axis[3]) {
  memset(motion, 0, 3 * sizeof *motion);
  memcpy(motion + 3, axis, 3 * sizeof *axis);
}

/* The unit vectors of a frame, one a row. */
static void frame_axes(double axes[3][3], const double quat[4]) {
  static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int i = 0; i < 3; i++) rotate(axes[i], quat, unit[i]);
}

/* Moves a body's frame (x, q) as joint j does. */
static void apply_joint(const abut_model *m, int32_t j, const double *qpos, double x[3], double q[4]) {
  const double *own = qpos + m->jnt_qposadr[j], *axis = m->jnt_axis + 3 * (size_t)j;
  const double *local = m->jnt_pos + 3 * (size_t)j;
  double world_axis[3], anchor[3], back[3], angle;
  if (m->jnt_type[j] == ABUT_JOINT_FREE) {
    memcpy(x, own, 3 * sizeof *x);
    memcpy(q, own + 3, 4 * sizeof *q);
    return;
  }
  if (m->jnt_type[j] == ABUT_JOINT_SLIDE) {
    rotate(world_axis, q, axis);
    for (int k = 0; k < 3; k++) x[k] += world_axis[k] * (own[0] - m->qpos0[m->jnt_qposadr[j]]);
    return;
  }
  transform_point(anchor, x, q, local);
  if (m->jnt_type[j] == ABUT_JOINT_BALL) {
    quat_product(q, q, own);
  } else {
    angle = 0.5 * (own[0] - m->qpos0[m->jnt_qposadr[j]]);
    const double turn[4] = {cos(angle), sin(angle) * axis[0], sin(angle) * axis[1], sin(angle) * axis[2]};
    quat_product(q, q, turn);
  }
  rotate(back, q, local);
  for (int k = 0; k < 3; k++) x[k] = anchor[k] - back[k];
}

/* Motions of joint j's dofs; x, q: its body's frame once the joint is applied. A joint that follows on the
 * same body moves with this one. */
static void joint_motion(const abut_model *m, int32_t j, const double x[3], const double q[4],
                         const double centre[3], double *motion) {
  double axes[3][3], anchor[3];
  frame_axes(axes, q);
  transform_point(anchor, x, q, m->jnt_pos + 3 * (size_t)j);
  switch (m->jnt_type[j]) {
  case ABUT_JOINT_FREE:
    for (int i = 0; i < 3; i++) {
      const double world[3] = {i == 0, i == 1, i == 2};
      put_slide(motion + 6 * i, world);
      put_turn(motion + 6 * (i + 3), axes[i], x, centre);
    }
    return;
  case ABUT_JOINT_BALL:
    for (int i = 0; i < 3; i++) put_turn(motion + 6 * i, axes[i], anchor, centre);
    return;
  default:
    rotate(axes[0], q, m->jnt_axis + 3 * (size_t)j);
    if (m->jnt_type[j] == ABUT_JOINT_SLIDE)
      put_slide(motion, axes[0]);
    else
      put_turn(motion, axes[0], anchor, centre);
  }
}

/* The body's frame with all its joints applied, then what each of them does. */
static void place_body(const abut_model *m, int32_t b, const double *qpos, const model_pose *pose) {
  const size_t parent = (size_t)m->body_parent[b];
  const int32_t first = m->body_jntadr[b], end = first + m->body_jntnum[b];
  double *x = pose->xpos + 3 * (size_t)b, *q = pose->xquat + 4 * (size_t)b;
  double *centre = pose->centre + 3 * (size_t)b, start_x[3], start_q[4];
  transform_point(start_x, pose->xpos + 3 * parent, pose->xquat + 4 * parent, m->body_pos + 3 * (size_t)b);
  quat_product(start_q, pose->xquat + 4 * parent, m->body_quat + 4 * (size_t)b);
  memcpy(x, start_x, sizeof start_x);
  memcpy(q, start_q, sizeof start_q);
  for (int32_t j = first; j < end; j++) apply_joint(m, j, qpos, x, q);
  memcpy(centre, parent ? pose->centre + 3 * parent : x, 3 * sizeof *x);
  for (int32_t j = first; j < end; j++) {
    apply_joint(m, j, qpos, start_x, start_q);
    joint_motion(m, j, start_x, start_q, centre, pose->motion + 6 * (size_t)m->jnt_dofadr[j]);
  }
}

abut_status model_pose_make(const abut_model *model, const double *qpos, model_pose *pose) {
  const size_t nbody = (size_t)model->nbody, nv = (size_t)model->nv;
  double *at = pose->memory = calloc(10 * nbody + 6 * nv, sizeof *at);
  if (!at) return fail_with(ABUT_ERROR_MEMORY, "dynamics: no memory for %d bodies", model->nbody);
  pose->xpos = at;
  pose->centre = at + 3 * nbody;
  pose->xquat = at + 6 * nbody;
  pose->motion = at + 10 * nbody;
  pose->xquat[0] = 1;
  for (int32_t b = 1; b < model->nbody; b++) place_body(model, b, qpos, pose);
  return ABUT_OK;
}

void model_pose_free(model_pose *pose) {
  free(pose->memory);
  *pose = (model_pose){0};
}

/* ---------------------------------------------------------------------------------------- composite bodies
 */

/* Momentum (angular about the centre, linear) of a body with these moments about the centre that moves so. */
static void momentum(double p[6], const double moment[10], const double motion[6]) {
  const double *w = motion, *v = motion + 3, *mc = moment + 1, *s = moment + 4;
  const double trace = s[0] + s[1] + s[2];
  double turned[3], swept[3];
  cross3(turned, w, mc);
  cross3(swept, mc, v);
  const double second[3] = {s[0] * w[0] + s[3] * w[1] + s[4] * w[2], s[3] * w[0] + s[1] * w[1] + s[5] * w[2],
                            s[4] * w[0] + s[5] * w[1] + s[2] * w[2]};
  for (int k = 0; k < 3; k++) {
    p[k] = trace * w[k] - second[k] + swept[k];
    p[3 + k] = moment[0] * v[k] + turned[k];
  }
}

static double dot6(const double a[6], const double b[6]) { return dot3(a, b) + dot3(a + 3, b + 3); }

/* Moments (10 a body) of each body and all that hangs on it, about the tree's centre in world axes. malloc.
 */
static double *composite_moments(const abut_model *m, const model_pose *pose) {
  double *moments = calloc((size_t)m->nbody, MOMENT_SIZE * sizeof *moments);
  for (int32_t b = m->nbody - 1; moments && b > 0; b--) {
    const double *x = pose->xpos + 3 * (size_t)b, *centre = pose->centre + 3 * (size_t)b;
    const double from[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    double *own = moments + MOMENT_SIZE * (size_t)b, local[MOMENT_SIZE];
    moment_from_principal(local, m->body_mass[b], m->body_ipos + 3 * (size_t)b, m->body_iquat + 4 * (size_t)b,
                          m->body_inertia + 3 * (size_t)b);
    moment_add(own, 1, local, from, pose->xquat + 4 * (size_t)b);
    double *above = moments + MOMENT_SIZE * (size_t)m->body_parent[b];
    for (int k = 0; k < MOMENT_SIZE && m->body_parent[b]; k++) above[k] += own[k];
  }
  if (!moments) fail_with(ABUT_ERROR_MEMORY, "dynamics: no memory for %d bodies", m->nbody);
  return moments;
}

/* The matrix by the tree: row d holds its entries with d, the dof that d hangs on, and so on to the root. */
typedef struct tree_matrix {
  int64_t *row;
  double *value;
} tree_matrix;

static void tree_matrix_free(tree_matrix *a) {
  free(a->row);
  free(a->value);
}

/* What the dofs between d and the root feel when d moves. */
static void fill_row(const abut_model *m, const model_pose *pose, const double *moments, int32_t d,
                     double *row) {
  double p[6];
  momentum(p, moments + MOMENT_SIZE * (size_t)m->dof_body[d], pose->motion + 6 * (size_t)d);
  for (int32_t e = d, i = 0; e >= 0; e = m->dof_parent[e]) row[i++] = dot6(pose->motion + 6 * (size_t)e, p);
  row[0] += m->jnt_armature[m->dof_jnt[d]];
}

static abut_status tree_matrix_make(const abut_model *m, const model_pose *pose, tree_matrix *a) {
  const size_t nv = (size_t)m->nv;
  double *moments = composite_moments(m, pose);
  a->row = malloc((nv + 1) * sizeof *a->row);
  if (moments && a->row) {
    a->row[0] = 0;
    for (int32_t d = 0; d < m->nv; d++) {
      int32_t above = m->dof_parent[d];
      a->row[d + 1] = a->row[d] + (above < 0 ? 1 : a->row[above + 1] - a->row[above] + 1);
    }
    a->value = malloc(((size_t)a->row[nv] + 1) * sizeof *a->value);
  }
  for (int32_t d = 0; a->value && d < m->nv; d++) fill_row(m, pose, moments, d, a->value + a->row[d]);
  free(moments);
  return a->value ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "dynamics: no memory for %d dofs", m->nv);
}

abut_status model_mass_matrix(const abut_model *model, const double *qpos, double *mass) {
  const size_t nv = (size_t)model->nv;
  model_pose pose;
  tree_matrix a = {0};
  ATTEMPT(model_pose_make(model, qpos, &pose));
  abut_status status = tree_matrix_make(model, &pose, &a);
  memset(mass, 0, nv * nv * sizeof *mass);
  for (int32_t d = 0; status == ABUT_OK && d < model->nv; d++)
    for (int32_t e = d, i = 0; e >= 0; e = model->dof_parent[e], i++)
      mass[(size_t)d * nv + (size_t)e] = mass[(size_t)e * nv + (size_t)d] = a.value[a.row[d] + i];
  tree_matrix_free(&a);
  model_pose_free(&pose);
  return status;
}

/* ---------------------------------------------------------------------------------------- inverse weights
 */

/* M = L^T D L in place, D on the diagonal (Featherstone, Rigid Body Dynamics Algorithms, table 6.3). */
static void tree_matrix_factor(const abut_model *m, tree_matrix *a) {
  for (int32_t d = m->nv - 1; d >= 0; d--) {
    double *own = a->value + a->row[d];
    const int64_t length = a->row[d + 1] - a->row[d];
    int32_t e = m->dof_parent[d];
    for (int64_t i = 1; i < length; i++, e = m->dof_parent[e]) {
      const double share = own[i] / own[0];
      for (int64_t k = i; k < length; k++) a->value[a->row[e] + k - i] -= share * own[k];
      own[i] = share;
    }
  }
}

/* x^T M^-1 x of a factored M, where x (destroyed) has entries along the chain from dof d to the root only. */
static double inverse_form(const abut_model *m, const tree_matrix *a, int32_t d, double *x) {
  const int64_t length = a->row[d + 1] - a->row[d];
  double sum = 0;
  for (int64_t i = 0; i < length; i++, d = m->dof_parent[d]) {
    const double *own = a->value + a->row[d];
    for (int64_t k = i + 1; k < length; k++) x[k] -= own[k - i] * x[i];
    sum += x[i] * x[i] / own[0];
  }
  return sum;
}

/* The same for any x (nv, destroyed). */
static double inverse_form_whole(const abut_model *m, const tree_matrix *a, double *x) {
  double sum = 0;
  for (int32_t d = m->nv - 1; d >= 0; d--) {
    const double *own = a->value + a->row[d];
    int64_t i = 1;
    for (int32_t e = m->dof_parent[d]; e >= 0; e = m->dof_parent[e]) x[e] -= own[i++] * x[d];
    sum += x[d] * x[d] / own[0];
  }
  return sum;
}

/* Whether a body is what MuJoCo calls simple with sliders only: a leaf that hangs on the world by slides
 * along different axes of its frame. Its inverse weights are that of its mass, armature left out. */
static int is_slider(const abut_model *m, int32_t b) {
  int used = 0;
  if (m->body_weldid[b] != b || m->body_weldid[m->body_parent[b]] != 0) return 0;
  for (int32_t c = b + 1; c < m->nbody; c++)
    if (m->body_parent[c] == b) return 0;
  for (int32_t j = m->body_jntadr[b]; j < m->body_jntadr[b] + m->body_jntnum[b]; j++) {
    const double *axis = m->jnt_axis + 3 * (size_t)j;
    int along = 0;
    for (int k = 0; k < 3; k++) along |= (axis[k] != 0) << k;
    if (m->jnt_type[j] != ABUT_JOINT_SLIDE || (along & (along - 1)) || (used & along)) return 0;
    used |= along;
  }
  return 1;
}

/* A body's mean inverse inertia at its centre of mass: for a force, for a torque; 0 where it cannot move. */
static void body_weights(abut_model *m, const model_pose *pose, const tree_matrix *a, int32_t b, double *x) {
  int32_t mover = m->body_weldid[b];
  double *weight = m->body_invweight0 + 2 * (size_t)b, com[3];
  weight[0] = weight[1] = 0;
  if (mover == 0) return;
  const int32_t last = m->body_dofadr[mover] + m->body_dofnum[mover] - 1;
  transform_point(com, pose->xpos + 3 * (size_t)b, pose->xquat + 4 * (size_t)b, m->body_ipos + 3 * (size_t)b);
  for (int k = 0; k < 3; k++) com[k] -= pose->centre[3 * (size_t)b + (size_t)k];
  for (int k = 0; k < 6; k++) {
    int64_t i = 0;
    for (int32_t d = last; d >= 0; d = m->dof_parent[d], i++) {
      const double *motion = pose->motion + 6 * (size_t)d;
      double swing[3];
      cross3(swing, motion, com);
      x[i] = k < 3 ? motion[3 + k] + swing[k] : motion[k - 3];
    }
    weight[k / 3] += inverse_form(m, a, last, x) / 3;
  }
  if (is_slider(m, b)) weight[0] = 1 / m->body_mass[b];
}

/* The diagonal of M^-1, the same for all axes of a ball or of a free joint's translation or rotation. */
static void dof_weights(abut_model *m, const tree_matrix *a, int32_t j, double *x) {
  static const int32_t groups[] = {2, 1, 1, 1}, axes[] = {3, 3, 1, 1};
  const int32_t type = m->jnt_type[j];
  for (int32_t g = 0; g < groups[type]; g++) {
    const int32_t first = m->jnt_dofadr[j] + g * axes[type];
    double sum = 0;
    for (int32_t d = first; d < first + axes[type]; d++) {
      memset(x, 0, (size_t)(a->row[d + 1] - a->row[d]) * sizeof *x);
      x[0] = 1;
      sum += inverse_form(m, a, d, x);
    }
    if (is_slider(m, m->jnt_body[j])) sum = 1 / m->body_mass[m->jnt_body[j]];
    for (int32_t d = first; d < first + axes[type]; d++) m->dof_invweight0[d] = sum / axes[type];
  }
}

/* What a tendon's armature adds between dofs of one chain; between others the matrix has no entries, in
 * MuJoCo as here. x: nv of scratch. */
static void add_tendon_armature(const abut_model *m, const model_pose *pose, tree_matrix *a, int32_t t,
                                double *x) {
  if (!(m->tendon_armature[t] > 0)) return;
  model_tendon_length(m, m->qpos0, pose, t, x);
  for (int32_t d = 0; d < m->nv; d++)
    for (int32_t e = d, i = 0; e >= 0; e = m->dof_parent[e])
      a->value[a->row[d] + i++] += m->tendon_armature[t] * x[d] * x[e];
}

/* Length and inverse weight of a tendon; a spring whose rest length is not given rests there. */
static void tendon_weight(abut_model *m, const model_pose *pose, const tree_matrix *a, int32_t t, double *x) {
  double *rest = m->tendon_lengthspring + 2 * (size_t)t;
  m->tendon_length0[t] = model_tendon_length(m, m->qpos0, pose, t, x);
  m->tendon_invweight0[t] = inverse_form_whole(m, a, x);
  if (rest[0] == -1 && rest[1] == -1) rest[0] = rest[1] = m->tendon_length0[t];
}

abut_status model_inverse_weights(abut_model *model) {
  model_pose pose;
  tree_matrix a = {0};
  ATTEMPT(model_pose_make(model, model->qpos0, &pose));
  abut_status status = tree_matrix_make(model, &pose, &a);
  double *x = malloc(((size_t)model->nv + 1) * sizeof *x);
  if (status == ABUT_OK && !x)
    status = fail_with(ABUT_ERROR_MEMORY, "dynamics: no memory for %d dofs", model->nv);
  if (status == ABUT_OK) {
    for (int32_t t = 0; t < model->ntendon; t++) add_tendon_armature(model, &pose, &a, t, x);
    tree_matrix_factor(model, &a);
    for (int32_t b = 0; b < model->nbody; b++) body_weights(model, &pose, &a, b, x);
    for (int32_t j = 0; j < model->njnt; j++) dof_weights(model, &a, j, x);
    for (int32_t t = 0; t < model->ntendon; t++) tendon_weight(model, &pose, &a, t, x);
  }
  free(x);
  tree_matrix_free(&a);
  model_pose_free(&pose);
  return status;
}

abut_status model_gravity_force(const abut_model *model, const double *qpos, double *force) {
  model_pose pose;
  ATTEMPT(model_pose_make(model, qpos, &pose));
  double *moments = composite_moments(model, &pose);
  for (int32_t d = 0; moments && d < model->nv; d++) {
    const double *moment = moments + MOMENT_SIZE * (size_t)model->dof_body[d];
    double wrench[6];
    cross3(wrench, moment + 1, model->option.gravity);
    for (int k = 0; k < 3; k++) wrench[3 + k] = moment[0] * model->option.gravity[k];
    force[d] = dot6(wrench, pose.motion + 6 * (size_t)d);
  }
  abut_status status = moments ? ABUT_OK : ABUT_ERROR_MEMORY;
  free(moments);
  model_pose_free(&pose);
  return status;
}
