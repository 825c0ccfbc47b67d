/* convert.c: abut convert: a scene into a .abut file. */
#include "job.h"
#include <string.h>

int cli_convert(const cli_options *options) {
  const char *out = options->arguments[1];
  size_t length = strlen(out);
  if (length < 6 || strcmp(out + length - 5, ".abut"))
    return cli_error("%s: the name must end in .abut", out);
  job work;
  int code = job_load(&work, options->arguments[0], options);
  if (code == CLI_OK && abut_model_save(work.model, out) != ABUT_OK) code = cli_library_error();
  job_close(&work);
  return code;
}
