/* manifold.h: smooth contacts between two surfaces at given poses, batched and differentiable.
 *
 * A surface (surface.h) touches with its mesh and is touched by its signed distance. Contacts are of two
 * kinds: a vertex of one surface against the other's distance, and a pair of edges, one of each, which gives
 * two contacts: the closest point on either edge. How many there are is fixed with the manifold; how much one
 * counts is its activity in [0, 1]. Everything is a smooth function of the poses (Beker et al., section IV;
 * docs/manifold.md says what differs from print and why).
 *
 *   abut_manifold *manifold = NULL;
 *   abut_manifold_create(surface1, surface2, NULL, &manifold);
 *   abut_contacts contacts = {point, distance, normal, activity};
 *   abut_manifold_contacts(manifold, count, poses, &contacts);
 *
 * poses is count x 2 x 7: position (m) and unit quaternion (w, x, y, z) of either surface. Results are in the
 * world's frame, in this order, n = abut_manifold_size's total for every pair of poses:
 *   [0, vertices[0])               selected vertices of surface 1 against surface 2
 *   then vertices[1]               selected vertices of surface 2 against surface 1
 *   then edges[0] x edges[1]       pairs (k, l), l fastest: the closest point on edge k of surface 1
 *   then edges[0] x edges[1]       the same pairs: the closest point on edge l of surface 2
 * Handles are immutable: several threads may use one. */
#ifndef ABUT_MANIFOLD_H
#define ABUT_MANIFOLD_H

#include "surface.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /* distance n.(p - q) with the other surface's normal n at its closest point q: linear through touching */
  ABUT_MANIFOLD_LINEAR = 0,
  /* as printed: distance tanh(n.nbar/tau_sign) |p - q|, whose slope vanishes at touching */
  ABUT_MANIFOLD_PAPER = 1,
};
enum {
  /* the deepest K, ties by index; a gate fades what is about to be replaced to 1/2 (tau_select) */
  ABUT_SELECT_HARD = 0,
  /* the paper's soft top-K (SoftSort): points are weighted means, tied features collapse to their mean */
  ABUT_SELECT_SOFTSORT = 1,
};

typedef struct abut_manifold_options {
  int32_t form;        /* ABUT_MANIFOLD_* */
  int32_t selection;   /* ABUT_SELECT_* */
  int32_t vertices[2]; /* vertices of either surface that are contacts; -1: all, 0: none (one side) */
  int32_t edges[2];    /* edges of either surface that are paired; -1: all, -2: 32, or all where there are
                          fewer; 0: no pairs */
  int32_t relative;    /* w_reg and tau_min times the mean square of the two edges' lengths; else m^2 */
  int32_t projections; /* steps that move closest points of edges onto their own surface */
  double w_reg;        /* pull of closest points to the middle of their edges */
  double tau_clip, tau_min; /* softness of the box and of the choice among its sides */
  double tau_comp;          /* of the comparisons that tell whether edges cross */
  double tau_union;         /* m; 0: the surfaces' own */
  double eps_normal;        /* of nbar = delta/sqrt(delta^2 + eps) (m^2); 0: (1e-4 unit)^2 */
  double tau_sign, tau_clash;
  double tau_pen, tau_near, tau_select; /* m; 0: 0.005, 0.01, 0.005 times the larger surface's diagonal.
                                           These, tau_union and the root of eps_normal: at least 1e-9 of it */
  double cutoff;   /* pairs of edges whose activity cannot exceed this are not looked at: theirs is 0. From
                      1e-30; 0: all are */
  int32_t dtype;   /* ABUT_F32 or ABUT_F64: of the arithmetic */
  int32_t threads; /* 0: all cores. Results do not depend on it */
  int32_t device; /* ABUT_DEVICE_*; auto: the CPU. With cuda poses, cotangents and results stay in host memory
                     and are copied, forward mode is refused */
  int32_t device_id; /* which of several GPUs, from 0 */
} abut_manifold_options;

/* linear, hard, all vertices, edges -2, relative, w_reg 0.01, tau_clip 0.02, tau_min 0.01, tau_comp
 * 0.02, tau_sign and tau_clash 0.1, cutoff 1e-8, f32. */
ABUT_API abut_manifold_options abut_default_manifold_options(void);

typedef struct abut_manifold abut_manifold;

/* Copies what it needs of the surfaces. options NULL: defaults. Fails as abut_surface_check does, with
 * ABUT_ERROR_DEVICE where there is no such device, and with ABUT_ERROR_ARGUMENT where an option is out of
 * range or a surface has an edge without length, or fewer vertices or edges than are asked for. */
ABUT_API abut_status abut_manifold_create(const abut_surface *surface1, const abut_surface *surface2,
                                          const abut_manifold_options *options, abut_manifold **manifold);
ABUT_API void abut_manifold_destroy(abut_manifold *manifold);

typedef struct abut_manifold_counts {
  int32_t vertices[2], edges[2];
  int64_t contacts; /* in all */
} abut_manifold_counts;
ABUT_API abut_status abut_manifold_size(const abut_manifold *manifold, abut_manifold_counts *counts);
/* The options in force: what was 0 or -1 is filled in. */
ABUT_API abut_status abut_manifold_settings(const abut_manifold *manifold, abut_manifold_options *options);

/* Whether count poses are what the functions below take, which check them too: numbers are finite,
 * quaternions of length 1 to 1e-3, and surfaces so close that the arithmetic does not overflow. Else
 * ABUT_ERROR_ARGUMENT; its message counts poses from `first`: what is read in parts counts them all. */
ABUT_API abut_status abut_manifold_check_poses(const abut_manifold *manifold, int64_t first, int64_t count,
                                               const double *poses);

/* count x contacts each; NULL: not wanted. */
typedef struct abut_contacts {
  double *point;    /* x 3 (m) */
  double *distance; /* (m), negative inside */
  double *normal;   /* x 3: unit, but for the paper's form, where |normal| <= 1; out of the other surface */
  double *activity;
} abut_contacts;
ABUT_API abut_status abut_manifold_contacts(const abut_manifold *manifold, int64_t count, const double *poses,
                                            abut_contacts *contacts);

/* Cotangents, NULL: not wanted. A pose has six coordinates, as a free joint's velocity: translation in the
 * world's frame, then rotation about the body's own axes. */
typedef struct abut_manifold_bars {
  double *poses;         /* count x 2 x 6 */
  double *vertices[2];   /* vertex_count x 3, in the surface's frame, summed over count */
  double *primitives[2]; /* primitive_count x 11, summed over count: position (3), rotation vector about the
                            surface's axes (3); of superquadrics size (3) and exponents (2), else 0 */
  double *planes[2];     /* plane_count x 4, summed over count, as in abut_surface */
  double *points[2];     /* point_count x 7, likewise; 0 for a sigma that is not given */
} abut_manifold_bars;
/* Reverse pass: bar has the cotangents of contacts (NULL members are 0). contacts as above, or NULL. Fails
 * with ABUT_ERROR_ARGUMENT where a cotangent is not finite, or beyond the dtype; what was written by then
 * means nothing. */
ABUT_API abut_status abut_manifold_gradient(const abut_manifold *manifold, int64_t count, const double *poses,
                                            const abut_contacts *bar, abut_manifold_bars *bars,
                                            abut_contacts *contacts);
/* Forward mode: the derivatives of every contact by the twelve coordinates of its two poses, as those of
 * abut_manifold_bars.poses. jacobian: members as in contacts with a last dimension of 12, so that point is
 * count x contacts x 3 x 12; NULL: not wanted. contacts as above, or NULL. Fails with ABUT_ERROR_ARGUMENT on
 * device cuda. */
ABUT_API abut_status abut_manifold_jacobian(const abut_manifold *manifold, int64_t count, const double *poses,
                                            abut_contacts *jacobian, abut_contacts *contacts);

/* ---------------------------------------------------------------------------------------- how many */

/* Relative poses in which two surfaces touch. A point of either mesh is drawn, evenly by area, and where the
 * two points meet surface 2 stands at first: in even samples with their triangles flat against each other,
 * turned at random in that plane; in odd ones turned evenly over all rotations. From afar, along the
 * triangle's normal or a random direction, it then moves in until the deepest point of either mesh's edges
 * lies as deep in the other surface as was drawn from (0, depth]. Samples that pass by do not count. */
typedef struct abut_manifold_sampling {
  int64_t samples; /* 1 to 2^24 */
  uint64_t seed;
  double quantile;  /* share of the poses in which what is suggested is enough, 0 to 1 */
  double threshold; /* contacts of more activity than this are needed, 1e-6 to 0.5 */
  double depth;     /* m; 0: tau_pen */
} abut_manifold_sampling;
/* 256 samples, seed 0, quantile 0.99, threshold 0.1, depth tau_pen. */
ABUT_API abut_manifold_sampling abut_default_manifold_sampling(void);
/* How many vertices and edges of either surface, deepest first, hold every contact that would be active if
 * all of them were looked at: by group the quantile over poses; 0 where contacts are never needed. For
 * abut_manifold_options.vertices and edges; sides of which 0 are asked there are counted all the same, edges
 * only where both are not 0. options, sampling NULL: defaults. The surfaces need triangles. Depends on
 * neither threads nor time. Fails as abut_manifold_create does, and with ABUT_ERROR_ARGUMENT where the
 * sampling is out of range, a surface has no triangles, or the surfaces meet in no pose. */
ABUT_API abut_status abut_manifold_suggest(const abut_surface *surface1, const abut_surface *surface2,
                                           const abut_manifold_options *options,
                                           const abut_manifold_sampling *sampling,
                                           abut_manifold_counts *counts);

/* ---------------------------------------------------------------------------------------- single pieces */

typedef struct abut_edges_query {
  double edge1[2][3], edge2[2][3]; /* ends (m) */
  int32_t relative;                /* as in the options */
  double w_reg, tau_clip, tau_min, tau_comp;
} abut_edges_query;
typedef struct abut_edges_result {
  double alpha1, alpha2; /* closest points edge[0] + alpha (edge[1] - edge[0]) */
  double colliding;      /* whether the lines' closest points lie on both edges */
} abut_edges_result;
/* Fails with ABUT_ERROR_ARGUMENT where an edge has no length, a coordinate is not within 1e12, or a softness
 * not within [1e-9, 1e6]. */
ABUT_API abut_status abut_query_edges(int64_t count, const abut_edges_query *queries,
                                      abut_edges_result *results, int32_t dtype);
typedef struct abut_edges_bars {
  double edge1[2][3], edge2[2][3];
} abut_edges_bars;
/* Reverse pass: bars are the cotangents of ends (1/m) where bar has those of the results. */
ABUT_API abut_status abut_query_edges_gradient(int64_t count, const abut_edges_query *queries,
                                               const abut_edges_result *bar, abut_edges_bars *bars,
                                               int32_t dtype);

/* A point and a triangle: the closest point is drawn to the triangle's middle by w_reg, and does not depend
 * on the order of the corners. */
typedef struct abut_face_query {
  double point[3], face[3][3]; /* corners (m), not all in one place; they may lie on one line */
  int32_t relative;            /* w_reg and tau_min times the mean square of the three sides; else m^2 */
  double w_reg, tau_clip, tau_min, tau_comp;
} abut_face_query;
typedef struct abut_face_result {
  double beta1, beta2; /* closest point face[0] + beta1 (face[1] - face[0]) + beta2 (face[2] - face[0]) */
  double colliding;    /* whether the plane's closest point lies in the triangle */
} abut_face_result;
/* Fails as abut_query_edges does, for a triangle of no size. */
ABUT_API abut_status abut_query_face(int64_t count, const abut_face_query *queries, abut_face_result *results,
                                     int32_t dtype);
typedef struct abut_face_bars {
  double point[3], face[3][3];
} abut_face_bars;
/* Reverse pass, as of edges. */
ABUT_API abut_status abut_query_face_gradient(int64_t count, const abut_face_query *queries,
                                              const abut_face_result *bar, abut_face_bars *bars,
                                              int32_t dtype);

/* Signed distance (m), unit normal and the distance's gradient, which is not of length 1 away from the
 * surface, at count points (count x 3); outputs may be NULL. */
ABUT_API abut_status abut_query_distance(const abut_surface *surface, int64_t count, const double *points,
                                         double *distance, double *normal, double *gradient, int32_t dtype);

#ifdef __cplusplus
}
#endif
#endif
