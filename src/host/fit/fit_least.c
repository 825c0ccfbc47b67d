/* fit_least.c: moves one primitive so that the union fits better: Levenberg and Marquardt, by MINPACK. */
#include "host/fit/fit_form.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include <stdlib.h>

#ifdef ABUT_HAVE_CMINPACK
#include <cminpack-1/cminpack.h>

/* samples further from the primitive than this many truncation lengths do not feel it */
static const double reach = 5;

typedef struct problem {
  const fit_state *fit;
  const fit_form *form;
  fit_primitive start;
  int32_t count;
  const double **point;
  double *target, *weight, *others, *slope; /* of each sample; others: phi of the other primitives' union */
} problem;

/* MINPACK's callback: flag 1 wants residuals, 2 their slopes (column by column). */
static int evaluate(void *user, int m, int n, const double *x, double *values, double *slopes, int stride,
                    int flag) {
  const problem *in = user;
  const fit_state *fit = in->fit;
  fit_primitive moved;
  in->form->decode(&in->start, x, &moved);
  posed_primitive posed = fit_pose(fit, &moved);
  for (int32_t i = 0; i < m; i++) {
    double row[FIT_PARAMETERS], share, t = fit->truncation;
    double phi = flag == 1 ? posed_distance(&posed, in->point[i], NULL)
                           : in->form->slopes(&in->start, x, &moved, &posed, in->point[i], row);
    double all = soft_minimum(phi, in->others[i], fit->tau, &share);
    double cut = tanh(all / (in->slope[i] * t));
    if (flag == 1) values[i] = in->weight[i] * (t * cut - in->target[i]);
    double chain = in->weight[i] * (1 - cut * cut) * share / in->slope[i];
    for (int k = 0; flag == 2 && k < n; k++) slopes[k * (size_t)stride + (size_t)i] = chain * row[k];
  }
  return 0;
}

/* phi of all primitives but l at sample i. */
static double others_at(const fit_state *fit, int32_t l, int64_t i) {
  double least = INFINITY, sum = 0;
  for (int32_t k = 0; k < fit->primitive_count; k++)
    if (k != l) least = fmin(least, fit->phi[k * fit->count + i]);
  if (!(least < INFINITY)) return INFINITY;
  for (int32_t k = 0; k < fit->primitive_count; k++)
    if (k != l) sum += exp((least - fit->phi[k * fit->count + i]) / fit->tau);
  return least - fit->tau * log(sum);
}

/* Samples that the primitive may come to feel: near it, and not deep inside another. */
static void gather(const fit_state *fit, int32_t l, int32_t stride, problem *in) {
  const double *phi = fit->phi + l * fit->count, *slope = fit->slope + l * fit->count;
  in->count = 0;
  for (int64_t i = 0; i < fit->count; i += stride) {
    if (phi[i] > reach * fit->truncation * slope[i]) continue;
    double others = others_at(fit, l, i);
    if (others < -2 * fit->truncation) continue;
    int32_t at = in->count++;
    in->point[at] = fit->points + 3 * i;
    in->target[at] = fit->target[i];
    in->weight[at] = fit->weight[i];
    in->others[at] = others;
    in->slope[at] = slope[i];
  }
}

static abut_status solve(problem *in, int32_t evaluations, fit_primitive *moved) {
  enum { N = FIT_PARAMETERS };
  double x[N], scale[N], qtf[N], w1[N], w2[N], w3[N];
  int pivots[N], used, jacobians, m = in->count, n = in->form->count(moved);
  if (m < n) return ABUT_OK;
  double *room = malloc((size_t)m * (size_t)(n + 2) * sizeof *room);
  if (!room) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %d residuals", m);
  double *values = room, *w4 = room + m, *slopes = room + 2 * m;
  in->start = *moved;
  in->form->encode(moved, x);
  lmder(evaluate, in, m, n, x, values, slopes, m, 1e-6, 1e-6, 0, evaluations, scale, 1, 1, 0, &used,
        &jacobians, pivots, qtf, w1, w2, w3, w4);
  free(room);
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return ABUT_OK;
  in->form->decode(&in->start, x, moved);
  return ABUT_OK;
}

abut_status fit_move(fit_state *fit, int32_t l, int32_t evaluations, int32_t stride) {
  size_t n = (size_t)fit->count;
  problem in = {.fit = fit, .form = &fit_superquadric};
  if (fit->primitives[l].primitive.kind == ABUT_PRIMITIVE_POLYHEDRON) in.form = &fit_polyhedron;
  in.point = malloc(n * sizeof *in.point);
  in.target = malloc(4 * n * sizeof *in.target);
  abut_status status = ABUT_OK;
  if (in.point && in.target) {
    in.weight = in.target + n, in.others = in.target + 2 * n, in.slope = in.target + 3 * n;
    gather(fit, l, stride, &in);
    status = solve(&in, evaluations, fit->primitives + l);
  } else {
    status = fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %lld samples", (long long)fit->count);
  }
  free(in.point), free(in.target);
  fit_evaluate(fit, l);
  return status;
}
#endif
