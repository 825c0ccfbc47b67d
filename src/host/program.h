/* program.h: what a rollout and its reverse pass consist of, for the backends that run them. */
#ifndef ABUT_PROGRAM_H
#define ABUT_PROGRAM_H
#include "batch.h"

typedef struct stage_list {
  const stage_id *stages;
  int count;
} stage_list;

/* start: environments that begin. step: one round of all lanes' state machines. search: one trial of those
 * that search along a line (none: empty). */
typedef struct program {
  stage_list start, step, search;
} program;
extern const program program_rollout, program_reverse;
/* Whether a stage runs even where no lane is live. */
extern const uint8_t stage_decides[STAGE_COUNT];

/* Asked about ten times a second how far it is. */
typedef struct program_report {
  abut_progress progress;
  void *user;
} program_report;

/* The batch's arrays as a program's stages see them. */
program_io program_io_of(const abut_batch *batch);
/* Runs a program over all environments: until they are finished, a list is too short (io->need) or
 * io->stop. */
void program_run(abut_batch *batch, const program *p, program_io *io, program_report report);

#endif
