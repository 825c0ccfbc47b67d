/* tendon.h: lengths of a compiled scene's tendons, on the host in double: for what is derived from them once,
 * and as a check of the steps' own (kernels/tree/tendon.inl). */
#ifndef ABUT_MODEL_TENDON_H
#define ABUT_MODEL_TENDON_H
#include "host/model/dynamics.h"

/* Length of tendon t at qpos, whose poses are `pose`. gradient (nv, may be NULL): how fast it grows with
 * MuJoCo's qvel. */
double model_tendon_length(const abut_model *model, const double *qpos, const model_pose *pose, int32_t t,
                           double *gradient);
/* The dofs that may change its length, ascending. dofs: nv. Returns how many. */
int32_t model_tendon_dofs(const abut_model *model, int32_t t, int32_t *dofs);
/* Whether its length makes a force: by a term of its own, an actuator or an equality that is on. */
int model_tendon_acts(const abut_model *model, int32_t t);
/* Whether the side site of this part, a geom that has one, lies inside it. */
int model_wrap_inside(const abut_model *model, const model_pose *pose, int32_t row);

#endif
