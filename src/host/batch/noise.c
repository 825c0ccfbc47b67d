/* noise.c: random perturbation of states; every number is a function of (seed, environment, step, entry). */
#include "host/base/real.h"
#include "host/batch/backend.h"
#include "kernels/lane/random.h"
#include "host/batch/noise.h"
#include "host/base/status.h"
#include <math.h>

/* Box-Muller from two uniforms. */
double noise_normal(uint64_t seed, uint64_t env, uint64_t step, uint64_t entry) {
  double u = 1 - hash_uniform(seed, env, step, 2 * entry), v = hash_uniform(seed, env, step, 2 * entry + 1);
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* q := q exp(d) for a rotation vector d. */
static void turn(double q[4], const double d[3]) {
  double t = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), s = t > 1e-12 ? sin(t / 2) / t : 0.5,
         c = cos(t / 2);
  double x = s * d[0], y = s * d[1], z = s * d[2];
  double r[4] = {q[0] * c - q[1] * x - q[2] * y - q[3] * z, q[0] * x + q[1] * c + q[2] * z - q[3] * y,
                 q[0] * y - q[1] * z + q[2] * c + q[3] * x, q[0] * z + q[1] * y - q[2] * x + q[3] * c};
  for (int i = 0; i < 4; i++) q[i] = r[i];
}

static void perturb_joint(abut_batch *b, int64_t env, int32_t j, const double *d) {
  const abut_model *m = b->model;
  int64_t at = env * m->nq + m->jnt_qposadr[j];
  int type = m->jnt_type[j], linear = type == ABUT_JOINT_FREE ? 3 : type == ABUT_JOINT_BALL ? 0 : 1;
  for (int i = 0; i < linear; i++)
    elem_put(b, b->state.qpos, at + i, elem_get(b, b->state.qpos, at + i) + d[i]);
  if (type != ABUT_JOINT_FREE && type != ABUT_JOINT_BALL) return;
  double q[4];
  for (int i = 0; i < 4; i++) q[i] = elem_get(b, b->state.qpos, at + linear + i);
  turn(q, d + linear);
  for (int i = 0; i < 4; i++) elem_put(b, b->state.qpos, at + linear + i, q[i]);
}

abut_status abut_batch_perturb(abut_batch *b, const uint8_t *mask, uint64_t seed, uint64_t step,
                               double sigma_qpos, double sigma_qvel) {
  REQUIRE_POINTER(b, "batch");
  /* noise_normal stays below 9 */
  if (!(sigma_qpos >= 0) || !(sigma_qvel >= 0) || !real_holds(b->kernels->elem_size, 9 * sigma_qpos) ||
      !real_holds(b->kernels->elem_size, 9 * sigma_qvel))
    return fail_with(
        ABUT_ERROR_ARGUMENT,
        "abut_batch_perturb: deviations %g and %g: must be from 0 to what the batch's dtype holds",
        sigma_qpos, sigma_qvel);
  const abut_model *m = b->model;
  ATTEMPT(b->backend->fetch(b));
  for (int64_t env = 0; env < b->options.nenv; env++) {
    if (mask && !mask[env]) continue;
    for (int32_t i = 0; i < m->nv; i++) {
      double v = elem_get(b, b->state.qvel, env * m->nv + i);
      elem_put(b, b->state.qvel, env * m->nv + i,
               v + sigma_qvel * noise_normal(seed, (uint64_t)env, step, (uint64_t)i));
    }
    for (int32_t j = 0; j < m->njnt; j++) {
      double d[6];
      for (int i = 0; i < 6; i++)
        d[i] = sigma_qpos * noise_normal(seed, (uint64_t)env, step, (uint64_t)(m->nv + m->jnt_dofadr[j] + i));
      perturb_joint(b, env, j, d);
    }
    b->state.warm.count[env] = 0;
    b->state.fresh[env] = 1;
  }
  b->tape_valid = 0;
  return b->backend->push(b);
}
