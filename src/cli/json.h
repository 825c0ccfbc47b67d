/* json.h: writes one JSON value to a stream, piece by piece. */
#ifndef ABUT_CLI_JSON_H
#define ABUT_CLI_JSON_H
#include <stdint.h>
#include <stdio.h>

typedef struct json_writer {
  FILE *stream;
  int follows; /* the next value needs a comma before it */
} json_writer;

/* key: the member's name inside an object, NULL inside an array and at the top. */
void emit_open(json_writer *json, const char *key, char bracket);
void emit_close(json_writer *json, char bracket);
/* 17 significant digits; null where not finite. */
void emit_number(json_writer *json, const char *key, double value);
void emit_integer(json_writer *json, const char *key, int64_t value);
void emit_text(json_writer *json, const char *key, const char *value);
void emit_bool(json_writer *json, const char *key, int value);
void emit_null(json_writer *json, const char *key);
/* [count]; [rows] of [columns]. */
void emit_numbers(json_writer *json, const char *key, const double *values, int64_t count);
void emit_rows(json_writer *json, const char *key, const double *values, int64_t rows, int64_t columns);

#endif
