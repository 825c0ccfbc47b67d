/* import_geom.c: one mesh of an MJCF or URDF file as triangles, whatever else the file has. */
#include "host/base/geometry.h"
#include "host/import/import.h"
#include "host/shape/mesh_file.h"
#include "host/base/status.h"
#include <stdlib.h>
#ifdef ABUT_HAVE_MUJOCO
#include <mujoco/mujoco.h>

static int has_name(const mjModel *mj, int type, int id, const char *name) {
  const char *own = id >= 0 ? mj_id2name(mj, type, id) : NULL;
  return own && !strcmp(own, name);
}

/* The mesh geom of this name, or the first that shows the mesh of this name; without a name the first, if all
 * show one mesh. */
static abut_status find_geom(const char *path, const mjModel *mj, const char *name, int *geom) {
  int mesh = -1, named = -1;
  *geom = -1;
  for (int g = mj->ngeom - 1; g >= 0; g--) {
    int shown = mj->geom_dataid[g];
    if (mj->geom_type[g] != mjGEOM_MESH || shown < 0) continue;
    if (!name && *geom >= 0 && shown != mesh)
      return fail_with(ABUT_ERROR_ARGUMENT, "'%s' has %d meshes: name one, or its geom", path,
                       (int)mj->nmesh);
    if (name && has_name(mj, mjOBJ_GEOM, g, name)) named = g;
    if (!name || has_name(mj, mjOBJ_MESH, shown, name)) *geom = g, mesh = shown;
  }
  if (named >= 0) *geom = named;
  if (*geom >= 0) return ABUT_OK;
  if (!name) return fail_with(ABUT_ERROR_ARGUMENT, "'%s' has no geom that shows a mesh", path);
  return fail_with(ABUT_ERROR_ARGUMENT, "'%s' has no geom '%s' that shows a mesh, and shows no mesh '%s'",
                   path, name, name);
}

static abut_status take_mesh(const mjModel *mj, int geom, triangle_mesh *mesh) {
  int id = mj->geom_dataid[geom], points = mj->mesh_vertnum[id], faces = mj->mesh_facenum[id];
  mesh->points = malloc(3 * (size_t)points * sizeof *mesh->points + 1);
  mesh->faces = malloc(3 * (size_t)faces * sizeof *mesh->faces + 1);
  if (!mesh->points || !mesh->faces) {
    triangle_mesh_free(mesh);
    return fail_with(ABUT_ERROR_MEMORY, "mesh %d: no memory for its %d points", id, points);
  }
  for (int i = 0; i < points; i++) {
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = mj->mesh_vert[3 * (mj->mesh_vertadr[id] + i) + k];
    transform_point(mesh->points + 3 * i, mj->geom_pos + 3 * geom, mj->geom_quat + 4 * geom, x);
  }
  if (faces)
    memcpy(mesh->faces, mj->mesh_face + 3 * mj->mesh_faceadr[id], 3 * (size_t)faces * sizeof *mesh->faces);
  mesh->npoint = points, mesh->nface = faces;
  return ABUT_OK;
}

abut_status import_geom(const char *path, const char *name, triangle_mesh *mesh) {
  finding_list findings = {0};
  mjModel *mj = NULL;
  int geom;
  memset(mesh, 0, sizeof *mesh);
  abut_status status = import_compile(path, &findings, &mj);
  if (status == ABUT_OK) status = find_geom(path, mj, name, &geom);
  if (status == ABUT_OK) status = take_mesh(mj, geom, mesh);
  findings_free(&findings);
  mj_deleteModel(mj);
  return status;
}
#else
abut_status import_geom(const char *path, const char *name, triangle_mesh *mesh) {
  (void)name;
  memset(mesh, 0, sizeof *mesh);
  return fail_with(ABUT_ERROR_UNSUPPORTED, "built without MuJoCo: '%s' needs it (mesh files do not)", path);
}
#endif
