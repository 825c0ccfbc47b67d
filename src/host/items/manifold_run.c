/* manifold_run.c: contacts of many poses, forward and in reverse: poses are items. */
#include "host/items/manifold_run.h"
#include "host/base/real.h"
#include "host/base/status.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *aligned(int64_t n, const item_kernels *k) {
  size_t bytes = ((size_t)n * (size_t)k->elem_size + 64) / 64 * 64;
  void *p = aligned_alloc(64, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

static void runner_close(void *call, void *memory) {
  const manifold_run *a = call;
  manifold_runner *r = memory;
  free(r->wide);
  if (!a->m->items.gpu) {
    free(r->scratch);
    free(r->contacts);
    free(r->bar);
    free(r->tangents);
    free(r->jacobian);
    for (int i = 0; i < 2; i++) {
      free(r->vertex_bar[i]);
      free(r->parameter_bar[i]);
    }
  }
  free(r);
}
/* What kernels on the CPU work in. */
static int runner_fill(const manifold_run *a, manifold_runner *r) {
  const abut_manifold *m = a->m;
  const int64_t numbers = m->padded * MANIFOLD_CONTACT;
  r->scratch = aligned(m->scratch, m->kernels);
  r->contacts = aligned(numbers, m->kernels);
  int ok = r->scratch && r->contacts;
  if (a->jacobian) {
    r->tangents = aligned(m->kernels->manifold.tangents(&m->params), m->kernels);
    r->jacobian = aligned(COLUMNS * numbers, m->kernels);
    ok = ok && r->tangents && r->jacobian;
  }
  if (a->bars) ok = ok && (r->bar = aligned(numbers, m->kernels));
  for (int i = 0; a->bars && i < 2; i++) {
    const manifold_surface *s = &m->params.surface[i];
    if (a->bars->vertices[i])
      ok = ok && (r->vertex_bar[i] = aligned(3 * manifold_pad(s->nvertex), m->kernels));
    if (manifold_wants_parameters(a->bars, i))
      ok = ok && (r->parameter_bar[i] = aligned(sdf_parameters(&s->sdf) * SLOTS, m->kernels));
  }
  return ok;
}
static void *runner_open(void *call) {
  const manifold_run *a = call;
  const int64_t numbers = a->m->padded * MANIFOLD_CONTACT;
  manifold_runner *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->wide = malloc((size_t)(a->jacobian ? COLUMNS * numbers : numbers) * sizeof *r->wide);
  if (r->wide && (a->m->items.gpu || runner_fill(a, r))) return r;
  runner_close(call, r);
  return NULL;
}

static void run_pose(void *call, void *memory, int64_t i, double *sums) {
  manifold_run *a = call;
  manifold_runner *r = memory;
  manifold_job job = manifold_place_pose(a, r, i);
  a->m->kernels->manifold.contacts(&a->m->params, &job);
  if (a->contacts) manifold_write_contacts(a, r, i);
  if (a->jacobian) {
    a->m->kernels->manifold.contacts_jacobian(&a->m->params, &job);
    manifold_write_jacobian(a, r, &job, i);
  }
  if (!a->bars) return;
  manifold_read_bar(a, r, i);
  a->m->kernels->manifold.contacts_vjp(&a->m->params, &job);
  if (a->bars->poses) manifold_write_pose(a, r, &job, i);
  if (sums) manifold_add_sums(a, r, sums);
}

static const items_kind poses_kind = {runner_open, runner_close, run_pose, &manifold_gpu_kind};

/* ------------------------------------------------------------------------------------------------ calls */

abut_status abut_manifold_check_poses(const abut_manifold *m, int64_t first, int64_t count,
                                      const double *poses) {
  REQUIRE_POINTER(m, "manifold");
  if (count > 0) REQUIRE_POINTER(poses, "poses");
  const double most = m->unit * fmin(surface_view_reach(m->kernels, &m->view[0]),
                                     surface_view_reach(m->kernels, &m->view[1]));
  for (int64_t i = 0; i < 2 * count; i++) {
    const double *pose = poses + 7 * i;
    const long long number = first + i / 2;
    const int surface = (int)(i % 2) + 1;
    for (int k = 0; k < 7; k++)
      if (!isfinite(pose[k]))
        return fail_with(ABUT_ERROR_ARGUMENT, "pose %lld of surface %d: number %d is %g", number, surface, k,
                         pose[k]);
    double n = sqrt(pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]);
    if (!(fabs(n - 1) < 1e-3))
      return fail_with(ABUT_ERROR_ARGUMENT,
                       "pose %lld of surface %d: its quaternion has length %g, must be 1", number, surface,
                       n);
  }
  for (int64_t i = 0; i < count; i++)
    for (int k = 0; k < 3; k++) {
      double apart = poses[14 * i + 7 + k] - poses[14 * i + k];
      if (!(fabs(apart) <= most))
        return fail_with(ABUT_ERROR_ARGUMENT,
                         "pose %lld: surfaces %g apart along axis %d, must lie within %g",
                         (long long)(first + i), apart, k, most);
    }
  return ABUT_OK;
}

/* Names the worst cotangent of a pose of which the kernels' real type did not hold one, or a sum of some. */
static abut_status refuse_cotangents(const manifold_run *a, int64_t pose) {
  const abut_contacts *bar = a->bar;
  const struct {
    const char *name;
    const double *x;
    int64_t each;
  } all[] = {{"point", bar->point, 3},
             {"distance", bar->distance, 1},
             {"normal", bar->normal, 3},
             {"activity", bar->activity, 1}};
  const char *name = "";
  double worst = 0;
  int64_t at = 0;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (int64_t i = 0; all[k].x && i < a->m->contacts * all[k].each; i++) {
      double x = all[k].x[pose * a->m->contacts * all[k].each + i];
      if (isnan(worst) || fabs(x) <= fabs(worst)) continue;
      worst = x;
      name = all[k].name;
      at = i / all[k].each;
    }
  return fail_with(ABUT_ERROR_ARGUMENT, "manifold: the cotangent of %s %lld of pose %lld is %g, %s", name,
                   (long long)at, (long long)pose, worst, real_misfit(worst));
}

static abut_status run_all(manifold_run *a) {
  double *total = NULL;
  ATTEMPT(abut_manifold_check_poses(a->m, 0, a->count, a->poses));
  if (a->bars) manifold_place_sums(a);
  if (a->sum_size) total = malloc((size_t)a->sum_size * sizeof *total);
  if (a->sum_size && !total) return fail_with(ABUT_ERROR_MEMORY, "manifold: out of memory");
  abut_status status = items_run(&a->m->items, &poses_kind, a, a->count, a->sum_size, total);
  if (status == ABUT_OK && total) manifold_write_sums(a, total);
  free(total);
  if (status != ABUT_OK) return status;
  return atomic_load(&a->unfit) ? refuse_cotangents(a, atomic_load(&a->unfit) - 1) : ABUT_OK;
}

abut_status abut_manifold_contacts(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *contacts) {
  REQUIRE_POINTER(manifold, "manifold");
  REQUIRE_POINTER(count == 0 || poses, "poses");
  REQUIRE_POINTER(contacts, "contacts");
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  manifold_run a = {.m = manifold, .count = count, .poses = poses, .contacts = contacts};
  return run_all(&a);
}

abut_status abut_manifold_gradient(const abut_manifold *manifold, int64_t count, const double *poses,
                                   const abut_contacts *bar, abut_manifold_bars *bars,
                                   abut_contacts *contacts) {
  REQUIRE_POINTER(manifold, "manifold");
  REQUIRE_POINTER(count == 0 || poses, "poses");
  REQUIRE_POINTER(bar, "bar");
  REQUIRE_POINTER(bars, "bars");
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  manifold_run a = {
      .m = manifold, .count = count, .poses = poses, .bar = bar, .contacts = contacts, .bars = bars};
  return run_all(&a);
}

abut_status abut_manifold_jacobian(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *jacobian, abut_contacts *contacts) {
  REQUIRE_POINTER(manifold, "manifold");
  REQUIRE_POINTER(count == 0 || poses, "poses");
  REQUIRE_POINTER(jacobian, "jacobian");
  if (count < 0) return fail_with(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  if (manifold->items.gpu)
    return fail_with(ABUT_ERROR_ARGUMENT, "manifold: forward mode runs on the CPU only, device is cuda");
  manifold_run a = {
      .m = manifold, .count = count, .poses = poses, .contacts = contacts, .jacobian = jacobian};
  return run_all(&a);
}
