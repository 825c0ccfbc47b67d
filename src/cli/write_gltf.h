/* write_gltf.h: one environment's motion as a binary glTF 2.0 file (GLB). */
#ifndef ABUT_CLI_WRITE_GLTF_H
#define ABUT_CLI_WRITE_GLTF_H
#include "abut/abut.h"
#include <stdio.h>

/* Frames of every body, f32: xpos [nframe, nbody, 3] (m), xquat [nframe, nbody, 4] (w first), dt apart (s).
 */
typedef struct gltf_motion {
  int64_t nframe;
  int32_t nbody;
  double dt;
  float *xpos, *xquat;
} gltf_motion;

/* Writes to a file of this name; messages name `shown`. contact: as in shape_mesh.h. */
int gltf_write(const char *path, const char *shown, const abut_model *model, int contact,
               const gltf_motion *motion);

#endif
