/* file.h: whole files in, and files that appear under their name only when they are complete: how abut reads
 * and writes its own, for programs that put theirs beside them. */
#ifndef ABUT_FILE_H
#define ABUT_FILE_H

#include "abut.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a regular file to be read, from its start; close it with fclose. Anything else at that path, a
 * folder, a device, a pipe, is ABUT_ERROR_FILE at once: nothing waits for a pipe's writer. */
ABUT_API abut_status abut_file_open(const char *path, FILE **stream);
/* Reads a whole regular file. *data has *size bytes and one NUL byte after them; free it with free(). */
ABUT_API abut_status abut_file_read(const char *path, char **data, size_t *size);
/* Writes a whole file, under a name of its own until it is complete and on the disk. */
ABUT_API abut_status abut_file_write(const char *path, const void *data, size_t size);
/* Whether path ends in extension (".abut"), in any case of letters, behind at least one other character. */
ABUT_API int32_t abut_file_has_extension(const char *path, const char *extension);

/* For files that are written piece by piece, by whatever library. Open makes an empty file with a name of its
 * own in path's folder; write *partial, then close. Programs that write the same path at once do not meet:
 * the last one to close leaves its whole file there.
 * Open fails where anything but a regular file exists at path, or where its folder takes no file. *partial
 * belongs to the pair of calls. */
ABUT_API abut_status abut_output_open(const char *path, char **partial);
/* complete: gives the file its name, in place of what has it; 0: removes it. Frees partial, whatever it
 * returns; where it fails, path is as it was. */
ABUT_API abut_status abut_output_close(const char *path, char *partial, int32_t complete);

#ifdef __cplusplus
}
#endif
#endif
