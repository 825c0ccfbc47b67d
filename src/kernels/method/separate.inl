/* separate.inl: shapes that touch or overlap at the start of a rollout are moved apart by the smallest joint
 * motion that gives every pair its gap. Rows J of "this point clears that plane" are linearised a few times;
 * each time min |d|^2, rotations times their body's radius, with J d >= missing is solved by projected
 * Gauss-Seidel on the multipliers. Rare, serial, lane by lane and in double: for the team's leader.
 *
 * Fields of its own (push_*, given_*) keep what must last from round to round, while other lanes are at their
 * steps. */

enum { SEPARATE_ROUNDS = 20, SEPARATE_SWEEPS = 400 };
enum { ROW_ON, ROW_MISSING, ROW_LAMBDA, ROW };

/* Gaps below this part of gap0 count as touching; larger ones are a state that somebody chose. */
#define TOUCHING 0.1
/* Pairs up to this much beyond their gap take part, lest those that others push are squeezed in turn; one
 * that lacks less than this part of it in the end will do. */
#define NEARLY 1.1
#define WILL_DO 1e-3
/* How far beyond the wanted gap to aim, so that rounding of poses does not leave it just short. */
#define SURPLUS (ABUT_REAL == 64 ? 1e-7 : 2e-3)

FN double dmin(double a, double b) { return a < b ? a : b; }
FN double dmax(double a, double b) { return a > b ? a : b; }
FN double dabs(double a) { return a < 0 ? -a : a; }
FN double ddot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
FN void lane_vec(const real *p, int i, int lane, double v[3]) {
  for (int c = 0; c < 3; c++) v[c] = LANE(p, i + c, lane);
}

/* What one unit of d moves a dof by: a length, or a rotation that moves the body's far end by a length. */
FN double dof_unit(const step_params *k, const real *w, int lane, int32_t d) {
  double rot[3], radius = k->body_radius[k->model->dof_body[d]];
  lane_vec(W(twist), 6 * d, lane, rot);
  int turns = rot[0] != 0 || rot[1] != 0 || rot[2] != 0;
  return turns ? 1 / (radius > 0 ? radius : k->options.implicit.length) : 1;
}

/* Adds sign * u . (velocity of a point x of body) to the row. */
FN void row_add(const step_params *k, real *w, int lane, int32_t body, const double u[3], const double x[3],
                double sign) {
  for (int32_t q = k->path_adr[body]; q < k->path_adr[body + 1]; q++) {
    int32_t d = k->path[q];
    double rot[3], lin[3], o[3];
    lane_vec(W(twist), 6 * d, lane, rot);
    lane_vec(W(twist), 6 * d + 3, lane, lin);
    lane_vec(W(xpos), 3 * k->model->dof_body[d], lane, o);
    double y[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    double v[3] = {lin[0] + rot[1] * y[2] - rot[2] * y[1], lin[1] + rot[2] * y[0] - rot[0] * y[2],
                   lin[2] + rot[0] * y[1] - rot[1] * y[0]};
    LANE(W(push_row), d, lane) =
        (elem)(LANE(W(push_row), d, lane) + sign * dof_unit(k, w, lane, d) * ddot(u, v));
  }
}

/* One side of a slot: the shape whose points must clear the plane through the other's support. */
typedef struct push_side {
  const pair_side *own, *other;
  double u[3], plane[3], sign;
  real *points; /* ROW_* of the side's points */
} push_side;

FN push_side push_side_at(const step_params *k, real *slots, int s, int lane, const pair_info *pair, int j) {
  push_side p;
  p.own = &pair->side[j];
  p.other = &pair->side[1 - j];
  p.sign = j ? -1 : 1;
  lane_vec(SLOT_AT(s, push_u), 0, lane, p.u);
  lane_vec(SLOT_AT(s, push_support), j ? 0 : 3, lane, p.plane);
  p.points = SLOT_AT(s, push_point) + (j ? ROW * pair->side[0].pointnum * LANE_STRIDE : 0);
  return p;
}

FN void push_point(const step_params *k, const real *w, int lane, const push_side *p, int32_t i,
                   double x[3]) {
  const double *local = p->own->points + 3 * i;
  for (int c = 0; c < 3; c++) {
    double row[3];
    lane_vec(W(xmat), 9 * p->own->body + 3 * c, lane, row);
    x[c] =
        LANE(W(xpos), 3 * p->own->body + c, lane) + row[0] * local[0] + row[1] * local[1] + row[2] * local[2];
  }
}

/* Rows of one side: every point that is hardly farther than its gap from the other side's support plane. */
FN void push_rows(const step_params *k, const real *w, int lane, const push_side *p, double want) {
  for (int32_t i = 0; i < p->own->pointnum; i++) {
    double x[3];
    push_point(k, w, lane, p, i, x);
    double y[3] = {x[0] - p->plane[0], x[1] - p->plane[1], x[2] - p->plane[2]};
    double gap = p->sign * ddot(p->u, y) - p->own->radius;
    LANE(p->points, ROW * i + ROW_ON, lane) = gap < NEARLY * want;
    LANE(p->points, ROW * i + ROW_MISSING, lane) = (elem)((1 + SURPLUS) * want - gap);
    LANE(p->points, ROW * i + ROW_LAMBDA, lane) = 0;
  }
}

/* One projected Gauss-Seidel step on the rows of one side. Returns the square of the largest change (m^2). */
FN double push_sweep(const step_params *k, real *w, int lane, const push_side *p) {
  int32_t nv = k->model->nv;
  double change = 0;
  for (int32_t i = 0; i < p->own->pointnum; i++) {
    if (LANE(p->points, ROW * i + ROW_ON, lane) == 0) continue;
    double x[3], jj = 1e-300, jd = 0, old = LANE(p->points, ROW * i + ROW_LAMBDA, lane);
    push_point(k, w, lane, p, i, x);
    lane_zero(W(push_row), lane, nv);
    if (p->own->moves) row_add(k, w, lane, p->own->body, p->u, x, p->sign);
    if (p->other->moves) row_add(k, w, lane, p->other->body, p->u, p->plane, -p->sign);
    for (int32_t c = 0; c < nv; c++) {
      double j = LANE(W(push_row), c, lane);
      jj += j * j;
      jd += j * LANE(W(push_step), c, lane);
    }
    double next = dmax(0, old + 1.5 * (LANE(p->points, ROW * i + ROW_MISSING, lane) - jd) / jj);
    double step = next - old;
    LANE(p->points, ROW * i + ROW_LAMBDA, lane) = (elem)next;
    for (int32_t c = 0; c < nv && step != 0; c++)
      LANE(W(push_step), c, lane) = (elem)(LANE(W(push_step), c, lane) + LANE(W(push_row), c, lane) * step);
    change = dmax(change, step * step * jj);
  }
  return change;
}

/* d = J^T lambda, lambda >= 0 complementary to J d - missing >= 0; then the joints' motion into rhs. */
KERNEL void push_solve(const step_params *k, lane_group *g, int lane) {
  STAGE_LOCALS
  double accuracy = 1e-9 * k->options.implicit.gap0;
  lane_zero(W(push_step), lane, k->model->nv);
  for (int sweep = 0; sweep < SEPARATE_SWEEPS; sweep++) {
    double change = 0;
    for (int32_t i = 0; i < g->nslot; i++) {
      int32_t s = g->order[i];
      if (!(g->slot_on[s] >> lane & 1u) || LANE(SLOT_AT(s, push_on), 0, lane) == 0) continue;
      for (int j = 0; j < 2; j++) {
        push_side p = push_side_at(k, slots, s, lane, &k->pairs[g->slot_pair[s]], j);
        change = dmax(change, push_sweep(k, w, lane, &p));
      }
    }
    if (change < accuracy * accuracy) break;
  }
  for (int32_t d = 0; d < k->model->nv; d++)
    LANE(W(rhs), d, lane) = (elem)(dof_unit(k, w, lane, d) * LANE(W(push_step), d, lane));
}

/* First round: the gap that each slot must end with, and of the pairs that touch the one that lacks most. */
FN void find_touching(const step_params *k, lane_group *g, int lane) {
  STAGE_LOCALS
  for (int32_t i = 0; i < 3 * k->model->nbody; i++) LANE(W(given_xpos), i, lane) = LANE(W(xpos), i, lane);
  for (int32_t i = 0; i < g->nslot; i++) {
    int32_t s = g->order[i];
    const pair_info *pair = &k->pairs[g->slot_pair[s]];
    if (!(g->slot_on[s] >> lane & 1u)) continue;
    double gap = LANE(SLOT_AT(s, gap), 0, lane);
    int touch = gap <= TOUCHING * k->options.implicit.gap0;
    LANE(SLOT_AT(s, push_want), 0, lane) =
        (elem)(touch ? k->options.implicit.gap0 : dmin(gap, k->options.implicit.gap0));
    double share = (k->options.implicit.gap0 - gap) / (pair->side[0].moves && pair->side[1].moves ? 2 : 1);
    if (!touch || share <= own(g)->deepest[lane]) continue;
    own(g)->deepest[lane] = share;
    g->culprit[lane] = g->slot_pair[s];
  }
}

/* Rows of every pair that takes part. Returns the largest part of its gap that a pair lacks. */
FN double push_list(const step_params *k, lane_group *g, int lane) {
  STAGE_LOCALS
  double lacking = 0;
  for (int32_t i = 0; i < g->nslot; i++) {
    int32_t s = g->order[i];
    if (!(g->slot_on[s] >> lane & 1u)) continue;
    double gap = LANE(SLOT_AT(s, gap), 0, lane), want = LANE(SLOT_AT(s, push_want), 0, lane);
    LANE(SLOT_AT(s, push_on), 0, lane) = gap < NEARLY * want;
    if (gap >= NEARLY * want) continue;
    lacking = dmax(lacking, 1 - gap / want);
    for (int j = 0; j < 2; j++) {
      push_side p = push_side_at(k, slots, s, lane, &k->pairs[g->slot_pair[s]], j);
      push_rows(k, w, lane, &p, want);
    }
  }
  return lacking;
}

/* One round: returns whether the lane is to be displaced by rhs and looked at again. */
FN int separate_round(const step_params *k, lane_group *g, int lane) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  int round = own(g)->rounds[lane]++;
  double limit = k->options.implicit.max_separation *
                 (m->nbody > 2 ? m->nbody - 1 : 1); /* of a body: others may push it on */
  if (round == 0) find_touching(k, g, lane);
  if (g->culprit[lane] < 0) return 0;
  for (int32_t i = 0; i < 3 * m->nbody; i++)
    g->moved[lane] = dmax(g->moved[lane], dabs(LANE(W(xpos), i, lane) - LANE(W(given_xpos), i, lane)));
  double lacking = push_list(k, g, lane);
  int within = g->moved[lane] <= limit && own(g)->deepest[lane] <= k->options.implicit.max_separation;
  if (lacking > 0 && within && round < SEPARATE_ROUNDS - 1) {
    push_solve(k, g, lane);
    return 1;
  }
  if (within && lacking <= WILL_DO) return 0;
  g->status[lane] |= ABUT_ENV_OVERLAP; /* and nothing moves */
  g->moved[lane] = 0;
  for (int32_t i = 0; i < m->nq; i++) LANE(W(qpos_t), i, lane) = LANE(W(given_qpos), i, lane);
  return 0;
}

/* The pose as it was given: it comes back where shapes cannot be moved apart. */
FN void separate_open(const step_params *k, lane_group *g, int lane) {
  STAGE_LOCALS
  own(g)->rounds[lane] = 0;
  own(g)->deepest[lane] = 0;
  for (int32_t i = 0; i < k->model->nq; i++) LANE(W(given_qpos), i, lane) = LANE(W(qpos_t), i, lane);
}

/* Every pair near the lane's pose takes part, at each round: motion may bring others near. */
KERNEL void stage_separate_list(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  if (!LEADER) return;
  for (int32_t p = 0; p < k->model->npair; p++) {
    LANE_LOOP(lane, g->pair_want[p] & g->live) {
      int32_t s = g->pair_slot[p];
      if (s >= 0 && (g->slot_on[s] >> lane & 1u)) continue;
      s = slot_acquire(g, io, p, 1u << lane, 0);
      if (s >= 0) LANE(SLOT_AT(s, push_want), 0, lane) = (elem)k->options.implicit.gap0;
    }
  }
  slots_order(k, g);
}

/* live: lanes that are displaced; the others open their rollout. */
KERNEL void stage_separate_push(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  uint32_t ready = 0;
  if (!LEADER) return;
  LANE_LOOP(lane, g->live) if (!separate_round(k, g, lane)) ready |= 1u << lane;
  slots_release(k, g, ready);
  SET(separating) &= ~ready;
  SET(opening) |= ready;
  g->live = SET(separating);
}
