/* kernels.c: the instance of kernels that this processor runs, or why there is none. */
#include "host/base/kernels.h"

static abut_status found(int32_t dtype, const void *kernels) {
  if (dtype != ABUT_F64 && dtype != ABUT_F32)
    return fail_with(ABUT_ERROR_ARGUMENT, "dtype %d is unknown", dtype);
  if (kernels) return ABUT_OK;
  return fail_with(ABUT_ERROR_UNSUPPORTED, "dtype %s: this build has no such kernels for this processor",
                   dtype == ABUT_F64 ? "f64" : "f32");
}

abut_status item_kernels_for(int32_t dtype, const item_kernels **kernels) {
  *kernels = item_kernels_find(dtype, NULL);
  return found(dtype, *kernels);
}

abut_status method_kernels_for(const method_kernels *const *instances, int32_t dtype,
                               const method_kernels **kernels) {
  *kernels = method_kernels_find(instances, dtype, NULL);
  return found(dtype, *kernels);
}
