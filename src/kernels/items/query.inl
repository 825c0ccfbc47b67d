/* query.inl: plane queries: the pair kernel on points given per lane. */

FN void query_plane_as(int kind, query_block *q) {
  barrier br = {kind, K(q->reach), K(1 / q->length)};
  point_set a = {0, (const real *)q->a, q->na, 0, 1}, b = {0, (const real *)q->b, q->nb, 0, 1};
  mat3 one = mat_identity();
  vec3 none = vec_zero();
  mask all = mask_from_bits(ALL_LANES), done;
  closest cl = closest_points(&a, &b, one, none, one, none, all, K(0.999), 200);
  plane_state p = plane_between(&br, cl);
  mask apart = gt(cl.gap, zero());
  if (q->has_plane) {
    const real *given = (const real *)q->plane;
    vec3 n = get_vec(given);
    real len = norm(n), inv = splat(1) / len, low, gap;
    plane_state g = p;
    g.u = scale(inv, n);
    g.e = AT(given, 3) * inv + dot(g.u, p.c);
    g.sigma = sel(mask_and(gt(len, splat(K(0.01))), lt(len, splat(K(0.999)))), splat(1) - len, p.sigma);
    plane_value(&br, &a, &b, one, none, one, none, g, splat(1), &low, &gap);
    mask fits = gt(low, zero()); /* a plane that does not separate is no start */
    p.u = vec_sel(fits, g.u, p.u);
    p.e = sel(fits, g.e, p.e);
    p.sigma = sel(fits, g.sigma, p.sigma);
  }
  real rounds = plane_solve(&br, &a, &b, one, none, one, none, &p, apart, K(1e-26), 100, &done);
  real s = plane_length(&br, p.sigma);
  mat3 f = plane_frame(p.u), va, vb;
  vec3 oa, ob;
  plane_view(f, p.c, one, none, &va, &oa);
  plane_view(f, p.c, one, none, &vb, &ob);
  plane_moments ma = plane_side(&br, &a, 1, va, oa, p.e, s), mb = plane_side(&br, &b, -1, vb, ob, p.e, s);
  plane_terms t;
  plane_join(&br, &ma, &mb, p.e, p.sigma, splat(1), 1, &t);
  real outer_ = splat(1), k_len = s;
  if (br.kind == BARRIER_INVERSE) {
    real total = ma.value + mb.value;
    outer_ = splat(1) + root(K(12) / total);
    k_len = root(total) / (root(total) + SQRT12);
  }
  AT((real *)q->value, 0) =
      sel(gt(t.value, splat(K(1e-30))), t.value, zero()); /* the tail of a pair out of reach */
  put_vec((real *)q->plane_out, scale(k_len, p.u));
  AT((real *)q->plane_out, 3) = k_len * (p.e - dot(p.u, p.c));
  AT((real *)q->iterations, 0) = rounds;
  for (int j = 0; j < 2; j++) {
    const point_set *set = j ? &b : &a;
    real *grad = (real *)(j ? q->grad_b : q->grad_a);
    for (int i = 0; i < set->num; i++) {
      real y3 = dot(p.u, sub(point_at(set, i), p.c)), v, dp, ddp;
      real margin = (j ? K(-1) : K(1)) * (y3 + p.e) - radius_at(set, i);
      barrier_at(&br, s * br.inv_length * margin, &v, &dp, &ddp);
      put_vec(&AT(grad, 3 * i),
              scale((j ? K(-1) : K(1)) * outer_ * weight_at(set, i) * dp * s * br.inv_length, p.u));
    }
  }
  q->separated = bits_from_mask(apart);
  q->converged = bits_from_mask(done);
}
KERNEL void query_plane(query_block *q) {
  if (q->barrier == BARRIER_LOCAL)
    query_plane_as(BARRIER_LOCAL, q);
  else
    query_plane_as(BARRIER_INVERSE, q);
}
