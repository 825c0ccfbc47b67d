/* read_npy.c: the .npy format, versions 1 to 3: magic, header length, a Python dict as text, raw data. */
#include "read_npy.h"
#include "cli.h"
#include "abut/file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the value of a key starts in the header's dict, or NULL. */
static const char *find_value(const char *dict, const char *key) {
  const char *at = strstr(dict, key);
  return at ? at + strlen(key) + strspn(at + strlen(key), ": ") : NULL;
}

/* Letters of a text or a name among the dict's values; of a list of fields, its start. */
static int value_length(const char *value) {
  size_t length = *value == '\'' ? 1 + strcspn(value + 1, "'") + 1 : strcspn(value, ",}");
  return length < 32 ? (int)length : 32;
}

static int parse_shape(npy_file *file, const char *layout, const char *text) {
  int n = 0;
  file->count = 1;
  for (const char *at = text + 1; *at && *at != ')'; at += strspn(at, ", ")) {
    char *end;
    errno = 0;
    int64_t size = strtoll(at, &end, 10);
    if (end == at || errno || size < 0)
      return cli_error("%s: the shape in its header is malformed", file->path);
    if (n < 3) file->shape[n] = size;
    if (__builtin_mul_overflow(file->count, size, &file->count) || file->count > INT64_MAX / 16)
      return cli_error("%s: the shape in its header overflows", file->path);
    n++;
    at = end;
  }
  return n == 3 ? CLI_OK : cli_error("%s: %d dimension%s, 3 needed: %s", file->path, n, PLURAL(n), layout);
}

static int parse_header(npy_file *file, const char *layout, const char *dict) {
  const char *path = file->path;
  const char *type = find_value(dict, "'descr'"), *order = find_value(dict, "'fortran_order'");
  const char *shape = find_value(dict, "'shape'");
  if (!type || !order || !shape || *shape != '(') return cli_error("%s: malformed .npy header", path);
  if (strncmp(type, "'<f8'", 5) && strncmp(type, "'<f4'", 5))
    return cli_error("%s: elements of type %.*s, '<f8' or '<f4' needed", path, value_length(type), type);
  if (strncmp(order, "False", 5)) return cli_error("%s: Fortran order, C order needed", path);
  file->size = type[3] - '0';
  return parse_shape(file, layout, shape);
}

/* Bytes from here to the end of the file; -1 if that cannot be told. */
static long bytes_left(FILE *file) {
  long at = ftell(file);
  if (at < 0 || fseek(file, 0, SEEK_END)) return -1;
  long end = ftell(file);
  return fseek(file, at, SEEK_SET) ? -1 : end - at;
}

/* Version 1 has two bytes for the length of the dict, versions 2 and 3 have four. */
static int read_length(const char *path, FILE *file, size_t *length) {
  unsigned char start[8], bytes[4] = {0};
  if (fread(start, 1, 8, file) != 8 || memcmp(start, "\x93NUMPY", 6))
    return cli_error("%s: not a .npy file", path);
  if (start[6] < 1 || start[6] > 3)
    return cli_error("%s: .npy version %d.%d, 1 to 3 can be read", path, start[6], start[7]);
  size_t wide = start[6] == 1 ? 2 : 4;
  if (fread(bytes, 1, wide, file) != wide) return cli_error("%s: truncated", path);
  *length = (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
  return CLI_OK;
}

static int read_header(npy_file *file, const char *layout) {
  const char *path = file->path;
  size_t length = 0;
  int code = read_length(path, file->stream, &length);
  if (code != CLI_OK) return code;
  long left = bytes_left(file->stream);
  if (left < 0) return cli_error("%s: %s", path, strerror(errno));
  if (length > (size_t)left)
    return cli_error("%s: truncated: %ld bytes of header, its length is %zu", path, left, length);
  char *dict = malloc(length + 1);
  if (!dict) return cli_error("%s: out of memory", path);
  if (fread(dict, 1, length, file->stream) == length) {
    dict[length] = 0;
    code = parse_header(file, layout, dict);
  } else {
    code = cli_error("%s: %s", path, strerror(errno));
  }
  free(dict);
  return code;
}

/* A header may promise more than the file holds: ask before allocating. */
static int check_length(const npy_file *file) {
  size_t bytes = (size_t)file->count * (size_t)file->size;
  long held = bytes_left(file->stream);
  if (held < 0) return cli_error("%s: %s", file->path, strerror(errno));
  if ((size_t)held != bytes)
    return cli_error("%s: %s: %ld bytes of data, its header says %zu", file->path,
                     (size_t)held < bytes ? "truncated" : "too long", held, bytes);
  return CLI_OK;
}

static int check_finite(const npy_file *file, int64_t count, const double *values) {
  for (int64_t i = 0; i < count; i++) {
    if (isfinite(values[i])) continue;
    int64_t row = file->shape[1] * file->shape[2];
    return cli_error("%s: the value at [%lld, %lld, %lld] is %g", file->path,
                     (long long)(file->next + i / row), (long long)(i % row / file->shape[2]),
                     (long long)(i % file->shape[2]), values[i]);
  }
  return CLI_OK;
}

static int begin(npy_file *file, const char *layout) {
  int code = read_header(file, layout);
  return code == CLI_OK ? check_length(file) : code;
}

int npy_open(npy_file *out, const char *path, const char *layout) {
  *out = (npy_file){.path = path};
  if (abut_file_open(path, &out->stream) != ABUT_OK) return cli_library_error();
  int code = begin(out, layout);
  if (code != CLI_OK) npy_close(out);
  return code;
}

void npy_close(npy_file *in) {
  if (in->stream) fclose(in->stream);
  in->stream = NULL;
}

int npy_read(npy_file *in, int64_t rows, double *values) {
  int64_t count = rows > 0 ? rows * in->shape[1] * in->shape[2] : 0;
  /* floats are read into the front and widened from the back */
  if (fread(values, (size_t)in->size, (size_t)count, in->stream) != (size_t)count)
    return cli_error("%s: %s", in->path, strerror(errno));
  if (in->size == 4) {
    for (int64_t i = count; i-- > 0;) {
      float narrow;
      memcpy(&narrow, (const char *)values + 4 * i, 4);
      values[i] = narrow;
    }
  }
  int code = check_finite(in, count, values);
  in->next += rows;
  return code;
}

int read_npy_stream(const char *path, FILE *stream, const char *layout, int64_t shape[3], double **data) {
  npy_file file = {.path = path, .stream = stream};
  *data = NULL;
  int code = begin(&file, layout);
  if (code == CLI_OK) {
    *data = malloc(((size_t)file.count + 1) * sizeof **data);
    code = *data ? npy_read(&file, file.shape[0], *data)
                 : cli_error("%s: %lld numbers do not fit in memory", path, (long long)file.count);
  }
  if (code == CLI_OK) {
    memcpy(shape, file.shape, sizeof file.shape);
  } else {
    free(*data);
    *data = NULL;
  }
  return code;
}

int read_npy(const char *path, const char *layout, int64_t shape[3], double **data) {
  FILE *file;
  if (abut_file_open(path, &file) != ABUT_OK) return cli_library_error();
  int code = read_npy_stream(path, file, layout, shape, data);
  fclose(file);
  return code;
}
