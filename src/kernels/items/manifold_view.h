/* manifold_view.h: what the kernels of smooth contact manifolds are told. No lane types, so that host code
 * reads it too. Lengths are in the manifold's own unit, which the host chooses so that shapes are of size 1:
 * single precision then reaches from micrometres to kilometres. */
#ifndef ABUT_KERNELS_MANIFOLD_H
#define ABUT_KERNELS_MANIFOLD_H
#include "kernels/shape/smooth_view.h"

/* One surface of a manifold. */
typedef struct manifold_surface {
  sdf_view sdf;
  int32_t nvertex, nedge, kvertex, kedge; /* in all, and selected of them */
  const void *vertices; /* [3][padded nvertex] of the instance's real type; the last is repeated */
  const int32_t *edges; /* [nedge][2] */
} manifold_surface;

typedef struct manifold_params {
  manifold_surface surface[2];
  edge_softness edges;
  int32_t paper, softsort, projections;
  int32_t side[2];      /* whether its vertices are contacts */
  double normal_square; /* eps of nbar (m^2 in the manifold's unit) */
  double tau_sign, tau_penetration, tau_near, tau_clash, tau_select, cutoff;
} manifold_params;

/* Contacts come in four groups, each padded to MANIFOLD_PAD: selected vertices of surface 0 and of surface 1,
 * then pairs of selected edges (k, l), l fastest: the witness on surface 0, the witness on surface 1. A
 * contact is MANIFOLD_CONTACT numbers, field by field: point, distance, normal, activity. */
enum { MANIFOLD_PAD = 16, MANIFOLD_CONTACT = 8, MANIFOLD_GROUPS = 4 };
ON_BOTH int32_t manifold_pad(int32_t n) { return (n + MANIFOLD_PAD - 1) / MANIFOLD_PAD * MANIFOLD_PAD; }
ON_BOTH int32_t manifold_group(const manifold_params *p, int32_t group) {
  const manifold_surface *s = p->surface;
  if (group < 2) return p->side[group] ? s[group].kvertex : 0;
  return s[0].kedge * s[1].kedge;
}

/* One pair of poses. All in the frame of surface 0, in the manifold's unit. */
typedef struct manifold_job {
  double rotation[9], translation[3]; /* pose of surface 1 in surface 0's frame */
  void *scratch;                      /* manifold_kernels.scratch() numbers, aligned to 64 bytes */
  void *contacts;                     /* [group][MANIFOLD_CONTACT][padded] */
  /* reverse: cotangents of contacts, in the same layout, padding 0 */
  const void *bar;
  double force[3], torque[3];         /* cotangents of surface 1's translation and rotation (frame 0) */
  double out_force[3], out_torque[3]; /* of moving all results as one */
  void *vertex_bar[2];                /* [3][padded nvertex], written; or NULL */
  void *parameter_bar[2];             /* [sdf_parameters()][32], added to; or NULL */
  /* forward mode */
  void *tangents; /* manifold_kernels.tangents() numbers, aligned */
  void *jacobian; /* six of `contacts`: by surface 1's translation and by its rotation (frame 0) */
} manifold_job;

/* On a GPU: many pairs of poses, warp w takes jobs w, w + warps, ... Jobs' pointers are set but for scratch.
 */
typedef struct manifold_batch {
  manifold_params params;
  manifold_job *jobs;
  void *scratch;
  int64_t count, scratch_numbers; /* jobs; numbers for each warp */
} manifold_batch;
/* Many pairs of edges: [9][count] r, t1, t2; [3][count] alpha1, alpha2, colliding. */
typedef struct edges_batch {
  edge_softness soft;
  int32_t count;
  const void *in;
  void *out;
} edges_batch;
/* Many points: [3][count]; [4][count] distance, normal. */
typedef struct distances_batch {
  sdf_view surface;
  int32_t count;
  const void *in;
  void *out, *scratch; /* DISTANCE_NUMBERS for each thread of all warps */
  int32_t *lists;      /* DISTANCE_LISTS, likewise */
} distances_batch;
/* The kernels of one instance. */
typedef struct manifold_kernels {
  int64_t primitive_size;
  void (*prepare)(const sdf_source *from, int num, void *to);
  int64_t (*scratch)(const manifold_params *);
  void (*contacts)(const manifold_params *, manifold_job *);
  /* after contacts, on the same scratch */
  void (*contacts_vjp)(const manifold_params *, manifold_job *);
  int64_t (*tangents)(const manifold_params *);
  void (*contacts_jacobian)(const manifold_params *, manifold_job *);
  void (*query_edges)(witness_block *);
  void (*query_face)(witness_block *);
  void (*query_distance)(distance_block *);
} manifold_kernels;

#endif
