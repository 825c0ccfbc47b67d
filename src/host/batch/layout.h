/* layout.h: what follows from a model and resolved options before anything is simulated: what stages are
 * told, and where everything lies. */
#ifndef ABUT_LAYOUT_H
#define ABUT_LAYOUT_H
#include "host/batch/batch.h"

/* The model as stages see it; fails, leaving nothing, where fields would be too large. */
abut_status params_create(const abut_model *model, const abut_options *options, step_params *params);
void params_destroy(step_params *params);

/* Places num fields of so many numbers one behind the other: of an environment, of one of its contacts.
 * Fails, with the bytes they would take, where offsets of int32 do not reach. */
abut_status layout_work(step_params *params, const int64_t *counts, int32_t num);
abut_status layout_slot(step_params *params, const int64_t *counts, int32_t num);

/* Places the arrays of `tile` lane groups whose fields interleave, and of what the method has of its own:
 * own[tile], method->own_size bytes each. Neither g->own nor own itself is placed. */
void group_place(placer *p, const abut_batch *batch, int32_t tile, lane_group *g, char *own);
/* Bytes that takes. */
int64_t group_bytes(const abut_batch *batch, int32_t tile);

/* A program without the stages of pairs that the model does not have. What a failure leaves can be destroyed.
 */
abut_status program_create(const program *from, const step_params *params, program *to);
void program_destroy(program *program);

#endif
