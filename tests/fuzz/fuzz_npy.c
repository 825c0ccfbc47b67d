/* fuzz_npy.c: any bytes as a .npy file. */
#include "fuzz.h"
#include "cli/cli.h"
#include "cli/read_npy.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int64_t shape[3];
  double *values = NULL, sum = 0;
  FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
  if (!file) return 0;
  if (read_npy_stream("fuzz.npy", file, "[N, T, nu]", shape, &values) == CLI_OK)
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) sum += values[i] * 0;
  free(values);
  fclose(file);
  if (sum != 0) abort(); /* a value that is not finite */
  return 0;
}
