/* advice.c: the scalar equilibrium of a loaded contact.
 *
 * Two shapes face each other across a gap g with the plane in the middle: each point's margin is a = g/2.
 * With m points a side, forces balance where mu m (-P'(a/L0)) / L0 = W. -P' falls with a, so bisection finds
 * the gap. */
#include "advice.h"
#include <math.h>
#include <stdlib.h>

double barrier_slope(int contact, double reach, double x) {
  if (contact != ABUT_CONTACT_LOCAL) return 1 / (x * x);
  double d = reach - x;
  return d > 0 ? d * d * d * (5 * reach - x) / pow(x, 6) : 0;
}

double resting_gap(int contact, double reach, double stiffness, double length, double load, int points) {
  double low = 1e-15, high = contact == ABUT_CONTACT_LOCAL ? reach : 1e15;
  for (int i = 0; i < 200; i++) {
    double middle = sqrt(low * high);
    if (stiffness * points * barrier_slope(contact, reach, middle) / length > load)
      low = middle;
    else
      high = middle;
  }
  return 2 * length * low;
}

double resting_stiffness(int contact, double reach, double length, double load, int points, double gap) {
  double slope = barrier_slope(contact, reach, gap / 2 / length);
  return slope > 0 ? load * length / (points * slope) : INFINITY;
}

double reach_of_gap(double length, double gap) { return gap / (2 * length + gap); }

double moving_weight(const abut_model *model) {
  abut_model_sizes sizes = abut_model_get_sizes(model);
  double mass = 0;
  char *moves = calloc((size_t)sizes.nbody + 1, 1);
  if (!moves) return NAN;
  for (int32_t i = 0; i < sizes.njnt; i++) {
    abut_joint_def joint;
    if (abut_model_joint(model, i, &joint) == ABUT_OK) moves[joint.body] = 1;
  }
  for (int32_t i = 1; i < sizes.nbody; i++) { /* parents come first */
    abut_body_def body;
    if (abut_model_body(model, i, &body) != ABUT_OK) continue;
    moves[i] |= moves[body.parent];
    if (moves[i]) mass += body.mass * (1 - body.gravcomp);
  }
  free(moves);
  abut_scene_options scene = abut_default_scene_options();
  abut_model_scene(model, &scene);
  const double *gravity = scene.gravity;
  return mass * sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
}
