/* implicit.inl: the stages of the implicit step that compute, in the order in which the host's list of them
 * has them (host/method/implicit.c). A stage works for the lanes in g->live and leaves every other lane's
 * state untouched. What pairs of shapes contribute is the terms' (term/); here are the loops over their
 * slots. */

/* Normalises quaternions, places bodies at q and q-, and starts the iterate at q. */
KERNEL void stage_begin(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  if (!LEADER) return;
  int nb = m->nbody;
  integrate(k, W(qpos_t), W(qvel), zero(), 1, W(qpos_try)); /* normalises */
  copy_sel(W(qpos_t), W(qpos_try), m->nq, live);
  copy_sel(W(qpos), W(qpos_try), m->nq, live);
  kinematics(k, w, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  copy_sel(W(xpos_t), W(xpos_try), 3 * nb, live);
  copy_sel(W(xmat_t), W(xmat_try), 9 * nb, live);
  copy_sel(W(xpos), W(xpos_try), 3 * nb, live);
  copy_sel(W(xmat), W(xmat_try), 9 * nb, live);
  integrate(k, W(qpos_t), W(qvel), splat(K(-k->options.timestep)), 1, W(qpos_try));
  kinematics(k, w, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  for (int i = 0; i < 3 * nb; i++)
    AT(W(xpos_hat), i) =
        sel(live, AT(W(xpos_t), i) + (AT(W(xpos_t), i) - AT(W(xpos_try), i)), AT(W(xpos_hat), i));
  for (int i = 0; i < 9 * nb; i++)
    AT(W(xmat_hat), i) =
        sel(live, AT(W(xmat_t), i) + (AT(W(xmat_t), i) - AT(W(xmat_try), i)), AT(W(xmat_hat), i));
  if (m->ntendon) tendons_begin(k, w, live);
  integrate(k, W(qpos_t), W(qvel), splat(K(k->options.timestep)), 1, W(qpos_try));
  copy_sel(W(qpos_hat), W(qpos_try), m->nq, live);
  fill(W(arc), nb, zero());
  AT(W(convex), 0) = sel(live, zero(), AT(W(convex), 0));
  AT(W(idle), 0) = sel(live, splat(ELEM_HUGE), AT(W(idle), 0));
}

/* Bounding box of geom i at a body pose. */
FN void geom_bounds(const step_params *k, int i, mat3 r, vec3 x, vec3 *lo, vec3 *hi) {
  const double *box = k->geom_box + 6 * i;
  vec3 c = add(mat_vec(r, vec_splat(box)), x), h = vec_splat(box + 3);
  vec3 e = vec(dot(vec(rabs(r.r0.x), rabs(r.r0.y), rabs(r.r0.z)), h),
               dot(vec(rabs(r.r1.x), rabs(r.r1.y), rabs(r.r1.z)), h),
               dot(vec(rabs(r.r2.x), rabs(r.r2.y), rabs(r.r2.z)), h));
  *lo = sub(c, e);
  *hi = add(c, e);
}

/* Pairs of a term whose boxes meet. */
#define LIST_MEETING(x, term)                                                                                \
  for (int p = k->kind_pair[TERM_##term] + TEAM_RANK; p < k->kind_pair[TERM_##term + 1]; p += ABUT_TEAM) {   \
    const pair_info *pair = &k->pairs[p];                                                                    \
    const real *a = &AT(W(box), 6 * pair->side[0].geom), *b = &AT(W(box), 6 * pair->side[1].geom);           \
    g->pair_want[p] = pair->off ? 0 : bits_from_mask(mask_and(term##_meets(pair, a, b), live));              \
  }

/* Boxes of every geom around the iterate and the pose ahead (at a step's start: where inertia and gravity
 * lead; else the trial), grown by reach and slack; then the pairs whose boxes meet. Complete as long as the
 * trial's bounds stay inside the boxes. */
FN void find_boxes(const step_params *k, lane_group *g, int ahead_is_trial) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  vec3 fall = scale(splat(K(k->options.timestep * k->options.timestep)), get_vec(W(gravity)));
  elem reach = K(barrier_range(step_barrier(k), k->options.implicit.reach, k->options.implicit.length));
  TEAM_FOR(i, m->ngeom) {
    int b = m->geom_body[i];
    vec3 lo, hi, lo2, hi2;
    if (m->geom_pointnum[i] == 0) continue;
    mat3 r2 = get_mat(&AT(ahead_is_trial ? W(xmat_try) : W(xmat_hat), 9 * b));
    vec3 x2 = get_vec(&AT(ahead_is_trial ? W(xpos_try) : W(xpos_hat), 3 * b));
    if (!ahead_is_trial && m->body_weldid[b] != 0) x2 = add(x2, fall);
    geom_bounds(k, i, get_mat(&AT(W(xmat), 9 * b)), get_vec(&AT(W(xpos), 3 * b)), &lo, &hi);
    geom_bounds(k, i, r2, x2, &lo2, &hi2);
    vec3 travel = vec_max(sub(hi2, hi), sub(lo, lo2));
    real grow = K(0.125) * AT(W(arc), b) + K(2) * reach + K(0.25) * max_abs(travel);
    vec3 margin = vec(grow, grow, grow);
    real *box = &AT(W(box), 6 * i);
    lo = sub(vec_min(lo, lo2), margin);
    hi = add(vec_max(hi, hi2), margin);
    if (ahead_is_trial) { /* only grow within a step, so that trials cannot leave for ever */
      lo = vec_min(lo, get_vec(box));
      hi = vec_max(hi, get_vec(&AT(box, 3)));
    }
    put_vec_sel(box, live, lo);
    put_vec_sel(&AT(box, 3), live, hi);
  }
  TEAM_SYNC();
  TERMS(LIST_MEETING, )
}
#undef LIST_MEETING

KERNEL void stage_boxes(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  find_boxes(k, g, 0);
}
KERNEL void stage_boxes_trial(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  find_boxes(k, g, 1);
}

/* ---------------------------------------------------------------- terms */

/* Slots s of a term in which lanes `on` are live, in order, dealt out to the team or left to its leader. */
#define TERM_SLOTS(term, s, on)                                                                              \
  for (int i = own(g)->term_slot[TERM_##term] + (term##_dealt ? TEAM_RANK : 0), s = 0;                       \
       i < own(g)->term_slot[TERM_##term + 1] && (term##_dealt || LEADER);                                   \
       i += term##_dealt ? ABUT_TEAM : 1)                                                                    \
    for (uint32_t on = slot_lanes(g, i, &s); on; on = 0)
FN uint32_t slot_lanes(lane_group *g, int i, int *s) {
  *s = g->order[i];
  return g->slot_on[*s] & g->live;
}
/* A pair needs all registers of a GPU's thread. */
#define FREE_REGISTERS()                                                                                     \
  do {                                                                                                       \
    IN_MEMORY(&g);                                                                                           \
    IN_MEMORY(&io);                                                                                          \
    IN_MEMORY(&i);                                                                                           \
    IN_MEMORY(&s);                                                                                           \
  } while (0)
/* Whether a term is ready: its leader has prepared it, or the others need not know. */
#define TERM_READY(term, when) (!LEADER || term##_prepare(k, g, io, when))

/* New pairs of this group: first planes, at the iterate. */
#define START(verb, term)                                                                                    \
  KERNEL void stage_start_##term(const step_params *k, lane_group *g, program_io *io) {                      \
    (void)io;                                                                                                \
    TERM_SLOTS(term, s, on) {                                                                                \
      mask fresh = mask_from_bits(g->slot_new[s]);                                                           \
      (void)on;                                                                                              \
      if (g->slot_new[s]) g->slot_new[s] = term##_start(k, g, s, fresh);                                     \
    }                                                                                                        \
  }
/* What is lagged, of every pair of the lanes that begin a step. */
#define BEGIN(verb, term)                                                                                    \
  KERNEL void stage_begin_##term(const step_params *k, lane_group *g, program_io *io) {                      \
    if (!TERM_READY(term, TERM_BEGIN)) return;                                                               \
    TERM_SLOTS(term, s, on) term##_begin(k, g, s, mask_from_bits(on), io->exact);                            \
  }
/* Every pair's energy, forces and blocks; then their sums, in the order of slots. A CPU adds a pair at once,
 * while it is in the cache. */
#define EVALUATE(verb, term)                                                                                 \
  KERNEL void stage_evaluate_##term(const step_params *k, lane_group *g, program_io *io) {                   \
    int ready = TERM_READY(term, TERM_EVALUATE);                                                             \
    TERM_SLOTS(term, s, on) {                                                                                \
      FREE_REGISTERS();                                                                                      \
      if (ready) term##_evaluate(k, g, s, mask_from_bits(on), (g->live & ~on) == 0, io->exact);              \
      IN_MEMORY(g);                                                                                          \
      if (GATHER_AT_ONCE) pair_gather(k, g, s);                                                              \
    }                                                                                                        \
    if (GATHER_AT_ONCE) return;                                                                              \
    TEAM_SYNC();                                                                                             \
    pairs_gather(k, g, TERM_##term);                                                                         \
  }
/* Steps of the pairs' own unknowns, and how far they may go. */
#define DIRECTION(verb, term)                                                                                \
  KERNEL void stage_direction_##term(const step_params *k, lane_group *g, program_io *io) {                  \
    (void)io;                                                                                                \
    TERM_SLOTS(term, s, on) term##_direction(k, g, s, mask_from_bits(on));                                   \
  }
/* Every pair's energy and certificate at the trial. */
#define TRY(verb, term)                                                                                      \
  KERNEL void stage_try_##term(const step_params *k, lane_group *g, program_io *io) {                        \
    uint32_t failed = 0;                                                                                     \
    if (!TERM_READY(term, TERM_TRY)) return;                                                                 \
    TERM_SLOTS(term, s, on) {                                                                                \
      FREE_REGISTERS();                                                                                      \
      failed = term##_try(k, g, s, mask_from_bits(on), failed);                                              \
    }                                                                                                        \
  }
#define ACCEPT(verb, term)                                                                                   \
  KERNEL void stage_accept_##term(const step_params *k, lane_group *g, program_io *io) {                     \
    (void)io;                                                                                                \
    TERM_SLOTS(term, s, on) term##_accept(k, g, s, mask_from_bits(on));                                      \
  }
/* Cotangents of what pairs put in, in the order of slots: several may add to one body. */
#define VJP(verb, term)                                                                                      \
  KERNEL void stage_vjp_##term(const step_params *k, lane_group *g, program_io *io) {                        \
    (void)io;                                                                                                \
    if (!LEADER) return;                                                                                     \
    for (int i = own(g)->term_slot[TERM_##term]; i < own(g)->term_slot[TERM_##term + 1]; i++) {              \
      uint32_t on = g->slot_on[g->order[i]] & g->live;                                                       \
      if (on) term##_vjp(k, g, g->order[i], mask_from_bits(on));                                             \
    }                                                                                                        \
  }

/* Adds what a pair's evaluation left in its slot to the environment's sums. */
FN void pair_gather(const step_params *k, lane_group *g, int s) {
  STAGE_LOCALS
  if (LEADER) {
    mask on = mask_from_bits(g->slot_on[s] & g->live);
    real residual = AT(W(residual), 0);
    AT(W(energy), 0) = AT(W(energy), 0) + AT(SLOT_AT(s, value), 0);
    AT(W(noise), 0) = AT(W(noise), 0) + AT(SLOT_AT(s, noise), 1) + AT(SLOT_AT(s, noise), 0);
    AT(W(residual), 0) = sel(on, rmax(residual, AT(SLOT_AT(s, residual), 0)), residual);
  }
  gather_slot(k, w, slots, s, g->slot_pair[s]);
  cross_slot(k, w, slots, s, g->slot_pair[s]);
}
FN void pairs_gather(const step_params *k, lane_group *g, int term) {
  for (int i = own(g)->term_slot[term]; i < own(g)->term_slot[term + 1]; i++)
    if (g->slot_on[g->order[i]] & g->live) pair_gather(k, g, g->order[i]);
}

TERMS(START, start)
TERMS(BEGIN, begin)
TERMS(EVALUATE, evaluate)
TERMS(DIRECTION, direction)
TERMS(TRY, try)
TERMS(ACCEPT, accept)
TERMS(VJP, vjp)

/* ---------------------------------------------------------------- evaluation */

FN real inertia_energy(const step_params *k, const real *w, const real *xpos, const real *xmat) {
  const abut_model *m = k->model;
  real e = zero();
  for (int b = 1; b < m->nbody; b++)
    if (m->body_weldid[b] != 0)
      e = e + inertia_value(k, w, b, get_mat(&AT(xmat, 9 * b)), get_vec(&AT(xpos, 3 * b)));
  return e;
}

/* Energy, gradient and Hessian at the iterate, the pairs' own unknowns eliminated. First: sums to zero,
 * inertia and gravity of every body; then the terms. */
KERNEL void stage_evaluate_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  if (LEADER) kinematics(k, w, W(qpos), W(xpos), W(xmat), W(xquat), W(twist));
  TEAM_SYNC();
  TEAM_FOR(b, m->nbody) {
    fill(&AT(W(body_force), 3 * b), 3, zero());
    fill(&AT(W(body_phi), 9 * b), 9, zero());
    fill(&AT(W(body_pull), 6 * b), 6, zero());
    fill(&AT(W(body_k), 21 * b), 21, zero());
    AT(W(body_noise), b) = zero();
    if (b > 0 && m->body_weldid[b] != 0) inertia_accumulate(k, w, b);
  }
  TEAM_FOR(d, m->nv) {
    AT(W(grad), d) = zero();
    fill(hess_at(W(hess), d, own(g)->envelope[d]), d - own(g)->envelope[d] + 1, zero());
  }
  TEAM_SYNC();
  if (!LEADER) return;
  real noise = zero();
  for (int b = 1; b < m->nbody; b++) noise = noise + AT(W(body_noise), b);
  AT(W(noise), 0) = noise;
  AT(W(residual), 0) = zero();
  AT(W(energy), 0) = inertia_energy(k, w, W(xpos), W(xmat));
}

/* Last: joints, then the generalised gradient and Hessian from the bodies' sums. Sets converged, and accepted
 * where all is finite. */
KERNEL void stage_evaluate_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  real energy = zero();
  (void)io;
  if (LEADER) {
    if (m->ntendon) tendons_place(k, w, W(qpos), W(xpos), W(xmat), 1);
    energy = AT(W(energy), 0) + joints_energy(k, w, W(qpos), W(grad), W(hess));
    if (m->neq) energy = energy + equalities_energy(k, w, W(qpos), W(xpos), W(xmat), W(grad), W(hess));
    if (m->ntendon) {
      energy = energy + tendons_energy(k, w);
      tendons_spread(k, w);
    }
    composite(k, w);
  }
  TEAM_SYNC();
  TEAM_FOR(d, m->nv) project_dof(k, w, d, 1);
  TEAM_SYNC();
  if (!LEADER) return;
  reduce_rhs(k, w);
  real residual = AT(W(residual), 0);
  for (int d = 0; d < m->nv; d++) {
    int j = m->dof_jnt[d], type = m->jnt_type[j];
    int turning = type == ABUT_JOINT_HINGE || type == ABUT_JOINT_BALL ||
                  (type == ABUT_JOINT_FREE && d >= m->jnt_dofadr[j] + 3);
    residual = rmax(residual, rabs(AT(W(grad), d)) * (turning ? K(1 / k->options.implicit.length) : K(1)));
  }
  AT(W(residual), 0) = residual;
  AT(W(energy), 0) = energy;
  mask sane = mask_and(is_finite(energy), is_finite(residual));
  SET(converged) =
      bits_from_mask(mask_and(live, mask_and(sane, le(residual, splat(K(k->options.tolerance))))));
  SET(accepted) = bits_from_mask(mask_and(live, sane));
}

/* Bound of |x''| over the points of body b while the joints move by t d, t in [0, 1]. x'' sums w_j x (S_k x):
 * every joint with itself, and twice with every joint k below j. S_k x grows only by what joints below k move
 * x in k's frame, so the sum runs from the leaf to the root. */
FN real arc_bound(const step_params *k, const real *w, const real *d, int b) {
  const abut_model *m = k->model;
  vec3 x = get_vec(&AT(W(xpos), 3 * b));
  real rho = splat(K(k->body_radius[b])), arc = zero(), below = zero(); /* sum of |S_k x| of joints below */
  for (int i = k->path_adr[b + 1] - 1; i >= k->path_adr[b];) {
    int j = m->dof_jnt[k->path[i]];
    vec3 rot = vec_zero(), lin = vec_zero();
    for (; i >= k->path_adr[b] && m->dof_jnt[k->path[i]] == j; i--) {
      int e = k->path[i];
      if (m->jnt_type[j] == ABUT_JOINT_FREE && e - m->jnt_dofadr[j] < 3) continue;
      twist6 s = twist_at(get_twist(&AT(W(twist), 6 * e)), sub(x, get_vec(&AT(W(xpos), 3 * m->dof_body[e]))));
      rot = axpy(AT(d, e), s.w, rot);
      lin = axpy(AT(d, e), s.v, lin);
    }
    real turn = norm(rot), speed = norm(lin) + turn * (rho + below);
    arc = arc + turn * (speed + K(2) * below);
    below = below + speed;
  }
  return arc;
}

/* From gradient and Hessian to a step of all unknowns. First: factors and solves; the step of every body,
 * bounds of its arcs; then the terms. Sets indefinite where contact terms must be made convex first: these
 * lanes leave live; exhausted where the step is below what the poses can represent. */
KERNEL void stage_direction_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  real *x = W(rhs), slope = zero(), turn = splat(K(1e-30));
  mask indefinite = factor_positive(k, w, own(g)->envelope, live);
  TEAM_FOR(d, m->nv) AT(W(grad), d) = AT(x, d); /* the gradient has served; keep the right-hand side */
  TEAM_SYNC();
  solve(k, w, own(g)->envelope, x);
  TEAM_FOR(b, m->nbody) {
    twist6 t = body_step(k, w, x, b);
    put_twist(&AT(W(body_step), 6 * b), t.w, t.v);
    AT(W(arc), b) = arc_bound(k, w, x, b);
  }
  TEAM_SYNC();
  if (!LEADER) return;
  AT(W(convex), 0) = sel(indefinite, splat(2), AT(W(convex), 0));
  SET(indefinite) = bits_from_mask(indefinite);
  g->live &= ~SET(indefinite);
  mask still = mask_from_bits(g->live);
  for (int d = 0; d < m->nv; d++) slope = slope - AT(W(grad), d) * AT(x, d);
  for (int b = 0; b < m->nbody; b++) {
    twist6 t = get_twist(&AT(W(body_step), 6 * b));
    real rho = splat(K(k->body_radius[b])), size = rho + max_abs(get_vec(&AT(W(xpos), 3 * b)));
    still = mask_and(still, le(max_abs(t.v) + rho * max_abs(t.w), K(16) * K(ELEM_EPS) * size));
    still = mask_and(still, le(max_abs(t.w), splat(K(16) * K(ELEM_EPS)))); /* rho is 0 without points */
    turn = rmax(turn, max_abs(t.w));
  }
  SET(exhausted) = bits_from_mask(still);
  AT(W(step), 0) = rmin(splat(1), splat(1) / turn); /* no body turns by more than about a radian at once */
  AT(W(slope), 0) = slope;
}

/* Last: the longest step that keeps every margin positive to first order. Sets exhausted where nothing is
 * left to gain but rounding, whatever the tolerance: where neither the energy nor a pose tells any more,
 * Newton goes on as long as it improves the gradient. */
KERNEL void stage_direction_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  real slope = AT(W(slope), 0), step = AT(W(step), 0);
  for (int i = 0; i < g->nslot; i++) {
    int s = g->order[i];
    if (!(g->slot_on[s] & g->live)) continue;
    slope = slope - AT(SLOT_AT(s, fall), 0);
    step = rmin(step, AT(SLOT_AT(s, limit), 0));
  }
  AT(W(slope), 0) = slope;
  AT(W(step), 0) = step;
  mask flat = gt(slope, -K(ELEM_EPS) * (rabs(AT(W(energy), 0)) + AT(W(noise), 0)));
  mask idle = mask_or(mask_from_bits(SET(exhausted)), flat);
  real residual = AT(W(residual), 0);
  mask stalled = mask_and(idle, gt(residual, K(0.9) * AT(W(idle), 0)));
  AT(W(idle), 0) = sel(live, sel(idle, residual, splat(ELEM_HUGE)), AT(W(idle), 0));
  SET(exhausted) = bits_from_mask(mask_and(live, stalled));
}

/* The trial at the current step length. First: poses, energy but for pairs, and whether it leaves the boxes;
 * then the terms. */
KERNEL void stage_try_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  real t = AT(W(step), 0);
  integrate(k, W(qpos), W(rhs), t, 0, W(qpos_try));
  kinematics(k, w, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  mask inside = live;
  for (int i = 0; i < m->ngeom; i++) {
    int b = m->geom_body[i];
    if (m->geom_pointnum[i] == 0 || m->body_weldid[b] == 0) continue;
    vec3 lo, hi;
    geom_bounds(k, i, get_mat(&AT(W(xmat_try), 9 * b)), get_vec(&AT(W(xpos_try), 3 * b)), &lo, &hi);
    real arc = K(0.125) * t * t * AT(W(arc), b);
    vec3 room = vec_min(sub(lo, get_vec(&AT(W(box), 6 * i))), sub(get_vec(&AT(W(box), 6 * i + 3)), hi));
    inside = mask_and(inside, ge(rmin(room.x, rmin(room.y, room.z)), arc));
  }
  SET(leaving) = bits_from_mask(mask_and(live, mask_not(inside)));
  if (m->ntendon) tendons_place(k, w, W(qpos_try), W(xpos_try), W(xmat_try), 0);
  AT(W(energy_try), 0) =
      inertia_energy(k, w, W(xpos_try), W(xmat_try)) + joints_energy(k, w, W(qpos_try), 0, 0);
  if (m->neq)
    AT(W(energy_try), 0) =
        AT(W(energy_try), 0) + equalities_energy(k, w, W(qpos_try), W(xpos_try), W(xmat_try), 0, 0);
  if (m->ntendon) AT(W(energy_try), 0) = AT(W(energy_try), 0) + tendons_energy(k, w);
}

/* Last: their sums. Sets accepted (a sufficient decrease, certified); halves the step of lanes that
 * neither are nor leave. */
KERNEL void stage_try_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  real energy = AT(W(energy_try), 0), margin = splat(ELEM_HUGE);
  for (int i = 0; i < g->nslot; i++) {
    int s = g->order[i];
    if (!(g->slot_on[s] & g->live)) continue;
    energy = energy + AT(SLOT_AT(s, value_try), 0);
    margin = rmin(margin, AT(SLOT_AT(s, clear_try), 0));
  }
  AT(W(energy_try), 0) = energy;
  AT(W(clear_try), 0) = margin;
  mask inside = mask_and(live, mask_not(mask_from_bits(SET(leaving))));
  real t = AT(W(step), 0), e0 = AT(W(energy), 0),
       slack = K(ELEM_EPS) * (K(256) * (rabs(e0) + rabs(energy)) + K(4) * AT(W(noise), 0));
  slack = sel(lt(AT(W(idle), 0), splat(ELEM_HUGE)), K(4096) * slack, slack); /* the gradient decides */
  mask clear = gt(margin, zero());
  mask lower = le(energy, e0 + K(1e-4) * t * AT(W(slope), 0) + slack); /* false for NaN */
  mask good = mask_and(mask_and(live, inside), mask_and(clear, lower));
  SET(accepted) = bits_from_mask(good);
  mask again = mask_and(live, mask_and(inside, mask_not(good)));
  AT(W(step), 0) = sel(again, t * K(0.5), t);
}

/* Lanes in live move to their trial point; then the terms. */
KERNEL void stage_accept(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  copy_sel(W(qpos), W(qpos_try), k->model->nq, live);
  AT(W(convex), 0) = sel(mask_and(live, ge(AT(W(step), 0), splat(1))), zero(), AT(W(convex), 0));
}

/* The step's end: poses, velocity (into qvel), activations. The gradient's place is free then, in every lane;
 * that of the right-hand side is not: lanes that still iterate need theirs. */
KERNEL void stage_finish(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  difference(k, W(qpos_t), W(qpos), W(grad));
  copy_sel(W(qvel), W(grad), k->model->nv, live);
  actuators_advance(k, w, live);
  kinematics(k, w, W(qpos), W(xpos_try), W(xmat_try), W(xquat), 0);
}

/* Start of a rollout: poses, twists and the gap of every pair in the list, at qpos_t. */
#define GAPS(x, term) TERM_SLOTS(term, s, on) term##_gap(k, g, s, mask_from_bits(on));
KERNEL void stage_gaps(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (LEADER) kinematics(k, w, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  TEAM_SYNC();
  TERMS(GAPS, )
}

/* qpos_t (+) rhs, for the separation. */
KERNEL void stage_displace(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  integrate(k, W(qpos_t), W(rhs), splat(1), 0, W(qpos_try));
  copy_sel(W(qpos_t), W(qpos_try), k->model->nq, live);
}

/* Energies at the step's end, for output: kinetic, gravity, contact, springs (J). */
KERNEL void stage_energies(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  real out[4] = {zero(), zero(), zero(), zero()};
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_weldid[b] == 0) continue;
    body_mass q = mass_of(k, w, b);
    mat3 r = get_mat(&AT(W(xmat), 9 * b)), dr = mat_sub(r, get_mat(&AT(W(xmat_t), 9 * b))),
         ds = mat_mat(dr, q.s);
    vec3 x = get_vec(&AT(W(xpos), 3 * b)), dx = sub(x, get_vec(&AT(W(xpos_t), 3 * b)));
    real quad = dot(ds.r0, dr.r0) + dot(ds.r1, dr.r1) + dot(ds.r2, dr.r2) +
                K(2) * dot(dx, mat_vec(dr, q.mc)) + q.m * dot(dx, dx);
    out[0] = out[0] + K(0.5 / (k->options.timestep * k->options.timestep)) * quad;
    out[1] = out[1] - dot(gravity_of(k, w, b), axpy(q.m, x, mat_vec(r, q.mc)));
  }
  for (int i = 0; i < g->nslot; i++) {
    int s = g->order[i];
    out[2] = out[2] + sel(mask_from_bits(g->slot_on[s]), AT(SLOT_AT(s, energy), 0), zero());
  }
  for (int j = 0; j < m->njnt; j++) {
    int qa = m->jnt_qposadr[j], type = m->jnt_type[j];
    if (!(m->jnt_stiffness[j] > 0)) continue;
    real d = AT(W(qpos), qa) - K(m->qpos_spring[qa]), d2 = d * d;
    if (type == ABUT_JOINT_BALL) {
      vec3 phi = ball_turn(get_quat(&AT(W(qpos), qa)), quat_splat(m->qpos_spring + qa));
      d2 = dot(phi, phi);
    }
    if (type != ABUT_JOINT_FREE) out[3] = out[3] + K(0.5 * m->jnt_stiffness[j]) * d2;
  }
  if (m->ntendon) out[3] = out[3] + tendons_springs(k, w);
  for (int i = 0; i < 4; i++) AT(W(energies), i) = out[i];
}
