/* program.c: what a step does.
 *
 * Every environment is a small state machine that runs through these stages on its own clock: lanes of a
 * group share the instruction stream, not the step. A lane that converges early starts its next step while
 * its neighbours still iterate, so stragglers cost their own lane only. Stages leave lanes they do not work
 * for untouched, which is why a result cannot depend on who else is in the group.
 *
 * All decisions are stages too (src/kernels/rollout.inl, separate.inl, gradient.inl), so that whoever runs a
 * program, threads here or a GPU, only repeats lists. */
#include "program.h"
#include <string.h>
#include <time.h>

static const stage_id rollout_start[] = {
    STAGE_fetch, /* state, parameters and warm contacts of an environment */
    /* shapes that touch move apart, a round at a time */
    STAGE_begin, STAGE_boxes, STAGE_separate_list, STAGE_gaps, STAGE_separate_push, STAGE_displace,
    /* the rest writes its first outputs */
    STAGE_opening, STAGE_begin, STAGE_open};

static const stage_id rollout_step[] = {
    /* lanes that begin a step: controls, poses at q and q-, boxes, the pair list, first planes of new pairs,
       lagged friction */
    STAGE_load, STAGE_begin, STAGE_boxes, STAGE_list_pairs, STAGE_start, STAGE_friction, STAGE_begun,
    /* all lanes: energy, gradient, Hessian with planes eliminated; those within tolerance finish */
    STAGE_evaluate_open, STAGE_evaluate_pairs, STAGE_evaluate_close, STAGE_judge,
    /* the others: factor, solve, steps of planes, longest feasible step */
    STAGE_direction_open, STAGE_direction_pairs, STAGE_direction_close, STAGE_directed,
    /* lanes that finish: velocity and outputs */
    STAGE_energies, STAGE_finish, STAGE_finished};

static const stage_id rollout_search[] = {
    /* trial energy and certificate; the step is halved until it is accepted */
    STAGE_try_open, STAGE_try_pairs, STAGE_try_close, STAGE_tried, STAGE_accept,
    /* trials that left the boxes within which the pair list is complete */
    STAGE_leave, STAGE_boxes_trial, STAGE_add_pairs, STAGE_start, STAGE_search};

static const stage_id reverse_start[] = {STAGE_back_fetch, STAGE_back_start, STAGE_reverse_start,
                                         STAGE_back_finished};

static const stage_id reverse_step[] = {
    /* the step's start as in the forward pass, then its recorded end */
    STAGE_back_load, STAGE_begin, STAGE_start, STAGE_friction, STAGE_back_end, STAGE_evaluate_open,
    STAGE_evaluate_pairs, STAGE_evaluate_close,
    /* its adjoint */
    STAGE_reverse_open, STAGE_reverse_pairs, STAGE_reverse_close, STAGE_back_store,
    /* lanes that are at the start of their rollout */
    STAGE_back_start, STAGE_reverse_start, STAGE_back_finished};

#define LIST(stages)                                                                                         \
  { stages, (int)(sizeof(stages) / sizeof *(stages)) }
const program program_rollout = {LIST(rollout_start), LIST(rollout_step), LIST(rollout_search)};
const program program_reverse = {LIST(reverse_start), LIST(reverse_step), {NULL, 0}};

const uint8_t stage_decides[STAGE_COUNT] = {
#define STAGE(name) 0,
#define DECIDE(name) 1,
#include "kernels/stages.def"
};

program_io program_io_of(const abut_batch *b) {
  program_io io = {
      .nenv = b->options.nenv, .capacity = b->capacity, .state = b->state, .next = b->next, .tape = b->tape};
  memcpy(io.parameters, b->parameters, sizeof io.parameters);
  return io;
}

/* ---------------------------------------------------------------- on threads */

typedef struct thread_run {
  const program *program;
  program_io *io;
  program_report report;
  double reported; /* time of the last report (s) */
} thread_run;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The calling thread's worker reports. */
static void report_progress(const worker *w, thread_run *run) {
  program_io *io = run->io;
  if (!run->report.progress || w != w->batch->workers) return;
  double t = seconds();
  if (t - run->reported < 0.1) return;
  run->reported = t;
  double done = (double)__atomic_load_n(&io->steps, __ATOMIC_RELAXED);
  if (run->report.progress(run->report.user, done / ((double)io->nenv * (double)io->nstep)))
    __atomic_store_n(&io->stop, 1, __ATOMIC_RELAXED);
}

static void run_list(worker *w, const stage_list *list, program_io *io) {
  const abut_batch *b = w->batch;
  for (int i = 0; i < list->count; i++)
    if (stage_decides[list->stages[i]] || w->g.live)
      b->kernels->stage[list->stages[i]](&b->params, &w->g, io);
}

static int lanes_busy(const worker *w) {
  int busy = 0;
  for (int lane = 0; lane < w->batch->kernels->lanes; lane++) busy += w->g.env[lane] >= 0;
  return busy;
}
static int more_environments(const program_io *io) {
  return __atomic_load_n(&io->next_env, __ATOMIC_RELAXED) < io->nenv;
}

static void run_worker(worker *w, void *arg) {
  thread_run *run = arg;
  const program *p = run->program;
  program_io *io = run->io;
  worker_clear(w);
  for (;;) {
    int busy = lanes_busy(w);
    if (w->g.separating || (busy < w->batch->kernels->lanes && more_environments(io)))
      run_list(w, &p->start, io);
    else if (!busy)
      return;
    run_list(w, &p->step, io);
    while (w->g.searching) {
      if (__atomic_load_n(&io->need, __ATOMIC_RELAXED)) return;
      run_list(w, &p->search, io);
    }
    report_progress(w, run);
    if (__atomic_load_n(&io->need, __ATOMIC_RELAXED) || __atomic_load_n(&io->stop, __ATOMIC_RELAXED)) return;
  }
}

void program_run(abut_batch *b, const program *p, program_io *io, program_report report) {
  thread_run run = {p, io, report, 0};
  workers_run(b, run_worker, &run);
}
