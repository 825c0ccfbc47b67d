/* implicit_pairs.h: the pairs of a scene as the implicit step's terms see them. */
#ifndef ABUT_IMPLICIT_PAIRS_H
#define ABUT_IMPLICIT_PAIRS_H
#include "kernels/method/implicit.h"

/* Fills pairs, [npair] zeros, and where each term's begin; options are resolved. */
void implicit_pairs(const abut_model *model, const abut_options *options, pair_info *pairs,
                    int32_t kind_pair[MAX_KINDS + 1]);

#endif
