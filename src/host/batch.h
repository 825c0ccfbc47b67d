/* batch.h: what a batch is made of. State lies environment by environment (a lane group gathers and scatters
 * single environments as its lanes finish, so there is nothing to gain from tiles on the CPU); lanes meet in
 * lane groups. */
#ifndef ABUT_BATCH_H
#define ABUT_BATCH_H
#include "abut/abut.h"
#include "kernels/table.h"
#include "model.h"

/* A contact that outlives its step: its plane (8) and friction motion (3). */
enum { RECORD_VALUES = 11 };

/* Contacts of one environment at one moment; data in the batch's real type. */
typedef struct contact_record {
  int32_t *count; /* [rows] */
  int32_t *pair;  /* [rows][capacity] */
  char *data;     /* [rows][capacity][RECORD_VALUES] */
} contact_record;

/* Parameters that may differ per environment: rows is 1 or N. */
typedef struct parameter_array {
  char *data;
  int64_t rows;
  int32_t n;
} parameter_array;
enum { PARAM_GRAVITY, PARAM_FRICTION, PARAM_MASS, PARAM_STIFFNESS, PARAM_GAIN, PARAM_BIAS, PARAM_COUNT };

/* State of every environment; two copies, so that a rollout commits at its end or not at all. */
typedef struct batch_state {
  char *qpos, *qvel;
  contact_record warm;
  uint32_t *status;
  uint8_t *fresh; /* state was set from outside: shapes may touch, separate first */
} batch_state;

/* Everything the reverse pass needs of a recorded rollout: per step the velocity it started with, the
 * configuration it ended with, and its contacts. */
typedef struct abut_tape {
  int64_t nstep, capacity_steps, ctrl_rows, ctrl_steps;
  char *qpos_start;            /* [N][nq] */
  char *qvel, *qpos;           /* [T][N][nv], [T][N][nq] */
  contact_record start, steps; /* [N], [T][N] */
  int64_t *done;               /* [N] steps that were simulated before the environment froze */
  char *ctrl;                  /* [N|1][T|1][nu] */
} abut_tape;

/* One thread's lanes. */
typedef struct worker {
  lane_group g;
  struct abut_batch *batch;
  int64_t env[16], step[16]; /* per lane; env -1: idle */
  int32_t iterations[16];
  int64_t newton, newton_max, unconverged;
  int32_t need; /* contacts that did not fit: the rollout grows its lists and runs again */
} worker;

struct abut_batch {
  const abut_model *model;
  abut_options options;
  const abut_kernels *kernels;
  step_params params;
  int32_t capacity; /* contacts per environment, and slots per lane group */
  int32_t nworker;
  worker *workers;
  batch_state state, next;
  parameter_array parameters[PARAM_COUNT];
  abut_tape tape;
  int32_t tape_valid;
};

static inline size_t elem_size(const abut_batch *b) { return (size_t)b->kernels->elem_size; }
/* Reads entry i of an array of the batch's real type, and writes it. */
static inline double elem_get(const abut_batch *b, const char *array, int64_t i) {
  return b->kernels->elem_size == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}
static inline void elem_put(const abut_batch *b, char *array, int64_t i, double x) {
  if (b->kernels->elem_size == 8)
    ((double *)array)[i] = x;
  else
    ((float *)array)[i] = (float)x;
}

/* params.c: the model as stages see it (pairs, paths, boxes, layouts) for resolved options. */
abut_status params_create(const abut_model *model, const abut_options *options, step_params *params);
void params_destroy(step_params *params);

/* worker.c */
abut_status worker_create(abut_batch *batch, worker *w);
void worker_destroy(worker *w);
/* Runs every worker once; the first on the calling thread. Fewer threads than asked for
 * change nothing but time. */
typedef void (*worker_main)(worker *w, void *io);
void workers_run(struct abut_batch *batch, worker_main run, void *io);
int64_t worker_bytes(const step_params *params, const abut_kernels *kernels, int32_t capacity);
/* Entry i of a field lies at its first entry + i rows; a lane is one element of the row. */
static inline size_t row_bytes(const abut_kernels *k) { return (size_t)k->lanes * (size_t)k->elem_size; }
static inline char *work_field(const worker *w, int32_t field, int lane) {
  return (char *)w->g.work + (size_t)field * row_bytes(w->batch->kernels) +
         (size_t)lane * elem_size(w->batch);
}
static inline char *slot_field(const worker *w, int32_t slot, int32_t field) {
  return (char *)w->g.slots + ((size_t)slot * (size_t)w->batch->params.slot_at.size + (size_t)field) *
                                  row_bytes(w->batch->kernels);
}
static inline double lane_get(const worker *w, int32_t field, int lane) {
  return elem_get(w->batch, work_field(w, field, lane), 0);
}
static inline void lane_set(worker *w, int32_t field, int lane, double x) {
  elem_put(w->batch, work_field(w, field, lane), 0, x);
}
/* Copies n entries of one environment into, or out of, a lane's field. */
void lane_load(worker *w, int32_t field, int lane, int32_t n, const char *from);
void lane_store(const worker *w, int32_t field, int lane, int32_t n, char *to);
/* Gives lanes a pair; a new lane's plane must be started (fresh) or loaded. -1 and w->need raised if it is
 * full. */
int32_t slot_acquire(worker *w, int32_t pair, uint32_t lanes, int fresh);
/* Takes all pairs from these lanes; empty slots are freed. */
void slots_release(worker *w, uint32_t lanes);
/* Recomputes order and envelope after slots changed. */
void slots_order(worker *w);
void record_load(worker *w, int lane, const contact_record *record, int64_t row);
void record_store(worker *w, int lane, contact_record *record, int64_t row);
void lane_parameters(worker *w, int lane, int64_t env);

/* separate.c: moves shapes of the lane's environment (qpos_t) apart by the smallest joint motion until every
 * pair has gap0. *moved: largest distance of a body (m). Returns 0, and moves nothing, if a pair needs
 * more than max_separation of each body; pair: the one that needs most. */
int separate_lane(worker *w, int lane, double *moved, int32_t *pair);

abut_status record_allocate(const abut_batch *b, int64_t rows, contact_record *record);
void record_free(contact_record *record);
int64_t record_bytes(const abut_batch *b);
abut_status batch_grow(abut_batch *b, int32_t capacity);
/* Goes on with another instance of the same real type, for tests that compare instances. */
abut_status batch_use_kernels(abut_batch *b, const abut_kernels *kernels);

#endif
