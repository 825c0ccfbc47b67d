/* compile.c: turns a builder's definitions into a model. Joints and geoms go by body, each body's in the
 * order in which they were added; bodies and actuators keep their ids. */
#include "host/model/compile.h"
#include "host/base/geometry.h"
#include "host/model/pairs.h"
#include "host/shape/moment.h"
#include "host/shape/triangles.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

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
  if (def->type == ABUT_GEOM_PLANE || def->type == ABUT_GEOM_HFIELD) return ABUT_OK;
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

/* Name of compiled object id. */
static const char *name_of(const abut_builder *builder, const plan *p, char kind, int32_t id) {
  switch (kind) {
  case 'b':
    return builder->bodies[id].name;
  case 'j':
    return builder->joints[p->joint_of[id]].name;
  case 'g':
    return builder->geoms[p->geom_of[id]].name;
  case 's':
    return builder->sites[id].name;
  case 't':
    return builder->tendons[id].name;
  case 'e':
    return builder->equalities[id].name;
  case 'a':
    return builder->actuators[id].name;
  case 'n':
    return builder->sensors[id].name;
  default:
    return builder->keys[id].def.name;
  }
}

/* Bytes that a name takes in the model's text: none if empty, it shares the first byte. */
static int64_t text_size(const char *text) { return text && *text ? (int64_t)strlen(text) + 1 : 0; }

static abut_status count_text(abut_model *m, const abut_builder *builder, const plan *p) {
  int64_t ntext = 1 + text_size(builder->warnings), nname = 0;
#define X(kind, count, noun)                                                                                 \
  nname += m->count;                                                                                         \
  for (int32_t i = 0; i < m->count; i++) ntext += text_size(name_of(builder, p, kind, i));
  MODEL_NAMED(X)
#undef X
  if (ntext > INT32_MAX || nname > INT32_MAX)
    return fail_with(ABUT_ERROR_MODEL, "model: %lld names of %lld bytes are too many", (long long)nname,
                     (long long)ntext);
  m->nname = (int32_t)nname;
  m->ntext = (int32_t)ntext;
  return ABUT_OK;
}

static abut_status count_shapes(abut_model *m, const abut_builder *builder, const plan *p) {
  int64_t npoint = 0, nface = 0, nnode = 0, ntriangle = 0, nhfielddata = 0;
  for (int32_t i = 0; i < builder->ngeom; i++) {
    const abut_geom_def *def = builder->geoms + p->geom_of[i];
    npoint += p->shapes[i].npoint, nface += p->shapes[i].nface;
    nnode += p->trees[i].nodenum, ntriangle += p->trees[i].trianglenum;
    if (def->type != ABUT_GEOM_HFIELD) continue;
    nhfielddata += (int64_t)def->nrow * def->ncol;
    m->nhfield++;
  }
  if (npoint > INT32_MAX || nface > INT32_MAX || nnode > INT32_MAX || ntriangle > INT32_MAX ||
      nhfielddata > INT32_MAX)
    return fail_with(ABUT_ERROR_MODEL,
                     "model: %lld points, %lld faces, %lld triangles, %lld heights are too many",
                     (long long)npoint, (long long)nface, (long long)ntriangle, (long long)nhfielddata);
  m->ngeom = builder->ngeom;
  m->npoint = (int32_t)npoint;
  m->nface = (int32_t)nface;
  m->nnode = (int32_t)nnode;
  m->ntriangle = (int32_t)ntriangle;
  m->nhfielddata = (int32_t)nhfielddata;
  return ABUT_OK;
}

static abut_status set_counts(abut_model *m, const abut_builder *builder, const plan *p) {
  m->nbody = builder->nbody;
  m->nmocap = builder->nmocap;
  m->njnt = builder->njoint;
  m->nq = builder->nq;
  m->nv = builder->nv;
  m->nexplicit = builder->npair;
  ATTEMPT(count_shapes(m, builder, p));
  ATTEMPT(compile_count_elements(m, builder));
  return count_text(m, builder, p);
}

/* ---------------------------------------------------------------------------------------- fill */

static void fill_bodies(abut_model *m, const abut_builder *builder) {
  int32_t mocap = 0;
  for (int32_t b = 0; b < m->nbody; b++) {
    const abut_body_def *def = builder->bodies + b;
    m->body_parent[b] = def->parent;
    m->body_jntadr[b] = m->body_dofadr[b] = -1;
    m->body_mass[b] = def->mass;
    m->body_gravcomp[b] = def->gravcomp;
    m->body_mocapid[b] = def->mocap ? mocap++ : -1;
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
  put(m->jnt_solimp, j, def->solimp, 5);
  put(m->jnt_solreffriction, j, def->solreffriction, 2);
  put(m->jnt_solimpfriction, j, def->solimpfriction, 5);
  put(m->jnt_actfrcrange, j, def->actfrcrange, 2);
  m->jnt_margin[j] = def->margin;
  m->jnt_actfrclimited[j] = def->actfrclimited != 0;
  m->jnt_actgravcomp[j] = def->actgravcomp != 0;
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

/* How a geom touches. */
static void fill_contact(abut_model *m, int32_t g, const abut_geom_def *def) {
  m->geom_contype[g] = def->contype;
  m->geom_conaffinity[g] = def->conaffinity;
  m->geom_friction[g] = def->friction;
  m->geom_condim[g] = def->condim;
  m->geom_priority[g] = def->priority;
  m->geom_solmix[g] = def->solmix;
  m->geom_margin[g] = def->margin;
  m->geom_gap[g] = def->gap;
  put(m->geom_turning, g, def->turning, 2);
  put(m->geom_solref, g, def->solref, 2);
  put(m->geom_solimp, g, def->solimp, 5);
  put(m->geom_fluid, g, def->fluid, 12);
}

/* The heights of a geom that is a height field, the next one. */
static void fill_hfield(abut_model *m, int32_t g, const abut_geom_def *def, int32_t *hfield, int32_t *data) {
  m->geom_hfield[g] = -1;
  if (def->type != ABUT_GEOM_HFIELD) return;
  const int32_t h = m->geom_hfield[g] = (*hfield)++;
  m->hfield_adr[h] = *data;
  m->hfield_nrow[h] = def->nrow;
  m->hfield_ncol[h] = def->ncol;
  put(m->hfield_size, h, def->hfield_size, 4);
  memcpy(m->hfield_data + *data, def->heights, (size_t)def->nrow * (size_t)def->ncol * sizeof(double));
  *data += def->nrow * def->ncol;
}

static void fill_geoms(abut_model *m, const abut_builder *builder, const plan *p) {
  int32_t point = 0, face = 0, node = 0, triangle = 0, hfield = 0, data = 0;
  for (int32_t g = 0; g < m->ngeom; g++) {
    const abut_geom_def *def = builder->geoms + p->geom_of[g];
    const geom_shape *shape = p->shapes + g;
    m->geom_type[g] = def->type;
    m->geom_body[g] = def->body;
    put(m->geom_size, g, shape->size, 3);
    put(m->geom_pos, g, def->pos, 3);
    put(m->geom_quat, g, def->quat, 4);
    fill_contact(m, g, def);
    fill_hfield(m, g, def, &hfield, &data);
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
#define X(kind, count, noun)                                                                                 \
  for (int32_t i = 0; i < m->count; i++) m->name_adr[row++] = put_text(m, name_of(builder, p, kind, i), &end);
  MODEL_NAMED(X)
#undef X
  m->warnings = put_text(m, builder->warnings, &end);
}

/* ---------------------------------------------------------------------------------------- finish */

static abut_status fill_arrays(abut_model *m, const abut_builder *builder, const plan *p) {
  m->option = builder->option;
  fill_text(m, builder, p);
  fill_bodies(m, builder);
  fill_joints(m, builder, p);
  fill_geoms(m, builder, p);
  model_fill_surfaces(m, p->surfaces);
  ATTEMPT(compile_fill_elements(m, builder, p));
  ATTEMPT(compile_fill_keys(m, builder));
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
  ATTEMPT(model_derive(m));
  for (int32_t i = 0; i < builder->npair; i++) {
    p->pairs[i] = builder->pairs[i];
    p->pairs[i].geom1 = p->geom_at[p->pairs[i].geom1];
    p->pairs[i].geom2 = p->geom_at[p->pairs[i].geom2];
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
