/* mesh_clean.h: a triangle mesh made ready for fitting: cleaned, moved to the origin, its diagonal one. */
#ifndef ABUT_FIT_MESH_H
#define ABUT_FIT_MESH_H
#include "host/shape/mesh_file.h"
#include "abut/surface.h"

typedef struct abut_fit_mesh {
  abut_mesh mesh;             /* triangles with area; lengths in diagonals */
  double middle[3], diagonal; /* x = middle + diagonal * point */
  double low[3], high[3];     /* bounding box, in diagonals */
} abut_fit_mesh;

/* Joins equal points, drops triangles without area and repeated ones, counts edges into report. Refuses
 * indices out of range, coordinates that are not finite, and meshes of which nothing is left. */
abut_status abut_fit_mesh_make(const abut_triangles *triangles, abut_fit_mesh *out, abut_fit_report *report);
void abut_fit_mesh_free(abut_fit_mesh *mesh);

/* The state of a counter that makes numbers: the same seed and stream, the same numbers. */
typedef struct abut_draw {
  uint64_t key, count;
} abut_draw;
abut_draw abut_draw_start(uint64_t seed, uint64_t stream);
/* Uniform in [0, 1). */
double abut_draw_next(abut_draw *draw);
/* count points spread evenly over the area of triangles (count x 3). */
abut_status abut_fit_sample(const double *points, const int32_t *faces, int64_t nface, abut_draw draw,
                            int64_t count, double *samples);

#endif
