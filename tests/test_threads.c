/* test_threads.c: rollouts and reverse passes of four threads that meet in their counters: lists that grow,
 * contact of long range, callbacks that stop. For the thread sanitizer; their bits are those of one thread.
 */
#include "host/batch/backend.h"
#include "manifold_cases.h"
#include "manifold_test.h"
#include "outcome.h"

enum { THREADS = 4, NENV = 24 };

typedef struct trial {
  const char *path;
  int contact;
  int32_t capacity, far; /* of lists to begin with; far 0: the usual */
  int64_t nstep;
} trial;

static abut_batch *batch_for(const scene *s, const trial *t, abut_options *o, int32_t threads) {
  *o = test_options(NENV);
  o->threads = threads;
  o->implicit.contact = t->contact;
  o->implicit.pair_capacity = t->capacity;
  abut_batch *b = batch_of(s, o);
  if (!b || !t->far) return b;
  b->backend->close(b);
  b->room = t->far;
  CHECK_STATUS(b->backend->open(b), ABUT_OK);
  return b;
}

static void run_both(const trial *t) {
  static const int32_t threads[2] = {1, THREADS};
  scene s;
  outcome of[2];
  REQUIRE(scene_load(t->path, &s));
  for (int i = 0; i < 2; i++) {
    abut_options o;
    abut_batch *b = batch_for(&s, t, &o, threads[i]);
    REQUIRE(b);
    CHECK_STATUS(abut_batch_perturb(b, NULL, 1, 0, 1e-3, 0.2), ABUT_OK);
    outcome_create(&of[i], &s, &o, t->nstep);
    outcome_go(&of[i], b);
    CHECK(of[i].forward == ABUT_OK && of[i].reverse == ABUT_OK);
    if (t->capacity || t->far) CHECK(of[i].result.reruns > 0);
    abut_batch_destroy(b);
  }
  CHECK(same_outcome(&of[0], &of[1]));
  for (int i = 0; i < 2; i++) outcome_free(&of[i]);
  scene_free(&s);
}

TEST(threads_step) { run_both(&(trial){"scenes/ant_box.abut", .nstep = 3}); }
TEST(threads_grow_their_lists) { run_both(&(trial){"scenes/stack5.abut", .capacity = 1, .nstep = 2}); }
TEST(threads_grow_lists_of_long_range) {
  run_both(&(trial){"scenes/stack5.abut", .contact = ABUT_CONTACT_LONGRANGE, .far = 1, .nstep = 1});
}

/* Stops at a call of the callback. */
typedef struct stopper {
  int calls, at;
} stopper;
static int stop_at(void *user, double fraction) {
  stopper *s = user;
  CHECK(fraction >= 0 && fraction <= 1);
  return ++s->calls == s->at;
}

/* Threads that were stopped in the middle; afterwards the batch does what one does that never was. */
TEST(threads_are_stopped) {
  const trial t = {"scenes/stack5.abut", .nstep = 4};
  scene s;
  REQUIRE(scene_load(t.path, &s));
  abut_options o;
  abut_batch *b = batch_for(&s, &t, &o, THREADS), *other = batch_for(&s, &t, &o, 1);
  REQUIRE(b && other);
  outcome of[2];
  for (int i = 0; i < 2; i++) outcome_create(&of[i], &s, &o, t.nstep);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 100000000;
  for (int at = 1; at < 3; at++) {
    CHECK_STATUS(abut_rollout(b, &args, NULL, stop_at, &(stopper){0, at}), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), "stopped by its progress callback"));
  }
  outcome_go(&of[0], b);
  outcome_go(&of[1], other);
  CHECK(of[0].reverse == ABUT_OK && same_outcome(&of[0], &of[1]));
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos = tensor(&of[0].bar);
  /* which may be over before the thread that asks has had anything to do */
  CHECK(abut_rollout_vjp(b, &v, stop_at, &(stopper){0, 1}) == ABUT_OK ||
        strstr(abut_error_message(), "reverse pass stopped by its progress callback"));
  for (int i = 0; i < 2; i++) outcome_free(&of[i]);
  abut_batch_destroy(b);
  abut_batch_destroy(other);
  scene_free(&s);
}

/* Batches of one model on threads of their own callers would need another test; poses of a manifold do not.
 */
TEST(threads_of_manifolds) {
  enum { POSES = 200 };
  abut_primitive q;
  abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0.5, 0.5}, case_body1_vertices,
                                case_body1_edges);
  double poses[14 * POSES], grad[2][12 * POSES];
  for (int i = 0; i < POSES; i++) {
    memcpy(poses + 14 * i, at_rest, sizeof at_rest);
    poses[14 * i + 7] = test_uniform((uint64_t)i, 1.5, 2.1);
  }
  for (int i = 0; i < 2; i++) {
    abut_manifold_options o = soft_options();
    o.threads = i ? THREADS : 1;
    abut_manifold *m = NULL;
    abut_manifold_counts counts = {0};
    CHECK_STATUS(abut_manifold_create(&s, &s, &o, &m), ABUT_OK);
    REQUIRE(m);
    abut_manifold_size(m, &counts);
    abut_contacts bar = contacts_new(POSES * (int64_t)counts.contacts);
    for (int64_t k = 0; k < 8 * POSES * (int64_t)counts.contacts; k++) bar.point[k] = 1;
    abut_manifold_bars bars = {.poses = grad[i]};
    CHECK_STATUS(abut_manifold_gradient(m, POSES, poses, &bar, &bars, NULL), ABUT_OK);
    free(bar.point);
    abut_manifold_destroy(m);
  }
  CHECK(!memcmp(grad[0], grad[1], sizeof grad[0]));
}
