/* array.c: arrays of the four element types. */
#include "array.h"
#include "cli.h"
#include <stdlib.h>
#include <string.h>

int array_create(array *out, const char *what, int dtype, int ndim, const int64_t *shape) {
  memset(out, 0, sizeof *out);
  size_t size = dtype == ABUT_F64 ? 8 : 4;
  out->count = 1;
  for (int i = 0; i < ndim; i++) {
    out->shape[i] = shape[i];
    if (__builtin_mul_overflow(out->count, shape[i], &out->count)) out->count = INT64_MAX / 16;
  }
  out->dtype = dtype;
  out->bytes = (size_t)out->count * size;
  out->tensor.ndim = ndim;
  out->tensor.shape = out->shape;
  out->tensor.device.device_type = 1;
  out->tensor.dtype.code = dtype == ARRAY_U32 ? 1 : dtype == ARRAY_I32 ? 0 : 2;
  out->tensor.dtype.bits = (uint8_t)(8 * size);
  out->tensor.dtype.lanes = 1;
  out->tensor.data = calloc((size_t)out->count + 1, size);
  if (!out->tensor.data)
    return cli_error("%s: %.3f GiB could not be allocated", what, (double)out->bytes / 0x1p30);
  return CLI_OK;
}

void array_destroy(array *out) {
  free(out->tensor.data);
  memset(out, 0, sizeof *out);
}

void array_set_rows(array *out, int64_t rows) {
  out->shape[1] = rows;
  out->count = 1;
  for (int i = 0; i < out->tensor.ndim; i++) out->count *= out->shape[i];
  out->bytes = (size_t)out->count * out->tensor.dtype.bits / 8;
}

double array_get(const array *from, int64_t i) {
  const void *data = from->tensor.data;
  switch (from->dtype) {
  case ABUT_F64:
    return ((const double *)data)[i];
  case ABUT_F32:
    return ((const float *)data)[i];
  case ARRAY_U32:
    return ((const uint32_t *)data)[i];
  default:
    return ((const int32_t *)data)[i];
  }
}

void array_set(array *to, int64_t i, double value) {
  void *data = to->tensor.data;
  switch (to->dtype) {
  case ABUT_F64:
    ((double *)data)[i] = value;
    break;
  case ABUT_F32:
    ((float *)data)[i] = (float)value;
    break;
  case ARRAY_U32:
    ((uint32_t *)data)[i] = (uint32_t)value;
    break;
  default:
    ((int32_t *)data)[i] = (int32_t)value;
    break;
  }
}

abut_tensor *array_tensor(array *from) { return from->tensor.data ? &from->tensor : NULL; }
