/* shape_mesh.h: a geom as triangles to look at. */
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
void shape_mesh_destroy(shape_mesh *out);

#endif
