/* load.c: opens scenes and meshes by their file's kind. */
#include "abut/file.h"
#include "abut/surface.h"
#include "host/base/status.h"
#include "host/import/import.h"
#include "host/model/model_file.h"
#include "host/shape/mesh_file.h"
#include <stdlib.h>
#include <string.h>

/* MJCF or URDF. */
static int is_description(const char *path) {
  return abut_file_has_extension(path, ".xml") || abut_file_has_extension(path, ".urdf");
}

/* ---------------------------------------------------------------------------------------- scenes */

static abut_status load_description(const char *path, const abut_load_options *options, abut_model **model) {
#ifdef ABUT_HAVE_MUJOCO
  return import_mujoco(path, options, model);
#else
  (void)options, (void)model;
  return fail_with(ABUT_ERROR_UNSUPPORTED, "built without MuJoCo: '%s' needs it (.abut files do not)", path);
#endif
}

abut_status abut_model_load(const char *path, const abut_load_options *options, abut_model **model) {
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(model, "model");
  *model = NULL;
  if (abut_file_has_extension(path, ".abut")) return model_file_load(path, model);
  if (!is_description(path))
    return fail_with(ABUT_ERROR_FILE, "'%s': a scene is an .xml (MJCF), .urdf or .abut file", path);
  abut_load_options defaults = {0};
  return load_description(path, options ? options : &defaults, model);
}

/* ---------------------------------------------------------------------------------------- meshes */

/* The geom of this name in a compiled scene, or the only mesh. */
static abut_status find_geom(const char *path, const abut_model *m, const char *name, int32_t *geom) {
  const int32_t ngeom = abut_model_get_sizes(m).ngeom;
  int32_t meshes = 0;
  abut_geom_def def;
  *geom = -1;
  for (int32_t g = 0; g < ngeom; g++) {
    ATTEMPT(abut_model_geom(m, g, &def));
    if (name && !strcmp(def.name, name)) *geom = g;
    if (def.type != ABUT_GEOM_MESH) continue;
    meshes++;
    if (!name) *geom = g;
  }
  if (name && *geom < 0) return fail_with(ABUT_ERROR_ARGUMENT, "'%s' has no geom '%s'", path, name);
  if (!name && meshes != 1)
    return fail_with(ABUT_ERROR_ARGUMENT, "'%s' has %d mesh%s and %d geom%s: name one", path, meshes,
                     meshes == 1 ? "" : "es", ngeom, PLURAL(ngeom));
  ATTEMPT(abut_model_geom(m, *geom, &def));
  if (def.type == ABUT_GEOM_PLANE || def.type == ABUT_GEOM_HFIELD)
    return fail_with(ABUT_ERROR_ARGUMENT, "'%s': geom '%s' is a %s, which has no triangles", path, name,
                     def.type == ABUT_GEOM_PLANE ? "plane" : "height field");
  return ABUT_OK;
}

/* Triangles of a compiled geom, whose neighbours share no points there. */
static abut_status take_triangles(const abut_model *m, int32_t geom, triangle_mesh *mesh) {
  const double *corners;
  int64_t count;
  ATTEMPT(abut_model_triangles(m, geom, &corners, &count));
  mesh->points = malloc(9 * (size_t)count * sizeof *mesh->points + 1);
  mesh->faces = malloc(3 * (size_t)count * sizeof *mesh->faces + 1);
  if (!mesh->points || !mesh->faces)
    return fail_with(ABUT_ERROR_MEMORY, "no memory for %lld triangles", (long long)count);
  memcpy(mesh->points, corners, 9 * (size_t)count * sizeof *corners);
  for (int64_t i = 0; i < 3 * count; i++) mesh->faces[i] = (int32_t)i;
  mesh->npoint = 3 * count, mesh->nface = count;
  return triangle_mesh_join(mesh);
}

static abut_status load_compiled(const char *path, const char *name, triangle_mesh *mesh) {
  abut_model *model = NULL;
  int32_t geom;
  abut_status status = model_file_load(path, &model);
  if (status == ABUT_OK) status = find_geom(path, model, name, &geom);
  if (status == ABUT_OK) status = take_triangles(model, geom, mesh);
  abut_model_destroy(model);
  return status;
}

static abut_status load_mesh(const char *path, const char *geom, triangle_mesh *mesh) {
  if (is_description(path)) {
    ATTEMPT(import_geom(path, geom, mesh));
    return triangle_mesh_join(mesh);
  }
  if (abut_file_has_extension(path, ".abut")) return load_compiled(path, geom, mesh);
  if (geom) return fail_with(ABUT_ERROR_ARGUMENT, "'%s' is not a scene, it has no geom '%s'", path, geom);
  return triangle_mesh_load(path, mesh);
}

abut_status abut_triangles_load(const char *path, const char *geom, abut_triangles **mesh) {
  triangle_mesh read = {0};
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(mesh, "mesh");
  *mesh = NULL;
  abut_status status = load_mesh(path, geom, &read);
  abut_triangles *out = status == ABUT_OK ? malloc(sizeof *out) : NULL;
  if (status == ABUT_OK && !out) status = fail_with(ABUT_ERROR_MEMORY, "'%s': no memory for it", path);
  if (status != ABUT_OK) {
    triangle_mesh_free(&read);
    return status;
  }
  *out = (abut_triangles){
      .vertices = read.points, .nvertex = read.npoint, .triangles = read.faces, .ntriangle = read.nface};
  *mesh = out;
  return ABUT_OK;
}

void abut_triangles_destroy(abut_triangles *mesh) {
  if (!mesh) return;
  free((double *)mesh->vertices);
  free((int32_t *)mesh->triangles);
  free(mesh);
}
