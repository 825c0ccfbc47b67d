/* cuda_copy.c: a batch's state and the caller's arrays, to a GPU and back. */
#ifdef ABUT_HAVE_CUDA
#include "host/cuda/cuda_device.h"
#include <string.h>

/* ---------------------------------------------------------------- the state */

/* At once, not when a program next runs: the caller may replay a graph that this library knows nothing of. */
abut_status cuda_push(abut_batch *b) {
  cuda_device *c = b->cuda;
  state_copy copies[STATE_COPIES];
  int moved = 0;
  USE(b);
  cuda_state_copies(b, &c->at.state, copies);
  for (int i = 0; i < STATE_COPIES; i++)
    ATTEMPT(cuda_to_device(&c->gpu, copies[i].device, copies[i].host, copies[i].bytes));
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &b->parameters[i];
    moved |= c->at.parameters[i].rows != p->rows;
    c->at.parameters[i].rows = p->rows;
    ATTEMPT(
        cuda_to_device(&c->gpu, c->at.parameters[i].data, p->data, (size_t)(p->rows * p->n) * elem_size(b)));
  }
  if (moved) ATTEMPT(cuda_void_graphs(c)); /* they hold the old number of rows */
  CK(cudaStreamSynchronize(c->gpu.stream));
  return ABUT_OK;
}

abut_status cuda_fetch(abut_batch *b) {
  cuda_device *c = b->cuda;
  ATTEMPT(cuda_settle(b, NULL));
  if (!c->device_newer) return ABUT_OK;
  USE(b);
  state_copy copies[STATE_COPIES];
  cuda_state_copies(b, &c->at.state, copies);
  for (int i = 0; i < STATE_COPIES; i++)
    ATTEMPT(cuda_to_host(&c->gpu, copies[i].host, copies[i].device, copies[i].bytes));
  c->device_newer = 0;
  return ABUT_OK;
}

/* ---------------------------------------------------------------- the caller's arrays */

/* A kernel that reads memory of the host ends the process's use of the device, so tags are not believed. */
abut_status cuda_holds(const abut_options *o, const char *name, const abut_tensor *t) {
  struct cudaPointerAttributes at;
  cudaError_t code = cudaPointerGetAttributes(&at, tensor_data(t));
  if (code != cudaSuccess)
    return fail_with(ABUT_ERROR_DEVICE, "%s: cudaPointerGetAttributes: %s", name, cudaGetErrorString(code));
  if (at.type == cudaMemoryTypeManaged || (at.type == cudaMemoryTypeDevice && at.device == o->device_id))
    return ABUT_OK;
  if (at.type == cudaMemoryTypeDevice)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: says CUDA device %d (type 2), but %p lies on device %d", name,
                     o->device_id, (void *)tensor_data(t), at.device);
  return fail_with(ABUT_ERROR_ARGUMENT,
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
    if (a->input != ARRAY_OUT) ATTEMPT(cuda_to_device(&c->gpu, at, tensor_data(a->x), tensor_bytes(a->x)));
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
    if (wanted && a->input == ARRAY_OUT)
      ATTEMPT(cuda_to_host(&c->gpu, tensor_data(a->x), at, tensor_bytes(a->x)));
    at += round_up(tensor_bytes(a->x));
  }
  CK(cudaStreamSynchronize(c->gpu.stream));
  return ABUT_OK;
}

#else
typedef int cuda_copy_is_empty; /* ISO C wants one declaration */
#endif
