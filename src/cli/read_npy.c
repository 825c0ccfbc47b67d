/* read_npy.c: the .npy format, versions 1 to 3: magic, header length, a Python dict as text, raw data. */
#include "read_npy.h"
#include "cli.h"
#include "host/file.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct npy_header {
  int64_t shape[3], count;
  int size; /* bytes of an element */
} npy_header;

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

static int parse_shape(const char *path, const char *text, npy_header *header) {
  int n = 0;
  header->count = 1;
  for (const char *at = text + 1; *at && *at != ')'; at += strspn(at, ", ")) {
    char *end;
    errno = 0;
    int64_t size = strtoll(at, &end, 10);
    if (end == at || errno || size < 0) return cli_error("%s: the shape in its header is malformed", path);
    if (n < 3) header->shape[n] = size;
    if (__builtin_mul_overflow(header->count, size, &header->count) || header->count > INT64_MAX / 16)
      return cli_error("%s: the shape in its header overflows", path);
    n++;
    at = end;
  }
  return n == 3 ? CLI_OK
                : cli_error("%s: %d dimension%s, 3 needed: [N or 1, T or 1, nu]", path, n, PLURAL(n));
}

static int parse_header(const char *path, const char *dict, npy_header *header) {
  const char *type = find_value(dict, "'descr'"), *order = find_value(dict, "'fortran_order'");
  const char *shape = find_value(dict, "'shape'");
  if (!type || !order || !shape || *shape != '(') return cli_error("%s: malformed .npy header", path);
  if (strncmp(type, "'<f8'", 5) && strncmp(type, "'<f4'", 5))
    return cli_error("%s: elements of type %.*s, '<f8' or '<f4' needed", path, value_length(type), type);
  if (strncmp(order, "False", 5)) return cli_error("%s: Fortran order, C order needed", path);
  header->size = type[3] - '0';
  return parse_shape(path, shape, header);
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

static int read_header(const char *path, FILE *file, npy_header *header) {
  size_t length = 0;
  int code = read_length(path, file, &length);
  if (code != CLI_OK) return code;
  long left = bytes_left(file);
  if (left < 0) return cli_error("%s: %s", path, strerror(errno));
  if (length > (size_t)left)
    return cli_error("%s: truncated: %ld bytes of header, its length is %zu", path, left, length);
  char *dict = malloc(length + 1);
  if (!dict) return cli_error("%s: out of memory", path);
  if (fread(dict, 1, length, file) == length) {
    dict[length] = 0;
    code = parse_header(path, dict, header);
  } else {
    code = cli_error("%s: %s", path, strerror(errno));
  }
  free(dict);
  return code;
}

static int read_data(const char *path, FILE *file, const npy_header *header, double **data) {
  size_t count = (size_t)header->count, bytes = count * (size_t)header->size;
  /* a header may promise more than the file holds: ask before allocating */
  long held = bytes_left(file);
  if (held < 0) return cli_error("%s: %s", path, strerror(errno));
  if ((size_t)held != bytes)
    return cli_error("%s: %s: %ld bytes of data, its header says %zu", path,
                     (size_t)held < bytes ? "truncated" : "too long", held, bytes);
  double *values = malloc((count + 1) * sizeof *values);
  if (!values) return cli_error("%s: %zu numbers do not fit in memory", path, count);
  /* floats are read into the front and widened from the back */
  if (fread(values, (size_t)header->size, count, file) != count) {
    free(values);
    return cli_error("%s: %s", path, strerror(errno));
  }
  if (header->size == 4) {
    for (size_t i = count; i-- > 0;) {
      float narrow;
      memcpy(&narrow, (const char *)values + 4 * i, 4);
      values[i] = narrow;
    }
  }
  *data = values;
  return CLI_OK;
}

static int check_finite(const char *path, const npy_header *header, const double *data) {
  for (int64_t i = 0; i < header->count; i++) {
    if (isfinite(data[i])) continue;
    int64_t plane = header->shape[1] * header->shape[2];
    return cli_error("%s: the value at [%lld, %lld, %lld] is %g", path, (long long)(i / plane),
                     (long long)(i % plane / header->shape[2]), (long long)(i % header->shape[2]), data[i]);
  }
  return CLI_OK;
}

int read_npy_stream(const char *path, FILE *file, int64_t shape[3], double **data) {
  npy_header header = {0};
  *data = NULL;
  int code = read_header(path, file, &header);
  if (code == CLI_OK) code = read_data(path, file, &header, data);
  if (code == CLI_OK) code = check_finite(path, &header, *data);
  if (code == CLI_OK) {
    memcpy(shape, header.shape, sizeof header.shape);
  } else {
    free(*data);
    *data = NULL;
  }
  return code;
}

int read_npy(const char *path, int64_t shape[3], double **data) {
  FILE *file;
  if (abut_file_open(path, &file) != ABUT_OK) return cli_library_error();
  int code = read_npy_stream(path, file, shape, data);
  fclose(file);
  return code;
}
