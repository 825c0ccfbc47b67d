/* program.c: what programs share, whoever runs them. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include <string.h>
#include <time.h>

abut_status program_may_enqueue(const abut_batch *b, int waits) {
  if (!b->backend->enqueue)
    return fail_with(ABUT_ERROR_ARGUMENT, "enqueue: this batch is on the CPU, which has no stream");
  if (waits)
    return fail_with(ABUT_ERROR_ARGUMENT,
                     "enqueue: the call returns before it is done: result and progress must be NULL "
                     "(abut_batch_sync has the result)");
  return ABUT_OK;
}

program_io program_io_of(const abut_batch *b) {
  program_io io = {
      .nenv = b->options.nenv, .capacity = b->capacity, .state = b->state, .next = b->next, .tape = b->tape};
  memcpy(io.parameters, b->parameters, sizeof io.parameters);
  return io;
}

void program_io_counters(program_io *to, const program_io *from) {
  to->opened = from->opened;
  to->finished = from->finished;
  to->steps = from->steps;
  to->newton_iterations = from->newton_iterations;
  to->newton_iterations_max = from->newton_iterations_max;
  to->unconverged_steps = from->unconverged_steps;
  to->need = from->need;
  to->need_room = from->need_room;
  to->stop = from->stop;
}

double program_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int program_reports(program_report report, const program_io *io, int64_t steps) {
  double all = (double)io->nenv * (double)io->nstep;
  return report.progress(report.user, all > 0 ? (double)steps / all : 0);
}
