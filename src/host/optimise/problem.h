/* problem.h: whether an optimisation makes sense for a batch. */
#ifndef ABUT_PROBLEM_H
#define ABUT_PROBLEM_H
#include "abut/optimise.h"

/* Names the field and its value. */
abut_status problem_check(const abut_problem *p, const abut_batch *b);

#endif
