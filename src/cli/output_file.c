/* output_file.c: the library's output files, with the program's messages. */
#include "output_file.h"
#include "cli.h"
#include "host/file.h"

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
