/* table.h: the stages of a method for one instance (instruction set, real type), as host code calls them. */
#ifndef ABUT_TABLE_H
#define ABUT_TABLE_H
#include "kernels/clock/group.h"
#include "kernels/clock/program_io.h"

typedef void (*stage_function)(const step_params *, lane_group *, program_io *);

typedef struct method_kernels {
  const char *isa;
  int32_t lanes, elem_size;
  const stage_function *stage; /* by the method's STAGE_* */
} method_kernels;

/* The widest of a method's instances, NULL at their end, that this processor runs. dtype: ABUT_F64 or
 * ABUT_F32. isa NULL: best; else by name. */
const method_kernels *method_kernels_find(const method_kernels *const *instances, int32_t dtype,
                                          const char *isa);

#endif
