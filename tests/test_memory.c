/* test_memory.c: what a batch allocates, and when. */
#include "counted_allocations.h"
#include "rollout.h"
#include "scene.h"
#include <stdio.h>

/* Bytes of a batch after creation and with a record of nstep steps, against the estimate. */
static void check_estimate(const char *path, abut_options o, int64_t nstep) {
  scene s;
  REQUIRE(scene_load(path, &s));
  int64_t per_env, total, recorded, before = live;
  CHECK_STATUS(abut_batch_memory(s.model, &o, 0, &per_env, &total), ABUT_OK);
  CHECK_STATUS(abut_batch_memory(s.model, &o, nstep, &per_env, &recorded), ABUT_OK);
  CHECK(live == before); /* an estimate allocates nothing that it keeps */
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  int64_t created = live - before;
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = nstep;
  args.record = 1;
  abut_rollout_result result;
  CHECK_STATUS(abut_rollout(b, &args, &result, NULL, NULL), ABUT_OK);
  CHECK(result.reruns == 0);
  int64_t with_record = live - before;
  double shared = 4096; /* pairs, paths and options, whatever the number of environments */
  CHECK_NEAR((double)created, (double)total, 0.02 * (double)total + shared);
  CHECK_NEAR((double)with_record, (double)recorded, 0.02 * (double)recorded + shared);
  CHECK(per_env * o.nenv >= total);
  abut_batch_destroy(b);
  CHECK(live == before);
  scene_free(&s);
}

TEST(memory_is_as_estimated) {
  abut_options o = test_options(500);
  check_estimate("scenes/stack5.abut", o, 20);
  check_estimate("scenes/ant_box.abut", o, 20);
  o.dtype = ABUT_F32;
  o.threads = 2;
  check_estimate("scenes/ant_box.abut", o, 20);
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  o.implicit.stiffness = 1e-9;
  check_estimate("scenes/incline.abut", o, 5);
}

/* The estimate grows with what it is asked about. */
TEST(memory_estimate_is_monotonic) {
  scene s;
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  int64_t a, b;
  abut_options o = test_options(100);
  CHECK_STATUS(abut_batch_memory(s.model, &o, 10, NULL, &a), ABUT_OK);
  CHECK_STATUS(abut_batch_memory(s.model, &o, 11, NULL, &b), ABUT_OK);
  CHECK(b > a);
  o.nenv = 101;
  CHECK_STATUS(abut_batch_memory(s.model, &o, 10, NULL, &b), ABUT_OK);
  CHECK(b > a);
  o.nenv = 100;
  o.dtype = ABUT_F32;
  CHECK_STATUS(abut_batch_memory(s.model, &o, 10, NULL, &b), ABUT_OK);
  CHECK(b < a);
  o.nenv = (int64_t)1 << 40;
  CHECK_STATUS(abut_batch_memory(s.model, &o, INT64_MAX, NULL, &b), ABUT_OK);
  CHECK(b == INT64_MAX); /* more than can be said */
  CHECK_STATUS(abut_batch_memory(s.model, &o, -1, NULL, &b), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_memory(NULL, &o, 1, NULL, &b), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_memory(s.model, NULL, 1, NULL, &b), ABUT_ERROR_ARGUMENT);
  scene_free(&s);
}

/* Threads without environments to work on cost nothing: one environment with 1,000 threads is as large as
 * with one, in the estimate and in fact. */
TEST(threads_without_work_need_no_memory) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  int64_t total[2], held[2];
  for (int i = 0; i < 2; i++) {
    abut_options o = test_options(1);
    o.threads = i ? 1000 : 1;
    CHECK_STATUS(abut_batch_memory(s.model, &o, 0, NULL, &total[i]), ABUT_OK);
    int64_t before = live;
    abut_batch *b = batch_of(&s, &o);
    held[i] = live - before;
    abut_batch_destroy(b);
  }
  CHECK(total[0] == total[1]);
  CHECK_REL((double)held[0], (double)held[1], 0.02);
  scene_free(&s);
}

static int64_t calls_of(abut_batch *b, run *r) {
  int64_t before = calls;
  run_go(r, b);
  return calls - before;
}

/* A rollout that does not record allocates nothing but its threads' handles, however long, wide or hard it
 * is. */
TEST(rollout_allocates_nothing) {
  const char *const paths[] = {"scenes/stack5.abut", "scenes/ant_box.abut", "scenes/pile.abut"};
  for (int i = 0; i < 3; i++) {
    scene s;
    REQUIRE(scene_load(paths[i], &s));
    for (int32_t threads = 1; threads <= 2; threads++) {
      abut_options o = test_options(test_quick() ? 20 : 60);
      o.threads = threads;
      o.implicit.pair_capacity = s.n.npair;
      abut_batch *b = batch_of(&s, &o);
      run first, again;
      run_create(&first, &s, &o, 3);
      run_create(&again, &s, &o, 30);
      again.args.kick = 0.02;
      run_go(&first, b); /* separates what touches at the start */
      int64_t live_before = live, count = calls_of(b, &again);
      if (count > 2)
        test_fail(__FILE__, __LINE__, "%s, %d threads: %lld allocations", paths[i], threads,
                  (long long)count);
      CHECK(live == live_before);
      run_free(&first);
      run_free(&again);
      abut_batch_destroy(b);
    }
    scene_free(&s);
  }
}

/* A record is kept and used again by the next rollout that is not longer. */
TEST(record_is_reused) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(50);
  abut_batch *b = batch_of(&s, &o);
  run r;
  run_create(&r, &s, &o, 10);
  r.args.record = 1;
  run_go(&r, b);
  int64_t held = live;
  CHECK(calls_of(b, &r) <= 2);
  CHECK(live == held);
  run_free(&r);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* More environments than there is memory: refused before anything is allocated, with both numbers. */
TEST(more_environments_than_memory) {
  scene s;
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  abut_batch *b = (abut_batch *)&s;
  abut_options o = test_options((int64_t)1 << 36);
  int64_t before = live;
  CHECK_STATUS(abut_batch_create(s.model, &o, &b), ABUT_ERROR_MEMORY);
  CHECK(b == NULL && live == before);
  CHECK(strstr(abut_error_message(), "68719476736 environments need") && strstr(abut_error_message(), "GiB"));
  scene_free(&s);
}

/* n free bodies, without shapes or with a sphere each. */
static abut_model *free_bodies(int32_t n, int spheres) {
  abut_builder *b = scene_begin(-9.81);
  for (int32_t i = 0; i < n; i++) {
    int32_t body = scene_free_body(b, i, 0, 0, 1, 0.1, 0.1, 0.1);
    if (spheres) scene_geom(b, body, ABUT_GEOM_SPHERE, 0.1, 0, 0);
  }
  return scene_finish(b);
}
static void check_too_large(const abut_model *m, const char *what, const char *size) {
  abut_batch *b = NULL;
  int64_t bytes = -1, before = live;
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    abut_options o = test_options(1);
    o.dtype = dtype;
    CHECK_STATUS(abut_batch_create(m, &o, &b), ABUT_ERROR_MEMORY);
    CHECK(!b && live == before);
    CHECK_STATUS(abut_batch_memory(m, &o, 0, NULL, &bytes), ABUT_ERROR_MEMORY);
    if (!strstr(abut_error_message(), what) || (dtype == ABUT_F64 && !strstr(abut_error_message(), size)))
      test_fail(__FILE__, __LINE__, "'%s' does not say '%s' and '%s'", abut_error_message(), what, size);
  }
}
/* H of 48,000 degrees of freedom has more entries than int32 counts: said, with its bytes, before a batch has
 * any memory. */
TEST(more_degrees_of_freedom_than_can_be_counted) {
  abut_model *m = free_bodies(8000, 0);
  REQUIRE(m);
  check_too_large(m, "48000 degrees of freedom and 8001 bodies need", "17.2 GiB for each environment");
  abut_model_destroy(m);
}
/* 8,000 spheres are 32 million pairs: a model of half a gigabyte. */
TEST(pairs_of_many_bodies) {
  const int32_t n = test_quick() ? 1000 : 8000;
  int64_t before = live;
  abut_model *m = free_bodies(n, 1);
  REQUIRE(m);
  CHECK(abut_model_get_sizes(m).npair == n * (n - 1) / 2);
  CHECK(live - before < 40 * (int64_t)n * (n - 1) / 2 + 65536 * (int64_t)n); /* and their trees */
  if (n == 8000) check_too_large(m, "48000 degrees of freedom", "GiB for each environment");
  abut_model_destroy(m);
  CHECK(live == before);
}

static void check_steps(abut_batch *b, int64_t nstep, int record, abut_status status, const char *what) {
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = nstep;
  args.record = record;
  CHECK_STATUS(abut_rollout(b, &args, NULL, NULL, NULL), status);
  if (!strstr(abut_error_message(), what))
    test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", abut_error_message(), what);
}
/* More steps than their record has memory for, or than can be counted; the batch goes on as if nobody had
 * asked. */
TEST(more_steps_than_can_be_counted) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(3);
  abut_batch *b = batch_of(&s, &o), *other = batch_of(&s, &o);
  run r, usual;
  run_create(&r, &s, &o, 5);
  run_create(&usual, &s, &o, 5);
  r.args.record = usual.args.record = 1;
  run_go(&usual, other);
  int64_t before = live;
  check_steps(b, (int64_t)1 << 62, 1, ABUT_ERROR_ARGUMENT, "nstep 4611686018427387904: more steps of 3");
  check_steps(b, INT64_MAX, 0, ABUT_ERROR_ARGUMENT, "nstep 9223372036854775807: more steps of 3");
  check_steps(
      b, (int64_t)1 << 61, 1, ABUT_ERROR_MEMORY,
      "record of 2305843009213693952 steps of 3 environments: more than 8.59e+09 GiB, this machine has");
  check_steps(b, (int64_t)1 << 40, 1, ABUT_ERROR_MEMORY, "record of 1099511627776 steps of 3 environments: ");
  CHECK(!strstr(abut_error_message(), "more than") && strstr(abut_error_message(), " GiB, this machine has"));
  CHECK(live == before);
  run_go(&r, b);
  for (int64_t env = 0; env < 3; env++) run_check_same("after refusals", &r, env, &usual, env);
  abut_batch_destroy(b);
  o.nenv = 1; /* an array of so many rows */
  b = batch_of(&s, &o);
  r.args.nstep = (int64_t)1 << 61;
  r.args.record = 0;
  for (int i = 0; i < OUT_COUNT; i++) {
    if (r.out[i].t.ndim > 1) r.out[i].shape[1] += r.args.nstep - 5;
    r.out[i].shape[0] = 1;
  }
  CHECK_STATUS(abut_rollout(b, &r.args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "qpos: shape [1, 2305843009213693953, 35] has more bytes than can be"));
  run_free(&r);
  run_free(&usual);
  abut_batch_destroy(b);
  abut_batch_destroy(other);
  scene_free(&s);
}
