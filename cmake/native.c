/* native.c: prints the first of its arguments, instruction sets of the kernels, that this machine runs. */
#include "host/base/processor.h"
#include <stdio.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (processor_runs(argv[i])) return puts(argv[i]) < 0;
  return 1;
}
