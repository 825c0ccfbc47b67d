/* program.h: running a batch's programs (method.h). */
#ifndef ABUT_PROGRAM_H
#define ABUT_PROGRAM_H
#include "host/batch/batch.h"

/* Asked about ten times a second how far it is. */
typedef struct program_report {
  abut_progress progress;
  void *user;
} program_report;

/* Refuses to enqueue where there is no stream, or where the caller waits for something. */
abut_status program_may_enqueue(const abut_batch *batch, int waits);
/* The batch's arrays as a program's stages see them. */
program_io program_io_of(const abut_batch *batch);
/* What a program counted, from another copy of its io. */
void program_io_counters(program_io *to, const program_io *from);
/* A clock that only goes forward (s). */
double program_seconds(void);
/* Tells the caller; true if it asks to stop. */
int program_reports(program_report report, const program_io *io, int64_t steps);

#endif
