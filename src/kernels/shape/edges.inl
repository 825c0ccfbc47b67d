/* edges.inl: where two edges come closest: a small quadratic program over a box, solved by looking at every
 * active set at once, all comparisons soft (Beker et al., section IV-D and supplement III; docs/manifold.md
 * says what differs from print). */
#include "kernels/shape/smooth_view.h"
#include "kernels/lane/special.h"
#include "kernels/lane/vector.h"

/* e^(-|x|/tau) and e^(-|x-1|/tau) by one exponential: their product is e^(-1/tau) between 0 and 1, their
 * quotient is outside. */
typedef struct soft_ends {
  real zero, one;
} soft_ends;
FN soft_ends soft_ends_at(real x, elem inv_tau, real across /* e^(-1/tau) */) {
  mask right = gt(x, splat(K(0.5))), inside = mask_and(gt(x, zero()), lt(x, splat(1)));
  real near = exponential(rmin(rabs(x), rabs(x - K(1))) * -inv_tau);
  real far = across * sel(inside, inverse(rmax(near, splat(ELEM_TINY))), near);
  soft_ends e = {sel(right, far, near), sel(right, near, far)};
  return e;
}
/* s+(x) - s+(x - 1), s+ = tau log(1 + e^(x/tau)): x held within [0, 1] */
FN real soft_clip(real x, soft_ends e, elem tau) {
  return rmin(rmax(x, zero()), splat(1)) + logarithm((splat(1) + e.zero) * inverse(splat(1) + e.one)) * tau;
}
/* sigma(x/tau) and sigma((x-1)/tau) */
FN real above_zero(real x, soft_ends e) {
  return sel(gt(x, zero()), splat(1), e.zero) * inverse(splat(1) + e.zero);
}
FN real above_one(real x, soft_ends e) {
  return sel(gt(x, splat(1)), splat(1), e.one) * inverse(splat(1) + e.one);
}
FN real soft_clip_slope(real x, soft_ends e) { return above_zero(x, e) - above_one(x, e); }
/* sigma(x/tau) sigma((1-x)/tau): whether x lies in [0, 1] */
FN real soft_within(real x, soft_ends e) {
  return sel(gt(x, zero()), splat(1), e.zero) * sel(lt(x, splat(1)), splat(1), e.one) *
         inverse((splat(1) + e.zero) * (splat(1) + e.one));
}
/* its logarithm's slope times tau */
FN real soft_within_slope(real x, soft_ends e) { return splat(1) - above_zero(x, e) - above_one(x, e); }

/* ------------------------------------------------------------------------------------- two edges */

/* Edges start_i + alpha_i t_i, r = start_1 - start_2. Minimised over the unit box:
 * 1/2 a.Q a + c.a, Q = [t1.t1 + w, -t1.t2; ., t2.t2 + w], c = (r.t1 - w/2, -r.t2 - w/2). */
typedef struct edges_witness {
  real alpha1, alpha2, colliding;
} edges_witness;

/* The softness in the kernels' real type. */
typedef struct edge_soft {
  int32_t relative;
  elem w_reg, minimum, clip, inv_clip, inv_compare;
  real clip_across, compare_across; /* e^(-1/tau) */
} edge_soft;
FN edge_soft edge_soft_of(const edge_softness *from) {
  edge_soft s = {from->relative,    K(from->regularisation), K(from->minimum), K(from->clip),
                 K(1 / from->clip), K(1 / from->compare),    zero(),           zero()};
  s.clip_across = exponential(splat(-s.inv_clip));
  s.compare_across = exponential(splat(-s.inv_compare));
  return s;
}

typedef struct edges_terms {
  real a, b, d, e, f;                   /* t1.t1, t2.t2, t1.t2, r.t1, r.t2 */
  real size, w, inv_min;                /* (a+b)/2 or 1, regularisation, 1/tau of the minimum */
  real q11, q22, q12, c1, c2, i11, i22; /* Q, c, 1/q11, 1/q22 */
  vec3 cross12, r2, r1;                 /* t1 x t2, r x t2, t1 x r */
  real inv_det, free1, free2;           /* unconstrained minimum */
  soft_ends in1, in2;
  real within1, within2;
  real y[4], x[4], cost[4], weight[4]; /* the four sides: alpha1 = 1, alpha1 = 0, alpha2 = 1, alpha2 = 0 */
  soft_ends ends[4];
  real side1, side2; /* their blend */
} edges_terms;

#define EDGES_FAR K(1e6) /* minima so far outside the box collide with weight 0 exactly */

FN edges_terms edges_terms_at(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2) {
  edges_terms k;
  elem half = K(0.5);
  k.a = dot(t1, t1);
  k.b = dot(t2, t2);
  k.d = dot(t1, t2);
  k.e = dot(r, t1);
  k.f = dot(r, t2);
  k.size = splat(1);
  if (soft->relative) k.size = (k.a + k.b) * half;
  k.w = k.size * soft->w_reg;
  k.inv_min = inverse(rmax(k.size * soft->minimum, splat(ELEM_TINY)));
  k.q11 = k.a + k.w;
  k.q22 = k.b + k.w;
  k.q12 = -k.d;
  k.c1 = k.e - k.w * half;
  k.c2 = -k.f - k.w * half;
  k.i11 = inverse(rmax(k.q11, splat(ELEM_TINY)));
  k.i22 = inverse(rmax(k.q22, splat(ELEM_TINY)));
  /* Lagrange's identity instead of products that cancel where edges are nearly parallel:
   * a b - d^2 = |t1 x t2|^2, b e - d f = (t1 x t2).(r x t2), a f - d e = (t1 x t2).(t1 x r) */
  k.cross12 = cross(t1, t2);
  k.r2 = cross(r, t2);
  k.r1 = cross(t1, r);
  k.inv_det = inverse(rmax(dot(k.cross12, k.cross12) + k.w * (k.a + k.b) + k.w * k.w, splat(ELEM_TINY)));
  real n1 = k.w * (half * (k.b + k.d) - k.e + half * k.w) - dot(k.cross12, k.r2);
  real n2 = k.w * (half * (k.a + k.d) + k.f + half * k.w) + dot(k.cross12, k.r1);
  k.free1 = rmin(rmax(n1 * k.inv_det, splat(-EDGES_FAR)), splat(EDGES_FAR));
  k.free2 = rmin(rmax(n2 * k.inv_det, splat(-EDGES_FAR)), splat(EDGES_FAR));
  k.in1 = soft_ends_at(k.free1, soft->inv_compare, soft->compare_across);
  k.in2 = soft_ends_at(k.free2, soft->inv_compare, soft->compare_across);
  k.within1 = soft_within(k.free1, k.in1);
  k.within2 = soft_within(k.free2, k.in2);
  k.y[0] = (k.d - k.c2) * k.i22;
  k.y[1] = -k.c2 * k.i22;
  k.y[2] = (k.d - k.c1) * k.i11;
  k.y[3] = -k.c1 * k.i11;
  for (int i = 0; i < 4; i++) {
    k.y[i] = rmin(rmax(k.y[i], splat(-EDGES_FAR)), splat(EDGES_FAR));
    k.ends[i] = soft_ends_at(k.y[i], soft->inv_clip, soft->clip_across);
    k.x[i] = soft_clip(k.y[i], k.ends[i], soft->clip);
  }
  real m1 = k.x[0], m0 = k.x[1], n1_ = k.x[2], n0 = k.x[3];
  k.cost[0] = half * k.q11 + k.c1 + m1 * (half * k.q22 * m1 + k.q12 + k.c2);
  k.cost[1] = m0 * (half * k.q22 * m0 + k.c2);
  k.cost[2] = half * k.q22 + k.c2 + n1_ * (half * k.q11 * n1_ + k.q12 + k.c1);
  k.cost[3] = n0 * (half * k.q11 * n0 + k.c1);
  real least = rmin(rmin(k.cost[0], k.cost[1]), rmin(k.cost[2], k.cost[3])), sum = zero();
  for (int i = 0; i < 4; i++) {
    k.weight[i] = exponential((least - k.cost[i]) * k.inv_min);
    sum = sum + k.weight[i];
  }
  real inv = inverse(sum);
  for (int i = 0; i < 4; i++) {
    k.weight[i] = k.weight[i] * inv;
    k.cost[i] = k.cost[i] - least;
  }
  k.side1 = k.weight[0] + k.weight[2] * k.x[2] + k.weight[3] * k.x[3];
  k.side2 = k.weight[2] + k.weight[0] * k.x[0] + k.weight[1] * k.x[1];
  return k;
}
FN edges_witness edges_closest(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2) {
  edges_terms k = edges_terms_at(soft, r, t1, t2);
  edges_witness w;
  w.colliding = k.within1 * k.within2;
  w.alpha1 = k.side1 + w.colliding * (k.free1 - k.side1);
  w.alpha2 = k.side2 + w.colliding * (k.free2 - k.side2);
  return w;
}
/* Cotangents of r, t1, t2 from those of the witness. */
FN void edges_closest_vjp(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2, edges_witness g, vec3 *gr,
                          vec3 *gt1, vec3 *gt2) {
  edges_terms k = edges_terms_at(soft, r, t1, t2);
  elem half = K(0.5);
  real colliding = k.within1 * k.within2, rest = splat(1) - colliding;
  real gcolliding = g.colliding + g.alpha1 * (k.free1 - k.side1) + g.alpha2 * (k.free2 - k.side2);
  gcolliding = gcolliding * colliding * soft->inv_compare;
  real gfree1 = colliding * g.alpha1 + gcolliding * soft_within_slope(k.free1, k.in1);
  real gfree2 = colliding * g.alpha2 + gcolliding * soft_within_slope(k.free2, k.in2);
  real gside1 = rest * g.alpha1, gside2 = rest * g.alpha2;
  /* the blend of the four sides */
  real gweight[4] = {gside1 + gside2 * k.x[0], gside2 * k.x[1], gside2 + gside1 * k.x[2], gside1 * k.x[3]};
  real gx[4] = {gside2 * k.weight[0], gside2 * k.weight[1], gside1 * k.weight[2], gside1 * k.weight[3]};
  real mean = zero(), ginv_min = zero(), gcost[4];
  for (int i = 0; i < 4; i++) mean = mean + k.weight[i] * gweight[i];
  for (int i = 0; i < 4; i++) {
    real glogit = k.weight[i] * (gweight[i] - mean);
    gcost[i] = -k.inv_min * glogit;
    ginv_min = ginv_min - k.cost[i] * glogit;
  }
  real gq11 = half * gcost[0], gq12 = gcost[0] * k.x[0] + gcost[2] * k.x[2], gq22 = half * gcost[2];
  real gc1 = gcost[0], gc2 = gcost[2];
  gx[0] = gx[0] + gcost[0] * (k.q22 * k.x[0] + k.q12 + k.c2);
  gx[1] = gx[1] + gcost[1] * (k.q22 * k.x[1] + k.c2);
  gx[2] = gx[2] + gcost[2] * (k.q11 * k.x[2] + k.q12 + k.c1);
  gx[3] = gx[3] + gcost[3] * (k.q11 * k.x[3] + k.c1);
  for (int i = 0; i < 2; i++) {
    gq22 = gq22 + half * gcost[i] * k.x[i] * k.x[i];
    gc2 = gc2 + gcost[i] * k.x[i];
    gq11 = gq11 + half * gcost[2 + i] * k.x[2 + i] * k.x[2 + i];
    gc1 = gc1 + gcost[2 + i] * k.x[2 + i];
  }
  /* y = (d - c2)/q22, -c2/q22, (d - c1)/q11, -c1/q11 */
  real gy[4];
  for (int i = 0; i < 4; i++) gy[i] = gx[i] * soft_clip_slope(k.y[i], k.ends[i]) * (i < 2 ? k.i22 : k.i11);
  real gd = gy[0] + gy[2] - gq12;
  gc2 = gc2 - gy[0] - gy[1];
  gc1 = gc1 - gy[2] - gy[3];
  gq22 = gq22 - gy[0] * k.y[0] - gy[1] * k.y[1];
  gq11 = gq11 - gy[2] * k.y[2] - gy[3] * k.y[3];
  /* the unconstrained minimum n/det */
  real gn1 = gfree1 * k.inv_det, gn2 = gfree2 * k.inv_det;
  real gdet = -(gn1 * k.free1 + gn2 * k.free2);
  real ga = half * k.w * gn2 + k.w * gdet + gq11, gb = half * k.w * gn1 + k.w * gdet + gq22;
  real ge = gc1 - k.w * gn1, gf = k.w * gn2 - gc2;
  gd = gd + half * k.w * (gn1 + gn2);
  real gw = gn1 * (half * (k.b + k.d) - k.e + k.w) + gn2 * (half * (k.a + k.d) + k.f + k.w) +
            gdet * (k.a + k.b + K(2) * k.w) + gq11 + gq22 - half * (gc1 + gc2);
  if (soft->relative) {
    real gsize = gw * soft->w_reg - ginv_min * k.inv_min * inverse(rmax(k.size, splat(ELEM_TINY)));
    ga = ga + half * gsize;
    gb = gb + half * gsize;
  }
  vec3 g12 = axpy(K(2) * gdet, k.cross12, sub(scale(gn2, k.r1), scale(gn1, k.r2)));
  vec3 gr2 = scale(-gn1, k.cross12), gr1 = scale(gn2, k.cross12);
  *gr = add(add(cross(t2, gr2), cross(gr1, t1)), axpy(ge, t1, scale(gf, t2)));
  *gt1 = add(add(cross(t2, g12), cross(r, gr1)), axpy(K(2) * ga, t1, axpy(gd, t2, scale(ge, r))));
  *gt2 = add(add(cross(g12, t1), cross(gr2, r)), axpy(K(2) * gb, t2, axpy(gd, t1, scale(gf, r))));
}

KERNEL void query_edges(witness_block *q) {
  edge_soft soft = edge_soft_of(&q->soft);
  for (int i = 0; i < 3 * q->packs; i += 3) {
    vec3 r = get_vec((const real *)q->r + i), t1 = get_vec((const real *)q->t1 + i),
         t2 = get_vec((const real *)q->t2 + i), gr, gt1, gt2;
    if (!q->bar) {
      edges_witness w = edges_closest(&soft, r, t1, t2);
      put_vec((real *)q->out + i, vec(w.alpha1, w.alpha2, w.colliding));
      continue;
    }
    vec3 bar = get_vec((const real *)q->bar + i);
    edges_witness g = {bar.x, bar.y, bar.z};
    edges_closest_vjp(&soft, r, t1, t2, g, &gr, &gt1, &gt2);
    put_vec((real *)q->gr + i, gr);
    put_vec((real *)q->gt1 + i, gt1);
    put_vec((real *)q->gt2 + i, gt2);
  }
}
