/* fuzz.h: what libFuzzer calls. */
#ifndef ABUT_FUZZ_H
#define ABUT_FUZZ_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#endif
