/* batch.c: N environments of one model: options, memory, parameters, state. */
#include "host/batch/batch.h"
#include "host/base/memory.h"
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tape.h"
#include "host/batch/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

abut_options abut_default_options(void) {
  abut_options o = {0};
  o.nenv = 1;
  o.max_iterations = 1000;
  o.timestep = 0.01;
  o.reach = 1e-3;
  o.length = 1;
  o.max_separation = 5e-3;
  o.friction = -1;
  o.slip_velocity = 1e-4;
  o.tolerance = 1e-6;
  o.epsilon = 0.5;
  return o;
}

#define RANGE(ok, name, format, value)                                                                       \
  if (!(ok)) return abut_fail(ABUT_ERROR_ARGUMENT, "option %s: %" format " is out of range", name, value)

/* Checks options and resolves every default. */
static abut_status resolve(const abut_options *in, abut_options *o) {
  *o = *in;
  RANGE(o->nenv >= 1 && o->nenv <= (int64_t)1 << 40, "nenv", "lld", (long long)o->nenv);
  RANGE(o->dtype == ABUT_F64 || o->dtype == ABUT_F32, "dtype", "d", o->dtype);
  RANGE(o->contact >= ABUT_CONTACT_LOCAL && o->contact <= ABUT_CONTACT_LONGRANGE, "contact", "d", o->contact);
  RANGE(o->form == ABUT_FORM_WEIGHTED || o->form == ABUT_FORM_PAPER, "form", "d", o->form);
  RANGE(o->weights == 0 || o->weights == 1, "weights", "d", o->weights);
  RANGE(o->friction_form == 0 || o->friction_form == 1, "friction_form", "d", o->friction_form);
  RANGE(o->solver == 0 || o->solver == 1, "solver", "d", o->solver);
  RANGE(o->threads >= 0 && o->threads <= 4096, "threads", "d", o->threads);
  RANGE(o->max_iterations >= 1, "max_iterations", "d", o->max_iterations);
  RANGE(o->pair_capacity >= 0, "pair_capacity", "d", o->pair_capacity);
  RANGE(o->device >= 0 && o->device <= 2, "device", "d", o->device);
  RANGE(o->device_id >= 0, "device_id", "d", o->device_id);
  if (o->stream && o->device != ABUT_DEVICE_CUDA)
    return abut_fail(ABUT_ERROR_ARGUMENT, "option stream: %p is of no use to a batch on the CPU", o->stream);
  if (o->device_id && o->device != ABUT_DEVICE_CUDA)
    return abut_fail(ABUT_ERROR_ARGUMENT, "option device_id: %d names a GPU, this batch is on the CPU",
                     o->device_id);
  RANGE(o->team == 0 || o->team == 1 || o->team == 32, "team", "d", o->team);
  if (o->timestep == 0) o->timestep = 0.01;
  if (o->stiffness == 0) o->stiffness = o->contact == ABUT_CONTACT_LOCAL ? 1e-7 : 1e-8;
  if (o->gap0 == 0) o->gap0 = o->contact == ABUT_CONTACT_LOCAL ? 0.5 * o->reach * o->length : 1e-4;
  RANGE(o->timestep > 0 && isfinite(o->timestep), "timestep", "g", o->timestep);
  RANGE(o->reach > 0 && o->reach < 0.5, "reach", "g", o->reach);
  RANGE(o->stiffness > 0 && isfinite(o->stiffness), "stiffness", "g", o->stiffness);
  RANGE(o->length > 0 && isfinite(o->length), "length", "g", o->length);
  RANGE(o->gap0 > 0 && isfinite(o->gap0), "gap0", "g", o->gap0);
  RANGE(o->max_separation >= 0 && isfinite(o->max_separation), "max_separation", "g", o->max_separation);
  RANGE(!isnan(o->friction) && o->friction < 1e6, "friction", "g", o->friction);
  RANGE(o->slip_velocity > 0 && isfinite(o->slip_velocity), "slip_velocity", "g", o->slip_velocity);
  RANGE(o->epsilon > 0 && o->epsilon <= 100, "epsilon", "g", o->epsilon);
  RANGE(o->tolerance > 0 && isfinite(o->tolerance), "tolerance", "g", o->tolerance);
  if (o->threads == 0) o->threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (o->threads < 1) o->threads = 1;
  return ABUT_OK;
}

static int32_t initial_capacity(const abut_model *m, const abut_options *o) {
  int32_t all = m->npair > 0 ? m->npair : 1, start = o->pair_capacity;
  if (start == 0) start = o->contact != ABUT_CONTACT_LOCAL ? all : 8 + 4 * m->nbody;
  return start < all ? start : all;
}

static void parameter_sizes(const abut_model *m, parameter_array p[PARAM_COUNT]) {
  p[PARAM_GRAVITY].n = 3;
  p[PARAM_FRICTION].n = m->ngeom;
  p[PARAM_MASS].n = m->nbody;
  p[PARAM_STIFFNESS].n = 1;
  p[PARAM_GAIN].n = m->nu;
  p[PARAM_BIAS].n = 3 * m->nu;
}

int64_t record_bytes(const abut_batch *b) {
  return 4 + (int64_t)b->capacity * (4 + RECORD_VALUES * b->kernels->elem_size);
}
static int64_t state_bytes(const abut_batch *b) {
  return b->kernels->elem_size * (int64_t)(b->model->nq + b->model->nv) + record_bytes(b) + 5;
}
static int64_t step_bytes(const abut_batch *b) {
  const abut_model *m = b->model;
  return b->kernels->elem_size * (int64_t)(m->nq + m->nv + m->nu) + record_bytes(b);
}
/* What the record of a rollout keeps of its start. */
static int64_t start_bytes(const abut_batch *b) {
  return b->kernels->elem_size * (int64_t)b->model->nq + record_bytes(b) + (int64_t)sizeof(int64_t);
}

int64_t tape_bytes(const abut_batch *b, int64_t nstep) {
  return bytes_add(start_bytes(b), nstep, step_bytes(b));
}

static const backend *backend_of(const abut_options *o) {
  return o->device == ABUT_DEVICE_CUDA ? &backend_cuda : &backend_cpu;
}

/* What follows from model and options alone. */
enum { FAR_FIRST = 1024 }; /* entries of long-range lists to begin with */

static abut_status plan(const abut_model *model, const abut_options *options, abut_batch *b) {
  ABUT_TRY(resolve(options, &b->options));
  ABUT_TRY(precision_check(model, &b->options));
  b->model = model;
  const backend *k = backend_of(&b->options);
  ABUT_TRY(k->find(&b->options));
  b->backend = k;
  ABUT_TRY(k->kernels(&b->options, &b->kernels));
  b->capacity = b->nslot = initial_capacity(model, &b->options);
  parameter_sizes(model, b->parameters);
  ABUT_TRY(params_create(model, &b->options, &b->params));
  b->far = b->params.far ? FAR_FIRST : 0;
  return ABUT_OK;
}

abut_status abut_batch_memory(const abut_model *model, const abut_options *options, int64_t nstep,
                              int64_t *bytes_per_env, int64_t *bytes_total) {
  ABUT_REQUIRE(model, "model");
  ABUT_REQUIRE(options, "options");
  if (nstep < 0)
    return abut_fail(ABUT_ERROR_ARGUMENT, "abut_batch_memory: nstep %lld is negative", (long long)nstep);
  abut_batch b = {0};
  ABUT_TRY(plan(model, options, &b));
  int64_t workers = b.backend->lane_bytes(&b);
  int64_t states = b.backend == &backend_cpu ? 2 * state_bytes(&b) : 0; /* a GPU's are among its lanes' */
  int64_t record = nstep > 0 ? tape_bytes(&b, nstep) : 0;
  if (bytes_per_env) *bytes_per_env = states + start_bytes(&b) + step_bytes(&b) + workers / b.options.nenv;
  if (bytes_total) *bytes_total = bytes_add(workers, b.options.nenv, bytes_add(states, 1, record));
  params_destroy(&b.params);
  return ABUT_OK;
}

abut_status record_allocate(const abut_batch *b, const backend *memory, int64_t rows, contact_record *r) {
  size_t n = (size_t)rows, cap = (size_t)b->capacity;
  char *count = NULL, *pair = NULL;
  abut_status status = memory->allocate(b, n * 4, &count);
  if (status == ABUT_OK) status = memory->allocate(b, n * cap * 4, &pair);
  if (status == ABUT_OK) status = memory->allocate(b, n * cap * RECORD_VALUES * elem_size(b), &r->data);
  r->count = (int32_t *)(void *)count;
  r->pair = (int32_t *)(void *)pair;
  if (status != ABUT_ERROR_MEMORY) return status;
  return abut_fail(status, "%lld contact records of %d contacts: out of memory", (long long)rows,
                   b->capacity);
}
void record_free(const abut_batch *b, const backend *memory, contact_record *r) {
  memory->release(b, r->count);
  memory->release(b, r->pair);
  memory->release(b, r->data);
  memset(r, 0, sizeof *r);
}

static abut_status state_allocate(const abut_batch *b, batch_state *s) {
  size_t n = (size_t)b->options.nenv, e = elem_size(b);
  s->qpos = calloc(n * (size_t)b->model->nq + 1, e);
  s->qvel = calloc(n * (size_t)b->model->nv + 1, e);
  s->status = calloc(n, sizeof *s->status);
  s->fresh = calloc(n, 1);
  if (!s->qpos || !s->qvel || !s->status || !s->fresh)
    return abut_fail(ABUT_ERROR_MEMORY, "%lld environment%s: out of memory", (long long)b->options.nenv,
                     PLURAL(b->options.nenv));
  return record_allocate(b, &backend_cpu, b->options.nenv, &s->warm);
}
static void state_free(const abut_batch *b, batch_state *s) {
  free(s->qpos);
  free(s->qvel);
  free(s->status);
  free(s->fresh);
  record_free(b, &backend_cpu, &s->warm);
  memset(s, 0, sizeof *s);
}

static abut_status default_parameters(abut_batch *b) {
  const abut_model *m = b->model;
  const double *from[PARAM_COUNT] = {m->gravity,       m->geom_friction, m->body_mass, &b->options.stiffness,
                                     m->actuator_gain, m->actuator_bias};
  for (int i = 0; i < PARAM_COUNT; i++) {
    parameter_array *p = &b->parameters[i];
    p->rows = 1;
    p->data = calloc((size_t)p->n + 1, elem_size(b));
    if (!p->data) return abut_fail(ABUT_ERROR_MEMORY, "parameters: out of memory");
    int override = i == PARAM_FRICTION && b->options.friction >= 0;
    for (int32_t j = 0; j < p->n; j++) elem_put(b, p->data, j, override ? b->options.friction : from[i][j]);
  }
  return ABUT_OK;
}

static abut_status refuse_if_too_large(const abut_model *model, const abut_options *options) {
  int64_t total;
  if (options->device == ABUT_DEVICE_CUDA) return ABUT_OK; /* its own memory decides */
  ABUT_TRY(abut_batch_memory(model, options, 0, NULL, &total));
  double physical = memory_installed();
  if ((double)total > physical)
    return abut_fail(ABUT_ERROR_MEMORY, "%lld environment%s %.1f GiB, this machine has %.1f GiB",
                     (long long)options->nenv, options->nenv == 1 ? " needs" : "s need",
                     (double)total / 0x1p30, physical / 0x1p30);
  return ABUT_OK;
}

static abut_status create(const abut_model *model, const abut_options *options, abut_batch *b) {
  ABUT_TRY(refuse_if_too_large(model, options));
  ABUT_TRY(plan(model, options, b));
  ABUT_TRY(state_allocate(b, &b->state));
  if (b->backend == &backend_cpu) ABUT_TRY(state_allocate(b, &b->next));
  ABUT_TRY(default_parameters(b));
  ABUT_TRY(b->backend->open(b));
  return abut_batch_reset(b, NULL, -1);
}

abut_status abut_batch_create(const abut_model *model, const abut_options *options, abut_batch **batch) {
  ABUT_REQUIRE(batch, "batch");
  *batch = NULL;
  ABUT_REQUIRE(model, "model");
  ABUT_REQUIRE(options, "options");
  abut_batch *b = calloc(1, sizeof *b);
  if (!b) return abut_fail(ABUT_ERROR_MEMORY, "batch: out of memory");
  abut_status status = create(model, options, b);
  if (status != ABUT_OK) {
    abut_batch_destroy(b);
    return status;
  }
  *batch = b;
  return ABUT_OK;
}

void abut_batch_destroy(abut_batch *b) {
  if (!b) return;
  if (b->backend) {
    tape_free(b);
    b->backend->destroy(b);
    state_free(b, &b->state);
    state_free(b, &b->next);
  }
  for (int i = 0; i < PARAM_COUNT; i++) free(b->parameters[i].data);
  params_destroy(&b->params);
  free(b);
}

abut_options abut_batch_get_options(const abut_batch *b) { return b ? b->options : abut_default_options(); }

/* A copy of a record of `old` contacts per row with room for b->capacity. */
static abut_status record_copy(const abut_batch *b, int64_t rows, int32_t old, const contact_record *r,
                               contact_record *copy) {
  ABUT_TRY(record_allocate(b, &backend_cpu, rows, copy));
  size_t e = elem_size(b) * RECORD_VALUES;
  for (int64_t i = 0; i < rows; i++) {
    copy->count[i] = r->count[i];
    size_t n = (size_t)r->count[i];
    memcpy(copy->pair + i * b->capacity, r->pair + i * old, n * 4);
    memcpy(copy->data + (size_t)(i * b->capacity) * e, r->data + (size_t)(i * old) * e, n * e);
  }
  return ABUT_OK;
}

static int32_t larger(const abut_batch *b, int32_t need) {
  int32_t old = b->nslot, want = need > old + old / 2 ? need : old + old / 2 + 1;
  return want < b->model->npair ? want : b->model->npair;
}

/* Lane groups with one of their lengths (nslot, far) changed; where they cannot be had it is as it was. */
static abut_status reopen(abut_batch *b, int32_t *length, int32_t wanted) {
  int32_t had = *length;
  b->backend->close(b);
  *length = wanted;
  abut_status status = b->backend->open(b);
  if (status != ABUT_OK) *length = had;
  return status;
}

static abut_status grow_slots(abut_batch *b, int32_t need) {
  ABUT_TRY(b->backend->fetch(b));
  return reopen(b, &b->nslot, larger(b, need));
}

/* The new records of the state, and of the next where there is one; nothing is given up before both are
 * there.
 */
static abut_status grow_records(abut_batch *b, int32_t capacity) {
  contact_record warm = {0}, next = {0};
  int32_t old = b->capacity;
  b->capacity = capacity;
  abut_status status = record_copy(b, b->options.nenv, old, &b->state.warm, &warm);
  if (status == ABUT_OK && b->next.warm.count)
    status = record_allocate(b, &backend_cpu, b->options.nenv, &next);
  if (status == ABUT_OK) {
    contact_record had = b->state.warm;
    b->state.warm = warm, warm = had;
    had = b->next.warm;
    b->next.warm = next, next = had;
  } else {
    b->capacity = old;
  }
  record_free(b, &backend_cpu, &warm);
  record_free(b, &backend_cpu, &next);
  return status;
}

static abut_status grow_contacts(abut_batch *b, int32_t need) {
  int32_t wanted = larger(b, need);
  ABUT_TRY(b->backend->fetch(b));
  if (wanted > b->capacity) { /* it is already where lane groups could not follow the records */
    ABUT_TRY(grow_records(b, wanted));
    tape_free(b);
    b->tape_valid = 0;
  }
  return reopen(b, &b->nslot, wanted);
}

/* Whether host memory has room for lists of `need` entries in every lane that has an environment. */
static abut_status check_far(abut_batch *b, int32_t need) {
  int32_t had = b->far, lanes = b->kernels->lanes;
  int64_t used = b->options.nenv < lanes ? b->options.nenv : lanes;
  lane_group none = {0};
  b->far = need;
  double bytes = (double)b->nworker * (double)far_place(b, NULL, &none) * (double)used / lanes,
         available = memory_available();
  b->far = had;
  if (b->cuda || bytes <= available) return ABUT_OK;
  return abut_fail(
      ABUT_ERROR_MEMORY,
      "long-range contact: %d pairs of nodes in an environment need %.1f GiB in %d thread%s, %.1f GiB "
      "available; coarser meshes, a smaller epsilon or fewer threads need less",
      need, bytes / 0x1p30, b->nworker, PLURAL(b->nworker), available / 0x1p30);
}

static abut_status grow_far(abut_batch *b, int64_t need) {
  if (need > INT32_MAX / 2)
    return abut_fail(ABUT_ERROR_MEMORY, "long-range lists of %lld entries are too long", (long long)need);
  ABUT_TRY(check_far(b, (int32_t)need));
  ABUT_TRY(b->backend->fetch(b));
  return reopen(b, &b->far, need > b->far ? (int32_t)need : b->far);
}

abut_status batch_make_room(abut_batch *b, int64_t contacts, int64_t far, int reverse) {
  if (far) return grow_far(b, far);
  return reverse ? grow_slots(b, (int32_t)contacts) : grow_contacts(b, (int32_t)contacts);
}

abut_status batch_use_kernels(abut_batch *b, const abut_kernels *kernels) {
  b->backend->close(b);
  b->kernels = kernels;
  return b->backend->open(b);
}

/* A copy of a tensor's data in host memory, to be freed. */
static abut_status tensor_copy(const abut_batch *b, const char *name, const abut_tensor *t, char **copy) {
  size_t bytes = tensor_bytes(t);
  *copy = malloc(bytes + 1);
  if (!*copy) return abut_fail(ABUT_ERROR_MEMORY, "%s: out of memory", name);
  if (tensor_on_gpu(t)) return b->backend->read(b, *copy, tensor_data(t), bytes);
  memcpy(*copy, tensor_data(t), bytes);
  return ABUT_OK;
}

static const char *const parameter_names[PARAM_COUNT] = {"gravity",   "friction", "mass",
                                                         "stiffness", "gain",     "bias"};

static abut_status check_parameter(const abut_batch *b, int i, const abut_tensor *t, const char *data) {
  int64_t n = b->parameters[i].n, count = t->shape[0] * n;
  for (int64_t j = 0; j < count; j++) {
    double x = elem_get(b, data, j);
    int positive = i == PARAM_STIFFNESS || (i == PARAM_MASS && b->model->body_mass[j % n] > 0);
    if (!isfinite(x) || (positive && !(x > 0)) || (i == PARAM_FRICTION && x < 0))
      return abut_fail(ABUT_ERROR_ARGUMENT, "%s[%lld, %lld]: %g is not allowed", parameter_names[i],
                       (long long)(j / n), (long long)(j % n), x);
  }
  return ABUT_OK;
}

abut_status abut_batch_set_parameters(abut_batch *b, const abut_parameters *p) {
  ABUT_REQUIRE(b, "batch");
  ABUT_REQUIRE(p, "parameters");
  const abut_tensor *t[PARAM_COUNT] = {p->gravity, p->friction, p->mass, p->stiffness, p->gain, p->bias};
  const int64_t broadcast[2] = {1, 0};
  char *data[PARAM_COUNT] = {NULL};
  for (int i = 0; i < PARAM_COUNT; i++) {
    int64_t shape[2] = {b->options.nenv, b->parameters[i].n};
    ABUT_TRY(tensor_check(parameter_names[i], t[i], &b->options, 'r', 2, shape, broadcast));
  }
  abut_status status = b->backend->fetch(b);
  for (int i = 0; i < PARAM_COUNT && status == ABUT_OK; i++) {
    if (t[i]) status = tensor_copy(b, parameter_names[i], t[i], &data[i]);
    if (t[i] && status == ABUT_OK) status = check_parameter(b, i, t[i], data[i]);
  }
  for (int i = 0; i < PARAM_COUNT; i++) { /* the new ones, or nothing */
    char *unused = data[i];
    if (data[i] && status == ABUT_OK) {
      unused = b->parameters[i].data;
      b->parameters[i].data = data[i];
      b->parameters[i].rows = t[i]->shape[0];
    }
    free(unused);
  }
  if (status != ABUT_OK) return status;
  b->tape_valid = 0;
  return b->backend->push(b);
}

/* A state from outside: no warm contacts, no status, shapes may touch. */
static void renew(abut_batch *b, int64_t env) {
  b->state.warm.count[env] = 0;
  b->state.status[env] = 0;
  b->state.fresh[env] = 1;
}

abut_status abut_batch_reset(abut_batch *b, const uint8_t *mask, int32_t key) {
  ABUT_REQUIRE(b, "batch");
  const abut_model *m = b->model;
  if (key < -1 || key >= m->nkey)
    return abut_fail(ABUT_ERROR_ARGUMENT, "key %d does not exist, the scene has %d", key, m->nkey);
  ABUT_TRY(b->backend->fetch(b));
  const double *qpos = key < 0 ? m->qpos0 : m->key_qpos + (size_t)key * (size_t)m->nq;
  for (int64_t env = 0; env < b->options.nenv; env++) {
    if (mask && !mask[env]) continue;
    for (int32_t i = 0; i < m->nq; i++) elem_put(b, b->state.qpos, env * m->nq + i, qpos[i]);
    for (int32_t i = 0; i < m->nv; i++)
      elem_put(b, b->state.qvel, env * m->nv + i,
               key < 0 ? 0 : m->key_qvel[(size_t)key * (size_t)m->nv + (size_t)i]);
    renew(b, env);
  }
  b->tape_valid = 0;
  return b->backend->push(b);
}

static abut_status check_state(const abut_batch *b, const abut_tensor *qpos, const abut_tensor *qvel,
                               int may_broadcast) {
  const int64_t broadcast[2] = {may_broadcast, 0};
  int64_t q[2] = {b->options.nenv, b->model->nq}, v[2] = {b->options.nenv, b->model->nv};
  ABUT_TRY(tensor_check("qpos", qpos, &b->options, 'r', 2, q, broadcast));
  return tensor_check("qvel", qvel, &b->options, 'r', 2, v, broadcast);
}

/* Whether an environment that mask selects takes this row; the only one is taken by all. */
static int row_used(const abut_batch *b, const uint8_t *mask, int64_t row, int64_t rows) {
  if (!mask || rows > 1) return !mask || mask[row];
  int used = 0;
  for (int64_t env = 0; env < b->options.nenv; env++) used |= mask[env] != 0;
  return used;
}

/* A quaternion that cannot be made unit is no orientation. */
static abut_status check_quaternions(const abut_batch *b, const uint8_t *mask, const char *qpos,
                                     int64_t rows) {
  const abut_model *m = b->model;
  for (int64_t row = 0; row < rows; row++) {
    if (!row_used(b, mask, row, rows)) continue;
    const char *q = qpos + (size_t)(row * m->nq) * elem_size(b);
    for (int32_t j = 0; j < m->njnt; j++) {
      int32_t type = m->jnt_type[j], at = m->jnt_qposadr[j] + (type == ABUT_JOINT_FREE ? 3 : 0);
      if (type != ABUT_JOINT_FREE && type != ABUT_JOINT_BALL) continue;
      double norm = 0;
      for (int i = 0; i < 4; i++) norm = hypot(norm, elem_get(b, q, at + i));
      if (norm > 1e-10 && norm < 1e10) continue;
      char label[ABUT_LABEL];
      return abut_fail(ABUT_ERROR_ARGUMENT, "qpos[%lld]: the quaternion of %s has norm %g, 1 is needed",
                       (long long)row, abut_model_label(m, 'j', j, label), norm);
    }
  }
  return ABUT_OK;
}

static void assign_state(abut_batch *b, const uint8_t *mask, const abut_tensor *const t[2],
                         const char *const data[2]) {
  char *to[2] = {b->state.qpos, b->state.qvel};
  size_t n[2] = {(size_t)b->model->nq * elem_size(b), (size_t)b->model->nv * elem_size(b)};
  for (int64_t env = 0; env < b->options.nenv; env++) {
    if (mask && !mask[env]) continue;
    for (int i = 0; i < 2; i++) {
      if (!t[i]) continue;
      size_t row = t[i]->shape[0] == 1 ? 0 : (size_t)env;
      memcpy(to[i] + (size_t)env * n[i], data[i] + row * n[i], n[i]);
    }
    renew(b, env);
  }
  b->tape_valid = 0;
}

abut_status abut_batch_set_state(abut_batch *b, const uint8_t *mask, const abut_tensor *qpos,
                                 const abut_tensor *qvel) {
  ABUT_REQUIRE(b, "batch");
  ABUT_TRY(check_state(b, qpos, qvel, 1));
  const abut_tensor *t[2] = {qpos, qvel};
  char *data[2] = {NULL};
  abut_status status = b->backend->fetch(b);
  if (status == ABUT_OK && qpos) status = tensor_copy(b, "qpos", qpos, &data[0]);
  if (status == ABUT_OK && qvel) status = tensor_copy(b, "qvel", qvel, &data[1]);
  if (status == ABUT_OK && qpos) status = check_quaternions(b, mask, data[0], qpos->shape[0]);
  if (status == ABUT_OK) assign_state(b, mask, t, (const char *const[2]){data[0], data[1]});
  free(data[0]);
  free(data[1]);
  return status == ABUT_OK ? b->backend->push(b) : status;
}

abut_status abut_batch_get_state(const abut_batch *b, const uint8_t *mask, abut_tensor *qpos,
                                 abut_tensor *qvel) {
  ABUT_REQUIRE(b, "batch");
  ABUT_TRY(check_state(b, qpos, qvel, 0));
  ABUT_TRY(b->backend->fetch((abut_batch *)b));
  const abut_tensor *t[2] = {qpos, qvel};
  const char *from[2] = {b->state.qpos, b->state.qvel};
  size_t n[2] = {(size_t)b->model->nq * elem_size(b), (size_t)b->model->nv * elem_size(b)};
  for (int64_t env = 0, end; env < b->options.nenv; env = end) {
    for (end = env; end < b->options.nenv && (!mask || mask[end]); end++) {
    } /* neighbours at once */
    for (int i = 0; i < 2; i++) {
      size_t at = (size_t)env * n[i], bytes = (size_t)(end - env) * n[i];
      if (!t[i] || bytes == 0) continue;
      if (tensor_on_gpu(t[i]))
        ABUT_TRY(b->backend->write(b, tensor_data(t[i]) + at, from[i] + at, bytes));
      else
        memcpy(tensor_data(t[i]) + at, from[i] + at, bytes);
    }
    if (end == env) end++;
  }
  return ABUT_OK;
}
