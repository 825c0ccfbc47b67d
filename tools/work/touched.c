/* touched.c: which bytes of an environment a stage reads and writes. The kernels are compiled with
 * ThreadSanitizer's calls before every access to memory, and these are the functions that they call. */
#include "tally.h"
#include <stddef.h>
#include <string.h>

tally tally_now, tally_stage[STAGE_NUM], tally_manifold[TALLIES];

/* ---------------------------------------------------------------- what belongs to an environment */

typedef struct range {
  uintptr_t first, last;
} range;
enum { RANGES = 64 };
static range ranges[RANGES];
static int range_count;

static void add_range(const void *first, int64_t bytes) {
  if (first && bytes > 0)
    ranges[range_count++] = (range){(uintptr_t)first, (uintptr_t)first + (uintptr_t)bytes};
}
static void add_record(const contact_record *r, int64_t rows, int64_t capacity, int64_t elem) {
  add_range(r->count, rows * 4);
  add_range(r->pair, rows * capacity * 4);
  add_range(r->data, rows * capacity * KEPT * elem);
}
static void add_state(const batch_state *s, const abut_model *m, int64_t n, int64_t capacity, int64_t elem) {
  add_range(s->qpos, n * m->nq * elem);
  add_range(s->qvel, n * m->nv * elem);
  add_record(&s->warm, n, capacity, elem);
  add_range(s->status, n * 4);
  add_range(s->fresh, n);
}

/* Lane group and fields first: most accesses are theirs. Model and options are every environment's: a GPU
 * keeps them in its caches. Outputs are not counted: what abut_work runs asks for none. */
static void find_ranges(const step_params *k, const lane_group *g, const program_io *io, int64_t elem) {
  const abut_model *m = k->model;
  range_count = 0;
  add_range(g->work, k->work.size * elem);
  add_range(g->slots, (int64_t)g->capacity * k->slot.size * elem);
  add_range(g, sizeof *g);
  const void *const lists[] = {g->order, g->slot_pair, g->slot_on, g->slot_new};
  for (int i = 0; i < 4; i++) add_range(lists[i], 4 * (g->capacity + 1));
  add_range(g->pair_slot, 4 * (m->npair + 1));
  add_range(g->pair_want, 4 * (m->npair + 1));
  add_range(g->own, sizeof(implicit_group));
  add_range(((const implicit_group *)g->own)->envelope, 4 * (m->nv + 1));
  add_state(&io->state, m, io->nenv, io->capacity, elem);
  add_state(&io->next, m, io->nenv, io->capacity, elem);
  add_range(io->ctrl.data, io->ctrl.rows * io->ctrl.steps * m->nu * elem);
  for (int i = 0; i < PARAM_COUNT; i++)
    add_range(io->parameters[i].data, io->parameters[i].rows * io->parameters[i].n * elem);
}

/* ---------------------------------------------------------------- what was touched since tally_begin */

/* Words of 4 bytes by address, open addressing; an entry of another call counts as free. */
enum { WORDS = 1 << 20, READ = 1, WRITTEN = 2 };
typedef struct word {
  uintptr_t address;
  uint32_t call;
  uint32_t ways;
} word;
static word words[WORDS];
static uint32_t call;

static void touch_word(uintptr_t address, uint32_t way) {
  size_t i = (address >> 2) * 0x9e3779b97f4a7c15u >> 44;
  while (words[i].call == call && words[i].address != address) i = (i + 1) % WORDS;
  if (words[i].call != call) words[i] = (word){address, call, 0};
  if (!(words[i].ways & way)) tally_now.bytes += 4;
  words[i].ways |= way;
}
static void touch(const void *p, size_t bytes, uint32_t way) {
  uintptr_t first = (uintptr_t)p;
  for (int i = 0; i < range_count; i++) {
    if (first < ranges[i].first || first >= ranges[i].last) continue;
    for (uintptr_t a = first & ~(uintptr_t)3; a < first + bytes; a += 4) touch_word(a, way);
    return;
  }
}

void tally_begin(const step_params *k, const lane_group *g, const program_io *io, int real_bytes) {
  find_ranges(k, g, io, real_bytes);
  tally_now = (tally){0};
  call++;
}
void tally_begin_manifold(const tally_range *of, int count) {
  range_count = 0;
  for (int i = 0; i < count; i++) add_range(of[i].first, of[i].bytes);
  tally_now = (tally){0};
  call++;
}
static void end(tally *sum) {
  range_count = 0;
  sum->calls++;
  sum->additions += tally_now.additions;
  sum->multiplications += tally_now.multiplications;
  sum->divisions += tally_now.divisions;
  sum->roots += tally_now.roots;
  sum->bytes += tally_now.bytes;
}
void tally_end(int stage) { end(&tally_stage[stage]); }
void tally_end_manifold(manifold_tally which) { end(&tally_manifold[which]); }

/* ---------------------------------------------------------------- what compilers call */

#define HOOK(type, name, ...)                                                                                \
  type name(__VA_ARGS__);                                                                                    \
  type name(__VA_ARGS__)
#define ACCESSES(bytes)                                                                                      \
  HOOK(void, __tsan_read##bytes, const void *p) { touch(p, bytes, READ); }                                   \
  HOOK(void, __tsan_write##bytes, const void *p) { touch(p, bytes, WRITTEN); }                               \
  HOOK(void, __tsan_unaligned_read##bytes, const void *p) { touch(p, bytes, READ); }                         \
  HOOK(void, __tsan_unaligned_write##bytes, const void *p) { touch(p, bytes, WRITTEN); }                     \
  HOOK(void, __tsan_volatile_read##bytes, const void *p) { touch(p, bytes, READ); }                          \
  HOOK(void, __tsan_volatile_write##bytes, const void *p) { touch(p, bytes, WRITTEN); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
HOOK(void, __tsan_read_range, const void *p, size_t bytes) { touch(p, bytes, READ); }
HOOK(void, __tsan_write_range, const void *p, size_t bytes) { touch(p, bytes, WRITTEN); }
HOOK(void, __tsan_init, void) {}
HOOK(void, __tsan_func_entry, const void *p) { (void)p; }
HOOK(void, __tsan_func_exit, void) {}

/* Counters of the program, which all environments share: they only have to work. */
HOOK(int64_t, __tsan_atomic64_load, const volatile int64_t *p, int order) {
  (void)order;
  return *p;
}
HOOK(int64_t, __tsan_atomic64_fetch_add, volatile int64_t *p, int64_t n, int order) {
  (void)order;
  int64_t old = *p;
  *p = old + n;
  return old;
}
HOOK(int, __tsan_atomic64_compare_exchange_weak, volatile int64_t *p, int64_t *old, int64_t n, int order,
     int fail_order) {
  (void)order, (void)fail_order;
  if (*p != *old) return *old = *p, 0;
  *p = n;
  return 1;
}
