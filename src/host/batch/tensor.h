/* tensor.h: checks of the arrays that cross the API. */
#ifndef ABUT_TENSOR_H
#define ABUT_TENSOR_H
#include "abut/abut.h"

/* DLPack's device types. Pinned memory is the host's for us. */
enum { TENSOR_CPU = 1, TENSOR_CUDA = 2, TENSOR_CUDA_HOST = 3 };

/* Every given extent must match; one with `broadcast` may be 1. code 'r': real (dtype), 'i': int32, 'u':
 * uint32. It lies in host memory, or on the batch's GPU. NULL tensors pass. */
abut_status tensor_check(const char *name, const abut_tensor *t, const abut_options *batch, char code,
                         int32_t ndim, const int64_t *shape, const int64_t *broadcast);

/* The same for one that the host itself reads or writes: not on a GPU. */
abut_status tensor_check_host(const char *name, const abut_tensor *t, const abut_options *batch, char code,
                              int32_t ndim, const int64_t *shape);

/* First byte of its data; NULL for NULL. */
static inline char *tensor_data(const abut_tensor *t) { return t ? (char *)t->data + t->byte_offset : NULL; }
static inline int tensor_on_gpu(const abut_tensor *t) { return t->device.device_type == TENSOR_CUDA; }
/* Of its data; 0 for NULL. */
size_t tensor_bytes(const abut_tensor *t);

/* An array that the caller gave to a program: what it has to be, and where the program's io points to it. */
typedef struct caller_array {
  const char *name;
  const abut_tensor *x; /* NULL: not given */
  char code;
  int32_t ndim;
  int64_t shape[4];
  int input; /* ARRAY_*; else the program writes it */
  void *pointer;
} caller_array;
/* How many extents a row of arrays names. */
#define EXTENTS(...) ((int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
enum { ARRAY_OUT, ARRAY_IN, ARRAY_IN_BROADCAST }; /* the last: [N|1, ...] or [N|1, T|1, ...] */

/* enqueue: all must lie on the batch's GPU. */
abut_status tensors_check(const caller_array *list, int count, const abut_options *batch, int enqueue);

#endif
