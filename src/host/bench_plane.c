/* bench_plane.c: times the pair kernel for `abut bench`. */
#include "bench_plane.h"
#include "kernels/table.h"
#include <stdlib.h>
#include <string.h>

double abut_bench_plane(const char *which, int dtype) {
  const abut_kernels *k = abut_kernels_find(dtype, NULL);
  int kind = !strcmp(which, "joint") ? 0 : !strcmp(which, "warm") ? 1 : 2;
  return 1e9 * k->bench_plane(kind, 1, NULL);
}
