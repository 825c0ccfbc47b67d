/* cuda_device.h: what the CUDA backend keeps of a batch, for the files it consists of: backend_cuda.c
 * (graphs, memory, programs that the host waits for), cuda_stream.c (enqueued ones), cuda_copy.c (state and
 * the caller's arrays), cuda_profile.c (programs timed stage by stage). */
#ifndef ABUT_CUDA_DEVICE_H
#define ABUT_CUDA_DEVICE_H
#include "host/batch/backend.h"
#include "host/cuda/cuda_context.h"
#include "host/cuda/cuda_memory.h"

enum { ROUNDS = 8, SEARCHES = 2, BLOCK = 64 };

typedef struct graph {
  cudaGraph_t graph;
  cudaGraphExec_t run;
} graph;

/* A program in one of its two forms: whole loops on the device, or the host repeats start and rounds. */
typedef struct program_graphs {
  graph whole, clear, start, rounds;
} program_graphs;

typedef struct cuda_device {
  cuda_context gpu;
  cuda_arena arena;
  device_batch at;
  int loops; /* conditional nodes work here */
  cudaStream_t watch;
  cudaStream_t outer, inner; /* captures go there: of programs, of the bodies of their loops */
  program_graphs graphs[2];  /* of the rollout, of its reverse pass */
  char *staging;             /* room for the caller's arrays in host memory */
  size_t staging_bytes;
  cudaEvent_t begun;    /* a program that the host waits for */
  program_io *watched;  /* pinned */
  program_tally *tally; /* at one address as long as the batch lives */
  program_tally *read;  /* pinned */
  int64_t generation;   /* of the memory that programs use */
  int64_t token;        /* of the last rollout that was called to be recorded */
  int enqueued, untold; /* something may be under way; it counted what abut_batch_sync did not tell yet */
  int captured;         /* the caller may replay something whenever he likes */
  int device_newer;
} cuda_device;

#define CK(call) CUDA_TRY(&c->gpu, call)
/* To the end of the block the batch's device is the current one. */
#define USE(b) CUDA_USE(&(b)->cuda->gpu)

abut_status cuda_launch_stage(abut_batch *b, int stage, cudaStream_t s);
/* How often a round launches a phase: one that repeats cannot ask in between. */
static inline int phase_repeats(const phase *p) { return p->repeat < 0 ? 1 : SEARCHES; }
void cuda_graph_free(graph *g);
/* Sets io for the kernels: where state, parameters and counters lie. */
abut_status cuda_begin(abut_batch *b, const program *p, const program_io *io, cudaStream_t s);
/* Launches the whole program, or captures it: loops and all. */
abut_status cuda_emit(abut_batch *b, const program *p, cudaStream_t s);
abut_status cuda_whole(abut_batch *b, const program *p, graph **g);
/* Runs a program by its parts AGAIN_*: the host decides on each repetition. A step part is any number of
 * rounds. */
typedef abut_status (*cuda_part)(abut_batch *b, void *arg, int part);
abut_status cuda_repeat(abut_batch *b, program_io *io, program_report report, cuda_part run, void *arg);
/* A conditional node behind what s has captured, and the graph that it runs. launch puts the kernel that
 * first decides on s. */
typedef abut_status (*decide_launch)(cuda_device *c, int which, cudaGraphConditionalHandle handle,
                                     cudaStream_t s);
abut_status cuda_conditional(cuda_device *c, enum cudaGraphConditionalNodeType type, decide_launch launch,
                             int which, cudaStream_t s, cudaGraphConditionalHandle *handle,
                             cudaGraph_t *body);

/* cuda_copy.c */
abut_status cuda_push(abut_batch *b);
abut_status cuda_fetch(abut_batch *b);
abut_status cuda_holds(const abut_options *o, const char *name, const abut_tensor *t);
abut_status cuda_stage(cuda_device *c, const caller_array *arrays, int count);
abut_status cuda_unstage(cuda_device *c, const caller_array *arrays, int count, int wanted);

/* cuda_profile.c: into b->profile */
abut_status cuda_run_profiled(abut_batch *b, const program *p, program_io *io, program_report report);

/* cuda_stream.c */
abut_status cuda_enqueue(abut_batch *b, const program *p, const program_io *io);
abut_status cuda_settle(abut_batch *b, abut_rollout_result *result);
/* Graphs that were captured so far do nothing from now on. */
abut_status cuda_void_graphs(cuda_device *c);

#endif
