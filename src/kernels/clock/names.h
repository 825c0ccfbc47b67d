/* names.h: a method's names for its sets of lanes, stages and fields: those of clock.def and of METHOD_DEF,
 * the method's own .def. No lane types, so that host code reads it too; one method in a translation unit. */
#ifndef ABUT_NAMES_H
#define ABUT_NAMES_H
#include "kernels/clock/group.h"
#include <assert.h>

enum {
#define LANE_SET(name) SET_##name,
#include "kernels/clock/clock.def"
#define LANE_SET(name) SET_##name,
#include METHOD_DEF
  SET_NUM
};
enum {
#define DECIDE(name) STAGE_##name,
#include "kernels/clock/clock.def"
#define STAGE(name) STAGE_##name,
#define DECIDE(name) STAGE_##name,
#include METHOD_DEF
  STAGE_NUM
};
enum {
#define WORK(name, count) WORK_##name,
#include "kernels/clock/clock.def"
#define WORK(name, count) WORK_##name,
#include METHOD_DEF
  WORK_NUM
};
enum {
#define SLOT(name, count) SLOT_##name,
#include "kernels/clock/clock.def"
#define SLOT(name, count) SLOT_##name,
#include METHOD_DEF
  SLOT_NUM
};
/* Numbers of a contact that outlive the step. */
enum {
  KEPT = 0
#define KEEP(name, count) +(count)
#include METHOD_DEF
};
static_assert((int)SET_NUM <= MAX_SETS && (int)WORK_NUM <= MAX_WORK && (int)SLOT_NUM <= MAX_SLOT,
              "room in clock/params.h");

#endif
