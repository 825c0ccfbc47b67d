/* option.h: how an option out of range is refused. */
#ifndef ABUT_OPTION_H
#define ABUT_OPTION_H
#include "host/base/status.h"

/* By name and value. */
#define OPTION_RANGE(ok, name, format, value)                                                                \
  if (!(ok)) return fail_with(ABUT_ERROR_ARGUMENT, "option %s: %" format " is out of range", name, value)
/* Of one that has words (abut_option_word). */
#define OPTION_CHOICE(name, value) OPTION_RANGE(abut_option_word(name, value), name, "d", value)

#endif
