/* test_stream.c: the CUDA backend with the caller's tensors, stream and captures, on a fake runtime. */
#include "cuda_memory.h"
#include "fake_cuda.h"
#include "outcome.h"
#include "team_run.h"
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- what tests share */

static void move_array(array *a, int to_gpu) {
  void *from = a->t.data, *to = NULL;
  if (to_gpu)
    CHECK(cudaMalloc(&to, a->bytes + 1) == cudaSuccess);
  else
    to = malloc(a->bytes + 1);
  memcpy(to, from, a->bytes + 1);
  if (to_gpu)
    free(from);
  else
    cudaFree(from);
  a->t.data = to;
  a->t.device.device_type = to_gpu ? 2 : 1;
}
static void move_outcome(outcome *o, int to_gpu) {
  for (int i = 0; i < OUTCOME_ARRAYS; i++) move_array(outcome_array(o, i), to_gpu);
}

typedef struct bench {
  scene s;
  abut_options o;
  abut_batch *b;
  cudaStream_t stream; /* of the caller */
} bench;

static int bench_open(bench *t, const char *path, int64_t nenv, int own_stream) {
  memset(t, 0, sizeof *t);
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 11, -1});
  if (!scene_load(path, &t->s)) return 0;
  t->o = test_options(nenv);
  t->o.device = ABUT_DEVICE_CUDA;
  if (!own_stream) {
    CHECK(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking) == cudaSuccess);
    t->o.stream = t->stream;
  }
  t->b = batch_of(&t->s, &t->o);
  return t->b != NULL;
}
static void bench_close(bench *t) {
  abut_batch_destroy(t->b);
  if (t->stream) cudaStreamDestroy(t->stream);
  scene_free(&t->s);
  CHECK(fake_live_objects() == 0);
  CHECK(!team_parted());
}
/* Starts where another batch of the same scene starts. */
static abut_batch *another(const bench *t) {
  abut_options o = t->o;
  o.stream = NULL;
  return batch_of(&t->s, &o);
}

static int same_state(const bench *t, const abut_batch *x, const abut_batch *y) {
  array a[4];
  for (int i = 0; i < 4; i++)
    array_create(&a[i], 'd', 2, (int64_t[]){t->o.nenv, i % 2 ? t->s.n.nv : t->s.n.nq});
  CHECK_STATUS(abut_batch_get_state(x, NULL, tensor(&a[0]), tensor(&a[1])), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(y, NULL, tensor(&a[2]), tensor(&a[3])), ABUT_OK);
  int same = array_same(&a[0], &a[2]) && array_same(&a[1], &a[3]);
  for (int i = 0; i < 4; i++) array_free(&a[i]);
  return same;
}

#define CHECK_REFUSED(call, what)                                                                            \
  do {                                                                                                       \
    CHECK_STATUS(call, ABUT_ERROR_ARGUMENT);                                                                 \
    if (!strstr(abut_error_message(), what))                                                                 \
      test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", abut_error_message(), what);               \
  } while (0)

/* ---------------------------------------------------------------- tensors */

TEST(device_tensors_give_the_bits_of_host_tensors) {
  bench t;
  outcome host, gpu;
  if (!bench_open(&t, "scenes/ant_box.abut", 2, 1)) return;
  abut_batch *b = another(&t);
  outcome_create(&host, &t.s, &t.o, 2);
  outcome_create(&gpu, &t.s, &t.o, 2);
  move_outcome(&gpu, 1);
  for (int i = 0; i < 2; i++) { /* the first makes room */
    int64_t before = fake_allocations();
    outcome_go(&gpu, t.b);
    CHECK(i == 0 || fake_allocations() == before);
    outcome_go(&host, b);
  }
  move_outcome(&gpu, 0);
  CHECK(gpu.reverse == ABUT_OK && host.reverse == ABUT_OK && same_outcome(&gpu, &host));
  /* some here, some there */
  move_array(&gpu.r.out[OUT_QVEL], 1);
  move_array(&gpu.given, 1);
  move_array(&gpu.qvel0, 1);
  outcome_go(&gpu, t.b);
  outcome_go(&host, b);
  move_array(&gpu.r.out[OUT_QVEL], 0);
  move_array(&gpu.given, 0);
  move_array(&gpu.qvel0, 0);
  CHECK(gpu.reverse == ABUT_OK && same_outcome(&gpu, &host) && same_state(&t, t.b, b));
  outcome_free(&host);
  outcome_free(&gpu);
  abut_batch_destroy(b);
  bench_close(&t);
}

TEST(states_and_parameters_cross_as_device_tensors) {
  bench t;
  array qpos, qvel, mass, back;
  if (!bench_open(&t, "scenes/stack5.abut", 3, 1)) return;
  array_create(&qpos, 'd', 2, (int64_t[]){3, t.s.n.nq});
  array_create(&back, 'd', 2, (int64_t[]){3, t.s.n.nq});
  array_create(&qvel, 'd', 2, (int64_t[]){1, t.s.n.nv});
  array_create(&mass, 'd', 2, (int64_t[]){3, t.s.n.nbody});
  CHECK_STATUS(abut_batch_get_state(t.b, NULL, tensor(&qpos), NULL), ABUT_OK);
  for (size_t i = 0; i < qvel.count; i++) array_set(&qvel, i, 0.01 * (double)i);
  for (size_t i = 0; i < mass.count; i++) array_set(&mass, i, 2);
  for (int64_t env = 0; env < 3; env++) array_set(&qpos, (size_t)(env * t.s.n.nq + 2), 0.1 + (double)env);
  array *moved[] = {&qpos, &qvel, &mass, &back};
  for (int i = 0; i < 4; i++) move_array(moved[i], 1);
  abut_parameters p = {.mass = tensor(&mass)};
  const uint8_t mask[3] = {1, 0, 1};
  CHECK_STATUS(abut_batch_set_parameters(t.b, &p), ABUT_OK);
  CHECK_STATUS(abut_batch_set_state(t.b, NULL, tensor(&qpos), tensor(&qvel)), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(t.b, mask, tensor(&back), NULL), ABUT_OK);
  ((double *)mass.t.data)[1] = -1;
  CHECK_REFUSED(abut_batch_set_parameters(t.b, &p), "mass[0, 1]: -1");
  ((double *)qpos.t.data)[3] = ((double *)qpos.t.data)[4] = 0;
  ((double *)qpos.t.data)[5] = ((double *)qpos.t.data)[6] = 0;
  CHECK_REFUSED(abut_batch_set_state(t.b, NULL, tensor(&qpos), NULL), "norm 0");
  for (int i = 0; i < 4; i++) move_array(moved[i], 0);
  size_t row = qpos.bytes / 3;
  CHECK(!memcmp((char *)back.t.data + 2 * row, (char *)qpos.t.data + 2 * row, row));
  CHECK(((unsigned char *)back.t.data)[row] == 0xA5); /* not selected: untouched */
  for (int i = 0; i < 4; i++) array_free(moved[i]);
  bench_close(&t);
}

TEST(tensors_elsewhere_are_refused_by_name) {
  bench t;
  outcome o;
  if (!bench_open(&t, "scenes/stack5.abut", 1, 1)) return;
  outcome_create(&o, &t.s, &t.o, 1);
  abut_rollout_args a = o.r.args;
  abut_tensor elsewhere = *a.xpos;
  a.xpos = &elsewhere;
  elsewhere.device.device_type = 2;
  elsewhere.device.device_id = 1;
  CHECK_REFUSED(abut_rollout(t.b, &a, NULL, NULL, NULL), "xpos: lies on device type 2, id 1");
  CHECK(strstr(abut_error_message(), "CUDA device 0"));
  elsewhere.device.device_type = 8;
  CHECK_REFUSED(abut_rollout(t.b, &a, NULL, NULL, NULL), "xpos: lies on device type 8");
  elsewhere.device.device_type = 3; /* pinned */
  CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
  a.enqueue = 1;
  CHECK_REFUSED(abut_rollout(t.b, &a, NULL, NULL, NULL), "qpos: lies in host memory");
  CHECK_REFUSED(abut_rollout(t.b, &a, &o.result, NULL, NULL), "result and progress must be NULL");
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos0 = tensor(&o.qpos0);
  v.enqueue = 1;
  CHECK_REFUSED(abut_rollout_vjp(t.b, &v, NULL, NULL), "qpos0: lies in host memory");
  abut_options on_cpu = test_options(1);
  abut_batch *cpu = batch_of(&t.s, &on_cpu);
  elsewhere.device = (__typeof__(elsewhere.device)){2, 0};
  CHECK_REFUSED(abut_rollout(cpu, &a, NULL, NULL, NULL), "enqueue: this batch is on the CPU");
  a.enqueue = 0;
  CHECK_REFUSED(abut_rollout(cpu, &a, NULL, NULL, NULL),
                "xpos: lies on device type 2, this batch is on the CPU");
  CHECK_STATUS(abut_batch_sync(cpu, &o.result), ABUT_OK);
  abut_batch_destroy(cpu);
  on_cpu.stream = &t;
  CHECK_REFUSED(abut_batch_create(t.s.model, &on_cpu, &cpu), "option stream");
  outcome_free(&o);
  bench_close(&t);
}

/* Pinned halves much shorter than the arrays. */
TEST(copies_in_many_parts_are_exact) {
  bench t;
  outcome whole, parts;
  if (!bench_open(&t, "scenes/stack5.abut", 2, 1)) return;
  abut_batch *b = another(&t);
  outcome_create(&whole, &t.s, &t.o, 2);
  outcome_create(&parts, &t.s, &t.o, 2);
  cuda_chunk(b, 40);
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(abut_batch_perturb(t.b, NULL, 3, 0, 0, 0.1), ABUT_OK);
    CHECK_STATUS(abut_batch_perturb(b, NULL, 3, 0, 0, 0.1), ABUT_OK);
    outcome_go(&whole, t.b);
    outcome_go(&parts, b);
  }
  CHECK(parts.reverse == ABUT_OK && same_outcome(&whole, &parts) && same_state(&t, t.b, b));
  outcome_free(&whole);
  outcome_free(&parts);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* ---------------------------------------------------------------- the caller's stream */

/* As a user's kernel between two rollouts: the controls of the next follow from the velocities of the last.
 */
static void feed_back(outcome *o, cudaStream_t s) {
  size_t bytes = o->given.bytes < o->r.out[OUT_QVEL].bytes ? o->given.bytes : o->r.out[OUT_QVEL].bytes;
  if (bytes)
    CHECK(cudaMemcpyAsync(o->given.t.data, o->r.out[OUT_QVEL].t.data, bytes, cudaMemcpyDefault, s) ==
          cudaSuccess);
}

/* `count` rollouts, each followed by its gradient and the user's own work, that the host waits for. */
static void reference(const bench *t, abut_batch *b, outcome *o, int count, abut_rollout_result *sum) {
  *sum = (abut_rollout_result){0};
  for (int i = 0; i < count; i++) {
    outcome_go(o, b);
    CHECK(o->reverse == ABUT_OK);
    size_t bytes = o->given.bytes < o->r.out[OUT_QVEL].bytes ? o->given.bytes : o->r.out[OUT_QVEL].bytes;
    memcpy(o->given.t.data, o->r.out[OUT_QVEL].t.data, bytes);
    sum->newton_iterations += o->result.newton_iterations;
    sum->failed_envs = o->result.failed_envs;
    sum->done += 2;
  }
  (void)t;
}

TEST(enqueued_calls_follow_the_stream) {
  bench t;
  outcome here, there;
  abut_rollout_result sum, result;
  if (!bench_open(&t, "scenes/ant_box.abut", 2, 0)) return;
  abut_batch *b = another(&t);
  outcome_create(&here, &t.s, &t.o, 2);
  outcome_create(&there, &t.s, &t.o, 2);
  reference(&t, b, &here, 3, &sum);
  move_outcome(&there, 1);
  outcome_go(&there, t.b); /* makes room */
  CHECK_STATUS(abut_batch_reset(t.b, NULL, -1), ABUT_OK);
  move_outcome(&there, 0);
  outcome_free(&there);
  outcome_create(&there, &t.s, &t.o, 2);
  move_outcome(&there, 1);
  there.enqueue = 1;
  int64_t before = fake_allocations();
  for (int i = 0; i < 3; i++) {
    int64_t pending = fake_pending(t.stream);
    outcome_go(&there, t.b);
    CHECK(there.reverse == ABUT_OK);
    CHECK(fake_pending(t.stream) > pending && array_untouched(&there.r.out[OUT_QPOS]));
    feed_back(&there, t.stream);
  }
  CHECK(fake_allocations() == before);
  CHECK(cudaStreamSynchronize(t.stream) == cudaSuccess);
  CHECK_STATUS(abut_batch_sync(t.b, &result), ABUT_OK);
  CHECK(result.done == 6 && result.failed_envs == sum.failed_envs);
  CHECK(result.newton_iterations == sum.newton_iterations && result.newton_iterations_max > 0);
  move_outcome(&there, 0);
  CHECK(same_outcome(&here, &there) && same_state(&t, t.b, b));
  CHECK_STATUS(abut_batch_sync(t.b, &result), ABUT_OK); /* told once */
  CHECK(result.done == 0 && result.newton_iterations == 0);
  outcome_free(&here);
  outcome_free(&there);
  abut_batch_destroy(b);
  bench_close(&t);
}

/* Any other call waits for what is enqueued; what it did is told all the same. */
TEST(other_calls_wait_for_enqueued_ones) {
  bench t;
  abut_rollout_args a = abut_default_rollout_args();
  abut_rollout_result result;
  if (!bench_open(&t, "scenes/stack5.abut", 2, 1)) return;
  abut_batch *b = another(&t);
  a.nstep = 2;
  for (int i = 0; i < 2; i++) {
    a.enqueue = 1;
    CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
    a.enqueue = 0;
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
    CHECK(same_state(&t, t.b, b));
    CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  }
  CHECK_STATUS(abut_batch_sync(t.b, &result), ABUT_OK);
  CHECK(result.done == 2 && result.newton_iterations > 0 && same_state(&t, t.b, b));
  abut_batch_destroy(b);
  bench_close(&t);
}

/* A list that is too short: nothing happens until the caller knows; called again, nothing is lost. */
TEST(enqueued_calls_that_meet_short_lists_lose_nothing) {
  bench t;
  abut_rollout_args a = abut_default_rollout_args();
  abut_rollout_result result;
  if (!bench_open(&t, "scenes/stack5.abut", 2, 1)) return;
  abut_options o = t.o;
  o.pair_capacity = 1;
  abut_batch *b = batch_of(&t.s, &o), *start = another(&t);
  a.nstep = 2;
  for (int i = 0; i < 3; i++) CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
  a.enqueue = 1;
  int done = 0, grown = 0;
  while (done < 3 && grown < 20) {
    for (int i = done; i < 3; i++) CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
    abut_status status = abut_batch_sync(b, &result);
    done += (int)result.done;
    if (status == ABUT_OK) break;
    CHECK_STATUS(status, ABUT_ERROR_CAPACITY);
    CHECK(strstr(abut_error_message(), "room for"));
    CHECK(done > 0 || same_state(&t, b, start)); /* the first did not half happen, the second did not begin */
    grown++;
  }
  CHECK(done == 3 && grown > 0 && same_state(&t, b, t.b));
  /* whoever comes first says so */
  abut_batch_destroy(b);
  b = batch_of(&t.s, &o);
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_reset(b, NULL, -1), ABUT_ERROR_CAPACITY);
  CHECK_STATUS(abut_batch_reset(b, NULL, -1), ABUT_OK);
  CHECK_STATUS(abut_batch_sync(b, &result), ABUT_OK);
  CHECK(result.done == 0);
  abut_batch_destroy(b);
  abut_batch_destroy(start);
  bench_close(&t);
}

TEST(old_drivers_cannot_enqueue) {
  bench t;
  abut_rollout_args a = abut_default_rollout_args();
  if (!bench_open(&t, "scenes/stack5.abut", 1, 1)) return;
  cuda_unroll(t.b);
  a.enqueue = 1;
  CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_ERROR_DEVICE);
  CHECK(strstr(abut_error_message(), "12.4"));
  a.enqueue = 0;
  CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
  bench_close(&t);
}

/* ---------------------------------------------------------------- captures */

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
  reference(&t, b, &here, TIMES, &sum);
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
  t.o.pair_capacity = 1;
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
