/* random.h: all randomness is a function of counters. */
#ifndef ABUT_RANDOM_H
#define ABUT_RANDOM_H
#include <stdint.h>

#ifdef __CUDACC__
#define RANDOM static __device__ __forceinline__
#else
#define RANDOM static inline
#endif

/* splitmix64 finaliser */
RANDOM uint64_t hash64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
/* Uniform in [0, 1). */
RANDOM double hash_uniform(uint64_t seed, uint64_t env, uint64_t step, uint64_t entry) {
  uint64_t h = hash64(hash64(hash64(hash64(seed) ^ env) ^ step) ^ entry);
  return (double)(h >> 11) * 0x1p-53;
}

#endif
