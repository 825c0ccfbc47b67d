/* table.h: the stages of one instance (instruction set, real type), as host code calls them. */
#ifndef ABUT_TABLE_H
#define ABUT_TABLE_H
#include "params.h"
#include "program.h"

/* One block of plane queries, LANES at once; arrays are [..][LANES] of the instance's real type. */
typedef struct query_block {
  int32_t barrier, na, nb, has_plane, lanes;
  double reach, length;
  const void *a, *b;             /* [n][5]: x, y, z, radius, weight */
  const void *plane;             /* [4] start, if has_plane */
  void *value;                   /* [1] */
  void *plane_out;               /* [4] */
  void *grad_a, *grad_b;         /* [n][3] */
  void *iterations;              /* [1] */
  uint32_t separated, converged; /* lane bits */
} query_block;

typedef enum stage_id {
#define STAGE(name) STAGE_##name,
#define DECIDE(name) STAGE_##name,
#include "stages.def"
  STAGE_COUNT
} stage_id;

typedef void (*stage_function)(const step_params *, lane_group *, program_io *);

typedef struct abut_kernels {
  const char *isa;
  int32_t lanes, elem_size;
  stage_function stage[STAGE_COUNT];
  void (*query_plane)(query_block *);
  void (*bench_plane)(int which, int blocks, void *memory); /* bench.inl */
} abut_kernels;

/* The widest instance that this processor runs. dtype: ABUT_F64 or ABUT_F32. isa NULL: best; else by name. */
const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa);

#endif
