/* faces.inl: where a triangle comes closest to a point: a small quadratic program over barycentric
 * coordinates, solved as edges.inl solves its own, whose soft comparisons it uses (Beker et al., section IV-D
 * and supplement III-C; docs/manifold.md says what differs from print). */

/* Points start + beta_1 t1 + beta_2 t2 of the triangle, beta_0 = 1 - beta_1 - beta_2, r = start - point.
 * Minimised where no beta is negative: 1/2 |r + beta_1 t1 + beta_2 t2|^2 + w/2 sum (beta_i - 1/3)^2
 * = 1/2 b.Q b + c.b + constant, Q = [t1.t1 + 2 w, t1.t2 + w; ., t2.t2 + 2 w], c = (r.t1 - w, r.t2 - w). */
typedef struct face_witness {
  real beta1, beta2, colliding;
} face_witness;

/* Side i is first[i] + x along[i], as seen from the point: corner 0 to 1, 0 to 2, 1 to 2. */
typedef struct face_terms {
  real size, w, inv_min;                   /* mean square of the sides or 1, regularisation, 1/tau */
  real turn1, turn2;                       /* w turn + t1 x t2 . ..: numerators of the free minimum */
  vec3 cross12, r2, r1;                    /* t1 x t2, r x t2, t1 x r */
  real total, inv_det, free[3], within[3]; /* sum of squared sides; free beta_0, beta_1, beta_2 */
  soft_ends in[3];
  vec3 first[3], along[3];
  real q[3], c[3], inv_q[3]; /* along a side 1/2 q x^2 + c x */
  real y[3], x[3], cost[3], weight[3];
  soft_ends ends[3];
  real side1, side2; /* their blend */
} face_terms;

FN void face_free(const edge_soft *soft, vec3 r, face_terms *k) {
  vec3 t1 = k->along[0], t2 = k->along[1], t3 = k->along[2];
  real w = k->w, e = dot(r, t1), f = dot(r, t2);
  /* Lagrange's identity, as for edges: det Q = |t1 x t2|^2 + w (t1^2 + t2^2 + t3^2) + 3 w^2, and numerators
   * -(t1 x t2).(r x t2) and -(t1 x t2).(t1 x r) but for w */
  k->cross12 = cross(t1, t2);
  k->r2 = cross(r, t2);
  k->r1 = cross(t1, r);
  k->inv_det = inverse(rmax(dot(k->cross12, k->cross12) + w * k->total + K(3) * w * w, splat(ELEM_TINY)));
  k->turn1 = dot(t2, t3) + f - K(2) * e + w;
  k->turn2 = e - dot(t1, t3) - K(2) * f + w;
  real free1 = (w * k->turn1 - dot(k->cross12, k->r2)) * k->inv_det;
  real free2 = (w * k->turn2 - dot(k->cross12, k->r1)) * k->inv_det;
  k->free[1] = rmin(rmax(free1, splat(-EDGES_FAR)), splat(EDGES_FAR));
  k->free[2] = rmin(rmax(free2, splat(-EDGES_FAR)), splat(EDGES_FAR));
  k->free[0] = splat(1) - k->free[1] - k->free[2];
  for (int i = 0; i < 3; i++) {
    k->in[i] = soft_ends_at(k->free[i], soft->inv_compare, soft->compare_across);
    k->within[i] = soft_within(k->free[i], k->in[i]);
  }
}
FN void face_sides(const edge_soft *soft, face_terms *k) {
  real least = splat(ELEM_HUGE), sum = zero();
  for (int i = 0; i < 3; i++) {
    k->q[i] = dot(k->along[i], k->along[i]) + K(2) * k->w;
    k->c[i] = dot(k->first[i], k->along[i]) - k->w;
    k->inv_q[i] = inverse(rmax(k->q[i], splat(ELEM_TINY)));
    k->y[i] = rmin(rmax(-k->c[i] * k->inv_q[i], splat(-EDGES_FAR)), splat(EDGES_FAR));
    k->ends[i] = soft_ends_at(k->y[i], soft->inv_clip, soft->clip_across);
    k->x[i] = soft_clip(k->y[i], k->ends[i], soft->clip);
    k->cost[i] = k->x[i] * (K(0.5) * k->q[i] * k->x[i] + k->c[i]);
  }
  /* what corner 1 costs more than corner 0 */
  k->cost[2] = k->cost[2] + K(0.5) * dot(k->along[0], k->along[0]) + dot(k->first[0], k->along[0]);
  for (int i = 0; i < 3; i++) least = rmin(least, k->cost[i]);
  for (int i = 0; i < 3; i++) {
    k->cost[i] = k->cost[i] - least;
    k->weight[i] = exponential(-k->cost[i] * k->inv_min);
    sum = sum + k->weight[i];
  }
  real inv = inverse(sum);
  for (int i = 0; i < 3; i++) k->weight[i] = k->weight[i] * inv;
  k->side1 = k->weight[0] * k->x[0] + k->weight[2] * (splat(1) - k->x[2]);
  k->side2 = k->weight[1] * k->x[1] + k->weight[2] * k->x[2];
}
FN face_terms face_terms_at(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2) {
  face_terms k;
  k.first[0] = k.first[1] = r;
  k.first[2] = add(r, t1);
  k.along[0] = t1;
  k.along[1] = t2;
  k.along[2] = sub(t2, t1);
  k.total = dot(t1, t1) + dot(t2, t2) + dot(k.along[2], k.along[2]);
  k.size = splat(1);
  if (soft->relative) k.size = k.total * K(1.0 / 3);
  k.w = k.size * soft->w_reg;
  k.inv_min = inverse(rmax(k.size * soft->minimum, splat(ELEM_TINY)));
  face_free(soft, r, &k);
  face_sides(soft, &k);
  return k;
}
FN face_witness face_closest(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2) {
  face_terms k = face_terms_at(soft, r, t1, t2);
  face_witness w;
  w.colliding = k.within[0] * k.within[1] * k.within[2];
  w.beta1 = k.side1 + w.colliding * (k.free[1] - k.side1);
  w.beta2 = k.side2 + w.colliding * (k.free[2] - k.side2);
  return w;
}
/* Cotangents of r, t1, t2 from those of the witness. */
FN void face_closest_vjp(const edge_soft *soft, vec3 r, vec3 t1, vec3 t2, face_witness g, vec3 *gr, vec3 *gt1,
                         vec3 *gt2) {
  face_terms k = face_terms_at(soft, r, t1, t2);
  elem half = K(0.5);
  real colliding = k.within[0] * k.within[1] * k.within[2], rest = splat(1) - colliding;
  real gcolliding = g.colliding + g.beta1 * (k.free[1] - k.side1) + g.beta2 * (k.free[2] - k.side2);
  gcolliding = gcolliding * colliding * soft->inv_compare;
  real slope0 = soft_within_slope(k.free[0], k.in[0]);
  real gfree1 = colliding * g.beta1 + gcolliding * (soft_within_slope(k.free[1], k.in[1]) - slope0);
  real gfree2 = colliding * g.beta2 + gcolliding * (soft_within_slope(k.free[2], k.in[2]) - slope0);
  real gside1 = rest * g.beta1, gside2 = rest * g.beta2;
  /* the blend of the three sides */
  real gweight[3] = {gside1 * k.x[0], gside2 * k.x[1], gside1 + (gside2 - gside1) * k.x[2]};
  real gx[3] = {gside1 * k.weight[0], gside2 * k.weight[1], (gside2 - gside1) * k.weight[2]};
  real mean = zero(), gmin = zero(), gcost[3], gq[3], gc[3], gw = zero();
  for (int i = 0; i < 3; i++) mean = mean + k.weight[i] * gweight[i];
  for (int i = 0; i < 3; i++) {
    real glogit = k.weight[i] * (gweight[i] - mean);
    gcost[i] = -k.inv_min * glogit;
    gmin = gmin - k.cost[i] * glogit;
    gx[i] = gx[i] + gcost[i] * (k.q[i] * k.x[i] + k.c[i]);
    real gy = gx[i] * soft_clip_slope(k.y[i], k.ends[i]) * k.inv_q[i]; /* y = -c/q */
    gc[i] = gcost[i] * k.x[i] - gy;
    gq[i] = half * gcost[i] * k.x[i] * k.x[i] - gy * k.y[i];
    gw = gw + K(2) * gq[i] - gc[i];
  }
  /* the free minimum (w turn - ..)/det */
  real gn1 = gfree1 * k.inv_det, gn2 = gfree2 * k.inv_det;
  real gdet = -(gn1 * k.free[1] + gn2 * k.free[2]), gtotal = k.w * gdet;
  real gturn1 = k.w * gn1, gturn2 = k.w * gn2;
  gw = gw + gn1 * k.turn1 + gturn1 + gn2 * k.turn2 + gturn2 + gdet * (k.total + K(6) * k.w);
  if (soft->relative)
    gtotal =
        gtotal + (gw * soft->w_reg - gmin * k.inv_min * inverse(rmax(k.size, splat(ELEM_TINY)))) * K(1.0 / 3);
  vec3 gfirst[3], galong[3];
  for (int i = 0; i < 3; i++) {
    gfirst[i] = scale(gc[i], k.along[i]);
    galong[i] = axpy(K(2) * (gq[i] + gtotal), k.along[i], scale(gc[i], k.first[i]));
  }
  /* e = r.t1 and f = r.t2 of the turns; corner 1's cost 1/2 t1.t1 + r.t1 */
  real ge = gturn2 - K(2) * gturn1 + gcost[2], gf = gturn1 - K(2) * gturn2;
  vec3 g3 = add(galong[2], sub(scale(gturn1, t2), scale(gturn2, t1))), t3 = k.along[2];
  vec3 g12 = sub(scale(K(2) * gdet, k.cross12), add(scale(gn1, k.r2), scale(gn2, k.r1)));
  vec3 gr2 = scale(-gn1, k.cross12), gr1 = scale(-gn2, k.cross12);
  *gr = add(add(gfirst[0], gfirst[1]), add(gfirst[2], axpy(ge, t1, scale(gf, t2))));
  *gr = add(*gr, add(cross(t2, gr2), cross(gr1, t1)));
  *gt1 = add(sub(add(galong[0], gfirst[2]), g3), axpy(gcost[2], t1, axpy(-gturn2, t3, scale(ge, r))));
  *gt1 = add(*gt1, add(cross(t2, g12), cross(r, gr1)));
  *gt2 = add(add(galong[1], g3), axpy(gturn1, t3, scale(gf, r)));
  *gt2 = add(*gt2, add(cross(g12, t1), cross(gr2, r)));
}

KERNEL void query_face(witness_block *q) {
  edge_soft soft = edge_soft_of(&q->soft);
  for (int i = 0; i < 3 * q->packs; i += 3) {
    vec3 r = get_vec((const real *)q->r + i), t1 = get_vec((const real *)q->t1 + i),
         t2 = get_vec((const real *)q->t2 + i), gr, gt1, gt2;
    if (!q->bar) {
      face_witness w = face_closest(&soft, r, t1, t2);
      put_vec((real *)q->out + i, vec(w.beta1, w.beta2, w.colliding));
      continue;
    }
    vec3 bar = get_vec((const real *)q->bar + i);
    face_witness g = {bar.x, bar.y, bar.z};
    face_closest_vjp(&soft, r, t1, t2, g, &gr, &gt1, &gt2);
    put_vec((real *)q->gr + i, gr);
    put_vec((real *)q->gt1 + i, gt1);
    put_vec((real *)q->gt2 + i, gt2);
  }
}
