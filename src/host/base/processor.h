/* processor.h: which instances of the kernels this processor runs: for instances.c, and for CMake where it
 * compiles for the machine that it runs on (cmake/native.c). */
#ifndef ABUT_PROCESSOR_H
#define ABUT_PROCESSOR_H
#include <string.h>

static inline int processor_runs(const char *isa) {
#if defined(__x86_64__) || defined(__i386__)
  if (!strcmp(isa, "avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  (void)isa;
  return 1;
}

#endif
