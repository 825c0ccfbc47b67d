/* fuzz_query.c: any text as the input of abut query, as every kind. */
#include "fuzz.h"
#include "cli/query.h"
#include "abut/abut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const kinds[] = {"plane", "longrange", "ee", "vf", "sq", "cp", "manifold"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    query_text(kinds[i], "fuzz.json", (const char *)data, size, ABUT_F64);
  return 0;
}
