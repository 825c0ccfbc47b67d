/* import_volume.c: masses that MuJoCo takes from the volume of a mesh need a mesh that encloses one.
 *
 * MuJoCo's own formula (inertia="legacy") gives any triangles a mass; for an open mesh it depends on where
 * its centre happens to lie. What a file says about masses is known before MuJoCo compiles it, what its
 * meshes are only afterwards: geoms are marked before and looked at after. */
#include "host/import/import.h"
#include "host/base/status.h"
#ifdef ABUT_HAVE_MUJOCO
#include "host/shape/mesh_file.h"
#include "host/shape/hull.h"
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "abut: mass from volume";

/* Whether the geom adds to the mass of its body. */
static int has_mass(const mjsGeom *geom, const mjsCompiler *compiler) {
  const int *groups = compiler->inertiagrouprange;
  return geom->type == mjGEOM_MESH && geom->mass != 0 && geom->density != 0 && geom->group >= groups[0] &&
         geom->group <= groups[1];
}

void import_mark_volumes(struct mjSpec_ *spec) {
  const mjsCompiler *compiler = &spec->compiler;
  mjsBody *world = mjs_findBody(spec, "world");
  if (compiler->inertiafromgeom == mjINERTIAFROMGEOM_FALSE) return;
  for (mjsElement *at = mjs_firstChild(world, mjOBJ_GEOM, 1); at; at = mjs_nextChild(world, at, 1)) {
    int given = mjs_getParent(at)->explicitinertial && compiler->inertiafromgeom != mjINERTIAFROMGEOM_TRUE;
    if (!given && has_mass(mjs_asGeom(at), compiler)) mjs_setUserValue(at, mark, mark);
  }
}

/* A marked geom of this mesh on a body that moves; -1: none. */
static int find_geom(mjSpec *spec, const mjModel *mj, int mesh) {
  for (mjsElement *at = mjs_firstElement(spec, mjOBJ_GEOM); at; at = mjs_nextElement(spec, at)) {
    int geom = mjs_getId(at);
    if (mj->geom_type[geom] == mjGEOM_MESH && mj->geom_dataid[geom] == mesh &&
        mj->body_weldid[mj->geom_bodyid[geom]] != 0 && mjs_getUserValue(at, mark))
      return geom;
  }
  return -1;
}

/* Triangles without those that two equal corners leave nothing of. */
static void drop_empty(triangle_mesh *mesh) {
  int64_t n = 0;
  for (int64_t i = 0; i < mesh->nface; i++) {
    int32_t *f = mesh->faces + 3 * i;
    if (f[0] != f[1] && f[1] != f[2] && f[2] != f[0]) memmove(mesh->faces + 3 * n++, f, 3 * sizeof *f);
  }
  mesh->nface = n;
}

/* ABUT_ERROR_MODEL: the mesh is not closed. */
static abut_status check_mesh(const mjModel *mj, int id) {
  const float *vertices = mj->mesh_vert + 3 * mj->mesh_vertadr[id];
  triangle_mesh mesh = {.npoint = mj->mesh_vertnum[id], .nface = mj->mesh_facenum[id]};
  mesh.points = malloc((size_t)(3 * mesh.npoint + 1) * sizeof *mesh.points);
  mesh.faces = malloc((size_t)(3 * mesh.nface + 1) * sizeof *mesh.faces);
  abut_status status = ABUT_OK;
  if (!mesh.points || !mesh.faces) {
    status = fail_with(ABUT_ERROR_MEMORY, "a mesh of %lld triangles: out of memory", (long long)mesh.nface);
  } else {
    for (int64_t i = 0; i < 3 * mesh.npoint; i++) mesh.points[i] = vertices[i];
    for (int64_t i = 0; i < 3 * mesh.nface; i++) mesh.faces[i] = mj->mesh_face[3 * mj->mesh_faceadr[id] + i];
    status = triangle_mesh_join(&mesh);
    drop_empty(&mesh);
    if (status == ABUT_OK) status = mesh_check_closed(mesh.faces, mesh.nface);
  }
  triangle_mesh_free(&mesh);
  return status;
}

abut_status import_check_volumes(struct mjSpec_ *spec, const struct mjModel_ *mj, finding_list *findings) {
  for (mjsElement *at = mjs_firstElement(spec, mjOBJ_MESH); at; at = mjs_nextElement(spec, at)) {
    mjtMeshInertia kind = mjs_asMesh(at)->inertia;
    int mesh = mjs_getId(at), geom = find_geom(spec, mj, mesh);
    if (geom < 0 || kind == mjMESH_INERTIA_CONVEX || kind == mjMESH_INERTIA_SHELL) continue;
    abut_status status = check_mesh(mj, mesh);
    if (status == ABUT_ERROR_MEMORY) return status;
    if (status != ABUT_OK)
      findings_add(findings, FINDING_NOTE,
                   "mesh %s is not closed, but body %s takes its mass from it: it is MuJoCo's; <inertial> or "
                   "inertia=\"convex\" would make it certain",
                   import_label(mj, mjOBJ_MESH, mesh).text,
                   import_label(mj, mjOBJ_BODY, mj->geom_bodyid[geom]).text);
  }
  return ABUT_OK;
}

#endif
