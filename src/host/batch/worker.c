/* worker.c: one thread's lanes: their memory, and the threads. */
#include "host/batch/batch.h"
#include "host/base/memory.h"
#include "host/base/status.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Every part begins on a line of the cache. */
size_t far_place(const abut_batch *b, char *base, lane_group *g) {
  const size_t n = (size_t)b->far, lanes = (size_t)b->kernels->lanes, e = elem_size(b),
               pairs = n ? (size_t)b->model->npair : 0;
  struct {
    void *to; /* a pointer of the group */
    size_t bytes;
  } parts[] = {{&g->far_plane, 2 * lanes * n * FAR_PLANE_VALUES * e},
               {&g->far_rows, n * FAR_ROW_VALUES * e},
               {&g->far_marks, lanes * n * FAR_MARK_VALUES * e},
               {&g->far, 2 * pairs * lanes * sizeof(far_list_state)},
               {&g->far_pairs, 2 * lanes * n * sizeof(far_entry)},
               {&g->far_mark_pairs, lanes * n * sizeof(far_entry)},
               {&g->far_marked, pairs * lanes * sizeof(far_mark_state)}};
  size_t used = 0;
  g->far_capacity = b->far;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char *at = base ? base + used : NULL;
    memcpy(parts[i].to, &at, sizeof at);
    used += (parts[i].bytes + 63) / 64 * 64;
  }
  return used;
}

int64_t worker_bytes(const abut_batch *b) {
  const step_params *p = &b->params;
  int64_t row = (int64_t)b->kernels->lanes * b->kernels->elem_size,
          fields = bytes_add(row * p->at.size, b->nslot, row * p->slot_at.size),
          lists = 4 * (4 * (int64_t)b->nslot + 2 * (int64_t)p->model->npair + p->model->nv);
  lane_group g;
  return bytes_add(fields, 1, (int64_t)sizeof(worker) + lists + (int64_t)far_place(b, NULL, &g));
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
  w->far = calloc(1, far_place(b, NULL, g) + 64); /* lanes that have no environment never touch theirs */
  g->envelope = calloc((size_t)b->model->nv + 1, sizeof *g->envelope);
  if (!g->work || !g->slots || !g->order || !g->slot_pair || !g->slot_on || !g->slot_new || !g->pair_slot ||
      !g->pair_want || !g->envelope || !w->far) {
    worker_destroy(w);
    return abut_fail(ABUT_ERROR_MEMORY, "out of memory for %d contact slots", b->nslot);
  }
  far_place(b, w->far + (64 - (uintptr_t)w->far % 64) % 64, g);
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
  free(w->far);
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
