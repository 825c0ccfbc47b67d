/* mesh_clean.h: a triangle mesh made ready for fitting: cleaned, moved to the origin, its diagonal one. */
#ifndef ABUT_FIT_MESH_H
#define ABUT_FIT_MESH_H
#include "host/shape/mesh_file.h"
#include "abut/surface.h"

typedef struct clean_mesh {
  triangle_mesh mesh;         /* triangles with area; lengths in diagonals */
  double middle[3], diagonal; /* x = middle + diagonal * point */
  double low[3], high[3];     /* bounding box, in diagonals */
} clean_mesh;

/* Joins equal points, drops triangles without area and repeated ones, counts edges into report. Refuses
 * indices out of range, coordinates that are not finite, and meshes of which nothing is left. */
abut_status clean_mesh_make(const abut_triangles *triangles, clean_mesh *out, abut_fit_report *report);
void clean_mesh_free(clean_mesh *mesh);

/* The state of a counter that makes numbers: the same seed and stream, the same numbers. */
typedef struct point_draw {
  uint64_t key, count;
} point_draw;
point_draw point_draw_start(uint64_t seed, uint64_t stream);
/* Uniform in [0, 1). */
double point_draw_next(point_draw *draw);
/* count points spread evenly over the area of triangles (count x 3). */
abut_status fit_sample(const double *points, const int32_t *faces, int64_t nface, point_draw draw,
                       int64_t count, double *samples);

#endif
