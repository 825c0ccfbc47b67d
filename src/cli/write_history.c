/* write_history.c: the datasets of abut optimise --out. */
#include "write_history.h"

#ifndef ABUT_HAVE_HDF5

int history_write(const char *path, const char *shown, const history *in) {
  (void)path, (void)shown, (void)in;
  return cli_error("built without HDF5: --out needs it");
}

#else
#include "output_file.h"
#include <errno.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>

/* One file; the first failure is remembered and everything after it left out. */
typedef struct writer {
  hid_t file;
  const char *failed; /* name of what could not be written */
} writer;

static void write_data(writer *out, const char *name, hid_t type, int rank, const hsize_t *dims,
                       const void *data) {
  if (out->failed) return;
  hid_t space = rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
  hid_t set = H5Dcreate2(out->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) out->failed = name;
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
}

static void write_number(writer *out, const char *name, double value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t at = H5Acreate2(out->file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
  if (at < 0 || H5Awrite(at, H5T_NATIVE_DOUBLE, &value) < 0) out->failed = name;
  if (at >= 0) H5Aclose(at);
  H5Sclose(space);
}

static void write_text(writer *out, const char *name, const char *text) {
  hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  hid_t at = H5Acreate2(out->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (at < 0 || H5Awrite(at, type, &text) < 0) out->failed = name;
  if (at >= 0) H5Aclose(at);
  H5Tclose(type);
  H5Sclose(space);
}

/* Moments of the best environment, [moments, width...]. */
static void write_best(writer *out, const char *name, const history *in, const double *from, int64_t moments,
                       int rank, hsize_t rows, hsize_t columns) {
  hsize_t dims[3] = {(hsize_t)moments, rows, columns}, width = rank == 3 ? rows * columns : rows;
  size_t n = (size_t)in->job->options.nenv;
  double *picked = malloc(((size_t)moments * width + 1) * sizeof *picked);
  if (!picked) out->failed = name;
  for (size_t t = 0; picked && t < (size_t)moments; t++)
    for (size_t i = 0; i < width; i++) picked[t * width + i] = from[(t * n + (size_t)in->best) * width + i];
  if (picked) write_data(out, name, H5T_NATIVE_DOUBLE, rank, dims, picked);
  free(picked);
}

/* What a plot needs of the scene: shapes and targets. */
static void write_scene(writer *out, const history *in) {
  const abut_problem *p = &in->task->problem;
  hsize_t ngeom = (hsize_t)in->job->sizes.ngeom, nterm = (hsize_t)p->nterm;
  int32_t *bodies = malloc((2 * ngeom + 2 * nterm + 1) * sizeof *bodies);
  double *sizes = malloc((10 * ngeom + 4 * nterm + 1) * sizeof *sizes);
  if (!bodies || !sizes) out->failed = "the scene";
  for (hsize_t i = 0; !out->failed && i < ngeom; i++) {
    abut_geom_def geom;
    if (abut_model_geom(in->job->model, (int32_t)i, &geom) != ABUT_OK) out->failed = "the scene";
    bodies[2 * i] = geom.body;
    bodies[2 * i + 1] = geom.type;
    for (int k = 0; k < 3; k++) sizes[10 * i + (hsize_t)k] = geom.size[k];
    for (int k = 0; k < 3; k++) sizes[10 * i + 3 + (hsize_t)k] = geom.pos[k];
    for (int k = 0; k < 4; k++) sizes[10 * i + 6 + (hsize_t)k] = geom.quat[k];
  }
  write_data(out, "/geom", H5T_NATIVE_INT32, 2, (hsize_t[]){ngeom, 2}, bodies);
  write_data(out, "/geom_shape", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){ngeom, 10}, sizes);
  for (hsize_t i = 0; !out->failed && i < nterm; i++) {
    bodies[2 * i] = p->terms[i].body;
    bodies[2 * i + 1] = p->terms[i].axes;
    for (int k = 0; k < 3; k++) sizes[4 * i + (hsize_t)k] = p->terms[i].target[k];
    sizes[4 * i + 3] = p->terms[i].tolerance;
  }
  write_data(out, "/target_body", H5T_NATIVE_INT32, 2, (hsize_t[]){nterm, 2}, bodies);
  write_data(out, "/target", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){nterm, 4}, sizes);
  free(bodies);
  free(sizes);
}

static void write_attributes(writer *out, const history *in) {
  const abut_options *used = &in->job->options;
  const abut_problem *p = &in->task->problem;
  write_text(out, "task", in->task->file);
  write_text(out, "scene", in->task->scene);
  write_text(out, "version", abut_version());
  write_text(out, "contact", cli_choice("contact", used->implicit.contact));
  write_text(out, "form", cli_choice("form", used->implicit.form));
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"dt", used->timestep},
                 {"stiffness", used->implicit.stiffness},
                 {"reach", used->implicit.reach},
                 {"length", used->implicit.length},
                 {"rate", p->rate},
                 {"beta1", p->beta1},
                 {"beta2", p->beta2},
                 {"seed", (double)in->task->seed},
                 {"best", (double)in->best},
                 {"horizon", (double)in->task->horizon},
                 {"epsilon", used->implicit.epsilon},
                 {"tessellation", (double)in->job->given->tessellation}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    write_number(out, numbers[i].name, numbers[i].value);
}

int history_write(const char *path, const char *shown, const history *in) {
  hsize_t n = (hsize_t)in->job->options.nenv, k = (hsize_t)in->iterations, frames = (hsize_t)in->frames;
  hsize_t nbody = (hsize_t)in->job->sizes.nbody;
  H5dont_atexit(); /* as in write_hdf5.c; without effect after any other call */
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  errno = 0;
  writer out = {.file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)};
  if (out.file < 0) return cli_error("%s: HDF5 cannot write the file%s", shown, output_file_reason());
  write_data(&out, "/loss", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){k, n}, in->loss);
  write_data(&out, "/gradient_norm", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){k, n}, in->gradient_norm);
  write_data(&out, "/frame", H5T_NATIVE_INT64, 1, &k, in->frame);
  write_data(&out, "/terms", H5T_NATIVE_DOUBLE, 2, (hsize_t[]){frames, n}, in->terms);
  write_best(&out, "/qpos", in, in->qpos, in->frames, 2, (hsize_t)in->job->sizes.nq, 1);
  write_best(&out, "/xpos", in, in->xpos, in->frames, 3, nbody, 3);
  write_best(&out, "/xquat", in, in->xquat, in->frames, 3, nbody, 4);
  write_best(&out, "/ctrl", in, in->ctrl, in->frames - 1, 2, (hsize_t)in->job->sizes.nu, 1);
  write_scene(&out, in);
  write_attributes(&out, in);
  if (H5Fclose(out.file) < 0 && !out.failed) out.failed = "the file";
  return out.failed ? cli_error("%s: HDF5 cannot write %s%s", shown, out.failed, output_file_reason())
                    : CLI_OK;
}

#endif
