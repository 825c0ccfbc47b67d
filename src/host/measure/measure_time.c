/* measure_time.c: the median time of something that is done again and again. */
#include "host/measure/measure_time.h"
#include <stdlib.h>
#include <time.h>

enum { RUNS = 9 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median_seconds(void (*work)(void *context), void *context) {
  double t[RUNS];
  for (int r = 0; r < RUNS; r++) {
    double start = now();
    work(context);
    t[r] = now() - start;
  }
  qsort(t, RUNS, sizeof *t, by_value);
  return t[RUNS / 2];
}
