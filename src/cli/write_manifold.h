/* write_manifold.h: active contacts of many pairs of poses as one HDF5 file. */
#ifndef ABUT_CLI_WRITE_MANIFOLD_H
#define ABUT_CLI_WRITE_MANIFOLD_H
#include "abut/manifold.h"
#include "options.h"

enum { MANIFOLD_COORDINATES = 12 };

/* Active contacts of some pairs of poses, pose by pose. */
typedef struct manifold_rows {
  int64_t poses, count;      /* pairs of poses; rows, which are contacts */
  int64_t *end;              /* poses: where the rows of each end, counted from the first pose of the file */
  int32_t *contact;          /* count: number of the contact among those of its pose */
  abut_contacts values;      /* count each */
  abut_contacts derivatives; /* count x MANIFOLD_COORDINATES each, as abut_manifold_jacobian's; or NULL */
} manifold_rows;

typedef struct manifold_file manifold_file;

/* Creates the datasets for so many pairs of poses, and the attributes that say how contacts were made. Only
 * where there is HDF5 (hdf5_check). */
int manifold_file_open(manifold_file **out, const char *path, const abut_manifold *manifold, int64_t poses,
                       const cli_options *options);
/* Appends, and flushes: a program that is killed later leaves the rows in the partial file. */
int manifold_file_append(manifold_file *out, const manifold_rows *rows);
/* NULL is fine. complete: gives the file its name; else removes it. */
int manifold_file_close(manifold_file *out, int complete);

#endif
