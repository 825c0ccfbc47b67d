/* separate.c: shapes that touch or overlap at the start of a rollout are moved apart by the smallest joint
 * motion that gives every pair its gap. Rows J of "this point clears that plane" are linearised a few times;
 * each time min |d|^2, rotations times their body's radius, with J d >= missing is solved by projected
 * Gauss-Seidel on the multipliers. */
#include "batch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, SWEEPS = 400 };

/* Gaps below this part of gap0 count as touching; larger ones are a state that somebody chose. */
#define TOUCHING 0.1
/* Pairs up to this much beyond their gap take part, lest those that others push are squeezed in turn; one
 * that lacks less than this part of it in the end will do. */
#define NEARLY 1.1
#define WILL_DO 1e-3

typedef struct rows {
  int32_t n, cap, nv;
  double *j, *missing; /* [cap][nv], [cap] */
} rows;

static int rows_push(rows *r) {
  if (r->n == r->cap) {
    int32_t cap = r->cap ? 2 * r->cap : 64;
    double *j = realloc(r->j, sizeof(double) * (size_t)cap * (size_t)(r->nv + 1));
    if (j) r->j = j;
    double *m = realloc(r->missing, sizeof(double) * (size_t)cap);
    if (m) r->missing = m;
    if (!j || !m) return 0;
    r->cap = cap;
  }
  memset(r->j + (size_t)r->n * (size_t)r->nv, 0, sizeof(double) * (size_t)r->nv);
  return 1;
}

static void field_vec(const worker *w, int32_t field, int lane, double v[3]) {
  for (int c = 0; c < 3; c++) v[c] = lane_get(w, field + c, lane);
}
static void slot_vec(const worker *w, int32_t slot, int32_t field, int lane, double v[3]) {
  const abut_batch *b = w->batch;
  for (int c = 0; c < 3; c++) v[c] = elem_get(b, slot_field(w, slot, field + c), lane);
}

/* What one unit of d moves a dof by: a length, or a rotation that moves the body's far end by a length. */
static double dof_unit(const worker *w, int lane, int32_t d) {
  const step_params *p = &w->batch->params;
  double rot[3], radius = p->body_radius[p->model->dof_body[d]];
  field_vec(w, p->at.twist + 6 * d, lane, rot);
  int turns = rot[0] != 0 || rot[1] != 0 || rot[2] != 0;
  return turns ? 1 / (radius > 0 ? radius : w->batch->options.length) : 1;
}

/* Adds sign * u . (velocity of a point x of body) to row n. */
static void add_point(const worker *w, int lane, rows *r, int32_t body, const double u[3], const double x[3],
                      double sign) {
  const step_params *p = &w->batch->params;
  for (int32_t q = p->path_adr[body]; q < p->path_adr[body + 1]; q++) {
    int32_t d = p->path[q];
    double rot[3], lin[3], o[3];
    field_vec(w, p->at.twist + 6 * d, lane, rot);
    field_vec(w, p->at.twist + 6 * d + 3, lane, lin);
    field_vec(w, p->at.xpos + 3 * p->model->dof_body[d], lane, o);
    double y[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    double v[3] = {lin[0] + rot[1] * y[2] - rot[2] * y[1], lin[1] + rot[2] * y[0] - rot[0] * y[2],
                   lin[2] + rot[0] * y[1] - rot[1] * y[0]};
    r->j[(size_t)r->n * (size_t)r->nv + (size_t)d] +=
        sign * dof_unit(w, lane, d) * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
  }
}

static void world_point(const worker *w, int lane, const pair_side *s, int32_t i, double x[3]) {
  const step_params *p = &w->batch->params;
  const double *local = s->points + 3 * i;
  for (int c = 0; c < 3; c++) {
    double row[3];
    field_vec(w, p->at.xmat + 9 * s->body + 3 * c, lane, row);
    x[c] = lane_get(w, p->at.xpos + 3 * s->body + c, lane) + row[0] * local[0] + row[1] * local[1] +
           row[2] * local[2];
  }
}

/* How far beyond the wanted gap to aim, so that rounding of poses does not leave it just short. */
static double surplus(const abut_batch *b) { return b->options.dtype == ABUT_F64 ? 1e-7 : 2e-3; }

/* Rows of one pair: every point of either side that is hardly farther than gap0 from the other side's support
 * plane. */
static int push_pair(const worker *w, int lane, int32_t slot, double gap0, rows *r) {
  const step_params *p = &w->batch->params;
  const pair_info *pair = &p->pairs[w->g.slot_pair[slot]];
  double u[3], support[2][3];
  slot_vec(w, slot, p->slot_at.plane, lane, u);
  slot_vec(w, slot, p->slot_at.plane + 3, lane, support[0]);
  slot_vec(w, slot, p->slot_at.plane_t, lane, support[1]);
  for (int j = 0; j < 2; j++) {
    const pair_side *s = &pair->side[j], *other = &pair->side[1 - j];
    const double *plane = support[1 - j];
    double sign = j ? -1 : 1;
    for (int32_t i = 0; i < s->pointnum; i++) {
      double x[3];
      world_point(w, lane, s, i, x);
      double gap =
          sign * (u[0] * (x[0] - plane[0]) + u[1] * (x[1] - plane[1]) + u[2] * (x[2] - plane[2])) - s->radius;
      if (gap >= NEARLY * gap0) continue;
      if (!rows_push(r)) return 0;
      if (s->moves) add_point(w, lane, r, s->body, u, x, sign);
      if (other->moves) add_point(w, lane, r, other->body, u, plane, -sign);
      r->missing[r->n++] = (1 + surplus(w->batch)) * gap0 - gap;
    }
  }
  return 1;
}

/* d = J^T lambda, lambda >= 0 complementary to J d - missing >= 0. */
static int solve_rows(const rows *r, double accuracy, double *d) {
  double *lambda = calloc((size_t)r->n + 1, sizeof *lambda);
  if (!lambda) return 0;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double change = 0;
    for (int32_t i = 0; i < r->n; i++) {
      const double *j = r->j + (size_t)i * (size_t)r->nv;
      double jj = 1e-300, jd = 0;
      for (int32_t c = 0; c < r->nv; c++) {
        jj += j[c] * j[c];
        jd += j[c] * d[c];
      }
      double next = fmax(0, lambda[i] + 1.5 * (r->missing[i] - jd) / jj), step = next - lambda[i];
      lambda[i] = next;
      for (int32_t c = 0; c < r->nv && step != 0; c++) d[c] += j[c] * step;
      change = fmax(change, fabs(step) * sqrt(jj));
    }
    if (change < accuracy) break;
  }
  free(lambda);
  return 1;
}

/* Separations at the start: the gap that each slot must end with, what touches, and the pair that lacks most
 * of its gap. */
typedef struct start_gaps {
  double *want;
  int touching;
  double deepest; /* largest motion that a touching pair needs of each of its moving bodies (m) */
  int32_t pair;
} start_gaps;

static void find_touching(const worker *w, int lane, start_gaps *start) {
  const abut_batch *b = w->batch;
  double gap0 = b->options.gap0;
  for (int32_t i = 0; i < w->g.nslot; i++) {
    int32_t s = w->g.order[i];
    double gap = elem_get(b, slot_field(w, s, b->params.slot_at.gap), lane);
    int touch = (w->g.slot_on[s] & (1u << lane)) && gap <= TOUCHING * gap0;
    start->want[s] = touch ? gap0 : fmin(gap, gap0);
    start->touching |= touch;
    const pair_info *pair = &b->params.pairs[w->g.slot_pair[s]];
    double share = (gap0 - gap) / (pair->side[0].moves && pair->side[1].moves ? 2 : 1);
    if (!touch || share <= start->deepest) continue;
    start->deepest = share;
    start->pair = w->g.slot_pair[s];
  }
}

/* Every pair near the lane's pose (qpos_t) takes part, at each round: motion may bring others near. */
static int list_pairs(worker *w, int lane) {
  const abut_batch *b = w->batch;
  w->g.live = 1u << lane;
  b->kernels->begin(&b->params, &w->g);
  b->kernels->boxes(&b->params, &w->g, 0);
  for (int32_t p = 0; p < b->model->npair; p++)
    if ((w->g.pair_want[p] >> lane & 1) && slot_acquire(w, p, 1u << lane, 0) < 0) return 0;
  slots_order(w);
  return 1;
}

int separate_lane(worker *w, int lane, double *moved, int32_t *culprit) {
  abut_batch *b = w->batch;
  const step_params *p = &b->params;
  const abut_model *m = b->model;
  double *d = calloc((size_t)m->nv + 1, sizeof *d), *origin = calloc(3 * (size_t)m->nbody, sizeof *origin),
         *qpos = calloc((size_t)m->nq + 1, sizeof *qpos);
  start_gaps start = {calloc((size_t)w->g.capacity + 1, sizeof *start.want), 0, 0, -1};
  rows r = {0, 0, m->nv, NULL, NULL};
  int ok = d && origin && qpos && start.want;
  double lacking = 0; /* largest part of its gap that a pair is short of */
  double limit = b->options.max_separation * fmax(1, m->nbody - 1); /* of a body: others may push it on */
  *moved = 0;
  for (int32_t i = 0; ok && i < m->nq; i++) qpos[i] = lane_get(w, p->at.qpos_t + i, lane);
  for (int32_t s = 0; start.want && s < w->g.capacity; s++) start.want[s] = b->options.gap0;
  for (int round = 0; ok && round < ROUNDS; round++) {
    if (!list_pairs(w, lane)) break;
    b->kernels->gaps(p, &w->g);
    for (int32_t i = 0; round == 0 && i < 3 * m->nbody; i++) origin[i] = lane_get(w, p->at.xpos + i, lane);
    if (round == 0) find_touching(w, lane, &start);
    *culprit = start.pair;
    if (!start.touching) break;
    double worst = 0;
    for (int32_t i = 0; i < 3 * m->nbody; i++)
      worst = fmax(worst, fabs(lane_get(w, p->at.xpos + i, lane) - origin[i]));
    *moved = fmax(*moved, worst);
    r.n = 0;
    lacking = 0;
    for (int32_t i = 0; ok && i < w->g.nslot; i++) {
      int32_t s = w->g.order[i];
      double gap = elem_get(b, slot_field(w, s, p->slot_at.gap), lane);
      if (!(w->g.slot_on[s] & (1u << lane)) || gap >= NEARLY * start.want[s]) continue;
      lacking = fmax(lacking, 1 - gap / start.want[s]);
      ok = push_pair(w, lane, s, start.want[s], &r);
    }
    if (lacking <= 0 || round == ROUNDS - 1 || *moved > limit || start.deepest > b->options.max_separation)
      break;
    memset(d, 0, sizeof *d * (size_t)m->nv);
    ok = ok && solve_rows(&r, 1e-9 * b->options.gap0, d);
    for (int32_t i = 0; i < m->nv; i++) lane_set(w, p->at.rhs + i, lane, dof_unit(w, lane, i) * d[i]);
    b->kernels->displace(p, &w->g);
  }
  int apart = ok && lacking <= WILL_DO && *moved <= limit && start.deepest <= b->options.max_separation;
  for (int32_t i = 0; qpos && !apart && i < m->nq; i++) lane_set(w, p->at.qpos_t + i, lane, qpos[i]);
  if (!apart) *moved = 0;
  free(r.j);
  free(r.missing);
  free(qpos);
  free(d);
  free(origin);
  free(start.want);
  return apart;
}
