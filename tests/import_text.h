/* import_text.h: MJCF and URDF texts, read as files. */
#ifndef ABUT_TEST_IMPORT_TEXT_H
#define ABUT_TEST_IMPORT_TEXT_H
#include "abut/abut.h"
#include "test.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  int good = fputs(text, file) >= 0;
  return fclose(file) == 0 && good;
}

/* Loads a text as a file whose name ends in extension. */
static inline abut_status load_as(const char *extension, const char *text, const abut_load_options *options,
                                  abut_model **model) {
  char folder[] = P_tmpdir "/abut_import_XXXXXX", path[PATH_MAX];
  *model = NULL;
  if (!mkdtemp(folder)) return ABUT_ERROR_FILE;
  snprintf(path, sizeof path, "%s/scene%s", folder, extension);
  abut_status status = write_text(path, text) ? abut_model_load(path, options, model) : ABUT_ERROR_FILE;
  unlink(path);
  rmdir(folder);
  return status;
}

static inline abut_status load(const char *text, abut_model **model) {
  return load_as(".xml", text, NULL, model);
}

#define MESSAGE_HAS(words)                                                                                   \
  do {                                                                                                       \
    if (!strstr(abut_error_message(), words))                                                                \
      test_fail(__FILE__, __LINE__, "'%s' is not in: %s", words, abut_error_message());                      \
  } while (0)

/* A scene with something to hang everything on; before and inside the world, and after it. */
#define SCENE(before, inside, after)                                                                         \
  "<mujoco><asset/>" before "<worldbody><geom type='plane' size='1 1 1'/>"                                   \
  "<body name='a' pos='0 0 1'><joint name='ja'/><geom name='ga' size='.1'/><site name='sa'/></body>"         \
  "<body name='b' pos='0 0 2'><joint name='jb' type='slide'/><geom name='gb' size='.1'/><site name='sb'/>"   \
  "</body><body name='c' pos='0 0 3'><joint name='jc' type='ball'/><geom name='gc' "                         \
  "size='.1'/></body>" inside "</worldbody>" after "</mujoco>"

#endif
