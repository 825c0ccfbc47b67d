/* batch_parameters.c: numbers that may differ by environment (parameters.def): sizes, defaults, checks. */
#include "host/batch/backend.h"
#include "host/base/status.h"
#include "host/batch/tensor.h"
#include <math.h>
#include <stdlib.h>

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

static abut_status check(const abut_batch *b, int i, const abut_tensor *t, const char *data) {
  int64_t n = b->parameters[i].n, count = t->shape[0] * n;
  for (int64_t at = 0; at < count; at++) {
    double x = elem_get(b, data, at);
    if (!allowed(b, i, at % n, x))
      return fail_with(ABUT_ERROR_ARGUMENT, "%s[%lld, %lld]: %g is not allowed", names[i],
                       (long long)(at / n), (long long)(at % n), x);
  }
  return ABUT_OK;
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
  b->tape_valid = 0;
  return b->backend->push(b);
}
