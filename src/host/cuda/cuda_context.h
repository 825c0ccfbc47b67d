/* cuda_context.h: a GPU as one owner uses it: the device, a stream, copies through pinned memory, and the
 * first failure, after which nothing works any more. It knows neither batches nor items. */
#ifndef ABUT_CUDA_CONTEXT_H
#define ABUT_CUDA_CONTEXT_H
#include "host/base/status.h"

/* Whether this GPU can be used; fails with the reason. */
abut_status cuda_find_device(int32_t device_id);

#ifdef ABUT_HAVE_CUDA
#include <cuda_runtime_api.h>
#include <stddef.h>

/* What a call changes of the calling thread while it uses a GPU, and puts back: while it is open, the device
 * is the current one, and captures elsewhere do not forbid what has to be done here. */
typedef struct cuda_scope {
  int device; /* the caller's; -1: it need not be set again */
  enum cudaStreamCaptureMode mode;
} cuda_scope;
cudaError_t scope_open(cuda_scope *s, int32_t device_id);
void scope_close(cuda_scope *s);
/* To the end of the block; opened by scope_open. */
#define SCOPE(name) cuda_scope name __attribute__((cleanup(scope_close))) = {-1, cudaStreamCaptureModeRelaxed}

/* Pinned memory in two halves: while one is on its way, the host fills or empties the other. */
typedef struct copy_buffer {
  char *half[2];
  cudaEvent_t done[2]; /* its last transfer */
  size_t bytes;        /* of a half */
  int next;
} copy_buffer;

typedef struct cuda_context {
  const char *owner; /* in messages: "batch" */
  int32_t device_id;
  cudaStream_t stream, own; /* the caller's, or own */
  copy_buffer buffer;
  abut_status lost; /* not ABUT_OK: the device failed, and so does every later call */
  char why[256];
} cuda_context;

/* To the end of the block the context's device is the current one. */
#define CUDA_USE(context)                                                                                    \
  SCOPE(caller);                                                                                             \
  ATTEMPT(cuda_check(context, scope_open(&caller, (context)->device_id), "cudaSetDevice"))

/* In a scope, owner and device_id set, the rest 0. stream NULL: one of its own, made with these flags. What a
 * failed call has made by then is closed like the rest. */
abut_status cuda_context_open(cuda_context *c, cudaStream_t stream, unsigned flags);
/* In a scope, nothing under way any more; says nothing. */
void cuda_context_close(cuda_context *c);
/* Keeps the first failure. */
abut_status cuda_check(cuda_context *c, cudaError_t code, const char *what);
#define CUDA_TRY(context, call) ATTEMPT(cuda_check(context, call, #call))
/* Every later call fails with status, for the reason of abut_error_message(). */
void cuda_context_lose(cuda_context *c, abut_status status);

/* To the device: the source may be changed on return. To the host: it is there on return. */
abut_status cuda_to_device(cuda_context *c, void *to, const void *host, size_t bytes);
abut_status cuda_to_host(cuda_context *c, void *host, const void *from, size_t bytes);

/* kernel(argument, warps): a struct on the device, and how many warps share the work. */
abut_status cuda_launch_warps(cuda_context *c, const void *kernel, void *argument, int warps);

/* Where an array may begin after so many bytes. */
enum { ARENA_ALIGN = 256 };
static inline size_t round_up(size_t bytes) { return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN; }
#endif

#endif
