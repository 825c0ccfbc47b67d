/* gradient.c: the reverse pass of a recorded rollout. Lanes walk their environments backwards, one step a
 * round: the step's start is set up exactly as in the forward pass, its recorded end is evaluated once, and
 * one adjoint solve (reverse.inl) turns cotangents of the end into cotangents of the start. */
#include "program.h"
#include "status.h"
#include "tape.h"
#include "tensor.h"
#include <math.h>
#include <string.h>

typedef struct reverse_io {
  abut_batch *batch;
  const abut_vjp_args *args;
  int64_t next, steps;
  volatile int stop;
  abut_progress progress;
  void *user;
} reverse_io;

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

static char *row_of(const abut_batch *b, const abut_tensor *t, int64_t row, int64_t n) {
  return (char *)t->data + t->byte_offset + (size_t)(row * n) * elem_size(b);
}

/* Field of a lane := (add: +=) sum of rows first..last of a cotangent. */
static void load_sum(worker *w, int lane, int32_t field, const abut_tensor *t, int64_t first, int64_t last,
                     int32_t n, int add) {
  const abut_batch *b = w->batch;
  if (first == last && !add) {
    lane_load(w, field, lane, n, row_of(b, t, first, n));
    return;
  }
  for (int32_t i = 0; i < n; i++) {
    double sum = add ? lane_get(w, field + i, lane) : 0;
    for (int64_t r = first; r <= last; r++) sum += elem_get(b, row_of(b, t, r, n), i);
    lane_set(w, field + i, lane, sum);
  }
}

/* Cotangents of the outputs at moments first..last (several only after an environment froze). Those that are
 * not given stay at zero. */
static void load_moments(worker *w, const reverse_io *io, int lane, int64_t first, int64_t last) {
  const abut_batch *b = w->batch;
  const abut_vjp_args *a = io->args;
  const work_layout *at = &b->params.at;
  int64_t row = w->env[lane] * (b->tape.nstep + 1);
  const abut_model *m = b->model;
  if (a->qpos) load_sum(w, lane, at->bar_out_qpos, a->qpos, row + first, row + last, m->nq, 0);
  if (a->xpos) load_sum(w, lane, at->bar_out_xpos, a->xpos, row + first, row + last, 3 * m->nbody, 0);
  if (a->xquat) load_sum(w, lane, at->bar_out_xquat, a->xquat, row + first, row + last, 4 * m->nbody, 0);
  if (a->qvel) load_sum(w, lane, at->bar_qvel, a->qvel, row + first, row + last, m->nv, 1);
}

static void load_zero(worker *w, int lane, int32_t field, int32_t n) {
  for (int32_t i = 0; i < n; i++) lane_set(w, field + i, lane, 0);
}

static int fetch(worker *w, reverse_io *io, int lane) {
  abut_batch *b = w->batch;
  const work_layout *at = &b->params.at;
  const abut_model *m = b->model;
  int64_t env = __atomic_fetch_add(&io->next, 1, __ATOMIC_RELAXED);
  if (env >= b->options.nenv || io->stop) return 0;
  w->env[lane] = env;
  w->step[lane] = b->tape.done[env] - 1;
  load_zero(w, lane, at->bar_out_qpos, m->nq);
  load_zero(w, lane, at->bar_out_xpos, 3 * m->nbody);
  load_zero(w, lane, at->bar_out_xquat, 4 * m->nbody);
  load_zero(w, lane, at->bar_qpos, m->nv);
  load_zero(w, lane, at->bar_qvel, m->nv);
  load_zero(w, lane, at->bar_gravity, 3);
  load_zero(w, lane, at->bar_mass, m->nbody);
  load_zero(w, lane, at->bar_friction, m->ngeom);
  load_zero(w, lane, at->bar_stiffness, 1);
  for (int32_t i = 0; i < m->nu; i++) lane_set(w, at->ctrl + i, lane, 0);
  lane_parameters(w, lane, env);
  if (io->args->min_pivot) elem_put(b, row_of(b, io->args->min_pivot, env, 1), 0, INFINITY);
  if (io->args->status) memcpy(row_of(b, io->args->status, 0, 0) + 4 * env, &b->state.status[env], 4);
  if (io->args->ctrl)
    memset(row_of(b, io->args->ctrl, env * b->tape.nstep, m->nu), 0,
           (size_t)(b->tape.nstep * m->nu) * elem_size(b));
  return 1;
}

/* State, control and contacts at the start of the lane's step. */
static void load_start(worker *w, int lane) {
  abut_batch *b = w->batch;
  const abut_tape *t = &b->tape;
  const work_layout *at = &b->params.at;
  size_t e = elem_size(b);
  int64_t env = w->env[lane], step = w->step[lane], n = b->options.nenv, row = step * n + env;
  int32_t nq = b->model->nq, nv = b->model->nv, nu = b->model->nu;
  const char *q = step == 0 ? t->qpos_start + (size_t)(env * nq) * e : t->qpos + (size_t)((row - n) * nq) * e;
  lane_load(w, at->qpos_t, lane, nq, q);
  lane_load(w, at->qvel, lane, nv, t->qvel + (size_t)(row * nv) * e);
  if (t->ctrl) {
    int64_t r = t->ctrl_rows == 1 ? 0 : env, c = t->ctrl_steps == 1 ? 0 : step;
    lane_load(w, at->ctrl, lane, nu, t->ctrl + (size_t)((r * t->ctrl_steps + c) * nu) * e);
  }
  if (step == 0)
    record_load(w, lane, &t->start, env);
  else
    record_load(w, lane, &t->steps, row - n);
}

/* Asks for the pairs of the lane's step. One that joined in its middle is out of reach at its start. */
static void want_pairs(worker *w, int lane) {
  const abut_batch *b = w->batch;
  const contact_record *r = &b->tape.steps;
  int64_t row = w->step[lane] * b->options.nenv + w->env[lane];
  for (int32_t i = 0; i < r->count[row]; i++) w->g.pair_want[r->pair[row * b->capacity + i]] |= 1u << lane;
}

/* Recorded end of the step, and the cotangents of what it returned. */
static void load_end(worker *w, const reverse_io *io, int lane) {
  abut_batch *b = w->batch;
  const abut_tape *t = &b->tape;
  size_t e = elem_size(b);
  int64_t env = w->env[lane], step = w->step[lane], row = step * b->options.nenv + env,
          npair = b->model->npair;
  lane_load(w, b->params.at.qpos, lane, b->model->nq, t->qpos + (size_t)(row * b->model->nq) * e);
  record_load(w, lane, &t->steps, row);
  int64_t last = step == t->done[env] - 1 ? t->nstep : step + 1;
  load_moments(w, io, lane, step + 1, last);
  const abut_tensor *f = io->args->contact_force;
  for (int32_t i = 0; f && i < w->g.nslot; i++) {
    int32_t s = w->g.order[i];
    const char *force = row_of(b, f, (env * t->nstep + step) * npair + w->g.slot_pair[s], 3);
    for (int c = 0; c < 3; c++)
      elem_put(b, slot_field(w, s, b->params.slot_at.bar_contact + c), lane, elem_get(b, force, c));
  }
}

static void store_step(worker *w, const reverse_io *io, int lane) {
  const abut_batch *b = w->batch;
  const abut_vjp_args *a = io->args;
  const work_layout *at = &b->params.at;
  int64_t env = w->env[lane], step = w->step[lane];
  double pivot = lane_get(w, at->pivot, lane);
  if (a->ctrl)
    lane_store(w, at->bar_ctrl, lane, b->model->nu,
               row_of(b, a->ctrl, env * b->tape.nstep + step, b->model->nu));
  if (a->min_pivot && pivot < elem_get(b, row_of(b, a->min_pivot, env, 1), 0))
    elem_put(b, row_of(b, a->min_pivot, env, 1), 0, pivot);
  if (a->status && !(pivot > 0)) {
    uint32_t *status = (uint32_t *)(void *)((char *)a->status->data + a->status->byte_offset) + env;
    *status |= ABUT_ENV_NOT_MINIMUM;
  }
}

/* A start that is not a number leaves nothing to differentiate: zero. */
static int start_is_finite(const worker *w, int lane) {
  for (int32_t i = 0; i < w->batch->model->nq; i++)
    if (!isfinite(lane_get(w, w->batch->params.at.qpos_t + i, lane))) return 0;
  return 1;
}

static void store_end(worker *w, reverse_io *io, int lane) {
  abut_batch *b = w->batch;
  const abut_vjp_args *a = io->args;
  const work_layout *at = &b->params.at;
  const abut_model *m = b->model;
  int64_t env = w->env[lane], last = b->tape.done[env] > 0 ? 0 : b->tape.nstep;
  size_t e = elem_size(b);
  lane_load(w, at->qpos_t, lane, m->nq, b->tape.qpos_start + (size_t)(env * m->nq) * e);
  load_moments(w, io, lane, 0, last);
  w->g.live = 1u << lane;
  b->kernels->reverse_start(&b->params, &w->g);
  if (!start_is_finite(w, lane)) {
    load_zero(w, lane, at->qpos_try, m->nq);
    load_zero(w, lane, at->bar_qvel, m->nv);
  }
  const struct {
    const abut_tensor *t;
    int32_t field, n;
  } list[] = {{a->qpos0, at->qpos_try, m->nq},   {a->qvel0, at->bar_qvel, m->nv},
              {a->gravity, at->bar_gravity, 3},  {a->friction, at->bar_friction, m->ngeom},
              {a->mass, at->bar_mass, m->nbody}, {a->stiffness, at->bar_stiffness, 1}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i].t) lane_store(w, list[i].field, lane, list[i].n, row_of(b, list[i].t, env, list[i].n));
  w->env[lane] = -1;
}

/* One step backwards for the given lanes. */
static void step_back(worker *w, const reverse_io *io, uint32_t lanes) {
  const abut_kernels *k = w->batch->kernels;
  const step_params *p = &w->batch->params;
  slots_release(w, ~0u);
  for (int lane = 0; lane < k->lanes; lane++)
    if (lanes & (1u << lane)) load_start(w, lane);
  memset(w->g.pair_want, 0, (size_t)w->batch->model->npair * sizeof *w->g.pair_want);
  for (int lane = 0; lane < k->lanes; lane++)
    if (lanes & (1u << lane)) want_pairs(w, lane);
  pairs_update(w, lanes, 1);
  slots_order(w);
  w->g.live = lanes;
  k->begin(p, &w->g);
  k->start(p, &w->g);
  k->friction(p, &w->g);
  for (int lane = 0; lane < k->lanes; lane++)
    if (lanes & (1u << lane)) load_end(w, io, lane);
  w->g.live = lanes;
  k->evaluate(p, &w->g, 1);
  k->reverse(p, &w->g);
}

static void reverse_run(worker *w, reverse_io *io) {
  const abut_kernels *k = w->batch->kernels;
  for (int32_t s = 0; s < w->g.capacity; s++)
    for (int i = 0; i < 3 * k->lanes; i++)
      elem_put(w->batch, slot_field(w, s, w->batch->params.slot_at.bar_contact), i, 0);
  for (;;) {
    uint32_t lanes = 0;
    for (int lane = 0; lane < k->lanes; lane++) {
      while (w->env[lane] < 0 && fetch(w, io, lane))
        if (w->step[lane] < 0) store_end(w, io, lane);
      if (w->env[lane] >= 0) lanes |= 1u << lane;
    }
    if (!lanes) break;
    step_back(w, io, lanes);
    for (int lane = 0; lane < k->lanes; lane++) {
      if (!(lanes & (1u << lane))) continue;
      store_step(w, io, lane);
      if (w->step[lane]-- == 0) store_end(w, io, lane);
    }
    int64_t done = __atomic_add_fetch(&io->steps, __builtin_popcount(lanes), __ATOMIC_RELAXED);
    double total = (double)w->batch->options.nenv * (double)w->batch->tape.nstep;
    if (io->progress && w == w->batch->workers && io->progress(io->user, (double)done / total)) io->stop = 1;
    if (io->stop) break;
  }
  slots_release(w, ~0u);
  slots_order(w);
  for (int lane = 0; lane < 16; lane++) w->env[lane] = -1;
}

static void reverse_main(worker *w, void *io) { reverse_run(w, io); }

abut_status abut_rollout_vjp(abut_batch *b, const abut_vjp_args *a, abut_progress progress, void *user) {
  ABUT_REQUIRE(b, "batch");
  ABUT_REQUIRE(a, "args");
  if (!b->tape_valid)
    return abut_fail(ABUT_ERROR_ARGUMENT,
                     "abut_rollout_vjp: the batch's last call was not a rollout with record = 1");
  ABUT_TRY(check_args(b, a));
  reverse_io io = {b, a, 0, 0, 0, progress, user};
  workers_run(b, reverse_main, &io);
  if (io.stop) return abut_fail(ABUT_ERROR_ARGUMENT, "reverse pass stopped by its progress callback");
  return ABUT_OK;
}
