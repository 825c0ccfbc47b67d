/* write_history.h: an optimisation's history as an HDF5 file. */
#ifndef ABUT_CLI_WRITE_HISTORY_H
#define ABUT_CLI_WRITE_HISTORY_H
#include "history.h"

/* Writes to a file of this name; messages name `shown`. Only where there is HDF5 (hdf5_check). */
int history_write(const char *path, const char *shown, const history *in);

#endif
