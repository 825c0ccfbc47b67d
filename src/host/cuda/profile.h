/* profile.h: how long the stages of a program take on a GPU. */
#ifndef ABUT_PROFILE_H
#define ABUT_PROFILE_H
#include "host/batch/batch.h"

/* NULL beyond the last. */
const char *stage_name(int32_t method, int32_t stage);

/* Of one run of a program, by the stages of the batch's method, as the device's clock saw it (s). idle: a
 * launch with nothing to do for any environment, 0 where there was none; gap: two of the clock's marks with
 * no launch between them; both are means. */
typedef struct stage_profile {
  double seconds[MAX_STAGES]; /* over all launches */
  int64_t launches[MAX_STAGES];
  double idle[MAX_STAGES];
  double gap;
} stage_profile;

/* From now on the batch's programs run stage by stage and leave their times here; NULL: as usual again. On a
 * GPU only. */
void batch_profile(abut_batch *b, stage_profile *profile);

#endif
