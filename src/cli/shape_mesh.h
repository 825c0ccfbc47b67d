/* shape_mesh.h: geoms and contacts as triangles to look at. */
#ifndef ABUT_CLI_SHAPE_MESH_H
#define ABUT_CLI_SHAPE_MESH_H
#include "abut/abut.h"

typedef struct shape_mesh {
  float *positions, *normals; /* npoint x 3, body frame (m) */
  uint32_t *indices;          /* nindex, three a triangle, outward */
  int64_t npoint, nindex;
} shape_mesh;

/* contact: what of the geom collides is drawn: its triangles under long-range contact, else its hull. */
int shape_mesh_create(const abut_model *model, int32_t geom, int contact, shape_mesh *out);
/* Triangles, by three indices of points each; they shade flat. */
int shape_mesh_triangles(const double *points, const int32_t *triangles, int64_t count, shape_mesh *out);
/* A ball of this radius at every point (count x 3), and a cone from its centre to the end of the arrow (count
 * x 3). */
int shape_mesh_pins(const double *points, const double *arrows, int64_t count, double radius,
                    shape_mesh *out);
void shape_mesh_destroy(shape_mesh *out);

#endif
