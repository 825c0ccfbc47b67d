/* memory.c: how much memory there is. */
#include "host/base/memory.h"
#include "abut/abut.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

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

double memory_installed(void) { return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE); }
