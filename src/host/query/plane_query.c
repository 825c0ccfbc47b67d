/* plane_query.c: contact queries without a simulation. Queries of one shape (same barrier and point counts)
 * fill the lanes of the pair kernel together. */
#include "host/base/kernels.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct query_memory {
  void *block; /* one allocation, carved below; 64-byte aligned */
  query_block q;
} query_memory;

/* Every number must lie in [-largest, largest], which NaN does not. */
static abut_status check_numbers(int64_t i, const char *name, const double *p, int64_t n, double largest) {
  for (int64_t j = 0; p && j < n; j++)
    if (!(fabs(p[j]) <= largest))
      return fail_with(ABUT_ERROR_ARGUMENT, "query %lld: %s[%lld] is %g, must lie within %g", (long long)i,
                       name, (long long)j, p[j], largest);
  return ABUT_OK;
}

/* The closest points are found with fourth powers of the points' distances, which must not overflow. */
static abut_status check_spread(int64_t i, const abut_plane_query *q, int32_t dtype) {
  double largest = dtype == ABUT_F64 ? 1e75 : 1e9;
  for (int axis = 0; axis < 3; axis++) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t j = 0; j < q->na + q->nb; j++) {
      int32_t k = j < q->na ? j : j - q->na;
      const double *x = j < q->na ? q->a : q->b, *radii = j < q->na ? q->radii_a : q->radii_b;
      double radius = radii ? radii[k] : 0;
      low = fmin(low, x[3 * k + axis] - radius);
      high = fmax(high, x[3 * k + axis] + radius);
    }
    if (!(high - low <= largest))
      return fail_with(ABUT_ERROR_ARGUMENT,
                       "query %lld: its shapes reach from %g to %g along axis %d, %g at most", (long long)i,
                       low, high, axis, largest);
  }
  return ABUT_OK;
}

static abut_status check(int64_t i, const abut_plane_query *q, int32_t dtype) {
#define BAD(...) return fail_with(ABUT_ERROR_ARGUMENT, "query " __VA_ARGS__)
  if (q->contact != ABUT_CONTACT_LOCAL && q->contact != ABUT_CONTACT_INVERSE)
    BAD("%lld: contact %d is not a plane barrier", (long long)i, q->contact);
  if (q->na < 1 || q->nb < 1)
    BAD("%lld: needs at least one point on each side, has %d and %d", (long long)i, q->na, q->nb);
  if (!q->a || !q->b) BAD("%lld: %s is NULL", (long long)i, q->a ? "b" : "a");
  /* kernels divide by both */
  double largest = dtype == ABUT_F64 ? DBL_MAX : FLT_MAX, least = dtype == ABUT_F64 ? 0 : FLT_MIN;
  if (!(q->length > least && q->length <= largest))
    BAD("%lld: length %g must lie in (%g, %g]", (long long)i, q->length, least, largest);
  if (q->contact == ABUT_CONTACT_LOCAL && !(q->reach > least && q->reach < 1))
    BAD("%lld: reach %g must lie in (%g, 1)", (long long)i, q->reach, least);
  ATTEMPT(check_numbers(i, "a", q->a, 3 * (int64_t)q->na, largest));
  ATTEMPT(check_numbers(i, "b", q->b, 3 * (int64_t)q->nb, largest));
  ATTEMPT(check_numbers(i, "radii_a", q->radii_a, q->na, largest));
  ATTEMPT(check_numbers(i, "radii_b", q->radii_b, q->nb, largest));
  ATTEMPT(check_numbers(i, "weights_a", q->weights_a, q->na, largest));
  ATTEMPT(check_numbers(i, "weights_b", q->weights_b, q->nb, largest));
  ATTEMPT(check_numbers(i, "plane", q->plane, 4, largest));
  for (int j = 0; j < q->na + q->nb; j++) {
    const double *r = j < q->na ? q->radii_a : q->radii_b, *w = j < q->na ? q->weights_a : q->weights_b;
    int m = j < q->na ? j : j - q->na;
    if (r && r[m] < 0) BAD("%lld: radius %g is negative", (long long)i, r[m]);
    if (w && !(w[m] > 0)) BAD("%lld: weight %g must be positive", (long long)i, w[m]);
  }
  return check_spread(i, q, dtype);
#undef BAD
}

/* Scalars of either type, by lane. */
static void put(const item_kernels *k, void *base, int64_t field, int lane, double x) {
  int64_t at = field * k->lanes + lane;
  if (k->elem_size == 8)
    ((double *)base)[at] = x;
  else
    ((float *)base)[at] = (float)x;
}
static double get(const item_kernels *k, const void *base, int64_t field, int lane) {
  int64_t at = field * k->lanes + lane;
  return k->elem_size == 8 ? ((const double *)base)[at] : (double)((const float *)base)[at];
}

static void fill_side(const item_kernels *k, void *to, int lane, int n, const double *x, const double *r,
                      const double *w) {
  for (int i = 0; i < n; i++) {
    for (int c = 0; c < 3; c++) put(k, to, 5 * i + c, lane, x[3 * i + c]);
    put(k, to, 5 * i + 3, lane, r ? r[i] : 0);
    put(k, to, 5 * i + 4, lane, w ? w[i] : 1);
  }
}

static abut_status memory_for(const item_kernels *k, const abut_plane_query *q, query_memory *m) {
  size_t row = (size_t)k->lanes * (size_t)k->elem_size, na = (size_t)q->na, nb = (size_t)q->nb;
  size_t rows = 5 * (na + nb) + 4 + 1 + 4 + 3 * (na + nb) + 1;
  m->block = aligned_alloc(64, (rows * row + 63) / 64 * 64);
  if (!m->block) return fail_with(ABUT_ERROR_MEMORY, "query of %d + %d points: out of memory", q->na, q->nb);
  memset(&m->q, 0, sizeof m->q);
  char *at = m->block;
  const void **in[] = {&m->q.a, &m->q.b, &m->q.plane};
  size_t in_rows[] = {5 * na, 5 * nb, 4};
  for (int i = 0; i < 3; i++) {
    *in[i] = at;
    at += in_rows[i] * row;
  }
  void **out[] = {&m->q.value, &m->q.plane_out, &m->q.grad_a, &m->q.grad_b, &m->q.iterations};
  size_t out_rows[] = {1, 4, 3 * na, 3 * nb, 1};
  for (int i = 0; i < 5; i++) {
    *out[i] = at;
    at += out_rows[i] * row;
  }
  m->q.barrier = q->contact;
  m->q.na = q->na;
  m->q.nb = q->nb;
  m->q.reach = q->reach;
  m->q.length = q->length;
  m->q.has_plane = q->plane != NULL;
  return ABUT_OK;
}

static int same_shape(const abut_plane_query *a, const abut_plane_query *b) {
  return a->contact == b->contact && a->na == b->na && a->nb == b->nb && a->length == b->length &&
         a->reach == b->reach && !a->plane == !b->plane;
}

static int finite_rows(const item_kernels *k, const void *rows, int64_t n, int lane) {
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(get(k, rows, i, lane))) return 0;
  return 1;
}
/* Shapes nearer than the real type can express (a force overflows) count as touching. */
static int apart_in(const item_kernels *k, const query_block *q, int lane) {
  return (q->separated & (1u << lane)) && finite_rows(k, q->value, 1, lane) &&
         finite_rows(k, q->plane_out, 4, lane) && finite_rows(k, q->grad_a, 3 * q->na, lane) &&
         finite_rows(k, q->grad_b, 3 * q->nb, lane);
}

static void read_result(const item_kernels *k, const query_block *q, int lane, const abut_plane_query *query,
                        abut_plane_result *r) {
  uint32_t bit = 1u << lane;
  memset(r->plane, 0, sizeof r->plane);
  r->iterations = (int32_t)get(k, q->iterations, 0, lane);
  r->out_of_reach = 0;
  r->value = INFINITY;
  r->status = ABUT_QUERY_TOUCHING;
  int apart = apart_in(k, q, lane);
  if (apart) {
    r->value = get(k, q->value, 0, lane);
    r->status = q->converged & bit ? ABUT_QUERY_OK : ABUT_QUERY_NOT_CONVERGED;
    r->out_of_reach = query->contact == ABUT_CONTACT_LOCAL && r->value == 0;
    for (int i = 0; i < 4 && !r->out_of_reach; i++) r->plane[i] = get(k, q->plane_out, i, lane);
  }
  for (int i = 0; r->grad_a && i < 3 * q->na; i++) r->grad_a[i] = apart ? get(k, q->grad_a, i, lane) : 0;
  for (int i = 0; r->grad_b && i < 3 * q->nb; i++) r->grad_b[i] = apart ? get(k, q->grad_b, i, lane) : 0;
}

abut_status abut_query_plane(int64_t count, const abut_plane_query *queries, abut_plane_result *results,
                             int32_t dtype) {
  if (count < 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "abut_query_plane: count %lld is negative", (long long)count);
  REQUIRE_POINTER(count == 0 || queries, "queries");
  REQUIRE_POINTER(count == 0 || results, "results");
  const item_kernels *k;
  ATTEMPT(item_kernels_for(dtype, &k));
  for (int64_t i = 0; i < count; i++) ATTEMPT(check(i, &queries[i], dtype));
  for (int64_t i = 0; i < count;) {
    int n = 1;
    while (n < k->lanes && i + n < count && same_shape(&queries[i], &queries[i + n])) n++;
    query_memory m;
    ATTEMPT(memory_for(k, &queries[i], &m));
    for (int lane = 0; lane < k->lanes; lane++) { /* spare lanes repeat the first query */
      const abut_plane_query *q = &queries[i + (lane < n ? lane : 0)];
      fill_side(k, (void *)m.q.a, lane, q->na, q->a, q->radii_a, q->weights_a);
      fill_side(k, (void *)m.q.b, lane, q->nb, q->b, q->radii_b, q->weights_b);
      for (int c = 0; q->plane && c < 4; c++) put(k, (void *)m.q.plane, c, lane, q->plane[c]);
    }
    k->query_plane(&m.q);
    for (int lane = 0; lane < n; lane++) read_result(k, &m.q, lane, &queries[i + lane], &results[i + lane]);
    free(m.block);
    i += n;
  }
  return ABUT_OK;
}
