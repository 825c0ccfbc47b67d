/* kernels.c: in place of src/host/base/instances.c: the readers need one instance of the kernels, not
 * seven.
 */
#include "kernels/items/items_table.h"
#include "kernels/table.h"
#include <stddef.h>

extern const abut_kernels abut_kernels_scalar_f64;
extern const item_kernels item_kernels_scalar_f64;

const abut_kernels *abut_kernels_find(int32_t dtype, const char *isa) {
  return dtype == ABUT_F64 && !isa ? &abut_kernels_scalar_f64 : NULL;
}
const item_kernels *item_kernels_find(int32_t dtype, const char *isa) {
  return dtype == ABUT_F64 && !isa ? &item_kernels_scalar_f64 : NULL;
}
