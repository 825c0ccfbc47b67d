/* compile.c: turns a builder's definitions into a model. Joints and geoms go by body, each body's in the
 * order in which they were added; bodies and actuators keep their ids. */
#include "host/model/builder.h"
#include "host/base/geometry.h"
#include "host/model/model.h"
#include "host/shape/moment.h"
#include "host/model/pairs.h"
#include "host/shape/geom.h"
#include "host/shape/triangles.h"
#include "host/shape/sphere_tree_build.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

/* Where the builder's objects are in the compiled order and back, and the geoms' shapes. */
typedef struct plan {
  int32_t *joint_of, *joint_at; /* builder's id of a compiled joint; compiled id of a builder's */
  int32_t *geom_of, *geom_at;
  geom_shape *shapes; /* by compiled geom */
  sphere_tree *trees;
  const abut_surface **surfaces; /* the builder's, by compiled geom */
  pair_def *pairs;
} plan;

static void *new_array(int32_t count, size_t element) { return calloc((size_t)count + 1, element); }

static abut_status plan_allocate(plan *p, const abut_builder *builder) {
  p->joint_of = new_array(builder->njoint, sizeof *p->joint_of);
  p->joint_at = new_array(builder->njoint, sizeof *p->joint_at);
  p->geom_of = new_array(builder->ngeom, sizeof *p->geom_of);
  p->geom_at = new_array(builder->ngeom, sizeof *p->geom_at);
  p->shapes = new_array(builder->ngeom, sizeof *p->shapes);
  p->trees = new_array(builder->ngeom, sizeof *p->trees);
  p->surfaces = new_array(builder->ngeom, sizeof *p->surfaces);
  p->pairs = new_array(builder->npair, sizeof *p->pairs);
  if (p->joint_of && p->joint_at && p->geom_of && p->geom_at && p->shapes && p->trees && p->surfaces &&
      p->pairs)
    return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "model: no memory to compile it");
}

static void plan_free(plan *p, const abut_builder *builder) {
  for (int32_t g = 0; p->shapes && g < builder->ngeom; g++) shape_free(p->shapes + g);
  for (int32_t g = 0; p->trees && g < builder->ngeom; g++) sphere_tree_free(p->trees + g);
  free(p->joint_of);
  free(p->joint_at);
  free(p->geom_of);
  free(p->geom_at);
  free(p->shapes);
  free(p->trees);
  free(p->surfaces);
  free(p->pairs);
}

/* Stable order by body: start (nbody + 1, zeroed) counts and then points at each body's next place. */
static void order_by_body(int32_t count, const int32_t *body, int32_t nbody, int32_t *start, int32_t *of,
                          int32_t *at) {
  for (int32_t i = 0; i < count; i++) start[body[i] + 1]++;
  for (int32_t b = 0; b < nbody; b++) start[b + 1] += start[b];
  for (int32_t i = 0; i < count; i++) {
    at[i] = start[body[i]]++;
    of[at[i]] = i;
  }
}

static abut_status plan_order(plan *p, const abut_builder *builder) {
  int32_t most = builder->njoint > builder->ngeom ? builder->njoint : builder->ngeom;
  int32_t *body = new_array(most, sizeof *body), *start = new_array(builder->nbody, sizeof *start);
  abut_status status = ABUT_OK;
  if (body && start) {
    for (int32_t i = 0; i < builder->njoint; i++) body[i] = builder->joints[i].body;
    order_by_body(builder->njoint, body, builder->nbody, start, p->joint_of, p->joint_at);
    memset(start, 0, ((size_t)builder->nbody + 1) * sizeof *start);
    for (int32_t i = 0; i < builder->ngeom; i++) body[i] = builder->geoms[i].body;
    order_by_body(builder->ngeom, body, builder->nbody, start, p->geom_of, p->geom_at);
  } else {
    status = fail_with(ABUT_ERROR_MEMORY, "model: no memory to compile it");
  }
  free(body);
  free(start);
  return status;
}

/* ---------------------------------------------------------------------------------------- shapes */

/* Puts "geom 'pad': " before the message of a failure. */
static abut_status geom_failure(abut_status status, const abut_geom_def *def, int32_t id) {
  char why[1024];
  if (status == ABUT_OK) return status;
  snprintf(why, sizeof why, "%s", abut_error_message());
  if (def->name && *def->name) return fail_with(status, "geom '%s': %s", def->name, why);
  return fail_with(status, "geom %d: %s", id, why);
}

/* The sphere tree over a geom's surface, in the body's frame. */
static abut_status build_tree(const abut_geom_def *def, const geom_shape *shape, sphere_tree *tree) {
  geom_surface surface;
  if (def->type == ABUT_GEOM_PLANE) return ABUT_OK;
  ATTEMPT(geom_surface_build(def, shape, &surface));
  for (int64_t i = 0; i < surface.npoint; i++)
    transform_point(surface.points + 3 * i, def->pos, def->quat, surface.points + 3 * i);
  abut_status status =
      sphere_tree_build(surface.points, surface.npoint, surface.faces, surface.nface, NULL, tree);
  geom_surface_free(&surface);
  return status;
}

static abut_status plan_shapes(plan *p, const abut_builder *builder) {
  for (int32_t g = 0; g < builder->ngeom; g++) {
    const abut_geom_def *def = builder->geoms + p->geom_of[g];
    p->surfaces[g] = def->surface;
    ATTEMPT(geom_failure(shape_build(def, p->shapes + g), def, p->geom_of[g]));
    ATTEMPT(geom_failure(build_tree(def, p->shapes + g, p->trees + g), def, p->geom_of[g]));
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- counts */

static const char *text_or_empty(const char *text) { return text ? text : ""; }

/* Bytes that a name takes in the model's text: none if empty, it shares the first byte. */
static int64_t text_size(const char *text) { return text && *text ? (int64_t)strlen(text) + 1 : 0; }

static abut_status set_counts(abut_model *m, const abut_builder *builder, const plan *p) {
  int64_t npoint = 0, nface = 0, nnode = 0, ntriangle = 0, ntext = 1 + text_size(builder->warnings);
  for (int32_t i = 0; i < builder->ngeom; i++) npoint += p->shapes[i].npoint, nface += p->shapes[i].nface;
  for (int32_t i = 0; i < builder->ngeom; i++)
    nnode += p->trees[i].nodenum, ntriangle += p->trees[i].trianglenum;
  for (int32_t i = 0; i < builder->nbody; i++) ntext += text_size(builder->bodies[i].name);
  for (int32_t i = 0; i < builder->njoint; i++) ntext += text_size(builder->joints[i].name);
  for (int32_t i = 0; i < builder->ngeom; i++) ntext += text_size(builder->geoms[i].name);
  for (int32_t i = 0; i < builder->nactuator; i++) ntext += text_size(builder->actuators[i].name);
  for (int32_t i = 0; i < builder->nkey; i++) ntext += text_size(builder->keys[i].name);
  int64_t nname =
      (int64_t)builder->nbody + builder->njoint + builder->ngeom + builder->nactuator + builder->nkey;
  if (npoint > INT32_MAX || nface > INT32_MAX || nnode > INT32_MAX || ntriangle > INT32_MAX ||
      ntext > INT32_MAX || nname > INT32_MAX)
    return fail_with(ABUT_ERROR_MODEL,
                     "model: %lld points, %lld faces, %lld triangles, %lld names of %lld bytes are too many",
                     (long long)npoint, (long long)nface, (long long)ntriangle, (long long)nname,
                     (long long)ntext);
  m->nbody = builder->nbody;
  m->njnt = builder->njoint;
  m->nq = builder->nq;
  m->nv = builder->nv;
  m->nu = builder->nactuator;
  m->ngeom = builder->ngeom;
  m->npoint = (int32_t)npoint;
  m->nface = (int32_t)nface;
  m->nnode = (int32_t)nnode;
  m->ntriangle = (int32_t)ntriangle;
  m->nkey = builder->nkey;
  m->nname = (int32_t)nname;
  m->ntext = (int32_t)ntext;
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- fill */

static void put(double *array, int32_t row, const double *values, int columns) {
  memcpy(array + (size_t)row * (size_t)columns, values, (size_t)columns * sizeof *values);
}

static void fill_bodies(abut_model *m, const abut_builder *builder) {
  for (int32_t b = 0; b < m->nbody; b++) {
    const abut_body_def *def = builder->bodies + b;
    m->body_parent[b] = def->parent;
    m->body_jntadr[b] = m->body_dofadr[b] = -1;
    m->body_mass[b] = def->mass;
    put(m->body_pos, b, def->pos, 3);
    put(m->body_quat, b, def->quat, 4);
    put(m->body_ipos, b, def->ipos, 3);
    put(m->body_iquat, b, def->iquat, 4);
    put(m->body_inertia, b, def->inertia, 3);
  }
}

/* The joint's part of the reference configuration and of the springs'. */
static void fill_reference(abut_model *m, const abut_builder *builder, const abut_joint_def *def, int32_t q) {
  const abut_body_def *body = builder->bodies + def->body;
  double *reference = m->qpos0 + q, *spring = m->qpos_spring + q;
  switch (def->type) {
  case ABUT_JOINT_FREE:
    memcpy(reference, body->pos, sizeof body->pos);
    memcpy(reference + 3, body->quat, sizeof body->quat);
    memcpy(spring, reference, 7 * sizeof *spring);
    break;
  case ABUT_JOINT_BALL:
    reference[0] = spring[0] = 1;
    break;
  default:
    reference[0] = def->ref, spring[0] = def->springref;
  }
}

static void fill_joint_numbers(abut_model *m, int32_t j, const abut_joint_def *def) {
  m->jnt_type[j] = def->type;
  m->jnt_body[j] = def->body;
  m->jnt_limited[j] = def->limited != 0;
  put(m->jnt_pos, j, def->pos, 3);
  put(m->jnt_axis, j, def->axis, 3);
  put(m->jnt_range, j, def->range, 2);
  put(m->jnt_solref, j, def->solref, 2);
  m->jnt_stiffness[j] = def->stiffness;
  m->jnt_damping[j] = def->damping;
  m->jnt_armature[j] = def->armature;
  m->jnt_frictionloss[j] = def->frictionloss;
}

static void fill_joints(abut_model *m, const abut_builder *builder, const plan *p) {
  static const int32_t position_size[] = {7, 4, 1, 1}, velocity_size[] = {6, 3, 1, 1};
  int32_t q = 0, v = 0;
  for (int32_t j = 0; j < m->njnt; j++) {
    const abut_joint_def *def = builder->joints + p->joint_of[j];
    int32_t b = def->body, size = velocity_size[def->type];
    fill_joint_numbers(m, j, def);
    if (m->body_jntnum[b]++ == 0) m->body_jntadr[b] = j, m->body_dofadr[b] = v;
    m->body_dofnum[b] += size;
    m->jnt_qposadr[j] = q;
    m->jnt_dofadr[j] = v;
    for (int32_t d = v; d < v + size; d++) m->dof_jnt[d] = j, m->dof_body[d] = b;
    fill_reference(m, builder, def, q);
    q += position_size[def->type];
    v += size;
  }
}

/* Points in the body's frame, and faces, from *point and *face on. */
static void fill_hull(abut_model *m, int32_t g, const geom_shape *shape, int32_t *point, int32_t *face) {
  m->geom_pointadr[g] = shape->npoint ? *point : -1;
  m->geom_pointnum[g] = shape->npoint;
  m->geom_faceadr[g] = shape->nface ? *face : -1;
  m->geom_facenum[g] = shape->nface;
  for (int32_t i = 0; i < shape->npoint; i++)
    transform_point(m->point + 3 * (size_t)(*point + i), m->geom_pos + 3 * (size_t)g,
                    m->geom_quat + 4 * (size_t)g, shape->points + 3 * (size_t)i);
  if (shape->nface)
    memcpy(m->face + 3 * (size_t)*face, shape->faces, (size_t)shape->nface * 3 * sizeof *m->face);
  *point += shape->npoint;
  *face += shape->nface;
}

/* The geom's sphere tree, from *node and *triangle on. */
static void fill_tree(abut_model *m, int32_t g, const sphere_tree *tree, int32_t *node, int32_t *triangle) {
  m->geom_nodeadr[g] = m->geom_triangleadr[g] = -1;
  m->geom_nodenum[g] = tree->nodenum;
  m->geom_area[g] = tree->area;
  if (!tree->nodenum) return;
  m->geom_nodeadr[g] = *node;
  m->geom_triangleadr[g] = *triangle;
  memcpy(m->node_sphere + 5 * (size_t)*node, tree->sphere, (size_t)tree->nodenum * 5 * sizeof *tree->sphere);
  memcpy(m->node_child + *node, tree->child, (size_t)tree->nodenum * sizeof *tree->child);
  memcpy(m->triangle + 9 * (size_t)*triangle, tree->corners,
         (size_t)tree->trianglenum * 9 * sizeof *tree->corners);
  *node += tree->nodenum;
  *triangle += tree->trianglenum;
}

static void fill_geoms(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t point = 0, face = 0, node = 0, triangle = 0;
  for (int32_t g = 0; g < m->ngeom; g++) {
    const abut_geom_def *def = builder->geoms + p->geom_of[g];
    const geom_shape *shape = p->shapes + g;
    m->geom_type[g] = def->type;
    m->geom_body[g] = def->body;
    m->geom_contype[g] = def->contype;
    m->geom_conaffinity[g] = def->conaffinity;
    put(m->geom_size, g, shape->size, 3);
    put(m->geom_pos, g, def->pos, 3);
    put(m->geom_quat, g, def->quat, 4);
    m->geom_friction[g] = def->friction;
    m->geom_radius[g] = shape->radius;
    m->geom_hull_error[g] = shape->hull_error;
    fill_hull(m, g, shape, &point, &face);
    fill_tree(m, g, p->trees + g, &node, &triangle);
  }
}

/* Bodies without mass and inertia get their geoms'. moments: 10 per body of scratch, zeroed. */
static abut_status fill_masses(abut_model *m, const abut_builder *builder, const plan *p, double *moments) {
  for (int32_t g = 0; g < m->ngeom; g++) {
    const abut_geom_def *def = builder->geoms + p->geom_of[g];
    const double *inertia = m->body_inertia + 3 * (size_t)def->body;
    double moment[10];
    if (def->body == 0 || m->body_mass[def->body] != 0 || inertia[0] != 0 || inertia[1] != 0 ||
        inertia[2] != 0)
      continue;
    ATTEMPT(geom_failure(shape_moment(def, p->shapes + g, moment), def, p->geom_of[g]));
    moment_add(moments + 10 * (size_t)def->body, def->density, moment, def->pos, def->quat);
  }
  for (int32_t b = 0; b < m->nbody; b++) {
    const double *moment = moments + 10 * (size_t)b;
    if (!(moment[0] > 0)) continue;
    m->body_mass[b] = moment[0];
    moment_to_principal(moment, m->body_ipos + 3 * (size_t)b, m->body_iquat + 4 * (size_t)b,
                        m->body_inertia + 3 * (size_t)b);
  }
  return ABUT_OK;
}

static void fill_actuators(abut_model *m, const abut_builder *builder, const plan *p) {
  for (int32_t a = 0; a < m->nu; a++) {
    const abut_actuator_def *def = builder->actuators + a;
    m->actuator_jnt[a] = p->joint_at[def->joint];
    m->actuator_ctrllimited[a] = def->ctrllimited != 0;
    m->actuator_forcelimited[a] = def->forcelimited != 0;
    m->actuator_gear[a] = def->gear;
    m->actuator_gain[a] = def->gain;
    put(m->actuator_bias, a, def->bias, 3);
    put(m->actuator_ctrlrange, a, def->ctrlrange, 2);
    put(m->actuator_forcerange, a, def->forcerange, 2);
  }
}

/* Makes the quaternions of a configuration unit; those that cannot be are left for validation to name. */
static void normalise_configuration(const abut_model *m, double *qpos) {
  for (int32_t j = 0; j < m->njnt; j++) {
    double *q = qpos + m->jnt_qposadr[j];
    if (m->jnt_type[j] == ABUT_JOINT_FREE) normalise(q + 3, 4);
    if (m->jnt_type[j] == ABUT_JOINT_BALL) normalise(q, 4);
  }
}

static abut_status fill_keys(abut_model *m, const abut_builder *builder) {
  for (int32_t k = 0; k < m->nkey; k++) {
    const key_def *def = builder->keys + k;
    if (def->nq != m->nq || def->nv != m->nv || def->nu != m->nu)
      return fail_with(ABUT_ERROR_MODEL,
                       "key %d '%s': added at nq %d, nv %d, nu %d, the scene has %d, %d, %d: add keys last",
                       k, text_or_empty(def->name), def->nq, def->nv, def->nu, m->nq, m->nv, m->nu);
    put(m->key_qpos, k, def->qpos ? def->qpos : m->qpos0, m->nq);
    if (def->qvel) put(m->key_qvel, k, def->qvel, m->nv);
    if (def->ctrl) put(m->key_ctrl, k, def->ctrl, m->nu);
    normalise_configuration(m, m->key_qpos + (size_t)k * (size_t)m->nq);
  }
  return ABUT_OK;
}

/* Appends a text at *end; the empty one is at 0. Returns where it is. */
static int32_t put_text(abut_model *m, const char *text, int32_t *end) {
  int32_t at = *end;
  if (!text || !*text) return 0;
  memcpy(m->text + at, text, strlen(text) + 1);
  *end += (int32_t)strlen(text) + 1;
  return at;
}

static void fill_text(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t row = 0, end = 1;
  for (int32_t b = 0; b < m->nbody; b++) m->name_adr[row++] = put_text(m, builder->bodies[b].name, &end);
  for (int32_t j = 0; j < m->njnt; j++)
    m->name_adr[row++] = put_text(m, builder->joints[p->joint_of[j]].name, &end);
  for (int32_t g = 0; g < m->ngeom; g++)
    m->name_adr[row++] = put_text(m, builder->geoms[p->geom_of[g]].name, &end);
  for (int32_t a = 0; a < m->nu; a++) m->name_adr[row++] = put_text(m, builder->actuators[a].name, &end);
  for (int32_t k = 0; k < m->nkey; k++) m->name_adr[row++] = put_text(m, builder->keys[k].name, &end);
  m->warnings = put_text(m, builder->warnings, &end);
}

/* ---------------------------------------------------------------------------------------- finish */

static abut_status fill_arrays(abut_model *m, const abut_builder *builder, const plan *p) {
  memcpy(m->gravity, builder->gravity, sizeof m->gravity);
  m->timestep = builder->timestep;
  fill_text(m, builder, p);
  fill_bodies(m, builder);
  fill_joints(m, builder, p);
  fill_geoms(m, builder, p);
  model_fill_surfaces(m, p->surfaces);
  fill_actuators(m, builder, p);
  ATTEMPT(fill_keys(m, builder));
  double *moments = new_array(m->nbody, 10 * sizeof *moments);
  if (!moments) return fail_with(ABUT_ERROR_MEMORY, "model: no memory to compile it");
  abut_status status = fill_masses(m, builder, p, moments);
  free(moments);
  return status;
}

static abut_status compile(abut_model *m, const abut_builder *builder, plan *p) {
  ATTEMPT(plan_allocate(p, builder));
  ATTEMPT(plan_order(p, builder));
  ATTEMPT(plan_shapes(p, builder));
  ATTEMPT(set_counts(m, builder, p));
  ATTEMPT(model_count_surfaces(m, builder->ngeom, p->surfaces));
  ATTEMPT(model_allocate(m));
  ATTEMPT(fill_arrays(m, builder, p));
  ATTEMPT(model_validate(m));
  model_derive(m);
  for (int32_t i = 0; i < builder->npair; i++) {
    const pair_def *def = builder->pairs + i;
    p->pairs[i] = (pair_def){p->geom_at[def->geom1], p->geom_at[def->geom2], def->friction};
  }
  return pairs_build(m, p->pairs, builder->npair, builder->excludes, builder->nexclude);
}

abut_status abut_builder_finish(abut_builder *builder, abut_model **model) {
  REQUIRE_POINTER(builder, "builder");
  REQUIRE_POINTER(model, "model");
  *model = NULL;
  abut_model *m = calloc(1, sizeof *m);
  if (!m) return fail_with(ABUT_ERROR_MEMORY, "model: no memory");
  plan p = {0};
  abut_status status = compile(m, builder, &p);
  plan_free(&p, builder);
  if (status == ABUT_OK)
    *model = m;
  else
    abut_model_destroy(m);
  return status;
}
