/* test_gradient.c: cotangents of whole scenes against differences, and what the reverse pass promises its
 * caller. */
#include "host/batch/batch.h"
#include "gradient.h"
#include "test.h"

typedef struct scene_case {
  const char *path;
  int64_t settle;                  /* steps before the checked ones, with zero controls */
  int64_t nstep[2], directions[2]; /* local, inverse */
  double qvel, ctrl;               /* random velocities (m/s, rad/s); share of the control range */
  double reach, stiffness;         /* local; 0: the default */
} scene_case;

static const scene_case cases[] = {
    {"scenes/incline.abut", 0, {12, 12}, {8, 8}, 0.1, 0, 0, 0},
    {"scenes/stack5.abut", 0, {12, 8}, {6, 4}, 0.2, 0, 0, 0},
    {"scenes/ant_box.abut", 0, {12, 4}, {6, 3}, 0.3, 0.5, 0, 0},
    {"scenes/arm_mesh.abut", 0, {12, 8}, {8, 6}, 0.3, 0.5, 0, 0},
    {"scenes/pile.abut", 14, {8, 2}, {4, 1}, 0.05, 0, 0, 0},
    {"scenes/planks20.abut", 0, {4, 2}, {2, 1}, 0.02, 0, 2e-4, 1e-10},
    {"scenes/chains4x8.abut", 20, {8, 1}, {3, 1}, 0.2, 0.5, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Moves the problem's start to where a rollout of nstep steps leads. */
static int settle(problem *p, int64_t nstep) {
  run r;
  run_create(&r, &p->scene, &p->options, nstep);
  abut_batch *b = batch_of(&p->scene, &p->options);
  int ok = b && run_go(&r, b);
  for (int i = 0; ok && i < 2; i++)
    memcpy(p->input[i], (const double *)r.out[i].t.data + nstep * p->entries[i],
           (size_t)p->entries[i] * sizeof(double));
  abut_batch_destroy(b);
  run_free(&r);
  return ok;
}

static int case_problem(problem *p, const scene_case *c, abut_options o) {
  abut_model *model = NULL;
  int inverse = o.implicit.contact == ABUT_CONTACT_INVERSE;
  if (!inverse && c->reach > 0) {
    o.implicit.reach = c->reach;
    o.implicit.stiffness = c->stiffness;
  }
  CHECK_STATUS(abut_model_load(c->path, NULL, &model), ABUT_OK);
  if (!model || !problem_create(p, c->path, model, o, c->nstep[inverse])) return 0;
  if (c->settle > 0 && !settle(p, c->settle)) return 0;
  p->directions = test_quick() ? 1 : c->directions[inverse];
  problem_random(p, 1, c->qvel, c->ctrl);
  return 1;
}

static checked check_case(const scene_case *c, abut_options o) {
  problem p;
  checked r = {0};
  if (!case_problem(&p, c, o)) return r;
  r = problem_check(&p);
  problem_free(&p);
  return r;
}

TEST(every_scene_local) {
  for (int i = 0; i < CASES; i++) check_case(&cases[i], test_options(1));
}

TEST(every_scene_inverse) {
  for (int i = 0; i < (test_quick() ? 4 : CASES); i++) {
    abut_options o = test_options(1);
    o.implicit.contact = ABUT_CONTACT_INVERSE;
    check_case(&cases[i], o);
  }
}

/* ---------------------------------------------------------------------------------------- options */

/* stack5 sliding over itself, ant_box pushing: friction of both forms, and what else changes a pair's terms.
 */
static void check_options(const char *name, abut_options o) {
  for (int i = 1; i < 4; i += 2) {
    scene_case c = cases[i];
    c.directions[0] = c.directions[1] = 2;
    c.nstep[0] = c.nstep[1] = 8;
    checked r = check_case(&c, o);
    if (!(r.compared > 0)) test_fail(__FILE__, __LINE__, "%s: %s was not checked", name, c.path);
  }
}

TEST(vertex_friction) {
  abut_options o = test_options(1);
  o.implicit.friction_form = ABUT_FRICTION_VERTEX;
  check_options("vertex friction", o);
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  check_options("vertex friction, inverse", o);
}

TEST(normalised_weights) {
  abut_options o = test_options(1);
  o.implicit.weights = ABUT_WEIGHTS_NORMALISED;
  check_options("normalised weights", o);
}

TEST(length_and_reach) {
  abut_options o = test_options(1);
  o.implicit.length = 0.5;
  o.implicit.reach = 3e-3;
  check_options("length", o);
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  check_options("length, inverse", o);
}

static int case_adjoint(const scene_case *c, abut_options o, int64_t nenv, problem *p, adjoint *a) {
  if (!case_problem(p, c, o)) return 0;
  abut_options options = p->options;
  options.threads = o.threads;
  return adjoint_create(a, p, options, nenv);
}

TEST(nested_solver_gives_the_same_gradient) {
  for (int i = 0; i < 4; i++) {
    problem p[2];
    adjoint a[2];
    for (int k = 0; k < 2; k++) {
      abut_options o = test_options(1);
      o.implicit.solver = k ? ABUT_SOLVER_NESTED : ABUT_SOLVER_JOINT;
      REQUIRE(case_adjoint(&cases[i], o, 1, &p[k], &a[k]));
      adjoint_cotangents(&a[k], &p[k]);
      CHECK(adjoint_go(&a[k], &p[k]));
    }
    for (int in = 0; in < IN_COUNT; in++) {
      double distance = gradient_distance(&a[0].grad.of[in], &a[1].grad.of[in]);
      if (!(distance < 1e-6))
        test_fail(__FILE__, __LINE__, "%s: %s differs by %.3g", p[0].name, input_names[in], distance);
    }
    for (int k = 0; k < 2; k++) {
      adjoint_free(&a[k]);
      problem_free(&p[k]);
    }
  }
}

/* ---------------------------------------------------------------------------------------- promises */

/* Different starts and controls in every environment of a; cotangents of all its outputs, into cot. */
static void spread(adjoint *a, const problem *p, int64_t nenv, array cot[COT_COUNT]) {
  for (int64_t e = 0; e < nenv; e++) {
    for (int64_t i = 0; i < p->entries[IN_QVEL]; i++)
      array_set(&a->in.of[IN_QVEL], (size_t)(e * p->entries[IN_QVEL] + i),
                test_uniform((uint64_t)(e << 20 | i), -0.2, 0.2));
    for (int64_t i = 0; i < p->entries[IN_CTRL]; i++)
      array_set(&a->in.of[IN_CTRL], (size_t)(e * p->entries[IN_CTRL] + i),
                test_uniform((uint64_t)(e << 21 | i), -0.4, 0.4));
  }
  const abut_tensor **to[COT_COUNT] = {&a->args.qpos, &a->args.qvel, &a->args.xpos, &a->args.xquat,
                                       &a->args.contact_force};
  for (int k = 0; k < COT_COUNT; k++) {
    const array *one = &p->cot[k];
    const int64_t shape[4] = {nenv, one->shape[1], one->shape[2], one->shape[3]};
    array_create(&cot[k], 'd', one->t.ndim, shape);
    for (size_t i = 0; i < cot[k].count; i++)
      array_set(&cot[k], i, test_uniform((uint64_t)k << 40 | i, -1, 1));
    *to[k] = tensor(&cot[k]);
  }
}

static void free_all(array *list, int n) {
  for (int i = 0; i < n; i++) array_free(&list[i]);
}

/* All gradients of environment i of a and j of b are the same bits. */
static void check_same(const char *what, const adjoint *a, int64_t i, const adjoint *b, int64_t j) {
  const array *x[IN_COUNT + 2], *y[IN_COUNT + 2];
  for (int k = 0; k < IN_COUNT; k++) {
    x[k] = &a->grad.of[k];
    y[k] = &b->grad.of[k];
  }
  x[IN_COUNT] = &a->min_pivot, y[IN_COUNT] = &b->min_pivot;
  x[IN_COUNT + 1] = &a->status, y[IN_COUNT + 1] = &b->status;
  for (int k = 0; k < IN_COUNT + 2; k++) {
    size_t bytes = x[k]->bytes / (size_t)x[k]->shape[0];
    if (memcmp((const char *)x[k]->t.data + (size_t)i * bytes, (const char *)y[k]->t.data + (size_t)j * bytes,
               bytes))
      test_fail(__FILE__, __LINE__, "%s: %s of environment %lld differs", what,
                k < IN_COUNT    ? input_names[k]
                : k == IN_COUNT ? "min_pivot"
                                : "status",
                (long long)i);
  }
}

static const int mixed[] = {2, 4}; /* ant_box; pile, whose steps differ most between environments */

TEST(recording_changes_no_forward_bit) {
  for (int i = 0; i < 2; i++) {
    problem p;
    adjoint a;
    array cot[COT_COUNT];
    REQUIRE(case_adjoint(&cases[mixed[i]], test_options(1), 5, &p, &a));
    spread(&a, &p, 5, cot);
    run plain;
    abut_options o = p.options;
    o.nenv = 5;
    run_create(&plain, &p.scene, &o, p.nstep);
    CHECK(adjoint_go(&a, &p) && inputs_apply(&a.in, &p, a.batch, &plain.args) && run_go(&plain, a.batch));
    for (int64_t e = 0; e < 5; e++) run_check_same("record", &a.run, e, &plain, e);
    run_free(&plain);
    free_all(cot, COT_COUNT);
    adjoint_free(&a);
    problem_free(&p);
  }
}

/* a's record is gone through once more, into b's arrays, with room for nslot pairs in a lane group (0: as it
 * is): environments may meet in other groups than in the rollout, and nothing is left out where they do not
 * fit. */
static void check_again(const char *what, int32_t nslot) {
  problem p;
  adjoint a, b;
  array cot[COT_COUNT], again[COT_COUNT];
  REQUIRE(case_adjoint(&cases[2], test_options(1), 5, &p, &a));
  REQUIRE(adjoint_create(&b, &p, p.options, 5));
  spread(&a, &p, 5, cot);
  spread(&b, &p, 5, again);
  CHECK(adjoint_go(&a, &p));
  if (nslot) {
    CHECK(a.batch->nslot > nslot);
    a.batch->nslot = nslot;
    CHECK_STATUS(batch_use_kernels(a.batch, a.batch->kernels), ABUT_OK);
  }
  CHECK_STATUS(abut_rollout_vjp(a.batch, &b.args, NULL, NULL), ABUT_OK);
  CHECK(a.batch->nslot > nslot);
  for (int64_t e = 0; e < 5; e++) check_same(what, &a, e, &b, e);
  free_all(cot, COT_COUNT);
  free_all(again, COT_COUNT);
  adjoint_free(&a);
  adjoint_free(&b);
  problem_free(&p);
}

TEST(reverse_twice_gives_the_same_bits) { check_again("twice", 0); }
TEST(reverse_grows_its_lists) { check_again("grown", 1); }

/* One environment of a batch alone: environment e's inputs and cotangents. */
static void take_environment(const problem *p, const adjoint *a, const array *cot, int64_t e, adjoint *one,
                             array *out) {
  const abut_tensor **to[COT_COUNT] = {&one->args.qpos, &one->args.qvel, &one->args.xpos, &one->args.xquat,
                                       &one->args.contact_force};
  for (int i = 0; i < IN_COUNT; i++) {
    size_t bytes = one->in.of[i].bytes;
    memcpy(one->in.of[i].t.data, (const char *)a->in.of[i].t.data + (size_t)e * bytes, bytes);
  }
  for (int k = 0; k < COT_COUNT; k++) {
    array_create(&out[k], 'd', p->cot[k].t.ndim, p->cot[k].shape);
    memcpy(out[k].t.data, (const char *)cot[k].t.data + (size_t)e * out[k].bytes, out[k].bytes);
    *to[k] = tensor(&out[k]);
  }
}

TEST(threads_and_company_change_no_bit) {
  enum { N = 19 };
  for (int i = 0; i < 2; i++) {
    problem p;
    adjoint a, two;
    array cot[COT_COUNT], again[COT_COUNT];
    REQUIRE(case_adjoint(&cases[mixed[i]], test_options(1), N, &p, &a));
    abut_options o = p.options;
    o.threads = 2;
    REQUIRE(adjoint_create(&two, &p, o, N));
    spread(&a, &p, N, cot);
    spread(&two, &p, N, again);
    double *q = a.in.of[IN_QPOS].t.data, *q2 = two.in.of[IN_QPOS].t.data;
    q[3 * p.entries[IN_QPOS]] = q2[3 * p.entries[IN_QPOS]] = NAN; /* one environment that ends at once */
    CHECK(adjoint_go(&a, &p) && adjoint_go(&two, &p));
    for (int64_t e = 0; e < N; e++) check_same("2 threads", &a, e, &two, e);
    for (int64_t e = 0; e < N; e += 6) {
      adjoint one;
      array single[COT_COUNT];
      REQUIRE(adjoint_create(&one, &p, p.options, 1));
      take_environment(&p, &a, cot, e, &one, single);
      CHECK(adjoint_go(&one, &p));
      check_same("alone", &a, e, &one, 0);
      free_all(single, COT_COUNT);
      adjoint_free(&one);
    }
    free_all(cot, COT_COUNT);
    free_all(again, COT_COUNT);
    adjoint_free(&a);
    adjoint_free(&two);
    problem_free(&p);
  }
}

/* A control that is not a number stops an environment before step 5: later rows repeat the state there. */
TEST(frozen_environment_counts_its_last_state) {
  enum { STOP = 5 };
  problem p;
  adjoint a, cut;
  REQUIRE(case_adjoint(&cases[2], test_options(1), 1, &p, &a));
  REQUIRE(adjoint_create(&cut, &p, p.options, 1));
  adjoint_cotangents(&a, &p);
  array_set(&a.in.of[IN_CTRL], STOP * (size_t)p.scene.n.nu, NAN);
  CHECK(adjoint_go(&a, &p));
  CHECK(((const uint32_t *)a.status.t.data)[0] == ABUT_ENV_NONFINITE);
  /* the same sum as cotangents of a rollout that ends there */
  array cot[COT_COUNT];
  const abut_tensor **to[COT_COUNT] = {&cut.args.qpos, &cut.args.qvel, &cut.args.xpos, &cut.args.xquat,
                                       &cut.args.contact_force};
  for (int k = 0; k < COT_COUNT; k++) {
    array_create(&cot[k], 'd', p.cot[k].t.ndim, p.cot[k].shape);
    memset(cot[k].t.data, 0, cot[k].bytes);
    size_t rows = (size_t)p.cot[k].shape[1], width = p.cot[k].count / rows;
    size_t last = STOP - (k == OUT_FORCE); /* a frozen environment has no forces */
    for (size_t r = 0; r < rows; r++)
      for (size_t i = 0; i < width && (r <= last || k != OUT_FORCE); i++) {
        size_t at = (r < last ? r : last) * width + i;
        array_set(&cot[k], at, array_get(&cot[k], at) + array_get(&p.cot[k], r * width + i));
      }
    *to[k] = tensor(&cot[k]);
  }
  CHECK(adjoint_go(&cut, &p));
  for (int in = 0; in < IN_COUNT; in++) {
    for (size_t i = 0; i < a.grad.of[in].count; i++) CHECK(isfinite(array_get(&a.grad.of[in], i)));
    CHECK(gradient_distance(&cut.grad.of[in], &a.grad.of[in]) < 1e-9);
  }
  for (int64_t i = STOP * p.scene.n.nu; i < p.entries[IN_CTRL]; i++)
    CHECK(array_get(&a.grad.of[IN_CTRL], (size_t)i) == 0);
  free_all(cot, COT_COUNT);
  adjoint_free(&a);
  adjoint_free(&cut);
  problem_free(&p);
}

TEST(start_that_is_not_a_number_has_finite_gradients) {
  problem p;
  adjoint a;
  REQUIRE(case_adjoint(&cases[1], test_options(1), 1, &p, &a));
  adjoint_cotangents(&a, &p);
  array_set(&a.in.of[IN_QPOS], 4, NAN);
  CHECK(adjoint_go(&a, &p));
  for (int in = 0; in < IN_COUNT; in++)
    for (size_t i = 0; i < a.grad.of[in].count; i++) CHECK(isfinite(array_get(&a.grad.of[in], i)));
  adjoint_free(&a);
  problem_free(&p);
}

/* Directions off the unit sphere change nothing, so cotangents have no part along the quaternion. */
TEST(quaternion_cotangents_are_tangent) {
  problem p;
  adjoint a;
  REQUIRE(case_adjoint(&cases[1], test_options(1), 1, &p, &a));
  adjoint_cotangents(&a, &p);
  CHECK(adjoint_go(&a, &p));
  for (int64_t q = 3; q < p.entries[IN_QPOS]; q += 7) { /* five free boxes */
    double along = 0, size = 0;
    for (int64_t i = q; i < q + 4; i++) {
      double g = array_get(&a.grad.of[IN_QPOS], (size_t)i);
      along += g * p.input[IN_QPOS][i];
      size += fabs(g);
    }
    CHECK(size > 0);
    CHECK(fabs(along) < 1e-12 * size);
  }
  adjoint_free(&a);
  problem_free(&p);
}

TEST(only_what_is_asked_for_is_written) {
  problem p;
  adjoint a;
  REQUIRE(case_adjoint(&cases[2], test_options(1), 1, &p, &a));
  CHECK(adjoint_go(&a, &p)); /* no cotangents at all: zero gradients */
  for (int in = 0; in < IN_COUNT; in++)
    for (size_t i = 0; i < a.grad.of[in].count; i++) CHECK(array_get(&a.grad.of[in], i) == 0);
  CHECK(array_get(&a.min_pivot, 0) > 0);
  abut_vjp_args none = abut_default_vjp_args();
  CHECK_STATUS(abut_rollout_vjp(a.batch, &none, NULL, NULL), ABUT_OK);
  adjoint_free(&a);
  problem_free(&p);
}

/* ---------------------------------------------------------------------------------------- bad input */

static int stop_at_once(void *user, double fraction) {
  (void)fraction;
  *(int *)user = 1;
  return 1;
}

static void check_error(abut_status got, const char *word) {
  CHECK_STATUS(got, ABUT_ERROR_ARGUMENT);
  if (!strstr(abut_error_message(), word))
    test_fail(__FILE__, __LINE__, "\"%s\" does not say '%s'", abut_error_message(), word);
}

TEST(bad_calls_are_refused) {
  problem p;
  adjoint a;
  REQUIRE(case_adjoint(&cases[2], test_options(1), 2, &p, &a));
  check_error(abut_rollout_vjp(NULL, &a.args, NULL, NULL), "NULL");
  check_error(abut_rollout_vjp(a.batch, NULL, NULL, NULL), "NULL");
  check_error(abut_rollout_vjp(a.batch, &a.args, NULL, NULL), "record");
  a.run.args.record = 0;
  REQUIRE(inputs_apply(&a.in, &p, a.batch, &a.run.args));
  CHECK(run_go(&a.run, a.batch));
  check_error(abut_rollout_vjp(a.batch, &a.args, NULL, NULL), "record");
  a.run.args.record = 1;
  CHECK(adjoint_go(&a, &p));
  array wrong[3];
  array_create(&wrong[0], 'd', 2, (int64_t[]){1, p.scene.n.nq});          /* one row for two environments */
  array_create(&wrong[1], 'f', 2, (int64_t[]){2, p.scene.n.nq});          /* type */
  array_create(&wrong[2], 'd', 3, (int64_t[]){2, p.nstep, p.scene.n.nq}); /* a moment too few */
  abut_vjp_args args = a.args;
  for (int i = 0; i < 2; i++) {
    args.qpos0 = tensor(&wrong[i]);
    check_error(abut_rollout_vjp(a.batch, &args, NULL, NULL), "qpos0");
    CHECK(array_untouched(&wrong[i]));
  }
  args = a.args;
  args.qpos = tensor(&wrong[2]);
  check_error(abut_rollout_vjp(a.batch, &args, NULL, NULL), "qpos");
  int asked = 0;
  check_error(abut_rollout_vjp(a.batch, &a.args, stop_at_once, &asked), "stopped");
  CHECK(asked);
  CHECK_STATUS(abut_rollout_vjp(a.batch, &a.args, NULL, NULL), ABUT_OK); /* the record survives */
  free_all(wrong, 3);
  adjoint_free(&a);
  problem_free(&p);
}

/* Whatever changes what the record means ends it. */
TEST(a_changed_batch_has_no_record) {
  problem p;
  adjoint a;
  REQUIRE(case_adjoint(&cases[0], test_options(1), 1, &p, &a));
  for (int change = 0; change < 5; change++) {
    CHECK(adjoint_go(&a, &p));
    abut_snapshot *snapshot = NULL;
    abut_parameters parameters = {.mass = tensor(&a.in.of[IN_MASS])};
    CHECK_STATUS(abut_batch_snapshot(a.batch, &snapshot), ABUT_OK);
    abut_status status = change == 0   ? abut_batch_reset(a.batch, NULL, -1)
                         : change == 1 ? abut_batch_set_state(a.batch, NULL, tensor(&a.in.of[IN_QPOS]), NULL)
                         : change == 2 ? abut_batch_perturb(a.batch, NULL, 1, 1, 0, 0.1)
                         : change == 3 ? abut_batch_restore(a.batch, snapshot)
                                       : abut_batch_set_parameters(a.batch, &parameters);
    CHECK_STATUS(status, ABUT_OK);
    check_error(abut_rollout_vjp(a.batch, &a.args, NULL, NULL), "record");
    abut_snapshot_destroy(snapshot);
  }
  adjoint_free(&a);
  problem_free(&p);
}
