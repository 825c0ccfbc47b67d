/* kernels.c: the instance of the kernels that this processor runs, or why there is none. */
#include "host/base/kernels.h"

abut_status kernels_for(int32_t dtype, const abut_kernels **kernels) {
  if (dtype != ABUT_F64 && dtype != ABUT_F32)
    return abut_fail(ABUT_ERROR_ARGUMENT, "dtype %d is unknown", dtype);
  *kernels = abut_kernels_find(dtype, NULL);
  if (*kernels) return ABUT_OK;
  return abut_fail(ABUT_ERROR_UNSUPPORTED, "dtype %s: this build has no such kernels for this processor",
                   dtype == ABUT_F64 ? "f64" : "f32");
}
