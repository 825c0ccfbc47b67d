/* hull.inl: two convex shapes and the plane between them, which is unknown: 3 or 4 numbers a pair
 * (plane.inl), eliminated here as friction's are (docs/step.md sections 4 and 5). */

enum { hull_dealt = 1 }; /* a team shares the term's pairs */
FN int hull_prepare(const step_params *k, lane_group *g, program_io *io, int when) {
  (void)k, (void)g, (void)io, (void)when;
  return 1;
}

/* Whether two boxes meet. */
FN mask hull_meets(const pair_info *pair, const real *a, const real *b) {
  (void)pair;
  vec3 gap = vec_max(sub(get_vec(a), get_vec(&AT(b, 3))), sub(get_vec(b), get_vec(&AT(a, 3))));
  return lt(rmax(gap.x, rmax(gap.y, gap.z)), zero());
}

/* ---------------------------------------------------------------- start of a rollout */

/* Direction from copies shrunk about their centres until they come apart, then the true supports along it;
 * the gap is negative where the shapes overlap. */
KERNEL void hull_gap(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  vec3 u = vec(zero(), zero(), splat(1));
  mask open = on;
  static const double shrink[6] = {0, 0.02, 0.1, 0.3, 0.6, 0.95};
  for (int i = 0; i < 6 && any(open); i++) {
    mat3 r[2];
    vec3 x[2];
    for (int j = 0; j < 2; j++) {
      vec3 centre = mat_vec(c.r[j], vec_splat(k->geom_box + 6 * c.pair->side[j].geom));
      r[j] = mat_scale(splat(K(1 - shrink[i])), c.r[j]);
      x[j] = axpy(splat(K(shrink[i])), centre, c.x[j]);
      c.set[j].radius = K(c.pair->side[j].radius * (1 - shrink[i]));
    }
    closest cl =
        closest_points(&c.set[0], &c.set[1], r[0], x[0], r[1], x[1], open, K(1) - K(64) * K(ELEM_EPS), 64);
    mask apart = mask_and(open, gt(cl.gap, splat(K(1e-6) * K(k->options.implicit.length) * K(i == 0))));
    u = vec_sel(apart, cl.u, u);
    open = mask_and(open, mask_not(apart));
  }
  for (int j = 0; j < 2; j++) c.set[j].radius = K(c.pair->side[j].radius);
  support q = closest_support(&c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], u);
  contact_put_gap(k, slots, s, on, u, q.a, q.b);
}

/* ---------------------------------------------------------------- start of a step */

/* A pair that enters the list: closest points, then its plane solved to the end. Returns lanes where the
 * shapes are not separated. */
KERNEL uint32_t hull_start(const step_params *k, lane_group *g, int s, mask fresh) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  friction_start(k, slots, s, c.set[0].num + c.set[1].num, fresh);
  closest cl = closest_points(&c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], fresh, K(0.999), 64);
  mask apart = gt(cl.gap, zero());
  plane_state p = plane_between(&c.br, cl);
  mask near = mask_and(mask_and(fresh, apart),
                       c.br.kind == BARRIER_LOCAL
                           ? lt(cl.gap, splat(K(4 * k->options.implicit.reach * k->options.implicit.length)))
                           : fresh),
       done;
  plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &p, near, K(1e-22), 60, &done);
  put_plane(SLOT_AT(s, plane), fresh, p);
  return bits_from_mask(mask_and(fresh, mask_not(apart)));
}

/* At the step's start: moves the plane's origin to the middle of its nearest points and, where nothing is
 * loaded, the plane itself half-way between the shapes. */
FN plane_state hull_recenter(const contact_frame *c, plane_state p) {
  vec3 a = nearest_point(c, 0, p.u), b = nearest_point(c, 1, p.u), middle = scale(splat(K(0.5)), add(a, b));
  real s = plane_length(&c->br, p.sigma), e = p.e + dot(p.u, sub(middle, p.c));
  real half = K(0.5) * dot(p.u, sub(a, b));
  real reach = splat(c->br.kind == BARRIER_LOCAL ? c->br.reach / c->br.inv_length : K(ELEM_HUGE));
  mask idle = gt(s * half, reach); /* both margins out of reach once centred */
  p.c = middle;
  p.e = sel(idle, zero(), e);
  return p;
}

/* Both sides' moments at a plane. */
FN void hull_moments(const contact_frame *c, plane_state p, plane_moments m[2]) {
  real s = plane_length(&c->br, p.sigma);
  mat3 f = plane_frame(p.u), v;
  vec3 o;
  for (int j = 0; j < 2; j++) {
    plane_view(f, p.c, c->r[j], c->x[j], &v, &o);
    m[j] = plane_side(&c->br, &c->set[j], j ? K(-1) : K(1), v, o, p.e, s);
  }
}

/* What weights of lagged points carry besides the stiffness, where |n| is eliminated: U_A = 1 + sqrt(12 / A),
 * A the sum over all points of both sides. */
FN real hull_sum(const contact_frame *c, plane_state p) {
  plane_moments m[2];
  hull_moments(c, p, m);
  return m[0].value + m[1].value;
}
FN real hull_share(real a_total) { return K(1) + root(K(12) / a_total); }

KERNEL void hull_begin(const step_params *k, lane_group *g, int s, mask on, int exact) {
  STAGE_LOCALS(void) exact;
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos_t), W(xmat_t), step_barrier(k));
  plane_state p = hull_recenter(&c, get_plane(SLOT_AT(s, plane)));
  put_plane(SLOT_AT(s, plane), on, p);
  put_plane(SLOT_AT(s, plane_begin), on, p);
  real more = c.br.kind == BARRIER_INVERSE ? hull_share(hull_sum(&c, p)) : splat(1);
  friction_begin(k, w, slots, s, &c, 2, p, more, on);
}

/* ---------------------------------------------------------------- evaluation */

/* A force F that turns with its plane makes H indefinite: with B_F the part of B that is due to it,
 * elimination takes B_F^T K^-1 B_F, where two points meet about F/gap, from the bodies' tangential block.
 * Gives `convex` times that back: with 2 the curvature becomes about its absolute value, and a step about a
 * gap long. */
FN void hull_convex(const contact_frame *c, const plane_terms *t, plane_state p, mat3 f, const vec3 arm[2],
                    const real *plane_rows, real convex, contact_sum *sum) {
  int both = c->pair->side[1].moves, np = plane_unknowns(&c->br);
  real inv = inverse(plane_length(&c->br, p.sigma)), l[10];
  row12 r[4] = {row_zero(), row_zero(), row_zero(), row_zero()};
  for (int j = 0; j < (both ? 2 : 1); j++) {
    vec3 f1 = scale(inv, t->f1[j]);
    real f0 = inv * t->f0[j];
    row_side(&r[0], j, f, arm[j], vec(zero(), f1.z, -f1.y), vec(f0, zero(), zero()));
    row_side(&r[1], j, f, arm[j], vec(-f1.z, zero(), f1.x), vec(zero(), f0, zero()));
  }
  for (int i = 0; i < np * (np + 1) / 2; i++) l[i] = AT(plane_rows, i);
  rows_solve_lower(np, l, both ? 2 : 1, r);
  for (int i = 0; i < np; i++) {
    pair_rank1(&sum->block, both, convex * l[i * (i + 1) / 2 + i], r[i]);
    IN_MEMORY(sum);
  }
}

/* The normal part of a pair at plane p. convex: share of its negative curvature to make good. */
CALL void hull_normal(const contact_frame *c, plane_state p, int exact, real convex, real *slot_rows,
                      contact_sum *sum) {
  plane_terms t;
  int both = c->pair->side[1].moves;
  plane_moments m[2];
  hull_moments(c, p, m);
  IN_MEMORY(m);
  plane_join(&c->br, &m[0], &m[1], p.e, p.sigma, c->mu, exact, &t);
  IN_MEMORY(&t);
  mat3 f = plane_frame(p.u);
  sum->value = t.value;
  sum->gap = t.gap;
  sum->low = t.low;
  vec3 arm[2];
  for (int j = 0; j < 2; j++) {
    arm[j] = sub(p.c, c->x[j]);
    if (j && !both) break;
    normal_world(&t, j, f, arm[j], &sum->force[j], &sum->phi[j], &sum->block.own[j]);
  }
  int np = plane_unknowns(&c->br);
  row12 rows[4];
  for (int i = 0; i < np; i++) rows[i] = row_zero();
  for (int i = 0; i < np; i++)
    for (int j = 0; j < (both ? 2 : 1); j++)
      row_side(&rows[i], j, f, arm[j], vec(t.b[j][i][0], t.b[j][i][1], t.b[j][i][2]),
               vec(t.b[j][i][3], t.b[j][i][4], t.b[j][i][5]));
  if (c->br.kind == BARRIER_INVERSE) {
    row12 g = row_zero();
    for (int j = 0; j < (both ? 2 : 1); j++)
      row_side(&g, j, f, arm[j], vec(t.f1[j].y, -t.f1[j].x, zero()), vec(zero(), zero(), t.f0[j]));
    pair_rank1(&sum->block, both, sel(gt(convex, zero()), zero(), t.curl), g);
  }
  elem inv_l = c->br.inv_length;
  sum->residual = rmax(rmax(rabs(t.g[0]), rabs(t.g[1])) * inv_l, rabs(t.g[2]));
  if (np == 4) sum->residual = rmax(sum->residual, rabs(t.g[3]) * inv_l);
  eliminate(np, 10, 4, t.k, t.g, rows, both, slot_rows, &sum->block, &sum->pull);
  IN_MEMORY(sum);
  if (any(gt(convex, zero()))) hull_convex(c, &t, p, f, arm, slot_rows, convex, sum);
}

/* The nested reference: the plane solved to the end at the iterate. */
KERNEL void hull_polish(const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), step_barrier(k));
  plane_state p = get_plane(SLOT_AT(s, plane));
  mask done;
  plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &p, on, K(1e-26), 60, &done);
  put_plane(SLOT_AT(s, plane), on, p);
}

/* Lanes where a pair pushes so little that the step's tolerance left its plane unsettled: the energy would
 * still fall by a noticeable share. What elimination makes of such a plane is arbitrary. */
FN mask hull_unsettled(const step_params *k, real *slots, int s, mask on) {
  real fall = rows_decrement(step_barrier(k) == BARRIER_LOCAL ? 4 : 3, 10, SLOT_AT(s, plane_rows));
  return mask_and(on, gt(fall, K(1e-12) * AT(SLOT_AT(s, energy), 0)));
}

FN void hull_evaluate_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                         int all_on, int exact) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), kind);
  contact_sum sum = contact_zero();
  struct {
    int all_on, exact;
    mask on;
  } later = {all_on, exact, on}; /* not in registers until then */
  IN_MEMORY(&later);
  plane_state p = get_plane(SLOT_AT(s, plane));
  IN_MEMORY(&sum);
  hull_normal(&c, p, exact, exact ? zero() : sel(on, AT(W(convex), 0), zero()), SLOT_AT(s, plane_rows), &sum);
  IN_MEMORY(&p);
  IN_MEMORY(&sum);
  AT(SLOT_AT(s, gap), 0) = sel(on, sum.gap, splat(ELEM_HUGE));
  AT(SLOT_AT(s, low), 0) = sum.low;
  AT(SLOT_AT(s, noise), 1) = zero();
  AT(SLOT_AT(s, energy), 0) = sel(on, sum.value, zero());
  if (any(friction_rubs(k, slots, s, later.on)))
    friction_evaluate(k, &c, w, slots, s, later.on, later.exact, 2, &sum);
  else
    for (int i = 0; i < 45; i++) AT(SLOT_AT(s, motion_rows), i) = zero();
  contact_put(k, slots, s, &c, later.on, later.all_on, 2, p.c, &sum);
}
KERNEL void hull_evaluate_once(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                               int all_on, int exact) {
  if (step_barrier(k) == BARRIER_LOCAL)
    hull_evaluate_as(BARRIER_LOCAL, k, w, slots, s, pair_id, on, all_on, exact);
  else
    hull_evaluate_as(BARRIER_INVERSE, k, w, slots, s, pair_id, on, all_on, exact);
}

/* Again where the plane had to be solved to the end. */
FN void hull_evaluate(const step_params *k, lane_group *g, int s, mask on, int all_on, int exact) {
  STAGE_LOCALS
  mask loose = k->options.implicit.solver == ABUT_SOLVER_NESTED ? on : mask_none();
  for (int round = 0; round < 2; round++) {
    if (any(loose)) hull_polish(k, w, slots, s, g->slot_pair[s], loose);
    hull_evaluate_once(k, w, slots, s, g->slot_pair[s], on, all_on, exact);
    loose = exact ? hull_unsettled(k, slots, s, on) : mask_none();
    if (!any(loose)) break;
  }
}

/* ---------------------------------------------------------------- step and trial */

/* After the solve: the step of plane and friction motion, how much they let the energy fall, and the largest
 * step length that keeps margins positive, to first order. */
KERNEL void hull_direction(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  plane_state p = get_plane(SLOT_AT(s, plane));
  twist6 t[2];
  for (int j = 0; j < 2; j++) t[j] = get_twist(&AT(W(body_step), 6 * c.pair->side[j].body));
  int np = plane_unknowns(&c.br);
  real d[4] = {zero(), zero(), zero(), zero()}, z[3];
  back_substitute(np, 10, 4, SLOT_AT(s, plane_rows), t, 1, d);
  back_substitute(3, 6, 3, SLOT_AT(s, motion_rows), t, 1, z);
  for (int i = 0; i < 4; i++) AT(SLOT_AT(s, plane_step), i) = d[i];
  for (int i = 0; i < 3; i++) AT(SLOT_AT(s, motion_step), i) = z[i];
  mat3 f = plane_frame(p.u);
  real str = plane_length(&c.br, p.sigma), limit = splat(ELEM_HUGE);
  for (int j = 0; j < 2; j++) {
    mat3 a;
    vec3 b, spin = mat_vec(f, t[j].w), lin = mat_vec(f, add(t[j].v, cross(t[j].w, sub(p.c, c.x[j]))));
    plane_view(f, p.c, c.r[j], c.x[j], &a, &b);
    /* seen from the plane, the body's rotation and translation act like a turn and a shift of the plane */
    real turned[4] = {d[0] - str * spin.y, d[1] + str * spin.x, d[2] + str * lin.z, d[3]};
    real cut = c.br.kind == BARRIER_LOCAL ? d[3] : zero();
    limit = rmin(limit, plane_side_limit(&c.set[j], j ? K(-1) : K(1), a, b, p.e, str, turned, cut));
  }
  if (c.br.kind == BARRIER_LOCAL)
    limit = rmin(limit, sel(lt(d[3], zero()), p.sigma / -rmin(d[3], splat(-ELEM_TINY)), splat(ELEM_HUGE)));
  AT(SLOT_AT(s, limit), 0) = sel(on, K(0.9) * limit, splat(ELEM_HUGE));
  real fall = rows_decrement(np, 10, SLOT_AT(s, plane_rows)) + rows_decrement(3, 6, SLOT_AT(s, motion_rows));
  AT(SLOT_AT(s, fall), 0) = sel(on, fall, zero());
}

/* Bound of how far this pair's margins may dip between iterate and trial below the smaller of their end
 * values. The plane's path is affine about an origin that moves with the mean of both bodies; points move on
 * chords up to arcs. */
FN real hull_dip(const contact_frame *now, const contact_frame *try_, plane_state p, vec3 dn,
                 const step_params *k, const real *w, real t) {
  vec3 moved[2];
  real spread = zero(), arc = zero();
  for (int j = 0; j < 2; j++) {
    vec3 local = mat_tvec(now->r[j], sub(p.c, now->x[j]));
    moved[j] = sub(add(mat_vec(try_->r[j], local), try_->x[j]), p.c);
    mat3 dr = mat_sub(try_->r[j], now->r[j]);
    real turn = root(dot(dr.r0, dr.r0) + dot(dr.r1, dr.r1) + dot(dr.r2, dr.r2));
    int body = now->pair->side[j].body;
    spread = rmax(spread, turn * (splat(K(k->body_radius[body])) + norm(sub(p.c, now->x[j]))));
    arc = rmax(arc, AT(W(arc), body));
  }
  vec3 relative = sub(moved[0], moved[1]);
  spread = spread + K(0.5) * norm(relative);
  return norm(dn) * spread * K(0.25) + t * t * arc * K(0.125);
}

/* Energy of one slot at the trial, and its certified margin. */
FN void hull_try_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos_try), W(xmat_try), kind);
  plane_state p = get_plane(SLOT_AT(s, plane));
  real t = AT(W(step), 0), low, gap, value, s0 = splat(1), s1 = splat(1), d[4];
  for (int i = 0; i < 4; i++) d[i] = AT(SLOT_AT(s, plane_step), i);
  plane_state q = plane_move(&c.br, p, plane_frame(p.u), d, t);
  if (k->options.implicit.solver == ABUT_SOLVER_NESTED) {
    mask done;
    plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &q, on, K(1e-26), 60, &done);
    IN_MEMORY(&p);
    c = contact_at(k, w, pair_id, W(xpos_try), W(xmat_try), kind); /* not kept through the solve */
  }
  value = plane_value(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], q, c.mu, &low, &gap);
  if (c.br.kind == BARRIER_LOCAL) {
    s0 = K(1) - p.sigma;
    s1 = K(1) - q.sigma;
  }
  vec3 dn = sub(scale(s1, q.u), scale(s0, p.u));
  IN_MEMORY(w);
  contact_frame now = contact_at(k, w, pair_id, W(xpos), W(xmat), kind);
  real dip = hull_dip(&now, &c, p, dn, k, w, t);
  real margin = rmin(s0 * AT(SLOT_AT(s, low), 0), s1 * low) - dip;
  AT(SLOT_AT(s, clear_try), 0) = sel(on, margin, splat(ELEM_HUGE));
  real *out = SLOT_AT(s, plane_try);
  put_vec(out, q.u);
  AT(out, 3) = q.e;
  AT(out, 4) = q.sigma;
  mask rubs = friction_rubs(k, slots, s, on);
  if (any(rubs)) value = value + sel(rubs, friction_try(k, w, slots, s, &c, 2, t), zero());
  AT(SLOT_AT(s, value_try), 0) = sel(on, value, zero());
}
KERNEL uint32_t hull_try(const step_params *k, lane_group *g, int s, mask on, uint32_t failed) {
  STAGE_LOCALS(void) failed;
  if (step_barrier(k) == BARRIER_LOCAL)
    hull_try_as(BARRIER_LOCAL, k, w, slots, s, g->slot_pair[s], on);
  else
    hull_try_as(BARRIER_INVERSE, k, w, slots, s, g->slot_pair[s], on);
  return 0;
}

KERNEL void hull_accept(const step_params *k, lane_group *g, int s, mask yes) {
  STAGE_LOCALS
  const real *q = SLOT_AT(s, plane_try);
  real *p = SLOT_AT(s, plane), *z = SLOT_AT(s, motion), t = AT(W(step), 0);
  put_vec_sel(p, yes, get_vec(q));
  AT(p, 6) = sel(yes, AT(q, 3), AT(p, 6));
  AT(p, 7) = sel(yes, AT(q, 4), AT(p, 7));
  for (int i = 0; i < 3; i++) AT(z, i) = sel(yes, AT(z, i) + t * AT(SLOT_AT(s, motion_step), i), AT(z, i));
}

/* ---------------------------------------------------------------- reverse pass */

/* Passes cotangents of the plane at t, through p_t = argmin U(q_t, p), to the poses at t. A plane that the
 * step before left unsettled (hull_unsettled) is no such function of the poses and passes nothing on. */
FN void hull_plane_vjp(const contact_frame *c, const lag_frame *t, const lag_bar *bar, twist6 out[2]) {
  plane_moments m[2];
  plane_terms terms;
  hull_moments(c, t->p, m);
  IN_MEMORY(m);
  plane_join(&c->br, &m[0], &m[1], t->p.e, t->p.sigma, c->mu, 1, &terms);
  IN_MEMORY(&terms);
  vec3 u_bar = add(bar->u, cross(bar->turn, t->p.u));
  int np = plane_unknowns(&c->br);
  real is = inverse(t->s), l[10], y[4];
  for (int i = 0; i < np; i++) y[i] = terms.g[i];
  plane_factor(np, terms.k, l);
  plane_solve_lower(np, l, y);
  mask settled = le(plane_decrement(np, l, y), K(1e-4) * terms.value);
  y[0] = dot(u_bar, t->f.r0) * is;
  y[1] = dot(u_bar, t->f.r1) * is;
  y[2] = bar->e * is;
  y[3] = bar->e * t->p.e * is - bar->s;
  plane_solve_lower(np, l, y);
  plane_solve_upper(np, l, y);
  for (int i = 0; i < np; i++) y[i] = sel(settled, y[i], zero());
  for (int j = 0; j < 2; j++) {
    vec3 rot = vec_zero(), lin = vec_zero();
    for (int i = 0; i < np; i++) {
      const real *b = terms.b[j][i];
      rot = axpy(-y[i], vec(b[0], b[1], b[2]), rot);
      lin = axpy(-y[i], vec(b[3], b[4], b[5]), lin);
    }
    out[j].v = mat_tvec(t->f, lin);
    out[j].w = add(mat_tvec(t->f, rot), cross(sub(t->p.c, c->x[j]), out[j].v));
  }
}

/* U_A's cotangent, complete once both sides have been through lag_side, to all points of one side, loaded or
 * not: A = sum w P, P' = -1/margin^2. */
FN void hull_share_vjp(const step_params *k, real *w, const contact_frame *c, const lag_frame *t, int j,
                       real a_total, mask on, lag_bar *bar) {
  elem sign = j ? K(-1) : K(1);
  real q = root(K(12) / a_total), bar_a = bar->ua / (K(1) + q) * (K(-0.5) * q / a_total);
  for (int i = 0; i < c->set[j].num; i++) {
    IN_MEMORY(c);
    IN_MEMORY(t);
    IN_MEMORY(bar);
    vec3 at = add(mat_vec(c->r[j], point_at(&c->set[j], i)), c->x[j]);
    real height = dot(t->p.u, sub(at, t->p.c)) + t->p.e, radius = radius_at(&c->set[j], i),
         weight = weight_at(&c->set[j], i), inv = splat(1) / (sign * height - radius);
    real bar_height = sign * (-bar_a * weight * inv * inv / c->br.inv_length);
    bar->u = axpy(bar_height, sub(at, t->p.c), bar->u);
    bar->e = bar->e + bar_height;
    take_force(k, w, c->pair->side[j].body, on, scale(bar_height, t->p.u), sub(at, c->x[j]));
  }
}

/* All input cotangents of one slot's friction and stiffness. */
KERNEL void hull_vjp(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos_t), W(xmat_t), step_barrier(k));
  twist6 l[2], out[2];
  lambda_twists(k, w, slots, s, c.pair, l);
  stiffness_vjp(k, w, slots, s, on, 2, l);
  mask rubs = friction_rubs(k, slots, s, on);
  if (!any(rubs)) return;
  lag_bar bar = lag_bar_zero();
  plane_state p = get_plane(SLOT_AT(s, plane_begin));
  int shared = c.br.kind == BARRIER_INVERSE;
  real a_total = shared ? hull_sum(&c, p) : splat(1);
  lag_frame t = lag_frame_at(k, w, slots, s, &c, p, shared ? hull_share(a_total) : splat(1));
  lag_motion(k, slots, s, l, &t);
  for (int j = 0; j < 2; j++) lag_side(k, w, slots, s, &c, &t, j, l[j], rubs, &bar);
  for (int j = 0; shared && j < 2; j++) hull_share_vjp(k, w, &c, &t, j, a_total, rubs, &bar);
  hull_plane_vjp(&c, &t, &bar, out);
  for (int j = 0; j < 2; j++) {
    int b = c.pair->side[j].body;
    add_vec(&AT(W(bar_force), 3 * b), vec_sel(rubs, scale(splat(-1), out[j].v), vec_zero()));
    add_mat(&AT(W(bar_phi), 9 * b), mat_scale(splat(K(-0.5)), hat(vec_sel(rubs, out[j].w, vec_zero()))));
  }
  friction_vjp(k, w, c.pair, rubs, bar.psi);
}
