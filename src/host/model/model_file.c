/* model_file.c: .abut files, the compiled scene on disk. Little endian, no padding:
 *
 *   magic "ABUT" | version u32 | counts, i32 each, in the order of MODEL_COUNTS, in version 5 those of
 *   MODEL_SURFACE_COUNTS too | warnings i32 | abut_scene_options | every array of model.def in its
 *   order | FNV-1a 64 of all bytes before, u64
 *
 * Scenes without surfaces are written as version 4, which ends before them. The counts decide the size, so
 * that a wrong count is found before anything is allocated for it. */
#include "host/model/model_file.h"
#include "abut/file.h"
#include "host/model/model.h"
#include "host/base/status.h"
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are written as they are in memory: a big-endian host needs a conversion here"
#endif

/* count up when model.def, the counts or their meaning change; 2 and 3 held scenes without tendons,
 * equalities, sensors and sites */
enum { PLAIN_VERSION = 4, SURFACE_VERSION = 5, CHECKSUM_BYTES = 8 };

/* these are written as they are */
_Static_assert(sizeof(abut_primitive) == 4 * sizeof(int32_t) + 12 * sizeof(double),
               "padding would be in files");
_Static_assert(sizeof(abut_scene_options) == 14 * sizeof(double) + 4 * sizeof(int32_t),
               "padding would be in files");

static const char magic[4] = {'A', 'B', 'U', 'T'};

typedef struct cursor {
  unsigned char *at;
} cursor;

static void put(cursor *c, const void *value, size_t size) {
  memcpy(c->at, value, size);
  c->at += size;
}

static void take(cursor *c, void *value, size_t size) {
  memcpy(value, c->at, size);
  c->at += size;
}

static uint64_t fnv1a(const unsigned char *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

/* Calls transfer(cursor, address, bytes) for every scalar of the header, in order. */
static void transfer_header(cursor *c, uint32_t version, abut_model *m,
                            void (*transfer)(cursor *, void *, size_t)) {
#define X(name) transfer(c, &m->name, sizeof m->name);
  MODEL_COUNTS(X)
  if (version == SURFACE_VERSION) {
    MODEL_SURFACE_COUNTS(X)
  }
#undef X
  transfer(c, &m->warnings, sizeof m->warnings);
  transfer(c, &m->option, sizeof m->option);
}

static void put_any(cursor *c, void *value, size_t size) { put(c, value, size); }

/* Bytes of magic, version and header. */
static int64_t header_bytes(uint32_t version) {
  size_t bytes = sizeof magic + sizeof version;
#define X(name) bytes += sizeof(int32_t);
  MODEL_COUNTS(X)
  if (version == SURFACE_VERSION) {
    MODEL_SURFACE_COUNTS(X)
  }
#undef X
  return (int64_t)(bytes + sizeof(int32_t) + sizeof(abut_scene_options));
}

/* Bytes of a whole file with the model's counts; -1 if they are impossible. */
static int64_t file_bytes(uint32_t version, const abut_model *m) {
  int64_t total = model_bytes(m);
  if (total < 0 || __builtin_add_overflow(total, header_bytes(version) + CHECKSUM_BYTES, &total)) return -1;
  return total;
}

/* ---------------------------------------------------------------------------------------- save */

static void put_arrays(cursor *c, const abut_model *m) {
  MODEL_SIZES(m)
#define X(type, name, rows, columns)                                                                         \
  put(c, m->name, (size_t)model_array_bytes(m->rows, columns, (int64_t)sizeof(type)));
#include "kernels/tree/model.def"
#undef X
}

abut_status abut_model_save(const abut_model *model, const char *path) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(path, "path");
  uint32_t version = model->nsurface ? SURFACE_VERSION : PLAIN_VERSION;
  int64_t total = file_bytes(version, model);
  unsigned char *bytes = total < 0 ? NULL : malloc((size_t)total);
  if (!bytes) return fail_with(ABUT_ERROR_MEMORY, "'%s': no memory to write it", path);
  cursor c = {bytes};
  abut_model header = *model;
  put(&c, magic, sizeof magic);
  put(&c, &version, sizeof version);
  transfer_header(&c, version, &header, put_any);
  put_arrays(&c, model);
  uint64_t checksum = fnv1a(bytes, (size_t)(c.at - bytes));
  put(&c, &checksum, sizeof checksum);
  abut_status status = abut_file_write(path, bytes, (size_t)total);
  free(bytes);
  return status;
}

/* ---------------------------------------------------------------------------------------- load */

static abut_status truncated(const char *path, int64_t needed, int64_t size) {
  return fail_with(ABUT_ERROR_FILE, "'%s' is truncated: it needs %lld bytes, it has %lld", path,
                   (long long)needed, (long long)size);
}

/* Everything that can be said of a file's bytes before a model is allocated for them. */
static abut_status check_bytes(const char *path, unsigned char *bytes, int64_t size, uint32_t *version,
                               abut_model *header) {
  cursor c = {bytes};
  if (size < (int64_t)sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
    return fail_with(ABUT_ERROR_FILE, "'%s' is not an abut file", path);
  int64_t least = header_bytes(PLAIN_VERSION) + CHECKSUM_BYTES;
  if (size < least) return truncated(path, least, size);
  c.at += sizeof magic;
  take(&c, version, sizeof *version);
  if (*version != PLAIN_VERSION && *version != SURFACE_VERSION)
    return fail_with(
        ABUT_ERROR_FILE,
        "'%s': version %u is not supported, this build reads %d and %d: convert its source again", path,
        *version, PLAIN_VERSION, SURFACE_VERSION);
  least = header_bytes(*version) + CHECKSUM_BYTES;
  if (size < least) return truncated(path, least, size);
  transfer_header(&c, *version, header, take);
  int64_t needed = file_bytes(*version, header);
  if (needed < 0) return fail_with(ABUT_ERROR_FILE, "'%s' is corrupted: its counts are impossible", path);
  if (size < needed) return truncated(path, needed, size);
  if (size > needed)
    return fail_with(ABUT_ERROR_FILE, "'%s' is corrupted: it has %lld bytes, its counts make %lld", path,
                     (long long)size, (long long)needed);
  uint64_t checksum;
  memcpy(&checksum, bytes + size - CHECKSUM_BYTES, sizeof checksum);
  if (checksum != fnv1a(bytes, (size_t)size - CHECKSUM_BYTES))
    return fail_with(ABUT_ERROR_FILE, "'%s' is corrupted: its checksum does not match", path);
  return ABUT_OK;
}

static void take_arrays(cursor *c, abut_model *m) {
  MODEL_SIZES(m)
#define X(type, name, rows, columns)                                                                         \
  take(c, m->name, (size_t)model_array_bytes(m->rows, columns, (int64_t)sizeof(type)));
#include "kernels/tree/model.def"
#undef X
}

static abut_status read_bytes(const char *path, unsigned char *bytes, int64_t size, abut_model *m) {
  uint32_t version = PLAIN_VERSION;
  ATTEMPT(check_bytes(path, bytes, size, &version, m));
  ATTEMPT(model_allocate(m));
  cursor c = {bytes + header_bytes(version)};
  take_arrays(&c, m);
  ATTEMPT(model_validate(m));
  return model_derive(m);
}

abut_status model_file_parse(const char *path, void *bytes, size_t size, abut_model **model) {
  *model = NULL;
  abut_model *m = calloc(1, sizeof *m);
  abut_status status = m ? read_bytes(path, bytes, (int64_t)size, m)
                         : fail_with(ABUT_ERROR_MEMORY, "'%s': no memory to read it", path);
  if (status == ABUT_OK)
    *model = m;
  else
    abut_model_destroy(m);
  return status;
}

abut_status model_file_load(const char *path, abut_model **model) {
  char *bytes = NULL;
  size_t size = 0;
  *model = NULL;
  ATTEMPT(abut_file_read(path, &bytes, &size));
  abut_status status = model_file_parse(path, bytes, size, model);
  free(bytes);
  return status;
}
