/* test_variable.c: controls as sequences, splines and sums of sines: shape, bounds, derivatives, noise. */
#include "host/optimise/variable.h"
#include "test.h"
#include <string.h>

enum { STEPS = 23, MOST = 32 };
static const double DT = 0.04;

static abut_variable variable_of(int kind, int count) {
  abut_variable v = abut_default_variable();
  v.kind = kind;
  v.count = count;
  return v;
}

static double uniform(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (double)(*seed >> 11) * 0x1p-53;
}

/* Derivatives of every control by every number against central differences. The curves are linear in a
 * sequence's and a spline's numbers, where differences are exact but for rounding (1e-16 / 1e-4); sines lose
 * h^2 times a third derivative, (2 pi t)^3 = 190 by frequency. */
TEST(derivatives) {
  const abut_variable all[] = {variable_of(ABUT_VARIABLE_SEQUENCE, 0), variable_of(ABUT_VARIABLE_SPLINE, 2),
                               variable_of(ABUT_VARIABLE_SPLINE, 3), variable_of(ABUT_VARIABLE_SPLINE, 7),
                               variable_of(ABUT_VARIABLE_SINES, 4)};
  const double h = 1e-4, tolerance[] = {1e-11, 1e-11, 1e-11, 1e-11, 3e-6};
  uint64_t seed = 3;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    int64_t size = variable_size(&all[k], STEPS), identical = 0, sloping = 0;
    double value[MOST], bar[MOST];
    for (int64_t i = 0; i < size; i++) value[i] = 0.2 + uniform(&seed);
    for (int64_t step = 0; step < STEPS; step++) {
      memset(bar, 0, sizeof bar);
      variable_control_bar(&all[k], STEPS, DT, value, step, 3, bar);
      for (int64_t i = 0; i < size; i++) {
        double middle = value[i], side[2];
        for (int s = 0; s < 2; s++) {
          value[i] = middle + (s ? h : -h);
          side[s] = variable_control(&all[k], STEPS, DT, value, step);
        }
        value[i] = middle;
        double slope = 3 * (side[1] - side[0]) / (2 * h);
        CHECK_NEAR(bar[i], slope, tolerance[k]);
        identical += bar[i] != 0 && bar[i] == slope;
        sloping += bar[i] != 0;
      }
    }
    /* differences of a sequence are exact by luck of rounding in places, never everywhere */
    CHECK(sloping >= STEPS && identical < sloping);
  }
}

/* A spline starts at the first knot, ends at the last, stays between the knots, and is the straight line
 * where they lie on one. */
TEST(spline_shape) {
  uint64_t seed = 8;
  for (int32_t knots = 2; knots < 12; knots++) {
    abut_variable v = variable_of(ABUT_VARIABLE_SPLINE, knots);
    double value[MOST], line[MOST];
    for (int i = 0; i < knots; i++) {
      value[i] = uniform(&seed) < 0.5 ? -1 : 1; /* as rough as can be */
      line[i] = 5 - 2.0 * i / (knots - 1);
    }
    CHECK_NEAR(variable_control(&v, STEPS, DT, value, 0), value[0], 1e-15);
    CHECK_NEAR(variable_control(&v, STEPS, DT, value, STEPS - 1), value[knots - 1], 1e-14);
    for (int64_t step = 0; step < STEPS; step++) {
      CHECK(fabs(variable_control(&v, STEPS, DT, value, step)) <= 1 + 1e-15);
      CHECK_NEAR(variable_control(&v, STEPS, DT, line, step), 5 - 2.0 * (double)step / (STEPS - 1), 1e-14);
    }
  }
}

TEST(sines_by_hand) {
  abut_variable v = variable_of(ABUT_VARIABLE_SINES, 2);
  const double value[] = {2,   6.25, 0,
                          0.5, 0,    1.5707963267948966}; /* at dt 0.04: a quarter turn a step; constant */
  const double wanted[] = {0.5, 2.5, 0.5, -1.5};
  for (int step = 0; step < 4; step++)
    CHECK_NEAR(variable_control(&v, STEPS, DT, value, step), wanted[step], 1e-15);
}

/* Environment 0 starts without noise; the others' depends on seed, environment and variable; a sequence moves
 * as a whole. */
TEST(noise) {
  abut_variable v = variable_of(ABUT_VARIABLE_SEQUENCE, 0), waves = variable_of(ABUT_VARIABLE_SINES, 2);
  double a[MOST], b[MOST];
  v.start[0] = 3;
  v.noise[0] = 1;
  waves.noise[0] = 1, waves.noise[2] = 1;
  variable_begin(&v, STEPS, a);
  variable_disturb(&v, STEPS, 5, 0, 0, a);
  CHECK(a[0] == 3 && a[STEPS - 1] == 3);
  variable_begin(&v, STEPS, a);
  variable_disturb(&v, STEPS, 5, 1, 0, a);
  CHECK(a[0] != 3 && a[0] == a[STEPS - 1]);
  variable_begin(&v, STEPS, b);
  variable_disturb(&v, STEPS, 5, 1, 0, b);
  CHECK(a[0] == b[0]);
  variable_begin(&v, STEPS, b);
  variable_disturb(&v, STEPS, 6, 1, 0, b);
  CHECK(a[0] != b[0]);
  variable_begin(&v, STEPS, b);
  variable_disturb(&v, STEPS, 5, 2, 0, b);
  CHECK(a[0] != b[0]);
  variable_begin(&v, STEPS, b);
  variable_disturb(&v, STEPS, 5, 1, 1, b);
  CHECK(a[0] != b[0]);
  variable_begin(&waves, STEPS, a);
  variable_disturb(&waves, STEPS, 5, 1, 0, a);
  CHECK(a[0] != 0 && a[1] == 0 && a[2] != 0 && a[0] != a[3]);
}

TEST(bounds) {
  abut_variable v = variable_of(ABUT_VARIABLE_SPLINE, 3), waves = variable_of(ABUT_VARIABLE_SINES, 1);
  double value[] = {-5, 0.1, 5}, wave[] = {9, 9, 9};
  v.min = -2;
  variable_bound(&v, STEPS, (double[]){-3, 1}, value);
  CHECK(value[0] == -2 && value[1] == 0.1 && value[2] == 1);
  variable_bound(&waves, STEPS, (double[]){-1, 1}, wave);
  CHECK(wave[0] == 9);
  v.kind = ABUT_VARIABLE_QVEL; /* what bounds an actuator does not bound a velocity */
  value[0] = 7;
  variable_bound(&v, STEPS, (double[]){-3, 1}, value);
  CHECK(value[0] == 7);
}
