/* longrange_query.c: long-range queries: two trees, then the kernel, with room that grows until it is enough.
 */
#include "host/base/kernels.h"
#include "host/shape/sphere_tree_build.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256, ROW = 28 };

/* Squares of lengths and products of a few must stay in the range of the type: what overflows in the kernel
 * could not be told from surfaces that cross. */
static abut_status check_coordinates(int64_t i, const char *name, const abut_triangles *t, int32_t dtype) {
  double largest = dtype == ABUT_F64 ? 1e60 : 1e9;
  for (int64_t j = 0; j < 3 * t->nvertex; j++)
    if (fabs(t->vertices[j]) > largest) /* NaN is told where the tree is built */
      return fail_with(ABUT_ERROR_ARGUMENT, "query %lld: %s: vertex %lld has a coordinate of %g, %g at most",
                       (long long)i, name, (long long)j / 3, t->vertices[j], largest);
  return ABUT_OK;
}

static abut_status check(int64_t i, const abut_longrange_query *q, int32_t dtype) {
#define BAD(...) return fail_with(ABUT_ERROR_ARGUMENT, "query " __VA_ARGS__)
  if (!(q->epsilon > 0 && q->epsilon <= 100))
    BAD("%lld: epsilon %g must lie in (0, 100]", (long long)i, q->epsilon);
  double longest = dtype == ABUT_F64 ? 1e30 : 1e6; /* see check_coordinates */
  if (!(q->length >= 1 / longest && q->length <= longest))
    BAD("%lld: length %g must lie in [%g, %g]", (long long)i, q->length, 1 / longest, longest);
  if (q->form != ABUT_FORM_WEIGHTED && q->form != ABUT_FORM_PAPER)
    BAD("%lld: form %d is unknown", (long long)i, q->form);
  for (int j = 0; j < 2; j++) {
    const abut_triangles *t = j ? &q->b : &q->a;
    if (!t->vertices || !t->triangles)
      BAD("%lld: %s has no %s", (long long)i, j ? "b" : "a", t->vertices ? "triangles" : "vertices");
    ATTEMPT(check_coordinates(i, j ? "b" : "a", t, dtype));
  }
#undef BAD
  return ABUT_OK;
}

static abut_status build_tree(int64_t i, const char *name, const abut_triangles *t, sphere_tree *tree) {
  sphere_tree_shape shape = {t->tree, t->ntree};
  abut_status status =
      sphere_tree_build(t->vertices, t->nvertex, t->triangles, t->ntriangle, t->tree ? &shape : NULL, tree);
  if (status == ABUT_OK) return status;
  char why[256];
  snprintf(why, sizeof why, "%s", abut_error_message());
  return fail_with(status == ABUT_ERROR_MODEL ? ABUT_ERROR_ARGUMENT : status, "query %lld: %s: %s",
                   (long long)i, name, why);
}

/* Runs the kernel, with twice the room as long as it asks for more. */
static abut_status run(const item_kernels *k, longrange_block *block) {
  for (block->capacity = FIRST_CAPACITY;; block->capacity *= 2) {
    size_t n = (size_t)block->capacity;
    free(block->entry);
    free(block->rows);
    block->entry = malloc(n * sizeof *block->entry);
    block->rows = malloc(n * ROW * (size_t)k->elem_size);
    if (!block->entry || !block->rows)
      return fail_with(ABUT_ERROR_MEMORY, "no memory for %zu pairs of nodes", n);
    k->query_longrange(block);
    if (block->fits) return ABUT_OK;
    if (block->capacity > INT32_MAX / 2)
      return fail_with(ABUT_ERROR_MEMORY, "more than %zu pairs of nodes", n);
  }
}

/* Hessian of (rotation, translation): rotation block, then mixed (rotation rows), then translation. */
static void read_hessian(const double *h, double out[36]) {
  static const int lower[3][3] = {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      out[6 * i + j] = h[lower[i][j]];
      out[6 * i + 3 + j] = out[6 * (3 + j) + i] = h[6 + 3 * i + j];
      out[6 * (3 + i) + 3 + j] = h[15 + lower[i][j]];
    }
}

static abut_status answer(const item_kernels *k, int64_t i, const abut_longrange_query *q,
                          abut_longrange_result *r) {
  sphere_tree tree[2] = {{0}};
  longrange_block block = {
      .epsilon = q->epsilon, .length = q->length, .weighted = q->form == ABUT_FORM_WEIGHTED};
  block.order = 2;
  abut_status status = build_tree(i, "a", &q->a, &tree[0]);
  if (status == ABUT_OK) status = build_tree(i, "b", &q->b, &tree[1]);
  for (int j = 0; j < 2; j++) block.tree[j] = sphere_tree_view(&tree[j]);
  if (status == ABUT_OK) status = run(k, &block);
  if (status == ABUT_OK) {
    int finite = 1;
    for (int c = 0; c < ROW; c++) finite &= isfinite(block.row[c]) != 0;
    memset(r, 0, sizeof *r);
    r->status = block.touching || !finite ? ABUT_QUERY_TOUCHING : ABUT_QUERY_OK;
    r->exact_pairs = block.exact;
    r->centred_pairs = block.centred;
    r->visits = block.visits;
    r->value = INFINITY;
    if (r->status == ABUT_QUERY_OK) {
      r->value = block.row[0];
      r->gap = block.gap;
      memcpy(r->twist_gradient, block.row + 1, sizeof r->twist_gradient);
      read_hessian(block.row + 7, r->twist_hessian);
    }
  }
  free(block.entry);
  free(block.rows);
  sphere_tree_free(&tree[0]);
  sphere_tree_free(&tree[1]);
  return status;
}

abut_status abut_query_longrange(int64_t count, const abut_longrange_query *queries,
                                 abut_longrange_result *results, int32_t dtype) {
  if (count < 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "abut_query_longrange: count %lld is negative", (long long)count);
  REQUIRE_POINTER(count == 0 || queries, "queries");
  REQUIRE_POINTER(count == 0 || results, "results");
  const item_kernels *k;
  ATTEMPT(item_kernels_for(dtype, &k));
  for (int64_t i = 0; i < count; i++) ATTEMPT(check(i, &queries[i], dtype));
  for (int64_t i = 0; i < count; i++) ATTEMPT(answer(k, i, &queries[i], &results[i]));
  return ABUT_OK;
}
