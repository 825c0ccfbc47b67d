/* mesh_file.c: triangle meshes from OBJ and STL files. */
#include "host/shape/mesh_file.h"
#include "abut/file.h"
#include "host/base/status.h"
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The most points and faces that are read: far above any mesh, far below int32's overflow. */
enum { MOST = INT32_MAX / 8 };

void triangle_mesh_free(triangle_mesh *mesh) {
  free(mesh->points);
  free(mesh->faces);
  memset(mesh, 0, sizeof *mesh);
}

/* Room for one element more than count. */
static void *grow(void *list, int64_t count, int64_t *capacity, size_t element) {
  if (count < *capacity) return list;
  int64_t wanted = count ? 2 * count : 64;
  void *grown = realloc(list, (size_t)wanted * element);
  if (grown) *capacity = wanted;
  return grown;
}

/* A mesh that is being read. */
typedef struct reader {
  const char *path;
  int64_t line; /* from 1 */
  triangle_mesh mesh;
  int64_t point_capacity, face_capacity;
  int64_t farthest, farthest_line; /* OBJ: the largest index, which may refer to a vertex that comes later */
} reader;

static abut_status no_memory(const reader *r) {
  return fail_with(ABUT_ERROR_MEMORY, "'%s', line %lld: no memory for more of the mesh", r->path,
                   (long long)r->line);
}

static abut_status push_point(reader *r, const double p[3]) {
  double *points = r->mesh.npoint < MOST
                       ? grow(r->mesh.points, r->mesh.npoint, &r->point_capacity, 3 * sizeof *points)
                       : NULL;
  if (!points) return no_memory(r);
  r->mesh.points = points;
  memcpy(points + 3 * r->mesh.npoint++, p, 3 * sizeof *p);
  return ABUT_OK;
}

static abut_status push_face(reader *r, int32_t a, int32_t b, int32_t c) {
  int32_t *faces =
      r->mesh.nface < MOST ? grow(r->mesh.faces, r->mesh.nface, &r->face_capacity, 3 * sizeof *faces) : NULL;
  if (!faces) return no_memory(r);
  r->mesh.faces = faces;
  const int32_t face[3] = {a, b, c};
  memcpy(faces + 3 * r->mesh.nface++, face, sizeof face);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- equal points */

static uint64_t hash_point(const double p[3]) {
  uint64_t hash = 0xcbf29ce484222325, bits;
  for (int k = 0; k < 3; k++) {
    double value = p[k] + 0.0; /* -0 and 0 are equal */
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

/* Place in the table of the first of the points equal to q, or of the free slot where it belongs. */
static uint64_t find_slot(const int32_t *table, uint64_t mask, const double *points, const double q[3]) {
  uint64_t slot = hash_point(q) & mask;
  for (; table[slot] >= 0; slot = (slot + 1) & mask) {
    const double *other = points + 3 * (int64_t)table[slot];
    if (other[0] == q[0] && other[1] == q[1] && other[2] == q[2]) break;
  }
  return slot;
}

abut_status triangle_mesh_join(triangle_mesh *mesh) {
  double *p = mesh->points;
  int64_t slots = 16, count = 0;
  while (slots < 2 * mesh->npoint) slots *= 2;
  int32_t *table = malloc((size_t)slots * sizeof *table);
  int32_t *first = malloc((size_t)(mesh->npoint + 1) * sizeof *first);
  if (!table || !first) {
    free(table), free(first);
    return fail_with(ABUT_ERROR_MEMORY, "a mesh of %lld points: out of memory", (long long)mesh->npoint);
  }
  for (int64_t i = 0; i < slots; i++) table[i] = -1;
  for (int64_t i = 0; i < mesh->npoint; i++) {
    uint64_t slot = find_slot(table, (uint64_t)slots - 1, p, p + 3 * i);
    if (table[slot] < 0) {
      memmove(p + 3 * count, p + 3 * i, 3 * sizeof *p);
      table[slot] = (int32_t)count++;
    }
    first[i] = table[slot];
  }
  for (int64_t i = 0; i < 3 * mesh->nface; i++) mesh->faces[i] = first[mesh->faces[i]];
  mesh->npoint = count;
  free(table), free(first);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- text */

/* Cuts the next line off the text at *at; lines that end in a backslash go on. NULL at the end. */
static char *next_line(reader *r, char **at) {
  char *line = *at, *end = line;
  if (*line == 0) return NULL;
  r->line++;
  for (; *end && *end != '\n'; end++) {
    char *after = end[0] == '\\' ? end + 1 + (end[1] == '\r') : NULL;
    if (!after || *after != '\n') continue;
    while (end < after) *end++ = ' ';
    *end = ' ';
    r->line++;
  }
  *at = *end ? end + 1 : end;
  *end = 0;
  return line;
}

static void skip_blanks(char **at) {
  while (isspace((unsigned char)**at)) ++*at;
}

/* Whether the text goes on with word and a blank; then steps over both. */
static int take_word(char **at, const char *word) {
  size_t length = strlen(word);
  skip_blanks(at);
  if (strncmp(*at, word, length) != 0 || ((*at)[length] && !isspace((unsigned char)(*at)[length]))) return 0;
  *at += length;
  return 1;
}

/* Three finite numbers. */
static abut_status take_vector(const reader *r, char **at, double p[3]) {
  for (int k = 0; k < 3; k++) {
    char *end;
    p[k] = strtod(*at, &end);
    if (end == *at)
      return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: a vertex needs three numbers, has %d", r->path,
                       (long long)r->line, k);
    if (!isfinite(p[k]))
      return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: a vertex has coordinate %g", r->path,
                       (long long)r->line, p[k]);
    *at = end;
  }
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- OBJ */

static abut_status no_vertex(const reader *r, int64_t line, int64_t index) {
  return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: a face has vertex %lld of %lld", r->path,
                   (long long)line, (long long)index, (long long)r->mesh.npoint);
}

/* One corner of a face: v, v/t, v//n or v/t/n; v counts from 1, or from the last vertex down. */
static abut_status take_corner(reader *r, char **at, int32_t *corner) {
  char *end, *start = *at;
  long long index = strtoll(start, &end, 10);
  while (end != start && *end && !isspace((unsigned char)*end) && strchr("/-+0123456789", *end)) end++;
  if (end == start || (*end && !isspace((unsigned char)*end)))
    return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: '%.20s' is not a corner of a face", r->path,
                     (long long)r->line, start);
  long long vertex = index < 0 ? r->mesh.npoint + index : index - 1;
  if (vertex < 0 || vertex >= MOST) return no_vertex(r, r->line, index);
  if (index > r->farthest) r->farthest = index, r->farthest_line = r->line;
  *corner = (int32_t)vertex;
  *at = end;
  return ABUT_OK;
}

static abut_status read_face(reader *r, char *at) {
  int32_t first = 0, previous = 0, corner = 0;
  int count = 0;
  for (skip_blanks(&at); *at && *at != '#'; skip_blanks(&at)) {
    ATTEMPT(take_corner(r, &at, &corner));
    if (count == 0) first = corner;
    if (count >= 2) ATTEMPT(push_face(r, first, previous, corner));
    previous = corner;
    count++;
  }
  if (count < 3)
    return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: a face needs three corners, has %d", r->path,
                     (long long)r->line, count);
  return ABUT_OK;
}

static abut_status read_obj(reader *r, char *text) {
  char *at = text;
  for (char *line; (line = next_line(r, &at));) {
    double p[3];
    if (take_word(&line, "v")) {
      ATTEMPT(take_vector(r, &line, p));
      ATTEMPT(push_point(r, p));
    } else if (take_word(&line, "f")) {
      ATTEMPT(read_face(r, line));
    }
  }
  if (r->mesh.npoint == 0) return fail_with(ABUT_ERROR_FILE, "'%s' has no vertices", r->path);
  if (r->farthest > r->mesh.npoint) return no_vertex(r, r->farthest_line, r->farthest);
  return triangle_mesh_join(&r->mesh);
}

/* ---------------------------------------------------------------------------------------- STL */

/* A face of the last three points. */
static abut_status push_last_face(reader *r) {
  int32_t n = (int32_t)r->mesh.npoint;
  return push_face(r, n - 3, n - 2, n - 1);
}

static abut_status read_stl_text(reader *r, char *text) {
  char *at = text;
  int64_t corners = 0;
  int ended = 0;
  for (char *line; (line = next_line(r, &at));) {
    double p[3];
    const int end = take_word(&line, "endsolid");
    ended = end || (ended && !*line);
    if (end) continue;
    if (take_word(&line, "vertex")) {
      ATTEMPT(take_vector(r, &line, p));
      ATTEMPT(push_point(r, p));
      corners++;
    } else if (take_word(&line, "endloop")) {
      if (corners != 3)
        return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: a triangle has %lld corners", r->path,
                         (long long)r->line, (long long)corners);
      ATTEMPT(push_last_face(r));
      corners = 0;
    }
  }
  if (corners)
    return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: the file ends within a triangle", r->path,
                     (long long)r->line);
  if (!ended)
    return fail_with(ABUT_ERROR_FILE, "'%s', line %lld: the file ends without endsolid: it is truncated",
                     r->path, (long long)r->line);
  return ABUT_OK;
}

enum { STL_HEADER = 84, STL_TRIANGLE = 50 };

/* Triangles that a binary file says it has. */
static uint32_t stl_count(const char *bytes) {
  const unsigned char *b = (const unsigned char *)bytes + 80;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float stl_float(const char *bytes) {
  const unsigned char *b = (const unsigned char *)bytes;
  uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static abut_status read_stl_binary(reader *r, const char *bytes, size_t size) {
  if (size < STL_HEADER)
    return fail_with(ABUT_ERROR_FILE, "'%s' is neither text nor binary STL: it has %zu bytes", r->path, size);
  uint64_t needed = STL_HEADER + (uint64_t)stl_count(bytes) * STL_TRIANGLE;
  if (needed != size)
    return fail_with(ABUT_ERROR_FILE, "'%s' is %s: its %u triangles make %llu bytes, it has %zu", r->path,
                     needed > size ? "truncated" : "too long", stl_count(bytes), (unsigned long long)needed,
                     size);
  for (uint32_t t = 0; t < stl_count(bytes); t++) {
    for (int corner = 0; corner < 3; corner++) {
      const char *at = bytes + STL_HEADER + (size_t)t * STL_TRIANGLE + 12 + 12 * (size_t)corner;
      double p[3];
      for (int k = 0; k < 3; k++) p[k] = stl_float(at + 4 * k);
      if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
        return fail_with(ABUT_ERROR_FILE, "'%s': triangle %u has a vertex (%g, %g, %g)", r->path, t, p[0],
                         p[1], p[2]);
      ATTEMPT(push_point(r, p));
    }
    ATTEMPT(push_last_face(r));
  }
  return ABUT_OK;
}

/* Text starts with "solid", but so do some binary files: those have just the size that their count makes, and
 * zeros. */
static int is_stl_text(const char *bytes, size_t size) {
  if (size >= STL_HEADER && STL_HEADER + (uint64_t)stl_count(bytes) * STL_TRIANGLE == size) return 0;
  while (isspace((unsigned char)*bytes)) bytes++, size--;
  return strncasecmp(bytes, "solid", 5) == 0 && strlen(bytes) == size;
}

static abut_status read_stl(reader *r, char *bytes, size_t size) {
  if (is_stl_text(bytes, size)) {
    for (char *c = bytes; *c; c++) *c = (char)tolower((unsigned char)*c);
    ATTEMPT(read_stl_text(r, bytes));
  } else {
    ATTEMPT(read_stl_binary(r, bytes, size));
  }
  if (r->mesh.nface == 0) return fail_with(ABUT_ERROR_FILE, "'%s' has no triangles", r->path);
  return triangle_mesh_join(&r->mesh);
}

/* ---------------------------------------------------------------------------------------- load */

static abut_status read_mesh(reader *r, char *bytes, size_t size) {
  if (abut_file_has_extension(r->path, ".stl")) return read_stl(r, bytes, size);
  if (strlen(bytes) != size)
    return fail_with(ABUT_ERROR_FILE, "'%s' is not a text: byte %zu is 0", r->path, strlen(bytes));
  return read_obj(r, bytes);
}

abut_status triangle_mesh_parse(const char *path, char *bytes, size_t size, triangle_mesh *mesh) {
  /* numbers have a decimal point whatever the host program's locale */
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  locale_t before = plain ? uselocale(plain) : (locale_t)0;
  reader r = {.path = path};
  abut_status status =
      plain ? read_mesh(&r, bytes, size) : fail_with(ABUT_ERROR_MEMORY, "'%s': no memory to read it", path);
  if (plain) {
    uselocale(before);
    freelocale(plain);
  }
  *mesh = r.mesh;
  if (status != ABUT_OK) triangle_mesh_free(mesh);
  return status;
}

abut_status triangle_mesh_load(const char *path, triangle_mesh *mesh) {
  if (!path || !mesh) return fail_with(ABUT_ERROR_ARGUMENT, "triangle_mesh_load: a pointer is null");
  memset(mesh, 0, sizeof *mesh);
  if (!abut_file_has_extension(path, ".obj") && !abut_file_has_extension(path, ".stl"))
    return fail_with(ABUT_ERROR_UNSUPPORTED, "'%s': a mesh is an .obj or .stl file", path);
  char *bytes;
  size_t size;
  ATTEMPT(abut_file_read(path, &bytes, &size));
  abut_status status = triangle_mesh_parse(path, bytes, size, mesh);
  free(bytes);
  return status;
}
