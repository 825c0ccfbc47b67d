/* bench_longrange.c: lines of long-range contact: milliseconds per step and environment in the first rollout
 * of a task, at many starts of its variables; what a loop over all pairs of triangles would take; pairs of
 * nodes that are visited. */
#include "bench.h"
#include "host/measure/measure_ball.h"
#include "task.h"
#include <stdlib.h>
#include <string.h>

#ifdef ABUT_HAVE_JANSSON
enum { HAVE_JSON = 1 };
#else
enum { HAVE_JSON = 0 };
#endif
enum { ENVIRONMENTS = 64, ENVIRONMENTS_CUDA = 1024 };

/* A task under long-range contact, ready for its first rollout. */
typedef struct trial {
  task task;
  job job;
  abut_optimiser *optimiser;
} trial;

/* Per step and environment. */
typedef struct trial_cost {
  double forward, reverse; /* s */
  double iterations;       /* of Newton's method */
} trial_cost;

/* The same scene with other surfaces of its primitives. */
static abut_status tessellate(const abut_model *from, int32_t tessellation, abut_model **to) {
  abut_builder *builder;
  abut_model_sizes sizes = abut_model_get_sizes(from);
  abut_scene_options scene;
  abut_status status = abut_builder_create(&builder);
  if (status != ABUT_OK) return status;
  status = abut_model_scene(from, &scene);
  if (status == ABUT_OK) status = abut_builder_set_scene(builder, &scene);
  for (int32_t i = 1; status == ABUT_OK && i < sizes.nbody; i++) {
    abut_body_def body;
    status = abut_model_body(from, i, &body);
    if (status == ABUT_OK) status = abut_builder_add_body(builder, &body, NULL);
  }
  for (int32_t i = 0; status == ABUT_OK && i < sizes.njnt; i++) {
    abut_joint_def joint;
    status = abut_model_joint(from, i, &joint);
    if (status == ABUT_OK) status = abut_builder_add_joint(builder, &joint, NULL);
  }
  for (int32_t i = 0; status == ABUT_OK && i < sizes.ngeom; i++) {
    abut_geom_def geom;
    status = abut_model_geom(from, i, &geom);
    geom.tessellation = tessellation;
    if (status == ABUT_OK) status = abut_builder_add_geom(builder, &geom, NULL);
  }
  if (status == ABUT_OK) status = abut_builder_finish(builder, to);
  abut_builder_destroy(builder);
  return status;
}

static int open_model(trial *out, const cli_options *options, int32_t tessellation) {
  int code = job_load(&out->job, out->task.scene, options);
  if (code != CLI_OK || !tessellation) return code;
  abut_model *other;
  if (tessellate(out->job.model, tessellation, &other) != ABUT_OK) return cli_library_error();
  abut_model_destroy(out->job.model);
  out->job.model = other;
  return CLI_OK;
}

/* tessellation 0: as the scene has it. */
static int trial_open(trial *out, const cli_options *options, const char *name, int32_t tessellation) {
  char path[512];
  snprintf(path, sizeof path, "%s/tasks/%s.json", options->scenes, name);
  memset(out, 0, sizeof *out);
  int code = task_read(&out->task, path);
  if (code == CLI_OK) code = open_model(out, options, tessellation);
  if (code == CLI_OK) code = task_resolve(&out->task, out->job.model);
  if (code != CLI_OK) return code;
  abut_options asked = abut_default_options();
  code = task_options(&out->task, options, &asked);
  asked.nenv = options->batch.device == ABUT_DEVICE_CUDA ? ENVIRONMENTS_CUDA : ENVIRONMENTS;
  asked.device = options->batch.device == ABUT_DEVICE_CUDA ? ABUT_DEVICE_CUDA : ABUT_DEVICE_CPU;
  asked.threads = 1;
  asked.dtype = options->batch.dtype;
  asked.implicit.contact = ABUT_CONTACT_LONGRANGE;
  if (code == CLI_OK) code = job_create(&out->job, &asked, out->task.problem.nstep, 0);
  cli_options start = *options;
  start.key = out->task.key;
  start.perturb = 0;
  if (code == CLI_OK) code = job_start(&out->job, &start);
  if (code == CLI_OK && abut_optimiser_create(out->job.batch, &out->task.problem, &out->optimiser) != ABUT_OK)
    code = cli_library_error();
  return code;
}
static void trial_close(trial *out) {
  abut_optimiser_destroy(out->optimiser);
  job_close(&out->job);
  task_close(&out->task);
}

/* The first call makes lists grow; from its end on the same rollout is timed, then its reverse pass, with the
 * cotangents of all places 1. */
static int trial_time(trial *in, progress *bar, trial_cost *out) {
  int64_t n = in->job.options.nenv, steps = in->task.problem.nstep, nv = in->job.sizes.nv;
  const double env_steps = (double)(n * steps);
  array iterations = {0}, cotangent = {0}, gradient = {0};
  abut_rollout_args forward = abut_default_rollout_args();
  abut_vjp_args reverse = abut_default_vjp_args();
  int code = array_create(&iterations, "iterations", ARRAY_I32, 2, (int64_t[]){n, steps});
  if (code == CLI_OK)
    code = array_create(&cotangent, "cotangents", in->job.options.dtype, 4,
                        (int64_t[]){n, steps + 1, in->job.sizes.nbody, 3});
  if (code == CLI_OK)
    code = array_create(&gradient, "gradient", in->job.options.dtype, 2, (int64_t[]){n, nv});
  for (int64_t i = 0; code == CLI_OK && i < cotangent.count; i++) array_set(&cotangent, i, 1);
  forward.nstep = steps;
  forward.record = 1;
  forward.iterations = &iterations.tensor;
  reverse.xpos = &cotangent.tensor;
  reverse.qvel0 = &gradient.tensor;
  if (code == CLI_OK && abut_optimiser_step(in->optimiser, NULL, progress_report, bar) != ABUT_OK)
    code = cli_library_error();
  double start = cli_now();
  if (code == CLI_OK && abut_optimiser_replay(in->optimiser, &forward, progress_report, bar) != ABUT_OK)
    code = cli_library_error();
  double middle = cli_now();
  if (code == CLI_OK && abut_rollout_vjp(in->job.batch, &reverse, progress_report, bar) != ABUT_OK)
    code = cli_library_error();
  out->forward = (middle - start) / env_steps;
  out->reverse = (cli_now() - middle) / env_steps;
  out->iterations = 0;
  for (int64_t i = 0; code == CLI_OK && i < iterations.count; i++)
    out->iterations += array_get(&iterations, i) / env_steps;
  array_destroy(&iterations);
  array_destroy(&cotangent);
  array_destroy(&gradient);
  return code;
}

static int measure(bench *in, const char *name, int32_t tessellation, trial_cost *out) {
  trial at;
  int code = trial_open(&at, in->options, name, tessellation);
  if (code == CLI_OK) code = trial_time(&at, &in->bar, out);
  trial_close(&at);
  return code;
}

/* ------------------------------------------------------------------------- a loop over all triangles */

/* Two balls of so many triangles, `apart` from centre to centre. seconds: of one evaluation. */
static int ask_balls(int32_t tessellation, double apart, double epsilon, int32_t dtype,
                     abut_longrange_result *result, double *seconds) {
  abut_triangles *ball;
  if (measure_ball(0.1, tessellation, &ball) != ABUT_OK) return cli_library_error();
  double *other = malloc((size_t)ball->nvertex * 3 * sizeof *other);
  for (int64_t i = 0; other && i < 3 * ball->nvertex; i++)
    other[i] = ball->vertices[i] + (i % 3 == 0 ? apart : 0);
  abut_longrange_query q = {
      .epsilon = epsilon, .length = 1, .form = ABUT_FORM_WEIGHTED, .a = *ball, .b = *ball};
  q.b.vertices = other;
  double start = cli_now();
  int code = other ? CLI_OK : cli_error("out of memory");
  if (code == CLI_OK && abut_query_longrange(1, &q, result, dtype) != ABUT_OK) code = cli_library_error();
  *seconds = cli_now() - start;
  free(other);
  abut_triangles_destroy(ball);
  return code;
}

/* Seconds of one evaluation of two balls, 60 cm apart, with every pair of their triangles. */
static int time_brute(int32_t tessellation, int32_t dtype, double *seconds) {
  abut_longrange_result result;
  int64_t faces = 8 * (int64_t)tessellation * tessellation;
  int code = ask_balls(tessellation, 0.6, 100, dtype, &result, seconds);
  if (code == CLI_OK && result.exact_pairs != faces * faces)
    code = cli_error("brute force: %lld pairs of triangles", (long long)result.exact_pairs);
  return code;
}

/* ---------------------------------------------------------------------------------------------- lines */

enum { NAMES = 9 };

/* Says so where tasks cannot be read. */
static int reads_tasks(const char *task) {
  if (!HAVE_JSON) fprintf(stderr, "longrange.%s: left out, this build reads no JSON\n", task);
  return HAVE_JSON;
}

/* Octahedra whose edges are cut into so many parts: 32 and 392 triangles a ball, of 16. */
static const struct {
  const char *name;
  int32_t tessellation;
} billiards[] = {{"billiards512", 2}, {"billiards6208", 7}};

static int run_billiards(bench *in) {
  static const char *const what[] = {"ms", "iterations", "brute.ms"};
  const double pairs = 16 * 15 / 2;
  const int cpu = in->options->batch.device != ABUT_DEVICE_CUDA;
  double brute[2] = {0, 0};
  trial_cost cost[2];
  char names[NAMES][NAME_SIZE];
  for (int i = 0; i < 6; i++)
    snprintf(names[i], NAME_SIZE, "longrange%s.%s.%s", in->suffix, billiards[i / 3].name, what[i % 3]);
  snprintf(names[6], NAME_SIZE, "longrange%s.growth", in->suffix);
  snprintf(names[7], NAME_SIZE, "longrange%s.growth.brute", in->suffix);
  snprintf(names[8], NAME_SIZE, "longrange%s.reverse_over_forward", in->suffix);
  if (!bench_any_wanted(in, names, NAMES) || !reads_tasks("billiards")) return CLI_OK;
  for (int i = 0; i < 2; i++) {
    int code = measure(in, "billiards", billiards[i].tessellation, &cost[i]);
    if (code == CLI_OK && cpu)
      code = time_brute(billiards[i].tessellation, in->options->batch.dtype, &brute[i]);
    if (code != CLI_OK) return code;
    brute[i] *= pairs * cost[i].iterations; /* one evaluation an iteration: trials are not counted */
    bench_line_if_wanted(in, names[3 * i], 1e3 * cost[i].forward, "ms");
    bench_line_if_wanted(in, names[3 * i + 1], cost[i].iterations, "1/step");
    if (cpu) bench_line_if_wanted(in, names[3 * i + 2], 1e3 * brute[i], "ms");
  }
  bench_line_if_wanted(in, names[6], cost[1].forward / cost[0].forward, "1");
  if (cpu) bench_line_if_wanted(in, names[7], brute[1] / brute[0], "1");
  bench_line_if_wanted(in, names[8], cost[0].reverse / cost[0].forward, "1");
  return CLI_OK;
}

/* Pairs of nodes that are met, for each triangle, by two balls 2 % of their size apart. */
static int run_visits(bench *in) {
  static const struct {
    const char *name;
    int32_t tessellation;
  } lines[] = {{"longrange.visits.128", 4}, {"longrange.visits.2048", 16}, {"longrange.visits.32768", 64}};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const int32_t k = lines[i].tessellation;
    abut_longrange_result result;
    double seconds;
    if (!bench_wanted(in, lines[i].name)) continue;
    int code = ask_balls(k, 0.204, 0.5, in->options->batch.dtype, &result, &seconds);
    if (code != CLI_OK) return code;
    bench_line(in, lines[i].name, (double)result.visits / (8 * k * k), "1");
  }
  return CLI_OK;
}

/* The scenes of these tasks have meshes that are not part of abut (docs/tasks.md). */
static int run_meshes(bench *in, const char *task) {
  trial_cost cost;
  char names[2][NAME_SIZE];
  snprintf(names[0], NAME_SIZE, "longrange%s.%s.ms", in->suffix, task);
  snprintf(names[1], NAME_SIZE, "longrange%s.%s.iterations", in->suffix, task);
  if (!bench_any_wanted(in, names, 2) || !reads_tasks(task)) return CLI_OK;
  if (!getenv("ABUT_MESH_TASKS")) {
    fprintf(stderr, "longrange.%s: left out, its meshes are not there (docs/tasks.md)\n", task);
    return CLI_OK;
  }
  int code = measure(in, task, 0, &cost);
  if (code != CLI_OK) return code;
  bench_line_if_wanted(in, names[0], 1e3 * cost.forward, "ms");
  bench_line_if_wanted(in, names[1], cost.iterations, "1/step");
  return CLI_OK;
}

int bench_longrange_lines(bench *in) {
  const char *suffix = in->options->batch.device == ABUT_DEVICE_CUDA ? ".cuda.n1024" : "";
  snprintf(in->suffix, sizeof in->suffix, "%s", suffix);
  int code = in->options->batch.device == ABUT_DEVICE_CUDA ? CLI_OK : run_visits(in);
  if (code == CLI_OK) code = run_billiards(in);
  if (code == CLI_OK) code = run_meshes(in, "gather_bunny");
  if (code == CLI_OK) code = run_meshes(in, "franka_push");
  return code;
}
