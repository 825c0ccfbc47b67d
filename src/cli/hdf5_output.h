/* hdf5_output.h: what HDF5 files that are written piece by piece share. Only where there is HDF5. */
#ifndef ABUT_CLI_HDF5_OUTPUT_H
#define ABUT_CLI_HDF5_OUTPUT_H
#ifdef ABUT_HAVE_HDF5
#include "output_file.h"
#include <hdf5.h>

typedef struct hdf5_output {
  output_file file;
  hid_t id; /* negative: not open */
} hdf5_output;

/* Creates the partial file. Before any other use of HDF5, types included: the library's own exit, which this
 * turns off, starts with it. On failure nothing stays. */
int hdf5_output_open(hdf5_output *out, const char *path);
/* The message for what could not be written, with the system's reason; returns CLI_BAD_INPUT. */
int hdf5_output_fail(const hdf5_output *out, const char *what);
/* An attribute of the root, out->id, or of a dataset: one number of a native type, or a text. */
int hdf5_output_number(const hdf5_output *out, hid_t at, const char *name, hid_t type, const void *value);
int hdf5_output_text(const hdf5_output *out, hid_t at, const char *name, const char *text);
/* A block of a dataset, which failures call `name`. */
int hdf5_output_block(const hdf5_output *out, hid_t dataset, const char *name, hid_t type, int rank,
                      const hsize_t *start, const hsize_t *size, const void *values);
/* A whole dataset. */
int hdf5_output_whole(const hdf5_output *out, hid_t dataset, const char *name, hid_t type,
                      const void *values);
int hdf5_output_flush(const hdf5_output *out);
/* complete: gives the file its name; else removes it. Datasets are closed before. */
int hdf5_output_close(hdf5_output *out, int complete);

#endif
#endif
