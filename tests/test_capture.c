/* test_capture.c: what the caller captures from the stream of a batch, and replays, on a fake runtime. */
#include "stream.h"

typedef struct recording {
  cudaGraph_t graph;
  cudaGraphExec_t run;
} recording;

static void capture_begin(const bench *t) {
  CHECK(cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
}
static int capture_end(const bench *t, recording *r) {
  memset(r, 0, sizeof *r);
  if (cudaStreamEndCapture(t->stream, &r->graph) != cudaSuccess) return 0;
  return cudaGraphInstantiate(&r->run, r->graph, 0) == cudaSuccess;
}
static void recording_free(recording *r) {
  if (r->run) cudaGraphExecDestroy(r->run);
  if (r->graph) cudaGraphDestroy(r->graph);
}
static void replay(const bench *t, const recording *r) {
  CHECK(cudaGraphLaunch(r->run, t->stream) == cudaSuccess);
}

/* Rollout, gradient and the user's own work, captured once and replayed ten times. */
TEST(a_captured_rollout_replays) {
  enum { TIMES = 10 };
  bench t;
  outcome here, there;
  recording r;
  abut_rollout_result sum, result;
  if (!bench_open(&t, "scenes/ant_box.abut", 2, 0)) return;
  abut_batch *b = another(&t);
  outcome_create(&here, &t.s, &t.o, 1);
  outcome_create(&there, &t.s, &t.o, 1);
  reference(b, &here, TIMES, &sum);
  outcome_go(&there, t.b); /* makes room */
  CHECK_STATUS(abut_batch_reset(t.b, NULL, -1), ABUT_OK);
  outcome_free(&there);
  outcome_create(&there, &t.s, &t.o, 1);
  move_outcome(&there, 1);
  there.enqueue = 1;
  capture_begin(&t);
  outcome_go(&there, t.b);
  CHECK(there.reverse == ABUT_OK);
  feed_back(&there, t.stream);
  REQUIRE(capture_end(&t, &r));
  CHECK(fake_pending(t.stream) == 0 && array_untouched(&there.r.out[OUT_QPOS]));
  for (int i = 0; i < TIMES; i++) replay(&t, &r);
  CHECK_STATUS(abut_batch_sync(t.b, &result), ABUT_OK);
  CHECK(result.done == 2 * TIMES && result.newton_iterations == sum.newton_iterations);
  move_outcome(&there, 0);
  CHECK(same_outcome(&here, &there) && same_state(&t, t.b, b));
  recording_free(&r);
  outcome_free(&here);
  outcome_free(&there);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* Calls that cannot be captured fail, change nothing, and the capture goes on. */
TEST(a_capture_survives_what_it_cannot_hold) {
  bench t;
  recording r;
  outcome o;
  abut_snapshot *snapshot = NULL;
  if (!bench_open(&t, "scenes/stack5.abut", 2, 0)) return;
  outcome_create(&o, &t.s, &t.o, 1);
  abut_batch *b = another(&t);
  abut_rollout_args a = abut_default_rollout_args();
  abut_parameters p = {0};
  a.enqueue = 1;
  capture_begin(&t);
  CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_REFUSED(abut_rollout(t.b, &o.r.args, NULL, NULL, NULL), "is being captured");
  CHECK_REFUSED(abut_batch_sync(t.b, NULL), "is being captured");
  CHECK_REFUSED(abut_batch_reset(t.b, NULL, -1), "is being captured");
  CHECK_REFUSED(abut_batch_perturb(t.b, NULL, 1, 1, 0, 1), "is being captured");
  CHECK_REFUSED(abut_batch_set_parameters(t.b, &p), "is being captured");
  CHECK_REFUSED(abut_batch_set_state(t.b, NULL, NULL, NULL), "is being captured");
  CHECK_REFUSED(abut_batch_get_state(t.b, NULL, NULL, NULL), "is being captured");
  CHECK_REFUSED(abut_batch_snapshot(t.b, &snapshot), "is being captured");
  a.record = 1; /* there is no record yet */
  CHECK_REFUSED(abut_rollout(t.b, &a, NULL, NULL, NULL), "record no more steps");
  REQUIRE(capture_end(&t, &r));
  a.enqueue = a.record = 0;
  for (int i = 0; i < 2; i++) {
    replay(&t, &r);
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  }
  CHECK(same_state(&t, t.b, b));
  recording_free(&r);
  outcome_free(&o);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* What the host changes between replays is seen by the next. */
TEST(replays_start_from_the_state_there_is) {
  bench t;
  recording r;
  abut_rollout_args a = abut_default_rollout_args();
  if (!bench_open(&t, "scenes/stack5.abut", 2, 0)) return;
  abut_batch *b = another(&t), *batches[2] = {t.b, b};
  array mass, rows;
  array_create(&mass, 'd', 2, (int64_t[]){1, t.s.n.nbody});
  array_create(&rows, 'd', 2, (int64_t[]){2, t.s.n.nbody});
  for (size_t i = 0; i < mass.count; i++) array_set(&mass, i, 3);
  for (size_t i = 0; i < rows.count; i++) array_set(&rows, i, 3);
  a.nstep = 2;
  a.enqueue = 1;
  capture_begin(&t);
  CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
  REQUIRE(capture_end(&t, &r));
  a.enqueue = 0;
  const uint8_t mask[2] = {0, 1};
  for (int i = 0; i < 3; i++) {
    abut_parameters p = {.mass = tensor(&mass)};
    for (int k = 0; k < 2; k++) {
      if (i == 0) CHECK_STATUS(abut_batch_perturb(batches[k], NULL, 7, 0, 0, 0.2), ABUT_OK);
      if (i == 1) CHECK_STATUS(abut_batch_reset(batches[k], mask, -1), ABUT_OK);
      if (i == 2) CHECK_STATUS(abut_batch_set_parameters(batches[k], &p), ABUT_OK);
    }
    replay(&t, &r);
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
    CHECK(same_state(&t, t.b, b));
  }
  /* but a parameter with more rows, as a list that grows, makes it void: it says so and does nothing */
  abut_parameters p = {.mass = tensor(&rows)};
  CHECK_STATUS(abut_batch_set_parameters(t.b, &p), ABUT_OK);
  replay(&t, &r);
  CHECK_REFUSED(abut_batch_sync(t.b, NULL), "capture it again");
  CHECK_STATUS(abut_batch_sync(t.b, NULL), ABUT_OK);
  CHECK(same_state(&t, t.b, b));
  recording_free(&r);
  array_free(&mass);
  array_free(&rows);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* A replay that meets a list that is too short, and the graphs that growing makes void. */
TEST(replays_that_meet_short_lists_lose_nothing) {
  bench t;
  recording r;
  abut_rollout_result result;
  abut_rollout_args a = abut_default_rollout_args();
  if (!bench_open(&t, "scenes/stack5.abut", 2, 0)) return;
  abut_batch *b = another(&t);
  a.nstep = 2;
  for (int i = 0; i < 2; i++) CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  abut_batch_destroy(t.b);
  t.o.implicit.pair_capacity = 1;
  t.b = batch_of(&t.s, &t.o);
  a.enqueue = 1;
  int done = 0, grown = 0;
  while (done < 2 && grown < 20) {
    capture_begin(&t);
    CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
    REQUIRE(capture_end(&t, &r));
    for (int i = done; i < 2; i++) replay(&t, &r);
    abut_status status = abut_batch_sync(t.b, &result);
    done += (int)result.done;
    if (status != ABUT_OK) {
      CHECK_STATUS(status, ABUT_ERROR_CAPACITY);
      grown++;
      for (int i = 0; i < 3; i++) replay(&t, &r); /* its memory is gone */
      CHECK_REFUSED(abut_batch_sync(t.b, &result), "3 calls in it did nothing");
      CHECK(result.done == 0);
    }
    recording_free(&r);
  }
  CHECK(done == 2 && grown > 0 && same_state(&t, t.b, b));
  abut_batch_destroy(b);
  bench_close(&t);
}

/* A reverse pass walks back the rollout that was called last, or none. */
TEST(records_of_replays_are_not_mistaken) {
  bench t;
  recording r;
  if (!bench_open(&t, "scenes/stack5.abut", 1, 0)) return;
  abut_batch *b = another(&t);
  outcome o;
  outcome_create(&o, &t.s, &t.o, 2);
  abut_rollout_args longer = abut_default_rollout_args(), shorter = longer;
  abut_vjp_args v = abut_default_vjp_args();
  array back;
  array_create(&back, 'd', 2, (int64_t[]){1, t.s.n.nq});
  longer.nstep = 2;
  longer.record = shorter.record = 1;
  v.qpos = tensor(&o.bar);
  v.qpos0 = tensor(&o.qpos0);
  CHECK_STATUS(abut_rollout(t.b, &longer, NULL, NULL, NULL), ABUT_OK); /* makes room */
  CHECK_STATUS(abut_batch_reset(t.b, NULL, -1), ABUT_OK);
  longer.enqueue = 1;
  capture_begin(&t);
  CHECK_STATUS(abut_rollout(t.b, &longer, NULL, NULL, NULL), ABUT_OK);
  REQUIRE(capture_end(&t, &r));
  CHECK_REFUSED(abut_rollout_vjp(t.b, &v, NULL, NULL), "has not run yet");
  replay(&t, &r);
  CHECK_STATUS(abut_rollout_vjp(t.b, &v, NULL, NULL), ABUT_OK);
  longer.enqueue = 0;
  v.qpos0 = tensor(&back);
  CHECK_STATUS(abut_rollout(b, &longer, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_rollout_vjp(b, &v, NULL, NULL), ABUT_OK);
  CHECK(array_same(&back, &o.qpos0));
  CHECK_STATUS(abut_rollout(t.b, &shorter, NULL, NULL, NULL), ABUT_OK);
  replay(&t, &r);
  v.qpos = NULL;
  CHECK_REFUSED(abut_rollout_vjp(t.b, &v, NULL, NULL), "a replay has overwritten it");
  v.qpos0 = NULL;
  v.enqueue = 1;
  CHECK_STATUS(abut_rollout_vjp(t.b, &v, NULL, NULL), ABUT_OK);
  CHECK_REFUSED(abut_batch_sync(t.b, NULL), "1 enqueued reverse passes did nothing");
  recording_free(&r);
  array_free(&back);
  outcome_free(&o);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* ---------------------------------------------------------------- failures */

/* Enqueue, capture, replay, sync, with call number fail_at failing: whoever sees it first says so. */
static int64_t fail_once(const bench *t, int64_t fail_at, int sticky, int *reported, const char **call) {
  outcome o;
  recording r = {0};
  abut_batch *b = NULL;
  outcome_create(&o, &t->s, &t->o, 1);
  move_outcome(&o, 1);
  int64_t live = fake_live_objects();
  fake_use((fake_plan){.fail_at = fail_at, .sticky = sticky});
  *reported = abut_batch_create(t->s.model, &t->o, &b) != ABUT_OK;
  o.enqueue = 1;
  for (int i = 0; b && i < 2 && !*reported; i++) { /* into the stream, into a capture */
    int failed = i && cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess;
    if (!failed) {
      outcome_go(&o, b);
      *reported |= o.forward != ABUT_OK || o.reverse != ABUT_OK;
      if (i) failed = !capture_end(t, &r);
    }
    if (i && !failed) failed = cudaGraphLaunch(r.run, t->stream) != cudaSuccess;
    *reported |= failed; /* the caller's own calls */
    if (!*reported) *reported = abut_batch_sync(b, NULL) != ABUT_OK;
  }
  int64_t used = fake_calls();
  *call = fake_failed_call();
  abut_batch_destroy(b);
  if (r.run) cudaGraphExecDestroy(r.run);
  if (r.graph) cudaGraphDestroy(r.graph);
  if (fake_live_objects() != live)
    test_fail(__FILE__, __LINE__, "call %lld (%s): %lld objects leak", (long long)fail_at, *call,
              (long long)(fake_live_objects() - live));
  fake_use((fake_plan){0});
  move_outcome(&o, 0);
  outcome_free(&o);
  return used;
}

TEST(each_failing_call_is_reported) {
  bench t;
  int reported;
  const char *call;
  if (!bench_open(&t, "scenes/incline.abut", 1, 0)) return;
  for (int sticky = 0; sticky < 2; sticky++) {
    int64_t calls = fail_once(&t, 0, sticky, &reported, &call), stride = test_quick() ? 7 : 1;
    CHECK(!reported && calls > 50);
    for (int64_t i = 1; i <= calls; i += stride) {
      fail_once(&t, i, sticky, &reported, &call);
      if (!reported)
        test_fail(__FILE__, __LINE__, "call %lld (%s) failed and nobody said so", (long long)i, call);
    }
  }
  bench_close(&t);
}
