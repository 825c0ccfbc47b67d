/* file.h: whole files in and out. */
#ifndef ABUT_FILE_H
#define ABUT_FILE_H
#include "abut/abut.h"

/* Reads a regular file into *data (malloc, one NUL byte after the end). */
abut_status abut_file_read(const char *path, char **data, size_t *size);
/* Writes a file that appears at path only when complete. */
abut_status abut_file_write(const char *path, const void *data, size_t size);
/* Whether path ends in extension (".abut"), in any case of letters. */
int abut_file_has_extension(const char *path, const char *extension);

#endif
