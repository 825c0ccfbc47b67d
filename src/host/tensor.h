/* tensor.h: checks of the arrays that cross the API. */
#ifndef ABUT_TENSOR_H
#define ABUT_TENSOR_H
#include "abut/abut.h"

/* Every given extent must match; -1 stands for "1 or n" with n in `broadcast`. code 'r': real (dtype), 'i':
 * int32, 'u': uint32. NULL tensors pass. */
abut_status tensor_check(const char *name, const abut_tensor *t, int32_t dtype, char code, int32_t ndim,
                         const int64_t *shape, const int64_t *broadcast);

/* First byte of its data; NULL for NULL. */
static inline char *tensor_data(const abut_tensor *t) { return t ? (char *)t->data + t->byte_offset : NULL; }

#endif
