/* output_file.c: the library's output files, with the program's messages. */
#include "output_file.h"
#include "cli.h"
#include "abut/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int output_file_spares(const char *option, const char *path, const char *input) {
  struct stat out, entry, target; /* a link in the way of an output is replaced, one in an input followed */
  if (lstat(path, &out) || lstat(input, &entry) || stat(input, &target)) return CLI_OK;
  int same = (out.st_dev == entry.st_dev && out.st_ino == entry.st_ino) ||
             (out.st_dev == target.st_dev && out.st_ino == target.st_ino);
  return same ? cli_error("--%s %s: would overwrite %s, which is read", option, path, input) : CLI_OK;
}

const char *output_file_reason(void) {
  static char text[128];
  snprintf(text, sizeof text, ": %s", errno ? strerror(errno) : "");
  return errno ? text : "";
}

int output_file_open(output_file *out, const char *path) {
  if (abut_output_open(path, &out->partial) != ABUT_OK) return cli_library_error();
  out->path = path;
  return CLI_OK;
}

int output_file_close(output_file *out, int complete) {
  if (!out->path) return CLI_OK;
  int code = abut_output_close(out->path, out->partial, complete) == ABUT_OK ? CLI_OK : cli_library_error();
  *out = (output_file){0};
  return code;
}
