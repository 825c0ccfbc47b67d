/* precision.c: what the real type of a batch must hold: the options, and every number of the model. */
#include "host/base/real.h"
#include "host/base/status.h"
#include "host/batch/batch.h"

/* Kernels divide by these, and by the square of the time step. */
static abut_status check_options(const abut_options *o) {
  const struct {
    const char *name;
    double value, most; /* and 1/most at least */
  } all[] = {{"timestep", o->timestep, 1e15},
             {"reach", o->implicit.reach, 1e30},
             {"stiffness", o->implicit.stiffness, 1e30},
             {"length", o->implicit.length, 1e30},
             {"gap0", o->implicit.gap0, 1e30},
             {"slip_velocity", o->implicit.slip_velocity, 1e30},
             {"tolerance", o->tolerance, 1e30},
             {"epsilon", o->implicit.epsilon, 1e30}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(all[i].value >= 1 / all[i].most && all[i].value <= all[i].most))
      return fail_with(ABUT_ERROR_ARGUMENT,
                       "option %s: %g is out of range in single precision, which takes %g to %g", all[i].name,
                       all[i].value, 1 / all[i].most, all[i].most);
  if (!real_holds(4, o->implicit.max_separation))
    return fail_with(ABUT_ERROR_ARGUMENT, "option max_separation: %g is beyond single precision",
                     o->implicit.max_separation);
  return ABUT_OK;
}

abut_status precision_check(const abut_model *m, const abut_options *o) {
  if (o->dtype == ABUT_F64) return ABUT_OK; /* resolved options and valid models are finite */
  ATTEMPT(check_options(o));
  ATTEMPT(model_check_numbers(m, 4));
  for (int32_t b = 0; b < m->nbody; b++)
    if (m->body_mass[b] > 0 && m->body_mass[b] < (double)FLT_MIN) {
      char label[LABEL_SIZE];
      return fail_with(ABUT_ERROR_ARGUMENT, "%s: mass is %g, 0 in single precision",
                       model_label(m, 'b', b, label), m->body_mass[b]);
    }
  return ABUT_OK;
}
