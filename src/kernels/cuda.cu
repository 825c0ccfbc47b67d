#define ABUT_LANES 1
#ifndef ABUT_REAL
#define ABUT_REAL 64
#endif
#include "lane.h"
#include "vector.h"
#include "table.h"
#include "plane.inl"
#include "closest.inl"
#include "rigid.inl"
#include "actuation.inl"
#include "friction.inl"
#include "contact.inl"
#include "contact_step.inl"
#include "newton.inl"
#include "step.inl"
#include "reverse.inl"
#include "query.inl"
extern "C" __global__ void k_all(const step_params *k, lane_group *g) { stage_evaluate(k, g, 0); stage_reverse(k,g); }
