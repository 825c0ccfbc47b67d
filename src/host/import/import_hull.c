/* import_hull.c: meshes without a hull are found before MuJoCo's hull code meets them, which writes about
 * them to the process's standard error.
 *
 * Which vertices a mesh has is known once the file is compiled; MuJoCo makes hulls only of meshes that
 * collide, or whose volume or faces come from one. So the file is compiled once with all that switched off,
 * and the meshes that collide are looked at. What is left is a flat mesh that collides by a <pair> alone, or
 * never but with inertia="convex": MuJoCo writes about that. */
#include "host/import/import.h"
#include "host/base/status.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/shape/hull.h"
#include <mujoco/mujoco.h>
#include <stdlib.h>

abut_status import_has_hull(const double *points, int64_t count, int *has) {
  double *hull_points = NULL;
  int32_t *faces = NULL, npoint = 0, nface = 0;
  abut_status status = hull_build(points, count, &hull_points, &npoint, &faces, &nface);
  free(hull_points);
  free(faces);
  *has = status == ABUT_OK;
  return status == ABUT_ERROR_MEMORY ? status : ABUT_OK;
}

#ifdef ABUT_HAVE_QHULL /* with hulls of our own */

static const char mark[] = "abut: collides";

/* Switches colliding of meshes off, with a mark. Returns how many did. */
static int switch_off(mjSpec *spec) {
  int count = 0;
  mjsBody *world = mjs_findBody(spec, "world");
  spec->compiler.discardvisual = 0; /* that is what they are now */
  for (mjsElement *at = mjs_firstChild(world, mjOBJ_GEOM, 1); at; at = mjs_nextChild(world, at, 1)) {
    mjsGeom *geom = mjs_asGeom(at);
    if (geom->type != mjGEOM_MESH || !(geom->contype || geom->conaffinity)) continue;
    geom->contype = geom->conaffinity = 0;
    mjs_setUserValue(at, mark, mark);
    count++;
  }
  /* nor is a volume asked for, or faces where the file lists vertices alone: those would be the hull's */
  for (mjsElement *at = mjs_firstElement(spec, mjOBJ_MESH); at; at = mjs_nextElement(spec, at)) {
    static const int corner[3] = {0, 1, 2};
    mjsMesh *mesh = mjs_asMesh(at);
    mesh->inertia = mjMESH_INERTIA_SHELL;
    if (!mjs_getString(mesh->file)[0]) mjs_setInt(mesh->userface, corner, 3);
  }
  return count;
}

static abut_status check_mesh(const char *path, const mjModel *mj, int mesh) {
  const float *vertices = mj->mesh_vert + 3 * mj->mesh_vertadr[mesh];
  int n = mj->mesh_vertnum[mesh];
  double *points = malloc(((size_t)n * 3 + 1) * sizeof *points);
  if (!points) return fail_with(ABUT_ERROR_MEMORY, "%s: no memory for %d points of a mesh", path, n);
  for (int i = 0; i < 3 * n; i++) points[i] = vertices[i];
  int has = 0;
  abut_status status = import_has_hull(points, n, &has);
  free(points);
  if (status != ABUT_OK || has) return status;
  return fail_with(ABUT_ERROR_FILE, "%s: mesh %s collides and has no volume (a mesh must not be flat)", path,
                   import_label(mj, mjOBJ_MESH, mesh).text);
}

static abut_status check_meshes(const char *path, mjSpec *spec, const mjModel *mj) {
  uint8_t *seen = calloc((size_t)mj->nmesh + 1, 1);
  if (!seen) return fail_with(ABUT_ERROR_MEMORY, "%s: no memory for %d meshes", path, (int)mj->nmesh);
  abut_status status = ABUT_OK;
  for (mjsElement *at = mjs_firstElement(spec, mjOBJ_GEOM); at && status == ABUT_OK;
       at = mjs_nextElement(spec, at)) {
    int mesh = mj->geom_dataid[mjs_getId(at)];
    if (mesh < 0 || seen[mesh] || !mjs_getUserValue(at, mark)) continue;
    seen[mesh] = 1;
    status = check_mesh(path, mj, mesh);
  }
  free(seen);
  return status;
}

abut_status import_check_hulls(const char *path, const struct mjVFS_ *vfs) {
  char why[64];
  mjSpec *spec = mj_parseXML(path, vfs, why, sizeof why);
  mjModel *mj = spec && switch_off(spec) ? mj_compile(spec, vfs) : NULL;
  abut_status status =
      mj ? check_meshes(path, spec, mj) : ABUT_OK; /* compiling it in earnest says what is wrong */
  mj_deleteModel(mj);
  if (spec) mj_deleteSpec(spec);
  return status;
}

#else
abut_status import_check_hulls(const char *path, const struct mjVFS_ *vfs) {
  (void)path, (void)vfs;
  return ABUT_OK;
}
#endif
#endif
