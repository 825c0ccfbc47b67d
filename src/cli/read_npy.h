/* read_npy.h: reads a NumPy array file, at once or some rows at a time.
 *
 * Little-endian f64 or f32, C order, with 3 dimensions, as doubles. Failures name the file and what is wrong
 * with it; layout says there what the dimensions must be, such as "[P, 2, 7]". */
#ifndef ABUT_CLI_READ_NPY_H
#define ABUT_CLI_READ_NPY_H
#include <stdint.h>
#include <stdio.h>

/* The caller frees *data. */
int read_npy(const char *path, const char *layout, int64_t shape[3], double **data);
/* The same from an open file, which must be able to seek; path: for messages. */
int read_npy_stream(const char *path, FILE *stream, const char *layout, int64_t shape[3], double **data);

typedef struct npy_file {
  const char *path; /* the caller's */
  FILE *stream;
  int64_t shape[3], count; /* count: numbers in all */
  int64_t next;            /* row that is read next, of shape[0] */
  int size;                /* bytes of an element */
} npy_file;

int npy_open(npy_file *out, const char *path, const char *layout);
/* The next rows, of which so many must be left: rows x shape[1] x shape[2] numbers. */
int npy_read(npy_file *in, int64_t rows, double *values);
/* Does nothing where it is not open. */
void npy_close(npy_file *in);

#endif
