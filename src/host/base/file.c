/* file.c: whole files in and out; outputs appear under their name only when they are complete. */
#include "abut/file.h"
#include "host/base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int32_t abut_file_has_extension(const char *path, const char *extension) {
  if (!path || !extension) return 0;
  size_t length = strlen(path), tail = strlen(extension);
  return length > tail && strcasecmp(path + length - tail, extension) == 0;
}

/* Fails in errno's words. */
static abut_status cannot_read(const char *path) {
  return fail_with(ABUT_ERROR_FILE, "cannot read '%s': %s", path, strerror(errno));
}

static abut_status read_stream(FILE *stream, const char *path, char **data, size_t *size) {
  struct stat about;
  if (fstat(fileno(stream), &about) != 0) return cannot_read(path);
  size_t expected = (size_t)about.st_size;
  char *bytes = malloc(expected + 1);
  if (!bytes) return fail_with(ABUT_ERROR_MEMORY, "'%s': no memory for its %zu bytes", path, expected);
  if (fread(bytes, 1, expected, stream) != expected) {
    free(bytes);
    return fail_with(ABUT_ERROR_FILE, "cannot read '%s': it ended or failed before its %zu bytes", path,
                     expected);
  }
  bytes[expected] = 0;
  *data = bytes;
  *size = expected;
  return ABUT_OK;
}

abut_status abut_file_open(const char *path, FILE **stream) {
  struct stat about;
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(stream, "stream");
  *stream = NULL;
  /* a pipe would wait for its writer */
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return cannot_read(path);
  if (fstat(file, &about) == 0 && !S_ISREG(about.st_mode)) {
    close(file);
    return fail_with(ABUT_ERROR_FILE, "cannot read '%s': not a regular file", path);
  }
  *stream = fdopen(file, "rb");
  if (*stream) return ABUT_OK;
  abut_status status = cannot_read(path);
  close(file);
  return status;
}

abut_status abut_file_read(const char *path, char **data, size_t *size) {
  FILE *stream;
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(data, "data");
  REQUIRE_POINTER(size, "size");
  *data = NULL;
  ATTEMPT(abut_file_open(path, &stream));
  abut_status status = read_stream(stream, path, data, size);
  fclose(stream);
  return status;
}

/* ---------------------------------------------------------------------------------------- writing */

static abut_status cannot_write(const char *path) {
  return fail_with(ABUT_ERROR_FILE, "cannot write '%s': %s", path, strerror(errno));
}

/* A name that no other program and no earlier call uses: the process's number, and a counter for those that a
 * killed program of the same number left. */
abut_status abut_output_open(const char *path, char **partial) {
  struct stat about;
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(partial, "partial");
  *partial = NULL;
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
    return fail_with(ABUT_ERROR_FILE, "cannot write '%s': it exists and is not a regular file", path);
  size_t room = strlen(path) + 64;
  char *name = malloc(room);
  if (!name) return fail_with(ABUT_ERROR_MEMORY, "cannot write '%s': no memory for its name", path);
  int file = -1;
  for (int i = 0; file < 0; i++) {
    snprintf(name, room, "%s.%ld-%d.part", path, (long)getpid(), i);
    file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) {
      abut_status status = cannot_write(path);
      free(name);
      return status;
    }
  }
  close(file);
  *partial = name;
  return ABUT_OK;
}

abut_status abut_output_close(const char *path, char *partial, int32_t complete) {
  abut_status status = ABUT_OK;
  REQUIRE_POINTER(path, "path");
  REQUIRE_POINTER(partial, "partial");
  if (complete && rename(partial, path) != 0) {
    status = cannot_write(path);
    complete = 0;
  }
  if (!complete) remove(partial);
  free(partial);
  return status;
}

/* Writes, flushes to the disk and closes. */
static int write_stream(const char *path, const void *data, size_t size) {
  FILE *stream = fopen(path, "wb");
  if (!stream) return 0;
  /* an empty file has no data to point at, which fwrite must not be given */
  int good = !size || fwrite(data, 1, size, stream) == size;
  good = good && fflush(stream) == 0 && fsync(fileno(stream)) == 0;
  int cause = errno;
  if (fclose(stream) != 0 && good) return 0;
  errno = cause;
  return good;
}

abut_status abut_file_write(const char *path, const void *data, size_t size) {
  char *partial;
  REQUIRE_POINTER(path, "path");
  if (size) REQUIRE_POINTER(data, "data");
  ATTEMPT(abut_output_open(path, &partial));
  abut_status status = write_stream(partial, data, size) ? ABUT_OK : cannot_write(path);
  abut_status closed = abut_output_close(path, partial, status == ABUT_OK);
  return status == ABUT_OK ? closed : status;
}
