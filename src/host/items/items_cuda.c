/* items_cuda.c: items on a GPU: what all of them read is copied once; they themselves pass through host
 * memory part by part, and the host's threads write and read their arrays. No arithmetic. There are as many
 * warps as a card can run at once. */
#include "host/items/items.h"
#include "host/cuda/cuda_context.h"

#ifndef ABUT_HAVE_CUDA

abut_status items_open_gpu(items_runner *r, int32_t device_id) {
  (void)r;
  return cuda_find_device(device_id);
}
void items_close_gpu(items_runner *r) { (void)r; }
abut_status items_run_gpu(const items_call *call) {
  (void)call;
  return cuda_find_device(0);
}
double items_seconds(const items_runner *r) {
  (void)r;
  return 0;
}

#else
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { WARPS_PER_PROCESSOR = 16, MOST_ITEMS = 1 << 14 };
/* Of free memory: all scratch, and one part of the items. */
enum { SCRATCH_SHARE = 4, PART_SHARE = 8 };
static const size_t MOST_PART = (size_t)256 << 20; /* bytes: what is on its way need not be more */

typedef struct items_gpu {
  cuda_context context;
  pthread_mutex_t lock;
  cudaEvent_t begun, ended;
  char *shared, *scratch, *part; /* on the device; shared begins with the kernels' argument */
  char *host;                    /* as `part` */
  size_t part_bytes;
  int warps;
  double seconds;
} items_gpu;

#define CK(call) CUDA_TRY(&g->context, call)

/* ------------------------------------------------------------------------------------------- opening */

static abut_status open_device(items_gpu *g) {
  CUDA_USE(&g->context);
  ATTEMPT(cuda_context_open(&g->context, NULL, cudaStreamNonBlocking));
  CK(cudaEventCreate(&g->begun));
  CK(cudaEventCreate(&g->ended));
  return ABUT_OK;
}
abut_status items_open_gpu(items_runner *r, int32_t device_id) {
  ATTEMPT(cuda_find_device(device_id));
  items_gpu *g = calloc(1, sizeof *g);
  if (!g) return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory", r->owner);
  g->context.owner = r->owner;
  g->context.device_id = device_id;
  pthread_mutex_init(&g->lock, NULL);
  r->gpu = g;
  return open_device(g); /* what it has made by then is closed with the runner */
}

/* Says nothing: the caller may still want to know why the call before failed. */
void items_close_gpu(items_runner *r) {
  items_gpu *g = r->gpu;
  if (!g) return;
  SCOPE(caller);
  scope_open(&caller, g->context.device_id);
  if (g->context.stream) cudaStreamSynchronize(g->context.stream);
  char *const memory[] = {g->shared, g->scratch, g->part};
  for (int i = 0; i < 3; i++)
    if (memory[i]) cudaFree(memory[i]);
  if (g->begun) cudaEventDestroy(g->begun);
  if (g->ended) cudaEventDestroy(g->ended);
  cuda_context_close(&g->context);
  pthread_mutex_destroy(&g->lock);
  free(g->host);
  free(g);
  r->gpu = NULL;
}

double items_seconds(const items_runner *r) { return r->gpu ? r->gpu->seconds : 0; }

abut_status items_share(items_runner *r, const items_upload *list, int count, size_t argument_bytes) {
  items_gpu *g = r->gpu;
  size_t bytes = round_up(argument_bytes);
  CUDA_USE(&g->context);
  for (int i = 0; i < count; i++) bytes += round_up(list[i].bytes);
  CK(cudaMalloc((void **)&g->shared, bytes));
  char *at = g->shared + round_up(argument_bytes);
  for (int i = 0; i < count; i++) {
    *list[i].to = at;
    ATTEMPT(cuda_to_device(&g->context, at, list[i].host, list[i].bytes));
    at += round_up(list[i].bytes);
  }
  return ABUT_OK;
}

abut_status items_ask(items_runner *r, const void *kernel, void *argument, size_t bytes) {
  items_gpu *g = r->gpu;
  CUDA_USE(&g->context);
  ATTEMPT(cuda_to_device(&g->context, g->shared, argument, bytes));
  ATTEMPT(cuda_launch_warps(&g->context, kernel, g->shared, 1));
  return cuda_to_host(&g->context, argument, g->shared, bytes);
}

abut_status items_scratch(items_runner *r, size_t each, void **scratch) {
  items_gpu *g = r->gpu;
  int processors;
  size_t free_bytes, total;
  CUDA_USE(&g->context);
  CK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, g->context.device_id));
  CK(cudaMemGetInfo(&free_bytes, &total));
  const size_t most = free_bytes / SCRATCH_SHARE / each, wanted = (size_t)processors * WARPS_PER_PROCESSOR;
  g->warps = (int)(wanted < most ? wanted : most);
  if (g->warps == 0)
    return fail_with(ABUT_ERROR_MEMORY, "%s: %zu bytes for one item, device has %zu free", r->owner, each,
                     free_bytes);
  CK(cudaMalloc((void **)&g->scratch, (size_t)g->warps * each));
  *scratch = g->scratch;
  return ABUT_OK;
}

/* ------------------------------------------------------------------------------------------- a part */

static items_part lay_out(const items_call *call, int64_t count) {
  items_array arrays[ITEMS_ARRAYS];
  const int num = call->kind->gpu->arrays(call->job, arrays);
  items_part p = {.count = count};
  for (int i = 0; i < num; i++) {
    assert(i == 0 || arrays[i].way >= arrays[i - 1].way);
    p.each[i] = arrays[i].each;
    p.at[i] = p.bytes;
    p.bytes += round_up(p.each[i] * (size_t)count);
    if (arrays[i].way < ITEMS_IN_OUT) p.back = p.bytes;
    if (arrays[i].way < ITEMS_OUT) p.there = p.bytes;
    if (arrays[i].way < ITEMS_ADDED) p.zeros = p.bytes;
  }
  return p;
}

static void prepare_item(const items_call *call, void *memory, int64_t i, const void *part) {
  call->kind->gpu->prepare(call->job, memory, part, i);
}
static void finish_item(const items_call *call, void *memory, int64_t i, const void *part) {
  call->kind->gpu->finish(call->job, memory, part, i);
}

/* One copy there, one launch, one copy back. */
static abut_status run_device(items_gpu *g, const items_call *call, const items_part *p) {
  const items_gpu_kind *kind = call->kind->gpu;
  cuda_context *c = &g->context;
  size_t argument_bytes;
  float ms = 0;
  const void *argument = kind->argument(call->job, p, &argument_bytes);
  ATTEMPT(cuda_to_device(c, g->shared, argument, argument_bytes));
  ATTEMPT(cuda_to_device(c, p->device, p->host, p->there));
  if (p->bytes > p->zeros) CK(cudaMemsetAsync(p->device + p->zeros, 0, p->bytes - p->zeros, c->stream));
  CK(cudaEventRecord(g->begun, c->stream));
  const int warps = p->count < g->warps ? (int)p->count : g->warps;
  ATTEMPT(cuda_launch_warps(c, kind->kernel(call->job), g->shared, warps));
  CK(cudaEventRecord(g->ended, c->stream));
  ATTEMPT(cuda_to_host(c, p->host + p->back, p->device + p->back, p->bytes - p->back));
  CK(cudaStreamSynchronize(c->stream));
  CK(cudaEventElapsedTime(&ms, g->begun, g->ended));
  g->seconds += 1e-3 * (double)ms;
  return ABUT_OK;
}

static abut_status run_part(items_gpu *g, const items_call *call, const items_part *p) {
  ATTEMPT(items_for(call, p->count, 1, prepare_item, p));
  ATTEMPT(run_device(g, call, p));
  ATTEMPT(items_for(call, p->count, 1, finish_item, p));
  for (int64_t i = 0; call->sums && i < p->count; i++) /* in the order of items, as on threads */
    call->kind->gpu->add(call->job, p, i, items_sums(call, p->first + i));
  return ABUT_OK;
}

/* Room for one part of the items, as many as fit. */
static abut_status make_room(items_gpu *g, const items_call *call, int64_t *items) {
  size_t free_bytes, total;
  CK(cudaMemGetInfo(&free_bytes, &total));
  const size_t here = (free_bytes + g->part_bytes) / PART_SHARE, most = here < MOST_PART ? here : MOST_PART;
  int64_t fit = (int64_t)(most / lay_out(call, 1).bytes);
  fit = fit < 1 ? 1 : fit > MOST_ITEMS ? MOST_ITEMS : fit;
  *items = call->count < fit ? call->count : fit;
  const size_t bytes = lay_out(call, *items).bytes;
  if (bytes <= g->part_bytes) return ABUT_OK;
  char *old = g->part; /* gone even where this fails */
  g->part = NULL;
  g->part_bytes = 0;
  if (old) CK(cudaFree(old));
  free(g->host);
  g->host = malloc(bytes);
  if (!g->host)
    return fail_with(ABUT_ERROR_MEMORY, "%s: no memory for %zu bytes", call->runner->owner, bytes);
  CK(cudaMalloc((void **)&g->part, bytes));
  g->part_bytes = bytes;
  return ABUT_OK;
}

static abut_status run_parts(items_gpu *g, const items_call *call) {
  int64_t items;
  CUDA_USE(&g->context);
  g->seconds = 0;
  ATTEMPT(make_room(g, call, &items));
  for (int64_t first = 0; first < call->count; first += items) {
    items_part p = lay_out(call, items < call->count - first ? items : call->count - first);
    p.first = first;
    p.host = g->host;
    p.device = g->part;
    ATTEMPT(run_part(g, call, &p));
  }
  return ABUT_OK;
}

abut_status items_run_gpu(const items_call *call) {
  items_gpu *g = call->runner->gpu;
  if (call->count == 0) return ABUT_OK;
  pthread_mutex_lock(&g->lock);
  abut_status status = run_parts(g, call);
  pthread_mutex_unlock(&g->lock);
  return status;
}
#endif
