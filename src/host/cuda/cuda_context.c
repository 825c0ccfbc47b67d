/* cuda_context.c: a GPU as one owner uses it; copies between host memory and a GPU go through pinned memory
 * in two halves: the transfer of one runs while the host copies the other. */
#include "host/cuda/cuda_context.h"

#ifndef ABUT_HAVE_CUDA

abut_status cuda_find_device(int32_t device_id) {
  (void)device_id;
  return fail_with(ABUT_ERROR_DEVICE, "no CUDA: this build has no kernels for GPUs (docs/gpu.md)");
}

#else
#include <stdio.h>
#include <string.h>

/* A transfer of CHUNK bytes takes much longer than it takes to ask for it. */
enum { CHUNK = 2 << 20, BLOCK = 64 };

abut_status cuda_find_device(int32_t device_id) {
  int count = 0, driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return fail_with(ABUT_ERROR_DEVICE, "no CUDA driver on this machine: device cuda cannot be used");
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0)
    return fail_with(ABUT_ERROR_DEVICE, "no CUDA device: %s",
                     code != cudaSuccess ? cudaGetErrorString(code) : "the driver has none");
  if (device_id >= count)
    return fail_with(ABUT_ERROR_ARGUMENT, "device_id %d does not exist, this machine has %d CUDA device%s",
                     device_id, count, PLURAL(count));
  return ABUT_OK;
}

cudaError_t scope_open(cuda_scope *s, int32_t device_id) {
  int current;
  cudaError_t code = cudaThreadExchangeStreamCaptureMode(&s->mode);
  if (code == cudaSuccess) code = cudaGetDevice(&current);
  if (code != cudaSuccess || current == device_id) return code;
  code = cudaSetDevice(device_id);
  if (code == cudaSuccess) s->device = current;
  return code;
}
void scope_close(cuda_scope *s) {
  if (s->device >= 0) cudaSetDevice(s->device);
  if (s->mode != cudaStreamCaptureModeRelaxed) cudaThreadExchangeStreamCaptureMode(&s->mode);
}

/* ---------------------------------------------------------------- failures */

abut_status cuda_check(cuda_context *c, cudaError_t code, const char *what) {
  if (c->lost != ABUT_OK) return fail_with(c->lost, "%s", c->why);
  if (code == cudaSuccess) return ABUT_OK;
  abut_status status = code == cudaErrorMemoryAllocation ? ABUT_ERROR_MEMORY : ABUT_ERROR_DEVICE;
  abut_status failed = fail_with(status, "%s: %s", what, cudaGetErrorString(code));
  if (status == ABUT_ERROR_DEVICE) cuda_context_lose(c, status); /* else nothing ran: all is as it was */
  return failed;
}
void cuda_context_lose(cuda_context *c, abut_status status) {
  if (c->lost != ABUT_OK) return;
  c->lost = status;
  snprintf(c->why, sizeof c->why, "the %s is lost: %s", c->owner, abut_error_message());
}

/* ---------------------------------------------------------------- opening */

#define CK(call) CUDA_TRY(c, call)

static abut_status buffer_create(cuda_context *c, size_t bytes) {
  copy_buffer *f = &c->buffer;
  f->bytes = bytes;
  for (int i = 0; i < 2; i++) {
    CK(cudaHostAlloc((void **)&f->half[i], bytes, cudaHostAllocDefault));
    CK(cudaEventCreateWithFlags(&f->done[i], cudaEventDisableTiming));
  }
  return ABUT_OK;
}

abut_status cuda_context_open(cuda_context *c, cudaStream_t stream, unsigned flags) {
  if (!stream) CK(cudaStreamCreateWithFlags(&c->own, flags));
  c->stream = stream ? stream : c->own;
  return buffer_create(c, CHUNK);
}
void cuda_context_close(cuda_context *c) {
  copy_buffer *f = &c->buffer;
  for (int i = 0; i < 2; i++) {
    if (f->half[i]) cudaFreeHost(f->half[i]);
    if (f->done[i]) cudaEventDestroy(f->done[i]);
  }
  if (c->own) cudaStreamDestroy(c->own);
  *f = (copy_buffer){{NULL}, {NULL}, 0, 0};
  c->own = c->stream = NULL;
}

abut_status cuda_launch_warps(cuda_context *c, const void *kernel, void *argument, int warps) {
  void *args[] = {&argument, &warps};
  dim3 grid = {(unsigned)((warps * 32 + BLOCK - 1) / BLOCK), 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(kernel, grid, block, args, 0, c->stream));
  return ABUT_OK;
}

/* ---------------------------------------------------------------- copies */

static size_t part(const copy_buffer *f, size_t bytes, size_t at) {
  return bytes - at < f->bytes ? bytes - at : f->bytes;
}

abut_status cuda_to_device(cuda_context *c, void *to, const void *host, size_t bytes) {
  copy_buffer *f = &c->buffer;
  for (size_t at = 0; at < bytes; at += f->bytes) {
    int i = f->next ^= 1;
    size_t n = part(f, bytes, at);
    CK(cudaEventSynchronize(f->done[i]));
    memcpy(f->half[i], (const char *)host + at, n);
    CK(cudaMemcpyAsync((char *)to + at, f->half[i], n, cudaMemcpyDefault, c->stream));
    CK(cudaEventRecord(f->done[i], c->stream));
  }
  return ABUT_OK;
}

abut_status cuda_to_host(cuda_context *c, void *host, const void *from, size_t bytes) {
  copy_buffer *f = &c->buffer;
  size_t at = 0, done = 0;
  for (int i = 0; done < bytes; i ^= 1) { /* i: the half whose transfer began first */
    for (; at < bytes && at < done + 2 * f->bytes; at += f->bytes) {
      int j = (int)(at / f->bytes % 2);
      CK(cudaMemcpyAsync(f->half[j], (const char *)from + at, part(f, bytes, at), cudaMemcpyDefault,
                         c->stream));
      CK(cudaEventRecord(f->done[j], c->stream));
    }
    CK(cudaEventSynchronize(f->done[i]));
    memcpy((char *)host + done, f->half[i], part(f, bytes, done));
    done += part(f, bytes, done);
  }
  return ABUT_OK;
}
#endif
