/* longrange_none.inl: in place of longrange.inl for what counts the work of kernels (tools/work), on scenes
 * that have no such pairs. */

enum { longrange_dealt = 0 };
FN int longrange_prepare(const step_params *k, lane_group *g, program_io *io, int when) {
  (void)k, (void)g, (void)io, (void)when;
  return 1;
}
FN mask longrange_meets(const pair_info *pair, const real *a, const real *b) {
  return hull_meets(pair, a, b);
}
FN uint32_t longrange_start(const step_params *k, lane_group *g, int s, mask fresh) {
  (void)k, (void)g, (void)s, (void)fresh;
  return 0;
}
FN uint32_t longrange_try(const step_params *k, lane_group *g, int s, mask on, uint32_t failed) {
  (void)k, (void)g, (void)s, (void)on;
  return failed;
}
FN void longrange_evaluate(const step_params *k, lane_group *g, int s, mask on, int all_on, int exact) {
  (void)k, (void)g, (void)s, (void)on, (void)all_on, (void)exact;
}
FN void longrange_begin(const step_params *k, lane_group *g, int s, mask on, int exact) {
  (void)k, (void)g, (void)s, (void)on, (void)exact;
}
FN void longrange_gap(const step_params *k, lane_group *g, int s, mask on) {
  (void)k, (void)g, (void)s, (void)on;
}
FN void longrange_direction(const step_params *k, lane_group *g, int s, mask on) {
  (void)k, (void)g, (void)s, (void)on;
}
FN void longrange_accept(const step_params *k, lane_group *g, int s, mask on) {
  (void)k, (void)g, (void)s, (void)on;
}
FN void longrange_vjp(const step_params *k, lane_group *g, int s, mask on) {
  (void)k, (void)g, (void)s, (void)on;
}
