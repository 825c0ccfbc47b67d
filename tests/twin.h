/* twin.h: what src/kernels/cuda.cu needs where a compiler for CPUs makes functions of its kernels
 * (ABUT_TWIN). fake_cuda.c calls them, once for every thread of a launch. */
#ifndef ABUT_TEST_TWIN_H
#define ABUT_TEST_TWIN_H
#include <cuda_runtime_api.h>

extern struct dim3 twin_block, twin_block_size, twin_thread;
#define blockIdx twin_block
#define blockDim twin_block_size
#define threadIdx twin_thread

/* Of a conditional node, from its body. */
void twin_set_conditional(cudaGraphConditionalHandle loop, unsigned value);
#define cudaGraphSetConditional twin_set_conditional

#endif
