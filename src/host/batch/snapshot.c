/* snapshot.c: exact copies of a batch's state, warm contacts included. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include <stdlib.h>
#include <string.h>

struct abut_snapshot {
  const abut_model *model; /* to compare with, never followed: it may be gone */
  int64_t nenv;
  int32_t nq, nv, na, npair, dtype, contact, capacity;
  size_t elem;
  char *qpos, *qvel, *act, *data;
  int32_t *count, *pair;
  uint32_t *status;
  uint8_t *fresh;
};

typedef struct piece {
  void **at;
  const void *from;
  size_t bytes;
} piece;
enum { PIECES = 8 };

static void pieces(const abut_batch *b, abut_snapshot *s, piece p[PIECES]) {
  size_t n = (size_t)s->nenv, c = n * (size_t)s->capacity;
  const batch_state *x = &b->state;
  piece list[PIECES] = {{(void **)&s->qpos, x->qpos, n * (size_t)s->nq * s->elem},
                        {(void **)&s->qvel, x->qvel, n * (size_t)s->nv * s->elem},
                        {(void **)&s->act, x->act, n * (size_t)s->na * s->elem},
                        {(void **)&s->data, x->warm.data, c * (size_t)b->method->kept * s->elem},
                        {(void **)&s->count, x->warm.count, n * 4},
                        {(void **)&s->pair, x->warm.pair, c * 4},
                        {(void **)&s->status, x->status, n * 4},
                        {(void **)&s->fresh, x->fresh, n}};
  memcpy(p, list, sizeof list);
}

abut_status abut_batch_snapshot(const abut_batch *b, abut_snapshot **snapshot) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(snapshot, "snapshot");
  *snapshot = NULL;
  ATTEMPT(b->backend->fetch((abut_batch *)b));
  abut_snapshot *s = calloc(1, sizeof *s);
  if (!s) return fail_with(ABUT_ERROR_MEMORY, "snapshot: out of memory");
  s->model = b->model;
  s->nenv = b->options.nenv;
  s->nq = b->model->nq;
  s->nv = b->model->nv;
  s->na = b->model->na;
  s->npair = b->model->npair;
  s->dtype = b->options.dtype;
  s->contact = b->options.implicit.contact;
  s->capacity = b->capacity;
  s->elem = elem_size(b);
  piece p[PIECES];
  pieces(b, s, p);
  for (int i = 0; i < PIECES; i++) {
    *p[i].at = malloc(p[i].bytes + 1);
    if (!*p[i].at) {
      abut_snapshot_destroy(s);
      return fail_with(ABUT_ERROR_MEMORY, "snapshot of %lld environment%s: out of memory",
                       (long long)b->options.nenv, PLURAL(b->options.nenv));
    }
    memcpy(*p[i].at, p[i].from, p[i].bytes);
  }
  *snapshot = s;
  return ABUT_OK;
}

static const char *dtype_name(int32_t dtype) { return abut_option_word("dtype", dtype); }
static const char *contact_name(int32_t contact) { return abut_option_word("contact", contact); }

abut_status abut_batch_restore(abut_batch *b, const abut_snapshot *s) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(s, "snapshot");
  if (s->model != b->model || s->nq != b->model->nq || s->nv != b->model->nv || s->na != b->model->na ||
      s->npair != b->model->npair)
    return fail_with(ABUT_ERROR_ARGUMENT, "snapshot of %lld environment%s: it is of another model",
                     (long long)s->nenv, PLURAL(s->nenv));
  if (s->nenv != b->options.nenv || s->dtype != b->options.dtype || s->contact != b->options.implicit.contact)
    return fail_with(
        ABUT_ERROR_ARGUMENT, "snapshot of %lld environment%s (%s, %s) does not fit a batch of %lld (%s, %s)",
        (long long)s->nenv, PLURAL(s->nenv), dtype_name(s->dtype), contact_name(s->contact),
        (long long)b->options.nenv, dtype_name(b->options.dtype), contact_name(b->options.implicit.contact));
  if (s->capacity > b->capacity) ATTEMPT(batch_make_room(b, s->capacity, 0, 0));
  ATTEMPT(b->backend->fetch(b));
  size_t n = (size_t)s->nenv, row = (size_t)b->method->kept * s->elem;
  memcpy(b->state.qpos, s->qpos, n * (size_t)s->nq * s->elem);
  memcpy(b->state.qvel, s->qvel, n * (size_t)s->nv * s->elem);
  memcpy(b->state.act, s->act, n * (size_t)s->na * s->elem);
  memcpy(b->state.status, s->status, n * 4);
  memcpy(b->state.fresh, s->fresh, n);
  memcpy(b->state.warm.count, s->count, n * 4);
  for (size_t i = 0; i < n; i++) {
    size_t to = i * (size_t)b->capacity, from = i * (size_t)s->capacity, c = (size_t)s->count[i];
    memcpy(b->state.warm.pair + to, s->pair + from, c * 4);
    memcpy(b->state.warm.data + to * row, s->data + from * row, c * row);
  }
  b->tape_valid = 0;
  return b->backend->push(b);
}

void abut_snapshot_destroy(abut_snapshot *s) {
  if (!s) return;
  free(s->qpos);
  free(s->qvel);
  free(s->act);
  free(s->data);
  free(s->count);
  free(s->pair);
  free(s->status);
  free(s->fresh);
  free(s);
}
