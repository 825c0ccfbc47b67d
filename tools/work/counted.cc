/* counted.cc: the kernels over numbers that count (counted.h), compiled as C++, as nvcc compiles them, and
 * with a call before every access to memory (touched.c). */
#define ABUT_LANES 1
#define ABUT_COUNTED
#define ABUT_NO_LONGRANGE
#include <math.h>
#include "kernels/method/implicit_kernels.inl"
#include "kernels/items/items_table.h"
#include "kernels/items/query.inl"
#include "kernels/items/manifold.inl"
#include "kernels/items/bench.inl"

static int64_t contact_bytes(const manifold_params *p) {
  int64_t n = 0;
  for (int g = 0; g < MANIFOLD_GROUPS; g++) n += manifold_pad(manifold_group(p, g));
  return n * MANIFOLD_CONTACT * (int64_t)sizeof(elem);
}
static void counted_contacts(const manifold_params *p, manifold_job *job) {
  const tally_range ranges[] = {{job, sizeof *job}, {job->contacts, contact_bytes(p)}};
  tally_begin_manifold(ranges, 2);
  manifold_contacts(p, job);
  tally_end_manifold(TALLY_CONTACTS);
}
static void counted_contacts_vjp(const manifold_params *p, manifold_job *job) {
  const tally_range ranges[] = {{job, sizeof *job}, {job->bar, contact_bytes(p)}};
  tally_begin_manifold(ranges, 2);
  manifold_contacts_vjp(p, job);
  tally_end_manifold(TALLY_VJP);
}
static void counted_edges(witness_block *q) {
  const int64_t bytes = 3 * (int64_t)sizeof(elem) * q->packs;
  const tally_range ranges[] = {{q->r, bytes}, {q->t1, bytes}, {q->t2, bytes}, {q->out, bytes}};
  tally_begin_manifold(ranges, 4);
  query_edges(q);
  tally_end_manifold(TALLY_EDGES);
}
static void counted_distance(distance_block *q) {
  const int64_t bytes = sizeof(elem);
  const tally_range ranges[] = {{q->x, 3 * bytes}, {q->phi, bytes}, {q->normal, 3 * bytes}};
  tally_begin_manifold(ranges, 3);
  query_distance(q);
  tally_end_manifold(TALLY_DISTANCE);
}

#define STAGE(name)                                                                                          \
  static void counted_##name(const step_params *k, lane_group *g, program_io *io) {                          \
    tally_begin(k, g, io, sizeof(elem));                                                                     \
    stage_##name(k, g, io);                                                                                  \
    tally_end(STAGE_##name);                                                                                 \
  }
#define DECIDE(name) STAGE(name)
#include "kernels/clock/clock.def"
#define DECIDE(name) STAGE(name)
#include METHOD_DEF

static const stage_function stages[STAGE_NUM] = {
#define DECIDE(name) counted_##name,
#include "kernels/clock/clock.def"
#define STAGE(name) counted_##name,
#define DECIDE(name) counted_##name,
#include METHOD_DEF
};

#define NAME_(family, bits) counted_##family##_f##bits
#define NAME(family, bits) NAME_(family, bits)
const method_kernels NAME(kernels, ABUT_REAL) = {
    "counted",
    ABUT_LANES,
    sizeof(elem),
    stages,
};
const item_kernels NAME(items, ABUT_REAL) = {
    "counted",
    ABUT_LANES,
    sizeof(elem),
    query_plane,
    NULL,
    {sizeof(sdf_primitive), sdf_prepare, manifold_scratch, counted_contacts, counted_contacts_vjp, NULL, NULL,
     counted_edges, NULL, counted_distance},
    bench_plane,
};
