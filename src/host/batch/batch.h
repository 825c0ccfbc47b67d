/* batch.h: what a batch is made of. State lies environment by environment (a lane group gathers and scatters
 * single environments as its lanes finish, so there is nothing to gain from tiles on the CPU); lanes meet in
 * lane groups. */
#ifndef ABUT_BATCH_H
#define ABUT_BATCH_H
#include "abut/abut.h"
#include "host/batch/method.h"
#include "host/model/model.h"

/* One thread's lanes. */
typedef struct worker {
  lane_group g;
  char *block; /* where its arrays lie */
  struct abut_batch *batch;
} worker;

struct abut_batch {
  const abut_model *model;
  abut_options options;
  const method *method;
  const method_kernels *kernels;
  step_params params;
  double *starts;   /* (1 + nkey) x nq: qpos0 and the keys', as the method starts from them */
  text_lines notes; /* abut_batch_warnings */
  program forward, reverse;
  int32_t capacity; /* contacts per environment in every record */
  int32_t nslot;    /* contacts per lane group: those of all its lanes */
  int32_t room;     /* entries of the method's own lists in a lane */
  int32_t nworker;
  worker *workers;
  struct pool *pool; /* threads of the workers but for the first */
  batch_state state, next;
  parameter_array parameters[PARAM_COUNT];
  const struct backend *backend;
  struct cuda_device *cuda;      /* backend_cuda.c; NULL on the CPU */
  struct stage_profile *profile; /* profile.h; NULL: nobody asks */
  rollout_tape tape;
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

/* precision.c: fails where the batch's real type does not hold an option of every method, or a number of the
 * model. */
abut_status precision_check(const abut_model *model, const abut_options *resolved);

/* worker.c */
abut_status worker_create(abut_batch *batch, worker *w);
void worker_destroy(worker *w);
/* Runs every worker once; the first on the calling thread. Fewer threads than asked for
 * change nothing but time. */
typedef void (*worker_main)(worker *w, void *arg);
void workers_run(struct abut_batch *batch, worker_main run, void *arg);
int64_t worker_bytes(const abut_batch *b);

/* In the memory of a backend: of the host's mirror, backend_cpu. */
abut_status record_allocate(const abut_batch *b, const struct backend *memory, int64_t rows,
                            contact_record *record);
void record_free(const abut_batch *b, const struct backend *memory, contact_record *record);
int64_t record_bytes(const abut_batch *b);
/* Of the record of one environment's rollout of nstep steps; INT64_MAX: more than that. */
int64_t tape_bytes(const abut_batch *b, int64_t nstep);
/* Makes room for what a program met (program_io: need, need_room): entries of the method's own lists, else
 * contacts; in a reverse pass only lane groups grow, not records. */
abut_status batch_make_room(abut_batch *b, int64_t contacts, int64_t room, int reverse);
/* A copy of a tensor's data in host memory, to be freed; name: for messages. */
abut_status batch_copy_tensor(const abut_batch *b, const char *name, const abut_tensor *t, char **copy);

/* batch_parameters.c: how many numbers each parameter has, and their values where nobody set them. */
void parameters_count(abut_batch *b);
abut_status parameters_default(abut_batch *b);
/* Parameters of the environments that mask selects (NULL: all) that a key has, as the key has them; -1: as
 * the scene does. */
abut_status parameters_reset(abut_batch *b, const uint8_t *mask, int32_t key);

/* Goes on with another instance of the same real type, for tests that compare instances. */
abut_status batch_use_kernels(abut_batch *b, const method_kernels *kernels);

#endif
