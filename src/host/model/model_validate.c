/* model_validate.c: checks every index, size and number of a compiled scene. */
#include "host/base/geometry.h"
#include "host/base/real.h"
#include "host/model/model.h"
#include "host/shape/moment.h"
#include "host/model/pairs.h"
#include "host/base/status.h"
#include "host/model/model_check.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* how far a unit vector's length and an inertia's triangle inequality may be off, relative */
static const double unit_tolerance = 1e-6, triangle_tolerance = 1e-9;

abut_status bad(const abut_model *m, char kind, int32_t id, const char *format, ...) {
  char label[LABEL_SIZE], text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fail_with(ABUT_ERROR_MODEL, "%s: %s", model_label(m, kind, id, label), text);
}

int is_unit(const double *v, int n) {
  double square = 0;
  for (int i = 0; i < n; i++) square += v[i] * v[i];
  return fabs(square - 1) <= 2 * unit_tolerance;
}

/* ---------------------------------------------------------------------------------------- whole model */

static abut_status check_counts(const abut_model *m) {
#define X(name)                                                                                              \
  if (m->name < 0) return fail_with(ABUT_ERROR_MODEL, "model: " #name " is %d", m->name);
  MODEL_COUNTS(X)
  MODEL_SURFACE_COUNTS(X)
#undef X
  if (m->npair > MODEL_MOST_PAIRS)
    return fail_with(ABUT_ERROR_MODEL, "model: npair is %d, %d at most", m->npair, MODEL_MOST_PAIRS);
  if (m->nbody < 1) return fail_with(ABUT_ERROR_MODEL, "model: it has no body, not even the world");
  int64_t names = 0;
#define X(kind, count, noun) names += m->count;
  MODEL_NAMED(X)
#undef X
  if (m->nname != names)
    return fail_with(ABUT_ERROR_MODEL, "model: nname is %d, not %lld", m->nname, (long long)names);
  return ABUT_OK;
}

/* Every offset must lead to text that ends: names are in every later message. */
static abut_status check_text(const abut_model *m) {
  if (m->ntext < 1 || m->text[m->ntext - 1] != 0)
    return fail_with(ABUT_ERROR_MODEL, "model: its text of %d bytes does not end", m->ntext);
  if (m->warnings < 0 || m->warnings >= m->ntext)
    return fail_with(ABUT_ERROR_MODEL, "model: warnings are at %d of %d bytes", m->warnings, m->ntext);
  for (int32_t i = 0; i < m->nname; i++)
    if (m->name_adr[i] < 0 || m->name_adr[i] >= m->ntext)
      return fail_with(ABUT_ERROR_MODEL, "model: name %d is at %d of %d bytes", i, m->name_adr[i], m->ntext);
  return ABUT_OK;
}

/* The kind of object that a row of an array belongs to, by the array's name; 0: none. */
static char array_kind(const char *name) {
  static const char prefixes[][10] = {"body_", "jnt_",      "geom_",   "site_", "tendon_",
                                      "eq_",   "actuator_", "sensor_", "key_"};
  static const char kinds[] = "bjgsteank";
  for (int i = 0; kinds[i]; i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return kinds[i];
  return 0;
}

static abut_status check_array(const abut_model *m, int bytes, const char *name, const double *values,
                               int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows * columns; i++) {
    if (real_holds(bytes, values[i])) continue;
    const char *field = strchr(name, '_'), *why = real_misfit(values[i]);
    if (array_kind(name) && field)
      return bad(m, array_kind(name), (int32_t)(i / columns), "%s is %g, %s", field + 1, values[i], why);
    return fail_with(ABUT_ERROR_MODEL, "model: %s[%lld] is %g, %s", name, (long long)i, values[i], why);
  }
  return ABUT_OK;
}

abut_status model_check_numbers(const abut_model *m, int bytes) {
  MODEL_SIZES(m)
  for (int k = 0; k < 3; k++)
    if (!real_holds(bytes, m->option.gravity[k]))
      return fail_with(ABUT_ERROR_MODEL, "gravity[%d] is %g, %s", k, m->option.gravity[k],
                       real_misfit(m->option.gravity[k]));
      /* the other types have nothing to check */
#define X(type, name, rows, columns)                                                                         \
  ATTEMPT(_Generic(m->name, double *: check_array(m, bytes, #name, (const void *)m->name, m->rows, columns),  \
           default: ABUT_OK));
#include "kernels/tree/model.def"
#undef X
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- bodies */

static abut_status check_inertia(const abut_model *m, int32_t b) {
  const double *inertia = m->body_inertia + 3 * (size_t)b;
  double sum = inertia[0] + inertia[1] + inertia[2];
  if (m->body_mass[b] < 0) return bad(m, 'b', b, "mass is %g, must not be negative", m->body_mass[b]);
  for (int k = 0; k < 3; k++)
    if (inertia[k] < 0) return bad(m, 'b', b, "inertia[%d] is %g, must not be negative", k, inertia[k]);
  for (int k = 0; k < 3; k++)
    if (2 * inertia[k] > sum * (1 + triangle_tolerance))
      return bad(m, 'b', b, "inertia (%g, %g, %g) breaks the triangle inequality", inertia[0], inertia[1],
                 inertia[2]);
  return ABUT_OK;
}

/* Mocap bodies count up, and others place them: nothing else may. */
static abut_status check_mocap(const abut_model *m, int32_t b, int32_t *mocap) {
  if (m->body_mocapid[b] == -1) return ABUT_OK;
  if (m->body_mocapid[b] != *mocap)
    return bad(m, 'b', b, "mocap number is %d, not %d", m->body_mocapid[b], *mocap);
  if (b == 0 || m->body_parent[b] != 0 || m->body_jntnum[b] > 0)
    return bad(m, 'b', b, "a mocap body must be a child of the world without joints");
  ++*mocap;
  return ABUT_OK;
}

static abut_status check_bodies(const abut_model *m) {
  int32_t mocap = 0;
  if (m->body_parent[0] != 0) return bad(m, 'b', 0, "the world's parent is %d", m->body_parent[0]);
  for (int32_t b = 0; b < m->nbody; b++) {
    int32_t parent = m->body_parent[b];
    if (b > 0 && (parent < 0 || parent >= b))
      return bad(m, 'b', b, "parent %d does not come before it", parent);
    if (!is_unit(m->body_quat + 4 * (size_t)b, 4)) return bad(m, 'b', b, "quat is not a unit quaternion");
    if (!is_unit(m->body_iquat + 4 * (size_t)b, 4)) return bad(m, 'b', b, "iquat is not a unit quaternion");
    ATTEMPT(check_mocap(m, b, &mocap));
  }
  if (mocap != m->nmocap)
    return fail_with(ABUT_ERROR_MODEL, "model: nmocap is %d, but %d bodies are", m->nmocap, mocap);
  return ABUT_OK;
}

/* What moves must have mass and inertia: a body with a joint together with all that is fixed to it. */
static abut_status check_group(const abut_model *m, int32_t b, const double moment[10]) {
  double ipos[3], iquat[4], inertia[3], largest, smallest;
  if (!(moment[0] > 0))
    return bad(m, 'b', b, "mass is %g: a body that moves, with all that is fixed to it, needs some",
               moment[0]);
  moment_to_principal(moment, ipos, iquat, inertia);
  largest = moment[4] + moment[5] + moment[6];
  smallest = fmin(inertia[0], fmin(inertia[1], inertia[2]));
  /* below the rounding of its own computation an inertia is none */
  if (!(smallest > 1e-14 * largest))
    return bad(m, 'b', b, "inertia is (%g, %g, %g), must be positive on every axis of a body that moves",
               inertia[0], inertia[1], inertia[2]);
  return ABUT_OK;
}

/* weld: weld group of every body; moments: 10 per body of scratch. */
static abut_status check_groups(const abut_model *m, const int32_t *weld, double *moments) {
  for (int32_t b = m->nbody - 1; b > 0; b--) {
    if (weld[b] == 0) continue;
    ATTEMPT(check_inertia(m, b));
    double *moment = moments + 10 * (size_t)b, own[10];
    moment_from_principal(own, m->body_mass[b], m->body_ipos + 3 * (size_t)b, m->body_iquat + 4 * (size_t)b,
                          m->body_inertia + 3 * (size_t)b);
    for (int k = 0; k < 10; k++) moment[k] += own[k];
    if (weld[b] == b)
      ATTEMPT(check_group(m, b, moment));
    else
      moment_add(moments + 10 * (size_t)m->body_parent[b], 1, moment, m->body_pos + 3 * (size_t)b,
                 m->body_quat + 4 * (size_t)b);
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- joints */

static abut_status check_joint_numbers(const abut_model *m, int32_t j) {
  const double nonnegative[4] = {m->jnt_stiffness[j], m->jnt_damping[j], m->jnt_armature[j],
                                 m->jnt_frictionloss[j]};
  static const char *const names[4] = {"stiffness", "damping", "armature", "frictionloss"};
  const double *range = m->jnt_range + 2 * (size_t)j, *solref = m->jnt_solref + 2 * (size_t)j;
  int32_t type = m->jnt_type[j];
  for (int i = 0; i < 4; i++)
    if (nonnegative[i] < 0) return bad(m, 'j', j, "%s is %g, must not be negative", names[i], nonnegative[i]);
  if ((type == ABUT_JOINT_SLIDE || type == ABUT_JOINT_HINGE) && !is_unit(m->jnt_axis + 3 * (size_t)j, 3))
    return bad(m, 'j', j, "axis is not a unit vector");
  if (!m->jnt_limited[j]) return ABUT_OK;
  if (type == ABUT_JOINT_FREE) return bad(m, 'j', j, "a free joint cannot be limited");
  if (type == ABUT_JOINT_BALL ? range[1] <= 0 : range[0] >= range[1])
    return bad(m, 'j', j, "range (%g, %g) is empty", range[0], range[1]);
  return check_solref(m, 'j', j, "solref", solref);
}

static const int32_t position_size[] = {7, 4, 1, 1}, velocity_size[] = {6, 3, 1, 1};

/* One joint, whose coordinates must start at *q and *v. */
static abut_status check_joint(const abut_model *m, int32_t b, int32_t j, int32_t *q, int32_t *v) {
  int32_t type = m->jnt_type[j];
  if (type < ABUT_JOINT_FREE || type > ABUT_JOINT_HINGE)
    return bad(m, 'j', j, "type %d does not exist", type);
  if (m->jnt_body[j] != b) return bad(m, 'j', j, "it is on body %d, body %d has it", m->jnt_body[j], b);
  if (type == ABUT_JOINT_FREE && (m->body_parent[b] != 0 || m->body_jntnum[b] != 1))
    return bad(m, 'j', j, "a free joint must be the only joint of a child of the world");
  if (m->jnt_qposadr[j] != *q || m->jnt_dofadr[j] != *v)
    return bad(m, 'j', j, "coordinates at (%d, %d), not (%d, %d)", m->jnt_qposadr[j], m->jnt_dofadr[j], *q,
               *v);
  if (position_size[type] > m->nq - *q || velocity_size[type] > m->nv - *v)
    return bad(m, 'j', j, "the model's nq %d and nv %d end before it", m->nq, m->nv);
  for (int32_t d = *v; d < *v + velocity_size[type]; d++)
    if (m->dof_jnt[d] != j || m->dof_body[d] != b)
      return bad(m, 'j', j, "dof %d is of joint %d and body %d", d, m->dof_jnt[d], m->dof_body[d]);
  *q += position_size[type];
  *v += velocity_size[type];
  return check_joint_numbers(m, j);
}

/* Joints, coordinates and dofs must be numbered by body without a gap. */
static abut_status check_joints(const abut_model *m) {
  int32_t j = 0, q = 0, v = 0;
  for (int32_t b = 0; b < m->nbody; b++) {
    int32_t count = m->body_jntnum[b], first_v = v;
    if (count < 0 || count > m->njnt - j || (b == 0 && count > 0))
      return bad(m, 'b', b, "it has %d joints", count);
    if (m->body_jntadr[b] != (count ? j : -1))
      return bad(m, 'b', b, "first joint is %d, not %d", m->body_jntadr[b], count ? j : -1);
    for (int32_t end = j + count; j < end; j++) ATTEMPT(check_joint(m, b, j, &q, &v));
    if (m->body_dofnum[b] != v - first_v || m->body_dofadr[b] != (v > first_v ? first_v : -1))
      return bad(m, 'b', b, "it has %d dofs from %d, not %d from %d", m->body_dofnum[b], m->body_dofadr[b],
                 v - first_v, first_v);
  }
  if (j != m->njnt || q != m->nq || v != m->nv)
    return fail_with(ABUT_ERROR_MODEL, "model: njnt %d, nq %d, nv %d, but its bodies have %d, %d, %d",
                     m->njnt, m->nq, m->nv, j, q, v);
  return ABUT_OK;
}

/* Joint whose quaternion in a configuration is not unit; -1 if none. */
static int32_t joint_not_unit(const abut_model *m, const double *qpos) {
  for (int32_t j = 0; j < m->njnt; j++) {
    int32_t type = m->jnt_type[j], first = m->jnt_qposadr[j] + (type == ABUT_JOINT_FREE ? 3 : 0);
    if ((type == ABUT_JOINT_FREE || type == ABUT_JOINT_BALL) && !is_unit(qpos + first, 4)) return j;
  }
  return -1;
}

static abut_status check_configurations(const abut_model *m) {
  int32_t j = joint_not_unit(m, m->qpos0);
  if (j >= 0) return bad(m, 'j', j, "its quaternion in qpos0 is not unit");
  j = joint_not_unit(m, m->qpos_spring);
  if (j >= 0) return bad(m, 'j', j, "its quaternion in qpos_spring is not unit");
  for (int32_t k = 0; k < m->nkey; k++) {
    char label[LABEL_SIZE];
    j = joint_not_unit(m, m->key_qpos + (size_t)k * (size_t)m->nq);
    if (j >= 0) return bad(m, 'k', k, "the quaternion of %s is not unit", model_label(m, 'j', j, label));
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- geoms */

static abut_status check_contact(const abut_model *m, int32_t g) {
  const double *turning = m->geom_turning + 2 * (size_t)g;
  ATTEMPT(check_condim(m, 'g', g, m->geom_condim[g]));
  for (int k = 0; k < 2; k++)
    if (turning[k] < 0) return bad(m, 'g', g, "turning friction is %g, must not be negative", turning[k]);
  if (m->geom_solmix[g] < 0) return bad(m, 'g', g, "solmix is %g, must not be negative", m->geom_solmix[g]);
  return check_solref(m, 'g', g, "solref", m->geom_solref + 2 * (size_t)g);
}

static abut_status check_geom_numbers(const abut_model *m, int32_t g) {
  if (!is_unit(m->geom_quat + 4 * (size_t)g, 4)) return bad(m, 'g', g, "quat is not a unit quaternion");
  if (m->geom_friction[g] < 0)
    return bad(m, 'g', g, "friction is %g, must not be negative", m->geom_friction[g]);
  if (m->geom_radius[g] < 0) return bad(m, 'g', g, "radius is %g, must not be negative", m->geom_radius[g]);
  if (m->geom_hull_error[g] < 0)
    return bad(m, 'g', g, "hull error is %g, must not be negative", m->geom_hull_error[g]);
  return check_contact(m, g);
}

static int is_ground(const abut_model *m, int32_t g) {
  return m->geom_type[g] == ABUT_GEOM_PLANE || m->geom_type[g] == ABUT_GEOM_HFIELD;
}

/* count rows from first of an array of total rows; none: -1. */
static int is_range(int32_t first, int32_t count, int32_t total) {
  if (count == 0) return first == -1;
  return count > 0 && first >= 0 && first <= total - count;
}

static abut_status check_hull(const abut_model *m, int32_t g) {
  int32_t points = m->geom_pointnum[g], faces = m->geom_facenum[g];
  if (!is_range(m->geom_pointadr[g], points, m->npoint) || (points == 0) != is_ground(m, g))
    return bad(m, 'g', g, "%d points from %d of the model's %d", points, m->geom_pointadr[g], m->npoint);
  if (!is_range(m->geom_faceadr[g], faces, m->nface))
    return bad(m, 'g', g, "%d faces from %d of the model's %d", faces, m->geom_faceadr[g], m->nface);
  const int32_t *corner = m->face + 3 * (size_t)(faces ? m->geom_faceadr[g] : 0);
  for (int64_t i = 0; i < 3 * (int64_t)faces; i++)
    if (corner[i] < 0 || corner[i] >= points)
      return bad(m, 'g', g, "face %lld has point %d of %d", (long long)(i / 3), corner[i], points);
  return ABUT_OK;
}

/* Nodes must be a binary tree: every node but the root has one parent, before it; every triangle one leaf. A
 * sphere that does not hold what is below it would lose contacts. */
static abut_status check_tree(const abut_model *m, int32_t g) {
  int32_t first = m->geom_nodeadr[g], nodes = m->geom_nodenum[g], base = m->geom_triangleadr[g], leaves = 0,
          next = 1;
  int32_t triangles = (nodes + 1) / 2;
  if (!is_range(first, nodes, m->nnode) || (nodes == 0) != is_ground(m, g) || (nodes > 0 && nodes % 2 == 0) ||
      !is_range(base, triangles, m->ntriangle))
    return bad(m, 'g', g, "a tree of %d nodes from %d of the model's %d, triangles from %d of %d", nodes,
               first, m->nnode, base, m->ntriangle);
  if (m->geom_area[g] < 0) return bad(m, 'g', g, "area is %g, must not be negative", m->geom_area[g]);
  for (int32_t n = 0; n < nodes; n++) {
    const double *s = m->node_sphere + 5 * (size_t)(first + n);
    int32_t c = m->node_child[first + n];
    if (s[3] < 0 || s[4] < 0) return bad(m, 'g', g, "node %d has radius %g and weight %g", n, s[3], s[4]);
    if (c < 0 ? ~c >= triangles : c != next || c > nodes - 2)
      return bad(m, 'g', g, "node %d has child %d", n, c);
    if (c >= 0) next += 2;
    leaves += c < 0;
    for (int k = 0; k < (c < 0 ? 3 : 2); k++) {
      const double *x = c < 0 ? m->triangle + 9 * (size_t)(base + ~c) + 3 * k
                              : m->node_sphere + 5 * (size_t)(first + c + k);
      double reach = hypot(hypot(x[0] - s[0], x[1] - s[1]), x[2] - s[2]) + (c < 0 ? 0 : x[3]);
      if (!(reach <= s[3] * (1 + 1e-9)))
        return bad(m, 'g', g, "node %d has radius %g, what is below it reaches to %g", n, s[3], reach);
    }
  }
  return leaves == triangles || nodes == 0
             ? ABUT_OK
             : bad(m, 'g', g, "its tree has %d leaves, not %d", leaves, triangles);
}

static abut_status check_geoms(const abut_model *m, const int32_t *weld) {
  for (int32_t g = 0; g < m->ngeom; g++) {
    int32_t type = m->geom_type[g], body = m->geom_body[g];
    if (type != ABUT_GEOM_PLANE && (type < ABUT_GEOM_SPHERE || type > ABUT_GEOM_HFIELD))
      return bad(m, 'g', g, "type %d does not exist", type);
    if (body < 0 || body >= m->nbody) return bad(m, 'g', g, "body %d does not exist", body);
    if (g > 0 && body < m->geom_body[g - 1])
      return bad(m, 'g', g, "geoms are not in the order of their bodies");
    if (type == ABUT_GEOM_PLANE && weld[body] != 0)
      return bad(m, 'g', g, "a plane must be fixed to the world, body %d moves", body);
    ATTEMPT(check_geom_numbers(m, g));
    ATTEMPT(check_hull(m, g));
    ATTEMPT(check_tree(m, g));
  }
  return ABUT_OK;
}

static abut_status check_pairs(const abut_model *m, const int32_t *weld) {
  for (int32_t i = 0; i < m->npair; i++) {
    int32_t a = m->pair_geom1[i], b = m->pair_geom2[i];
    if (a < 0 || a >= m->ngeom || b < 0 || b >= m->ngeom)
      return fail_with(ABUT_ERROR_MODEL, "contact pair %d: geoms %d and %d of %d", i, a, b, m->ngeom);
    const char *why = pairs_obstacle(m, weld, a, b);
    if (why) return fail_with(ABUT_ERROR_MODEL, "contact pair %d: geoms %d and %d %s", i, a, b, why);
    if (!pairs_ordered(m, a, b) ||
        (i > 0 && pairs_compare(m, m->pair_geom1[i - 1], m->pair_geom2[i - 1], a, b) >= 0))
      return fail_with(ABUT_ERROR_MODEL, "contact pair %d: geoms %d and %d are out of order", i, a, b);
    if (m->pair_friction[i] < 0 && m->pair_friction[i] != -1)
      return fail_with(ABUT_ERROR_MODEL, "contact pair %d: friction is %g", i, m->pair_friction[i]);
    if (m->pair_explicit[i] < -1 || m->pair_explicit[i] >= m->nexplicit)
      return fail_with(ABUT_ERROR_MODEL, "contact pair %d: row %d of %d explicit ones", i,
                       m->pair_explicit[i], m->nexplicit);
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- all */

static abut_status check_by_group(const abut_model *m, int32_t *weld, double *moments) {
  for (int32_t b = 1; b < m->nbody; b++) weld[b] = m->body_jntnum[b] > 0 ? b : weld[m->body_parent[b]];
  ATTEMPT(check_groups(m, weld, moments));
  ATTEMPT(check_geoms(m, weld));
  return check_pairs(m, weld);
}

abut_status model_validate(const abut_model *model) {
  ATTEMPT(check_counts(model));
  ATTEMPT(check_text(model));
  ATTEMPT(model_check_options(&model->option));
  ATTEMPT(model_check_numbers(model, 8));
  ATTEMPT(check_bodies(model));
  ATTEMPT(check_joints(model));
  ATTEMPT(check_configurations(model));
  ATTEMPT(model_check_elements(model));
  ATTEMPT(model_check_surfaces(model));
  int32_t *weld = calloc((size_t)model->nbody, sizeof *weld);
  double *moments = calloc((size_t)model->nbody, 10 * sizeof *moments);
  abut_status status = weld && moments ? check_by_group(model, weld, moments)
                                       : fail_with(ABUT_ERROR_MEMORY, "model: no memory to check it");
  free(weld);
  free(moments);
  return status;
}
