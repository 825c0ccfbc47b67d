/* fuzz_model.c: any bytes as an .abut file; and again as the file that their counts make, well sealed,
 * because hardly any mutation would get past length and checksum. A scene that is accepted makes a step. */
#include "fuzz.h"
#include "host/model/model.h"
#include "host/model/model_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONE(name) +1
enum {
  START = 8,
  COUNTS = 0 MODEL_COUNTS(ONE),
  SURFACE_COUNTS = 0 MODEL_SURFACE_COUNTS(ONE),
  HEADER = START + 4 * COUNTS + 4 + sizeof(abut_scene_options),
  SEAL = 8
};
/* scenes above these are read, but not stepped: the fuzzer must stay fast */
enum { MOST_DOFS = 32, MOST_PAIRS = 64, MOST_BYTES = 1 << 15, MOST_MEMORY = 1 << 25 };

/* A state before and after one step; whatever happens, it consists of numbers. */
static void step_batch(abut_batch *batch, abut_model_sizes sizes) {
  enum { QPOS, QVEL, XPOS, XQUAT, OUTPUTS };
  abut_rollout_args args = abut_default_rollout_args();
  abut_tensor **const to[OUTPUTS] = {&args.qpos, &args.qvel, &args.xpos, &args.xquat};
  int64_t shapes[OUTPUTS][4] = {
      {1, 2, sizes.nq}, {1, 2, sizes.nv}, {1, 2, sizes.nbody, 3}, {1, 2, sizes.nbody, 4}};
  const int64_t counts[OUTPUTS] = {2 * sizes.nq, 2 * sizes.nv, 6 * sizes.nbody, 8 * sizes.nbody};
  abut_tensor out[OUTPUTS] = {0};
  args.nstep = 1;
  for (int i = 0; i < OUTPUTS; i++) {
    out[i].data = calloc((size_t)counts[i] + 1, sizeof(double));
    out[i].device.device_type = 1;
    out[i].dtype.code = 2, out[i].dtype.bits = 64, out[i].dtype.lanes = 1;
    out[i].ndim = i < XPOS ? 3 : 4;
    out[i].shape = shapes[i];
    *to[i] = &out[i];
  }
  if (abut_rollout(batch, &args, NULL, NULL, NULL) == ABUT_OK)
    for (int i = 0; i < OUTPUTS; i++)
      for (int64_t k = 0; k < counts[i]; k++)
        if (!isfinite(((const double *)out[i].data)[k])) abort();
  for (int i = 0; i < OUTPUTS; i++) free(out[i].data);
}

static void step(const abut_model *m) {
  abut_options options = abut_default_options();
  abut_batch *batch = NULL;
  int64_t per_env, total;
  options.nenv = options.threads = 1;
  options.device = ABUT_DEVICE_CPU;
  options.max_iterations = 8;
  abut_model_sizes sizes = abut_model_get_sizes(m);
  if (sizes.nv > MOST_DOFS || sizes.npair > MOST_PAIRS) return;
  if (abut_batch_memory(m, &options, 1, &per_env, &total) != ABUT_OK || total > MOST_MEMORY) return;
  if (abut_batch_create(m, &options, &batch) == ABUT_OK) step_batch(batch, sizes);
  abut_batch_destroy(batch);
}

/* Everything that can be asked of a model. */
static void ask(const abut_model *m) {
  abut_model_sizes sizes = abut_model_get_sizes(m);
  size_t letters = strlen(abut_model_warnings(m));
  int32_t geoms[2];
  abut_body_def body;
  abut_joint_def joint;
  abut_geom_def geom;
  for (int32_t i = 0; i < sizes.nbody; i++) {
    abut_model_body(m, i, &body);
    letters += strlen(abut_model_name(m, 'b', i));
  }
  for (int32_t i = 0; i < sizes.njnt; i++) abut_model_joint(m, i, &joint);
  for (int32_t i = 0; i < sizes.ngeom; i++) {
    abut_surface view;
    double phi, gradient[3];
    const double at[3] = {0.1, -0.2, 0.3};
    abut_model_geom(m, i, &geom);
    if (abut_model_surface(m, i, &view) != ABUT_OK) abort();
    if (view.primitive_count && abut_surface_distance(&view, 1, at, &phi, gradient) != ABUT_OK) abort();
  }
  for (int32_t i = 0; i < sizes.npair; i++) abut_model_pair(m, i, geoms);
  if (letters > MOST_BYTES * (size_t)sizes.nbody + MOST_BYTES) abort();
}

static void load(uint8_t *bytes, size_t size) {
  abut_model *m = NULL;
  if (model_file_parse("fuzz.abut", bytes, size, &m) == ABUT_OK) {
    ask(m);
    step(m);
  }
  abut_model_destroy(m);
}

/* Length of the file that the counts make, with those of surfaces or without; 0 where it is too long to try.
 */
static size_t length_by_counts(const uint8_t *data, int surfaces) {
  abut_model m = {0};
  const uint8_t *at = data + START;
#define X(name) memcpy(&m.name, at, 4), at += 4;
  MODEL_COUNTS(X)
  if (surfaces) {
    MODEL_SURFACE_COUNTS(X)
  }
#undef X
  int64_t bytes = model_bytes(&m);
  size_t header = HEADER + (surfaces ? 4 * SURFACE_COUNTS : 0);
  return bytes < 0 || bytes > MOST_BYTES ? 0 : header + (size_t)bytes + SEAL;
}

static void seal(uint8_t *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i + SEAL < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
  memcpy(bytes + size - SEAL, &hash, SEAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int surfaces = size > 4 && data[4] == 5;
  size_t wanted = size < HEADER + 4 * SURFACE_COUNTS ? 0 : length_by_counts(data, surfaces);
  uint8_t *bytes = calloc(1, size > wanted ? size : wanted + 1);
  if (!bytes) return 0;
  memcpy(bytes, data, size);
  load(bytes, size);
  if (wanted) {
    memcpy(bytes, surfaces ? "ABUT\3\0\0\0" : "ABUT\2\0\0\0", START);
    seal(bytes, wanted);
    load(bytes, wanted);
  }
  free(bytes);
  return 0;
}
