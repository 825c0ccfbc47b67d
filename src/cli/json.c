/* json.c: the JSON writer. */
#include "json.h"
#include <math.h>

static void write_text(FILE *stream, const char *text) {
  fputc('"', stream);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(stream, "\\%c", c);
    else if (c < 0x20)
      fprintf(stream, "\\u%04x", c);
    else
      fputc(c, stream);
  }
  fputc('"', stream);
}

static void begin_value(json_writer *json, const char *key) {
  if (json->follows) fputs(", ", json->stream);
  json->follows = 1;
  if (!key) return;
  write_text(json->stream, key);
  fputs(": ", json->stream);
}

void emit_open(json_writer *json, const char *key, char bracket) {
  begin_value(json, key);
  fputc(bracket, json->stream);
  json->follows = 0;
}

void emit_close(json_writer *json, char bracket) {
  fputc(bracket, json->stream);
  json->follows = 1;
}

void emit_number(json_writer *json, const char *key, double value) {
  begin_value(json, key);
  if (isfinite(value))
    fprintf(json->stream, "%.17g", value);
  else
    fputs("null", json->stream);
}

void emit_integer(json_writer *json, const char *key, int64_t value) {
  begin_value(json, key);
  fprintf(json->stream, "%lld", (long long)value);
}

void emit_text(json_writer *json, const char *key, const char *value) {
  begin_value(json, key);
  write_text(json->stream, value);
}

void emit_bool(json_writer *json, const char *key, int value) {
  begin_value(json, key);
  fputs(value ? "true" : "false", json->stream);
}

void emit_null(json_writer *json, const char *key) {
  begin_value(json, key);
  fputs("null", json->stream);
}

void emit_numbers(json_writer *json, const char *key, const double *values, int64_t count) {
  emit_open(json, key, '[');
  for (int64_t i = 0; i < count; i++) emit_number(json, NULL, values[i]);
  emit_close(json, ']');
}

void emit_rows(json_writer *json, const char *key, const double *values, int64_t rows, int64_t columns) {
  emit_open(json, key, '[');
  for (int64_t i = 0; i < rows; i++) emit_numbers(json, NULL, values + i * columns, columns);
  emit_close(json, ']');
}
