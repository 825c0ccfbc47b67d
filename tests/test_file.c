/* test_file.c: whole files in and out, and what stands at a path that is not a file. */
#include "abut/file.h"
#include "test.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test's own; leave removes it, which fails where something is left in it. */
static char folder[256], path[300];
static void enter(void) {
  const char *temporary = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/abut_file_%ld", temporary ? temporary : P_tmpdir, (long)getpid());
  snprintf(path, sizeof path, "%s/out.txt", folder);
  CHECK(mkdir(folder, 0700) == 0);
}
static void leave(void) {
  remove(path);
  CHECK(rmdir(folder) == 0);
}

static void holds(const char *text) {
  char *data;
  size_t size;
  REQUIRE(abut_file_read(path, &data, &size) == ABUT_OK);
  CHECK(size == strlen(text) && strcmp(data, text) == 0);
  free(data);
}

TEST(files_come_back) {
  FILE *stream;
  enter();
  CHECK_STATUS(abut_file_write(path, "abc", 3), ABUT_OK);
  holds("abc");
  CHECK_STATUS(abut_file_write(path, NULL, 0), ABUT_OK);
  holds("");
  CHECK_STATUS(abut_file_open(path, &stream), ABUT_OK);
  CHECK(fgetc(stream) == EOF);
  fclose(stream);
  leave();
}

TEST(outputs_appear_when_complete) {
  char *partial;
  enter();
  REQUIRE(abut_output_open(path, &partial) == ABUT_OK);
  CHECK(access(path, F_OK) != 0 && access(partial, F_OK) == 0);
  CHECK_STATUS(abut_output_close(path, partial, 0), ABUT_OK);
  CHECK(access(path, F_OK) != 0);
  REQUIRE(abut_file_write(path, "old", 3) == ABUT_OK);
  REQUIRE(abut_output_open(path, &partial) == ABUT_OK);
  FILE *stream = fopen(partial, "wb");
  REQUIRE(stream != NULL);
  fputs("new", stream);
  fclose(stream);
  holds("old");
  CHECK_STATUS(abut_output_close(path, partial, 1), ABUT_OK);
  holds("new");
  leave();
}

/* Neither a folder nor a pipe is read, or replaced; nothing waits for the pipe's writer. */
TEST(what_is_no_file_is_refused) {
  FILE *stream;
  char *text;
  size_t size;
  enter();
  REQUIRE(mkfifo(path, 0600) == 0);
  for (int i = 0; i < 2; i++) {
    const char *at = i ? folder : path;
    CHECK_STATUS(abut_file_open(at, &stream), ABUT_ERROR_FILE);
    CHECK_STATUS(abut_file_read(at, &text, &size), ABUT_ERROR_FILE);
    CHECK(strstr(abut_error_message(), at) != NULL);
    CHECK_STATUS(abut_output_open(at, &text), ABUT_ERROR_FILE);
    CHECK_STATUS(abut_file_write(at, "abc", 3), ABUT_ERROR_FILE);
    CHECK(stream == NULL && text == NULL);
  }
  leave();
  CHECK_STATUS(abut_file_read(path, &text, &size), ABUT_ERROR_FILE);
  CHECK_STATUS(abut_output_open(path, &text), ABUT_ERROR_FILE); /* its folder is gone */
}

TEST(null_pointers_are_refused) {
  FILE *stream;
  char *text;
  size_t size;
  CHECK_STATUS(abut_file_open(NULL, &stream), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_file_open("a", NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_file_read(NULL, &text, &size), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_file_read("a", NULL, &size), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_file_read("a", &text, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_file_write("a", NULL, 1), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_output_open(NULL, &text), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_output_open("a", NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_output_close("a", NULL, 1), ABUT_ERROR_ARGUMENT);
}

TEST(extensions) {
  CHECK(abut_file_has_extension("a.obj", ".obj") && abut_file_has_extension("a/b.OBJ", ".obj"));
  CHECK(!abut_file_has_extension(".obj", ".obj") && !abut_file_has_extension("aobj", ".obj"));
  CHECK(!abut_file_has_extension(NULL, ".obj"));
}

TEST(memory_is_told) { CHECK(abut_memory_available() > 0); }
