/* batch_parameters.c: numbers that may differ by environment (parameters.def): sizes, defaults, checks. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PARAM_COUNT] = {
#define PARAMETER(name, count, initial, rule, bar) #name,
#include "kernels/clock/parameters.def"
};
_Static_assert(sizeof(abut_parameters) == PARAM_COUNT * sizeof(abut_tensor *),
               "abut_parameters has a member for each row of parameters.def, and no other");

void parameters_count(abut_batch *b) {
  MODEL_SIZES(b->model)
  const int64_t counts[PARAM_COUNT] = {
#define PARAMETER(name, count, initial, rule, bar) count,
#include "kernels/clock/parameters.def"
  };
  for (int i = 0; i < PARAM_COUNT; i++) b->parameters[i].n = (int32_t)counts[i];
}

/* Number j of parameter i where nobody set it. */
static double initial_number(const abut_batch *b, int i, int64_t j) {
  const abut_model *m = b->model;
  const abut_options *o = &b->options;
  switch (i) {
#define PARAMETER(name, count, initial, rule, bar)                                                           \
  case PARAM_##name:                                                                                         \
    return initial;
#include "kernels/clock/parameters.def"
  }
  return 0;
}

static int allowed(const abut_batch *b, int i, int64_t j, double x) {
  const abut_model *m = b->model;
  if (!isfinite(x)) return 0;
  switch (i) {
#define PARAMETER(name, count, initial, rule, bar)                                                           \
  case PARAM_##name:                                                                                         \
    return rule;
#include "kernels/clock/parameters.def"
  }
  return 0;
}

abut_status parameters_default(abut_batch *b) {
  for (int i = 0; i < PARAM_COUNT; i++) {
    parameter_array *p = &b->parameters[i];
    p->rows = 1;
    p->data = calloc((size_t)p->n + 1, elem_size(b));
    if (!p->data) return fail_with(ABUT_ERROR_MEMORY, "parameters: out of memory");
    for (int32_t j = 0; j < p->n; j++) elem_put(b, p->data, j, initial_number(b, i, j));
  }
  return ABUT_OK;
}

/* A quaternion that cannot be made unit is no orientation. */
static abut_status check_mocap(const abut_batch *b, const char *quats, int64_t rows) {
  for (int64_t at = 0; at < rows * b->model->nmocap; at++) {
    double norm = 0;
    for (int c = 0; c < 4; c++) norm = hypot(norm, elem_get(b, quats, 4 * at + c));
    if (norm > 1e-10 && norm < 1e10) continue;
    char label[LABEL_SIZE];
    const int64_t row = at / b->model->nmocap, i = at % b->model->nmocap;
    return fail_with(ABUT_ERROR_ARGUMENT, "mocap_quat[%lld]: the quaternion of %s has norm %g, 1 is needed",
                     (long long)row, model_label(b->model, 'b', model_mocap(b->model, i), label), norm);
  }
  return ABUT_OK;
}

static abut_status check(const abut_batch *b, int i, const abut_tensor *t, const char *data) {
  int64_t n = b->parameters[i].n, count = t->shape[0] * n;
  for (int64_t at = 0; at < count; at++) {
    double x = elem_get(b, data, at);
    if (!allowed(b, i, at % n, x))
      return fail_with(ABUT_ERROR_ARGUMENT, "%s[%lld, %lld]: %g is not allowed", names[i],
                       (long long)(at / n), (long long)(at % n), x);
  }
  return i == PARAM_mocap_quat ? check_mocap(b, data, t->shape[0]) : ABUT_OK;
}

/* Whether shapes that may touch others hang on a body that others place. */
static int mocap_touches(const abut_model *m) {
  for (int32_t i = 0; i < m->npair && m->nmocap > 0; i++)
    for (int j = 0; j < 2; j++) {
      int32_t body = m->geom_body[j ? m->pair_geom2[i] : m->pair_geom1[i]];
      while (m->body_parent[body] > 0) body = m->body_parent[body];
      if (m->body_mocapid[body] >= 0) return 1;
    }
  return 0;
}

/* Shapes of every environment may be anywhere. */
static void displace_all(abut_batch *b) {
  for (int64_t env = 0; env < b->options.nenv; env++) {
    b->state.warm.count[env] = 0;
    b->state.fresh[env] = 1;
  }
}

/* Rows as many as environments, each a copy of the one. */
static abut_status spread(abut_batch *b, parameter_array *p) {
  const size_t row = (size_t)p->n * elem_size(b), rows = (size_t)b->options.nenv;
  if (p->rows == b->options.nenv) return ABUT_OK;
  char *data = malloc(rows * row + 1);
  if (!data) return fail_with(ABUT_ERROR_MEMORY, "parameters: out of memory for %zu environments", rows);
  for (size_t i = 0; i < rows; i++) memcpy(data + i * row, p->data, row);
  free(p->data);
  p->data = data;
  p->rows = b->options.nenv;
  return ABUT_OK;
}

/* Gives the selected environments these numbers, NULL: the initial ones. */
static abut_status put(abut_batch *b, int i, const uint8_t *mask, const double *values) {
  parameter_array *p = &b->parameters[i];
  int same = 1; /* rows are kept then: a GPU's memory moves with their number */
  for (int64_t at = 0; same && at < p->rows * p->n; at++)
    same = elem_get(b, p->data, at) == (values ? values[at % p->n] : initial_number(b, i, at % p->n));
  if (same) return ABUT_OK;
  if (mask) ATTEMPT(spread(b, p));
  for (int64_t row = 0; row < p->rows; row++)
    for (int32_t j = 0; (!mask || mask[row]) && j < p->n; j++)
      elem_put(b, p->data, row * p->n + j, values ? values[j] : initial_number(b, i, j));
  return ABUT_OK;
}

abut_status parameters_reset(abut_batch *b, const uint8_t *mask, int32_t key) {
  const abut_model *m = b->model;
  const size_t k = key < 0 ? 0 : (size_t)key, nu = (size_t)m->nu, nmocap = (size_t)m->nmocap;
  ATTEMPT(put(b, PARAM_held_ctrl, mask, key < 0 ? NULL : m->key_ctrl + k * nu));
  ATTEMPT(put(b, PARAM_mocap_pos, mask, key < 0 ? NULL : m->key_mpos + k * 3 * nmocap));
  return put(b, PARAM_mocap_quat, mask, key < 0 ? NULL : m->key_mquat + k * 4 * nmocap);
}

abut_status abut_batch_set_parameters(abut_batch *b, const abut_parameters *p) {
  REQUIRE_POINTER(b, "batch");
  REQUIRE_POINTER(p, "parameters");
  const abut_tensor *const t[PARAM_COUNT] = {
#define PARAMETER(name, count, initial, rule, bar) p->name,
#include "kernels/clock/parameters.def"
  };
  const int64_t broadcast[2] = {1, 0};
  char *data[PARAM_COUNT] = {NULL};
  for (int i = 0; i < PARAM_COUNT; i++) {
    int64_t shape[2] = {b->options.nenv, b->parameters[i].n};
    ATTEMPT(tensor_check(names[i], t[i], &b->options, 'r', 2, shape, broadcast));
  }
  abut_status status = b->backend->fetch(b);
  for (int i = 0; i < PARAM_COUNT && status == ABUT_OK; i++) {
    if (t[i]) status = batch_copy_tensor(b, names[i], t[i], &data[i]);
    if (t[i] && status == ABUT_OK) status = check(b, i, t[i], data[i]);
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
  if ((p->mocap_pos || p->mocap_quat) && mocap_touches(b->model)) displace_all(b);
  b->tape_valid = 0;
  return b->backend->push(b);
}
