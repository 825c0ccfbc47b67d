/* advice.h: the resting gap of a contact, and what to choose to keep it small. */
#ifndef ABUT_CLI_ADVICE_H
#define ABUT_CLI_ADVICE_H
#include "abut/abut.h"

enum { FACE_POINTS = 4 }; /* points that share the load of a face contact */

/* Minus P' of a barrier at margin x (both in units of the length scale). */
double barrier_slope(int contact, double reach, double x);
/* Gap (m) of two shapes pressed together by load (N) on this many points a side. */
double resting_gap(int contact, double reach, double stiffness, double length, double load, int points);
/* The stiffness (J) at which that gap is the one given; infinite where the barrier's reach ends before it. */
double resting_stiffness(int contact, double reach, double length, double load, int points, double gap);
/* The reach of the local barrier at which no two shapes push each other further apart than gap (m). */
double reach_of_gap(double length, double gap);
/* Total weight of everything that moves (N). */
double moving_weight(const abut_model *model);

#endif
