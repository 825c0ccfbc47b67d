/* manifold_sums.c: cotangents that are summed over poses: of vertices, and of what primitives
 * consist of, which kernels know in frames and units of their own. */
#include "host/items/manifold_run.h"
#include "host/base/geometry.h"
#include <string.h>

int manifold_wants_parameters(const abut_manifold_bars *bars, int surface) {
  return bars->primitives[surface] || bars->planes[surface] || bars->points[surface];
}

static double sum_slots(const item_kernels *k, const void *p, int64_t at) {
  double part[SLOTS];
  for (int i = 0; i < SLOTS; i++) part[i] = real_get(k, p, at + i);
  for (int half = SLOTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}
/* Vertices' in metres, parameters' in kernels' lengths. */
void manifold_add_sums(const manifold_run *a, manifold_runner *r, double *sums) {
  const item_kernels *k = a->m->kernels;
  double inv = 1 / a->m->unit;
  for (int s = 0; s < 2; s++) {
    const manifold_surface *surface = &a->m->params.surface[s];
    int64_t n = surface->nvertex, stride = manifold_pad((int32_t)n), num = sdf_parameters(&surface->sdf);
    double *vertices = sums + a->sum_at[s], *parameters = sums + a->sum_at[2 + s];
    for (int64_t i = 0; r->vertex_bar[s] && i < n; i++)
      for (int c = 0; c < 3; c++) vertices[3 * i + c] += inv * real_get(k, r->vertex_bar[s], c * stride + i);
    if (!r->parameter_bar[s]) continue;
    for (int64_t i = 0; i < num; i++) parameters[i] += sum_slots(k, r->parameter_bar[s], i * SLOTS);
    memset(r->parameter_bar[s], 0, (size_t)num * SLOTS * (size_t)k->elem_size);
  }
}

void manifold_place_sums(manifold_run *a) {
  for (int s = 0; s < 2; s++) {
    const manifold_surface *surface = &a->m->params.surface[s];
    a->sum_at[s] = a->sum_size;
    a->sum_size += a->bars->vertices[s] ? 3 * (int64_t)surface->nvertex : 0;
    a->sum_at[2 + s] = a->sum_size;
    a->sum_size += manifold_wants_parameters(a->bars, s) ? sdf_parameters(&surface->sdf) : 0;
  }
}
/* A plane's row is (R n, d/unit + R n.x/unit), x and R the primitive's pose; R transposed takes it back. */
static void add_plane(const abut_primitive *q, double unit, const double bar[SDF_ROW], double plane[4]) {
  double r[9], g[3], own[3];
  quat_matrix(r, q->quaternion);
  for (int c = 0; c < 3; c++) g[c] = bar[c] + bar[3] * q->position[c] / unit;
  frame_tvec(r, g, own);
  for (int c = 0; c < 3; c++) plane[c] += own[c];
  plane[3] += bar[3] / unit;
}
/* A point's is ((R p + x)/unit, R n, unit^2/sigma^2). */
static void add_point(const abut_primitive *q, double unit, double sigma, const double bar[SDF_ROW],
                      double point[7]) {
  double r[9], own[3];
  quat_matrix(r, q->quaternion);
  frame_tvec(r, bar, own);
  for (int c = 0; c < 3; c++) point[c] += own[c] / unit;
  frame_tvec(r, bar + 3, own);
  for (int c = 0; c < 3; c++) point[3 + c] += own[c];
  if (sigma > 0) point[6] -= 2 * unit * unit / (sigma * sigma * sigma) * bar[6];
}
/* Kernels' lengths are 1/unit of ours: cotangents by lengths are 1/unit of theirs. */
static void write_parameters(const manifold_run *a, int s, const double *parameters) {
  const surface_view *view = &a->m->view[s];
  double *primitives = a->bars->primitives[s], *planes = a->bars->planes[s], *points = a->bars->points[s];
  const double unit = a->m->unit, *row = parameters + SDF_PARAMETERS * (int64_t)view->sdf.num;
  if (planes) memset(planes, 0, 4 * (size_t)view->num_planes * sizeof *planes);
  if (points) memset(points, 0, 7 * (size_t)view->num_points * sizeof *points);
  for (int64_t i = 0, first = 0; i < view->sdf.num; i++) {
    const abut_primitive *q = &view->primitives[i];
    for (int c = 0; primitives && c < SDF_PARAMETERS; c++)
      primitives[SDF_PARAMETERS * view->order[i] + c] =
          parameters[SDF_PARAMETERS * i + c] / (c < 3 || (c >= 6 && c < 9) ? unit : 1);
    if (q->kind == ABUT_PRIMITIVE_SUPERQUADRIC) continue;
    for (int32_t j = 0; j < q->plane_count; j++, first++)
      if (q->kind == ABUT_PRIMITIVE_POLYHEDRON && planes)
        add_plane(q, unit, row + SDF_ROW * first, planes + 4 * (int64_t)(q->first_plane + j));
      else if (q->kind == ABUT_PRIMITIVE_POINT_CLOUD && points)
        add_point(q, unit, view->sigma[first], row + SDF_ROW * first,
                  points + 7 * (int64_t)(q->first_plane + j));
  }
}
void manifold_write_sums(const manifold_run *a, const double *total) {
  for (int s = 0; s < 2; s++) {
    const size_t n = 3 * (size_t)a->m->params.surface[s].nvertex;
    if (a->bars->vertices[s]) memcpy(a->bars->vertices[s], total + a->sum_at[s], n * sizeof *total);
    if (manifold_wants_parameters(a->bars, s)) write_parameters(a, s, total + a->sum_at[2 + s]);
  }
}
