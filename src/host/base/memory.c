/* memory.c: how much memory there is. */
#include "abut/abut.h"
#include <math.h>
#include <stdio.h>

double abut_memory_available(void) {
  FILE *file = fopen("/proc/meminfo", "r");
  char line[128];
  double bytes = INFINITY;
  long long kib;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) bytes = 1024.0 * (double)kib;
  if (file) fclose(file);
  return bytes;
}
