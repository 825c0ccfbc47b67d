/* surface.h: smooth closed surfaces made of few primitives, fitted to triangle meshes.
 *
 * A surface is what smooth contact needs of a body, twice: a signed distance that is touched (the union of
 * its primitives), and a mesh that touches (points on the zero level, edges between them).
 *
 *   abut_surface *surface = NULL;   abut_fit_report report;
 *   abut_fit_options options = abut_default_fit_options();   options.primitives = 18;
 *   abut_surface_fit(&mesh, &options, &surface, &report);
 *
 * Units are those of the mesh, metres where a scene is made of it. Quaternions are (w, x, y, z). */
#ifndef ABUT_SURFACE_H
#define ABUT_SURFACE_H

#include "abut.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ABUT_PRIMITIVE_SUPERQUADRIC = 0,
  ABUT_PRIMITIVE_POLYHEDRON = 1,
  ABUT_PRIMITIVE_POINT_CLOUD = 2, /* in manifolds and queries; not in fits and files */
};

/* Signed distance phi of one primitive at a point; x is the point in the primitive's frame.
 *
 * Superquadric, as a gauge h (homogeneous of degree 1, 1 on the surface):
 *   p2 = 2 / exponents[1], p1 = 2 / exponents[0]
 *   A = ((|x|/a)^p2 + (|y|/b)^p2)^(1/p2),  h = (A^p1 + (|z|/c)^p1)^(1/p1),  phi = |x| (1 - 1/h)
 * phi is the distance along the ray from the centre, at the centre -min(a, b, c).
 * Polyhedron: phi = tau log sum exp((n_i.x - d_i) / tau) over its planes.
 * Point cloud: phi = sum B_i n_i.(x - p_i) / sum B_i, B_i = exp(-|x - p_i|^2 / (2 sigma_i^2)). */
typedef struct abut_primitive {
  int32_t kind; /* ABUT_PRIMITIVE_* */
  /* polyhedron: its rows of abut_surface.planes; cloud: of abut_surface.points; else 0 */
  int32_t first_plane, plane_count;
  int32_t subtracted;   /* 1: cut out of the union of the others; in manifolds and queries only */
  double position[3];   /* of its frame in the surface's (m) */
  double quaternion[4]; /* unit */
  double size[3];       /* a, b, c: half sizes, positive (m); polyhedron: not used, 1 */
  double exponents[2];  /* e1 (profile along z), e2 (in the xy plane), in (0, 2]; polyhedron: not used, 1 */
} abut_primitive;

/* The union of the primitives: phi = -tau log sum exp(-phi_l / tau). It lies up to tau log(count) outside of
 * the sharp union where primitives overlap; a fit has that in it. */
typedef struct abut_surface {
  abut_primitive *primitives;
  int32_t primitive_count;
  double *planes; /* plane_count x 4: unit outward normal, offset d (m), in the frame of their primitive */
  int32_t plane_count;
  double *points; /* point_count x 7: place (m), unit outward normal, sigma (m; 0: twice the distance to the
                     sixth neighbour), in the frame of their primitive */
  int32_t point_count;
  double tau; /* width of the blend, positive (m) */
  /* contact mesh: closed, outward, in the surface's frame; its vertices lie on phi = 0. May be empty. */
  double *vertices; /* vertex_count x 3 (m) */
  int32_t vertex_count;
  int32_t *edges; /* edge_count x 2, every edge of the triangles once, smaller index first, sorted */
  int32_t edge_count;
  int32_t *triangles; /* triangle_count x 3 */
  int32_t triangle_count;
} abut_surface;

/* Checks every number and index: counts, finite values, unit quaternions and normals, sizes, exponents. */
ABUT_API abut_status abut_surface_check(const abut_surface *surface);
/* A copy of a surface that passes abut_surface_check; destroy it with abut_surface_destroy. This and what
 * follows refuses clouds and what is subtracted with ABUT_ERROR_UNSUPPORTED. */
ABUT_API abut_status abut_surface_copy(const abut_surface *surface, abut_surface **copy);
/* NULL is fine. Only for surfaces that a function of this header made. */
ABUT_API void abut_surface_destroy(abut_surface *surface);
/* phi (m) of count points (count x 3, in the surface's frame) into distance (count), and its gradient into
 * gradient (count x 3), which may be NULL. Checks the surface first. */
ABUT_API abut_status abut_surface_distance(const abut_surface *surface, int64_t count, const double *points,
                                           double *distance, double *gradient);
/* Diagonal of a box around the surface (m): of its vertices, else of its primitives; 1 where that is 0 or
 * not finite. For surfaces that pass abut_surface_check. */
ABUT_API double abut_surface_diagonal(const abut_surface *surface);
/* Replaces the contact mesh by one of about `vertices` vertices (at least 16), made of the primitives.
 * A surface that abut_surface_copy or abut_surface_fit made; unchanged on failure. Needs meshoptimizer. */
ABUT_API abut_status abut_surface_make_mesh(abut_surface *surface, int32_t vertices);

/* The surface of a geom that was added with one (abut_geom_def.surface), in its body's frame: a view into the
 * model; count 0 where the geom has none. */
ABUT_API abut_status abut_model_surface(const abut_model *model, int32_t geom, abut_surface *view);

/* A scene of one free body with one geom, both named `name` (may be NULL): the surface, its contact mesh for
 * long-range contact and that mesh's hull for the others. Mass and inertia are the contact mesh's at this
 * density (kg/m^3, positive). Fails where the surface has no contact mesh. */
ABUT_API abut_status abut_surface_build_model(const abut_surface *surface, const char *name, double density,
                                              abut_model **model);

/* ---------------------------------------------------------------------------------------- meshes */

/* Reads triangles for abut_surface_fit or abut_query_longrange, without a tree, open or not as the file has
 * them. Equal points are one. path is either
 *   .obj or .stl (text or binary): vertices and faces of all groups, polygons as fans, in the file's unit;
 *     geom must be NULL; or
 *   .xml, .urdf (both through MuJoCo) or .abut: the geom of this name, in its body's frame (m). In .xml and
 *     .urdf it is the mesh of a geom, or the mesh of this name where a geom shows it, and nothing else in
 *     the file is looked at; in .abut the surface of any geom but a half-space. NULL: the only mesh.
 * Fails with ABUT_ERROR_ARGUMENT where there is no such geom, or more than one mesh and no name, and with
 * ABUT_ERROR_FILE or ABUT_ERROR_UNSUPPORTED as abut_model_load does. Destroy with abut_triangles_destroy. */
ABUT_API abut_status abut_triangles_load(const char *path, const char *geom, abut_triangles **mesh);
/* NULL is fine. Only for what abut_triangles_load made. */
ABUT_API void abut_triangles_destroy(abut_triangles *mesh);

/* ---------------------------------------------------------------------------------------- fitting */

typedef struct abut_fit_options {
  int32_t primitives; /* wanted, 1 to 256; fewer where nothing is left to cover */
  int32_t vertices;   /* of the contact mesh, 16 to 100000 */
  int32_t grid; /* points along the longest side, of the mesh's distances and the surface's triangles; 16 to
                   400 */
  int32_t polyhedra; /* whether a polyhedron may stand for a superquadric that misfits; 0: no */
  int32_t rounds;    /* attempts to move a primitive to where it helps more */
  uint64_t seed;     /* of the points that are compared: the same seed, the same bits */
  double tau;        /* width of the blend (m); 0: 0.002 of the bounding box's diagonal */
} abut_fit_options;
ABUT_API abut_fit_options abut_default_fit_options(void);

/* Lengths in the mesh's unit. */
typedef struct abut_fit_report {
  /* what was assumed of the mesh: inside is where its generalised winding number is above one half */
  int64_t open_edges;          /* edges of one triangle */
  int64_t nonmanifold_edges;   /* of more than two, or of two that are turned against each other */
  int64_t dropped_triangles;   /* without area (zero-length edges) */
  int64_t duplicate_triangles; /* of the same three points as another; dropped */
  int32_t flipped;             /* the triangles faced inwards; taken as outward */
  /* the result */
  int32_t superquadrics, polyhedra;
  double diagonal;        /* of the mesh's bounding box */
  double mean_distance;   /* the mean of the next two */
  double mesh_to_surface; /* mean distance of points spread evenly on the mesh to the fitted surface */
  double surface_to_mesh; /* and the other way */
  double hausdorff;       /* largest of all those distances */
  double mesh_volume, surface_volume;
  double vertex_gap;  /* contact mesh: largest |phi| / |grad phi| at a vertex */
  double edge_out;    /* how far an edge sticks out of the surface at most; 0: edges are inside */
  double largest_gap; /* largest distance of a point of its triangles from the surface */
} abut_fit_report;

/* Fits primitives to a mesh (vertices and triangles; the tree is not used) and makes the contact mesh.
 * options NULL: defaults. The mesh may be open, non-manifold or intersect itself. Fails with
 * ABUT_ERROR_MODEL where it is empty, has a coordinate that is not finite, or encloses nothing, and with
 * ABUT_ERROR_UNSUPPORTED where the library was built without cminpack or meshoptimizer. report may be NULL.
 * Runs on one thread; the result depends on the arguments only. */
ABUT_API abut_status abut_surface_fit(const abut_triangles *mesh, const abut_fit_options *options,
                                      abut_surface **surface, abut_fit_report *report);

#ifdef __cplusplus
}
#endif
#endif
