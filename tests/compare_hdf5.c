/* compare_hdf5.c: for test_kill.sh: compare_hdf5 FILE prints the steps that a file of abut rollout --out
 * holds, or the pairs of poses in one of abut manifold --out; compare_hdf5 FILE OTHER also checks that they
 * have the same bits in both. */
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that n steps or poses fill: states have one more, controls may be held, contacts have their own
 * number, which `first` tells. Those of a rollout lie along axis 1. */
typedef enum row_kind { STATES, STEPS, HELD, STARTS, CONTACTS } row_kind;
static const struct {
  const char *name;
  row_kind kind;
} datasets[] = {{"/qpos", STATES},      {"/qvel", STATES},       {"/ctrl", HELD},
                {"/xpos", STATES},      {"/xquat", STATES},      {"/contact_force", STEPS},
                {"/min_gap", STEPS},    {"/first", STARTS},      {"/contact", CONTACTS},
                {"/point", CONTACTS},   {"/distance", CONTACTS}, {"/normal", CONTACTS},
                {"/activity", CONTACTS}};

static int is_manifold(hid_t file) { return H5Lexists(file, "/poses_written", H5P_DEFAULT) > 0; }

static int64_t written(hid_t file) {
  int64_t count = -1;
  hid_t dataset = H5Dopen2(file, is_manifold(file) ? "/poses_written" : "/steps_written", H5P_DEFAULT);
  if (dataset >= 0) H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &count);
  H5Dclose(dataset);
  return count;
}

/* The rows of so many steps or poses in the file's own type; free with free(). NULL where they cannot be
 * read. */
static void *read_rows(hid_t file, const char *name, int64_t rows, row_kind kind, size_t *bytes) {
  hsize_t start[4] = {0}, size[4];
  hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  if (dataset < 0) return NULL;
  hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
  int rank = H5Sget_simple_extent_dims(space, size, NULL), axis = kind == STARTS || kind == CONTACTS ? 0 : 1;
  if (kind != HELD || size[axis] > 1) size[axis] = (hsize_t)rows + (kind == STATES || kind == STARTS);
  *bytes = H5Tget_size(type);
  for (int i = 0; i < rank; i++) *bytes *= size[i];
  void *data = malloc(*bytes + 1);
  hid_t memory = H5Screate_simple(rank, size, NULL);
  if (!data || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
      (*bytes && H5Dread(dataset, type, memory, space, H5P_DEFAULT, data) < 0)) {
    free(data);
    data = NULL;
  }
  H5Sclose(memory);
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  return data;
}

/* In the order of the list: the starts of poses come before their contacts. */
static int compare(hid_t file, hid_t other, int64_t steps) {
  int same = 1;
  int64_t contacts = 0;
  for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
    size_t bytes[2] = {0};
    row_kind kind = datasets[i].kind;
    if ((kind == STARTS || kind == CONTACTS) != is_manifold(file)) continue;
    int64_t rows = kind == CONTACTS ? contacts : steps;
    void *a = read_rows(file, datasets[i].name, rows, kind, &bytes[0]);
    void *b = read_rows(other, datasets[i].name, rows, kind, &bytes[1]);
    if (!a || !b || bytes[0] != bytes[1] || memcmp(a, b, bytes[0])) {
      fprintf(stderr, "%s differs in the first %" PRId64 " steps or poses, or cannot be read\n",
              datasets[i].name, steps);
      same = 0;
    }
    if (a && kind == STARTS) contacts = ((const int64_t *)a)[steps];
    free(a);
    free(b);
  }
  return same;
}

int main(int argc, char **argv) {
  hid_t files[2] = {-1, -1};
  if (argc < 2 || argc > 3) return 2;
  for (int i = 0; i + 1 < argc; i++) {
    files[i] = H5Fopen(argv[i + 1], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (files[i] < 0) return 1;
  }
  int64_t steps = written(files[0]);
  printf("%" PRId64 "\n", steps);
  if (steps < 0 || (argc == 3 && steps > written(files[1]))) return 1;
  return argc == 2 || compare(files[0], files[1], steps) ? 0 : 1;
}
