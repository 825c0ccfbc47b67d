/* model.c: the compiled scene's memory, derived quantities and names. */
#include "host/model/model.h"
#include "host/base/geometry.h"
#include "host/model/dynamics.h"
#include "host/shape/moment.h"
#include "host/base/status.h"
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------- memory */

int64_t model_array_bytes(int64_t rows, int64_t columns, int64_t element) {
  int64_t count, bytes;
  if (rows < 0 || columns < 0) return -1;
  if (__builtin_mul_overflow(rows, columns, &count) || __builtin_mul_overflow(count, element, &bytes))
    return -1;
  return bytes;
}

int64_t model_bytes(const abut_model *model) {
  MODEL_SIZES(model)
  int64_t total = 0, bytes;
#define X(type, name, rows, columns)                                                                         \
  bytes = model_array_bytes(model->rows, columns, (int64_t)sizeof(type));                                    \
  if (bytes < 0 || bytes / (int64_t)sizeof(type) > INT32_MAX ||                                              \
      __builtin_add_overflow(total, bytes, &total))                                                          \
    return -1;
#include "kernels/tree/model.def"
#undef X
  return total;
}

/* Zeroed memory for one array; not NULL if it is empty, so that NULL means failure. */
static void *allocate_array(int64_t rows, int64_t columns, size_t element) {
  int64_t bytes = model_array_bytes(rows, columns, (int64_t)element);
  return calloc(bytes ? (size_t)bytes : 1, 1);
}

abut_status model_allocate(abut_model *model) {
#define X(name)                                                                                              \
  if (model->name < 0) return fail_with(ABUT_ERROR_MODEL, "model: " #name " is %d", model->name);
  MODEL_COUNTS(X)
  MODEL_SURFACE_COUNTS(X)
#undef X
  int64_t bytes = model_bytes(model);
  if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2)
    return fail_with(ABUT_ERROR_MEMORY, "model: an array would be longer than %d numbers", INT32_MAX);
  int missing = 0;
  MODEL_SIZES(model)
#define X(type, name, rows, columns)                                                                         \
  model->name = allocate_array(model->rows, columns, sizeof(type));                                          \
  missing |= !model->name;
#include "kernels/tree/model.def"
#undef X
  if (!missing) return ABUT_OK;
  model_free_arrays(model);
  return fail_with(ABUT_ERROR_MEMORY, "model: no memory for its %lld bytes", (long long)bytes);
}

void model_free_arrays(abut_model *model) {
#define X(type, name, rows, columns)                                                                         \
  free(model->name);                                                                                         \
  model->name = NULL;
#include "kernels/tree/model.def"
#undef X
}

void abut_model_destroy(abut_model *model) {
  if (!model) return;
  model_free_arrays(model);
  free(model);
}

/* ---------------------------------------------------------------------------------------- derived */

static void derive_welds(abut_model *m) {
  m->body_weldid[0] = 0;
  for (int32_t b = 1; b < m->nbody; b++)
    m->body_weldid[b] = m->body_jntnum[b] > 0 ? b : m->body_weldid[m->body_parent[b]];
}

static void derive_moments(abut_model *m) {
  for (int32_t b = 0; b < m->nbody; b++)
    moment_from_principal(m->body_moment + 10 * (size_t)b, m->body_mass[b], m->body_ipos + 3 * (size_t)b,
                          m->body_iquat + 4 * (size_t)b, m->body_inertia + 3 * (size_t)b);
}

/* Within a body each dof hangs on the one before; the first on the last dof of the nearest body above. */
static void derive_dof_tree(abut_model *m) {
  for (int32_t b = 1; b < m->nbody; b++) {
    int32_t above = m->body_parent[b];
    while (above > 0 && m->body_dofnum[above] == 0) above = m->body_parent[above];
    int32_t previous = above > 0 ? m->body_dofadr[above] + m->body_dofnum[above] - 1 : -1;
    for (int32_t d = 0; d < m->body_dofnum[b]; d++) {
      m->dof_parent[m->body_dofadr[b] + d] = previous;
      previous = m->body_dofadr[b] + d;
    }
  }
}

/* What a joint moves in the reference configuration: diagonal entry of the joint-space mass matrix (kg, kg
 * m^2), the mean of the three for a ball. subtree: moment of the body and all below it, in the body's frame.
 */
static double joint_inertia(const abut_model *m, int32_t j, const double subtree[10]) {
  static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const double *pos = m->jnt_pos + 3 * (size_t)j;
  double sum = 0;
  switch (m->jnt_type[j]) {
  case ABUT_JOINT_SLIDE:
    return subtree[0] + m->jnt_armature[j];
  case ABUT_JOINT_HINGE:
    return moment_about(subtree, pos, m->jnt_axis + 3 * (size_t)j) + m->jnt_armature[j];
  default:
    for (int i = 0; i < 3; i++) sum += moment_about(subtree, pos, axes[i]);
    return sum / 3 + m->jnt_armature[j];
  }
}

/* Uses body_moment as scratch for the subtrees' moments: call before derive_moments' result is wanted. */
static void derive_inertias(abut_model *m) {
  for (int32_t b = m->nbody - 1; b > 0; b--) {
    const double *subtree = m->body_moment + 10 * (size_t)b;
    for (int32_t j = m->body_jntadr[b]; j < m->body_jntadr[b] + m->body_jntnum[b]; j++)
      m->jnt_inertia[j] = joint_inertia(m, j, subtree);
    moment_add(m->body_moment + 10 * (size_t)m->body_parent[b], 1, subtree, m->body_pos + 3 * (size_t)b,
               m->body_quat + 4 * (size_t)b);
  }
}

static void derive_axes(abut_model *m) {
  for (int32_t e = 0; e < m->neq; e++) {
    double r[9];
    quat_matrix(r, m->eq_relquat + 4 * (size_t)e);
    for (int i = 0; i < 9; i++)
      m->eq_axes[9 * (size_t)e + (size_t)(3 * (i % 3) + i / 3)] = r[i]; /* columns */
  }
}

abut_status model_derive(abut_model *model) {
  derive_axes(model);
  derive_welds(model);
  derive_dof_tree(model);
  derive_moments(model);
  derive_inertias(model);
  derive_moments(model);
  return model_inverse_weights(model);
}

/* ---------------------------------------------------------------------------------------- names, sizes */

const char *abut_model_name(const abut_model *model, char kind, int32_t id) {
  int32_t first = 0;
  if (!model || id < 0) return NULL;
#define X(letter, count, noun)                                                                               \
  if (kind == letter) return id < model->count ? model->text + model->name_adr[first + id] : NULL;           \
  first += model->count;
  MODEL_NAMED(X)
#undef X
  return NULL;
}

const char *model_label(const abut_model *model, char kind, int32_t id, char label[LABEL_SIZE]) {
  const char *name = abut_model_name(model, kind, id), *noun = "object";
#define X(letter, count, word)                                                                               \
  if (kind == letter) noun = word;
  MODEL_NAMED(X)
#undef X
  if (name && *name)
    snprintf(label, LABEL_SIZE, "%s '%s'", noun, name);
  else
    snprintf(label, LABEL_SIZE, "%s %d", noun, id);
  return label;
}

const char *abut_model_warnings(const abut_model *model) {
  return model ? model->text + model->warnings : "";
}

abut_model_sizes abut_model_get_sizes(const abut_model *model) {
  abut_model_sizes sizes = {0};
  if (!model) return sizes;
  sizes.nbody = model->nbody;
  sizes.njnt = model->njnt;
  sizes.nq = model->nq;
  sizes.nv = model->nv;
  sizes.nu = model->nu;
  sizes.na = model->na;
  sizes.nmocap = model->nmocap;
  sizes.ngeom = model->ngeom;
  sizes.npair = model->npair;
  sizes.nsite = model->nsite;
  sizes.nhfield = model->nhfield;
  sizes.ntendon = model->ntendon;
  sizes.neq = model->neq;
  sizes.nsensor = model->nsensor;
  sizes.nsensordata = model->nsensordata;
  sizes.nkey = model->nkey;
  return sizes;
}

abut_status abut_model_pair(const abut_model *model, int32_t pair, int32_t geoms[2]) {
  REQUIRE_POINTER(model, "model");
  REQUIRE_POINTER(geoms, "geoms");
  if (pair < 0 || pair >= model->npair)
    return fail_with(ABUT_ERROR_ARGUMENT, "pair %d does not exist: the model has %d", pair, model->npair);
  geoms[0] = model->pair_geom1[pair];
  geoms[1] = model->pair_geom2[pair];
  return ABUT_OK;
}

int32_t model_mocap(const abut_model *m, int64_t i) {
  int32_t b = 0;
  while (b + 1 < m->nbody && m->body_mocapid[b] != i) b++;
  return b;
}
