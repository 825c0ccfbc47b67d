/* random.h: counter-based random numbers: a value depends on its key and counters only, never on their order.
 */
#ifndef ABUT_CLI_RANDOM_H
#define ABUT_CLI_RANDOM_H
#include <stdint.h>

/* The finaliser of splitmix64: a bijection whose every output bit depends on every input bit. */
static inline uint64_t random_mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/* Uniform in [0, 1): a function of (seed, a, b, c). */
static inline double random_uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t bits = random_mix(random_mix(random_mix(random_mix(seed) ^ a) ^ b) ^ c);
  return (double)(bits >> 11) * 0x1p-53;
}

#endif
