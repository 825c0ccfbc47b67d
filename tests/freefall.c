/* freefall.c: a method of the tests: its programs and its struct. */
#define METHOD_DEF "tests/freefall.def"
#include "kernels/clock/names.h"
#include "host/base/status.h"
#define METHOD freefall
#include "host/batch/method_tables.h"

static const phase_stage clear[] = {DO(clear)};
static const phase_stage start[] = {DO(fetch), DO(ready), DO(opening), DO(place), DO(open)};
static const phase_stage step[] = {DO(load), DO(fall), DO(fell), DO(finished)};
static const phase_stage back_start[] = {DO(back_fetch), DO(back_start), DO(start_vjp), DO(back_finished)};
static const phase_stage back_step[] = {DO(back_load),  DO(back_end),  DO(fall_vjp),     DO(back_store),
                                        DO(back_start), DO(start_vjp), DO(back_finished)};

static void defaults(abut_options *options) { (void)options; }
static abut_status resolve(const abut_model *model, abut_options *options) {
  (void)options;
  for (int32_t j = 0; j < model->njnt; j++)
    if (model->jnt_type[j] != ABUT_JOINT_SLIDE)
      return fail_with(ABUT_ERROR_UNSUPPORTED, "joint %d: freefall has slides only", j);
  return ABUT_OK;
}
static int32_t contacts(const abut_model *model, const abut_options *options) {
  (void)model, (void)options;
  return 0;
}
static int32_t room(const step_params *params) {
  (void)params;
  return 0;
}
static void place_own(placer *p, const step_params *k, int32_t lanes, size_t real, int32_t entries,
                      void *own) {
  (void)p, (void)k, (void)lanes, (void)real, (void)entries, (void)own;
}

extern const method freefall_method;
const method freefall_method = {
    .name = "freefall",
    .defaults = defaults,
    .resolve = resolve,
    .layout = method_fields,
    .contacts = contacts,
    .room = room,
    .place = place_own,
    .forward = {.clear = PHASE(clear, -1), .start = PHASE(start, -1), .turn = {PHASE(step, -1)}, .turns = 1},
    .reverse = {.clear = PHASE(clear, -1),
                .start = PHASE(back_start, -1),
                .turn = {PHASE(back_step, -1)},
                .turns = 1,
                .reverse = 1},
    METHOD_TABLES};
