/* query_longrange.c: long-range queries as JSON. */
#ifdef ABUT_HAVE_JANSSON
#include "abut/abut.h"
#include "cli.h"
#include "json.h"
#include "query_json.h"
#include <stdlib.h>
#include <string.h>

/* What one query points to. */
typedef struct owned {
  double *vertices[2];
  int32_t *triangles[2];
  int32_t (*tree[2])[2];
} owned;

typedef struct batch {
  size_t count;
  abut_longrange_query *queries;
  abut_longrange_result *results;
  owned *owned;
} batch;

static int read_triangles(size_t element, const char *key, const json_t *from, int64_t vertices,
                          int32_t **out, int64_t *count) {
  char name[32];
  snprintf(name, sizeof name, "%s.triangles", key);
  size_t n = json_array_size(from);
  double *rows = calloc(3 * n + 1, sizeof *rows);
  *out = calloc(3 * n + 1, sizeof **out);
  *count = (int64_t)n;
  if (!rows || !*out) {
    free(rows);
    return cli_error("query %zu: out of memory", element);
  }
  int code = query_numbers(element, name, from, 3, rows);
  for (size_t i = 0; code == CLI_OK && i < 3 * n; i++) {
    if (!(rows[i] >= 0 && rows[i] < INT32_MAX) || rows[i] != (int32_t)rows[i])
      code = cli_error("query %zu: '%s'[%zu] has vertex %g, must be an integer from 0 to %lld", element, name,
                       i / 3, rows[i], (long long)vertices - 1);
    else
      (*out)[i] = (int32_t)rows[i];
  }
  free(rows);
  return code;
}

/* Nested pairs of triangle numbers, without recursion: pair k of the result came from nodes[k]. */
static int read_tree(size_t element, const char *key, const json_t *from, size_t triangles, owned *o,
                     int side, int32_t *count) {
  if (triangles == 1 && json_is_integer(from)) { /* a single leaf has no pairs */
    if (json_integer_value(from) != 0)
      return cli_error("query %zu: '%s'.tree has triangle %lld, there are 1", element, key,
                       (long long)json_integer_value(from));
    from = NULL;
  }
  const json_t **nodes = calloc(triangles + 1, sizeof *nodes);
  o->tree[side] = calloc(triangles + 1, sizeof *o->tree[side]);
  if (!nodes || !o->tree[side]) {
    free(nodes);
    return cli_error("query %zu: out of memory", element);
  }
  int code = CLI_OK;
  size_t num = 0;
  if (from) nodes[num++] = from;
  for (size_t i = 0; code == CLI_OK && i < num; i++) {
    if (json_array_size(nodes[i]) != 2)
      code = cli_error("query %zu: '%s'.tree: node %zu is not a pair", element, key, i);
    for (size_t j = 0; code == CLI_OK && j < 2; j++) {
      const json_t *child = json_array_get(nodes[i], j);
      json_int_t triangle = json_integer_value(child);
      if (json_is_array(child) && num < triangles) {
        o->tree[side][i][j] = ~(int32_t)num;
        nodes[num++] = child;
      } else if (json_is_integer(child) && triangle >= 0 && triangle < (json_int_t)triangles) {
        o->tree[side][i][j] = (int32_t)triangle;
      } else if (json_is_integer(child)) {
        code = cli_error("query %zu: '%s'.tree has triangle %lld, there are %zu", element, key,
                         (long long)triangle, triangles);
      } else {
        code =
            cli_error("query %zu: '%s'.tree: a node is neither a pair nor a triangle, or there are too many",
                      element, key);
      }
    }
  }
  free(nodes);
  *count = (int32_t)num;
  return code;
}

static int read_body(size_t element, const char *key, const json_t *object, owned *o, int side,
                     abut_triangles *out) {
  const json_t *body = json_object_get(object, key), *vertices = json_object_get(body, "vertices"),
               *triangles = json_object_get(body, "triangles"), *tree = json_object_get(body, "tree");
  if (!json_is_object(body)) return cli_error("query %zu: '%s' is missing or not an object", element, key);
  if (!json_is_array(vertices)) return cli_error("query %zu: '%s'.vertices is not an array", element, key);
  if (!json_is_array(triangles)) return cli_error("query %zu: '%s'.triangles is not an array", element, key);
  out->nvertex = (int64_t)json_array_size(vertices);
  out->vertices = o->vertices[side] = calloc(3 * json_array_size(vertices) + 1, sizeof *o->vertices[side]);
  if (!out->vertices) return cli_error("query %zu: out of memory", element);
  char name[32];
  snprintf(name, sizeof name, "%s.vertices", key);
  int code = query_numbers(element, name, vertices, 3, o->vertices[side]);
  if (code == CLI_OK)
    code = read_triangles(element, key, triangles, out->nvertex, &o->triangles[side], &out->ntriangle);
  out->triangles = o->triangles[side];
  if (code == CLI_OK && tree) {
    code = read_tree(element, key, tree, json_array_size(triangles), o, side, &out->ntree);
    out->tree = (const int32_t(*)[2])o->tree[side];
  }
  return code;
}

static int read_query(size_t element, const json_t *object, abut_longrange_query *query, owned *o) {
  if (!json_is_object(object)) return cli_error("query %zu: not an object", element);
  const json_t *form = json_object_get(object, "form");
  const char *name = form ? json_string_value(form) : "paper";
  if (!name) return cli_error("query %zu: 'form' is not a text, must be paper or weighted", element);
  query->epsilon = 0.5;
  query->length = 1;
  query->form = ABUT_FORM_PAPER;
  if (!strcmp(name, "weighted"))
    query->form = ABUT_FORM_WEIGHTED;
  else if (strcmp(name, "paper"))
    return cli_error("query %zu: 'form' is '%s', must be paper or weighted", element, name);
  int code = query_positive(element, "epsilon", object, &query->epsilon);
  if (code == CLI_OK) code = query_positive(element, "length", object, &query->length);
  if (code == CLI_OK) code = read_body(element, "a", object, o, 0, &query->a);
  if (code == CLI_OK) code = read_body(element, "b", object, o, 1, &query->b);
  return code;
}

static void print_result(json_writer *json, const abut_longrange_result *r) {
  int ok = r->status == ABUT_QUERY_OK;
  emit_open(json, NULL, '{');
  emit_text(json, "status", ok ? "ok" : "touching");
  if (ok) {
    emit_number(json, "value", r->value);
    emit_numbers(json, "twist_gradient_a", r->twist_gradient, 6);
    emit_rows(json, "twist_hessian_a", r->twist_hessian, 6, 6);
    emit_number(json, "gap", r->gap);
  } else {
    emit_null(json, "value");
    emit_null(json, "twist_gradient_a");
    emit_null(json, "twist_hessian_a");
    emit_null(json, "gap");
  }
  emit_integer(json, "exact_pairs", r->exact_pairs);
  emit_integer(json, "centred_pairs", r->centred_pairs);
  emit_integer(json, "visits", r->visits);
  emit_close(json, '}');
}

static int answer(const batch *in, int dtype) {
  if (abut_query_longrange((int64_t)in->count, in->queries, in->results, dtype) != ABUT_OK)
    return cli_library_error();
  json_writer json = {.stream = stdout};
  emit_open(&json, NULL, '[');
  for (size_t i = 0; i < in->count; i++) {
    print_result(&json, &in->results[i]);
    json.follows = 0;
    if (i + 1 < in->count) printf(",\n ");
  }
  emit_close(&json, ']');
  printf("\n");
  return cli_flush();
}

int query_longrange_json(const json_t *input, int dtype) {
  batch b = {.count = json_array_size(input)};
  b.queries = calloc(b.count + 1, sizeof *b.queries);
  b.results = calloc(b.count + 1, sizeof *b.results);
  b.owned = calloc(b.count + 1, sizeof *b.owned);
  int code = b.queries && b.results && b.owned ? CLI_OK : cli_error("query: out of memory");
  for (size_t i = 0; code == CLI_OK && i < b.count; i++)
    code = read_query(i, json_array_get(input, i), &b.queries[i], &b.owned[i]);
  if (code == CLI_OK) code = answer(&b, dtype);
  for (size_t i = 0; b.owned && i < b.count; i++)
    for (int side = 0; side < 2; side++) {
      free(b.owned[i].vertices[side]);
      free(b.owned[i].triangles[side]);
      free(b.owned[i].tree[side]);
    }
  free(b.queries);
  free(b.results);
  free(b.owned);
  return code;
}

#else
typedef int query_longrange_needs_jansson;
#endif
