/* slots.inl: the list of contact pairs that the lanes of a group share ("slots"), and contact records. For
 * the team's leader. */

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

/* The method's: what it derives from the slots' order. */
FN void slots_changed(const step_params *k, lane_group *g);

/* Recomputes the order after slots changed. */
KERNEL void slots_order(const step_params *k, lane_group *g) {
  g->nslot = 0;
  for (int32_t s = 0; s < g->capacity; s++) {
    if (g->slot_pair[s] < 0) continue;
    int32_t at = g->nslot++;
    for (; at > 0 && g->slot_pair[g->order[at - 1]] > g->slot_pair[s]; at--) g->order[at] = g->order[at - 1];
    g->order[at] = s;
  }
  slots_changed(k, g);
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
    slot_acquire(g, io, p, s < 0 ? want : want & ~g->slot_on[s], 1);
  }
  if (changed) slots_order(k, g);
}

/* What the method keeps of a contact, one field behind the other. */
FN void kept_load(const step_params *k, real *slots, int32_t s, int lane, const elem *from) {
  (void)k, (void)slots, (void)s, (void)lane, (void)from; /* a method may keep nothing */
#define KEEP(name, count)                                                                                    \
  lane_load(SLOT_AT(s, name), lane, count, from);                                                            \
  from += count;
#include METHOD_DEF
}
FN void kept_store(const step_params *k, real *slots, int32_t s, int lane, elem *to) {
  (void)k, (void)slots, (void)s, (void)lane, (void)to; /* a method may keep nothing */
#define KEEP(name, count)                                                                                    \
  lane_store(SLOT_AT(s, name), lane, count, to);                                                             \
  to += count;
#include METHOD_DEF
}

FN void record_load(const step_params *k, lane_group *g, program_io *io, int lane, const contact_record *r,
                    int64_t row) {
  real *slots = (real *)g->slots;
  for (int32_t i = 0; i < r->count[row]; i++) {
    int64_t at = row * io->capacity + i;
    int32_t s = slot_acquire(g, io, r->pair[at], 1u << lane, 0);
    if (s < 0) return;
    const elem *from = (const elem *)r->data + at * KEPT;
    kept_load(k, slots, s, lane, from);
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
    elem *to = (elem *)r->data + at * KEPT;
    kept_store(k, slots, s, lane, to);
  }
}

FN void lane_parameters(const step_params *k, real *w, const program_io *io, int lane, int64_t env) {
  real *const fields[PARAM_COUNT] = {
#define PARAMETER(name, count, initial, rule, bar) W(name),
#include "kernels/clock/parameters.def"
  };
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &io->parameters[i];
    lane_load(fields[i], lane, p->n, (const elem *)p->data + (p->rows == 1 ? 0 : env) * p->n);
  }
}
