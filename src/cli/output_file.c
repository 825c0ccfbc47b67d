/* output_file.c: files are written beside their final name and renamed at the end. */
#include "output_file.h"
#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int output_file_open(output_file *out, const char *path) {
  size_t size = strlen(path) + sizeof ".part";
  out->partial = malloc(size);
  if (!out->partial) return cli_error("out of memory");
  snprintf(out->partial, size, "%s.part", path);
  FILE *file = fopen(out->partial, "wb");
  if (!file) {
    int code = cli_error("%s: %s", path, strerror(errno));
    free(out->partial);
    out->partial = NULL;
    return code;
  }
  fclose(file);
  out->path = path;
  return CLI_OK;
}

int output_file_close(output_file *out, int complete) {
  int code = CLI_OK;
  if (!out->path) return code;
  if (complete && rename(out->partial, out->path)) {
    code = cli_error("%s: %s", out->path, strerror(errno));
    complete = 0;
  }
  if (!complete) remove(out->partial);
  free(out->partial);
  *out = (output_file){0};
  return code;
}
