/* cuda_scope.h: what a call changes of the calling thread while it uses a GPU, and puts back. */
#ifndef ABUT_CUDA_SCOPE_H
#define ABUT_CUDA_SCOPE_H
#include <cuda_runtime_api.h>
#include <stdint.h>

/* While it is open, the batch's device is the current one, and captures elsewhere do not forbid what has to
 * be done here. Then everything is again as the caller had it. */
typedef struct cuda_scope {
  int device; /* the caller's; -1: it need not be set again */
  enum cudaStreamCaptureMode mode;
} cuda_scope;
cudaError_t scope_open(cuda_scope *s, int32_t device_id);
void scope_close(cuda_scope *s);
/* To the end of the block; opened by scope_open. */
#define SCOPE(name) cuda_scope name __attribute__((cleanup(scope_close))) = {-1, cudaStreamCaptureModeRelaxed}

#endif
