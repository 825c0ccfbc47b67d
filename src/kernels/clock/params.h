/* params.h: what every stage is told: the model, the options in force, the pairs of shapes, and where each
 * field lies. No lane types, so that host code reads it too. */
#ifndef ABUT_PARAMS_H
#define ABUT_PARAMS_H
#include "kernels/tree/model.h"
#include "kernels/shape/sphere_tree.h"

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

typedef struct pair_info {
  pair_side side[2];        /* side 1 of a half-space has no points */
  int32_t mesh;             /* one of the sides is a mesh */
  int32_t off;              /* left out: the shapes overlap where the scene starts */
  double normal[3], offset; /* half-space: world normal, nu.x = offset on its surface */
  double friction;          /* >= 0: fixed; else the larger of the geoms' */
} pair_info;

/* Room for the kinds of pairs, the fields and the sets of lanes of any method; each checks that it fits. */
enum { MAX_KINDS = 8, MAX_WORK = 96, MAX_SLOT = 48, MAX_SETS = 16 };

/* Where fields lie, in lanes: k->work.at[WORK_name], k->slot.at[SLOT_name]. */
typedef struct field_layout {
  int32_t at[MAX_WORK];
  int32_t size;
} field_layout;

typedef struct step_params {
  const abut_model *model;
  const pair_info *pairs;
  int32_t kind_pair[MAX_KINDS + 1]; /* pairs kind_pair[i] .. kind_pair[i + 1] are of the method's kind i */
  const int32_t *path_adr, *path; /* dofs that move body b, root first: path[path_adr[b] .. path_adr[b+1]) */
  const int32_t
      *coupled; /* smallest dof that dof d meets in H without contacts: of its tree, or by elements */
  const int32_t *tendon_dofadr,
      *tendon_dof;           /* dofs that may change a tendon's length, ascending: tendon_dof[
                                tendon_dofadr[t] .. tendon_dofadr[t+1]); none: nothing acts on it */
  const double *geom_box;    /* bounding box of a geom in its body frame: center, half sizes (m), 6 each */
  const double *body_radius; /* largest distance of a body's points from its origin, radii included (m) */
  int64_t npt;               /* largest number of points of a pair */
  int64_t ntendondof;        /* entries of tendon_dof */
  abut_options options;      /* resolved */
  field_layout work, slot;
} step_params;

#endif
