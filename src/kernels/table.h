/* table.h: the stages of one instance (instruction set, real type), as host code calls them. */
#ifndef ABUT_TABLE_H
#define ABUT_TABLE_H
#include "params.h"

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

typedef struct abut_kernels {
  const char *isa;
  int32_t lanes, elem_size;
  void (*begin)(const step_params *, lane_group *);
  void (*boxes)(const step_params *, lane_group *, int ahead_is_trial);
  void (*start)(const step_params *, lane_group *);
  void (*friction)(const step_params *, lane_group *);
  void (*evaluate)(const step_params *, lane_group *, int exact);
  void (*direction)(const step_params *, lane_group *);
  void (*try_)(const step_params *, lane_group *);
  void (*accept)(const step_params *, lane_group *);
  void (*finish)(const step_params *, lane_group *);
  void (*energies)(const step_params *, lane_group *);
  void (*gaps)(const step_params *, lane_group *);
  void (*displace)(const step_params *, lane_group *);
  void (*reverse)(const step_params *, lane_group *);
  void (*reverse_start)(const step_params *, lane_group *);
  void (*query_plane)(query_block *);
  void (*bench_plane)(int which, int blocks, void *memory); /* bench.inl */
} abut_kernels;

/* The widest instance that this processor runs. dtype: ABUT_F64 or ABUT_F32. isa NULL: best; else by name. */
const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa);

#endif
