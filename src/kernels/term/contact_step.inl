/* contact_step.inl: what happens to one slot around a Newton step: start, lagged friction, step length, trial
 * value with the continuous-time certificate, acceptance (docs/step.md sections 4 and 5). */

/* A pair that enters the list: closest points, then its plane solved to the end. Returns lanes where the
 * shapes are not separated. */
KERNEL uint32_t contact_start(const step_params *k, real *w, real *slots, int s, int pair_id, mask fresh) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), k->barrier);
  AT(SLOT_AT(s, plane_t), 6) = sel(fresh, zero(), AT(SLOT_AT(s, plane_t), 6));
  put_vec_sel(SLOT_AT(s, motion), fresh, vec_zero());
  /* it does not rub in this step; what another environment left here, not a number perhaps, must not count */
  for (int i = 0; i < POINT * (c.set[0].num + c.set[1].num); i++)
    AT(SLOT_AT(s, point_t), i) = sel(fresh, zero(), AT(SLOT_AT(s, point_t), i));
  for (int i = 0; i < 2; i++) AT(SLOT_AT(s, spin_dual), i) = sel(fresh, zero(), AT(SLOT_AT(s, spin_dual), i));
  if (c.pair->halfspace) {
    put_plane(SLOT_AT(s, plane), fresh, halfspace_plane(c.pair, c.x[0]));
    return 0;
  }
  closest cl = closest_points(&c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], fresh, K(0.999), 64);
  mask apart = gt(cl.gap, zero());
  plane_state p = plane_between(&c.br, cl);
  mask near = mask_and(mask_and(fresh, apart),
                       c.br.kind == BARRIER_LOCAL ? lt(cl.gap, splat(K(4 * k->reach * k->length))) : fresh),
       done;
  plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &p, near, K(1e-22), 60, &done);
  put_plane(SLOT_AT(s, plane), fresh, p);
  return bits_from_mask(mask_and(fresh, mask_not(apart)));
}

/* The nested reference: the plane solved to the end at the given poses. */
KERNEL void contact_polish(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                           const real *xpos, const real *xmat) {
  contact_frame c = contact_at(k, w, pair_id, xpos, xmat, k->barrier);
  if (c.pair->halfspace) return;
  plane_state p = get_plane(SLOT_AT(s, plane));
  mask done;
  plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &p, on, K(1e-26), 60, &done);
  put_plane(SLOT_AT(s, plane), on, p);
}

/* Lanes where a pair pushes so little that the step's tolerance left its plane unsettled: the energy would
 * still fall by a noticeable share. What elimination makes of such a plane is arbitrary. */
FN mask contact_unsettled(const step_params *k, const real *slots, int s, int pair_id, mask on) {
  real fall = rows_decrement(k->barrier == BARRIER_LOCAL ? 4 : 3, 10, SLOT_AT(s, plane_rows));
  mask loose = gt(fall, K(1e-12) * AT(SLOT_AT(s, energy), 0));
  return mask_and(on, mask_and(loose, lt(zero(), splat(K(!k->pairs[pair_id].halfspace)))));
}

/* Extreme point of a side against u: where its margin is smallest. */
FN vec3 nearest_point(const contact_frame *c, int j, vec3 u) {
  elem sign = j ? K(-1) : K(1);
  real low = splat(ELEM_HUGE);
  vec3 du = mat_tvec(c->r[j], u), best = vec_zero();
  for (int i = 0; i < c->set[j].num; i++) {
    vec3 p = point_at(&c->set[j], i);
    real h = sign * dot(du, p);
    mask m = lt(h, low);
    low = sel(m, h, low);
    best = vec_sel(m, p, best);
  }
  return axpy(-sign * splat(c->set[j].radius), u, add(mat_vec(c->r[j], best), c->x[j]));
}

/* At the step's start: moves the plane's origin to the middle of its nearest points and, where nothing is
 * loaded, the plane itself half-way between the shapes. */
FN plane_state contact_recenter(const contact_frame *c, plane_state p) {
  vec3 a = nearest_point(c, 0, p.u), b = nearest_point(c, 1, p.u), middle = scale(splat(K(0.5)), add(a, b));
  real s = plane_length(&c->br, p.sigma), e = p.e + dot(p.u, sub(middle, p.c));
  real half = K(0.5) * dot(p.u, sub(a, b));
  real reach = splat(c->br.kind == BARRIER_LOCAL ? c->br.reach / c->br.inv_length : K(ELEM_HUGE));
  mask idle = gt(s * half, reach); /* both margins out of reach once centred */
  p.c = middle;
  p.e = sel(idle, zero(), e);
  return p;
}

/* Lagged friction points, weights and frame at the start of the step (physics at time t). */
KERNEL void contact_begin(const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos_t), W(xmat_t), k->barrier);
  int half = c.pair->halfspace;
  plane_state p = half ? halfspace_plane(c.pair, c.x[0]) : contact_recenter(&c, get_plane(SLOT_AT(s, plane)));
  put_plane(SLOT_AT(s, plane), on, p);
  put_plane(SLOT_AT(s, plane_begin), on, p);
  real str = plane_length(&c.br, p.sigma);
  real f_scale = pair_friction(k, w, c.pair) * c.mu * str * (c.br.inv_length * K(k->dt));
  if (c.br.kind == BARRIER_INVERSE && !half) {
    plane_moments m[2];
    contact_moments(&c, p, m);
    f_scale = f_scale * (K(1) + root(K(12) / (m[0].value + m[1].value)));
  }
  mat3 f = plane_frame(p.u), a;
  vec3 b, centroid = vec_zero();
  real sum = zero(), *points = SLOT_AT(s, point_t), *points_b = points + POINT * c.set[0].num * LANE_STRIDE;
  f_scale = sel(on, f_scale, zero());
  for (int j = 0; j < (half ? 1 : 2); j++) {
    plane_view(f, p.c, c.r[j], c.x[j], &a, &b);
    sum = sum + friction_prepare_side(k, &c.br, &c.set[j], j ? K(-1) : K(1), a, b, p.e, str, f_scale, on,
                                      j ? points_b : points, &centroid);
  }
  sum = sel(on, sum, zero());
  real safe = sel(gt(sum, splat(ELEM_TINY)), sum, splat(1));
  centroid = scale(splat(1) / safe, centroid);
  friction_recenter(points, c.set[0].num, on, centroid);
  if (!half) friction_recenter(points_b, c.set[1].num, on, centroid);
  vec3 origin = add(axpy(-p.e, p.u, p.c), mat_tvec(f, centroid));
  put_vec_sel(SLOT_AT(s, plane_t), on, p.u);
  put_vec_sel(&AT(SLOT_AT(s, plane_t), 3), on, origin);
  AT(SLOT_AT(s, plane_t), 6) = sel(on, sum, AT(SLOT_AT(s, plane_t), 6));
  put_vec_sel(SLOT_AT(s, motion), on, vec_zero());
  for (int i = 0; i < 2; i++) AT(SLOT_AT(s, spin_dual), i) = sel(on, zero(), AT(SLOT_AT(s, spin_dual), i));
}

FN twist6 body_step(const step_params *k, const real *w, const real *d, int body) {
  twist6 t = {vec_zero(), vec_zero()};
  vec3 x = get_vec(&AT(W(xpos), 3 * body));
  for (int i = k->path_adr[body]; i < k->path_adr[body + 1]; i++) {
    int e = k->path[i];
    twist6 s =
        twist_at(get_twist(&AT(W(twist), 6 * e)), sub(x, get_vec(&AT(W(xpos), 3 * k->model->dof_body[e]))));
    real de = AT(d, e);
    t.w = axpy(de, s.w, t.w);
    t.v = axpy(de, s.v, t.v);
  }
  return t;
}

/* After the solve: the step of plane and friction motion, how much they let the energy fall, and the largest
 * step length that keeps margins positive, to first order. body_twist: step twists of all bodies (6 each). */
KERNEL void contact_direction(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                              const real *body_twist) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), k->barrier);
  plane_state p = get_plane(SLOT_AT(s, plane));
  twist6 t[2];
  for (int j = 0; j < 2; j++) t[j] = get_twist(&AT(body_twist, 6 * c.pair->side[j].body));
  int half = c.pair->halfspace, np = plane_unknowns(&c.br);
  real d[4] = {zero(), zero(), zero(), zero()}, z[3] = {zero(), zero(), zero()};
  if (!half) {
    back_substitute(np, 10, 4, SLOT_AT(s, plane_rows), t, 1, d);
    back_substitute(3, 6, 3, SLOT_AT(s, motion_rows), t, 1, z);
  } else {
    p = halfspace_plane(c.pair, c.x[0]);
  }
  for (int i = 0; i < 4; i++) AT(SLOT_AT(s, plane_step), i) = d[i];
  for (int i = 0; i < 3; i++) AT(SLOT_AT(s, motion_step), i) = z[i];
  mat3 f = plane_frame(p.u);
  real str = plane_length(&c.br, p.sigma), limit = splat(ELEM_HUGE);
  for (int j = 0; j < (half ? 1 : 2); j++) {
    mat3 a;
    vec3 b, spin = mat_vec(f, t[j].w), lin = mat_vec(f, add(t[j].v, cross(t[j].w, sub(p.c, c.x[j]))));
    plane_view(f, p.c, c.r[j], c.x[j], &a, &b);
    /* seen from the plane, the body's rotation and translation act like a turn and a shift of the plane */
    real turned[4] = {d[0] - str * spin.y, d[1] + str * spin.x, d[2] + str * lin.z, d[3]};
    real cut = c.br.kind == BARRIER_LOCAL && !half ? d[3] : zero();
    limit = rmin(limit, plane_side_limit(&c.set[j], j ? K(-1) : K(1), a, b, p.e, str, turned, cut));
  }
  if (c.br.kind == BARRIER_LOCAL && !half)
    limit = rmin(limit, sel(lt(d[3], zero()), p.sigma / -rmin(d[3], splat(-ELEM_TINY)), splat(ELEM_HUGE)));
  AT(SLOT_AT(s, limit), 0) = sel(on, K(0.9) * limit, splat(ELEM_HUGE));
  real fall = zero();
  if (!half)
    fall = rows_decrement(np, 10, SLOT_AT(s, plane_rows)) + rows_decrement(3, 6, SLOT_AT(s, motion_rows));
  AT(SLOT_AT(s, fall), 0) = sel(on, fall, zero());
}

/* Bound of how far this pair's margins may dip between iterate and trial below the smaller of their end
 * values. The plane's path is affine about an origin that moves with the mean of both bodies; points move on
 * chords up to arcs. */
FN real contact_dip(const contact_frame *now, const contact_frame *try_, plane_state p, vec3 dn,
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

/* Friction of one slot at the trial. */
FN real friction_try(const step_params *k, real *w, real *slots, int s, const contact_frame *c, real t) {
  const real *plane_t = SLOT_AT(s, plane_t), *points = SLOT_AT(s, point_t);
  int half = c->pair->halfspace;
  mat3 f = plane_frame(get_vec(plane_t)), a;
  vec3 b;
  real z[3], value = zero();
  for (int i = 0; i < 3; i++) z[i] = AT(SLOT_AT(s, motion), i) + t * AT(SLOT_AT(s, motion_step), i);
  for (int j = 0; j < (half ? 1 : 2); j++) {
    int body = c->pair->side[j].body;
    friction_view(f, get_vec(&AT(plane_t, 3)), get_mat(&AT(W(xmat_t), 9 * body)),
                  get_vec(&AT(W(xpos_t), 3 * body)), c->r[j], c->x[j], &a, &b);
    value = value + friction_side_value(k, points + (j ? POINT * c->set[0].num * LANE_STRIDE : 0),
                                        c->set[j].num, a, b, z);
  }
  if (half) return value;
  return value + friction_spin_value(k, AT(plane_t, 6), z[2]);
}

/* Energy of one slot at the trial, and its certified margin. */
FN void contact_try_as(int kind, const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos_try), W(xmat_try), kind);
  plane_state p = get_plane(SLOT_AT(s, plane)), q;
  real t = AT(W(step), 0), low, gap, value, s0 = splat(1), s1 = splat(1);
  int half = c.pair->halfspace;
  vec3 dn = vec_zero();
  if (half) {
    q = halfspace_plane(c.pair, c.x[0]);
    value = halfspace_value(&c.br, &c.set[0], c.r[0], c.x[0], q, c.mu, &low);
  } else {
    real d[4];
    for (int i = 0; i < 4; i++) d[i] = AT(SLOT_AT(s, plane_step), i);
    q = plane_move(&c.br, p, plane_frame(p.u), d, t);
    if (k->nested) {
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
    dn = sub(scale(s1, q.u), scale(s0, p.u));
  }
  IN_MEMORY(w);
  contact_frame now = contact_at(k, w, pair_id, W(xpos), W(xmat), kind);
  real dip = contact_dip(&now, &c, p, dn, k, w, t);
  real margin = rmin(s0 * AT(SLOT_AT(s, low), 0), s1 * low) - dip;
  AT(SLOT_AT(s, clear_try), 0) = sel(on, margin, splat(ELEM_HUGE));
  real *out = SLOT_AT(s, plane_try);
  put_vec(out, q.u);
  AT(out, 3) = q.e;
  AT(out, 4) = q.sigma;
  mask rubs = mask_and(on, gt(AT(SLOT_AT(s, plane_t), 6), zero()));
  if (any(rubs)) value = value + sel(rubs, friction_try(k, w, slots, s, &c, t), zero());
  AT(SLOT_AT(s, value_try), 0) = sel(on, value, zero());
}
KERNEL void contact_try(const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  if (k->barrier == BARRIER_LOCAL)
    contact_try_as(BARRIER_LOCAL, k, w, slots, s, pair_id, on);
  else
    contact_try_as(BARRIER_INVERSE, k, w, slots, s, pair_id, on);
}

KERNEL void contact_accept(const step_params *k, const real *w, real *slots, int s, mask yes) {
  const real *q = SLOT_AT(s, plane_try);
  real *p = SLOT_AT(s, plane), *z = SLOT_AT(s, motion), t = AT(W(step), 0);
  put_vec_sel(p, yes, get_vec(q));
  AT(p, 6) = sel(yes, AT(q, 3), AT(p, 6));
  AT(p, 7) = sel(yes, AT(q, 4), AT(p, 7));
  for (int i = 0; i < 3; i++) AT(z, i) = sel(yes, AT(z, i) + t * AT(SLOT_AT(s, motion_step), i), AT(z, i));
}

/* Direction u, supports of both sides and gap of lanes `on`; others may share the slot in the middle of a
 * step. */
FN void contact_put_gap(const step_params *k, real *slots, int s, mask on, vec3 u, vec3 a, vec3 b) {
  put_vec_sel(SLOT_AT(s, plane), on, u);
  put_vec_sel(&AT(SLOT_AT(s, plane), 3), on, a);
  put_vec_sel(SLOT_AT(s, plane_t), on, b);
  AT(SLOT_AT(s, gap), 0) = sel(on, dot(u, sub(a, b)), AT(SLOT_AT(s, gap), 0));
}

/* Separation of one pair for the start of a rollout, where shapes may touch or overlap: direction from copies
 * shrunk about their centres until they come apart, then the true supports along it. Writes u and the
 * supports into plane (u, a's support) and plane_t (b's support), and the gap, negative where they overlap.
 */
KERNEL void contact_gap(const step_params *k, real *w, real *slots, int s, int pair_id, mask on) {
  contact_frame c = contact_at(k, w, pair_id, W(xpos), W(xmat), k->barrier);
  if (c.pair->halfspace) {
    vec3 u = vec_splat(c.pair->normal), a = nearest_point(&c, 0, u);
    real gap = dot(u, a) - K(c.pair->offset);
    contact_put_gap(k, slots, s, on, u, a, axpy(-gap, u, a));
    return;
  }
  if (c.pair->far == FAR_MESH) { /* not its hull; meshes that meet at the start are found by far_begin */
    vec3 apart = vec(zero(), zero(), splat(K(1e6) * K(k->length)));
    contact_put_gap(k, slots, s, on, vec(zero(), zero(), splat(1)), apart, vec_zero());
    return;
  }
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
    mask apart = mask_and(open, gt(cl.gap, splat(K(1e-6) * K(k->length) * K(i == 0))));
    u = vec_sel(apart, cl.u, u);
    open = mask_and(open, mask_not(apart));
  }
  for (int j = 0; j < 2; j++) c.set[j].radius = K(c.pair->side[j].radius);
  support q = closest_support(&c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], u);
  contact_put_gap(k, slots, s, on, u, q.a, q.b);
}
