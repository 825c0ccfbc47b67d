/* tensor.c: checks of the arrays that cross the API. */
#include "host/batch/backend.h"
#include "host/base/memory.h"
#include "host/base/status.h"
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
  return fail_with(ABUT_ERROR_ARGUMENT,
                   "%s: has type code %d with %d lanes of %d bits, needs code %d with 1 lane of %d bits",
                   name, t->dtype.code, t->dtype.lanes, t->dtype.bits, want_code, want_bits);
}

/* Whether its bytes can be counted. */
static int countable(const abut_tensor *t) {
  int64_t bytes = t->dtype.bits / 8;
  for (int32_t i = 0; i < t->ndim && bytes < INT64_MAX; i++) bytes = bytes_add(0, bytes, t->shape[i]);
  return bytes < INT64_MAX;
}

static int compact(const abut_tensor *t) {
  int64_t step = 1;
  for (int32_t i = t->ndim - 1; t->strides && i >= 0; i--) {
    if (t->shape[i] != 1 && t->strides[i] != step) return 0;
    step *= t->shape[i];
  }
  return 1;
}

static abut_status check_device(const char *name, const abut_tensor *t, const abut_options *o) {
  int32_t type = t->device.device_type, id = t->device.device_id;
  if (type == TENSOR_CPU || type == TENSOR_CUDA_HOST) return ABUT_OK;
  if (o->device != ABUT_DEVICE_CUDA)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: lies on device type %d, this batch is on the CPU (1)", name,
                     type);
  if (type == TENSOR_CUDA && id == o->device_id) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT,
                   "%s: lies on device type %d, id %d; this batch is on CUDA device %d (type 2)", name, type,
                   id, o->device_id);
}

size_t tensor_bytes(const abut_tensor *t) {
  size_t bytes = t ? t->dtype.bits / 8 : 0;
  for (int32_t i = 0; t && i < t->ndim; i++) bytes *= (size_t)t->shape[i];
  return bytes;
}

abut_status tensor_check(const char *name, const abut_tensor *t, const abut_options *batch, char code,
                         int32_t ndim, const int64_t *shape, const int64_t *broadcast) {
  if (!t) return ABUT_OK;
  char has[160], wants[160];
  int ok = t->ndim == ndim && t->shape;
  for (int32_t i = 0; ok && i < ndim; i++)
    ok = t->shape[i] == shape[i] || (broadcast && broadcast[i] && t->shape[i] == 1);
  if (!ok) {
    describe(has, sizeof has, t->shape ? t->ndim : 0, t->shape);
    describe(wants, sizeof wants, ndim, shape);
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: has shape [%s], needs [%s]", name, has, wants);
  }
  ATTEMPT(check_type(name, t, batch->dtype, code));
  ATTEMPT(check_device(name, t, batch));
  if (!countable(t)) {
    describe(has, sizeof has, ndim, t->shape);
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: shape [%s] has more bytes than can be counted", name, has);
  }
  if (!compact(t)) return fail_with(ABUT_ERROR_ARGUMENT, "%s: strides are not compact row-major", name);
  if (!t->data) return fail_with(ABUT_ERROR_ARGUMENT, "%s: data is NULL", name);
  if (((uintptr_t)t->data + t->byte_offset) % (t->dtype.bits / 8) != 0)
    return fail_with(ABUT_ERROR_ARGUMENT,
                     "%s: data %p with byte_offset %llu is not aligned to elements of %d bytes", name,
                     t->data, (unsigned long long)t->byte_offset, t->dtype.bits / 8);
  return tensor_on_gpu(t) && tensor_bytes(t) > 0 ? backend_cuda.holds(batch, name, t) : ABUT_OK;
}

abut_status tensor_check_host(const char *name, const abut_tensor *t, const abut_options *batch, char code,
                              int32_t ndim, const int64_t *shape) {
  ATTEMPT(tensor_check(name, t, batch, code, ndim, shape, NULL));
  if (t && tensor_on_gpu(t))
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: lies in device memory, is needed in host memory", name);
  return ABUT_OK;
}

abut_status tensors_check(const caller_array *list, int count, const abut_options *batch, int enqueue) {
  for (int i = 0; i < count; i++) {
    const caller_array *a = &list[i];
    int64_t one = a->input == ARRAY_IN_BROADCAST, broadcast[4] = {one, one && a->ndim == 3, 0, 0};
    ATTEMPT(tensor_check(a->name, a->x, batch, a->code, a->ndim, a->shape, broadcast));
    if (enqueue && a->x && !tensor_on_gpu(a->x))
      return fail_with(ABUT_ERROR_ARGUMENT, "%s: lies in host memory, enqueue needs it on CUDA device %d",
                       a->name, batch->device_id);
  }
  return ABUT_OK;
}
