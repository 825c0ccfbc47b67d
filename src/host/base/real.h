/* real.h: numbers on their way into a real type of 4 or 8 bytes. */
#ifndef ABUT_REAL_H
#define ABUT_REAL_H
#include <float.h>
#include <math.h>

/* Whether x is a finite number of that type. */
static inline int real_holds(int bytes, double x) {
  return isfinite(x) && (bytes == 8 || fabs(x) <= (double)FLT_MAX);
}
/* After a number that it does not hold, in messages. */
static inline const char *real_misfit(double x) {
  return isfinite(x) ? "beyond single precision" : "not finite";
}

#endif
