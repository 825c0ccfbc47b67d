/* table.h: the stages of one instance (instruction set, real type), as host code calls them. */
#ifndef ABUT_TABLE_H
#define ABUT_TABLE_H
#include "kernels/clock/params.h"
#include "kernels/clock/program_io.h"

typedef enum stage_id {
#define STAGE(name) STAGE_##name,
#define DECIDE(name) STAGE_##name,
#include "kernels/method/stages.def"
  STAGE_COUNT
} stage_id;

typedef void (*stage_function)(const step_params *, lane_group *, program_io *);

typedef struct abut_kernels {
  const char *isa;
  int32_t lanes, elem_size;
  stage_function stage[STAGE_COUNT];
} abut_kernels;

/* The widest instance that this processor runs. dtype: ABUT_F64 or ABUT_F32. isa NULL: best; else by name. */
const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa);

#endif
