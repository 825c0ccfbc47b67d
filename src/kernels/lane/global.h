/* global.h: how the kernels of a .cu file are declared: for nvcc, or, with ABUT_TWIN (tests), as functions of
 * a compiler for CPUs that do what one thread of the launch does. NAME is the file's. */
#ifndef ABUT_GLOBAL_H
#define ABUT_GLOBAL_H

#ifdef ABUT_TWIN
#include "twin.h"
#define LINKAGE
#define GLOBAL(name) static void NAME(name)
#else
#define LINKAGE extern "C"
#define GLOBAL(name) static __global__ void __launch_bounds__(64, 4) NAME(name)
#endif

/* Which team of the launch this thread belongs to. */
#define TEAM_NUMBER ((int)(((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / ABUT_TEAM))

#endif
