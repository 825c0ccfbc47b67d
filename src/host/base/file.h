/* file.h: whole files in and out; outputs appear under their name only when they are complete. */
#ifndef ABUT_FILE_H
#define ABUT_FILE_H
#include "abut/abut.h"
#include <stdio.h>

/* Opens a regular file to be read; what it refuses, a folder, a device, a pipe, it does not wait for. */
abut_status abut_file_open(const char *path, FILE **stream);
/* Reads a regular file into *data (malloc, one NUL byte after the end). */
abut_status abut_file_read(const char *path, char **data, size_t *size);
/* Every output file is written under a name of its own in the same folder and renamed at the end, so that
 * programs that write the same path at once do not meet: the last one to finish leaves its whole file there.
 * Open: refuses a path at which anything but a regular file exists, or in whose folder no file can be made;
 * *partial (malloc) names the empty file to be written. */
abut_status abut_output_open(const char *path, char **partial);
/* complete: gives the file its name; else removes it. Frees partial. */
abut_status abut_output_close(const char *path, char *partial, int complete);
/* Writes a whole file that way. */
abut_status abut_file_write(const char *path, const void *data, size_t size);
/* Whether path ends in extension (".abut"), in any case of letters. */
int abut_file_has_extension(const char *path, const char *extension);

#endif
