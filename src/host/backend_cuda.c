/* backend_cuda.c: programs on a GPU: memory, launches, one graph per program. No arithmetic: stages are the
 * kernels of src/kernels/cuda.cu.
 *
 * Every environment has a lane group of its own, of one lane. Everything but the record of a rollout and the
 * room for the caller's arrays lies in one arena, allocated when the batch is. A program is captured once
 * into a graph: its lists inside loops that the device itself decides to repeat (conditional nodes); where
 * the driver has none, the host repeats a graph of ROUNDS rounds until all environments are finished. Both
 * run the same kernels in the same order.
 *
 * The first failure of a call is kept: what the device computed by then is lost, and so is the batch. */
#include "backend.h"
#include "status.h"
#include <string.h>

#ifndef ABUT_HAVE_CUDA

static abut_status cuda_find(const abut_options *options) {
  (void)options;
  return abut_fail(ABUT_ERROR_DEVICE, "no CUDA: this build has no kernels for GPUs (docs/gpu.md)");
}
const backend backend_cuda = {.find = cuda_find};

#else
#include "cuda_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LOOPS_SINCE = 12040 /* version of the driver */ };
/* From here on a batch has threads enough without teams. */
enum { TEAM_LIMIT = 16384 };

/* ---------------------------------------------------------------- finding a device */

/* What the host needs to know of the kernels; their functions are in cuda_stages. */
static const abut_kernels cuda_f64 = {.isa = "cuda", .lanes = 1, .elem_size = 8},
                          cuda_f32 = {.isa = "cuda", .lanes = 1, .elem_size = 4};

static abut_status cuda_find(const abut_options *o) {
  int count = 0, driver = 0;
  if (o->nenv > INT32_MAX / 32)
    return abut_fail(ABUT_ERROR_ARGUMENT, "%lld environments: one device takes %d at most",
                     (long long)o->nenv, INT32_MAX / 32);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return abut_fail(ABUT_ERROR_DEVICE, "no CUDA driver on this machine: device cuda cannot be used");
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0)
    return abut_fail(ABUT_ERROR_DEVICE, "no CUDA device: %s",
                     code != cudaSuccess ? cudaGetErrorString(code) : "the driver has none");
  if (o->device_id >= count)
    return abut_fail(ABUT_ERROR_ARGUMENT, "device_id %d does not exist, this machine has %d CUDA device%s",
                     o->device_id, count, PLURAL(count));
  return ABUT_OK;
}
static const abut_kernels *cuda_kernels(const abut_options *o) {
  return o->dtype == ABUT_F64 ? &cuda_f64 : &cuda_f32;
}

/* ---------------------------------------------------------------- graphs */

abut_status cuda_check(cuda_device *c, cudaError_t code, const char *what) {
  if (c->lost != ABUT_OK) return abut_fail(c->lost, "%s", c->why);
  if (code == cudaSuccess) return ABUT_OK;
  abut_status status = code == cudaErrorMemoryAllocation ? ABUT_ERROR_MEMORY : ABUT_ERROR_DEVICE;
  abut_status failed = abut_fail(status, "%s: %s", what, cudaGetErrorString(code));
  if (status == ABUT_ERROR_MEMORY) return failed; /* nothing ran: the batch is as it was */
  c->lost = ABUT_ERROR_DEVICE;
  snprintf(c->why, sizeof c->why, "the batch is lost: %s: %s", what, cudaGetErrorString(code));
  return failed;
}

static int team_of(const abut_batch *b) {
  return b->options.team ? b->options.team : b->options.nenv < TEAM_LIMIT ? 32 : 1;
}

abut_status cuda_launch_stage(abut_batch *b, stage_id stage) {
  cuda_device *c = b->cuda;
  int num = (int)b->options.nenv, team = team_of(b);
  const void *const *stages = cuda_stages(b->options.dtype, team);
  void *args[] = {&c->at.params, &c->at.groups, &c->at.io, &num};
  dim3 grid = {(unsigned)(((int64_t)num * team + BLOCK - 1) / BLOCK), 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(stages[stage], grid, block, args, 0, c->stream));
  return ABUT_OK;
}

static abut_status launch_list(abut_batch *b, stage_list list) {
  for (int i = 0; i < list.count; i++) ABUT_TRY(cuda_launch_stage(b, list.stages[i]));
  return ABUT_OK;
}

static abut_status launch_again(cuda_device *c, int which, cudaGraphConditionalHandle loop) {
  void *args[] = {&c->at.io, &which, &loop};
  dim3 one = {1, 1, 1};
  CK(cudaLaunchKernel(cuda_again(), one, one, args, 0, c->stream));
  return ABUT_OK;
}

static abut_status launch_rounds(abut_batch *b, const program *p, int rounds) {
  for (int i = 0; i < rounds; i++) {
    ABUT_TRY(launch_list(b, p->step));
    for (int j = 0; j < SEARCHES; j++) ABUT_TRY(launch_list(b, p->search));
  }
  return ABUT_OK;
}

/* A loop whose body repeats until again.cu's `which` says no; after *last, and then it is the last node. */
static abut_status add_loop(abut_batch *b, const program *p, int which, cudaGraph_t g,
                            cudaGraphNode_t *last) {
  cuda_device *c = b->cuda;
  cudaGraphConditionalHandle handle;
  CK(cudaGraphConditionalHandleCreate(&handle, g, 1, cudaGraphCondAssignDefault));
  struct cudaGraphNodeParams node = {.type = cudaGraphNodeTypeConditional};
  node.conditional.handle = handle;
  node.conditional.type = cudaGraphCondTypeWhile;
  node.conditional.size = 1;
  cudaGraphNode_t added;
#if CUDART_VERSION >= 13000
  CK(cudaGraphAddNode(&added, g, last, NULL, 1, &node));
#else
  CK(cudaGraphAddNode(&added, g, last, 1, &node));
#endif
  *last = added;
  CK(cudaStreamBeginCaptureToGraph(c->stream, node.conditional.phGraph_out[0], NULL, NULL, 0,
                                   cudaStreamCaptureModeThreadLocal));
  abut_status status = which == AGAIN_START ? launch_list(b, p->start) : launch_rounds(b, p, 1);
  if (status == ABUT_OK) status = launch_again(c, which, handle);
  cudaGraph_t body;
  cudaError_t end = cudaStreamEndCapture(c->stream, &body);
  return status != ABUT_OK ? status : cuda_check(c, end, "cudaStreamEndCapture");
}

/* Captures what `which` asks for into a graph of its own. */
static abut_status capture(abut_batch *b, const program *p, int which, graph *g) {
  cuda_device *c = b->cuda;
  CK(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
  abut_status status = which == AGAIN_CLEAR   ? launch_list(b, p->clear)
                       : which == AGAIN_START ? launch_list(b, p->start)
                                              : launch_rounds(b, p, ROUNDS);
  cudaError_t end = cudaStreamEndCapture(c->stream, &g->graph);
  if (status != ABUT_OK) return status;
  CK(end);
  return ABUT_OK;
}

static abut_status build_whole(abut_batch *b, const program *p, graph *g) {
  cuda_device *c = b->cuda;
  ABUT_TRY(capture(b, p, AGAIN_CLEAR, g));
  cudaGraphNode_t last;
  size_t one = 1;
  CK(cudaGraphGetNodes(g->graph, &last, &one)); /* clear is one kernel */
  ABUT_TRY(add_loop(b, p, AGAIN_START, g->graph, &last));
  ABUT_TRY(add_loop(b, p, AGAIN_STEP, g->graph, &last));
  CK(cudaGraphInstantiate(&g->run, g->graph, 0));
  return ABUT_OK;
}
static abut_status build_part(abut_batch *b, const program *p, int which, graph *g) {
  cuda_device *c = b->cuda;
  ABUT_TRY(capture(b, p, which, g));
  CK(cudaGraphInstantiate(&g->run, g->graph, 0));
  return ABUT_OK;
}
void cuda_graph_free(graph *g) {
  if (g->run) cudaGraphExecDestroy(g->run);
  if (g->graph) cudaGraphDestroy(g->graph);
  *g = (graph){0};
}
static void graphs_free(program_graphs *p) {
  cuda_graph_free(&p->whole);
  cuda_graph_free(&p->clear);
  cuda_graph_free(&p->start);
  cuda_graph_free(&p->rounds);
}

/* ---------------------------------------------------------------- memory */

static abut_status use_device(const abut_batch *b) {
  cuda_device *c = b->cuda;
  CK(cudaSetDevice(b->options.device_id));
  return ABUT_OK;
}

static int64_t cuda_lane_bytes(const abut_batch *b) {
  return (int64_t)cuda_layout(b, team_of(b), NULL, &(device_batch){0});
}

static void cuda_close(abut_batch *b) {
  cuda_device *c = b->cuda;
  if (!c) return;
  graphs_free(&c->rollout);
  graphs_free(&c->reverse);
  if (c->watched) cudaFreeHost(c->watched);
  if (c->staging) cudaFree(c->staging);
  if (c->arena.base) cudaFree(c->arena.base);
  if (c->watch) cudaStreamDestroy(c->watch);
  if (c->stream) cudaStreamDestroy(c->stream);
  free(c);
  b->cuda = NULL;
}

static abut_status cuda_copy(const abut_batch *b, void *to, const void *from, size_t bytes) {
  cuda_device *c = b->cuda;
  if (bytes == 0) return ABUT_OK;
  ABUT_TRY(use_device(b));
  CK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, c->stream));
  CK(cudaStreamSynchronize(c->stream));
  return ABUT_OK;
}

static abut_status cuda_allocate(const abut_batch *b, size_t bytes, char **memory) {
  cuda_device *c = b->cuda;
  ABUT_TRY(use_device(b));
  CK(cudaMalloc((void **)memory, bytes ? bytes : 1));
  return ABUT_OK;
}
static void cuda_release(const abut_batch *b, void *memory) {
  (void)b; /* whichever device is current */
  if (memory) cudaFree(memory);
}

/* Loads every kernel: a capture must not be the first to ask for one. */
static abut_status load_kernels(abut_batch *b) {
  cuda_device *c = b->cuda;
  struct cudaFuncAttributes attributes;
  const void *const *stages = cuda_stages(b->options.dtype, team_of(b));
  for (int i = 0; i < STAGE_COUNT; i++) CK(cudaFuncGetAttributes(&attributes, stages[i]));
  CK(cudaFuncGetAttributes(&attributes, cuda_again()));
  return ABUT_OK;
}

static abut_status open_memory(abut_batch *b) {
  cuda_device *c = b->cuda;
  size_t bytes = cuda_layout(b, team_of(b), NULL, &c->at), free_bytes, total;
  CK(cudaMemGetInfo(&free_bytes, &total));
  if (bytes > free_bytes)
    return abut_fail(ABUT_ERROR_MEMORY, "%lld environment%s %.1f GiB, device %d has %.1f GiB free",
                     (long long)b->options.nenv, b->options.nenv == 1 ? " needs" : "s need",
                     (double)bytes / 0x1p30, b->options.device_id, (double)free_bytes / 0x1p30);
  CK(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&c->watch, cudaStreamNonBlocking));
  CK(cudaMalloc((void **)&c->arena.base, bytes));
  CK(cudaMemsetAsync(c->arena.base, 0, bytes, c->stream));
  CK(cudaHostAlloc((void **)&c->watched, sizeof *c->watched, cudaHostAllocDefault));
  cuda_layout(b, team_of(b), c->arena.base, &c->at);
  return cuda_fill(b, team_of(b), &c->at);
}

static abut_status cuda_open(abut_batch *b) {
  cuda_device *c = b->cuda = calloc(1, sizeof *b->cuda);
  if (!c) return abut_fail(ABUT_ERROR_MEMORY, "batch: out of memory");
  int driver = 0;
  cudaDriverGetVersion(&driver);
  c->loops = driver >= LOOPS_SINCE;
  c->host_newer = 1;
  abut_status status = use_device(b);
  if (status == ABUT_OK) status = load_kernels(b);
  if (status == ABUT_OK) status = open_memory(b);
  if (status != ABUT_OK && c->lost == ABUT_OK) { /* a batch that could not grow has nothing to go on with */
    c->lost = status;
    snprintf(c->why, sizeof c->why, "the batch is lost: %s", abut_error_message());
  }
  return status;
}

/* ---------------------------------------------------------------- running */

static abut_status push_state(abut_batch *b) {
  cuda_device *c = b->cuda;
  if (!c->host_newer) return ABUT_OK;
  state_copy copies[STATE_COPIES];
  cuda_state_copies(b, &c->at.state, copies);
  for (int i = 0; i < STATE_COPIES; i++)
    CK(cudaMemcpyAsync(copies[i].device, copies[i].host, copies[i].bytes, cudaMemcpyDefault, c->stream));
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &b->parameters[i];
    c->at.parameters[i].rows = p->rows;
    CK(cudaMemcpyAsync(c->at.parameters[i].data, p->data, (size_t)(p->rows * p->n) * elem_size(b),
                       cudaMemcpyDefault, c->stream));
  }
  c->host_newer = 0;
  return ABUT_OK;
}

static abut_status cuda_fetch(abut_batch *b, int write) {
  cuda_device *c = b->cuda;
  if (c->device_newer) {
    state_copy copies[STATE_COPIES];
    ABUT_TRY(use_device(b));
    cuda_state_copies(b, &c->at.state, copies);
    for (int i = 0; i < STATE_COPIES; i++)
      CK(cudaMemcpyAsync(copies[i].host, copies[i].device, copies[i].bytes, cudaMemcpyDefault, c->stream));
    CK(cudaStreamSynchronize(c->stream));
    c->device_newer = 0;
  }
  if (write) c->host_newer = 1;
  return ABUT_OK;
}

static abut_status cuda_commit(abut_batch *b) {
  cuda_device *c = b->cuda;
  batch_state swap = c->at.state;
  c->at.state = c->at.next;
  c->at.next = swap;
  c->device_newer = 1;
  return cuda_copy(b, b->state.status, c->at.state.status, (size_t)b->options.nenv * sizeof(uint32_t));
}

/* The caller's arrays, in device memory while the program runs. */
static abut_status stage_arrays(abut_batch *b, caller_array *arrays, int count) {
  cuda_device *c = b->cuda;
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += round_up(arrays[i].bytes);
  if (bytes > c->staging_bytes) {
    if (c->staging) CK(cudaFree(c->staging));
    c->staging = NULL;
    c->staging_bytes = 0;
    CK(cudaMalloc((void **)&c->staging, bytes));
    c->staging_bytes = bytes;
  }
  char *at = c->staging;
  for (int i = 0; i < count; i++) {
    if (arrays[i].input)
      CK(cudaMemcpyAsync(at, *arrays[i].pointer, arrays[i].bytes, cudaMemcpyDefault, c->stream));
    arrays[i].host = *arrays[i].pointer;
    *arrays[i].pointer = at;
    at += round_up(arrays[i].bytes);
  }
  return ABUT_OK;
}
static abut_status unstage_arrays(cuda_device *c, program_io *io, caller_array *arrays, int count) {
  for (int i = 0; i < count; i++) {
    if (!arrays[i].input && !io->need && !io->stop)
      CK(cudaMemcpyAsync(arrays[i].host, *arrays[i].pointer, arrays[i].bytes, cudaMemcpyDefault, c->stream));
    *arrays[i].pointer = arrays[i].host;
  }
  CK(cudaStreamSynchronize(c->stream));
  return ABUT_OK;
}

/* Reads the counters while the device works, and passes a stop on. */
static abut_status watch(abut_batch *b, const program_io *io, program_report report) {
  cuda_device *c = b->cuda;
  const struct timespec pause = {0, 200 * 1000}; /* short, for short rollouts; told every 500th time */
  for (int i = 0; report.progress && cudaStreamQuery(c->stream) == cudaErrorNotReady; i++) {
    nanosleep(&pause, NULL);
    if (i % 500 != 499) continue;
    CK(cudaMemcpyAsync(c->watched, c->at.io, sizeof *c->watched, cudaMemcpyDefault, c->watch));
    CK(cudaStreamSynchronize(c->watch));
    if (program_reports(report, io, c->watched->steps)) {
      c->watched->stop = 1;
      CK(cudaMemcpyAsync(&c->at.io->stop, &c->watched->stop, sizeof c->watched->stop, cudaMemcpyDefault,
                         c->watch));
      CK(cudaStreamSynchronize(c->watch));
      break;
    }
  }
  CK(cudaStreamSynchronize(c->stream));
  return ABUT_OK;
}

static abut_status read_counters(cuda_device *c, program_io *io) {
  CK(cudaMemcpyAsync(c->watched, c->at.io, sizeof *c->watched, cudaMemcpyDefault, c->stream));
  CK(cudaStreamSynchronize(c->stream));
  program_io_counters(io, c->watched);
  return ABUT_OK;
}

static abut_status run_loops(abut_batch *b, const program *p, program_graphs *g, program_io *io,
                             program_report report) {
  cuda_device *c = b->cuda;
  if (!g->whole.run) ABUT_TRY(build_whole(b, p, &g->whole));
  CK(cudaGraphLaunch(g->whole.run, c->stream));
  ABUT_TRY(watch(b, io, report));
  return read_counters(c, io);
}

abut_status cuda_repeat(abut_batch *b, program_io *io, program_report report, cuda_part run, void *arg) {
  cuda_device *c = b->cuda;
  ABUT_TRY(run(b, arg, AGAIN_CLEAR));
  while (io->opened < io->nenv && !io->need && !io->stop) {
    ABUT_TRY(run(b, arg, AGAIN_START));
    ABUT_TRY(read_counters(c, io));
  }
  while (io->finished < io->nenv && !io->need && !io->stop) {
    ABUT_TRY(run(b, arg, AGAIN_STEP));
    ABUT_TRY(read_counters(c, io));
    if (report.progress && program_reports(report, io, io->steps)) io->stop = 1;
  }
  return ABUT_OK;
}

static abut_status launch_part(abut_batch *b, void *arg, int part) {
  cuda_device *c = b->cuda;
  program_graphs *g = arg;
  const graph *chosen = part == AGAIN_CLEAR ? &g->clear : part == AGAIN_START ? &g->start : &g->rounds;
  CK(cudaGraphLaunch(chosen->run, c->stream));
  return ABUT_OK;
}

static abut_status run_unrolled(abut_batch *b, const program *p, program_graphs *g, program_io *io,
                                program_report report) {
  if (!g->clear.run) ABUT_TRY(build_part(b, p, AGAIN_CLEAR, &g->clear));
  if (!g->start.run) ABUT_TRY(build_part(b, p, AGAIN_START, &g->start));
  if (!g->rounds.run) ABUT_TRY(build_part(b, p, AGAIN_STEP, &g->rounds));
  return cuda_repeat(b, io, report, launch_part, g);
}

static abut_status run_program(abut_batch *b, const program *p, program_io *io, program_report report) {
  cuda_device *c = b->cuda;
  program_graphs *g = p == &program_rollout ? &c->rollout : &c->reverse;
  program_io device = *io;
  device.state = c->at.state;
  device.next = c->at.next;
  memcpy(device.parameters, c->at.parameters, sizeof device.parameters);
  *c->watched = device;
  CK(cudaMemcpyAsync(c->at.io, c->watched, sizeof *c->watched, cudaMemcpyDefault, c->stream));
  CK(cudaStreamSynchronize(c->stream)); /* watched is read into below */
  if (b->profile) return cuda_run_profiled(b, p, io, report);
  return c->loops ? run_loops(b, p, g, io, report) : run_unrolled(b, p, g, io, report);
}

static abut_status cuda_run(abut_batch *b, const program *p, program_io *io, program_report report) {
  cuda_device *c = b->cuda;
  caller_array arrays[CALLER_ARRAYS];
  ABUT_TRY(use_device(b));
  ABUT_TRY(push_state(b));
  int count = cuda_caller_arrays(b, io, arrays);
  ABUT_TRY(stage_arrays(b, arrays, count));
  abut_status status = run_program(b, p, io, report);
  abut_status copied = unstage_arrays(c, io, arrays, count);
  return status != ABUT_OK ? status : copied;
}

void cuda_unroll(abut_batch *b) { b->cuda->loops = 0; }

const backend backend_cuda = {cuda_find,  cuda_kernels,  cuda_lane_bytes, cuda_open,
                              cuda_close, cuda_allocate, cuda_release,    cuda_copy,
                              cuda_run,   cuda_commit,   cuda_fetch};
#endif
