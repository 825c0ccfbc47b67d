/* kernels.c: chooses the instance of the kernels for this processor. */
#include "kernels/table.h"
#include <string.h>

/* Weak: a build may leave out all but some (ABUT_INSTANCES). */
#define WEAK __attribute__((weak))
extern const abut_kernels abut_kernels_scalar_f64 WEAK;
#if defined(__x86_64__) || defined(__i386__)
extern const abut_kernels abut_kernels_sse2_f64 WEAK, abut_kernels_sse2_f32 WEAK, abut_kernels_avx2_f64 WEAK,
    abut_kernels_avx2_f32 WEAK, abut_kernels_avx512_f64 WEAK, abut_kernels_avx512_f32 WEAK;

static int runs_here(const char *isa) {
  if (!strcmp(isa, "avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return 1;
}
static const abut_kernels *const instances[2][4] = {
    {&abut_kernels_avx512_f64, &abut_kernels_avx2_f64, &abut_kernels_sse2_f64, &abut_kernels_scalar_f64},
    {&abut_kernels_avx512_f32, &abut_kernels_avx2_f32, &abut_kernels_sse2_f32, 0},
};
#else
extern const abut_kernels abut_kernels_generic_f64 WEAK, abut_kernels_generic_f32 WEAK;
static int runs_here(const char *isa) { return isa != 0; }
static const abut_kernels *const instances[2][4] = {
    {&abut_kernels_generic_f64, &abut_kernels_scalar_f64, 0, 0},
    {&abut_kernels_generic_f32, 0, 0, 0},
};
#endif

const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa) {
  for (int i = 0; i < 4; i++) {
    const abut_kernels *k = instances[dtype == ABUT_F32][i];
    if (k && runs_here(k->isa) && (!isa || !strcmp(isa, k->isa))) return k;
  }
  return 0;
}
