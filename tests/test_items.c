/* test_items.c: the runners of items with a kind that only this test has: the same bits on any number of
 * threads and on a GPU that is none, in several parts; memory that is short; calls of the device that fail.
 */
#include "host/items/items.h"
#include "fake_cuda.h"
#include "team_run.h"
#include "test.h"
#include <stdatomic.h>
#include <string.h>

/* y = factor x and a note of the item; sums of y, and of what the kernel adds to zeros. */
typedef struct toy_item {
  double x;
  int64_t note;
} toy_item;
typedef struct toy_batch {
  const double *factor;
  toy_item *items;
  double *y, *added, *scratch;
  int64_t count, room; /* room: numbers of scratch that a warp wants */
} toy_batch;
typedef struct toy {
  const double *x;
  double *y;
  int64_t *notes;
  double factor;
  int gpu, wants_y;
  toy_batch batch, argument;
  atomic_int left; /* threads that still get memory; negative: all */
  atomic_int opened, closed;
} toy;

enum { COUNT = 40000 /* three parts on a GPU */, SUMS = 2, ALL = -1 };
enum { ITEMS, Y, ADDED, ARRAYS };

/* ---------------------------------------------------------------------------------------- the kind */

static void *open_memory(void *job) {
  toy *t = job;
  if (atomic_load(&t->left) >= 0 && atomic_fetch_sub(&t->left, 1) <= 0) {
    atomic_fetch_add(&t->left, 1);
    return NULL;
  }
  atomic_fetch_add(&t->opened, 1);
  return calloc(1, sizeof(double));
}
static void close_memory(void *job, void *memory) {
  toy *t = job;
  atomic_fetch_add(&t->closed, 1);
  free(memory);
}
static void run_item(void *job, void *memory, int64_t i, double *sums) {
  toy *t = job;
  double *y = memory;
  *y = t->factor * t->x[i];
  if (t->wants_y) t->y[i] = *y;
  t->notes[i] = i + 1;
  if (sums) sums[0] += *y, sums[1] += *y / 2;
}

static int list_arrays(void *job, items_array arrays[ITEMS_ARRAYS]) {
  arrays[ITEMS] = (items_array){ITEMS_IN_OUT, sizeof(toy_item)};
  arrays[Y] = (items_array){ITEMS_OUT, ((toy *)job)->wants_y ? sizeof(double) : 0};
  arrays[ADDED] = (items_array){ITEMS_ADDED, 2 * sizeof(double)};
  return ARRAYS;
}
static void prepare_item(void *job, void *memory, const items_part *p, int64_t i) {
  (void)memory;
  *(toy_item *)items_at(p, p->host, ITEMS, i) = (toy_item){((toy *)job)->x[p->first + i], p->first + i};
}
/* A team of 32, of which one does the work; twin.h has the others' names. */
extern struct dim3 twin_block, twin_block_size, twin_thread;
static void toy_kernel(toy_batch *b, int warps) {
  const int thread = (int)(twin_block.x * twin_block_size.x + twin_thread.x), warp = thread / TEAM;
  for (int64_t i = warp; warp < warps && thread % TEAM == 0 && i < b->count; i += warps) {
    double *y = b->scratch + b->room * warp;
    *y = *b->factor * b->items[i].x;
    if (b->y) b->y[i] = *y;
    b->items[i].note++;
    for (int k = 0; k < 2; k++) b->added[2 * i + k] += *y / 2;
  }
}
static void toy_room(toy_batch *b, int warps) {
  if (warps == 1) b->room = 3;
}
static const void *address_of(void (*kernel)(toy_batch *, int)) {
  const void *at;
  memcpy(&at, &kernel, sizeof at);
  return at;
}
static const void *kernel_of(void *job) {
  (void)job;
  return address_of(toy_kernel);
}
static const void *argument_of(void *job, const items_part *p, size_t *bytes) {
  toy *t = job;
  t->argument = t->batch;
  t->argument.items = items_at(p, p->device, ITEMS, 0);
  t->argument.y = items_at(p, p->device, Y, 0);
  t->argument.added = items_at(p, p->device, ADDED, 0);
  t->argument.count = p->count;
  *bytes = sizeof t->argument;
  return &t->argument;
}
static void finish_item(void *job, void *memory, const items_part *p, int64_t i) {
  toy *t = job;
  const double *y = items_at(p, p->host, Y, i);
  (void)memory;
  if (y) t->y[p->first + i] = *y;
  t->notes[p->first + i] = ((toy_item *)items_at(p, p->host, ITEMS, i))->note;
}
static void add_item(void *job, const items_part *p, int64_t i, double *sums) {
  const double *added = items_at(p, p->host, ADDED, i);
  (void)job;
  sums[0] += added[0] + added[1];
  sums[1] += added[0];
}

static const items_gpu_kind toy_gpu = {list_arrays, prepare_item, kernel_of,
                                       argument_of, finish_item,  add_item};
static const items_kind toy_kind = {open_memory, close_memory, run_item, &toy_gpu};

/* ---------------------------------------------------------------------------------------- calls */

static double inputs[COUNT], results[COUNT];
static int64_t notes[COUNT];

static toy toy_make(void) {
  for (int i = 0; i < COUNT; i++) inputs[i] = sin(i) * exp(9 * cos(7 * i)); /* sums depend on their order */
  memset(results, 0, sizeof results);
  memset(notes, 0, sizeof notes);
  return (toy){.x = inputs, .y = results, .notes = notes, .factor = 1 / 3.0, .wants_y = 1, .left = ALL};
}
/* On threads where gpu is 0. */
static abut_status toy_open(toy *t, items_runner *r, int32_t threads, int gpu) {
  items_open(r, "toy", threads);
  if (!gpu) return ABUT_OK;
  const items_upload shared = {(const void **)(void *)&t->batch.factor, &t->factor, sizeof t->factor};
  void *scratch;
  fake_know(address_of(toy_kernel));
  fake_know(address_of(toy_room));
  ATTEMPT(items_open_gpu(r, 0));
  ATTEMPT(items_share(r, &shared, 1, sizeof t->batch));
  ATTEMPT(items_ask(r, address_of(toy_room), &t->batch, sizeof t->batch));
  CHECK(t->batch.room == 3);
  ATTEMPT(items_scratch(r, (size_t)t->batch.room * sizeof(double), &scratch));
  t->batch.scratch = scratch;
  return ABUT_OK;
}
static int all_done(const toy *t, int64_t count) {
  int right = t->opened == t->closed;
  for (int64_t i = 0; i < count; i++)
    right &= notes[i] == i + 1 && results[i] == (t->wants_y ? t->factor * inputs[i] : 0);
  return right;
}

TEST(threads_and_a_gpu_give_the_same_bits) {
  static const int64_t counts[] = {0, 1, 15, 16, 17, 4096, 5000, COUNT};
  static const struct {
    int32_t threads;
    int gpu;
  } runners[] = {{1, 0}, {2, 0}, {7, 0}, {0, 0}, {1, 1}, {3, 1}};
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 3, -1});
  for (int c = 0; c < 8; c++) {
    double first[SUMS] = {0};
    for (int k = 0; k < 6; k++) {
      toy t = toy_make();
      items_runner r;
      double sums[SUMS] = {NAN, NAN};
      t.wants_y = c % 3 != 1;
      REQUIRE(toy_open(&t, &r, runners[k].threads, runners[k].gpu) == ABUT_OK);
      CHECK_STATUS(items_run(&r, &toy_kind, &t, counts[c], SUMS, sums), ABUT_OK);
      CHECK(all_done(&t, counts[c]));
      if (k == 0) memcpy(first, sums, sizeof first);
      CHECK(!memcmp(first, sums, sizeof first));
      CHECK((items_seconds(&r) > 0) == (runners[k].gpu && counts[c] > 0));
      CHECK_STATUS(items_run(&r, &toy_kind, &t, counts[c], 0, NULL), ABUT_OK); /* no sums */
      items_close(&r);
      CHECK(fake_live_objects() == 0);
    }
  }
}

/* Sums are made chunk by chunk: 256 at most, of at least 16 items. */
TEST(sums_go_chunk_by_chunk) {
  static const int64_t counts[] = {40, 5000};
  static const int chunks[] = {16, 20};
  for (int c = 0; c < 2; c++) {
    toy t = toy_make();
    items_runner r;
    double sums[SUMS], expected = 0;
    items_open(&r, "toy", 3);
    CHECK_STATUS(items_run(&r, &toy_kind, &t, counts[c], SUMS, sums), ABUT_OK);
    for (int64_t first = 0; first < counts[c]; first += chunks[c]) {
      double part = 0;
      for (int64_t i = first; i < first + chunks[c] && i < counts[c]; i++) part += t.factor * inputs[i];
      expected += part;
    }
    CHECK(sums[0] == expected);
    items_close(&r);
  }
}

/* One thread that has memory does it all; none is an error. */
TEST(threads_without_memory) {
  for (int left = 0; left < 2; left++)
    for (int gpu = 0; gpu < 2; gpu++) {
      toy t = toy_make();
      items_runner r;
      fake_use((fake_plan){0});
      team_use((team_plan){TEAM_FIBRES, 3, -1});
      REQUIRE(toy_open(&t, &r, 1, gpu) == ABUT_OK);
      t.left = gpu ? 2 * left : left;
      abut_status status = items_run(&r, &toy_kind, &t, 100, 0, NULL);
      CHECK(status == (left ? ABUT_OK : ABUT_ERROR_MEMORY));
      CHECK(left ? all_done(&t, 100) : !strcmp(abut_error_message(), "toy: out of memory"));
      items_close(&r);
    }
}

/* As many runners as there may be pairs of shapes; they share threads. */
TEST(many_runners) {
  enum { RUNNERS = 300 };
  static items_runner r[RUNNERS];
  for (int i = 0; i < RUNNERS; i++) items_open(&r[i], "toy", 7);
  for (int i = 0; i < RUNNERS; i++) {
    toy t = toy_make();
    CHECK_STATUS(items_run(&r[i], &toy_kind, &t, 500, 0, NULL), ABUT_OK);
    CHECK(all_done(&t, 500));
  }
  for (int i = 0; i < RUNNERS; i++) items_close(&r[i]);
}

/* Every call of the runtime fails in turn: it is reported, nothing is left, and nothing works any more. */
TEST(each_failing_call_is_reported) {
  int64_t calls = 1;
  team_use((team_plan){TEAM_FIBRES, 3, -1});
  for (int64_t at = 0; at <= calls; at++) {
    toy t = toy_make();
    items_runner r;
    double sums[SUMS];
    fake_use((fake_plan){.fail_at = at});
    abut_status status = toy_open(&t, &r, 2, 1);
    if (status == ABUT_OK) status = items_run(&r, &toy_kind, &t, 10, SUMS, sums);
    if (status == ABUT_OK) status = items_run(&r, &toy_kind, &t, 100, SUMS, sums); /* needs more room */
    if (at == 0) calls = fake_calls();
    if (status == ABUT_OK && at > 0 && strcmp(fake_failed_call(), "cudaSetDevice"))
      test_fail(__FILE__, __LINE__, "call %lld, %s, failed and nobody said so", (long long)at,
                fake_failed_call());
    if (status != ABUT_OK && r.gpu) {
      CHECK(items_run(&r, &toy_kind, &t, 10, SUMS, sums) != ABUT_OK);
      CHECK(strstr(abut_error_message(), "the toy is lost"));
    }
    items_close(&r);
    CHECK(fake_live_objects() == 0);
  }
  CHECK(calls > 20);
}
