/* layout.c: turns a model and options into what every stage is told: dof paths, bounding boxes, and through
 * the method the pairs of shapes and where each field lies; and where the arrays of lane groups lie. */
#include "host/batch/layout.h"
#include "host/base/status.h"
#include "host/model/tendon.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last dof that moves a body, -1. */
static int32_t last_dof(const abut_model *m, int32_t b) {
  while (b > 0 && m->body_dofnum[b] == 0) b = m->body_parent[b];
  return b > 0 ? m->body_dofadr[b] + m->body_dofnum[b] - 1 : -1;
}
static int32_t path_length(const abut_model *m, int32_t b) {
  int32_t count = 0;
  for (int32_t d = last_dof(m, b); d >= 0; d = m->dof_parent[d]) count++;
  return count;
}
static int64_t paths_length(const abut_model *m) {
  int64_t n = 0;
  for (int32_t b = 0; b < m->nbody; b++) n += path_length(m, b);
  return n;
}
static void fill_paths(const abut_model *m, int32_t *adr, int32_t *path) {
  int32_t n = 0;
  for (int32_t b = 0; b < m->nbody; b++) {
    adr[b] = n;
    n += path_length(m, b);
    int32_t at = n;
    for (int32_t d = last_dof(m, b); d >= 0; d = m->dof_parent[d]) path[--at] = d;
  }
  adr[m->nbody] = n;
}

/* Rows of the dofs that move a body start at `first` or before. */
static void couple_path(const step_params *p, int32_t body, int32_t first, int32_t *coupled) {
  for (int32_t i = p->path_adr[body]; i < p->path_adr[body + 1]; i++)
    if (coupled[p->path[i]] > first) coupled[p->path[i]] = first;
}
static void couple_bodies(const step_params *p, int32_t a, int32_t b, int32_t *coupled) {
  if (p->path_adr[a] == p->path_adr[a + 1] || p->path_adr[b] == p->path_adr[b + 1]) return;
  const int32_t first_a = p->path[p->path_adr[a]], first_b = p->path[p->path_adr[b]];
  couple_path(p, a, first_b, coupled);
  couple_path(p, b, first_a, coupled);
}
static void couple_dofs(int32_t d, int32_t e, int32_t *coupled) {
  const int32_t low = d < e ? d : e, high = d < e ? e : d;
  if (coupled[high] > low) coupled[high] = low;
}

/* Every dof of a tendon with every dof of another, or of the same. */
static void couple_tendons(const step_params *p, int32_t t, int32_t u, int32_t *coupled) {
  for (int32_t i = p->tendon_dofadr[t]; i < p->tendon_dofadr[t + 1]; i++)
    for (int32_t j = p->tendon_dofadr[u]; j < p->tendon_dofadr[u + 1]; j++)
      couple_dofs(p->tendon_dof[i], p->tendon_dof[j], coupled);
}

/* What the tree and the scene's elements couple, active or not. */
static void fill_coupled(const step_params *p, int32_t *coupled) {
  const abut_model *m = p->model;
  for (int32_t d = 0; d < m->nv; d++) coupled[d] = m->dof_parent[d] < 0 ? d : coupled[m->dof_parent[d]];
  for (int32_t e = 0; e < m->neq; e++) {
    const int32_t type = m->eq_type[e], a = m->eq_obj1[e], b = m->eq_obj2[e];
    if (type <= ABUT_EQUALITY_WELD) couple_bodies(p, a, b, coupled);
    if (type == ABUT_EQUALITY_JOINT && b >= 0) couple_dofs(m->jnt_dofadr[a], m->jnt_dofadr[b], coupled);
    if (type == ABUT_EQUALITY_TENDON && b >= 0) couple_tendons(p, a, b, coupled);
  }
  for (int32_t t = 0; t < m->ntendon; t++) couple_tendons(p, t, t, coupled);
}

/* Dofs of the tendons on which something acts. dofs: nv of scratch; adr, list NULL: only counts them. */
static int64_t list_tendon_dofs(const abut_model *m, int32_t *dofs, int32_t *adr, int32_t *list) {
  int64_t count = 0;
  for (int32_t t = 0; t < m->ntendon; t++) {
    const int32_t own = model_tendon_acts(m, t) ? model_tendon_dofs(m, t, dofs) : 0;
    if (list && own) memcpy(list + count, dofs, (size_t)own * sizeof *list);
    count += own;
    if (adr) adr[t + 1] = (int32_t)count;
  }
  return count;
}

/* Lists them in the parameters. */
static abut_status place_tendon_dofs(const abut_model *m, step_params *p) {
  int32_t *dofs = calloc((size_t)m->nv + 1, sizeof *dofs);
  int32_t *adr = calloc((size_t)m->ntendon + 1, sizeof *adr);
  p->tendon_dofadr = adr;
  p->ntendondof = dofs ? list_tendon_dofs(m, dofs, NULL, NULL) : 0;
  int32_t *list = p->ntendondof <= INT32_MAX ? calloc((size_t)p->ntendondof + 1, sizeof *list) : NULL;
  p->tendon_dof = list;
  if (dofs && adr && list) list_tendon_dofs(m, dofs, adr, list);
  free(dofs);
  if (dofs && adr && list) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "out of memory for %d tendons and %d dofs", m->ntendon, m->nv);
}

static void fill_bounds(const abut_model *m, double *box, double *radius) {
  for (int32_t g = 0; g < m->ngeom; g++) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int32_t b = m->geom_body[g];
    if (m->geom_pointnum[g] == 0) continue;
    for (int32_t i = 0; i < m->geom_pointnum[g]; i++) {
      const double *p = m->point + 3 * (m->geom_pointadr[g] + i);
      for (int c = 0; c < 3; c++) {
        lo[c] = fmin(lo[c], p[c] - m->geom_radius[g]);
        hi[c] = fmax(hi[c], p[c] + m->geom_radius[g]);
      }
      double length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
      radius[b] =
          fmax(radius[b], length); /* a point's own radius does not turn: spheres about the origin stay */
    }
    for (int c = 0; c < 3; c++) {
      box[6 * g + c] = (lo[c] + hi[c]) / 2;
      box[6 * g + 3 + c] = (hi[c] - lo[c]) / 2;
    }
  }
}

static int64_t most_points(const abut_model *m) {
  int64_t most = 1;
  for (int32_t i = 0; i < m->npair; i++) {
    int64_t n = (int64_t)m->geom_pointnum[m->pair_geom1[i]] + m->geom_pointnum[m->pair_geom2[i]];
    if (n > most) most = n;
  }
  return most;
}

/* Returns how many numbers the fields are; beyond int32 the layout means nothing. */
static int64_t layout(const int64_t *counts, int32_t num, field_layout *out) {
  int64_t size = 0;
  for (int32_t i = 0; i < num; i++) {
    out->at[i] = (int32_t)size;
    size += counts[i];
  }
  out->size = (int32_t)size;
  return size;
}

abut_status layout_work(step_params *p, const int64_t *counts, int32_t num) {
  const abut_model *m = p->model;
  int64_t work = layout(counts, num, &p->work);
  if (work <= INT32_MAX) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY,
                   "%d degrees of freedom and %d bodies need %.1f GiB for each environment that steps: %lld "
                   "numbers, %d at most",
                   m->nv, m->nbody, (double)work * (p->options.dtype == ABUT_F32 ? 4 : 8) / 0x1p30,
                   (long long)work, INT32_MAX);
}

abut_status layout_slot(step_params *p, const int64_t *counts, int32_t num) {
  int64_t slot = layout(counts, num, &p->slot);
  if (slot <= INT32_MAX) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY,
                   "shapes of %lld points need %.1f GiB for each contact: %lld numbers, %d at most",
                   (long long)p->npt, (double)slot * (p->options.dtype == ABUT_F32 ? 4 : 8) / 0x1p30,
                   (long long)slot, INT32_MAX);
}

abut_status params_create(const abut_model *m, const abut_options *o, step_params *p) {
  memset(p, 0, sizeof *p);
  p->model = m;
  p->options = *o;
  p->npt = most_points(m);
  int64_t path_entries = paths_length(m);
  if (path_entries > INT32_MAX)
    return fail_with(ABUT_ERROR_MEMORY, "%d bodies hang on %lld joints in all, %d at most", m->nbody,
                     (long long)path_entries, INT32_MAX);
  size_t nb = (size_t)m->nbody, ng = (size_t)m->ngeom, np = (size_t)m->npair;
  pair_info *pairs = calloc(np + 1, sizeof *pairs);
  int32_t *adr = calloc(nb + 1, sizeof *adr), *path = calloc((size_t)path_entries + 1, sizeof *path);
  int32_t *coupled = calloc((size_t)m->nv + 1, sizeof *coupled);
  double *box = calloc(6 * ng + 1, sizeof *box), *radius = calloc(nb + 1, sizeof *radius);
  p->pairs = pairs;
  p->path_adr = adr;
  p->path = path;
  p->coupled = coupled;
  p->geom_box = box;
  p->body_radius = radius;
  abut_status status = ABUT_ERROR_MEMORY;
  if (!pairs || !adr || !path || !coupled || !box || !radius) {
    fail_with(status, "out of memory for %d pairs and %d bodies", m->npair, m->nbody);
  } else {
    fill_paths(m, adr, path);
    fill_bounds(m, box, radius);
    status = place_tendon_dofs(m, p);
    if (status == ABUT_OK) {
      fill_coupled(p, coupled);
      status = methods[o->method]->layout(m, p);
    }
  }
  if (status != ABUT_OK) params_destroy(p);
  return status;
}

void params_destroy(step_params *p) {
  free((void *)p->pairs);
  free((void *)p->path_adr);
  free((void *)p->path);
  free((void *)p->coupled);
  free((void *)p->tendon_dofadr);
  free((void *)p->tendon_dof);
  free((void *)p->geom_box);
  free((void *)p->body_radius);
  memset(p, 0, sizeof *p);
}

/* ---------------------------------------------------------------- lane groups */

void group_place(placer *p, const abut_batch *b, int32_t tile, lane_group *g, char *own) {
  const step_params *k = &b->params;
  const size_t e = elem_size(b);
  const int64_t lanes = (int64_t)b->kernels->lanes * tile, slots = b->nslot, pairs = b->model->npair;
  char *work = place(p, lanes * k->work.size, e), *slot = place(p, lanes * slots * k->slot.size, e);
  for (int32_t i = 0; i < tile; i++, g++) {
    size_t lane = (size_t)i * (size_t)b->kernels->lanes * e;
    g->work = work ? work + lane : NULL;
    g->slots = slot ? slot + lane : NULL;
    g->capacity = b->nslot;
    g->order = place(p, slots + 1, sizeof *g->order);
    g->slot_pair = place(p, slots + 1, sizeof *g->slot_pair);
    g->slot_on = place(p, slots + 1, sizeof *g->slot_on);
    g->slot_new = place(p, slots + 1, sizeof *g->slot_new);
    g->pair_slot = place(p, pairs + 1, sizeof *g->pair_slot);
    g->pair_want = place(p, pairs + 1, sizeof *g->pair_want);
    b->method->place(p, k, b->kernels->lanes, e, b->room, own + (size_t)i * b->method->own_size);
  }
}

int64_t group_bytes(const abut_batch *b, int32_t tile) {
  enum { TILE = 32 };
  lane_group g[TILE];
  _Alignas(16) char own[TILE * MAX_OWN];
  placer p = {NULL, 0};
  assert(tile <= TILE && b->method->own_size <= MAX_OWN);
  group_place(&p, b, tile, g, own);
  return (int64_t)p.used;
}

/* ---------------------------------------------------------------- programs */

static abut_status phase_copy(const phase *from, const step_params *k, phase *to) {
  phase_stage *stages = calloc((size_t)from->count + 1, sizeof *stages);
  if (!stages) return fail_with(ABUT_ERROR_MEMORY, "program: out of memory");
  *to = (phase){stages, 0, from->repeat};
  for (int32_t i = 0; i < from->count; i++) {
    int kind = from->stage[i].kind;
    if (kind < 0 || k->kind_pair[kind + 1] > k->kind_pair[kind]) stages[to->count++] = from->stage[i];
  }
  return ABUT_OK;
}

abut_status program_create(const program *from, const step_params *k, program *to) {
  *to = (program){.turns = from->turns, .reverse = from->reverse};
  ATTEMPT(phase_copy(&from->clear, k, &to->clear));
  ATTEMPT(phase_copy(&from->start, k, &to->start));
  for (int32_t i = 0; i < from->turns; i++) ATTEMPT(phase_copy(&from->turn[i], k, &to->turn[i]));
  return ABUT_OK;
}

void program_destroy(program *p) {
  free((void *)p->clear.stage);
  free((void *)p->start.stage);
  for (int32_t i = 0; i < MAX_TURN; i++) free((void *)p->turn[i].stage);
  memset(p, 0, sizeof *p);
}
