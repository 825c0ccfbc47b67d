/* fit_form.h: primitives as parameters that least squares can move freely. */
#ifndef ABUT_FIT_FORM_H
#define ABUT_FIT_FORM_H
#include "host/fit/fit.h"

enum { ABUT_FIT_PARAMETERS = 3 * ABUT_FIT_PLANES };

/* Parameters are changes of a start, which the functions get too. */
typedef struct abut_fit_form {
  int (*count)(const abut_fit_primitive *start);
  void (*encode)(const abut_fit_primitive *start, double *x);
  void (*decode)(const abut_fit_primitive *start, const double *x, abut_fit_primitive *moved);
  /* phi at a point, and its slopes by the parameters x, from which `moved` and `posed` were made. */
  double (*slopes)(const abut_fit_primitive *start, const double *x, const abut_fit_primitive *moved,
                   const abut_posed *posed, const double point[3], double *slopes);
} abut_fit_form;

extern const abut_fit_form abut_fit_superquadric, abut_fit_polyhedron;

/* fit_polyhedron.c: a polyhedron of 14 planes about a superquadric: the faces and corners of its box, each as
 * far out as the superquadric reaches. */
abut_fit_primitive abut_fit_planes_around(const abut_primitive *superquadric);

#endif
