/* bench_fma.c: twelve independent chains of multiply-adds, as wide as the processor's vectors. */
#include "bench_fma.h"
#include "cli.h"

enum { CHAINS = 12, ROUNDS = 1000000, REPEATS = 7 };

/* keeps results alive */
static volatile float sink;

#define REPEAT_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DECLARE(i) vector c##i = one * (float)(i + 1);
#define ADVANCE(i) c##i = MULTIPLY_ADD(c##i, factor, one);
#define COLLECT(i) sum += c##i;

/* One instance: c = c * factor + 1 in every chain, which stays below 2.  */
#define DEFINE_LOOP(name, attributes)                                                                        \
  attributes static void name(void) {                                                                        \
    vector one = (vector){0} + 1.0f, factor = one * 0.5f, sum = (vector){0};                                 \
    REPEAT_CHAINS(DECLARE)                                                                                   \
    for (int round = 0; round < ROUNDS; round++) {                                                           \
      REPEAT_CHAINS(ADVANCE)                                                                                 \
    }                                                                                                        \
    REPEAT_CHAINS(COLLECT)                                                                                   \
    sink = sum[0];                                                                                           \
  }

#if defined(__x86_64__)
#include <immintrin.h>

typedef float vector_avx512 __attribute__((vector_size(64)));
#define vector vector_avx512
#define MULTIPLY_ADD(a, b, c) (vector) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
DEFINE_LOOP(loop_avx512, __attribute__((target("avx512f"))))
#undef vector
#undef MULTIPLY_ADD

typedef float vector_avx2 __attribute__((vector_size(32)));
#define vector vector_avx2
#define MULTIPLY_ADD(a, b, c) (vector) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
DEFINE_LOOP(loop_avx2, __attribute__((target("avx2,fma"))))
#undef vector
#undef MULTIPLY_ADD
#endif

typedef float vector_baseline __attribute__((vector_size(16)));
#define vector vector_baseline
#define MULTIPLY_ADD(a, b, c) (a) * (b) + (c)
DEFINE_LOOP(loop_baseline, )
#undef vector
#undef MULTIPLY_ADD

typedef struct fma_loop {
  void (*run)(void);
  int width; /* floats per vector */
} fma_loop;

static fma_loop choose_loop(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return (fma_loop){loop_avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return (fma_loop){loop_avx2, 8};
#endif
  return (fma_loop){loop_baseline, 4};
}

double bench_fma(void) {
  fma_loop loop = choose_loop();
  double best = 0;
  for (int i = 0; i < REPEATS; i++) {
    double start = cli_now();
    loop.run();
    double rate = 2e-9 * loop.width * CHAINS * ROUNDS / (cli_now() - start);
    if (rate > best) best = rate;
  }
  return best;
}
