/* tendon.inl: energies of tendons (docs/step.md section 3): spring, damping, armature, friction loss, limits.
 * Each is a function of the tendon's length L, as are those of actuators and equalities that act on it: all
 * add slope and second derivative by L to tendon_pull and tendon_stiff, which tendons_spread hands to the
 * dofs: dE/dL grad L, and d2E/dL2 grad L grad L^T + dE/dL hess L. Tendons on which nothing acts have no dofs
 * here. */

FN int tendon_acts(const step_params *k, int t) { return k->tendon_dofadr[t + 1] > k->tendon_dofadr[t]; }
FN int tendon_fixed(const abut_model *m, int t) { return m->wrap_type[m->tendon_adr[t]] == ABUT_WRAP_JOINT; }

/* ---------------------------------------------------------------- length */

/* A spatial tendon's way from one site to the next. */
typedef struct piece {
  int row;    /* where the next one is looked for */
  elem share; /* of its length that counts: 1 over the divisor of its strand */
  int site[2];
  int geom, side, cylinder; /* what it may wrap, -1; on whose side, -1 */
} piece;

FN piece piece_first(const abut_model *m, int t) {
  piece p = {m->tendon_adr[t], K(1), {0, 0}, -1, -1, 0};
  return p;
}
FN int piece_next(const abut_model *m, int t, piece *p) {
  int end = m->tendon_adr[t] + m->tendon_num[t];
  for (; p->row + 1 < end; p->row++) {
    int row = p->row, wraps = m->wrap_type[row + 1] >= ABUT_WRAP_SPHERE;
    if (m->wrap_type[row] == ABUT_WRAP_PULLEY) p->share = K(1 / m->wrap_prm[row]);
    if (m->wrap_type[row] != ABUT_WRAP_SITE || m->wrap_type[row + 1] == ABUT_WRAP_PULLEY) continue;
    p->site[0] = m->wrap_obj[row];
    p->site[1] = m->wrap_obj[row + 1 + wraps];
    p->geom = wraps ? m->wrap_obj[row + 1] : -1;
    p->side = wraps ? (int)m->wrap_prm[row + 1] : -1;
    p->cylinder = m->wrap_type[row + 1] == ABUT_WRAP_CYLINDER;
    p->row++;
    return 1;
  }
  return 0;
}

FN link_end site_end(const abut_model *m, const real *xmat, int site) {
  return link_point(xmat, m->site_body[site], 1, m->site_pos + 3 * site);
}

/* The third axis of a geom's frame, in its body's. */
FN void geom_axis(const abut_model *m, int g, double axis[3]) {
  const double *q = m->geom_quat + 4 * g;
  axis[0] = 2 * (q[1] * q[3] + q[0] * q[2]);
  axis[1] = 2 * (q[2] * q[3] - q[0] * q[1]);
  axis[2] = 1 - 2 * (q[1] * q[1] + q[2] * q[2]);
}

/* The geom that a piece may wrap: centre, axis. */
FN vec3 piece_centre(const abut_model *m, const piece *p, const real *xpos, const real *xmat, vec3 *axis) {
  int body = m->geom_body[p->geom];
  double local[3];
  geom_axis(m, p->geom, local);
  *axis = link_point(xmat, body, 0, local).r;
  return link_place(xpos, link_point(xmat, body, 1, m->geom_pos + 3 * p->geom));
}

/* a, b: its ends. */
FN way piece_way(const step_params *k, const real *w, const piece *p, const real *xpos, const real *xmat,
                 link_end a, link_end b) {
  const abut_model *m = k->model;
  vec3 xa = link_place(xpos, a), xb = link_place(xpos, b), axis;
  if (p->geom < 0) return way_straight(xa, xb);
  vec3 centre = piece_centre(m, p, xpos, xmat, &axis);
  const real *start = &AT(W(wrap_start), 4 * p->row);
  turning s = {AT(start, 0), get_vec(&AT(start, 1))};
  return way_around(sub(xa, centre), sub(xb, centre), axis, s, p->cylinder, K(m->geom_size[3 * p->geom]));
}

/* How a tendon goes around its geoms at the step's start. */
FN void tendon_turnings(const step_params *k, real *w, int t, mask live) {
  const abut_model *m = k->model;
  for (piece p = piece_first(m, t); piece_next(m, t, &p);) {
    if (p.geom < 0) continue;
    vec3 axis, centre = piece_centre(m, &p, W(xpos_t), W(xmat_t), &axis), side = vec_zero();
    if (p.side >= 0) side = sub(link_place(W(xpos_t), site_end(m, W(xmat_t), p.side)), centre);
    vec3 a = sub(link_place(W(xpos_t), site_end(m, W(xmat_t), p.site[0])), centre);
    vec3 b = sub(link_place(W(xpos_t), site_end(m, W(xmat_t), p.site[1])), centre);
    turning s = wrap_turning(a, b, side, axis, p.cylinder, p.side >= 0);
    real *start = &AT(W(wrap_start), 4 * p.row);
    AT(start, 0) = sel(live, s.turn, AT(start, 0));
    put_vec_sel(&AT(start, 1), live, s.normal);
  }
}

FN real tendon_length(const step_params *k, const real *w, int t, const real *qpos, const real *xpos,
                      const real *xmat) {
  const abut_model *m = k->model;
  real length = zero();
  if (tendon_fixed(m, t)) {
    for (int row = m->tendon_adr[t]; row < m->tendon_adr[t] + m->tendon_num[t]; row++)
      length = length + K(m->wrap_prm[row]) * AT(qpos, m->jnt_qposadr[m->wrap_obj[row]]);
    return length;
  }
  for (piece p = piece_first(m, t); piece_next(m, t, &p);) {
    link_end a = site_end(m, xmat, p.site[0]), b = site_end(m, xmat, p.site[1]);
    length = length + p.share * piece_way(k, w, &p, xpos, xmat, a, b).length;
  }
  return length;
}

/* ---------------------------------------------------------------- slopes */

/* How dof d moves the point x of what hangs on it, poses at the iterate. */
FN vec3 dof_motion(const step_params *k, const real *w, int d, vec3 x) {
  twist6 s = get_twist(&AT(W(twist), 6 * d));
  return twist_at(s, sub(x, get_vec(&AT(W(xpos), 3 * k->model->dof_body[d])))).v;
}
FN int path_length(const step_params *k, int b) { return k->path_adr[b + 1] - k->path_adr[b]; }
/* How many dofs move both bodies: paths begin with them. */
FN int path_shared(const step_params *k, int a, int b) {
  const int32_t *pa = k->path + k->path_adr[a], *pb = k->path + k->path_adr[b];
  int n = 0;
  while (n < path_length(k, a) && n < path_length(k, b) && pa[n] == pb[n]) n++;
  return n;
}
FN int path_has(const step_params *k, int b, int d) {
  for (int i = k->path_adr[b]; i < k->path_adr[b + 1]; i++)
    if (k->path[i] == d) return 1;
  return 0;
}

/* Adds how fast point x of body b moves along g with each dof of the tendon, but for the first of b's path.
 */
FN void slope_end(const step_params *k, real *w, int t, int b, int first, vec3 x, vec3 g) {
  int n = k->tendon_dofadr[t];
  for (int i = k->path_adr[b] + first; i < k->path_adr[b + 1]; i++) {
    while (k->tendon_dof[n] != k->path[i]) n++; /* both ascend, and the tendon's has all of these */
    AT(W(tendon_slope), n) = AT(W(tendon_slope), n) + dot(g, dof_motion(k, w, k->path[i], x));
  }
}

/* Slopes of tendon t's length at the iterate. */
FN void tendon_slopes(const step_params *k, real *w, int t) {
  const abut_model *m = k->model;
  int first = k->tendon_dofadr[t];
  fill(&AT(W(tendon_slope), first), k->tendon_dofadr[t + 1] - first, zero());
  if (tendon_fixed(m, t)) {
    for (int row = m->tendon_adr[t]; row < m->tendon_adr[t] + m->tendon_num[t]; row++) {
      int n = first;
      while (k->tendon_dof[n] != m->jnt_dofadr[m->wrap_obj[row]]) n++;
      AT(W(tendon_slope), n) = AT(W(tendon_slope), n) + K(m->wrap_prm[row]);
    }
    return;
  }
  for (piece p = piece_first(m, t); piece_next(m, t, &p);) {
    link_end a = site_end(m, W(xmat), p.site[0]), b = site_end(m, W(xmat), p.site[1]);
    way s = piece_way(k, w, &p, W(xpos), W(xmat), a, b);
    vec3 xa = link_place(W(xpos), a), xb = link_place(W(xpos), b);
    vec3 ga = scale(splat(p.share), s.ga), gb = scale(splat(p.share), s.gb);
    int shared = p.geom < 0 ? path_shared(k, a.body, b.body) : 0;
    slope_end(k, w, t, a.body, shared, xa, ga);
    slope_end(k, w, t, b.body, shared, xb, gb);
    if (p.geom < 0) continue;
    slope_end(k, w, t, m->geom_body[p.geom], 0, xa, scale(splat(-1), ga));
    slope_end(k, w, t, m->geom_body[p.geom], 0, xb, scale(splat(-1), gb));
  }
}

/* Lengths at a configuration and its poses; with `derive`, their slopes, which are at the iterate, and sums
 * to zero. */
OUTLINE void tendons_place(const step_params *k, real *w, const real *qpos, const real *xpos,
                           const real *xmat, int derive) {
  const abut_model *m = k->model;
  for (int t = 0; t < m->ntendon; t++) {
    if (!tendon_acts(k, t)) continue;
    AT(W(tendon_at), t) = tendon_length(k, w, t, qpos, xpos, xmat);
    AT(W(tendon_pull), t) = AT(W(tendon_stiff), t) = zero();
    if (derive) tendon_slopes(k, w, t);
  }
}

/* Lengths at the step's start, for the lanes `live`: at q_t, and 2 L(q_t) - L(q-), q- in qpos_try and its
 * poses. */
OUTLINE void tendons_begin(const step_params *k, real *w, mask live) {
  const abut_model *m = k->model;
  for (int t = 0; t < m->ntendon; t++) {
    if (!tendon_acts(k, t)) continue;
    if (!tendon_fixed(m, t)) tendon_turnings(k, w, t, live);
    real now = tendon_length(k, w, t, W(qpos_t), W(xpos_t), W(xmat_t));
    real before =
        m->tendon_armature[t] > 0 ? tendon_length(k, w, t, W(qpos_try), W(xpos_try), W(xmat_try)) : now;
    AT(W(tendon_t), t) = sel(live, now, AT(W(tendon_t), t));
    AT(W(tendon_hat), t) = sel(live, now + (now - before), AT(W(tendon_hat), t));
  }
}

/* What acts on tendon t besides its own terms. */
FN void tendon_add(const step_params *k, real *w, int t, real pull, real stiff) {
  AT(W(tendon_pull), t) = AT(W(tendon_pull), t) + pull;
  AT(W(tendon_stiff), t) = AT(W(tendon_stiff), t) + stiff;
}

/* ---------------------------------------------------------------- energies */

/* Zero between the rest lengths; beyond them it comes in as a limit does. */
FN curve tendon_spring(const abut_model *m, int t, real length) {
  const double *rest = m->tendon_lengthspring + 2 * t;
  real k = splat(K(m->tendon_stiffness[t])), width = splat(K(LIMIT_WIDTH));
  if (rest[0] == rest[1]) return curve_quadratic(k, length - K(rest[0]));
  curve low = curve_ramp(k, K(rest[0]) - length + K(0.5 * LIMIT_WIDTH), width);
  low.g = -low.g;
  return curve_add(low, curve_ramp(k, length - K(rest[1]) + K(0.5 * LIMIT_WIDTH), width));
}
/* Damping and friction loss: functions of L - L_t. */
FN curve tendon_drag(const step_params *k, int t, real moved) {
  const abut_model *m = k->model;
  elem dt = K(k->options.timestep);
  curve c = curve_quadratic(splat(K(m->tendon_damping[t]) / dt), moved);
  if (m->tendon_frictionloss[t] > 0) {
    curve f = curve_friction(splat(K(m->tendon_frictionloss[t]) * dt), moved * (K(1) / dt),
                             splat(K(k->options.implicit.slip_velocity)));
    c = curve_add(c, curve_stretch(f, K(1) / dt));
  }
  return c;
}

FN int tendon_limits(const abut_model *m, int t) {
  return m->tendon_limited[t] && m->tendon_invweight0[t] > 0;
}
/* How far the tendon is beyond its upper (side 1) or lower (0) limit. */
FN real tendon_violation(const abut_model *m, int t, int side, real length) {
  elem margin = K(m->tendon_margin[t]);
  return side ? length - K(m->tendon_range[2 * t + 1]) + margin : K(m->tendon_range[2 * t]) - length + margin;
}
FN soft tendon_limit_at(const abut_model *m, int t, real r_t) {
  return limit_at(m->tendon_solref + 2 * t, m->tendon_solimp + 5 * t, m->tendon_invweight0[t], r_t);
}
FN curve tendon_limit(const step_params *k, int t, real length, real length_t) {
  const abut_model *m = k->model;
  curve sum = {zero(), zero(), zero()};
  for (int side = 0; side < 2; side++) {
    real r_t = tendon_violation(m, t, side, length_t);
    curve c = limit_curve(tendon_limit_at(m, t, r_t), tendon_violation(m, t, side, length), r_t,
                          K(k->options.timestep));
    if (!side) c.g = -c.g;
    sum = curve_add(sum, c);
  }
  return sum;
}
/* Derivative of its slope by length_t. */
FN real tendon_limit_vjp(const step_params *k, int t, real length, real length_t) {
  const abut_model *m = k->model;
  real sum = zero();
  for (int side = 0; side < 2; side++) {
    real r_t = tendon_violation(m, t, side, length_t);
    sum = sum + limit_curve_vjp(tendon_limit_at(m, t, r_t), tendon_violation(m, t, side, length), r_t,
                                K(k->options.timestep));
  }
  return sum;
}

FN double tendon_inertia(const step_params *k, int t) {
  return k->model->tendon_armature[t] / (k->options.timestep * k->options.timestep);
}

/* Energy of all tendons at the lengths of tendons_place; adds to their sums. */
OUTLINE real tendons_energy(const step_params *k, real *w) {
  const abut_model *m = k->model;
  real energy = zero();
  for (int t = 0; t < m->ntendon; t++) {
    if (!tendon_acts(k, t)) continue;
    real length = AT(W(tendon_at), t), length_t = AT(W(tendon_t), t);
    curve c = tendon_drag(k, t, length - length_t);
    if (m->tendon_stiffness[t] > 0) c = curve_add(c, tendon_spring(m, t, length));
    if (m->tendon_armature[t] > 0)
      c = curve_add(c, curve_quadratic(splat(K(tendon_inertia(k, t))), length - AT(W(tendon_hat), t)));
    if (tendon_limits(m, t)) c = curve_add(c, tendon_limit(k, t, length, length_t));
    tendon_add(k, w, t, c.g, c.h);
    energy = energy + c.e;
  }
  return energy;
}

/* Of all tendons' springs, at the lengths of tendons_place (J). */
FN real tendons_springs(const step_params *k, const real *w) {
  const abut_model *m = k->model;
  real energy = zero();
  for (int t = 0; t < m->ntendon; t++)
    if (m->tendon_stiffness[t] > 0 && tendon_acts(k, t))
      energy = energy + tendon_spring(m, t, AT(W(tendon_at), t)).e;
  return energy;
}

/* ---------------------------------------------------------------- from lengths to dofs */

/* Pose cotangents of a spatial tendon whose length has cotangent f. */
FN void tendon_forces(const step_params *k, const real *w, int t, const real *xpos, const real *xmat, real f,
                      real *force, real *phi) {
  const abut_model *m = k->model;
  for (piece p = piece_first(m, t); piece_next(m, t, &p);) {
    link_end a = site_end(m, xmat, p.site[0]), b = site_end(m, xmat, p.site[1]);
    way s = piece_way(k, w, &p, xpos, xmat, a, b);
    vec3 ga = scale(f * p.share, s.ga), gb = scale(f * p.share, s.gb);
    link_pull(k, force, phi, a, ga);
    link_pull(k, force, phi, b, gb);
    if (p.geom < 0) continue;
    int body = m->geom_body[p.geom]; /* holds against both, where the ends are */
    vec3 x = get_vec(&AT(xpos, 3 * body));
    link_end on_a = {body, 1, sub(link_place(xpos, a), x)}, on_b = {body, 1, sub(link_place(xpos, b), x)};
    link_pull(k, force, phi, on_a, scale(splat(-1), ga));
    link_pull(k, force, phi, on_b, scale(splat(-1), gb));
  }
}

/* Motion of a piece's ends against the geom it may wrap, and the geom's turn, by one dof. */
typedef struct relative {
  vec3 a, b, turn;
} relative;
FN relative piece_relative(const step_params *k, const real *w, int d, link_end a, link_end b,
                           int geom_body) {
  int on_geom = path_has(k, geom_body, d);
  elem sa = K(path_has(k, a.body, d) - on_geom), sb = K(path_has(k, b.body, d) - on_geom);
  relative r;
  r.a = scale(splat(sa), dof_motion(k, w, d, link_place(W(xpos), a)));
  r.b = scale(splat(sb), dof_motion(k, w, d, link_place(W(xpos), b)));
  r.turn = scale(splat(K(on_geom)), get_twist(&AT(W(twist), 6 * d)).w);
  return r;
}

/* f hess L of a piece that may wrap a geom. Its length is a function of its ends as the geom sees them, y:
 * what the forces of tendon_forces do not say of their second derivatives is the geom's turn,
 * d_i d_j y = ... - w_i x d_j y - w_j x d_i y. */
FN void wrap_bend(const step_params *k, real *w, int t, const piece *p, link_end a, link_end b, const way *s,
                  real f) {
  int body = k->model->geom_body[p->geom];
  for (int n = k->tendon_dofadr[t]; n < k->tendon_dofadr[t + 1]; n++) {
    int d = k->tendon_dof[n];
    relative r = piece_relative(k, w, d, a, b, body);
    vec3 pa = sub(add(mat_vec(s->haa, r.a), mat_vec(s->hab, r.b)), cross(s->ga, r.turn));
    vec3 pb = sub(add(mat_tvec(s->hab, r.a), mat_vec(s->hbb, r.b)), cross(s->gb, r.turn));
    vec3 turn = add(cross(s->ga, r.a), cross(s->gb, r.b));
    for (int l = k->tendon_dofadr[t]; l <= n; l++) {
      relative q = piece_relative(k, w, k->tendon_dof[l], a, b, body);
      real *h = hess_at(W(hess), d, k->tendon_dof[l]);
      *h = *h + f * (dot(q.a, pa) + dot(q.b, pb) + dot(q.turn, turn));
    }
  }
}

/* f hess L of a spatial tendon, and all that follows from the forces f grad L of its ends. */
FN void tendon_bend(const step_params *k, real *w, int t, real f) {
  const abut_model *m = k->model;
  for (piece p = piece_first(m, t); piece_next(m, t, &p);) {
    link_end a = site_end(m, W(xmat), p.site[0]), b = site_end(m, W(xmat), p.site[1]);
    way s = piece_way(k, w, &p, W(xpos), W(xmat), a, b);
    real share = f * p.share;
    AT(W(noise), 0) = AT(W(noise), 0) +
                      rabs(share) * rmax(max_abs(link_place(W(xpos), a)), max_abs(link_place(W(xpos), b)));
    if (p.geom >= 0) {
      wrap_bend(k, w, t, &p, a, b, &s, share);
      continue;
    }
    sym3 q = sym(share * s.hbb.r0.x, share * s.hbb.r1.x, share * s.hbb.r1.y, share * s.hbb.r2.x,
                 share * s.hbb.r2.y, share * s.hbb.r2.z);
    link_own(k, w, a, q);
    link_own(k, w, b, q);
    link_cross(k, w, a, b, q);
  }
  tendon_forces(k, w, t, W(xpos), W(xmat), f, W(body_force), W(body_phi));
}

/* The tendons' sums into gradient and Hessian at the iterate. */
OUTLINE void tendons_spread(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int t = 0; t < m->ntendon; t++) {
    if (!tendon_acts(k, t)) continue;
    real f = AT(W(tendon_pull), t), stiff = AT(W(tendon_stiff), t);
    int fixed = tendon_fixed(m, t);
    if (!fixed) tendon_bend(k, w, t, f);
    for (int n = k->tendon_dofadr[t]; n < k->tendon_dofadr[t + 1]; n++) {
      int d = k->tendon_dof[n];
      real slope = AT(W(tendon_slope), n);
      if (fixed) AT(W(grad), d) = AT(W(grad), d) + f * slope;
      for (int l = k->tendon_dofadr[t]; l <= n; l++) {
        real *h = hess_at(W(hess), d, k->tendon_dof[l]);
        *h = *h + stiff * slope * AT(W(tendon_slope), l);
      }
    }
  }
}

/* ---------------------------------------------------------------- reverse */

/* Slope of tendon t's length along lambda. */
FN real tendon_along(const step_params *k, const real *w, int t) {
  real sum = zero();
  for (int n = k->tendon_dofadr[t]; n < k->tendon_dofadr[t + 1]; n++)
    sum = sum + AT(W(tendon_slope), n) * AT(W(rhs), k->tendon_dof[n]);
  return sum;
}

/* From here on, tendon_pull has the cotangent of a length at q_t, tendon_stiff that at q-. */
FN void tendons_reverse(const step_params *k, real *w) {
  for (int t = 0; t < k->model->ntendon; t++) AT(W(tendon_pull), t) = AT(W(tendon_stiff), t) = zero();
}

/* Cotangent f of a fixed tendon's length at q_t + s v. */
FN void fixed_vjp(const step_params *k, real *w, int t, real f, elem s) {
  const abut_model *m = k->model;
  for (int row = m->tendon_adr[t]; row < m->tendon_adr[t] + m->tendon_num[t]; row++) {
    int d = m->jnt_dofadr[m->wrap_obj[row]];
    real g = f * K(m->wrap_prm[row]);
    AT(W(bar_qpos), d) = AT(W(bar_qpos), d) + g;
    AT(W(bar_qvel), d) = AT(W(bar_qvel), d) + s * g;
  }
}

/* The tendons' own terms; then all cotangents of lengths at q_t, and those of fixed ones at q-, to where they
 * come from. */
OUTLINE void tendons_vjp(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int t = 0; t < m->ntendon; t++) {
    if (!tendon_acts(k, t)) continue;
    real length = AT(W(tendon_at), t), length_t = AT(W(tendon_t), t), l = tendon_along(k, w, t);
    real bar = l * tendon_drag(k, t, length - length_t).h, hat = l * K(tendon_inertia(k, t));
    if (tendon_limits(m, t)) bar = bar - l * tendon_limit_vjp(k, t, length, length_t);
    tendon_add(k, w, t, bar + K(2) * hat, -hat);
    bar = AT(W(tendon_pull), t);
    if (tendon_fixed(m, t)) {
      fixed_vjp(k, w, t, bar, K(0));
      fixed_vjp(k, w, t, -hat, K(-k->options.timestep));
    } else {
      tendon_forces(k, w, t, W(xpos_t), W(xmat_t), bar, W(bar_force), W(bar_phi));
    }
  }
}

/* Cotangents of spatial tendons' lengths at q-, whose poses are in xpos_try, xmat_try. */
OUTLINE void tendons_before_vjp(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int t = 0; t < m->ntendon; t++)
    if (tendon_acts(k, t) && !tendon_fixed(m, t) && m->tendon_armature[t] > 0)
      tendon_forces(k, w, t, W(xpos_try), W(xmat_try), AT(W(tendon_stiff), t), W(body_force), W(body_phi));
}
