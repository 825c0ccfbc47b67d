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
#include "host/batch/backend.h"
#include "host/cuda/cuda_context.h"

#ifndef ABUT_HAVE_CUDA

static abut_status cuda_find(const abut_options *options) { return cuda_find_device(options->device_id); }
const backend backend_cuda = {.find = cuda_find};

#else
#include "host/cuda/cuda_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOPS_SINCE = 12040 /* version of the driver */ };
/* From here on a batch has threads enough without teams. */
enum { TEAM_LIMIT = 16384 };

/* ---------------------------------------------------------------- finding a device */

/* What the host needs to know of the kernels; their functions are in method->gpu. */
static const method_kernels cuda_f64 = {.isa = "cuda", .lanes = 1, .elem_size = 8},
                            cuda_f32 = {.isa = "cuda", .lanes = 1, .elem_size = 4};

static abut_status cuda_find(const abut_options *o) {
  if (o->nenv > INT32_MAX / 32)
    return fail_with(ABUT_ERROR_ARGUMENT, "%lld environments: one device takes %d at most",
                     (long long)o->nenv, INT32_MAX / 32);
  return cuda_find_device(o->device_id);
}
static abut_status cuda_kernels(const abut_options *o, const method_kernels **kernels) {
  *kernels = o->dtype == ABUT_F64 ? &cuda_f64 : &cuda_f32;
  return ABUT_OK;
}

/* ---------------------------------------------------------------- graphs */

/* Lists of its own are the work of a team's leader alone. */
static int team_of(const abut_batch *b) {
  if (b->options.team) return b->options.team;
  return b->options.nenv < TEAM_LIMIT && !b->room ? 32 : 1;
}

static const void *const *stages_of(const abut_batch *b) {
  return b->method->gpu[b->options.dtype == ABUT_F32][team_of(b) == 32];
}

abut_status cuda_launch_stage(abut_batch *b, int stage, cudaStream_t s) {
  cuda_device *c = b->cuda;
  int num = (int)b->options.nenv, team = team_of(b);
  void *args[] = {&c->at.params, &c->at.groups, &c->at.io, &num};
  dim3 grid = {(unsigned)(((int64_t)num * team + BLOCK - 1) / BLOCK), 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(stages_of(b)[stage], grid, block, args, 0, s));
  return ABUT_OK;
}

static abut_status launch_phase(abut_batch *b, const phase *p, cudaStream_t s) {
  for (int i = 0; i < p->count; i++) ATTEMPT(cuda_launch_stage(b, p->stage[i].stage, s));
  return ABUT_OK;
}

static abut_status launch_again(cuda_device *c, int which, cudaGraphConditionalHandle loop, cudaStream_t s) {
  void *args[] = {&c->at.io, &which, &loop};
  dim3 one = {1, 1, 1};
  CK(cudaLaunchKernel(cuda_control(CONTROL_again), one, one, args, 0, s));
  return ABUT_OK;
}

static abut_status launch_rounds(abut_batch *b, const program *p, int rounds, cudaStream_t s) {
  for (int i = 0; i < rounds * p->turns; i++) {
    const phase *turn = &p->turn[i % p->turns];
    for (int j = 0; j < phase_repeats(turn); j++) ATTEMPT(launch_phase(b, turn, s));
  }
  return ABUT_OK;
}

abut_status cuda_begin(abut_batch *b, const program *p, const program_io *io, cudaStream_t s) {
  cuda_device *c = b->cuda;
  program_io device = *io;
  device.state = c->at.state;
  if (!p->reverse) device.next = c->at.next;
  memcpy(device.parameters, c->at.parameters, sizeof device.parameters);
  device.tally = c->tally;
  device.token = c->token += io->record;
  void *args[] = {&c->at.io, &device};
  dim3 one = {1, 1, 1};
  CK(cudaLaunchKernel(cuda_control(CONTROL_begin), one, one, args, 0, s));
  return ABUT_OK;
}

static abut_status launch_commit(abut_batch *b, cudaStream_t s) {
  cuda_device *c = b->cuda;
  int num = (int)b->options.nenv, e = b->kernels->elem_size;
  int qpos = b->model->nq * e, qvel = b->model->nv * e, act = b->model->na * e, contact = b->method->kept * e;
  void *args[] = {&c->at.io, &num, &qpos, &qvel, &act, &contact};
  dim3 grid = {(unsigned)(((int64_t)num * 32 + BLOCK - 1) / BLOCK), 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(cuda_control(CONTROL_commit), grid, block, args, 0, s));
  return ABUT_OK;
}

/* Where a capture stands: its graph, and the nodes that the next one follows. */
typedef struct capture_point {
  cudaGraph_t graph;
  const cudaGraphNode_t *nodes;
  const cudaGraphEdgeData *edges;
  size_t count;
} capture_point;

static abut_status find_point(cuda_device *c, cudaStream_t s, capture_point *at) {
  enum cudaStreamCaptureStatus status;
#if CUDART_VERSION >= 13000
  CK(cudaStreamGetCaptureInfo(s, &status, NULL, &at->graph, &at->nodes, &at->edges, &at->count));
#else
  CK(cudaStreamGetCaptureInfo(s, &status, NULL, &at->graph, &at->nodes, &at->count));
#endif
  return ABUT_OK;
}

abut_status cuda_conditional(cuda_device *c, enum cudaGraphConditionalNodeType type, decide_launch launch,
                             int which, cudaStream_t s, cudaGraphConditionalHandle *handle,
                             cudaGraph_t *body) {
  capture_point at;
  cudaGraphNode_t added;
  ATTEMPT(find_point(c, s, &at));
  CK(cudaGraphConditionalHandleCreate(handle, at.graph, 0, 0)); /* no default: the node may be in a loop */
  ATTEMPT(launch(c, which, *handle, s));
  ATTEMPT(find_point(c, s, &at));
  struct cudaGraphNodeParams node = {.type = cudaGraphNodeTypeConditional};
  node.conditional.handle = *handle;
  node.conditional.type = type;
  node.conditional.size = 1;
#if CUDART_VERSION >= 13000
  CK(cudaGraphAddNode(&added, at.graph, at.nodes, at.edges, at.count, &node));
  CK(cudaStreamUpdateCaptureDependencies(s, &added, NULL, 1, cudaStreamSetCaptureDependencies));
#else
  CK(cudaGraphAddNode(&added, at.graph, at.nodes, at.count, &node));
  CK(cudaStreamUpdateCaptureDependencies(s, &added, 1, cudaStreamSetCaptureDependencies));
#endif
  *body = node.conditional.phGraph_out[0];
  return ABUT_OK;
}

/* A loop whose body repeats until program_again's `which` says no. */
static abut_status add_loop(abut_batch *b, const program *p, int which, cudaStream_t s) {
  cuda_device *c = b->cuda;
  cudaGraphConditionalHandle handle;
  cudaGraph_t body;
  ATTEMPT(cuda_conditional(c, cudaGraphCondTypeWhile, launch_again, which, s, &handle, &body));
  CK(cudaStreamBeginCaptureToGraph(c->inner, body, NULL, NULL, 0, cudaStreamCaptureModeThreadLocal));
  abut_status status =
      which == AGAIN_START ? launch_phase(b, &p->start, c->inner) : launch_rounds(b, p, 1, c->inner);
  if (status == ABUT_OK) status = launch_again(c, which, handle, c->inner);
  cudaError_t end = cudaStreamEndCapture(c->inner, &body);
  return status != ABUT_OK ? status : cuda_check(&c->gpu, end, "cudaStreamEndCapture");
}

abut_status cuda_emit(abut_batch *b, const program *p, cudaStream_t s) {
  ATTEMPT(launch_phase(b, &p->clear, s));
  ATTEMPT(add_loop(b, p, AGAIN_START, s));
  ATTEMPT(add_loop(b, p, AGAIN_STEP, s));
  return launch_commit(b, s);
}

enum { WHOLE = -1 }; /* or AGAIN_*: one of the parts that the host repeats */

/* Captures what `which` asks for into a graph of its own. */
static abut_status build(abut_batch *b, const program *p, int which, graph *g) {
  cuda_device *c = b->cuda;
  CK(cudaStreamBeginCapture(c->outer, cudaStreamCaptureModeThreadLocal));
  abut_status status = which == WHOLE         ? cuda_emit(b, p, c->outer)
                       : which == AGAIN_CLEAR ? launch_phase(b, &p->clear, c->outer)
                       : which == AGAIN_START ? launch_phase(b, &p->start, c->outer)
                                              : launch_rounds(b, p, ROUNDS, c->outer);
  cudaError_t end = cudaStreamEndCapture(c->outer, &g->graph);
  if (status == ABUT_OK) status = cuda_check(&c->gpu, end, "cudaStreamEndCapture");
  if (status == ABUT_OK)
    status = cuda_check(&c->gpu, cudaGraphInstantiate(&g->run, g->graph, 0), "cudaGraphInstantiate");
  if (status != ABUT_OK) cuda_graph_free(g); /* the batch may be asked again */
  return status;
}

static program_graphs *graphs_of(cuda_device *c, const program *p) { return &c->graphs[p->reverse]; }
abut_status cuda_whole(abut_batch *b, const program *p, graph **g) {
  *g = &graphs_of(b->cuda, p)->whole;
  return (*g)->run ? ABUT_OK : build(b, p, WHOLE, *g);
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

static int64_t cuda_lane_bytes(const abut_batch *b) {
  return (int64_t)cuda_layout(b, team_of(b), NULL, &(device_batch){0});
}

/* What programs use. */
static void free_memory(cuda_device *c) {
  for (int i = 0; i < 2; i++) graphs_free(&c->graphs[i]);
  if (c->arena.base) cudaFree(c->arena.base);
  c->arena.base = NULL;
}
/* A failure is kept for the next call. */
static void cuda_close(abut_batch *b) {
  cuda_device *c = b->cuda;
  SCOPE(caller);
  cuda_check(&c->gpu, scope_open(&caller, b->options.device_id), "cudaSetDevice");
  cuda_void_graphs(c);
  cuda_check(&c->gpu, cudaStreamSynchronize(c->gpu.stream), "cudaStreamSynchronize");
  free_memory(c);
}

/* Says nothing: the caller may still want to know why the call before failed. */
static void cuda_destroy(abut_batch *b) {
  cuda_device *c = b->cuda;
  if (!c) return;
  SCOPE(caller);
  scope_open(&caller, b->options.device_id);
  if (c->gpu.stream) cudaStreamSynchronize(c->gpu.stream);
  free_memory(c);
  if (c->staging) cudaFree(c->staging);
  if (c->tally) cudaFree(c->tally);
  if (c->watched) cudaFreeHost(c->watched);
  if (c->read) cudaFreeHost(c->read);
  if (c->begun) cudaEventDestroy(c->begun);
  cudaStream_t streams[] = {c->watch, c->outer, c->inner};
  for (int i = 0; i < 3; i++)
    if (streams[i]) cudaStreamDestroy(streams[i]);
  cuda_context_close(&c->gpu);
  free(c);
  b->cuda = NULL;
}

static abut_status cuda_read(const abut_batch *b, void *host, const void *from, size_t bytes) {
  USE(b);
  return cuda_to_host(&b->cuda->gpu, host, from, bytes);
}
static abut_status cuda_write(const abut_batch *b, void *to, const void *host, size_t bytes) {
  USE(b);
  return cuda_to_device(&b->cuda->gpu, to, host, bytes);
}

static abut_status cuda_allocate(const abut_batch *b, size_t bytes, char **memory) {
  cuda_device *c = b->cuda;
  USE(b);
  CK(cudaMalloc((void **)memory, bytes ? bytes : 1));
  return ABUT_OK;
}
/* A failure is kept for the next call. */
static void cuda_release(const abut_batch *b, void *memory) {
  cuda_device *c = b->cuda;
  if (!memory) return;
  SCOPE(caller);
  cudaError_t code = scope_open(&caller, b->options.device_id);
  if (c->gpu.lost == ABUT_OK && cuda_check(&c->gpu, code, "cudaSetDevice") == ABUT_OK) cuda_void_graphs(c);
  cudaFree(memory);
}

/* Loads every kernel: a capture must not be the first to ask for one. */
static abut_status load_kernels(abut_batch *b) {
  cuda_device *c = b->cuda;
  struct cudaFuncAttributes attributes;
  for (int i = 0; i < b->method->stages; i++) CK(cudaFuncGetAttributes(&attributes, stages_of(b)[i]));
  for (int i = 0; i < CONTROL_COUNT; i++) CK(cudaFuncGetAttributes(&attributes, cuda_control((control_id)i)));
  return ABUT_OK;
}

/* What lives as long as the batch. */
static abut_status create_device(abut_batch *b) {
  cuda_device *c = b->cuda;
  ATTEMPT(load_kernels(b));
  ATTEMPT(cuda_context_open(&c->gpu, b->options.stream, cudaStreamDefault));
  CK(cudaStreamCreateWithFlags(&c->watch, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&c->outer, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&c->inner, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&c->begun, cudaEventDisableTiming));
  CK(cudaHostAlloc((void **)&c->watched, sizeof *c->watched, cudaHostAllocDefault));
  CK(cudaHostAlloc((void **)&c->read, sizeof *c->read, cudaHostAllocDefault));
  CK(cudaMalloc((void **)&c->tally, sizeof *c->tally));
  CK(cudaMemsetAsync(c->tally, 0, sizeof *c->tally, c->gpu.stream));
  return ABUT_OK;
}

static abut_status open_memory(abut_batch *b) {
  cuda_device *c = b->cuda;
  size_t bytes = cuda_layout(b, team_of(b), NULL, &c->at), free_bytes, total;
  CK(cudaMemGetInfo(&free_bytes, &total));
  if (bytes > free_bytes)
    return fail_with(ABUT_ERROR_MEMORY, "%lld environment%s %.1f GiB, device %d has %.1f GiB free",
                     (long long)b->options.nenv, b->options.nenv == 1 ? " needs" : "s need",
                     (double)bytes / 0x1p30, b->options.device_id, (double)free_bytes / 0x1p30);
  CK(cudaMalloc((void **)&c->arena.base, bytes));
  if (!getenv("ABUT_CUDA_UNSET")) CK(cudaMemsetAsync(c->arena.base, 0, bytes, c->gpu.stream));
  cuda_layout(b, team_of(b), c->arena.base, &c->at);
  ATTEMPT(cuda_fill(b, team_of(b), &c->at));
  return cuda_push(b);
}

static abut_status cuda_open(abut_batch *b) {
  int first = !b->cuda, driver = 0;
  if (first) b->cuda = calloc(1, sizeof *b->cuda);
  cuda_device *c = b->cuda;
  if (!c) return fail_with(ABUT_ERROR_MEMORY, "batch: out of memory");
  c->gpu.owner = "batch";
  c->gpu.device_id = b->options.device_id;
  cudaDriverGetVersion(&driver);
  if (first) c->loops = driver >= LOOPS_SINCE && !getenv("ABUT_CUDA_UNROLL");
  SCOPE(caller);
  abut_status status = cuda_check(&c->gpu, scope_open(&caller, b->options.device_id), "cudaSetDevice");
  if (status == ABUT_OK && first) status = create_device(b);
  if (status == ABUT_OK) status = open_memory(b);
  /* a batch that could not grow has nothing to go on with */
  if (status != ABUT_OK && !first) cuda_context_lose(&c->gpu, status);
  return status;
}

/* ---------------------------------------------------------------- running */

/* The kernels have committed. */
static abut_status cuda_commit(abut_batch *b) {
  cuda_device *c = b->cuda;
  USE(b);
  c->device_newer = 1;
  return cuda_to_host(&c->gpu, b->state.status, c->at.state.status,
                      (size_t)b->options.nenv * sizeof(uint32_t));
}

/* Reads the counters while the device works, and passes a stop on. */
static abut_status watch(abut_batch *b, const program_io *io, program_report report) {
  cuda_device *c = b->cuda;
  const struct timespec pause = {0, 200 * 1000}; /* short, for short rollouts; told every 500th time */
  if (report.progress) CK(cudaEventSynchronize(c->begun)); /* begin would overwrite a stop */
  for (int i = 0; report.progress && cudaStreamQuery(c->gpu.stream) == cudaErrorNotReady; i++) {
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
  CK(cudaStreamSynchronize(c->gpu.stream));
  return ABUT_OK;
}

static abut_status read_counters(cuda_device *c, program_io *io) {
  CK(cudaMemcpyAsync(c->watched, c->at.io, sizeof *c->watched, cudaMemcpyDefault, c->gpu.stream));
  CK(cudaStreamSynchronize(c->gpu.stream));
  program_io_counters(io, c->watched);
  if (io->finished == io->nenv) io->stop = 0; /* it came too late: all is done, and committed */
  return ABUT_OK;
}

static abut_status run_loops(abut_batch *b, const program *p, program_io *io, program_report report) {
  cuda_device *c = b->cuda;
  graph *whole;
  ATTEMPT(cuda_whole(b, p, &whole));
  CK(cudaGraphLaunch(whole->run, c->gpu.stream));
  ATTEMPT(watch(b, io, report));
  return read_counters(c, io);
}

abut_status cuda_repeat(abut_batch *b, program_io *io, program_report report, cuda_part run, void *arg) {
  cuda_device *c = b->cuda;
  ATTEMPT(run(b, arg, AGAIN_CLEAR));
  while (io->opened < io->nenv && !io->need && !io->stop) {
    ATTEMPT(run(b, arg, AGAIN_START));
    ATTEMPT(read_counters(c, io));
  }
  while (io->finished < io->nenv && !io->need && !io->stop) {
    ATTEMPT(run(b, arg, AGAIN_STEP));
    ATTEMPT(read_counters(c, io));
    if (report.progress && program_reports(report, io, io->steps)) io->stop = io->finished < io->nenv;
  }
  return launch_commit(b, c->gpu.stream);
}

static abut_status launch_part(abut_batch *b, void *arg, int part) {
  cuda_device *c = b->cuda;
  program_graphs *g = arg;
  const graph *chosen = part == AGAIN_CLEAR ? &g->clear : part == AGAIN_START ? &g->start : &g->rounds;
  CK(cudaGraphLaunch(chosen->run, c->gpu.stream));
  return ABUT_OK;
}

static abut_status run_unrolled(abut_batch *b, const program *p, program_io *io, program_report report) {
  program_graphs *g = graphs_of(b->cuda, p);
  if (!g->clear.run) ATTEMPT(build(b, p, AGAIN_CLEAR, &g->clear));
  if (!g->start.run) ATTEMPT(build(b, p, AGAIN_START, &g->start));
  if (!g->rounds.run) ATTEMPT(build(b, p, AGAIN_STEP, &g->rounds));
  return cuda_repeat(b, io, report, launch_part, g);
}

static abut_status run_program(abut_batch *b, const program *p, program_io *io, program_report report) {
  if (b->profile) return cuda_run_profiled(b, p, io, report);
  return b->cuda->loops ? run_loops(b, p, io, report) : run_unrolled(b, p, io, report);
}

static abut_status cuda_run(abut_batch *b, const program *p, program_io *io, const caller_array *arrays,
                            int count, program_report report) {
  cuda_device *c = b->cuda;
  if (report.progress && program_reports(report, io, 0)) { /* short programs are over before watch asks */
    io->stop = STOP_ASKED;
    return ABUT_OK;
  }
  USE(b);
  ATTEMPT(cuda_stage(c, arrays, count));
  ATTEMPT(cuda_begin(b, p, io, c->gpu.stream));
  CK(cudaEventRecord(c->begun, c->gpu.stream));
  abut_status status = run_program(b, p, io, report);
  abut_status copied = cuda_unstage(c, arrays, count, status == ABUT_OK && !io->need && !io->stop);
  return status != ABUT_OK ? status : copied;
}

void cuda_unroll(abut_batch *b) { b->cuda->loops = 0; }

void cuda_chunk(abut_batch *b, size_t bytes) { b->cuda->gpu.buffer.bytes = bytes; }

const backend backend_cuda = {.find = cuda_find,
                              .holds = cuda_holds,
                              .kernels = cuda_kernels,
                              .lane_bytes = cuda_lane_bytes,
                              .open = cuda_open,
                              .close = cuda_close,
                              .destroy = cuda_destroy,
                              .allocate = cuda_allocate,
                              .release = cuda_release,
                              .read = cuda_read,
                              .write = cuda_write,
                              .run = cuda_run,
                              .enqueue = cuda_enqueue,
                              .settle = cuda_settle,
                              .commit = cuda_commit,
                              .fetch = cuda_fetch,
                              .push = cuda_push};
#endif
