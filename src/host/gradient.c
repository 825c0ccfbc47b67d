/* gradient.c: the reverse pass of a recorded rollout: checks, and what the program works on. */
#include "backend.h"
#include "status.h"
#include "tape.h"
#include "tensor.h"

abut_vjp_args abut_default_vjp_args(void) {
  abut_vjp_args a = {0};
  return a;
}

static abut_status check_args(const abut_batch *b, const abut_vjp_args *a) {
  const abut_model *m = b->model;
  int64_t n = b->options.nenv, t = b->tape.nstep;
  const struct {
    const char *name;
    const abut_tensor *x;
    char code;
    int32_t ndim;
    int64_t shape[4];
  } list[] = {
      {"qpos", a->qpos, 'r', 3, {n, t + 1, m->nq}},
      {"qvel", a->qvel, 'r', 3, {n, t + 1, m->nv}},
      {"xpos", a->xpos, 'r', 4, {n, t + 1, m->nbody, 3}},
      {"xquat", a->xquat, 'r', 4, {n, t + 1, m->nbody, 4}},
      {"contact_force", a->contact_force, 'r', 4, {n, t, m->npair, 3}},
      {"qpos0", a->qpos0, 'r', 2, {n, m->nq}},
      {"qvel0", a->qvel0, 'r', 2, {n, m->nv}},
      {"ctrl", a->ctrl, 'r', 3, {n, t, m->nu}},
      {"gravity", a->gravity, 'r', 2, {n, 3}},
      {"friction", a->friction, 'r', 2, {n, m->ngeom}},
      {"mass", a->mass, 'r', 2, {n, m->nbody}},
      {"stiffness", a->stiffness, 'r', 2, {n, 1}},
      {"min_pivot", a->min_pivot, 'r', 1, {n}},
      {"status", a->status, 'u', 1, {n}},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    ABUT_TRY(tensor_check(list[i].name, list[i].x, b->options.dtype, list[i].code, list[i].ndim,
                          list[i].shape, NULL));
  return ABUT_OK;
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
  if (!b->tape_valid)
    return abut_fail(ABUT_ERROR_ARGUMENT,
                     "abut_rollout_vjp: the batch's last call was not a rollout with record = 1");
  ABUT_TRY(check_args(b, a));
  program_io io;
  for (;;) {
    io = io_of(b, a);
    ABUT_TRY(b->backend->run(b, &program_reverse, &io, (program_report){progress, user}));
    if (!io.need || io.stop) break;
    /* other steps share a group than in the rollout */
    ABUT_TRY(io.need_far ? batch_grow_far(b, io.need_far) : batch_grow_slots(b, (int32_t)io.need));
  }
  if (io.stop) return abut_fail(ABUT_ERROR_ARGUMENT, "reverse pass stopped by its progress callback");
  return ABUT_OK;
}
