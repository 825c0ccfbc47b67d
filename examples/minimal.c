/* minimal.c: 64 robots for 50 steps, and how the last height of the first depends on its initial velocity. */
#include <abut/abut.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, T = 50, NQ = 23, NV = 22 }; /* sizes of this scene: abut info prints them */
static double qpos[N][T + 1][NQ], weight[N][T + 1][NQ], slope[N][NV];

static void need(abut_status status) {
  if (status != ABUT_OK) exit(fprintf(stderr, "%s\n", abut_error_message()) != 0);
}

static abut_tensor array(void *data, int ndim, int64_t *shape) {
  return (abut_tensor){.data = data, .device = {1, 0}, .ndim = ndim, .dtype = {2, 64, 1}, .shape = shape};
}

int main(void) {
  abut_model *model;
  need(abut_model_load("scenes/ant_box.abut", NULL, &model));
  abut_options options = abut_default_options();
  options.nenv = N;
  abut_batch *batch;
  need(abut_batch_create(model, &options, &batch));

  int64_t path[] = {N, T + 1, NQ}, start[] = {N, NV};
  abut_tensor out = array(qpos, 3, path), in = array(weight, 3, path), gradient = array(slope, 2, start);
  abut_rollout_args forward = abut_default_rollout_args();
  forward.nstep = T, forward.record = 1, forward.qpos = &out;
  need(abut_rollout(batch, &forward, NULL, NULL, NULL));

  weight[0][T][2] = 1; /* the cotangent of the first robot's last height */
  abut_vjp_args reverse = abut_default_vjp_args();
  reverse.qpos = &in, reverse.qvel0 = &gradient;
  need(abut_rollout_vjp(batch, &reverse, NULL, NULL));
  printf("height %g m, its change per initial upward speed %g s\n", qpos[0][T][2], slope[0][2]);

  abut_batch_destroy(batch);
  abut_model_destroy(model);
  return 0;
}
