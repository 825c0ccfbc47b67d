/* test_adam.c: Adam's steps against its closed form and values worked out by hand. */
#include "host/optimise/adam.h"
#include "test.h"

/* Under a constant gradient both corrected means are that gradient and its square: every step is the rate. */
TEST(constant_gradient) {
  const adam rule = {0.3, 0.5, 0, 0};
  double mean[2] = {0}, square[2] = {0}, x[2] = {1, -2};
  const double gradient[2] = {7e-11, -3e4}, rate[2] = {0.03, 0.5};
  for (int64_t step = 1; step <= 20; step++) adam_step(&rule, step, 2, gradient, rate, 1, mean, square, x);
  CHECK_NEAR(x[0], 1 - 20 * 0.03, 1e-14); /* rounding of 20 sums */
  CHECK_NEAR(x[1], -2 + 20 * 0.5, 1e-13);
}

/* Two steps with gradients 2 and -1, betas 0.5 and 0.75, rate 0.1, epsilon 0.25, by hand:
 *   m1 = 1, v1 = 1: corrected 2 and 4, step 0.1 * 2 / (2 + 0.25)
 *   m2 = 0.5 - 0.5 = 0, v2 = 0.75 + 0.25 = 1: corrected 0, no step */
TEST(two_steps_by_hand) {
  const adam rule = {0.5, 0.75, 0.25, 0};
  double mean = 0, square = 0, x = 0, rate = 0.1;
  adam_step(&rule, 1, 1, (double[]){2}, &rate, 1, &mean, &square, &x);
  CHECK_NEAR(x, -0.2 / 2.25, 1e-16);
  adam_step(&rule, 2, 1, (double[]){-1}, &rate, 1, &mean, &square, &x);
  CHECK_NEAR(x, -0.2 / 2.25, 1e-16);
  CHECK_NEAR(mean, 0, 0);
  CHECK_NEAR(square, 1, 0);
}

/* A third of that with a gradient that turns round: m = 0.5 m + 0.5 g with g = -4 after 2 gives -1.5,
 * corrected by 1 - 0.25 to -2; v = 0.75 + 4 = 4.75, corrected by 1 - 0.75^2 to 76 / 7. */
TEST(second_step_corrects_the_bias) {
  const adam rule = {0.5, 0.75, 0, 0};
  double mean = 0, square = 0, x = 0, rate = 0.3;
  adam_step(&rule, 1, 1, (double[]){2}, &rate, 1. / 3, &mean, &square, &x);
  CHECK_NEAR(x, -0.1, 1e-16);
  adam_step(&rule, 2, 1, (double[]){-4}, &rate, 1. / 3, &mean, &square, &x);
  CHECK_NEAR(x, -0.1 + 0.1 * 2 / sqrt(76. / 7), 1e-15);
}

/* Clipping shortens the whole gradient: (3, 4) has norm 5, so a clip of 1 makes it (0.6, 0.8). */
TEST(clip_keeps_the_direction) {
  const adam rule = {0, 0, 1, 1}; /* no memory: the step is g / (|g| + 1) per number */
  double mean[2] = {0}, square[2] = {0}, x[2] = {0}, rate[2] = {1, 1};
  adam_step(&rule, 1, 2, (double[]){3, 4}, rate, 1, mean, square, x);
  CHECK_NEAR(x[0], -0.6 / 1.6, 1e-15);
  CHECK_NEAR(x[1], -0.8 / 1.8, 1e-15);
  CHECK_NEAR(adam_norm((double[]){3, 4}, 2), 5, 0);
}

/* Where the loss is flat nothing moves, whatever epsilon is. */
TEST(no_gradient_no_step) {
  for (int i = 0; i < 2; i++) {
    const adam rule = {0.9, 0.999, i * 1e-16, 0};
    double mean = 0, square = 0, x = 5, rate = 1;
    adam_step(&rule, 1, 1, (double[]){0}, &rate, 1, &mean, &square, &x);
    CHECK(x == 5);
  }
}
