/* fake_cuda.c: a CUDA runtime without a GPU. Only what the CUDA backend calls, and stricter than the real
 * one.
 */
#include "fake_cuda.h"
#include "host/cuda/cuda_memory.h"
#include "host/items/manifold_cuda.h"
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

enum { LOOPS = 1024, NODES = 512 };

enum { COMMIT_NUMBERS = 5 }; /* of the control kernel with most: environments, bytes of what is committed */

/* Work on a stream, or a node of a graph. Nothing runs before somebody waits for it. */
typedef enum node_kind {
  NODE_LAUNCH,
  NODE_WHILE,
  NODE_IF,
  NODE_COPY,
  NODE_SET,
  NODE_GRAPH,
  NODE_RECORD
} node_kind;
typedef struct node {
  node_kind kind;
  const void *kernel;
  struct dim3 grid, block;
  char *pointers[3];
  int numbers[COMMIT_NUMBERS];
  int64_t generation;
  program_io *io; /* of begin, by value: owned */
  cudaGraphConditionalHandle handle;
  cudaGraph_t graph; /* its body: owned; or what is launched */
  size_t bytes;      /* of a copy from pointers[1] to [0] */
  cudaEvent_t event;
  int64_t count; /* of a record */
} node;

struct CUgraph_st {
  node *nodes[NODES];
  int count, instances, loops;
};
struct CUgraphExec_st {
  cudaGraph_t graph;
};
struct CUevent_st {
  cudaStream_t stream; /* of the last record */
  int64_t wanted, done;
  int timed;
  int64_t time; /* of the last record (us) */
};
struct CUstream_st {
  int device, blocking; /* blocking: in order with the legacy stream */
  node *queue[NODES];   /* work that has not run */
  int count;
  cudaGraph_t capture; /* being captured into */
  int to_graph, invalid;
  node *last; /* what the next captured node follows */
};

static struct {
  unsigned value;
  int set; /* since the node that reads it ran last */
  cudaGraph_t graph;
} conditions[LOOPS]; /* by handle; of one plan's batches */
static unsigned condition_count = 1;

enum { STREAMS = 64 };
static struct CUstream_st legacy = {.device = -1}; /* of whichever device is current */
static cudaStream_t streams[STREAMS] = {&legacy};
static cudaStream_t stream_of(cudaStream_t s) { return s && s != cudaStreamLegacy ? s : &legacy; }

/* Of the one thread there is. */
static int current;
static enum cudaStreamCaptureMode interaction = cudaStreamCaptureModeGlobal;

static fake_plan plan;
static int64_t calls, live, allocations, ticks;
static const char *failed = "";

void fake_use(fake_plan next) {
  plan = next;
  calls = allocations = 0;
  condition_count = 1;
  failed = "";
}
int64_t fake_calls(void) { return calls; }
const char *fake_failed_call(void) { return failed; }
int64_t fake_live_objects(void) { return live; }
int64_t fake_allocations(void) { return allocations; }
int64_t fake_pending(cudaStream_t s) { return stream_of(s)->count; }

/* Whether this call is the one that fails. */
static cudaError_t enter(const char *name) {
  calls++;
  if (plan.fail_at == 0 || calls < plan.fail_at || (calls > plan.fail_at && !plan.sticky)) return cudaSuccess;
  if (calls == plan.fail_at) failed = name;
  return plan.code ? (cudaError_t)plan.code : cudaErrorUnknown;
}
#define ENTER                                                                                                \
  do {                                                                                                       \
    cudaError_t entered = enter(__func__);                                                                   \
    if (entered != cudaSuccess) return entered;                                                              \
  } while (0)

/* A call that no capture survives, unless the thread has said that it knows. */
static cudaError_t unsafe(void) {
  int capturing = 0;
  if (interaction == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (int i = 0; i < STREAMS; i++) {
    if (!streams[i] || !streams[i]->capture) continue;
    streams[i]->invalid = 1;
    capturing = 1;
  }
  return capturing ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
#define ENTER_UNSAFE                                                                                         \
  do {                                                                                                       \
    ENTER;                                                                                                   \
    cudaError_t refused = unsafe();                                                                          \
    if (refused != cudaSuccess) return refused;                                                              \
  } while (0)

static void *new_zeroed(size_t bytes) {
  void *p = calloc(1, bytes);
  MUST(p, "the host is out of memory");
  return p;
}

/* ---------------------------------------------------------------- devices */

const char *cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorUnknown                    ? "planted failure"
         : code == cudaErrorNotSupported             ? "operation not supported"
         : code == cudaErrorMemoryAllocation         ? "out of memory"
         : code == cudaErrorStreamCaptureUnsupported ? "operation not permitted when stream is capturing"
                                                     : "error";
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
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
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  ENTER;
  *device = current;
  return cudaSuccess;
}
/* Takes effect even where it fails; whoever puts the mode back is not told, the next call is. */
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  enum cudaStreamCaptureMode before = interaction;
  interaction = *mode;
  *mode = before;
  return before == cudaStreamCaptureModeRelaxed ? cudaSuccess : enter(__func__);
}

/* ---------------------------------------------------------------- memory */

enum { BLOCKS = 4096 };
typedef struct block {
  char *at;
  size_t bytes;
  int device;  /* or pinned */
  int ordinal; /* of the device */
} block;
static block blocks[BLOCKS];
static const size_t device_bytes = (size_t)1 << 30;

static block *block_of(const void *p) {
  for (int i = 0; i < BLOCKS; i++)
    if (blocks[i].at && (const char *)p >= blocks[i].at && (const char *)p < blocks[i].at + blocks[i].bytes)
      return &blocks[i];
  return NULL;
}
int64_t fake_device_bytes(void) {
  int64_t bytes = 0;
  for (int i = 0; i < BLOCKS; i++) bytes += blocks[i].device ? (int64_t)blocks[i].bytes : 0;
  return bytes;
}
static cudaError_t allocate(void **p, size_t bytes, int device) {
  int i = 0;
  while (i < BLOCKS && blocks[i].at) i++;
  MUST(i < BLOCKS, "too many allocations");
  MUST(bytes > 0, "an allocation of nothing");
  if (bytes > device_bytes) return cudaErrorMemoryAllocation;
  blocks[i] = (block){malloc(bytes), bytes, device, current};
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
  ENTER_UNSAFE;
  return allocate(p, bytes, 1);
}
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
  ENTER_UNSAFE;
  MUST(flags == cudaHostAllocDefault, "flags %u", flags);
  return allocate(p, bytes, 0);
}
static void run_all(void);
/* Both wait for the device. A failure to free is reported; the memory is gone all the same. */
cudaError_t cudaFree(void *p) {
  run_all();
  if (p) release(p, 1);
  cudaError_t refused = unsafe();
  return refused != cudaSuccess ? refused : enter(__func__);
}
cudaError_t cudaFreeHost(void *p) {
  run_all();
  if (p) release(p, 0);
  cudaError_t refused = unsafe();
  return refused != cudaSuccess ? refused : enter(__func__);
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  ENTER;
  *free_bytes = *total = device_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *at, const void *p) {
  ENTER;
  const block *b = block_of(p);
  memset(at, 0, sizeof *at);
  at->device = b ? b->ordinal : -1;
  at->type = !b ? cudaMemoryTypeUnregistered : b->device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  return cudaSuccess;
}

static char *device_memory(const void *p) {
  const block *b = block_of(p);
  MUST(b && b->device, "%p is no memory of the device, or no longer", p);
  return (char *)(uintptr_t)p;
}
static void check_range(const void *p, size_t bytes) {
  const block *b = block_of(p);
  MUST(b, "%p is pageable memory, or was given back", p);
  MUST((const char *)p + bytes <= b->at + b->bytes, "%zu bytes leave their allocation", bytes);
}

/* ---------------------------------------------------------------- what runs */

void twin_set_conditional(cudaGraphConditionalHandle handle, unsigned value) {
  MUST(handle > 0 && handle < condition_count, "conditional handle %llu", (unsigned long long)handle);
  conditions[handle].value = value;
  conditions[handle].set = 1;
}

struct dim3 twin_block, twin_block_size, twin_thread;

static const void *known[4];
void fake_know(const void *kernel) {
  int i = 0;
  while (known[i] && known[i] != kernel) i++;
  MUST(i + 1 < (int)(sizeof known / sizeof *known), "too many kernels");
  known[i] = kernel;
}
static int is_of_items(const void *kernel) {
  for (int i = 0; known[i]; i++)
    if (known[i] == kernel) return 1;
  for (int dtype = 0; dtype < 2; dtype++)
    for (int i = 0; i < MANIFOLD_COUNT; i++)
      if (cuda_manifold_kernels(dtype)[i] == kernel) return 1;
  return 0;
}
static int team_of(const void *kernel) {
  if (is_of_items(kernel)) return 32;
  for (int32_t m = 0; m < methods_num; m++)
    for (int dtype = 0; dtype < 2; dtype++)
      for (int team = 0; team < 2; team++)
        for (int i = 0; i < methods[m]->stages; i++)
          if (methods[m]->gpu[dtype][team][i] == kernel) return team ? 32 : 1;
  return 0;
}
static int control_of(const void *kernel) {
  for (int i = 0; i < CONTROL_COUNT; i++)
    if (cuda_control((control_id)i) == kernel) return i;
  return -1;
}

typedef void (*stage_twin)(const step_params *, lane_group *, program_io *, int);
static void call_stage(const node *n) {
  stage_twin twin;
  if (is_of_items(n->kernel)) {
    void (*items)(void *, int);
    memcpy(&items, &n->kernel, sizeof items);
    items(n->pointers[0], n->numbers[0]);
    return;
  }
  memcpy(&twin, &n->kernel, sizeof twin);
  twin((void *)n->pointers[0], (void *)n->pointers[1], (void *)n->pointers[2], n->numbers[0]);
}

typedef struct twin_call {
  const node *n;
  unsigned first; /* thread of the block where the team begins */
} twin_call;
static void member(void *arg) {
  const twin_call *c = arg;
  twin_thread = (struct dim3){c->first + (unsigned)team_rank(), 0, 0};
  call_stage(c->n);
}

static void call_control(const node *n, int which) {
  void (*again)(const program_io *, int, cudaGraphConditionalHandle);
  void (*begin)(program_io *, program_io);
  void (*commit)(program_io *, int, int, int, int, int);
  void (*gate)(program_tally *, int64_t, cudaGraphConditionalHandle);
  void *to = n->pointers[0];
  memcpy(&again, &n->kernel, sizeof again);
  memcpy(&begin, &n->kernel, sizeof begin);
  memcpy(&commit, &n->kernel, sizeof commit);
  memcpy(&gate, &n->kernel, sizeof gate);
  if (which == CONTROL_again) again(to, n->numbers[0], n->handle);
  if (which == CONTROL_begin) begin(to, *n->io);
  if (which == CONTROL_commit)
    commit(to, n->numbers[0], n->numbers[1], n->numbers[2], n->numbers[3], n->numbers[4]);
  if (which == CONTROL_gate) gate(to, n->generation, n->handle);
}

static int is_roof(const void *kernel) {
  return kernel == cuda_roof(ABUT_F64) || kernel == cuda_roof(ABUT_F32);
}
/* Every block of the grid does the same: one will do. */
static void run_roof(const node *n) {
  void (*twin)(void *, int, int);
  uint64_t before, after;
  memcpy(&twin, &n->kernel, sizeof twin);
  memcpy(&before, n->pointers[0], sizeof before);
  for (unsigned i = 0; i < n->block.x; i++) twin(n->pointers[0], n->numbers[0], n->numbers[1]);
  memcpy(&after, n->pointers[0], sizeof after);
  MUST(before == after, "roof %d: numbers that are not what they must be", n->numbers[0]);
}

static void run_launch(const node *n) {
  int team = team_of(n->kernel), which = control_of(n->kernel);
  for (int i = 0; i < 3; i++)
    if (n->pointers[i]) device_memory(n->pointers[i]);
  ticks += FAKE_LAUNCH_TICKS;
  if (is_roof(n->kernel)) {
    run_roof(n);
    return;
  }
  twin_block_size = n->block;
  for (unsigned b = 0; b < n->grid.x; b++) {
    twin_block = (struct dim3){b, 0, 0};
    for (unsigned t = 0; t < n->block.x; t += team == 32 ? 32 : 1) {
      twin_call c = {n, t};
      twin_thread = (struct dim3){t, 0, 0};
      if (team && (int64_t)b * n->block.x + t >= (int64_t)n->numbers[0] * team)
        continue; /* leaves at once, a whole team */
      if (!team)
        call_control(n, which);
      else if (team == 1)
        call_stage(n);
      else
        team_run(member, &c);
    }
  }
}

static void run_graph(const struct CUgraph_st *g);
static void run_node(const node *n) {
  if (n->kind == NODE_LAUNCH) run_launch(n);
  if (n->kind == NODE_GRAPH) run_graph(n->graph);
  if (n->kind == NODE_RECORD) {
    n->event->done = n->count;
    n->event->time = ticks += FAKE_EVENT_TICKS;
  }
  if (n->kind == NODE_COPY || n->kind == NODE_SET) check_range(n->pointers[0], n->bytes);
  if (n->kind == NODE_COPY) {
    check_range(n->pointers[1], n->bytes);
    memcpy(n->pointers[0], n->pointers[1], n->bytes);
  }
  if (n->kind == NODE_SET) memset(n->pointers[0], n->numbers[0], n->bytes);
  if (n->kind == NODE_WHILE || n->kind == NODE_IF) {
    MUST(conditions[n->handle].set, "a condition that no kernel set");
    do {
      conditions[n->handle].set = 0;
      if (!conditions[n->handle].value) return;
      run_graph(n->graph);
    } while (n->kind == NODE_WHILE);
  }
}
static void run_graph(const struct CUgraph_st *g) {
  for (int i = 0; i < g->count; i++) run_node(g->nodes[i]);
}

static void graph_free(cudaGraph_t g);
static void node_free(node *n) {
  free(n->io);
  if (n->kind == NODE_WHILE || n->kind == NODE_IF) graph_free(n->graph);
  free(n);
}
static void graph_free(cudaGraph_t g) {
  for (int i = 0; i < g->count; i++) node_free(g->nodes[i]);
  free(g);
}

/* The oldest work of a stream. */
static void run_one(cudaStream_t s) {
  node *n = s->queue[0];
  memmove(s->queue, s->queue + 1, (size_t)--s->count * sizeof *s->queue);
  run_node(n);
  node_free(n);
}
static void run_all(void) {
  for (int i = 0; i < STREAMS; i++)
    while (streams[i] && streams[i]->count) run_one(streams[i]);
}

/* What must be done before work on s: the legacy stream waits for blocking ones, and they for it. It cannot
 * wait for one that is being captured. */
static cudaError_t join_legacy(cudaStream_t s) {
  for (int i = 0; i < STREAMS; i++) {
    cudaStream_t other = streams[i];
    if (!other || other == s || !(s == &legacy ? other->blocking : s->blocking && other == &legacy)) continue;
    if (other->capture) return other->invalid = 1, cudaErrorStreamCaptureImplicit;
    while (other->count) run_one(other);
  }
  return cudaSuccess;
}

/* Puts work on a stream, or into the graph that it is captured into. */
static cudaError_t put(cudaStream_t to, node n) {
  cudaStream_t s = stream_of(to);
  MUST(s == &legacy || s->device == current || n.kind == NODE_COPY || n.kind == NODE_RECORD,
       "work for device %d while %d is current", s->device, current);
  cudaError_t refused = s->capture ? cudaSuccess : join_legacy(s);
  if (refused != cudaSuccess) return free(n.io), refused;
  node *kept = new_zeroed(sizeof *kept);
  *kept = n;
  if (s->invalid) return free(n.io), free(kept), cudaErrorStreamCaptureInvalidated;
  if (s->capture) {
    cudaGraph_t g = s->capture;
    MUST(g->count < NODES, "a graph of too many nodes");
    MUST(!g->count || s->last == g->nodes[g->count - 1], "does not follow the last node");
    MUST(n.kind == NODE_LAUNCH || n.kind == NODE_COPY || n.kind == NODE_SET || n.kind == NODE_RECORD,
         "cannot be captured");
    g->nodes[g->count++] = s->last = kept;
    return cudaSuccess;
  }
  MUST(s->count < NODES, "too much work on a stream");
  s->queue[s->count++] = kept;
  return cudaSuccess;
}

/* ---------------------------------------------------------------- launches */

static void read_control(node *n, int which, void **args) {
  n->pointers[0] = device_memory(*(void **)args[0]);
  if (which == CONTROL_again) memcpy(&n->numbers[0], args[1], sizeof(int));
  if (which == CONTROL_again) memcpy(&n->handle, args[2], sizeof n->handle);
  if (which == CONTROL_gate) memcpy(&n->generation, args[1], sizeof n->generation);
  if (which == CONTROL_gate) memcpy(&n->handle, args[2], sizeof n->handle);
  for (int i = 0; which == CONTROL_commit && i < COMMIT_NUMBERS; i++)
    memcpy(&n->numbers[i], args[i + 1], sizeof(int));
  if (which == CONTROL_begin) {
    n->io = new_zeroed(sizeof *n->io);
    memcpy(n->io, args[1], sizeof *n->io);
    char *const *out = &n->io->out.qpos;
    for (size_t i = 0; i < sizeof n->io->out / sizeof *out; i++)
      if (out[i]) device_memory(out[i]);
  }
  unsigned blocks = which == CONTROL_commit ? ((unsigned)n->numbers[0] * 32 + 63) / 64 : 1;
  MUST(n->grid.x == blocks && n->block.x == (which == CONTROL_commit ? 64 : 1), "geometry");
}
static void read_roof(node *n, void **args) {
  n->pointers[0] = device_memory(*(void **)args[0]);
  memcpy(&n->numbers[0], args[1], sizeof(int));
  memcpy(&n->numbers[1], args[2], sizeof(int));
  MUST(n->grid.x > 0 && n->block.x <= 64, "geometry");
}

cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block, void **args,
                             size_t shared, cudaStream_t stream) {
  ENTER;
  int which = control_of(kernel), team = team_of(kernel);
  node n = {.kind = NODE_LAUNCH, .kernel = kernel, .grid = grid, .block = block};
  MUST(which >= 0 || team || is_roof(kernel), "an unknown kernel");
  MUST(shared == 0 && grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1, "geometry");
  if (which >= 0) {
    read_control(&n, which, args);
    return put(stream, n);
  }
  if (!team) {
    read_roof(&n, args);
    return put(stream, n);
  }
  const int arrays = is_of_items(kernel) ? 1 : 3;
  memcpy(&n.numbers[0], args[arrays], sizeof(int));
  int64_t threads = (int64_t)grid.x * block.x, wanted = (int64_t)n.numbers[0] * team;
  MUST(block.x % 32 == 0 && block.x <= 64 && grid.x < 1u << 31, "blocks of %u", block.x);
  MUST(threads >= wanted && threads - wanted < block.x, "%lld threads for %lld", (long long)threads,
       (long long)wanted);
  for (int i = 0; i < arrays; i++) n.pointers[i] = device_memory(*(void **)args[i]);
  return put(stream, n);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel) {
  ENTER_UNSAFE;
  memset(attributes, 0, sizeof *attributes);
  MUST(control_of(kernel) >= 0 || team_of(kernel), "an unknown kernel");
  return cudaSuccess;
}

/* ---------------------------------------------------------------- captures and graphs */

static void begin(cudaStream_t s, cudaGraph_t g, enum cudaStreamCaptureMode mode) {
  MUST(!s->capture && !s->count && mode == cudaStreamCaptureModeThreadLocal, "capture");
  s->capture = g ? g : new_zeroed(sizeof *g);
  s->to_graph = g != NULL;
  s->invalid = 0;
  s->last = NULL;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode) {
  ENTER;
  if (stream_of(s) == &legacy) return cudaErrorStreamCaptureUnsupported;
  begin(s, NULL, mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode) {
  ENTER;
  MUST(g && !g->count && !dependencies && !edges && !count, "capture");
  begin(s, g, mode);
  return cudaSuccess;
}
/* A failure ends the capture, and gives no graph. */
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
  MUST(s->capture, "no capture");
  cudaGraph_t captured = s->capture;
  s->capture = NULL;
  *g = NULL;
  cudaError_t code = s->invalid ? cudaErrorStreamCaptureInvalidated : enter(__func__);
  s->invalid = 0;
  if (code != cudaSuccess) {
    if (!s->to_graph) graph_free(captured);
    return code;
  }
  if (!s->to_graph) live++;
  *g = captured;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t of, enum cudaStreamCaptureStatus *status) {
  ENTER;
  cudaStream_t s = stream_of(of);
  for (int i = 0; s == &legacy && i < STREAMS; i++)
    if (streams[i] && streams[i]->blocking && streams[i]->capture) return cudaErrorStreamCaptureImplicit;
  *status = s->invalid   ? cudaStreamCaptureStatusInvalidated
            : s->capture ? cudaStreamCaptureStatusActive
                         : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
#if CUDART_VERSION >= 13000
#define EDGES(name) const cudaGraphEdgeData name,
#else
#define EDGES(name)
#endif
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **nodes,
                                     EDGES(**edges) size_t *count) {
  ENTER;
  MUST(s->capture && !s->invalid && !id, "no capture to ask about");
#if CUDART_VERSION >= 13000
  *edges = NULL;
#endif
  *status = cudaStreamCaptureStatusActive;
  *g = s->capture;
  *nodes = (const cudaGraphNode_t *)(const void *)&s->last;
  *count = s->last != NULL;
  return cudaSuccess;
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t s, cudaGraphNode_t *nodes,
                                                EDGES(*edges) size_t count, unsigned flags) {
  ENTER;
#if CUDART_VERSION >= 13000
  MUST(!edges, "edges");
#endif
  MUST(s->capture && count == 1 && flags == cudaStreamSetCaptureDependencies, "dependencies");
  s->last = (node *)(void *)*nodes;
  return cudaSuccess;
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g,
                                             unsigned value, unsigned flags) {
  ENTER;
  MUST(!plan.no_loops && g && value == 0 && flags == 0, "handle");
  MUST(condition_count < LOOPS, "too many conditions");
  *handle = condition_count++;
  conditions[*handle].set = 0;
  conditions[*handle].graph = g;
  return cudaSuccess;
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t *added, cudaGraph_t g, const cudaGraphNode_t *nodes,
                             EDGES(*edges) size_t count, struct cudaGraphNodeParams *p) {
  ENTER;
#if CUDART_VERSION >= 13000
  MUST(!edges, "edges");
#endif
  MUST(count == 1 && *nodes == (cudaGraphNode_t)(void *)g->nodes[g->count - 1], "must follow the last node");
  MUST(p->type == cudaGraphNodeTypeConditional && p->conditional.size == 1, "only loops and branches");
  MUST(conditions[p->conditional.handle].graph == g, "a handle of another graph");
  node *n = new_zeroed(sizeof *n);
  n->kind = p->conditional.type == cudaGraphCondTypeWhile ? NODE_WHILE : NODE_IF;
  n->handle = p->conditional.handle;
  n->graph = new_zeroed(sizeof *n->graph);
  g->nodes[g->count++] = n;
  g->loops = 1;
  p->conditional.phGraph_out = &n->graph;
  *added = (cudaGraphNode_t)(void *)n;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *run, cudaGraph_t g, unsigned long long flags) {
  ENTER;
  MUST(flags == 0 && g && !g->instances, "a second instance");
  *run = new_zeroed(sizeof **run);
  (*run)->graph = g;
  g->instances++;
  live++;
  return cudaSuccess;
}
/* One with loops cannot be captured. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t run, cudaStream_t s) {
  ENTER;
  if (stream_of(s)->capture) {
    s->invalid = 1;
    return cudaErrorStreamCaptureUnsupported;
  }
  return put(s, (node){.kind = NODE_GRAPH, .graph = run->graph});
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t run) {
  run_all();
  run->graph->instances--;
  free(run);
  live--;
  return enter(__func__);
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  MUST(!g->instances, "an instance is left");
  graph_free(g);
  live--;
  return enter(__func__);
}

/* ---------------------------------------------------------------- streams and events */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  ENTER_UNSAFE;
  int i = 0;
  while (i < STREAMS && streams[i]) i++;
  MUST((flags == cudaStreamNonBlocking || flags == cudaStreamDefault) && i < STREAMS, "flags %u, stream %d",
       flags, i);
  streams[i] = *s = new_zeroed(sizeof **s);
  **s = (struct CUstream_st){.device = current, .blocking = flags == cudaStreamDefault};
  live++;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  MUST(!s->capture, "still capturing");
  while (s->count) run_one(s);
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] == s) streams[i] = NULL;
  free(s);
  live--;
  return enter(__func__);
}
/* Nobody waits for a stream that is being captured. */
static cudaError_t wait_for(cudaStream_t s) {
  if (s->capture) s->invalid = 1;
  return s->capture ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t of) {
  ENTER_UNSAFE;
  cudaStream_t s = stream_of(of);
  while (s->count) run_one(s);
  return wait_for(s);
}
cudaError_t cudaStreamQuery(cudaStream_t of) {
  ENTER_UNSAFE;
  cudaStream_t s = stream_of(of);
  if (!s->count) return wait_for(s);
  run_one(s);
  return cudaErrorNotReady;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) {
  ENTER_UNSAFE;
  MUST(flags == cudaEventDisableTiming, "flags %u", flags);
  *e = new_zeroed(sizeof **e);
  live++;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) {
  ENTER_UNSAFE;
  *e = new_zeroed(sizeof **e);
  (*e)->timed = 1;
  live++;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  run_all();
  free(e);
  live--;
  return enter(__func__);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  ENTER;
  MUST(!stream_of(s)->capture, "an event that only orders a capture");
  e->stream = stream_of(s);
  return put(s, (node){.kind = NODE_RECORD, .event = e, .count = ++e->wanted});
}
/* A node of the graph, which records the event whenever it runs. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags) {
  ENTER;
  MUST(flags == cudaEventRecordExternal && s->capture && !s->to_graph, "flags %u", flags);
  e->wanted = 1;
  return put(s, (node){.kind = NODE_RECORD, .event = e, .count = 1});
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  ENTER;
  MUST(from->timed && to->timed && to->time >= from->time, "an event without a time, or the wrong order");
  MUST(from->wanted && from->done == from->wanted && to->done == to->wanted, "an event not recorded yet");
  *ms = (float)(to->time - from->time) * 1e-3f;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  ENTER_UNSAFE;
  while (e->done < e->wanted) run_one(e->stream);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s) {
  ENTER;
  MUST(kind == cudaMemcpyDefault && bytes > 0, "copy");
  check_range(to, bytes);
  check_range(from, bytes);
  return put(s, (node){.kind = NODE_COPY, .pointers = {to, (char *)(uintptr_t)from}, .bytes = bytes});
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
  ENTER;
  check_range(device_memory(p), bytes);
  return put(s, (node){.kind = NODE_SET, .pointers = {p}, .numbers = {value}, .bytes = bytes});
}
