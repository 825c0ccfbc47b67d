/* instances.c: chooses the instance of the kernels for this processor, of those that were compiled. */
#include "kernels/items/items_table.h"
#include "kernels/table.h"
#include <stddef.h>
#include <string.h>

/* X(instruction set, bits of real), written by cmake/Kernels.cmake, widest last */
#define X(isa, bits)                                                                                         \
  extern const abut_kernels abut_kernels_##isa##_f##bits;                                                    \
  extern const item_kernels item_kernels_##isa##_f##bits;
#include "instances.def"
#undef X

static const struct {
  const abut_kernels *stages;
  const item_kernels *items;
} instances[] = {
#define X(isa, bits) {&abut_kernels_##isa##_f##bits, &item_kernels_##isa##_f##bits},
#include "instances.def"
#undef X
};

static int runs_here(const char *isa) {
#if defined(__x86_64__) || defined(__i386__)
  if (!strcmp(isa, "avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  (void)isa;
  return 1;
}

/* The last that fits, -1: none. */
static int find(int32_t dtype, const char *isa) {
  for (int i = (int)(sizeof instances / sizeof *instances) - 1; i >= 0; i--) {
    const abut_kernels *k = instances[i].stages;
    if ((k->elem_size == 4) != (dtype == ABUT_F32) || !runs_here(k->isa)) continue;
    if (!isa || !strcmp(isa, k->isa)) return i;
  }
  return -1;
}

const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa) {
  int i = find(dtype, isa);
  return i < 0 ? NULL : instances[i].stages;
}
const item_kernels *item_kernels_find(int32_t dtype, const char *isa) {
  int i = find(dtype, isa);
  return i < 0 ? NULL : instances[i].items;
}
