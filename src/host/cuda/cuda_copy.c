/* cuda_copy.c: copies between host memory and a GPU, through pinned memory in two halves: the transfer of one
 * runs while the host copies the other. */
#ifdef ABUT_HAVE_CUDA
#include "host/cuda/cuda_device.h"
#include <string.h>

abut_status copy_buffer_create(cuda_device *c, size_t bytes) {
  copy_buffer *f = &c->buffer;
  f->bytes = bytes;
  for (int i = 0; i < 2; i++) {
    CK(cudaHostAlloc((void **)&f->half[i], bytes, cudaHostAllocDefault));
    CK(cudaEventCreateWithFlags(&f->done[i], cudaEventDisableTiming));
  }
  return ABUT_OK;
}
void copy_buffer_destroy(cuda_device *c) {
  copy_buffer *f = &c->buffer;
  for (int i = 0; i < 2; i++) {
    if (f->half[i]) cudaFreeHost(f->half[i]);
    if (f->done[i]) cudaEventDestroy(f->done[i]);
  }
  *f = (copy_buffer){{NULL}, {NULL}, 0, 0};
}

static size_t part(const copy_buffer *f, size_t bytes, size_t at) {
  return bytes - at < f->bytes ? bytes - at : f->bytes;
}

abut_status cuda_to_device(cuda_device *c, void *to, const void *host, size_t bytes) {
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

abut_status cuda_to_host(cuda_device *c, void *host, const void *from, size_t bytes) {
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

/* ---------------------------------------------------------------- the state */

/* At once, not when a program next runs: the caller may replay a graph that this library knows nothing of. */
abut_status cuda_push(abut_batch *b) {
  cuda_device *c = b->cuda;
  state_copy copies[STATE_COPIES];
  int moved = 0;
  USE(b);
  cuda_state_copies(b, &c->at.state, copies);
  for (int i = 0; i < STATE_COPIES; i++)
    ABUT_TRY(cuda_to_device(c, copies[i].device, copies[i].host, copies[i].bytes));
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &b->parameters[i];
    moved |= c->at.parameters[i].rows != p->rows;
    c->at.parameters[i].rows = p->rows;
    ABUT_TRY(cuda_to_device(c, c->at.parameters[i].data, p->data, (size_t)(p->rows * p->n) * elem_size(b)));
  }
  if (moved) ABUT_TRY(cuda_void_graphs(c)); /* they hold the old number of rows */
  CK(cudaStreamSynchronize(c->stream));
  return ABUT_OK;
}

abut_status cuda_fetch(abut_batch *b) {
  cuda_device *c = b->cuda;
  ABUT_TRY(cuda_settle(b, NULL));
  if (!c->device_newer) return ABUT_OK;
  USE(b);
  state_copy copies[STATE_COPIES];
  cuda_state_copies(b, &c->at.state, copies);
  for (int i = 0; i < STATE_COPIES; i++)
    ABUT_TRY(cuda_to_host(c, copies[i].host, copies[i].device, copies[i].bytes));
  c->device_newer = 0;
  return ABUT_OK;
}

/* ---------------------------------------------------------------- the caller's arrays */

/* A kernel that reads memory of the host ends the process's use of the device, so tags are not believed. */
abut_status cuda_holds(const abut_options *o, const char *name, const abut_tensor *t) {
  struct cudaPointerAttributes at;
  cudaError_t code = cudaPointerGetAttributes(&at, tensor_data(t));
  if (code != cudaSuccess)
    return abut_fail(ABUT_ERROR_DEVICE, "%s: cudaPointerGetAttributes: %s", name, cudaGetErrorString(code));
  if (at.type == cudaMemoryTypeManaged || (at.type == cudaMemoryTypeDevice && at.device == o->device_id))
    return ABUT_OK;
  if (at.type == cudaMemoryTypeDevice)
    return abut_fail(ABUT_ERROR_ARGUMENT, "%s: says CUDA device %d (type 2), but %p lies on device %d", name,
                     o->device_id, (void *)tensor_data(t), at.device);
  return abut_fail(ABUT_ERROR_ARGUMENT,
                   "%s: says CUDA device %d (type 2), but %p is no memory of a device: that of the host has "
                   "type 1, or 3 where it is pinned",
                   name, o->device_id, (void *)tensor_data(t));
}

static int staged(const caller_array *a) { return a->x && !tensor_on_gpu(a->x) && tensor_bytes(a->x) > 0; }
static void point(const caller_array *a, char *to) { *(char **)a->pointer = to; }

/* Room on the device for those that lie in host memory, while the program runs. */
abut_status cuda_stage(cuda_device *c, const caller_array *arrays, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += staged(&arrays[i]) ? round_up(tensor_bytes(arrays[i].x)) : 0;
  if (bytes > c->staging_bytes) {
    char *old = c->staging; /* gone even where this fails */
    c->staging = NULL;
    c->staging_bytes = 0;
    if (old) CK(cudaFree(old));
    CK(cudaMalloc((void **)&c->staging, bytes));
    c->staging_bytes = bytes;
  }
  char *at = c->staging;
  for (int i = 0; i < count; i++) {
    const caller_array *a = &arrays[i];
    if (a->x && tensor_bytes(a->x) == 0) point(a, NULL); /* the kernels need no address of the host's */
    if (!staged(a)) continue;
    if (a->input != ARRAY_OUT) ABUT_TRY(cuda_to_device(c, at, tensor_data(a->x), tensor_bytes(a->x)));
    point(a, at);
    at += round_up(tensor_bytes(a->x));
  }
  return ABUT_OK;
}
abut_status cuda_unstage(cuda_device *c, const caller_array *arrays, int count, int wanted) {
  char *at = c->staging;
  for (int i = 0; i < count; i++) {
    const caller_array *a = &arrays[i];
    if (!staged(a)) continue;
    if (wanted && a->input == ARRAY_OUT) ABUT_TRY(cuda_to_host(c, tensor_data(a->x), at, tensor_bytes(a->x)));
    at += round_up(tensor_bytes(a->x));
  }
  CK(cudaStreamSynchronize(c->stream));
  return ABUT_OK;
}

#else
typedef int cuda_copy_is_empty; /* ISO C wants one declaration */
#endif
