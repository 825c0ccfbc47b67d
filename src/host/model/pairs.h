/* pairs.h: which geoms of a scene may touch. */
#ifndef ABUT_PAIRS_H
#define ABUT_PAIRS_H
#include "host/model/builder.h"
#include "host/model/model.h"

/* Fills the pair arrays of a model whose geoms, bodies and weld groups are known, by MuJoCo's filters: masks,
 * rigid groups, parents and children; excludes; explicit pairs, which no filter stops. explicit_pairs name
 * compiled geoms; their parameters are in the model. */
abut_status pairs_build(abut_model *model, const abut_pair_def *explicit_pairs, int32_t npair,
                        const exclude_def *excludes, int32_t nexclude);
/* Order of pairs (a1, a2) and (b1, b2): half-spaces first, then by point counts, then ids. < 0, 0, > 0. */
int pairs_compare(const abut_model *model, int32_t a1, int32_t a2, int32_t b1, int32_t b2);
/* Why geoms can never touch, as in "geoms 1 and 2 are both planes"; NULL if they can. weldid: of every body.
 */
const char *pairs_obstacle(const abut_model *model, const int32_t *weldid, int32_t geom1, int32_t geom2);
/* Whether geom1 must come first of the two: a half-space second, else fewer points first, else the smaller
 * id. */
int pairs_ordered(const abut_model *model, int32_t geom1, int32_t geom2);

#endif
