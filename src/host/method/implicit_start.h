/* implicit_start.h: what the implicit step makes of the configurations that a scene starts from. */
#ifndef ABUT_IMPLICIT_START_H
#define ABUT_IMPLICIT_START_H
#include "host/base/text.h"
#include "kernels/clock/params.h"

/* Shapes that overlap at the reference configuration or a key cannot be kept apart from there. starts, rows x
 * nq: these configurations; what stands in the ground is lifted in them. Pairs that overlap within a
 * kinematic tree are marked in params. Each is a line of notes; option overlap says what to do instead. */
abut_status implicit_start(const abut_model *model, step_params *params, double *starts, int32_t rows,
                           text_lines *notes);

#endif
