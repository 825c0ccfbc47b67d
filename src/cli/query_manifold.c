/* query_manifold.c: closest points of edges and of triangles, distances to superquadrics and polyhedra, and
 * whole manifolds, as JSON. */
#include "query.h"
#ifdef ABUT_HAVE_JANSSON
#include "abut/manifold.h"
#include "cli.h"
#include "json.h"
#include "query_json.h"
#include <stdlib.h>
#include <string.h>

/* The array at key with `rows` rows of `columns` numbers; rows 0: any number of them, from 1, in *count. */
static int read_rows(size_t element, const char *key, const json_t *object, size_t rows, size_t columns,
                     double **out, size_t *count) {
  const json_t *from = json_object_get(object, key);
  size_t n = json_array_size(from);
  if (!from) return cli_error("query %zu: '%s' is missing", element, key);
  if (!json_is_array(from) || n == 0 || (rows && n != rows))
    return rows ? cli_error("query %zu: '%s' is not an array of %zu row%s of %zu number%s", element, key,
                            rows, PLURAL(rows), columns, PLURAL(columns))
                : cli_error("query %zu: '%s' is not an array of rows of %zu number%s", element, key, columns,
                            PLURAL(columns));
  *out = calloc(n * columns, sizeof **out);
  if (!*out) return cli_error("query %zu: out of memory", element);
  if (count) *count = n;
  return query_numbers(element, key, from, columns, *out);
}
/* `rows` numbers into out. */
static int read_numbers(size_t element, const char *key, const json_t *object, size_t rows, double *out) {
  const json_t *from = json_object_get(object, key);
  if (!from) return cli_error("query %zu: '%s' is missing", element, key);
  if (!json_is_array(from) || json_array_size(from) != rows)
    return cli_error("query %zu: '%s' is not an array of %zu numbers", element, key, rows);
  return query_numbers(element, key, from, 1, out);
}
static int read_number(size_t element, const char *key, const json_t *object, double *out) {
  const json_t *from = json_object_get(object, key);
  if (!json_is_number(from)) return cli_error("query %zu: '%s' is missing or not a number", element, key);
  *out = json_number_value(from);
  return CLI_OK;
}
static int read_flag(size_t element, const char *key, const json_t *object, int32_t *out) {
  const json_t *from = json_object_get(object, key);
  if (!from) return CLI_OK;
  if (!json_is_boolean(from)) return cli_error("query %zu: '%s' is not true or false", element, key);
  *out = json_is_true(from);
  return CLI_OK;
}
/* Optional. */
static int read_soft(size_t element, const char *key, const json_t *object, double *out) {
  const json_t *from = json_object_get(object, key);
  return from ? read_number(element, key, object, out) : CLI_OK;
}

static json_writer list_open(FILE *stream) {
  json_writer json = {.stream = stream};
  emit_open(&json, NULL, '[');
  return json;
}
static void list_close(json_writer *json) {
  emit_close(json, ']');
  fputc('\n', json->stream);
}
static void print_start(json_writer *json) {
  emit_open(json, NULL, '{');
  emit_text(json, "status", "ok");
}

/* ------------------------------------------------------------------------------------- closest points */

static int read_softness(size_t i, const json_t *object, int32_t *relative, double *w_reg, double *tau_clip,
                         double *tau_min, double *tau_comp) {
  *relative = 1;
  *w_reg = *tau_min = 0.01;
  *tau_clip = *tau_comp = 0.02;
  int code = read_flag(i, "relative", object, relative);
  if (code == CLI_OK) code = read_soft(i, "w_reg", object, w_reg);
  if (code == CLI_OK) code = read_soft(i, "tau_clip", object, tau_clip);
  if (code == CLI_OK) code = read_soft(i, "tau_min", object, tau_min);
  if (code == CLI_OK) code = read_soft(i, "tau_comp", object, tau_comp);
  return code;
}
/* `rows` points into out. */
static int read_points(size_t i, const char *key, const json_t *object, size_t rows, double *out) {
  double *points = NULL;
  int code = read_rows(i, key, object, rows, 3, &points, NULL);
  if (code == CLI_OK) memcpy(out, points, 3 * rows * sizeof *out);
  free(points);
  return code;
}
static void print_witness(json_writer *json, const char *first, double x, const char *second, double y,
                          double colliding) {
  print_start(json);
  emit_number(json, first, x);
  emit_number(json, second, y);
  emit_number(json, "colliding", colliding);
  emit_close(json, '}');
}

static int read_edges(size_t i, const json_t *object, abut_edges_query *q) {
  int code = read_points(i, "e1", object, 2, q->edge1[0]);
  if (code == CLI_OK) code = read_points(i, "e2", object, 2, q->edge2[0]);
  return code == CLI_OK
             ? read_softness(i, object, &q->relative, &q->w_reg, &q->tau_clip, &q->tau_min, &q->tau_comp)
             : code;
}
int query_edges_json(const json_t *input, int dtype) {
  size_t n = json_array_size(input);
  abut_edges_query *queries = calloc(n + 1, sizeof *queries);
  abut_edges_result *results = calloc(n + 1, sizeof *results);
  int code = queries && results ? CLI_OK : cli_error("query: out of memory");
  for (size_t i = 0; code == CLI_OK && i < n; i++)
    code = read_edges(i, json_array_get(input, i), &queries[i]);
  if (code == CLI_OK && abut_query_edges((int64_t)n, queries, results, dtype) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK) {
    json_writer json = list_open(stdout);
    for (size_t i = 0; i < n; i++)
      print_witness(&json, "alpha1", results[i].alpha1, "alpha2", results[i].alpha2, results[i].colliding);
    list_close(&json);
    code = cli_flush();
  }
  free(queries);
  free(results);
  return code;
}

static int read_face(size_t i, const json_t *object, abut_face_query *q) {
  int code = read_numbers(i, "v", object, 3, q->point);
  if (code == CLI_OK) code = read_points(i, "f", object, 3, q->face[0]);
  return code == CLI_OK
             ? read_softness(i, object, &q->relative, &q->w_reg, &q->tau_clip, &q->tau_min, &q->tau_comp)
             : code;
}
int query_face_json(const json_t *input, int dtype) {
  size_t n = json_array_size(input);
  abut_face_query *queries = calloc(n + 1, sizeof *queries);
  abut_face_result *results = calloc(n + 1, sizeof *results);
  int code = queries && results ? CLI_OK : cli_error("query: out of memory");
  for (size_t i = 0; code == CLI_OK && i < n; i++) code = read_face(i, json_array_get(input, i), &queries[i]);
  if (code == CLI_OK && abut_query_face((int64_t)n, queries, results, dtype) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK) {
    json_writer json = list_open(stdout);
    for (size_t i = 0; i < n; i++)
      print_witness(&json, "beta1", results[i].beta1, "beta2", results[i].beta2, results[i].colliding);
    list_close(&json);
    code = cli_flush();
  }
  free(queries);
  free(results);
  return code;
}

/* --------------------------------------------------------------------------------------------- surfaces */

static void free_surface(abut_surface *s) {
  free(s->primitives);
  free(s->planes);
  free(s->points);
  free(s->vertices);
  free(s->edges);
  *s = (abut_surface){0};
}

static int read_superquadric(size_t i, const json_t *object, abut_primitive *q) {
  q->kind = ABUT_PRIMITIVE_SUPERQUADRIC;
  int code = read_numbers(i, "size", object, 3, q->size);
  if (code == CLI_OK) code = read_number(i, "e1", object, &q->exponents[0]);
  if (code == CLI_OK) code = read_number(i, "e2", object, &q->exponents[1]);
  if (code == CLI_OK && json_object_get(object, "pos")) code = read_numbers(i, "pos", object, 3, q->position);
  if (code == CLI_OK && json_object_get(object, "quat"))
    code = read_numbers(i, "quat", object, 4, q->quaternion);
  return code;
}

/* More rows at the end of an array of rows. */
static double *more_rows(double **rows, int32_t count, size_t more, size_t columns) {
  double *grown = realloc(*rows, ((size_t)count + more) * columns * sizeof **rows);
  if (grown) *rows = grown;
  return grown ? grown + (size_t)count * columns : NULL;
}

/* Planes by a normal and a point each; or, as a cloud, oriented points. */
static int read_oriented(size_t i, const json_t *object, int cloud, abut_surface *s, abut_primitive *q) {
  double *normals = NULL, *points = NULL, *sigmas = NULL;
  size_t n = 0;
  int code = read_rows(i, "normals", object, 0, 3, &normals, &n);
  if (code == CLI_OK) code = read_rows(i, "points", object, n, 3, &points, NULL);
  if (code == CLI_OK && cloud && json_object_get(object, "sigma"))
    code = read_rows(i, "sigma", object, n, 1, &sigmas, NULL);
  double *rows = NULL;
  if (code == CLI_OK) {
    rows = cloud ? more_rows(&s->points, s->point_count, n, 7) : more_rows(&s->planes, s->plane_count, n, 4);
    if (!rows) code = cli_error("query %zu: out of memory", i);
  }
  for (size_t j = 0; code == CLI_OK && j < n; j++) {
    const double *normal = normals + 3 * j, *point = points + 3 * j;
    if (cloud) {
      memcpy(rows + 7 * j, point, 3 * sizeof *point);
      memcpy(rows + 7 * j + 3, normal, 3 * sizeof *normal);
      rows[7 * j + 6] = sigmas ? sigmas[j] : 0;
    } else {
      memcpy(rows + 4 * j, normal, 3 * sizeof *normal);
      rows[4 * j + 3] = normal[0] * point[0] + normal[1] * point[1] + normal[2] * point[2];
    }
  }
  if (code == CLI_OK) {
    int32_t *count = cloud ? &s->point_count : &s->plane_count;
    q->kind = cloud ? ABUT_PRIMITIVE_POINT_CLOUD : ABUT_PRIMITIVE_POLYHEDRON;
    q->first_plane = *count;
    q->plane_count = (int32_t)n;
    *count += (int32_t)n;
  }
  free(normals);
  free(points);
  free(sigmas);
  return code;
}

/* text: NULL where the key is absent. */
static int read_text(size_t i, const char *key, const json_t *object, const char **text) {
  const json_t *value = json_object_get(object, key);
  *text = json_string_value(value);
  return !value || *text ? CLI_OK : cli_error("query %zu: '%s' is not a text", i, key);
}

static int read_primitive(size_t i, const json_t *object, abut_surface *s) {
  abut_primitive *q = &s->primitives[s->primitive_count];
  *q = (abut_primitive){.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}, .exponents = {1, 1}};
  const char *kind;
  int code = read_text(i, "kind", object, &kind);
  if (code == CLI_OK) code = read_flag(i, "subtracted", object, &q->subtracted);
  if (code != CLI_OK) return code;
  if (!kind || !strcmp(kind, "superquadric"))
    code = read_superquadric(i, object, q);
  else if (!strcmp(kind, "polyhedron") || !strcmp(kind, "cloud"))
    code = read_oriented(i, object, !strcmp(kind, "cloud"), s, q);
  else
    code = cli_error("query %zu: kind '%s' must be superquadric, polyhedron or cloud", i, kind);
  s->primitive_count++;
  return code;
}

static int read_body(size_t i, const char *key, const json_t *query, double tau, abut_surface *s) {
  const json_t *object = json_object_get(query, key), *primitives = json_object_get(object, "primitives");
  size_t n = json_array_size(primitives), count = 0, edges = 0;
  double *ends = NULL;
  *s = (abut_surface){.tau = tau};
  if (!json_is_object(object)) return cli_error("query %zu: '%s' is missing or not an object", i, key);
  if (n == 0) return cli_error("query %zu: '%s' has no 'primitives'", i, key);
  s->primitives = calloc(n, sizeof *s->primitives);
  if (!s->primitives) return cli_error("query %zu: out of memory", i);
  int code = CLI_OK;
  for (size_t j = 0; code == CLI_OK && j < n; j++) code = read_primitive(i, json_array_get(primitives, j), s);
  if (code == CLI_OK) code = read_rows(i, "vertices", object, 0, 3, &s->vertices, &count);
  if (code == CLI_OK && json_array_size(json_object_get(object, "edges")) > 0)
    code = read_rows(i, "edges", object, 0, 2, &ends, &edges);
  s->vertex_count = (int32_t)count;
  s->edges = calloc(2 * edges + 1, sizeof *s->edges);
  if (code == CLI_OK && !s->edges) code = cli_error("query %zu: out of memory", i);
  for (size_t j = 0; code == CLI_OK && j < 2 * edges; j++) {
    if (!(ends[j] >= 0 && ends[j] < (double)count) || ends[j] != (double)(int32_t)ends[j])
      code = cli_error("query %zu: '%s' has an edge with vertex %g of %zu", i, key, ends[j], count);
    else
      s->edges[j] = (int32_t)ends[j];
  }
  s->edge_count = (int32_t)edges;
  free(ends);
  return code;
}

/* Distances and their derivatives at one point of one surface. */
static int print_distance(json_writer *json, size_t i, const json_t *object, const abut_surface *s, int dtype,
                          int gradient) {
  double x[3], distance, direction[3];
  int code = read_numbers(i, "x", object, 3, x);
  if (code == CLI_OK && abut_query_distance(s, 1, x, &distance, gradient ? NULL : direction,
                                            gradient ? direction : NULL, dtype) != ABUT_OK)
    code = cli_error("query %zu: %s", i, abut_error_message());
  if (code != CLI_OK) return code;
  print_start(json);
  emit_number(json, "distance", distance);
  emit_numbers(json, gradient ? "gradient" : "normal", direction, 3);
  emit_close(json, '}');
  return CLI_OK;
}

/* Answers one element; an exit code. */
typedef int (*answer_one)(json_writer *json, size_t i, const json_t *object, int dtype);

/* Answers element by element; the text is kept back until all of them have been answered. */
static int answer_all(const json_t *input, int dtype, answer_one answer) {
  char *text = NULL;
  size_t size = 0;
  FILE *kept = open_memstream(&text, &size);
  if (!kept) return cli_error("query: out of memory");
  json_writer json = list_open(kept);
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < json_array_size(input); i++) {
    const json_t *object = json_array_get(input, i);
    code =
        json_is_object(object) ? answer(&json, i, object, dtype) : cli_error("query %zu: not an object", i);
  }
  list_close(&json);
  fclose(kept);
  if (code == CLI_OK) fwrite(text, 1, size, stdout);
  free(text);
  return code == CLI_OK ? cli_flush() : code;
}

static int answer_distance(json_writer *json, size_t i, const json_t *object, int dtype, int polyhedron) {
  abut_primitive primitive = {.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}, .exponents = {1, 1}};
  abut_surface s = {.primitives = &primitive, .primitive_count = 1, .tau = 1};
  int code =
      polyhedron ? read_oriented(i, object, 0, &s, &primitive) : read_superquadric(i, object, &primitive);
  if (code == CLI_OK && polyhedron) code = read_number(i, "tau", object, &s.tau);
  if (code == CLI_OK) code = print_distance(json, i, object, &s, dtype, polyhedron);
  free(s.planes);
  return code;
}
static int answer_superquadric(json_writer *json, size_t i, const json_t *object, int dtype) {
  return answer_distance(json, i, object, dtype, 0);
}
static int answer_polyhedron(json_writer *json, size_t i, const json_t *object, int dtype) {
  return answer_distance(json, i, object, dtype, 1);
}
int query_superquadric_json(const json_t *input, int dtype) {
  return answer_all(input, dtype, answer_superquadric);
}
int query_polyhedron_json(const json_t *input, int dtype) {
  return answer_all(input, dtype, answer_polyhedron);
}

/* -------------------------------------------------------------------------------------------- manifolds */

static int read_options(size_t i, const json_t *query, int dtype, abut_manifold_options *o) {
  const json_t *object = json_object_get(query, "options");
  const char *form;
  *o = abut_default_manifold_options();
  o->form = ABUT_MANIFOLD_PAPER;
  o->edges[0] = o->edges[1] = -1;
  o->cutoff = 0;
  o->dtype = dtype;
  o->threads = 1;
  if (object && !json_is_object(object)) return cli_error("query %zu: 'options' is not an object", i);
  if (read_text(i, "form", object, &form) != CLI_OK) return CLI_BAD_INPUT;
  if (form && !strcmp(form, "linear"))
    o->form = ABUT_MANIFOLD_LINEAR;
  else if (form && strcmp(form, "paper"))
    return cli_error("query %zu: form '%s' must be linear or paper", i, form);
  struct {
    const char *key;
    double *to;
  } numbers[] = {{"tau_union", &o->tau_union}, {"w_reg", &o->w_reg},       {"tau_clip", &o->tau_clip},
                 {"tau_min", &o->tau_min},     {"tau_comp", &o->tau_comp}, {"eps_normal", &o->eps_normal},
                 {"tau_sign", &o->tau_sign},   {"tau_pen", &o->tau_pen},   {"tau_near", &o->tau_near},
                 {"tau_clash", &o->tau_clash}, {"cutoff", &o->cutoff}};
  int code = read_flag(i, "relative", object, &o->relative);
  for (size_t k = 0; code == CLI_OK && k < sizeof numbers / sizeof *numbers; k++)
    code = read_soft(i, numbers[k].key, object, numbers[k].to);
  return code;
}

static void print_contact(json_writer *json, const abut_contacts *c, int64_t i) {
  emit_open(json, NULL, '{');
  emit_numbers(json, "point", c->point + 3 * i, 3);
  emit_number(json, "distance", c->distance[i]);
  emit_numbers(json, "normal", c->normal + 3 * i, 3);
  emit_number(json, "activity", c->activity[i]);
  emit_close(json, '}');
}
static void print_pair(json_writer *json, const abut_contacts *c, int32_t k, int32_t l, int64_t first,
                       int64_t second) {
  emit_open(json, NULL, '{');
  emit_integer(json, "k", k);
  emit_integer(json, "l", l);
  emit_numbers(json, "point1", c->point + 3 * first, 3);
  emit_numbers(json, "point2", c->point + 3 * second, 3);
  emit_number(json, "distance1", c->distance[first]);
  emit_number(json, "distance2", c->distance[second]);
  emit_numbers(json, "normal1", c->normal + 3 * first, 3);
  emit_numbers(json, "normal2", c->normal + 3 * second, 3);
  emit_number(json, "activity1", c->activity[first]);
  emit_number(json, "activity2", c->activity[second]);
  emit_close(json, '}');
}

static void print_manifold(json_writer *json, const abut_manifold_counts *n, const abut_contacts *c) {
  int64_t first = n->vertices[0] + n->vertices[1], second = first + (int64_t)n->edges[0] * n->edges[1];
  print_start(json);
  for (int side = 0; side < 2; side++) {
    emit_open(json, side ? "vs2" : "vs1", '[');
    for (int32_t i = 0; i < n->vertices[side]; i++) print_contact(json, c, (side ? n->vertices[0] : 0) + i);
    emit_close(json, ']');
  }
  emit_open(json, "ee", '[');
  for (int32_t k = 0; k < n->edges[0]; k++)
    for (int32_t l = 0; l < n->edges[1]; l++) {
      int64_t pair = (int64_t)k * n->edges[1] + l;
      print_pair(json, c, k, l, first + pair, second + pair);
    }
  emit_close(json, ']');
  emit_close(json, '}');
}

/* Both surfaces are given where they are: poses are the identity. */
static int answer_manifold(json_writer *json, size_t i, const abut_surface surface[2],
                           const abut_manifold_options *o) {
  static const double poses[14] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  abut_manifold *m = NULL;
  abut_manifold_counts n;
  abut_manifold_options options = *o;
  if (surface[0].edge_count == 0 || surface[1].edge_count == 0) options.edges[0] = options.edges[1] = 0;
  if (abut_manifold_create(&surface[0], &surface[1], &options, &m) != ABUT_OK)
    return cli_error("query %zu: %s", i, abut_error_message());
  abut_manifold_size(m, &n);
  double *memory = malloc((size_t)n.contacts * 8 * sizeof *memory);
  abut_contacts c = {memory, memory + 3 * n.contacts, memory + 4 * n.contacts, memory + 7 * n.contacts};
  int code = CLI_OK;
  if (!memory)
    code = cli_error("query %zu: out of memory", i);
  else if (abut_manifold_contacts(m, 1, poses, &c) != ABUT_OK)
    code = cli_error("query %zu: %s", i, abut_error_message());
  else
    print_manifold(json, &n, &c);
  free(memory);
  abut_manifold_destroy(m);
  return code;
}

static int answer_bodies(json_writer *json, size_t i, const json_t *object, int dtype) {
  abut_surface surface[2] = {{0}};
  abut_manifold_options options;
  double tau = 0.01;
  int code = read_options(i, object, dtype, &options);
  if (code == CLI_OK && options.tau_union > 0) tau = options.tau_union;
  if (code == CLI_OK) code = read_body(i, "body1", object, tau, &surface[0]);
  if (code == CLI_OK) code = read_body(i, "body2", object, tau, &surface[1]);
  if (code == CLI_OK) code = answer_manifold(json, i, surface, &options);
  free_surface(&surface[0]);
  free_surface(&surface[1]);
  return code;
}
int query_manifold_json(const json_t *input, int dtype) { return answer_all(input, dtype, answer_bodies); }

#else
typedef int query_manifold_needs_jansson;
#endif
