/* bench.inl: what `abut bench` times of the pair kernel: the very functions that a step calls, on pairs of
 * its own. A block is LANES pairs: points of A and B, their solved plane, a displacement of A, room for
 * results. */

enum { BENCH_POINTS = 8, BENCH_PLANE = 80, BENCH_MOVE = 88, BENCH_OUT = 91, BENCH_ROW = 91 + 62 + 42 };

FN contact_frame bench_frame(const pair_info *pair, const real *block, vec3 move) {
  contact_frame c;
  c.pair = pair;
  for (int j = 0; j < 2; j++) {
    point_set set = {0, &AT(block, 5 * BENCH_POINTS * j), BENCH_POINTS, 0, 1};
    c.set[j] = set;
    c.r[j] = mat_identity();
    c.x[j] = j ? vec_zero() : move;
  }
  c.br.kind = BARRIER_INVERSE;
  c.br.reach = 0;
  c.br.inv_length = 1;
  c.mu = splat(1);
  return c;
}

/* which: 0 joint evaluation at the solved plane; 1 warm: A moved, nested solve from the old plane, then the
 * same; 2 cold: closest points, nested solve, the same; 3 prepare: solve and keep the plane. */
KERNEL void bench_plane(int which, int blocks, void *memory) {
  pair_info pair = {0};
  mask all = mask_from_bits(ALL_LANES), done;
  pair.side[0].moves = 1;
  for (int i = 0; i < blocks; i++) {
    real *block = (real *)memory + (intptr_t)i * BENCH_ROW, *out = &AT(block, BENCH_OUT);
    vec3 move = get_vec(&AT(block, BENCH_MOVE));
    if (which != 1) move = vec_zero();
    contact_frame c = bench_frame(&pair, block, move);
    plane_state p = get_plane(&AT(block, BENCH_PLANE));
    if (which >= 2) {
      closest cl = closest_points(&c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], all, K(0.5), 64);
      p = plane_between(&c.br, cl);
    }
    if (which >= 1)
      plane_solve(&c.br, &c.set[0], &c.set[1], c.r[0], c.x[0], c.r[1], c.x[1], &p, all,
                  K(which == 3 ? 1e-20 : 1e-3), 60, &done);
    if (which == 3) {
      put_plane(&AT(block, BENCH_PLANE), all, p);
      continue;
    }
    contact_sum sum = contact_zero();
    hull_normal(&c, p, 0, zero(), out, &sum);
    put_vec(&AT(out, 62), sum.force[0]);
    put_mat(&AT(out, 65), sum.phi[0]);
    put_block(&AT(out, 74), sum.block.own[0]);
    AT(out, 95) = sum.value;
    put_vec(&AT(out, 96), sum.pull.w[0]);
    put_vec(&AT(out, 99), sum.pull.v[0]);
  }
}
