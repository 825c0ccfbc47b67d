/* fields.h: how stages find the fields of their lane group, by name: W(name) of an environment, SLOT_AT(s,
 * name) of slot s, SET(name) a set of lanes. Before it comes the header of the method that is compiled, which
 * has the names. */
#ifndef ABUT_FIELDS_H
#define ABUT_FIELDS_H
#include "kernels/lane/team.h"

#define W(name) (w + (intptr_t)k->work.at[WORK_##name] * LANE_STRIDE)
#define SLOT_AT(s, name) (slots + ((intptr_t)(s)*k->slot.size + k->slot.at[SLOT_##name]) * LANE_STRIDE)
#define SET(name) (g->set[SET_##name])
/* What W and SLOT_AT need in a stage, and the lanes it works for. */
#define STAGE_LOCALS                                                                                         \
  __attribute__((unused)) real *w = (real *)g->work, *slots = (real *)g->slots;                              \
  __attribute__((unused)) mask live = mask_from_bits(g->live);

/* Entry i of a field, of one lane. */
#define LANE(p, i, lane) (((elem *)(p))[(intptr_t)(i)*ABUT_LANES * LANE_STRIDE + (lane)])
#define LANE_LOOP(lane, lanes)                                                                               \
  for (int lane = 0; lane < ABUT_LANES; lane++)                                                              \
    if ((lanes) >> lane & 1u)

/* Copies n entries of one environment into, or out of, a lane's field. */
FN void lane_load(real *field, int lane, int n, const elem *from) {
  for (int i = 0; i < n; i++) LANE(field, i, lane) = from[i];
}
FN void lane_store(const real *field, int lane, int n, elem *to) {
  for (int i = 0; i < n; i++) to[i] = LANE(field, i, lane);
}
FN void lane_zero(real *field, int lane, int n) {
  for (int i = 0; i < n; i++) LANE(field, i, lane) = 0;
}
FN int elem_finite(elem x) { return x - x == 0; }

/* Of all lanes at once, where on. */
FN void copy_sel(real *to, const real *from, int n, mask on) {
  for (int i = 0; i < n; i++) AT(to, i) = sel(on, AT(from, i), AT(to, i));
}
FN void fill(real *p, int n, real v) {
  for (int i = 0; i < n; i++) AT(p, i) = v;
}

#endif
