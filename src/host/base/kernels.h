/* kernels.h: the instance of kernels that this processor runs. */
#ifndef ABUT_HOST_KERNELS_H
#define ABUT_HOST_KERNELS_H
#include "host/base/status.h"
#include "kernels/items/items_table.h"
#include "kernels/clock/table.h"

/* The widest for a caller's dtype, of kernels over items, of a method's. Fails where that is none, or was not
 * built for this processor. */
abut_status item_kernels_for(int32_t dtype, const item_kernels **kernels);
abut_status method_kernels_for(const method_kernels *const *instances, int32_t dtype,
                               const method_kernels **kernels);

#endif
