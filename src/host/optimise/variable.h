/* variable.h: what an optimisation changes: numbers of every environment that become controls and initial
 * states. */
#ifndef ABUT_VARIABLE_H
#define ABUT_VARIABLE_H
#include "abut/optimise.h"

/* Numbers of a variable in a rollout of nstep steps. */
int64_t variable_size(const abut_variable *v, int64_t nstep);
int variable_is_control(const abut_variable *v);
/* Where every environment begins. */
void variable_begin(const abut_variable *v, int64_t nstep, double *value);
/* Adds an environment's noise; id: the variable's place in the problem. */
void variable_disturb(const abut_variable *v, int64_t nstep, uint64_t seed, int64_t env, int32_t id,
                      double *value);
/* Brings them between their bounds; range: those of the actuator's control. */
void variable_bound(const abut_variable *v, int64_t nstep, const double range[2], double *value);
/* Which of start, noise and rate number i of a variable uses. */
int variable_part(const abut_variable *v, int64_t i);

/* The control at a step, which begins at step * dt (s). */
double variable_control(const abut_variable *v, int64_t nstep, double dt, const double *value, int64_t step);
/* Adds bar times the derivatives of that control by the variable's numbers. */
void variable_control_bar(const abut_variable *v, int64_t nstep, double dt, const double *value, int64_t step,
                          double bar, double *value_bar);

#endif
