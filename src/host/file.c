/* file.c: whole files in and out. */
#include "file.h"
#include "status.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int abut_file_has_extension(const char *path, const char *extension) {
  size_t length = strlen(path), tail = strlen(extension);
  return length > tail && strcasecmp(path + length - tail, extension) == 0;
}

static abut_status read_stream(FILE *stream, const char *path, char **data, size_t *size) {
  struct stat about;
  if (fstat(fileno(stream), &about) != 0)
    return abut_fail(ABUT_ERROR_FILE, "cannot read '%s': %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode))
    return abut_fail(ABUT_ERROR_FILE, "cannot read '%s': not a regular file", path);
  size_t expected = (size_t)about.st_size;
  char *bytes = malloc(expected + 1);
  if (!bytes) return abut_fail(ABUT_ERROR_MEMORY, "'%s': no memory for its %zu bytes", path, expected);
  if (fread(bytes, 1, expected, stream) != expected) {
    free(bytes);
    return abut_fail(ABUT_ERROR_FILE, "cannot read '%s': it ended or failed before its %zu bytes", path,
                     expected);
  }
  bytes[expected] = 0;
  *data = bytes;
  *size = expected;
  return ABUT_OK;
}

abut_status abut_file_read(const char *path, char **data, size_t *size) {
  FILE *stream = fopen(path, "rb");
  if (!stream) return abut_fail(ABUT_ERROR_FILE, "cannot read '%s': %s", path, strerror(errno));
  abut_status status = read_stream(stream, path, data, size);
  fclose(stream);
  return status;
}

/* Writes, flushes to the disk and closes. */
static int write_stream(const char *path, const void *data, size_t size) {
  FILE *stream = fopen(path, "wbx");
  if (!stream) return 0;
  int good = fwrite(data, 1, size, stream) == size && fflush(stream) == 0 && fsync(fileno(stream)) == 0;
  int cause = errno;
  if (fclose(stream) != 0 && good) return 0;
  errno = cause;
  return good;
}

abut_status abut_file_write(const char *path, const void *data, size_t size) {
  size_t room = strlen(path) + 32;
  char *partial = malloc(room);
  if (!partial) return abut_fail(ABUT_ERROR_MEMORY, "cannot write '%s': no memory for its name", path);
  snprintf(partial, room, "%s.%ld.part", path, (long)getpid());
  remove(partial);
  abut_status status = ABUT_OK;
  if (!write_stream(partial, data, size) || rename(partial, path) != 0) {
    status = abut_fail(ABUT_ERROR_FILE, "cannot write '%s': %s", path, strerror(errno));
    remove(partial);
  }
  free(partial);
  return status;
}
