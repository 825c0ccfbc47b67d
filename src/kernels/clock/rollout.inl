/* rollout.inl: what lanes of every method do between the stages that compute: take an environment, begin a
 * step, write its outputs, go on. Every environment is a small state machine that runs through these stages
 * on its own clock: lanes of a group share the instruction stream, not the step (the method's list of stages
 * has the order). A stage here sets g->live for those that follow it. */

FN const elem *input_row(const input_array *a, int64_t env, int64_t step, int64_t n) {
  int64_t e = a->rows == 1 ? 0 : env, s = a->steps == 1 ? 0 : step;
  return (const elem *)a->data + (e * a->steps + s) * n;
}

FN int state_is_finite(const step_params *k, const real *w, int lane) {
  int sane = 1;
  for (int32_t i = 0; i < k->model->nq; i++) sane &= elem_finite(LANE(W(qpos_t), i, lane));
  for (int32_t i = 0; i < k->model->nv; i++) sane &= elem_finite(LANE(W(qvel), i, lane));
  for (int32_t i = 0; i < k->model->na; i++) sane &= elem_finite(LANE(W(act), i, lane));
  for (int32_t i = 0; i < k->model->nu; i++) sane &= elem_finite(LANE(W(ctrl), i, lane));
  return sane;
}

/* ---------------------------------------------------------------- outputs */

/* Outputs that describe a moment: index t of a T+1 axis. Poses are those of the last kinematics on xpos_try.
 */
FN void write_moment(const step_params *k, real *w, const program_io *io, int64_t env, int lane, int64_t t,
                     const real *qpos) {
  const abut_model *m = k->model;
  const rollout_outputs *o = &io->out;
  int64_t row = env * (io->nstep + 1) + t;
  if (o->qpos) lane_store(qpos, lane, m->nq, (elem *)o->qpos + row * m->nq);
  if (o->qvel) lane_store(W(qvel), lane, m->nv, (elem *)o->qvel + row * m->nv);
  if (o->act) lane_store(W(act), lane, m->na, (elem *)o->act + row * m->na);
  if (o->xpos) lane_store(W(xpos_try), lane, 3 * m->nbody, (elem *)o->xpos + row * 3 * m->nbody);
  if (o->xquat) lane_store(W(xquat), lane, 4 * m->nbody, (elem *)o->xquat + row * 4 * m->nbody);
}

/* Outputs that describe a step: index t of a T axis. */
FN void write_step(const step_params *k, lane_group *g, const program_io *io, int lane, int64_t t,
                   int32_t iterations) {
  STAGE_LOCALS
  const rollout_outputs *o = &io->out;
  int64_t row = g->env[lane] * io->nstep + t, npair = k->model->npair;
  elem gap = (elem)INFINITY, *force = o->contact_force ? (elem *)o->contact_force + row * npair * 3 : 0;
  int32_t closest = -1;
  for (int64_t i = 0; force && i < 3 * npair; i++) force[i] = 0;
  for (int32_t i = 0; i < g->nslot; i++) {
    int32_t s = g->order[i], pair = g->slot_pair[s];
    if (!(g->slot_on[s] >> lane & 1u)) continue;
    elem here = LANE(SLOT_AT(s, gap), 0, lane);
    if (here < gap) {
      gap = here;
      closest = pair;
    }
    for (int c = 0; force && c < 3; c++) {
      elem f = LANE(SLOT_AT(s, force), c, lane);
      force[3 * pair + c] = (f < 0 || f > 0) ? -f : f - f; /* never -0, which has other bits */
    }
  }
  if (o->min_gap) ((elem *)o->min_gap)[row] = gap;
  if (o->min_pair) ((int32_t *)o->min_pair)[row] = closest;
  if (o->energy) lane_store(W(energies), lane, 4, (elem *)o->energy + row * 4);
  if (o->iterations) ((int32_t *)o->iterations)[row] = iterations;
}

/* ---------------------------------------------------------------- ends of an environment */

/* Keeps the lane's state (qpos_t, qvel, act) and contacts for after the rollout, and gives the lane back. */
FN void retire(const step_params *k, lane_group *g, program_io *io, int lane, uint32_t status) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  int64_t env = g->env[lane];
  lane_store(W(qpos_t), lane, m->nq, (elem *)io->next.qpos + env * m->nq);
  lane_store(W(qvel), lane, m->nv, (elem *)io->next.qvel + env * m->nv);
  lane_store(W(act), lane, m->na, (elem *)io->next.act + env * m->na);
  record_store(k, g, io, lane, &io->next.warm, env);
  io->next.status[env] = g->status[lane] | status;
  io->next.fresh[env] = 0;
  if (io->out.status) ((uint32_t *)io->out.status)[env] = g->status[lane] | status;
  slots_release(k, g, 1u << lane);
  g->env[lane] = -1;
  counter_add(&io->newton_iterations, g->newton[lane]);
  counter_raise(&io->newton_iterations_max, g->newton_max[lane]);
  counter_add(&io->unconverged_steps, g->unconverged[lane]);
  counter_add(&io->finished, 1);
}

/* Stops an environment at its last good state (qpos_t, qvel, act): the rest of its outputs repeat it. */
KERNEL void freeze(const step_params *k, lane_group *g, program_io *io, int lane, uint32_t status) {
  const abut_model *m = k->model;
  const rollout_outputs *o = &io->out;
  int64_t env = g->env[lane], first = g->step[lane];
  char *const out[5] = {o->qpos, o->qvel, o->act, o->xpos, o->xquat};
  const int64_t n[5] = {m->nq, m->nv, m->na, 3 * m->nbody, 4 * m->nbody};
  if (io->record) io->tape.done[env] = first;
  if (first < io->nstep) slots_release(k, g, 1u << lane);
  for (int64_t t = first; t < io->nstep; t++) {
    for (int i = 0; i < 5; i++) {
      if (!out[i]) continue;
      elem *row = (elem *)out[i] + (env * (io->nstep + 1) + t + 1) * n[i];
      for (int64_t j = 0; j < n[i]; j++) row[j] = row[j - n[i]];
    }
    write_step(k, g, io, lane, t, 0);
    for (int i = 0; o->energy && i < 4; i++) ((elem *)o->energy)[(env * io->nstep + t) * 4 + i] = 0;
  }
  retire(k, g, io, lane, status);
}

/* The velocity before the kick: where it will be committed, it waits. */
FN elem *kept_velocity(const step_params *k, const lane_group *g, const program_io *io, int lane) {
  return (elem *)io->next.qvel + g->env[lane] * k->model->nv;
}

FN void freeze_lanes(const step_params *k, lane_group *g, program_io *io, uint32_t lanes, uint32_t status) {
  STAGE_LOCALS
  LANE_LOOP(lane, lanes) {
    if (io->kick > 0) lane_load(W(qvel), lane, k->model->nv, kept_velocity(k, g, io, lane));
    freeze(k, g, io, lane, status);
  }
}

/* ---------------------------------------------------------------- start of a rollout */

/* Lanes as they were created, whatever an abandoned attempt left in them. */
KERNEL void stage_clear(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  if (!LEADER) return;
  for (int32_t s = 0; s < g->capacity; s++) g->slot_pair[s] = -1;
  for (int32_t p = 0; p < k->model->npair; p++) g->pair_slot[p] = -1;
  for (int lane = 0; lane < ABUT_LANES; lane++) g->env[lane] = -1;
  g->live = 0;
  for (int i = 0; i < MAX_SETS; i++) g->set[i] = 0;
  slots_order(k, g);
}

/* Puts an environment into a lane: its state, parameters and warm contacts. */
FN void fetch_lane(const step_params *k, lane_group *g, program_io *io, int lane, int64_t env) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  const batch_state *s = &io->state;
  g->env[lane] = env;
  g->step[lane] = g->newton[lane] = 0;
  g->newton_max[lane] = g->unconverged[lane] = 0;
  g->moved[lane] = 0;
  g->culprit[lane] = -1;
  lane_load(W(qpos_t), lane, m->nq,
            io->qpos0.data ? input_row(&io->qpos0, env, 0, m->nq) : (const elem *)s->qpos + env * m->nq);
  lane_load(W(qvel), lane, m->nv,
            io->qvel0.data ? input_row(&io->qvel0, env, 0, m->nv) : (const elem *)s->qvel + env * m->nv);
  lane_load(W(act), lane, m->na,
            io->act0.data ? input_row(&io->act0, env, 0, m->na) : (const elem *)s->act + env * m->na);
  lane_parameters(k, w, io, lane, env);
  for (int32_t i = 0; i < m->nu; i++) LANE(W(ctrl), i, lane) = LANE(W(held_ctrl), i, lane);
  uint32_t status = io->qpos0.data || io->qvel0.data || io->act0.data ? 0 : s->status[env];
  if (!state_is_finite(k, w, lane)) status |= ABUT_ENV_NONFINITE;
  g->status[lane] = status;
  if (!io->qpos0.data) record_load(k, g, io, lane, &s->warm, env);
  int fresh = io->qpos0.data || s->fresh[env];
  if (fresh && !(status & ABUT_ENV_FROZEN))
    SET(arriving) |= 1u << lane;
  else
    SET(opening) |= 1u << lane;
}

/* Idle lanes take environments; live: those whose state came from outside. */
KERNEL void stage_fetch(const step_params *k, lane_group *g, program_io *io) {
  if (!LEADER) return;
  for (int lane = 0; lane < ABUT_LANES && !counter_get(&io->stop); lane++) {
    if (g->env[lane] >= 0 || counter_get(&io->next_env) >= io->nenv) continue;
    int64_t env = counter_add(&io->next_env, 1);
    if (env < io->nenv) fetch_lane(k, g, io, lane, env);
  }
  slots_order(k, g);
  g->live = SET(arriving);
}

/* live: lanes that are ready to open their rollout. */
KERNEL void stage_opening(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (LEADER) g->live = SET(opening);
}

/* Outputs of the rollout's start (qpos_t, normalised); lanes that have a step to do begin it. */
KERNEL void stage_open(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  if (!LEADER) return;
  kinematics(k, w, W(qpos), W(xpos_try), W(xmat_try), W(xquat), 0);
  LANE_LOOP(lane, g->live) {
    int64_t env = g->env[lane];
    if (io->out.moved) ((elem *)io->out.moved)[env] = (elem)g->moved[lane];
    if (io->out.overlap_pair)
      ((int32_t *)io->out.overlap_pair)[env] = g->status[lane] & ABUT_ENV_OVERLAP ? g->culprit[lane] : -1;
    write_moment(k, w, io, env, lane, 0, W(qpos_t));
    if (io->record) {
      lane_store(W(qpos_t), lane, m->nq, (elem *)io->tape.qpos_start + env * m->nq);
      record_store(k, g, io, lane, &io->tape.start, env);
      io->tape.done[env] = io->nstep;
    }
    if ((g->status[lane] & ABUT_ENV_FROZEN) || io->nstep == 0)
      freeze(k, g, io, lane, 0);
    else
      SET(beginning) |= 1u << lane;
  }
  counter_add(&io->opened, __builtin_popcount(SET(opening)));
  SET(opening) = 0;
}

/* ---------------------------------------------------------------- a step */

/* Controls and kicks of the step that lanes begin; live: these lanes. */
KERNEL void stage_load(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  uint32_t bad = 0;
  if (!LEADER) return;
  LANE_LOOP(lane, SET(beginning)) {
    int64_t env = g->env[lane], step = g->step[lane];
    if (io->ctrl.data) lane_load(W(ctrl), lane, m->nu, input_row(&io->ctrl, env, step, m->nu));
    if (io->kick > 0) lane_store(W(qvel), lane, m->nv, kept_velocity(k, g, io, lane));
    for (int32_t i = 0; io->kick > 0 && i < m->nv; i++) {
      double u = 2 * hash_uniform(io->kick_seed, (uint64_t)env, (uint64_t)step, (uint64_t)i) - 1;
      LANE(W(qvel), i, lane) = (elem)(LANE(W(qvel), i, lane) + io->kick * u);
    }
    if (io->record) {
      int64_t row = step * io->nenv + env;
      lane_store(W(qvel), lane, m->nv, (elem *)io->tape.qvel + row * m->nv);
      lane_store(W(act), lane, m->na, (elem *)io->tape.act + row * m->na);
      lane_store(W(ctrl), lane, m->nu, (elem *)io->tape.ctrl + row * m->nu);
    }
    g->iterations[lane] = 0;
    if (!state_is_finite(k, w, lane)) bad |= 1u << lane;
  }
  freeze_lanes(k, g, io, bad, ABUT_ENV_NONFINITE);
  SET(beginning) &= ~bad;
  g->live = SET(beginning);
}

/* Outputs of the lanes that finish their step; they begin the next one or give their environment back. */
KERNEL void stage_finished(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS
  const abut_model *m = k->model;
  if (!LEADER) return;
  LANE_LOOP(lane, SET(finishing)) {
    int64_t env = g->env[lane], step = g->step[lane]++, row = step * io->nenv + env;
    g->newton[lane] += g->iterations[lane];
    if (g->iterations[lane] > g->newton_max[lane]) g->newton_max[lane] = g->iterations[lane];
    write_moment(k, w, io, env, lane, step + 1, W(qpos));
    write_step(k, g, io, lane, step, g->iterations[lane]);
    if (io->record) {
      lane_store(W(qpos), lane, m->nq, (elem *)io->tape.qpos + row * m->nq);
      record_store(k, g, io, lane, &io->tape.steps, row);
    }
    for (int32_t i = 0; i < m->nq; i++) LANE(W(qpos_t), i, lane) = LANE(W(qpos), i, lane);
    if (g->step[lane] == io->nstep)
      retire(k, g, io, lane, 0);
    else
      SET(beginning) |= 1u << lane;
    counter_add(&io->steps, 1);
  }
  SET(finishing) = 0;
  g->live = 0;
}
