/* closest.inl: closest points of two convex point sets (GJK), and from them a first separating plane.
 *
 * The simplex is always a triangle of the Minkowski difference A - B (vertices may repeat). A new support
 * point w makes three edges and three faces with it; the best of these six, or nothing, replaces the
 * triangle. No branch depends on lane data and no case analysis is needed: a degenerate candidate is just not
 * the best. */

typedef struct support {
  vec3 a, b;
} support; /* witness on A and on B */

typedef struct closest {
  vec3 u;        /* unit direction from B to A with the largest separation seen */
  vec3 a, b;     /* support points of A and B against u, radii included */
  real gap;      /* their separation along u: > 0 proves the shapes disjoint */
  real distance; /* upper bound of the distance */
  real iterations;
} closest;

/* Extreme points along unit d: of A backwards, of B forwards. Later points win only if strictly further. */
FN support closest_support(const point_set *sa, const point_set *sb, mat3 ra, vec3 xa, mat3 rb, vec3 xb,
                           vec3 d) {
  support best;
  vec3 da = mat_tvec(ra, d), db = mat_tvec(rb, d), pa = vec_zero(), pb = vec_zero();
  real low = splat(ELEM_HUGE), high = splat(-ELEM_HUGE), r_low = zero(), r_high = zero();
  for (int i = 0; i < sa->num; i++) {
    vec3 p = point_at(sa, i);
    real r = radius_at(sa, i), h = dot(da, p) - r;
    mask m = lt(h, low);
    low = sel(m, h, low);
    pa = vec_sel(m, p, pa);
    r_low = sel(m, r, r_low);
  }
  for (int i = 0; i < sb->num; i++) {
    vec3 p = point_at(sb, i);
    real r = radius_at(sb, i), h = dot(db, p) + r;
    mask m = gt(h, high);
    high = sel(m, h, high);
    pb = vec_sel(m, p, pb);
    r_high = sel(m, r, r_high);
  }
  best.a = axpy(-r_low, d, add(mat_vec(ra, pa), xa));
  best.b = axpy(r_high, d, add(mat_vec(rb, pb), xb));
  return best;
}

/* Squared distance from the origin to segment w + t (p - w); closest point out. */
FN real closest_edge(vec3 w, vec3 p, vec3 *point) {
  vec3 e = sub(p, w);
  real ee = dot(e, e), t = -dot(w, e) / rmax(ee, splat(ELEM_TINY));
  *point = axpy(rmin(rmax(t, zero()), splat(1)), e, w);
  return dot(*point, *point);
}

/* The same for the inside of triangle (w, p, q); a huge number where the origin projects outside, or where
 * the triangle is so thin (repeated points, points in a row) that its normal is all rounding. */
FN real closest_face(vec3 w, vec3 p, vec3 q, vec3 *point) {
  vec3 e = sub(p, w), f = sub(q, w), n = cross(e, f);
  real nn = dot(n, n), inv = splat(1) / rmax(nn, splat(ELEM_TINY));
  real thin = K(1e6) * (K(ELEM_EPS) * K(ELEM_EPS)) * (dot(e, e) * dot(f, f));
  real lw = dot(n, cross(p, q)), lp = dot(n, cross(q, w)), lq = dot(n, cross(w, p));
  mask inside = mask_and(mask_and(ge(lw, zero()), ge(lp, zero())),
                         mask_and(ge(lq, zero()), gt(nn, rmax(thin, splat(ELEM_TINY)))));
  *point = scale(dot(n, w) * inv, n);
  return sel(inside, dot(*point, *point), splat(ELEM_HUGE));
}

/* Stops per lane when the separation reaches `enough` (< 1) of the distance's upper bound, at most `cap`
 * rounds. Lanes outside `on` return without meaning. */
FN closest closest_points(const point_set *sa, const point_set *sb, mat3 ra, vec3 xa, mat3 rb, vec3 xb,
                          mask on, elem enough, int cap) {
  xa = sub(xa, xb); /* everything relative to B's frame origin: no cancellation far from the world's */
  vec3 b0 = xb;
  xb = vec_zero();
  vec3 v = sub(add(mat_vec(ra, point_at(sa, 0)), xa), add(mat_vec(rb, point_at(sb, 0)), xb));
  vec3 p0 = v, p1 = v, p2 = v;
  real vv = dot(v, v);
  closest best = {vec(zero(), zero(), splat(1)), vec_zero(), vec_zero(), splat(-ELEM_HUGE), zero(), zero()};
  mask live = on;
  mat3 r[2] = {ra, rb};
  for (int round = 0; round < cap && any(live); round++) {
    IN_MEMORY(r);
    real length = root(vv);
    mask sane = gt(length, splat(K(1e-15)));
    vec3 d = vec_sel(sane, scale(splat(1) / sel(sane, length, splat(1)), v), best.u);
    support s = closest_support(sa, sb, r[0], xa, r[1], xb, d);
    vec3 w = sub(s.a, s.b);
    real gap = dot(d, w);
    mask better = mask_and(live, gt(gap, best.gap));
    best.u = vec_sel(better, d, best.u);
    best.a = vec_sel(better, s.a, best.a);
    best.b = vec_sel(better, s.b, best.b);
    best.gap = sel(better, gap, best.gap);
    best.distance = sel(live, length, best.distance);
    best.iterations = best.iterations + sel(live, splat(1), zero());
    live = mask_and(live, mask_and(sane, lt(best.gap, enough * length)));
    IN_MEMORY(&best);
    vec3 c[6], q1[6] = {p0, p1, p2, p0, p1, p2}, q2[6] = {p0, p1, p2, p1, p2, p0};
    mask moved = mask_none();
    vec3 n1 = p1, n2 = p2, nv = v;
    real nearest_vv = vv * (K(1) - K(4) * K(ELEM_EPS));
    for (int k = 0; k < 6; k++) {
      real dd = k < 3 ? closest_edge(w, q1[k], &c[k]) : closest_face(w, q1[k], q2[k], &c[k]);
      mask m = mask_and(live, lt(dd, nearest_vv));
      nearest_vv = sel(m, dd, nearest_vv);
      nv = vec_sel(m, c[k], nv);
      n1 = vec_sel(m, q1[k], n1);
      n2 = vec_sel(m, q2[k], n2);
      moved = mask_or(moved, m);
    }
    p0 = vec_sel(moved, w, p0);
    p1 = n1;
    p2 = n2;
    v = nv;
    vv = dot(v, v);
    live = mask_and(live, moved);
  }
  best.a = add(best.a, b0);
  best.b = add(best.b, b0);
  return best;
}

/* The plane half-way between the closest points. */
FN plane_state plane_between(const barrier *br, closest cl) {
  plane_state p;
  p.u = cl.u;
  p.c = scale(splat(K(0.5)), add(cl.a, cl.b));
  p.e = zero(); /* c lies half-way along u by construction */
  mask far =
      ge(K(0.5) * (1 - br->reach) * br->inv_length * cl.gap, splat(br->reach)); /* nothing is in reach */
  p.sigma = sel(far, splat(br->reach), splat(K(0.5) * br->reach));
  return p;
}

/* Largest step along d (plane coordinates) that keeps every margin of one side positive, to first order in
 * the points' radii. */
FN real plane_side_limit(const point_set *set, elem sign, mat3 a, vec3 q, real e, real s, const real *d,
                         real cut) {
  real fastest = splat(ELEM_TINY); /* loss over margin */
  for (int i = 0; i < set->num; i++) {
    vec3 y = mat_vec(a, sub(point_at(set, i), q));
    real r = radius_at(set, i);
    real margin = s * (sign * (y.z + e) - r);
    real rate = sign * (y.x * d[0] + y.y * d[1] + d[2] - y.z * cut) + r * cut;
    fastest = rmax(fastest, -rate * inverse(margin));
  }
  return inverse(fastest);
}

/* Newton on the plane alone, poses fixed: U* of one pair, to |decrement|^2 < tol2 U or the cap. Lanes outside
 * `on` keep their plane. Returns the rounds each lane took. A full step, cut at 0.9 of the way to the first
 * zero margin, almost always lowers U: it is taken at once and judged by the next round's value, which steps
 * back half-way where it did not. Close to the minimum a full step needs no test: values are all rounding
 * there, and steps that no longer shrink say that nothing is left to gain. */
FN real plane_solve(const barrier *br, const point_set *a, const point_set *b, mat3 ra, vec3 xa, mat3 rb,
                    vec3 xb, plane_state *p, mask on, elem tol2, int cap, mask *converged) {
  int np = plane_unknowns(br);
  real rounds = zero(), last = splat(ELEM_HUGE), last_value = splat(ELEM_HUGE), step = zero();
  real kept[4] = {zero(), zero(), zero(), zero()};
  plane_state from = *p;
  mask live = on, close = mask_none();
  mat3 r[2] = {ra, rb};
  vec3 x[2] = {xa, xb};
  *converged = mask_none();
  for (int round = 0; round < cap && any(live); round++) {
    IN_MEMORY(r);
    IN_MEMORY(x);
    real s = plane_length(br, p->sigma);
    mat3 f = plane_frame(p->u), view[2];
    vec3 at[2];
    plane_moments m[2];
    plane_view(f, p->c, r[0], x[0], &view[0], &at[0]);
    plane_view(f, p->c, r[1], x[1], &view[1], &at[1]);
    m[0] = plane_side(br, a, 1, view[0], at[0], p->e, s);
    m[1] = plane_side(br, b, -1, view[1], at[1], p->e, s);
    IN_MEMORY(view);
    IN_MEMORY(at);
    IN_MEMORY(m);
    plane_terms t;
    plane_join(br, &m[0], &m[1], p->e, p->sigma, splat(1), 0, &t);
    mask inside = gt(t.low, zero());
    if (br->kind == BARRIER_LOCAL) inside = mask_and(inside, gt(p->sigma, zero()));
    mask lower = mask_and(inside, mask_or(close, le(t.value, last_value * (K(1) + K(32) * K(ELEM_EPS)))));
    mask back = mask_and(live, mask_not(lower));
    real l[10], d[4] = {zero(), zero(), zero(), zero()};
    plane_factor(np, t.k, l);
    for (int i = 0; i < np; i++) d[i] = -t.g[i];
    plane_solve_lower(np, l, d);
    real decrement = plane_decrement(np, l, d);
    plane_solve_upper(np, l, d);
    close = mask_and(lower, le(decrement, K(1e-6) * t.value));
    /* sum h rate^2 <= decrement: below this no margin changes by more than a fifth */
    mask safe = mask_or(close, mask_and(lower, le(decrement, K(0.04) * rmin(m[0].stiff, m[1].stiff))));
    mask near = mask_and(
        safe, mask_or(le(decrement, tol2 * t.value), mask_and(close, ge(decrement, K(0.25) * last))));
    real limit = splat(ELEM_HUGE);
    if (np == 4 ||
        any(mask_and(live, mask_not(safe)))) { /* local: a flat barrier makes even small steps long */
      real cut = zero();
      if (np == 4) cut = d[3];
      limit = rmin(plane_side_limit(a, 1, view[0], at[0], p->e, s, d, cut),
                   plane_side_limit(b, -1, view[1], at[1], p->e, s, d, cut));
      if (np == 4)
        limit = rmin(limit, sel(lt(cut, zero()), p->sigma / -rmin(cut, splat(-ELEM_TINY)), splat(ELEM_HUGE)));
    }
    step =
        sel(back, K(0.5) * step, rmin(splat(1), K(0.9) * limit)); /* limit is +huge where it was not needed */
    for (int i = 0; i < np; i++) kept[i] = sel(back, kept[i], d[i]);
    from.u = vec_sel(back, from.u, p->u);
    from.e = sel(back, from.e, p->e);
    from.sigma = sel(back, from.sigma, p->sigma);
    last_value = sel(back, last_value, t.value);
    last = sel(back, last, decrement);
    *converged = mask_or(*converged, mask_and(live, near));
    plane_state q = plane_move(br, from, plane_frame(from.u), kept, step);
    p->u = vec_sel(live, q.u, p->u);
    p->e = sel(live, q.e, p->e);
    p->sigma = sel(live, q.sigma, p->sigma);
    rounds = rounds + sel(live, splat(1), zero());
    live = mask_and(live, mask_and(mask_not(near), gt(step, splat(K(1e-12)))));
  }
  p->u = vec_sel(live, from.u, p->u); /* out of rounds: back to the last plane that was judged */
  p->e = sel(live, from.e, p->e);
  p->sigma = sel(live, from.sigma, p->sigma);
  return rounds;
}
