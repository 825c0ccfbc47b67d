/* tensor.c: checks of the arrays that cross the API. */
#include "tensor.h"
#include "status.h"
#include <stdio.h>

static void describe(char *text, size_t size, int32_t ndim, const int64_t *shape) {
  size_t n = 0;
  text[0] = 0;
  for (int32_t i = 0; i < ndim && n + 24 < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%lld", i ? ", " : "", (long long)shape[i]);
}

static abut_status check_type(const char *name, const abut_tensor *t, int32_t dtype, char code) {
  int want_code = code == 'r'   ? 2
                  : code == 'u' ? 1
                                : 0,
      want_bits = code == 'r' && dtype == ABUT_F64 ? 64 : 32;
  if (t->dtype.code == want_code && t->dtype.bits == want_bits && t->dtype.lanes == 1) return ABUT_OK;
  return abut_fail(ABUT_ERROR_ARGUMENT, "%s: has type code %d with %d bits, needs code %d with %d bits", name,
                   t->dtype.code, t->dtype.bits, want_code, want_bits);
}

static int compact(const abut_tensor *t) {
  int64_t step = 1;
  for (int32_t i = t->ndim - 1; t->strides && i >= 0; i--) {
    if (t->shape[i] != 1 && t->strides[i] != step) return 0;
    step *= t->shape[i];
  }
  return 1;
}

abut_status tensor_check(const char *name, const abut_tensor *t, int32_t dtype, char code, int32_t ndim,
                         const int64_t *shape, const int64_t *broadcast) {
  if (!t) return ABUT_OK;
  char has[160], wants[160];
  int ok = t->ndim == ndim && t->shape;
  for (int32_t i = 0; ok && i < ndim; i++)
    ok = t->shape[i] == shape[i] || (broadcast && broadcast[i] && t->shape[i] == 1);
  if (!ok) {
    describe(has, sizeof has, t->shape ? t->ndim : 0, t->shape);
    describe(wants, sizeof wants, ndim, shape);
    return abut_fail(ABUT_ERROR_ARGUMENT, "%s: has shape [%s], needs [%s]", name, has, wants);
  }
  ABUT_TRY(check_type(name, t, dtype, code));
  if (t->device.device_type != 1)
    return abut_fail(ABUT_ERROR_ARGUMENT, "%s: lies on device type %d, this batch is on the CPU (1)", name,
                     t->device.device_type);
  if (!compact(t)) return abut_fail(ABUT_ERROR_ARGUMENT, "%s: strides are not compact row-major", name);
  if (!t->data) return abut_fail(ABUT_ERROR_ARGUMENT, "%s: data is NULL", name);
  if (((uintptr_t)t->data + t->byte_offset) % (t->dtype.bits / 8) != 0)
    return abut_fail(ABUT_ERROR_ARGUMENT,
                     "%s: data %p with byte_offset %llu is not aligned to elements of %d bytes", name,
                     t->data, (unsigned long long)t->byte_offset, t->dtype.bits / 8);
  return ABUT_OK;
}
