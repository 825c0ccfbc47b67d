/* query_json.c: pieces of a JSON query. */
#ifdef ABUT_HAVE_JANSSON
#include "query_json.h"
#include "cli.h"

int query_numbers(size_t element, const char *key, const json_t *from, size_t columns, double *out) {
  size_t i;
  const json_t *row;
  json_array_foreach(from, i, row) {
    if (columns == 1 && json_is_number(row)) {
      out[i] = json_number_value(row);
      continue;
    }
    if (columns == 1) return cli_error("query %zu: '%s'[%zu] is not a number", element, key, i);
    if (json_array_size(row) != columns)
      return cli_error("query %zu: '%s'[%zu] is not %zu numbers", element, key, i, columns);
    for (size_t k = 0; k < columns; k++) {
      const json_t *value = json_array_get(row, k);
      if (!json_is_number(value))
        return cli_error("query %zu: '%s'[%zu][%zu] is not a number", element, key, i, k);
      out[i * columns + k] = json_number_value(value);
    }
  }
  return CLI_OK;
}

int query_positive(size_t element, const char *key, const json_t *object, double *value) {
  const json_t *from = json_object_get(object, key);
  if (!from) return CLI_OK;
  if (!json_is_number(from)) return cli_error("query %zu: '%s' is not a number", element, key);
  *value = json_number_value(from);
  return *value > 0 ? CLI_OK
                    : cli_error("query %zu: '%s' is %g, must be greater than 0", element, key, *value);
}

#else
typedef int query_json_needs_jansson;
#endif
