/* query.c: abut query: contact queries as JSON, without a simulation. */
#include "query.h"
#include "cli.h"
#include <string.h>

#ifndef ABUT_HAVE_JANSSON

int cli_query(const cli_options *options) {
  (void)options;
  return cli_error("built without jansson: query needs it");
}

#else
#include "abut/file.h"
#include "json_node.h"
#include "query_json.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

typedef struct query_kind {
  const char *name;
  int (*answer)(const json_t *input, int dtype);
} query_kind;
static const query_kind kinds[] = {{"plane", query_plane_json},      {"longrange", query_longrange_json},
                                   {"ee", query_edges_json},         {"vf", query_face_json},
                                   {"sq", query_superquadric_json},  {"cp", query_polyhedron_json},
                                   {"manifold", query_manifold_json}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const query_kind *find_kind(const char *name) {
  for (int i = 0; i < KINDS; i++)
    if (!strcmp(kinds[i].name, name)) return &kinds[i];
  return NULL;
}

int query_text(const char *kind_name, const char *name, const char *text, size_t size, int dtype) {
  const query_kind *kind = find_kind(kind_name);
  json_t *input;
  int code = node_parse(&input, name, text, size, 0);
  if (code == CLI_OK && !json_is_array(input)) code = cli_error("query: the input is not a JSON array");
  if (code == CLI_OK) code = kind->answer(input, dtype);
  json_decref(input);
  return code;
}

/* All of standard input, free with free(). */
static int read_input(char **text, size_t *size) {
  char part[4096];
  FILE *whole = open_memstream(text, size);
  if (!whole) return cli_error("query: out of memory");
  for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0;) fwrite(part, 1, n, whole);
  int failed = ferror(stdin) ? errno : 0;
  if (fclose(whole) != 0) return cli_error("query: out of memory");
  return failed ? cli_error("standard input: %s", strerror(failed)) : CLI_OK;
}

int cli_query(const cli_options *options) {
  const char *kind = options->arguments[0], *path = options->arguments[1];
  char *text = NULL;
  size_t size = 0;
  int code = CLI_OK;
  if (!find_kind(kind))
    return cli_error("query %s: must be plane, longrange, ee, vf, sq, cp or manifold", kind);
  if (!path)
    code = read_input(&text, &size);
  else if (abut_file_read(path, &text, &size) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK)
    code = query_text(kind, path ? path : "standard input", text, size, options->batch.dtype);
  free(text);
  return code;
}

#endif
