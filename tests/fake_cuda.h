/* fake_cuda.h: a CUDA runtime without a GPU, for tests of the CUDA backend. Launches run the kernels' CPU
 * twins; device memory is memory of the host that starts as garbage; graphs are lists that are replayed. Work
 * waits on its stream until somebody waits for it. A call that a capture does not allow fails and ends the
 * capture; everything else that a real runtime would refuse, or leave undefined, aborts with a message. */
#ifndef ABUT_TEST_FAKE_CUDA_H
#define ABUT_TEST_FAKE_CUDA_H
#include <cuda_runtime_api.h>
#include <stdint.h>

typedef struct fake_plan {
  int64_t fail_at; /* the call, counted from 1, that fails; 0: none */
  int sticky;      /* and every later one */
  int code;        /* what it returns; 0: cudaErrorUnknown */
  int no_driver, no_devices, no_loops;
} fake_plan;

/* What a launch and an event take by the fake's clock (us). */
enum { FAKE_LAUNCH_TICKS = 100, FAKE_EVENT_TICKS = 1 };

/* Counts begin anew. */
void fake_use(fake_plan plan);
/* Calls so far, the name of the one that failed; objects that were made and not given back. */
int64_t fake_calls(void);
const char *fake_failed_call(void);
int64_t fake_live_objects(void);
/* A kernel over items of a test's own, beside the library's: called as kernel(argument, warps) for every
 * thread.
 */
void fake_know(const void *kernel);
/* Work on a stream that has not run. */
int64_t fake_pending(cudaStream_t stream);
/* Allocations so far, and what those on a device hold now (bytes). */
int64_t fake_allocations(void);
int64_t fake_device_bytes(void);

#endif
