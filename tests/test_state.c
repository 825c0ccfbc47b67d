/* test_state.c: what happens to single environments of a batch: snapshots, masks, noise, failures. */
#include "rollout.h"
#include <stdio.h>

static array column(char code, int64_t n, int64_t m) {
  array a;
  array_create(&a, code, 2, (int64_t[]){n, m});
  return a;
}
/* qpos and qvel of the whole batch. */
typedef struct state {
  array q, v;
} state;
static state state_of(const scene *s, const abut_batch *b, const uint8_t *mask) {
  abut_options o = abut_batch_get_options(b);
  char real = o.dtype == ABUT_F32 ? 'f' : 'd';
  state x = {column(real, o.nenv, s->n.nq), column(real, o.nenv, s->n.nv)};
  CHECK_STATUS(abut_batch_get_state(b, mask, tensor(&x.q), tensor(&x.v)), ABUT_OK);
  return x;
}
static void state_free(state *x) {
  array_free(&x->q);
  array_free(&x->v);
}
static int state_same(const state *a, const state *b) {
  return !memcmp(a->q.t.data, b->q.t.data, a->q.bytes) && !memcmp(a->v.t.data, b->v.t.data, a->v.bytes);
}
static int row_same(const array *a, const array *b, int64_t i, int64_t j) {
  size_t row = a->bytes / (size_t)a->shape[0];
  return !memcmp((char *)a->t.data + (size_t)i * row, (char *)b->t.data + (size_t)j * row, row);
}

static run kicked(const scene *s, const abut_options *o, int64_t nstep) {
  run r;
  run_create(&r, s, o, nstep);
  r.args.kick = 0.05;
  return r;
}
/* run_create binds pointers to the run it fills; after a copy they are bound again. */
static void rebind(run *r) {
  abut_tensor **to[OUT_COUNT] = {&r->args.qpos,       &r->args.qvel,          &r->args.xpos,
                                 &r->args.xquat,      &r->args.contact_force, &r->args.min_gap,
                                 &r->args.min_pair,   &r->args.energy,        &r->args.status,
                                 &r->args.iterations, &r->args.moved,         &r->args.overlap_pair};
  for (int i = 0; i < OUT_COUNT; i++) *to[i] = tensor(&r->out[i]);
}
static void go_kicked(run *r, const scene *s, const abut_options *o, abut_batch *b, int64_t nstep) {
  *r = kicked(s, o, nstep);
  rebind(r);
  run_go(r, b);
}

/* ---------------------------------------------------------------------------------------- snapshots */

static void check_snapshot(const char *path, int dtype) {
  scene s;
  REQUIRE(scene_load(path, &s));
  abut_options o = test_options(5), small;
  o.dtype = dtype;
  o.tolerance = dtype == ABUT_F32 ? 1e-2 : 1e-6;
  small = o;
  small.implicit.pair_capacity = 1;
  abut_batch *b = batch_of(&s, &o), *other = batch_of(&s, &small);
  abut_snapshot *snapshot = NULL;
  REQUIRE(b && other);
  run warm, want, again, elsewhere;
  go_kicked(&warm, &s, &o, b, 60);
  CHECK_STATUS(abut_batch_snapshot(b, &snapshot), ABUT_OK);
  go_kicked(&want, &s, &o, b, 10);
  CHECK_STATUS(abut_batch_restore(b, snapshot), ABUT_OK);
  go_kicked(&again, &s, &o, b, 10);
  CHECK_STATUS(abut_batch_restore(other, snapshot), ABUT_OK);
  go_kicked(&elsewhere, &s, &o, other, 10);
  double closest = INFINITY;
  for (size_t i = 0; i < warm.out[OUT_GAP].count; i++)
    closest = fmin(closest, array_get(&warm.out[OUT_GAP], i));
  CHECK_NEAR(closest, 0, 1e-3); /* in contact when the snapshot was taken */
  for (int64_t i = 0; i < 5; i++) {
    run_check_same("restored", &again, i, &want, i);
    run_check_same("restored into another batch", &elsewhere, i, &want, i);
  }
  abut_snapshot_destroy(snapshot);
  abut_snapshot_destroy(NULL);
  run *all[] = {&warm, &want, &again, &elsewhere};
  for (int i = 0; i < 4; i++) run_free(all[i]);
  abut_batch_destroy(b);
  abut_batch_destroy(other);
  scene_free(&s);
}
TEST(snapshot_mid_contact_is_exact) {
  check_snapshot("scenes/stack5.abut", ABUT_F64);
  check_snapshot("scenes/ant_box.abut", ABUT_F64);
  check_snapshot("scenes/stack5.abut", ABUT_F32);
}

TEST(snapshot_of_another_batch_is_refused) {
  scene s, t;
  REQUIRE(scene_load("scenes/stack5.abut", &s) && scene_load("scenes/incline.abut", &t));
  abut_options o = test_options(2), more = test_options(3), f32 = test_options(2), inverse = test_options(2);
  f32.dtype = ABUT_F32;
  inverse.implicit.contact = ABUT_CONTACT_INVERSE;
  abut_batch *b = batch_of(&s, &o),
             *wrong[4] = {batch_of(&s, &more), batch_of(&t, &o), batch_of(&s, &f32), batch_of(&s, &inverse)};
  abut_snapshot *snapshot = NULL;
  CHECK_STATUS(abut_batch_snapshot(b, &snapshot), ABUT_OK);
  for (int i = 0; i < 4; i++) {
    state before = state_of(i == 1 ? &t : &s, wrong[i], NULL);
    CHECK_STATUS(abut_batch_restore(wrong[i], snapshot), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), "snapshot of 2 environments"));
    state after = state_of(i == 1 ? &t : &s, wrong[i], NULL);
    CHECK(state_same(&before, &after));
    state_free(&before);
    state_free(&after);
    abut_batch_destroy(wrong[i]);
  }
  CHECK_STATUS(abut_batch_snapshot(NULL, &snapshot), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_snapshot(b, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_restore(b, NULL), ABUT_ERROR_ARGUMENT);
  abut_snapshot_destroy(snapshot);
  abut_batch_destroy(b);
  scene_free(&s);
  scene_free(&t);
}

/* ---------------------------------------------------------------------------------------- masks */

static const uint8_t odd[6] = {0, 1, 0, 7, 0, 255}; /* non-zero selects */

TEST(masked_set_and_get) {
  scene s;
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  abut_options o = test_options(6);
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  state before = state_of(&s, b, NULL), given = state_of(&s, b, NULL);
  for (size_t i = 0; i < given.v.count; i++) array_set(&given.v, i, (double)i);
  for (size_t i = 0; i < given.q.count; i++)
    array_set(&given.q, i, array_get(&given.q, i) + 1e-3 * (double)i);
  CHECK_STATUS(abut_batch_set_state(b, odd, tensor(&given.q), tensor(&given.v)), ABUT_OK);
  state after = state_of(&s, b, NULL), part = state_of(&s, b, odd);
  for (int64_t i = 0; i < 6; i++) {
    const state *want = odd[i] ? &given : &before;
    CHECK(row_same(&after.q, &want->q, i, i) && row_same(&after.v, &want->v, i, i));
    size_t row = part.q.bytes / 6;
    array one = part.q; /* rows that the mask leaves out are not written */
    one.t.data = (char *)part.q.t.data + (size_t)i * row;
    one.bytes = row;
    CHECK(odd[i] ? row_same(&part.q, &given.q, i, i) : array_untouched(&one));
  }
  array broadcast = column('d', 1, s.n.nv);
  for (size_t i = 0; i < broadcast.count; i++) array_set(&broadcast, i, -(double)i);
  CHECK_STATUS(abut_batch_set_state(b, odd, NULL, tensor(&broadcast)), ABUT_OK);
  state last = state_of(&s, b, NULL);
  for (int64_t i = 0; i < 6; i++) {
    CHECK(row_same(&last.q, &after.q, i, i));
    CHECK(odd[i] ? row_same(&last.v, &broadcast, i, 0) : row_same(&last.v, &after.v, i, i));
  }
  state *all[] = {&before, &given, &after, &part, &last};
  for (int i = 0; i < 5; i++) state_free(all[i]);
  array_free(&broadcast);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Environments that were reset in the middle of contact do what those of a new batch do, and the others what
 * they would have done. */
TEST(reset_environments_are_fresh) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(6);
  abut_batch *b = batch_of(&s, &o), *untouched = batch_of(&s, &o), *fresh = batch_of(&s, &o);
  REQUIRE(b && untouched && fresh);
  run start, after, want_old, want_new;
  go_kicked(&start, &s, &o, b, 15);
  run_free(&start);
  go_kicked(&start, &s, &o, untouched, 15);
  CHECK_STATUS(abut_batch_reset(b, odd, -1), ABUT_OK);
  go_kicked(&after, &s, &o, b, 15);
  go_kicked(&want_old, &s, &o, untouched, 15);
  go_kicked(&want_new, &s, &o, fresh, 15);
  for (int64_t i = 0; i < 6; i++)
    run_check_same("masked reset", &after, i, odd[i] ? &want_new : &want_old, i);
  CHECK_STATUS(abut_batch_reset(b, NULL, -1), ABUT_OK);
  run_free(&after);
  go_kicked(&after, &s, &o, b, 15);
  for (int64_t i = 0; i < 6; i++) run_check_same("reset", &after, i, &want_new, i);
  run *all[] = {&start, &after, &want_old, &want_new};
  for (int i = 0; i < 4; i++) run_free(all[i]);
  abut_batch *batches[] = {b, untouched, fresh};
  for (int i = 0; i < 3; i++) abut_batch_destroy(batches[i]);
  scene_free(&s);
}

/* Reset to a key takes its positions and velocities; keys that do not exist are refused by number. */
TEST(reset_to_a_key) {
  scene s;
  REQUIRE(scene_load("scenes/arm_mesh.abut", &s));
  abut_options o = test_options(2);
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b && s.n.nkey == 1);
  CHECK_STATUS(abut_batch_reset(b, (const uint8_t[]){0, 1}, 0), ABUT_OK);
  state x = state_of(&s, b, NULL);
  CHECK_NEAR(array_get(&x.q, 1), 0, 0);
  CHECK_NEAR(array_get(&x.q, (size_t)s.n.nq + 1), 0.45, 0);
  const int32_t wrong[] = {1, -2, 1 << 30};
  for (int i = 0; i < 3; i++) {
    char number[16];
    snprintf(number, sizeof number, "key %d ", wrong[i]);
    CHECK_STATUS(abut_batch_reset(b, NULL, wrong[i]), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), number));
  }
  state y = state_of(&s, b, NULL);
  CHECK(state_same(&x, &y));
  CHECK_STATUS(abut_batch_reset(NULL, NULL, -1), ABUT_ERROR_ARGUMENT);
  state_free(&x);
  state_free(&y);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* ---------------------------------------------------------------------------------------- noise */

static state perturbed(const scene *s, int64_t nenv, uint64_t seed, uint64_t step, double sq, double sv,
                       const uint8_t *mask) {
  abut_options o = test_options(nenv);
  abut_batch *b = batch_of(s, &o);
  CHECK_STATUS(abut_batch_perturb(b, mask, seed, step, sq, sv), ABUT_OK);
  state x = state_of(s, b, NULL);
  abut_batch_destroy(b);
  return x;
}

TEST(perturb_depends_on_seed_environment_and_step_only) {
  scene s;
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  state big = perturbed(&s, 50, 1, 2, 0.1, 0.2, NULL), small = perturbed(&s, 7, 1, 2, 0.1, 0.2, NULL);
  state other_seed = perturbed(&s, 7, 2, 2, 0.1, 0.2, NULL),
        other_step = perturbed(&s, 7, 1, 3, 0.1, 0.2, NULL);
  state masked = perturbed(&s, 6, 1, 2, 0.1, 0.2, odd), none = perturbed(&s, 6, 1, 2, 0, 0, NULL);
  abut_options o = test_options(6);
  abut_batch *b = batch_of(&s, &o);
  state start = state_of(&s, b, NULL);
  for (int64_t i = 0; i < 6; i++) {
    CHECK(row_same(&big.q, &small.q, i, i) && row_same(&big.v, &small.v, i, i));
    CHECK(!row_same(&big.q, &other_seed.q, i, i) && !row_same(&big.v, &other_seed.v, i, i));
    CHECK(!row_same(&big.q, &other_step.q, i, i) && !row_same(&big.v, &other_step.v, i, i));
    CHECK(!row_same(&big.v, &big.v, i, i + 1));
    CHECK(row_same(&masked.q, odd[i] ? &big.q : &start.q, i, i) &&
          row_same(&masked.v, odd[i] ? &big.v : &start.v, i, i));
    CHECK(row_same(&none.q, &start.q, i, i) && row_same(&none.v, &start.v, i, i));
  }
  state *all[] = {&big, &small, &other_seed, &other_step, &masked, &none, &start};
  for (int i = 0; i < 7; i++) state_free(all[i]);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Rows that no selected environment takes need not be states. */
TEST(unused_rows_are_not_looked_at) {
  scene s;
  array q;
  const uint8_t none[2] = {0, 0}, second[2] = {0, 1};
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  for (int64_t n = 1; n <= 2; n++) {
    abut_options o = test_options(n);
    abut_batch *b = batch_of(&s, &o);
    REQUIRE(b);
    array_create(&q, 'd', 2, (int64_t[]){1, s.n.nq});
    for (size_t i = 0; i < q.count; i++) array_set(&q, i, NAN);
    CHECK_STATUS(abut_batch_set_state(b, none, tensor(&q), NULL), ABUT_OK);
    CHECK_STATUS(abut_batch_set_state(b, n == 1 ? NULL : second, tensor(&q), NULL), ABUT_ERROR_ARGUMENT);
    array_free(&q);
    abut_batch_destroy(b);
  }
  scene_free(&s);
}

/* Mean, deviation and tails of the normal law; quaternions stay unit. */
TEST(perturb_is_normal) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  state x = perturbed(&s, 2000, 11, 0, 0.05, 0.5, NULL);
  double sum[2] = {0, 0}, square[2] = {0, 0};
  size_t n = x.v.count, beyond = 0, nq = (size_t)s.n.nq;
  for (size_t i = 0; i < n; i++) {
    double v = array_get(&x.v, i) / 0.5;
    sum[0] += v;
    square[0] += v * v;
    beyond += fabs(v) > 2;
  }
  for (size_t i = 0; i < 2000; i++) {
    double d = array_get(&x.q, i * nq) / 0.05; /* x of the first box, 0 at the start */
    sum[1] += d;
    square[1] += d * d;
    double norm = 0;
    for (size_t c = 3; c < 7; c++) norm += array_get(&x.q, i * nq + c) * array_get(&x.q, i * nq + c);
    CHECK_NEAR(norm, 1, 1e-14);
  }
  CHECK_NEAR(sum[0] / (double)n, 0, 0.02);
  CHECK_NEAR(square[0] / (double)n, 1, 0.03);
  CHECK_NEAR((double)beyond / (double)n, 0.0455, 0.004);
  CHECK_NEAR(sum[1] / 2000, 0, 0.1);
  CHECK_NEAR(square[1] / 2000, 1, 0.15);
  state_free(&x);
  scene_free(&s);
}

TEST(perturb_refuses_bad_deviations) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(2);
  abut_batch *b = batch_of(&s, &o);
  state before = state_of(&s, b, NULL);
  const double bad[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; i++) {
    CHECK_STATUS(abut_batch_perturb(b, NULL, 0, 0, bad[i], 0), ABUT_ERROR_ARGUMENT);
    CHECK_STATUS(abut_batch_perturb(b, NULL, 0, 0, 0, bad[i]), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), "deviations"));
  }
  CHECK_STATUS(abut_batch_perturb(NULL, NULL, 0, 0, 0, 0), ABUT_ERROR_ARGUMENT);
  state after = state_of(&s, b, NULL);
  CHECK(state_same(&before, &after));
  state_free(&before);
  state_free(&after);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* ---------------------------------------------------------------------------------------- failures */

enum { NENV = 11, SICK = 4, NSTEP = 8 };

/* How environment SICK is made to fail. */
typedef struct failure {
  const char *name;
  uint32_t bits; /* expected; 0: any */
  double speed;  /* of every dof at the start */
  double lift;   /* of box 1 at the start: into box 2 (m) */
  int nan_from;  /* step from which its control is NaN; -1: never */
} failure;

typedef struct patient {
  scene s;
  abut_options o;
  abut_batch *b;
  array q, v, u;
  run r;
} patient;

static void patient_create(patient *p, const char *path) {
  memset(p, 0, sizeof *p);
  REQUIRE(scene_load(path, &p->s));
  p->o = test_options(NENV);
  p->b = batch_of(&p->s, &p->o);
  p->q = column('d', NENV, p->s.n.nq);
  p->v = column('d', NENV, p->s.n.nv);
  array_create(&p->u, 'd', 3, (int64_t[]){NENV, NSTEP, p->s.n.nu});
  for (size_t i = 0; i < p->u.count; i++) array_set(&p->u, i, test_uniform(i, -1, 1));
  abut_batch_perturb(p->b, NULL, 1, 0, 0, 0.1);
  abut_batch_get_state(p->b, NULL, tensor(&p->q), tensor(&p->v));
  run_create(&p->r, &p->s, &p->o, NSTEP);
  p->r.args.ctrl = tensor(&p->u);
  p->r.args.kick = 0.02;
}
static void patient_free(patient *p) {
  run_free(&p->r);
  array_free(&p->q);
  array_free(&p->v);
  array_free(&p->u);
  abut_batch_destroy(p->b);
  scene_free(&p->s);
}
static void infect(patient *p, const failure *f) {
  size_t nv = (size_t)p->s.n.nv, nq = (size_t)p->s.n.nq, nu = (size_t)p->s.n.nu;
  for (size_t i = 0; f->speed != 0 && i < nv; i++) array_set(&p->v, SICK * nv + i, f->speed);
  if (f->lift != 0) array_set(&p->q, SICK * nq + nq - 5, array_get(&p->q, SICK * nq + nq - 5) - f->lift);
  for (size_t t = 0; f->nan_from >= 0 && t < NSTEP; t++)
    if ((int)t >= f->nan_from) array_set(&p->u, (SICK * NSTEP + t) * nu, NAN);
  abut_batch_set_state(p->b, NULL, tensor(&p->q), tensor(&p->v));
}

static int finite_row(const run *r, int out, int64_t env) {
  size_t n = r->out[out].count / (size_t)r->out[out].shape[0];
  for (size_t i = 0; i < n; i++)
    if (!isfinite(array_get(&r->out[out], (size_t)env * n + i))) return 0;
  return 1;
}
/* Rows of a T+1 axis from `first` on repeat row `first`. */
static int repeats_from(const run *r, int out, int64_t env, int64_t first) {
  size_t row = run_row_bytes(r, out) / (size_t)r->out[out].shape[1];
  const char *p = run_row(r, out, env);
  for (int64_t t = first + 1; t < r->out[out].shape[1]; t++)
    if (memcmp(p + (size_t)first * row, p + (size_t)t * row, row)) return 0;
  return 1;
}

/* A frozen environment stays where it froze in every later call, with its bits. */
static void check_stays_frozen(patient *p, uint32_t bits) {
  state frozen = state_of(&p->s, p->b, NULL);
  for (int again = 0; again < 2; again++) {
    run r;
    run_create(&r, &p->s, &p->o, 3);
    run_go(&r, p->b);
    CHECK(run_status(&r, SICK) == bits);
    for (int k = OUT_QPOS; k <= OUT_XQUAT; k++) CHECK(repeats_from(&r, k, SICK, 0));
    state now = state_of(&p->s, p->b, NULL);
    CHECK(row_same(&now.q, &frozen.q, SICK, SICK) && row_same(&now.v, &frozen.v, SICK, SICK));
    CHECK(!memcmp(run_row(&r, OUT_QPOS, SICK), (char *)frozen.q.t.data + SICK * (frozen.q.bytes / NENV),
                  frozen.q.bytes / NENV));
    state_free(&now);
    run_free(&r);
  }
  state_free(&frozen);
}

static void check_failure(const char *path, const failure *f) {
  patient well, ill;
  patient_create(&well, path);
  patient_create(&ill, path);
  failure none = {"none", 0, 0, 0, -1};
  infect(&well, &none);
  infect(&ill, f);
  run_go(&well.r, well.b);
  run_go(&ill.r, ill.b);
  uint32_t bits = run_status(&ill.r, SICK);
  if (!(f->bits ? bits & f->bits : bits))
    test_fail(__FILE__, __LINE__, "%s in %s: status %u, wants a bit of %u", f->name, path, bits, f->bits);
  for (int64_t i = 0; i < NENV; i++) {
    if (i != SICK) run_check_same(f->name, &ill.r, i, &well.r, i);
    for (int k = 0; k < OUT_COUNT; k++)
      if (k != OUT_GAP && !finite_row(&ill.r, k, i))
        test_fail(__FILE__, __LINE__, "%s in %s: output %d of environment %d is not finite", f->name, path, k,
                  (int)i);
  }
  CHECK(ill.r.result.failed_envs >= 1);
  int64_t first = f->nan_from > 0 ? f->nan_from : 0;
  if (bits & ABUT_ENV_FROZEN) {
    for (int k = OUT_QPOS; k <= OUT_XQUAT; k++)
      CHECK(repeats_from(&ill.r, k, SICK, f->nan_from >= 0 ? first : NSTEP));
    state x = state_of(&ill.s, ill.b, NULL); /* the state left behind is the last one that was reported */
    size_t row = x.v.bytes / NENV;
    CHECK(!memcmp(run_row(&ill.r, OUT_QVEL, SICK) + NSTEP * row, (char *)x.v.t.data + SICK * row, row));
    state_free(&x);
    check_stays_frozen(&ill, bits);
  }
  if (f->nan_from > 0) {
    size_t row = run_row_bytes(&ill.r, OUT_QPOS) / (NSTEP + 1);
    CHECK(!memcmp(run_row(&ill.r, OUT_QPOS, SICK), run_row(&well.r, OUT_QPOS, SICK),
                  row * (size_t)(first + 1)));
  }
  patient_free(&well);
  patient_free(&ill);
}

TEST(one_exploding_environment_changes_no_other) {
  const failure controls[] = {{"NaN control", ABUT_ENV_NONFINITE, 0, 0, 0},
                              {"NaN control later", ABUT_ENV_NONFINITE, 0, 0, 3}};
  const failure starts[] = {{"huge velocity", ABUT_ENV_NONFINITE, 1e200, 0, -1},
                            {"absurd velocity", 0, 1e12, 0, -1},
                            {"overlap", ABUT_ENV_OVERLAP, 0, 0.1, -1}};
  for (int i = 0; i < 2; i++) check_failure("scenes/ant_box.abut", &controls[i]);
  for (int i = 0; i < 3; i++) check_failure("scenes/stack5.abut", &starts[i]);
}

/* What is not finite at the start freezes at once. */
TEST(nonfinite_start) {
  for (int which = 0; which < 2; which++) {
    patient well, ill;
    patient_create(&well, "scenes/stack5.abut");
    patient_create(&ill, "scenes/stack5.abut");
    array *x = which ? &ill.v : &ill.q;
    array_set(x, SICK * x->count / NENV + 2, which ? INFINITY : NAN);
    well.r.args.qpos0 = tensor(&well.q);
    well.r.args.qvel0 = tensor(&well.v);
    ill.r.args.qpos0 = tensor(&ill.q);
    ill.r.args.qvel0 = tensor(&ill.v);
    run_go(&well.r, well.b);
    run_go(&ill.r, ill.b);
    CHECK(run_status(&ill.r, SICK) == ABUT_ENV_NONFINITE);
    for (int64_t i = 0; i < NENV; i++)
      if (i != SICK) run_check_same("non-finite start", &ill.r, i, &well.r, i);
    CHECK(repeats_from(&ill.r, OUT_QPOS, SICK, 0) && repeats_from(&ill.r, OUT_QVEL, SICK, 0));
    check_stays_frozen(&ill, ABUT_ENV_NONFINITE);
    CHECK_STATUS(abut_batch_reset(ill.b, NULL, -1), ABUT_OK);
    ill.r.args.qpos0 = ill.r.args.qvel0 = NULL;
    run_go(&ill.r, ill.b);
    CHECK(run_status(&ill.r, SICK) == 0); /* reset heals */
    patient_free(&well);
    patient_free(&ill);
  }
}

/* Too few iterations: the step is kept, marked and counted; the bit stays until a reset. */
TEST(unconverged_is_marked_and_kept) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(3);
  o.max_iterations = 1;
  abut_batch *b = batch_of(&s, &o);
  run r, later;
  go_kicked(&r, &s, &o, b, 6);
  for (int64_t i = 0; i < 3; i++) {
    CHECK(run_status(&r, i) == ABUT_ENV_UNCONVERGED);
    CHECK(!repeats_from(&r, OUT_QPOS, i, 0) && finite_row(&r, OUT_QPOS, i));
  }
  CHECK(r.result.unconverged_steps > 0 && r.result.unconverged_steps <= 18);
  CHECK(r.result.failed_envs == 3);
  CHECK(r.result.newton_iterations_max == 1 && r.result.newton_iterations <= 18);
  run_create(&later, &s, &o, 0);
  run_go(&later, b);
  CHECK(run_status(&later, 0) == ABUT_ENV_UNCONVERGED);
  CHECK_STATUS(abut_batch_reset(b, NULL, -1), ABUT_OK);
  run_go(&later, b);
  CHECK(run_status(&later, 0) == 0);
  run_free(&r);
  run_free(&later);
  abut_batch_destroy(b);
  scene_free(&s);
}
