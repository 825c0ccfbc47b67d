/* batch_rollout.c: T steps of N environments in one call: checks, threads, growth of lists, commit. */
#include "host/base/memory.h"
#include "host/base/real.h"
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tape.h"
#include <math.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

abut_rollout_args abut_default_rollout_args(void) {
  abut_rollout_args a = {0};
  a.nstep = 1;
  return a;
}

enum {
#define INPUT(name, code, ...) ROW_##name,
#define OUTPUT(name, code, ...) ROW_##name,
#include "kernels/clock/rollout_arrays.def"
  ARRAYS
};
_Static_assert(offsetof(abut_rollout_args, kick) - offsetof(abut_rollout_args, qpos0) ==
                   ROW_qpos * sizeof(abut_tensor *),
               "abut_rollout_args has the inputs of rollout_arrays.def, and no other");
_Static_assert(sizeof(abut_rollout_args) - offsetof(abut_rollout_args, qpos) ==
                   (ARRAYS - ROW_qpos) * sizeof(abut_tensor *),
               "abut_rollout_args ends with the outputs of rollout_arrays.def, and no other");

/* The caller's arrays, and where io points to them. */
static void arrays_of(const abut_batch *b, const abut_rollout_args *a, program_io *io,
                      caller_array list[ARRAYS]) {
  const int64_t n = b->options.nenv, t = a->nstep;
  MODEL_SIZES(b->model)
  const caller_array all[ARRAYS] = {
#define INPUT(name, code, ...)                                                                               \
  {#name, a->name, code, EXTENTS(__VA_ARGS__), {__VA_ARGS__}, ARRAY_IN_BROADCAST, &io->name.data},
#define OUTPUT(name, code, ...)                                                                              \
  {#name, a->name, code, EXTENTS(__VA_ARGS__), {__VA_ARGS__}, ARRAY_OUT, &io->out.name},
#include "kernels/clock/rollout_arrays.def"
  };
  memcpy(list, all, sizeof all);
}

static abut_status check_args(const abut_batch *b, const abut_rollout_args *a) {
  if (a->nstep < 0) return fail_with(ABUT_ERROR_ARGUMENT, "nstep %lld is negative", (long long)a->nstep);
  /* steps of all environments are counted, and so are rows of outputs, one more each */
  if (bytes_add(b->options.nenv, b->options.nenv, a->nstep) == INT64_MAX)
    return fail_with(ABUT_ERROR_ARGUMENT, "nstep %lld: more steps of %lld environment%s than can be counted",
                     (long long)a->nstep, (long long)b->options.nenv, PLURAL(b->options.nenv));
  if (!(a->kick >= 0) || !real_holds(b->kernels->elem_size, a->kick))
    return fail_with(ABUT_ERROR_ARGUMENT, "kick %g: must be from 0 to what the batch's dtype holds", a->kick);
  return ABUT_OK;
}

/* The new state counts from here on. */
static abut_status commit(abut_batch *b, const program_io *io, abut_rollout_result *r) {
  ATTEMPT(b->backend->commit(b));
  for (int64_t i = 0; i < b->options.nenv; i++) r->failed_envs += b->state.status[i] != 0;
  r->newton_iterations = io->newton_iterations;
  r->newton_iterations_max = io->newton_iterations_max;
  r->unconverged_steps = io->unconverged_steps;
  return ABUT_OK;
}

static input_array input_of(const abut_tensor *t) {
  if (!t) return (input_array){0};
  return (input_array){tensor_data(t), t->shape[0], t->ndim == 3 ? t->shape[1] : 1};
}

static program_io io_of(const abut_batch *b, const abut_rollout_args *a) {
  program_io io = program_io_of(b);
  io.nstep = a->nstep;
  io.record = a->record != 0;
  io.kick = a->kick;
  io.kick_seed = a->kick_seed;
#define INPUT(name, code, ...) io.name = input_of(a->name);
#define OUTPUT(name, code, ...) io.out.name = tensor_data(a->name);
#include "kernels/clock/rollout_arrays.def"
  return io;
}

/* Returns before the work is done; only a record that must grow waits for what is under way. */
static abut_status enqueue(abut_batch *b, const abut_rollout_args *a) {
  if (a->record) ATTEMPT(tape_prepare(b, a));
  program_io io = io_of(b, a);
  b->tape_valid = 0;
  ATTEMPT(b->backend->enqueue(b, &b->forward, &io));
  b->tape_valid = a->record != 0;
  return ABUT_OK;
}

abut_status abut_rollout(abut_batch *b, const abut_rollout_args *a, abut_rollout_result *result,
                         abut_progress progress, void *user) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(a, "args");
  abut_rollout_result r = {0};
  program_io io;
  caller_array arrays[ARRAYS];
  ATTEMPT(check_args(b, a));
  if (a->enqueue) ATTEMPT(program_may_enqueue(b, result || progress));
  arrays_of(b, a, &io, arrays);
  ATTEMPT(tensors_check(arrays, ARRAYS, &b->options, a->enqueue));
  if (a->enqueue) return enqueue(b, a);
  double start = program_seconds();
  ATTEMPT(b->backend->settle(b, NULL));
  for (;; r.reruns++) {
    b->tape_valid = 0;
    if (a->record) ATTEMPT(tape_prepare(b, a));
    io = io_of(b, a);
    ATTEMPT(b->backend->run(b, &b->forward, &io, arrays, ARRAYS, (program_report){progress, user}));
    if (io.stop) return fail_with(ABUT_ERROR_ARGUMENT, "rollout stopped by its progress callback");
    if (!io.need) break;
    ATTEMPT(batch_make_room(b, io.need, io.need_room, 0));
  }
  ATTEMPT(commit(b, &io, &r));
  b->tape_valid = a->record != 0;
  r.seconds = program_seconds() - start;
  if (result) *result = r;
  return ABUT_OK;
}

abut_status abut_batch_sync(abut_batch *b, abut_rollout_result *result) {
  REQUIRE_POINTER(b, "batch");
  abut_rollout_result r = {0};
  abut_status status = b->backend->settle(b, &r);
  if (result) *result = r;
  return status;
}
