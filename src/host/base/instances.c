/* instances.c: chooses the instance of kernels for this processor, of those that were compiled. */
#include "host/base/kernels.h"
#include "host/base/processor.h"
#include <stddef.h>
#include <string.h>

/* X(instruction set, bits of real), written by cmake/Kernels.cmake, widest last */
#define X(isa, bits) extern const item_kernels item_kernels_##isa##_f##bits;
#include "instances.def"
#undef X

static const item_kernels *const items[] = {
#define X(isa, bits) &item_kernels_##isa##_f##bits,
#include "instances.def"
#undef X
};

static int fits(const char *has, int32_t elem_size, int32_t dtype, const char *isa) {
  return (elem_size == 4) == (dtype == ABUT_F32) && processor_runs(has) && (!isa || !strcmp(isa, has));
}

const item_kernels *item_kernels_find(int32_t dtype, const char *isa) {
  const item_kernels *best = NULL;
  for (size_t i = 0; i < sizeof items / sizeof *items; i++)
    if (fits(items[i]->isa, items[i]->elem_size, dtype, isa)) best = items[i];
  return best;
}

const method_kernels *method_kernels_find(const method_kernels *const *list, int32_t dtype, const char *isa) {
  const method_kernels *best = NULL;
  for (; *list; list++)
    if (fits((*list)->isa, (*list)->elem_size, dtype, isa)) best = *list;
  return best;
}
