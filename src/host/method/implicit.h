/* implicit.h: the implicit step's options (docs/step.md). */
#ifndef ABUT_METHOD_IMPLICIT_H
#define ABUT_METHOD_IMPLICIT_H
#include "abut/abut.h"

void implicit_defaults(abut_options *options);
/* Checks options.implicit and resolves its defaults. */
abut_status implicit_resolve(const abut_model *model, abut_options *options);

#endif
