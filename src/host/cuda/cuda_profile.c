/* cuda_profile.c: a program on a GPU, timed stage by stage. The parts of a program are graphs, as where the
 * host decides on repetitions, with an event after each stage: the device itself notes the times, so that the
 * pace at which a host can launch does not count. Same kernels in the same order, so same results. */
#include "host/cuda/profile.h"

const char *stage_name(int32_t method, int32_t stage) {
  return stage < methods[method]->stages ? methods[method]->stage_names[stage] : NULL;
}
void batch_profile(abut_batch *b, stage_profile *profile) { b->profile = profile; }

#ifdef ABUT_HAVE_CUDA
#include "host/cuda/cuda_device.h"
#include "host/base/status.h"
#include <assert.h>
#include <string.h>

enum { STAGES = 96, IDLE_ROUNDS = 16 };

typedef struct timed_part {
  graph graph;
  int stages[STAGES];
  int count;
} timed_part;

typedef struct timed_program {
  timed_part part[AGAIN_STEP + 1];
  cudaEvent_t events[STAGES + 2]; /* the first two have nothing between them, then one follows each stage */
} timed_program;

static abut_status mark(cuda_device *c, cudaEvent_t event) {
  CK(cudaEventRecordWithFlags(event, c->outer, cudaEventRecordExternal));
  return ABUT_OK;
}

static abut_status add_phase(abut_batch *b, timed_program *t, timed_part *part, const phase *p) {
  for (int i = 0; i < p->count; i++) {
    assert(part->count < STAGES);
    ATTEMPT(cuda_launch_stage(b, p->stage[i].stage, b->cuda->outer));
    ATTEMPT(mark(b->cuda, t->events[part->count + 2]));
    part->stages[part->count++] = p->stage[i].stage;
  }
  return ABUT_OK;
}

static abut_status add_part(abut_batch *b, const program *p, timed_program *t, int which) {
  timed_part *part = &t->part[which];
  for (int i = 0; i < 2; i++) ATTEMPT(mark(b->cuda, t->events[i]));
  if (which == AGAIN_CLEAR) return add_phase(b, t, part, &p->clear);
  if (which == AGAIN_START) return add_phase(b, t, part, &p->start);
  for (int i = 0; i < p->turns; i++)
    for (int j = 0; j < phase_repeats(&p->turn[i]); j++) ATTEMPT(add_phase(b, t, part, &p->turn[i]));
  return ABUT_OK;
}

static abut_status timed_open(abut_batch *b, const program *p, timed_program *t) {
  cuda_device *c = b->cuda;
  for (int i = 0; i < STAGES + 2; i++) CK(cudaEventCreate(&t->events[i]));
  for (int which = AGAIN_CLEAR; which <= AGAIN_STEP; which++) {
    graph *g = &t->part[which].graph;
    CK(cudaStreamBeginCapture(c->outer, cudaStreamCaptureModeThreadLocal));
    abut_status status = add_part(b, p, t, which);
    cudaError_t end = cudaStreamEndCapture(c->outer, &g->graph);
    if (status != ABUT_OK) return status;
    CK(end);
    CK(cudaGraphInstantiate(&g->run, g->graph, 0));
  }
  return ABUT_OK;
}
static void timed_close(timed_program *t) {
  for (int which = AGAIN_CLEAR; which <= AGAIN_STEP; which++) cuda_graph_free(&t->part[which].graph);
  for (int i = 0; i < STAGES + 2; i++)
    if (t->events[i]) cudaEventDestroy(t->events[i]);
}

/* seconds[0]: between the first two marks; seconds[i + 1]: of stage i. */
static abut_status run_part(abut_batch *b, timed_program *t, int which, double seconds[STAGES + 1]) {
  cuda_device *c = b->cuda;
  CK(cudaGraphLaunch(t->part[which].graph.run, c->gpu.stream));
  CK(cudaStreamSynchronize(c->gpu.stream));
  for (int i = 0; i <= t->part[which].count; i++) {
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, t->events[i], t->events[i + 1]));
    seconds[i] = 1e-3 * (double)ms;
  }
  return ABUT_OK;
}

static abut_status sum_part(abut_batch *b, void *arg, int which) {
  timed_program *t = arg;
  stage_profile *sum = b->profile;
  double seconds[STAGES + 1];
  ATTEMPT(run_part(b, t, which, seconds));
  for (int i = 0; i < t->part[which].count; i++) {
    sum->seconds[t->part[which].stages[i]] += seconds[i + 1];
    sum->launches[t->part[which].stages[i]]++;
  }
  return ABUT_OK;
}

/* Every environment is finished: what start and step cost now is what a launch costs. */
static abut_status time_idle(abut_batch *b, timed_program *t) {
  stage_profile *mean = b->profile;
  double seconds[STAGES + 1];
  int launches[MAX_STAGES] = {0};
  for (int round = 0; round < IDLE_ROUNDS; round++)
    for (int which = AGAIN_START; which <= AGAIN_STEP; which++) {
      const timed_part *part = &t->part[which];
      ATTEMPT(run_part(b, t, which, seconds));
      mean->gap += seconds[0] / (2 * IDLE_ROUNDS);
      for (int i = 0; i < part->count; i++) {
        mean->idle[part->stages[i]] += seconds[i + 1];
        launches[part->stages[i]]++;
      }
    }
  for (int s = 0; s < b->method->stages; s++)
    if (launches[s]) mean->idle[s] /= launches[s];
  return ABUT_OK;
}

abut_status cuda_run_profiled(abut_batch *b, const program *p, program_io *io, program_report report) {
  timed_program t;
  memset(&t, 0, sizeof t);
  memset(b->profile, 0, sizeof *b->profile);
  abut_status status = timed_open(b, p, &t);
  if (status == ABUT_OK) status = cuda_repeat(b, io, report, sum_part, &t);
  if (status == ABUT_OK && !io->need && !io->stop) status = time_idle(b, &t);
  timed_close(&t);
  return status;
}
#endif
