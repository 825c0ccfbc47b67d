/* optimiser_run.c: one rollout of an optimisation and its way back: numbers to controls, poses to loss,
 * cotangents to the numbers' gradient. */
#include "host/batch/backend.h"
#include "host/optimise/loss.h"
#include "host/optimise/optimiser.h"
#include "host/base/status.h"
#include "host/batch/tensor.h"
#include "host/optimise/variable.h"
#include <math.h>
#include <string.h>

static abut_tensor tensor_of(const abut_optimiser *o, int run, int32_t ndim, int64_t *shape) {
  abut_tensor t = {.data = o->run[run], .device = {1, 0}, .ndim = ndim, .shape = shape};
  t.dtype.code = run == RUN_STATUS ? 1 : 2;
  t.dtype.bits = run == RUN_STATUS ? 32 : (uint8_t)(8 * elem_size(o->batch));
  t.dtype.lanes = 1;
  return t;
}

static const double *row(const abut_optimiser *o, const double *value, int64_t env) {
  return value + env * o->nvalue;
}

/* ------------------------------------------------------------------------------------------- forward */

/* Controls and initial states of one environment; nstep: the steps that will run. */
static void fill_inputs(abut_optimiser *o, const double *value, int64_t env, int64_t nstep) {
  const abut_batch *b = o->batch;
  int32_t nu = b->model->nu;
  for (int32_t i = 0; i < o->problem.nvariable; i++) {
    const abut_variable *v = &o->problem.variables[i];
    const double *x = row(o, value, env) + o->first[i];
    if (v->kind == ABUT_VARIABLE_QPOS) {
      int64_t at = env * b->model->nq + v->index;
      elem_put(b, o->run[RUN_QPOS0], at, elem_get(b, o->qpos, at) + x[0]);
    } else if (v->kind == ABUT_VARIABLE_QVEL) {
      int64_t at = env * b->model->nv + v->index;
      elem_put(b, o->run[RUN_QVEL0], at, elem_get(b, o->qvel, at) + x[0]);
    }
    for (int64_t t = 0; variable_is_control(v) && t < nstep; t++)
      elem_put(b, o->run[RUN_CTRL], (env * nstep + t) * nu + v->index,
               variable_control(v, o->problem.nstep, b->options.timestep, x, t));
  }
}

static void fill_all(abut_optimiser *o, const double *value, int64_t nstep) {
  size_t elem = elem_size(o->batch), n = (size_t)o->nenv;
  const abut_model *m = o->batch->model;
  memcpy(o->run[RUN_QPOS0], o->qpos, n * (size_t)m->nq * elem);
  memcpy(o->run[RUN_QVEL0], o->qvel, n * (size_t)m->nv * elem);
  memset(o->run[RUN_CTRL], 0, n * (size_t)nstep * (size_t)m->nu * elem);
  for (int64_t env = 0; env < o->nenv; env++) fill_inputs(o, value, env, nstep);
}

static void keep(const abut_tensor *out, const char *from, size_t bytes) {
  if (out) memcpy(tensor_data(out), from, bytes);
}

abut_status optimiser_forward(abut_optimiser *o, const double *value, const abut_rollout_args *args,
                              abut_progress progress, void *user) {
  const abut_model *m = o->batch->model;
  int64_t n = o->nenv, t = args->nstep;
  int64_t shape_q[] = {n, m->nq}, shape_v[] = {n, m->nv}, shape_u[] = {n, t, m->nu}, shape_n[] = {n};
  int64_t shape_x[] = {n, t + 1, m->nbody, 3}, shape_r[] = {n, t + 1, m->nbody, 4};
  abut_tensor qpos0 = tensor_of(o, RUN_QPOS0, 2, shape_q), qvel0 = tensor_of(o, RUN_QVEL0, 2, shape_v);
  abut_tensor ctrl = tensor_of(o, RUN_CTRL, 3, shape_u), status = tensor_of(o, RUN_STATUS, 1, shape_n);
  abut_tensor xpos = tensor_of(o, RUN_XPOS, 4, shape_x), xquat = tensor_of(o, RUN_XQUAT, 4, shape_r);
  abut_rollout_args run = *args;
  run.qpos0 = o->has_qpos || o->has_qvel ? &qpos0 : NULL;
  run.qvel0 = o->has_qpos || o->has_qvel ? &qvel0 : NULL;
  run.ctrl = m->nu ? &ctrl : NULL;
  run.kick = 0;
  /* outputs that are wanted by both are written to ours and copied, so that a bad one is refused first */
  ATTEMPT(tensor_check_host("xpos", args->xpos, &o->batch->options, 'r', 4, shape_x));
  ATTEMPT(tensor_check_host("xquat", args->xquat, &o->batch->options, 'r', 4, shape_r));
  ATTEMPT(tensor_check_host("status", args->status, &o->batch->options, 'u', 1, shape_n));
  ATTEMPT(tensor_check_host("ctrl", args->ctrl, &o->batch->options, 'r', 3, shape_u));
  run.xpos = &xpos;
  run.xquat = &xquat;
  run.status = &status;
  ATTEMPT(abut_batch_restore(o->batch, o->start));
  fill_all(o, value, t);
  ATTEMPT(abut_rollout(o->batch, &run, NULL, progress, user));
  size_t rows = (size_t)(n * (t + 1) * m->nbody) * elem_size(o->batch);
  keep(args->xpos, o->run[RUN_XPOS], 3 * rows);
  keep(args->xquat, o->run[RUN_XQUAT], 4 * rows);
  keep(args->status, o->run[RUN_STATUS], (size_t)n * sizeof(uint32_t));
  keep(args->ctrl, o->run[RUN_CTRL], (size_t)(n * t * m->nu) * elem_size(o->batch));
  for (int64_t env = 0; env < n; env++) {
    size_t at = (size_t)env * rows / (size_t)n;
    loss_poses poses = {o->run[RUN_XPOS] + 3 * at, o->run[RUN_XQUAT] + 4 * at};
    o->final[env] = loss_terms(o->batch, &o->problem, poses, t);
  }
  return ABUT_OK;
}

void optimiser_loss(abut_optimiser *o) {
  size_t block = (size_t)((o->problem.nstep + 1) * o->batch->model->nbody) * elem_size(o->batch);
  for (int64_t env = 0; env < o->nenv; env++) {
    size_t at = (size_t)env * block;
    loss_poses poses = {o->run[RUN_XPOS] + 3 * at, o->run[RUN_XQUAT] + 4 * at};
    o->loss[env] = loss_evaluate(o->batch, &o->problem, poses, o->run[RUN_BAR_XPOS] + 3 * at,
                                 o->run[RUN_BAR_XQUAT] + 4 * at);
    if (((const uint32_t *)o->run[RUN_STATUS])[env] & ABUT_ENV_FROZEN) o->loss[env] = INFINITY;
  }
}

/* ------------------------------------------------------------------------------------------- reverse */

static void gather_gradient(abut_optimiser *o, int64_t env) {
  const abut_batch *b = o->batch;
  int64_t nstep = o->problem.nstep, nu = b->model->nu;
  double *gradient = o->gradient + env * o->nvalue;
  memset(gradient, 0, (size_t)o->nvalue * sizeof *gradient);
  for (int32_t i = 0; i < o->problem.nvariable; i++) {
    const abut_variable *v = &o->problem.variables[i];
    double *to = gradient + o->first[i];
    if (v->kind == ABUT_VARIABLE_QPOS)
      to[0] = elem_get(b, o->run[RUN_BAR_QPOS0], env * b->model->nq + v->index);
    else if (v->kind == ABUT_VARIABLE_QVEL)
      to[0] = elem_get(b, o->run[RUN_BAR_QVEL0], env * b->model->nv + v->index);
    for (int64_t t = 0; variable_is_control(v) && t < nstep; t++)
      variable_control_bar(v, nstep, b->options.timestep, row(o, o->tried, env) + o->first[i], t,
                           elem_get(b, o->run[RUN_BAR_CTRL], (env * nstep + t) * nu + v->index), to);
  }
}

abut_status optimiser_reverse(abut_optimiser *o, abut_progress progress, void *user) {
  const abut_model *m = o->batch->model;
  int64_t n = o->nenv, t = o->problem.nstep;
  int64_t shape_q[] = {n, m->nq}, shape_v[] = {n, m->nv}, shape_u[] = {n, t, m->nu};
  int64_t shape_x[] = {n, t + 1, m->nbody, 3}, shape_r[] = {n, t + 1, m->nbody, 4};
  abut_tensor xpos = tensor_of(o, RUN_BAR_XPOS, 4, shape_x), xquat = tensor_of(o, RUN_BAR_XQUAT, 4, shape_r);
  abut_tensor qpos0 = tensor_of(o, RUN_BAR_QPOS0, 2, shape_q),
              qvel0 = tensor_of(o, RUN_BAR_QVEL0, 2, shape_v);
  abut_tensor ctrl = tensor_of(o, RUN_BAR_CTRL, 3, shape_u);
  abut_vjp_args args = abut_default_vjp_args();
  args.xpos = &xpos;
  args.xquat = &xquat;
  args.qpos0 = o->has_qpos ? &qpos0 : NULL;
  args.qvel0 = o->has_qvel ? &qvel0 : NULL;
  args.ctrl = m->nu ? &ctrl : NULL;
  ATTEMPT(abut_rollout_vjp(o->batch, &args, progress, user));
  for (int64_t env = 0; env < n; env++) gather_gradient(o, env);
  return ABUT_OK;
}
