/* measure_plane.h: times the pair kernel for `abut bench`. */
#ifndef ABUT_MEASURE_PLANE_H
#define ABUT_MEASURE_PLANE_H

/* ns per pair of 8 + 8 points. which: "joint", "warm" or "cold"; dtype: ABUT_F64 or ABUT_F32. */
double measure_plane(const char *which, int dtype);

#endif
