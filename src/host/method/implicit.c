/* implicit.c: the implicit step's options: defaults and checks. */
#include "host/method/implicit.h"
#include "host/base/option.h"
#include <math.h>

void implicit_defaults(abut_options *options) {
  abut_implicit_options *o = &options->implicit;
  o->reach = 1e-3;
  o->length = 1;
  o->max_separation = 5e-3;
  o->slip_velocity = 1e-4;
  o->epsilon = 0.5;
}

static abut_status check_choices(const abut_implicit_options *o) {
  OPTION_CHOICE("contact", o->contact);
  OPTION_CHOICE("form", o->form);
  OPTION_CHOICE("weights", o->weights);
  OPTION_CHOICE("friction_form", o->friction_form);
  OPTION_CHOICE("solver", o->solver);
  OPTION_RANGE(o->pair_capacity >= 0, "pair_capacity", "d", o->pair_capacity);
  return ABUT_OK;
}

abut_status implicit_resolve(const abut_model *model, abut_options *options) {
  abut_implicit_options *o = &options->implicit;
  (void)model;
  ABUT_TRY(check_choices(o));
  int local = o->contact == ABUT_CONTACT_LOCAL;
  if (o->stiffness == 0) o->stiffness = local ? 1e-7 : 1e-8;
  if (o->gap0 == 0) o->gap0 = local ? 0.5 * o->reach * o->length : 1e-4;
  OPTION_RANGE(o->reach > 0 && o->reach < 0.5, "reach", "g", o->reach);
  OPTION_RANGE(o->stiffness > 0 && isfinite(o->stiffness), "stiffness", "g", o->stiffness);
  OPTION_RANGE(o->length > 0 && isfinite(o->length), "length", "g", o->length);
  OPTION_RANGE(o->gap0 > 0 && isfinite(o->gap0), "gap0", "g", o->gap0);
  OPTION_RANGE(o->max_separation >= 0 && isfinite(o->max_separation), "max_separation", "g",
               o->max_separation);
  OPTION_RANGE(o->slip_velocity > 0 && isfinite(o->slip_velocity), "slip_velocity", "g", o->slip_velocity);
  OPTION_RANGE(o->epsilon > 0 && o->epsilon <= 100, "epsilon", "g", o->epsilon);
  return ABUT_OK;
}
