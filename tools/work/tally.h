/* tally.h: what the kernels have done, by stage: operations as counted.h counts them, bytes as touched.c
 * does. One thread at a time. */
#ifndef ABUT_TALLY_H
#define ABUT_TALLY_H
#include "kernels/items/items_table.h"
#include "kernels/method/implicit.h"
#include "kernels/clock/table.h"

/* additions: subtractions too. bytes: of the environment, each once per call where it is read and once where
 * it is written. */
typedef struct tally {
  int64_t calls, additions, multiplications, divisions, roots, bytes;
} tally;

#ifdef __cplusplus
extern "C" {
#endif
/* Since it was last cleared. */
extern tally tally_now;
/* Of the calls of each stage since they were last cleared. */
extern tally tally_stage[STAGE_NUM];

/* Kernels of contact manifolds, likewise; bytes: of what goes in and comes out, not of scratch. */
typedef enum manifold_tally {
  TALLY_EDGES,
  TALLY_DISTANCE,
  TALLY_CONTACTS,
  TALLY_VJP,
  TALLIES
} manifold_tally;
extern tally tally_manifold[TALLIES];
typedef struct tally_range {
  const void *first;
  int64_t bytes;
} tally_range;
void tally_begin_manifold(const tally_range *ranges, int count);
void tally_end_manifold(manifold_tally which);

/* Around a call of a stage whose reals have so many bytes. */
void tally_begin(const step_params *k, const lane_group *g, const program_io *io, int real_bytes);
void tally_end(int stage);

/* Kernels that count, behind the tables that host code calls. */
extern const method_kernels counted_kernels_f64, counted_kernels_f32;
extern const item_kernels counted_items_f64, counted_items_f32;
#ifdef __cplusplus
}
#endif

#endif
