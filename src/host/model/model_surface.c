/* model_surface.c: the surfaces of a compiled scene's geoms: copied into it, checked, shown. */
#include "host/base/geometry.h"
#include "host/model/model.h"
#include "host/surface/surface_distance.h"
#include "host/base/status.h"
#include <stdio.h>

/* What a surface has lists of, in the order of surface_end. */
enum { PRIMITIVES, PLANES, VERTICES, EDGES, FACETS, LISTS };

static void list_counts(const abut_surface *s, int32_t counts[LISTS]) {
  counts[PRIMITIVES] = s->primitive_count;
  counts[PLANES] = s->plane_count;
  counts[VERTICES] = s->vertex_count;
  counts[EDGES] = s->edge_count;
  counts[FACETS] = s->triangle_count;
}

/* ---------------------------------------------------------------------------------------- fill */

abut_status model_count_surfaces(abut_model *m, int32_t ngeom, const abut_surface *const *surfaces) {
  int64_t totals[LISTS] = {0};
  for (int32_t g = 0; g < ngeom; g++) {
    int32_t counts[LISTS];
    if (!surfaces[g]) continue;
    m->nsurface++;
    list_counts(surfaces[g], counts);
    for (int k = 0; k < LISTS; k++) totals[k] += counts[k];
  }
  for (int k = 0; k < LISTS; k++)
    if (totals[k] > INT32_MAX / 16)
      return fail_with(ABUT_ERROR_MODEL, "model: surfaces of %lld primitives and %lld vertices are too many",
                       (long long)totals[PRIMITIVES], (long long)totals[VERTICES]);
  m->nprimitive = (int32_t)totals[PRIMITIVES];
  m->nplane = (int32_t)totals[PLANES];
  m->nvertex = (int32_t)totals[VERTICES];
  m->nedge = (int32_t)totals[EDGES];
  m->nfacet = (int32_t)totals[FACETS];
  return ABUT_OK;
}

/* Copies rows behind those that are there. */
static void put_rows(void *array, int32_t start, const void *rows, int32_t count, size_t row) {
  if (count) memcpy((char *)array + (size_t)start * row, rows, (size_t)count * row);
}

/* Surface number i, of geom g, turned into the frame of the geom's body. */
static void fill_surface(abut_model *m, int32_t i, int32_t g, const abut_surface *s) {
  const double *pos = m->geom_pos + 3 * (size_t)g, *quat = m->geom_quat + 4 * (size_t)g;
  int32_t start[LISTS] = {0}, counts[LISTS];
  if (i) memcpy(start, m->surface_end + LISTS * (size_t)(i - 1), sizeof start);
  list_counts(s, counts);
  for (int k = 0; k < LISTS; k++) m->surface_end[LISTS * (size_t)i + k] = start[k] + counts[k];
  m->surface_geom[i] = g;
  m->surface_tau[i] = s->tau;
  put_rows(m->surface_primitive, start[PRIMITIVES], s->primitives, s->primitive_count, sizeof *s->primitives);
  put_rows(m->surface_plane, start[PLANES], s->planes, s->plane_count, 4 * sizeof *s->planes);
  put_rows(m->surface_edge, start[EDGES], s->edges, s->edge_count, 2 * sizeof *s->edges);
  put_rows(m->surface_facet, start[FACETS], s->triangles, s->triangle_count, 3 * sizeof *s->triangles);
  for (int32_t l = 0; l < s->primitive_count; l++) {
    abut_primitive *p = m->surface_primitive + start[PRIMITIVES] + l;
    transform_point(p->position, pos, quat, p->position);
    quat_product(p->quaternion, quat, p->quaternion);
    normalise(p->quaternion, 4);
  }
  for (int32_t v = 0; v < s->vertex_count; v++)
    transform_point(m->surface_vertex + 3 * (size_t)(start[VERTICES] + v), pos, quat,
                    s->vertices + 3 * (size_t)v);
}

void model_fill_surfaces(abut_model *m, const abut_surface *const *surfaces) {
  for (int32_t g = 0, i = 0; g < m->ngeom; g++)
    if (surfaces[g]) fill_surface(m, i++, g, surfaces[g]);
}

/* ---------------------------------------------------------------------------------------- view */

static abut_surface view_surface(const abut_model *m, int32_t i) {
  const int32_t *end = m->surface_end + LISTS * (size_t)i, none[LISTS] = {0}, *start = i ? end - LISTS : none;
  return (abut_surface){
      .primitives = m->surface_primitive + start[PRIMITIVES],
      .primitive_count = end[PRIMITIVES] - start[PRIMITIVES],
      .planes = m->surface_plane + 4 * (size_t)start[PLANES],
      .plane_count = end[PLANES] - start[PLANES],
      .tau = m->surface_tau[i],
      .vertices = m->surface_vertex + 3 * (size_t)start[VERTICES],
      .vertex_count = end[VERTICES] - start[VERTICES],
      .edges = m->surface_edge + 2 * (size_t)start[EDGES],
      .edge_count = end[EDGES] - start[EDGES],
      .triangles = m->surface_facet + 3 * (size_t)start[FACETS],
      .triangle_count = end[FACETS] - start[FACETS],
  };
}

abut_status abut_model_surface(const abut_model *model, int32_t geom, abut_surface *view) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(view, "view");
  if (geom < 0 || geom >= model->ngeom)
    return fail_with(ABUT_ERROR_ARGUMENT, "geom %d does not exist: the model has %d", geom, model->ngeom);
  *view = (abut_surface){0};
  for (int32_t i = 0; i < model->nsurface; i++)
    if (model->surface_geom[i] == geom) *view = view_surface(model, i);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- check */

static abut_status check_surface(const abut_model *m, int32_t i) {
  char why[512], label[LABEL_SIZE];
  const abut_surface view = view_surface(m, i);
  abut_status status = surface_check_plain(&view);
  if (status == ABUT_OK) return ABUT_OK;
  snprintf(why, sizeof why, "%s", abut_error_message());
  return fail_with(ABUT_ERROR_MODEL, "%s: %s", model_label(m, 'g', m->surface_geom[i], label), why);
}

abut_status model_check_surfaces(const abut_model *m) {
  const int32_t totals[LISTS] = {m->nprimitive, m->nplane, m->nvertex, m->nedge, m->nfacet};
  int32_t before[LISTS] = {0}, geom = -1;
  for (int32_t i = 0; i < m->nsurface; i++) {
    const int32_t *end = m->surface_end + LISTS * (size_t)i;
    if (m->surface_geom[i] <= geom || m->surface_geom[i] >= m->ngeom)
      return fail_with(ABUT_ERROR_MODEL, "model: surface %d is of geom %d of %d, the one before of %d", i,
                       m->surface_geom[i], m->ngeom, geom);
    for (int k = 0; k < LISTS; k++)
      if (end[k] < before[k] || end[k] > totals[k])
        return fail_with(ABUT_ERROR_MODEL, "model: surface %d: list %d ends at %d of %d, begins at %d", i, k,
                         end[k], totals[k], before[k]);
    memcpy(before, end, sizeof before);
    geom = m->surface_geom[i];
  }
  for (int k = 0; k < LISTS; k++)
    if (before[k] != totals[k])
      return fail_with(ABUT_ERROR_MODEL, "model: surfaces have %d of %d rows of list %d", before[k],
                       totals[k], k);
  for (int32_t i = 0; i < m->nsurface; i++) ATTEMPT(check_surface(m, i));
  return ABUT_OK;
}
