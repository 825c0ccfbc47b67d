/* array.h: an array that the program owns, ready to cross the API as an abut_tensor. */
#ifndef ABUT_CLI_ARRAY_H
#define ABUT_CLI_ARRAY_H
#include "abut/abut.h"

enum { ARRAY_U32 = 2, ARRAY_I32 = 3 }; /* beside ABUT_F64 and ABUT_F32 */

typedef struct array {
  abut_tensor tensor; /* its shape points into this struct, which must stay where it is */
  int64_t shape[4];
  int dtype;
  int64_t count; /* elements */
  size_t bytes;
} array;

/* Allocates zeros. Returns 0, or CLI_BAD_INPUT after a message where there is no memory. */
int array_create(array *out, const char *what, int dtype, int ndim, const int64_t *shape);
void array_destroy(array *out);
/* Shrinks or regrows axis 1 within what was allocated. */
void array_set_rows(array *out, int64_t rows);
/* Element i as a double. */
double array_get(const array *from, int64_t i);
void array_set(array *to, int64_t i, double value);
/* The tensor of an array that exists, else NULL. */
abut_tensor *array_tensor(array *from);

#endif
