/* option.c: the words for options that are choices. */
#include "host/base/option.h"
#include <string.h>

enum { MOST = 4 };
static const struct {
  const char *option, *words[MOST];
} table[] = {
    {"method", {[ABUT_METHOD_IMPLICIT] = "implicit"}},
    {"device", {[ABUT_DEVICE_AUTO] = "auto", [ABUT_DEVICE_CPU] = "cpu", [ABUT_DEVICE_CUDA] = "cuda"}},
    {"dtype", {[ABUT_F64] = "f64", [ABUT_F32] = "f32"}},
    {"contact",
     {[ABUT_CONTACT_LOCAL] = "local",
      [ABUT_CONTACT_INVERSE] = "inverse",
      [ABUT_CONTACT_LONGRANGE] = "longrange"}},
    {"overlap",
     {[ABUT_OVERLAP_EXCLUDE] = "exclude",
      [ABUT_OVERLAP_REFUSE] = "refuse",
      [ABUT_OVERLAP_SEPARATE] = "separate"}},
    {"form", {[ABUT_FORM_WEIGHTED] = "weighted", [ABUT_FORM_PAPER] = "paper"}},
    {"weights", {[ABUT_WEIGHTS_UNIT] = "unit", [ABUT_WEIGHTS_NORMALISED] = "normalised"}},
    {"friction_form", {[ABUT_FRICTION_PLANE] = "plane", [ABUT_FRICTION_VERTEX] = "vertex"}},
    {"solver", {[ABUT_SOLVER_JOINT] = "joint", [ABUT_SOLVER_NESTED] = "nested"}},
};

const char *abut_option_word(const char *option, int32_t value) {
  if (!option || value < 0 || value >= MOST) return NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].option, option)) return table[i].words[value];
  return NULL;
}
