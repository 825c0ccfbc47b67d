/* manifold_items.inl: items of one pair of poses in lanes and dealt out to a team: loads, gathers, lists, and
 * sums over them that depend neither on the width nor on the team: 32 partial sums by item number. */
#include "kernels/items/manifold_view.h"
#include "kernels/shape/edges.inl"
#include "kernels/shape/sdf.inl"

enum { SLOTS = 32 };
#define MANIFOLD_POINT 1e-20 /* distances below have no direction: what is divided by them is 0 */

FN real load(const elem *a, int i) { return *(const real *)(a + i); }
FN void store(elem *a, int i, real x) { *(real *)(a + i) = x; }
FN vec3 load_vec(const elem *a, int stride, int i) {
  return vec(load(a, i), load(a + stride, i), load(a + 2 * stride, i));
}
FN void store_vec(elem *a, int stride, int i, vec3 v) {
  store(a, i, v.x);
  store(a + stride, i, v.y);
  store(a + 2 * stride, i, v.z);
}
FN void add_to(elem *a, int i, real x) { store(a, i, load(a, i) + x); }
FN void add_vec_to(elem *a, int stride, int i, vec3 v) {
  store_vec(a, stride, i, add(load_vec(a, stride, i), v));
}
/* a[index[i]] of lanes' items i .. ; past the end the last one's */
FN real gather(const elem *a, const int32_t *index, int i, int n) {
  union {
    real x;
    elem e[ABUT_LANES];
  } u;
  for (int l = 0; l < ABUT_LANES; l++) u.e[l] = a[index[i + l < n ? i + l : n - 1]];
  return u.x;
}
FN vec3 gather_vec(const elem *a, int stride, const int32_t *index, int i, int n) {
  return vec(gather(a, index, i, n), gather(a + stride, index, i, n), gather(a + 2 * stride, index, i, n));
}
FN void scatter(elem *a, const int32_t *index, int i, int n, real x) {
  union {
    real x;
    elem e[ABUT_LANES];
  } u;
  u.x = x;
  for (int l = 0; l < ABUT_LANES && i + l < n; l++) a[index[i + l]] = u.e[l];
}
FN void scatter_vec(elem *a, int stride, const int32_t *index, int i, int n, vec3 v) {
  scatter(a, index, i, n, v.x);
  scatter(a + stride, index, i, n, v.y);
  scatter(a + 2 * stride, index, i, n, v.z);
}
/* lanes' items i .. that exist */
FN mask exists(int i, int n) { return mask_from_bits(n - i >= ABUT_LANES ? ALL_LANES : (1u << (n - i)) - 1); }
FN int all_zero(real a) { return !any(gt(rabs(a), zero())); }
FN int vec_zero_everywhere(vec3 a) { return all_zero(max_abs(a)); }

#define ITEMS(i, n) for (int i = TEAM_RANK * ABUT_LANES; i < (n); i += ABUT_TEAM * ABUT_LANES)

/* partial sums of item i's lanes go to sums[...][i % SLOTS] */
FN void add_slots(elem *sums, int i, real x) { add_to(sums, i % SLOTS, x); }
FN void add_slots_vec(elem *sums, int i, vec3 v) {
  add_slots(sums, i, v.x);
  add_slots(sums + SLOTS, i, v.y);
  add_slots(sums + 2 * SLOTS, i, v.z);
}
KERNEL double sum_slots(const elem *sums) {
  double part[SLOTS];
  for (int i = 0; i < SLOTS; i++) part[i] = (double)sums[i];
  for (int half = SLOTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

/* What a team's threads tell each other. */
typedef struct team_board {
  int32_t count[SLOTS];
  elem least[SLOTS], most[SLOTS];
} team_board;
/* The sum of every thread's number; *before: of those of lower rank. */
FN int team_sum(team_board *board, int mine, int *before) {
  *before = 0;
  if (ABUT_TEAM == 1) return mine;
  board->count[TEAM_RANK] = mine;
  TEAM_SYNC();
  int sum = 0;
  for (int i = 0; i < ABUT_TEAM; i++) {
    if (i == TEAM_RANK) *before = sum;
    sum += board->count[i];
  }
  TEAM_SYNC();
  return sum;
}

/* How a[i] stands to x. */
enum { BELOW, EQUAL, ABOVE };
FN int stands(elem a, int how, elem x) { return how == BELOW ? a < x : how == EQUAL ? a == x : a > x; }
/* Indices i of [0, n) whose a[i] stands so to x, in order, the first `most` of them; returns how many. */
FN int list_those(const elem *a, int n, int how, elem x, int most, int32_t *list, team_board *board) {
  int from = (int)((int64_t)n * TEAM_RANK / ABUT_TEAM), to = (int)((int64_t)n * (TEAM_RANK + 1) / ABUT_TEAM);
  int mine = 0, at, total;
  for (int i = from; ABUT_TEAM > 1 && i < to; i++) mine += stands(a[i], how, x);
  total = team_sum(board, mine, &at);
  for (int i = from; i < to && at < most; i++)
    if (stands(a[i], how, x)) list[at++] = i;
  if (ABUT_TEAM == 1) return at;
  TEAM_SYNC();
  return total < most ? total : most;
}
