/* mesh_repair.h: triangles that decimation left folded, or touching in a vertex. */
#ifndef ABUT_SURFACE_REPAIR_H
#define ABUT_SURFACE_REPAIR_H
#include "abut/abut.h"

/* Two triangles with the same corners, turned against each other, are a fold without thickness: both go. */
abut_status faces_drop_folds(int32_t *faces, int32_t *nface);
/* Where an edge has more than two triangles, as many each way, all pairs but one get a vertex of their own on
 * it. Both counts grow, up to their `most`; ends[i]: the edge that new vertex i is on (room for most_points).
 */
abut_status faces_split_doubled(int32_t *faces, int32_t most_faces, int32_t *nface, int32_t most_points,
                                int32_t *npoint, int32_t (*ends)[2]);
/* Of closed triangles: where sheets touch in one vertex, each but the first gets a vertex of its own. *npoint
 * grows up to `most`; original[i]: the vertex that new vertex i is a copy of (room for most). What would need
 * more stays as it is. */
abut_status faces_part_sheets(int32_t *faces, int32_t nface, int32_t most, int32_t *npoint,
                              int32_t *original);

#endif
