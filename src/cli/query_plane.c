/* query_plane.c: plane queries as JSON. */
#include "query.h"
#ifdef ABUT_HAVE_JANSSON
#include "cli.h"
#include "json.h"
#include "query_json.h"
#include "abut/abut.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The queries and what they point to, in one block per query. */
typedef struct batch {
  size_t count;
  abut_plane_query *queries;
  abut_plane_result *results;
  double **owned; /* per query: a, b, radii, weights, plane, gradients */
} batch;

static int read_points(size_t element, const char *key, const json_t *object, double **next,
                       const double **points, int32_t *count) {
  const json_t *from = json_object_get(object, key);
  if (!from) return cli_error("query %zu: '%s' is missing", element, key);
  if (!json_is_array(from) || json_array_size(from) == 0)
    return cli_error("query %zu: '%s' is not an array of points", element, key);
  int code = query_numbers(element, key, from, 3, *next);
  *points = *next;
  *count = (int32_t)json_array_size(from);
  *next += 3 * json_array_size(from);
  return code;
}

/* An optional array of exactly count numbers, each above `above`. */
static int read_list(size_t element, const char *key, const json_t *object, size_t count, double above,
                     double **next, const double **list) {
  const json_t *from = json_object_get(object, key);
  if (!from || json_is_null(from)) return CLI_OK;
  if (!json_is_array(from) || json_array_size(from) != count)
    return cli_error("query %zu: '%s' is not an array of %zu number%s", element, key, count, PLURAL(count));
  int code = query_numbers(element, key, from, 1, *next);
  for (size_t i = 0; code == CLI_OK && i < count; i++)
    if (!((*next)[i] > above)) code = cli_error("query %zu: '%s'[%zu] is %g", element, key, i, (*next)[i]);
  *list = *next;
  *next += count;
  return code;
}

static int read_barrier(size_t element, const json_t *object, abut_plane_query *out) {
  const char *barrier = json_string_value(json_object_get(object, "barrier"));
  if (!barrier) return cli_error("query %zu: 'barrier' is missing or not a text", element);
  if (strcmp(barrier, "local") && strcmp(barrier, "inverse"))
    return cli_error("query %zu: 'barrier' is '%s', must be local or inverse", element, barrier);
  out->contact = strcmp(barrier, "local") ? ABUT_CONTACT_INVERSE : ABUT_CONTACT_LOCAL;
  out->reach = 1e-3;
  out->length = 1;
  if (out->contact == ABUT_CONTACT_LOCAL && !json_object_get(object, "s"))
    return cli_error("query %zu: 's' is missing", element);
  int code = query_positive(element, "s", object, &out->reach);
  if (code == CLI_OK) code = query_positive(element, "length", object, &out->length);
  if (code == CLI_OK && out->contact == ABUT_CONTACT_LOCAL && out->reach >= 1)
    code = cli_error("query %zu: 's' is %g, must be less than 1", element, out->reach);
  return code;
}

static int read_query(size_t element, const json_t *object, batch *out) {
  abut_plane_query *query = &out->queries[element];
  abut_plane_result *result = &out->results[element];
  if (!json_is_object(object)) return cli_error("query %zu: not an object", element);
  size_t na = json_array_size(json_object_get(object, "a")),
         nb = json_array_size(json_object_get(object, "b"));
  double *next = out->owned[element] = calloc(8 * (na + nb) + 4, sizeof *next);
  if (!next) return cli_error("query %zu: out of memory", element);
  int code = read_barrier(element, object, query);
  if (code == CLI_OK) code = read_points(element, "a", object, &next, &query->a, &query->na);
  if (code == CLI_OK) code = read_points(element, "b", object, &next, &query->b, &query->nb);
  if (code == CLI_OK) code = read_list(element, "radii_a", object, na, -DBL_MIN, &next, &query->radii_a);
  if (code == CLI_OK) code = read_list(element, "radii_b", object, nb, -DBL_MIN, &next, &query->radii_b);
  if (code == CLI_OK) code = read_list(element, "weights_a", object, na, 0, &next, &query->weights_a);
  if (code == CLI_OK) code = read_list(element, "weights_b", object, nb, 0, &next, &query->weights_b);
  if (code == CLI_OK) code = read_list(element, "plane", object, 4, -INFINITY, &next, &query->plane);
  result->grad_a = next;
  result->grad_b = next + 3 * na;
  return code;
}

static int read_batch(const json_t *from, batch *out) {
  out->count = json_array_size(from);
  out->queries = calloc(out->count + 1, sizeof *out->queries);
  out->results = calloc(out->count + 1, sizeof *out->results);
  out->owned = calloc(out->count + 1, sizeof *out->owned);
  if (!out->queries || !out->results || !out->owned) return cli_error("query: out of memory");
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < out->count; i++)
    code = read_query(i, json_array_get(from, i), out);
  return code;
}

static void free_batch(batch *out) {
  for (size_t i = 0; out->owned && i < out->count; i++) free(out->owned[i]);
  free(out->queries);
  free(out->results);
  free(out->owned);
}

static void print_result(json_writer *json, const abut_plane_query *query, const abut_plane_result *result) {
  static const char *const reasons[] = {"ok", "touching", "not converged"};
  emit_open(json, NULL, '{');
  emit_text(json, "status", reasons[result->status]);
  if (result->status == ABUT_QUERY_TOUCHING) {
    emit_null(json, "value");
    emit_null(json, "plane");
    emit_null(json, "grad_a");
    emit_null(json, "grad_b");
  } else {
    emit_number(json, "value", result->value);
    if (result->out_of_reach)
      emit_null(json, "plane");
    else
      emit_numbers(json, "plane", result->plane, 4);
    emit_rows(json, "grad_a", result->grad_a, query->na, 3);
    emit_rows(json, "grad_b", result->grad_b, query->nb, 3);
  }
  emit_integer(json, "iterations", result->iterations);
  emit_close(json, '}');
}

static int answer(const batch *in, int dtype) {
  if (abut_query_plane((int64_t)in->count, in->queries, in->results, dtype) != ABUT_OK)
    return cli_library_error();
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '[');
  for (size_t i = 0; i < in->count; i++) {
    print_result(&json, &in->queries[i], &in->results[i]);
    json.follows = 0;
    if (i + 1 < in->count) printf(",\n ");
  }
  emit_close(&json, ']');
  printf("\n");
  return cli_flush();
}

int query_plane_json(const json_t *input, int dtype) {
  batch queries = {0};
  int code = read_batch(input, &queries);
  if (code == CLI_OK) code = answer(&queries, dtype);
  free_batch(&queries);
  return code;
}

#endif
