/* options.c: defaults and checks of the options that every method has. */
#include "host/batch/options.h"
#include "host/base/option.h"
#include "host/batch/method.h"
#include <math.h>
#include <unistd.h>

abut_options abut_default_options(void) {
  abut_options o = {0};
  o.nenv = 1;
  o.max_iterations = 1000;
  o.timestep = 0.01;
  o.friction = -1;
  o.tolerance = 1e-6;
  for (int32_t i = 0; i < methods_num; i++) methods[i]->defaults(&o);
  return o;
}

static abut_status check_device(const abut_options *o) {
  OPTION_CHOICE("device", o->device);
  OPTION_RANGE(o->device_id >= 0, "device_id", "d", o->device_id);
  if (o->stream && o->device != ABUT_DEVICE_CUDA)
    return fail_with(ABUT_ERROR_ARGUMENT, "option stream: %p is of no use to a batch on the CPU", o->stream);
  if (o->device_id && o->device != ABUT_DEVICE_CUDA)
    return fail_with(ABUT_ERROR_ARGUMENT, "option device_id: %d names a GPU, this batch is on the CPU",
                     o->device_id);
  OPTION_RANGE(o->team == 0 || o->team == 1 || o->team == 32, "team", "d", o->team);
  return ABUT_OK;
}

abut_status options_resolve(const abut_model *model, abut_options *o) {
  OPTION_RANGE(o->nenv >= 1 && o->nenv <= (int64_t)1 << 40, "nenv", "lld", (long long)o->nenv);
  OPTION_CHOICE("dtype", o->dtype);
  OPTION_RANGE(o->threads >= 0 && o->threads <= 4096, "threads", "d", o->threads);
  OPTION_RANGE(o->max_iterations >= 1, "max_iterations", "d", o->max_iterations);
  ATTEMPT(check_device(o));
  if (o->timestep == 0) o->timestep = 0.01;
  OPTION_RANGE(o->timestep > 0 && isfinite(o->timestep), "timestep", "g", o->timestep);
  OPTION_RANGE(!isnan(o->friction) && o->friction < 1e6, "friction", "g", o->friction);
  OPTION_RANGE(o->tolerance > 0 && isfinite(o->tolerance), "tolerance", "g", o->tolerance);
  if (o->threads == 0) o->threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (o->threads < 1) o->threads = 1;
  OPTION_RANGE(o->method >= 0 && o->method < methods_num, "method", "d", o->method);
  return methods[o->method]->resolve(model, o);
}
