/* items_table.h: the kernels of one instance (instruction set, real type) whose lanes are items, not
 * environments, as host code calls them: queries, contact manifolds, what `abut bench` times. */
#ifndef ABUT_ITEMS_TABLE_H
#define ABUT_ITEMS_TABLE_H
#include "kernels/items/manifold_view.h"
#include "kernels/shape/sphere_tree.h"

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

/* One long-range query. entry, rows: room for `capacity` pairs of nodes; fits: whether that was enough. */
typedef struct longrange_block {
  tree_view tree[2];
  double epsilon, length, margin;
  int32_t weighted, order, capacity, fits, touching;
  far_entry *entry;
  void *rows;     /* [capacity][28] of the instance's real type */
  double row[28]; /* value, gradient (rotation, translation), Hessian: far_terms */
  double gap;
  int64_t visits, exact, centred;
} longrange_block;

typedef struct item_kernels {
  const char *isa;
  int32_t lanes, elem_size;
  void (*query_plane)(query_block *);
  void (*query_longrange)(longrange_block *);
  manifold_kernels manifold;
  void (*bench_plane)(int which, int blocks, void *memory); /* bench.inl */
} item_kernels;

/* Number i of an array of an instance's real type. */
static inline double real_get(const item_kernels *k, const void *p, int64_t i) {
  return k->elem_size == 8 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static inline void real_put(const item_kernels *k, void *p, int64_t i, double x) {
  if (k->elem_size == 8)
    ((double *)p)[i] = x;
  else
    ((float *)p)[i] = (float)x;
}

/* The widest instance that this processor runs. dtype: ABUT_F64 or ABUT_F32. isa NULL: best; else by name. */
const item_kernels *item_kernels_find(int32_t dtype, const char *isa);

#endif
