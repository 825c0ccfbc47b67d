/* manifold_create.c: creation of a manifold: its options, units and the two surfaces as kernels read them. */
#include "host/items/manifold_cuda.h"
#include "host/base/kernels.h"
#include "host/base/real.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = -2, SOME_EDGES = 32, MOST_PAIRS = 1 << 24 };

abut_manifold_options abut_default_manifold_options(void) {
  abut_manifold_options o = {.vertices = {-1, -1}, .edges = {SOME, SOME}, .relative = 1};
  o.w_reg = 0.01;
  o.tau_clip = 0.02;
  o.tau_min = 0.01;
  o.tau_comp = 0.02;
  o.tau_sign = 0.1;
  o.tau_clash = 0.1;
  o.cutoff = 1e-8;
  o.dtype = ABUT_F32;
  return o;
}

static abut_status check_options(const abut_manifold_options *o) {
#define BAD(...) return fail_with(ABUT_ERROR_ARGUMENT, "manifold: " __VA_ARGS__)
#define SOFT(name, least)                                                                                    \
  if (!(o->name >= (least) && o->name <= 1e6))                                                               \
  BAD(#name " is %g, must lie in [%g, 1e6]", o->name, (double)(least))
  if (o->form != ABUT_MANIFOLD_LINEAR && o->form != ABUT_MANIFOLD_PAPER) BAD("form %d is unknown", o->form);
  if (o->selection != ABUT_SELECT_HARD && o->selection != ABUT_SELECT_SOFTSORT)
    BAD("selection %d is unknown", o->selection);
  if (o->projections < 0 || o->projections > 100)
    BAD("projections is %d, must lie in [0, 100]", o->projections);
  if (o->dtype != ABUT_F64 && o->dtype != ABUT_F32) BAD("dtype %d is unknown", o->dtype);
  if (o->device != ABUT_DEVICE_AUTO && o->device != ABUT_DEVICE_CPU && o->device != ABUT_DEVICE_CUDA)
    BAD("device %d is unknown", o->device);
  if (o->device_id < 0) BAD("device_id is %d, must be 0 or more", o->device_id);
  if (o->threads < 0 || o->threads > ITEMS_THREADS)
    BAD("threads is %d, must lie in [0, %d]", o->threads, ITEMS_THREADS);
  SOFT(w_reg, 1e-9);
  SOFT(tau_clip, 1e-4);
  SOFT(tau_min, 1e-9);
  SOFT(tau_comp, 1e-4);
  SOFT(tau_sign, 1e-6);
  SOFT(tau_clash, 1e-6);
  SOFT(tau_union, 0);
  SOFT(tau_pen, 0);
  SOFT(tau_near, 0);
  SOFT(tau_select, 0);
  SOFT(eps_normal, 0);
  if (!(o->cutoff >= 0 && o->cutoff <= 0.1)) BAD("cutoff is %g, must lie in [0, 0.1]", o->cutoff);
  for (int i = 0; i < 2; i++)
    if (o->vertices[i] < -1 || o->edges[i] < SOME)
      BAD("surface %d: %s is %d, must be %d or more", i + 1, o->vertices[i] < -1 ? "vertices" : "edges",
          o->vertices[i] < -1 ? o->vertices[i] : o->edges[i], o->vertices[i] < -1 ? -1 : SOME);
  if ((o->edges[0] == 0) != (o->edges[1] == 0)) BAD("edges of one surface only cannot be paired");
  return ABUT_OK;
#undef SOFT
#undef BAD
}

/* Fills in what was asked for by -1 or 0, lengths from the larger diagonal. */
static void settle(abut_manifold *m, const abut_surface *const surface[2]) {
  abut_manifold_options *o = &m->options;
  double diagonal = fmax(abut_surface_diagonal(surface[0]), abut_surface_diagonal(surface[1]));
  m->unit = exp2(round(log2(diagonal)));
  if (o->tau_pen == 0) o->tau_pen = 0.005 * diagonal;
  if (o->tau_near == 0) o->tau_near = 0.01 * diagonal;
  if (o->tau_select == 0) o->tau_select = 0.005 * diagonal;
  if (o->eps_normal == 0) o->eps_normal = pow(1e-4 * m->unit, 2);
  for (int i = 0; i < 2; i++) {
    if (o->vertices[i] < 0) o->vertices[i] = surface[i]->vertex_count;
    if (o->edges[i] == -1 || (o->edges[i] == SOME && surface[i]->edge_count < SOME_EDGES))
      o->edges[i] = surface[i]->edge_count;
    if (o->edges[i] == SOME) o->edges[i] = SOME_EDGES;
  }
}

/* Quotients by softnesses must not overflow in single precision. */
static abut_status check_softness(const abut_manifold *m) {
  const abut_manifold_options *o = &m->options;
  const double length = 1e-9 * m->unit;
  const struct {
    const char *name;
    double value, least;
    int none; /* 0 stands for something else */
  } all[] = {{"tau_pen", o->tau_pen, length, 0},       {"tau_near", o->tau_near, length, 0},
             {"tau_select", o->tau_select, length, 0}, {"tau_union", o->tau_union, length, 1},
             {"cutoff", o->cutoff, 1e-30, 1},          {"eps_normal", o->eps_normal, length * length, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(all[i].value >= all[i].least) && !(all[i].none && all[i].value == 0))
      return fail_with(ABUT_ERROR_ARGUMENT, "manifold: %s is %g, must be at least %g for these surfaces",
                       all[i].name, all[i].value, all[i].least);
  const double square = m->unit * m->unit, scale = o->relative ? 1 : square;
  const struct {
    const char *name;
    double value, scale;
  } scaled[] = {
      {"eps_normal", o->eps_normal, square}, {"w_reg", o->w_reg, scale}, {"tau_min", o->tau_min, scale}};
  for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
    double x = scaled[i].value / scaled[i].scale;
    if (!real_holds(m->kernels->elem_size, x) || (m->kernels->elem_size == 4 && x < (double)FLT_MIN))
      return fail_with(ABUT_ERROR_ARGUMENT,
                       "manifold: %s is %g, which single precision has not in units of %g", scaled[i].name,
                       scaled[i].value, scaled[i].scale);
  }
  return ABUT_OK;
}

/* What was asked for must be there. */
static abut_status check_counts(abut_manifold *m, const abut_surface *const surface[2]) {
  abut_manifold_options *o = &m->options;
  for (int i = 0; i < 2; i++) {
    const abut_surface *s = surface[i];
    if (o->vertices[i] > s->vertex_count)
      return fail_with(ABUT_ERROR_ARGUMENT, "manifold: surface %d has %d vertices, %d were asked for", i + 1,
                       s->vertex_count, o->vertices[i]);
    if (o->edges[i] > s->edge_count)
      return fail_with(ABUT_ERROR_ARGUMENT, "manifold: surface %d has %d edges, %d were asked for", i + 1,
                       s->edge_count, o->edges[i]);
    for (int32_t e = 0; o->edges[i] > 0 && e < s->edge_count; e++) {
      const double *a = s->vertices + 3 * (int64_t)s->edges[2 * e],
                   *b = s->vertices + 3 * (int64_t)s->edges[2 * e + 1];
      double length = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
      if (!(length > 1e-9 * m->unit))
        return fail_with(ABUT_ERROR_ARGUMENT, "manifold: edge %d of surface %d has length %g", e, i + 1,
                         length);
    }
  }
  if (o->edges[0] == 0 || o->edges[1] == 0) o->edges[0] = o->edges[1] = 0;
  if (o->vertices[0] == 0 && o->vertices[1] == 0 && o->edges[0] == 0)
    return fail_with(ABUT_ERROR_ARGUMENT, "manifold: no vertices and no edges: no contacts");
  if ((int64_t)o->edges[0] * o->edges[1] > MOST_PAIRS)
    return fail_with(ABUT_ERROR_ARGUMENT, "manifold: %d x %d pairs of edges, %d at most", o->edges[0],
                     o->edges[1], MOST_PAIRS);
  return ABUT_OK;
}

static abut_status copy_mesh(abut_manifold *m, int which, const abut_surface *s) {
  int32_t n = s->vertex_count, padded = manifold_pad(n);
  size_t e = (size_t)m->kernels->elem_size;
  m->vertices[which] = aligned_alloc(64, (3 * (size_t)padded * e + 64) / 64 * 64);
  m->edges[which] = malloc(((size_t)s->edge_count + 1) * sizeof *m->edges[which] * 2);
  if (!m->vertices[which] || !m->edges[which]) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  memcpy(m->edges[which], s->edges, sizeof *s->edges * 2 * (size_t)s->edge_count);
  for (int c = 0; c < 3; c++)
    for (int32_t i = 0; i < padded && n > 0; i++) {
      double x = s->vertices[3 * (int64_t)(i < n ? i : n - 1) + c] / m->unit;
      if (e == 8)
        ((double *)m->vertices[which])[c * padded + i] = x;
      else
        ((float *)m->vertices[which])[c * padded + i] = (float)x;
    }
  m->params.surface[which] = (manifold_surface){m->view[which].sdf,      n,
                                                s->edge_count,           m->options.vertices[which],
                                                m->options.edges[which], m->vertices[which],
                                                m->edges[which]};
  m->params.side[which] = m->options.vertices[which] > 0;
  return ABUT_OK;
}

static void fill_params(abut_manifold *m) {
  const abut_manifold_options *o = &m->options;
  manifold_params *p = &m->params;
  double unit = m->unit, length = o->relative ? 1 : unit * unit;
  p->edges = (edge_softness){o->w_reg / length, o->tau_clip, o->tau_min / length, o->tau_comp, o->relative};
  p->paper = o->form == ABUT_MANIFOLD_PAPER;
  p->softsort = o->selection == ABUT_SELECT_SOFTSORT;
  p->projections = o->projections;
  p->normal_square = o->eps_normal / (unit * unit);
  p->tau_sign = o->tau_sign;
  p->tau_clash = o->tau_clash;
  p->tau_penetration = o->tau_pen / unit;
  p->tau_near = o->tau_near / unit;
  p->tau_select = o->tau_select / unit;
  p->cutoff = o->cutoff;
  for (int32_t g = 0; g < MANIFOLD_GROUPS; g++) {
    m->group[g] = manifold_group(p, g);
    m->contacts += m->group[g];
    m->padded += manifold_pad(m->group[g]);
  }
  m->scratch = m->kernels->manifold.scratch(p);
}

static abut_status fill(abut_manifold *m, const abut_surface *const surface[2]) {
  settle(m, surface);
  ATTEMPT(check_softness(m));
  ATTEMPT(check_counts(m, surface));
  for (int i = 0; i < 2; i++) {
    ATTEMPT(surface_view_create(m->kernels, surface[i], m->unit, m->options.tau_union, &m->view[i]));
    ATTEMPT(copy_mesh(m, i, surface[i]));
  }
  fill_params(m);
  return m->options.device == ABUT_DEVICE_CUDA ? cuda_manifold_open(m) : ABUT_OK;
}

abut_status abut_manifold_create(const abut_surface *surface1, const abut_surface *surface2,
                                 const abut_manifold_options *options, abut_manifold **manifold) {
  REQUIRE_POINTER(surface1, "surface1");
  REQUIRE_POINTER(surface2, "surface2");
  REQUIRE_POINTER(manifold, "manifold");
  return manifold_create_with(surface1, surface2, options, NULL, manifold);
}
abut_status manifold_create_with(const abut_surface *surface1, const abut_surface *surface2,
                                 const abut_manifold_options *options, const item_kernels *kernels,
                                 abut_manifold **manifold) {
  const abut_surface *surface[2] = {surface1, surface2};
  abut_manifold_options o = options ? *options : abut_default_manifold_options();
  ATTEMPT(check_options(&o));
  for (int i = 0; i < 2; i++) ATTEMPT(abut_surface_check(surface[i]));
  abut_manifold *m = calloc(1, sizeof *m);
  if (!m) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  m->options = o;
  items_open(&m->items, "manifold", o.threads);
  m->kernels = kernels;
  abut_status status = kernels ? ABUT_OK : item_kernels_for(o.dtype, &m->kernels);
  if (status == ABUT_OK) status = fill(m, surface);
  if (status != ABUT_OK) {
    abut_manifold_destroy(m);
    return status;
  }
  *manifold = m;
  return ABUT_OK;
}

void abut_manifold_destroy(abut_manifold *m) {
  if (!m) return;
  items_close(&m->items);
  for (int i = 0; i < 2; i++) {
    surface_view_destroy(&m->view[i]);
    free(m->vertices[i]);
    free(m->edges[i]);
  }
  free(m);
}

abut_status abut_manifold_size(const abut_manifold *m, abut_manifold_counts *counts) {
  REQUIRE_POINTER(m, "manifold");
  REQUIRE_POINTER(counts, "counts");
  const abut_manifold_options *o = &m->options;
  *counts = (abut_manifold_counts){{o->vertices[0], o->vertices[1]}, {o->edges[0], o->edges[1]}, m->contacts};
  return ABUT_OK;
}
abut_status abut_manifold_settings(const abut_manifold *m, abut_manifold_options *options) {
  REQUIRE_POINTER(m, "manifold");
  REQUIRE_POINTER(options, "options");
  *options = m->options;
  return ABUT_OK;
}
