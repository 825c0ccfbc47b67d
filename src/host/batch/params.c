/* params.c: turns a model and options into what every stage is told: contact pairs with their point sets, dof
 * paths, bounding boxes, and the layout of all lane fields. */
#include "host/batch/batch.h"
#include "host/base/status.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lays out one environment's fields and returns how many numbers they are; beyond int32 the layout means
 * nothing. */
static int64_t layout_work(const abut_model *m, work_layout *at) {
  int64_t nq = m->nq, nv = m->nv, nu = m->nu, nbody = m->nbody, ngeom = m->ngeom, offset = 0;
#define WORK(name, count)                                                                                    \
  at->name = (int32_t)offset;                                                                                \
  offset += (count);
#include "kernels/method/fields.def"
  at->size = (int32_t)offset;
  return offset;
}

/* The same of one contact. */
static int64_t layout_slot(int64_t npt, slot_layout *at) {
  int64_t offset = 0;
#define SLOT(name, count)                                                                                    \
  at->name = (int32_t)offset;                                                                                \
  offset += (count);
#include "kernels/method/fields.def"
  at->size = (int32_t)offset;
  return offset;
}

static abut_status layout(const abut_model *m, const abut_options *o, int64_t npt, step_params *p) {
  int64_t work = layout_work(m, &p->at), slot = layout_slot(npt, &p->slot_at);
  double element = o->dtype == ABUT_F32 ? 4 : 8;
  if (work > INT32_MAX)
    return abut_fail(
        ABUT_ERROR_MEMORY,
        "%d degrees of freedom and %d bodies need %.1f GiB for each environment that steps: %lld "
        "numbers, %d at most",
        m->nv, m->nbody, (double)work * element / 0x1p30, (long long)work, INT32_MAX);
  if (slot > INT32_MAX)
    return abut_fail(ABUT_ERROR_MEMORY,
                     "shapes of %lld points need %.1f GiB for each contact: %lld numbers, %d at most",
                     (long long)npt, (double)slot * element / 0x1p30, (long long)slot, INT32_MAX);
  p->npt = (int32_t)npt;
  return ABUT_OK;
}

/* The side's sphere tree. */
static void fill_tree(const abut_model *m, pair_side *s) {
  int32_t g = s->geom, node = m->geom_nodeadr[g];
  const double *root = m->node_sphere + 5 * (size_t)node;
  s->tree = (tree_view){root, m->node_child + node, m->triangle + 9 * (size_t)m->geom_triangleadr[g]};
  s->reach = sqrt(root[0] * root[0] + root[1] * root[1] + root[2] * root[2]) + root[3];
  double area = 0;
  for (int32_t i = 0; i < m->ngeom; i++)
    if (m->geom_body[i] == s->body) area += m->geom_area[i];
  s->area = m->geom_area[g] / area;
}

static pair_side make_side(const abut_model *m, int32_t geom, int32_t weights) {
  pair_side s = {0};
  s.geom = geom;
  s.body = m->geom_body[geom];
  s.moves = m->body_weldid[s.body] != 0;
  if (m->geom_type[geom] == ABUT_GEOM_PLANE) return s;
  s.pointnum = m->geom_pointnum[geom];
  s.points = m->point + 3 * m->geom_pointadr[geom];
  s.radius = m->geom_radius[geom];
  s.weight = weights == ABUT_WEIGHTS_NORMALISED ? 8.0 / s.pointnum : 1;
  return s;
}

static void rotate(const double q[4], const double v[3], double out[3]) {
  double t[3] = {2 * (q[2] * v[2] - q[3] * v[1]), 2 * (q[3] * v[0] - q[1] * v[2]),
                 2 * (q[1] * v[1] - q[2] * v[0])};
  out[0] = v[0] + q[0] * t[0] + q[2] * t[2] - q[3] * t[1];
  out[1] = v[1] + q[0] * t[1] + q[3] * t[0] - q[1] * t[2];
  out[2] = v[2] + q[0] * t[2] + q[1] * t[1] - q[2] * t[0];
}

/* A plane geom is fixed: its normal and offset in the world follow from the chain of fixed frames. */
static void world_plane(const abut_model *m, int32_t geom, double normal[3], double *offset) {
  double up[3] = {0, 0, 1}, point[3];
  rotate(m->geom_quat + 4 * geom, up, normal);
  memcpy(point, m->geom_pos + 3 * geom, sizeof point);
  for (int32_t b = m->geom_body[geom]; b > 0; b = m->body_parent[b]) {
    double n[3], p[3];
    rotate(m->body_quat + 4 * b, normal, n);
    rotate(m->body_quat + 4 * b, point, p);
    for (int c = 0; c < 3; c++) {
      normal[c] = n[c];
      point[c] = p[c] + m->body_pos[3 * b + c];
    }
  }
  *offset = normal[0] * point[0] + normal[1] * point[1] + normal[2] * point[2];
}

static void fill_pairs(const abut_model *m, const abut_options *o, pair_info *pairs) {
  for (int32_t i = 0; i < m->npair; i++) {
    pair_info *p = &pairs[i];
    memset(p, 0, sizeof *p);
    p->side[0] = make_side(m, m->pair_geom1[i], o->weights);
    p->side[1] = make_side(m, m->pair_geom2[i], o->weights);
    p->halfspace = m->geom_type[m->pair_geom2[i]] == ABUT_GEOM_PLANE;
    int mesh =
        m->geom_type[m->pair_geom1[i]] == ABUT_GEOM_MESH || m->geom_type[m->pair_geom2[i]] == ABUT_GEOM_MESH;
    if (o->contact == ABUT_CONTACT_LONGRANGE && !p->halfspace) p->far = mesh ? FAR_MESH : FAR_CONVEX;
    for (int j = 0; p->far && j < 2; j++) fill_tree(m, &p->side[j]);
    if (p->halfspace) world_plane(m, m->pair_geom2[i], p->normal, &p->offset);
    p->friction = o->friction >= 0 ? -1 : m->pair_friction[i]; /* an override sets every geom's (batch.c) */
  }
}

/* The last dof that moves a body, -1. */
static int32_t last_dof(const abut_model *m, int32_t b) {
  while (b > 0 && m->body_dofnum[b] == 0) b = m->body_parent[b];
  return b > 0 ? m->body_dofadr[b] + m->body_dofnum[b] - 1 : -1;
}
static int32_t path_length(const abut_model *m, int32_t b) {
  int32_t count = 0;
  for (int32_t d = last_dof(m, b); d >= 0; d = m->dof_parent[d]) count++;
  return count;
}
static int64_t paths_length(const abut_model *m) {
  int64_t n = 0;
  for (int32_t b = 0; b < m->nbody; b++) n += path_length(m, b);
  return n;
}
static void fill_paths(const abut_model *m, int32_t *adr, int32_t *path) {
  int32_t n = 0;
  for (int32_t b = 0; b < m->nbody; b++) {
    adr[b] = n;
    n += path_length(m, b);
    int32_t at = n;
    for (int32_t d = last_dof(m, b); d >= 0; d = m->dof_parent[d]) path[--at] = d;
  }
  adr[m->nbody] = n;
}

static void fill_bounds(const abut_model *m, double *box, double *radius) {
  for (int32_t g = 0; g < m->ngeom; g++) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int32_t b = m->geom_body[g];
    if (m->geom_type[g] == ABUT_GEOM_PLANE) continue;
    for (int32_t i = 0; i < m->geom_pointnum[g]; i++) {
      const double *p = m->point + 3 * (m->geom_pointadr[g] + i);
      for (int c = 0; c < 3; c++) {
        lo[c] = fmin(lo[c], p[c] - m->geom_radius[g]);
        hi[c] = fmax(hi[c], p[c] + m->geom_radius[g]);
      }
      double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
      radius[b] =
          fmax(radius[b], length); /* a point's own radius does not turn: spheres about the origin stay */
    }
    for (int c = 0; c < 3; c++) {
      box[6 * g + c] = (lo[c] + hi[c]) / 2;
      box[6 * g + 3 + c] = (hi[c] - lo[c]) / 2;
    }
  }
}

static int64_t most_points(const abut_model *m) {
  int64_t most = 1;
  for (int32_t i = 0; i < m->npair; i++) {
    int64_t n = (int64_t)m->geom_pointnum[m->pair_geom1[i]] + m->geom_pointnum[m->pair_geom2[i]];
    if (n > most) most = n;
  }
  return most;
}

abut_status params_create(const abut_model *m, const abut_options *o, step_params *p) {
  memset(p, 0, sizeof *p);
  p->model = m;
  p->barrier = o->contact == ABUT_CONTACT_LOCAL ? ABUT_CONTACT_LOCAL : ABUT_CONTACT_INVERSE;
  p->weighted = o->form == ABUT_FORM_WEIGHTED;
  p->epsilon = o->epsilon;
  p->vertex_friction = o->friction_form == ABUT_FRICTION_VERTEX;
  p->nested = o->solver == ABUT_SOLVER_NESTED;
  p->max_iterations = o->max_iterations;
  p->dt = o->timestep;
  p->reach = o->reach;
  p->length = o->length;
  p->slip = o->slip_velocity;
  p->spin_radius = 1e-4 * o->length;
  p->tolerance = o->tolerance;
  p->gap0 = o->gap0;
  p->max_separation = o->max_separation;
  ABUT_TRY(layout(m, o, most_points(m), p));
  int64_t path_entries = paths_length(m);
  if (path_entries > INT32_MAX)
    return abut_fail(ABUT_ERROR_MEMORY, "%d bodies hang on %lld joints in all, %d at most", m->nbody,
                     (long long)path_entries, INT32_MAX);
  size_t nb = (size_t)m->nbody, ng = (size_t)m->ngeom, np = (size_t)m->npair;
  pair_info *pairs = calloc(np + 1, sizeof *pairs);
  int32_t *adr = calloc(nb + 1, sizeof *adr), *path = calloc((size_t)path_entries + 1, sizeof *path);
  double *box = calloc(6 * ng + 1, sizeof *box), *radius = calloc(nb + 1, sizeof *radius);
  p->pairs = pairs;
  p->path_adr = adr;
  p->path = path;
  p->geom_box = box;
  p->body_radius = radius;
  if (!pairs || !adr || !path || !box || !radius) {
    params_destroy(p);
    return abut_fail(ABUT_ERROR_MEMORY, "out of memory for %d pairs and %d bodies", m->npair, m->nbody);
  }
  fill_pairs(m, o, pairs);
  fill_paths(m, adr, path);
  fill_bounds(m, box, radius);
  for (int32_t i = 0; i < m->npair; i++) {
    p->far |= pairs[i].far != FAR_NOT;
    for (int j = 0; j < 2 && pairs[i].far; j++) /* triangles of round shapes turn, their points do not */
      radius[pairs[i].side[j].body] = fmax(radius[pairs[i].side[j].body], pairs[i].side[j].reach);
  }
  return ABUT_OK;
}

void params_destroy(step_params *p) {
  free((void *)p->pairs);
  free((void *)p->path_adr);
  free((void *)p->path);
  free((void *)p->geom_box);
  free((void *)p->body_radius);
  memset(p, 0, sizeof *p);
}
