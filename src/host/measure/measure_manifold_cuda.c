/* measure_manifold_cuda.c: times the kernels of edge pairs and of signed distances on a GPU, by its clock. */
#include "host/measure/measure_manifold.h"
#include "host/base/kernels.h"
#include "host/cuda/cuda_context.h"
#include "host/items/manifold_cuda.h"

double measure_manifold_cuda(const abut_manifold *manifold) { return cuda_manifold_seconds(manifold); }

#ifndef ABUT_HAVE_CUDA

abut_status measure_edges_cuda(int32_t device_id, int32_t dtype, double *ns) {
  (void)dtype, (void)ns;
  return cuda_find_device(device_id);
}
abut_status measure_distance_cuda(int32_t device_id, const abut_surface *surface, int64_t count,
                                  const double *points, int skip, int32_t dtype, double *ns) {
  (void)surface, (void)count, (void)points, (void)skip, (void)dtype, (void)ns;
  return cuda_find_device(device_id);
}

#else
#include "kernels/lane/random.h"
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, WARPS_PER_PROCESSOR = 32, EDGES = 1 << 20 };

#define CK(call) CUDA_TRY(c, call)

/* One allocation: the argument of the kernel, its inputs and outputs; filled on the host. */
typedef struct kernel_bench {
  cuda_context device;
  cudaEvent_t begun, ended;
  char *memory, *host;
  size_t bytes, used;
  int warps;
} kernel_bench;

static abut_status bench_open(kernel_bench *b) {
  cuda_context *c = &b->device;
  int processors;
  ATTEMPT(cuda_context_open(c, NULL, cudaStreamNonBlocking));
  CK(cudaEventCreate(&b->begun));
  CK(cudaEventCreate(&b->ended));
  CK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, c->device_id));
  b->warps = processors * WARPS_PER_PROCESSOR;
  return ABUT_OK;
}
static void bench_close(kernel_bench *b) {
  if (b->device.stream) cudaStreamSynchronize(b->device.stream);
  if (b->memory) cudaFree(b->memory);
  if (b->begun) cudaEventDestroy(b->begun);
  if (b->ended) cudaEventDestroy(b->ended);
  cuda_context_close(&b->device);
  free(b->host);
}
static abut_status bench_allocate(kernel_bench *b, size_t bytes) {
  cuda_context *c = &b->device;
  b->bytes = bytes;
  b->host = calloc(1, bytes);
  if (!b->host) return fail_with(ABUT_ERROR_MEMORY, "bench: no memory for %zu bytes", bytes);
  CK(cudaMalloc((void **)&b->memory, bytes));
  return ABUT_OK;
}
/* The next bytes of the block: where they lie on the device, and on the host. */
static char *bench_take(kernel_bench *b, size_t bytes, char **host) {
  char *at = b->memory + b->used;
  if (host) *host = b->host + b->used;
  b->used += round_up(bytes);
  return at;
}

static abut_status time_once(kernel_bench *b, const void *kernel, int warps, double *seconds) {
  cuda_context *c = &b->device;
  float ms = 0;
  CK(cudaEventRecord(b->begun, c->stream));
  ATTEMPT(cuda_launch_warps(c, kernel, b->memory, warps));
  CK(cudaEventRecord(b->ended, c->stream));
  CK(cudaStreamSynchronize(c->stream));
  CK(cudaEventElapsedTime(&ms, b->begun, b->ended));
  *seconds = 1e-3 * (double)ms;
  return ABUT_OK;
}
/* The shortest of some runs, after one that wakes the card's clocks. */
static abut_status time_kernel(kernel_bench *b, const void *kernel, int64_t items, double *ns) {
  const int64_t wanted = (items + 31) / 32;
  const int warps = wanted < b->warps ? (int)wanted : b->warps;
  double best = 0, seconds;
  ATTEMPT(cuda_to_device(&b->device, b->memory, b->host, b->bytes));
  for (int i = -1; i < RUNS; i++) {
    ATTEMPT(time_once(b, kernel, warps, &seconds));
    if (i == 0 || (i > 0 && seconds < best)) best = seconds;
  }
  *ns = 1e9 * best / (double)items;
  return ABUT_OK;
}

static abut_status run_edges(kernel_bench *b, int32_t dtype, double *ns) {
  const item_kernels *k;
  ATTEMPT(item_kernels_for(dtype, &k));
  const abut_manifold_options o = abut_default_manifold_options();
  const size_t elem = (size_t)k->elem_size;
  char *argument, *in;
  ATTEMPT(bench_allocate(b, round_up(sizeof(edges_batch)) + 2 * round_up(9 * EDGES * elem)));
  bench_take(b, sizeof(edges_batch), &argument);
  edges_batch *batch = (edges_batch *)(void *)argument;
  *batch = (edges_batch){.soft = {o.w_reg, o.tau_clip, o.tau_min, o.tau_comp, 1}, .count = EDGES};
  batch->in = bench_take(b, 9 * EDGES * elem, &in);
  batch->out = bench_take(b, 3 * EDGES * elem, NULL);
  for (int64_t i = 0; i < 9 * EDGES; i++) real_put(k, in, i, 2 * hash_uniform(1, (uint64_t)i, 0, 0) - 1);
  return time_kernel(b, cuda_manifold_kernels(dtype)[MANIFOLD_edges], EDGES, ns);
}

typedef struct distance_bench {
  const item_kernels *kernels;
  const surface_view *view;
  int64_t count;
  const double *points;
  double unit;
} distance_bench;
static abut_status run_distances(kernel_bench *b, const distance_bench *d, int32_t dtype, double *ns) {
  const sdf_view *sdf = &d->view->sdf;
  const size_t elem = (size_t)d->kernels->elem_size, n = (size_t)d->count;
  const size_t primitives = (size_t)sdf->num * (size_t)d->kernels->manifold.primitive_size;
  const size_t rows = (size_t)sdf->num_rows * SDF_ROW * elem, threads = 32 * (size_t)b->warps;
  const size_t numbers = threads * (size_t)DISTANCE_NUMBERS(sdf->num) * elem;
  const size_t lists = threads * (size_t)DISTANCE_LISTS(sdf->num) * sizeof(int32_t);
  char *argument, *at, *in;
  ATTEMPT(bench_allocate(b, round_up(sizeof(distances_batch)) + round_up(primitives) + round_up(rows) +
                                round_up(3 * n * elem) + round_up(4 * n * elem) + round_up(numbers) +
                                round_up(lists)));
  bench_take(b, sizeof(distances_batch), &argument);
  distances_batch *batch = (distances_batch *)(void *)argument;
  *batch = (distances_batch){.surface = *sdf, .count = (int32_t)n};
  batch->surface.primitives = bench_take(b, primitives, &at);
  memcpy(at, sdf->primitives, primitives);
  batch->surface.rows = bench_take(b, rows, &at);
  if (rows) memcpy(at, sdf->rows, rows);
  batch->in = bench_take(b, 3 * n * elem, &in);
  batch->out = bench_take(b, 4 * n * elem, NULL);
  batch->scratch = bench_take(b, numbers, NULL);
  batch->lists = (int32_t *)(void *)bench_take(b, lists, NULL);
  for (int64_t i = 0; i < d->count; i++)
    for (int c = 0; c < 3; c++) real_put(d->kernels, in, c * d->count + i, d->points[3 * i + c] / d->unit);
  return time_kernel(b, cuda_manifold_kernels(dtype)[MANIFOLD_distances], d->count, ns);
}

abut_status measure_edges_cuda(int32_t device_id, int32_t dtype, double *ns) {
  kernel_bench b = {.device = {.owner = "bench", .device_id = device_id}};
  ATTEMPT(cuda_find_device(device_id));
  CUDA_USE(&b.device);
  abut_status status = bench_open(&b);
  if (status == ABUT_OK) status = run_edges(&b, dtype, ns);
  bench_close(&b);
  return status;
}

abut_status measure_distance_cuda(int32_t device_id, const abut_surface *surface, int64_t count,
                                  const double *points, int skip, int32_t dtype, double *ns) {
  kernel_bench b = {.device = {.owner = "bench", .device_id = device_id}};
  surface_view view;
  distance_bench d = {NULL, &view, count, points, abut_surface_diagonal(surface)};
  ATTEMPT(item_kernels_for(dtype, &d.kernels));
  ATTEMPT(cuda_find_device(device_id));
  CUDA_USE(&b.device);
  ATTEMPT(surface_view_create(d.kernels, surface, d.unit, 0, &view));
  if (!skip) view.sdf.tau = 1000; /* every primitive weighs something everywhere */
  abut_status status = bench_open(&b);
  if (status == ABUT_OK) status = run_distances(&b, &d, dtype, ns);
  bench_close(&b);
  surface_view_destroy(&view);
  return status;
}
#endif
