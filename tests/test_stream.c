/* test_stream.c: the CUDA backend with the caller's tensors and stream, on a fake runtime. */
#include "host/batch/backend.h"
#include "host/cuda/cuda_memory.h"
#include "stream.h"

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
  elsewhere.device = (__typeof__(elsewhere.device)){2, 0}; /* says so, and is not */
  CHECK_REFUSED(abut_rollout(t.b, &a, NULL, NULL, NULL), "xpos: says CUDA device 0 (type 2), but");
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

TEST(enqueued_calls_follow_the_stream) {
  bench t;
  outcome here, there;
  abut_rollout_result sum, result;
  if (!bench_open(&t, "scenes/ant_box.abut", 2, 0)) return;
  abut_batch *b = another(&t);
  outcome_create(&here, &t.s, &t.o, 2);
  outcome_create(&there, &t.s, &t.o, 2);
  reference(b, &here, 3, &sum);
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
  o.implicit.pair_capacity = 1;
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

/* The same of long-range lists. */
TEST(enqueued_calls_that_meet_short_long_range_lists) {
  scene s;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  abut_options o = test_options(2);
  o.device = ABUT_DEVICE_CUDA;
  o.implicit.contact = ABUT_CONTACT_LONGRANGE;
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  abut_rollout_args a = abut_default_rollout_args();
  abut_rollout_result result;
  a.nstep = 1;
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK); /* contacts have room from here on */
  b->backend->close(b);
  b->room = 1;
  CHECK_STATUS(b->backend->open(b), ABUT_OK);
  a.enqueue = 1;
  int grown = 0, done = 0;
  while (!done && grown < 20) {
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
    abut_status status = abut_batch_sync(b, &result);
    done = (int)result.done;
    if (status == ABUT_OK) break;
    CHECK_STATUS(status, ABUT_ERROR_CAPACITY);
    CHECK(strstr(abut_error_message(), "an enqueued rollout met longer long-range lists"));
    grown++;
  }
  CHECK(done == 1 && grown > 1);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* What is behind such a call would start from another state than meant: it must not run, though it could. */
TEST(nothing_overtakes_a_call_that_did_not_run) {
  bench t;
  array apart;
  abut_rollout_result result;
  if (!bench_open(&t, "scenes/stack5.abut", 1, 1)) return;
  abut_options o = t.o;
  o.implicit.pair_capacity = 1;
  abut_rollout_args touching = abut_default_rollout_args(), free_fall = touching;
  array_create(&apart, 'd', 2, (int64_t[]){1, t.s.n.nq});
  for (int32_t i = 0; i < t.s.n.nq; i++) /* every body is a free joint */
    array_set(&apart, (size_t)i, i % 7 == 0 ? 10 * i : i % 7 == 2 ? 50 : i % 7 == 3 ? 1 : 0);
  move_array(&apart, 1);
  free_fall.qpos0 = tensor(&apart);
  touching.enqueue = free_fall.enqueue = 1;
  for (int first = 0; first < 2; first++) { /* alone it does run */
    abut_batch *b = batch_of(&t.s, &o);
    if (!first) CHECK_STATUS(abut_rollout(b, &touching, NULL, NULL, NULL), ABUT_OK);
    CHECK_STATUS(abut_rollout(b, &free_fall, NULL, NULL, NULL), ABUT_OK);
    CHECK_STATUS(abut_batch_sync(b, &result), first ? ABUT_OK : ABUT_ERROR_CAPACITY);
    CHECK(result.done == first && same_state(&t, b, t.b) == !first);
    abut_batch_destroy(b);
  }
  move_array(&apart, 0);
  array_free(&apart);
  bench_close(&t);
}

TEST(old_drivers_cannot_enqueue) {
  bench t;
  abut_rollout_args a = abut_default_rollout_args();
  for (int by_name = 0; by_name < 2; by_name++) {
    if (by_name) CHECK(setenv("ABUT_CUDA_UNROLL", "1", 1) == 0);
    if (!bench_open(&t, "scenes/stack5.abut", 1, 1)) return;
    CHECK(unsetenv("ABUT_CUDA_UNROLL") == 0);
    if (!by_name) cuda_unroll(t.b);
    a.enqueue = 1;
    CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_ERROR_DEVICE);
    CHECK(strstr(abut_error_message(), "12.4"));
    a.enqueue = 0;
    CHECK_STATUS(abut_rollout(t.b, &a, NULL, NULL, NULL), ABUT_OK);
    bench_close(&t);
  }
}

/* The caller's device, and captures that have nothing to do with the batch. */
TEST(calls_leave_the_thread_as_it_was) {
  bench t;
  outcome here, there;
  if (!bench_open(&t, "scenes/stack5.abut", 1, 1)) return;
  abut_options o = t.o;
  o.device_id = 1;
  o.implicit.pair_capacity = 1;
  abut_batch *b = batch_of(&t.s, &o);
  REQUIRE(b);
  CHECK(caller_untouched(0));
  outcome_create(&here, &t.s, &o, 1);
  outcome_create(&there, &t.s, &o, 1);
  cudaStream_t other;
  cudaGraph_t graph;
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  outcome_go(&here, b); /* memory grows */
  CHECK(here.reverse == ABUT_OK && here.result.reruns > 0 && caller_untouched(0));
  CHECK(cudaStreamEndCapture(other, &graph) == cudaSuccess);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(other);
  outcome_go(&there, t.b);
  CHECK(same_outcome(&here, &there) && same_state(&t, t.b, b) && caller_untouched(0));
  CHECK_STATUS(abut_batch_perturb(b, NULL, 1, 0, 0, 0.1), ABUT_OK);
  CHECK_STATUS(abut_batch_sync(b, NULL), ABUT_OK);
  CHECK(caller_untouched(0));
  abut_batch_destroy(b);
  outcome_free(&here);
  outcome_free(&there);
  bench_close(&t);
}

static int stop_when_asked_again(void *user, double fraction) {
  CHECK(fraction <= 1);
  return ++*(int *)user > 1;
}

/* Where the stream has earlier work for longer than it takes until a callback is asked again. */
TEST(a_stop_is_not_lost_behind_earlier_work) {
  enum { EARLIER = 505 };
  bench t;
  void *memory;
  int asked = 0;
  abut_rollout_args a = abut_default_rollout_args();
  if (!bench_open(&t, "scenes/stack5.abut", 1, 0)) return;
  CHECK(cudaMalloc(&memory, 8) == cudaSuccess);
  for (int i = 0; i < EARLIER; i++) CHECK(cudaMemsetAsync(memory, 0, 8, t.stream) == cudaSuccess);
  abut_status status = abut_rollout(t.b, &a, NULL, stop_when_asked_again, &asked);
  CHECK(asked > 0 && status == (asked > 1 ? ABUT_ERROR_ARGUMENT : ABUT_OK));
  cudaFree(memory);
  bench_close(&t);
}
