/* status.h: the thread's error message, and the macro that passes a failure up. */
#ifndef ABUT_STATUS_H
#define ABUT_STATUS_H
#include "abut/abut.h"

/* Stores a message and returns status. */
abut_status fail_with(abut_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends a noun of messages after a number: "1 environment", "2 environments". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Refuses a null pointer; name: the argument's in abut.h. Only in the function that the caller called. */
#define REQUIRE_POINTER(pointer, name)                                                                       \
  do {                                                                                                       \
    if (!(pointer)) return fail_with(ABUT_ERROR_ARGUMENT, "%s: %s is NULL", __func__, name);                 \
  } while (0)

#define ATTEMPT(call)                                                                                        \
  do {                                                                                                       \
    abut_status try_status_ = (call);                                                                        \
    if (try_status_ != ABUT_OK) return try_status_;                                                          \
  } while (0)

#endif
