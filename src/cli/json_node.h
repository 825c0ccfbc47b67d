/* json_node.h: reads one JSON object key by key; every message says file, place and value. */
#ifndef ABUT_CLI_JSON_NODE_H
#define ABUT_CLI_JSON_NODE_H
#include <jansson.h>
#include <stdint.h>

typedef struct json_node {
  const char *file;
  char place[160]; /* "loss.terms[2].", "" at the top */
  const json_t *object;
} json_node;

/* What a number must be. */
#define NUMBER_MOST 1e60 /* a weight times the square of a distance stays finite */
typedef enum number_kind { NUMBER_ANY, NUMBER_NONNEGATIVE, NUMBER_POSITIVE, NUMBER_BELOW_ONE } number_kind;

/* All return an exit code of the program. Readers leave *value as it is where the key is missing. */

/* Free with json_decref(). flags: jansson's. */
int node_parse(json_t **out, const char *file, const char *text, size_t size, size_t flags);
int node_open(json_node *out, const char *file, const json_t *object);
/* The object under key (index < 0), or element index of the array under key. */
int node_child(json_node *out, const json_node *from, const char *key, int64_t index);
/* Refuses every key that is not in the list, which NULL ends. */
int node_keys(const json_node *from, const char *const *known);
int node_has(const json_node *from, const char *key);
/* Refuses a missing key. */
int node_needs(const json_node *from, const char *key);
int node_number(const json_node *from, const char *key, number_kind kind, double *value);
int node_integer(const json_node *from, const char *key, int64_t low, int64_t high, int64_t *value);
/* Non-empty text; lives as long as the JSON. */
int node_text(const json_node *from, const char *key, const char **value);
/* Index of a text among words, which NULL ends. */
int node_choice(const json_node *from, const char *key, const char *const *words, int *value);
/* An array of low to high numbers; one number stands for an array of it. */
int node_numbers(const json_node *from, const char *key, number_kind kind, int low, int high, double *values,
                 int *count);
/* Length of an array that must not be empty. */
int node_length(const json_node *from, const char *key, int64_t *length);
/* "FILE: loss.terms[2].body: " and a message; returns CLI_BAD_INPUT. */
int node_error(const json_node *from, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
