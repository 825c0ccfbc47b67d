/* contact_mesh.h: triangles of a surface's zero level, fine ones and the contact mesh. */
#ifndef ABUT_SURFACE_MESH_H
#define ABUT_SURFACE_MESH_H
#include "host/shape/mesh_distance.h"
#include "host/shape/mesh_file.h"
#include "host/surface/surface_distance.h"

enum { FEWEST_VERTICES = 16, MOST_VERTICES = 100000 };

/* Triangles of phi = 0, closed and outward, from a grid with `samples` points along the longest side of the
 * box around the primitives; points lie on the zero level to rounding. Fails where nothing of the union is
 * seen by the grid, or it is not bounded. Free with triangle_mesh_free. */
abut_status surface_march(const abut_surface *surface, int32_t samples, triangle_mesh *mesh);
/* Makes the contact mesh out of such triangles; the surface is unchanged on failure. */
abut_status surface_decimate(abut_surface *surface, const triangle_mesh *fine, int32_t vertices);
/* vertex_gap, edge_out and largest_gap of the contact mesh. fine: over such triangles; away from the surface
 * phi is along a ray, which may be far longer than the way to the surface. */
abut_status surface_gaps(const abut_surface *surface, const mesh_tree *fine, abut_fit_report *report);

#endif
