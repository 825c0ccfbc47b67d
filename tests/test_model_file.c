/* test_model_file.c: .abut files: saved and loaded bit by bit; every damaged one refused. */
#include "host/model/builder.h"
#include "host/model/model.h"
#include "describe.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path of the test's own in the folder for temporary files. */
static const char *scratch(const char *name) {
  static char path[2][256];
  static int turn;
  const char *folder = getenv("TMPDIR");
  turn = !turn;
  snprintf(path[turn], sizeof path[turn], "%s/abut_%ld_%s", folder ? folder : P_tmpdir, (long)getpid(), name);
  return path[turn];
}

/* A small scene with every kind of object. */
static abut_model *make_model(void) {
  abut_builder *b;
  abut_model *m = NULL;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  abut_body_def body = abut_default_body_def();
  body.name = "base";
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  body.name = NULL;
  body.parent = 1;
  body.pos[0] = 0.1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  abut_geom_def geom = abut_default_geom_def();
  geom.name = "floor";
  geom.type = ABUT_GEOM_PLANE;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  for (int i = 1; i <= 2; i++) {
    geom.name = i == 1 ? "box" : "wheel";
    geom.body = i;
    geom.type = i == 1 ? ABUT_GEOM_BOX : ABUT_GEOM_CYLINDER;
    geom.size[0] = geom.size[1] = geom.size[2] = 0.1;
    geom.hull_points = 6;
    geom.tessellation = 1;
    CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  }
  CHECK_STATUS(scene_pair(b, 1, 2, 0.5), ABUT_OK);
  abut_joint_def joint = abut_default_joint_def();
  joint.body = 1;
  joint.type = ABUT_JOINT_FREE;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  joint.name = "axle";
  joint.body = 2;
  joint.type = ABUT_JOINT_HINGE;
  joint.limited = 1;
  joint.range[1] = 1;
  CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  abut_actuator_def motor = abut_default_actuator_def();
  motor.joint = 1;
  CHECK_STATUS(abut_builder_add_actuator(b, &motor, NULL), ABUT_OK);
  CHECK_STATUS(scene_key(b, "home", NULL, NULL), ABUT_OK);
  CHECK_STATUS(builder_set_warnings(b, "ignored: a texture\n"), ABUT_OK);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

/* Bytes of a file, free with free(). */
static unsigned char *read_all(const char *path, size_t *size) {
  FILE *stream = fopen(path, "rb");
  *size = 0;
  if (!stream) return NULL;
  unsigned char *bytes = malloc(1 << 20);
  if (bytes) *size = fread(bytes, 1, 1 << 20, stream);
  fclose(stream);
  return bytes;
}

static void write_all(const char *path, const void *bytes, size_t size) {
  FILE *stream = fopen(path, "wb");
  if (!stream) return;
  fwrite(bytes, 1, size, stream);
  fclose(stream);
}

/* Saves the scene and reads its bytes. */
static unsigned char *make_bytes(const char *path, size_t *size) {
  abut_model *m = make_model();
  CHECK_STATUS(abut_model_save(m, path), ABUT_OK);
  abut_model_destroy(m);
  return read_all(path, size);
}

/* The file's end as its checksum would be. */
static void seal(unsigned char *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i + 8 < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  memcpy(bytes + size - 8, &hash, sizeof hash);
}

TEST(round_trip) {
  const char *path = scratch("round.abut");
  abut_model *saved = make_model(), *loaded = NULL;
  REQUIRE(abut_model_save(saved, path) == ABUT_OK);
  REQUIRE(abut_model_load(path, NULL, &loaded) == ABUT_OK);
#define X(name) CHECK(loaded->name == saved->name);
  MODEL_COUNTS(X)
#undef X
  MODEL_SIZES(saved)
#define X(type, name, rows, columns)                                                                         \
  CHECK(memcmp(loaded->name, saved->name, sizeof(type) * (size_t)saved->rows * (size_t)(columns)) == 0);
#include "kernels/tree/model.def"
#undef X
  CHECK(memcmp(&loaded->option, &saved->option, sizeof saved->option) == 0);
  CHECK(strcmp(abut_model_warnings(loaded), "ignored: a texture\n") == 0);
  CHECK(strcmp(abut_model_name(loaded, 'g', 2), "wheel") == 0);
  /* saving what was loaded gives the same file */
  size_t size, again_size;
  unsigned char *bytes = read_all(path, &size);
  const char *again = scratch("again.ABUT");
  CHECK_STATUS(abut_model_save(loaded, again), ABUT_OK);
  unsigned char *again_bytes = read_all(again, &again_size);
  CHECK(size == again_size && memcmp(bytes, again_bytes, size) == 0);
  abut_model *reloaded = NULL;
  CHECK_STATUS(abut_model_load(again, NULL, &reloaded), ABUT_OK);
  free(bytes);
  free(again_bytes);
  abut_model_destroy(saved);
  abut_model_destroy(loaded);
  abut_model_destroy(reloaded);
  remove(path);
  remove(again);
}

TEST(every_truncation) {
  const char *path = scratch("short.abut");
  size_t size;
  unsigned char *bytes = make_bytes(path, &size);
  REQUIRE(bytes != NULL && size > 100);
  for (size_t length = 0; length < size; length++) {
    abut_model *m = (abut_model *)&size;
    char expected[64];
    write_all(path, bytes, length);
    CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
    CHECK(m == NULL);
    snprintf(expected, sizeof expected, "it has %zu", length);
    CHECK(strstr(abut_error_message(), length < 4 ? "is not an abut file" : expected) != NULL);
  }
  /* and one byte more */
  abut_model *m;
  unsigned char *longer = calloc(size + 1, 1);
  memcpy(longer, bytes, size);
  write_all(path, longer, size + 1);
  CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "is corrupted") != NULL);
  free(longer);
  free(bytes);
  remove(path);
}

TEST(every_byte_corrupted) {
  static const unsigned char flips[] = {0x01, 0x80, 0xff};
  const char *path = scratch("wrong.abut");
  size_t size;
  unsigned char *bytes = make_bytes(path, &size);
  REQUIRE(bytes != NULL);
  for (size_t i = 0; i < size; i++)
    for (int f = 0; f < (test_quick() ? 1 : 3); f++) {
      abut_model *m = NULL;
      bytes[i] ^= flips[f];
      write_all(path, bytes, size);
      CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
      bytes[i] ^= flips[f];
    }
  free(bytes);
  remove(path);
}

/* Bytes that no checksum catches: whatever a whole, well-sealed file says, loading it neither crashes nor
 * reads outside; what it accepts can be saved again. */
TEST(every_byte_corrupted_and_sealed) {
  static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x40};
  const char *path = scratch("sealed.abut");
  size_t size;
  int accepted = 0, refused = 0;
  unsigned char *bytes = make_bytes(path, &size);
  REQUIRE(bytes != NULL);
  for (size_t i = 0; i + 8 < size; i++)
    for (int f = 0; f < (test_quick() ? 2 : 4); f++) {
      abut_model *m = NULL;
      bytes[i] ^= flips[f];
      seal(bytes, size);
      write_all(path, bytes, size);
      if (abut_model_load(path, NULL, &m) == ABUT_OK)
        accepted++;
      else
        refused++;
      abut_model_destroy(m);
      bytes[i] ^= flips[f];
    }
  /* numbers may change, structure may not */
  CHECK(accepted > 100 && refused > 1000);
  free(bytes);
  remove(path);
}

/* A count that would need gigabytes is held against the file's size before anything is allocated for it. */
TEST(huge_counts) {
  const char *path = scratch("huge.abut");
  size_t size;
  unsigned char *bytes = make_bytes(path, &size);
  REQUIRE(bytes != NULL);
  for (int count = 0; count < 12; count++) {
    static const int32_t values[] = {INT32_MAX, -1, INT32_MIN, 1 << 28};
    for (int v = 0; v < 4; v++) {
      abut_model *m;
      int32_t before;
      memcpy(&before, bytes + 8 + 4 * count, 4);
      memcpy(bytes + 8 + 4 * count, values + v, 4);
      seal(bytes, size);
      write_all(path, bytes, size);
      CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
      memcpy(bytes + 8 + 4 * count, &before, 4);
    }
  }
  free(bytes);
  remove(path);
}

TEST(messages) {
  const char *path = scratch("message.abut");
  abut_model *m;
  size_t size;
  unsigned char *bytes = make_bytes(path, &size);
  REQUIRE(bytes != NULL);
  write_all(path, "<mujoco/>", 9);
  CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "is not an abut file") != NULL &&
        strstr(abut_error_message(), path) != NULL);
  bytes[4] = 9;
  write_all(path, bytes, size);
  CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "version 9 is not supported, this build reads 4") != NULL);
  bytes[4] = 4;
  bytes[size - 20] ^= 1;
  write_all(path, bytes, size);
  CHECK_STATUS(abut_model_load(path, NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "its checksum does not match") != NULL);
  free(bytes);
  remove(path);
}

TEST(paths) {
  abut_model *m, *model = make_model();
  const char *folder = scratch("folder.abut");
  CHECK_STATUS(abut_model_load("no/such.abut", NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "'no/such.abut'") != NULL);
  CHECK_STATUS(abut_model_load("no/such.txt", NULL, &m), ABUT_ERROR_FILE);
  CHECK(abut_model_load("no/such.xml", NULL, &m) != ABUT_OK);
  CHECK(m == NULL);
  CHECK_STATUS(abut_model_load(NULL, NULL, &m), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_model_load("a.abut", NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_model_save(model, "no/such/folder/a.abut"), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "'no/such/folder/a.abut'") != NULL);
  CHECK_STATUS(abut_model_save(NULL, "a.abut"), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_model_save(model, NULL), ABUT_ERROR_ARGUMENT);
  /* a folder in the way: refused both ways, and no partial file stays behind */
  REQUIRE(mkdir(folder, 0777) == 0);
  CHECK_STATUS(abut_model_load(folder, NULL, &m), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "not a regular file") != NULL);
  CHECK_STATUS(abut_model_save(model, folder), ABUT_ERROR_FILE);
  CHECK(strstr(abut_error_message(), "not a regular file") != NULL);
  char partial[300];
  snprintf(partial, sizeof partial, "%s.%ld-0.part", folder, (long)getpid());
  CHECK(access(partial, F_OK) != 0);
  rmdir(folder);
  abut_model_destroy(model);
}

TEST(leftovers) {
  /* a partial file of a killed program with this one's number neither stops a save nor is touched by it */
  abut_model *m, *model = make_model();
  char path[256], partial[300];
  snprintf(path, sizeof path, "%s", scratch("saved.abut"));
  snprintf(partial, sizeof partial, "%s.%ld-0.part", path, (long)getpid());
  write_all(partial, "left", 4);
  REQUIRE(abut_model_save(model, path) == ABUT_OK);
  CHECK(access(partial, F_OK) == 0);
  REQUIRE(abut_model_load(path, NULL, &m) == ABUT_OK);
  abut_model_destroy(m);
  abut_model_destroy(model);
  remove(partial);
  remove(path);
}
