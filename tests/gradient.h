/* gradient.h: the cotangents of a rollout against differences of rollouts, for tests. The loss is a fixed
 * random combination of every output at every moment. Each direction of each input is followed over a ladder
 * of step lengths, all copies are environments of one batch, and Ridders' extrapolation picks a value without
 * looking at the cotangents. */
#ifndef ABUT_TEST_GRADIENT_H
#define ABUT_TEST_GRADIENT_H
#include "rollout.h"
#include <stdio.h>

enum { IN_QPOS, IN_QVEL, IN_CTRL, IN_GRAVITY, IN_FRICTION, IN_MASS, IN_STIFFNESS, IN_COUNT };
enum { COT_COUNT = 5 }; /* of OUT_QPOS .. OUT_FORCE */
enum { LEVELS = 12, LADDER = 2 * LEVELS, MIXTURES = 2, RATIO = 2 };

static const char *const input_names[IN_COUNT] = {"qpos",     "qvel", "ctrl",     "gravity",
                                                  "friction", "mass", "stiffness"};

/* A rollout to be differentiated: one environment's inputs and the loss. Change inputs and cot freely. */
typedef struct problem {
  const char *name;
  scene scene;
  abut_options options;
  int64_t nstep, entries[IN_COUNT];
  double *input[IN_COUNT]; /* qpos0, qvel0, ctrl [T][nu], gravity, friction, mass, stiffness */
  array cot[COT_COUNT];    /* [1, ...] like the rollout's outputs */
  double first[IN_COUNT];  /* longest steps: m or rad, m/s, units of control, shares of a parameter */
  int64_t directions;      /* entries compared per input at most, the largest ones, besides random mixtures */
  double tolerance;        /* of a difference, relative to the input's largest entry */
} problem;

/* What one check saw. */
typedef struct checked {
  double error[IN_COUNT], largest[IN_COUNT]; /* relative; in the input's own unit */
  double min_pivot;
  int64_t compared, identical; /* identical: non-zero and equal to the last bit */
  int64_t failed;              /* copies whose steps did not all converge to the tolerance */
  int64_t active, changes;     /* pairs that push at some step; how often one starts or stops */
  uint32_t status;
} checked;

/* ---------------------------------------------------------------------------------------- problems */

/* Adds random velocities and sets random controls. */
static inline void problem_random(problem *p, uint64_t seed, double qvel, double ctrl) {
  for (int64_t i = 0; i < p->entries[IN_QVEL]; i++)
    p->input[IN_QVEL][i] += test_uniform(seed + (uint64_t)i, -qvel, qvel);
  for (int64_t i = 0; i < p->entries[IN_CTRL]; i++) {
    double range[2] = {-1, 1};
    abut_model_ctrlrange(p->scene.model, (int32_t)(i % p->scene.n.nu), range);
    double middle = 0.5 * (range[0] + range[1]), half = 0.5 * (range[1] - range[0]);
    p->input[IN_CTRL][i] = middle + ctrl * test_uniform(seed + 7919 + (uint64_t)i, -half, half);
  }
}

/* Base parameters are the model's; frictions are spread, because a pair takes the larger of two. */
static inline int problem_parameters(problem *p) {
  const abut_model *m = p->scene.model;
  scene_model_gravity(m, p->input[IN_GRAVITY]);
  for (int32_t i = 0; i < p->scene.n.ngeom; i++) {
    abut_geom_def def;
    abut_model_geom(m, i, &def);
    p->input[IN_FRICTION][i] = def.friction * (1 + 0.05 * i);
  }
  for (int32_t i = 0; i < p->scene.n.nbody; i++) {
    abut_body_def def;
    abut_model_body(m, i, &def);
    p->input[IN_MASS][i] = def.mass;
  }
  abut_batch *b = batch_of(&p->scene, &p->options);
  if (!b) return 0;
  p->input[IN_STIFFNESS][0] = abut_batch_get_options(b).implicit.stiffness;
  array start;
  array_create(&start, 'd', 3, (int64_t[]){1, 1, p->scene.n.nq});
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = 0;
  args.qpos = tensor(&start); /* after separation: from there on states depend smoothly on the start */
  array status;
  array_create(&status, 'u', 1, (int64_t[]){1});
  args.status = tensor(&status);
  CHECK_STATUS(abut_rollout(b, &args, NULL, NULL, NULL), ABUT_OK);
  CHECK(((const uint32_t *)status.t.data)[0] == 0);
  array_free(&status);
  memcpy(p->input[IN_QPOS], start.t.data, start.bytes);
  array_free(&start);
  abut_batch_destroy(b);
  return 1;
}

/* Takes the model. */
static inline int problem_create(problem *p, const char *name, abut_model *model, abut_options o,
                                 int64_t nstep) {
  memset(p, 0, sizeof *p);
  p->name = name;
  p->scene.model = model;
  p->scene.n = abut_model_get_sizes(model);
  p->options = o;
  p->options.nenv = 1;
  p->options.tolerance = 1e-12;
  p->nstep = nstep;
  p->directions = test_quick() ? 2 : 8;
  p->tolerance = 1e-6;
  const abut_model_sizes *n = &p->scene.n;
  const int64_t entries[IN_COUNT] = {n->nq, n->nv, nstep * n->nu, 3, n->ngeom, n->nbody, 1};
  const double first[IN_COUNT] = {2e-5, 1e-3, 1e-2, 1e-3, 1e-2, 1e-2, 1e-2};
  memcpy(p->first, first, sizeof first);
  memcpy(p->entries, entries, sizeof entries);
  for (int i = 0; i < IN_COUNT; i++) p->input[i] = calloc((size_t)entries[i] + 1, sizeof(double));
  const int64_t m = nstep + 1;
  const int64_t shapes[COT_COUNT][4] = {
      {1, m, n->nq}, {1, m, n->nv}, {1, m, n->nbody, 3}, {1, m, n->nbody, 4}, {1, nstep, n->npair, 3}};
  for (int k = 0; k < COT_COUNT; k++) {
    array_create(&p->cot[k], 'd', k < 2 ? 3 : 4, shapes[k]);
    double size = k == OUT_FORCE  ? 1e-4
                  : k == OUT_QVEL ? 0.1
                                  : 1; /* so that none drowns the others' rounding */
    for (size_t i = 0; i < p->cot[k].count; i++)
      array_set(&p->cot[k], i, test_uniform((uint64_t)k << 32 | i, -size, size));
  }
  return problem_parameters(p);
}

static inline void problem_free(problem *p) {
  for (int i = 0; i < IN_COUNT; i++) free(p->input[i]);
  for (int k = 0; k < COT_COUNT; k++) array_free(&p->cot[k]);
  scene_free(&p->scene);
}

/* ---------------------------------------------------------------------------------------- rotations */

/* out = q (0, v) */
static inline void quat_by_vector(const double q[4], const double v[3], double out[4]) {
  out[0] = -q[1] * v[0] - q[2] * v[1] - q[3] * v[2];
  out[1] = q[0] * v[0] + q[2] * v[2] - q[3] * v[1];
  out[2] = q[0] * v[1] - q[1] * v[2] + q[3] * v[0];
  out[3] = q[0] * v[2] + q[1] * v[1] - q[2] * v[0];
}

/* q turned by the angle vector w on the body's side. */
static inline void turned(const double q[4], const double w[3], double out[4]) {
  double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]),
         s = angle > 1e-9 ? sin(angle / 2) / angle : 0.5;
  quat_by_vector(q, w, out);
  for (int i = 0; i < 4; i++) out[i] = cos(angle / 2) * q[i] + s * out[i];
}

/* Moves qpos by a tangent step (back: NULL), or turns a cotangent of qpos into one of the tangent step. */
static inline void walk_qpos(const abut_model *model, const double *qpos, const double *step, double *moved,
                             const double *cot, double *back) {
  int64_t qa = 0, da = 0;
  for (int32_t j = 0; j < abut_model_get_sizes(model).njnt; j++) {
    abut_joint_def def;
    abut_model_joint(model, j, &def);
    int lines = def.type == ABUT_JOINT_BALL ? 0 : def.type == ABUT_JOINT_FREE ? 3 : 1;
    for (int i = 0; i < lines; i++, qa++, da++) {
      if (back)
        back[da] = cot[qa];
      else
        moved[qa] = qpos[qa] + step[da];
    }
    if (def.type != ABUT_JOINT_BALL && def.type != ABUT_JOINT_FREE) continue;
    for (int i = 0; i < 3 && back; i++) { /* d turned(q, w)/dw = q (0, e_i) / 2 */
      double axis[3] = {i == 0, i == 1, i == 2}, across[4];
      quat_by_vector(qpos + qa, axis, across);
      back[da + i] = 0;
      for (int k = 0; k < 4; k++) back[da + i] += 0.5 * cot[qa + k] * across[k];
    }
    if (!back) turned(qpos + qa, step + da, moved + qa);
    qa += 4;
    da += 3;
  }
}

/* ---------------------------------------------------------------------------------------- rollouts */

/* Inputs of every environment of a batch. */
typedef struct inputs {
  array of[IN_COUNT];
} inputs;

static inline void inputs_create(inputs *in, const problem *p, int64_t nenv) {
  for (int i = 0; i < IN_COUNT; i++) {
    const int64_t flat[2] = {nenv, p->entries[i]}, steps[3] = {nenv, p->nstep, p->scene.n.nu};
    array_create(&in->of[i], 'd', i == IN_CTRL ? 3 : 2, i == IN_CTRL ? steps : flat);
    for (int64_t e = 0; e < nenv; e++)
      memcpy((double *)in->of[i].t.data + e * p->entries[i], p->input[i],
             (size_t)p->entries[i] * sizeof(double));
  }
}
static inline void inputs_free(inputs *in) {
  for (int i = 0; i < IN_COUNT; i++) array_free(&in->of[i]);
}

static inline int inputs_apply(inputs *in, const problem *p, abut_batch *b, abut_rollout_args *args) {
  abut_parameters parameters = {0};
  parameters.gravity = tensor(&in->of[IN_GRAVITY]);
  parameters.friction = p->scene.n.ngeom ? tensor(&in->of[IN_FRICTION]) : NULL;
  parameters.mass = tensor(&in->of[IN_MASS]);
  parameters.stiffness = tensor(&in->of[IN_STIFFNESS]);
  args->qpos0 = tensor(&in->of[IN_QPOS]);
  args->qvel0 = tensor(&in->of[IN_QVEL]);
  args->ctrl = p->scene.n.nu ? tensor(&in->of[IN_CTRL]) : NULL;
  int status = abut_batch_set_parameters(b, &parameters);
  CHECK_STATUS(status, ABUT_OK);
  return status == ABUT_OK;
}

/* A recorded rollout of nenv copies of the problem and its cotangents. */
typedef struct adjoint {
  inputs in;
  abut_batch *batch;
  run run;
  inputs grad;
  array min_pivot, status;
  abut_vjp_args args;
} adjoint;

static inline int adjoint_create(adjoint *a, const problem *p, abut_options o, int64_t nenv) {
  memset(a, 0, sizeof *a);
  o.nenv = nenv;
  inputs_create(&a->in, p, nenv);
  inputs_create(&a->grad, p, nenv);
  array_create(&a->min_pivot, 'd', 1, &nenv);
  array_create(&a->status, 'u', 1, &nenv);
  run_create(&a->run, &p->scene, &o, p->nstep);
  a->run.args.record = 1;
  a->batch = batch_of(&p->scene, &o);
  abut_tensor **out[IN_COUNT] = {&a->args.qpos0,    &a->args.qvel0, &a->args.ctrl,     &a->args.gravity,
                                 &a->args.friction, &a->args.mass,  &a->args.stiffness};
  for (int i = 0; i < IN_COUNT; i++) *out[i] = p->entries[i] ? tensor(&a->grad.of[i]) : NULL;
  a->args.min_pivot = tensor(&a->min_pivot);
  a->args.status = tensor(&a->status);
  return a->batch != NULL;
}
static inline void adjoint_free(adjoint *a) {
  abut_batch_destroy(a->batch);
  inputs_free(&a->in);
  inputs_free(&a->grad);
  array_free(&a->min_pivot);
  array_free(&a->status);
  run_free(&a->run);
}

/* Hands over the problem's cotangents, of one environment. */
static inline void adjoint_cotangents(adjoint *a, problem *p) {
  const abut_tensor **cot[COT_COUNT] = {&a->args.qpos, &a->args.qvel, &a->args.xpos, &a->args.xquat,
                                        &a->args.contact_force};
  for (int k = 0; k < COT_COUNT; k++) *cot[k] = p->cot[k].count ? tensor(&p->cot[k]) : NULL;
}

static inline int adjoint_go(adjoint *a, const problem *p) {
  if (!inputs_apply(&a->in, p, a->batch, &a->run.args) || !run_go(&a->run, a->batch)) return 0;
  int status = abut_rollout_vjp(a->batch, &a->args, NULL, NULL);
  CHECK_STATUS(status, ABUT_OK);
  return status == ABUT_OK;
}

/* Largest difference of two gradients of an input, relative to its largest entry. */
static inline double gradient_distance(const array *a, const array *b) {
  double largest = 0, distance = 0;
  for (size_t i = 0; i < a->count; i++) {
    largest = fmax(largest, fabs(array_get(a, i)));
    distance = fmax(distance, fabs(array_get(a, i) - array_get(b, i)));
  }
  return largest > 0 ? distance / largest : distance;
}

/* ---------------------------------------------------------------------------------------- differences */

typedef struct direction {
  int input;
  int64_t entry; /* -1, -2, ..: random mixtures */
  double predicted;
} direction;

/* Entries of an input's tangent space, and what one of them is measured in; 0: it is not varied. */
static inline int64_t tangent_entries(const problem *p, int input) {
  return input == IN_QPOS ? p->scene.n.nv : p->entries[input];
}
static inline double entry_unit(const problem *p, int input, int64_t i) {
  if (input == IN_GRAVITY) return 10;
  return input > IN_GRAVITY ? p->input[input][i] : 1;
}
static inline double entry_share(const problem *p, const direction *d, int64_t i) {
  if (d->entry >= 0) return d->entry == i;
  uint64_t index = test_hash((uint64_t)(1 - d->entry) * 64 + (uint64_t)d->input) + (uint64_t)i;
  return test_uniform(index, -1, 1) * sqrt(3.0 / (double)tangent_entries(p, d->input));
}

/* Gradient of an input in units of its entries. */
static inline double *tangent_gradient(const problem *p, int input, const array *grad) {
  int64_t n = tangent_entries(p, input);
  double *out = calloc((size_t)n + 1, sizeof *out);
  if (input == IN_QPOS)
    walk_qpos(p->scene.model, p->input[IN_QPOS], NULL, NULL, grad->t.data, out);
  else
    for (int64_t i = 0; i < n; i++) out[i] = array_get(grad, (size_t)i) * entry_unit(p, input, i);
  return out;
}

/* Directions of one input, appended to list; returns the largest entry. */
static inline double choose(const problem *p, int input, const array *grad, direction *list, int64_t *count) {
  int64_t n = tangent_entries(p, input);
  double *g = tangent_gradient(p, input, grad), largest = 0;
  char *taken = calloc((size_t)n + 1, 1);
  for (int64_t k = 0; k < n && k < p->directions; k++) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
      if (!taken[i] && entry_unit(p, input, i) != 0 && (best < 0 || fabs(g[i]) > fabs(g[best]))) best = i;
    if (best < 0) break;
    taken[best] = 1;
    largest = fmax(largest, fabs(g[best]));
    list[(*count)++] = (direction){input, best, g[best]};
  }
  for (int64_t k = 1; k <= (p->directions > 1 ? MIXTURES : 1) && n > 1; k++) {
    direction d = {input, -k, 0};
    for (int64_t i = 0; i < n; i++) d.predicted += entry_share(p, &d, i) * g[i];
    list[(*count)++] = d;
  }
  free(g);
  free(taken);
  return largest;
}

static inline double rung(const problem *p, const direction *d, int copy) {
  double h = p->first[d->input] / pow(RATIO, copy / 2);
  return copy % 2 ? -h : h;
}

/* Moves the inputs of environment env along d. */
static inline void move_copy(const problem *p, const direction *d, int copy, inputs *in, int64_t env) {
  int64_t n = tangent_entries(p, d->input);
  double h = rung(p, d, copy), *to = (double *)in->of[d->input].t.data + env * p->entries[d->input];
  double *step = calloc((size_t)n + 1, sizeof *step);
  for (int64_t i = 0; i < n; i++) step[i] = h * entry_share(p, d, i) * entry_unit(p, d->input, i);
  if (d->input == IN_QPOS)
    walk_qpos(p->scene.model, p->input[IN_QPOS], step, to, NULL, NULL);
  else
    for (int64_t i = 0; i < n; i++) to[i] += step[i];
  free(step);
}

/* Loss of environment env relative to the base run; adds the magnitudes whose rounding it carries. */
static inline double loss_of(const problem *p, const run *r, int64_t env, const run *base, double *size) {
  double sum = 0;
  *size = 0;
  for (int k = 0; k < COT_COUNT; k++) {
    const double *x = (const double *)r->out[k].t.data + env * (int64_t)p->cot[k].count,
                 *y = base->out[k].t.data;
    for (size_t i = 0; i < p->cot[k].count; i++) {
      double c = array_get(&p->cot[k], i);
      sum += c * (x[i] - y[i]);
      *size += fabs(c * y[i]);
    }
  }
  return sum;
}

/* Derivative from a ladder of losses: the entry of Ridders' table with the smallest estimate of its own
 * error. Rungs whose steps did not converge are NaN and drop out. */
static inline double extrapolate(const problem *p, const direction *d, const double *loss, double size) {
  double table[LEVELS][LEVELS], best = NAN, doubt = INFINITY, noise = 0x1p-52 * size;
  for (int i = LEVELS - 3; i < LEVELS;
       i++) { /* on short steps what is neither odd nor quadratic is rounding */
    double longer = loss[2 * i - 2] + loss[2 * i - 1], shorter = loss[2 * i] + loss[2 * i + 1];
    noise = fmax(noise, fabs(shorter - longer / (RATIO * RATIO)));
  }
  for (int i = 0; i < LEVELS; i++) {
    double h = rung(p, d, 2 * i), factor = 1;
    table[i][0] = (loss[2 * i] - loss[2 * i + 1]) / (2 * h);
    for (int j = 1; j <= i; j++) {
      factor *= RATIO * RATIO;
      table[i][j] = table[i][j - 1] + (table[i][j - 1] - table[i - 1][j - 1]) / (factor - 1);
      double error = fmax(fabs(table[i][j] - table[i][j - 1]), fabs(table[i][j] - table[i - 1][j - 1]));
      error = fmax(error, noise / h);
      if (!isfinite(table[i][j]) || error >= doubt) continue;
      doubt = error;
      best = table[i][j];
    }
  }
  return best;
}

/* How often each pair starts or stops pushing, and how many push at all. */
static inline void count_active(const problem *p, const run *r, checked *out) {
  for (int32_t pair = 0; pair < p->scene.n.npair; pair++) {
    int before = 0, ever = 0;
    for (int64_t t = 0; t < p->nstep; t++) {
      const double *f = (const double *)r->out[OUT_FORCE].t.data + 3 * (t * p->scene.n.npair + pair);
      int on = f[0] != 0 || f[1] != 0 || f[2] != 0;
      out->changes += t > 0 && on != before;
      ever |= on;
      before = on;
    }
    out->active += ever;
  }
}

static inline void compare(const problem *p, const direction *list, int64_t count, const run *r,
                           const run *base, checked *out) {
  double largest = 0;
  for (int i = 0; i < IN_COUNT; i++) largest = fmax(largest, out->largest[i]);
  for (int64_t i = 0; i < count; i++) {
    const direction *d = &list[i];
    double loss[LADDER], size = 0;
    for (int c = 0; c < LADDER; c++) {
      int64_t env = i * LADDER + c;
      loss[c] = run_status(r, env) ? NAN : loss_of(p, r, env, base, &size);
    }
    double difference = extrapolate(p, d, loss, size), scale = fmax(out->largest[d->input], 1e-4 * largest);
    double error = fabs(difference - d->predicted) / fmax(scale, 1e-300);
    out->compared++;
    out->identical += difference != 0 && difference == d->predicted;
    if (!(error <= out->error[d->input])) out->error[d->input] = error;
    if (!(error <= p->tolerance))
      test_fail(__FILE__, __LINE__, "%s: %s[%lld]: cotangent %.12g, difference %.12g: error %.3g of %.3g",
                p->name, input_names[d->input], (long long)d->entry, d->predicted, difference, error, scale);
  }
}

/* The problem's cotangents against differences. */
static inline checked problem_check(problem *p) {
  checked out;
  memset(&out, 0, sizeof out);
  adjoint a;
  if (!adjoint_create(&a, p, p->options, 1)) return out;
  adjoint_cotangents(&a, p);
  direction *list = calloc((size_t)(IN_COUNT * (p->directions + MIXTURES)), sizeof *list);
  int64_t count = 0;
  if (adjoint_go(&a, p)) {
    out.status = run_status(&a.run, 0) | ((const uint32_t *)a.status.t.data)[0];
    if (out.status) test_fail(__FILE__, __LINE__, "%s: status %u", p->name, out.status);
    out.min_pivot = array_get(&a.min_pivot, 0);
    count_active(p, &a.run, &out);
    for (int i = 0; i < IN_COUNT; i++)
      if (p->entries[i]) out.largest[i] = choose(p, i, &a.grad.of[i], list, &count);
    problem copies = *p;
    copies.options.nenv = count * LADDER;
    copies.options.threads = 2;
    inputs in;
    inputs_create(&in, p, copies.options.nenv);
    for (int64_t e = 0; e < copies.options.nenv; e++)
      move_copy(p, &list[e / LADDER], (int)(e % LADDER), &in, e);
    run r;
    run_create(&r, &p->scene, &copies.options, p->nstep);
    abut_batch *b = batch_of(&p->scene, &copies.options);
    if (b && inputs_apply(&in, p, b, &r.args) && run_go(&r, b)) {
      out.failed = r.result.failed_envs;
      if (out.failed * 50 > copies.options.nenv)
        test_fail(__FILE__, __LINE__, "%s: %lld of %lld copies failed", p->name, (long long)out.failed,
                  (long long)copies.options.nenv);
      compare(p, list, count, &r, &a.run, &out);
    }
    CHECK(out.identical < out.compared);
    abut_batch_destroy(b);
    run_free(&r);
    inputs_free(&in);
  }
  free(list);
  adjoint_free(&a);
  if (getenv("ABUT_VERBOSE")) {
    printf("%s: %lld compared, %lld identical, %lld failed, %lld active, %lld changes, pivot %.3g\n", p->name,
           (long long)out.compared, (long long)out.identical, (long long)out.failed, (long long)out.active,
           (long long)out.changes, out.min_pivot);
    for (int i = 0; i < IN_COUNT; i++)
      printf("  %-10s largest %.3e error %.2e\n", input_names[i], out.largest[i], out.error[i]);
  }
  return out;
}

#endif
