/* stream.h: a batch on a fake GPU with a stream of the caller's, for test_stream.c and test_capture.c. */
#ifndef ABUT_TEST_STREAM_H
#define ABUT_TEST_STREAM_H
#include "fake_cuda.h"
#include "outcome.h"
#include "team_run.h"

static inline void move_array(array *a, int to_gpu) {
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
static inline void move_outcome(outcome *o, int to_gpu) {
  for (int i = 0; i < OUTCOME_ARRAYS; i++) move_array(outcome_array(o, i), to_gpu);
}

typedef struct bench {
  scene s;
  abut_options o;
  abut_batch *b;
  cudaStream_t stream; /* of the caller */
} bench;

static inline int bench_open(bench *t, const char *path, int64_t nenv, int own_stream) {
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
/* A call leaves the thread's device and capture mode as they were. */
static inline int caller_untouched(int device) {
  int current = -1;
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  cudaGetDevice(&current);
  cudaThreadExchangeStreamCaptureMode(&mode);
  return current == device && mode == cudaStreamCaptureModeGlobal;
}
static inline void bench_close(bench *t) {
  abut_batch_destroy(t->b);
  if (t->stream) cudaStreamDestroy(t->stream);
  scene_free(&t->s);
  CHECK(fake_live_objects() == 0 && caller_untouched(0));
  CHECK(!team_parted());
}
/* Starts where another batch of the same scene starts. */
static inline abut_batch *another(const bench *t) {
  abut_options o = t->o;
  o.stream = NULL;
  return batch_of(&t->s, &o);
}

static inline int same_state(const bench *t, const abut_batch *x, const abut_batch *y) {
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

/* As a user's kernel between two rollouts: the controls of the next follow from the velocities of the last.
 */
static inline void feed_back(outcome *o, cudaStream_t s) {
  size_t bytes = o->given.bytes < o->r.out[OUT_QVEL].bytes ? o->given.bytes : o->r.out[OUT_QVEL].bytes;
  if (bytes)
    CHECK(cudaMemcpyAsync(o->given.t.data, o->r.out[OUT_QVEL].t.data, bytes, cudaMemcpyDefault, s) ==
          cudaSuccess);
}

/* `count` rollouts, each followed by its gradient and the user's own work, that the host waits for. */
static inline void reference(abut_batch *b, outcome *o, int count, abut_rollout_result *sum) {
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
}

#endif
