/* optimiser.c: the optimiser's life, and what an iteration does to the variables. */
#include "host/optimise/optimiser.h"
#include "host/optimise/adam.h"
#include "kernels/lane/random.h"
#include "host/optimise/problem.h"
#include "host/base/status.h"
#include "host/batch/tensor.h"
#include "host/optimise/variable.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ create, destroy */

static void *copy_of(const void *from, size_t bytes) {
  void *to = malloc(bytes + 1);
  if (to) memcpy(to, from, bytes);
  return to;
}

/* Rows of an environment in each array of run. */
static void run_rows(const abut_optimiser *o, int64_t rows[RUN_COUNT]) {
  const abut_model *m = o->batch->model;
  int64_t t = o->problem.nstep;
  rows[RUN_QPOS0] = rows[RUN_BAR_QPOS0] = m->nq;
  rows[RUN_QVEL0] = rows[RUN_BAR_QVEL0] = m->nv;
  rows[RUN_CTRL] = rows[RUN_BAR_CTRL] = t * m->nu;
  rows[RUN_XPOS] = rows[RUN_BAR_XPOS] = (t + 1) * m->nbody * 3;
  rows[RUN_XQUAT] = rows[RUN_BAR_XQUAT] = (t + 1) * m->nbody * 4;
  rows[RUN_STATUS] = 1;
}

static abut_status allocate(abut_optimiser *o) {
  size_t n = (size_t)o->nenv, elem = elem_size(o->batch);
  const abut_model *m = o->batch->model;
  int64_t rows[RUN_COUNT];
  run_rows(o, rows);
  int failed = 0;
  for (int i = 0; i < RUN_COUNT; i++) failed |= !(o->run[i] = calloc((size_t)rows[i] + 1, n * elem));
  double **const by_value[] = {&o->value, &o->tried, &o->gradient, &o->mean, &o->square, &o->best};
  for (size_t i = 0; i < sizeof by_value / sizeof *by_value; i++)
    failed |= !(*by_value[i] = calloc((size_t)o->nvalue + 1, n * sizeof(double)));
  double **const by_env[] = {&o->scale, &o->loss, &o->final, &o->best_loss};
  for (size_t i = 0; i < sizeof by_env / sizeof *by_env; i++)
    failed |= !(*by_env[i] = calloc(n + 1, sizeof(double)));
  failed |= !(o->qpos = calloc(n * (size_t)m->nq + 1, elem));
  failed |= !(o->qvel = calloc(n * (size_t)m->nv + 1, elem));
  failed |= !(o->rate = calloc((size_t)o->nvalue + 1, sizeof(double)));
  failed |= !(o->range = calloc((size_t)o->problem.nvariable + 1, 2 * sizeof(double)));
  failed |= !(o->steps = calloc(n + 1, sizeof *o->steps));
  failed |= !(o->best_reached = calloc(n + 1, 1));
  return failed ? fail_with(ABUT_ERROR_MEMORY, "optimiser of %lld environment%s: out of memory",
                            (long long)o->nenv, PLURAL(o->nenv))
                : ABUT_OK;
}

static abut_status copy_problem(abut_optimiser *o, const abut_problem *problem) {
  o->problem = *problem;
  o->problem.terms = copy_of(problem->terms, (size_t)problem->nterm * sizeof *problem->terms);
  o->problem.variables = copy_of(problem->variables, (size_t)problem->nvariable * sizeof *problem->variables);
  o->first = calloc((size_t)problem->nvariable + 1, sizeof *o->first);
  if (!o->problem.terms || !o->problem.variables || !o->first)
    return fail_with(ABUT_ERROR_MEMORY, "optimiser: out of memory");
  for (int32_t i = 0; i < problem->nvariable; i++) {
    const abut_variable *v = &o->problem.variables[i];
    o->first[i + 1] = o->first[i] + variable_size(v, problem->nstep);
    o->has_qpos |= v->kind == ABUT_VARIABLE_QPOS;
    o->has_qvel |= v->kind == ABUT_VARIABLE_QVEL;
  }
  o->nvalue = o->first[problem->nvariable];
  return ABUT_OK;
}

static void set_rates(abut_optimiser *o) {
  const abut_model *m = o->batch->model;
  for (int32_t i = 0; i < o->problem.nvariable; i++) {
    const abut_variable *v = &o->problem.variables[i];
    o->range[2 * i] = -INFINITY;
    o->range[2 * i + 1] = INFINITY;
    if (variable_is_control(v) && m->actuator_ctrllimited[v->index])
      memcpy(o->range + 2 * i, m->actuator_ctrlrange + 2 * v->index, 2 * sizeof(double));
    for (int64_t k = o->first[i]; k < o->first[i + 1]; k++) {
      double rate = v->rate[variable_part(v, k - o->first[i])];
      o->rate[k] = rate > 0 ? rate : o->problem.rate;
    }
  }
}

static void bound(abut_optimiser *o, int64_t env) {
  for (int32_t i = 0; i < o->problem.nvariable; i++)
    variable_bound(&o->problem.variables[i], o->problem.nstep, o->range + 2 * i,
                   o->value + env * o->nvalue + o->first[i]);
}

static void disturb(abut_optimiser *o, uint64_t seed) {
  const abut_problem *p = &o->problem;
  for (int64_t env = 0; env < o->nenv; env++) {
    for (int32_t i = 0; i < p->nvariable; i++)
      variable_disturb(&p->variables[i], p->nstep, seed, env, i, o->value + env * o->nvalue + o->first[i]);
    bound(o, env);
  }
}

/* Adam and the bests begin anew at the values. */
static void begin(abut_optimiser *o) {
  size_t values = (size_t)(o->nenv * o->nvalue);
  memset(o->mean, 0, values * sizeof(double));
  memset(o->square, 0, values * sizeof(double));
  memcpy(o->best, o->value, values * sizeof(double));
  memcpy(o->tried, o->value, values * sizeof(double));
  o->iteration = 0;
  for (int64_t env = 0; env < o->nenv; env++) {
    o->steps[env] = 0;
    o->scale[env] = 1;
    o->loss[env] = o->best_loss[env] = INFINITY;
    o->best_reached[env] = 0;
  }
}

/* Rollouts start at the batch's state. */
static abut_status take_start(abut_optimiser *o) {
  const abut_model *m = o->batch->model;
  abut_snapshot *start = NULL;
  int64_t shape_q[] = {o->nenv, m->nq}, shape_v[] = {o->nenv, m->nv};
  abut_tensor qpos = {.data = o->qpos, .device = {1, 0}, .ndim = 2, .shape = shape_q};
  qpos.dtype.code = 2, qpos.dtype.bits = (uint8_t)(8 * elem_size(o->batch)), qpos.dtype.lanes = 1;
  abut_tensor qvel = qpos;
  qvel.data = o->qvel, qvel.shape = shape_v;
  ATTEMPT(abut_batch_get_state(o->batch, NULL, &qpos, &qvel));
  ATTEMPT(abut_batch_snapshot(o->batch, &start));
  abut_snapshot_destroy(o->start);
  o->start = start;
  return ABUT_OK;
}

static abut_status create(abut_optimiser *o, const abut_problem *problem) {
  ATTEMPT(copy_problem(o, problem));
  ATTEMPT(allocate(o));
  ATTEMPT(take_start(o));
  set_rates(o);
  for (int64_t env = 0; env < o->nenv; env++)
    for (int32_t i = 0; i < problem->nvariable; i++)
      variable_begin(&problem->variables[i], problem->nstep, o->value + env * o->nvalue + o->first[i]);
  disturb(o, problem->seed);
  begin(o);
  return ABUT_OK;
}

abut_status abut_optimiser_create(abut_batch *batch, const abut_problem *problem,
                                  abut_optimiser **optimiser) {
  REQUIRE_POINTER(batch, "batch");
  REQUIRE_POINTER(problem, "problem");
  REQUIRE_POINTER(optimiser, "optimiser");
  *optimiser = NULL;
  ATTEMPT(problem_check(problem, batch));
  abut_optimiser *o = calloc(1, sizeof *o);
  if (!o) return fail_with(ABUT_ERROR_MEMORY, "optimiser: out of memory");
  o->batch = batch;
  o->nenv = batch->options.nenv;
  abut_status status = create(o, problem);
  if (status == ABUT_OK)
    *optimiser = o;
  else
    abut_optimiser_destroy(o);
  return status;
}

void abut_optimiser_destroy(abut_optimiser *o) {
  if (!o) return;
  abut_snapshot_destroy(o->start);
  for (int i = 0; i < RUN_COUNT; i++) free(o->run[i]);
  void *const all[] = {(void *)o->problem.terms,
                       (void *)o->problem.variables,
                       o->qpos,
                       o->qvel,
                       o->first,
                       o->rate,
                       o->range,
                       o->value,
                       o->tried,
                       o->gradient,
                       o->mean,
                       o->square,
                       o->steps,
                       o->scale,
                       o->loss,
                       o->final,
                       o->best,
                       o->best_loss,
                       o->best_reached};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(o);
}

/* ---------------------------------------------------------------------------------------- iteration */

static int better(const abut_optimiser *o, int64_t env) {
  int reached = o->final[env] == 0;
  if (reached != o->best_reached[env]) return reached;
  return o->loss[env] < o->best_loss[env];
}

static void keep_best(abut_optimiser *o, int64_t env) {
  if (!isfinite(o->loss[env])) return;
  if (!o->problem.keep_latest && !better(o, env)) return;
  memcpy(o->best + env * o->nvalue, o->tried + env * o->nvalue, (size_t)o->nvalue * sizeof(double));
  o->best_loss[env] = o->loss[env];
  o->best_reached[env] = o->final[env] == 0;
}

/* A rollout that froze, or a gradient that is none, says nothing about where to go: back to what was best, in
 * smaller steps. */
static void step_back(abut_optimiser *o, int64_t env) {
  size_t bytes = (size_t)o->nvalue * sizeof(double);
  int64_t at = env * o->nvalue;
  memcpy(o->value + at, o->best + at, bytes);
  memset(o->mean + at, 0, bytes);
  memset(o->square + at, 0, bytes);
  o->steps[env] = 0;
  o->scale[env] /= 2;
}

static void update(abut_optimiser *o, int64_t env) {
  const abut_problem *p = &o->problem;
  const adam rule = {p->beta1, p->beta2, p->epsilon, p->clip};
  int64_t at = env * o->nvalue;
  if (!isfinite(o->loss[env]) || !isfinite(adam_norm(o->gradient + at, o->nvalue))) {
    step_back(o, env);
    return;
  }
  adam_step(&rule, ++o->steps[env], o->nvalue, o->gradient + at, o->rate, o->scale[env], o->mean + at,
            o->square + at, o->value + at);
  bound(o, env);
}

static abut_optimiser_report report_of(const abut_optimiser *o) {
  abut_optimiser_report r = {.iteration = o->iteration, .loss = INFINITY};
  for (int64_t env = 0; env < o->nenv; env++) {
    r.reached_envs += isfinite(o->loss[env]) && o->final[env] == 0;
    if (!isfinite(o->loss[env])) {
      r.failed_envs++;
      continue;
    }
    r.loss_mean += o->loss[env];
    if (o->loss[env] >= r.loss) continue;
    r.loss = o->loss[env];
    r.env = env;
  }
  int64_t sound = o->nenv - r.failed_envs;
  r.loss_mean = sound ? r.loss_mean / (double)sound : INFINITY;
  r.gradient_norm = adam_norm(o->gradient + r.env * o->nvalue, o->nvalue);
  return r;
}

/* A progress callback that sees the first or the second half of an iteration. */
typedef struct half {
  abut_progress progress;
  void *user;
  double done;
} half;

static int show_half(void *user, double fraction) {
  const half *h = user;
  return h->progress(h->user, h->done + fraction / 2);
}

abut_status abut_optimiser_step(abut_optimiser *o, abut_optimiser_report *report, abut_progress progress,
                                void *user) {
  REQUIRE_POINTER(o, "optimiser");
  half h = {progress, user, 0};
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = o->problem.nstep;
  args.record = 1;
  ATTEMPT(optimiser_forward(o, o->value, &args, progress ? show_half : NULL, &h));
  h.done = 0.5;
  memcpy(o->tried, o->value, (size_t)(o->nenv * o->nvalue) * sizeof(double));
  optimiser_loss(o);
  ATTEMPT(optimiser_reverse(o, progress ? show_half : NULL, &h));
  for (int64_t env = 0; env < o->nenv; env++) {
    keep_best(o, env);
    update(o, env);
  }
  if (report) *report = report_of(o);
  o->iteration++;
  return ABUT_OK;
}

abut_optimiser_view abut_optimiser_get(const abut_optimiser *o) {
  abut_optimiser_view view = {0};
  if (!o) return view;
  view = (abut_optimiser_view){.nenv = o->nenv,
                               .nvalue = o->nvalue,
                               .variables = o->tried,
                               .gradient = o->gradient,
                               .loss = o->loss,
                               .final_terms = o->final,
                               .best_variables = o->best,
                               .best_loss = o->best_loss};
  for (int64_t env = 1; env < o->nenv; env++) {
    int64_t best = view.best_env;
    int first = o->best_reached[env] != o->best_reached[best] ? o->best_reached[env]
                                                              : o->best_loss[env] < o->best_loss[best];
    if (first) view.best_env = env;
  }
  return view;
}

/* -------------------------------------------------------------------------------------- replay, shift */

abut_status abut_optimiser_replay(abut_optimiser *o, const abut_rollout_args *args, abut_progress progress,
                                  void *user) {
  REQUIRE_POINTER(o, "optimiser");
  REQUIRE_POINTER(args, "args");
  if (args->nstep < 1 || args->nstep > o->problem.nstep)
    return fail_with(ABUT_ERROR_ARGUMENT, "abut_optimiser_replay: nstep %lld, must be from 1 to %lld",
                     (long long)args->nstep, (long long)o->problem.nstep);
  return optimiser_forward(o, o->best, args, progress, user);
}

abut_status abut_optimiser_shift(abut_optimiser *o, int64_t nstep) {
  REQUIRE_POINTER(o, "optimiser");
  int64_t all = o->problem.nstep;
  if (nstep < 0 || nstep > all)
    return fail_with(ABUT_ERROR_ARGUMENT, "abut_optimiser_shift: nstep %lld, must be from 0 to %lld",
                     (long long)nstep, (long long)all);
  for (int32_t i = 0; i < o->problem.nvariable; i++)
    if (o->problem.variables[i].kind != ABUT_VARIABLE_SEQUENCE)
      return fail_with(ABUT_ERROR_ARGUMENT, "abut_optimiser_shift: variables[%d].kind %d: not a sequence", i,
                       o->problem.variables[i].kind);
  ATTEMPT(take_start(o));
  for (int64_t env = 0; env < o->nenv; env++)
    for (int32_t i = 0; i < o->problem.nvariable; i++) {
      const double *from = o->best + env * o->nvalue + o->first[i];
      double *to = o->value + env * o->nvalue + o->first[i];
      for (int64_t t = 0; t < all; t++) to[t] = from[t + nstep < all ? t + nstep : all - 1];
    }
  begin(o);
  return ABUT_OK;
}

abut_status abut_optimiser_share(abut_optimiser *o) {
  REQUIRE_POINTER(o, "optimiser");
  int64_t best = abut_optimiser_get(o).best_env;
  for (int64_t env = 0; env < o->nenv; env++) {
    if (env == best) continue;
    memcpy(o->best + env * o->nvalue, o->best + best * o->nvalue, (size_t)o->nvalue * sizeof(double));
    o->best_loss[env] = o->best_loss[best];
    o->best_reached[env] = o->best_reached[best];
  }
  return ABUT_OK;
}

abut_status abut_optimiser_disturb(abut_optimiser *o, uint64_t round) {
  REQUIRE_POINTER(o, "optimiser");
  disturb(o, hash64(o->problem.seed ^ hash64(round)));
  return ABUT_OK;
}
