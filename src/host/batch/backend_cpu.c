/* backend_cpu.c: programs on threads. Each worker has lanes of its own; environments come to whichever is
 * free. */
#include "host/batch/backend.h"
#include "host/base/kernels.h"
#include "host/base/memory.h"
#include "host/base/pool.h"
#include <stdlib.h>
#include <string.h>

static abut_status cpu_find(const abut_options *options) {
  (void)options;
  return ABUT_OK;
}
static abut_status cpu_kernels(const abut_options *options, const method_kernels **kernels) {
  return method_kernels_for(methods[options->method]->instances, options->dtype, kernels);
}

/* Threads that can have work: each takes a group of lanes full of environments at a time. */
static int32_t worker_count(const abut_batch *b) {
  int64_t lanes = b->kernels->lanes, groups = (b->options.nenv + lanes - 1) / lanes;
  return b->options.threads < groups ? b->options.threads : (int32_t)groups;
}
static int64_t cpu_lane_bytes(const abut_batch *b) { return bytes_add(0, worker_count(b), worker_bytes(b)); }

static void cpu_close(abut_batch *b) {
  for (int32_t i = 0; b->workers && i < b->nworker; i++) worker_destroy(&b->workers[i]);
  free(b->workers);
  b->workers = NULL;
}
static void cpu_destroy(abut_batch *b) {
  cpu_close(b);
  pool_destroy(b->pool);
  b->pool = NULL;
}
static abut_status cpu_open(abut_batch *b) {
  b->nworker = worker_count(b);
  if (!b->pool) ATTEMPT(pool_create(b->nworker, &b->pool));
  b->workers = calloc((size_t)b->nworker, sizeof *b->workers);
  if (!b->workers)
    return fail_with(ABUT_ERROR_MEMORY, "%d thread%s: out of memory", b->nworker, PLURAL(b->nworker));
  abut_status status = ABUT_OK;
  for (int32_t i = 0; i < b->nworker && status == ABUT_OK; i++) status = worker_create(b, &b->workers[i]);
  if (status != ABUT_OK) cpu_close(b);
  return status;
}

static abut_status cpu_allocate(const abut_batch *b, size_t bytes, char **memory) {
  (void)b;
  *memory = malloc(bytes ? bytes : 1);
  if (*memory) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "out of memory: %.3g GiB more", (double)bytes / 0x1p30);
}
static void cpu_release(const abut_batch *b, void *memory) {
  (void)b;
  free(memory);
}
static abut_status cpu_copy(const abut_batch *b, void *to, const void *from, size_t bytes) {
  (void)b;
  memcpy(to, from, bytes);
  return ABUT_OK;
}

typedef struct thread_run {
  const program *program;
  program_io *io;
  program_report report;
  double reported; /* time of the last report (s) */
} thread_run;

/* The calling thread's worker reports. */
static void report_progress(const worker *w, thread_run *run) {
  if (!run->report.progress || w != w->batch->workers) return;
  double t = program_seconds();
  if (t - run->reported < 0.1) return;
  run->reported = t;
  if (program_reports(run->report, run->io, __atomic_load_n(&run->io->steps, __ATOMIC_RELAXED)))
    __atomic_store_n(&run->io->stop, 1, __ATOMIC_RELAXED);
}

static uint32_t lanes_in(const worker *w, const phase *p) { return p->repeat < 0 ? 0 : w->g.set[p->repeat]; }

static void run_phase(worker *w, const phase *p, program_io *io) {
  const abut_batch *b = w->batch;
  for (int i = 0; i < p->count; i++) {
    int stage = p->stage[i].stage;
    if (b->method->decides[stage] || w->g.live) b->kernels->stage[stage](&b->params, &w->g, io);
  }
}

static int lanes_busy(const worker *w) {
  int busy = 0;
  for (int lane = 0; lane < w->batch->kernels->lanes; lane++) busy += w->g.env[lane] >= 0;
  return busy;
}
static int more_environments(const program_io *io) {
  return __atomic_load_n(&io->next_env, __ATOMIC_RELAXED) < io->nenv;
}
static int gives_up(const program_io *io) {
  return __atomic_load_n(&io->need, __ATOMIC_RELAXED) || __atomic_load_n(&io->stop, __ATOMIC_RELAXED);
}

static void run_worker(worker *w, void *arg) {
  thread_run *run = arg;
  const program *p = run->program;
  program_io *io = run->io;
  run_phase(w, &p->clear, io);
  while (!gives_up(io)) {
    int busy = lanes_busy(w);
    if (lanes_in(w, &p->start) || (busy < w->batch->kernels->lanes && more_environments(io)))
      run_phase(w, &p->start, io);
    else if (!busy)
      return;
    for (int32_t i = 0; i < p->turns; i++) {
      const phase *turn = &p->turn[i];
      if (turn->repeat < 0) run_phase(w, turn, io);
      while (lanes_in(w, turn) && !gives_up(io)) run_phase(w, turn, io);
    }
    report_progress(w, run);
  }
}

static abut_status cpu_run(abut_batch *b, const program *p, program_io *io, const caller_array *arrays,
                           int count, program_report report) {
  (void)arrays, (void)count;             /* io points to them */
  if (!b->workers) ATTEMPT(cpu_open(b)); /* there was no memory for them before */
  thread_run run = {p, io, report, 0};
  workers_run(b, run_worker, &run);
  return ABUT_OK;
}

static abut_status cpu_commit(abut_batch *b) {
  batch_state swap = b->state;
  b->state = b->next;
  b->next = swap;
  return ABUT_OK;
}
/* Nothing is ever elsewhere, or under way. */
static abut_status cpu_nothing(abut_batch *b) {
  (void)b;
  return ABUT_OK;
}
static abut_status cpu_settle(abut_batch *b, abut_rollout_result *result) {
  (void)b, (void)result;
  return ABUT_OK;
}

const backend backend_cpu = {.find = cpu_find,
                             .kernels = cpu_kernels,
                             .lane_bytes = cpu_lane_bytes,
                             .open = cpu_open,
                             .close = cpu_close,
                             .destroy = cpu_destroy,
                             .allocate = cpu_allocate,
                             .release = cpu_release,
                             .read = cpu_copy,
                             .write = cpu_copy,
                             .run = cpu_run,
                             .settle = cpu_settle,
                             .commit = cpu_commit,
                             .fetch = cpu_nothing,
                             .push = cpu_nothing};
