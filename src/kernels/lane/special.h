/* special.h: exponential and logarithm, lane by lane, and the soft steps made of them. Polynomials after a
 * reduction by the exponent's bits; errors below 4 eps (tests/lanes.c). Single precision has the shortest
 * chains of dependent instructions (Estrin's scheme): distances of superquadrics wait for them. */
#ifndef ABUT_SPECIAL_H
#define ABUT_SPECIAL_H
#include "kernels/lane/lane.h"

#if ABUT_REAL == 64
#define FRACTION_BITS 52
#define INTEGER_MAGIC K(6755399441055744.0) /* 1.5 2^52: adding it leaves an integer in the lowest bits */
#define EXPONENTIAL_LOW K(-700)
#define EXPONENTIAL_HIGH K(700)
typedef uint64_t elem_bits;
typedef int64_t elem_integer;
#else
#define FRACTION_BITS 23
#define INTEGER_MAGIC K(12582912.0)
#define EXPONENTIAL_LOW K(-40)
#define EXPONENTIAL_HIGH K(80)
typedef uint32_t elem_bits;
typedef int32_t elem_integer;
#endif
#if ABUT_LANES == 1
typedef elem_bits real_bits;
typedef elem_integer real_integer;
#else
typedef elem_bits real_bits __attribute__((vector_size(sizeof(elem) * ABUT_LANES), may_alias));
typedef elem_integer real_integer __attribute__((vector_size(sizeof(elem) * ABUT_LANES), may_alias));
#endif

FN real_bits bits_of(real x) {
  union {
    real x;
    real_bits bits;
  } u;
  u.x = x;
  return u.bits;
}
FN real from_bits(real_bits bits) {
  union {
    real x;
    real_bits bits;
  } u;
  u.bits = bits;
  return u.x;
}

/* e^x; 0 below EXPONENTIAL_LOW, so that products of small ones do not become denormal numbers, which are
 * slow; e^EXPONENTIAL_HIGH above that. */
FN real exponential(real x) {
  mask low = lt(x, splat(EXPONENTIAL_LOW));
  x = rmin(rmax(x, splat(EXPONENTIAL_LOW)), splat(EXPONENTIAL_HIGH));
  real shifted = x * K(1.4426950408889634074) + INTEGER_MAGIC, n = shifted - INTEGER_MAGIC;
#if ABUT_REAL == 64
  real r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  real p = splat(K(1.0 / 479001600));
  p = p * r + K(1.0 / 39916800);
  p = p * r + K(1.0 / 3628800);
  p = p * r + K(1.0 / 362880);
  p = p * r + K(1.0 / 40320);
  p = p * r + K(1.0 / 5040);
  p = p * r + K(1.0 / 720);
#else
  real r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  real p = splat(K(1.0 / 720));
#endif
  p = p * r + K(1.0 / 120);
  p = p * r + K(1.0 / 24);
  p = p * r + K(1.0 / 6);
  p = p * r + K(0.5);
  p = p * r * r + r + K(1);
  return sel(low, zero(), from_bits(bits_of(p) + (bits_of(shifted) << FRACTION_BITS)));
}

/* c[0] + c[1] x + .. + c[8] x^8 */
FN real polynomial8(const elem *c, real x) {
  real x2 = x * x, x4 = x2 * x2;
  real low = (x * c[1] + c[0]) + x2 * (x * c[3] + c[2]);
  real high = (x * c[5] + c[4]) + x2 * (x * c[7] + c[6]);
  return low + x4 * (high + x4 * c[8]);
}

/* A normal x > 0 is 2^n m with m in [sqrt(1/2), sqrt 2): ln m, and n. In double ln m = 2 artanh s,
 * s = (m - 1)/(m + 1); in single, with t = m - 1, t + t^2 times a polynomial that is closest to
 * (ln(1 + t)/t - 1)/t. */
FN real logarithm_parts(real x, real *n) {
  real_bits bits = bits_of(x);
  real_bits n_bits =
      (real_bits)((real_integer)(bits - bits_of(splat(K(0.70710678118654752440)))) >> FRACTION_BITS);
  real m = from_bits(bits - (n_bits << FRACTION_BITS));
  *n = from_bits(n_bits + bits_of(splat(INTEGER_MAGIC))) - INTEGER_MAGIC;
#if ABUT_REAL == 64
  real s = (m - K(1)) * inverse(m + K(1)), z = s * s;
  real p = splat(K(2.0 / 21));
  p = p * z + K(2.0 / 19);
  p = p * z + K(2.0 / 17);
  p = p * z + K(2.0 / 15);
  p = p * z + K(2.0 / 13);
  p = p * z + K(2.0 / 11);
  p = p * z + K(2.0 / 9);
  p = p * z + K(2.0 / 7);
  p = p * z + K(2.0 / 5);
  p = p * z + K(2.0 / 3);
  return s * z * p + K(2) * s;
#else
  static const elem c[9] = {-0.499999976498f, 0.333333300284f,  -0.250007812398f,
                            0.200012344611f,  -0.166266456291f, 0.142048559526f,
                            -0.131275556513f, 0.12722672788f,   -0.0767364150167f};
  real t = m - K(1);
  return t * t * polynomial8(c, t) + t;
#endif
}
/* ln x */
FN real logarithm(real x) {
  real n, fraction = logarithm_parts(x, &n);
#if ABUT_REAL == 64
  return n * 6.93147180369123816490e-01 + (n * 1.90821492927058770002e-10 + fraction);
#else
  return n * 0.693359375f + (n * -2.12194440e-4f + fraction);
#endif
}

/* For powers of ratios, r^p with r in (0, 1], p >= 1, and (1 + x)^q with x and q in [0, 1], whose arguments
 * lie where reductions are short; relative errors grow as |ln| of the result. log2 x: */
FN real logarithm2(real x) {
  real n, fraction = logarithm_parts(x, &n);
  return fraction * K(1.4426950408889634074) + n;
}
/* log2(1 + x), x in [0, 1], to an absolute error of an eps; in single x times a polynomial. */
FN real logarithm2_of_sum(real x) {
#if ABUT_REAL == 64
  return logarithm2(splat(1) + x);
#else
  static const elem c[9] = {1.4426949917298651f,   -0.72133951314566449f,  0.48067888959193056f,
                            -0.35829906959230153f, 0.27522121233093542f,   -0.1962389518989473f,
                            0.11183207392944968f,  -0.041945008928705863f, 0.007395402137863264f};
  return x * polynomial8(c, x);
#endif
}
/* 2^x, x <= 2; 0 far below */
FN real exponential2(real x) {
  const elem least = EXPONENTIAL_LOW * K(1.4426950408889634074);
  mask low = lt(x, splat(least));
  x = rmax(x, splat(least));
  real shifted = x + INTEGER_MAGIC, r = x - (shifted - INTEGER_MAGIC);
#if ABUT_REAL == 64
  real p = splat(K(2.5678435993488206e-11));
  p = p * r + K(4.4455382718708116e-10);
  p = p * r + K(7.0549116208011234e-09);
  p = p * r + K(1.0178086009239699e-07);
  p = p * r + K(1.3215486790144309e-06);
  p = p * r + K(1.5252733804059840e-05);
  p = p * r + K(1.5403530393381608e-04);
  p = p * r + K(1.3333558146428443e-03);
  p = p * r + K(9.6181291076284769e-03);
  p = p * r + K(5.5504108664821580e-02);
  p = p * r + K(2.4022650695910072e-01);
  p = p * r + K(6.9314718055994531e-01);
  p = p * r + K(1);
#else
  real r2 = r * r;
  real p = (r * K(6.93147206703e-01) + K(1)) + r2 * (r * K(5.55032722667e-02) + K(2.40226509223e-01)) +
           r2 * r2 * ((r * K(1.34004281776e-03) + K(9.61805667852e-03)) + r2 * K(1.54614446986e-04));
#endif
  return sel(low, zero(), from_bits(bits_of(p) + (bits_of(shifted) << FRACTION_BITS)));
}

/* 1/(1 + e^(-x)) */
FN real logistic(real x) {
  real e = exponential(-rabs(x)), inv = inverse(splat(1) + e);
  return sel(lt(x, zero()), e, splat(1)) * inv;
}

#endif
