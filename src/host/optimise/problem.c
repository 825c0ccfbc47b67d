/* problem.c: defaults and checks of an optimisation's description. */
#include "host/optimise/problem.h"
#include "host/base/real.h"
#include "host/batch/batch.h"
#include "host/base/status.h"
#include "host/optimise/variable.h"
#include <math.h>

abut_loss_term abut_default_loss_term(void) { return (abut_loss_term){.body = 1, .axes = 7, .weight = 1}; }

abut_variable abut_default_variable(void) { return (abut_variable){.min = -INFINITY, .max = INFINITY}; }

abut_problem abut_default_problem(void) {
  return (abut_problem){
      .nstep = 1, .final_weight = 1, .rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-16};
}

#define REFUSE(...) return fail_with(ABUT_ERROR_ARGUMENT, __VA_ARGS__)

static int nonnegative(double x) { return x >= 0 && isfinite(x); }

static abut_status check_term(const abut_loss_term *t, int32_t i, const abut_model *m) {
  if (t->body < 1 || t->body >= m->nbody)
    REFUSE("terms[%d].body %d: the model has bodies 1 to %d", i, t->body, m->nbody - 1);
  if (t->axes < 1 || t->axes > 7) REFUSE("terms[%d].axes %d: must be from 1 to 7", i, t->axes);
  for (int k = 0; k < 3; k++)
    if (!isfinite(t->target[k])) REFUSE("terms[%d].target[%d] %g: must be finite", i, k, t->target[k]);
  if (!nonnegative(t->tolerance)) REFUSE("terms[%d].tolerance %g: must not be negative", i, t->tolerance);
  if (!(t->weight > 0) || !isfinite(t->weight)) REFUSE("terms[%d].weight %g: must be above 0", i, t->weight);
  return ABUT_OK;
}

/* Whether entry i of qpos belongs to a quaternion. */
static int in_quaternion(const abut_model *m, int32_t i) {
  for (int32_t j = 0; j < m->njnt; j++) {
    int type = m->jnt_type[j], from = m->jnt_qposadr[j] + (type == ABUT_JOINT_FREE ? 3 : 0);
    if ((type == ABUT_JOINT_FREE || type == ABUT_JOINT_BALL) && i >= from && i < from + 4) return 1;
  }
  return 0;
}

static abut_status check_index(const abut_variable *v, int32_t i, const abut_model *m) {
  static const char *const what[] = {"entries of qpos", "entries of qvel", "actuators"};
  int kind = v->kind > ABUT_VARIABLE_SEQUENCE ? ABUT_VARIABLE_SEQUENCE : v->kind;
  int32_t count = kind == ABUT_VARIABLE_QPOS ? m->nq : kind == ABUT_VARIABLE_QVEL ? m->nv : m->nu;
  if (v->index < 0 || v->index >= count)
    REFUSE("variables[%d].index %d: the model has %d %s", i, v->index, count, what[kind]);
  if (v->kind == ABUT_VARIABLE_QPOS && in_quaternion(m, v->index))
    REFUSE("variables[%d].index %d: this entry of qpos belongs to a quaternion", i, v->index);
  return ABUT_OK;
}

static abut_status check_variable(const abut_variable *v, int32_t i, const abut_model *m) {
  if (v->kind < ABUT_VARIABLE_QPOS || v->kind > ABUT_VARIABLE_SINES)
    REFUSE("variables[%d].kind %d: must be from %d to %d", i, v->kind, ABUT_VARIABLE_QPOS,
           ABUT_VARIABLE_SINES);
  ATTEMPT(check_index(v, i, m));
  int32_t least = v->kind == ABUT_VARIABLE_SPLINE ? 2 : v->kind == ABUT_VARIABLE_SINES ? 1 : v->count;
  if (v->count < least) REFUSE("variables[%d].count %d: must be at least %d", i, v->count, least);
  for (int k = 0; k < 3; k++) {
    if (!isfinite(v->start[k])) REFUSE("variables[%d].start[%d] %g: must be finite", i, k, v->start[k]);
    if (!nonnegative(v->noise[k]))
      REFUSE("variables[%d].noise[%d] %g: must not be negative", i, k, v->noise[k]);
    if (!nonnegative(v->rate[k])) REFUSE("variables[%d].rate[%d] %g: must not be negative", i, k, v->rate[k]);
  }
  if (!(v->min <= v->max)) REFUSE("variables[%d]: min %g is not below max %g", i, v->min, v->max);
  return ABUT_OK;
}

/* The same entry or actuator twice would have two masters. */
static abut_status check_twins(const abut_problem *p) {
  for (int32_t i = 0; i < p->nvariable; i++)
    for (int32_t k = 0; k < i; k++) {
      const abut_variable *a = &p->variables[i], *b = &p->variables[k];
      int same = variable_is_control(a) ? variable_is_control(b) : a->kind == b->kind;
      if (same && a->index == b->index)
        REFUSE("variables[%d].index %d: variables[%d] has it already", i, a->index, k);
    }
  return ABUT_OK;
}

static abut_status check_numbers(const abut_problem *p) {
  if (p->nstep < 1 || p->nstep > INT32_MAX)
    REFUSE("nstep %lld: must be from 1 to %d", (long long)p->nstep, INT32_MAX);
  if (!nonnegative(p->final_weight)) REFUSE("final_weight %g: must not be negative", p->final_weight);
  if (!nonnegative(p->running_weight)) REFUSE("running_weight %g: must not be negative", p->running_weight);
  if (p->final_weight + p->running_weight == 0) REFUSE("final_weight and running_weight are 0: no loss");
  if (!(p->rate > 0) || !isfinite(p->rate)) REFUSE("rate %g: must be above 0", p->rate);
  if (!(p->beta1 >= 0 && p->beta1 < 1)) REFUSE("beta1 %g: must be from 0 to below 1", p->beta1);
  if (!(p->beta2 >= 0 && p->beta2 < 1)) REFUSE("beta2 %g: must be from 0 to below 1", p->beta2);
  if (!nonnegative(p->epsilon)) REFUSE("epsilon %g: must not be negative", p->epsilon);
  if (!nonnegative(p->clip)) REFUSE("clip %g: must not be negative", p->clip);
  return ABUT_OK;
}

/* Variables become the batch's numbers, weights times distances its cotangents. */
static abut_status check_single(const abut_problem *p) {
  for (int32_t i = 0; i < p->nvariable; i++)
    for (int k = 0; k < 3; k++) {
      const abut_variable *v = &p->variables[i];
      if (!real_holds(4, v->start[k]))
        REFUSE("variables[%d].start[%d] %g: is beyond single precision", i, k, v->start[k]);
      if (!real_holds(4, 9 * v->noise[k]))
        REFUSE("variables[%d].noise[%d] %g: is beyond single precision", i, k, v->noise[k]);
    }
  for (int32_t i = 0; i < p->nterm; i++) {
    const abut_loss_term *t = &p->terms[i];
    double weight = 2 * t->weight * (p->final_weight + p->running_weight);
    if (!real_holds(4, weight)) REFUSE("terms[%d].weight %g: is beyond single precision", i, t->weight);
    for (int k = 0; k < 3; k++)
      if (!real_holds(4, weight * t->target[k]))
        REFUSE("terms[%d].target[%d] %g: times its weight it is beyond single precision", i, k, t->target[k]);
  }
  return ABUT_OK;
}

abut_status problem_check(const abut_problem *p, const abut_batch *b) {
  const abut_model *m = b->model;
  ATTEMPT(check_numbers(p));
  if (p->nterm < 1 || !p->terms) REFUSE("nterm %d: a loss needs a term", p->nterm);
  if (p->nvariable < 1 || !p->variables) REFUSE("nvariable %d: nothing to change", p->nvariable);
  for (int32_t i = 0; i < p->nterm; i++) ATTEMPT(check_term(&p->terms[i], i, m));
  for (int32_t i = 0; i < p->nvariable; i++) ATTEMPT(check_variable(&p->variables[i], i, m));
  ATTEMPT(check_twins(p));
  return b->options.dtype == ABUT_F32 ? check_single(p) : ABUT_OK;
}
