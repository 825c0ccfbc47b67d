/* surface_model.c: a surface as a scene of one body. */
#include "abut/surface.h"
#include "host/shape/moment.h"
#include "host/shape/hull.h"
#include "host/base/status.h"
#include "host/surface/surface_distance.h"
#include "host/surface/surface_view.h"
#include <math.h>

/* Inertia about the centre is a difference of moments about the origin: so far away rounding has a millionth
 * of it. */
static const double farthest = 1e5; /* diagonals */

static abut_status add_parts(abut_builder *builder, const abut_surface *s, const char *name, double density) {
  double moment[MOMENT_SIZE];
  abut_body_def body = abut_default_body_def();
  abut_joint_def joint = abut_default_joint_def();
  abut_geom_def geom = abut_default_geom_def();
  ATTEMPT(mesh_moment(s->vertices, s->vertex_count, s->triangles, s->triangle_count, moment));
  for (int k = 0; k < MOMENT_SIZE; k++) moment[k] *= density;
  body.name = geom.name = name;
  body.mass = moment[0];
  moment_to_principal(moment, body.ipos, body.iquat, body.inertia);
  const double away = sqrt(pow(body.ipos[0], 2) + pow(body.ipos[1], 2) + pow(body.ipos[2], 2));
  if (!(away <= farthest * abut_surface_diagonal(s)))
    return fail_with(
        ABUT_ERROR_ARGUMENT,
        "body '%s' lies %g m from the origin of its mesh, more than %g times its size, %g m: its "
        "inertia would be rounding; move the mesh",
        name, away, farthest, abut_surface_diagonal(s));
  ATTEMPT(abut_builder_add_body(builder, &body, &joint.body));
  joint.type = ABUT_JOINT_FREE;
  ATTEMPT(abut_builder_add_joint(builder, &joint, NULL));
  geom.body = joint.body;
  geom.type = ABUT_GEOM_MESH;
  geom.points = geom.vertices = s->vertices;
  geom.npoint = geom.nvertex = s->vertex_count;
  geom.triangles = s->triangles;
  geom.ntriangle = s->triangle_count;
  geom.surface = s;
  return abut_builder_add_geom(builder, &geom, NULL);
}

abut_status abut_surface_build_model(const abut_surface *surface, const char *name, double density,
                                     abut_model **model) {
  abut_builder *builder = NULL;
  REQUIRE_POINTER(model, "model");
  *model = NULL;
  ATTEMPT(surface_check_plain(surface));
  if (!(density > 0 && isfinite(density)))
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: density is %g, must be positive", __func__, density);
  if (surface->triangle_count == 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "%s: the surface has no contact mesh", __func__);
  ATTEMPT(abut_builder_create(&builder));
  abut_status status = add_parts(builder, surface, name, density);
  if (status == ABUT_OK) status = abut_builder_finish(builder, model);
  abut_builder_destroy(builder);
  return status;
}
