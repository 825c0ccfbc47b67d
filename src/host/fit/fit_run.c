/* fit_run.c: fits a surface to a triangle mesh: options, the order of the parts, the result in the mesh's
 * unit.
 */
#include "host/fit/fit.h"
#include "host/base/geometry.h"
#include "host/base/status.h"
#include "host/surface/contact_mesh.h"
#include "host/surface/surface_distance.h"
#include <stdlib.h>

abut_fit_options abut_default_fit_options(void) {
  return (abut_fit_options){.primitives = 12, .vertices = 600, .grid = 100, .rounds = 12};
}

#if defined(ABUT_HAVE_CMINPACK) && defined(ABUT_HAVE_MESHOPTIMIZER)
/* points compared each way */
enum { COMPARED = 20000, STREAM_MESH = 11, STREAM_SURFACE = 12 };

static abut_status check_range(const char *what, int32_t value, int32_t low, int32_t high) {
  if (value >= low && value <= high) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "fit: %s is %d, must be from %d to %d", what, value, low, high);
}

static abut_status check_options(const abut_fit_options *o) {
  ATTEMPT(check_range("primitives", o->primitives, 1, FIT_MOST));
  ATTEMPT(check_range("vertices", o->vertices, FEWEST_VERTICES, MOST_VERTICES));
  ATTEMPT(check_range("grid", o->grid, 16, 400));
  ATTEMPT(check_range("rounds", o->rounds, 0, 10000));
  if (o->tau >= 0 && isfinite(o->tau)) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "fit: tau is %g, must not be negative", o->tau);
}

/* ---------------------------------------------------------------------------------------- result */

/* The primitives as a surface, still in diagonals. */
static abut_status collect(const fit_state *fit, abut_surface **out) {
  int32_t count = fit->primitive_count, planes = 0;
  abut_primitive list[FIT_MOST];
  for (int32_t l = 0; l < count; l++) planes += fit->primitives[l].primitive.plane_count;
  double *rows = malloc((4 * (size_t)planes + 1) * sizeof *rows);
  if (!rows) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %d planes", planes);
  abut_surface s = {.primitives = list, .primitive_count = count, .planes = rows, .tau = fit->tau};
  for (int32_t l = 0; l < count; l++) {
    list[l] = fit->primitives[l].primitive;
    if (!list[l].plane_count) continue;
    list[l].first_plane = s.plane_count;
    memcpy(rows + 4 * (size_t)s.plane_count, fit->primitives[l].planes,
           4 * (size_t)list[l].plane_count * sizeof *rows);
    s.plane_count += list[l].plane_count;
  }
  abut_status status = abut_surface_copy(&s, out);
  free(rows);
  return status;
}

/* From diagonals to the mesh's unit and place. */
static void place(const clean_mesh *mesh, abut_surface *s) {
  double unit = mesh->diagonal;
  s->tau *= unit;
  for (int32_t l = 0; l < s->primitive_count; l++) {
    abut_primitive *p = s->primitives + l;
    for (int k = 0; k < 3; k++) p->position[k] = mesh->middle[k] + unit * p->position[k];
    if (p->kind == ABUT_PRIMITIVE_SUPERQUADRIC)
      for (int k = 0; k < 3; k++) p->size[k] *= unit;
  }
  for (int32_t i = 0; i < s->plane_count; i++) s->planes[4 * (size_t)i + 3] *= unit;
  for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
    s->vertices[i] = mesh->middle[i % 3] + unit * s->vertices[i];
}

/* ---------------------------------------------------------------------------------------- distances */

/* Mean and largest distance from points to the triangles of a tree. */
static void distances_to(const mesh_tree *tree, const double *points, int64_t count, double *mean,
                         double *largest) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double d = mesh_tree_distance(tree, points + 3 * i, INFINITY);
    sum += d;
    *largest = fmax(*largest, d);
  }
  if (mean) *mean = sum / (double)count;
}

static double volume_of(const triangle_mesh *m) {
  double sum = 0;
  for (int64_t i = 0; i < m->nface; i++) {
    const int32_t *f = m->faces + 3 * i;
    double cross[3];
    cross3(cross, m->points + 3 * (int64_t)f[1], m->points + 3 * (int64_t)f[2]);
    sum += dot3(m->points + 3 * (int64_t)f[0], cross) / 6;
  }
  return sum;
}

/* Distances both ways between the mesh and the fitted surface's fine triangles, in diagonals. */
static abut_status compare(const fit_state *fit, const abut_surface *s, const triangle_mesh *fine,
                           abut_fit_report *r) {
  const triangle_mesh *mesh = &fit->mesh.mesh;
  mesh_tree tree = {0};
  double *points = malloc(3 * COMPARED * sizeof *points);
  if (!points) return fail_with(ABUT_ERROR_MEMORY, "fit: no memory for %d points", COMPARED);
  uint64_t seed = fit->options.seed;
  abut_status status = mesh_tree_build(fine->points, fine->faces, fine->nface, &tree);
  if (status == ABUT_OK)
    status = fit_sample(mesh->points, mesh->faces, mesh->nface, point_draw_start(seed, STREAM_MESH), COMPARED,
                        points);
  if (status == ABUT_OK) {
    distances_to(&tree, points, COMPARED, &r->mesh_to_surface, &r->hausdorff);
    /* the farthest point of a mesh from a smooth surface tends to be a vertex */
    for (int64_t i = 0; i < 3 * mesh->nface; i++)
      distances_to(&tree, mesh->points + 3 * (int64_t)mesh->faces[i], 1, NULL, &r->hausdorff);
    status = fit_sample(fine->points, fine->faces, fine->nface, point_draw_start(seed, STREAM_SURFACE),
                        COMPARED, points);
  }
  if (status == ABUT_OK) distances_to(&fit->tree, points, COMPARED, &r->surface_to_mesh, &r->hausdorff);
  if (status == ABUT_OK) status = surface_gaps(s, &tree, r);
  r->mean_distance = (r->mesh_to_surface + r->surface_to_mesh) / 2;
  mesh_tree_free(&tree);
  free(points);
  return status;
}

static abut_status describe(const fit_state *fit, const abut_surface *s, const triangle_mesh *fine,
                            abut_fit_report *r) {
  double unit = r->diagonal, cube = unit * unit * unit;
  for (int32_t l = 0; l < s->primitive_count; l++)
    if (s->primitives[l].kind == ABUT_PRIMITIVE_POLYHEDRON)
      r->polyhedra++;
    else
      r->superquadrics++;
  r->mesh_volume = mesh_grid_volume(&fit->grid) * cube;
  r->surface_volume = volume_of(fine) * cube;
  ATTEMPT(compare(fit, s, fine, r));
  double *const lengths[] = {&r->mean_distance, &r->mesh_to_surface, &r->surface_to_mesh, &r->hausdorff,
                             &r->vertex_gap,    &r->edge_out,        &r->largest_gap};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) *lengths[i] *= unit;
  return ABUT_OK;
}

static abut_status finish(const fit_state *fit, abut_surface *s, abut_fit_report *report) {
  triangle_mesh fine;
  ATTEMPT(surface_march(s, fit->options.grid, &fine));
  abut_status status = surface_decimate(s, &fine, fit->options.vertices);
  if (status == ABUT_OK) status = describe(fit, s, &fine, report);
  triangle_mesh_free(&fine);
  if (status != ABUT_OK) return status;
  place(&fit->mesh, s);
  return surface_check_plain(s);
}

static abut_status run(fit_state *fit, const abut_triangles *mesh, abut_surface **surface,
                       abut_fit_report *report) {
  ATTEMPT(clean_mesh_make(mesh, &fit->mesh, report));
  ATTEMPT(fit_prepare(fit, report));
  ATTEMPT(fit_run(fit));
  ATTEMPT(collect(fit, surface));
  return finish(fit, *surface, report);
}

abut_status abut_surface_fit(const abut_triangles *mesh, const abut_fit_options *options,
                             abut_surface **surface, abut_fit_report *report) {
  REQUIRE_POINTER(mesh, "mesh");
  REQUIRE_POINTER(surface, "surface");
  abut_fit_report found = {0};
  fit_state fit = {.options = options ? *options : abut_default_fit_options()};
  *surface = NULL;
  ATTEMPT(check_options(&fit.options));
  abut_status status = run(&fit, mesh, surface, &found);
  fit_free(&fit);
  if (status != ABUT_OK) {
    abut_surface_destroy(*surface);
    *surface = NULL;
    return status;
  }
  if (report) *report = found;
  return ABUT_OK;
}
#else
abut_status abut_surface_fit(const abut_triangles *mesh, const abut_fit_options *options,
                             abut_surface **surface, abut_fit_report *report) {
  (void)options, (void)report;
  REQUIRE_POINTER(mesh, "mesh");
  REQUIRE_POINTER(surface, "surface");
  *surface = NULL;
  return fail_with(ABUT_ERROR_UNSUPPORTED,
                   "built without cminpack and meshoptimizer: surfaces are not fitted");
}
#endif
