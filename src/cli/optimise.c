/* optimise.c: abut optimise: gradient descent on the controls and initial states of a task. */
#include "history.h"
#include "json.h"
#include "output_file.h"
#include "progress.h"
#include "write_gltf.h"
#include "write_hdf5.h"
#include "write_history.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct optimise_run {
  task task;
  job job;
  history history;
  abut_optimiser *optimiser;
  output_file out, gltf;
  double loss_first, loss_last;
  int success;
  int cut;      /* ended early where something was reached, which is kept */
  double start; /* s */
} optimise_run;

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && !strcmp(text + length - tail, end);
}

static int check_options(const cli_options *options) {
  if (options->out && hdf5_check() != CLI_OK) return CLI_BAD_INPUT;
  if (options->out && !ends_with(options->out, ".h5") && !ends_with(options->out, ".hdf5"))
    return cli_error("--out %s: the name must end in .h5 or .hdf5", options->out);
  if (options->gltf && !ends_with(options->gltf, ".glb"))
    return cli_error("--gltf %s: the name must end in .glb", options->gltf);
  return CLI_OK;
}

/* A task's file may have any name, an output's too. */
static int check_outputs(const cli_options *options, const task *read) {
  const struct { const char *option, *path; } outputs[] = {{"out", options->out}, {"gltf", options->gltf}};
  int code = CLI_OK;
  for (int i = 0; i < 2; i++) {
    if (!outputs[i].path) continue;
    if (code == CLI_OK) code = output_file_spares(outputs[i].option, outputs[i].path, read->file);
    if (code == CLI_OK) code = output_file_spares(outputs[i].option, outputs[i].path, read->scene);
  }
  return code;
}

/* Bytes of the optimiser: its arrays and copies of the problem's numbers. */
static double optimiser_bytes(const optimise_run *in, const abut_options *asked) {
  const abut_model_sizes *sizes = &in->job.sizes;
  double rows = (double)in->task.problem.nstep + 1;
  double run = rows * (14.0 * sizes->nbody + 2.0 * sizes->nu) + 3.0 * (sizes->nq + sizes->nv);
  double values = rows * in->task.problem.nvariable;
  return (double)asked->nenv * ((asked->dtype == ABUT_F64 ? 8 : 4) * run + 8 * 6 * values);
}

static int open_run(optimise_run *out, const cli_options *options) {
  cli_options start = *options;
  int code = task_read(&out->task, options->arguments[0]);
  if (code == CLI_OK) code = check_outputs(options, &out->task);
  if (code != CLI_OK) return code;
  if (cli_given(options, "envs")) out->task.envs = options->envs;
  if (cli_given(options, "seed")) out->task.seed = options->seed;
  if (options->iterations) out->task.iterations = options->iterations;
  code = job_load(&out->job, out->task.scene, options);
  if (code == CLI_OK) code = task_resolve(&out->task, out->job.model);
  if (code != CLI_OK) return code;
  abut_options asked = job_options(options);
  asked.nenv = out->task.envs;
  code = task_options(&out->task, options, &asked);
  if (code == CLI_OK) code = job_check(options, &asked);
  if (code == CLI_OK)
    code = job_create(&out->job, &asked, out->task.problem.nstep,
                      history_bytes(&out->job, &out->task, asked.nenv) + optimiser_bytes(out, &asked));
  start.key = out->task.key;
  start.perturb = 0;
  if (code == CLI_OK) code = job_start(&out->job, &start);
  if (code == CLI_OK) code = history_open(&out->history, &out->job, &out->task);
  if (code == CLI_OK && abut_optimiser_create(out->job.batch, &out->task.problem, &out->optimiser) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK && options->out) code = output_file_open(&out->out, options->out);
  if (code == CLI_OK && options->gltf) code = output_file_open(&out->gltf, options->gltf);
  return code;
}

static int stop(void *user, double fraction) {
  (void)user, (void)fraction;
  return progress_interrupted();
}

static int all_frozen(const optimise_run *in, int64_t frame) {
  return cli_error("%s: every environment's rollout froze from step %lld on: `abut rollout %s` says how",
                   in->task.file, (long long)frame + 1, in->task.scene);
}

static int iterate(optimise_run *out, int64_t frame, abut_optimiser_report *report) {
  if (abut_optimiser_step(out->optimiser, report, stop, NULL) != ABUT_OK)
    return progress_interrupted() ? cli_error("interrupted") : cli_library_error();
  return history_iteration(&out->history, out->optimiser, frame);
}

/* ---------------------------------------------------------------------------------- whole trajectories */

static int run_whole(optimise_run *out) {
  abut_optimiser_report report;
  for (int64_t i = 0; i < out->task.iterations && !out->success; i++) {
    int code = iterate(out, 0, &report);
    out->cut = code != CLI_OK && progress_interrupted() && i > 0;
    if (out->cut) break;
    if (code != CLI_OK) return code;
    if (i == 0) out->loss_first = report.loss;
    out->success = report.reached_envs > 0;
    fprintf(stderr, "iteration %lld/%lld: loss %.6g, mean %.6g, gradient %.3g, failed %lld, in target %lld\n",
            (long long)i + 1, (long long)out->task.iterations, report.loss, report.loss_mean,
            report.gradient_norm, (long long)report.failed_envs, (long long)report.reached_envs);
  }
  abut_optimiser_view view = abut_optimiser_get(out->optimiser);
  out->history.best = view.best_env;
  out->loss_last = view.best_loss[view.best_env];
  if (isinf(out->loss_last)) return all_frozen(out, 0);
  return history_replay(&out->history, out->optimiser, out->task.steps, out->cut ? NULL : stop, NULL);
}

/* ----------------------------------------------------------------------------------- receding horizon */

/* Terms of the nearest environment at the last moment. */
static double nearest(optimise_run *out) {
  const history *h = &out->history;
  out->history.best = history_nearest(h);
  return h->terms[(h->frames - 1) * h->job->options.nenv + h->best];
}

/* Terms of the nearest environment at the start. */
static double nearest_at_start(const history *h) {
  double least = INFINITY;
  for (int64_t env = 0; env < h->job->options.nenv; env++) least = fmin(least, h->terms[env]);
  return least;
}

static int run_horizon(optimise_run *out, int64_t frame, int64_t n) {
  abut_optimiser_report report = {0};
  double first = 0;
  int64_t iterations = out->task.iterations;
  for (int64_t i = 0; i < iterations; i++) {
    int code = iterate(out, frame, &report);
    if (code != CLI_OK) return code;
    if (i == 0) first = report.loss_mean;
    if (report.loss_mean == 0) break; /* nothing left that any environment could gain */
  }
  if (out->task.follow_best && abut_optimiser_share(out->optimiser) != ABUT_OK) return cli_library_error();
  int code = history_replay(&out->history, out->optimiser, n, stop, NULL);
  if (code != CLI_OK) return code;
  out->loss_last = nearest(out);
  fprintf(stderr, "step %lld/%lld: loss %.6g, horizon's mean %.6g to %.6g, gradient %.3g, failed %lld\n",
          (long long)(frame + n), (long long)out->task.steps, out->loss_last, first, report.loss_mean,
          report.gradient_norm, (long long)report.failed_envs);
  out->success = out->loss_last == 0;
  return isinf(out->loss_last) ? all_frozen(out, frame) : CLI_OK;
}

static int run_receding(optimise_run *out) {
  int64_t steps = out->task.steps;
  for (int64_t frame = 0, n; frame < steps && !out->success; frame += n) {
    n = out->task.apply < steps - frame ? out->task.apply : steps - frame;
    int code = run_horizon(out, frame, n);
    out->cut = code != CLI_OK && frame > 0 && (progress_interrupted() || isinf(out->loss_last));
    if (out->cut) break;
    if (code != CLI_OK) return code;
    if (frame == 0) out->loss_first = nearest_at_start(&out->history);
    if (abut_optimiser_shift(out->optimiser, n) != ABUT_OK) return cli_library_error();
    if (out->task.follow_best && abut_optimiser_disturb(out->optimiser, (uint64_t)frame + 1) != ABUT_OK)
      return cli_library_error();
  }
  return CLI_OK;
}

/* -------------------------------------------------------------------------------------------- results */

static int write_animation(const optimise_run *in) {
  const history *h = &in->history;
  size_t n = (size_t)h->job->options.nenv, nbody = (size_t)h->job->sizes.nbody, frames = (size_t)h->frames;
  gltf_motion motion = {.nframe = h->frames, .nbody = h->job->sizes.nbody, .dt = h->job->options.timestep};
  motion.xpos = malloc(frames * nbody * 3 * sizeof *motion.xpos);
  motion.xquat = malloc(frames * nbody * 4 * sizeof *motion.xquat);
  int code = motion.xpos && motion.xquat ? CLI_OK : cli_error("out of memory");
  for (size_t t = 0; code == CLI_OK && t < frames; t++) {
    size_t from = (t * n + (size_t)h->best) * nbody, to = t * nbody;
    for (size_t i = 0; i < 3 * nbody; i++) motion.xpos[3 * to + i] = (float)h->xpos[3 * from + i];
    for (size_t i = 0; i < 4 * nbody; i++) motion.xquat[4 * to + i] = (float)h->xquat[4 * from + i];
  }
  if (code == CLI_OK)
    code =
        gltf_write(in->gltf.partial, in->gltf.path, h->job->model, h->job->options.implicit.contact, &motion);
  free(motion.xpos);
  free(motion.xquat);
  return code;
}

static void print_result(const optimise_run *in, int as_json) {
  double seconds = cli_now() - in->start;
  if (as_json) {
    json_writer json = {.stream = stdout};
    emit_open(&json, NULL, '{');
    emit_text(&json, "task", in->task.file);
    emit_integer(&json, "iterations", in->history.iterations);
    emit_number(&json, "loss_first", in->loss_first);
    emit_number(&json, "loss_last", in->loss_last);
    emit_bool(&json, "success", in->success);
    emit_number(&json, "seconds", seconds);
    emit_close(&json, '}');
    printf("\n");
    return;
  }
  printf("%s: %lld environment%s, %lld iteration%s\n", in->task.file, (long long)in->task.envs,
         PLURAL(in->task.envs), (long long)in->history.iterations, PLURAL(in->history.iterations));
  printf("  loss first, last        %.6g, %.6g\n", in->loss_first, in->loss_last);
  printf("  best environment        %lld\n", (long long)in->history.best);
  printf("  success                 %s\n", in->success ? "yes" : "no");
  printf("  seconds                 %.3f\n", seconds);
}

static int close_run(optimise_run *out, int code) {
  int closed = output_file_close(&out->out, code == CLI_OK);
  if (code == CLI_OK) code = closed;
  closed = output_file_close(&out->gltf, code == CLI_OK);
  if (code == CLI_OK) code = closed;
  abut_optimiser_destroy(out->optimiser);
  history_close(&out->history);
  job_close(&out->job);
  task_close(&out->task);
  return code;
}

int cli_optimise(const cli_options *options) {
  optimise_run run = {.start = cli_now()};
  int code = check_options(options);
  if (code != CLI_OK) return code;
  code = open_run(&run, options);
  if (code == CLI_OK) code = run.task.horizon ? run_receding(&run) : run_whole(&run);
  if (code == CLI_OK && options->out) code = history_write(run.out.partial, run.out.path, &run.history);
  if (code == CLI_OK && options->gltf) code = write_animation(&run);
  if (code == CLI_OK) print_result(&run, options->json);
  int success = run.success, cut = run.cut;
  code = close_run(&run, code);
  if (code == CLI_OK) code = cli_flush();
  if (code == CLI_OK && cut) return CLI_BAD_INPUT; /* somebody has said why */
  return code == CLI_OK && options->require_success && !success ? CLI_CHECK_FAILED : code;
}
