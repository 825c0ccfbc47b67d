/* options.h: options that every method has. */
#ifndef ABUT_OPTIONS_H
#define ABUT_OPTIONS_H
#include "abut/abut.h"

/* Checks options, the method's too, and resolves every default. */
abut_status options_resolve(const abut_model *model, abut_options *options);

#endif
