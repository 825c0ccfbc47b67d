/* items.c: items on threads. */
#include "host/items/items.h"
#include "host/base/pool.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_CHUNK = 16, MOST_CHUNKS = 256 };

/* ------------------------------------------------------------------------------------------- the threads */

/* One pool for each of the callers that are at work at the same time, however many runners there are. Who
 * takes one leaves NULL, so that no lock can be held while the process forks. */
enum { SHELF = 16 };
static _Atomic(pool *) shelf[SHELF];
static atomic_int runners;

static pool *take_pool(void) {
  pool *p = NULL;
  for (int i = 0; i < SHELF && !p; i++) p = atomic_exchange(&shelf[i], NULL);
  return p || pool_create(ITEMS_THREADS, &p) == ABUT_OK ? p : NULL; /* without one the caller works alone */
}
static void put_pool(pool *p) {
  for (int i = 0; i < SHELF && p; i++) {
    pool *none = NULL;
    if (atomic_compare_exchange_strong(&shelf[i], &none, p)) p = NULL;
  }
  pool_destroy(p);
}

void items_open(items_runner *r, const char *owner, int32_t threads) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const long wanted = threads > 0 ? threads : cores > 0 ? cores : 1;
  *r = (items_runner){.owner = owner, .threads = wanted < ITEMS_THREADS ? (int32_t)wanted : ITEMS_THREADS};
  atomic_fetch_add(&runners, 1);
}
void items_close(items_runner *r) {
  if (!r->owner) return;
  items_close_gpu(r);
  r->owner = NULL;
  if (atomic_fetch_sub(&runners, 1) > 1) return;
  for (int i = 0; i < SHELF; i++) pool_destroy(atomic_exchange(&shelf[i], NULL));
}

/* --------------------------------------------------------------------------------------------- the items */

typedef struct deal {
  const items_call *call;
  int64_t count, chunk, chunks;
  items_each what;
  const void *arg;
  atomic_llong next; /* chunk */
} deal;

static void take_chunks(int32_t index, void *arg) {
  deal *d = arg;
  void *memory = d->call->kind->open(d->call->job);
  (void)index;
  if (!memory) return;
  for (int64_t c; (c = atomic_fetch_add(&d->next, 1)) < d->chunks;) {
    const int64_t first = c * d->chunk, last = first + d->chunk < d->count ? first + d->chunk : d->count;
    for (int64_t i = first; i < last; i++) d->what(d->call, memory, i, d->arg);
  }
  d->call->kind->close(d->call->job, memory);
}

abut_status items_for(const items_call *call, int64_t count, int64_t chunk, items_each what,
                      const void *arg) {
  deal d = {call, count, chunk, (count + chunk - 1) / chunk, what, arg, 0};
  const int32_t threads = call->runner->threads;
  pool *p = threads > 1 && d.chunks > 1 ? take_pool() : NULL;
  pool_run(p, threads < d.chunks ? threads : (int32_t)d.chunks, take_chunks, &d);
  put_pool(p);
  /* a thread without memory leaves its chunks to the others */
  if (atomic_load(&d.next) >= d.chunks) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory", call->runner->owner);
}

static void run_item(const items_call *call, void *memory, int64_t i, const void *arg) {
  (void)arg;
  call->kind->run(call->job, memory, i, items_sums(call, i));
}

static void add_chunks(const items_call *c, int64_t chunks, double *total) {
  memcpy(total, c->sums, (size_t)c->sum_size * sizeof *total);
  for (int64_t k = 1; k < chunks; k++)
    for (int64_t i = 0; i < c->sum_size; i++) total[i] += c->sums[k * c->sum_size + i];
}

abut_status items_run(const items_runner *r, const items_kind *kind, void *job, int64_t count,
                      int64_t sum_size, double *total) {
  items_call call = {.runner = r, .kind = kind, .job = job, .count = count, .sum_size = sum_size};
  call.chunk = count / MOST_CHUNKS > LEAST_CHUNK ? (count + MOST_CHUNKS - 1) / MOST_CHUNKS : LEAST_CHUNK;
  const int64_t chunks = (count + call.chunk - 1) / call.chunk;
  if (sum_size > 0) {
    call.sums = calloc((size_t)((chunks ? chunks : 1) * sum_size), sizeof *call.sums);
    if (!call.sums) return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory", r->owner);
  }
  abut_status status = r->gpu ? items_run_gpu(&call) : items_for(&call, count, call.chunk, run_item, NULL);
  if (status == ABUT_OK && call.sums) add_chunks(&call, chunks, total);
  free(call.sums);
  return status;
}
