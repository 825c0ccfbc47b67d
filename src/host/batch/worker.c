/* worker.c: one thread's lanes: their memory, and calls of all. */
#include "host/base/memory.h"
#include "host/base/pool.h"
#include "host/batch/layout.h"
#include "host/base/status.h"
#include <stdlib.h>
#include <string.h>

/* What a worker's method has of its own, and the arrays of its lane group. */
static void worker_place(placer *p, const abut_batch *b, lane_group *g, char **own, char *contents) {
  *own = place(p, 1, b->method->own_size);
  group_place(p, b, 1, g, contents);
}

int64_t worker_bytes(const abut_batch *b) {
  return bytes_add((int64_t)(sizeof(worker) + b->method->own_size), 1, group_bytes(b, 1));
}

abut_status worker_create(abut_batch *b, worker *w) {
  size_t own = b->method->own_size;
  char *contents = calloc(1, own + 1), *at;
  memset(w, 0, sizeof *w);
  w->batch = b;
  w->block =
      calloc(1, own + (size_t)group_bytes(b, 1) + 2 * PLACER_ALIGN); /* what nobody uses is never touched */
  if (!contents || !w->block) {
    free(contents);
    worker_destroy(w);
    return fail_with(ABUT_ERROR_MEMORY, "out of memory for %d contact slots", b->nslot);
  }
  placer p = {w->block + (PLACER_ALIGN - (uintptr_t)w->block % PLACER_ALIGN), 0};
  worker_place(&p, b, &w->g, &at, contents);
  w->g.own = memcpy(at, contents, own);
  free(contents);
  return ABUT_OK;
}

void worker_destroy(worker *w) {
  free(w->block);
  memset(w, 0, sizeof *w);
}

typedef struct workers_call {
  abut_batch *batch;
  worker_main run;
  void *arg;
} workers_call;
static void run_one(int32_t index, void *arg) {
  workers_call *c = arg;
  c->run(&c->batch->workers[index], c->arg);
}

void workers_run(abut_batch *b, worker_main run, void *arg) {
  workers_call call = {b, run, arg};
  pool_run(b->pool, b->nworker, run_one, &call);
}
