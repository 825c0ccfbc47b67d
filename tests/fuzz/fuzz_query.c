/* fuzz_query.c: any text as the input of abut query plane, answered. */
#include "fuzz.h"
#include "cli/query.h"
#include "abut/abut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  query_text("fuzz.json", (const char *)data, size, ABUT_F64);
  return 0;
}
