/* output_file.h: a file that appears under its name only when it is complete. */
#ifndef ABUT_CLI_OUTPUT_FILE_H
#define ABUT_CLI_OUTPUT_FILE_H

typedef struct output_file {
  const char *path; /* final name, the caller's; NULL: not open */
  char *partial;    /* name while it is written */
} output_file;

/* Refuses an option's path that is an input. */
int output_file_spares(const char *option, const char *path, const char *input);
/* Checks that the path can take a file and names the partial one. */
int output_file_open(output_file *out, const char *path);
/* ": " and the system's reason where errno has one, else "": for libraries that do not say. Set errno to 0
 * first. */
const char *output_file_reason(void);
/* complete: gives the file its name; else removes it. Does nothing where it is not open. */
int output_file_close(output_file *out, int complete);

#endif
