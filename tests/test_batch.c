/* test_batch.c: what an environment's bits may not depend on: its neighbours, threads, list capacities,
 * recording, how a rollout is cut. */
#include "rollout.h"
#include <stdio.h>

/* A scene in a regime that makes and breaks contacts. */
typedef struct regime {
  const char *path;
  int64_t nenv, nstep;
  double kick, spread; /* of velocities at the start (m/s, rad/s) */
} regime;
static const regime regimes[] = {
    {"scenes/stack5.abut", 1000, 25, 0.05, 0.3},
    {"scenes/ant_box.abut", 1000, 20, 0.05, 0.2},
    {"scenes/chains4x8.abut", 1000, 4, 0.05, 0.05},
    {"scenes/pile.abut", 1000, 9, 0.02, 1},
};
enum { REGIMES = sizeof regimes / sizeof *regimes };

/* One regime's batch, start, controls and outputs. */
typedef struct experiment {
  scene s;
  abut_options options;
  abut_batch *batch;
  array qpos0, qvel0, ctrl;
  run r;
} experiment;

static void fill_uniform(array *a, uint64_t seed, double low, double high) {
  for (size_t i = 0; i < a->count; i++) array_set(a, i, test_uniform(seed + i, low, high));
}

/* The batch of `nenv` environments with starts and controls that depend on (environment, step) only. */
static int experiment_create(experiment *e, const regime *g, int64_t nenv, abut_options options) {
  memset(e, 0, sizeof *e);
  if (!scene_load(g->path, &e->s)) return 0;
  e->options = options;
  e->options.nenv = nenv;
  e->batch = batch_of(&e->s, &e->options);
  if (!e->batch) return 0;
  char real = options.dtype == ABUT_F32 ? 'f' : 'd';
  array_create(&e->qpos0, real, 2, (int64_t[]){nenv, e->s.n.nq});
  array_create(&e->qvel0, real, 2, (int64_t[]){nenv, e->s.n.nv});
  array_create(&e->ctrl, real, 3, (int64_t[]){nenv, g->nstep, e->s.n.nu});
  CHECK_STATUS(abut_batch_perturb(e->batch, NULL, 3, 0, 0, g->spread), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(e->batch, NULL, tensor(&e->qpos0), tensor(&e->qvel0)), ABUT_OK);
  fill_uniform(&e->ctrl, 99, -1, 1);
  run_create(&e->r, &e->s, &e->options, g->nstep);
  e->r.args.ctrl = tensor(&e->ctrl);
  e->r.args.kick = g->kick;
  e->r.args.kick_seed = 5;
  return 1;
}
static void experiment_free(experiment *e) {
  run_free(&e->r);
  array_free(&e->qpos0);
  array_free(&e->qvel0);
  array_free(&e->ctrl);
  abut_batch_destroy(e->batch);
  scene_free(&e->s);
}
static int64_t scaled(int64_t n) { return test_quick() ? n / 20 + 1 : n; }

/* Runs the regime under options and compares every environment with the reference. */
static void check_equal_under(const regime *g, const experiment *want, abut_options options, int record,
                              const char *what) {
  experiment e;
  REQUIRE(experiment_create(&e, g, want->options.nenv, options));
  e.r.args.record = record;
  run_go(&e.r, e.batch);
  for (int64_t i = 0; i < e.options.nenv; i++) run_check_same(what, &e.r, i, &want->r, i);
  if (options.implicit.pair_capacity == 1) CHECK(e.r.result.reruns > 0);
  experiment_free(&e);
}

/* ---------------------------------------------------------------------------------------- neighbours */

static uint64_t unshift(uint64_t y, int s) { /* x with x ^ (x >> s) == y */
  uint64_t x = y;
  for (int i = 0; i < 64 / s; i++) x = y ^ (x >> s);
  return x;
}
static uint64_t odd_inverse(uint64_t a) { /* modulo 2^64 */
  uint64_t x = a;
  for (int i = 0; i < 6; i++) x *= 2 - a * x;
  return x;
}
/* Noise is hash(hash(hash(hash(seed) ^ environment) ^ step) ^ entry) and hash is a bijection: the seed that
 * gives environment 0 what `seed` gives environment `env`. */
static uint64_t seed_of_alone(uint64_t seed, uint64_t env) {
  uint64_t x = test_hash(seed) ^ env;
  x = unshift(x, 31) * odd_inverse(UINT64_C(0x94d049bb133111eb));
  x = unshift(x, 27) * odd_inverse(UINT64_C(0xbf58476d1ce4e5b9));
  return unshift(x, 30) - UINT64_C(0x9e3779b97f4a7c15);
}

/* Environment `env` of the big experiment in a batch of its own. */
static void check_alone(const regime *g, experiment *big, int64_t env) {
  abut_options o = test_options(1);
  abut_batch *b = batch_of(&big->s, &o);
  REQUIRE(b);
  array q, v, u, from[3] = {big->qpos0, big->qvel0, big->ctrl}, *to[3] = {&q, &v, &u};
  for (int i = 0; i < 3; i++) {
    int64_t shape[3] = {1, from[i].shape[1], from[i].shape[2]};
    array_create(to[i], 'd', from[i].t.ndim, shape);
    memcpy(to[i]->t.data, (char *)from[i].t.data + (size_t)env * to[i]->bytes, to[i]->bytes);
  }
  run r;
  run_create(&r, &big->s, &o, g->nstep);
  r.args.ctrl = tensor(&u);
  r.args.kick = g->kick;
  r.args.kick_seed = seed_of_alone(5, (uint64_t)env);
  CHECK_STATUS(abut_batch_set_state(b, NULL, tensor(&q), tensor(&v)), ABUT_OK);
  run_go(&r, b);
  run_check_same(g->path, &r, 0, &big->r, env);
  run_free(&r);
  for (int i = 0; i < 3; i++) array_free(to[i]);
  abut_batch_destroy(b);
}

TEST(alone_equals_in_a_thousand) {
  for (int i = 0; i < REGIMES; i++) {
    const regime *g = &regimes[i];
    experiment e;
    abut_options o = test_options(1);
    o.threads = 2;
    REQUIRE(experiment_create(&e, g, scaled(g->nenv), o));
    run_go(&e.r, e.batch);
    CHECK(e.r.result.newton_iterations > e.options.nenv * g->nstep);
    for (int64_t k = 0; k < 12; k++) check_alone(g, &e, k < 4 ? k : e.options.nenv * k / 12 - k % 3);
    check_alone(g, &e, e.options.nenv - 1);
    experiment_free(&e);
  }
}

/* ---------------------------------------------------------------------------------------- threads, capacity,
 * record */

TEST(threads_capacity_and_recording_change_no_bit) {
  for (int i = 0; i < REGIMES; i++) {
    const regime *g = &regimes[i];
    int64_t nenv = test_quick() ? 9 : 33;
    experiment want;
    REQUIRE(experiment_create(&want, g, nenv, test_options(1)));
    run_go(&want.r, want.batch);
    abut_options o = test_options(1);
    o.threads = 2;
    check_equal_under(g, &want, o, 0, "2 threads");
    o.threads = 7;
    check_equal_under(g, &want, o, 0, "7 threads");
    o.threads = 1;
    o.implicit.pair_capacity = 1;
    check_equal_under(g, &want, o, 0, "pair_capacity 1");
    check_equal_under(g, &want, o, 1, "pair_capacity 1, recorded");
    o.implicit.pair_capacity = 1 << 20;
    check_equal_under(g, &want, o, 0, "pair_capacity 2^20");
    o.implicit.pair_capacity = 0;
    check_equal_under(g, &want, o, 1, "recorded");
    experiment_free(&want);
  }
}

/* The same in single precision, where more is lost in a sum done in another order. */
TEST(f32_threads_and_capacity_change_no_bit) {
  const regime *g = &regimes[1];
  abut_options o = test_options(1);
  o.dtype = ABUT_F32;
  o.tolerance = 1e-2;
  experiment want;
  REQUIRE(experiment_create(&want, g, test_quick() ? 9 : 101, o));
  run_go(&want.r, want.batch);
  o.threads = 3;
  check_equal_under(g, &want, o, 0, "3 threads");
  o.implicit.pair_capacity = 1;
  check_equal_under(g, &want, o, 1, "pair_capacity 1, recorded");
  experiment_free(&want);
}

/* ---------------------------------------------------------------------------------------- cutting a rollout
 */

/* Copies controls [first, first + n) of every environment. */
static array ctrl_slice(const array *ctrl, int64_t first, int64_t n) {
  array out;
  int64_t nenv = ctrl->shape[0], nstep = ctrl->shape[1], nu = ctrl->shape[2];
  array_create(&out, 'd', 3, (int64_t[]){nenv, n, nu});
  for (int64_t e = 0; e < nenv; e++)
    memcpy((double *)out.t.data + e * n * nu, (double *)ctrl->t.data + (e * nstep + first) * nu,
           (size_t)(n * nu) * sizeof(double));
  return out;
}

static void check_piece(const run *whole, const run *piece, int64_t first, int64_t env) {
  for (int k = 0; k < OUT_MOVED; k++) {
    if (k == OUT_STATUS) continue;
    const array *w = &whole->out[k], *p = &piece->out[k];
    size_t row = p->bytes / (size_t)(p->shape[0] * p->shape[1]);
    const char *a = (const char *)w->t.data + (size_t)(env * w->shape[1] + first) * row;
    const char *b = (const char *)p->t.data + (size_t)(env * p->shape[1]) * row;
    if (memcmp(a, b, (size_t)p->shape[1] * row))
      test_fail(__FILE__, __LINE__, "steps from %lld: output %d of environment %lld differs",
                (long long)first, k, (long long)env);
  }
}

TEST(short_rollouts_equal_one_long) {
  for (int i = 0; i < REGIMES; i++) {
    const regime *g = &regimes[i];
    experiment e;
    REQUIRE(experiment_create(&e, g, test_quick() ? 5 : 20, test_options(1)));
    e.r.args.kick = 0; /* keyed by the step within its rollout */
    run_go(&e.r, e.batch);
    CHECK_STATUS(abut_batch_set_state(e.batch, NULL, tensor(&e.qpos0), tensor(&e.qvel0)), ABUT_OK);
    for (int64_t first = 0, n = 1; first < g->nstep; first += n, n = n % 3 + 1) {
      if (first + n > g->nstep) n = g->nstep - first;
      run r;
      run_create(&r, &e.s, &e.options, n);
      array ctrl = ctrl_slice(&e.ctrl, first, n);
      r.args.ctrl = tensor(&ctrl);
      run_go(&r, e.batch);
      for (int64_t env = 0; env < e.options.nenv; env++) check_piece(&e.r, &r, first, env);
      run_free(&r);
      array_free(&ctrl);
    }
    experiment_free(&e);
  }
}

/* A rollout of no steps reports the start and changes nothing. */
TEST(rollout_of_no_steps) {
  experiment e;
  REQUIRE(experiment_create(&e, &regimes[1], 5, test_options(1)));
  run none;
  run_create(&none, &e.s, &e.options, 0);
  run_go(&none, e.batch);
  run_go(&none, e.batch);
  CHECK(!memcmp(none.out[OUT_QVEL].t.data, e.qvel0.t.data, e.qvel0.bytes));
  run_go(&e.r, e.batch);
  for (int64_t env = 0; env < 5; env++)
    CHECK(
        !memcmp(run_row(&none, OUT_QPOS, env), run_row(&e.r, OUT_QPOS, env), run_row_bytes(&none, OUT_QPOS)));
  run_free(&none);
  experiment_free(&e);
}

/* Outputs that are not asked for cost nothing to the others' bits. */
TEST(each_output_alone) {
  experiment e;
  REQUIRE(experiment_create(&e, &regimes[1], 10, test_options(1)));
  run_go(&e.r, e.batch);
  for (int k = 0; k < OUT_COUNT; k++) {
    run one;
    run_create(&one, &e.s, &e.options, e.r.args.nstep);
    abut_tensor **slots[OUT_COUNT] = {&one.args.qpos,       &one.args.qvel,          &one.args.xpos,
                                      &one.args.xquat,      &one.args.contact_force, &one.args.min_gap,
                                      &one.args.min_pair,   &one.args.energy,        &one.args.status,
                                      &one.args.iterations, &one.args.moved,         &one.args.overlap_pair};
    for (int j = 0; j < OUT_COUNT; j++)
      if (j != k) *slots[j] = NULL;
    one.args.ctrl = tensor(&e.ctrl);
    one.args.kick = e.r.args.kick;
    one.args.kick_seed = e.r.args.kick_seed;
    CHECK_STATUS(abut_batch_set_state(e.batch, NULL, tensor(&e.qpos0), tensor(&e.qvel0)), ABUT_OK);
    run_go(&one, e.batch);
    CHECK(!memcmp(one.out[k].t.data, e.r.out[k].t.data, one.out[k].bytes));
    for (int j = 0; j < OUT_COUNT; j++) CHECK(j == k || array_untouched(&one.out[j]));
    run_free(&one);
  }
  experiment_free(&e);
}

/* ---------------------------------------------------------------------------------------- what was simulated
 */

/* f32 is computed in f32: near f64, and not f64 rounded at the end. */
TEST(f32_is_not_rounded_f64) {
  const regime g = {"scenes/stack5.abut", 4, 50, 0, 0};
  abut_options o = test_options(1);
  o.tolerance = 1e-3;
  experiment d, f;
  REQUIRE(experiment_create(&d, &g, 4, o));
  o.dtype = ABUT_F32;
  REQUIRE(experiment_create(&f, &g, 4, o));
  run_go(&d.r, d.batch);
  run_go(&f.r, f.batch);
  size_t differ = 0, n = d.r.out[OUT_QPOS].count;
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double a = array_get(&d.r.out[OUT_QPOS], i), b = array_get(&f.r.out[OUT_QPOS], i);
    differ += (float)a != (float)b;
    worst = fmax(worst, fabs(a - b));
  }
  CHECK(differ > n / 10);
  CHECK(worst > 1e-8);
  CHECK_NEAR(worst, 0, 1e-2);
  experiment_free(&d);
  experiment_free(&f);
}

/* Kicks are uniform in [-kick, kick] and differ between environments, steps and entries. */
TEST(kick_is_what_it_says) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(2);
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  run plain, kicked, other;
  run *runs[3] = {&plain, &kicked, &other};
  for (int i = 0; i < 3; i++) {
    run_create(runs[i], &s, &o, 1);
    runs[i]->args.kick = i ? 0.05 : 0;
    runs[i]->args.kick_seed = (uint64_t)i;
    abut_batch_reset(b, NULL, -1);
    run_go(runs[i], b);
  }
  CHECK(run_difference(&plain, 0, &plain, 1) == NULL);
  CHECK(run_difference(&plain, 0, &kicked, 0) != NULL);
  CHECK(run_difference(&kicked, 0, &kicked, 1) != NULL);
  CHECK(run_difference(&kicked, 0, &other, 0) != NULL);
  for (int i = 0; i < 3; i++) run_free(runs[i]);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Largest |m (v+ - v)/dt - m g - contact forces| over the free bodies of a rollout (N): what is left of the
 * linear part of the step's gradient. */
static double newton_residual(const scene *s, const run *r, const abut_options *o) {
  double gravity[3], worst = 0;
  int64_t nstep = r->args.nstep, npair = s->n.npair;
  const double *v = r->out[OUT_QVEL].t.data, *f = r->out[OUT_FORCE].t.data;
  scene_model_gravity(s->model, gravity);
  for (int32_t j = 0, dof = 0; j < s->n.njnt; j++, dof += 6) {
    abut_joint_def joint;
    abut_body_def body;
    abut_model_joint(s->model, j, &joint);
    abut_model_body(s->model, joint.body, &body);
    for (int64_t t = 0; t < nstep; t++)
      for (int c = 0; c < 3; c++) {
        double force = body.mass * gravity[c];
        for (int32_t p = 0; p < npair; p++) {
          int32_t geoms[2];
          abut_geom_def geom;
          abut_model_pair(s->model, p, geoms);
          for (int side = 0; side < 2; side++) {
            abut_model_geom(s->model, geoms[side], &geom);
            if (geom.body == joint.body) force += (side ? -1 : 1) * f[(t * npair + p) * 3 + c];
          }
        }
        double change = v[(t + 1) * s->n.nv + dof + c] - v[t * s->n.nv + dof + c];
        worst = fmax(worst, fabs(body.mass * change / o->timestep - force));
      }
  }
  return worst;
}

TEST(tolerance_is_respected) {
  const double tolerances[] = {1e-1, 1e-3, 1e-4, 1e-6};
  int64_t before = 0;
  for (int i = 0; i < 4; i++) {
    const regime g = {"scenes/stack5.abut", 1, 60, 0, 0.2};
    abut_options o = test_options(1);
    o.tolerance = tolerances[i];
    experiment e;
    REQUIRE(experiment_create(&e, &g, 1, o));
    run_go(&e.r, e.batch);
    CHECK(run_status(&e.r, 0) == 0);
    CHECK_NEAR(newton_residual(&e.s, &e.r, &o), 0, tolerances[i] * 1.01 + 1e-9);
    CHECK(e.r.result.newton_iterations > before);
    before = e.r.result.newton_iterations;
    experiment_free(&e);
  }
}

/* ---------------------------------------------------------------------------------------- progress */

typedef struct watcher {
  int calls, stop_after;
  double last;
  int ordered;
} watcher;
static int watch(void *user, double fraction) {
  watcher *w = user;
  w->ordered = w->ordered && fraction >= w->last && fraction <= 1;
  w->last = fraction;
  return ++w->calls == w->stop_after;
}

/* A stopped rollout is an error, leaves the state where it was, and the next one runs as if it had not been.
 */
TEST(progress_and_stop) {
  const regime g = {"scenes/stack5.abut", 1, 12, 0.05, 0.3};
  experiment e, fresh;
  REQUIRE(experiment_create(&e, &g, 6, test_options(1)));
  REQUIRE(experiment_create(&fresh, &g, 6, test_options(1)));
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 1000000000;
  args.kick = 0.05;
  watcher w = {0, 2, 0, 1};
  CHECK_STATUS(abut_rollout(e.batch, &args, NULL, watch, &w), ABUT_ERROR_ARGUMENT);
  CHECK(w.calls == 2 && w.ordered);
  run_go(&e.r, e.batch);
  run_go(&fresh.r, fresh.batch);
  for (int64_t i = 0; i < 6; i++) run_check_same("after a stop", &e.r, i, &fresh.r, i);
  experiment_free(&e);
  experiment_free(&fresh);
}
