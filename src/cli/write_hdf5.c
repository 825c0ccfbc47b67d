/* write_hdf5.c: the datasets of abut rollout --out.
 *
 * A program that is killed leaves a file that opens. All storage is allocated, and everything that describes
 * it flushed, before the first step; from then on nothing but numbers is written, each to its final place.
 * Their count, /steps_written, follows them. */
#include "write_hdf5.h"

#ifndef ABUT_HAVE_HDF5

int hdf5_check(void) { return cli_error("built without HDF5: --out needs it"); }

int hdf5_open(hdf5_file **out, const char *path, const trajectory *plan, const cli_options *options) {
  (void)path, (void)plan, (void)options;
  *out = NULL;
  return hdf5_check();
}

int hdf5_write(hdf5_file *out, const trajectory *from, int64_t first, int64_t n) {
  (void)out, (void)from, (void)first, (void)n;
  return CLI_OK;
}

int hdf5_close(hdf5_file *out, int complete) {
  (void)out, (void)complete;
  return CLI_OK;
}

#else
#include "hdf5_output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QPOS, QVEL, ACT, CTRL, XPOS, XQUAT, CONTACT_FORCE, MIN_GAP, STATUS, STEPS_WRITTEN, DATASET_COUNT };
static const char *const names[DATASET_COUNT] = {"/qpos",   "/qvel",         "/act",           "/ctrl",
                                                 "/xpos",   "/xquat",        "/contact_force", "/min_gap",
                                                 "/status", "/steps_written"};
enum { CHUNK_BYTES = 1 << 20 };

struct hdf5_file {
  hdf5_output to;
  hid_t type;
  hid_t datasets[DATASET_COUNT];
};

int hdf5_check(void) { return CLI_OK; }

/* A chunk holds whole rows of a few environments over a few steps: neither reading one environment nor one
 * step then touches much more than it wants. */
static void choose_chunk(int rank, const hsize_t *dims, size_t element, hsize_t *chunk) {
  double row = (double)element;
  for (int i = 2; i < rank; i++) row *= (double)dims[i];
  memcpy(chunk, dims, (size_t)rank * sizeof *chunk);
  if (rank > 1 && chunk[1] > 64) chunk[1] = 64;
  if (rank > 1) row *= (double)chunk[1];
  double envs = CHUNK_BYTES / row;
  if (envs < 1) envs = 1;
  if ((double)chunk[0] > envs) chunk[0] = (hsize_t)envs;
}

static hid_t create_dataset(const hdf5_file *out, const char *name, hid_t type, int rank,
                            const hsize_t *dims) {
  int empty = 0;
  hsize_t chunk[4];
  for (int i = 0; i < rank; i++) empty |= dims[i] == 0;
  hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR),
        settings = H5Pcreate(H5P_DATASET_CREATE);
  if (!empty) {
    H5Pset_alloc_time(settings, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(settings, H5D_FILL_TIME_NEVER);
  }
  if (!empty && rank > 0) {
    choose_chunk(rank, dims, H5Tget_size(type), chunk);
    H5Pset_chunk(settings, rank, chunk);
  }
  hid_t dataset = H5Dcreate2(out->to.id, name, type, space, H5P_DEFAULT, settings, H5P_DEFAULT);
  H5Pclose(settings);
  H5Sclose(space);
  return dataset;
}

static int create_datasets(hdf5_file *out, const trajectory *plan) {
  abut_model_sizes sizes = plan->job->sizes;
  hsize_t n = (hsize_t)plan->job->options.nenv, steps = (hsize_t)plan->steps;
  struct {
    int rank;
    hsize_t dims[4];
  } shapes[DATASET_COUNT] = {
      [QPOS] = {3, {n, steps + 1, (hsize_t)sizes.nq}},
      [QVEL] = {3, {n, steps + 1, (hsize_t)sizes.nv}},
      [ACT] = {3, {n, steps + 1, (hsize_t)sizes.na}},
      [CTRL] = {3, {(hsize_t)plan->ctrl_envs, (hsize_t)plan->ctrl_steps, (hsize_t)sizes.nu}},
      [XPOS] = {4, {n, steps + 1, (hsize_t)sizes.nbody, 3}},
      [XQUAT] = {4, {n, steps + 1, (hsize_t)sizes.nbody, 4}},
      [CONTACT_FORCE] = {4, {n, steps, (hsize_t)sizes.npair, 3}},
      [MIN_GAP] = {2, {n, steps}},
      [STATUS] = {1, {n}},
      [STEPS_WRITTEN] = {0, {0}},
  };
  for (int i = 0; i < DATASET_COUNT; i++) {
    hid_t type = i == STATUS ? H5T_NATIVE_UINT32 : i == STEPS_WRITTEN ? H5T_NATIVE_INT64 : out->type;
    out->datasets[i] = create_dataset(out, names[i], type, shapes[i].rank, shapes[i].dims);
    if (out->datasets[i] < 0) return hdf5_output_fail(&out->to, names[i]);
  }
  return CLI_OK;
}

static int write_attributes(const hdf5_file *out, const trajectory *plan, const cli_options *options) {
  const abut_options *used = &plan->job->options;
  const struct {
    const char *name, *text;
  } texts[] = {{"scene", options->arguments[0]},
               {"version", abut_version()},
               {"ctrl", options->ctrl  ? options->ctrl
                        : options->key ? "the key's"
                                       : "zero"},
               {"method", cli_choice("method", used->method)},
               {"contact", cli_choice("contact", used->implicit.contact)},
               {"form", cli_choice("form", used->implicit.form)},
               {"weights", cli_choice("weights", used->implicit.weights)},
               {"friction_form", cli_choice("friction-form", used->implicit.friction_form)},
               {"solver", cli_choice("solver", used->implicit.solver)}};
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"dt", used->timestep},
                 {"reach", used->implicit.reach},
                 {"stiffness", used->implicit.stiffness},
                 {"length", used->implicit.length},
                 {"gap0", used->implicit.gap0},
                 {"max_separation", used->implicit.max_separation},
                 {"friction", used->friction},
                 {"slip_velocity", used->implicit.slip_velocity},
                 {"tolerance", used->tolerance},
                 {"perturb", options->perturb},
                 {"epsilon", used->implicit.epsilon},
                 {"tessellation", (double)options->tessellation},
                 {"max_iterations", used->max_iterations}};
  hid_t root = out->to.id;
  int code = hdf5_output_number(&out->to, root, "seed", H5T_NATIVE_UINT64, &options->seed);
  for (size_t i = 0; code == CLI_OK && i < sizeof texts / sizeof *texts; i++)
    code = hdf5_output_text(&out->to, root, texts[i].name, texts[i].text);
  for (size_t i = 0; code == CLI_OK && i < sizeof numbers / sizeof *numbers; i++)
    code = hdf5_output_number(&out->to, root, numbers[i].name, H5T_NATIVE_DOUBLE, &numbers[i].value);
  return code;
}

static int close_file(hdf5_file *out, int complete) {
  for (int i = 0; i < DATASET_COUNT; i++)
    if (out->datasets[i] >= 0) H5Dclose(out->datasets[i]);
  int code = hdf5_output_close(&out->to, complete);
  free(out);
  return code;
}

static int write_whole(const hdf5_file *out, int dataset, hid_t type, const void *values) {
  return hdf5_output_whole(&out->to, out->datasets[dataset], names[dataset], type, values);
}

/* The environments' status so far and the number of steps: it counts only what has left the program. */
static int write_progress(const hdf5_file *out, const trajectory *from, int64_t steps) {
  int code = CLI_OK;
  if (steps) code = write_whole(out, STATUS, H5T_NATIVE_UINT32, from->env_status);
  if (code == CLI_OK) code = hdf5_output_flush(&out->to);
  if (code == CLI_OK) code = write_whole(out, STEPS_WRITTEN, H5T_NATIVE_INT64, &steps);
  return code == CLI_OK ? hdf5_output_flush(&out->to) : code;
}

int hdf5_open(hdf5_file **result, const char *path, const trajectory *plan, const cli_options *options) {
  *result = NULL;
  hdf5_file *out = calloc(1, sizeof *out);
  if (!out) return cli_error("out of memory");
  for (int i = 0; i < DATASET_COUNT; i++) out->datasets[i] = -1;
  int code = hdf5_output_open(&out->to, path);
  out->type = plan->job->options.dtype == ABUT_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
  if (code == CLI_OK) code = create_datasets(out, plan);
  if (code == CLI_OK) code = write_attributes(out, plan, options);
  if (code == CLI_OK) code = write_progress(out, plan, 0);
  if (code == CLI_OK)
    *result = out;
  else
    close_file(out, 0);
  return code;
}

/* Writes an array whose axis 1 starts at `first` of the dataset's. */
static int write_rows(const hdf5_file *out, int dataset, const array *from, int64_t first) {
  if (from->count == 0) return CLI_OK;
  hsize_t start[4] = {0, (hsize_t)first, 0, 0}, size[4];
  for (int i = 0; i < from->tensor.ndim; i++) size[i] = (hsize_t)from->shape[i];
  return hdf5_output_block(&out->to, out->datasets[dataset], names[dataset], out->type, from->tensor.ndim,
                           start, size, from->tensor.data);
}

int hdf5_write(hdf5_file *out, const trajectory *from, int64_t first, int64_t n) {
  errno = 0;
  int code = write_rows(out, QPOS, &from->qpos, first);
  if (code == CLI_OK) code = write_rows(out, QVEL, &from->qvel, first);
  if (code == CLI_OK) code = write_rows(out, ACT, &from->act, first);
  if (code == CLI_OK) code = write_rows(out, XPOS, &from->xpos, first);
  if (code == CLI_OK) code = write_rows(out, XQUAT, &from->xquat, first);
  if (code == CLI_OK) code = write_rows(out, CONTACT_FORCE, &from->contact_force, first);
  if (code == CLI_OK) code = write_rows(out, MIN_GAP, &from->min_gap, first);
  if (code == CLI_OK && (first == 0 || from->ctrl_steps > 1))
    code = write_rows(out, CTRL, &from->ctrl, first);
  return code == CLI_OK ? write_progress(out, from, first + n) : code;
}

int hdf5_close(hdf5_file *out, int complete) { return out ? close_file(out, complete) : CLI_OK; }

#endif
