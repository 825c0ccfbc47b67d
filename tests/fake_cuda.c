/* fake_cuda.c: a CUDA runtime without a GPU. Only what backend_cuda.c calls, and stricter than the real one.
 */
#include "fake_cuda.h"
#include "cuda_memory.h"
#include "team_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(cond, ...)                                                                                      \
  do {                                                                                                       \
    if (!(cond)) {                                                                                           \
      fprintf(stderr, "fake_cuda: " __VA_ARGS__);                                                            \
      fprintf(stderr, " (%s)\n", #cond);                                                                     \
      abort();                                                                                               \
    }                                                                                                        \
  } while (0)

enum { LOOPS = 1024 };
static unsigned loops[LOOPS], loop_count = 1; /* conditional values, by handle; of one plan's batches */

static fake_plan plan;
static int64_t calls, live, launches, allocations;
static const char *failed = "";

void fake_use(fake_plan next) {
  plan = next;
  calls = launches = allocations = 0;
  loop_count = 1;
  failed = "";
}
int64_t fake_calls(void) { return calls; }
const char *fake_failed_call(void) { return failed; }
int64_t fake_live_objects(void) { return live; }
int64_t fake_launches(void) { return launches; }
int64_t fake_allocations(void) { return allocations; }

/* Whether this call is the one that fails. */
static cudaError_t enter(const char *name) {
  calls++;
  if (plan.fail_at == 0 || calls < plan.fail_at || (calls > plan.fail_at && !plan.sticky)) return cudaSuccess;
  if (calls == plan.fail_at) failed = name;
  return cudaErrorUnknown;
}
#define ENTER                                                                                                \
  do {                                                                                                       \
    cudaError_t entered = enter(__func__);                                                                   \
    if (entered != cudaSuccess) return entered;                                                              \
  } while (0)

/* ---------------------------------------------------------------- devices */

const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorUnknown            ? "planted failure"
         : code == cudaErrorNotSupported     ? "operation not supported"
         : code == cudaErrorMemoryAllocation ? "out of memory"
                                             : "error";
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = plan.no_driver ? 0 : plan.no_loops ? 12000 : 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
  ENTER;
  *count = plan.no_devices ? 0 : 2;
  return plan.no_devices ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  ENTER;
  MUST(attribute == cudaDevAttrMultiProcessorCount && device >= 0 && device < 2, "attribute");
  *value = 2;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  ENTER;
  MUST(device >= 0 && device < 2, "device %d", device);
  return cudaSuccess;
}

/* ---------------------------------------------------------------- memory */

enum { BLOCKS = 4096 };
typedef struct block {
  char *at;
  size_t bytes;
  int device;
} block;
static block blocks[BLOCKS];
static const size_t device_bytes = (size_t)1 << 30;

static block *block_of(const void *p) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at && (const char *)p >= blocks[i].at && (const char *)p < blocks[i].at + blocks[i].bytes)
      return &blocks[i];
  return NULL;
}
static cudaError_t allocate(void **p, size_t bytes, int device) {
  int i = 0;
  while (i < BLOCKS && blocks[i].at) i++;
  MUST(i < BLOCKS, "too many allocations");
  MUST(bytes > 0, "an allocation of nothing");
  if (bytes > device_bytes) return cudaErrorMemoryAllocation;
  blocks[i] = (block){malloc(bytes), bytes, device};
  MUST(blocks[i].at, "the host is out of memory");
  memset(blocks[i].at, 0xff, bytes); /* NaN, -1 */
  *p = blocks[i].at;
  live++;
  allocations++;
  return cudaSuccess;
}
static void release(void *p, int device) {
  block *b = block_of(p);
  MUST(b && b->at == p && b->device == device, "%p is no allocation of this kind", p);
  free(b->at);
  *b = (block){0};
  live--;
}
cudaError_t cudaMalloc(void **p, size_t bytes) {
  ENTER;
  return allocate(p, bytes, 1);
}
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
  ENTER;
  MUST(flags == cudaHostAllocDefault, "flags %u", flags);
  return allocate(p, bytes, 0);
}
/* A failure to free is reported; the memory is gone all the same. */
cudaError_t cudaFree(void *p) {
  if (p) release(p, 1);
  return enter(__func__);
}
cudaError_t cudaFreeHost(void *p) {
  if (p) release(p, 0);
  return enter(__func__);
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  ENTER;
  *free_bytes = *total = device_bytes;
  return cudaSuccess;
}

/* ---------------------------------------------------------------- graphs */

typedef enum node_kind { NODE_LAUNCH, NODE_LOOP, NODE_EVENT } node_kind;
typedef struct node {
  node_kind kind;
  const void *kernel;
  struct dim3 grid, block;
  void *pointers[3];
  int num;
  cudaGraphConditionalHandle loop;
  struct CUgraph_st *body;
  cudaEvent_t event;
} node;
struct CUgraph_st {
  node nodes[512];
  int count;
  cudaGraph_t bodies[4]; /* of its loops: destroyed with it */
  int nbody;
};
struct CUgraphExec_st {
  cudaGraph_t graph;
};
struct CUstream_st {
  cudaGraph_t capture; /* being captured into */
  int to_graph;
};
struct CUevent_st {
  int64_t time; /* us; -1: not recorded yet */
};
static int64_t ticks;
static void record(cudaEvent_t event) { event->time = ticks += FAKE_EVENT_TICKS; }
void twin_set_conditional(cudaGraphConditionalHandle loop, unsigned value) {
  MUST(loop > 0 && loop < loop_count, "conditional handle %llu", (unsigned long long)loop);
  loops[loop] = value;
}

struct dim3 twin_block, twin_block_size, twin_thread;

static int team_of(const void *kernel) {
  for (int dtype = 0; dtype < 2; dtype++)
    for (int team = 1; team <= 32; team += 31)
      for (int i = 0; i < STAGE_COUNT; i++)
        if (cuda_stages(dtype, team)[i] == kernel) return team;
  return 0;
}

typedef void (*stage_twin)(const step_params *, lane_group *, program_io *, int);
typedef void (*again_twin)(const program_io *, int, cudaGraphConditionalHandle);

typedef struct twin_call {
  const node *n;
  unsigned first; /* thread of the block where the team begins */
} twin_call;
static void member(void *arg) {
  const twin_call *c = arg;
  const node *n = c->n;
  stage_twin twin;
  memcpy(&twin, &n->kernel, sizeof twin);
  twin_thread = (struct dim3){c->first + (unsigned)team_rank(), 0, 0};
  twin(n->pointers[0], n->pointers[1], n->pointers[2], n->num);
}

static void run_launch(const node *n) {
  int team = team_of(n->kernel);
  launches++;
  ticks += FAKE_LAUNCH_TICKS;
  if (!team) { /* again */
    again_twin twin;
    memcpy(&twin, &n->kernel, sizeof twin);
    twin(n->pointers[0], n->num, n->loop);
    return;
  }
  twin_block_size = n->block;
  for (unsigned b = 0; b < n->grid.x; b++) {
    twin_block = (struct dim3){b, 0, 0};
    for (unsigned t = 0; t < n->block.x; t += (unsigned)team) {
      twin_call c = {n, t};
      twin_thread = (struct dim3){t, 0, 0};
      if ((int64_t)b * n->block.x + t >= (int64_t)n->num * team) continue; /* leaves at once, a whole team */
      if (team == 1) {
        stage_twin twin;
        memcpy(&twin, &n->kernel, sizeof twin);
        twin(n->pointers[0], n->pointers[1], n->pointers[2], n->num);
      } else {
        team_run(member, &c);
      }
    }
  }
}
static void run_graph(const struct CUgraph_st *g) {
  for (int i = 0; i < g->count; i++) {
    const node *n = &g->nodes[i];
    if (n->kind == NODE_LAUNCH) run_launch(n);
    if (n->kind == NODE_EVENT) record(n->event);
    if (n->kind == NODE_LOOP)
      for (loops[n->loop] = 1; loops[n->loop];) run_graph(n->body);
  }
}

/* Every block of the grid does the same: one will do. */
static cudaError_t launch_roof(const void *kernel, struct dim3 grid, struct dim3 block, void **args,
                               cudaStream_t stream) {
  void (*twin)(void *, int, int);
  char *out = *(char **)args[0];
  int which, rounds;
  memcpy(&twin, &kernel, sizeof twin);
  memcpy(&which, args[1], sizeof which);
  memcpy(&rounds, args[2], sizeof rounds);
  MUST(!stream->capture && block_of(out) && block_of(out)->device && grid.x > 0 && block.x <= 64, "roof");
  uint64_t before, after;
  memcpy(&before, out, sizeof before);
  for (unsigned i = 0; i < block.x; i++) twin(out, which, rounds);
  memcpy(&after, out, sizeof after);
  MUST(before == after, "roof %d: numbers that are not what they must be", which);
  ticks += FAKE_LAUNCH_TICKS;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **args,
                             size_t shared, cudaStream_t stream) {
  ENTER;
  if (kernel == cuda_roof(ABUT_F64) || kernel == cuda_roof(ABUT_F32))
    return launch_roof(kernel, grid, block, args, stream);
  int again = kernel == cuda_again(), team = team_of(kernel);
  node n = {.kind = NODE_LAUNCH, .kernel = kernel, .grid = grid, .block = block};
  MUST(again || team, "an unknown kernel");
  MUST(shared == 0 && grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1, "geometry");
  n.pointers[0] = *(void **)args[0];
  MUST(block_of(n.pointers[0]) && block_of(n.pointers[0])->device, "a pointer of the host");
  if (again) {
    MUST(grid.x == 1 && block.x == 1, "geometry of again");
    memcpy(&n.num, args[1], sizeof n.num);
    memcpy(&n.loop, args[2], sizeof n.loop);
  } else {
    memcpy(&n.num, args[3], sizeof n.num);
    int64_t threads = (int64_t)grid.x * block.x, wanted = (int64_t)n.num * team;
    MUST(block.x % 32 == 0 && block.x <= 64 && grid.x < 1u << 31, "blocks of %u", block.x);
    MUST(threads >= wanted && threads - wanted < block.x, "%lld threads for %lld", (long long)threads,
         (long long)wanted);
    for (int i = 1; i < 3; i++) {
      n.pointers[i] = *(void **)args[i];
      MUST(block_of(n.pointers[i]) && block_of(n.pointers[i])->device, "a pointer of the host");
    }
  }
  cudaGraph_t g = stream->capture;
  if (!g) {
    run_launch(&n);
    return cudaSuccess;
  }
  MUST(g->count < 512, "a graph of too many nodes");
  g->nodes[g->count++] = n;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel) {
  ENTER;
  memset(attributes, 0, sizeof *attributes);
  MUST(kernel == cuda_again() || team_of(kernel), "an unknown kernel");
  return cudaSuccess;
}

static cudaGraph_t graph_new(void) {
  cudaGraph_t g = calloc(1, sizeof *g);
  MUST(g, "the host is out of memory");
  return g;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode) {
  ENTER;
  MUST(!s->capture && mode == cudaStreamCaptureModeThreadLocal, "capture");
  s->capture = graph_new();
  s->to_graph = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode) {
  ENTER;
  MUST(!s->capture && g && !dependencies && !edges && !count && mode == cudaStreamCaptureModeThreadLocal,
       "capture");
  s->capture = g;
  s->to_graph = 1;
  return cudaSuccess;
}
/* A failure ends the capture, and gives no graph. */
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
  MUST(s->capture, "no capture");
  cudaGraph_t captured = s->capture;
  s->capture = NULL;
  *g = NULL;
  cudaError_t code = enter(__func__);
  if (code != cudaSuccess) {
    if (!s->to_graph) free(captured);
    return code;
  }
  if (!s->to_graph) live++;
  *g = captured;
  return cudaSuccess;
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g,
                                             unsigned value, unsigned flags) {
  ENTER;
  MUST(!plan.no_loops && g && value == 1 && flags == cudaGraphCondAssignDefault, "handle");
  MUST(loop_count < LOOPS, "too many loops");
  *handle = loop_count++;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *count) {
  ENTER;
  MUST((size_t)g->count == *count, "%d nodes", g->count);
  *nodes = (cudaGraphNode_t)&g->nodes[g->count - 1];
  return cudaSuccess;
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t *added, cudaGraph_t g, const cudaGraphNode_t *dependencies,
#if CUDART_VERSION >= 13000
                             const cudaGraphEdgeData *edges,
#endif
                             size_t count, struct cudaGraphNodeParams *p) {
  ENTER;
#if CUDART_VERSION >= 13000
  MUST(!edges, "edges");
#endif
  MUST(count == 1 && *dependencies == (cudaGraphNode_t)&g->nodes[g->count - 1], "must follow the last node");
  MUST(p->type == cudaGraphNodeTypeConditional && p->conditional.type == cudaGraphCondTypeWhile &&
           p->conditional.size == 1,
       "only loops");
  cudaGraph_t body = g->bodies[g->nbody++] = graph_new();
  p->conditional.phGraph_out = &g->bodies[g->nbody - 1];
  g->nodes[g->count++] = (node){.kind = NODE_LOOP, .loop = p->conditional.handle, .body = body};
  *added = (cudaGraphNode_t)&g->nodes[g->count - 1];
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *run, cudaGraph_t g, unsigned long long flags) {
  ENTER;
  MUST(flags == 0 && g && g->count > 0, "an empty graph");
  *run = calloc(1, sizeof **run);
  MUST(*run, "the host is out of memory");
  (*run)->graph = g;
  live++;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t s) {
  ENTER;
  MUST(run && !s->capture, "launch");
  run_graph(run->graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t run) {
  free(run);
  live--;
  return enter(__func__);
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  for (int i = 0; i < g->nbody; i++) free(g->bodies[i]);
  free(g);
  live--;
  return enter(__func__);
}

/* ---------------------------------------------------------------- streams */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  ENTER;
  MUST(flags == cudaStreamNonBlocking, "flags %u", flags);
  *s = calloc(1, sizeof **s);
  MUST(*s, "the host is out of memory");
  live++;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  MUST(!s->capture, "still capturing");
  free(s);
  live--;
  return enter(__func__);
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  ENTER;
  MUST(!s->capture, "synchronises while capturing");
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
  ENTER;
  MUST(!s->capture, "asks while capturing");
  return cudaSuccess;
}
static void check_range(const void *p, size_t bytes) {
  const block *b = block_of(p);
  MUST(!b || (const char *)p + bytes <= b->at + b->bytes, "a copy of %zu bytes leaves its allocation", bytes);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s) {
  ENTER;
  MUST(kind == cudaMemcpyDefault && !s->capture && (bytes == 0 || (to && from)), "copy");
  check_range(to, bytes);
  check_range(from, bytes);
  if (bytes) memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
  ENTER;
  MUST(!s->capture && block_of(p), "memset");
  check_range(p, bytes);
  memset(p, value, bytes);
  return cudaSuccess;
}

/* ---------------------------------------------------------------- events */

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  ENTER;
  *event = calloc(1, sizeof **event);
  MUST(*event, "the host is out of memory");
  (*event)->time = -1;
  live++;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  live--;
  return enter(__func__);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s) {
  ENTER;
  MUST(!s->capture, "an event that only orders a capture has no time");
  record(event);
  return cudaSuccess;
}
/* A node of the graph, which records the event whenever it runs. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags) {
  ENTER;
  MUST(flags == cudaEventRecordExternal && s->capture && !s->to_graph, "flags %u", flags);
  MUST(s->capture->count < 512, "a graph of too many nodes");
  s->capture->nodes[s->capture->count++] = (node){.kind = NODE_EVENT, .event = event};
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  ENTER;
  MUST(from->time >= 0 && to->time >= from->time, "an event that was not recorded, or the wrong order");
  *ms = (float)(to->time - from->time) * 1e-3f;
  return cudaSuccess;
}
