/* model_check.h: what the files share that check a compiled scene (model_validate.c). */
#ifndef ABUT_MODEL_CHECK_H
#define ABUT_MODEL_CHECK_H
#include "host/base/status.h"
#include "host/model/model.h"

/* Fails with the object's name in front. */
__attribute__((format(printf, 4, 5))) abut_status bad(const abut_model *m, char kind, int32_t id,
                                                      const char *format, ...);
int is_unit(const double *v, int n);

/* model_check_elements.c: sites, tendons, equalities, actuators, sensors, explicit pairs, keys. */
abut_status model_check_elements(const abut_model *m);
/* solref: (time constant, damping ratio) or (-stiffness, -damping). */
abut_status check_solref(const abut_model *m, char kind, int32_t id, const char *what, const double *solref);
abut_status check_condim(const abut_model *m, char kind, int32_t id, int32_t condim);

#endif
