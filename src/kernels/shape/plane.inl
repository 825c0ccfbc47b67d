/* plane.inl: the separating-plane potential of two convex point sets (docs/contact.md).
 *
 *   U(p) = c P(1 - |n|) + sum_A w P(a) + sum_B w P(b),   a = n.x + o - r|n|,   b = -(n.x + o) - r|n|,
 *   energy mu min_p U; lengths are divided by L0 before they enter P.
 *
 * Everything is computed in the plane's own frame: origin c (a point near the contact, carried with the
 * plane), axes e1, e2, u with n = s u. In it a point's margin and the margin's derivatives are tiny:
 *
 *   a            = s (y3 + e - r)             (side B: the negative of y3 + e)
 *   da / dtwist  = s (y2, -y1, 0; 0, 0, 1)    (twist of the point's body about c: rotation, translation)
 *   da / dplane  = (y1, y2, 1, -(y3 - r))
 *
 * so that all derivatives follow from a dozen weighted moments per side, whatever the point count.
 *
 * Plane coordinates, in this order: t1, t2 turn n (by t/s towards e1, e2), o shifts, d shortens n.
 *
 *   local       4 unknowns; sigma = 1 - |n| is carried itself, since 1 - |n| would cancel, and n turns at
 *               constant length: in the chart n + t a turn would use up sigma by t^2/2.
 *   inverse     3 unknowns: |n| is eliminated in closed form, U = (sqrt 12 + sqrt A)^2 with A the sum over
 *               unit planes, times |n| so that it is a function of the chart n = u + e1 t1 + e2 t2.
 *   half-space  none; the geom's own plane separates. */

enum { BARRIER_LOCAL = 0, BARRIER_INVERSE = 1 };
#define SQRT12 K(3.4641016151377545871)

typedef struct plane_state {
  vec3 u;     /* unit normal, towards A */
  vec3 c;     /* origin */
  real e;     /* signed distance of c from the plane: margins of c are s e */
  real sigma; /* local: 1 - |n| */
} plane_state;

/* Points of one shape: either the model's, the same in every lane, or a query's, each lane its own. */
typedef struct point_set {
  const double *shared; /* num x 3, body frame (m) */
  const real *own;      /* num x 5, side by side: x, y, z, radius, weight; NULL: shared */
  int num;
  elem radius, weight; /* of shared points */
} point_set;

typedef struct barrier {
  int kind;        /* BARRIER_* */
  elem reach;      /* of local, dimensionless */
  elem inv_length; /* 1 / L0 */
} barrier;

/* Weighted moments of one side; f = w P' and h = w P'' per point, f signed by the side. */
typedef struct plane_moments {
  real value, smallest; /* sum w P; smallest unit-plane margin (m) */
  real stiff;           /* smallest h margin^2 */
  real f0, fr;          /* sum f, sum f r sign */
  vec3 f1;              /* sum f y */
  real h0;              /* sum h */
  vec3 h1;              /* sum h (y1, y2, y3 - r sign) */
  real h11, h12, h22, h13, h23, h33;
} plane_moments;

/* Value and derivatives of one pair in the plane's frame, scaled by mu. */
typedef struct plane_terms {
  real value, gap, low; /* J; separation along u, smaller of the two sides' margins (m) */
  real g[4], k[10];     /* plane gradient and Hessian (lower triangle, row by row) */
  real f0[2];
  vec3 f1[2]; /* sides A, B: force along u and its first moment */
  real h0[2];
  vec3 h1[2]; /* twist Hessian before elimination: sum h tau tau^T from these moments */
  real h11[2], h12[2], h22[2];
  real curl;       /* inverse: weight of the rank-one term (g_twist)(g_twist)^T, negative */
  real b[2][4][6]; /* d2 U / dplane dtwist of A, B */
} plane_terms;

FN vec3 point_at(const point_set *set, int m) {
  if (set->own) return vec(set->own[5 * m], set->own[5 * m + 1], set->own[5 * m + 2]);
  return vec_splat(set->shared + 3 * m);
}
FN real radius_at(const point_set *set, int m) { return set->own ? set->own[5 * m + 3] : splat(set->radius); }
FN real weight_at(const point_set *set, int m) { return set->own ? set->own[5 * m + 4] : splat(set->weight); }

/* P(x), P'(x), P''(x) for x > 0. inverse: 1/x. local: (x-s)^4/x^5 below s, else 0. */
FN void barrier_at(const barrier *br, real x, real *p, real *dp, real *ddp) {
  real i = inverse(x);
  if (br->kind == BARRIER_INVERSE) {
    *p = i;
    *dp = -i * i;
    *ddp = K(2) * i * i * i;
  } else {
    elem s = br->reach;
    real q = rmin(x - s, zero()) * i, q2 = q * q, si = s * i; /* (x - s)/x, s/x */
    *p = q2 * q2 * i;
    *dp = q2 * q * (K(5) * si - K(1)) * (i * i);
    *ddp = q2 * (K(2) - K(20) * si + K(30) * si * si) * (i * i * i);
  }
}
FN real barrier_value(const barrier *br, real x) {
  real i = inverse(x);
  if (br->kind == BARRIER_INVERSE) return i;
  real q = rmin(x - br->reach, zero()) * i, q2 = q * q;
  return q2 * q2 * i;
}

/* How far beyond a shape its barrier acts (m); farther than anything where it acts at any distance. */
FN double barrier_range(int kind, double reach, double length) {
  return kind == BARRIER_LOCAL ? reach / (1 - reach) * length : 1e30;
}

/* |n|: 1 where it is eliminated (inverse) and for half-spaces, whose sigma is 0. */
FN real plane_length(const barrier *br, real sigma) {
  if (br->kind == BARRIER_LOCAL) return splat(1) - sigma;
  return splat(1);
}

/* Frame of a plane as a matrix whose rows are e1, e2, u: local = F world. */
FN mat3 plane_frame(vec3 u) {
  mat3 f;
  f.r2 = u;
  frame_from_normal(u, &f.r0, &f.r1);
  return f;
}

/* Body pose seen from a plane's frame: y = A (p - q), q the plane's origin in the body. Subtracting first
 * keeps the margins of points near the origin exact. */
FN void plane_view(mat3 f, vec3 c, mat3 r, vec3 x, mat3 *a, vec3 *q) {
  *a = mat_mat(f, r);
  *q = mat_tvec(r, sub(c, x));
}

/* Moments of one side. sign +1: A, -1: B. s: |n| of the margins. */
FN plane_moments plane_side(const barrier *br, const point_set *set, elem sign, mat3 a, vec3 q, real e,
                            real s) {
  plane_moments m = {zero(),     splat(ELEM_HUGE), splat(ELEM_HUGE), zero(), zero(), vec_zero(), zero(),
                     vec_zero(), zero(),           zero(),           zero(), zero(), zero(),     zero()};
  for (int i = 0; i < set->num; i++) {
    vec3 y = mat_vec(a, sub(point_at(set, i), q));
    real r = radius_at(set, i), w = weight_at(set, i), p, f, h;
    real margin = sign * (y.z + e) - r;
    barrier_at(br, s * br->inv_length * margin, &p, &f, &h);
    real y3 = y.z - sign * r;
    f = sign * br->inv_length * w * f;
    h = br->inv_length * br->inv_length * w * h;
    m.value = m.value + w * p;
    m.smallest = rmin(m.smallest, margin);
    m.stiff = rmin(m.stiff, h * margin * margin);
    m.f0 = m.f0 + f;
    m.fr = m.fr + f * (sign * r);
    m.f1 = axpy(f, y, m.f1);
    real hy1 = h * y.x, hy2 = h * y.y, hy3 = h * y3;
    m.h0 = m.h0 + h;
    m.h1 = add(m.h1, vec(hy1, hy2, hy3));
    m.h11 = m.h11 + hy1 * y.x;
    m.h12 = m.h12 + hy1 * y.y;
    m.h22 = m.h22 + hy2 * y.y;
    m.h13 = m.h13 + hy1 * y3;
    m.h23 = m.h23 + hy2 * y3;
    m.h33 = m.h33 + hy3 * y3;
  }
  return m;
}

/* Value and smallest margin only, for the line search. */
FN real plane_side_value(const barrier *br, const point_set *set, elem sign, mat3 a, vec3 q, real e, real s,
                         real *smallest) {
  real value = zero(), low = splat(ELEM_HUGE);
  vec3 row = a.r2;
  for (int i = 0; i < set->num; i++) {
    real y3 = dot(row, sub(point_at(set, i), q));
    real margin = sign * (y3 + e) - radius_at(set, i);
    value = value + weight_at(set, i) * barrier_value(br, s * br->inv_length * margin);
    low = rmin(low, margin);
  }
  *smallest = low;
  return value;
}

/* Rows of d2U/dplane dtwist of one side, before the inverse barrier's rank-one term. */
FN void plane_cross(const plane_moments *m, real s, int unknowns, real b[4][6]) {
  real z = zero();
  b[0][0] = s * m->h12;
  b[0][1] = m->f1.z - s * m->h11;
  b[0][2] = -m->f1.y;
  b[0][3] = m->f0;
  b[0][4] = z;
  b[0][5] = s * m->h1.x;
  b[1][0] = s * m->h22 - m->f1.z;
  b[1][1] = -s * m->h12;
  b[1][2] = m->f1.x;
  b[1][3] = z;
  b[1][4] = m->f0;
  b[1][5] = s * m->h1.y;
  b[2][0] = s * m->h1.y;
  b[2][1] = -s * m->h1.x;
  b[2][2] = z;
  b[2][3] = z;
  b[2][4] = z;
  b[2][5] = s * m->h0;
  if (unknowns == 4) {
    b[3][0] = -s * m->h23 - m->f1.y;
    b[3][1] = s * m->h13 + m->f1.x;
    b[3][2] = z;
    b[3][3] = z;
    b[3][4] = z;
    b[3][5] = -s * m->h1.z - m->f0;
  }
}

FN int plane_unknowns(const barrier *br) { return br->kind == BARRIER_LOCAL ? 4 : 3; }

/* Joins two sides into the pair's terms. mu: energy per U. Valid at any plane with positive margins.
 *
 * local: turning n by t at constant |n| bends margins by -y3 t^2/2, so that the curvature of a turn is T =
 * sum |f| margin but for terms of g, and that of |n| is P'' of its barrier. Away from the optimum (1 - |n|
 * out of reach, say, while points are not) either can vanish and a Newton step be wild. Unless `exact`, they
 * are kept above half of what they are at the optimum, T and P'' >= 5 T/reach: floors that are inactive once
 * the plane is near. */
FN void plane_join(const barrier *br, const plane_moments *ma, const plane_moments *mb, real e, real sigma,
                   real mu, int exact, plane_terms *t) {
  int local = br->kind == BARRIER_LOCAL;
  real s = plane_length(br, sigma);
  const plane_moments *side[2] = {ma, mb};
  t->gap = ma->smallest + mb->smallest;
  t->low = rmin(ma->smallest, mb->smallest);
  t->g[0] = ma->f1.x + mb->f1.x;
  t->g[1] = ma->f1.y + mb->f1.y;
  t->g[2] = ma->f0 + mb->f0;
  t->k[0] = ma->h11 + mb->h11;
  t->k[1] = ma->h12 + mb->h12;
  t->k[2] = ma->h22 + mb->h22;
  t->k[3] = ma->h1.x + mb->h1.x;
  t->k[4] = ma->h1.y + mb->h1.y;
  t->k[5] = ma->h0 + mb->h0;
  real turn, scale_, fr = ma->fr + mb->fr;
  t->curl = zero();
  if (local) {
    real p, dp, ddp;
    barrier norm_barrier = {BARRIER_LOCAL, br->reach, 1};
    barrier_at(&norm_barrier, sigma, &p, &dp, &ddp);
    real arc = -(ma->f1.z + mb->f1.z);
    if (!exact) {
      real full = fr + arc - e * t->g[2]; /* T */
      arc = rmax(arc, K(0.5) * (full - fr));
      ddp = rmax(ddp, full * (K(2.5) / br->reach));
    }
    t->value = mu * (p + ma->value + mb->value);
    t->g[3] = dp - (ma->f1.z + mb->f1.z) + fr;
    t->k[6] = -(ma->h13 + mb->h13);
    t->k[7] = -(ma->h23 + mb->h23);
    t->k[8] = -(ma->h1.z + mb->h1.z);
    t->k[9] = ma->h33 + mb->h33 + ddp;
    turn = arc * inverse(s);
    scale_ = mu;
  } else {
    real a = ma->value + mb->value, ir = inverse_root(a), ia = ir * ir;
    real q = SQRT12 * ir, ua = K(1) + q, rt = a * ir + SQRT12;
    t->value = mu * rt * rt;
    turn = a - fr; /* second derivative of |n| is 1 */
    scale_ = mu * ua;
    t->curl =
        K(-0.5) * q * ia * inverse(ua); /* U_AA / U_A; applied below in units of A, rescaled at the end */
  }
  t->k[0] = t->k[0] + turn;
  t->k[2] = t->k[2] + turn;
  int np = plane_unknowns(br);
  for (int j = 0; j < 2; j++) {
    plane_cross(side[j], s, np, t->b[j]);
    t->f0[j] = s * side[j]->f0 * scale_;
    t->f1[j] = scale(s * scale_, side[j]->f1);
    real hs = s * s * scale_;
    t->h0[j] = hs * side[j]->h0;
    t->h1[j] = scale(hs, side[j]->h1);
    t->h11[j] = hs * side[j]->h11;
    t->h12[j] = hs * side[j]->h12;
    t->h22[j] = hs * side[j]->h22;
  }
  for (int i = 0; i < np; i++) {
    for (int j = 0; j < 2; j++) {
      real cg = t->curl * t->g[i];
      t->b[j][i][0] = scale_ * (t->b[j][i][0] + cg * side[j]->f1.y);
      t->b[j][i][1] = scale_ * (t->b[j][i][1] - cg * side[j]->f1.x);
      t->b[j][i][2] = scale_ * t->b[j][i][2];
      t->b[j][i][3] = scale_ * t->b[j][i][3];
      t->b[j][i][4] = scale_ * t->b[j][i][4];
      t->b[j][i][5] = scale_ * (t->b[j][i][5] + cg * side[j]->f0);
    }
    for (int j = 0; j <= i; j++) {
      real *k = &t->k[i * (i + 1) / 2 + j];
      *k = scale_ * (*k + t->curl * t->g[i] * t->g[j]);
    }
  }
  for (int i = 0; i < np; i++) t->g[i] = scale_ * t->g[i];
  if (!local)
    t->curl = t->curl * inverse(scale_); /* so that curl (g_twist g_twist^T) uses the scaled forces */
}

/* K = L P L^T of a pair's n <= 4 own unknowns. l: lower triangle, row by row: below the diagonal L, on it the
 * inverse pivots; 0 where a row is empty (nothing in reach), so that its unknown does not move. */
FN void plane_factor(int n, const real *k, real *l) {
  for (int i = 0; i < n; i++) {
    real kii = k[i * (i + 1) / 2 + i], pivot = kii, *li = l + i * (i + 1) / 2;
    for (int j = 0; j < i; j++) {
      real u = k[i * (i + 1) / 2 + j]; /* L_ij P_j */
      for (int m = 0; m < j; m++) u = u - li[m] * l[j * (j + 1) / 2 + m];
      li[j] = u;
    }
    for (int j = 0; j < i; j++) {
      real u = li[j];
      li[j] = u * l[j * (j + 1) / 2 + j];
      pivot = pivot - u * li[j];
    }
    pivot = rmax(pivot, rmax(K(64) * K(ELEM_EPS) * kii, splat(ELEM_TINY)));
    li[i] = sel(gt(kii, splat(ELEM_TINY)), inverse(pivot), zero());
  }
}
/* x := L^-1 x */
FN void plane_solve_lower(int n, const real *l, real *x) {
  for (int i = 1; i < n; i++)
    for (int m = 0; m < i; m++) x[i] = x[i] - l[i * (i + 1) / 2 + m] * x[m];
}
/* x^T P^-1 x of a solved x: twice what a Newton step would gain */
FN real plane_decrement(int n, const real *l, const real *x) {
  real sum = zero();
  for (int i = 0; i < n; i++) sum = sum + x[i] * x[i] * l[i * (i + 1) / 2 + i];
  return sum;
}
/* x := L^-T P^-1 x */
FN void plane_solve_upper(int n, const real *l, real *x) {
  for (int i = n - 1; i >= 0; i--) {
    x[i] = x[i] * l[i * (i + 1) / 2 + i];
    for (int m = i + 1; m < n; m++) x[i] = x[i] - l[m * (m + 1) / 2 + i] * x[m];
  }
}

/* Moves a plane by t times a step in plane coordinates. Beyond the reach a shorter n only costs, and nothing
 * would pull it back: it is made longer again, which makes every margin larger. */
FN plane_state plane_move(const barrier *br, plane_state p, mat3 f, const real *d, real t) {
  real s = plane_length(br, p.sigma);
  real a = t * d[0], b = t * d[1];
  plane_state q = p;
  real inv = inverse_root(s * s + a * a + b * b);
  q.u = scale(inv, axpy(a, f.r0, axpy(b, f.r1, scale(s, f.r2))));
  if (br->kind == BARRIER_LOCAL) {
    q.sigma = p.sigma + t * d[3];
    inv = inverse(splat(1) - q.sigma);
    q.sigma = rmin(q.sigma, splat(br->reach));
  }
  q.e = (s * p.e + t * d[2]) * inv;
  return q;
}

/* Energy of a pair at a plane and poses; *low: the smaller of the two sides' unit margins. */
FN real plane_value(const barrier *br, const point_set *a, const point_set *b, mat3 ra, vec3 xa, mat3 rb,
                    vec3 xb, plane_state p, real mu, real *low, real *gap) {
  int local = br->kind == BARRIER_LOCAL;
  real s = plane_length(br, p.sigma), low_a, low_b;
  mat3 f = mat(p.u, p.u, p.u), va, vb; /* only the component along u is needed */
  vec3 oa, ob;
  plane_view(f, p.c, ra, xa, &va, &oa);
  plane_view(f, p.c, rb, xb, &vb, &ob);
  real value = plane_side_value(br, a, 1, va, oa, p.e, s, &low_a);
  value = value + plane_side_value(br, b, -1, vb, ob, p.e, s, &low_b);
  *low = rmin(low_a, low_b);
  *gap = low_a + low_b;
  if (local) {
    barrier norm_barrier = {BARRIER_LOCAL, br->reach, 1};
    *low = rmin(*low, sel(gt(p.sigma, zero()), splat(ELEM_HUGE), splat(-1)));
    return mu * (value + barrier_value(&norm_barrier, p.sigma));
  }
  real rt = root(value) + SQRT12;
  return mu * rt * rt;
}

/* Energy of points above a half-space {nu.x < h}: mu sum w P(nu.x - h - r). No unknowns. */
FN real halfspace_value(const barrier *br, const point_set *a, mat3 ra, vec3 xa, plane_state p, real mu,
                        real *low) {
  mat3 f = mat(p.u, p.u, p.u), va;
  vec3 oa;
  plane_view(f, p.c, ra, xa, &va, &oa);
  return mu * plane_side_value(br, a, 1, va, oa, p.e, splat(1), low);
}
