/* adam.c: the update, with the means' bias corrected. */
#include "host/optimise/adam.h"
#include <math.h>

double adam_norm(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

void adam_step(const adam *rule, int64_t step, int64_t n, const double *gradient, const double *rate,
               double scale, double *mean, double *square, double *x) {
  double corrected1 = 1 - pow(rule->beta1, (double)step), corrected2 = 1 - pow(rule->beta2, (double)step);
  double length = adam_norm(gradient, n),
         factor = rule->clip > 0 && length > rule->clip ? rule->clip / length : 1;
  for (int64_t i = 0; i < n; i++) {
    double g = factor * gradient[i];
    mean[i] = rule->beta1 * mean[i] + (1 - rule->beta1) * g;
    square[i] = rule->beta2 * square[i] + (1 - rule->beta2) * g * g;
    double size = sqrt(square[i] / corrected2) + rule->epsilon;
    /* a gradient so small that its square is none has no direction left */
    if (size > 0) x[i] -= scale * rate[i] * (mean[i] / corrected1) / size;
  }
}
