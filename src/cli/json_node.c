/* json_node.c: the checked reader of JSON objects. */
#include "cli.h"

#ifdef ABUT_HAVE_JANSSON
#include "json_node.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

int node_error(const json_node *from, const char *key, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return cli_error("%s: %s%s: %s", from->file, from->place, key, text);
}

/* What a value is, for messages. */
static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object", "an array", "a text", "a number",
                                      "a number",  "true",     "false",  "null"};
  return value ? names[json_typeof(value)] : "missing";
}

int node_parse(json_t **out, const char *file, const char *text, size_t size, size_t flags) {
  json_error_t error;
  *out = json_loadb(text, size, flags, &error);
  if (*out) return CLI_OK;
  if (strstr(error.text, "maximum parsing depth"))
    return cli_error("%s, line %d, column %d: nested deeper than 2,048 levels, the limit of the reader", file,
                     error.line, error.column);
  return cli_error("%s, line %d, column %d: %s", file, error.line, error.column, error.text);
}

int node_open(json_node *out, const char *file, const json_t *object) {
  *out = (json_node){.file = file, .object = object};
  if (!json_is_object(object)) return cli_error("%s: is %s, not an object", file, type_name(object));
  return CLI_OK;
}

int node_child(json_node *out, const json_node *from, const char *key, int64_t index) {
  const json_t *at = json_object_get(from->object, key);
  *out = (json_node){.file = from->file};
  if (index < 0) {
    snprintf(out->place, sizeof out->place, "%.100s%.40s.", from->place, key);
  } else {
    snprintf(out->place, sizeof out->place, "%.100s%.30s[%lld].", from->place, key, (long long)index);
    at = json_array_get(at, (size_t)index);
  }
  out->object = at;
  if (json_is_object(at)) return CLI_OK;
  return cli_error("%s: %.*s: is %s, not an object", from->file, (int)strlen(out->place) - 1, out->place,
                   type_name(at));
}

int node_keys(const json_node *from, const char *const *known) {
  for (void *at = json_object_iter((json_t *)from->object); at;
       at = json_object_iter_next((json_t *)from->object, at)) {
    const char *key = json_object_iter_key(at);
    const char *const *word = known;
    while (*word && strcmp(*word, key)) word++;
    if (!*word) return cli_error("%s: %s%.80s: unknown key", from->file, from->place, key);
  }
  return CLI_OK;
}

int node_has(const json_node *from, const char *key) { return json_object_get(from->object, key) != NULL; }

int node_needs(const json_node *from, const char *key) {
  return node_has(from, key) ? CLI_OK : node_error(from, key, "is missing");
}

static int check_number(const json_node *from, const char *key, number_kind kind, const json_t *at,
                        double *value) {
  static const char *const needs[] = {"", "of 0 or more", "above 0", "from 0 to below 1"};
  if (!json_is_number(at)) return node_error(from, key, "is %s, not a number", type_name(at));
  double x = json_number_value(at);
  if ((kind == NUMBER_NONNEGATIVE && x < 0) || (kind == NUMBER_POSITIVE && x <= 0) ||
      (kind == NUMBER_BELOW_ONE && (x < 0 || x >= 1)))
    return node_error(from, key, "is %g, must be a number %s", x, needs[kind]);
  if (!(fabs(x) <= NUMBER_MOST))
    return node_error(from, key, "is %g, must be at most %g in size", x, NUMBER_MOST);
  *value = x;
  return CLI_OK;
}

int node_number(const json_node *from, const char *key, number_kind kind, double *value) {
  const json_t *at = json_object_get(from->object, key);
  return at ? check_number(from, key, kind, at, value) : CLI_OK;
}

int node_integer(const json_node *from, const char *key, int64_t low, int64_t high, int64_t *value) {
  const json_t *at = json_object_get(from->object, key);
  if (!at) return CLI_OK;
  if (json_is_real(at))
    return node_error(from, key, "is %g, must be an integer from %lld to %lld, without point or exponent",
                      json_real_value(at), (long long)low, (long long)high);
  if (!json_is_integer(at)) return node_error(from, key, "is %s, not an integer", type_name(at));
  if (json_integer_value(at) < low || json_integer_value(at) > high)
    return node_error(from, key, "is %lld, must be from %lld to %lld", (long long)json_integer_value(at),
                      (long long)low, (long long)high);
  *value = json_integer_value(at);
  return CLI_OK;
}

int node_text(const json_node *from, const char *key, const char **value) {
  const json_t *at = json_object_get(from->object, key);
  if (!at) return CLI_OK;
  if (!json_is_string(at)) return node_error(from, key, "is %s, not a text", type_name(at));
  if (!json_string_length(at)) return node_error(from, key, "is empty");
  *value = json_string_value(at);
  return CLI_OK;
}

int node_choice(const json_node *from, const char *key, const char *const *words, int *value) {
  const char *text = NULL;
  char list[96] = "";
  int code = node_text(from, key, &text);
  if (code != CLI_OK || !text) return code;
  for (int i = 0; words[i]; i++) {
    if (!strcmp(text, words[i])) {
      *value = i;
      return CLI_OK;
    }
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  }
  return node_error(from, key, "is '%.40s', must be one of %s", text, list);
}

int node_numbers(const json_node *from, const char *key, number_kind kind, int low, int high, double *values,
                 int *count) {
  const json_t *at = json_object_get(from->object, key);
  if (!at) return CLI_OK;
  if (json_is_number(at) && low == 1) {
    *count = 1;
    return check_number(from, key, kind, at, values);
  }
  if (!json_is_array(at)) return node_error(from, key, "is %s, not an array of numbers", type_name(at));
  int64_t length = (int64_t)json_array_size(at);
  if (length < low || length > high)
    return node_error(from, key, "has %lld number%s, must have %d to %d", (long long)length, PLURAL(length),
                      low, high);
  int code = CLI_OK;
  for (int64_t i = 0; code == CLI_OK && i < length; i++) {
    char element[96];
    snprintf(element, sizeof element, "%.60s[%lld]", key, (long long)i);
    code = check_number(from, element, kind, json_array_get(at, (size_t)i), values + i);
  }
  *count = (int)length;
  return code;
}

int node_length(const json_node *from, const char *key, int64_t *length) {
  const json_t *at = json_object_get(from->object, key);
  if (!at) return node_needs(from, key);
  if (!json_is_array(at)) return node_error(from, key, "is %s, not an array", type_name(at));
  if (!json_array_size(at)) return node_error(from, key, "is empty");
  *length = (int64_t)json_array_size(at);
  return CLI_OK;
}

#endif
