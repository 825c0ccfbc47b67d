/* tape.h: what a recorded rollout keeps for its reverse pass. */
#ifndef ABUT_TAPE_H
#define ABUT_TAPE_H
#include "host/batch/backend.h"

/* Makes room for the rollout. */
abut_status tape_prepare(abut_batch *b, const abut_rollout_args *a);
void tape_free(abut_batch *b);

#endif
