/* fuzz_mesh.c: any bytes as an .obj and as an .stl file. */
#include "fuzz.h"
#include "host/shape/mesh_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_as(const char *path, const uint8_t *data, size_t size) {
  triangle_mesh mesh = {0};
  char *bytes = malloc(size + 1);
  if (!bytes) return;
  memcpy(bytes, data, size);
  bytes[size] = 0;
  if (triangle_mesh_parse(path, bytes, size, &mesh) == ABUT_OK) {
    for (int64_t i = 0; i < 3 * mesh.npoint; i++)
      if (!isfinite(mesh.points[i])) abort();
    for (int64_t i = 0; i < 3 * mesh.nface; i++)
      if (mesh.faces[i] < 0 || mesh.faces[i] >= mesh.npoint) abort();
  }
  triangle_mesh_free(&mesh);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  read_as("fuzz.obj", data, size);
  read_as("fuzz.stl", data, size);
  return 0;
}
