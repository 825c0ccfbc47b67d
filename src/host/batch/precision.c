/* precision.c: what the real type of a batch must hold: the options, and every number of the model. */
#include "host/base/real.h"
#include "host/base/status.h"
#include "host/batch/batch.h"

abut_status precision_range(const abut_options *o, const char *option, double value, double most) {
  if (o->dtype == ABUT_F64 || (value >= 1 / most && value <= most)) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT,
                   "option %s: %g is out of range in single precision, which takes %g to %g", option, value,
                   1 / most, most);
}

abut_status precision_check(const abut_model *m, const abut_options *o) {
  if (o->dtype == ABUT_F64) return ABUT_OK; /* resolved options and valid models are finite */
  ATTEMPT(precision_range(o, "timestep", o->timestep, 1e15)); /* kernels divide by its square */
  ATTEMPT(precision_range(o, "tolerance", o->tolerance, 1e30));
  for (int32_t b = 0; b < m->nbody; b++)
    if (m->body_mass[b] > 0 && m->body_mass[b] < (double)FLT_MIN) {
      char label[LABEL_SIZE];
      return fail_with(ABUT_ERROR_ARGUMENT, "%s: mass is %g, 0 in single precision",
                       model_label(m, 'b', b, label), m->body_mass[b]);
    }
  return model_check_numbers(m, 4); /* what is derived from masses too */
}
