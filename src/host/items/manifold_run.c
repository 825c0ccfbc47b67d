/* manifold_run.c: contacts of many poses, forward and in reverse. Threads take poses one chunk at a time;
 * sums over poses are made chunk by chunk in order, and chunks depend on the number of poses only. */
#include "host/items/manifold_cuda.h"
#include "host/base/status.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_CHUNK = 16, MOST_CHUNKS = 256 };

static void *aligned(int64_t n, const item_kernels *k) {
  size_t bytes = ((size_t)n * (size_t)k->elem_size + 64) / 64 * 64;
  void *p = aligned_alloc(64, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

static void runner_free(manifold_runner *r) {
  free(r->scratch);
  free(r->contacts);
  free(r->bar);
  free(r->tangents);
  free(r->jacobian);
  free(r->wide);
  for (int i = 0; i < 2; i++) {
    free(r->vertex_bar[i]);
    free(r->parameter_bar[i]);
  }
}
static int runner_create(const manifold_run *a, manifold_runner *r) {
  const abut_manifold *m = a->m;
  *r = (manifold_runner){0};
  r->scratch = aligned(m->scratch, m->kernels);
  r->contacts = aligned(m->padded * MANIFOLD_CONTACT, m->kernels);
  const int64_t numbers = m->padded * MANIFOLD_CONTACT;
  r->wide = malloc((size_t)(a->jacobian ? COLUMNS * numbers : numbers) * sizeof *r->wide);
  int ok = r->scratch && r->contacts && r->wide;
  if (a->jacobian) {
    r->tangents = aligned(m->kernels->manifold.tangents(&m->params), m->kernels);
    r->jacobian = aligned(COLUMNS * numbers, m->kernels);
    ok = ok && r->tangents && r->jacobian;
  }
  if (a->bars) ok = ok && (r->bar = aligned(m->padded * MANIFOLD_CONTACT, m->kernels));
  for (int i = 0; a->bars && i < 2; i++) {
    const manifold_surface *s = &m->params.surface[i];
    if (a->bars->vertices[i])
      ok = ok && (r->vertex_bar[i] = aligned(3 * manifold_pad(s->nvertex), m->kernels));
    if (manifold_wants_parameters(a->bars, i))
      ok = ok && (r->parameter_bar[i] = aligned(sdf_parameters(&s->sdf) * SLOTS, m->kernels));
  }
  if (!ok) runner_free(r);
  return ok;
}

static void run_pose(manifold_run *a, manifold_runner *r, int64_t i, double *sums) {
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

static void *run_chunks(void *arg) {
  manifold_run *a = arg;
  manifold_runner r;
  if (!runner_create(a, &r)) return NULL;
  for (;;) {
    int64_t c = atomic_fetch_add(&a->next, 1), first = c * a->chunk;
    if (first >= a->count) break;
    int64_t last = first + a->chunk < a->count ? first + a->chunk : a->count;
    for (int64_t i = first; i < last; i++) run_pose(a, &r, i, a->sums ? a->sums + c * a->sum_size : NULL);
  }
  runner_free(&r);
  return NULL;
}

/* ------------------------------------------------------------------------------------------------ calls */

abut_status manifold_check_poses(const abut_manifold *m, int64_t first, int64_t count, const double *poses) {
  const double most = m->unit * fmin(surface_view_reach(m->kernels, &m->view[0]),
                                     surface_view_reach(m->kernels, &m->view[1]));
  for (int64_t i = 0; i < 2 * count; i++) {
    const double *pose = poses + 7 * i;
    const long long number = first + i / 2;
    const int surface = (int)(i % 2) + 1;
    for (int k = 0; k < 7; k++)
      if (!isfinite(pose[k]))
        return abut_fail(ABUT_ERROR_ARGUMENT, "pose %lld of surface %d: number %d is %g", number, surface, k,
                         pose[k]);
    double n = sqrt(pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]);
    if (!(fabs(n - 1) < 1e-3))
      return abut_fail(ABUT_ERROR_ARGUMENT,
                       "pose %lld of surface %d: its quaternion has length %g, must be 1", number, surface,
                       n);
  }
  for (int64_t i = 0; i < count; i++)
    for (int k = 0; k < 3; k++) {
      double apart = poses[14 * i + 7 + k] - poses[14 * i + k];
      if (!(fabs(apart) <= most))
        return abut_fail(ABUT_ERROR_ARGUMENT,
                         "pose %lld: surfaces %g apart along axis %d, must lie within %g",
                         (long long)(first + i), apart, k, most);
    }
  return ABUT_OK;
}

void manifold_on_threads(const abut_manifold *m, int64_t pieces, void *(*work)(void *), void *arg) {
  int64_t threads = m->options.threads ? m->options.threads : sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > pieces) threads = pieces;
  pthread_t *others = calloc((size_t)(threads > 0 ? threads : 1), sizeof *others);
  int64_t started = 0;
  while (others && started + 1 < threads && pthread_create(&others[started], NULL, work, arg) == 0) started++;
  work(arg);
  for (int64_t i = 0; i < started; i++) pthread_join(others[i], NULL);
  free(others);
}

static abut_status run_all(manifold_run *a) {
  ABUT_TRY(manifold_check_poses(a->m, 0, a->count, a->poses));
  a->chunk = a->count / MOST_CHUNKS > LEAST_CHUNK ? (a->count + MOST_CHUNKS - 1) / MOST_CHUNKS : LEAST_CHUNK;
  int64_t chunks = (a->count + a->chunk - 1) / a->chunk;
  if (a->bars) manifold_place_sums(a);
  if (a->sum_size) a->sums = calloc((size_t)((chunks ? chunks : 1) * a->sum_size), sizeof *a->sums);
  if (a->sum_size && !a->sums) return abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory");
  abut_status status = ABUT_OK;
  if (a->m->cuda)
    status = cuda_manifold_run(a);
  else
    manifold_on_threads(a->m, chunks, run_chunks, a);
  /* a thread without memory leaves its chunks to the others */
  if (!a->m->cuda && atomic_load(&a->next) < chunks)
    status = abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory");
  if (status == ABUT_OK && a->sums) manifold_write_sums(a, chunks);
  free(a->sums);
  if (status != ABUT_OK) return status;
  if (atomic_load(&a->unfit))
    return abut_fail(ABUT_ERROR_ARGUMENT, "manifold: a cotangent of pose %lld is not finite",
                     (long long)atomic_load(&a->unfit) - 1);
  return ABUT_OK;
}

abut_status abut_manifold_contacts(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *contacts) {
  ABUT_REQUIRE(manifold, "manifold");
  ABUT_REQUIRE(count == 0 || poses, "poses");
  ABUT_REQUIRE(contacts, "contacts");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  manifold_run a = {.m = manifold, .count = count, .poses = poses, .contacts = contacts};
  return run_all(&a);
}

abut_status abut_manifold_gradient(const abut_manifold *manifold, int64_t count, const double *poses,
                                   const abut_contacts *bar, abut_manifold_bars *bars,
                                   abut_contacts *contacts) {
  ABUT_REQUIRE(manifold, "manifold");
  ABUT_REQUIRE(count == 0 || poses, "poses");
  ABUT_REQUIRE(bar, "bar");
  ABUT_REQUIRE(bars, "bars");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  manifold_run a = {
      .m = manifold, .count = count, .poses = poses, .bar = bar, .contacts = contacts, .bars = bars};
  return run_all(&a);
}

abut_status abut_manifold_jacobian(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *jacobian, abut_contacts *contacts) {
  ABUT_REQUIRE(manifold, "manifold");
  ABUT_REQUIRE(count == 0 || poses, "poses");
  ABUT_REQUIRE(jacobian, "jacobian");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  if (manifold->cuda)
    return abut_fail(ABUT_ERROR_ARGUMENT, "manifold: forward mode runs on the CPU only, device is cuda");
  manifold_run a = {
      .m = manifold, .count = count, .poses = poses, .contacts = contacts, .jacobian = jacobian};
  return run_all(&a);
}
