/* measure_stages.h: how long each stage of a batch's programs takes on a GPU, as its backend marks the time.
 */
#ifndef ABUT_MEASURE_STAGES_H
#define ABUT_MEASURE_STAGES_H
#include "host/cuda/profile.h"
#endif
