/* implicit_start.c: overlaps of the configurations that a scene starts from: within a kinematic tree, its
 * fixed base included, the pair is left out; a tree that floats and stands in what is fixed is lifted. */
#include "host/method/implicit_start.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/model/dynamics.h"
#include "host/model/model.h"
#include "kernels/shape/overlap.h"
#include <stdlib.h>

/* Parts of gap0 below which shapes count as touching, as separate.inl has it. */
static const double touching = 0.1;
enum { HALVINGS = 40, DOUBLINGS = 60 };

/* One configuration: poses, and who hangs on whom. */
typedef struct stand {
  const abut_model *model;
  step_params *params;
  model_pose pose;
  double *qpos;
  text_lines *notes;
} stand;

/* The child of the world from which a body hangs; 0 for the world. */
static int32_t tree_of(const abut_model *m, int32_t body) {
  while (m->body_parent[body] > 0) body = m->body_parent[body];
  return body;
}

static int floats(const abut_model *m, int32_t body) {
  const int32_t tree = tree_of(m, body);
  return tree > 0 && m->body_jntnum[tree] > 0 && m->jnt_type[m->body_jntadr[tree]] == ABUT_JOINT_FREE;
}

/* What others place (mocap) may go anywhere. */
static int is_fixed(const abut_model *m, int32_t body) {
  return m->body_weldid[body] == 0 && m->body_mocapid[tree_of(m, body)] < 0;
}

/* Of one tree, or of a tree that is fixed to the world and what is fixed there. */
static int related(const abut_model *m, int32_t a, int32_t b) {
  if (tree_of(m, a) == tree_of(m, b)) return 1;
  return is_fixed(m, a) ? !floats(m, b) : is_fixed(m, b) && !floats(m, a);
}

static placed_hull hull_at(const stand *s, const pair_side *side, double lift) {
  placed_hull h = {.points = side->points, .num = side->pointnum, .radius = side->radius};
  memcpy(h.x, s->pose.xpos + 3 * (size_t)side->body, sizeof h.x);
  quat_matrix(h.rotation, s->pose.xquat + 4 * (size_t)side->body);
  if (floats(s->model, side->body)) h.x[2] += lift;
  return h;
}

/* Cheap bound of how far apart two hulls are. */
static double sphere_gap(const placed_hull *a, const placed_hull *b) {
  const placed_hull *hulls[2] = {a, b};
  double centre[2][3], reach = 0;
  for (int i = 0; i < 2; i++) {
    const placed_hull *h = hulls[i];
    double far = 0;
    memcpy(centre[i], h->x, sizeof centre[i]);
    for (int32_t k = 0; k < h->num; k++) far = fmax(far, dot3(h->points + 3 * k, h->points + 3 * k));
    reach += sqrt(far) + h->radius;
  }
  for (int k = 0; k < 3; k++) centre[0][k] -= centre[1][k];
  return sqrt(dot3(centre[0], centre[0])) - reach;
}

/* Distance of a pair's shapes, with what floats lifted so much. Two that are lifted alike must not be asked.
 */
static placed_gap pair_gap(const stand *s, int32_t pair, double lift) {
  const pair_info *p = s->params->pairs + pair;
  const placed_hull a = hull_at(s, &p->side[0], lift);
  if (p->side[1].pointnum == 0) return overlap_plane_gap(&a, p->normal, p->offset);
  const placed_hull b = hull_at(s, &p->side[1], lift);
  const double bound = sphere_gap(&a, &b);
  return bound > 0 ? (placed_gap){.gap = bound}
                   : overlap_gap(&a, &b, 2 * s->params->options.implicit.max_separation);
}

/* Speed along the normal of a body's point, per unit of a dof; the largest. */
static double largest_speed(const stand *s, int32_t body, const placed_gap *at) {
  double largest = 0;
  for (int32_t i = s->params->path_adr[body]; i < s->params->path_adr[body + 1]; i++) {
    const double *motion = s->pose.motion + 6 * (size_t)s->params->path[i];
    const double *centre = s->pose.centre + 3 * (size_t)body;
    const double arm[3] = {at->point[0] - centre[0], at->point[1] - centre[1], at->point[2] - centre[2]};
    double swing[3];
    cross3(swing, motion, arm);
    largest = fmax(largest, fabs(dot3(at->normal, swing) + dot3(at->normal, motion + 3)));
  }
  return largest;
}

/* Whether a tree that is fixed to the world can be moved out of what is fixed there, by little. */
static int yields(const stand *s, int32_t pair, const placed_gap *at) {
  const abut_implicit_options *o = &s->params->options.implicit;
  const int32_t a = s->params->pairs[pair].side[0].body, b = s->params->pairs[pair].side[1].body;
  if (!is_fixed(s->model, a) && !is_fixed(s->model, b)) return 0;
  return o->gap0 - at->gap <= o->max_separation &&
         fmax(largest_speed(s, a, at), largest_speed(s, b, at)) > 1e-6;
}

static abut_status leave_out(stand *s, int32_t pair, double gap) {
  const abut_model *m = s->model;
  pair_info *p = (pair_info *)s->params->pairs + pair;
  char a[LABEL_SIZE], b[LABEL_SIZE], of_a[LABEL_SIZE], of_b[LABEL_SIZE];
  model_label(m, 'g', p->side[0].geom, a);
  model_label(m, 'g', p->side[1].geom, b);
  model_label(m, 'b', p->side[0].body, of_a);
  model_label(m, 'b', p->side[1].body, of_b);
  if (s->params->options.implicit.overlap == ABUT_OVERLAP_REFUSE)
    return fail_with(ABUT_ERROR_MODEL, "%s of %s and %s of %s overlap by %.3g m where the scene starts", a,
                     of_a, b, of_b, gap < 0 ? -gap : 0.0);
  p->off = 1;
  return text_line(s->notes,
                   "%s of %s and %s of %s overlap by %.3g m where the scene starts: they do not collide", a,
                   of_a, b, of_b, gap < 0 ? -gap : 0.0);
}

static abut_status find_overlaps(stand *s) {
  const abut_model *m = s->model;
  const double least = touching * s->params->options.implicit.gap0;
  for (int32_t i = 0; i < m->npair; i++) {
    const pair_info *p = s->params->pairs + i;
    if (p->off || !related(m, p->side[0].body, p->side[1].body)) continue;
    const placed_gap at = pair_gap(s, i, 0);
    if (at.gap <= least && !yields(s, i, &at)) ATTEMPT(leave_out(s, i, at.gap));
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------- lifting */

/* A pair of a tree that floats with something fixed. */
static int stands_on(const stand *s, int32_t pair, int32_t tree) {
  const abut_model *m = s->model;
  const int32_t a = s->params->pairs[pair].side[0].body, b = s->params->pairs[pair].side[1].body;
  return (is_fixed(m, a) && tree_of(m, b) == tree) || (is_fixed(m, b) && tree_of(m, a) == tree);
}

/* Smallest gap of the tree to what is fixed when it is lifted; *worst: the pair. */
static double tree_gap(const stand *s, int32_t tree, double lift, int32_t *worst) {
  double least = INFINITY;
  for (int32_t i = 0; i < s->model->npair; i++) {
    if (s->params->pairs[i].off || !stands_on(s, i, tree)) continue;
    const double gap = pair_gap(s, i, lift).gap;
    if (gap < least) least = gap, *worst = i;
  }
  return least;
}

/* The lowest height at which nothing fixed is in the way, for a tree that stands in it too deep to be moved
 * apart as shapes that touch are. */
static abut_status lift_tree(stand *s, int32_t tree) {
  const abut_model *m = s->model;
  const abut_implicit_options *o = &s->params->options.implicit;
  int32_t worst = -1, ignored;
  const double deepest = tree_gap(s, tree, 0, &worst);
  if (o->gap0 - deepest <= o->max_separation) return ABUT_OK;
  char a[LABEL_SIZE], b[LABEL_SIZE];
  const pair_side *side = s->params->pairs[worst].side;
  model_label(m, 'b', tree, a);
  model_label(m, 'g', is_fixed(m, side[0].body) ? side[0].geom : side[1].geom, b);
  if (o->overlap == ABUT_OVERLAP_REFUSE)
    return fail_with(ABUT_ERROR_MODEL, "%s stands in %s by %.3g m where the scene starts", a, b, -deepest);
  double low = 0, high = o->gap0 - deepest;
  int tries = 0;
  while (tree_gap(s, tree, high, &ignored) < o->gap0 && tries++ < DOUBLINGS) low = high, high *= 2;
  for (int i = 0; i < HALVINGS; i++) {
    const double middle = 0.5 * (low + high);
    if (tree_gap(s, tree, middle, &ignored) < o->gap0)
      low = middle;
    else
      high = middle;
  }
  s->qpos[m->jnt_qposadr[m->body_jntadr[tree]] + 2] += high;
  return text_line(s->notes, "%s stands in %s where the scene starts: it is lifted by %.3g m", a, b, high);
}

static abut_status look_at(stand *s) {
  const abut_model *m = s->model;
  ATTEMPT(find_overlaps(s));
  for (int32_t b = 1; b < m->nbody; b++)
    if (m->body_parent[b] == 0 && floats(m, b)) ATTEMPT(lift_tree(s, b));
  return ABUT_OK;
}

abut_status implicit_start(const abut_model *m, step_params *params, double *starts, int32_t rows,
                           text_lines *notes) {
  if (params->options.implicit.overlap == ABUT_OVERLAP_SEPARATE) return ABUT_OK;
  for (int32_t i = 0; i < rows; i++) {
    stand s = {.model = m, .params = params, .qpos = starts + (size_t)i * (size_t)m->nq, .notes = notes};
    ATTEMPT(model_pose_make(m, s.qpos, &s.pose));
    abut_status status = look_at(&s);
    model_pose_free(&s.pose);
    if (status != ABUT_OK) return status;
  }
  return ABUT_OK;
}
