/* program.c: what a step does.
 *
 * Every environment is a small state machine that runs through these stages on its own clock: lanes of a
 * group share the instruction stream, not the step. A lane that converges early starts its next step while
 * its neighbours still iterate, so stragglers cost their own lane only. Stages leave lanes they do not work
 * for untouched, which is why a result cannot depend on who else is in the group.
 *
 * All decisions are stages too (src/kernels/clock/rollout.inl, separate.inl, gradient.inl), so that whoever
 * runs a program, threads here or a GPU, only repeats lists. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include <string.h>
#include <time.h>

static const stage_id all_clear[] = {STAGE_clear};

static const stage_id rollout_start[] = {
    STAGE_fetch, /* state, parameters and warm contacts of an environment */
    /* shapes that touch move apart, a round at a time */
    STAGE_begin, STAGE_boxes, STAGE_separate_list, STAGE_gaps, STAGE_separate_push, STAGE_displace,
    /* the rest writes its first outputs */
    STAGE_opening, STAGE_begin, STAGE_open};

static const stage_id rollout_step[] = {
    /* lanes that begin a step: controls, poses at q and q-, boxes, the pair list, first planes of new pairs,
       lagged friction */
    STAGE_load, STAGE_begin, STAGE_boxes, STAGE_list_pairs, STAGE_start, STAGE_far_begin, STAGE_friction,
    STAGE_begun,
    /* all lanes: energy, gradient, Hessian with planes eliminated; those within tolerance finish */
    STAGE_evaluate_open, STAGE_evaluate_pairs, STAGE_evaluate_far, STAGE_evaluate_close, STAGE_judge,
    /* the others: factor, solve, steps of planes, longest feasible step */
    STAGE_direction_open, STAGE_direction_pairs, STAGE_direction_close, STAGE_directed,
    /* lanes that finish: velocity and outputs */
    STAGE_energies, STAGE_finish, STAGE_finished};

static const stage_id rollout_search[] = {
    /* trial energy and certificate; the step is halved until it is accepted */
    STAGE_try_open, STAGE_try_pairs, STAGE_try_far, STAGE_try_close, STAGE_tried, STAGE_accept,
    /* trials that left the boxes within which the pair list is complete */
    STAGE_leave, STAGE_boxes_trial, STAGE_add_pairs, STAGE_start, STAGE_search};

static const stage_id reverse_start[] = {STAGE_back_fetch, STAGE_back_start, STAGE_reverse_start,
                                         STAGE_back_finished};

static const stage_id reverse_step[] = {
    /* the step's start as in the forward pass, then its recorded end */
    STAGE_back_load, STAGE_begin, STAGE_start, STAGE_far_begin, STAGE_friction, STAGE_back_end,
    STAGE_evaluate_open, STAGE_evaluate_pairs, STAGE_evaluate_far, STAGE_evaluate_close,
    /* its adjoint */
    STAGE_reverse_open, STAGE_reverse_pairs, STAGE_reverse_far, STAGE_reverse_close, STAGE_back_store,
    /* lanes that are at the start of their rollout */
    STAGE_back_start, STAGE_reverse_start, STAGE_back_finished};

#define LIST(stages)                                                                                         \
  { stages, (int)(sizeof(stages) / sizeof *(stages)) }
const program program_rollout = {LIST(all_clear), LIST(rollout_start), LIST(rollout_step),
                                 LIST(rollout_search)};
const program program_reverse = {LIST(all_clear), LIST(reverse_start), LIST(reverse_step), {NULL, 0}};

const uint8_t stage_decides[STAGE_COUNT] = {
#define STAGE(name) 0,
#define DECIDE(name) 1,
#include "kernels/method/stages.def"
};

abut_status program_may_enqueue(const abut_batch *b, int waits) {
  if (!b->backend->enqueue)
    return abut_fail(ABUT_ERROR_ARGUMENT, "enqueue: this batch is on the CPU, which has no stream");
  if (waits)
    return abut_fail(ABUT_ERROR_ARGUMENT,
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
  to->need_far = from->need_far;
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
