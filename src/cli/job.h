/* job.h: a scene and its batch, as the command line asks for them. */
#ifndef ABUT_CLI_JOB_H
#define ABUT_CLI_JOB_H
#include "abut/abut.h"
#include "cli.h"
#include "ctrl.h"

typedef struct job {
  abut_model *model;
  abut_model_sizes sizes;
  abut_batch *batch;
  abut_options options; /* in force once the batch exists */
  const cli_options *given;
  int64_t bytes_per_env;
} job;

/* Loads the scene and prints what was ignored as warnings; clears the job first. */
int job_load(job *out, const char *path, const cli_options *options);
/* The library's options for a command line. */
abut_options job_options(const cli_options *options);
/* Refuses options that were given but do nothing with this contact. */
int job_check(const cli_options *given, const abut_options *asked);
/* Creates the batch, after checking that it and `extra` bytes of arrays fit: room for a record of nstep
 * steps. */
int job_create(job *out, const abut_options *options, int64_t nstep, double extra);
/* The keyframe that --key names, -1 without it. */
int job_key(const job *in, const cli_options *options, int32_t *key);
/* The controls that --ctrl names, else those of the key. */
int job_ctrl(const job *in, const cli_options *options, int64_t envs, int64_t steps, ctrl *out);
/* Applies --key and --perturb. */
int job_start(job *out, const cli_options *options);
void job_close(job *out);

#endif
