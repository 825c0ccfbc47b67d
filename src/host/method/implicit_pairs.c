/* implicit_pairs.c: the pairs of a scene as the implicit step's terms see them: both sides' points or trees,
 * and which term is whose. */
#include "host/method/implicit_pairs.h"
#include <math.h>
#include <string.h>

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

/* The pairs of a term are contiguous: pairs.c has half-spaces first, and all others are of one term. */
static void find_terms(const abut_model *m, const abut_options *o, int32_t kind_pair[MAX_KINDS + 1]) {
  int32_t halfspaces = 0;
  while (halfspaces < m->npair && m->geom_type[m->pair_geom2[halfspaces]] == ABUT_GEOM_PLANE) halfspaces++;
  int others = o->implicit.contact == ABUT_CONTACT_LONGRANGE ? TERM_longrange : TERM_hull;
  for (int t = 0; t < MAX_KINDS; t++) kind_pair[t + 1] = t < others ? halfspaces : m->npair;
}

void implicit_pairs(const abut_model *m, const abut_options *o, pair_info *pairs,
                    int32_t kind_pair[MAX_KINDS + 1]) {
  find_terms(m, o, kind_pair);
  for (int32_t i = 0; i < m->npair; i++) {
    pair_info *p = &pairs[i];
    const int32_t geom[2] = {m->pair_geom1[i], m->pair_geom2[i]};
    for (int j = 0; j < 2; j++) {
      p->side[j] = make_side(m, geom[j], o->implicit.weights);
      p->mesh |= m->geom_type[geom[j]] == ABUT_GEOM_MESH;
      if (i >= kind_pair[TERM_longrange]) fill_tree(m, &p->side[j]);
    }
    if (i < kind_pair[TERM_halfspace + 1]) world_plane(m, geom[1], p->normal, &p->offset);
    p->friction = o->friction >= 0 ? -1 : m->pair_friction[i]; /* an override sets every geom's */
  }
}
