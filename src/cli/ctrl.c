/* ctrl.c: where controls come from. */
#include "ctrl.h"
#include "random.h"
#include "read_npy.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int load_ranges(ctrl *out, const abut_model *model) {
  out->ranges = calloc((size_t)out->nu + 1, 2 * sizeof *out->ranges);
  if (!out->ranges) return cli_error("out of memory");
  for (int32_t i = 0; i < out->nu; i++)
    if (abut_model_ctrlrange(model, i, out->ranges + 2 * i) != ABUT_OK) return cli_library_error();
  return CLI_OK;
}

static int load_file(ctrl *out, const char *path, int dtype, int64_t nenv, int64_t nstep) {
  int64_t shape[3];
  int code = read_npy(path, "[N or 1, T or 1, nu]", shape, &out->file);
  if (code != CLI_OK) return code;
  if ((shape[0] != 1 && shape[0] != nenv) || (shape[1] != 1 && shape[1] != nstep) || shape[2] != out->nu)
    return cli_error("%s: shape [%lld, %lld, %lld], [%lld or 1, %lld or 1, %lld] needed", path,
                     (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)nenv,
                     (long long)nstep, (long long)out->nu);
  out->envs = shape[0];
  out->steps = shape[1];
  for (int64_t i = 0; dtype == ABUT_F32 && i < shape[0] * shape[1] * shape[2]; i++)
    if (fabs(out->file[i]) > (double)FLT_MAX)
      return cli_error("%s: number %lld is %g, beyond single precision (--dtype f32)", path, (long long)i,
                       out->file[i]);
  return CLI_OK;
}

static int hold_key(ctrl *out, const abut_model *model, int32_t key) {
  abut_key_def def;
  if (key < 0) return CLI_OK;
  if (abut_model_key(model, key, &def) != ABUT_OK) return cli_library_error();
  out->file = malloc((size_t)(out->nu + 1) * sizeof *out->file);
  if (!out->file) return cli_error("out of memory");
  memcpy(out->file, def.ctrl, (size_t)out->nu * sizeof *out->file);
  return CLI_OK;
}

int ctrl_open(ctrl *out, const abut_model *model, const char *source, int32_t key, int dtype, uint64_t seed,
              int64_t nenv, int64_t nstep) {
  *out = (ctrl){.envs = 1, .steps = 1, .nu = abut_model_get_sizes(model).nu, .seed = seed};
  if (!source) return hold_key(out, model, key);
  if (!strcmp(source, "zero")) return CLI_OK;
  if (strcmp(source, "random")) return load_file(out, source, dtype, nenv, nstep);
  out->random = 1;
  out->envs = nenv;
  out->steps = nstep;
  return load_ranges(out, model);
}

void ctrl_close(ctrl *out) {
  free(out->file);
  free(out->ranges);
  memset(out, 0, sizeof *out);
}

double ctrl_value(const ctrl *from, int64_t env, int64_t step, int64_t k) {
  if (from->random) {
    const double *range = from->ranges + 2 * k;
    return range[0] +
           (range[1] - range[0]) * random_uniform(from->seed, (uint64_t)env, (uint64_t)step, (uint64_t)k);
  }
  if (!from->file) return 0;
  int64_t row = from->envs == 1 ? 0 : env, column = from->steps == 1 ? 0 : step;
  return from->file[(row * from->steps + column) * from->nu + k];
}

void ctrl_fill(const ctrl *from, int64_t first, array *out) {
  int64_t i = 0;
  for (int64_t env = 0; env < out->shape[0]; env++)
    for (int64_t step = 0; step < out->shape[1]; step++)
      for (int64_t k = 0; k < from->nu; k++) array_set(out, i++, ctrl_value(from, env, first + step, k));
}
