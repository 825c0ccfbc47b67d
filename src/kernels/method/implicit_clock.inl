/* implicit_clock.inl: what lanes of the implicit step decide: move apart first, list pairs, judge an iterate,
 * search along a direction. Lanes come from the clock (rollout.inl) in `beginning` and go back to it in
 * `finishing`. A stage here sets g->live for those that follow it. */

/* Called by slots_order. Row d of H starts where the scene couples it, or at the other side of any contact of
 * its group. */
FN void envelope_update(const step_params *k, lane_group *g, int32_t *envelope) {
  for (int32_t d = 0; d < k->model->nv; d++) envelope[d] = k->coupled[d];
  for (int32_t i = 0; i < g->nslot; i++) {
    const pair_info *pair = &k->pairs[g->slot_pair[g->order[i]]];
    if (!pair->side[0].moves || !pair->side[1].moves) continue;
    int32_t first[2];
    for (int j = 0; j < 2; j++) first[j] = k->path[k->path_adr[pair->side[j].body]];
    int32_t low = first[0] < first[1] ? first[0] : first[1];
    for (int j = 0; j < 2; j++)
      for (int32_t q = k->path_adr[pair->side[j].body]; q < k->path_adr[pair->side[j].body + 1]; q++)
        if (envelope[k->path[q]] > low) envelope[k->path[q]] = low;
  }
}

/* Called by slots_order: rows of H, and where each term's slots are. */
FN void slots_changed(const step_params *k, lane_group *g) {
  int32_t at = 0;
  envelope_update(k, g, own(g)->envelope);
  for (int t = 0; t <= TERM_NUM; t++) {
    while (at < g->nslot && g->slot_pair[g->order[at]] < k->kind_pair[t]) at++;
    own(g)->term_slot[t] = at;
  }
}

/* Shapes of lanes that arrive may touch: they are moved apart before the rollout opens. live: these lanes. */
KERNEL void stage_arrived(const step_params *k, lane_group *g, program_io *io) {
  (void)io;
  if (!LEADER) return;
  LANE_LOOP(lane, SET(arriving)) separate_open(k, g, lane);
  SET(separating) |= SET(arriving);
  SET(arriving) = 0;
  g->live = SET(separating);
}

/* The pair list of lanes that begin a step. */
KERNEL void stage_list_pairs(const step_params *k, lane_group *g, program_io *io) {
  if (LEADER) slots_update(k, g, io, g->live, 1);
}

/* New shapes that overlap stop their lane; the rest iterates. live: all that iterate and do not search. */
KERNEL void stage_begun(const step_params *k, lane_group *g, program_io *io) {
  uint32_t overlap = 0;
  if (!LEADER) return;
  for (int32_t i = g->nslot - 1; i >= 0; i--) { /* the first pair of each is named */
    int32_t slot = g->order[i];
    uint32_t met = g->slot_new[slot] & SET(beginning);
    overlap |= met;
    LANE_LOOP(lane, met) {
      if (io->out.overlap_pair) ((int32_t *)io->out.overlap_pair)[g->env[lane]] = g->slot_pair[slot];
    }
  }
  SET(iterating) |= SET(beginning) & ~overlap;
  SET(beginning) = 0;
  freeze_lanes(k, g, io, overlap, ABUT_ENV_OVERLAP);
  g->live = SET(iterating) & ~SET(searching);
}

/* After an evaluation: lanes within tolerance finish, as do those that can get no further. live: the rest. */
KERNEL void stage_judge(const step_params *k, lane_group *g, program_io *io) {
  if (!LEADER) return;
  uint32_t sick = g->live & ~SET(accepted), done = g->live & SET(converged) & ~sick;
  uint32_t open = g->live & ~(done | sick), late = open & SET(stuck);
  LANE_LOOP(lane, open & ~(late | SET(again))) {
    if (g->iterations[lane] >= k->options.max_iterations)
      late |= 1u << lane;
    else
      g->iterations[lane]++;
  }
  LANE_LOOP(lane, late) {
    g->status[lane] |= ABUT_ENV_UNCONVERGED;
    g->unconverged[lane]++;
  }
  SET(finishing) = done | late;
  SET(iterating) &= ~(SET(finishing) | sick);
  SET(stuck) = SET(again) = 0;
  freeze_lanes(k, g, io, sick, ABUT_ENV_NONFINITE);
  g->live = open & ~late;
}

/* After the direction: lanes with nothing left to gain finish, those whose Hessian is indefinite evaluate
 * again with convex contact terms, the rest searches. live: lanes that finish. */
KERNEL void stage_directed(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (!LEADER) return;
  uint32_t exhausted = g->live & SET(exhausted), on = g->live & ~exhausted;
  SET(again) = SET(iterating) & ~(g->live | SET(searching)); /* direction_open took them from live */
  SET(finishing) |= exhausted;
  SET(iterating) &= ~exhausted;
  SET(searching) |= on;
  LANE_LOOP(lane, on) own(g)->halvings[lane] = 0;
  g->live = SET(finishing);
}

/* ---------------------------------------------------------------- line search */

/* After a trial. live: lanes that move to it. */
KERNEL void stage_tried(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (!LEADER) return;
  SET(accepted) &= g->live; /* without a trial these are old */
  SET(leaving) &= g->live;
  SET(searching) &= ~(SET(accepted) | SET(leaving));
  LANE_LOOP(lane, SET(searching)) {
    if (++own(g)->halvings[lane] < MAX_HALVINGS) continue;
    SET(stuck) |= 1u << lane;
  }
  SET(searching) &= ~SET(stuck);
  g->live = SET(accepted);
}

/* live: lanes whose trial left its boxes: they get the pairs there and evaluate again. */
KERNEL void stage_leave(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (LEADER) g->live = SET(leaving);
}

KERNEL void stage_add_pairs(const step_params *k, lane_group *g, program_io *io) {
  if (LEADER) slots_update(k, g, io, g->live, 0);
}

/* live: lanes that search, at first and on. */
KERNEL void stage_search(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (LEADER) g->live = SET(searching);
}
