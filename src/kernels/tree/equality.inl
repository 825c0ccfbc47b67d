/* equality.inl: equality constraints (docs/step.md section 3): points of two bodies that coincide, frames
 * that do, two joints or two tendons that follow each other. Each is a soft constraint (constraint.inl) whose
 * impedance comes from the size of its whole violation at the step's start. */

/* Rows of a connect or weld: the anchors' distance, then three pairs of axes, each of which counts by
 * scale^2/8: scale^2 sin^2(theta/2) in all, as in MuJoCo. */
enum { LINK_ROWS = 4 };
/* Centres that cannot move may have anchors that do: they are held as if they moved so much (1/kg). */
#define LEAST_INVWEIGHT 1e-6
typedef struct link_rows {
  link_end a[LINK_ROWS], b[LINK_ROWS];
  int count;
  elem weight[LINK_ROWS]; /* of a row's square in the size */
  double invweight[LINK_ROWS];
} link_rows;

FN link_rows equality_rows(const step_params *k, const real *xmat, int e) {
  const abut_model *m = k->model;
  int b1 = m->eq_obj1[e], b2 = m->eq_obj2[e];
  const double scale2 = m->eq_torquescale[e] * m->eq_torquescale[e];
  link_rows rows;
  rows.count = m->eq_type[e] == ABUT_EQUALITY_WELD ? LINK_ROWS : 1;
  rows.a[0] = link_point(xmat, b1, 1, m->eq_anchor1 + 3 * e);
  rows.b[0] = link_point(xmat, b2, 1, m->eq_anchor2 + 3 * e);
  rows.weight[0] = 1;
  rows.invweight[0] = m->body_invweight0[2 * b1] + m->body_invweight0[2 * b2];
  if (rows.invweight[0] < LEAST_INVWEIGHT) rows.invweight[0] = LEAST_INVWEIGHT;
  for (int i = 1; i < rows.count; i++) {
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    rows.a[i] = link_point(xmat, b1, 0, m->eq_axes + 9 * e + 3 * (i - 1));
    rows.b[i] = link_point(xmat, b2, 0, axes[i - 1]);
    rows.weight[i] = K(scale2 / 8);
    rows.invweight[i] = m->body_invweight0[2 * b1 + 1] + m->body_invweight0[2 * b2 + 1];
  }
  return rows;
}

/* Violation of row i at poses. */
FN vec3 row_violation(const real *xpos, const link_rows *rows, int i) {
  return sub(link_place(xpos, rows->b[i]), link_place(xpos, rows->a[i]));
}

FN int equality_links(const abut_model *m, int e) {
  return m->eq_active[e] && m->eq_type[e] <= ABUT_EQUALITY_WELD &&
         (body_moves(m, m->eq_obj1[e]) || body_moves(m, m->eq_obj2[e]));
}

/* Size of the violation at the step's start. */
FN real equality_size(const step_params *k, const real *w, const link_rows *rows) {
  real square = zero();
  for (int i = 0; i < rows->count; i++) {
    vec3 r = row_violation(W(xpos_t), rows, i);
    square = square + rows->weight[i] * dot(r, r);
  }
  return root(square);
}

/* Energy of a connect or weld at poses; with derivatives into the bodies' sums and H at the iterate. */
FN real equality_link(const step_params *k, real *w, int e, const real *xpos, const real *xmat, int derive) {
  const abut_model *m = k->model;
  elem idt = K(1 / k->options.timestep);
  link_rows start = equality_rows(k, W(xmat_t), e), now = equality_rows(k, xmat, e);
  real size = equality_size(k, w, &start), energy = zero();
  for (int i = 0; i < now.count; i++) {
    if (!(now.invweight[i] > 0)) continue;
    soft p = soft_at(m->eq_solref + 2 * e, m->eq_solimp + 5 * e, now.invweight[i], size);
    vec3 r = row_violation(xpos, &now, i), r_t = row_violation(W(xpos_t), &start, i);
    vec3 s = axpy(p.tau * idt, sub(r, r_t), r);
    real stiff = now.weight[i] * p.k, a = p.tau * idt + K(1), q = stiff * a;
    energy = energy + K(0.5) * stiff / a * dot(s, s);
    if (derive)
      link_accumulate(k, w, now.a[i], now.b[i], scale(stiff, s), sym(q, zero(), q, zero(), zero(), q));
  }
  return energy;
}
/* psi = lambda . dE: cotangents of the poses at the step's start. */
FN void equality_link_vjp(const step_params *k, real *w, int e) {
  const abut_model *m = k->model;
  elem idt = K(1 / k->options.timestep);
  link_rows start = equality_rows(k, W(xmat_t), e), now = equality_rows(k, W(xmat), e);
  real size = equality_size(k, w, &start), by_size = zero();
  vec3 g[LINK_ROWS];
  for (int i = 0; i < now.count; i++) {
    g[i] = vec_zero();
    if (!(now.invweight[i] > 0)) continue;
    soft p = soft_at(m->eq_solref + 2 * e, m->eq_solimp + 5 * e, now.invweight[i], size);
    vec3 r = row_violation(W(xpos), &now, i),
         rate = scale(splat(idt), sub(r, row_violation(W(xpos_t), &start, i)));
    vec3 l = sub(link_motion(now.b[i], get_twist(&AT(W(body_step), 6 * now.b[i].body))),
                 link_motion(now.a[i], get_twist(&AT(W(body_step), 6 * now.a[i].body))));
    real weight = splat(now.weight[i]);
    by_size = by_size + weight * (p.dk * dot(axpy(p.tau, rate, r), l) + p.k * p.dtau * dot(rate, l));
    g[i] = scale(weight * p.k * p.tau * idt, l);
  }
  mask some = gt(size, splat(K(1e-30)));
  for (int i = 0; i < start.count; i++) {
    vec3 r_t = row_violation(W(xpos_t), &start, i);
    vec3 bar = axpy(sel(some, -by_size * start.weight[i] / sel(some, size, splat(1)), zero()), r_t, g[i]);
    link_pull(k, W(bar_force), W(bar_phi), start.b[i], bar);
    link_pull(k, W(bar_force), W(bar_phi), start.a[i], scale(splat(-1), bar));
  }
}

/* Two joints, or two tendons' lengths: r = (q1 - q1_0) - polynomial(q2 - q2_0). */
typedef struct tie {
  real r, slope, bend; /* the polynomial's first and second derivative */
} tie;
FN tie tie_of(const double *c, real first, real x) {
  tie t;
  real value = (((x * K(c[4]) + K(c[3])) * x + K(c[2])) * x + K(c[1])) * x + K(c[0]);
  t.slope = ((x * K(4 * c[4]) + K(3 * c[3])) * x + K(2 * c[2])) * x + K(c[1]);
  t.bend = (x * K(12 * c[4]) + K(6 * c[3])) * x + K(2 * c[2]);
  t.r = first - value;
  return t;
}
FN tie equality_joints(const abut_model *m, int e, const real *qpos) {
  int q1 = m->jnt_qposadr[m->eq_obj1[e]], j2 = m->eq_obj2[e];
  real x = zero();
  if (j2 >= 0) x = AT(qpos, m->jnt_qposadr[j2]) - K(m->qpos0[m->jnt_qposadr[j2]]);
  return tie_of(m->eq_polycoef + 5 * e, AT(qpos, q1) - K(m->qpos0[q1]), x);
}
FN soft equality_joints_at(const abut_model *m, int e, real r_t) {
  int j2 = m->eq_obj2[e];
  double invweight = m->dof_invweight0[m->jnt_dofadr[m->eq_obj1[e]]];
  if (j2 >= 0) invweight += m->dof_invweight0[m->jnt_dofadr[j2]];
  return soft_at(m->eq_solref + 2 * e, m->eq_solimp + 5 * e, invweight, r_t);
}
FN real equality_joint(const step_params *k, real *w, int e, const real *qpos, real *grad, real *hess) {
  const abut_model *m = k->model;
  int d1 = m->jnt_dofadr[m->eq_obj1[e]], j2 = m->eq_obj2[e];
  tie now = equality_joints(m, e, qpos);
  real r_t = equality_joints(m, e, W(qpos_t)).r;
  curve c = soft_curve(equality_joints_at(m, e, r_t), now.r, r_t, K(k->options.timestep));
  if (!grad) return c.e;
  AT(grad, d1) = AT(grad, d1) + c.g;
  *hess_at(hess, d1, d1) = *hess_at(hess, d1, d1) + c.h;
  if (j2 < 0) return c.e;
  int d2 = m->jnt_dofadr[j2];
  AT(grad, d2) = AT(grad, d2) - c.g * now.slope;
  *hess_at(hess, d2, d2) = *hess_at(hess, d2, d2) + c.h * now.slope * now.slope - c.g * now.bend;
  real *h = d1 > d2 ? hess_at(hess, d1, d2) : hess_at(hess, d2, d1);
  *h = *h - c.h * now.slope;
  return c.e;
}
FN void equality_joint_vjp(const step_params *k, real *w, int e) {
  const abut_model *m = k->model;
  int d1 = m->jnt_dofadr[m->eq_obj1[e]], j2 = m->eq_obj2[e], d2 = j2 < 0 ? 0 : m->jnt_dofadr[j2];
  tie now = equality_joints(m, e, W(qpos)), start = equality_joints(m, e, W(qpos_t));
  real l = AT(W(rhs), d1);
  if (j2 >= 0) l = l - now.slope * AT(W(rhs), d2);
  real bar = -l * soft_curve_vjp(equality_joints_at(m, e, start.r), now.r, start.r, K(k->options.timestep));
  AT(W(bar_qpos), d1) = AT(W(bar_qpos), d1) + bar;
  if (j2 >= 0) AT(W(bar_qpos), d2) = AT(W(bar_qpos), d2) - start.slope * bar;
}

FN tie equality_tendons(const abut_model *m, int e, const real *length) {
  int t1 = m->eq_obj1[e], t2 = m->eq_obj2[e];
  real x = zero();
  if (t2 >= 0) x = AT(length, t2) - K(m->tendon_length0[t2]);
  return tie_of(m->eq_polycoef + 5 * e, AT(length, t1) - K(m->tendon_length0[t1]), x);
}
FN double tendons_invweight(const abut_model *m, int e) {
  int t2 = m->eq_obj2[e];
  return m->tendon_invweight0[m->eq_obj1[e]] + (t2 >= 0 ? m->tendon_invweight0[t2] : 0);
}
FN int equality_ties(const abut_model *m, int e) {
  return m->eq_active[e] && m->eq_type[e] == ABUT_EQUALITY_TENDON && tendons_invweight(m, e) > 0;
}
/* -h (grad L1 grad L2^T + transpose) into H. */
FN void tendons_cross(const step_params *k, real *w, int t1, int t2, real h) {
  for (int n = k->tendon_dofadr[t1]; n < k->tendon_dofadr[t1 + 1]; n++)
    for (int l = k->tendon_dofadr[t2]; l < k->tendon_dofadr[t2 + 1]; l++) {
      int d = k->tendon_dof[n], e = k->tendon_dof[l];
      real *at = d > e ? hess_at(W(hess), d, e) : hess_at(W(hess), e, d);
      *at = *at - h * AT(W(tendon_slope), n) * AT(W(tendon_slope), l) * K(d == e ? 2 : 1);
    }
}
FN real equality_tendon(const step_params *k, real *w, int e, int derive) {
  const abut_model *m = k->model;
  int t1 = m->eq_obj1[e], t2 = m->eq_obj2[e];
  tie now = equality_tendons(m, e, W(tendon_at));
  real r_t = equality_tendons(m, e, W(tendon_t)).r;
  soft p = soft_at(m->eq_solref + 2 * e, m->eq_solimp + 5 * e, tendons_invweight(m, e), r_t);
  curve c = soft_curve(p, now.r, r_t, K(k->options.timestep));
  tendon_add(k, w, t1, c.g, c.h);
  if (t2 < 0) return c.e;
  tendon_add(k, w, t2, -c.g * now.slope, c.h * now.slope * now.slope - c.g * now.bend);
  if (derive) tendons_cross(k, w, t1, t2, c.h * now.slope);
  return c.e;
}
FN void equality_tendon_vjp(const step_params *k, real *w, int e) {
  const abut_model *m = k->model;
  int t1 = m->eq_obj1[e], t2 = m->eq_obj2[e];
  tie now = equality_tendons(m, e, W(tendon_at)), start = equality_tendons(m, e, W(tendon_t));
  soft p = soft_at(m->eq_solref + 2 * e, m->eq_solimp + 5 * e, tendons_invweight(m, e), start.r);
  real l = tendon_along(k, w, t1);
  if (t2 >= 0) l = l - now.slope * tendon_along(k, w, t2);
  real bar = -l * soft_curve_vjp(p, now.r, start.r, K(k->options.timestep));
  tendon_add(k, w, t1, bar, zero());
  if (t2 >= 0) tendon_add(k, w, t2, -start.slope * bar, zero());
}

/* Energy of all equalities at a configuration and its poses; with grad, derivatives at the iterate. */
OUTLINE real equalities_energy(const step_params *k, real *w, const real *qpos, const real *xpos,
                               const real *xmat, real *grad, real *hess) {
  const abut_model *m = k->model;
  real energy = zero();
  for (int e = 0; e < m->neq; e++) {
    if (equality_links(m, e)) energy = energy + equality_link(k, w, e, xpos, xmat, grad != 0);
    if (m->eq_active[e] && m->eq_type[e] == ABUT_EQUALITY_JOINT)
      energy = energy + equality_joint(k, w, e, qpos, grad, hess);
    if (equality_ties(m, e)) energy = energy + equality_tendon(k, w, e, grad != 0);
  }
  return energy;
}
OUTLINE void equalities_vjp(const step_params *k, real *w) {
  const abut_model *m = k->model;
  for (int e = 0; e < m->neq; e++) {
    if (equality_links(m, e)) equality_link_vjp(k, w, e);
    if (m->eq_active[e] && m->eq_type[e] == ABUT_EQUALITY_JOINT) equality_joint_vjp(k, w, e);
    if (equality_ties(m, e)) equality_tendon_vjp(k, w, e);
  }
}
