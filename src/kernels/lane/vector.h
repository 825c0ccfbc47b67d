/* vector.h: small vectors, rotations and the few special functions, lane by lane.
 * Value structs in and out. Names show the operands: mat_vec is M v, mat_tvec is M^T v. */
#ifndef ABUT_VECTOR_H
#define ABUT_VECTOR_H
#include "kernels/lane/lane.h"

typedef struct vec3 {
  real x, y, z;
} vec3;
typedef struct quat {
  real w, x, y, z;
} quat;
typedef struct mat3 {
  vec3 r0, r1, r2;
} mat3; /* rows */
WALKED(vec3, 3);
WALKED(mat3, 9);

FN vec3 vec(real x, real y, real z) {
  vec3 v = {x, y, z};
  return v;
}
FN vec3 vec_zero(void) { return vec(zero(), zero(), zero()); }
FN vec3 vec_splat(const double *p) { return vec(splat(K(p[0])), splat(K(p[1])), splat(K(p[2]))); }
FN vec3 add(vec3 a, vec3 b) { return vec(a.x + b.x, a.y + b.y, a.z + b.z); }
FN vec3 sub(vec3 a, vec3 b) { return vec(a.x - b.x, a.y - b.y, a.z - b.z); }
FN vec3 scale(real s, vec3 a) { return vec(s * a.x, s * a.y, s * a.z); }
/* a + s b */
FN vec3 axpy(real s, vec3 b, vec3 a) { return vec(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z); }
FN real dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
FN vec3 cross(vec3 a, vec3 b) {
  return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
FN real norm(vec3 a) { return root(dot(a, a)); }
FN vec3 vec_sel(mask m, vec3 a, vec3 b) { return vec(sel(m, a.x, b.x), sel(m, a.y, b.y), sel(m, a.z, b.z)); }
FN vec3 vec_min(vec3 a, vec3 b) { return vec(rmin(a.x, b.x), rmin(a.y, b.y), rmin(a.z, b.z)); }
FN vec3 vec_max(vec3 a, vec3 b) { return vec(rmax(a.x, b.x), rmax(a.y, b.y), rmax(a.z, b.z)); }
FN real max_abs(vec3 a) { return rmax(rabs(a.x), rmax(rabs(a.y), rabs(a.z))); }

FN vec3 get_vec(const real *p) { return vec(AT(p, 0), AT(p, 1), AT(p, 2)); }
FN void put_vec(real *p, vec3 a) {
  AT(p, 0) = a.x;
  AT(p, 1) = a.y;
  AT(p, 2) = a.z;
}
FN void put_vec_sel(real *p, mask m, vec3 a) { put_vec(p, vec_sel(m, a, get_vec(p))); }
FN void add_vec(real *p, vec3 a) { put_vec(p, add(get_vec(p), a)); }

FN mat3 mat(vec3 r0, vec3 r1, vec3 r2) {
  mat3 m = {r0, r1, r2};
  return m;
}
FN mat3 mat_zero(void) { return mat(vec_zero(), vec_zero(), vec_zero()); }
FN mat3 mat_identity(void) {
  return mat(vec(splat(1), zero(), zero()), vec(zero(), splat(1), zero()), vec(zero(), zero(), splat(1)));
}
FN vec3 mat_vec(mat3 m, vec3 v) { return vec(dot(m.r0, v), dot(m.r1, v), dot(m.r2, v)); }
FN vec3 mat_tvec(mat3 m, vec3 v) { return axpy(v.z, m.r2, axpy(v.y, m.r1, scale(v.x, m.r0))); }
FN mat3 mat_t(mat3 m) {
  return mat(vec(m.r0.x, m.r1.x, m.r2.x), vec(m.r0.y, m.r1.y, m.r2.y), vec(m.r0.z, m.r1.z, m.r2.z));
}
/* A B */
FN mat3 mat_mat(mat3 a, mat3 b) { return mat(mat_tvec(b, a.r0), mat_tvec(b, a.r1), mat_tvec(b, a.r2)); }
/* A B^T */
FN mat3 mat_matt(mat3 a, mat3 b) { return mat(mat_vec(b, a.r0), mat_vec(b, a.r1), mat_vec(b, a.r2)); }
FN mat3 mat_add(mat3 a, mat3 b) { return mat(add(a.r0, b.r0), add(a.r1, b.r1), add(a.r2, b.r2)); }
FN mat3 mat_sub(mat3 a, mat3 b) { return mat(sub(a.r0, b.r0), sub(a.r1, b.r1), sub(a.r2, b.r2)); }
FN mat3 mat_scale(real s, mat3 a) { return mat(scale(s, a.r0), scale(s, a.r1), scale(s, a.r2)); }
/* a b^T */
FN mat3 outer(vec3 a, vec3 b) { return mat(scale(a.x, b), scale(a.y, b), scale(a.z, b)); }
/* [a]x, so that hat(a) b = a x b */
FN mat3 hat(vec3 a) { return mat(vec(zero(), -a.z, a.y), vec(a.z, zero(), -a.x), vec(-a.y, a.x, zero())); }
FN real trace(mat3 a) { return a.r0.x + a.r1.y + a.r2.z; }
/* sum_i (column i of X^T) ... : axial of sum f x^T is sum x cross f */
FN vec3 axial(mat3 p) { return vec(p.r2.y - p.r1.z, p.r0.z - p.r2.x, p.r1.x - p.r0.y); }
FN mat3 mat_sel(mask m, mat3 a, mat3 b) {
  return mat(vec_sel(m, a.r0, b.r0), vec_sel(m, a.r1, b.r1), vec_sel(m, a.r2, b.r2));
}

/* [a]x M, without multiplying by the zeros of [a]x */
FN mat3 hat_mat(vec3 a, mat3 m) {
  return mat(sub(scale(a.y, m.r2), scale(a.z, m.r1)), sub(scale(a.z, m.r0), scale(a.x, m.r2)),
             sub(scale(a.x, m.r1), scale(a.y, m.r0)));
}

/* Symmetric 3x3, lower triangle row by row. */
typedef struct sym3 {
  real xx, xy, yy, xz, yz, zz;
} sym3;
WALKED(sym3, 6);
FN sym3 sym(real xx, real xy, real yy, real xz, real yz, real zz) {
  sym3 s = {xx, xy, yy, xz, yz, zz};
  return s;
}
FN sym3 sym_zero(void) { return sym(zero(), zero(), zero(), zero(), zero(), zero()); }
FN sym3 sym_add(sym3 a, sym3 b) {
  return sym(a.xx + b.xx, a.xy + b.xy, a.yy + b.yy, a.xz + b.xz, a.yz + b.yz, a.zz + b.zz);
}
FN vec3 sym_vec(sym3 a, vec3 v) {
  return vec(a.xx * v.x + a.xy * v.y + a.xz * v.z, a.xy * v.x + a.yy * v.y + a.yz * v.z,
             a.xz * v.x + a.yz * v.y + a.zz * v.z);
}
/* s + a b^T where the sum of such terms is symmetric: its lower triangle */
FN sym3 sym_outer(sym3 s, vec3 a, vec3 b) {
  return sym(s.xx + a.x * b.x, s.xy + a.y * b.x, s.yy + a.y * b.y, s.xz + a.z * b.x, s.yz + a.z * b.y,
             s.zz + a.z * b.z);
}
FN mat3 sym_mat(sym3 a) { return mat(vec(a.xx, a.xy, a.xz), vec(a.xy, a.yy, a.yz), vec(a.xz, a.yz, a.zz)); }
FN sym3 get_sym(const real *p) { return sym(AT(p, 0), AT(p, 1), AT(p, 2), AT(p, 3), AT(p, 4), AT(p, 5)); }
FN void put_sym(real *p, sym3 m) {
  AT(p, 0) = m.xx;
  AT(p, 1) = m.xy;
  AT(p, 2) = m.yy;
  AT(p, 3) = m.xz;
  AT(p, 4) = m.yz;
  AT(p, 5) = m.zz;
}

FN mat3 get_mat(const real *p) { return mat(get_vec(&AT(p, 0)), get_vec(&AT(p, 3)), get_vec(&AT(p, 6))); }
FN void put_mat(real *p, mat3 m) {
  put_vec(&AT(p, 0), m.r0);
  put_vec(&AT(p, 3), m.r1);
  put_vec(&AT(p, 6), m.r2);
}
FN void add_mat(real *p, mat3 m) { put_mat(p, mat_add(get_mat(p), m)); }

FN quat quat_make(real w, vec3 v) {
  quat q = {w, v.x, v.y, v.z};
  return q;
}
FN quat quat_splat(const double *p) { return quat_make(splat(K(p[0])), vec_splat(p + 1)); }
FN vec3 quat_vec(quat q) { return vec(q.x, q.y, q.z); }
FN quat quat_mul(quat a, quat b) {
  vec3 v = add(axpy(a.w, quat_vec(b), scale(b.w, quat_vec(a))), cross(quat_vec(a), quat_vec(b)));
  return quat_make(a.w * b.w - dot(quat_vec(a), quat_vec(b)), v);
}
FN quat quat_conj(quat q) { return quat_make(q.w, scale(splat(-1), quat_vec(q))); }
/* What is unit to rounding stays as it is, so that normalising twice changes no bit. */
FN quat quat_normalize(quat q) {
  real square = q.w * q.w + dot(quat_vec(q), quat_vec(q));
  mask unit = le(rabs(square - K(1)), splat(K(8) * K(ELEM_EPS)));
  real s = sel(unit, splat(1), splat(1) / root(square));
  return quat_make(s * q.w, scale(s, quat_vec(q)));
}
FN quat get_quat(const real *p) { return quat_make(AT(p, 0), get_vec(&AT(p, 1))); }
FN void put_quat(real *p, quat q) {
  AT(p, 0) = q.w;
  put_vec(&AT(p, 1), quat_vec(q));
}
/* rotate v by unit q: v + 2 w (u x v) + 2 u x (u x v) */
FN vec3 quat_rotate(quat q, vec3 v) {
  vec3 u = quat_vec(q), t = scale(splat(2), cross(u, v));
  return add(axpy(q.w, t, v), cross(u, t));
}
FN mat3 quat_mat(quat q) {
  real x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
  real xx = q.x * x2, yy = q.y * y2, zz = q.z * z2, xy = q.x * y2, xz = q.x * z2, yz = q.y * z2;
  real wx = q.w * x2, wy = q.w * y2, wz = q.w * z2, one = splat(1);
  return mat(vec(one - yy - zz, xy - wz, xz + wy), vec(xy + wz, one - xx - zz, yz - wx),
             vec(xz - wy, yz + wx, one - xx - yy));
}

/* nearest integer, |x| < 2^22 (f32) or 2^51 (f64) */
FN real nearest(real x) {
#if ABUT_REAL == 64
  real magic = splat(6755399441055744.0);
#else
  real magic = splat(12582912.0f);
#endif
  real shifted = x + magic;
  return shifted - magic;
}

/* sin and cos, |x| < 1e5: reduction by parts of pi/2 so short that their products are exact, then polynomials
 * on
 * [-pi/4, pi/4]. Error below 2 ulp of 1 (tests/lanes.c). */
FN void sincos_lane(real x, real *s, real *c) {
  real n = nearest(x * K(0.63661977236758134308));
#if ABUT_REAL == 64
  real r =
      ((x - n * 1.57079625129699707031) - n * 7.54978941586159635336e-8) - n * 5.39030285815811905290e-15;
  real z = r * r;
  real ps =
      ((((z * 1.58962301576546568060e-10 - 2.50507477628578072866e-8) * z + 2.75573136213857245213e-6) * z -
        1.98412698295895385996e-4) *
           z +
       8.33333333332211858878e-3) *
          z -
      1.66666666666666307295e-1;
  real pc =
      ((((z * -1.13585365213876817300e-11 + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7) * z +
        2.48015872888517045348e-5) *
           z -
       1.38888888888730564116e-3) *
          z +
      4.16666666666665929218e-2;
#else
  real r = (((x - n * 1.5703125f) - n * 4.825592041015625e-4f) - n * 1.266598701477050781e-6f) -
           n * 9.9209360e-10f;
  real z = r * r;
  real ps = (z * -1.9515295891e-4f + 8.3321608736e-3f) * z - 1.6666654611e-1f;
  real pc = (z * 2.443315711809948e-5f - 1.388731625493765e-3f) * z + 4.166664568298827e-2f;
#endif
  real sr = r + r * z * ps, cr = splat(1) - z * K(0.5) + z * z * pc;
  real q = n - K(4) * nearest(n * K(0.25)); /* -2, -1, 0, 1 or 2 */
  mask odd = lt(K(0.5) + zero(), rabs(q)), two = lt(K(1.5) + zero(), rabs(q));
  odd = mask_and(odd, mask_not(two));
  real sq = sel(odd, cr, sr), cq = sel(odd, sr, cr);
  mask flip_s = mask_or(two, lt(q, splat(K(-0.5)))), flip_c = mask_or(two, mask_and(odd, gt(q, zero())));
  *s = sel(flip_s, -sq, sq);
  *c = sel(flip_c, -cq, cq);
}

/* atan2(y, x) for y >= 0, x >= 0, not both zero. Error below 2 ulp (f32: 4; tests/lanes.c). */
FN real atan2_quadrant(real y, real x) {
  mask swap = gt(y, x);
  real t = sel(swap, x, y) / sel(swap, y, x); /* in [0, 1] */
#if ABUT_REAL == 64
  mask high = gt(t, splat(0.66));
  real u = sel(high, (t - K(1)) / (t + K(1)), t), z = u * u;
  real p =
      (((z * -8.750608600031904122785e-1 - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z -
       1.228866684490136173410e2) *
          z -
      6.485021904942025371773e1;
  real q =
      ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z + 4.328810604912902668951e2) *
           z +
       4.853903996359136964868e2) *
          z +
      1.945506571482613964425e2;
  real a = u + u * z * p / q;
  a = sel(high, a + (0.78539816339744830962 + 3.061616997868383e-17), a);
#else
  mask high = gt(t, splat(0.4142135623730950f));
  real u = sel(high, (t - K(1)) / (t + K(1)), t), z = u * u;
  real a =
      u +
      u * z * (((z * 8.05374449538e-2f - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f);
  a = sel(high, a + 0.78539816339744830962f, a);
#endif
  return sel(swap, K(1.57079632679489661923) - a, a);
}

/* Rotation vector to unit quaternion: (cos |d|/2, sin(|d|/2) d/|d|); even in |d|, smooth at 0. */
FN quat quat_exp(vec3 d) {
  real t2 = dot(d, d), t = root(t2), s, c;
  sincos_lane(K(0.5) * t, &s, &c);
  mask small = lt(t2, splat(K(1e-8)));
  real k = sel(small, K(0.5) - t2 * K(1.0 / 48), s / sel(small, splat(1), t));
  return quat_make(c, scale(k, d));
}

/* Unit quaternion to the rotation vector of length at most pi. */
FN vec3 quat_log(quat q) {
  real sign = sel(lt(q.w, zero()), splat(-1), splat(1));
  real w = sign * q.w, s2 = dot(quat_vec(q), quat_vec(q)), s = root(s2);
  mask small = lt(s2, splat(K(1e-10)));
  real k = sel(small, (K(2) + s2 * K(1.0 / 3)), K(2) * atan2_quadrant(s, w) / sel(small, splat(1), s));
  return scale(sign * k, quat_vec(q));
}

/* Two unit vectors that complete unit n to a right-handed frame (e1, e2, n); defined for every n. */
FN void frame_from_normal(vec3 n, vec3 *e1, vec3 *e2) {
  real sign = sel(lt(n.z, zero()), splat(-1), splat(1));
  real a = -inverse(sign + n.z), b = n.x * n.y * a;
  *e1 = vec(splat(1) + sign * n.x * n.x * a, sign * b, -sign * n.x);
  *e2 = vec(b, sign + n.y * n.y * a, -n.y);
}

#endif
