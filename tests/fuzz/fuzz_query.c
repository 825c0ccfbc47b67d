/* fuzz_query.c: any text as the input of abut query, as either kind. */
#include "fuzz.h"
#include "cli/query.h"
#include "abut/abut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  query_text("plane", "fuzz.json", (const char *)data, size, ABUT_F64);
  query_text("longrange", "fuzz.json", (const char *)data, size, ABUT_F64);
  return 0;
}
