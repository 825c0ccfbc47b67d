/* dynamics.h: a compiled scene's joint-space inertia and gravity, on the host in double: for what is derived
 * from them once, and as a check of what importers made. Steps compute their own (kernels/tree). */
#ifndef ABUT_MODEL_DYNAMICS_H
#define ABUT_MODEL_DYNAMICS_H
#include "kernels/tree/model.h"

/* Where bodies are in one configuration, and how each dof moves what hangs on it. */
typedef struct model_pose {
  double *xpos;   /* nbody x 3, body origins in the world (m) */
  double *xquat;  /* nbody x 4 */
  double *motion; /* nv x 6: angular, then linear velocity per unit of qvel, world axes; the latter is of the
                     point that lies at `centre` */
  double *centre; /* nbody x 3: origin of the body that the tree hangs on: inertias are about it (m) */
  double *memory;
} model_pose;

/* qpos: nq numbers with unit quaternions. Velocities are MuJoCo's qvel: of a free joint linear in the world,
 * then angular in the body; of a ball angular in the body. Free with model_pose_free. */
abut_status model_pose_make(const abut_model *model, const double *qpos, model_pose *pose);
void model_pose_free(model_pose *pose);

/* mass (nv x nv, row-major): joint-space inertia with armature (kg, kg m, kg m^2). */
abut_status model_mass_matrix(const abut_model *model, const double *qpos, double *mass);
/* Fills body_invweight0, dof_invweight0, tendon_invweight0, tendon_length0 and rest lengths of a model whose
 * other arrays are there. */
abut_status model_inverse_weights(abut_model *model);
/* force (nv): what gravity does on each dof (N, N m). */
abut_status model_gravity_force(const abut_model *model, const double *qpos, double *force);

#endif
