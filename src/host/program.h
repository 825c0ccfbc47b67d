/* program.h: one rollout as its workers see it. */
#ifndef ABUT_PROGRAM_H
#define ABUT_PROGRAM_H
#include "batch.h"

typedef struct program_io {
  abut_batch *batch;
  const abut_rollout_args *args;
  int64_t next;            /* environment that the next free lane takes */
  int64_t steps, finished; /* environment-steps and environments done */
  volatile int stop;       /* the caller asked to stop */
  abut_progress progress;
  void *user;
  double reported; /* time of the last report (s) */
} program_io;

/* Runs one worker until no environment is left, a list is too short (w->need) or io->stop. */
void program_run(worker *w, program_io *io);

/* Brings the pair list of these lanes in line with g->pair_want: replaces it (a step begins) or adds to it.
 */
void pairs_update(worker *w, uint32_t lanes, int replace);

uint64_t hash64(uint64_t x);
/* Uniform in [0, 1): a function of its arguments only. */
double hash_uniform(uint64_t seed, uint64_t env, uint64_t step, uint64_t entry);

#endif
