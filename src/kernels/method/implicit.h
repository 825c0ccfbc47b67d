/* implicit.h: the implicit step's names, those of its terms, and what its lane groups have of their own. No
 * lane types, so that host code reads it too. */
#ifndef ABUT_IMPLICIT_H
#define ABUT_IMPLICIT_H
#include "kernels/term/terms.def"
#define METHOD_DEF "kernels/method/implicit.def"
#include "kernels/clock/names.h"

#define TERM_ID(x, name) TERM_##name,
enum { TERMS(TERM_ID, ) TERM_NUM };
#undef TERM_ID
static_assert((int)TERM_NUM <= MAX_KINDS, "room in clock/params.h");

enum { MAX_HALVINGS = 40 };

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

/* Long-range: each lane has two stores of `capacity` entries and planes: one for the lists of its iterate,
 * the other for those of a trial, which begin with the planes of the first. Room for one pair's sums. */
typedef struct far_group {
  far_list_state *state; /* [npair][LANES][2] */
  far_entry *pairs;
  void *plane, *rows; /* [LANES][2][capacity][FAR_PLANE], [capacity][FAR_ROW] */
  /* friction between meshes: marks of all pairs of a lane, where the planes of their first lists begin */
  far_mark_state *marked; /* [npair][LANES] */
  far_entry *mark_pairs;  /* [LANES][capacity] */
  void *marks;            /* [LANES][capacity][FAR_MARK] */
  int32_t capacity;
  int32_t now[MAX_LANES]; /* store of the iterate */
} far_group;

typedef struct implicit_group {
  int32_t *envelope;                /* first column of each row of H that may be non-zero */
  int32_t term_slot[MAX_KINDS + 1]; /* order[term_slot[t]] .. order[term_slot[t + 1]] are slots of term t */
  int32_t halvings[MAX_LANES];
  int32_t rounds[MAX_LANES]; /* of the separation at the start */
  double deepest[MAX_LANES]; /* what the culprit lacked (m) */
  far_group far;
} implicit_group;

#endif
