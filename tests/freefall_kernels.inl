/* freefall_kernels.inl: bodies on slides that fall: v+ = v + dt g.axis, q+ = q + dt v+. */
#define METHOD_DEF "tests/freefall.def"
#include "kernels/lane/lane.h"
#include "kernels/lane/team.h"
#include "kernels/lane/vector.h"
#include "kernels/lane/random.h"
#include "kernels/clock/table.h"
#include "kernels/clock/names.h"
#include "kernels/clock/fields.h"
#include "kernels/tree/rigid.inl"
#include "kernels/clock/slots.inl"
#include "kernels/clock/rollout.inl"
#include "kernels/clock/gradient.inl"

FN void slots_changed(const step_params *k, lane_group *g) { (void)k, (void)g; }

/* Nothing touches at the start. */
KERNEL void stage_ready(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (!LEADER) return;
  SET(opening) |= SET(arriving);
  SET(arriving) = 0;
  g->live = SET(opening);
}

KERNEL void stage_place(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (LEADER) copy_sel(W(qpos), W(qpos_t), k->model->nq, live);
}

KERNEL void stage_fall(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  elem dt = K(k->options.timestep);
  kinematics(k, w, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  for (int d = 0; d < k->model->nv; d++) {
    real pull = dot(get_vec(W(gravity)), get_vec(&AT(W(twist), 6 * d + 3)));
    real v = AT(W(qvel), d) + dt * pull;
    AT(W(qvel), d) = sel(live, v, AT(W(qvel), d));
    AT(W(qpos), d) = sel(live, AT(W(qpos_t), d) + dt * v, AT(W(qpos), d));
  }
  fill(W(energies), 4, zero());
  kinematics(k, w, W(qpos), W(xpos_try), W(xmat_try), W(xquat), 0);
}

KERNEL void stage_fell(const step_params *k, lane_group *g, program_io *io) {
  (void)k, (void)io;
  if (!LEADER) return;
  SET(finishing) = SET(beginning);
  SET(beginning) = 0;
  g->live = SET(finishing);
}

/* bar v = bar v+ + dt bar q+, bar q = bar q+, bar g += dt axis bar v. */
KERNEL void stage_fall_vjp(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  elem dt = K(k->options.timestep);
  kinematics(k, w, W(qpos_t), W(xpos), W(xmat), W(xquat), W(twist));
  for (int d = 0; d < k->model->nv; d++) {
    real q = AT(W(bar_qpos), d) + AT(W(bar_out_qpos), d), v = AT(W(bar_qvel), d) + dt * q;
    vec3 axis = get_vec(&AT(W(twist), 6 * d + 3)), sum = axpy(dt * v, axis, get_vec(W(bar_gravity)));
    AT(W(bar_qpos), d) = sel(live, q, AT(W(bar_qpos), d));
    AT(W(bar_qvel), d) = sel(live, v, AT(W(bar_qvel), d));
    put_vec_sel(W(bar_gravity), live, sum);
  }
  AT(W(pivot), 0) = splat(1);
}

KERNEL void stage_start_vjp(const step_params *k, lane_group *g, program_io *io) {
  STAGE_LOCALS(void) io;
  if (!LEADER) return;
  for (int d = 0; d < k->model->nv; d++)
    AT(W(bar_qpos0), d) = sel(live, AT(W(bar_qpos), d) + AT(W(bar_out_qpos), d), AT(W(bar_qpos0), d));
}
