/* rollout.h: a scene, a batch of it, and rollouts with every array they write, for tests. */
#ifndef ABUT_TEST_ROLLOUT_H
#define ABUT_TEST_ROLLOUT_H
#include "describe.h"
#include <string.h>

/* A compact tensor and its memory. */
typedef struct array {
  abut_tensor t;
  int64_t shape[4];
  size_t count, bytes;
} array;

/* code: 'd' double, 'f' float, 'i' int32, 'u' uint32. Filled with 0xA5, so that what was not written shows.
 */
static inline void array_create(array *a, char code, int ndim, const int64_t *shape) {
  memset(a, 0, sizeof *a);
  a->count = 1;
  for (int i = 0; i < ndim; i++) {
    a->shape[i] = shape[i];
    a->count *= (size_t)shape[i];
  }
  a->bytes = a->count * (code == 'd' ? 8 : 4);
  a->t.data = malloc(a->bytes + 1);
  memset(a->t.data, 0xA5, a->bytes + 1);
  a->t.device.device_type = 1;
  a->t.ndim = ndim;
  a->t.dtype.code = code == 'i' ? 0 : code == 'u' ? 1 : 2;
  a->t.dtype.bits = code == 'd' ? 64 : 32;
  a->t.dtype.lanes = 1;
}
static inline void array_free(array *a) { free(a->t.data); }
/* The tensor; its shape pointer is set here so that arrays may be copied and returned. */
static inline abut_tensor *tensor(array *a) {
  a->t.shape = a->shape;
  return &a->t;
}
static inline double array_get(const array *a, size_t i) {
  if (a->t.dtype.code != 2) return ((const int32_t *)a->t.data)[i];
  return a->t.dtype.bits == 64 ? ((const double *)a->t.data)[i] : (double)((const float *)a->t.data)[i];
}
static inline void array_set(array *a, size_t i, double x) {
  if (a->t.dtype.bits == 64)
    ((double *)a->t.data)[i] = x;
  else
    ((float *)a->t.data)[i] = (float)x;
}
static inline int array_untouched(const array *a) {
  for (size_t i = 0; a->t.data && i < a->bytes; i++)
    if (((const unsigned char *)a->t.data)[i] != 0xA5) return 0;
  return 1;
}

typedef struct scene {
  abut_model *model;
  abut_model_sizes n;
} scene;
static inline int scene_load(const char *path, scene *s) {
  memset(s, 0, sizeof *s);
  if (abut_model_load(path, NULL, &s->model) != ABUT_OK) return 0;
  s->n = abut_model_get_sizes(s->model);
  return 1;
}
static inline int scene_take(abut_model *model, scene *s) {
  s->model = model;
  if (model) s->n = abut_model_get_sizes(model);
  return model != NULL;
}
static inline void scene_free(scene *s) { abut_model_destroy(s->model); }

/* Options of a test batch: one thread, so that what a test says about threads it says itself. */
static inline abut_options test_options(int64_t nenv) {
  abut_options o = abut_default_options();
  o.nenv = nenv;
  o.threads = 1;
  return o;
}
static inline abut_batch *batch_of(const scene *s, const abut_options *o) {
  abut_batch *b = NULL;
  CHECK_STATUS(abut_batch_create(s->model, o, &b), ABUT_OK);
  return b;
}

enum {
  OUT_QPOS,
  OUT_QVEL,
  OUT_XPOS,
  OUT_XQUAT,
  OUT_FORCE,
  OUT_GAP,
  OUT_PAIR,
  OUT_ENERGY,
  OUT_STATUS,
  OUT_ITERATIONS,
  OUT_MOVED,
  OUT_OVERLAP,
  OUT_COUNT
};

/* A rollout's arguments with every output. */
typedef struct run {
  abut_rollout_args args;
  array out[OUT_COUNT];
  abut_rollout_result result;
} run;

static inline void run_create(run *r, const scene *s, const abut_options *o, int64_t nstep) {
  memset(r, 0, sizeof *r);
  r->args = abut_default_rollout_args();
  r->args.nstep = nstep;
  char real = o->dtype == ABUT_F32 ? 'f' : 'd';
  int64_t n = o->nenv, t = nstep, m = t + 1, nb = s->n.nbody;
  const int64_t shapes[OUT_COUNT][4] = {{n, m, s->n.nq},
                                        {n, m, s->n.nv},
                                        {n, m, nb, 3},
                                        {n, m, nb, 4},
                                        {n, t, s->n.npair, 3},
                                        {n, t},
                                        {n, t},
                                        {n, t, 4},
                                        {n},
                                        {n, t},
                                        {n},
                                        {n}};
  const int dims[OUT_COUNT] = {3, 3, 4, 4, 4, 2, 2, 3, 1, 2, 1, 1};
  for (int i = 0; i < OUT_COUNT; i++) {
    char code = i == OUT_PAIR || i == OUT_ITERATIONS || i == OUT_OVERLAP ? 'i' : i == OUT_STATUS ? 'u' : real;
    array_create(&r->out[i], code, dims[i], shapes[i]);
  }
  abut_tensor **args[OUT_COUNT] = {&r->args.qpos,       &r->args.qvel,          &r->args.xpos,
                                   &r->args.xquat,      &r->args.contact_force, &r->args.min_gap,
                                   &r->args.min_pair,   &r->args.energy,        &r->args.status,
                                   &r->args.iterations, &r->args.moved,         &r->args.overlap_pair};
  for (int i = 0; i < OUT_COUNT; i++) *args[i] = tensor(&r->out[i]);
}
static inline void run_free(run *r) {
  for (int i = 0; i < OUT_COUNT; i++) array_free(&r->out[i]);
}
static inline int run_go(run *r, abut_batch *b) {
  int status = abut_rollout(b, &r->args, &r->result, NULL, NULL);
  CHECK_STATUS(status, ABUT_OK);
  return status == ABUT_OK;
}

static inline size_t run_row_bytes(const run *r, int out) {
  return r->out[out].bytes / (size_t)r->out[out].shape[0];
}
static inline const char *run_row(const run *r, int out, int64_t env) {
  return (const char *)r->out[out].t.data + (size_t)env * run_row_bytes(r, out);
}
/* First output in which environment i of a and j of b differ in a bit; NULL if none. */
static inline const char *run_difference(const run *a, int64_t i, const run *b, int64_t j) {
  static const char *const names[OUT_COUNT] = {"qpos",          "qvel",       "xpos",     "xquat",
                                               "contact_force", "min_gap",    "min_pair", "energy",
                                               "status",        "iterations", "moved",    "overlap_pair"};
  for (int k = 0; k < OUT_COUNT; k++)
    if (memcmp(run_row(a, k, i), run_row(b, k, j), run_row_bytes(a, k))) return names[k];
  return NULL;
}
/* Reports which environment and output differ. */
static inline void run_check_same(const char *what, const run *a, int64_t i, const run *b, int64_t j) {
  const char *where = run_difference(a, i, b, j);
  if (where) test_fail(__FILE__, __LINE__, "%s: %s of environment %lld differs", what, where, (long long)i);
}
static inline uint32_t run_status(const run *r, int64_t env) {
  return ((const uint32_t *)r->out[OUT_STATUS].t.data)[env];
}

/* splitmix64: numbers for tests, a function of their index. */
static inline uint64_t test_hash(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}
/* Uniform in [low, high). */
static inline double test_uniform(uint64_t index, double low, double high) {
  return low + (high - low) * (double)(test_hash(index) >> 11) * 0x1p-53;
}

static inline int array_same(const array *a, const array *b) {
  return a->bytes == b->bytes && !memcmp(a->t.data, b->t.data, a->bytes);
}
/* Largest difference of one output of two rollouts. */
static inline double run_distance(const run *a, const run *b, int out) {
  double worst = 0;
  for (size_t i = 0; i < a->out[out].count; i++)
    worst = fmax(worst, fabs(array_get(&a->out[out], i) - array_get(&b->out[out], i)));
  return worst;
}

#endif
