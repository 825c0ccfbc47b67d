/* batch_vjp.c: the reverse pass of a recorded rollout: checks, and what the program works on. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tape.h"
#include <stddef.h>
#include <string.h>

abut_vjp_args abut_default_vjp_args(void) {
  abut_vjp_args a = {0};
  return a;
}

enum {
#define GIVEN(name, code, ...) ROW_##name,
#define WANTED(name, code, ...) ROW_##name,
#include "kernels/clock/vjp_arrays.def"
  ARRAYS
};
_Static_assert(offsetof(abut_vjp_args, enqueue) == ARRAYS * sizeof(abut_tensor *),
               "abut_vjp_args begins with the arrays of vjp_arrays.def, and no other");

/* The caller's arrays, and where io points to them. */
static void arrays_of(const abut_batch *b, const abut_vjp_args *a, program_io *io,
                      caller_array list[ARRAYS]) {
  const int64_t n = b->options.nenv, t = b->tape.nstep;
  MODEL_SIZES(b->model)
  const caller_array all[ARRAYS] = {
#define GIVEN(name, code, ...)                                                                               \
  {#name, a->name, code, EXTENTS(__VA_ARGS__), {__VA_ARGS__}, ARRAY_IN, &io->bar.name},
#define WANTED(name, code, ...)                                                                              \
  {#name, a->name, code, EXTENTS(__VA_ARGS__), {__VA_ARGS__}, ARRAY_OUT, &io->bar.name},
#include "kernels/clock/vjp_arrays.def"
  };
  memcpy(list, all, sizeof all);
}

static program_io io_of(const abut_batch *b, const abut_vjp_args *a) {
  program_io io = program_io_of(b);
  io.nstep = b->tape.nstep;
  io.reverse = io.exact = 1;
#define GIVEN(name, code, ...) io.bar.name = tensor_data(a->name);
#define WANTED(name, code, ...) io.bar.name = tensor_data(a->name);
#include "kernels/clock/vjp_arrays.def"
  return io;
}

abut_status abut_rollout_vjp(abut_batch *b, const abut_vjp_args *a, abut_progress progress, void *user) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(a, "args");
  program_io io;
  caller_array arrays[ARRAYS];
  if (a->enqueue) ATTEMPT(program_may_enqueue(b, progress != NULL));
  if (!b->tape_valid)
    return fail_with(ABUT_ERROR_ARGUMENT,
                     "abut_rollout_vjp: the batch's last call was not a rollout with record = 1");
  arrays_of(b, a, &io, arrays);
  ATTEMPT(tensors_check(arrays, ARRAYS, &b->options, a->enqueue));
  if (!a->enqueue) ATTEMPT(b->backend->settle(b, NULL));
  for (;;) {
    io = io_of(b, a);
    if (a->enqueue) return b->backend->enqueue(b, &b->reverse, &io);
    ATTEMPT(b->backend->run(b, &b->reverse, &io, arrays, ARRAYS, (program_report){progress, user}));
    if (!io.need || io.stop) break;
    /* other steps share a group than in the rollout */
    ATTEMPT(batch_make_room(b, io.need, io.need_room, 1));
  }
  if (io.stop == STOP_UNRECORDED)
    return fail_with(
        ABUT_ERROR_ARGUMENT,
        "abut_rollout_vjp: the record is not that of the last rollout called: that was captured and "
        "has not run yet, or a replay has overwritten it");
  if (io.stop) return fail_with(ABUT_ERROR_ARGUMENT, "reverse pass stopped by its progress callback");
  return ABUT_OK;
}
