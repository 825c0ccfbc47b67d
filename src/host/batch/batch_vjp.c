/* batch_vjp.c: the reverse pass of a recorded rollout: checks, and what the program works on. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tape.h"
#include <string.h>

abut_vjp_args abut_default_vjp_args(void) {
  abut_vjp_args a = {0};
  return a;
}

enum { ARRAYS = 14 };

/* The caller's arrays, and where io points to them. */
static void arrays_of(const abut_batch *b, const abut_vjp_args *a, program_io *io,
                      caller_array list[ARRAYS]) {
  const abut_model *m = b->model;
  int64_t n = b->options.nenv, t = b->tape.nstep;
  cotangents *o = &io->bar;
  const caller_array all[ARRAYS] = {
      {"qpos", a->qpos, 'r', 3, {n, t + 1, m->nq}, ARRAY_IN, &o->qpos},
      {"qvel", a->qvel, 'r', 3, {n, t + 1, m->nv}, ARRAY_IN, &o->qvel},
      {"xpos", a->xpos, 'r', 4, {n, t + 1, m->nbody, 3}, ARRAY_IN, &o->xpos},
      {"xquat", a->xquat, 'r', 4, {n, t + 1, m->nbody, 4}, ARRAY_IN, &o->xquat},
      {"contact_force", a->contact_force, 'r', 4, {n, t, m->npair, 3}, ARRAY_IN, &o->contact_force},
      {"qpos0", a->qpos0, 'r', 2, {n, m->nq}, ARRAY_OUT, &o->qpos0},
      {"qvel0", a->qvel0, 'r', 2, {n, m->nv}, ARRAY_OUT, &o->qvel0},
      {"ctrl", a->ctrl, 'r', 3, {n, t, m->nu}, ARRAY_OUT, &o->ctrl},
      {"gravity", a->gravity, 'r', 2, {n, 3}, ARRAY_OUT, &o->gravity},
      {"friction", a->friction, 'r', 2, {n, m->ngeom}, ARRAY_OUT, &o->friction},
      {"mass", a->mass, 'r', 2, {n, m->nbody}, ARRAY_OUT, &o->mass},
      {"stiffness", a->stiffness, 'r', 2, {n, 1}, ARRAY_OUT, &o->stiffness},
      {"min_pivot", a->min_pivot, 'r', 1, {n}, ARRAY_OUT, &o->min_pivot},
      {"status", a->status, 'u', 1, {n}, ARRAY_OUT, &o->status},
  };
  memcpy(list, all, sizeof all);
}

static program_io io_of(const abut_batch *b, const abut_vjp_args *a) {
  program_io io = program_io_of(b);
  io.nstep = b->tape.nstep;
  io.exact = 1;
  io.bar = (cotangents){.qpos = tensor_data(a->qpos),
                        .qvel = tensor_data(a->qvel),
                        .xpos = tensor_data(a->xpos),
                        .xquat = tensor_data(a->xquat),
                        .contact_force = tensor_data(a->contact_force),
                        .qpos0 = tensor_data(a->qpos0),
                        .qvel0 = tensor_data(a->qvel0),
                        .ctrl = tensor_data(a->ctrl),
                        .gravity = tensor_data(a->gravity),
                        .friction = tensor_data(a->friction),
                        .mass = tensor_data(a->mass),
                        .stiffness = tensor_data(a->stiffness),
                        .min_pivot = tensor_data(a->min_pivot),
                        .status = tensor_data(a->status)};
  return io;
}

abut_status abut_rollout_vjp(abut_batch *b, const abut_vjp_args *a, abut_progress progress, void *user) {
  ABUT_REQUIRE(b, "batch");
  ABUT_REQUIRE(a, "args");
  program_io io;
  caller_array arrays[ARRAYS];
  if (a->enqueue) ABUT_TRY(program_may_enqueue(b, progress != NULL));
  if (!b->tape_valid)
    return abut_fail(ABUT_ERROR_ARGUMENT,
                     "abut_rollout_vjp: the batch's last call was not a rollout with record = 1");
  arrays_of(b, a, &io, arrays);
  ABUT_TRY(tensors_check(arrays, ARRAYS, &b->options, a->enqueue));
  if (!a->enqueue) ABUT_TRY(b->backend->settle(b, NULL));
  for (;;) {
    io = io_of(b, a);
    if (a->enqueue) return b->backend->enqueue(b, &program_reverse, &io);
    ABUT_TRY(b->backend->run(b, &program_reverse, &io, arrays, ARRAYS, (program_report){progress, user}));
    if (!io.need || io.stop) break;
    /* other steps share a group than in the rollout */
    ABUT_TRY(batch_make_room(b, io.need, io.need_far, 1));
  }
  if (io.stop == STOP_UNRECORDED)
    return abut_fail(
        ABUT_ERROR_ARGUMENT,
        "abut_rollout_vjp: the record is not that of the last rollout called: that was captured and "
        "has not run yet, or a replay has overwritten it");
  if (io.stop) return abut_fail(ABUT_ERROR_ARGUMENT, "reverse pass stopped by its progress callback");
  return ABUT_OK;
}
