/* smooth_view.h: what the kernels of signed distances and of witness points are told. No lane types, so that
 * host code reads it too. Lengths are in a unit that the host chooses so that shapes are of size 1. */
#ifndef ABUT_KERNELS_SMOOTH_H
#define ABUT_KERNELS_SMOOTH_H
#include <stdint.h>

/* Called by kernels and by the host. */
#ifdef __CUDACC__
#define ON_BOTH static inline __host__ __device__
#else
#define ON_BOTH static inline
#endif

enum { SDF_SUPERQUADRIC, SDF_POLYHEDRON, SDF_CLOUD };
/* A superquadric's coordinates below this share of its largest count as that for curvatures. */
#define SDF_FLOOR_VJP 1e-7

/* One primitive of a signed distance, double, as the host gives it. */
typedef struct sdf_source {
  int32_t kind, subtracted;
  double rotation[9]; /* superquadric: its frame in the surface's, row by row */
  double center[3], size[3], exponents[2];
  double floor_power[2];      /* SDF_FLOOR_VJP^(2/exponent) */
  int32_t first, num;         /* polyhedron, cloud: its rows */
  double outer, inner, slope; /* bounds, D the distance from center: phi <= D - inner; phi >= D - outer,
                                 inside the outer sphere, slope (D - outer) outside it */
} sdf_source;

/* The same in the real type of an instance (sdf.inl): prepared by it, read by it. */
enum { SDF_ROW = 8 }; /* polyhedron: normal, offset; cloud: point, normal, 1/sigma^2 */
typedef struct sdf_view {
  int32_t num, plus; /* primitives; the first `plus` are united, the others subtracted */
  int32_t num_rows;
  const void *primitives; /* [num] sdf_primitive */
  const void *rows;       /* [..][SDF_ROW] */
  double tau;             /* of union, subtraction and polyhedra */
} sdf_view;

/* Numbers that have cotangents: of a primitive center, rotation vector (about the surface's axes), size,
 * exponents; then the rows. */
enum { SDF_PARAMETERS = 11 };
ON_BOTH int64_t sdf_parameters(const sdf_view *s) {
  return (int64_t)SDF_PARAMETERS * s->num + (int64_t)SDF_ROW * s->num_rows;
}

/* Softness of edge-edge contacts (abut/manifold.h), lengths in the manifold's unit. */
typedef struct edge_softness {
  double regularisation, clip, minimum, compare;
  int32_t relative;
} edge_softness;

/* Single queries, LANES at once; arrays are [..][LANES] of the instance's real type. */
typedef struct witness_block { /* two edges, or a point and a triangle */
  edge_softness soft;
  int32_t packs; /* of LANES: arrays are [packs][3][LANES] */
  const void *r, *t1, *t2;
  void *out;            /* the witness; written if there is no bar */
  const void *bar;      /* its cotangents, or NULL */
  void *gr, *gt1, *gt2; /* then those of r, t1, t2 */
} witness_block;
/* Room for one distance, in numbers and in list entries. */
#define DISTANCE_NUMBERS(primitives) (8 * (primitives) + 8)
#define DISTANCE_LISTS(primitives) (2 * (primitives) + 2)
typedef struct distance_block {
  const sdf_view *surface;
  const void *x;                 /* [3] */
  void *phi, *normal, *gradient; /* [1], [3], [3] or NULL */
  void *scratch;                 /* [DISTANCE_NUMBERS(num)] */
  int32_t *kept;                 /* [DISTANCE_LISTS(num)] */
} distance_block;

#endif
