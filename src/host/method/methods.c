/* methods.c: the list of methods, of METHODS_DEF if that is given. */
#include "host/batch/method.h"

#ifndef METHODS_DEF
#define METHODS_DEF "host/method/methods.def"
#endif

#define METHOD(name) extern const method name##_method;
#include METHODS_DEF
#undef METHOD

const method *const methods[] = {
#define METHOD(name) &name##_method,
#include METHODS_DEF
#undef METHOD
};
const int32_t methods_num = (int32_t)(sizeof methods / sizeof *methods);
