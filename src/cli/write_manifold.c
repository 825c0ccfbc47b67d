/* write_manifold.c: the datasets of abut manifold --out.
 *
 * How many rows there will be is not known before. So datasets have room for more, which grows by an eighth
 * at a time: then storage is allocated and what describes it flushed. Between those moments, fewer than a
 * hundred for a million poses, nothing but numbers is written, as in write_hdf5.c; their counts follow them.
 */
#include "write_manifold.h"
#include "write_hdf5.h"

#ifndef ABUT_HAVE_HDF5

int manifold_file_open(manifold_file **out, const char *path, const abut_manifold *manifold, int64_t poses,
                       const cli_options *options) {
  (void)path, (void)manifold, (void)poses, (void)options;
  *out = NULL;
  return hdf5_check();
}

int manifold_file_append(manifold_file *out, const manifold_rows *rows) {
  (void)out, (void)rows;
  return CLI_OK;
}

int manifold_file_close(manifold_file *out, int complete) {
  (void)out, (void)complete;
  return CLI_OK;
}

#else
#include "hdf5_output.h"
#include <errno.h>
#include <stdlib.h>

enum {
  CONTACT,
  VALUES,
  DERIVATIVES = VALUES + 4, /* only where they are asked for */
  COLUMNS = DERIVATIVES + 4,
  FIRST = COLUMNS,
  POSES_WRITTEN,
  DATASETS
};
static const struct {
  const char *name, *unit;
  int width, coordinates; /* numbers of a row: width, by coordinates of poses */
} sets[DATASETS] = {{"/contact", "1", 1, 0},
                    {"/point", "m", 3, 0},
                    {"/distance", "m", 1, 0},
                    {"/normal", "1", 3, 0},
                    {"/activity", "1", 1, 0},
                    {"/d_point", "m per m and rad", 3, MANIFOLD_COORDINATES},
                    {"/d_distance", "m per m and rad", 1, MANIFOLD_COORDINATES},
                    {"/d_normal", "1 per m and rad", 3, MANIFOLD_COORDINATES},
                    {"/d_activity", "1 per m and rad", 1, MANIFOLD_COORDINATES},
                    {"/first", "rows", 1, 0},
                    {"/poses_written", "1", 1, 0}};
enum { CHUNK_ROWS = 4096, MOST_RANK = 3 };

struct manifold_file {
  hdf5_output to;
  hid_t datasets[DATASETS];
  int columns;               /* COLUMNS, or without derivatives */
  int64_t poses, rows, room; /* written; room: rows that have storage */
};

/* Sizes of so many rows; returns the rank. */
static int shape_of(int dataset, int64_t rows, hsize_t size[MOST_RANK]) {
  int rank = 1;
  size[0] = (hsize_t)rows;
  if (sets[dataset].width > 1) size[rank++] = (hsize_t)sets[dataset].width;
  if (sets[dataset].coordinates) size[rank++] = (hsize_t)sets[dataset].coordinates;
  return rank;
}

/* growing: of a number of rows that is not known. */
static int create_dataset(manifold_file *out, int dataset, hid_t type, int64_t rows, int growing) {
  hsize_t size[MOST_RANK], most[MOST_RANK], chunk[MOST_RANK];
  int rank = shape_of(dataset, rows, size);
  shape_of(dataset, 0, most);
  shape_of(dataset, CHUNK_ROWS, chunk);
  most[0] = H5S_UNLIMITED;
  hid_t space = dataset == POSES_WRITTEN ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(rank, size, growing ? most : NULL),
        settings = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_alloc_time(settings, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(settings, H5D_FILL_TIME_NEVER);
  if (growing) H5Pset_chunk(settings, rank, chunk);
  hid_t id = H5Dcreate2(out->to.id, sets[dataset].name, type, space, H5P_DEFAULT, settings, H5P_DEFAULT);
  H5Pclose(settings);
  H5Sclose(space);
  out->datasets[dataset] = id;
  if (id < 0) return hdf5_output_fail(&out->to, sets[dataset].name);
  return hdf5_output_text(&out->to, id, "unit", sets[dataset].unit);
}

static int create_datasets(manifold_file *out, int64_t poses, hid_t real) {
  int code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < out->columns; i++)
    code = create_dataset(out, i, i == CONTACT ? H5T_NATIVE_INT32 : real, 0, 1);
  if (code == CLI_OK) code = create_dataset(out, FIRST, H5T_NATIVE_INT64, poses + 1, 0);
  if (code == CLI_OK) code = create_dataset(out, POSES_WRITTEN, H5T_NATIVE_INT64, 0, 0);
  return code;
}

static int write_texts(const manifold_file *out, const cli_options *options,
                       const abut_manifold_options *used) {
  const struct {
    const char *name, *text;
  } texts[] = {{"surface_1", options->arguments[0]},
               {"surface_2", options->arguments[1]},
               {"poses", options->poses},
               {"version", abut_version()},
               {"form", used->form == ABUT_MANIFOLD_LINEAR ? "linear" : "paper"},
               {"selection", used->selection == ABUT_SELECT_HARD ? "hard" : "softsort"},
               {"arithmetic", used->dtype == ABUT_F64 ? "f64" : "f32"}};
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < sizeof texts / sizeof *texts; i++)
    code = hdf5_output_text(&out->to, out->to.id, texts[i].name, texts[i].text);
  return code;
}

static int write_attributes(const manifold_file *out, const abut_manifold *manifold,
                            const cli_options *options) {
  abut_manifold_counts counts;
  abut_manifold_options used;
  if (abut_manifold_size(manifold, &counts) != ABUT_OK || abut_manifold_settings(manifold, &used) != ABUT_OK)
    return cli_library_error();
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"contacts", (double)counts.contacts},
                 {"vertices_1", counts.vertices[0]},
                 {"vertices_2", counts.vertices[1]},
                 {"edges_1", counts.edges[0]},
                 {"edges_2", counts.edges[1]},
                 {"threshold", options->threshold},
                 {"relative", used.relative},
                 {"projections", used.projections},
                 {"w_reg", used.w_reg},
                 {"tau_clip", used.tau_clip},
                 {"tau_min", used.tau_min},
                 {"tau_comp", used.tau_comp},
                 {"tau_union", used.tau_union},
                 {"eps_normal", used.eps_normal},
                 {"tau_sign", used.tau_sign},
                 {"tau_clash", used.tau_clash},
                 {"tau_pen", used.tau_pen},
                 {"tau_near", used.tau_near},
                 {"tau_select", used.tau_select},
                 {"cutoff", used.cutoff}};
  int code = write_texts(out, options, &used);
  for (size_t i = 0; code == CLI_OK && i < sizeof numbers / sizeof *numbers; i++)
    code = hdf5_output_number(&out->to, out->to.id, numbers[i].name, H5T_NATIVE_DOUBLE, &numbers[i].value);
  return code;
}

/* What follows the rows: where those of each pose end, and how many poses there are. It counts only what has
 * left the program. */
static int write_progress(manifold_file *out, int64_t first, int64_t count, const int64_t *end) {
  int code = CLI_OK;
  if (count > 0)
    code = hdf5_output_block(&out->to, out->datasets[FIRST], sets[FIRST].name, H5T_NATIVE_INT64, 1,
                             (hsize_t[]){(hsize_t)first}, (hsize_t[]){(hsize_t)count}, end);
  if (code == CLI_OK) code = hdf5_output_flush(&out->to);
  if (code == CLI_OK)
    code = hdf5_output_whole(&out->to, out->datasets[POSES_WRITTEN], sets[POSES_WRITTEN].name,
                             H5T_NATIVE_INT64, &out->poses);
  return code == CLI_OK ? hdf5_output_flush(&out->to) : code;
}

int manifold_file_open(manifold_file **result, const char *path, const abut_manifold *manifold, int64_t poses,
                       const cli_options *options) {
  static const int64_t start = 0;
  *result = NULL;
  manifold_file *out = calloc(1, sizeof *out);
  if (!out) return cli_error("out of memory");
  for (int i = 0; i < DATASETS; i++) out->datasets[i] = -1;
  out->columns = options->derivatives ? COLUMNS : DERIVATIVES;
  int code = hdf5_output_open(&out->to, path);
  if (code == CLI_OK)
    code =
        create_datasets(out, poses, options->batch.dtype == ABUT_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT);
  if (code == CLI_OK) code = write_attributes(out, manifold, options);
  if (code == CLI_OK) code = write_progress(out, 0, 1, &start);
  if (code == CLI_OK)
    *result = out;
  else
    manifold_file_close(out, 0);
  return code;
}

static int set_room(manifold_file *out, int64_t rows) {
  for (int i = 0; i < out->columns; i++) {
    hsize_t size[MOST_RANK];
    shape_of(i, rows, size);
    if (H5Dset_extent(out->datasets[i], size) < 0) return hdf5_output_fail(&out->to, sets[i].name);
  }
  out->room = rows;
  return hdf5_output_flush(&out->to);
}

static int grow(manifold_file *out, int64_t rows) {
  if (rows <= out->room) return CLI_OK;
  int64_t room = out->room + out->room / 8;
  if (room < rows) room = rows;
  return set_room(out, (room + CHUNK_ROWS - 1) / CHUNK_ROWS * CHUNK_ROWS);
}

static int write_column(const manifold_file *out, int column, hid_t type, int64_t rows, const void *values) {
  hsize_t size[MOST_RANK], start[MOST_RANK] = {(hsize_t)out->rows};
  int rank = shape_of(column, rows, size);
  return hdf5_output_block(&out->to, out->datasets[column], sets[column].name, type, rank, start, size,
                           values);
}

int manifold_file_append(manifold_file *out, const manifold_rows *rows) {
  const abut_contacts *v = &rows->values, *d = &rows->derivatives;
  const void *columns[COLUMNS] = {rows->contact, v->point,    v->distance, v->normal,  v->activity,
                                  d->point,      d->distance, d->normal,   d->activity};
  errno = 0;
  int code = grow(out, out->rows + rows->count);
  for (int i = 0; code == CLI_OK && rows->count > 0 && i < out->columns; i++)
    code = write_column(out, i, i == CONTACT ? H5T_NATIVE_INT32 : H5T_NATIVE_DOUBLE, rows->count, columns[i]);
  if (code != CLI_OK) return code;
  int64_t first = out->poses + 1;
  out->rows += rows->count;
  out->poses += rows->poses;
  return write_progress(out, first, rows->poses, rows->end);
}

int manifold_file_close(manifold_file *out, int complete) {
  if (!out) return CLI_OK;
  errno = 0;
  int code = complete ? set_room(out, out->rows) : CLI_OK;
  for (int i = 0; i < DATASETS; i++)
    if (out->datasets[i] >= 0) H5Dclose(out->datasets[i]);
  int closed = hdf5_output_close(&out->to, complete && code == CLI_OK);
  free(out);
  return code == CLI_OK ? closed : code;
}

#endif
