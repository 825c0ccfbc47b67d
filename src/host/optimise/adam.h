/* adam.h: Adam (Kingma and Ba, 2014): steps whose size does not depend on the gradient's. */
#ifndef ABUT_ADAM_H
#define ABUT_ADAM_H
#include <stdint.h>

typedef struct adam {
  double beta1, beta2, epsilon;
  double clip; /* a gradient with a larger norm is shortened to it; 0: none is */
} adam;

/* Moves x [n] against the gradient, by about scale * rate [n] each; step counts from 1. mean and square [n]
 * are Adam's state, zero before the first step. */
void adam_step(const adam *rule, int64_t step, int64_t n, const double *gradient, const double *rate,
               double scale, double *mean, double *square, double *x);
/* Euclidean norm of x [n]. */
double adam_norm(const double *x, int64_t n);

#endif
