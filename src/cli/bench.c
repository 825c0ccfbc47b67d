/* bench.c: abut bench: named lines, each measured on one core unless its name says otherwise.
 *
 * Step lines run 1,024 environments through the public API. A scene first settles for 2 s, then runs 50 steps
 * in its regime; from a snapshot of that moment the same 50 steps are timed five times, or fewer where that
 * takes more than 10 s, and the median counts. On a GPU they are run with 1 to 65,536 environments, and end
 * in .cuda.n<envs>. */
#include "bench.h"
#include "bench_fma.h"
#include "host/measure/measure_plane.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { ENVIRONMENTS = 1024, /* on the CPU */ STEPS = BENCH_STEPS, REPETITIONS = 5, ENOUGH = 10 /* s */ };

static const regime step_lines[] = {
    {"stack5", "rest", 0, 0},  {"stack5", "kicked", 0.05, 0}, {"stack5", "hard", 0.1, 0},
    {"ant_box", "rest", 0, 0}, {"ant_box", "random", 0, 1},
};
/* Last: with many environments they may not end. */
static const regime dear_lines[] = {{"chains4x8", "rest", 0, 0}, {"chains4x8", "kicked", 0.05, 0}};
static const regime reverse_lines[] = {{"stack5", "rest", 0, 0}, {"ant_box", "random", 0, 1}};
static const regime scaling_line = {"ant_box", "random", 0, 1};
static const regime call_line = {"ant_box", "rest", 0, 0}; /* no lane waits for its neighbours */

static const char calibration[] = "calibration.fma.f32";

static const int64_t sweep[] = {1, 256, 1024, 2048, 8192, 65536};

/* --------------------------------------------------------------------------------------------- lines */

void bench_line(bench *out, const char *name, double value, const char *unit) {
  progress_end(&out->bar);
  if (out->options->json) {
    emit_open(&out->json, NULL, '{');
    emit_text(&out->json, "name", name);
    emit_number(&out->json, "value", value);
    emit_text(&out->json, "unit", unit);
    emit_close(&out->json, '}');
  } else {
    printf("%s %.6g %s\n", name, value, unit);
  }
  fflush(stdout);
}

/* The first line, whatever else is wanted. */
static void calibrate(bench *out) {
  if (out->calibrated) return;
  out->calibrated = 1;
  if (out->options->json) emit_open(&out->json, NULL, '[');
  bench_line(out, calibration, bench_fma(), "GFLOP/s");
}

int bench_wanted(bench *in, const char *name) {
  if (fnmatch(in->options->filter, name, 0) != 0) return 0;
  calibrate(in);
  return 1;
}

int bench_any_wanted(bench *in, char names[][NAME_SIZE], int count) {
  int wanted = 0;
  for (int i = 0; i < count; i++) wanted |= bench_wanted(in, names[i]);
  return wanted;
}
void bench_line_if_wanted(bench *out, const char *name, double value, const char *unit) {
  if (bench_wanted(out, name)) bench_line(out, name, value, unit);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

/* ---------------------------------------------------------------------------------------- step lines */

/* Seconds of the fixture's steps, from its snapshot: median. */
static int time_steps(fixture *in, double *seconds, abut_rollout_result *result) {
  double times[REPETITIONS];
  const double begun = cli_now();
  int count = 0;
  for (; count < REPETITIONS && (count == 0 || cli_now() - begun < ENOUGH); count++) {
    int code = fixture_restore(in);
    double start = cli_now();
    if (code == CLI_OK) code = fixture_run(in, 0, result);
    if (code != CLI_OK) return code;
    times[count] = cli_now() - start;
  }
  *seconds = bench_median(times, count);
  return CLI_OK;
}

static int run_step_line(bench *in, const regime *line) {
  char name[NAME_SIZE], unconverged[NAME_SIZE + 16];
  snprintf(name, sizeof name, "step.%s.%s.%s%s", line->scene, line->name,
           cli_choice("dtype", in->options->batch.dtype), in->suffix);
  snprintf(unconverged, sizeof unconverged, "unconverged.%s", name);
  if (!bench_wanted(in, name) && !bench_wanted(in, unconverged)) return CLI_OK;
  fixture at;
  abut_rollout_result result = {0};
  double seconds = 0;
  int code = fixture_open(&at, in->options, line, in->envs, 1, 1, &in->bar);
  if (code == CLI_OK) code = time_steps(&at, &seconds, &result);
  if (code == CLI_OK) {
    const double env_steps = (double)in->envs * STEPS;
    bench_line(in, name, env_steps / seconds, "env-steps/s");
    if (in->suffix[0]) {
      char batched[NAME_SIZE + 16];
      snprintf(batched, sizeof batched, "batched.%s", name);
      bench_line(in, batched, 1e3 * seconds / STEPS, "ms/step");
    }
    bench_line(in, unconverged, (double)result.unconverged_steps / env_steps, "1");
  }
  fixture_close(&at);
  return code;
}

/* Seconds of one reverse pass over one recorded forward pass, with the final state's cotangents all 1. */
static int time_ratio(fixture *in, const array *cotangent, array *gradient, double *ratio) {
  abut_vjp_args args = abut_default_vjp_args();
  args.qvel = &cotangent->tensor;
  args.qvel0 = &gradient->tensor;
  int code = fixture_restore(in);
  double start = cli_now();
  if (code == CLI_OK) code = fixture_run(in, 1, NULL);
  double middle = cli_now();
  if (code == CLI_OK && abut_rollout_vjp(in->job.batch, &args, progress_report, in->bar) != ABUT_OK)
    code = cli_library_error();
  *ratio = (cli_now() - middle) / (middle - start);
  return code;
}

static int run_reverse_line(bench *in, const regime *line) {
  char name[NAME_SIZE];
  snprintf(name, sizeof name, "reverse_over_forward.%s.%s%s", line->scene, line->name, in->suffix);
  if (!bench_wanted(in, name)) return CLI_OK;
  fixture at;
  array cotangent = {0}, gradient = {0};
  double ratios[REPETITIONS] = {0};
  int code = fixture_open(&at, in->options, line, in->envs, 1, STEPS, &in->bar);
  int64_t nv = at.job.sizes.nv;
  if (code == CLI_OK)
    code = array_create(&cotangent, "cotangents", in->options->batch.dtype, 3,
                        (int64_t[]){in->envs, STEPS + 1, nv});
  if (code == CLI_OK)
    code = array_create(&gradient, "gradient", in->options->batch.dtype, 2, (int64_t[]){in->envs, nv});
  for (int64_t i = 0; code == CLI_OK && i < cotangent.count; i++)
    array_set(&cotangent, i, i / nv % (STEPS + 1) == STEPS);
  double untimed; /* touches the record's pages */
  if (code == CLI_OK) code = time_ratio(&at, &cotangent, &gradient, &untimed);
  const double begun = cli_now();
  int count = 0;
  for (; code == CLI_OK && count < REPETITIONS && (count == 0 || cli_now() - begun < ENOUGH); count++)
    code = time_ratio(&at, &cotangent, &gradient, &ratios[count]);
  if (code == CLI_OK) bench_line(in, name, bench_median(ratios, count), "1");
  array_destroy(&cotangent);
  array_destroy(&gradient);
  fixture_close(&at);
  return code;
}

static int run_memory_line(bench *in) {
  char path[512], name[NAME_SIZE];
  snprintf(name, sizeof name, "bytes_per_env.ant_box%s", in->suffix);
  if (!bench_wanted(in, name)) return CLI_OK;
  job work;
  int64_t bytes, total;
  abut_options options = scene_options(in->options, in->envs, 1);
  scene_path(in->options, "ant_box", path);
  int code = job_load(&work, path, in->options);
  if (code == CLI_OK && abut_batch_memory(work.model, &options, 1, &bytes, &total) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK) bench_line(in, name, (double)bytes, "B");
  job_close(&work);
  return code;
}

static int run_scaling_line(bench *in) {
  if (!bench_wanted(in, "threads2_over_1.ant_box")) return CLI_OK;
  double seconds[2] = {0};
  for (int i = 0; i < 2; i++) {
    fixture at;
    int code = fixture_open(&at, in->options, &scaling_line, in->envs, i + 1, 1, &in->bar);
    if (code == CLI_OK) code = time_steps(&at, &seconds[i], NULL);
    fixture_close(&at);
    if (code != CLI_OK) return code;
  }
  bench_line(in, "threads2_over_1.ant_box", seconds[0] / seconds[1], "1");
  return CLI_OK;
}

/* Seconds of so many calls of so many steps each. */
static int time_calls(fixture *in, int64_t calls, int64_t steps, double *seconds) {
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = steps;
  int code = fixture_restore(in);
  double start = cli_now();
  for (int64_t i = 0; code == CLI_OK && i < calls; i++)
    if (abut_rollout(in->job.batch, &args, NULL, NULL, NULL) != ABUT_OK) code = cli_library_error();
  *seconds = cli_now() - start;
  if (code == CLI_OK && progress_interrupted()) code = cli_error("interrupted");
  return code;
}

/* What a call costs beside its steps: 1,000 calls of one step over one call of 1,000. They take turns, so
 * that what else the machine does falls on both. */
static int run_call_line(bench *in) {
  enum { CALLED_ENVIRONMENTS = 64, CALLS = 1000, THREADS = 2 };
  fixture at;
  double ratios[REPETITIONS], many, one;
  if (!bench_wanted(in, "call_overhead.ant_box")) return CLI_OK;
  int code = fixture_open(&at, in->options, &call_line, CALLED_ENVIRONMENTS, THREADS, 1, &in->bar);
  for (int i = 0; code == CLI_OK && i < REPETITIONS; i++) {
    code = time_calls(&at, CALLS, 1, &many);
    if (code == CLI_OK) code = time_calls(&at, 1, CALLS, &one);
    ratios[i] = many / one;
  }
  if (code == CLI_OK) bench_line(in, "call_overhead.ant_box", bench_median(ratios, REPETITIONS), "1");
  fixture_close(&at);
  return code;
}

static void run_plane_lines(bench *in) {
  static const struct {
    const char *name, *which;
    int dtype;
  } lines[] = {{"plane.joint.f64", "joint", ABUT_F64},
               {"plane.joint.f32", "joint", ABUT_F32},
               {"plane.warm.f64", "warm", ABUT_F64},
               {"plane.warm.f32", "warm", ABUT_F32},
               {"plane.cold.f64", "cold", ABUT_F64}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (bench_wanted(in, lines[i].name))
      bench_line(in, lines[i].name, measure_plane(lines[i].which, lines[i].dtype), "ns");
}

/* Lines whose number of environments is in->envs. */
static int run_batch_lines(bench *in) {
  int code = run_memory_line(in);
  for (size_t i = 0; code == CLI_OK && i < sizeof step_lines / sizeof *step_lines; i++)
    code = run_step_line(in, &step_lines[i]);
  for (size_t i = 0; code == CLI_OK && i < sizeof reverse_lines / sizeof *reverse_lines; i++)
    code = run_reverse_line(in, &reverse_lines[i]);
  for (size_t i = 0; code == CLI_OK && i < sizeof dear_lines / sizeof *dear_lines; i++)
    code = run_step_line(in, &dear_lines[i]);
  return code;
}

static int run_gpu_lines(bench *in) {
  int code = bench_roof_lines(in);
  for (size_t i = 0; code == CLI_OK && i < sizeof sweep / sizeof *sweep; i++) {
    in->envs = sweep[i];
    snprintf(in->suffix, sizeof in->suffix, ".cuda.n%lld", (long long)in->envs);
    code = run_batch_lines(in);
    if (code == CLI_OK) code = bench_kernel_lines(in);
  }
  if (code == CLI_OK) code = bench_manifold_gpu_lines(in);
  return code == CLI_OK ? bench_longrange_lines(in) : code;
}

int cli_bench(const cli_options *options) {
  bench run = {.options = options, .envs = ENVIRONMENTS, .json = {.stream = stdout}};
  int code = CLI_OK;
  progress_begin(&run.bar, "bench");
  bench_wanted(&run, calibration);
  if (options->batch.device == ABUT_DEVICE_CUDA) {
    code = run_gpu_lines(&run);
  } else {
    run_plane_lines(&run);
    code = run_batch_lines(&run);
    if (code == CLI_OK) code = run_scaling_line(&run);
    if (code == CLI_OK) code = run_call_line(&run);
    if (code == CLI_OK) code = bench_longrange_lines(&run);
    if (code == CLI_OK) code = bench_manifold_lines(&run);
    if (code == CLI_OK) code = bench_books_lines(&run);
  }
  progress_end(&run.bar);
  if (!run.calibrated && code == CLI_OK)
    return strpbrk(options->filter, "*?[")
               ? cli_error("--filter %s: no line has such a name", options->filter)
               : cli_error(
                     "--filter %s: no line has such a name; with * at its end it takes all that begin so",
                     options->filter);
  if (run.calibrated && options->json) {
    emit_close(&run.json, ']');
    printf("\n");
  }
  return code == CLI_OK ? cli_flush() : code;
}
