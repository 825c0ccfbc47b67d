/* mesh_file.h: triangle meshes from OBJ and STL files. */
#ifndef ABUT_IMPORT_MESH_H
#define ABUT_IMPORT_MESH_H
#include "abut/abut.h"

typedef struct triangle_mesh {
  double *points; /* npoint x 3, in the file's unit */
  int64_t npoint;
  int32_t *faces; /* nface x 3, as the file has them, open or not */
  int64_t nface;
} triangle_mesh;

/* Reads .obj (vertices and faces of every group; polygons become fans; a file of vertices alone is fine) or
 * .stl (text or binary). Equal points become one. Errors name the file and the line or the triangle. */
abut_status triangle_mesh_load(const char *path, triangle_mesh *mesh);
/* The same of bytes in memory, which are spent, with one NUL byte after them; path: its extension says what
 * they are, messages name it. */
abut_status triangle_mesh_parse(const char *path, char *bytes, size_t size, triangle_mesh *mesh);
void triangle_mesh_free(triangle_mesh *mesh);
/* Makes points that are equal one: files repeat a corner for every triangle, or for every normal it has. */
abut_status triangle_mesh_join(triangle_mesh *mesh);

#endif
