/* glb.h: pieces of a binary glTF 2.0 file (GLB): numbers, meshes, and the JSON that describes them. */
#ifndef ABUT_CLI_GLB_H
#define ABUT_CLI_GLB_H
#include "json.h"
#include "shape_mesh.h"
#include <stddef.h>

enum { GLB_FLOAT = 5126, GLB_UINT32 = 5125 };

typedef struct glb_accessor {
  size_t offset, bytes; /* in the binary chunk */
  int64_t count;
  int component, width; /* width: numbers per element */
  double min[3], max[3];
  int bounded;
} glb_accessor;

typedef struct glb {
  FILE *stream; /* into bin */
  char *bin;
  size_t bin_size, written;
  glb_accessor *accessors;
  int naccessor;
} glb;

typedef struct glb_primitive {
  int material, positions, normals, indices; /* the last three: accessors */
} glb_primitive;

/* With room for so many accessors. Close it on failure too. */
int glb_open(glb *out, size_t accessors);
void glb_close(glb *in);
/* Appends elements of 4-byte numbers; bounded: with the smallest and largest of each component. Returns the
 * accessor. */
int glb_append(glb *out, const void *data, int64_t count, int component, int width, int bounded);
/* Three accessors. */
glb_primitive glb_append_mesh(glb *out, const shape_mesh *mesh, int material);

/* Elements of "nodes": node 0, the root that turns z up into y up, of nodes 1 to `children`; and one of
 * these, mesh -1: none. */
void glb_emit_root(json_writer *json, int children);
void glb_emit_node(json_writer *json, const char *name, const double place[3], const double quaternion[4],
                   int mesh);
/* An element of a mesh's "primitives". */
void glb_emit_primitive(json_writer *json, const glb_primitive *at);
/* An element of "materials": red, green, blue, and an opacity, below 1 blended. */
void glb_emit_material(json_writer *json, const double color[4]);

/* Emits "nodes", "meshes", "materials" and what else there is. */
typedef void (*glb_describe)(json_writer *json, const void *user);
/* Writes to a file of this name; messages name `shown`. Nothing can be appended afterwards. */
int glb_write(glb *in, const char *path, const char *shown, glb_describe describe, const void *user);

#endif
