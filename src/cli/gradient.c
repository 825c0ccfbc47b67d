/* gradient.c: abut gradient: a recorded rollout and its reverse pass, timed; --check compares with
 * differences. */
#include "gradient.h"
#include "json.h"
#include "random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gradient_input_names[INPUT_COUNT] = {"qpos",    "qvel",     "act",  "ctrl",
                                                       "gravity", "friction", "mass", "stiffness"};
static const double CHECK_TOLERANCE = 1e-6; /* of the steps of a checked run, times --tol */
static const double CHECK_LIMIT = 1e-5;     /* relative error above which a check fails */

/* Entries of a row of each gradient as the library returns it. */
static int64_t row_size(const gradient_run *in, int input) {
  const abut_model_sizes *sizes = &in->job.sizes;
  const int64_t rows[INPUT_COUNT] = {sizes->nq, sizes->nv,    sizes->na,    in->steps * sizes->nu,
                                     3,         sizes->ngeom, sizes->nbody, 1};
  return rows[input];
}

/* Bytes of the arrays that allocate() makes. */
static double array_bytes(const gradient_run *in, int check, int dtype) {
  const abut_model_sizes *sizes = &in->job.sizes;
  double steps = (double)in->steps + 1, per_env = steps * (sizes->nq + sizes->nv + 2.0 * sizes->nu);
  if (check) per_env += steps * 3 * sizes->npair;
  return per_env * (double)in->envs * (dtype == ABUT_F64 ? 8 : 4);
}

static int allocate(gradient_run *out, int check) {
  const abut_model_sizes *sizes = &out->job.sizes;
  int64_t n = out->envs, steps = out->steps;
  int dtype = out->job.options.dtype;
  int code = array_create(&out->qpos, "qpos", dtype, 2, (int64_t[]){n, sizes->nq});
  if (code == CLI_OK) code = array_create(&out->qvel, "qvel", dtype, 2, (int64_t[]){n, sizes->nv});
  if (code == CLI_OK) code = array_create(&out->act, "act", dtype, 2, (int64_t[]){n, sizes->na});
  if (code == CLI_OK)
    code = array_create(&out->cot_qpos, "cotangents", dtype, 3, (int64_t[]){n, steps + 1, sizes->nq});
  if (code == CLI_OK)
    code = array_create(&out->cot_qvel, "cotangents", dtype, 3, (int64_t[]){n, steps + 1, sizes->nv});
  if (code == CLI_OK && check)
    code =
        array_create(&out->contact_force, "contact_force", dtype, 4, (int64_t[]){n, steps, sizes->npair, 3});
  for (int i = 0; code == CLI_OK && i < INPUT_COUNT; i++) {
    const int64_t flat[2] = {n, row_size(out, i)}, by_step[3] = {n, steps, sizes->nu};
    code = array_create(&out->grad[i], gradient_input_names[i], dtype, i == BY_CTRL ? 3 : 2,
                        i == BY_CTRL ? by_step : flat);
  }
  if (code == CLI_OK) code = array_create(&out->min_pivot, "min_pivot", dtype, 1, &n);
  if (code == CLI_OK) code = array_create(&out->status, "status", ARRAY_U32, 1, &n);
  if (code == CLI_OK) code = array_create(&out->overlap_pair, "overlap_pair", ARRAY_I32, 1, &n);
  return code;
}

static void release(gradient_run *out) {
  array *all[] = {&out->qpos,          &out->qvel,      &out->act,    &out->cot_qpos,    &out->cot_qvel,
                  &out->contact_force, &out->min_pivot, &out->status, &out->overlap_pair};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) array_destroy(all[i]);
  for (int i = 0; i < INPUT_COUNT; i++) array_destroy(&out->grad[i]);
  ctrl_close(&out->controls);
  job_close(&out->job);
}

/* The final state counts fully, every earlier step a T-th, the start not at all. */
static void fill_cotangents(gradient_run *out) {
  array *targets[2] = {&out->cot_qpos, &out->cot_qvel};
  for (int which = 0; which < 2; which++) {
    int64_t i = 0, width = targets[which]->shape[2];
    for (int64_t env = 0; env < out->envs; env++)
      for (int64_t step = 0; step <= out->steps; step++)
        for (int64_t k = 0; k < width; k++) {
          double weight = step == 0 ? 0 : step == out->steps ? 1 : 1 / (double)out->steps;
          uint64_t entry = (uint64_t)(2 * k + which);
          double value = 2 * random_uniform(~out->seed, (uint64_t)env, (uint64_t)step, entry) - 1;
          array_set(targets[which], i++, weight * value);
        }
  }
}

/* The state after the shapes that touch were moved apart: from there on, states depend smoothly on the start.
 * Environments that cannot start stay as they failed. */
static int find_start(gradient_run *out) {
  const abut_model_sizes *sizes = &out->job.sizes;
  array qpos = {0}, qvel = {0}, act = {0};
  uint8_t *starts = malloc((size_t)out->envs);
  int dtype = out->job.options.dtype, code = starts ? CLI_OK : cli_error("out of memory");
  if (code == CLI_OK) code = array_create(&qpos, "qpos", dtype, 3, (int64_t[]){out->envs, 2, sizes->nq});
  if (code == CLI_OK) code = array_create(&qvel, "qvel", dtype, 3, (int64_t[]){out->envs, 2, sizes->nv});
  if (code == CLI_OK) code = array_create(&act, "act", dtype, 3, (int64_t[]){out->envs, 2, sizes->na});
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 1;
  args.qpos = array_tensor(&qpos);
  args.qvel = array_tensor(&qvel);
  args.act = array_tensor(&act);
  args.status = &out->status.tensor;
  args.overlap_pair = &out->overlap_pair.tensor;
  if (code == CLI_OK && abut_rollout(out->job.batch, &args, NULL, NULL, NULL) != ABUT_OK)
    code = cli_library_error();
  for (int64_t env = 0; code == CLI_OK && env < out->envs; env++) {
    starts[env] = !((uint32_t)array_get(&out->status, env) & ABUT_ENV_FROZEN);
    for (int64_t k = 0; k < sizes->nq; k++)
      array_set(&out->qpos, env * sizes->nq + k, array_get(&qpos, 2 * env * sizes->nq + k));
    for (int64_t k = 0; k < sizes->nv; k++)
      array_set(&out->qvel, env * sizes->nv + k, array_get(&qvel, 2 * env * sizes->nv + k));
    for (int64_t k = 0; k < sizes->na; k++)
      array_set(&out->act, env * sizes->na + k, array_get(&act, 2 * env * sizes->na + k));
  }
  array_destroy(&qpos);
  array_destroy(&qvel);
  array_destroy(&act);
  if (code == CLI_OK &&
      abut_batch_set_state(out->job.batch, starts, &out->qpos.tensor, &out->qvel.tensor) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK && abut_batch_set_act(out->job.batch, starts, &out->act.tensor) != ABUT_OK)
    code = cli_library_error();
  free(starts);
  return code;
}

static int run_forward(gradient_run *out, progress *bar) {
  array values = {0};
  int code = array_create(&values, "controls", out->job.options.dtype, 3,
                          (int64_t[]){out->controls.envs, out->controls.steps, out->controls.nu});
  if (code != CLI_OK) return code;
  ctrl_fill(&out->controls, 0, &values);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = out->steps;
  args.record = 1;
  args.ctrl = out->controls.nu ? &values.tensor : NULL;
  args.contact_force = array_tensor(&out->contact_force);
  if (abut_rollout(out->job.batch, &args, &out->forward, progress_report, bar) != ABUT_OK)
    code = progress_interrupted() ? cli_error("interrupted") : cli_library_error();
  array_destroy(&values);
  return code;
}

static int run_reverse(gradient_run *out, progress *bar) {
  abut_vjp_args args = abut_default_vjp_args();
  args.qpos = &out->cot_qpos.tensor;
  args.qvel = &out->cot_qvel.tensor;
  args.qpos0 = &out->grad[BY_QPOS].tensor;
  args.qvel0 = &out->grad[BY_QVEL].tensor;
  args.act0 = out->job.sizes.na ? &out->grad[BY_ACT].tensor : NULL;
  args.ctrl = out->job.sizes.nu ? &out->grad[BY_CTRL].tensor : NULL;
  args.gravity = &out->grad[BY_GRAVITY].tensor;
  args.friction = out->job.sizes.ngeom ? &out->grad[BY_FRICTION].tensor : NULL;
  args.mass = &out->grad[BY_MASS].tensor;
  args.stiffness = &out->grad[BY_STIFFNESS].tensor;
  args.min_pivot = &out->min_pivot.tensor;
  args.status = &out->status.tensor;
  double start = cli_now();
  if (abut_rollout_vjp(out->job.batch, &args, progress_report, bar) != ABUT_OK)
    return progress_interrupted() ? cli_error("interrupted") : cli_library_error();
  out->reverse_seconds = cli_now() - start;
  out->failed = failures_count(out->status.tensor.data, &out->overlap_pair, out->envs);
  return CLI_OK;
}

/* ------------------------------------------------------------------------------------------ reports */

static double norm(const array *from) {
  double sum = 0;
  for (int64_t i = 0; i < from->count; i++) sum += array_get(from, i) * array_get(from, i);
  return sqrt(sum);
}

static double smallest(const array *from) {
  double least = INFINITY;
  for (int64_t i = 0; i < from->count; i++) least = fmin(least, array_get(from, i));
  return least;
}

static void print_json(const gradient_run *in) {
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_integer(&json, "envs", in->envs);
  emit_integer(&json, "steps", in->steps);
  emit_integer(&json, "nv", in->job.sizes.nv);
  emit_number(&json, "forward_seconds", in->forward.seconds);
  emit_number(&json, "reverse_seconds", in->reverse_seconds);
  emit_number(&json, "reverse_over_forward", in->reverse_seconds / in->forward.seconds);
  emit_open(&json, "gradient_norm", '{');
  for (int i = 0; i < INPUT_COUNT; i++) emit_number(&json, gradient_input_names[i], norm(&in->grad[i]));
  emit_close(&json, '}');
  emit_number(&json, "min_pivot", smallest(&in->min_pivot));
  emit_integer(&json, "not_minimum_envs", in->failed.envs[FAILED_NOT_MINIMUM]);
  emit_integer(&json, "failed_envs", in->forward.failed_envs);
  emit_integer(&json, "bytes_per_env", in->job.bytes_per_env);
  failures_json(&json, &in->failed, in->job.model);
  emit_close(&json, '}');
  printf("\n");
}

static void print_timing(const gradient_run *in, const char *scene) {
  printf("%s: %lld environment%s, %lld step%s of %g s\n", scene, (long long)in->envs, PLURAL(in->envs),
         (long long)in->steps, PLURAL(in->steps), in->job.options.timestep);
  printf("  forward, recorded       %.3f s\n", in->forward.seconds);
  printf("  reverse                 %.3f s\n", in->reverse_seconds);
  printf("  reverse over forward    %.3f\n", in->reverse_seconds / in->forward.seconds);
  printf("  smallest pivot          %.6g\n", smallest(&in->min_pivot));
  printf("  not a strict minimum    %lld\n", (long long)in->failed.envs[FAILED_NOT_MINIMUM]);
  printf("  failed environments     %lld\n", (long long)in->forward.failed_envs);
  failures_print(&in->failed, in->job.model);
}

static void print_norms(const gradient_run *in) {
  printf("  norm of the gradient by\n");
  for (int i = 0; i < INPUT_COUNT; i++)
    printf("    %-20s  %.9g\n", gradient_input_names[i], norm(&in->grad[i]));
}

enum { GROUP_COUNT = 5 };
static const char *const group_names[GROUP_COUNT] = {"qpos", "qvel", "act", "ctrl", "parameters"};

/* Scenes without activations have no group of them. */
static int has_group(const gradient_check *in, int group) {
  return group != BY_ACT || in->entries[group] > 0;
}

/* Largest error of a group relative to its largest entry; absolute where the loss does not depend on it.
 */
static double group_error(const gradient_check *in, int group) {
  int first = group <= BY_CTRL ? group : BY_GRAVITY, last = group <= BY_CTRL ? group : BY_STIFFNESS;
  double largest = 0, error = 0;
  for (int i = first; i <= last; i++) {
    largest = fmax(largest, in->largest[i]);
    error = isnan(in->error[i]) ? INFINITY : fmax(error, in->error[i]);
  }
  return error / (largest > 0 ? largest : 1);
}

static void print_check_json(const gradient_run *run, const gradient_check *in, double overall) {
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '{');
  emit_open(&json, "max_relative_error", '{');
  for (int i = 0; i < GROUP_COUNT; i++)
    if (has_group(in, i)) emit_number(&json, group_names[i], group_error(in, i));
  emit_number(&json, "overall", overall);
  emit_close(&json, '}');
  emit_integer(&json, "pairs_active", in->pairs_active);
  emit_integer(&json, "active_set_changes", in->active_set_changes);
  failures_json(&json, &run->failed, run->job.model);
  emit_close(&json, '}');
  printf("\n");
}

static void print_check(const gradient_check *in, double overall) {
  printf("  pairs active            %lld\n", (long long)in->pairs_active);
  printf("  active set changes      %lld\n", (long long)in->active_set_changes);
  printf("  by          directions  largest entry     largest error     differences' own\n");
  for (int i = 0; i < INPUT_COUNT; i++)
    printf("    %-10s%10lld  %13.6g  %16.3g  %16.3g\n", gradient_input_names[i], (long long)in->entries[i],
           in->largest[i], in->error[i], in->doubt[i]);
  printf("  error relative to the group's largest entry\n");
  for (int i = 0; i < GROUP_COUNT; i++)
    if (has_group(in, i)) printf("    %-20s  %.3g\n", group_names[i], group_error(in, i));
  printf("    %-20s  %.3g\n", "overall", overall);
}

static int check(gradient_run *in, const cli_options *options, progress *bar) {
  gradient_check found;
  double overall = 0;
  int code = gradient_compare(in, options, &found, bar);
  progress_end(bar);
  if (code != CLI_OK) return code;
  for (int i = 0; i < GROUP_COUNT; i++) overall = fmax(overall, group_error(&found, i));
  if (options->json) {
    print_check_json(in, &found, overall);
  } else {
    print_timing(in, options->arguments[0]);
    print_check(&found, overall);
  }
  code = cli_flush();
  if (code != CLI_OK) return code;
  if (in->forward.failed_envs || in->failed.envs[FAILED_NOT_MINIMUM]) {
    cli_error("check: %lld of %lld environment%s failed, %lld not at a strict minimum",
              (long long)in->forward.failed_envs, (long long)in->envs, PLURAL(in->envs),
              (long long)in->failed.envs[FAILED_NOT_MINIMUM]);
    return CLI_CHECK_FAILED;
  }
  return overall <= CHECK_LIMIT ? CLI_OK : CLI_CHECK_FAILED;
}

static int open_run(gradient_run *out, const cli_options *options) {
  if (options->check && options->batch.dtype != ABUT_F64) return cli_error("--dtype f32: --check needs f64");
  int code = job_load(&out->job, options->arguments[0], options);
  if (code == CLI_OK) code = job_ctrl(&out->job, options, out->envs, out->steps, &out->controls);
  if (code != CLI_OK) return code;
  abut_options asked = job_options(options);
  if (options->check) asked.tolerance *= CHECK_TOLERANCE;
  code = job_check(options, &asked);
  if (code != CLI_OK) return code;
  code = job_create(&out->job, &asked, out->steps, array_bytes(out, options->check, asked.dtype));
  if (code == CLI_OK) code = job_start(&out->job, options);
  return code == CLI_OK ? allocate(out, options->check) : code;
}

static int run_both(gradient_run *out, const cli_options *options, progress *bar) {
  double forward = options->check ? 0.1 : 0.6, reverse = options->check ? 0.1 : 0.4; /* shares of the time */
  progress_part(bar, 0, forward);
  int code = run_forward(out, bar);
  progress_part(bar, forward, reverse);
  return code == CLI_OK ? run_reverse(out, bar) : code;
}

static int report(const gradient_run *in, const cli_options *options, progress *bar) {
  progress_end(bar);
  if (options->json) {
    print_json(in);
  } else {
    print_timing(in, options->arguments[0]);
    print_norms(in);
  }
  return cli_flush();
}

int cli_gradient(const cli_options *options) {
  gradient_run run = {.seed = options->seed, .envs = options->envs, .steps = options->steps};
  progress bar;
  int code = open_run(&run, options);
  if (code == CLI_OK && options->check) code = gradient_set_frictions(&run);
  if (code == CLI_OK) code = find_start(&run);
  if (code == CLI_OK) {
    fill_cotangents(&run);
    progress_begin(&bar, options->check ? "check" : "gradient");
    code = run_both(&run, options, &bar);
    if (code == CLI_OK) code = options->check ? check(&run, options, &bar) : report(&run, options, &bar);
  }
  release(&run);
  return code;
}
