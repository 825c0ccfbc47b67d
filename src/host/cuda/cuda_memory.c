/* cuda_memory.c: what of a batch lies where on its GPU. Everything is placed twice by the same lines: once to
 * count, once in the arena. */
#ifdef ABUT_HAVE_CUDA
#include "host/cuda/cuda_memory.h"
#include "host/batch/backend.h"
#include "host/batch/layout.h"
#include "host/base/status.h"
#include <stdlib.h>
#include <string.h>

static void place_state(placer *p, const abut_batch *b, batch_state *s) {
  int64_t n = b->options.nenv, c = n * b->capacity;
  s->qpos = place(p, n * b->model->nq, elem_size(b));
  s->qvel = place(p, n * b->model->nv, elem_size(b));
  s->act = place(p, n * b->model->na, elem_size(b));
  s->warm.count = place(p, n, 4);
  s->warm.pair = place(p, c, 4);
  s->warm.data = place(p, c * b->method->kept, elem_size(b));
  s->status = place(p, n, 4);
  s->fresh = place(p, n, 1);
}

static void place_model(placer *p, const abut_model *m, abut_model *at) {
  MODEL_SIZES(m)
  *at = *m;
#define X(type, name, rows, columns) at->name = place(p, (int64_t)m->rows * (columns), sizeof(type));
#include "kernels/tree/model.def"
#undef X
}

/* Environments whose fields interleave. */
static int32_t tile_size(int team) { return team == 1 ? 32 : 1; }

size_t cuda_layout(const abut_batch *b, int team, char *base, device_batch *at) {
  placer p = {base, 0};
  const step_params *k = &b->params;
  const abut_model *m = b->model;
  int64_t n = b->options.nenv, tile = tile_size(team);
  at->params = place(&p, 1, sizeof *at->params);
  at->io = place(&p, 1, sizeof *at->io);
  at->model_at = place(&p, 1, sizeof *at->model_at);
  place_model(&p, m, &at->model);
  at->pairs = place(&p, m->npair, sizeof *at->pairs);
  at->path_adr = place(&p, m->nbody + 1, 4);
  at->path = place(&p, k->path_adr[m->nbody], 4);
  at->coupled = place(&p, m->nv, 4);
  at->tendon_dofadr = place(&p, m->ntendon + 1, 4);
  at->tendon_dof = place(&p, k->ntendondof, 4);
  at->geom_box = place(&p, 6 * (int64_t)m->ngeom, 8);
  at->body_radius = place(&p, m->nbody, 8);
  for (int i = 0; i < PARAM_COUNT; i++) {
    at->parameters[i].n = b->parameters[i].n;
    at->parameters[i].data = place(&p, n * (b->parameters[i].n + 1), elem_size(b));
  }
  place_state(&p, b, &at->state);
  place_state(&p, b, &at->next);
  at->groups = place(&p, n, sizeof *at->groups);
  at->own = place(&p, n, b->method->own_size);
  at->tile_bytes = (size_t)group_bytes(b, (int32_t)tile);
  at->tiles = place(&p, (n + tile - 1) / tile, at->tile_bytes);
  return p.used;
}

static abut_status fill_model(const abut_batch *b, const device_batch *at) {
  const abut_model *m = b->model;
  MODEL_SIZES(m)
#define X(type, name, rows, columns)                                                                         \
  ATTEMPT(backend_cuda.write(b, at->model.name, m->name, (size_t)m->rows *(columns) * sizeof(type)));
#include "kernels/tree/model.def"
#undef X
  return backend_cuda.write(b, at->model_at, &at->model, sizeof at->model);
}

static abut_status fill_pairs(const abut_batch *b, const device_batch *at) {
  const abut_model *m = b->model;
  size_t bytes = (size_t)m->npair * sizeof(pair_info);
  pair_info *pairs = malloc(bytes + 1);
  if (!pairs) return fail_with(ABUT_ERROR_MEMORY, "%d pairs: out of memory", m->npair);
  if (bytes) memcpy(pairs, b->params.pairs, bytes);
  for (int32_t i = 0; i < m->npair; i++)
    for (int j = 0; j < 2; j++) {
      pair_side *s = &pairs[i].side[j];
      if (s->points) s->points = at->model.point + (s->points - m->point);
      if (!s->tree.sphere) continue;
      s->tree.sphere = at->model.node_sphere + (s->tree.sphere - m->node_sphere);
      s->tree.child = at->model.node_child + (s->tree.child - m->node_child);
      s->tree.corners = at->model.triangle + (s->tree.corners - m->triangle);
    }
  abut_status status = backend_cuda.write(b, at->pairs, pairs, bytes);
  free(pairs);
  return status;
}

/* Lane groups of a tile, and what the method has of its own in them, as they lie on the device. */
static void tile_at(const abut_batch *b, int32_t tile, const device_batch *at, int64_t first, lane_group *g,
                    char *own) {
  size_t size = b->method->own_size;
  placer p = {at->tiles + (size_t)(first / tile) * at->tile_bytes, 0};
  memset(g, 0, (size_t)tile * sizeof *g);
  memset(own, 0, (size_t)tile * size);
  group_place(&p, b, tile, g, own);
  for (int32_t i = 0; i < tile; i++) g[i].own = at->own + (size_t)(first + i) * size;
}

static abut_status fill_groups(const abut_batch *b, int team, const device_batch *at) {
  enum { CHUNK = 1024 };
  const size_t size = b->method->own_size;
  const int32_t tile = tile_size(team);
  lane_group *groups = malloc(CHUNK * sizeof *groups);
  char *own = malloc(CHUNK * size + 1);
  abut_status status = ABUT_OK;
  if (!groups || !own) status = fail_with(ABUT_ERROR_MEMORY, "lane groups: out of memory");
  for (int64_t first = 0; first < b->options.nenv && status == ABUT_OK; first += CHUNK) {
    int64_t n = b->options.nenv - first < CHUNK ? b->options.nenv - first : CHUNK;
    for (int64_t i = 0; i < n; i += tile) tile_at(b, tile, at, first + i, groups + i, own + (size_t)i * size);
    status = backend_cuda.write(b, at->groups + first, groups, (size_t)n * sizeof *groups);
    if (status == ABUT_OK && size)
      status = backend_cuda.write(b, at->own + (size_t)first * size, own, (size_t)n * size);
  }
  free(groups);
  free(own);
  return status;
}

abut_status cuda_fill(const abut_batch *b, int team, device_batch *at) {
  const abut_model *m = b->model;
  step_params k = b->params;
  ATTEMPT(fill_model(b, at));
  ATTEMPT(fill_pairs(b, at));
  ATTEMPT(backend_cuda.write(b, at->path_adr, k.path_adr, ((size_t)m->nbody + 1) * 4));
  ATTEMPT(backend_cuda.write(b, at->path, k.path, (size_t)k.path_adr[m->nbody] * 4));
  ATTEMPT(backend_cuda.write(b, at->coupled, k.coupled, (size_t)m->nv * 4));
  ATTEMPT(backend_cuda.write(b, at->tendon_dofadr, k.tendon_dofadr, ((size_t)m->ntendon + 1) * 4));
  ATTEMPT(backend_cuda.write(b, at->tendon_dof, k.tendon_dof, (size_t)k.ntendondof * 4));
  ATTEMPT(backend_cuda.write(b, at->geom_box, k.geom_box, 6 * (size_t)m->ngeom * 8));
  ATTEMPT(backend_cuda.write(b, at->body_radius, k.body_radius, (size_t)m->nbody * 8));
  k.model = at->model_at;
  k.pairs = at->pairs;
  k.path_adr = at->path_adr;
  k.path = at->path;
  k.coupled = at->coupled;
  k.tendon_dofadr = at->tendon_dofadr;
  k.tendon_dof = at->tendon_dof;
  k.geom_box = at->geom_box;
  k.body_radius = at->body_radius;
  ATTEMPT(backend_cuda.write(b, at->params, &k, sizeof k));
  return fill_groups(b, team, at);
}

void cuda_state_copies(const abut_batch *b, const batch_state *d, state_copy copies[STATE_COPIES]) {
  const batch_state *h = &b->state;
  size_t n = (size_t)b->options.nenv, c = n * (size_t)b->capacity, e = elem_size(b);
  const state_copy list[STATE_COPIES] = {{h->qpos, d->qpos, n * (size_t)b->model->nq * e},
                                         {h->qvel, d->qvel, n * (size_t)b->model->nv * e},
                                         {h->act, d->act, n * (size_t)b->model->na * e},
                                         {h->warm.count, d->warm.count, n * 4},
                                         {h->warm.pair, d->warm.pair, c * 4},
                                         {h->warm.data, d->warm.data, c * (size_t)b->method->kept * e},
                                         {h->status, d->status, n * 4},
                                         {h->fresh, d->fresh, n}};
  memcpy(copies, list, sizeof list);
}

extern const void *const abut_controls[CONTROL_COUNT];
extern const void *const abut_roof_kernel_f64, *const abut_roof_kernel_f32;

const void *cuda_control(control_id which) { return abut_controls[which]; }
const void *cuda_roof(int32_t dtype) {
  return dtype == ABUT_F64 ? abut_roof_kernel_f64 : abut_roof_kernel_f32;
}

#else
typedef int cuda_memory_is_empty; /* ISO C wants one declaration */
#endif
