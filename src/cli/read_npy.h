/* read_npy.h: reads a NumPy array file. */
#ifndef ABUT_CLI_READ_NPY_H
#define ABUT_CLI_READ_NPY_H
#include <stdint.h>

/* Reads little-endian f64 or f32, C order, with 3 dimensions, as doubles; the caller frees *data. Names the
 * file and what is wrong with it on failure. */
int read_npy(const char *path, int64_t shape[3], double **data);

#endif
