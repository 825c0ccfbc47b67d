/* read_npy.h: reads a NumPy array file. */
#ifndef ABUT_CLI_READ_NPY_H
#define ABUT_CLI_READ_NPY_H
#include <stdint.h>
#include <stdio.h>

/* Reads little-endian f64 or f32, C order, with 3 dimensions, as doubles; the caller frees *data. Names the
 * file and what is wrong with it on failure. */
int read_npy(const char *path, int64_t shape[3], double **data);
/* The same from an open file, which must be able to seek; path: for messages. */
int read_npy_stream(const char *path, FILE *file, int64_t shape[3], double **data);

#endif
