/* group.h: W environments in flight in one team, W the width of a vector, or one on a GPU. Its arrays are
 * placed by the host (group_place in host/batch/layout.c). Masks are bit sets over lanes. */
#ifndef ABUT_GROUP_H
#define ABUT_GROUP_H
#include "kernels/clock/params.h"

enum { MAX_LANES = 16 };

typedef struct lane_group {
  void *work;  /* [work.size][LANES] */
  void *slots; /* [capacity][slot.size][LANES] */
  int32_t nslot, capacity;
  int32_t *order;         /* slots by ascending pair: the order of every sum */
  int32_t *slot_pair;     /* pair of each slot, -1: unused */
  uint32_t *slot_on;      /* lanes that have this pair */
  uint32_t *slot_new;     /* of them, lanes whose pair must be started; start leaves those that overlap */
  int32_t *pair_slot;     /* slot of each pair, -1 */
  uint32_t *pair_want;    /* broad phase: lanes that list the pair */
  void *own;              /* the method's: what it places itself */
  uint32_t live;          /* what the next stage works for */
  uint32_t set[MAX_SETS]; /* LANE_SET(name) of clock.def and the method's .def */
  int64_t env[MAX_LANES], step[MAX_LANES]; /* env -1: idle */
  int32_t iterations[MAX_LANES];           /* of the step so far */
  int64_t newton[MAX_LANES];               /* iterations of the environment so far, over its steps */
  int32_t newton_max[MAX_LANES], unconverged[MAX_LANES];
  uint32_t status[MAX_LANES];
  int32_t culprit[MAX_LANES]; /* pair that overlaps at the start, -1 */
  double moved[MAX_LANES];    /* by the separation at the start (m) */
} lane_group;

#endif
