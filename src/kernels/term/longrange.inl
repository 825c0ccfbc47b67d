/* longrange.inl: pairs of triangle meshes in a step: their lists, their terms at the iterate, their
 * value and certificate at a trial. A list belongs to a pose: to make it costs a few per cent of what it
 * takes to evaluate it. Planes go on from list to list within a step; a step begins without any, so that it
 * depends on its state alone. A team's leader does it all. */

enum { longrange_dealt = 0 }; /* a team's leader does it all */

/* As hulls: they are listed by the reach of the barrier, which is without end. */
FN mask longrange_meets(const pair_info *pair, const real *a, const real *b) {
  return hull_meets(pair, a, b);
}

/* Meshes that meet at the start of a rollout are found when their lists are made, not by their hulls. */
FN void longrange_gap(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  vec3 up = vec(zero(), zero(), splat(1)),
       apart = vec(zero(), zero(), splat(K(1e6) * K(k->options.implicit.length)));
  if (k->pairs[g->slot_pair[s]].mesh)
    contact_put_gap(k, slots, s, on, up, apart, vec_zero());
  else
    hull_gap(k, g, s, on);
}
/* begin looks at every pair, new or not. */
FN uint32_t longrange_start(const step_params *k, lane_group *g, int s, mask fresh) {
  (void)k, (void)g, (void)s, (void)fresh;
  return 0;
}

/* Pose of B in A's frame, of one lane. */
typedef struct far_pose {
  double r[9], x[3];
} far_pose;

KERNEL far_pose far_pose_of(const pair_info *pair, const real *xpos, const real *xmat, int lane) {
  far_pose p;
  int a = pair->side[0].body, b = pair->side[1].body;
  for (int i = 0; i < 3; i++) {
    p.x[i] = 0;
    for (int j = 0; j < 3; j++) {
      p.r[3 * i + j] = 0;
      for (int c = 0; c < 3; c++)
        p.r[3 * i + j] +=
            (double)LANE(xmat, 9 * a + 3 * c + i, lane) * (double)LANE(xmat, 9 * b + 3 * c + j, lane);
    }
    for (int c = 0; c < 3; c++)
      p.x[i] += (double)LANE(xmat, 9 * a + 3 * c + i, lane) *
                ((double)LANE(xpos, 3 * b + c, lane) - (double)LANE(xpos, 3 * a + c, lane));
  }
  return p;
}

FN mat3 mat_splat(const double r[9]) { return mat(vec_splat(r), vec_splat(r + 3), vec_splat(r + 6)); }

FN far_pair far_pair_at(const step_params *k, const pair_info *pair, far_pose pose) {
  far_pair p;
  for (int j = 0; j < 2; j++) p.tree[j] = pair->side[j].tree;
  p.r = mat_splat(pose.r);
  p.x = vec_splat(pose.x);
  p.epsilon = K(k->options.implicit.epsilon);
  p.length = K(k->options.implicit.length);
  p.weighted = k->options.implicit.form == ABUT_FORM_WEIGHTED;
  p.share = K(p.weighted ? pair->side[0].area * pair->side[1].area : 1);
  return p;
}

FN far_group *far_of(const lane_group *g) { return &own(g)->far; }
FN far_list_state *far_state_of(const lane_group *g, int pair_id, int lane, int store) {
  return &far_of(g)->state[2 * ((int64_t)pair_id * ABUT_LANES + lane) + store];
}
FN far_list far_list_of(const lane_group *g, int lane, int store, const far_list_state *s) {
  const far_group *f = far_of(g);
  int64_t base = (2 * (int64_t)lane + store) * f->capacity;
  far_list list = {f->pairs + base + s->first,
                   (elem *)f->rows,
                   (elem *)f->plane + (base + s->plane) * FAR_PLANE,
                   s->num,
                   s->num,
                   s->leaves};
  return list;
}

/* Planes of the pairs of triangles that are in both lists of a pair of bodies. Both lists have an entry's
 * children in the same order, so that one walk finds them. */
FN void far_inherit(const far_pair *p, const far_list *from, const far_list *to, int32_t *twin) {
  for (int32_t i = 0; i < to->num; i++) twin[i] = -1;
  if (from->num > 0 && to->num > 0) twin[0] = 0;
  for (int32_t i = 0; i < to->num; i++) {
    const far_entry *next = &to->entry[i], *old = &from->entry[twin[i] < 0 ? 0 : twin[i]];
    if (next->child < 0) {
      elem *plane = far_plane_of(to, next);
      const elem *had = twin[i] >= 0 && old->child < 0 ? far_plane_of(from, old) : 0;
      for (int c = 0; c < FAR_PLANE; c++) plane[c] = had ? had[c] : K(-1);
    }
    if (next->child > 0 && twin[i] >= 0 && old->child > 0)
      for (int c = 0; c < far_children(p, next); c++) twin[next->child + c] = old->child + c;
  }
}

/* The term's pairs. */
#define FAR_PAIRS(i) for (int32_t i = k->kind_pair[TERM_longrange]; i < k->kind_pair[TERM_longrange + 1]; i++)

/* Lists of all pairs of a lane for the poses xpos, xmat in one of its stores, one behind the other. inherit:
 * their planes begin as those of the iterate's lists, in the other store; else the lists there are forgotten.
 * Returns whether there was room. */
OUTLINE int far_make(const step_params *k, lane_group *g, program_io *io, int lane, const real *xpos,
                     const real *xmat, int store, int inherit) {
  int32_t first = 0, plane = 0;
  FAR_PAIRS(i) {
    const pair_info *pair = &k->pairs[i];
    far_pose pose = far_pose_of(pair, xpos, xmat, lane);
    far_list_state *s = far_state_of(g, i, lane, store), *before = far_state_of(g, i, lane, !store);
    for (int c = 0; c < 9; c++) s->r[c] = pose.r[c];
    for (int c = 0; c < 3; c++) s->x[c] = pose.x[c];
    s->first = first;
    s->plane = plane;
    s->num = s->leaves = 0;
    if (!inherit) *before = (far_list_state){{NAN}, {0}, 0, 0, 0, 0};
    far_pair p = far_pair_at(k, pair, pose);
    far_list list = far_list_of(g, lane, store, s), had = far_list_of(g, lane, !store, before);
    list.capacity = far_of(g)->capacity - first;
    if (!far_traverse(&p, &list, K(0))) {
      counter_raise(&io->need_room, 4 * (int64_t)far_of(g)->capacity);
      counter_raise(&io->need, 1);
      return 0;
    }
    far_inherit(&p, &had, &list, (int32_t *)far_of(g)->rows); /* no sums are needed meanwhile */
    s->num = list.num;
    s->leaves = list.leaves;
    first += list.num;
    plane += list.leaves;
  }
  return 1;
}

/* Whether the lists of a store are those of a lane's iterate, bit for bit. */
FN int far_is_of_iterate(const step_params *k, const lane_group *g, int lane, int store) {
  STAGE_LOCALS
  int same = 1;
  FAR_PAIRS(i) {
    const far_list_state *s = far_state_of(g, i, lane, store);
    far_pose now = far_pose_of(&k->pairs[i], W(xpos), W(xmat), lane);
    for (int c = 0; c < 9; c++) same &= s->r[c] == now.r[c];
    for (int c = 0; c < 3; c++) same &= s->x[c] == now.x[c];
  }
  return same;
}

/* After this the lists of store far_now are those of the iterate: after an accepted trial it has them. */
FN int far_follow(const step_params *k, lane_group *g, program_io *io, int lane) {
  STAGE_LOCALS
  int now = far_of(g)->now[lane];
  if (far_is_of_iterate(k, g, lane, now)) return 1;
  far_of(g)->now[lane] = !now;
  return far_is_of_iterate(k, g, lane, !now) || far_make(k, g, io, lane, W(xpos), W(xmat), !now, 1);
}

/* Lists of the lanes that begin a step, evaluate or try; whether there was room. */
FN int longrange_prepare(const step_params *k, lane_group *g, program_io *io, int when) {
  STAGE_LOCALS
  int fits = 1;
  LANE_LOOP(lane, g->live) {
    if (when == TERM_BEGIN) far_of(g)->now[lane] = 0;
    fits &= when == TERM_BEGIN ? far_make(k, g, io, lane, W(xpos), W(xmat), 0, 0)
            : when == TERM_EVALUATE
                ? far_follow(k, g, io, lane)
                : far_make(k, g, io, lane, W(xpos_try), W(xmat_try), !far_of(g)->now[lane], 1);
  }
  return fits;
}

FN elem lane_of(real x, int lane) { return ((elem *)&x)[lane]; }
FN vec3 lane_vec3(const real *p, int lane) {
  return vec(splat(LANE(p, 0, lane)), splat(LANE(p, 1, lane)), splat(LANE(p, 2, lane)));
}
FN mat3 lane_mat3(const real *p, int lane) {
  return mat(lane_vec3(p, lane), lane_vec3(&AT(p, 3), lane), lane_vec3(&AT(p, 6), lane));
}
FN far_bodies far_bodies_of(const pair_info *pair, const real *xpos, const real *xmat, int lane) {
  far_bodies at;
  for (int j = 0; j < 2; j++) {
    at.r[j] = lane_mat3(&AT(xmat, 9 * pair->side[j].body), lane);
    at.x[j] = lane_vec3(&AT(xpos, 3 * pair->side[j].body), lane);
  }
  return at;
}

FN far_mark_state *far_marked_of(const lane_group *g, int pair_id, int lane) {
  return &far_of(g)->marked[(int64_t)pair_id * ABUT_LANES + lane];
}
FN far_marks far_marks_of(const step_params *k, const lane_group *g, int pair_id, int lane) {
  const far_mark_state *s = far_marked_of(g, pair_id, lane);
  const far_group *f = far_of(g);
  int64_t first = (int64_t)lane * f->capacity + s->first;
  far_marks m = {f->mark_pairs + first, (elem *)f->marks + first * FAR_MARK, s->num,
                 K(1 / k->options.timestep), K(2 * k->options.implicit.slip_velocity)};
  return m;
}

/* Friction's marks of a pair at the start of a lane's step, where its list was evaluated. There is room for
 * them as for the list's planes. */
CALL void far_mark_pair(const step_params *k, lane_group *g, int id, int lane) {
  STAGE_LOCALS
  const pair_info *pair = &k->pairs[id];
  far_pair p = far_pair_at(k, pair, far_pose_of(pair, W(xpos), W(xmat), lane));
  far_list list = far_list_of(g, lane, 0, far_state_of(g, id, lane, 0));
  far_marks m = far_marks_of(k, g, id, lane);
  elem scale_ =
      lane_of(pair_friction(k, w, pair), lane) * LANE(W(stiffness), 0, lane) * K(k->options.timestep);
  mat3 turn = lane_mat3(&AT(W(xmat), 9 * pair->side[0].body), lane);
  far_marked_of(g, id, lane)->num = far_mark_all(&p, &list, (far_entry *)m.entry, &m, scale_, &turn);
}

/* A pair at the start of a lane's step: whether its meshes meet there (slot_new); else, where it rubs, its
 * marks. */
CALL void far_begin_pair(const step_params *k, lane_group *g, int slot, int lane, int exact) {
  STAGE_LOCALS
  int id = g->slot_pair[slot];
  const far_list_state *s = far_state_of(g, id, lane, 0);
  far_mark_state *marked = far_marked_of(g, id, lane);
  marked->first = s->plane;
  marked->num = 0;
  int rubs = lane_of(pair_friction(k, w, &k->pairs[id]), lane) > 0;
  if (exact && !rubs) return; /* the forward pass has looked */
  far_pair p = far_pair_at(k, &k->pairs[id], far_pose_of(&k->pairs[id], W(xpos), W(xmat), lane));
  far_list list = far_list_of(g, lane, 0, s);
  IN_MEMORY(&k); /* as in the stage */
  IN_MEMORY(&g);
  if (far_value(&p, &list).touching)
    g->slot_new[slot] |= 1u << lane;
  else if (rubs)
    far_mark_pair(k, g, id, lane);
}

/* Friction's marks of lanes that begin a step, and lanes whose meshes meet there (slot_new). */
FN void longrange_begin(const step_params *k, lane_group *g, int s, mask on, int exact) {
  uint32_t lanes = bits_from_mask(on);
  IN_MEMORY(&g); /* the call needs all registers of a GPU's thread */
  IN_MEMORY(&s);
  LANE_LOOP(lane, lanes) far_begin_pair(k, g, s, lane, exact);
}

/* Eigenvalues of a symmetric 6x6 matrix to their absolute values, by Jacobi rotations. */
FN void far_absolute(real a[6][6]) {
  real v[6][6];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) v[i][j] = splat(K(i == j));
  for (int sweep = 0; sweep < 8; sweep++)
    for (int p = 0; p < 5; p++)
      for (int q = p + 1; q < 6; q++) {
        real apq = a[p][q], diff = a[q][q] - a[p][p];
        mask on = gt(rabs(apq), splat(ELEM_TINY));
        real theta = diff / sel(on, K(2) * apq, splat(1));
        real t = splat(1) / (rabs(theta) + root(theta * theta + K(1)));
        t = sel(on, sel(lt(theta, zero()), -t, t), zero());
        real c = inverse_root(t * t + K(1)), s = t * c;
        for (int i = 0; i < 6; i++) {
          real x = a[i][p], y = a[i][q];
          a[i][p] = c * x - s * y;
          a[i][q] = s * x + c * y;
        }
        for (int i = 0; i < 6; i++) {
          real x = a[p][i], y = a[q][i];
          a[p][i] = c * x - s * y;
          a[q][i] = s * x + c * y;
          x = v[i][p], y = v[i][q];
          v[i][p] = c * x - s * y;
          v[i][q] = s * x + c * y;
        }
      }
  real w[6];
  for (int i = 0; i < 6; i++) w[i] = rabs(a[i][i]);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      a[i][j] = zero();
      for (int m = 0; m < 6; m++) a[i][j] = a[i][j] + v[i][m] * w[m] * v[j][m];
    }
}

/* |H|, rotations measured by what they move a point at `size` by. */
CALL block6 far_convex(block6 h, real size) {
  real a[6][6], is = splat(1) / size;
  const vec3 ww[3] = {vec(h.ww.xx, h.ww.xy, h.ww.xz), vec(h.ww.xy, h.ww.yy, h.ww.yz),
                      vec(h.ww.xz, h.ww.yz, h.ww.zz)};
  const vec3 wv[3] = {h.wv.r0, h.wv.r1, h.wv.r2};
  const vec3 vv[3] = {vec(h.vv.xx, h.vv.xy, h.vv.xz), vec(h.vv.xy, h.vv.yy, h.vv.yz),
                      vec(h.vv.xz, h.vv.yz, h.vv.zz)};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      real x = j == 0   ? ww[i].x
               : j == 1 ? ww[i].y
                        : ww[i].z,
           y = j == 0   ? wv[i].x
               : j == 1 ? wv[i].y
                        : wv[i].z;
      a[i][j] = x * is * is;
      a[i][3 + j] = a[3 + j][i] = y * is;
      a[3 + i][3 + j] = j == 0 ? vv[i].x : j == 1 ? vv[i].y : vv[i].z;
    }
  far_absolute(a);
  real s2 = size * size;
  h.ww = sym(s2 * a[0][0], s2 * a[1][0], s2 * a[1][1], s2 * a[2][0], s2 * a[2][1], s2 * a[2][2]);
  h.wv = mat_scale(size, mat(vec(a[0][3], a[0][4], a[0][5]), vec(a[1][3], a[1][4], a[1][5]),
                             vec(a[2][3], a[2][4], a[2][5])));
  h.vv = sym(a[3][3], a[4][3], a[4][4], a[5][3], a[5][4], a[5][5]);
  return h;
}

/* From A's frame to world axes: x' = R x, M' = R M R^T. */
FN block6 block_turn(mat3 r, block6 h) {
  block6 t;
  mat3 ww = mat_matt(mat_mat(r, sym_mat(h.ww)), r), vv = mat_matt(mat_mat(r, sym_mat(h.vv)), r);
  t.ww = sym(ww.r0.x, ww.r1.x, ww.r1.y, ww.r2.x, ww.r2.y, ww.r2.z);
  t.wv = mat_matt(mat_mat(r, h.wv), r);
  t.vv = sym(vv.r0.x, vv.r1.x, vv.r1.y, vv.r2.x, vv.r2.y, vv.r2.z);
  return t;
}

/* Puts value, gradient and Hessian of the relative pose (row, about A's origin in A's frame) into a slot as
 * forces and blocks of both bodies. With P a function of the relative pose only, and G = (tau, F), H those of
 * a twist of A, P(xi_A, xi_B) = P + G . (xi_A - xi_B + [xi_A, xi_B]/2) + (xi_A - xi_B) . H (xi_A - xi_B) / 2.
 * Phi has only its antisymmetric part, [tau]x / 2; what forces have by themselves is taken out of H again,
 * since project_dof adds it. */
CALL void far_put(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                  const real row[FAR_ROW], real gap, int exact) {
  const pair_info *pair = &k->pairs[pair_id];
  int a = pair->side[0].body, b = pair->side[1].body;
  mat3 ra = get_mat(&AT(W(xmat), 9 * a));
  real mu = AT(W(stiffness), 0), convex = exact ? zero() : AT(W(convex), 0);
  vec3 tau = scale(mu, mat_vec(ra, vec(row[1], row[2], row[3]))),
       f = scale(mu, mat_vec(ra, vec(row[4], row[5], row[6])));
  block6 h;
  real scaled[21];
  for (int i = 0; i < 21; i++) scaled[i] = mu * row[7 + i];
  h.ww = sym(scaled[0], scaled[1], scaled[2], scaled[3], scaled[4], scaled[5]);
  h.wv = mat(vec(scaled[6], scaled[7], scaled[8]), vec(scaled[9], scaled[10], scaled[11]),
             vec(scaled[12], scaled[13], scaled[14]));
  h.vv = sym(scaled[15], scaled[16], scaled[17], scaled[18], scaled[19], scaled[20]);
  h = block_turn(ra, h);
  vec3 xa = get_vec(&AT(W(xpos), 3 * a)), xb = get_vec(&AT(W(xpos), 3 * b)), r = sub(xa, xb);
  mat3 curl_w = mat_scale(splat(K(0.5)), hat(tau)), curl_v = mat_scale(splat(K(0.5)), hat(f));
  mask bent = mask_and(on, gt(convex, zero()));
  if (any(bent)) {
    block6 c = far_convex(h, splat(K(pair->side[0].reach + 1e-3 * k->options.implicit.length)));
    for (int i = 0; i < 21; i++) ((real *)&h)[i] = sel(bent, ((real *)&c)[i], ((real *)&h)[i]);
    curl_w = mat_sel(bent, mat_zero(), curl_w);
  }
  mat3 curl_cross = mat_sel(bent, mat_zero(), curl_v), wv = mat_sub(mat_scale(splat(-1), h.wv), curl_cross);
  mat3 vv = mat_scale(splat(-1), sym_mat(h.vv)), ww = mat_sub(mat_scale(splat(-1), sym_mat(h.ww)), curl_w);
  mat3 vw = mat_sub(mat_scale(splat(-1), mat_t(h.wv)), curl_cross);
  block6 own[2] = {h, block_shift(h, r)};
  own[0].wv = mat_add(own[0].wv, curl_v);
  own[1].wv = mat_sub(own[1].wv, curl_v);
  vec3 tau_b = scale(splat(-1), add(tau, cross(r, f)));
  put_vec(SLOT_AT(s, force), f);
  put_vec(&AT(SLOT_AT(s, force), 3), scale(splat(-1), f));
  put_mat(SLOT_AT(s, phi), mat_scale(splat(K(0.5)), hat(tau)));
  put_mat(&AT(SLOT_AT(s, phi), 9), mat_scale(splat(K(0.5)), hat(tau_b)));
  put_block(SLOT_AT(s, block), own[0]);
  put_block(&AT(SLOT_AT(s, block), 21), own[1]);
  put_mat(&AT(SLOT_AT(s, block), 42), mat_sub(ww, mat_mat(wv, hat(r))));
  put_mat(&AT(SLOT_AT(s, block), 51), wv);
  put_mat(&AT(SLOT_AT(s, block), 60), mat_sub(vw, mat_mat(vv, hat(r))));
  put_mat(&AT(SLOT_AT(s, block), 69), vv);
  put_sel(SLOT_AT(s, force), 6, on);
  put_sel(SLOT_AT(s, phi), 18, on);
  put_sel(SLOT_AT(s, block), 78, on);
  for (int i = 0; i < 12; i++) AT(SLOT_AT(s, pull), i) = zero();
  real size = splat(K(k->body_radius[a] + k->body_radius[b])) + norm(r);
  AT(SLOT_AT(s, noise), 0) = sel(on, size * max_abs(f), zero());
  AT(SLOT_AT(s, noise), 1) = AT(SLOT_AT(s, residual), 0) = zero();
  AT(SLOT_AT(s, value), 0) = AT(SLOT_AT(s, energy), 0) = sel(on, mu * row[0], zero());
  AT(SLOT_AT(s, gap), 0) = sel(on, gap, splat(ELEM_HUGE));
}

FN void add_sel(real *p, mask on, const void *values, int n) {
  const real *x = (const real *)values;
  for (int i = 0; i < n; i++) AT(p, i) = sel(on, AT(p, i) + x[i], AT(p, i));
}

/* Adds friction of lanes `on`, given by its sums, to what far_put left in a slot. */
FN void far_put_rub(const step_params *k, real *w, real *slots, int s, int pair_id, mask on,
                    const far_rub *t) {
  const pair_info *pair = &k->pairs[pair_id];
  int a = pair->side[0].body, b = pair->side[1].body;
  real minus = splat(-1);
  vec3 force[2] = {scale(minus, t->g), t->g};
  mat3 phi[2] = {mat_scale(minus, t->phi[0]), t->phi[1]};
  block6 own[2] = {{t->ww[0], t->wv[0], t->m}, {t->ww[1], t->wv[1], t->m}};
  mat3 across[4] = {mat_scale(minus, t->across), mat_scale(minus, t->wv[0]),
                    mat_scale(minus, mat_t(t->wv[1])), mat_scale(minus, sym_mat(t->m))};
  add_sel(SLOT_AT(s, force), on, force, 6);
  add_sel(SLOT_AT(s, phi), on, phi, 18);
  add_sel(SLOT_AT(s, block), on, own, 42);
  add_sel(&AT(SLOT_AT(s, block), 42), on, across, 36);
  add_sel(SLOT_AT(s, value), on, &t->value, 1);
  real size = splat(K(k->body_radius[a] + k->body_radius[b])) +
              norm(sub(get_vec(&AT(W(xpos), 3 * a)), get_vec(&AT(W(xpos), 3 * b))));
  real *noise = SLOT_AT(s, noise);
  AT(noise, 0) = sel(on, size * max_abs(get_vec(SLOT_AT(s, force))), AT(noise, 0));
  AT(noise, 1) =
      sel(on, size * friction_rub(k, K(2 * k->options.implicit.slip_velocity), t->weight, t->value, size),
          AT(noise, 1));
}

/* Friction of a slot's pair at the iterate. */
CALL void far_evaluate_rub(const step_params *k, lane_group *g, int s, int exact) {
  STAGE_LOCALS
  int id = g->slot_pair[s];
  uint32_t rubs = 0;
  far_rub t;
  for (int c = 0; c < FAR_RUB; c++) ((real *)&t)[c] = zero();
  LANE_LOOP(lane, g->slot_on[s] & g->live) {
    if (far_marked_of(g, id, lane)->num == 0) continue;
    far_marks m = far_marks_of(k, g, id, lane);
    far_bodies at = far_bodies_of(&k->pairs[id], W(xpos), W(xmat), lane);
    elem sum[FAR_RUB];
    far_rub_sum(&m, &at, exact, sum);
    for (int c = 0; c < FAR_RUB; c++) lane_put(&((real *)&t)[c], lane, sum[c]);
    rubs |= 1u << lane;
  }
  if (rubs) far_put_rub(k, w, slots, s, id, mask_from_bits(rubs), &t);
}

/* Value and derivatives of a pair at the iterate. */
FN void longrange_evaluate(const step_params *k, lane_group *g, int s, mask on, int all_on, int exact) {
  STAGE_LOCALS
  int id = g->slot_pair[s];
  uint32_t lanes = bits_from_mask(on);
  real row[FAR_ROW], gap = splat(ELEM_HUGE);
  (void)all_on;
  for (int c = 0; c < FAR_ROW; c++) row[c] = zero();
  LANE_LOOP(lane, lanes) {
    far_pair p = far_pair_at(k, &k->pairs[id], far_pose_of(&k->pairs[id], W(xpos), W(xmat), lane));
    int now = far_of(g)->now[lane];
    far_list list = far_list_of(g, lane, now, far_state_of(g, id, lane, now));
    far_sum sum = far_evaluate(&p, &list);
    for (int c = 0; c < FAR_ROW; c++) lane_put(&row[c], lane, list.rows[c]);
    if (sum.touching) lane_put(&row[0], lane, (elem)INFINITY);
    lane_put(&gap, lane, sum.gap);
  }
  far_put(k, w, slots, s, id, on, row, gap, exact);
  far_evaluate_rub(k, g, s, exact);
}

/* A pair has no unknowns of its own, and its step is checked by its trial. */
FN void longrange_direction(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  AT(SLOT_AT(s, limit), 0) = sel(on, splat(ELEM_HUGE), AT(SLOT_AT(s, limit), 0));
  AT(SLOT_AT(s, fall), 0) = sel(on, zero(), AT(SLOT_AT(s, fall), 0));
}

/* How the bodies of a pair move to the trial, in one lane. */
CALL far_motion far_motion_of(const step_params *k, real *w, const pair_info *pair, int lane) {
  far_motion m;
  far_pose now = far_pose_of(pair, W(xpos), W(xmat), lane);
  m.r_now = mat_splat(now.r);
  m.x_now = vec_splat(now.x);
  double turned[2] = {0, 0}, t = (double)LANE(W(step), 0, lane);
  for (int j = 0; j < 2; j++) {
    int body = pair->side[j].body;
    double r[2][9], x[2][3];
    for (int c = 0; c < 9; c++) {
      r[0][c] = (double)LANE(W(xmat), 9 * body + c, lane);
      r[1][c] = (double)LANE(W(xmat_try), 9 * body + c, lane);
      turned[j] += (r[1][c] - r[0][c]) * (r[1][c] - r[0][c]);
    }
    for (int c = 0; c < 3; c++) {
      x[0][c] = (double)LANE(W(xpos), 3 * body + c, lane);
      x[1][c] = (double)LANE(W(xpos_try), 3 * body + c, lane);
    }
    for (int c = 0; c < 2; c++) {
      m.r[j][c] = mat_splat(r[c]);
      m.x[j][c] = vec_splat(x[c]);
    }
    m.turn[j] = splat(K(__builtin_sqrt(turned[j])));
  }
  double arc[2] = {(double)LANE(W(arc), pair->side[0].body, lane),
                   (double)LANE(W(arc), pair->side[1].body, lane)};
  m.arc = splat(K(t * t / 8 * (arc[0] > arc[1] ? arc[0] : arc[1])));
  m.arcs = splat(K(t * t / 8 * (arc[0] + arc[1])));
  return m;
}

/* Value and certificate of a pair at one lane's trial. Returns whether the trial may be accepted. */
CALL int far_try_pair(const step_params *k, const lane_group *g, int s, int lane) {
  STAGE_LOCALS
  int id = g->slot_pair[s], ahead = !far_of(g)->now[lane];
  const pair_info *pair = &k->pairs[id];
  far_motion m = far_motion_of(k, w, pair, lane);
  far_pair p = far_pair_at(k, pair, far_pose_of(pair, W(xpos_try), W(xmat_try), lane));
  far_list list = far_list_of(g, lane, ahead, far_state_of(g, id, lane, ahead));
  far_sum sum = far_try(&p, &list, &m);
  elem value = sum.touching ? (elem)INFINITY : LANE(W(stiffness), 0, lane) * sum.value;
  LANE(SLOT_AT(s, clear_try), 0, lane) = sum.clear;
  LANE(SLOT_AT(s, value_try), 0, lane) = value;
  if (!(sum.clear > 0)) return 0;
  if (far_marked_of(g, id, lane)->num == 0) return 1;
  far_marks marks = far_marks_of(k, g, id, lane);
  far_bodies at = far_bodies_of(pair, W(xpos_try), W(xmat_try), lane);
  LANE(SLOT_AT(s, value_try), 0, lane) = value + far_rub_value(&marks, &at);
  return 1;
}

/* A trial that one pair refuses is of no interest to the others. */
FN uint32_t longrange_try(const step_params *k, lane_group *g, int s, mask on, uint32_t failed) {
  STAGE_LOCALS
  uint32_t open = bits_from_mask(on) & ~failed;
  AT(SLOT_AT(s, value_try), 0) = zero();
  AT(SLOT_AT(s, clear_try), 0) = splat(ELEM_HUGE);
  IN_MEMORY(&g); /* the call needs all registers of a GPU's thread */
  IN_MEMORY(&failed);
  LANE_LOOP(lane, open) failed |= (uint32_t)!far_try_pair(k, g, s, lane) << lane;
  return failed;
}

/* The lists of the trial are those of the iterate from here on: longrange_prepare. */
FN void longrange_accept(const step_params *k, lane_group *g, int s, mask yes) {
  (void)k, (void)g, (void)s, (void)yes;
}

/* ------------------------------------------------------------------------------- reverse pass */

/* Friction's share psi of lambda . dE in one lane: off the cotangent of the larger coefficient. */
FN void far_friction_back(const step_params *k, real *w, const pair_info *pair, int lane, elem psi) {
  if (pair->friction >= 0) return;
  int a = pair->side[0].geom, b = pair->side[1].geom;
  elem f0 = LANE(W(friction), a, lane), f1 = LANE(W(friction), b, lane);
  LANE(W(bar_friction), f0 >= f1 ? a : b, lane) -= psi / (f0 >= f1 ? f0 : f1);
}

/* Cotangents of what friction of a long-range pair takes from the step's start: through the marks to the
 * poses there, and to the coefficients. The lists of the start, whose planes left the marks, are not needed
 * any more. */
CALL void far_friction_vjp(const step_params *k, lane_group *g, int s) {
  STAGE_LOCALS
  int id = g->slot_pair[s];
  const pair_info *pair = &k->pairs[id];
  LANE_LOOP(lane, g->slot_on[s] & g->live) {
    if (far_marked_of(g, id, lane)->num == 0) continue;
    far_marks m = far_marks_of(k, g, id, lane);
    far_bodies at = far_bodies_of(pair, W(xpos), W(xmat), lane);
    far_pair p = far_pair_at(k, pair, far_pose_of(pair, W(xpos_t), W(xmat_t), lane));
    mat3 turn = lane_mat3(&AT(W(xmat_t), 9 * pair->side[0].body), lane);
    twist6 l[2];
    for (int j = 0; j < 2; j++) {
      const real *step = &AT(W(body_step), 6 * pair->side[j].body);
      l[j].w = lane_vec3(step, lane);
      l[j].v = lane_vec3(&AT(step, 3), lane);
    }
    l[0].v = add(l[0].v, lane_vec3(SLOT_AT(s, bar_contact), lane)); /* lambda_twists */
    elem sum[FAR_BACK];
    far_rub_back(&m, &at, l, &p, &turn, sum);
    far_friction_back(k, w, pair, lane, sum[0]);
    for (int j = 0; j < 2; j++) {
      const elem *f = sum + 1 + 3 * j, *t = sum + 7 + 3 * j;
      int b = pair->side[j].body;
      vec3 force = mat_vec(turn, vec(splat(f[0]), splat(f[1]), splat(f[2])));
      mat3 phi = mat_scale(splat(K(0.5)), hat(mat_vec(turn, vec(splat(t[0]), splat(t[1]), splat(t[2])))));
      for (int c = 0; c < 3; c++) LANE(W(bar_force), 3 * b + c, lane) -= lane_of(((real *)&force)[c], lane);
      for (int c = 0; c < 9; c++) LANE(W(bar_phi), 9 * b + c, lane) -= lane_of(((real *)&phi)[c], lane);
    }
  }
}

FN void longrange_vjp(const step_params *k, lane_group *g, int s, mask on) {
  STAGE_LOCALS
  twist6 l[2];
  lambda_twists(k, w, slots, s, &k->pairs[g->slot_pair[s]], l);
  stiffness_vjp(k, w, slots, s, on, 2, l);
  far_friction_vjp(k, g, s);
}
