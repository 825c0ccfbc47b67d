/* measure_roof.c: what a GPU can do at best: copies in its memory, and chains of one operation
 * (kernels/lane/roof.inl). The best of several runs, after others have woken its clocks. */
#include "host/measure/measure_roof.h"
#include "host/cuda/cuda_context.h"

#ifndef ABUT_HAVE_CUDA

abut_status measure_roofs(int32_t device_id, int32_t dtype, gpu_roofs *roofs) {
  (void)dtype, (void)roofs;
  return cuda_find_device(device_id);
}

#else
#include "host/cuda/cuda_memory.h"

/* In the order of ROOF_* in roof.inl. */
enum { FMA, DIVISION, ROOT, KINDS, CHAINS = 8, FMA_ROUNDS = 8192, OTHER_ROUNDS = 1024 };
enum { BLOCK = 64, BLOCKS_PER_PROCESSOR = 64, RUNS = 12 };
static const size_t MOST_BYTES = (size_t)1 << 30;

typedef struct roof_run {
  cudaStream_t stream;
  cudaEvent_t start, end;
  char *memory;
  size_t bytes;
  unsigned blocks;
  const void *kernel;
} roof_run;

static abut_status check(cudaError_t code, const char *what) {
  return code == cudaSuccess ? ABUT_OK
                             : fail_with(ABUT_ERROR_DEVICE, "%s: %s", what, cudaGetErrorString(code));
}
#define CK(call) ATTEMPT(check(call, #call))

static abut_status roof_open(roof_run *r, int32_t device_id, int32_t dtype) {
  size_t free_bytes, total;
  int processors;
  r->kernel = cuda_roof(dtype);
  CK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_id));
  CK(cudaMemGetInfo(&free_bytes, &total));
  r->blocks = (unsigned)processors * BLOCKS_PER_PROCESSOR;
  r->bytes = free_bytes / 16 < MOST_BYTES / 2 ? free_bytes / 16 : MOST_BYTES / 2;
  CK(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
  CK(cudaEventCreate(&r->start));
  CK(cudaEventCreate(&r->end));
  CK(cudaMalloc((void **)&r->memory, 2 * r->bytes));
  CK(cudaMemsetAsync(r->memory, 0, 2 * r->bytes, r->stream));
  return ABUT_OK;
}
static void roof_close(roof_run *r) {
  if (r->memory) cudaFree(r->memory);
  if (r->end) cudaEventDestroy(r->end);
  if (r->start) cudaEventDestroy(r->start);
  if (r->stream) cudaStreamDestroy(r->stream);
}

static abut_status launch(roof_run *r, int kind, int rounds) {
  void *args[] = {&r->memory, &kind, &rounds};
  dim3 grid = {r->blocks, 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(r->kernel, grid, block, args, 0, r->stream));
  return ABUT_OK;
}
static abut_status copy(roof_run *r) {
  CK(cudaMemcpyAsync(r->memory + r->bytes, r->memory, r->bytes, cudaMemcpyDefault, r->stream));
  return ABUT_OK;
}

/* Things done per second, where a run does `things`; kind KINDS: a copy. */
static abut_status best_rate(roof_run *r, int kind, double things, double *rate) {
  int rounds = kind == FMA ? FMA_ROUNDS : OTHER_ROUNDS;
  *rate = 0;
  for (int i = 0; i < RUNS; i++) {
    float ms = 0;
    CK(cudaEventRecord(r->start, r->stream));
    ATTEMPT(kind == KINDS ? copy(r) : launch(r, kind, rounds));
    CK(cudaEventRecord(r->end, r->stream));
    CK(cudaStreamSynchronize(r->stream));
    CK(cudaEventElapsedTime(&ms, r->start, r->end));
    double here = ms > 0 ? 1e3 * things / (double)ms : 0;
    if (here > *rate) *rate = here;
  }
  return ABUT_OK;
}

static abut_status measure(roof_run *r, gpu_roofs *roofs) {
  double chains = (double)r->blocks * BLOCK * CHAINS;
  ATTEMPT(best_rate(r, FMA, chains * FMA_ROUNDS, &roofs->fma));
  ATTEMPT(best_rate(r, DIVISION, chains * OTHER_ROUNDS, &roofs->division));
  ATTEMPT(best_rate(r, ROOT, chains * OTHER_ROUNDS, &roofs->root));
  return best_rate(r, KINDS, 2 * (double)r->bytes, &roofs->memory);
}

abut_status measure_roofs(int32_t device_id, int32_t dtype, gpu_roofs *roofs) {
  roof_run r = {0};
  ATTEMPT(cuda_find_device(device_id));
  SCOPE(caller);
  CK(scope_open(&caller, device_id));
  abut_status status = roof_open(&r, device_id, dtype);
  if (status == ABUT_OK) status = measure(&r, roofs);
  roof_close(&r);
  return status;
}
#endif
