/* gradient.inl: what lanes do between the stages of the reverse pass. They walk their environments
 * backwards, one step a round: the step's start is set up exactly as in the forward pass, its recorded end is
 * evaluated once, and one adjoint solve (the method's) turns cotangents of the end into cotangents of the
 * start. */

/* Field of a lane := (add: +=) sum of rows first..last of a cotangent. */
FN void load_sum(real *field, int lane, const char *from, int64_t first, int64_t last, int32_t n, int add) {
  const elem *rows = (const elem *)from;
  for (int32_t i = 0; i < n; i++) {
    double sum = add ? LANE(field, i, lane) : 0;
    for (int64_t r = first; r <= last; r++) sum += rows[r * n + i];
    LANE(field, i, lane) = (elem)sum;
  }
}

/* Cotangents of the outputs at moments first..last (several only after an environment froze). Those that are
 * not given stay at zero. */
FN void load_moments(const step_params *k, real *w, const program_io *io, int64_t env, int lane,
                     int64_t first, int64_t last) {
  const abut_model *m = k->model;
  const cotangents *a = &io->bar;
  int64_t row = env * (io->nstep + 1), from = row + first, to = row + last;
  if (a->qpos) load_sum(W(bar_out_qpos), lane, a->qpos, from, to, m->nq, 0);
  if (a->xpos) load_sum(W(bar_out_xpos), lane, a->xpos, from, to, 3 * m->nbody, 0);
  if (a->xquat) load_sum(W(bar_out_xquat), lane, a->xquat, from, to, 4 * m->nbody, 0);
  if (a->act) load_sum(W(bar_act), lane, a->act, from, to, m->na, 1);
  if (a->qvel) load_sum(W(bar_qvel), lane, a->qvel, from, to, m->nv, 1);
}

FN void back_fetch_lane(const step_params *k, lane_group *g, program_io *io, int lane, int64_t env) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  g->env[lane] = env;
  g->step[lane] = io->tape.done[env] - 1;
  lane_zero(W(bar_out_qpos), lane, m->nq);
  lane_zero(W(bar_out_xpos), lane, 3 * m->nbody);
  lane_zero(W(bar_out_xquat), lane, 4 * m->nbody);
  lane_zero(W(bar_qpos), lane, m->nv);
  lane_zero(W(bar_qvel), lane, m->nv);
  lane_zero(W(bar_act), lane, m->na);
#define COTANGENT(name, count) lane_zero(W(bar_##name), lane, io->parameters[PARAM_##name].n);
#include "kernels/clock/parameters.def"
  lane_zero(W(ctrl), lane, m->nu);
  lane_parameters(k, w, io, lane, env);
  if (io->bar.min_pivot) ((elem *)io->bar.min_pivot)[env] = (elem)INFINITY;
  if (io->bar.status) ((uint32_t *)io->bar.status)[env] = io->state.status[env];
  for (int64_t i = 0; io->bar.ctrl && i < io->nstep * m->nu; i++)
    ((elem *)io->bar.ctrl)[env * io->nstep * m->nu + i] = 0;
}

/* Idle lanes take environments; those without a step are at their start already. */
KERNEL void stage_back_fetch(const step_params *k, lane_group *g, program_io *io) {
  if (!LEADER) return;
  for (int lane = 0; lane < ABUT_LANES && !counter_get(&io->stop); lane++) {
    if (g->env[lane] >= 0 || counter_get(&io->next_env) >= io->nenv) continue;
    int64_t env = counter_add(&io->next_env, 1);
    if (env >= io->nenv) continue;
    back_fetch_lane(k, g, io, lane, env);
    counter_add(&io->opened, 1);
    if (g->step[lane] < 0)
      SET(finishing) |= 1u << lane;
    else
      SET(iterating) |= 1u << lane;
  }
}

/* State, control and contacts at the start of the lane's step. */
FN void load_start(const step_params *k, lane_group *g, program_io *io, int lane) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  const rollout_tape *t = &io->tape;
  int64_t env = g->env[lane], step = g->step[lane], row = step * io->nenv + env;
  const elem *q = step == 0 ? (const elem *)t->qpos_start + env * m->nq
                            : (const elem *)t->qpos + (row - io->nenv) * m->nq;
  lane_load(W(qpos_t), lane, m->nq, q);
  lane_load(W(qvel), lane, m->nv, (const elem *)t->qvel + row * m->nv);
  lane_load(W(act), lane, m->na, (const elem *)t->act + row * m->na);
  lane_load(W(ctrl), lane, m->nu, (const elem *)t->ctrl + row * m->nu);
  record_load(k, g, io, lane, step == 0 ? &t->start : &t->steps, step == 0 ? env : row - io->nenv);
}

/* Starts of the steps, and the pairs that the steps had. One that joined in its middle is out of reach at its
 * start. live: lanes that step back. */
KERNEL void stage_back_load(const step_params *k, lane_group *g, program_io *io) {
  const contact_record *r = &io->tape.steps;
  if (!LEADER) return;
  g->live = SET(iterating);
  slots_keep(g, ~0u, 0);
  LANE_LOOP(lane, g->live) load_start(k, g, io, lane);
  for (int32_t p = 0; p < k->model->npair; p++) g->pair_want[p] = 0;
  LANE_LOOP(lane, g->live) {
    int64_t row = g->step[lane] * io->nenv + g->env[lane];
    for (int32_t i = 0; i < r->count[row]; i++) g->pair_want[r->pair[row * io->capacity + i]] |= 1u << lane;
  }
  slots_update(k, g, io, g->live, 1);
  slots_order(k, g);
}

/* Recorded ends of the steps, and the cotangents of what they returned. */
KERNEL void stage_back_end(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  const elem *force = (const elem *)io->bar.contact_force;
  if (!LEADER) return;
  LANE_LOOP(lane, g->live) {
    int64_t env = g->env[lane], step = g->step[lane], row = step * io->nenv + env;
    int64_t last = step == io->tape.done[env] - 1 ? io->nstep : step + 1;
    lane_load(W(qpos), lane, m->nq, (const elem *)io->tape.qpos + row * m->nq);
    record_load(k, g, io, lane, &io->tape.steps, row);
    load_moments(k, w, io, env, lane, step + 1, last);
    for (int32_t i = 0; i < g->nslot; i++) {
      int32_t s = g->order[i];
      const elem *f = force ? force + ((env * io->nstep + step) * m->npair + g->slot_pair[s]) * 3 : 0;
      for (int c = 0; c < 3; c++) LANE(SLOT_AT(s, bar_contact), c, lane) = f ? f[c] : 0;
    }
  }
}

/* Results of the steps. */
KERNEL void stage_back_store(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  if (!LEADER) return;
  LANE_LOOP(lane, g->live) {
    int64_t env = g->env[lane], step = g->step[lane];
    elem pivot = LANE(W(pivot), 0, lane), *lowest = (elem *)io->bar.min_pivot;
    if (io->bar.ctrl)
      lane_store(W(bar_ctrl), lane, m->nu, (elem *)io->bar.ctrl + (env * io->nstep + step) * m->nu);
    if (lowest && pivot < lowest[env]) lowest[env] = pivot;
    if (io->bar.status && !(pivot > 0)) ((uint32_t *)io->bar.status)[env] |= ABUT_ENV_NOT_MINIMUM;
    counter_add(&io->steps, 1);
    if (g->step[lane]-- > 0) continue;
    SET(iterating) &= ~(1u << lane);
    SET(finishing) |= 1u << lane;
  }
}

/* Cotangents of the start's outputs. live: lanes that are at the start of their rollout. */
KERNEL void stage_back_start(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  if (!LEADER) return;
  LANE_LOOP(lane, SET(finishing)) {
    int64_t env = g->env[lane], last = io->tape.done[env] > 0 ? 0 : io->nstep;
    lane_load(W(qpos_t), lane, k->model->nq, (const elem *)io->tape.qpos_start + env * k->model->nq);
    load_moments(k, w, io, env, lane, 0, last);
  }
  g->live = SET(finishing);
}

/* Row env of a cotangent, where it is wanted. */
FN void bar_store(const real *field, int lane, int32_t n, char *to, int64_t env) {
  if (to) lane_store(field, lane, n, (elem *)to + env * n);
}

/* Results of the whole rollout; the lanes are free. A start that is not a number leaves nothing to
 * differentiate: zero. */
KERNEL void stage_back_finished(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  const cotangents *a = &io->bar;
  if (!LEADER) return;
  LANE_LOOP(lane, g->live) {
    int sane = 1;
    for (int32_t i = 0; i < m->nq; i++) sane &= elem_finite(LANE(W(qpos_t), i, lane));
    if (!sane) lane_zero(W(bar_qpos0), lane, m->nq);
    if (!sane) lane_zero(W(bar_qvel), lane, m->nv);
    if (!sane) lane_zero(W(bar_act), lane, m->na);
    bar_store(W(bar_qpos0), lane, m->nq, a->qpos0, g->env[lane]);
    bar_store(W(bar_qvel), lane, m->nv, a->qvel0, g->env[lane]);
    bar_store(W(bar_act), lane, m->na, a->act0, g->env[lane]);
#define COTANGENT(name, count)                                                                               \
  bar_store(W(bar_##name), lane, io->parameters[PARAM_##name].n, a->name, g->env[lane]);
#include "kernels/clock/parameters.def"
    g->env[lane] = -1;
    counter_add(&io->finished, 1);
  }
  SET(finishing) = 0;
}
