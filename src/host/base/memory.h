/* memory.h: how much memory there is (abut_memory_available), and sums of sizes. */
#ifndef ABUT_MEMORY_H
#define ABUT_MEMORY_H
#include <stdint.h>

/* Bytes of the whole machine. */
double memory_installed(void);

/* a + b c, none of them negative; INT64_MAX where that is too large. */
static inline int64_t bytes_add(int64_t a, int64_t b, int64_t c) {
  int64_t r;
  return __builtin_mul_overflow(b, c, &r) || __builtin_add_overflow(a, r, &r) ? INT64_MAX : r;
}

#endif
