/* test_device.c: device tensors, streams and captured graphs by nothing but CUDA's own calls: on a card
 * (test_device_gpu, tools/gpu.sh) and on a fake runtime. */
#include "blended.h"
#include "outcome.h"
#include <cuda_runtime_api.h>

#ifdef ABUT_FAKE_GPU
enum { REPLAYS = 20, SCRATCH = 1 << 16 };
#else
enum { REPLAYS = 1000, SCRATCH = 1 << 28 };
#endif

#define GO(call) CHECK((call) == cudaSuccess)

/* An array on the GPU, and pinned memory that it is written from and read into. */
typedef struct gpu_array {
  array a;
  void *pinned;
} gpu_array;

static void gpu_write(gpu_array *g, cudaStream_t s) {
  GO(cudaMemcpyAsync(g->a.t.data, g->pinned, g->a.bytes, cudaMemcpyDefault, s));
}
static void gpu_read(gpu_array *g, cudaStream_t s) {
  GO(cudaMemcpyAsync(g->pinned, g->a.t.data, g->a.bytes, cudaMemcpyDefault, s));
  GO(cudaStreamSynchronize(s));
}
/* All 0. */
static void gpu_create(gpu_array *g, int ndim, const int64_t *shape, cudaStream_t s) {
  array_create(&g->a, 'd', ndim, shape);
  free(g->a.t.data);
  GO(cudaMalloc(&g->a.t.data, g->a.bytes));
  GO(cudaHostAlloc(&g->pinned, g->a.bytes, cudaHostAllocDefault));
  memset(g->pinned, 0, g->a.bytes);
  g->a.t.device.device_type = 2;
  gpu_write(g, s);
}
static void gpu_free(gpu_array *g) {
  GO(cudaFree(g->a.t.data));
  GO(cudaFreeHost(g->pinned));
}

static abut_options gpu_options(int64_t nenv) {
  abut_options o = test_options(nenv);
  o.device = ABUT_DEVICE_CUDA;
  return o;
}

static int same_states(const scene *s, const abut_batch *x, const abut_batch *y) {
  const abut_batch *batches[2] = {x, y};
  int64_t n = abut_batch_get_options(x).nenv;
  array qpos[2], qvel[2];
  for (int i = 0; i < 2; i++) {
    array_create(&qpos[i], 'd', 2, (int64_t[]){n, s->n.nq});
    array_create(&qvel[i], 'd', 2, (int64_t[]){n, s->n.nv});
    CHECK_STATUS(abut_batch_get_state(batches[i], NULL, tensor(&qpos[i]), tensor(&qvel[i])), ABUT_OK);
  }
  int same = array_same(&qpos[0], &qpos[1]) && array_same(&qvel[0], &qvel[1]);
  for (int i = 0; i < 2; i++) array_free(&qpos[i]), array_free(&qvel[i]);
  return same;
}

/* ---------------------------------------------------------------- the example of docs/gpu.md */

enum { NENV = 3 };

/* Controls are the first velocities: [NENV, 1, nu] from [NENV, 2, nv]. */
static size_t policy_bytes; /* the fewer of both */
static void policy(const void *qvel, void *ctrl, cudaStream_t stream) {
  GO(cudaMemcpyAsync(ctrl, qvel, policy_bytes, cudaMemcpyDefault, stream));
}

static abut_batch *replay_policy(const abut_model *model, abut_options options, cudaStream_t stream,
                                 abut_tensor qvel, abut_tensor ctrl, int times) {
  abut_batch *batch = NULL;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  /* shown in docs/gpu.md */
  options.device = ABUT_DEVICE_CUDA;
  options.stream = stream; /* all of the batch's work goes there; NULL: a stream of its own */
  abut_batch_create(model, &options, &batch);
  abut_rollout_args step = abut_default_rollout_args(); /* one step from the batch's state */
  step.ctrl = &ctrl; /* {.data = device_pointer, .device = {2, options.device_id}, ...} */
  step.qvel = &qvel;
  step.enqueue = 1; /* return before the work is done */
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  policy(qvel.data, ctrl.data, stream); /* your kernels */
  abut_rollout(batch, &step, NULL, NULL, NULL);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  for (int t = 0; t < times; t++) cudaGraphLaunch(exec, stream);
  abut_rollout_result result = {0};
  abut_batch_sync(batch, &result); /* waits; says how many took effect, and why not all */
  /* to here */
  CHECK(result.done == times);
  GO(cudaGraphExecDestroy(exec));
  GO(cudaGraphDestroy(graph));
  return batch;
}

TEST(a_thousand_replays_give_the_bits_of_a_thousand_calls) {
  scene s;
  array qvel, ctrl;
  gpu_array gpu_qvel, gpu_ctrl;
  cudaStream_t stream;
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  abut_options o = gpu_options(NENV);
  GO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const int64_t shapes[2][3] = {{NENV, 2, s.n.nv}, {NENV, 1, s.n.nu}};
  array_create(&qvel, 'd', 3, shapes[0]);
  array_create(&ctrl, 'd', 3, shapes[1]);
  memset(qvel.t.data, 0, qvel.bytes);
  memset(ctrl.t.data, 0, ctrl.bytes);
  gpu_create(&gpu_qvel, 3, shapes[0], stream);
  gpu_create(&gpu_ctrl, 3, shapes[1], stream);
  policy_bytes = qvel.bytes < ctrl.bytes ? qvel.bytes : ctrl.bytes;
  abut_batch *replayed =
      replay_policy(s.model, o, stream, *tensor(&gpu_qvel.a), *tensor(&gpu_ctrl.a), REPLAYS);
  abut_batch *called = batch_of(&s, &o);
  abut_rollout_args step = abut_default_rollout_args();
  step.ctrl = tensor(&ctrl);
  step.qvel = tensor(&qvel);
  for (int t = 0; t < REPLAYS; t++) {
    memcpy(ctrl.t.data, qvel.t.data, policy_bytes);
    CHECK_STATUS(abut_rollout(called, &step, NULL, NULL, NULL), ABUT_OK);
  }
  gpu_read(&gpu_qvel, stream);
  CHECK(!memcmp(gpu_qvel.pinned, qvel.t.data, qvel.bytes) && same_states(&s, replayed, called));
  abut_batch_destroy(replayed);
  abut_batch_destroy(called);
  gpu_free(&gpu_qvel);
  gpu_free(&gpu_ctrl);
  array_free(&qvel);
  array_free(&ctrl);
  GO(cudaStreamDestroy(stream));
  scene_free(&s);
}

/* ---------------------------------------------------------------- lists and graphs */

/* Enqueued calls that meet lists that are too short, until all have been done. */
TEST(short_lists_lose_no_step) {
  enum { CALLS = 4 };
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = gpu_options(NENV);
  abut_batch *roomy = batch_of(&s, &o);
  o.implicit.pair_capacity = 1;
  abut_batch *tight = batch_of(&s, &o);
  abut_rollout_args a = abut_default_rollout_args();
  abut_rollout_result result;
  for (int i = 0; i < CALLS; i++) CHECK_STATUS(abut_rollout(roomy, &a, NULL, NULL, NULL), ABUT_OK);
  a.enqueue = 1;
  int done = 0, grown = 0;
  for (; done < CALLS && grown < 20; grown++) {
    for (int i = done; i < CALLS; i++) CHECK_STATUS(abut_rollout(tight, &a, NULL, NULL, NULL), ABUT_OK);
    abut_status status = abut_batch_sync(tight, &result);
    done += (int)result.done;
    CHECK_STATUS(status, done == CALLS ? ABUT_OK : ABUT_ERROR_CAPACITY);
  }
  CHECK(done == CALLS && grown > 1 && same_states(&s, roomy, tight));
  abut_batch_destroy(roomy);
  abut_batch_destroy(tight);
  scene_free(&s);
}

/* A graph whose memory has moved touches nothing, and it is said. */
TEST(void_graphs_do_nothing) {
  scene s;
  cudaStream_t stream;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  array mass;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  GO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  abut_options o = gpu_options(NENV);
  abut_batch *called = batch_of(&s, &o);
  o.stream = stream;
  abut_batch *replayed = batch_of(&s, &o);
  abut_rollout_args a = abut_default_rollout_args();
  a.enqueue = 1;
  GO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK_STATUS(abut_rollout(replayed, &a, NULL, NULL, NULL), ABUT_OK);
  GO(cudaStreamEndCapture(stream, &graph));
  GO(cudaGraphInstantiate(&exec, graph, 0));
  GO(cudaGraphLaunch(exec, stream));
  a.enqueue = 0;
  CHECK_STATUS(abut_rollout(called, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK(same_states(&s, called, replayed));
  array_create(&mass, 'd', 2, (int64_t[]){NENV, s.n.nbody});
  for (size_t i = 0; i < mass.count; i++) array_set(&mass, i, 3);
  abut_parameters p = {.mass = tensor(&mass)};
  CHECK_STATUS(abut_batch_set_parameters(replayed, &p), ABUT_OK);
  for (int i = 0; i < 2; i++) GO(cudaGraphLaunch(exec, stream));
  CHECK_STATUS(abut_batch_sync(replayed, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "2 calls in it did nothing"));
  CHECK(same_states(&s, called, replayed));
  GO(cudaGraphExecDestroy(exec));
  GO(cudaGraphDestroy(graph));
  abut_batch_destroy(called);
  abut_batch_destroy(replayed);
  GO(cudaStreamDestroy(stream));
  array_free(&mass);
  scene_free(&s);
}

/* ---------------------------------------------------------------- streams */

/* The default stream as the batch's, and one of its own behind what was just put on the default stream. */
TEST(work_is_in_order_with_the_default_stream) {
  scene s;
  gpu_array start;
  array here;
  void *scratch;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = gpu_options(NENV);
  abut_batch *own = batch_of(&s, &o), *expected = batch_of(&s, &o);
  o.stream = cudaStreamLegacy;
  abut_batch *shared = batch_of(&s, &o);
  gpu_create(&start, 2, (int64_t[]){NENV, s.n.nq}, cudaStreamLegacy);
  array_create(&here, 'd', 2, (int64_t[]){NENV, s.n.nq});
  CHECK_STATUS(abut_batch_get_state(own, NULL, tensor(&here), NULL), ABUT_OK);
  for (int64_t env = 0; env < NENV; env++) array_set(&here, (size_t)(env * s.n.nq + 2), 0.5 + (double)env);
  abut_rollout_args a = abut_default_rollout_args();
  a.qpos0 = tensor(&here);
  CHECK_STATUS(abut_rollout(expected, &a, NULL, NULL, NULL), ABUT_OK);
  GO(cudaStreamSynchronize(cudaStreamLegacy));
  memcpy(start.pinned, here.t.data, here.bytes);
  GO(cudaMalloc(&scratch, SCRATCH));
  for (int i = 0; i < 8; i++) GO(cudaMemsetAsync(scratch, i, SCRATCH, cudaStreamLegacy)); /* takes its time */
  gpu_write(&start, cudaStreamLegacy);
  a.qpos0 = tensor(&start.a);
  CHECK_STATUS(abut_rollout(own, &a, NULL, NULL, NULL), ABUT_OK);
  a.enqueue = 1;
  CHECK_STATUS(abut_rollout(shared, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_sync(shared, NULL), ABUT_OK);
  CHECK(same_states(&s, expected, own) && same_states(&s, expected, shared));
  CHECK(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeThreadLocal) != cudaSuccess);
  cudaGetLastError();
  GO(cudaFree(scratch));
  gpu_free(&start);
  array_free(&here);
  abut_batch *batches[] = {own, expected, shared};
  for (int i = 0; i < 3; i++) abut_batch_destroy(batches[i]);
  scene_free(&s);
}

/* ---------------------------------------------------------------- every kernel */

/* A recorded rollout whose memory grows, and its gradient: a warp per environment computes what one thread
 * does. */
TEST(teams_agree) {
  scene s;
  outcome of[2];
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  for (int i = 0; i < 2; i++) {
    abut_options o = gpu_options(NENV);
    o.team = i ? 32 : 1;
    o.implicit.pair_capacity = 1;
    outcome_create(&of[i], &s, &o, 2);
    abut_batch *b = batch_of(&s, &o);
    REQUIRE(b);
    outcome_go(&of[i], b);
    CHECK(of[i].reverse == ABUT_OK && of[i].result.reruns > 0);
    abut_batch_destroy(b);
  }
  CHECK(same_outcome(&of[0], &of[1]));
  for (int i = 0; i < 2; i++) outcome_free(&of[i]);
  scene_free(&s);
}

TEST(manifolds_are_the_cpus) {
  static blended b;
  static blended_results results[2];
  blended_make(&b);
  for (int32_t dtype = ABUT_F64; dtype <= ABUT_F32; dtype++)
    for (int32_t selection = ABUT_SELECT_HARD; selection <= ABUT_SELECT_SOFTSORT; selection++) {
      for (int gpu = 0; gpu < 2; gpu++) {
        abut_manifold_options o = blended_options(dtype, selection);
        o.device = gpu ? ABUT_DEVICE_CUDA : ABUT_DEVICE_CPU;
        abut_manifold *m = NULL;
        CHECK_STATUS(abut_manifold_create(&b.surface, &b.surface, &o, &m), ABUT_OK);
        CHECK(m && blended_run(m, &results[gpu]) > 0);
        abut_manifold_destroy(m);
      }
#ifdef ABUT_STRICT
      CHECK(memcmp(&results[0], &results[1], sizeof results[0]) == 0);
#endif
      CHECK(blended_close(&results[0], &results[1], dtype == ABUT_F64 ? 1e-10 : 1e-3));
    }
}
