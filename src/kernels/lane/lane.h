/* lane.h: what one lane holds. Kernel bodies are C over `real` and `mask` and compile, unchanged, for one
 * environment (a GPU thread, the scalar reference) or for LANES of them (one vector of the CPU).
 *
 *   elem   the number: float or double (ABUT_REAL 32 or 64)
 *   real   LANES numbers, one per environment; + - * / work lane by lane
 *   mask   LANES truth values, made by lt() and friends, used by sel() and any()
 *
 * Lane data never decides a branch; `if (any(m))` may skip work whose result no lane selects, so that what a
 * lane computes does not depend on its neighbours. There is no libm here: sqrt is the processor's, the rest
 * are polynomials (vector.h) with tested bounds. Width differs between instruction sets, results do not
 * depend on it. */
#ifndef ABUT_LANE_H
#define ABUT_LANE_H

#include <assert.h>
#include <stdint.h>

#if ABUT_REAL == 64
typedef double elem;
#define ELEM_EPS 2.220446049250313e-16
#define ELEM_TINY 1e-290
#define ELEM_HUGE 1e290
#else
typedef float elem;
#define ELEM_EPS 1.1920929e-7
#define ELEM_TINY 1e-36f
#define ELEM_HUGE 1e36f
#endif

#define K(x) ((elem)(x))

/* A struct of n reals, and nothing else, that is walked as an array of them. */
#define WALKED(type, n) static_assert(sizeof(type) == (n) * sizeof(real), #type " is walked as an array")

#ifdef __CUDACC__
#define FN static __device__ __forceinline__
#define KERNEL FN /* a function on CPUs only: a call would save registers to memory */
#define CALL                                                                                                 \
  static __device__ __noinline__ /* on GPUs only: a kernel would not have registers enough otherwise */
#define OUTLINE CALL             /* on both */
#define RESTRICT __restrict__
#else
#define FN static inline __attribute__((always_inline, unused))
#define KERNEL static __attribute__((noinline, unused))
#define CALL FN
#define OUTLINE KERNEL
#define RESTRICT restrict
#endif

#if ABUT_LANES == 1 /* ------------------------------------------- one environment: GPU thread, reference */

#ifdef ABUT_COUNTED /* a number that counts what is done with it */
#include "counted.h"
#else
typedef elem real;
#endif
typedef int mask;

FN real splat(elem x) { return x; }
FN mask lt(real a, real b) { return a < b; }
FN mask le(real a, real b) { return a <= b; }
FN mask mask_and(mask a, mask b) { return a & b; }
FN mask mask_or(mask a, mask b) { return a | b; }
FN mask mask_not(mask a) { return !a; }
FN int any(mask m) { return m; }
FN real sel(mask m, real a, real b) { return m ? a : b; }
FN real rmin(real a, real b) { return a < b ? a : b; }
FN real rmax(real a, real b) { return a > b ? a : b; }
FN mask mask_from_bits(uint32_t bits) { return (int)(bits & 1u); }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)m; }
#if defined(ABUT_COUNTED)
FN real root(real a) { return counted_root(a); }
#elif defined(__CUDACC__) && ABUT_REAL == 64
FN real root(real a) { return ::sqrt(a); }
#elif defined(__CUDACC__)
FN real root(real a) { return ::sqrtf(a); }
#elif ABUT_REAL == 64
FN real root(real a) { return __builtin_sqrt(a); }
#else
FN real root(real a) { return __builtin_sqrtf(a); }
#endif

#else /* ------------------------------------------------------------------------------- a CPU vector */

#include <immintrin.h>
typedef elem real __attribute__((vector_size(sizeof(elem) * ABUT_LANES), may_alias));

#if defined(__AVX512F__)
#if ABUT_REAL == 64
typedef __mmask8 mask;
#define V(x) ((__m512d)(x))
FN mask lt(real a, real b) { return _mm512_cmp_pd_mask(V(a), V(b), _CMP_LT_OQ); }
FN mask le(real a, real b) { return _mm512_cmp_pd_mask(V(a), V(b), _CMP_LE_OQ); }
FN real sel(mask m, real a, real b) { return (real)_mm512_mask_blend_pd(m, V(b), V(a)); }
FN real rmin(real a, real b) { return (real)_mm512_min_pd(V(a), V(b)); }
FN real rmax(real a, real b) { return (real)_mm512_max_pd(V(a), V(b)); }
FN real root(real a) { return (real)_mm512_sqrt_pd(V(a)); }
#else
typedef __mmask16 mask;
#define V(x) ((__m512)(x))
FN mask lt(real a, real b) { return _mm512_cmp_ps_mask(V(a), V(b), _CMP_LT_OQ); }
FN mask le(real a, real b) { return _mm512_cmp_ps_mask(V(a), V(b), _CMP_LE_OQ); }
FN real sel(mask m, real a, real b) { return (real)_mm512_mask_blend_ps(m, V(b), V(a)); }
FN real rmin(real a, real b) { return (real)_mm512_min_ps(V(a), V(b)); }
FN real rmax(real a, real b) { return (real)_mm512_max_ps(V(a), V(b)); }
FN real root(real a) { return (real)_mm512_sqrt_ps(V(a)); }
#endif
FN mask mask_and(mask a, mask b) { return (mask)(a & b); }
FN mask mask_or(mask a, mask b) { return (mask)(a | b); }
FN mask mask_not(mask a) { return (mask)~a; }
FN int any(mask m) { return m != 0; }
FN mask mask_from_bits(uint32_t bits) { return (mask)bits; }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)m; }

#else /* AVX2 and SSE2: a mask is a vector of all-ones or all-zeros */
#if ABUT_REAL == 64
typedef int64_t mask __attribute__((vector_size(8 * ABUT_LANES), may_alias));
#else
typedef int32_t mask __attribute__((vector_size(4 * ABUT_LANES), may_alias));
#endif
FN mask lt(real a, real b) { return (mask)(a < b); }
FN mask le(real a, real b) { return (mask)(a <= b); }
FN mask mask_and(mask a, mask b) { return a & b; }
FN mask mask_or(mask a, mask b) { return a | b; }
FN mask mask_not(mask a) { return ~a; }
#if defined(__AVX2__) && ABUT_REAL == 64
FN real sel(mask m, real a, real b) { return (real)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m); }
FN real rmin(real a, real b) { return (real)_mm256_min_pd((__m256d)a, (__m256d)b); }
FN real rmax(real a, real b) { return (real)_mm256_max_pd((__m256d)a, (__m256d)b); }
FN real root(real a) { return (real)_mm256_sqrt_pd((__m256d)a); }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)_mm256_movemask_pd((__m256d)m); }
#elif defined(__AVX2__)
FN real sel(mask m, real a, real b) { return (real)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m); }
FN real rmin(real a, real b) { return (real)_mm256_min_ps((__m256)a, (__m256)b); }
FN real rmax(real a, real b) { return (real)_mm256_max_ps((__m256)a, (__m256)b); }
FN real root(real a) { return (real)_mm256_sqrt_ps((__m256)a); }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)_mm256_movemask_ps((__m256)m); }
#elif ABUT_REAL == 64
FN real sel(mask m, real a, real b) { return (real)((m & (mask)a) | (~m & (mask)b)); }
FN real rmin(real a, real b) { return (real)_mm_min_pd((__m128d)a, (__m128d)b); }
FN real rmax(real a, real b) { return (real)_mm_max_pd((__m128d)a, (__m128d)b); }
FN real root(real a) { return (real)_mm_sqrt_pd((__m128d)a); }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)_mm_movemask_pd((__m128d)m); }
#else
FN real sel(mask m, real a, real b) { return (real)((m & (mask)a) | (~m & (mask)b)); }
FN real rmin(real a, real b) { return (real)_mm_min_ps((__m128)a, (__m128)b); }
FN real rmax(real a, real b) { return (real)_mm_max_ps((__m128)a, (__m128)b); }
FN real root(real a) { return (real)_mm_sqrt_ps((__m128)a); }
FN uint32_t bits_from_mask(mask m) { return (uint32_t)_mm_movemask_ps((__m128)m); }
#endif
FN int any(mask m) { return bits_from_mask(m) != 0; }
FN mask mask_from_bits(uint32_t bits) {
  mask m = {0};
  for (int l = 0; l < ABUT_LANES; l++) m[l] = -(int)((bits >> l) & 1u);
  return m;
}
#endif

FN real splat(elem x) { return x - (real){0}; }
#endif /* ABUT_LANES */

#define ALL_LANES ((uint32_t)((1ull << ABUT_LANES) - 1))

FN mask mask_none(void) { return mask_from_bits(0); }
FN mask gt(real a, real b) { return lt(b, a); }
FN mask ge(real a, real b) { return le(b, a); }
FN real zero(void) { return splat(K(0)); }
FN real rabs(real a) { return rmax(a, -a); }
/* false for NaN and infinities */
FN mask is_finite(real a) { return lt(rabs(a), splat(K(ELEM_HUGE))); }

/* 1/x and 1/sqrt(x), x > 0. Where the processor has a fast estimate, Newton steps on it (the last bits may
 * differ from the division); the strict build divides. */
#if defined(__AVX512F__) && ABUT_LANES > 1 && !defined(ABUT_STRICT)
#if ABUT_REAL == 64
FN real inverse(real x) {
  real r = (real)_mm512_rcp14_pd(V(x));
  r = r + r * (K(1) - x * r);
  return r + r * (K(1) - x * r);
}
FN real inverse_root(real x) {
  real r = (real)_mm512_rsqrt14_pd(V(x)), h = K(0.5) * x;
  r = r + r * (K(0.5) - h * r * r);
  return r + r * (K(0.5) - h * r * r);
}
#else
FN real inverse(real x) {
  real r = (real)_mm512_rcp14_ps(V(x));
  return r + r * (K(1) - x * r);
}
FN real inverse_root(real x) {
  real r = (real)_mm512_rsqrt14_ps(V(x));
  return r + r * (K(0.5) - K(0.5) * x * r * r);
}
#endif
#elif defined(__CUDACC__) && ABUT_REAL == 32 &&                                                              \
    !defined(ABUT_STRICT) /* in double they take too many registers */
FN real inverse(real x) {
  real r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r + r * (K(1) - x * r);
}
FN real inverse_root(real x) {
  real r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r + r * (K(0.5) - K(0.5) * x * r * r);
}
#else
FN real inverse(real x) { return splat(1) / x; }
FN real inverse_root(real x) { return splat(1) / root(x); }
#endif

/* On the GPU, where a thread has 255 registers of 4 bytes: what p points to, and everything else in memory,
 * is stored by here and read again after it. */
#ifdef __CUDACC__
#define IN_MEMORY(p) asm volatile("" ::"l"(p) : "memory")
#else
#define IN_MEMORY(p) ((void)0)
#endif

/* Fields of a lane group lie one after the other; where every environment has a GPU thread of its own, the 32
 * environments of a tile interleave (cuda.cu). */
#ifndef LANE_STRIDE
#define LANE_STRIDE 1
#endif
#define AT(p, i) ((p)[(i)*LANE_STRIDE])

#endif
