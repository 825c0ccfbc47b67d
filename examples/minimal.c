/* minimal.c: 64 robots for 50 steps, and how the last height of the first depends on its initial velocity. */
#include <abut/abut.h>
#include <stdio.h>

enum { N = 64, T = 50, NQ = 23, NV = 22 }; /* sizes of this scene: abut info prints them */
static double qpos[N][T + 1][NQ], weight[N][T + 1][NQ], slope[N][NV];
static abut_tensor array(void *data, int ndim, int64_t *shape) {
  return (abut_tensor){.data = data, .device = {1, 0}, .ndim = ndim, .dtype = {2, 64, 1}, .shape = shape};
}

int main(void) {
  abut_model *model = NULL;
  abut_batch *batch = NULL;
  abut_options options = abut_default_options();
  abut_rollout_args forward = abut_default_rollout_args();
  abut_vjp_args reverse = abut_default_vjp_args();
  int64_t path[] = {N, T + 1, NQ}, start[] = {N, NV};
  abut_tensor out = array(qpos, 3, path), in = array(weight, 3, path), gradient = array(slope, 2, start);
  options.nenv = N;
  forward.nstep = T, forward.record = 1, forward.qpos = &out;
  reverse.qpos = &in, reverse.qvel0 = &gradient;
  weight[0][T][2] = 1; /* the cotangent of the first robot's last height */
  int failed =
      abut_model_load("scenes/ant_box.abut", NULL, &model) || abut_batch_create(model, &options, &batch) ||
      abut_rollout(batch, &forward, NULL, NULL, NULL) || abut_rollout_vjp(batch, &reverse, NULL, NULL);
  if (failed) fprintf(stderr, "%s\n", abut_error_message());
  if (!failed) printf("height %g m, its change per initial upward speed %g s\n", qpos[0][T][2], slope[0][2]);
  abut_batch_destroy(batch), abut_model_destroy(model);
  return failed;
}
