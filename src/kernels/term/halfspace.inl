/* halfspace.inl: a convex shape against a fixed half-space, whose plane separates them: no unknowns. */

enum { halfspace_dealt = 1 }; /* a team shares the term's pairs */
FN int halfspace_prepare(const step_params *k, lane_group *g, program_io *io, int when) {
  (void)k, (void)g, (void)io, (void)when;
  return 1;
}

FN plane_state halfspace_plane(const pair_info *pair, vec3 c) {
  plane_state p;
  p.u = vec_splat(pair->normal);
  p.c = c;
  p.e = dot(p.u, c) - K(pair->offset);
  p.sigma = zero();
  return p;
}

/* Whether the box a of the shape reaches under the plane. */
FN mask halfspace_meets(const pair_info *pair, const real *a, const real *b) {
  vec3 lo = get_vec(a), hi = get_vec(&AT(a, 3));
  vec3 n = vec_splat(pair->normal), c = scale(splat(K(0.5)), add(lo, hi)),
       h = scale(splat(K(0.5)), sub(hi, lo));
  real low = dot(n, c) - (rabs(n.x) * h.x + rabs(n.y) * h.y + rabs(n.z) * h.z);
  (void)b;
  return lt(low, splat(K(pair->offset)));
}

FN void halfspace_gap(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  vec3 u = vec_splat(c.pair->normal), a = nearest_point(&c, 0, u);
  real gap = dot(u, a) - K(c.pair->offset);
  contact_put_gap(k, slots, s, on, u, a, axpy(-gap, u, a));
}

FN uint32_t halfspace_start(const step_params *k, lane_group *g, int s, mask fresh) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  friction_start(k, slots, s, c.set[0].num, fresh);
  put_plane(SLOT_AT(s, plane), fresh, halfspace_plane(c.pair, c.x[0]));
  return 0;
}

KERNEL void halfspace_begin(const step_params *k, lane_group *g, int s, mask on, int exact) {
  STAGE_LOCALS(void) exact;
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos_t), W(xmat_t), step_barrier(k));
  plane_state p = halfspace_plane(c.pair, c.x[0]);
  put_plane(SLOT_AT(s, plane), on, p);
  friction_begin(k, w, slots, s, &c, 1, p, splat(1), on);
}

/* One-sided terms, side B empty. */
FN void halfspace_terms(const contact_frame *c, plane_state p, plane_terms *t) {
  mat3 f = plane_frame(p.u), v;
  vec3 o;
  plane_view(f, p.c, c->r[0], c->x[0], &v, &o);
  plane_moments m = plane_side(&c->br, &c->set[0], 1, v, o, p.e, splat(1));
  t->value = c->mu * m.value;
  t->gap = t->low = m.smallest;
  t->f0[0] = c->mu * m.f0;
  t->f1[0] = scale(c->mu, m.f1);
  t->h0[0] = c->mu * m.h0;
  t->h1[0] = scale(c->mu, m.h1);
  t->h11[0] = c->mu * m.h11;
  t->h12[0] = c->mu * m.h12;
  t->h22[0] = c->mu * m.h22;
}

FN void halfspace_evaluate_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id,
                              mask on, int all_on, int exact) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), kind);
  contact_sum sum = contact_zero();
  plane_state p = halfspace_plane(c.pair, get_vec(&AT(SLOT_AT(s, plane), 3)));
  plane_terms t;
  halfspace_terms(&c, p, &t);
  IN_MEMORY(&t);
  sum.value = t.value;
  normal_world(&t, 0, plane_frame(p.u), sub(p.c, c.x[0]), &sum.force[0], &sum.phi[0], &sum.block.own[0]);
  IN_MEMORY(&p);
  IN_MEMORY(&sum);
  AT(SLOT_AT(s, gap), 0) = sel(on, t.gap, splat(ELEM_HUGE));
  AT(SLOT_AT(s, low), 0) = t.low;
  AT(SLOT_AT(s, noise), 1) = zero();
  AT(SLOT_AT(s, energy), 0) = sel(on, sum.value, zero());
  if (any(friction_rubs(k, slots, s, on))) friction_evaluate(k, &c, w, slots, s, on, exact, 1, &sum);
  contact_put(k, slots, s, &c, on, all_on, 1, p.c, &sum);
}
KERNEL void halfspace_evaluate(const step_params *k, lane_group *g, int s, mask on, int all_on, int exact) {
  STAGE_LOCALS
  if (step_barrier(k) == BARRIER_LOCAL)
    halfspace_evaluate_as(BARRIER_LOCAL, k, w, slots, s, g->slot_pair[s], on, all_on, exact);
  else
    halfspace_evaluate_as(BARRIER_INVERSE, k, w, slots, s, g->slot_pair[s], on, all_on, exact);
}

KERNEL void halfspace_direction(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos), W(xmat), step_barrier(k));
  plane_state p = halfspace_plane(c.pair, c.x[0]);
  twist6 t = get_twist(&AT(W(body_step), 6 * c.pair->side[0].body));
  mat3 f = plane_frame(p.u), a;
  vec3 b, spin = mat_vec(f, t.w), lin = mat_vec(f, t.v);
  plane_view(f, p.c, c.r[0], c.x[0], &a, &b);
  /* seen from the plane, the body's rotation and translation act like a turn and a shift of the plane */
  real turned[4] = {-spin.y, spin.x, lin.z, zero()};
  real limit = plane_side_limit(&c.set[0], 1, a, b, p.e, splat(1), turned, zero());
  AT(SLOT_AT(s, limit), 0) = sel(on, K(0.9) * limit, splat(ELEM_HUGE));
  AT(SLOT_AT(s, fall), 0) = zero();
}

FN void halfspace_try_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos_try), W(xmat_try), kind);
  real t = AT(W(step), 0), low, arc = AT(W(arc), c.pair->side[0].body);
  real value = halfspace_value(&c.br, &c.set[0], c.r[0], c.x[0], halfspace_plane(c.pair, c.x[0]), c.mu, &low);
  real margin = rmin(AT(SLOT_AT(s, low), 0), low) - t * t * arc * K(0.125); /* points move on arcs */
  AT(SLOT_AT(s, clear_try), 0) = sel(on, margin, splat(ELEM_HUGE));
  mask rubs = friction_rubs(k, slots, s, on);
  if (any(rubs)) value = value + sel(rubs, friction_try(k, w, slots, s, &c, 1, t), zero());
  AT(SLOT_AT(s, value_try), 0) = sel(on, value, zero());
}
KERNEL uint32_t halfspace_try(const step_params *k, lane_group *g, int s, mask on, uint32_t failed) {
  STAGE_LOCALS(void) failed;
  if (step_barrier(k) == BARRIER_LOCAL)
    halfspace_try_as(BARRIER_LOCAL, k, w, slots, s, g->slot_pair[s], on);
  else
    halfspace_try_as(BARRIER_INVERSE, k, w, slots, s, g->slot_pair[s], on);
  return 0;
}

/* The plane stays where it is. */
FN void halfspace_accept(const step_params *k, lane_group *g, int s, mask yes) {
  (void)k, (void)g, (void)s, (void)yes;
}

KERNEL void halfspace_vjp(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  contact_frame c = contact_at(k, w, g->slot_pair[s], W(xpos_t), W(xmat_t), step_barrier(k));
  twist6 l[2];
  lambda_twists(k, w, slots, s, c.pair, l);
  stiffness_vjp(k, w, slots, s, on, 1, l);
  mask rubs = friction_rubs(k, slots, s, on);
  if (!any(rubs)) return;
  lag_bar bar = lag_bar_zero();
  lag_frame t = lag_frame_at(k, w, slots, s, &c, halfspace_plane(c.pair, c.x[0]), splat(1));
  lag_side(k, w, slots, s, &c, &t, 0, l[0], rubs, &bar);
  friction_vjp(k, w, c.pair, rubs, bar.psi);
}
