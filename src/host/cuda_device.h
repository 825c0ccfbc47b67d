/* cuda_device.h: a batch on its GPU, for the files that run programs there (backend_cuda.c, cuda_profile.c).
 */
#ifndef ABUT_CUDA_DEVICE_H
#define ABUT_CUDA_DEVICE_H
#include "cuda_memory.h"

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
  cuda_arena arena;
  device_batch at;
  int loops; /* conditional nodes work here */
  cudaStream_t stream, watch;
  program_graphs rollout, reverse;
  char *staging; /* room for the caller's arrays, in device memory */
  size_t staging_bytes;
  program_io *watched; /* pinned */
  int host_newer, device_newer;
  abut_status lost; /* not ABUT_OK: the device failed, and so does every later call */
  char why[256];
} cuda_device;

/* Keeps the first failure. */
abut_status cuda_check(cuda_device *c, cudaError_t code, const char *what);
#define CK(call) ABUT_TRY(cuda_check(c, call, #call))

abut_status cuda_launch_stage(abut_batch *b, stage_id stage);
void cuda_graph_free(graph *g);

/* Runs a program by its parts AGAIN_*: the host decides on each repetition. A step part is any number of
 * rounds. */
typedef abut_status (*cuda_part)(abut_batch *b, void *arg, int part);
abut_status cuda_repeat(abut_batch *b, program_io *io, program_report report, cuda_part run, void *arg);

/* Stage by stage, into b->profile (cuda_profile.c). */
abut_status cuda_run_profiled(abut_batch *b, const program *p, program_io *io, program_report report);

#endif
