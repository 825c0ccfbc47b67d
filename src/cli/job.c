/* job.c: loads a scene, checks memory, creates the batch. */
#include "job.h"
#include <math.h>
#include <string.h>

static void print_warnings(const char *at) {
  while (*at) {
    size_t length = strcspn(at, "\n");
    if (length) fprintf(stderr, "abut: warning: %.*s\n", (int)length, at);
    at += length + (at[length] != 0);
  }
}

/* What decides how MJCF and URDF are read does nothing to a scene that was compiled already. */
static int check_load(const char *path, const cli_options *options) {
  const char *const words[] = {"tessellation", "hull-points"};
  size_t length = strlen(path);
  if (length < 5 || strcmp(path + length - 5, ".abut")) return CLI_OK;
  for (int i = 0; i < 2; i++)
    if (cli_given(options, words[i]))
      return cli_error("--%s: %s is compiled already; convert its MJCF or URDF again with this option",
                       words[i], path);
  return CLI_OK;
}

int job_load(job *out, const char *path, const cli_options *options) {
  memset(out, 0, sizeof *out);
  out->given = options;
  if (check_load(path, options) != CLI_OK) return CLI_BAD_INPUT;
  abut_load_options load = {options->ignore_unsupported, (int32_t)options->hull_points,
                            (int32_t)options->tessellation};
  if (abut_model_load(path, &load, &out->model) != ABUT_OK) return cli_library_error();
  out->sizes = abut_model_get_sizes(out->model);
  print_warnings(abut_model_warnings(out->model));
  return CLI_OK;
}

abut_options job_options(const cli_options *options) {
  abut_options out = options->batch;
  out.nenv = options->envs > 0 ? options->envs : 1;
  return out;
}

int job_check(const cli_options *given, const abut_options *asked) {
  const char *const words[] = {"form", "epsilon"};
  for (int i = 0; i < 2; i++)
    if (cli_given(given, words[i]) && asked->implicit.contact != ABUT_CONTACT_LONGRANGE)
      return cli_error("--%s: needs --contact longrange, not %s", words[i],
                       cli_choice("contact", asked->implicit.contact));
  return CLI_OK;
}

int job_create(job *out, const abut_options *options, int64_t nstep, double extra) {
  /* one environment's bytes times their number cannot overflow as doubles, so any --envs gets its answer */
  abut_options one = *options;
  int64_t total = 0;
  one.nenv = 1;
  if (abut_batch_memory(out->model, &one, nstep, &out->bytes_per_env, &total) != ABUT_OK)
    return cli_library_error();
  double needed = (double)options->nenv * (double)out->bytes_per_env, available = abut_memory_available();
  if (needed < 0x1p60) {
    if (abut_batch_memory(out->model, options, nstep, &out->bytes_per_env, &total) != ABUT_OK)
      return cli_library_error();
    needed = (double)total;
  }
  needed += extra;
  if (options->device == ABUT_DEVICE_CUDA) needed = extra; /* the rest is on the device, which knows itself */
  if (needed > available)
    return cli_error("%lld environment%s %.1f GiB, %.1f GiB available", (long long)options->nenv,
                     options->nenv == 1 ? " needs" : "s need", needed / 0x1p30, available / 0x1p30);
  if (abut_batch_create(out->model, options, &out->batch) != ABUT_OK) return cli_library_error();
  out->options = abut_batch_get_options(out->batch);
  print_warnings(abut_batch_warnings(out->batch));
  return CLI_OK;
}

int job_key(const job *in, const cli_options *options, int32_t *key) {
  *key = -1;
  if (!options->key) return CLI_OK;
  for (int32_t i = 0; i < in->sizes.nkey && *key < 0; i++)
    if (!strcmp(abut_model_name(in->model, 'k', i), options->key)) *key = i;
  if (*key >= 0) return CLI_OK;
  return cli_error("--key %s: the scene has %d keyframe%s, none of this name", options->key, in->sizes.nkey,
                   PLURAL(in->sizes.nkey));
}

int job_ctrl(const job *in, const cli_options *options, int64_t envs, int64_t steps, ctrl *out) {
  int32_t key = -1;
  const int code = job_key(in, options, &key);
  if (code != CLI_OK) return code;
  return ctrl_open(out, in->model, cli_given(options, "ctrl") ? options->ctrl : NULL, key,
                   options->batch.dtype, options->seed, envs, steps);
}

int job_start(job *out, const cli_options *options) {
  int32_t key = -1;
  const int code = job_key(out, options, &key);
  if (code != CLI_OK) return code;
  if (key >= 0 && abut_batch_reset(out->batch, NULL, key) != ABUT_OK) return cli_library_error();
  double sigma = options->perturb;
  if (sigma > 0 && abut_batch_perturb(out->batch, NULL, options->seed, 0, sigma, sigma) != ABUT_OK)
    return cli_library_error();
  return CLI_OK;
}

void job_close(job *out) {
  abut_batch_destroy(out->batch);
  abut_model_destroy(out->model);
  memset(out, 0, sizeof *out);
}
