/* friction.inl: lagged Coulomb friction of one pair (docs/contact.md).
 *
 * At the step's start every loaded point leaves a lagged point y on the plane (in `vertex` form: itself) and
 * a weight w = mu_f f dt. During the step y is carried by its own body to Y; with the plane allowed to slide
 * and spin in its own tangent space (z1, z2, omega), D = min_z sum_m w_m ( sqrt(|d_m - z_m|^2 + e^2) - e ),
 * d = (Y - y)/dt,   z_m = z + omega n x y, plus a spin floor sum w (sqrt((r0 omega)^2 + e^2) - e). Against a
 * half-space z = 0. Everything is in the frame of the start: origin c_t (the points' weighted centroid), axes
 * e1, e2, u. */

/* The norm's Hessian is that of a kink of width e: Newton overshoots it like |r|^3/e^2 as soon as a point
 * slips. So the forward pass iterates on the dual as well (Chan, Golub and Mulet's primal-dual Newton for
 * sums of norms): with lambda = r/|r| held as an unknown, |lambda| <= 1, the Hessian in r is w/|r| (1 -
 * sym(lambda r^T)/|r|), positive semidefinite, the majorising one while lambda is small, Newton's once lambda
 * = r/|r|. The reverse pass uses the exact one. */

enum { POINT = 8 }; /* values of a lagged point: y (3), weight, lambda (2), r (2) */

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
    y.z = (y.z + e) * K(k->vertex_friction ? 1 : 0); /* height above the plane */
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
  real value = zero(), idt = splat(K(1 / k->dt));
  elem e = K(k->slip);
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
  real r = omega * K(k->spin_radius), rr = r * r;
  elem e = K(k->slip);
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
  real idt = splat(K(1 / k->dt));
  elem e = K(k->slip);
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
  real idt = splat(K(1 / k->dt)), part = splat(1) - hold;
  elem e = K(k->slip);
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
  elem idt = K(1 / k->dt);
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
  elem r0 = K(k->spin_radius), e = K(k->slip);
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
  elem r0 = K(k->spin_radius);
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
