/* kernels.h: the instance of the kernels that this processor runs. */
#ifndef ABUT_HOST_KERNELS_H
#define ABUT_HOST_KERNELS_H
#include "host/base/status.h"
#include "kernels/table.h"

/* The widest for a caller's dtype. Fails where that is none, or was not built for this processor. */
abut_status kernels_for(int32_t dtype, const abut_kernels **kernels);

#endif
