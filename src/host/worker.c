/* worker.c: one thread's lanes: their memory, and the threads. */
#include "batch.h"
#include "status.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Long-range lists of all lanes: entries, planes, sums, states; friction's marks. */
typedef struct far_bytes {
  size_t entries, planes, rows, states, marks, mark_pairs, mark_states;
} far_bytes;
static far_bytes far_bytes_of(const abut_batch *b) {
  size_t n = (size_t)b->far, lanes = (size_t)b->kernels->lanes, e = elem_size(b);
  far_bytes f = {2 * lanes * n * sizeof(far_entry),
                 2 * lanes * n * FAR_PLANE_VALUES * e,
                 n * FAR_ROW_VALUES * e,
                 n ? 2 * (size_t)b->model->npair * lanes * sizeof(far_list_state) : 0,
                 lanes * n * FAR_MARK_VALUES * e,
                 lanes * n * sizeof(far_entry),
                 n ? (size_t)b->model->npair * lanes * sizeof(far_mark_state) : 0};
  return f;
}

int64_t worker_bytes(const abut_batch *b) {
  const step_params *p = &b->params;
  int64_t row = (int64_t)b->kernels->lanes * b->kernels->elem_size,
          lists = 4 * (4 * (int64_t)b->nslot + 2 * (int64_t)p->model->npair + p->model->nv);
  far_bytes f = far_bytes_of(b);
  return (int64_t)sizeof(worker) + row * (p->at.size + (int64_t)b->nslot * p->slot_at.size) + lists +
         (int64_t)(f.entries + f.planes + f.rows + f.states + f.marks + f.mark_pairs + f.mark_states);
}

static void *aligned_zero(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (p) memset(p, 0, (bytes + 64) / 64 * 64);
  return p;
}

abut_status worker_create(abut_batch *b, worker *w) {
  const step_params *p = &b->params;
  size_t row = (size_t)b->kernels->lanes * elem_size(b), cap = (size_t)b->nslot,
         npair = (size_t)b->model->npair;
  memset(w, 0, sizeof *w);
  w->batch = b;
  lane_group *g = &w->g;
  g->capacity = b->nslot;
  g->work = aligned_zero(row * (size_t)p->at.size);
  g->slots = aligned_zero(row * cap * (size_t)p->slot_at.size);
  g->order = calloc(cap + 1, sizeof *g->order);
  g->slot_pair = calloc(cap + 1, sizeof *g->slot_pair);
  g->slot_on = calloc(cap + 1, sizeof *g->slot_on);
  g->slot_new = calloc(cap + 1, sizeof *g->slot_new);
  g->pair_slot = calloc(npair + 1, sizeof *g->pair_slot);
  g->pair_want = calloc(npair + 1, sizeof *g->pair_want);
  far_bytes f = far_bytes_of(b);
  g->far_capacity = b->far;
  g->far = calloc(1, f.states + 1);
  g->far_pairs = calloc(1, f.entries + 1);
  g->far_plane = aligned_zero(f.planes);
  g->far_rows = aligned_zero(f.rows);
  g->far_marks = aligned_zero(f.marks);
  g->far_mark_pairs = calloc(1, f.mark_pairs + 1);
  g->far_marked = calloc(1, f.mark_states + 1);
  g->envelope = calloc((size_t)b->model->nv + 1, sizeof *g->envelope);
  if (!g->work || !g->slots || !g->order || !g->slot_pair || !g->slot_on || !g->slot_new || !g->pair_slot ||
      !g->pair_want || !g->envelope || !g->far || !g->far_pairs || !g->far_plane || !g->far_rows ||
      !g->far_marks || !g->far_mark_pairs || !g->far_marked) {
    worker_destroy(w);
    return abut_fail(ABUT_ERROR_MEMORY, "out of memory for %d contact slots", b->nslot);
  }
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
  free(g->far);
  free(g->far_pairs);
  free(g->far_plane);
  free(g->far_rows);
  free(g->far_marks);
  free(g->far_mark_pairs);
  free(g->far_marked);
  memset(w, 0, sizeof *w);
}

typedef struct thread_arg {
  worker *w;
  worker_main run;
  void *arg;
} thread_arg;
static void *thread_main(void *arg) {
  thread_arg *t = arg;
  t->run(t->w, t->arg);
  return NULL;
}

void workers_run(abut_batch *b, worker_main run, void *arg) {
  int32_t n = b->nworker, started = 1;
  pthread_t *threads = calloc((size_t)n, sizeof *threads);
  thread_arg *args = calloc((size_t)n, sizeof *args);
  for (; threads && args && started < n; started++) {
    args[started] = (thread_arg){&b->workers[started], run, arg};
    if (pthread_create(&threads[started], NULL, thread_main, &args[started])) break;
  }
  run(&b->workers[0], arg);
  for (int32_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
  free(threads);
  free(args);
}
