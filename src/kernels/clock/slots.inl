/* slots.inl: the list of contact pairs that the lanes of a group share ("slots"), contact records, and moving
 * single environments in and out of lanes. For the team's leader. */

/* Entry i of a field, of one lane. */
#define LANE(p, i, lane) (((elem *)(p))[(intptr_t)(i)*ABUT_LANES * LANE_STRIDE + (lane)])
#define LANE_LOOP(lane, set)                                                                                 \
  for (int lane = 0; lane < ABUT_LANES; lane++)                                                              \
    if ((set) >> lane & 1u)

/* Copies n entries of one environment into, or out of, a lane's field. */
FN void lane_load(real *field, int lane, int n, const elem *from) {
  for (int i = 0; i < n; i++) LANE(field, i, lane) = from[i];
}
FN void lane_store(const real *field, int lane, int n, elem *to) {
  for (int i = 0; i < n; i++) to[i] = LANE(field, i, lane);
}
FN void lane_zero(real *field, int lane, int n) {
  for (int i = 0; i < n; i++) LANE(field, i, lane) = 0;
}
FN int elem_finite(elem x) { return x - x == 0; }

/* Gives lanes a pair; a new lane's plane must be started (fresh) or loaded. -1 and io->need raised if the
 * list is full. */
KERNEL int32_t slot_acquire(lane_group *g, program_io *io, int32_t pair, uint32_t lanes, int fresh) {
  int32_t s = g->pair_slot[pair];
  if (s < 0) {
    for (s = 0; s < g->capacity && g->slot_pair[s] >= 0; s++) {
    }
    if (s == g->capacity) {
      counter_raise(&io->need, g->capacity + 1);
      return -1;
    }
    g->slot_pair[s] = pair;
    g->slot_on[s] = g->slot_new[s] = 0;
    g->pair_slot[pair] = s;
  }
  g->slot_on[s] |= lanes;
  if (fresh) g->slot_new[s] |= lanes;
  return s;
}

/* Keeps lanes in slots whose pair they want (NULL: in none); empty slots are freed. Returns whether one was.
 */
FN int slots_keep(lane_group *g, uint32_t lanes, const uint32_t *pair_want) {
  int changed = 0;
  for (int32_t s = 0; s < g->capacity; s++) {
    int32_t pair = g->slot_pair[s];
    if (pair < 0) continue;
    g->slot_on[s] &= ~lanes | (pair_want ? pair_want[pair] : 0);
    if (g->slot_on[s]) continue;
    g->pair_slot[pair] = -1;
    g->slot_pair[s] = -1;
    changed = 1;
  }
  return changed;
}

/* Row d of H starts at the first dof of its own tree path, or of the other side of any contact of its group.
 */
FN void envelope_update(const step_params *k, lane_group *g) {
  const abut_model *m = k->model;
  for (int32_t d = 0; d < m->nv; d++) {
    int32_t up = d;
    while (m->dof_parent[up] >= 0) up = m->dof_parent[up];
    g->envelope[d] = up;
  }
  for (int32_t i = 0; i < g->nslot; i++) {
    const pair_info *pair = &k->pairs[g->slot_pair[g->order[i]]];
    if (!pair->side[0].moves || !pair->side[1].moves) continue;
    int32_t first[2];
    for (int j = 0; j < 2; j++) first[j] = k->path[k->path_adr[pair->side[j].body]];
    int32_t low = first[0] < first[1] ? first[0] : first[1];
    for (int j = 0; j < 2; j++)
      for (int32_t q = k->path_adr[pair->side[j].body]; q < k->path_adr[pair->side[j].body + 1]; q++)
        if (g->envelope[k->path[q]] > low) g->envelope[k->path[q]] = low;
  }
}

/* Recomputes order and envelope after slots changed. */
KERNEL void slots_order(const step_params *k, lane_group *g) {
  g->nslot = 0;
  for (int32_t s = 0; s < g->capacity; s++) {
    if (g->slot_pair[s] < 0) continue;
    int32_t at = g->nslot++;
    for (; at > 0 && g->slot_pair[g->order[at - 1]] > g->slot_pair[s]; at--) g->order[at] = g->order[at - 1];
    g->order[at] = s;
  }
  envelope_update(k, g);
}

FN void slots_release(const step_params *k, lane_group *g, uint32_t lanes) {
  if (slots_keep(g, lanes, 0)) slots_order(k, g);
}

/* Brings the pair list of these lanes in line with g->pair_want: replaces it (a step begins) or adds to it.
 */
KERNEL void slots_update(const step_params *k, lane_group *g, program_io *io, uint32_t lanes, int replace) {
  int changed = replace ? slots_keep(g, lanes, g->pair_want) : 0;
  for (int32_t s = 0; s < g->capacity; s++) g->slot_new[s] = 0;
  for (int32_t p = 0; p < k->model->npair; p++) {
    uint32_t want = g->pair_want[p] & lanes;
    int32_t s = g->pair_slot[p];
    if (!want || (s >= 0 && (g->slot_on[s] & want) == want)) continue;
    changed |= s < 0;
    slot_acquire(g, io, p, s < 0 ? want : want & ~g->slot_on[s], !k->pairs[p].far);
  }
  if (changed) slots_order(k, g);
}

FN void record_load(const step_params *k, lane_group *g, program_io *io, int lane, const contact_record *r,
                    int64_t row) {
  real *slots = (real *)g->slots;
  for (int32_t i = 0; i < r->count[row]; i++) {
    int64_t at = row * io->capacity + i;
    int32_t s = slot_acquire(g, io, r->pair[at], 1u << lane, 0);
    if (s < 0) return;
    const elem *from = (const elem *)r->data + at * RECORD_VALUES;
    lane_load(SLOT_AT(s, plane), lane, 8, from);
    lane_load(SLOT_AT(s, motion), lane, 3, from + 8);
  }
}

/* Raises io->need where the record has no room: lane groups may have more slots than it has contacts. */
FN void record_store(const step_params *k, const lane_group *g, program_io *io, int lane,
                     const contact_record *r, int64_t row) {
  real *slots = (real *)g->slots;
  r->count[row] = 0;
  for (int32_t i = 0; i < g->nslot; i++) {
    int32_t s = g->order[i];
    if (!(g->slot_on[s] >> lane & 1u)) continue;
    if (r->count[row] == io->capacity) {
      counter_raise(&io->need, io->capacity + 1);
      return;
    }
    int64_t at = row * io->capacity + r->count[row]++;
    r->pair[at] = g->slot_pair[s];
    elem *to = (elem *)r->data + at * RECORD_VALUES;
    lane_store(SLOT_AT(s, plane), lane, 8, to);
    lane_store(SLOT_AT(s, motion), lane, 3, to + 8);
  }
}

FN void lane_parameters(const step_params *k, real *w, const program_io *io, int lane, int64_t env) {
  real *const fields[PARAM_COUNT] = {W(gravity), W(friction), W(mass), W(stiffness), W(gain), W(bias)};
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &io->parameters[i];
    lane_load(fields[i], lane, p->n, (const elem *)p->data + (p->rows == 1 ? 0 : env) * p->n);
  }
}
