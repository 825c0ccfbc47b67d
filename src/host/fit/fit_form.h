/* fit_form.h: primitives as parameters that least squares can move freely. */
#ifndef ABUT_FIT_FORM_H
#define ABUT_FIT_FORM_H
#include "host/fit/fit.h"

enum { FIT_PARAMETERS = 3 * FIT_PLANES };

/* Parameters are changes of a start, which the functions get too. */
typedef struct fit_form {
  int (*count)(const fit_primitive *start);
  void (*encode)(const fit_primitive *start, double *x);
  void (*decode)(const fit_primitive *start, const double *x, fit_primitive *moved);
  /* phi at a point, and its slopes by the parameters x, from which `moved` and `posed` were made. */
  double (*slopes)(const fit_primitive *start, const double *x, const fit_primitive *moved,
                   const posed_primitive *posed, const double point[3], double *slopes);
} fit_form;

extern const fit_form fit_superquadric, fit_polyhedron;

/* fit_polyhedron.c: a polyhedron of 14 planes about a superquadric: the faces and corners of its box, each as
 * far out as the superquadric reaches. */
fit_primitive fit_planes_around(const abut_primitive *superquadric);

#endif
