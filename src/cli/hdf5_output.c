/* hdf5_output.c: opens, describes, fills and closes an HDF5 file. */
#include "hdf5_output.h"
#ifdef ABUT_HAVE_HDF5
#include "cli.h"
#include <errno.h>

int hdf5_output_fail(const hdf5_output *out, const char *what) {
  return cli_error("%s: HDF5 cannot write %s%s", out->file.path, what, output_file_reason());
}

int hdf5_output_open(hdf5_output *out, const char *path) {
  *out = (hdf5_output){.id = -1};
  int code = output_file_open(&out->file, path);
  if (code != CLI_OK) return code;
  errno = 0;       /* HDF5 leaves the system's reason there */
  H5dont_atexit(); /* every file is closed here; HDF5's own exit crashes on one that a full disk left
                      incomplete */
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  out->id = H5Fcreate(out->file.partial, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (out->id >= 0) return CLI_OK;
  code = hdf5_output_fail(out, "the file");
  hdf5_output_close(out, 0);
  return code;
}

int hdf5_output_number(const hdf5_output *out, hid_t at, const char *name, hid_t type, const void *value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  int failed = attribute < 0 || H5Awrite(attribute, type, value) < 0;
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  return failed ? hdf5_output_fail(out, name) : CLI_OK;
}

int hdf5_output_text(const hdf5_output *out, hid_t at, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  int code = hdf5_output_number(out, at, name, type, &text);
  H5Tclose(type);
  return code;
}

int hdf5_output_block(const hdf5_output *out, hid_t dataset, const char *name, hid_t type, int rank,
                      const hsize_t *start, const hsize_t *size, const void *values) {
  hid_t file_space = H5Dget_space(dataset), memory_space = H5Screate_simple(rank, size, NULL);
  int failed = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
               H5Dwrite(dataset, type, memory_space, file_space, H5P_DEFAULT, values) < 0;
  H5Sclose(memory_space);
  H5Sclose(file_space);
  return failed ? hdf5_output_fail(out, name) : CLI_OK;
}

int hdf5_output_whole(const hdf5_output *out, hid_t dataset, const char *name, hid_t type,
                      const void *values) {
  herr_t error = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  return error < 0 ? hdf5_output_fail(out, name) : CLI_OK;
}

int hdf5_output_flush(const hdf5_output *out) {
  return H5Fflush(out->id, H5F_SCOPE_GLOBAL) < 0 ? hdf5_output_fail(out, "the file") : CLI_OK;
}

int hdf5_output_close(hdf5_output *out, int complete) {
  if (out->id >= 0) H5Fclose(out->id);
  out->id = -1;
  return output_file_close(&out->file, complete);
}

#else
typedef int hdf5_output_needs_hdf5;
#endif
