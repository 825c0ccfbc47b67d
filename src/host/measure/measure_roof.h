/* measure_roof.h: what a GPU can do at best. */
#ifndef ABUT_MEASURE_ROOF_H
#define ABUT_MEASURE_ROOF_H
#include "abut/abut.h"

/* Bytes read plus bytes written, multiply-adds, divisions and square roots per second. */
typedef struct gpu_roofs {
  double memory, fma, division, root;
} gpu_roofs;

/* dtype: ABUT_F64 or ABUT_F32. ABUT_ERROR_DEVICE where there is no such GPU. */
abut_status measure_roofs(int32_t device_id, int32_t dtype, gpu_roofs *roofs);

#endif
