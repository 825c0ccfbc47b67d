/* sdf.inl: smooth signed distances: superquadrics, convex polyhedra, oriented point clouds, their soft union
 * and subtraction. Value, normal, and the reverse pass of both, which has the normal's derivative in it.
 *
 * Lanes are points. A union looks at every primitive twice: first at its two spheres, which bound the
 * distance from both sides, then at those primitives that may matter to some lane; a lane for which one may
 * not gives it no weight, so that lanes do not depend on each other. What is left out weighs less than
 * rounding. */
#include "kernels/shape/smooth_view.h"
#include "kernels/lane/special.h"
#include "kernels/lane/team.h"
#include "kernels/lane/vector.h"

/* Number i of this thread's scratch and traces: those of a team's threads interleave. */
#define OWN(p, i) ((p)[(i)*ABUT_TEAM])

typedef struct sdf_primitive {
  int32_t kind;
  int32_t doublings[2]; /* exponent p of each norm is 2^k: k, roots and squares do; else 0 */
  int32_t first, num;
  elem rotation[9], center[3], size[3], inv_size[3];
  elem p[2], inv_p[2]; /* 2/e1 (along z), 2/e2 (around it) */
  elem floor_power[2]; /* SDF_FLOOR_VJP^p */
  elem outer, inner, slope, smallest;
} sdf_primitive;

typedef struct sdf_value {
  real phi;
  vec3 normal;
} sdf_value;

/* Weights below this are 0, and primitives that cannot weigh more are not looked at; its -ln. In single
 * precision 18 of them move a normal by 1e-7, as its rounding does. */
#if ABUT_REAL == 64
#define SDF_NEGLIGIBLE 2e-18
#define SDF_MARGIN 40.8
#else
#define SDF_NEGLIGIBLE 1e-8f
#define SDF_MARGIN 18.5f
#endif

KERNEL int doublings_of(double p) {
  for (int k = 1; k <= 5; k++)
    if (p == (double)(1 << k)) return k;
  return 0;
}
KERNEL void sdf_prepare(const sdf_source *from, int num, void *to) {
  sdf_primitive *q = (sdf_primitive *)to;
  for (int i = 0; i < num; i++, from++, q++) {
    q->kind = from->kind;
    q->first = from->first;
    q->num = from->num;
    for (int k = 0; k < 9; k++) q->rotation[k] = K(from->rotation[k]);
    for (int k = 0; k < 3; k++) {
      q->center[k] = K(from->center[k]);
      q->size[k] = K(from->size[k]);
      q->inv_size[k] = K(1 / from->size[k]);
    }
    for (int k = 0; k < 2; k++) {
      q->p[k] = K(2 / from->exponents[k]);
      q->inv_p[k] = K(from->exponents[k] / 2);
      q->floor_power[k] = K(from->floor_power[k]);
      q->doublings[k] = doublings_of(2 / from->exponents[k]);
    }
    q->outer = K(from->outer);
    q->inner = K(from->inner);
    q->slope = K(from->slope);
    double smallest = from->size[0] < from->size[1] ? from->size[0] : from->size[1];
    q->smallest = K(smallest < from->size[2] ? smallest : from->size[2]);
  }
}

FN vec3 elem_vec(const elem *p) { return vec(splat(p[0]), splat(p[1]), splat(p[2])); }
FN vec3 elem_mat_tvec(const elem *m, vec3 v) {
  return vec(v.x * m[0] + v.y * m[3] + v.z * m[6], v.x * m[1] + v.y * m[4] + v.z * m[7],
             v.x * m[2] + v.y * m[5] + v.z * m[8]);
}
FN vec3 elem_mat_vec(const elem *m, vec3 v) {
  return vec(v.x * m[0] + v.y * m[1] + v.z * m[2], v.x * m[3] + v.y * m[4] + v.z * m[5],
             v.x * m[6] + v.y * m[7] + v.z * m[8]);
}
FN real sign_of(real x) { return sel(lt(x, zero()), splat(-1), sel(gt(x, zero()), splat(1), zero())); }
/* a/|a| */
FN vec3 direction(vec3 a) { return scale(inverse_root(rmax(dot(a, a), splat(ELEM_TINY))), a); }
/* cotangent of a from that of n = a/|a| */
FN vec3 direction_vjp(vec3 a, vec3 n, vec3 g) {
  return scale(inverse_root(rmax(dot(a, a), splat(ELEM_TINY))), axpy(-dot(n, g), n, g));
}

/* Scaled lengths below the first are at a primitive's centre; ratios are at least the second, so that their
 * inverses do not overflow. */
#if ABUT_REAL == 64
#define SDF_CENTER 1e-100
#define SDF_FLOOR 1e-250
#else
#define SDF_CENTER 1e-15
#define SDF_FLOOR 1e-30
#endif

/* --------------------------------------------------------------------------------------- superquadric */

/* In the primitive's frame: phi = |x| (1 - 1/h), normal = grad h/|grad h|, h the gauge: 1 on the surface,
 * growing in proportion along rays. At the centre phi = -(smallest size), normal +z.
 *
 * h is the norm of A and z, A that of x and y, each of the form (s^p + t^p)^(1/p) = l (1 + r^p)^(1/p) with l
 * the larger and r the ratio of the two, so that nothing overflows whatever p. Numbers are carried from norm
 * to norm by their binary logarithms: powers are products there, and the longest chain of dependent
 * instructions is one logarithm and three exponentials shorter. A number below `floor` of its partner counts
 * as that. */
typedef struct superquadric {
  real large, small, z; /* of x and y over their sizes; z over its own: as they were used */
  real inv_large, inv_small, inv_z;
  real power1, power2; /* r^p of the inner norm, that of x and y, and of the outer one, that of A and z */
  real inv_h;
  mask x_larger, a_larger, center;
  vec3 sign;           /* of x, over size */
  vec3 slope, inverse; /* along the gradient of h; 1 over x as it was used */
  real length;         /* |x| */
} superquadric;

/* x^(2^doublings) and x^(1/2^doublings) */
FN real squared(real x, int doublings) {
  for (int k = 0; k < doublings; k++) x = x * x;
  return x;
}
FN real rooted(real x, int doublings) {
  for (int k = 0; k < doublings; k++) x = root(x);
  return x;
}

/* Everything but powers and what is made of them. */
FN superquadric superquadric_place(const sdf_primitive *q, vec3 x, elem floor) {
  superquadric g;
  vec3 scaled = vec(rabs(x.x) * q->inv_size[0], rabs(x.y) * q->inv_size[1], rabs(x.z) * q->inv_size[2]);
  g.x_larger = ge(scaled.x, scaled.y);
  g.large = rmax(rmax(rmax(scaled.x, scaled.y), scaled.z * floor), splat(K(SDF_CENTER * 1e-10)));
  real least = rmax(g.large * floor, splat(ELEM_TINY));
  g.small = rmax(rmin(scaled.x, scaled.y), least);
  g.z = rmax(scaled.z, least);
  g.inv_large = inverse(g.large);
  g.inv_small = inverse(g.small);
  g.inv_z = inverse(g.z);
  g.sign = vec(sign_of(x.x) * q->inv_size[0], sign_of(x.y) * q->inv_size[1], sign_of(x.z) * q->inv_size[2]);
  g.length = norm(x);
  g.center = lt(max_abs(scaled), splat(K(SDF_CENTER)));
  return g;
}
/* Where both exponents are powers of two: squares and roots. */
FN void gauge_by_roots(const sdf_primitive *q, superquadric *g) {
  g->power1 = squared(g->small * g->inv_large, q->doublings[1]);
  real a = g->large * rooted(splat(1) + g->power1, q->doublings[1]);
  g->a_larger = ge(a, g->z);
  g->power2 = squared(sel(g->a_larger, g->z * inverse(a), a * g->inv_z), q->doublings[0]);
  g->inv_h = inverse(rmax(a, g->z) * rooted(splat(1) + g->power2, q->doublings[0]));
}
FN void gauge_by_powers(const sdf_primitive *q, superquadric *g) {
  real over = logarithm2(g->large * g->inv_z);
  g->power1 = exponential2(logarithm2(g->small * g->inv_large) * q->p[1]);
  real grown = logarithm2_of_sum(g->power1) * q->inv_p[1];
  over = over + grown; /* of A/z */
  g->a_larger = ge(over, zero());
  g->power2 = exponential2(-rabs(over) * q->p[0]);
  grown = logarithm2_of_sum(g->power2) * q->inv_p[0] + sel(g->a_larger, grown, zero());
  g->inv_h = sel(g->a_larger, g->inv_large, g->inv_z) * exponential2(-grown);
}
FN void superquadric_slopes(superquadric *g) {
  /* the shares of x^p, y^p, z^p in h^p, over x, y, z, but for a common factor */
  real of_large = sel(g->a_larger, splat(1), g->power2) * inverse(splat(1) + g->power1);
  real of_small = of_large * g->power1 * (g->large * g->inv_small);
  real of_z = sel(g->a_larger, g->power2, splat(1)) * (g->large * g->inv_z);
  vec3 sign = g->sign;
  g->slope = vec(sel(g->x_larger, of_large, of_small) * sign.x, sel(g->x_larger, of_small, of_large) * sign.y,
                 of_z * sign.z);
  g->inverse = vec(sel(g->x_larger, g->inv_large, g->inv_small) * sign.x,
                   sel(g->x_larger, g->inv_small, g->inv_large) * sign.y, g->inv_z * sign.z);
}
FN sdf_value superquadric_value(const sdf_primitive *q, const superquadric *g) {
  sdf_value v;
  v.phi = sel(g->center, splat(-q->smallest), g->length - g->length * g->inv_h);
  v.normal = vec_sel(g->center, vec(zero(), zero(), splat(1)), direction(g->slope));
  return v;
}

/* What evaluations keep of a superquadric for the way back, which needs no power then: those of either norm,
 * the outer one's negative where z is larger than A, and 1/h. */
enum { SDF_KEPT = 3 };
FN sdf_value superquadric_at(const sdf_primitive *q, vec3 x, real *kept) {
  superquadric g = superquadric_place(q, x, K(SDF_FLOOR));
  if (q->doublings[0] && q->doublings[1])
    gauge_by_roots(q, &g);
  else
    gauge_by_powers(q, &g);
  superquadric_slopes(&g);
  OWN(kept, 0) = g.power1;
  OWN(kept, 1) = sel(g.a_larger, g.power2, -rmax(g.power2, splat(ELEM_TINY)));
  OWN(kept, 2) = g.inv_h;
  return superquadric_value(q, &g);
}
/* The same again. Curvature on the axes is infinite for exponents above 1: there it is that of SDF_FLOOR_VJP
 * beside them. */
FN superquadric superquadric_again(const sdf_primitive *q, vec3 x, const real *kept) {
  superquadric g = superquadric_place(q, x, K(SDF_FLOOR_VJP));
  g.power1 = rmax(OWN(kept, 0), splat(q->floor_power[1]));
  g.a_larger = ge(OWN(kept, 1), zero());
  g.power2 = rmax(rabs(OWN(kept, 1)), splat(q->floor_power[0]));
  g.inv_h = OWN(kept, 2);
  superquadric_slopes(&g);
  return g;
}
#define LN2 K(0.69314718055994530942)
/* d ln m/dp of a norm m = l (1 + r^p)^(1/p): r^p is `power`, log2 r `log`, log2 of the sum `sum`. */
FN real norm_by_exponent(real power, real log, real sum, elem inv_p) {
  return (power * inverse(splat(1) + power) * log - sum * inv_p) * (inv_p * LN2);
}
/* Cotangent of x, g as it was evaluated again; with `parameters`, those of size and exponents (e1, e2) are
 * added there.
 *
 * With the shares a + b = 1 of A and z in h^p1, c + d = 1 of x and y in A^p2,
 *   d ln h = a d ln A + b d ln z, da = p1 a b (d ln A - d ln z), d ln A = c d ln x + d d ln y, and so on,
 * and the normal is the direction of s = (a c/x, a d/y, b/z). g_s is at right angles to s, so with
 * w = g_s s (by component) w_z = -(w_x + w_y), and most of what logarithms get cancels. */
FN vec3 superquadric_vjp(const sdf_primitive *q, vec3 x, superquadric g, real gphi, vec3 gn,
                         real *parameters) {
  real inv1 = inverse(splat(1) + g.power1), inv2 = inverse(splat(1) + g.power2);
  real share_a = sel(g.a_larger, splat(1), g.power2) * inv2,
       share_z = sel(g.a_larger, g.power2, splat(1)) * inv2;
  real share_x = sel(g.x_larger, splat(1), g.power1) * inv1,
       share_y = sel(g.x_larger, g.power1, splat(1)) * inv1;
  vec3 gs = direction_vjp(g.slope, direction(g.slope), gn);
  real wx = gs.x * g.slope.x, wy = gs.y * g.slope.y, wz = gs.z * g.slope.z, w = wx + wy;
  real gh = gphi * g.length * g.inv_h, ga = share_a * gh; /* of ln h, and its share of ln A */
  real of_a = ga + (q->p[0] - q->p[1]) * w;
  /* of the logarithms of x, y and z, without what s has of them in its denominators */
  real gx = share_x * of_a + q->p[1] * wx, gy = share_y * of_a + q->p[1] * wy,
       gz = share_z * gh + q->p[0] * wz;
  vec3 out = vec((gx - wx) * g.inverse.x, (gy - wy) * g.inverse.y, (gz - wz) * g.inverse.z);
  out = axpy((gphi - gphi * g.inv_h) * inverse(rmax(g.length, splat(K(ELEM_TINY)))), x, out);
  if (parameters) {
    real log1 = logarithm2(g.small * g.inv_large), sum1 = logarithm2_of_sum(g.power1);
    real over = logarithm2(g.large * g.inv_z) + sum1 * q->inv_p[1], log2 = -rabs(over); /* of A/z */
    real by_p1 = gh * norm_by_exponent(g.power2, log2, logarithm2_of_sum(g.power2), q->inv_p[0]);
    real by_p2 = (ga + q->p[0] * w) * norm_by_exponent(g.power1, log1, sum1, q->inv_p[1]);
    real of_y = sel(g.x_larger, -log1, log1);
    real ge[2] = {by_p1 + w * over * LN2, by_p2 + (share_y * wx - share_x * wy) * of_y * LN2};
    real gsize[3] = {gx, gy, gz};
    for (int k = 0; k < 3; k++)
      parameters[k] = parameters[k] - sel(g.center, zero(), gsize[k] * q->inv_size[k]);
    for (int k = 0; k < 2; k++) /* p = 2/e */
      parameters[3 + k] = parameters[3 + k] - sel(g.center, zero(), ge[k] * (K(0.5) * q->p[k] * q->p[k]));
  }
  return vec_sel(g.center, vec_zero(), out);
}

/* ---------------------------------------------------------------------- convex polyhedron, point cloud */

typedef struct sdf_soft {
  real top, sum; /* softmax by a first pass: largest logit, sum of exponentials of the rest */
} sdf_soft;

/* n.x - d of a plane */
FN real plane_height(const elem *row, vec3 x) { return x.x * row[0] + x.y * row[1] + x.z * row[2] - row[3]; }

FN sdf_soft polyhedron_soft(const sdf_primitive *q, const elem *rows, vec3 x, elem inv_tau) {
  sdf_soft s = {splat(-ELEM_HUGE), zero()};
  for (int i = 0; i < q->num; i++) s.top = rmax(s.top, plane_height(rows + i * SDF_ROW, x));
  for (int i = 0; i < q->num; i++)
    s.sum = s.sum + exponential((plane_height(rows + i * SDF_ROW, x) - s.top) * inv_tau);
  return s;
}
/* Gradient of phi: the mean of the normals. */
FN vec3 polyhedron_gradient(const sdf_primitive *q, const elem *rows, vec3 x, elem inv_tau, sdf_soft s) {
  vec3 mean = vec_zero();
  for (int i = 0; i < q->num; i++) {
    const elem *row = rows + i * SDF_ROW;
    mean = axpy(exponential((plane_height(row, x) - s.top) * inv_tau), elem_vec(row), mean);
  }
  return scale(inverse(s.sum), mean);
}
FN real polyhedron_phi(sdf_soft s, elem tau) { return s.top + logarithm(s.sum) * tau; }
FN sdf_value polyhedron_at(const sdf_primitive *q, const elem *rows, vec3 x, elem tau, elem inv_tau) {
  sdf_soft s = polyhedron_soft(q, rows, x, inv_tau);
  sdf_value v = {polyhedron_phi(s, tau), direction(polyhedron_gradient(q, rows, x, inv_tau, s))};
  return v;
}
/* Cotangent of x from those of phi and the normal; with `bars` those of rows are added there. A height's is
 * w_i (gphi + (n_i - mean).g/tau), g the cotangent of the mean. */
FN vec3 polyhedron_vjp(const sdf_primitive *q, const elem *rows, vec3 x, elem inv_tau, real gphi, vec3 gn,
                       real *bars) {
  sdf_soft s = polyhedron_soft(q, rows, x, inv_tau);
  vec3 mean = polyhedron_gradient(q, rows, x, inv_tau, s), gx = vec_zero();
  vec3 g = direction_vjp(mean, direction(mean), gn);
  real inv = inverse(s.sum);
  for (int i = 0; i < q->num; i++) {
    const elem *row = rows + i * SDF_ROW;
    vec3 n = elem_vec(row);
    real w = exponential((plane_height(row, x) - s.top) * inv_tau) * inv;
    real gheight = w * (gphi + dot(sub(n, mean), g) * inv_tau);
    gx = axpy(gheight, n, gx);
    if (!bars) continue;
    real *bar = bars + i * SDF_ROW;
    put_vec(bar, add(get_vec(bar), axpy(gheight, x, scale(w, g))));
    bar[3] = bar[3] - gheight;
  }
  return gx;
}

/* A cloud's weights are w_i ~ exp(-|x - p_i|^2/(2 sigma_i^2)), heights h_i = n_i.(x - p_i), phi = E[h] under
 * w: with l_i = -(x - p_i)/sigma_i^2, the slope of a weight's logarithm, dE[f] = E[df] + Cov(f, l). */
typedef struct cloud_point {
  vec3 n, slope;
  real h, logit;
  elem inv_square;
} cloud_point;
/* One function, not two copies that round differently: weights compare logits of several passes, which may be
 * 1e15. */
OUTLINE cloud_point cloud_at(const elem *row, vec3 x) {
  cloud_point c;
  vec3 d = sub(x, elem_vec(row));
  c.n = elem_vec(row + 3);
  c.inv_square = row[6];
  c.slope = scale(splat(-row[6]), d);
  c.h = dot(c.n, d);
  c.logit = dot(d, d) * (K(-0.5) * row[6]);
  return c;
}
typedef struct cloud_mean {
  real top, inv, phi;
  vec3 gradient, slope; /* of phi; E[l] */
} cloud_mean;
FN real cloud_weight(const cloud_mean *m, cloud_point c) { return exponential(c.logit - m->top) * m->inv; }
/* gradient = E[n] + Cov(h, l) = E[n + (h - phi) l] */
FN cloud_mean cloud_mean_at(const sdf_primitive *q, const elem *rows, vec3 x) {
  cloud_mean m = {splat(-ELEM_HUGE), splat(1), zero(), vec_zero(), vec_zero()};
  real sum = zero(), phi = zero();
  for (int i = 0; i < q->num; i++) m.top = rmax(m.top, cloud_at(rows + i * SDF_ROW, x).logit);
  for (int i = 0; i < q->num; i++) {
    cloud_point c = cloud_at(rows + i * SDF_ROW, x);
    real w = cloud_weight(&m, c);
    sum = sum + w;
    phi = phi + w * c.h;
  }
  m.inv = inverse(sum);
  m.phi = phi * m.inv;
  for (int i = 0; i < q->num; i++) {
    cloud_point c = cloud_at(rows + i * SDF_ROW, x);
    real w = cloud_weight(&m, c);
    m.slope = axpy(w, c.slope, m.slope);
    m.gradient = axpy(w, axpy(c.h - m.phi, c.slope, c.n), m.gradient);
  }
  return m;
}
/* What makes a gradient's largest component 1, where it is larger: its square must not overflow. */
FN real cloud_shrink(vec3 gradient) { return inverse(rmax(max_abs(gradient), splat(1))); }
FN sdf_value cloud_value(const sdf_primitive *q, const elem *rows, vec3 x) {
  cloud_mean m = cloud_mean_at(q, rows, x);
  sdf_value v = {m.phi, direction(scale(cloud_shrink(m.gradient), m.gradient))};
  return v;
}
/* Cotangent of x; with `bars` those of rows are added there. With g the cotangent of the gradient what is
 * differentiated is gphi E[h] + E[n.g] + E[h l.g] - E[h] E[l.g]: a point's share goes to its height, normal,
 * slope l and logit. */
FN vec3 cloud_vjp(const sdf_primitive *q, const elem *rows, vec3 x, real gphi, vec3 gn, real *bars) {
  cloud_mean m = cloud_mean_at(q, rows, x);
  real shrink = cloud_shrink(m.gradient);
  vec3 small = scale(shrink, m.gradient), gx = vec_zero();
  vec3 g = scale(shrink, direction_vjp(small, direction(small), gn));
  real mean = dot(m.slope, g), all = dot(m.gradient, g);
  for (int i = 0; i < q->num; i++) {
    cloud_point c = cloud_at(rows + i * SDF_ROW, x);
    vec3 d = sub(x, elem_vec(rows + i * SDF_ROW));
    real w = cloud_weight(&m, c), along = dot(c.slope, g) - mean, over = c.h - m.phi;
    real gheight = w * (gphi + along), gslope = w * over;
    real glogit = w * (over * (gphi + along) + (dot(c.n, g) - all));
    /* l = -d/sigma^2, logit = -d.d/(2 sigma^2) */
    vec3 gd = axpy(glogit, c.slope, axpy(-(gslope * c.inv_square), g, scale(gheight, c.n)));
    gx = add(gx, gd);
    if (!bars) continue;
    real *bar = bars + i * SDF_ROW;
    put_vec(bar, sub(get_vec(bar), gd));
    put_vec(bar + 3, add(get_vec(bar + 3), axpy(gheight, d, scale(w, g))));
    bar[6] = bar[6] - (gslope * dot(d, g) + K(0.5) * glogit * dot(d, d));
  }
  return gx;
}

/* ------------------------------------------------------------------------------- union and subtraction */

/* Of all kinds but superquadrics. */
FN sdf_value rows_at(const sdf_view *s, const sdf_primitive *q, vec3 x) {
  const elem *rows = (const elem *)s->rows + (int64_t)q->first * SDF_ROW;
  return q->kind == SDF_POLYHEDRON ? polyhedron_at(q, rows, x, K(s->tau), K(1 / s->tau))
                                   : cloud_value(q, rows, x);
}
FN sdf_value primitive_at(const sdf_view *s, const sdf_primitive *q, vec3 x, real *kept) {
  if (q->kind != SDF_SUPERQUADRIC) return rows_at(s, q, x);
  sdf_value v = superquadric_at(q, elem_mat_tvec(q->rotation, sub(x, elem_vec(q->center))), kept);
  v.normal = elem_mat_vec(q->rotation, v.normal);
  return v;
}
/* No more than phi outside: the distance from the box around a superquadric; far below it inside. */
FN real superquadric_below(const sdf_primitive *q, vec3 x) {
  vec3 d = elem_mat_tvec(q->rotation, sub(x, elem_vec(q->center)));
  vec3 over =
      vec_max(vec(rabs(d.x) - q->size[0], rabs(d.y) - q->size[1], rabs(d.z) - q->size[2]), vec_zero());
  real square = dot(over, over);
  return sel(gt(square, zero()), square * inverse_root(square + ELEM_TINY), splat(-ELEM_HUGE));
}

/* What a reverse pass needs: of a union phi, the mean of normals, and which primitives weigh more than
 * nothing; of superquadrics what they kept. */
enum { SDF_TRACE = 4, SDF_UNIONS = 2 * SDF_TRACE };
#define SDF_TRACE_NUMBERS(primitives) (SDF_UNIONS + SDF_KEPT * (primitives))
typedef struct sdf_trace {
  real
      *values; /* OWN [2][SDF_TRACE]: of what is united, of what is subtracted; then [primitives][SDF_KEPT] */
  int32_t *list; /* OWN [2 + primitives]: how many, then which, of either */
} sdf_trace;
/* Room for one evaluation: phi, normal and a bound of phi for every primitive; whether it was looked at. */
enum { SDF_SCRATCH = 5 };
typedef struct sdf_scratch {
  real *rows;    /* OWN [primitives][SDF_SCRATCH] */
  int32_t *seen; /* OWN [primitives] */
} sdf_scratch;

typedef struct sdf_union {
  real phi;
  vec3 mean; /* of the normals */
} sdf_union;

/* Evaluates a primitive where its distance may be below `most`: row = phi, ELEM_HUGE where not, and normal.
 * Its bound from below is in number 4 of the row. 0: nowhere. */
FN int look_at(const sdf_view *s, const sdf_primitive *q, vec3 x, real most, real *row, real *kept) {
  mask matters = lt(OWN(row, 4), most);
  if (!any(matters)) return 0;
  if (q->kind == SDF_SUPERQUADRIC) {
    matters = mask_and(matters, lt(superquadric_below(q, x), most));
    if (!any(matters)) return 0;
  }
  sdf_value v = primitive_at(s, q, x, kept);
  OWN(row, 0) = sel(matters, v.phi, splat(ELEM_HUGE));
  OWN(row, 1) = v.normal.x;
  OWN(row, 2) = v.normal.y;
  OWN(row, 3) = v.normal.z;
  return 1;
}

/* phi = -tau ln sum exp(-phi_l/tau) over primitives first .. first+num-1, the mean of their normals by the
 * same weights. list: [0] how many weigh something in some lane, then which. What seems nearest to the first
 * lane is looked at first, as its distance rules out the most; weights that are negligible are 0, so that no
 * lane's bits depend on that choice. */
OUTLINE sdf_union sdf_unite(const sdf_view *s, int first, int num, vec3 x, sdf_scratch w, int32_t *list,
                            real *values) {
  real *kept = &OWN(values, SDF_UNIONS + SDF_KEPT * first);
  const sdf_primitive *all = (const sdf_primitive *)s->primitives + first;
  elem tau = K(s->tau), inv_tau = K(1 / s->tau), margin = tau * SDF_MARGIN;
  elem least = ELEM_HUGE;
  sdf_union u = {zero(), vec_zero()};
  real upper = splat(ELEM_HUGE), lowest = splat(ELEM_HUGE), sum = zero();
  int nearest = 0;
  if (num == 1) {
    sdf_value v = primitive_at(s, all, x, kept);
    OWN(list, 0) = 1;
    OWN(list, 1) = first;
    u.phi = v.phi;
    u.mean = v.normal;
    return u;
  }
  for (int i = 0; i < num; i++) {
    vec3 d = sub(x, elem_vec(all[i].center));
    real square = dot(d, d) + ELEM_TINY, away = square * inverse_root(square), over = away - all[i].outer;
    real below = sel(lt(over, zero()), over, over * all[i].slope);
    OWN(w.rows, SDF_SCRATCH * i + 4) = below;
    upper = rmin(upper, away - all[i].inner);
    elem lane = *(const elem *)&below;
    if (lane < least) {
      least = lane;
      nearest = i;
    }
  }
  for (int turn = -1; turn < num; turn++) {
    int i = turn < 0 ? nearest : turn;
    real *row = &OWN(w.rows, SDF_SCRATCH * i);
    if (turn == nearest) continue;
    int seen = look_at(s, &all[i], x, upper + margin, row, &OWN(kept, SDF_KEPT * i));
    OWN(w.seen, i) = seen;
    if (seen) lowest = rmin(lowest, OWN(row, 0));
    upper = rmin(upper, lowest);
  }
  int members = 0;
  for (int i = 0; i < num; i++) {
    if (!OWN(w.seen, i)) continue;
    const real *row = &OWN(w.rows, SDF_SCRATCH * i);
    real weight = exponential((lowest - OWN(row, 0)) * inv_tau);
    mask counts = gt(weight, splat(SDF_NEGLIGIBLE));
    if (!any(counts)) continue;
    weight = sel(counts, weight, zero());
    sum = sum + weight;
    u.mean = axpy(weight, vec(OWN(row, 1), OWN(row, 2), OWN(row, 3)), u.mean);
    OWN(list, ++members) = first + i;
  }
  OWN(list, 0) = members;
  u.mean = scale(inverse(sum), u.mean);
  u.phi = lowest - logarithm(sum) * tau;
  return u;
}

/* exp((phi of the union - a primitive's)/tau), as a union has it: 0 where it is negligible. */
FN real weight_of(real phi, real own, elem inv_tau) {
  real w = exponential((phi - own) * inv_tau);
  return sel(gt(w, splat(SDF_NEGLIGIBLE)), w, zero());
}

/* One primitive of a union, whose weight is w = exp((phi of the union - its phi)/tau): the cotangent of x
 * from those of the union's phi and mean of normals, gmean at right angles to that mean; dw_l = w_l (sum w_m
 * dphi_m - dphi_l)/tau. */
FN vec3 member_vjp(const sdf_view *s, int index, vec3 x, const real *values, real phi, real gphi, vec3 gmean,
                   real *parameters) {
  const sdf_primitive *q = (const sdf_primitive *)s->primitives + index;
  elem inv_tau = K(1 / s->tau);
  vec3 d = sub(x, elem_vec(q->center)), normal, gn, gx;
  real *own = parameters ? parameters + (int64_t)SDF_PARAMETERS * index : 0;
  if (q->kind == SDF_SUPERQUADRIC) {
    vec3 local = elem_mat_tvec(q->rotation, d), glocal = elem_mat_tvec(q->rotation, gmean);
    superquadric gauge = superquadric_again(q, local, &OWN(values, SDF_UNIONS + SDF_KEPT * index));
    sdf_value v = superquadric_value(q, &gauge);
    real w = weight_of(phi, v.phi, inv_tau), g = w * (gphi - dot(v.normal, glocal) * inv_tau);
    gx = elem_mat_vec(q->rotation, superquadric_vjp(q, local, gauge, g, scale(w, glocal), own ? own + 6 : 0));
    gn = scale(w, gmean);
    normal = elem_mat_vec(q->rotation, v.normal);
  } else {
    const elem *rows = (const elem *)s->rows + (int64_t)q->first * SDF_ROW;
    real *bars = parameters ? parameters + (int64_t)SDF_PARAMETERS * s->num + (int64_t)SDF_ROW * q->first : 0;
    sdf_value v = rows_at(s, q, x);
    real w = weight_of(phi, v.phi, inv_tau), g = w * (gphi - dot(v.normal, gmean) * inv_tau);
    gn = scale(w, gmean);
    gx = q->kind == SDF_POLYHEDRON ? polyhedron_vjp(q, rows, x, inv_tau, g, gn, bars)
                                   : cloud_vjp(q, rows, x, g, gn, bars);
    normal = v.normal;
  }
  if (own) { /* turning the primitive turns its normal, and the point the other way */
    put_vec(own, sub(get_vec(own), gx));
    put_vec(own + 3, add(get_vec(own + 3), sub(cross(normal, gn), cross(d, gx))));
  }
  return gx;
}
/* parameters: [all primitives][SDF_PARAMETERS], then [all rows][SDF_ROW]; or NULL. */
OUTLINE vec3 sdf_unite_vjp(const sdf_view *s, vec3 x, real phi, const int32_t *list, const real *values,
                           real gphi, vec3 gmean, real *parameters) {
  vec3 gx = vec_zero();
  for (int k = 1; k <= OWN(list, 0); k++)
    gx = add(gx, member_vjp(s, OWN(list, k), x, values, phi, gphi, gmean, parameters));
  return gx;
}

FN void keep_union(sdf_trace trace, int which, sdf_union u) {
  real *to = &OWN(trace.values, SDF_TRACE * which);
  OWN(to, 0) = u.phi;
  OWN(to, 1) = u.mean.x;
  OWN(to, 2) = u.mean.y;
  OWN(to, 3) = u.mean.z;
}
FN sdf_union kept_union(sdf_trace trace, int which) {
  const real *from = &OWN(trace.values, SDF_TRACE * which);
  sdf_union u = {OWN(from, 0), vec(OWN(from, 1), OWN(from, 2), OWN(from, 3))};
  return u;
}

/* The union without what is subtracted: phi = tau ln(exp(a/tau) + exp(-b/tau)), a and b of either union;
 * normals likewise. */
FN sdf_value sdf_at(const sdf_view *s, vec3 x, sdf_scratch w, sdf_trace trace) {
  sdf_union a = sdf_unite(s, 0, s->plus, x, w, trace.list, trace.values);
  sdf_value v = {a.phi, vec_zero()};
  keep_union(trace, 0, a);
  if (s->num == s->plus) {
    v.normal = direction(a.mean);
    return v;
  }
  sdf_union b = sdf_unite(s, s->plus, s->num - s->plus, x, w, &OWN(trace.list, s->plus + 1), trace.values);
  keep_union(trace, 1, b);
  real over = (a.phi + b.phi) * K(1 / s->tau), weight = logistic(over);
  v.phi = rmax(a.phi, -b.phi) + logarithm(splat(1) + exponential(-rabs(over))) * K(s->tau);
  v.normal = direction(axpy(weight, direction(a.mean), scale(weight - K(1), direction(b.mean))));
  return v;
}
/* trace: as sdf_at left it. */
FN vec3 sdf_vjp(const sdf_view *s, vec3 x, real gphi, vec3 gn, sdf_trace trace, real *parameters) {
  sdf_union a = kept_union(trace, 0);
  vec3 na = direction(a.mean);
  if (s->num == s->plus)
    return sdf_unite_vjp(s, x, a.phi, trace.list, trace.values, gphi, direction_vjp(a.mean, na, gn),
                         parameters);
  sdf_union b = kept_union(trace, 1);
  elem inv_tau = K(1 / s->tau);
  real weight = logistic((a.phi + b.phi) * inv_tau), rest = splat(1) - weight;
  vec3 nb = direction(b.mean), mean = axpy(weight, na, scale(-rest, nb));
  vec3 g = direction_vjp(mean, direction(mean), gn);
  real gweight = dot(g, add(na, nb)) * weight * rest * inv_tau;
  vec3 gx = sdf_unite_vjp(s, x, a.phi, trace.list, trace.values, gphi * weight + gweight,
                          direction_vjp(a.mean, na, scale(weight, g)), parameters);
  return add(gx,
             sdf_unite_vjp(s, x, b.phi, &OWN(trace.list, s->plus + 1), trace.values, gweight - gphi * rest,
                           direction_vjp(b.mean, nb, scale(-rest, g)), parameters));
}

KERNEL void query_distance(distance_block *q) {
  sdf_scratch w = {(real *)q->scratch, q->kept};
  sdf_trace trace = {w.rows + (int64_t)SDF_SCRATCH * q->surface->num, q->kept + q->surface->num};
  vec3 x = get_vec((const real *)q->x);
  sdf_value v = sdf_at(q->surface, x, w, trace);
  AT((real *)q->phi, 0) = v.phi;
  put_vec((real *)q->normal, v.normal);
  if (q->gradient) put_vec((real *)q->gradient, sdf_vjp(q->surface, x, splat(1), vec_zero(), trace, 0));
}
