/* items.h: work over items that are no environments: poses of contact manifolds. One runner for threads, one
 * for a GPU; they know nothing of what is computed, a kind of items is a struct of functions.
 *
 * Threads take items one chunk at a time. Sums over items are made chunk by chunk in order, and chunks depend
 * on the number of items only: so do results, whoever computes them. On a GPU a warp works for one item, in
 * scratch that it keeps from item to item; items go there and back part by part, through host memory. */
#ifndef ABUT_ITEMS_H
#define ABUT_ITEMS_H
#include "host/base/status.h"
#include <stddef.h>

enum { ITEMS_THREADS = 4096 /* at most */, ITEMS_ARRAYS = 8 };

/* Where the work is done; for as long as its owner lives. */
typedef struct items_runner {
  const char *owner; /* in messages: "manifold" */
  int32_t threads;
  struct items_gpu *gpu; /* NULL: threads alone */
} items_runner;
/* threads 0: all that the machine has. All runners share the threads that sleep between calls. */
void items_open(items_runner *r, const char *owner, int32_t threads);
/* Of one that was never opened: does nothing. */
void items_close(items_runner *r);

/* What becomes of an array of a part on its way to a GPU and back. A kind lists its arrays in this order. */
typedef enum items_way {
  ITEMS_IN,     /* the host writes it, kernels read it */
  ITEMS_IN_OUT, /* the host writes it, kernels write some of it */
  ITEMS_OUT,    /* kernels write it */
  ITEMS_ADDED   /* kernels add to zeros */
} items_way;
typedef struct items_array {
  items_way way;
  size_t each; /* bytes of an item; 0: nobody wants it */
} items_array;

/* Items that are on a GPU at once. Their arrays lie in one block, on the device as on the host. */
typedef struct items_part {
  int64_t first, count;
  char *host, *device;
  size_t at[ITEMS_ARRAYS], each[ITEMS_ARRAYS];
  size_t bytes, back, there, zeros; /* of the block; where arrays begin that come back, stay away, are 0 */
} items_part;
/* Item i of the part, in the block that begins at base; NULL where there is no such array. */
static inline void *items_at(const items_part *p, char *base, int array, int64_t i) {
  return p->each[array] ? base + p->at[array] + p->each[array] * (size_t)i : NULL;
}

/* On a GPU. i counts the part's items; memory is what open gave. */
typedef struct items_gpu_kind {
  int (*arrays)(void *job, items_array arrays[ITEMS_ARRAYS]); /* how many */
  void (*prepare)(void *job, void *memory, const items_part *part, int64_t i);
  const void *(*kernel)(void *job);
  /* The kernel's arguments are the device's copy of this struct and the number of warps. */
  const void *(*argument)(void *job, const items_part *part, size_t *bytes);
  void (*finish)(void *job, void *memory, const items_part *part, int64_t i);
  void (*add)(void *job, const items_part *part, int64_t i, double *sums);
} items_gpu_kind;

/* job: what a call is about; its functions run on many threads at once, but for kernel, argument and add. */
typedef struct items_kind {
  void *(*open)(void *job); /* a thread's memory; NULL: none left */
  void (*close)(void *job, void *memory);
  /* All of item i, on threads; sums: its chunk's, to be added to, or NULL. */
  void (*run)(void *job, void *memory, int64_t i, double *sums);
  const items_gpu_kind *gpu;
} items_kind;

/* Does all items. total: sums over them, sum_size numbers. Callers on several threads wait for one another
 * where the work is done on a GPU. */
abut_status items_run(const items_runner *r, const items_kind *kind, void *job, int64_t count,
                      int64_t sum_size, double *total);
/* What the last call's kernels took by the device's clock (s); 0 on threads. */
double items_seconds(const items_runner *r);

/* ---------------------------------------------------------------------------------------- items_cuda.c */

/* Moves to a GPU; fails as a batch's creation does where there is none. */
abut_status items_open_gpu(items_runner *r, int32_t device_id);
void items_close_gpu(items_runner *r);

/* What all items read, for as long as the runner lives: *to is where it lies on the device. */
typedef struct items_upload {
  const void **to;
  const void *host;
  size_t bytes;
} items_upload;
/* Once; with room for the struct that kernels get. */
abut_status items_share(items_runner *r, const items_upload *list, int count, size_t argument_bytes);
/* Lets a warp change that struct: what only the device's compiler knows. */
abut_status items_ask(items_runner *r, const void *kernel, void *argument, size_t bytes);
/* So many bytes for each of as many warps as a card can run at once, or fewer where they do not fit. */
abut_status items_scratch(items_runner *r, size_t each, void **scratch);

/* ------------------------------------------------------------------------------- between the two runners */

typedef struct items_call {
  const items_runner *runner;
  const items_kind *kind;
  void *job;
  int64_t count, chunk; /* items; of a chunk */
  int64_t sum_size;
  double *sums; /* [chunks][sum_size]; NULL: none */
} items_call;
static inline double *items_sums(const items_call *c, int64_t i) {
  return c->sums ? c->sums + i / c->chunk * c->sum_size : NULL;
}
/* what(call, memory, i, arg) for all i < count, on all threads, `chunk` at a time. */
typedef void (*items_each)(const items_call *call, void *memory, int64_t i, const void *arg);
abut_status items_for(const items_call *call, int64_t count, int64_t chunk, items_each what, const void *arg);
abut_status items_run_gpu(const items_call *call);

#endif
