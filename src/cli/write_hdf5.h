/* write_hdf5.h: trajectories of a whole batch as one HDF5 file. */
#ifndef ABUT_CLI_WRITE_HDF5_H
#define ABUT_CLI_WRITE_HDF5_H
#include "trajectory.h"

typedef struct hdf5_file hdf5_file;

/* Whether this program was built with HDF5; prints what needs it if not. */
int hdf5_check(void);
/* Creates the datasets for a planned trajectory, and the attributes that say how it was made. */
int hdf5_open(hdf5_file **out, const char *path, const trajectory *plan, const cli_options *options);
/* Writes the trajectory's segment of n steps, whose first is `first`, and flushes: a program that is killed
 * later leaves them in the partial file. */
int hdf5_write(hdf5_file *out, const trajectory *from, int64_t first, int64_t n);
/* complete: gives the file its name; else removes it. */
int hdf5_close(hdf5_file *out, int complete);

#endif
