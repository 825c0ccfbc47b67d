/* worker.c: one thread's lanes: their memory, the list of contact pairs they share ("slots"), and moving
 * single environments in and out of lanes. */
#include "batch.h"
#include "status.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int64_t worker_bytes(const step_params *p, const abut_kernels *k, int32_t capacity) {
  int64_t row = (int64_t)row_bytes(k),
          lists = 4 * (4 * (int64_t)capacity + 2 * (int64_t)p->model->npair + p->model->nv);
  return row * (p->at.size + (int64_t)capacity * p->slot_at.size) + lists;
}

static void *aligned_zero(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (p) memset(p, 0, (bytes + 64) / 64 * 64);
  return p;
}

abut_status worker_create(abut_batch *b, worker *w) {
  const step_params *p = &b->params;
  size_t row = row_bytes(b->kernels), cap = (size_t)b->capacity, npair = (size_t)b->model->npair;
  memset(w, 0, sizeof *w);
  w->batch = b;
  lane_group *g = &w->g;
  g->capacity = b->capacity;
  g->work = aligned_zero(row * (size_t)p->at.size);
  g->slots = aligned_zero(row * cap * (size_t)p->slot_at.size);
  g->order = calloc(cap + 1, sizeof *g->order);
  g->slot_pair = calloc(cap + 1, sizeof *g->slot_pair);
  g->slot_on = calloc(cap + 1, sizeof *g->slot_on);
  g->slot_new = calloc(cap + 1, sizeof *g->slot_new);
  g->pair_slot = calloc(npair + 1, sizeof *g->pair_slot);
  g->pair_want = calloc(npair + 1, sizeof *g->pair_want);
  g->envelope = calloc((size_t)b->model->nv + 1, sizeof *g->envelope);
  if (!g->work || !g->slots || !g->order || !g->slot_pair || !g->slot_on || !g->slot_new || !g->pair_slot ||
      !g->pair_want || !g->envelope) {
    worker_destroy(w);
    return abut_fail(ABUT_ERROR_MEMORY, "out of memory for %d contact slots", b->capacity);
  }
  for (size_t i = 0; i < cap; i++) g->slot_pair[i] = -1;
  for (size_t i = 0; i < npair; i++) g->pair_slot[i] = -1;
  for (int lane = 0; lane < 16; lane++) w->env[lane] = -1;
  slots_order(w);
  return ABUT_OK;
}

void worker_destroy(worker *w) {
  lane_group *g = &w->g;
  free(g->work);
  free(g->slots);
  free(g->order);
  free(g->slot_pair);
  free(g->slot_on);
  free(g->slot_new);
  free(g->pair_slot);
  free(g->pair_want);
  free(g->envelope);
  memset(w, 0, sizeof *w);
}

static void strided_in(char *to, const char *from, int32_t n, size_t row, size_t elem) {
  if (elem == 8)
    for (int32_t i = 0; i < n; i++) memcpy(to + (size_t)i * row, from + (size_t)i * 8, 8);
  else
    for (int32_t i = 0; i < n; i++) memcpy(to + (size_t)i * row, from + (size_t)i * 4, 4);
}
static void strided_out(char *to, const char *from, int32_t n, size_t row, size_t elem) {
  if (elem == 8)
    for (int32_t i = 0; i < n; i++) memcpy(to + (size_t)i * 8, from + (size_t)i * row, 8);
  else
    for (int32_t i = 0; i < n; i++) memcpy(to + (size_t)i * 4, from + (size_t)i * row, 4);
}

void lane_load(worker *w, int32_t field, int lane, int32_t n, const char *from) {
  strided_in(work_field(w, field, lane), from, n, row_bytes(w->batch->kernels), elem_size(w->batch));
}
void lane_store(const worker *w, int32_t field, int lane, int32_t n, char *to) {
  strided_out(to, work_field(w, field, lane), n, row_bytes(w->batch->kernels), elem_size(w->batch));
}

int32_t slot_acquire(worker *w, int32_t pair, uint32_t lanes, int fresh) {
  lane_group *g = &w->g;
  int32_t s = g->pair_slot[pair];
  if (s < 0) {
    for (s = 0; s < g->capacity && g->slot_pair[s] >= 0; s++) {
    }
    if (s == g->capacity) {
      if (w->need <= g->capacity) w->need = g->capacity + 1;
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

void slots_release(worker *w, uint32_t lanes) {
  lane_group *g = &w->g;
  for (int32_t s = 0; s < g->capacity; s++) {
    if (g->slot_pair[s] < 0) continue;
    g->slot_on[s] &= ~lanes;
    if (g->slot_on[s]) continue;
    g->pair_slot[g->slot_pair[s]] = -1;
    g->slot_pair[s] = -1;
  }
}

/* Row d of H starts at the first dof of its own tree path, or of the other side of any contact of its group.
 */
static void envelope_update(worker *w) {
  const step_params *p = &w->batch->params;
  const abut_model *m = p->model;
  lane_group *g = &w->g;
  for (int32_t d = 0; d < m->nv; d++) {
    int32_t up = d;
    while (m->dof_parent[up] >= 0) up = m->dof_parent[up];
    g->envelope[d] = up;
  }
  for (int32_t i = 0; i < g->nslot; i++) {
    const pair_info *pair = &p->pairs[g->slot_pair[g->order[i]]];
    if (!pair->side[0].moves || !pair->side[1].moves) continue;
    int32_t first[2];
    for (int j = 0; j < 2; j++) first[j] = p->path[p->path_adr[pair->side[j].body]];
    int32_t low = first[0] < first[1] ? first[0] : first[1];
    for (int j = 0; j < 2; j++)
      for (int32_t q = p->path_adr[pair->side[j].body]; q < p->path_adr[pair->side[j].body + 1]; q++)
        if (g->envelope[p->path[q]] > low) g->envelope[p->path[q]] = low;
  }
}

void slots_order(worker *w) {
  lane_group *g = &w->g;
  g->nslot = 0;
  for (int32_t s = 0; s < g->capacity; s++) {
    if (g->slot_pair[s] < 0) continue;
    int32_t at = g->nslot++;
    for (; at > 0 && g->slot_pair[g->order[at - 1]] > g->slot_pair[s]; at--) g->order[at] = g->order[at - 1];
    g->order[at] = s;
  }
  envelope_update(w);
}

void record_load(worker *w, int lane, const contact_record *r, int64_t row) {
  const abut_batch *b = w->batch;
  size_t e = elem_size(b), rb = row_bytes(b->kernels);
  for (int32_t i = 0; i < r->count[row]; i++) {
    int64_t at = row * b->capacity + i;
    int32_t s = slot_acquire(w, r->pair[at], 1u << lane, 0);
    if (s < 0) return;
    const char *from = r->data + (size_t)at * RECORD_VALUES * e;
    strided_in(slot_field(w, s, b->params.slot_at.plane) + (size_t)lane * e, from, 8, rb, e);
    strided_in(slot_field(w, s, b->params.slot_at.motion) + (size_t)lane * e, from + 8 * e, 3, rb, e);
  }
}

void record_store(worker *w, int lane, contact_record *r, int64_t row) {
  const abut_batch *b = w->batch;
  size_t e = elem_size(b), rb = row_bytes(b->kernels);
  r->count[row] = 0;
  for (int32_t i = 0; i < w->g.nslot; i++) {
    int32_t s = w->g.order[i];
    if (!(w->g.slot_on[s] & (1u << lane))) continue;
    int64_t at = row * b->capacity + r->count[row]++;
    r->pair[at] = w->g.slot_pair[s];
    char *to = r->data + (size_t)at * RECORD_VALUES * e;
    strided_out(to, slot_field(w, s, b->params.slot_at.plane) + (size_t)lane * e, 8, rb, e);
    strided_out(to + 8 * e, slot_field(w, s, b->params.slot_at.motion) + (size_t)lane * e, 3, rb, e);
  }
}

void lane_parameters(worker *w, int lane, int64_t env) {
  const abut_batch *b = w->batch;
  const work_layout *at = &b->params.at;
  const int32_t fields[PARAM_COUNT] = {at->gravity,   at->friction, at->mass,
                                       at->stiffness, at->gain,     at->bias};
  for (int i = 0; i < PARAM_COUNT; i++) {
    const parameter_array *p = &b->parameters[i];
    int64_t row = p->rows == 1 ? 0 : env;
    lane_load(w, fields[i], lane, p->n, p->data + (size_t)row * (size_t)p->n * elem_size(b));
  }
}

typedef struct thread_arg {
  worker *w;
  worker_main run;
  void *io;
} thread_arg;
static void *thread_main(void *arg) {
  thread_arg *t = arg;
  t->run(t->w, t->io);
  return NULL;
}

void workers_run(abut_batch *b, worker_main run, void *io) {
  int32_t n = b->nworker, started = 1;
  pthread_t *threads = calloc((size_t)n, sizeof *threads);
  thread_arg *args = calloc((size_t)n, sizeof *args);
  for (; threads && args && started < n; started++) {
    args[started] = (thread_arg){&b->workers[started], run, io};
    if (pthread_create(&threads[started], NULL, thread_main, &args[started])) break;
  }
  run(&b->workers[0], io);
  for (int32_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
  free(threads);
  free(args);
}
