/* read_npy.c: the .npy format, versions 1 to 3: magic, header length, a Python dict as text, raw data. */
#include "read_npy.h"
#include "cli.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 4096 };

typedef struct npy_header {
  int64_t shape[3], count;
  int size; /* bytes of an element */
} npy_header;

/* Where the value of a key starts in the header's dict, or NULL. */
static const char *find_value(const char *dict, const char *key) {
  const char *at = strstr(dict, key);
  return at ? at + strlen(key) + strspn(at + strlen(key), ": ") : NULL;
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
  return n == 3 ? CLI_OK : cli_error("%s: %d dimensions, 3 needed: [N or 1, T or 1, nu]", path, n);
}

static int parse_header(const char *path, const char *dict, npy_header *header) {
  const char *type = find_value(dict, "'descr'"), *order = find_value(dict, "'fortran_order'");
  const char *shape = find_value(dict, "'shape'");
  if (!type || !order || !shape || *shape != '(') return cli_error("%s: malformed .npy header", path);
  if (strncmp(type, "'<f8'", 5) && strncmp(type, "'<f4'", 5))
    return cli_error("%s: elements of type %.6s, '<f8' or '<f4' needed", path, type);
  if (strncmp(order, "False", 5)) return cli_error("%s: Fortran order, C order needed", path);
  header->size = type[3] - '0';
  return parse_shape(path, shape, header);
}

static int read_header(const char *path, FILE *file, npy_header *header) {
  unsigned char start[12];
  char dict[HEADER_MAX + 1];
  if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6))
    return cli_error("%s: not a .npy file", path);
  size_t length = (size_t)start[8] | (size_t)start[9] << 8;
  if (start[6] >= 2) {
    if (fread(start + 10, 1, 2, file) != 2) return cli_error("%s: truncated", path);
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  if (length > HEADER_MAX) return cli_error("%s: a header of %zu bytes", path, length);
  if (fread(dict, 1, length, file) != length) return cli_error("%s: truncated", path);
  dict[length] = 0;
  return parse_header(path, dict, header);
}

static int read_data(const char *path, FILE *file, const npy_header *header, double **data) {
  size_t count = (size_t)header->count;
  /* a header may promise more than the file holds: ask before allocating */
  long at = ftell(file);
  if (at < 0 || fseek(file, 0, SEEK_END)) return cli_error("%s: %s", path, strerror(errno));
  long held = ftell(file) - at;
  if (held < 0 || (size_t)held < count * (size_t)header->size)
    return cli_error("%s: truncated: %ld bytes of data, its header says %zu", path, held,
                     count * (size_t)header->size);
  fseek(file, at, SEEK_SET);
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

int read_npy(const char *path, int64_t shape[3], double **data) {
  npy_header header = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return cli_error("%s: %s", path, strerror(errno));
  *data = NULL;
  int code = read_header(path, file, &header);
  if (code == CLI_OK) code = read_data(path, file, &header, data);
  fclose(file);
  if (code == CLI_OK) code = check_finite(path, &header, *data);
  if (code == CLI_OK) {
    memcpy(shape, header.shape, sizeof header.shape);
  } else {
    free(*data);
    *data = NULL;
  }
  return code;
}
