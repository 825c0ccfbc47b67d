/* params.h: what every stage is told: the model, the options in force, and where each field lies. No lane
 * types, so that host code reads it too. */
#ifndef ABUT_PARAMS_H
#define ABUT_PARAMS_H
#include "host/model/model.h"
#include "kernels/shape/sphere_tree.h"

/* Offsets of fields, in lanes. */
typedef struct work_layout {
#define WORK(name, count) int32_t name;
#include "kernels/method/fields.def"
  int32_t size;
} work_layout;
typedef struct slot_layout {
#define SLOT(name, count) int32_t name;
#include "kernels/method/fields.def"
  int32_t size;
} slot_layout;

/* One side of a pair as stages see it. */
typedef struct pair_side {
  int32_t geom, body;
  int32_t moves; /* the body's pose depends on qpos */
  int32_t pointnum;
  const double *points; /* pointnum x 3, body frame (m) */
  double radius, weight;
  tree_view tree; /* long-range: of the geom's triangles */
  double area;    /* the geom's share of its body's area */
  double reach;   /* radius of the tree's root (m) */
} pair_side;

enum { FAR_NOT, FAR_CONVEX, FAR_MESH };
typedef struct pair_info {
  pair_side side[2]; /* side 1 of a half-space has no points */
  int32_t halfspace;
  int32_t far;              /* FAR_*: long-range, between trees, without a plane of its own */
  double normal[3], offset; /* half-space: world normal, nu.x = offset on its surface */
  double friction;          /* >= 0: fixed; else the larger of the geoms' */
} pair_info;

typedef struct step_params {
  const abut_model *model;
  const pair_info *pairs;
  const int32_t *path_adr, *path; /* dofs that move body b, root first: path[path_adr[b] .. path_adr[b+1]) */
  const double *geom_box;    /* bounding box of a geom in its body frame: center, half sizes (m), 6 each */
  const double *body_radius; /* largest distance of a body's points from its origin, radii included (m) */
  int32_t barrier;           /* BARRIER_* */
  int32_t vertex_friction;
  int32_t nested; /* solve every plane to the end at each pose (reference) */
  int32_t max_iterations;
  int32_t npt;
  int32_t far, weighted; /* long-range: some pair is; ABUT_FORM_WEIGHTED */
  double epsilon;        /* long-range: width of the blend */
  double dt, reach, length, slip, spin_radius, tolerance;
  double gap0, max_separation; /* of shapes that touch at the start (m) */
  work_layout at;
  slot_layout slot_at;
} step_params;

enum { MAX_LANES = 16, MAX_HALVINGS = 40 };

/* The list of one long-range pair in one lane. */
typedef struct far_list_state {
  double r[9], x[3];          /* pose of B in A's frame for which it was made */
  int32_t first, num, leaves; /* entries in its store; pairs of triangles */
  int32_t plane;              /* first of their planes there */
} far_list_state;

/* Friction's marks of one long-range pair in one lane, since the step's start. */
typedef struct far_mark_state {
  int32_t first, num;
} far_mark_state;

/* W environments in flight in one team. Masks are bit sets over lanes. */
typedef struct lane_group {
  void *work;  /* [work.size][LANES] */
  void *slots; /* [capacity][slot.size][LANES] */
  int32_t nslot, capacity;
  int32_t *order;     /* slots by ascending pair: the order of every sum */
  int32_t *slot_pair; /* pair of each slot, -1: unused */
  uint32_t *slot_on;  /* lanes that have this pair */
  uint32_t
      *slot_new; /* of them, lanes whose plane must be started; start leaves those whose shapes overlap */
  int32_t *pair_slot;  /* slot of each pair, -1 */
  uint32_t *pair_want; /* broad phase: lanes whose boxes overlap */
  /* long-range: each lane has two stores of far_capacity entries and planes: one for the lists of its
   * iterate, the other for those of a trial, which begin with the planes of the first. Room for one pair's
   * sums */
  far_list_state *far; /* [npair][LANES][2] */
  far_entry *far_pairs;
  void *far_plane, *far_rows; /* [LANES][2][far_capacity][FAR_PLANE], [far_capacity][FAR_ROW] */
  /* friction between meshes: marks of all pairs of a lane, where the planes of their first lists begin */
  far_mark_state *far_marked; /* [npair][LANES] */
  far_entry *far_mark_pairs;  /* [LANES][far_capacity] */
  void *far_marks;            /* [LANES][far_capacity][FAR_MARK] */
  int32_t far_capacity;
  int32_t far_now[MAX_LANES]; /* store of the iterate */
  int32_t *envelope;          /* first column of each row of H that may be non-zero */
  /* what the next stage works for, and what the last ones found */
  uint32_t live;
  uint32_t accepted, converged, exhausted, indefinite, leaving;
  /* where lanes are (rollout.inl, gradient.inl) */
  uint32_t separating, opening, beginning, iterating, searching, finishing;
  uint32_t again;                          /* iterating lanes that evaluate the same iterate again */
  uint32_t stuck;                          /* iterating lanes whose line search found nothing */
  int64_t env[MAX_LANES], step[MAX_LANES]; /* env -1: idle */
  int32_t iterations[MAX_LANES], halvings[MAX_LANES];
  int64_t newton[MAX_LANES]; /* iterations of the environment so far, over its steps */
  int32_t newton_max[MAX_LANES], unconverged[MAX_LANES];
  uint32_t status[MAX_LANES];
  /* separation at the start (separate.inl) */
  int32_t rounds[MAX_LANES], culprit[MAX_LANES];
  double moved[MAX_LANES], deepest[MAX_LANES];
} lane_group;

#endif
