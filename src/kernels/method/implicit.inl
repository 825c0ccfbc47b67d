/* implicit.inl: the stages of the implicit step that compute, in the order in which program.c lists them. A
 * stage works for the lanes in g->live and leaves every other lane's state untouched. */

FN void copy_sel(real *to, const real *from, int n, mask m) {
  for (int i = 0; i < n; i++) AT(to, i) = sel(m, AT(from, i), AT(to, i));
}
FN void fill(real *p, int n, real v) {
  for (int i = 0; i < n; i++) AT(p, i) = v;
}

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
  kinematics(k, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  copy_sel(W(xpos_t), W(xpos_try), 3 * nb, live);
  copy_sel(W(xmat_t), W(xmat_try), 9 * nb, live);
  copy_sel(W(xpos), W(xpos_try), 3 * nb, live);
  copy_sel(W(xmat), W(xmat_try), 9 * nb, live);
  integrate(k, W(qpos_t), W(qvel), splat(K(-k->dt)), 1, W(qpos_try));
  kinematics(k, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  for (int i = 0; i < 3 * nb; i++)
    AT(W(xpos_hat), i) =
        sel(live, AT(W(xpos_t), i) + (AT(W(xpos_t), i) - AT(W(xpos_try), i)), AT(W(xpos_hat), i));
  for (int i = 0; i < 9 * nb; i++)
    AT(W(xmat_hat), i) =
        sel(live, AT(W(xmat_t), i) + (AT(W(xmat_t), i) - AT(W(xmat_try), i)), AT(W(xmat_hat), i));
  integrate(k, W(qpos_t), W(qvel), splat(K(k->dt)), 1, W(qpos_try));
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

/* Boxes of every geom around the iterate and the pose ahead (at a step's start: where inertia and gravity
 * lead; else the trial), grown by reach and slack; then the pairs whose boxes meet. Complete as long as the
 * trial's bounds stay inside the boxes. */
FN void find_boxes(const step_params *k, lane_group *g, int ahead_is_trial) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  vec3 fall = scale(splat(K(k->dt * k->dt)), get_vec(W(gravity)));
  elem reach = k->barrier == BARRIER_LOCAL ? K(k->reach / (1 - k->reach) * k->length) : K(1e-3 * k->length);
  TEAM_FOR(i, m->ngeom) {
    int b = m->geom_body[i];
    vec3 lo, hi, lo2, hi2;
    if (m->geom_type[i] == ABUT_GEOM_PLANE) continue;
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
  TEAM_FOR(p, m->npair) {
    const pair_info *pair = &k->pairs[p];
    const real *a = &AT(W(box), 6 * pair->side[0].geom), *b = &AT(W(box), 6 * pair->side[1].geom);
    vec3 alo = get_vec(a), ahi = get_vec(&AT(a, 3));
    mask meet;
    if (k->barrier == BARRIER_INVERSE) {
      meet = live;
    } else if (pair->halfspace) {
      vec3 n = vec_splat(pair->normal), c = scale(splat(K(0.5)), add(alo, ahi)),
           h = scale(splat(K(0.5)), sub(ahi, alo));
      real low = dot(n, c) - (rabs(n.x) * h.x + rabs(n.y) * h.y + rabs(n.z) * h.z);
      meet = lt(low, splat(K(pair->offset)));
    } else {
      vec3 gap = vec_max(sub(alo, get_vec(&AT(b, 3))), sub(get_vec(b), ahi));
      meet = lt(rmax(gap.x, rmax(gap.y, gap.z)), zero());
    }
    g->pair_want[p] = bits_from_mask(mask_and(meet, live));
  }
}

KERNEL void stage_boxes(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  find_boxes(k, g, 0);
}
KERNEL void stage_boxes_trial(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  find_boxes(k, g, 1);
}

/* New pairs of this group: first planes, at the iterate. */
KERNEL void stage_start(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    mask fresh = mask_from_bits(g->slot_new[s]);
    if (g->slot_new[s]) g->slot_new[s] = contact_start(k, w, slots, s, g->slot_pair[s], fresh);
  }
}

/* Lagged friction of every pair of the lanes that begin a step. */
KERNEL void stage_friction(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    uint32_t on = g->slot_on[s] & g->live;
    if (on && !k->pairs[g->slot_pair[s]].far)
      contact_begin(k, w, slots, s, g->slot_pair[s], mask_from_bits(on));
  }
}

FN real inertia_energy(const step_params *k, const real *w, const real *xpos, const real *xmat) {
  const abut_model *m = k->model;
  real e = zero();
  for (int b = 1; b < m->nbody; b++)
    if (m->body_weldid[b] != 0)
      e = e + inertia_value(k, w, b, get_mat(&AT(xmat, 9 * b)), get_vec(&AT(xpos, 3 * b)));
  return e;
}

/* Energy, gradient and Hessian at the iterate, planes and friction motion eliminated, in three stages. First:
 * sums to zero, inertia and gravity of every body. */
KERNEL void stage_evaluate_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  if (LEADER) kinematics(k, W(qpos), W(xpos), W(xmat), W(xquat), W(twist));
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
    fill(hess_at(W(hess), d, g->envelope[d]), d - g->envelope[d] + 1, zero());
  }
  TEAM_SYNC();
  if (!LEADER) return;
  real noise = zero();
  for (int b = 1; b < m->nbody; b++) noise = noise + AT(W(body_noise), b);
  AT(W(noise), 0) = noise;
  AT(W(residual), 0) = zero();
  AT(W(energy), 0) = inertia_energy(k, w, W(xpos), W(xmat));
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

/* Slot i in order, at the iterate; again where the plane had to be solved to the end. */
FN void pair_evaluate(const step_params *k, lane_group *g, int i, int exact) {
  STAGE_LOCALS
  int s = g->order[i], pair = g->slot_pair[s], all_on = (g->live & ~g->slot_on[s]) == 0;
  mask on = mask_from_bits(g->slot_on[s] & g->live), loose = k->nested ? on : mask_none();
  for (int round = 0; round < 2; round++) {
    if (any(loose)) contact_polish(k, w, slots, s, pair, loose, W(xpos), W(xmat));
    contact_evaluate(k, w, slots, s, pair, on, all_on, exact);
    loose = exact ? contact_unsettled(k, slots, s, pair, on) : mask_none();
    if (!any(loose)) break;
  }
}

/* Second: every pair's energy, forces and blocks; then their sums, in the order of slots. A CPU adds a pair
 * at once, while it is in the cache. */
KERNEL void stage_evaluate_pairs(const step_params *k, lane_group *g, program_io *io) {
  TEAM_FOR(i, g->nslot) {
    uint32_t on = g->slot_on[g->order[i]] & g->live;
    if (!on || k->pairs[g->slot_pair[g->order[i]]].far) continue;
    pair_evaluate(k, g, i, io->exact);
    IN_MEMORY(g);
    if (GATHER_AT_ONCE) pair_gather(k, g, g->order[i]);
  }
  if (GATHER_AT_ONCE) return;
  TEAM_SYNC();
  for (int i = 0; i < g->nslot; i++)
    if ((g->slot_on[g->order[i]] & g->live) && !k->pairs[g->slot_pair[g->order[i]]].far)
      pair_gather(k, g, g->order[i]);
}

/* Third: joints, then the generalised gradient and Hessian from the bodies' sums. Sets g->converged, and
 * g->accepted where all is finite. */
KERNEL void stage_evaluate_close(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  real energy = zero();
  (void)io;
  if (LEADER) {
    energy = AT(W(energy), 0) + joints_energy(k, w, W(qpos), W(grad), W(hess));
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
    residual = rmax(residual, rabs(AT(W(grad), d)) * (turning ? K(1 / k->length) : K(1)));
  }
  AT(W(residual), 0) = residual;
  AT(W(energy), 0) = energy;
  mask sane = mask_and(is_finite(energy), is_finite(residual));
  g->converged = bits_from_mask(mask_and(live, mask_and(sane, le(residual, splat(K(k->tolerance))))));
  g->accepted = bits_from_mask(mask_and(live, sane));
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

/* From gradient and Hessian to a step of all unknowns, in three stages. First: factors and solves; the step
 * of every body, bounds of its arcs. Sets g->indefinite where contact terms must be made convex first: these
 * lanes leave live; g->exhausted where the step is below what the poses can represent. */
KERNEL void stage_direction_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  (void)io;
  real *x = W(rhs), slope = zero(), turn = splat(K(1e-30));
  mask indefinite = factor_positive(k, w, g->envelope, live);
  TEAM_FOR(d, m->nv) AT(W(grad), d) = AT(x, d); /* the gradient has served; keep the right-hand side */
  TEAM_SYNC();
  solve(k, w, g->envelope, x);
  TEAM_FOR(b, m->nbody) {
    twist6 t = body_step(k, w, x, b);
    put_twist(&AT(W(body_step), 6 * b), t.w, t.v);
    AT(W(arc), b) = arc_bound(k, w, x, b);
  }
  TEAM_SYNC();
  if (!LEADER) return;
  AT(W(convex), 0) = sel(indefinite, splat(2), AT(W(convex), 0));
  g->indefinite = bits_from_mask(indefinite);
  g->live &= ~g->indefinite;
  mask still = mask_from_bits(g->live);
  for (int d = 0; d < m->nv; d++) slope = slope - AT(W(grad), d) * AT(x, d);
  for (int b = 0; b < m->nbody; b++) {
    twist6 t = get_twist(&AT(W(body_step), 6 * b));
    real rho = splat(K(k->body_radius[b])), size = rho + max_abs(get_vec(&AT(W(xpos), 3 * b)));
    still = mask_and(still, le(max_abs(t.v) + rho * max_abs(t.w), K(16) * K(ELEM_EPS) * size));
    still = mask_and(still, le(max_abs(t.w), splat(K(16) * K(ELEM_EPS)))); /* rho is 0 without points */
    turn = rmax(turn, max_abs(t.w));
  }
  g->exhausted = bits_from_mask(still);
  AT(W(step), 0) = rmin(splat(1), splat(1) / turn); /* no body turns by more than about a radian at once */
  AT(W(slope), 0) = slope;
}

/* Second: steps of planes and friction motion, and how far they may go. */
KERNEL void stage_direction_pairs(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    uint32_t on = g->slot_on[s] & g->live;
    if (on && !k->pairs[g->slot_pair[s]].far)
      contact_direction(k, w, slots, s, g->slot_pair[s], mask_from_bits(on), W(body_step));
  }
}

/* Third: the longest step that keeps every margin positive to first order. Sets g->exhausted where nothing is
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
  mask idle = mask_or(mask_from_bits(g->exhausted), flat);
  real residual = AT(W(residual), 0);
  mask stalled = mask_and(idle, gt(residual, K(0.9) * AT(W(idle), 0)));
  AT(W(idle), 0) = sel(live, sel(idle, residual, splat(ELEM_HUGE)), AT(W(idle), 0));
  g->exhausted = bits_from_mask(mask_and(live, stalled));
}

/* The trial at the current step length, in three stages. First: poses, energy but for pairs, and in
 * g->leaving whether it leaves the boxes. */
KERNEL void stage_try_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  real t = AT(W(step), 0);
  integrate(k, W(qpos), W(rhs), t, 0, W(qpos_try));
  kinematics(k, W(qpos_try), W(xpos_try), W(xmat_try), W(xquat), 0);
  mask inside = live;
  for (int i = 0; i < m->ngeom; i++) {
    int b = m->geom_body[i];
    if (m->geom_type[i] == ABUT_GEOM_PLANE || m->body_weldid[b] == 0 || k->barrier == BARRIER_INVERSE)
      continue;
    vec3 lo, hi;
    geom_bounds(k, i, get_mat(&AT(W(xmat_try), 9 * b)), get_vec(&AT(W(xpos_try), 3 * b)), &lo, &hi);
    real arc = K(0.125) * t * t * AT(W(arc), b);
    vec3 room = vec_min(sub(lo, get_vec(&AT(W(box), 6 * i))), sub(get_vec(&AT(W(box), 6 * i + 3)), hi));
    inside = mask_and(inside, ge(rmin(room.x, rmin(room.y, room.z)), arc));
  }
  g->leaving = bits_from_mask(mask_and(live, mask_not(inside)));
  AT(W(energy_try), 0) =
      inertia_energy(k, w, W(xpos_try), W(xmat_try)) + joints_energy(k, w, W(qpos_try), 0, 0);
}

/* Second: every pair's energy and certificate. */
KERNEL void stage_try_pairs(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    uint32_t on = g->slot_on[s] & g->live;
    if (on && !k->pairs[g->slot_pair[s]].far)
      contact_try(k, w, slots, s, g->slot_pair[s], mask_from_bits(on));
  }
}

/* Third: their sums. Sets g->accepted (a sufficient decrease, certified); halves the step of lanes that
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
  mask inside = mask_and(live, mask_not(mask_from_bits(g->leaving)));
  real t = AT(W(step), 0), e0 = AT(W(energy), 0),
       slack = K(ELEM_EPS) * (K(256) * (rabs(e0) + rabs(energy)) + K(4) * AT(W(noise), 0));
  slack = sel(lt(AT(W(idle), 0), splat(ELEM_HUGE)), K(4096) * slack, slack); /* the gradient decides */
  mask clear = gt(margin, zero());
  mask lower = le(energy, e0 + K(1e-4) * t * AT(W(slope), 0) + slack); /* false for NaN */
  mask good = mask_and(mask_and(live, inside), mask_and(clear, lower));
  g->accepted = bits_from_mask(good);
  mask again = mask_and(live, mask_and(inside, mask_not(good)));
  AT(W(step), 0) = sel(again, t * K(0.5), t);
}

/* Lanes in live move to their trial point. */
KERNEL void stage_accept(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (LEADER) {
    copy_sel(W(qpos), W(qpos_try), k->model->nq, live);
    AT(W(convex), 0) = sel(mask_and(live, ge(AT(W(step), 0), splat(1))), zero(), AT(W(convex), 0));
  }
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    uint32_t yes = g->slot_on[s] & g->live;
    if (yes && !k->pairs[g->slot_pair[s]].far) contact_accept(k, w, slots, s, mask_from_bits(yes));
  }
}

/* The step's end: poses and velocity (into qvel). The gradient's place is free then, in every lane; that of
 * the right-hand side is not: lanes that still iterate need theirs. */
KERNEL void stage_finish(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  difference(k, W(qpos_t), W(qpos), W(grad));
  copy_sel(W(qvel), W(grad), k->model->nv, live);
  kinematics(k, W(qpos), W(xpos_try), W(xmat_try), W(xquat), 0);
}

/* Start of a rollout: poses, twists and the gap of every pair in the list, at qpos_t. */
KERNEL void stage_gaps(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (LEADER) kinematics(k, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  TEAM_SYNC();
  TEAM_FOR(i, g->nslot) {
    int s = g->order[i];
    if (g->slot_on[s] & g->live) contact_gap(k, w, slots, s, g->slot_pair[s], live);
  }
}

/* qpos_t (+) rhs, for the separation. */
KERNEL void stage_displace(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  integrate(k, W(qpos_t), W(rhs), splat(1), 0, W(qpos_try));
  copy_sel(W(qpos_t), W(qpos_try), k->model->nq, live);
}

/* Energies at the step's end, for output: kinetic, gravity, contact, joint springs (J). */
KERNEL void stage_energies(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  const abut_model *m = k->model;
  real out[4] = {zero(), zero(), zero(), zero()};
  vec3 gravity = get_vec(W(gravity));
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_weldid[b] == 0) continue;
    body_mass q = mass_of(k, w, b);
    mat3 r = get_mat(&AT(W(xmat), 9 * b)), dr = mat_sub(r, get_mat(&AT(W(xmat_t), 9 * b))),
         ds = mat_mat(dr, q.s);
    vec3 x = get_vec(&AT(W(xpos), 3 * b)), dx = sub(x, get_vec(&AT(W(xpos_t), 3 * b)));
    real quad = dot(ds.r0, dr.r0) + dot(ds.r1, dr.r1) + dot(ds.r2, dr.r2) +
                K(2) * dot(dx, mat_vec(dr, q.mc)) + q.m * dot(dx, dx);
    out[0] = out[0] + K(0.5 / (k->dt * k->dt)) * quad;
    out[1] = out[1] - dot(gravity, axpy(q.m, x, mat_vec(r, q.mc)));
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
  for (int i = 0; i < 4; i++) AT(W(energies), i) = out[i];
}
