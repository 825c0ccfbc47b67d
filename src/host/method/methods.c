/* methods.c: the list of methods. */
#include "host/batch/method.h"

#define METHOD(name) extern const method name##_method;
#include "host/method/methods.def"
#undef METHOD

const method *const methods[] = {
#define METHOD(name) &name##_method,
#include "host/method/methods.def"
#undef METHOD
};
const int32_t methods_num = (int32_t)(sizeof methods / sizeof *methods);
