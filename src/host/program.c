/* program.c: what a step does.
 *
 *   begin      poses at q and q-, boxes, the pair list, first planes of new pairs, lagged friction
 *   evaluate   energy, gradient, Hessian with planes eliminated; lanes within tolerance are finished
 *   direction  factor, solve, steps of planes, longest feasible step (evaluates again where H is indefinite)
 *   try        trial energy and certificate, halved until accepted
 *   finish     velocity, outputs, and on to the next step of the same environment, or to the next one
 *
 * Every environment is a small state machine that runs through these stages on its own clock: lanes of a
 * group share the instruction stream, not the step. A lane that converges early starts its next step while
 * its neighbours still iterate, so stragglers cost their own lane only. Stages leave lanes they do not work
 * for untouched, which is why a result cannot depend on who else is in the group. */
#include "program.h"
#include <math.h>
#include <string.h>
#include <time.h>

enum { MAX_HALVINGS = 40 };

/* splitmix64 finaliser: all randomness is a function of counters. */
uint64_t hash64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
double hash_uniform(uint64_t seed, uint64_t env, uint64_t step, uint64_t entry) {
  uint64_t h = hash64(hash64(hash64(hash64(seed) ^ env) ^ step) ^ entry);
  return (double)(h >> 11) * 0x1p-53;
}

static const char *input_row(const program_io *io, const abut_tensor *t, int64_t env, int64_t step,
                             int64_t n) {
  int64_t e = t->shape[0] == 1 ? 0 : env, s = t->ndim == 3 && t->shape[1] != 1 ? step : 0;
  int64_t steps = t->ndim == 3 ? t->shape[1] : 1;
  return (const char *)t->data + t->byte_offset + (size_t)((e * steps + s) * n) * elem_size(io->batch);
}
static char *output_row(const abut_tensor *t, int64_t row, int64_t n, size_t elem) {
  return (char *)t->data + t->byte_offset + (size_t)(row * n) * elem;
}

static int state_is_finite(const worker *w, int lane) {
  const abut_batch *b = w->batch;
  for (int32_t i = 0; i < b->model->nq; i++)
    if (!isfinite(lane_get(w, b->params.at.qpos_t + i, lane))) return 0;
  for (int32_t i = 0; i < b->model->nv; i++)
    if (!isfinite(lane_get(w, b->params.at.qvel + i, lane))) return 0;
  for (int32_t i = 0; i < b->model->nu; i++)
    if (!isfinite(lane_get(w, b->params.at.ctrl + i, lane))) return 0;
  return 1;
}

/* Outputs that describe a moment: index t of a T+1 axis. Poses are those of the last kinematics on xpos_try.
 */
static void write_moment(worker *w, program_io *io, int lane, int64_t t, int32_t qpos_field) {
  const abut_batch *b = w->batch;
  const abut_model *m = b->model;
  const work_layout *at = &b->params.at;
  const abut_rollout_args *a = io->args;
  size_t e = elem_size(b);
  int64_t row = w->env[lane] * (a->nstep + 1) + t;
  if (a->qpos) lane_store(w, qpos_field, lane, m->nq, output_row(a->qpos, row, m->nq, e));
  if (a->qvel) lane_store(w, at->qvel, lane, m->nv, output_row(a->qvel, row, m->nv, e));
  if (a->xpos) lane_store(w, at->xpos_try, lane, 3 * m->nbody, output_row(a->xpos, row, 3 * m->nbody, e));
  if (a->xquat) lane_store(w, at->xquat, lane, 4 * m->nbody, output_row(a->xquat, row, 4 * m->nbody, e));
}

/* Outputs that describe a step: index t of a T axis. */
static void write_step(worker *w, program_io *io, int lane, int64_t t, int32_t iterations) {
  const abut_batch *b = w->batch;
  const abut_rollout_args *a = io->args;
  const slot_layout *at = &b->params.slot_at;
  size_t e = elem_size(b);
  int64_t row = w->env[lane] * a->nstep + t, npair = b->model->npair;
  double gap = INFINITY;
  int32_t closest = -1;
  if (a->contact_force) memset(output_row(a->contact_force, row, 3 * npair, e), 0, (size_t)(3 * npair) * e);
  for (int32_t i = 0; i < w->g.nslot; i++) {
    int32_t s = w->g.order[i], pair = w->g.slot_pair[s];
    if (!(w->g.slot_on[s] & (1u << lane))) continue;
    double here = elem_get(b, slot_field(w, s, at->gap), lane);
    if (here < gap) {
      gap = here;
      closest = pair;
    }
    for (int c = 0; a->contact_force && c < 3; c++)
      elem_put(b, output_row(a->contact_force, row * npair + pair, 3, e), c,
               0 - elem_get(b, slot_field(w, s, at->force + c), lane)); /* never -0 */
  }
  if (a->min_gap) elem_put(b, output_row(a->min_gap, row, 1, e), 0, gap);
  if (a->min_pair) memcpy(output_row(a->min_pair, row, 1, 4), &closest, 4);
  if (a->energy) lane_store(w, b->params.at.energies, lane, 4, output_row(a->energy, row, 4, e));
  if (a->iterations) memcpy(output_row(a->iterations, row, 1, 4), &iterations, 4);
}

static void retire(worker *w, program_io *io, int lane) {
  slots_release(w, 1u << lane);
  w->env[lane] = -1;
  __atomic_add_fetch(&io->finished, 1, __ATOMIC_RELAXED);
}

static void commit(worker *w, int lane, uint32_t status) {
  abut_batch *b = w->batch;
  int64_t env = w->env[lane];
  size_t e = elem_size(b);
  const work_layout *at = &b->params.at;
  lane_store(w, at->qpos_t, lane, b->model->nq, b->next.qpos + (size_t)(env * b->model->nq) * e);
  lane_store(w, at->qvel, lane, b->model->nv, b->next.qvel + (size_t)(env * b->model->nv) * e);
  record_store(w, lane, &b->next.warm, env);
  b->next.status[env] |= status;
  b->next.fresh[env] = 0;
}

/* Stops an environment at its last good state (qpos_t, qvel): the rest of its outputs repeat it. */
static void freeze(worker *w, program_io *io, int lane, uint32_t status) {
  const abut_rollout_args *a = io->args;
  int64_t env = w->env[lane], first = w->step[lane];
  size_t e = elem_size(w->batch);
  const abut_model *m = w->batch->model;
  if (io->batch->tape_valid) io->batch->tape.done[env] = first;
  for (int64_t t = first; t < a->nstep; t++) {
    for (int i = 0; i < 4; i++) {
      const abut_tensor *out[4] = {a->qpos, a->qvel, a->xpos, a->xquat};
      const int64_t n[4] = {m->nq, m->nv, 3 * m->nbody, 4 * m->nbody};
      if (!out[i]) continue;
      char *row = output_row(out[i], env * (a->nstep + 1) + t + 1, n[i], e);
      memcpy(row, row - (size_t)n[i] * e, (size_t)n[i] * e);
    }
    slots_release(w, 1u << lane);
    slots_order(w);
    write_step(w, io, lane, t, 0);
    if (a->energy) memset(output_row(a->energy, env * a->nstep + t, 4, e), 0, 4 * e);
  }
  commit(w, lane, status);
  retire(w, io, lane);
}

/* Puts the next environment into a lane: its state, parameters and warm contacts; separates touching shapes.
 */
static int fetch(worker *w, program_io *io, int lane) {
  abut_batch *b = w->batch;
  const abut_rollout_args *a = io->args;
  const work_layout *at = &b->params.at;
  const abut_model *m = b->model;
  size_t e = elem_size(b);
  int64_t env = __atomic_fetch_add(&io->next, 1, __ATOMIC_RELAXED);
  if (env >= b->options.nenv) return 0;
  w->env[lane] = env;
  w->step[lane] = 0;
  w->iterations[lane] = 0;
  const batch_state *s = &b->state;
  lane_load(w, at->qpos_t, lane, m->nq,
            a->qpos0 ? input_row(io, a->qpos0, env, 0, m->nq) : s->qpos + (size_t)(env * m->nq) * e);
  lane_load(w, at->qvel, lane, m->nv,
            a->qvel0 ? input_row(io, a->qvel0, env, 0, m->nv) : s->qvel + (size_t)(env * m->nv) * e);
  for (int32_t i = 0; i < m->nu; i++) lane_set(w, at->ctrl + i, lane, 0);
  lane_parameters(w, lane, env);
  uint32_t status = a->qpos0 || a->qvel0 ? 0 : s->status[env];
  b->next.status[env] = status;
  int fresh = a->qpos0 || s->fresh[env];
  if (!a->qpos0) {
    record_load(w, lane, &s->warm, env);
    slots_order(w);
  }
  if (!state_is_finite(w, lane)) status |= ABUT_ENV_NONFINITE;
  double moved = 0;
  int32_t overlap_pair = -1;
  w->g.live = 1u << lane;
  if (fresh && !(status & ABUT_ENV_FROZEN)) {
    int32_t culprit;
    if (!separate_lane(w, lane, &moved, &culprit)) {
      status |= ABUT_ENV_OVERLAP;
      overlap_pair = culprit;
    }
    slots_release(w, 1u << lane);
    slots_order(w);
    w->g.live = 1u << lane;
  }
  b->kernels->begin(&b->params, &w->g); /* poses of the start, normalised quaternions */
  if (a->moved) elem_put(b, output_row(a->moved, env, 1, e), 0, moved);
  if (a->overlap_pair) memcpy(output_row(a->overlap_pair, env, 1, 4), &overlap_pair, 4);
  b->kernels->finish(&b->params, &w->g);
  if (a->qvel0)
    lane_load(w, at->qvel, lane, m->nv, input_row(io, a->qvel0, env, 0, m->nv));
  else
    lane_load(w, at->qvel, lane, m->nv, s->qvel + (size_t)(env * m->nv) * e);
  write_moment(w, io, lane, 0, at->qpos_t);
  if (b->tape_valid) {
    lane_store(w, at->qpos_t, lane, m->nq, b->tape.qpos_start + (size_t)(env * m->nq) * e);
    record_store(w, lane, &b->tape.start, env);
    b->tape.done[env] = a->nstep;
  }
  if ((status & ABUT_ENV_FROZEN) || a->nstep == 0) freeze(w, io, lane, status); /* no step to begin */
  return 1;
}

static uint32_t fill_lanes(worker *w, program_io *io) {
  uint32_t began = 0;
  for (int lane = 0; lane < w->batch->kernels->lanes; lane++) {
    while (w->env[lane] < 0 && !io->stop && fetch(w, io, lane)) began |= 1u << lane;
    if (w->env[lane] < 0) began &= ~(1u << lane);
  }
  return began;
}

/* Where this lane's velocity will be committed; until then it keeps the one before the kick. */
static char *next_velocity(const worker *w, int lane) {
  const abut_batch *b = w->batch;
  return b->next.qvel + (size_t)(w->env[lane] * b->model->nv) * elem_size(b);
}

/* Controls and kicks of the step that a lane begins. */
static void load_step(worker *w, program_io *io, int lane) {
  abut_batch *b = w->batch;
  const abut_rollout_args *a = io->args;
  const work_layout *at = &b->params.at;
  int64_t env = w->env[lane], step = w->step[lane];
  if (a->ctrl) lane_load(w, at->ctrl, lane, b->model->nu, input_row(io, a->ctrl, env, step, b->model->nu));
  if (a->kick > 0) lane_store(w, at->qvel, lane, b->model->nv, next_velocity(w, lane));
  for (int32_t i = 0; a->kick > 0 && i < b->model->nv; i++) {
    double u = 2 * hash_uniform(a->kick_seed, (uint64_t)env, (uint64_t)step, (uint64_t)i) - 1;
    lane_set(w, at->qvel + i, lane, lane_get(w, at->qvel + i, lane) + a->kick * u);
  }
  if (b->tape_valid) {
    size_t e = elem_size(b);
    lane_store(w, at->qvel, lane, b->model->nv,
               b->tape.qvel + (size_t)((step * b->options.nenv + env) * b->model->nv) * e);
  }
}

/* The pair list of lanes that begin a step (replace) or whose trial left its boxes (only add). */
void pairs_update(worker *w, uint32_t lanes, int replace) {
  lane_group *g = &w->g;
  int changed = 0;
  for (int32_t s = 0; replace && s < g->capacity; s++) {
    if (g->slot_pair[s] < 0) continue;
    g->slot_on[s] &= ~lanes | g->pair_want[g->slot_pair[s]];
    if (g->slot_on[s]) continue;
    g->pair_slot[g->slot_pair[s]] = -1;
    g->slot_pair[s] = -1;
    changed = 1;
  }
  for (int32_t s = 0; s < g->capacity; s++) g->slot_new[s] = 0;
  for (int32_t p = 0; p < w->batch->model->npair; p++) {
    uint32_t want = g->pair_want[p] & lanes;
    int32_t s = g->pair_slot[p];
    if (!want || (s >= 0 && (g->slot_on[s] & want) == want)) continue;
    changed |= s < 0;
    slot_acquire(w, p, s < 0 ? want : want & ~g->slot_on[s], 1);
  }
  if (changed) slots_order(w);
}

static uint32_t begin_steps(worker *w, program_io *io, uint32_t lanes) {
  const abut_kernels *k = w->batch->kernels;
  const step_params *p = &w->batch->params;
  uint32_t bad = 0;
  for (int lane = 0; lane < k->lanes; lane++) {
    if (!(lanes & (1u << lane))) continue;
    load_step(w, io, lane);
    w->iterations[lane] = 0;
    if (!state_is_finite(w, lane)) bad |= 1u << lane;
  }
  w->g.live = lanes & ~bad;
  k->begin(p, &w->g);
  k->boxes(p, &w->g, 0);
  pairs_update(w, w->g.live, 1);
  w->g.overlap = 0;
  k->start(p, &w->g);
  k->friction(p, &w->g);
  return bad;
}

/* Returns the lanes that have another step to begin. */
static uint32_t finish_steps(worker *w, program_io *io, uint32_t lanes) {
  uint32_t more = 0;
  abut_batch *b = w->batch;
  const abut_kernels *k = b->kernels;
  const work_layout *at = &b->params.at;
  size_t e = elem_size(b);
  w->g.live = lanes;
  if (io->args->energy) k->energies(&b->params, &w->g);
  k->finish(&b->params, &w->g);
  for (int lane = 0; lane < k->lanes; lane++) {
    if (!(lanes & (1u << lane))) continue;
    int64_t env = w->env[lane], step = w->step[lane]++, row = step * b->options.nenv + env;
    w->newton += w->iterations[lane];
    if (w->iterations[lane] > w->newton_max) w->newton_max = w->iterations[lane];
    write_moment(w, io, lane, step + 1, at->qpos);
    write_step(w, io, lane, step, w->iterations[lane]);
    if (b->tape_valid) {
      lane_store(w, at->qpos, lane, b->model->nq, b->tape.qpos + (size_t)(row * b->model->nq) * e);
      record_store(w, lane, &b->tape.steps, row);
    }
    for (int32_t i = 0; i < b->model->nq; i++)
      lane_set(w, at->qpos_t + i, lane, lane_get(w, at->qpos + i, lane));
    if (w->step[lane] == io->args->nstep) {
      commit(w, lane, 0);
      retire(w, io, lane);
    } else {
      more |= 1u << lane;
    }
  }
  __atomic_add_fetch(&io->steps, __builtin_popcount(lanes), __ATOMIC_RELAXED);
  return more;
}

/* Line search of all lanes in flight. Returns those that found no acceptable point; lanes that left their
 * boxes get their pairs and evaluate again. */
static uint32_t search(worker *w, uint32_t lanes) {
  const abut_kernels *k = w->batch->kernels;
  const step_params *p = &w->batch->params;
  uint32_t open = lanes;
  for (int half = 0; half < MAX_HALVINGS && open; half++) {
    w->g.live = open;
    k->try_(p, &w->g);
    uint32_t accepted = w->g.accepted, leaving = w->g.leaving;
    w->g.live = accepted;
    if (accepted) k->accept(p, &w->g);
    if (leaving) {
      w->g.live = leaving;
      k->boxes(p, &w->g, 1);
      pairs_update(w, leaving, 0);
      k->start(p, &w->g);
    }
    open &= ~(accepted | leaving);
  }
  return open;
}

/* A step for the lanes in flight. Where H is indefinite, evaluates again with contact terms made convex. */
static void find_direction(worker *w) {
  const abut_kernels *k = w->batch->kernels;
  const step_params *p = &w->batch->params;
  k->direction(p, &w->g);
  if (!w->g.indefinite) return;
  k->evaluate(p, &w->g, 0);
  k->direction(p, &w->g);
}

/* The calling thread's worker reports about ten times a second. */
static void progress_report(const worker *w, program_io *io) {
  if (!io->progress || w != io->batch->workers) return;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  double t = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  if (t - io->reported < 0.1) return;
  io->reported = t;
  double total = (double)io->batch->options.nenv * (double)io->args->nstep;
  if (io->progress(io->user, (double)__atomic_load_n(&io->steps, __ATOMIC_RELAXED) / total)) io->stop = 1;
}

static void freeze_lanes(worker *w, program_io *io, uint32_t lanes, uint32_t status) {
  for (int lane = 0; lane < w->batch->kernels->lanes; lane++) {
    if (!(lanes & (1u << lane))) continue;
    if (io->args->kick > 0)
      lane_load(w, w->batch->params.at.qvel, lane, w->batch->model->nv, next_velocity(w, lane));
    freeze(w, io, lane, status);
  }
}

/* Lanes that stop iterating without meeting the tolerance. */
static void mark_unconverged(worker *w, uint32_t lanes) {
  for (int lane = 0; lane < w->batch->kernels->lanes; lane++)
    if (lanes & (1u << lane)) {
      w->batch->next.status[w->env[lane]] |= ABUT_ENV_UNCONVERGED;
      w->unconverged++;
    }
}

void program_run(worker *w, program_io *io) {
  const abut_kernels *k = w->batch->kernels;
  const step_params *p = &w->batch->params;
  uint32_t begin = 0, newton = 0, stuck = 0;
  for (;;) {
    begin |= fill_lanes(w, io);
    if (io->stop || w->need) break;
    if (!(begin | newton)) break;
    if (begin) {
      uint32_t bad = begin_steps(w, io, begin), overlap = w->g.overlap & begin & ~bad;
      if (w->need) break;
      freeze_lanes(w, io, bad, ABUT_ENV_NONFINITE);
      freeze_lanes(w, io, overlap, ABUT_ENV_OVERLAP);
      newton |= begin & ~(bad | overlap);
      begin = 0;
      if (!newton) continue;
    }
    w->g.live = newton;
    k->evaluate(p, &w->g, 0);
    uint32_t sick = newton & ~w->g.accepted, done = w->g.converged & newton;
    uint32_t open = newton & ~done & ~sick, late = open & stuck;
    for (int lane = 0; lane < k->lanes; lane++) {
      if (!(open & ~late & (1u << lane))) continue;
      if (w->iterations[lane] >= p->max_iterations)
        late |= 1u << lane;
      else
        w->iterations[lane]++;
    }
    mark_unconverged(w, late);
    done |= late;
    newton &= ~(done | sick);
    begin = 0;
    if (done) begin |= finish_steps(w, io, done);
    freeze_lanes(w, io, sick, ABUT_ENV_NONFINITE);
    stuck = 0;
    if (!newton) continue;
    w->g.live = newton;
    find_direction(w);
    uint32_t exhausted = w->g.exhausted & newton;
    newton &= ~exhausted;
    if (exhausted) begin |= finish_steps(w, io, exhausted);
    stuck = search(w, newton);
    if (w->need) break;
    progress_report(w, io);
  }
}
