/* profile.h: how long the stages of a program take on a GPU, and what the GPU could do at best, for `abut
 * bench`. */
#ifndef ABUT_PROFILE_H
#define ABUT_PROFILE_H
#include "host/batch/batch.h"

extern const char *const stage_names[STAGE_COUNT];

/* Of one run of a program, as the device's clock saw it (s). idle: a launch with nothing to do for any
 * environment, 0 where there was none; gap: two of the clock's marks with no launch between them; both are
 * means. */
typedef struct stage_profile {
  double seconds[STAGE_COUNT]; /* over all launches */
  int64_t launches[STAGE_COUNT];
  double idle[STAGE_COUNT];
  double gap;
} stage_profile;

/* From now on the batch's programs run stage by stage and leave their times here; NULL: as usual again. On a
 * GPU only. */
void batch_profile(abut_batch *b, stage_profile *profile);

/* The card's best: bytes read plus bytes written, multiply-adds, divisions and square roots per second. */
typedef struct gpu_roofs {
  double memory, fma, division, root;
} gpu_roofs;

/* Measures them; dtype: ABUT_F64 or ABUT_F32. */
abut_status gpu_measure(int32_t device_id, int32_t dtype, gpu_roofs *roofs);

#endif
