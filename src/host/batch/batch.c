/* batch.c: N environments of one model: memory, state. */
#include "host/batch/layout.h"
#include "host/base/memory.h"
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/options.h"
#include "host/batch/tape.h"
#include "host/batch/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int32_t initial_capacity(const abut_batch *b) {
  int32_t all = b->model->npair > 0 ? b->model->npair : 1, start = b->method->contacts(b->model, &b->options);
  return start > 0 && start < all ? start : all;
}

int64_t record_bytes(const abut_batch *b) {
  return 4 + (int64_t)b->capacity * (4 + b->method->kept * b->kernels->elem_size);
}
static int64_t state_bytes(const abut_batch *b) {
  return b->kernels->elem_size * (int64_t)(b->model->nq + b->model->nv + b->model->na) + record_bytes(b) + 5;
}
static int64_t step_bytes(const abut_batch *b) {
  const abut_model *m = b->model;
  return b->kernels->elem_size * (int64_t)(m->nq + m->nv + m->na + m->nu) + record_bytes(b);
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
static abut_status plan(const abut_model *model, const abut_options *options, abut_batch *b) {
  b->options = *options;
  ATTEMPT(options_resolve(model, &b->options));
  ATTEMPT(precision_check(model, &b->options));
  b->model = model;
  b->method = methods[b->options.method];
  const backend *k = backend_of(&b->options);
  ATTEMPT(k->find(&b->options));
  b->backend = k;
  ATTEMPT(k->kernels(&b->options, &b->kernels));
  b->capacity = b->nslot = initial_capacity(b);
  parameters_count(b);
  ATTEMPT(params_create(model, &b->options, &b->params));
  b->room = b->method->room(&b->params);
  return ABUT_OK;
}

abut_status abut_batch_memory(const abut_model *model, const abut_options *options, int64_t nstep,
                              int64_t *bytes_per_env, int64_t *bytes_total) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(options, "options");
  if (nstep < 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "abut_batch_memory: nstep %lld is negative", (long long)nstep);
  abut_batch b = {0};
  ATTEMPT(plan(model, options, &b));
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
  if (status == ABUT_OK)
    status = memory->allocate(b, n * cap * (size_t)b->method->kept * elem_size(b), &r->data);
  r->count = (int32_t *)(void *)count;
  r->pair = (int32_t *)(void *)pair;
  if (status != ABUT_ERROR_MEMORY) return status;
  return fail_with(status, "%lld contact records of %d contacts: out of memory", (long long)rows,
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
  s->act = calloc(n * (size_t)b->model->na + 1, e);
  s->status = calloc(n, sizeof *s->status);
  s->fresh = calloc(n, 1);
  if (!s->qpos || !s->qvel || !s->act || !s->status || !s->fresh)
    return fail_with(ABUT_ERROR_MEMORY, "%lld environment%s: out of memory", (long long)b->options.nenv,
                     PLURAL(b->options.nenv));
  return record_allocate(b, &backend_cpu, b->options.nenv, &s->warm);
}
static void state_free(const abut_batch *b, batch_state *s) {
  free(s->qpos);
  free(s->qvel);
  free(s->act);
  free(s->status);
  free(s->fresh);
  record_free(b, &backend_cpu, &s->warm);
  memset(s, 0, sizeof *s);
}

static abut_status refuse_if_too_large(const abut_model *model, const abut_options *options) {
  int64_t total;
  if (options->device == ABUT_DEVICE_CUDA) return ABUT_OK; /* its own memory decides */
  ATTEMPT(abut_batch_memory(model, options, 0, NULL, &total));
  double physical = memory_installed();
  if ((double)total > physical)
    return fail_with(ABUT_ERROR_MEMORY, "%lld environment%s %.1f GiB, this machine has %.1f GiB",
                     (long long)options->nenv, options->nenv == 1 ? " needs" : "s need",
                     (double)total / 0x1p30, physical / 0x1p30);
  return ABUT_OK;
}

/* Where environments start. */
static abut_status prepare_starts(abut_batch *b) {
  const abut_model *m = b->model;
  const size_t nq = (size_t)m->nq, keys = (size_t)m->nkey;
  b->starts = malloc(((1 + keys) * nq + 1) * sizeof *b->starts);
  if (!b->starts) return fail_with(ABUT_ERROR_MEMORY, "batch: out of memory for %d keys", m->nkey);
  memcpy(b->starts, m->qpos0, nq * sizeof *b->starts);
  memcpy(b->starts + nq, m->key_qpos, keys * nq * sizeof *b->starts);
  return b->method->start ? b->method->start(m, &b->params, b->starts, 1 + m->nkey, &b->notes) : ABUT_OK;
}

static abut_status create(const abut_model *model, const abut_options *options, abut_batch *b) {
  ATTEMPT(refuse_if_too_large(model, options));
  ATTEMPT(plan(model, options, b));
  ATTEMPT(prepare_starts(b));
  ATTEMPT(state_allocate(b, &b->state));
  if (b->backend == &backend_cpu) ATTEMPT(state_allocate(b, &b->next));
  ATTEMPT(parameters_default(b));
  ATTEMPT(program_create(&b->method->forward, &b->params, &b->forward));
  ATTEMPT(program_create(&b->method->reverse, &b->params, &b->reverse));
  ATTEMPT(b->backend->open(b));
  return abut_batch_reset(b, NULL, -1);
}

abut_status abut_batch_create(const abut_model *model, const abut_options *options, abut_batch **batch) {
  REQUIRE_POINTER(batch, "batch");
  *batch = NULL;
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(options, "options");
  abut_batch *b = calloc(1, sizeof *b);
  if (!b) return fail_with(ABUT_ERROR_MEMORY, "batch: out of memory");
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
  program_destroy(&b->forward);
  program_destroy(&b->reverse);
  params_destroy(&b->params);
  free(b->starts);
  free(b->notes.text);
  free(b);
}

const char *abut_batch_warnings(const abut_batch *b) { return b && b->notes.text ? b->notes.text : ""; }

abut_options abut_batch_get_options(const abut_batch *b) { return b ? b->options : abut_default_options(); }

/* A copy of a record of `old` contacts per row with room for b->capacity. */
static abut_status record_copy(const abut_batch *b, int64_t rows, int32_t old, const contact_record *r,
                               contact_record *copy) {
  ATTEMPT(record_allocate(b, &backend_cpu, rows, copy));
  size_t e = elem_size(b) * (size_t)b->method->kept;
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

/* Lane groups with one of their lengths (nslot, room) changed; where they cannot be had it is as it was. */
static abut_status reopen(abut_batch *b, int32_t *length, int32_t wanted) {
  int32_t had = *length;
  b->backend->close(b);
  *length = wanted;
  abut_status status = b->backend->open(b);
  if (status != ABUT_OK) *length = had;
  return status;
}

static abut_status grow_slots(abut_batch *b, int32_t need) {
  ATTEMPT(b->backend->fetch(b));
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
  ATTEMPT(b->backend->fetch(b));
  if (wanted > b->capacity) { /* it is already where lane groups could not follow the records */
    ATTEMPT(grow_records(b, wanted));
    tape_free(b);
    b->tape_valid = 0;
  }
  return reopen(b, &b->nslot, wanted);
}

/* Whether host memory has room for own lists of `need` entries in every lane that has an environment. */
static abut_status check_room(abut_batch *b, int32_t need) {
  int32_t had = b->room, lanes = b->kernels->lanes;
  int64_t used = b->options.nenv < lanes ? b->options.nenv : lanes;
  b->room = 0;
  int64_t without = group_bytes(b, 1);
  b->room = need;
  double bytes = (double)b->nworker * (double)(group_bytes(b, 1) - without) * (double)used / lanes,
         available = abut_memory_available();
  b->room = had;
  if (b->cuda || bytes <= available) return ABUT_OK;
  return fail_with(
      ABUT_ERROR_MEMORY,
      "long-range contact: %d pairs of nodes in an environment need %.1f GiB in %d thread%s, %.1f GiB "
      "available; coarser meshes, a smaller epsilon or fewer threads need less",
      need, bytes / 0x1p30, b->nworker, PLURAL(b->nworker), available / 0x1p30);
}

static abut_status grow_room(abut_batch *b, int64_t need) {
  if (need > INT32_MAX / 2)
    return fail_with(ABUT_ERROR_MEMORY, "long-range lists of %lld entries are too long", (long long)need);
  ATTEMPT(check_room(b, (int32_t)need));
  ATTEMPT(b->backend->fetch(b));
  return reopen(b, &b->room, need > b->room ? (int32_t)need : b->room);
}

abut_status batch_make_room(abut_batch *b, int64_t contacts, int64_t room, int reverse) {
  if (room) return grow_room(b, room);
  return reverse ? grow_slots(b, (int32_t)contacts) : grow_contacts(b, (int32_t)contacts);
}

abut_status batch_use_kernels(abut_batch *b, const method_kernels *kernels) {
  b->backend->close(b);
  b->kernels = kernels;
  return b->backend->open(b);
}

abut_status batch_copy_tensor(const abut_batch *b, const char *name, const abut_tensor *t, char **copy) {
  size_t bytes = tensor_bytes(t);
  *copy = malloc(bytes + 1);
  if (!*copy) return fail_with(ABUT_ERROR_MEMORY, "%s: out of memory", name);
  if (tensor_on_gpu(t)) return b->backend->read(b, *copy, tensor_data(t), bytes);
  memcpy(*copy, tensor_data(t), bytes);
  return ABUT_OK;
}

/* A state from outside: no warm contacts, no status, shapes may touch. */
static void renew(abut_batch *b, int64_t env) {
  b->state.warm.count[env] = 0;
  b->state.status[env] = 0;
  b->state.fresh[env] = 1;
}

abut_status abut_batch_reset(abut_batch *b, const uint8_t *mask, int32_t key) {
  REQUIRE_POINTER(b, "batch");
  const abut_model *m = b->model;
  if (key < -1 || key >= m->nkey)
    return fail_with(ABUT_ERROR_ARGUMENT, "key %d does not exist, the scene has %d", key, m->nkey);
  ATTEMPT(b->backend->fetch(b));
  ATTEMPT(parameters_reset(b, mask, key));
  const double *qpos = b->starts + (size_t)(key + 1) * (size_t)m->nq;
  for (int64_t env = 0; env < b->options.nenv; env++) {
    if (mask && !mask[env]) continue;
    for (int32_t i = 0; i < m->nq; i++) elem_put(b, b->state.qpos, env * m->nq + i, qpos[i]);
    for (int32_t i = 0; i < m->nv; i++)
      elem_put(b, b->state.qvel, env * m->nv + i,
               key < 0 ? 0 : m->key_qvel[(size_t)key * (size_t)m->nv + (size_t)i]);
    for (int32_t i = 0; i < m->na; i++)
      elem_put(b, b->state.act, env * m->na + i,
               key < 0 ? 0 : m->key_act[(size_t)key * (size_t)m->na + (size_t)i]);
    renew(b, env);
  }
  b->tape_valid = 0;
  return b->backend->push(b);
}

static abut_status check_state(const abut_batch *b, const abut_tensor *qpos, const abut_tensor *qvel,
                               int may_broadcast) {
  const int64_t broadcast[2] = {may_broadcast, 0};
  int64_t q[2] = {b->options.nenv, b->model->nq}, v[2] = {b->options.nenv, b->model->nv};
  ATTEMPT(tensor_check("qpos", qpos, &b->options, 'r', 2, q, broadcast));
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
      char label[LABEL_SIZE];
      return fail_with(ABUT_ERROR_ARGUMENT, "qpos[%lld]: the quaternion of %s has norm %g, 1 is needed",
                       (long long)row, model_label(m, 'j', j, label), norm);
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
  REQUIRE_POINTER(b, "batch");
  ATTEMPT(check_state(b, qpos, qvel, 1));
  const abut_tensor *t[2] = {qpos, qvel};
  char *data[2] = {NULL};
  abut_status status = b->backend->fetch(b);
  if (status == ABUT_OK && qpos) status = batch_copy_tensor(b, "qpos", qpos, &data[0]);
  if (status == ABUT_OK && qvel) status = batch_copy_tensor(b, "qvel", qvel, &data[1]);
  if (status == ABUT_OK && qpos) status = check_quaternions(b, mask, data[0], qpos->shape[0]);
  if (status == ABUT_OK) assign_state(b, mask, t, (const char *const[2]){data[0], data[1]});
  free(data[0]);
  free(data[1]);
  return status == ABUT_OK ? b->backend->push(b) : status;
}

/* The rows of selected environments into the caller's array. */
static abut_status get_rows(const abut_batch *b, const uint8_t *mask, abut_tensor *t, const char *from,
                            int32_t n) {
  const size_t row = (size_t)n * elem_size(b);
  for (int64_t env = 0, end; env < b->options.nenv; env = end + 1) {
    for (end = env; end < b->options.nenv && (!mask || mask[end]); end++) {
    } /* neighbours at once */
    const size_t at = (size_t)env * row, bytes = (size_t)(end - env) * row;
    if (bytes == 0) continue;
    if (tensor_on_gpu(t))
      ATTEMPT(b->backend->write(b, tensor_data(t) + at, from + at, bytes));
    else
      memcpy(tensor_data(t) + at, from + at, bytes);
  }
  return ABUT_OK;
}

abut_status abut_batch_get_state(const abut_batch *b, const uint8_t *mask, abut_tensor *qpos,
                                 abut_tensor *qvel) {
  REQUIRE_POINTER(b, "batch");
  ATTEMPT(check_state(b, qpos, qvel, 0));
  ATTEMPT(b->backend->fetch((abut_batch *)b));
  if (qpos) ATTEMPT(get_rows(b, mask, qpos, b->state.qpos, b->model->nq));
  return qvel ? get_rows(b, mask, qvel, b->state.qvel, b->model->nv) : ABUT_OK;
}

abut_status abut_batch_set_act(abut_batch *b, const uint8_t *mask, const abut_tensor *act) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(act, "act");
  const int64_t shape[2] = {b->options.nenv, b->model->na}, broadcast[2] = {1, 0};
  const size_t row = (size_t)b->model->na * elem_size(b);
  char *data = NULL;
  ATTEMPT(tensor_check("act", act, &b->options, 'r', 2, shape, broadcast));
  ATTEMPT(b->backend->fetch(b));
  abut_status status = batch_copy_tensor(b, "act", act, &data);
  for (int64_t env = 0; env < b->options.nenv && status == ABUT_OK; env++)
    if (!mask || mask[env])
      memcpy(b->state.act + (size_t)env * row, data + (act->shape[0] == 1 ? 0 : (size_t)env) * row, row);
  free(data);
  ATTEMPT(status);
  b->tape_valid = 0;
  return b->backend->push(b);
}

abut_status abut_batch_get_act(const abut_batch *b, const uint8_t *mask, abut_tensor *act) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(act, "act");
  const int64_t shape[2] = {b->options.nenv, b->model->na}, broadcast[2] = {0, 0};
  ATTEMPT(tensor_check("act", act, &b->options, 'r', 2, shape, broadcast));
  ATTEMPT(b->backend->fetch((abut_batch *)b));
  return get_rows(b, mask, act, b->state.act, b->model->na);
}
