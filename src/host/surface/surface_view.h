/* surface_view.h: a surface's signed distance as kernels read it. */
#ifndef ABUT_SURFACE_VIEW_H
#define ABUT_SURFACE_VIEW_H
#include "abut/surface.h"
#include "kernels/items/items_table.h"

typedef struct surface_view {
  sdf_view sdf;
  void *memory;   /* of primitives and rows */
  int32_t *order; /* primitive of the surface at each place of the view: what is subtracted comes last */
  abut_primitive *primitives; /* at each place */
  double *sigma;              /* of each row of a cloud as it was given (m), 0: by default */
  int32_t num_planes, num_points;
} surface_view;

/* unit: the length that is 1 in the view (m). tau: of union (m), 0: the surface's. The surface must have
 * passed abut_surface_check. Fails with ABUT_ERROR_ARGUMENT where a point's sigma is too small for the
 * kernels' real type. */
abut_status surface_view_create(const item_kernels *kernels, const abut_surface *surface, double unit,
                                double tau, surface_view *view);
void surface_view_destroy(surface_view *view);
/* How far points may be from a surface (units), so that squares do not overflow: less of clouds in single
 * precision, whose heights and slopes are multiplied. */
double surface_view_reach(const item_kernels *kernels, const surface_view *view);

#endif
