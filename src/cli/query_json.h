/* query_json.h: pieces of a JSON query, read with messages that name the element and the key. */
#ifndef ABUT_CLI_QUERY_JSON_H
#define ABUT_CLI_QUERY_JSON_H
#include <jansson.h>
#include <stddef.h>

/* Reads rows x columns numbers (as many rows as `from` has) into out; an array of plain numbers if columns
 * is 1. */
int query_numbers(size_t element, const char *key, const json_t *from, size_t columns, double *out);
/* An optional number greater than 0; *value stays where there is none. */
int query_positive(size_t element, const char *key, const json_t *object, double *value);

/* The kinds of query: a JSON array in, one on standard output. Return an exit code. */
int query_plane_json(const json_t *input, int dtype);
int query_longrange_json(const json_t *input, int dtype);
int query_edges_json(const json_t *input, int dtype);
int query_face_json(const json_t *input, int dtype);
int query_superquadric_json(const json_t *input, int dtype);
int query_polyhedron_json(const json_t *input, int dtype);
int query_manifold_json(const json_t *input, int dtype);

#endif
