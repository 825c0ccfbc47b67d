/* friction.inl: lagged Coulomb friction of one pair (docs/contact.md).
 *
 * At the step's start every loaded point leaves a lagged point y on the plane (in `vertex` form: itself) and
 * a weight w = mu_f f dt. During the step y is carried by its own body to Y; with the plane allowed to slide
 * and spin in its own tangent space (z1, z2, omega), D = min_z sum_m w_m ( sqrt(|d_m - z_m|^2 + e^2) - e ),
 * d = (Y - y)/dt,   z_m = z + omega n x y, plus a spin floor sum w (sqrt((r0 omega)^2 + e^2) - e). Against a
 * half-space z = 0. Everything is in the frame of the start: origin c_t (the points' weighted centroid), axes
 * e1, e2, u. `sides` is 1 against a half-space, whose plane neither slides nor spins and has no points;
 * else 2. It is a constant where it is used. */

/* The norm's Hessian is that of a kink of width e: Newton overshoots it like |r|^3/e^2 as soon as a point
 * slips. So the forward pass iterates on the dual as well (Chan, Golub and Mulet's primal-dual Newton for
 * sums of norms): with lambda = r/|r| held as an unknown, |lambda| <= 1, the Hessian in r is w/|r| (1 -
 * sym(lambda r^T)/|r|), positive semidefinite, the majorising one while lambda is small, Newton's once lambda
 * = r/|r|. The reverse pass uses the exact one. */

enum { POINT = 8 }; /* values of a lagged point: y (3), weight, lambda (2), r (2) */

/* Radius at which the spin floor slips (m). */
FN double spin_radius(const step_params *k) { return 1e-4 * k->options.implicit.length; }

typedef struct friction_side {
  real f1, f2;   /* force on the tangent axes (N) */
  vec3 p1, p2;   /* f (x) Y */
  real s[15];    /* Hessian in (w1, w2, w3, v1, v2), lower triangle */
  real bz[3][5]; /* d2D / dz dtwist */
} friction_side;

typedef struct friction_terms {
  real value;
  real g[3], k[6]; /* z gradient (N s) and Hessian */
  real lever;      /* sum w |y|^2 */
  friction_side side[2];
} friction_terms;

/* Lagged points of one side; returns the weight's sum and adds to the weighted centroid. f_scale: N per unit
 * -w P'(x). */
FN real friction_prepare_side(const step_params *k, const barrier *br, const point_set *set, elem sign,
                              mat3 a, vec3 q, real e, real s, real f_scale, mask on, real *points,
                              vec3 *centroid) {
  real sum = zero();
  for (int i = 0; i < set->num; i++) {
    vec3 y = mat_vec(a, sub(point_at(set, i), q));
    real p, dp, ddp, margin = sign * (y.z + e) - radius_at(set, i);
    barrier_at(br, s * br->inv_length * margin, &p, &dp, &ddp);
    real weight = f_scale * weight_at(set, i) * -dp;
    y.z =
        (y.z + e) * K(k->options.implicit.friction_form == ABUT_FRICTION_VERTEX); /* height above the plane */
    put_vec_sel(&AT(points, POINT * i), on, y);
    AT(points, POINT * i + 3) = sel(on, weight, AT(points, POINT * i + 3));
    for (int j = 4; j < POINT; j++) AT(points, POINT * i + j) = sel(on, zero(), AT(points, POINT * i + j));
    sum = sum + weight;
    *centroid = axpy(weight, vec(y.x, y.y, zero()), *centroid);
  }
  return sum;
}

FN void friction_recenter(real *points, int num, mask on, vec3 shift) {
  for (int i = 0; i < num; i++)
    put_vec_sel(&AT(points, POINT * i), on, sub(get_vec(&AT(points, POINT * i)), shift));
}

/* Where a lagged point of a body goes, in the frame of the start: Y = A y + b for pose_t -> pose. */
FN void friction_view(mat3 f, vec3 c_t, mat3 r_t, vec3 x_t, mat3 r, vec3 x, mat3 *a, vec3 *b) {
  mat3 turn = mat_matt(r, r_t);
  *a = mat_matt(mat_mat(f, turn), f);
  *b = mat_vec(f, sub(add(x, mat_vec(turn, sub(c_t, x_t))), c_t));
}

/* Slip of one point relative to the plane: (Y - y)/dt - z - omega n x y. */
FN void friction_slip(vec3 y, vec3 to, real idt, const real *z, real *r1, real *r2) {
  *r1 = (to.x - y.x) * idt - z[0] + z[2] * y.y;
  *r2 = (to.y - y.y) * idt - z[1] - z[2] * y.x;
}

FN real friction_side_value(const step_params *k, const real *points, int num, mat3 a, vec3 b,
                            const real *z) {
  real value = zero(), idt = splat(K(1 / k->options.timestep));
  elem e = K(k->options.implicit.slip_velocity);
  for (int i = 0; i < num; i++) {
    real w = AT(points, POINT * i + 3), r1, r2;
    if (!any(gt(w, zero()))) continue;
    vec3 y = get_vec(&AT(points, POINT * i));
    friction_slip(y, add(mat_vec(a, y), b), idt, z, &r1, &r2);
    real rr = r1 * r1 + r2 * r2, ss = rr + e * e;
    value = value + w * rr * inverse(ss * inverse_root(ss) + e);
  }
  return value;
}

FN real friction_spin_value(const step_params *k, real weight, real omega) {
  real r = omega * K(spin_radius(k)), rr = r * r;
  elem e = K(k->options.implicit.slip_velocity);
  return weight * rr / (root(rr + e * e) + e);
}

/* One point's part of a side's Hessian and of the z terms. h, d: gradient and Hessian of w (|r| - e) in r. */
FN void friction_point(friction_terms *t, friction_side *q, vec3 y, vec3 to, real idt, real h1, real h2,
                       real d11, real d12, real d22) {
  /* columns dr/dtwist (times dt): w1 (0,-Y3), w2 (Y3,0), w3 (-Y2,Y1), v1 (1,0), v2 (0,1); d times column: */
  real c1[5] = {zero(), to.z, -to.y, splat(1), zero()}, c2[5] = {-to.z, zero(), to.x, zero(), splat(1)};
  real e1[5] = {d12 * c2[0], d11 * c1[1], d11 * c1[2] + d12 * c2[2], d11, d12};
  real e2[5] = {d22 * c2[0], d12 * c1[1], d12 * c1[2] + d22 * c2[2], d12, d22};
  real i2 = idt * idt;
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j <= i; j++)
      q->s[i * (i + 1) / 2 + j] = q->s[i * (i + 1) / 2 + j] + i2 * (c1[i] * e1[j] + c2[i] * e2[j]);
    q->bz[0][i] = q->bz[0][i] - idt * e1[i];
    q->bz[1][i] = q->bz[1][i] - idt * e2[i];
    q->bz[2][i] = q->bz[2][i] + idt * (y.y * e1[i] - y.x * e2[i]);
  }
  real w1 = d11 * y.y - d12 * y.x, w2 = d12 * y.y - d22 * y.x;
  t->k[0] = t->k[0] + d11;
  t->k[1] = t->k[1] + d12;
  t->k[2] = t->k[2] + d22;
  t->k[3] = t->k[3] - w1;
  t->k[4] = t->k[4] - w2;
  t->k[5] = t->k[5] + w1 * y.y - w2 * y.x;
  q->f1 = q->f1 + idt * h1;
  q->f2 = q->f2 + idt * h2;
  q->p1 = axpy(idt * h1, to, q->p1);
  q->p2 = axpy(idt * h2, to, q->p2);
}

/* The dual after slip went from old to r: lambda of the linearised |r| lambda = r, cut to length 1. A dual
 * whose slip has not changed is kept: an iterate may be evaluated twice. */
FN void friction_dual(real old1, real old2, real r1, real r2, elem e, real *l1, real *l2) {
  real iq = inverse_root(old1 * old1 + old2 * old2 + e * e);
  real along = (old1 * (r1 - old1) + old2 * (r2 - old2)) * iq;
  real a = (r1 - *l1 * along) * iq, b = (r2 - *l2 * along) * iq;
  real cut = inverse_root(rmax(splat(1), a * a + b * b));
  mask moved = gt(rabs(r1 - old1) + rabs(r2 - old2), zero());
  *l1 = sel(moved, a * cut, *l1);
  *l2 = sel(moved, b * cut, *l2);
}

/* Slip of one side's points at the iterate, value and z gradient; duals of the lanes in `on` follow. */
FN void friction_side_slips(const step_params *k, real *points, int num, mat3 a, vec3 b, const real *z,
                            mask on, friction_terms *t) {
  real idt = splat(K(1 / k->options.timestep));
  elem e = K(k->options.implicit.slip_velocity);
  for (int i = 0; i < num; i++) {
    real *point = &AT(points, POINT * i), w = AT(point, 3), r1, r2;
    if (!any(gt(w, zero()))) continue;
    vec3 y = get_vec(point);
    friction_slip(y, add(mat_vec(a, y), b), idt, z, &r1, &r2);
    real l1 = AT(point, 4), l2 = AT(point, 5), rr = r1 * r1 + r2 * r2, il = inverse_root(rr + e * e),
         len = (rr + e * e) * il, wi = w * il;
    friction_dual(AT(point, 6), AT(point, 7), r1, r2, e, &l1, &l2);
    AT(point, 4) = sel(on, l1, AT(point, 4));
    AT(point, 5) = sel(on, l2, AT(point, 5));
    AT(point, 6) = sel(on, r1, AT(point, 6));
    AT(point, 7) = sel(on, r2, AT(point, 7));
    t->value = t->value + w * rr * inverse(len + e);
    t->g[0] = t->g[0] - wi * r1;
    t->g[1] = t->g[1] - wi * r2;
    t->g[2] = t->g[2] + wi * (r1 * y.y - r2 * y.x);
    t->lever = t->lever + w * (y.x * y.x + y.y * y.y);
  }
}

/* Hessian and forces of one side. exact: the true Hessian (reverse); else that of the duals, with at least
 * the share `hold` of the majorising one. */
FN void friction_side_terms(const step_params *k, const real *points, int num, mat3 a, vec3 b, const real *z,
                            real hold, int exact, friction_terms *t, friction_side *q) {
  real idt = splat(K(1 / k->options.timestep)), part = splat(1) - hold;
  elem e = K(k->options.implicit.slip_velocity);
  for (int i = 0; i < num; i++) {
    const real *point = &AT(points, POINT * i);
    real w = AT(point, 3), r1, r2;
    if (!any(gt(w, zero()))) continue;
    vec3 y = get_vec(point), to = add(mat_vec(a, y), b);
    friction_slip(y, to, idt, z, &r1, &r2);
    real il = inverse_root(r1 * r1 + r2 * r2 + e * e), wi = w * il, l1 = r1 * il, l2 = r2 * il;
    if (!exact) {
      l1 = part * AT(point, 4);
      l2 = part * AT(point, 5);
    }
    friction_point(t, q, y, to, idt, wi * r1, wi * r2, wi * (K(1) - l1 * r1 * il),
                   wi * (K(-0.5) * (l1 * r2 + l2 * r1) * il), wi * (K(1) - l2 * r2 * il));
  }
}

/* Bound of the sum of all points' |force|, however they oppose each other: w r/(|r| dt) each, from their
 * energy w r^2/(|r| + e) and Cauchy's inequality; and what rounding of a pose of size `size` gives. */
FN real friction_rub(const step_params *k, elem e, real weight, real value, real size) {
  elem idt = K(1 / k->options.timestep);
  real rounded = weight * size * (K(0.5) * K(ELEM_EPS) * idt / e);
  return idt * rmin(weight, rounded + root(K(2) / e * weight * value));
}

FN friction_terms friction_zero(void) {
  friction_terms t;
  t.value = t.lever = zero();
  for (int i = 0; i < 3; i++) t.g[i] = zero();
  for (int i = 0; i < 6; i++) t.k[i] = zero();
  for (int j = 0; j < 2; j++) {
    friction_side *q = &t.side[j];
    q->f1 = q->f2 = zero();
    q->p1 = q->p2 = vec_zero();
    for (int i = 0; i < 15; i++) q->s[i] = zero();
    for (int i = 0; i < 5; i++) q->bz[0][i] = q->bz[1][i] = q->bz[2][i] = zero();
  }
  return t;
}

FN void friction_spin_terms(const step_params *k, real weight, real omega, real *dual, mask on, int exact,
                            friction_terms *t) {
  elem r0 = K(spin_radius(k)), e = K(k->options.implicit.slip_velocity);
  real r = omega * r0, len = root(r * r + e * e), il = splat(1) / len, l = r * il, none = zero();
  if (!exact) {
    l = AT(dual, 0);
    friction_dual(AT(dual, 1), none, r, none, e, &l, &none);
    AT(dual, 0) = sel(on, l, AT(dual, 0));
    AT(dual, 1) = sel(on, r, AT(dual, 1));
  }
  t->value = t->value + weight * r * r / (len + e);
  t->g[2] = t->g[2] + weight * r * il * r0;
  t->k[5] = t->k[5] + weight * il * (K(1) - l * r * il) * (r0 * r0);
}

/* Where every point slips, z has next to no curvature, and a Newton step of it would be wild. A share of the
 * majorising Hessian, as large as z's share of unbalanced friction, holds it; both fade together. */
FN real friction_hold(const step_params *k, real weight, const friction_terms *t) {
  elem r0 = K(spin_radius(k));
  real inv = inverse(rmax(weight, splat(ELEM_TINY))), arm = t->lever * inv + r0 * r0;
  return rmin(splat(1), inv * root(t->g[0] * t->g[0] + t->g[1] * t->g[1] + t->g[2] * t->g[2] * inverse(arm)));
}

/* The side's terms in world axes about a body origin from which c_t is seen at r. */
FN void friction_world(const friction_side *q, mat3 f, vec3 r, vec3 *force, mat3 *phi, block6 *block) {
  vec3 e1 = f.r0, e2 = f.r1, u = f.r2;
  *force = axpy(q->f1, e1, scale(q->f2, e2));
  vec3 y1 = add(mat_tvec(f, q->p1), scale(q->f1, r)), y2 = add(mat_tvec(f, q->p2), scale(q->f2, r));
  *phi = mat_add(outer(e1, y1), outer(e2, y2));
  const real *s = q->s; /* rows: w1, w2, w3, v1, v2 */
  vec3 a1 = axpy(s[0], e1, axpy(s[1], e2, scale(s[3], u))),
       a2 = axpy(s[1], e1, axpy(s[2], e2, scale(s[4], u)));
  vec3 a3 = axpy(s[3], e1, axpy(s[4], e2, scale(s[5], u)));
  vec3 c1 = axpy(s[6], e1, axpy(s[7], e2, scale(s[8], u))),
       c2 = axpy(s[10], e1, axpy(s[11], e2, scale(s[12], u)));
  vec3 v1 = axpy(s[9], e1, scale(s[13], e2)), v2 = axpy(s[13], e1, scale(s[14], e2));
  block6 b;
  b.ww = sym_outer(sym_outer(sym_outer(sym_zero(), a1, e1), a2, e2), a3, u);
  b.wv = mat_add(outer(c1, e1), outer(c2, e2));
  b.vv = sym_outer(sym_outer(sym_zero(), v1, e1), v2, e2);
  *block = block_shift(b, r);
}

/* The lagged points of side j of a slot. */
FN real *friction_points(const step_params *k, real *slots, int s, const contact_frame *c, int j) {
  return SLOT_AT(s, point_t) + (j ? POINT * c->set[0].num * LANE_STRIDE : 0);
}
/* Lanes in which a slot rubs. */
FN mask friction_rubs(const step_params *k, real *slots, int s, mask on) {
  return mask_and(on, gt(AT(SLOT_AT(s, plane_t), 6), zero()));
}

/* A pair that enters the list does not rub in this step; what another environment left in its slot, not a
 * number perhaps, must not count. */
FN void friction_start(const step_params *k, real *slots, int s, int num, mask fresh) {
  AT(SLOT_AT(s, plane_t), 6) = sel(fresh, zero(), AT(SLOT_AT(s, plane_t), 6));
  put_vec_sel(SLOT_AT(s, motion), fresh, vec_zero());
  for (int i = 0; i < POINT * num; i++)
    AT(SLOT_AT(s, point_t), i) = sel(fresh, zero(), AT(SLOT_AT(s, point_t), i));
  for (int i = 0; i < 2; i++) AT(SLOT_AT(s, spin_dual), i) = sel(fresh, zero(), AT(SLOT_AT(s, spin_dual), i));
}

/* N s per -w P' of a point: mu_f mu s dt / L0. */
FN real friction_scale(const step_params *k, const real *w, const contact_frame *c, real s) {
  return pair_friction(k, w, c->pair) * c->mu * s * (c->br.inv_length * K(k->options.timestep));
}

/* Lagged points, weights and frame at the start of the step (physics at time t), where the plane is p of
 * length s. more: what the weights carry besides. */
FN void friction_begin(const step_params *k, real *w, real *slots, int s, const contact_frame *c, int sides,
                       plane_state p, real more, mask on) {
  real length = plane_length(&c->br, p.sigma), f_scale = friction_scale(k, w, c, length) * more;
  mat3 f = plane_frame(p.u), a;
  vec3 b, centroid = vec_zero();
  real sum = zero();
  f_scale = sel(on, f_scale, zero());
  for (int j = 0; j < sides; j++) {
    plane_view(f, p.c, c->r[j], c->x[j], &a, &b);
    sum = sum + friction_prepare_side(k, &c->br, &c->set[j], j ? K(-1) : K(1), a, b, p.e, length, f_scale, on,
                                      friction_points(k, slots, s, c, j), &centroid);
  }
  sum = sel(on, sum, zero());
  real safe = sel(gt(sum, splat(ELEM_TINY)), sum, splat(1));
  centroid = scale(splat(1) / safe, centroid);
  for (int j = 0; j < sides; j++)
    friction_recenter(friction_points(k, slots, s, c, j), c->set[j].num, on, centroid);
  vec3 origin = add(axpy(-p.e, p.u, p.c), mat_tvec(f, centroid));
  put_vec_sel(SLOT_AT(s, plane_t), on, p.u);
  put_vec_sel(&AT(SLOT_AT(s, plane_t), 3), on, origin);
  AT(SLOT_AT(s, plane_t), 6) = sel(on, sum, AT(SLOT_AT(s, plane_t), 6));
  put_vec_sel(SLOT_AT(s, motion), on, vec_zero());
  for (int i = 0; i < 2; i++) AT(SLOT_AT(s, spin_dual), i) = sel(on, zero(), AT(SLOT_AT(s, spin_dual), i));
}

/* The plane's motion at t along its step; none against a half-space. */
FN void friction_motion(const step_params *k, real *slots, int s, int sides, real t, real z[3]) {
  for (int i = 0; i < 3; i++) {
    z[i] = zero();
    if (sides == 2) z[i] = AT(SLOT_AT(s, motion), i) + t * AT(SLOT_AT(s, motion_step), i);
  }
}

/* Adds a slot's friction at the iterate to its sum; z is eliminated. */
FN void friction_evaluate(const step_params *k, const contact_frame *c, real *w, real *slots, int s, mask on,
                          int exact, int sides, contact_sum *sum) {
  const real *plane_t = SLOT_AT(s, plane_t), *motion = SLOT_AT(s, motion);
  vec3 u = get_vec(plane_t), c_t = get_vec(&AT(plane_t, 3));
  real z[3] = {zero(), zero(), zero()}, weight = AT(plane_t, 6);
  int both = sides == 2 && c->pair->side[1].moves;
  for (int i = 0; sides == 2 && i < 3; i++) z[i] = AT(motion, i);
  mat3 f = plane_frame(u);
  friction_terms t = friction_zero();
  row12 rows[3] = {row_zero(), row_zero(), row_zero()};
  mat3 a[2];
  vec3 b[2];
  for (int j = 0; j < sides; j++) {
    int body = c->pair->side[j].body;
    friction_view(f, c_t, get_mat(&AT(W(xmat_t), 9 * body)), get_vec(&AT(W(xpos_t), 3 * body)), c->r[j],
                  c->x[j], &a[j], &b[j]);
    friction_side_slips(k, friction_points(k, slots, s, c, j), c->set[j].num, a[j], b[j], z, on, &t);
    IN_MEMORY(a);
    IN_MEMORY(b);
    IN_MEMORY(&t);
  }
  real size = contact_size(k, c, c_t);
  AT(SLOT_AT(s, noise), 1) =
      sel(on, size * friction_rub(k, K(k->options.implicit.slip_velocity), weight, t.value, size), zero());
  if (sides == 2) friction_spin_terms(k, weight, z[2], SLOT_AT(s, spin_dual), on, exact, &t);
  real hold = sides == 2 ? friction_hold(k, weight, &t) : zero();
  for (int j = 0; j < sides; j++) {
    vec3 arm = sub(c_t, c->x[j]), force;
    mat3 phi;
    block6 block;
    friction_side_terms(k, friction_points(k, slots, s, c, j), c->set[j].num, a[j], b[j], z, hold, exact, &t,
                        &t.side[j]);
    IN_MEMORY(&t);
    if (j && !both) break;
    friction_world(&t.side[j], f, arm, &force, &phi, &block);
    IN_MEMORY(&block);
    sum->force[j] = add(sum->force[j], force);
    sum->phi[j] = mat_add(sum->phi[j], phi);
    sum->block.own[j] = block_add(sum->block.own[j], block);
    IN_MEMORY(sum);
    for (int i = 0; sides == 2 && i < 3; i++) {
      const real *q = t.side[j].bz[i];
      row_side(&rows[i], j, f, arm, vec(q[0], q[1], q[2]), vec(q[3], q[4], zero()));
    }
  }
  if (sides == 2) {
    elem idt = K(1 / k->options.timestep), inv_l = c->br.inv_length;
    sum->residual = rmax(sum->residual, rmax(rmax(rabs(t.g[0]), rabs(t.g[1])), rabs(t.g[2]) * inv_l) * idt);
    eliminate(3, 6, 3, t.k, t.g, rows, both, SLOT_AT(s, motion_rows), &sum->block, &sum->pull);
  }
  sum->value = sum->value + t.value;
}

/* Friction of one slot at the trial. */
FN real friction_try(const step_params *k, real *w, real *slots, int s, const contact_frame *c, int sides,
                     real t) {
  const real *plane_t = SLOT_AT(s, plane_t);
  mat3 f = plane_frame(get_vec(plane_t)), a;
  vec3 b;
  real z[3], value = zero();
  friction_motion(k, slots, s, sides, t, z);
  for (int j = 0; j < sides; j++) {
    int body = c->pair->side[j].body;
    friction_view(f, get_vec(&AT(plane_t, 3)), get_mat(&AT(W(xmat_t), 9 * body)),
                  get_vec(&AT(W(xpos_t), 3 * body)), c->r[j], c->x[j], &a, &b);
    value = value + friction_side_value(k, friction_points(k, slots, s, c, j), c->set[j].num, a, b, z);
  }
  if (sides == 1) return value;
  return value + friction_spin_value(k, AT(plane_t, 6), z[2]);
}

/* ---------------------------------------------------------------- reverse pass */

/* Cotangents of what friction takes from the step's start: lagged points, their weights, the plane.
 *
 * * psi = lambda . dD = sum_m w_m (r_m . rdot_m) / sqrt(|r_m|^2 + e^2), with r the slip and rdot its change
 * along lambda. A lagged point P in the world, P = c + F^T y, is carried to Y = x + R R_t^T (P - x_t): r    =
 * F (Y - P)/dt - z - omega n x y,      rdot = F v/dt - zdot - omegadot n x y,   v = l.v + l.w x (Y - x) Its
 * cotangents go to w, P, the body's pose at t and the frame F; those of w and P to the body's point and the
 * plane at t, and that plane's, through p_t = argmin U(q_t, p), to the poses at t. */

/* Cotangents of one pair's lagged quantities while they are gathered. */
typedef struct lag_bar {
  vec3 turn; /* of the frame (rotation vector) */
  vec3 u;    /* of the plane at time t: normal */
  real e, s; /* offset and length */
  real ua;   /* inverse: of U_A */
  real psi;  /* friction part of lambda . dE */
} lag_bar;

FN lag_bar lag_bar_zero(void) {
  lag_bar bar = {vec_zero(), vec_zero(), zero(), zero(), zero(), zero()};
  return bar;
}

/* What friction_vjp needs of the pair at the step's start. */
typedef struct lag_frame {
  plane_state p;
  mat3 f;         /* frame, rows e1 e2 u */
  vec3 c;         /* centre of the lagged points */
  real s, scale_; /* |n|, N s per -w P' */
  real z[3], lz[3];
  real spin; /* d psi / d weight of the spin floor */
} lag_frame;

/* more: what the weights carry besides (friction_begin). The plane does not move until lag_motion. */
FN lag_frame lag_frame_at(const step_params *k, real *w, real *slots, int s, const contact_frame *c,
                          plane_state p, real more) {
  lag_frame t;
  t.p = p;
  t.f = plane_frame(p.u);
  t.c = get_vec(&AT(SLOT_AT(s, plane_t), 3));
  t.s = plane_length(&c->br, p.sigma);
  t.scale_ = friction_scale(k, w, c, t.s) * more;
  for (int i = 0; i < 3; i++) t.z[i] = t.lz[i] = zero();
  t.spin = zero();
  return t;
}
/* The plane's motion, and its change along lambda. */
FN void lag_motion(const step_params *k, real *slots, int s, const twist6 l[2], lag_frame *t) {
  elem r0 = K(spin_radius(k)), e = K(k->options.implicit.slip_velocity);
  for (int i = 0; i < 3; i++) t->z[i] = AT(SLOT_AT(s, motion), i);
  back_substitute(3, 6, 3, SLOT_AT(s, motion_rows), l, 0, t->lz);
  t->spin = t->z[2] * t->lz[2] * (r0 * r0) / root(t->z[2] * t->z[2] * (r0 * r0) + e * e);
}

/* One body of the pair as its lagged points see it: turned by `turn` from x_t to x, and its twist under
 * lambda. */
typedef struct lag_body {
  mat3 turn;
  vec3 x_t, x;
  twist6 l;
} lag_body;
/* Cotangents of a lagged point: of its place P, its weight; as a force at P on the body's pose at t. */
typedef struct lag_point {
  vec3 p, pose;
  real w;
} lag_point;

/* psi's part of the point y of weight w: bar w = r . rdot / |r|,  bar r = w (rdot - r (r . rdot)/|r|^2)/|r|,
 * bar rdot = w r/|r|; from these bar Y, bar P, bar F. */
FN lag_point lag_point_vjp(const step_params *k, const lag_frame *t, vec3 y, real w, const lag_body *b,
                           lag_bar *bar) {
  elem idt = K(1 / k->options.timestep), e = K(k->options.implicit.slip_velocity);
  vec3 p = add(t->c, mat_tvec(t->f, y)), to = add(b->x, mat_vec(b->turn, sub(p, b->x_t)));
  vec3 v = add(b->l.v, cross(b->l.w, sub(to, b->x))), d = sub(to, p);
  real r1 = dot(t->f.r0, d) * idt - t->z[0] + t->z[2] * y.y,
       r2 = dot(t->f.r1, d) * idt - t->z[1] - t->z[2] * y.x;
  real v1 = dot(t->f.r0, v) * idt - t->lz[0] + t->lz[2] * y.y,
       v2 = dot(t->f.r1, v) * idt - t->lz[1] - t->lz[2] * y.x;
  real il = inverse_root(r1 * r1 + r2 * r2 + e * e), rv = (r1 * v1 + r2 * v2) * il;
  real h1 = w * r1 * il, h2 = w * r2 * il;
  real b1 = w * il * (v1 - r1 * rv * il), b2 = w * il * (v2 - r2 * rv * il);
  lag_point out;
  out.w = rv + t->spin;
  bar->psi = bar->psi + w * out.w;
  vec3 rb = scale(splat(idt), axpy(b1, t->f.r0, scale(b2, t->f.r1)));
  vec3 hb = scale(splat(idt), axpy(h1, t->f.r0, scale(h2, t->f.r1)));
  vec3 bar_to = add(rb, cross(hb, b->l.w)), back = mat_tvec(b->turn, bar_to);
  real y1 = -t->z[2] * b2 - t->lz[2] * h2, y2 = t->z[2] * b1 + t->lz[2] * h1;
  vec3 yb = axpy(y1, t->f.r0, scale(y2, t->f.r1)), arm = sub(p, t->c);
  out.p = add(sub(back, rb), yb);
  out.pose = scale(splat(-1), back);
  vec3 e1 = add(scale(b1 * idt, d), add(scale(h1 * idt, v), scale(y1, arm)));
  vec3 e2 = add(scale(b2 * idt, d), add(scale(h2 * idt, v), scale(y2, arm)));
  bar->turn = add(bar->turn, add(cross(t->f.r0, e1), cross(t->f.r1, e2)));
  return out;
}

/* From cotangents of a lagged point and its weight to those of the point x of the body at t and of the plane:
 * P = x - (n.(x - c) + e) n unless it is the vertex itself, w = -scale weight P'(s margin / L0). */
FN vec3 lag_origin(const step_params *k, const barrier *br, const lag_frame *t, vec3 x, elem sign,
                   real radius, real weight, real w, const lag_point *point, lag_bar *bar) {
  real height = dot(t->p.u, sub(x, t->p.c)) + t->p.e, margin = sign * height - radius, p, dp, ddp;
  elem il = br->inv_length;
  barrier_at(br, t->s * il * margin, &p, &dp, &ddp);
  real dw = t->scale_ * weight * -ddp * il; /* of w with respect to s margin */
  real bar_height = sign * point->w * dw * t->s;
  bar->s = bar->s + point->w * (w / t->s + dw * margin);
  bar->ua = bar->ua + point->w * w;
  vec3 bar_x = point->p;
  if (k->options.implicit.friction_form != ABUT_FRICTION_VERTEX) { /* P = x - height u */
    bar_height = bar_height - dot(point->p, t->p.u);
    bar->u = axpy(-height, point->p, bar->u);
  }
  bar->u = axpy(bar_height, sub(x, t->p.c), bar->u);
  bar->e = bar->e + bar_height;
  return axpy(bar_height, t->p.u, bar_x);
}

/* Adds -f, a force at arm from the body's origin, to the pose cotangent at t. */
FN void take_force(const step_params *k, real *w, int body, mask on, vec3 f, vec3 arm) {
  f = vec_sel(on, scale(splat(-1), f), vec_zero());
  add_vec(&AT(W(bar_force), 3 * body), f);
  add_mat(&AT(W(bar_phi), 9 * body), outer(f, arm));
}

/* One side's points: everything but what their weights carry besides (hull.inl). */
FN void lag_side(const step_params *k, real *w, real *slots, int s, const contact_frame *c,
                 const lag_frame *t, int j, twist6 l, mask on, lag_bar *bar) {
  int body = c->pair->side[j].body;
  elem sign = j ? K(-1) : K(1);
  const real *points = friction_points(k, slots, s, c, j);
  lag_body b;
  b.turn = mat_matt(get_mat(&AT(W(xmat), 9 * body)), c->r[j]);
  b.x_t = c->x[j];
  b.x = get_vec(&AT(W(xpos), 3 * body));
  b.l = l;
  for (int i = 0; i < c->set[j].num; i++) {
    IN_MEMORY(c);
    IN_MEMORY(t);
    IN_MEMORY(bar);
    vec3 at = add(mat_vec(c->r[j], point_at(&c->set[j], i)), b.x_t);
    real radius = radius_at(&c->set[j], i), weight = weight_at(&c->set[j], i),
         mass = AT(points, POINT * i + 3);
    if (!any(gt(mass, zero()))) continue;
    vec3 y = get_vec(&AT(points, POINT * i)), p = add(t->c, mat_tvec(t->f, y));
    lag_point point = lag_point_vjp(k, t, y, mass, &b, bar);
    take_force(k, w, body, on, point.pose, sub(p, b.x_t));
    vec3 bar_x = lag_origin(k, &c->br, t, at, sign, radius, weight, mass, &point, bar);
    take_force(k, w, body, on, bar_x, sub(at, b.x_t));
  }
}

/* Friction's share psi of lambda . dE, off the cotangent of the larger coefficient. */
FN void friction_vjp(const step_params *k, real *w, const pair_info *pair, mask rubs, real psi) {
  if (pair->friction >= 0) return;
  real mu_f = pair_friction(k, w, pair);
  real f0 = AT(W(friction), pair->side[0].geom), f1 = AT(W(friction), pair->side[1].geom);
  real share = sel(mask_and(rubs, gt(mu_f, zero())), psi / sel(gt(mu_f, zero()), mu_f, splat(1)), zero());
  mask first = ge(f0, f1);
  real *b0 = &AT(W(bar_friction), pair->side[0].geom), *b1 = &AT(W(bar_friction), pair->side[1].geom);
  *b0 = *b0 - sel(first, share, zero());
  *b1 = *b1 - sel(first, zero(), share);
}
