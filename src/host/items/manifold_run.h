/* manifold_run.h: what the parts of an evaluation of many poses share. */
#ifndef ABUT_HOST_MANIFOLD_RUN_H
#define ABUT_HOST_MANIFOLD_RUN_H
#include "host/items/manifold_parts.h"
#include <stdatomic.h>

enum { COLUMNS = 6, COORDINATES = 12, SLOTS = 32 }; /* of the relative pose, of both poses, of sums */

/* Memory of one thread; on a GPU only `wide` is its own. */
typedef struct manifold_runner {
  void *scratch, *contacts, *bar;
  void *tangents, *jacobian;
  double *wide; /* contacts, their cotangents, or their tangents, in double */
  void *vertex_bar[2], *parameter_bar[2];
  double frame[9], origin[3], other[3],
      turn[9]; /* pose of surface 1's frame; origin and rotation of the other's */
} manifold_runner;

typedef struct manifold_run {
  const abut_manifold *m;
  int64_t count;
  const double *poses;
  const abut_contacts *bar;
  abut_contacts *contacts;
  abut_manifold_bars *bars;
  abut_contacts *jacobian;
  int64_t sum_size, sum_at[4]; /* of sums over poses: vertices' and primitives' cotangents */
  atomic_llong unfit;          /* 1 + a pose with a cotangent that is not finite; 0: none */
  manifold_batch batch;        /* on a GPU: what kernels get */
} manifold_run;

extern const items_gpu_kind manifold_gpu_kind; /* manifold_cuda.c */

/* Between the kernels' frame, unit and fields and the caller's rows (manifold_rows.c). */
manifold_job manifold_place_pose(const manifold_run *a, manifold_runner *r, int64_t pose);
void manifold_write_contacts(const manifold_run *a, const manifold_runner *r, int64_t pose);
void manifold_read_bar(manifold_run *a, const manifold_runner *r, int64_t pose);
void manifold_write_pose(const manifold_run *a, const manifold_runner *r, const manifold_job *job,
                         int64_t pose);
void manifold_write_jacobian(const manifold_run *a, const manifold_runner *r, const manifold_job *job,
                             int64_t pose);

/* Cotangents that are summed over poses: of vertices and of what primitives consist of (manifold_sums.c). */
int manifold_wants_parameters(const abut_manifold_bars *bars, int surface);
/* Where either has its place among a chunk's sums; sets sum_size. */
void manifold_place_sums(manifold_run *a);
void manifold_add_sums(const manifold_run *a, manifold_runner *r, double *sums);
void manifold_write_sums(const manifold_run *a, const double *total);

/* v in a frame's axes to the world's, r row by row; and back. */
static inline void frame_vec(const double r[9], const double v[3], double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
}
static inline void frame_tvec(const double r[9], const double v[3], double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = r[i] * v[0] + r[3 + i] * v[1] + r[6 + i] * v[2];
}

#endif
