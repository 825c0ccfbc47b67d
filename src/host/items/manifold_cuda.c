/* manifold_cuda.c: contact manifolds on a GPU: surfaces are copied when the manifold is made; poses,
 * cotangents and results pass through host memory part by part, and the host's threads turn them from the
 * caller's rows to the kernels' fields and back. No arithmetic: kernels are those of
 * src/kernels/items/manifold.cu.
 *
 * A warp works for one pair of poses, in scratch that it keeps from pair to pair; there are as many warps as
 * a card can run at once. */
#include "host/items/manifold_cuda.h"
#include "host/batch/backend.h"
#include "host/base/status.h"

#ifndef ABUT_HAVE_CUDA

abut_status cuda_manifold_open(abut_manifold *m) { return backend_find_gpu(m->options.device_id); }
void cuda_manifold_close(abut_manifold *m) { (void)m; }
abut_status cuda_manifold_run(manifold_run *a) { return backend_find_gpu(a->m->options.device_id); }
double cuda_manifold_seconds(const abut_manifold *m) {
  (void)m;
  return 0;
}

#else
#include "host/cuda/cuda_device.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WARPS_PER_PROCESSOR = 16, CHUNK = 2 << 20, MOST_POSES = 1 << 14 };
/* Of free memory: all scratch, and one part of the poses with their results. */
enum { SCRATCH_SHARE = 4, PART_SHARE = 8 };
static const size_t MOST_PART = (size_t)256 << 20; /* bytes: what is on its way need not be more */

/* Where a part's arrays begin in its block of memory, on the device as on the host, and bytes of each pose.
 * What goes to the device comes first, then what goes there and back, then what only comes back. */
typedef enum part_array {
  PART_BAR,
  PART_JOBS,
  PART_CONTACTS,
  PART_VERTICES,
  PART_PARAMETERS = PART_VERTICES + 2,
  PART_COUNT = PART_PARAMETERS + 2
} part_array;
typedef struct part_layout {
  size_t at[PART_COUNT], each[PART_COUNT], bytes;
} part_layout;

struct cuda_manifold {
  cuda_device device; /* stream, copies and failures */
  pthread_mutex_t lock;
  cudaEvent_t begun, ended;
  char *surfaces, *scratch, *part; /* on the device */
  char *host;                      /* as `part` */
  size_t part_bytes;
  manifold_batch batch, *batch_at;
  int warps;
  double seconds;
};

#define USE_DEVICE(m, c)                                                                                     \
  SCOPE(caller);                                                                                             \
  ABUT_TRY(cuda_check(c, scope_open(&caller, (m)->options.device_id), "cudaSetDevice"))

/* ------------------------------------------------------------------------------------------- opening */

typedef struct upload {
  const void **to; /* pointer of the device's params */
  const void *host;
  size_t bytes;
} upload;
enum { UPLOADS = 8 };

static int list_uploads(const abut_manifold *m, manifold_params *params, upload list[UPLOADS]) {
  const size_t elem = (size_t)m->kernels->elem_size;
  int n = 0;
  for (int s = 0; s < 2; s++) {
    const manifold_surface *from = &m->params.surface[s];
    manifold_surface *to = &params->surface[s];
    const sdf_view *sdf = &from->sdf;
    list[n++] = (upload){&to->sdf.primitives, sdf->primitives,
                         (size_t)sdf->num * (size_t)m->kernels->manifold.primitive_size};
    list[n++] = (upload){&to->sdf.rows, sdf->rows, (size_t)sdf->num_rows * SDF_ROW * elem};
    list[n++] = (upload){&to->vertices, from->vertices, 3 * (size_t)manifold_pad(from->nvertex) * elem};
    list[n++] = (upload){(const void **)(void *)&to->edges, from->edges,
                         2 * (size_t)from->nedge * sizeof *from->edges};
  }
  return n;
}

static abut_status launch(cuda_device *c, const void *kernel, void *argument, int warps) {
  void *args[] = {&argument, &warps};
  dim3 grid = {(unsigned)((warps * 32 + BLOCK - 1) / BLOCK), 1, 1}, block = {BLOCK, 1, 1};
  CK(cudaLaunchKernel(kernel, grid, block, args, 0, c->stream));
  return ABUT_OK;
}
static const void *kernel_of(const abut_manifold *m, manifold_kernel_id which) {
  return cuda_manifold_kernels(m->options.dtype)[which];
}

static abut_status upload_surfaces(abut_manifold *m) {
  struct cuda_manifold *g = m->cuda;
  cuda_device *c = &g->device;
  upload list[UPLOADS];
  g->batch.params = m->params;
  const int n = list_uploads(m, &g->batch.params, list);
  size_t bytes = round_up(sizeof g->batch);
  for (int i = 0; i < n; i++) bytes += round_up(list[i].bytes);
  CK(cudaMalloc((void **)&g->surfaces, bytes));
  g->batch_at = (manifold_batch *)(void *)g->surfaces;
  char *at = g->surfaces + round_up(sizeof g->batch);
  for (int i = 0; i < n; i++) {
    *list[i].to = at;
    ABUT_TRY(cuda_to_device(c, at, list[i].host, list[i].bytes));
    at += round_up(list[i].bytes);
  }
  return cuda_to_device(c, g->batch_at, &g->batch, sizeof g->batch);
}

/* The device says how much a warp needs, as only its compiler knows how the kernels lay it out. */
static abut_status make_scratch(abut_manifold *m) {
  struct cuda_manifold *g = m->cuda;
  cuda_device *c = &g->device;
  int processors;
  size_t free_bytes, total;
  ABUT_TRY(launch(c, kernel_of(m, MANIFOLD_room), g->batch_at, 1));
  ABUT_TRY(cuda_to_host(c, &g->batch, g->batch_at, sizeof g->batch));
  CK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, m->options.device_id));
  CK(cudaMemGetInfo(&free_bytes, &total));
  const size_t each = (size_t)g->batch.scratch_numbers * (size_t)m->kernels->elem_size;
  const size_t most = free_bytes / SCRATCH_SHARE / each, wanted = (size_t)processors * WARPS_PER_PROCESSOR;
  g->warps = (int)(wanted < most ? wanted : most);
  if (g->warps == 0)
    return abut_fail(ABUT_ERROR_MEMORY, "manifold: %zu bytes for one pair of poses, device has %zu free",
                     each, free_bytes);
  CK(cudaMalloc((void **)&g->scratch, (size_t)g->warps * each));
  g->batch.scratch = g->scratch;
  return ABUT_OK;
}

static abut_status open_device(abut_manifold *m) {
  struct cuda_manifold *g = m->cuda;
  cuda_device *c = &g->device;
  USE_DEVICE(m, c);
  CK(cudaStreamCreateWithFlags(&c->own, cudaStreamNonBlocking));
  c->stream = c->own;
  CK(cudaEventCreate(&g->begun));
  CK(cudaEventCreate(&g->ended));
  ABUT_TRY(copy_buffer_create(c, CHUNK));
  ABUT_TRY(upload_surfaces(m));
  return make_scratch(m);
}

abut_status cuda_manifold_open(abut_manifold *m) {
  ABUT_TRY(backend_find_gpu(m->options.device_id));
  m->cuda = calloc(1, sizeof *m->cuda);
  if (!m->cuda) return abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory");
  m->cuda->device.owner = "manifold";
  pthread_mutex_init(&m->cuda->lock, NULL);
  return open_device(m); /* what it has made by then is closed with the manifold */
}

/* Says nothing: the caller may still want to know why the call before failed. */
void cuda_manifold_close(abut_manifold *m) {
  struct cuda_manifold *g = m->cuda;
  if (!g) return;
  SCOPE(caller);
  scope_open(&caller, m->options.device_id);
  if (g->device.own) cudaStreamSynchronize(g->device.own);
  char *const memory[] = {g->surfaces, g->scratch, g->part};
  for (int i = 0; i < 3; i++)
    if (memory[i]) cudaFree(memory[i]);
  if (g->begun) cudaEventDestroy(g->begun);
  if (g->ended) cudaEventDestroy(g->ended);
  copy_buffer_destroy(&g->device);
  if (g->device.own) cudaStreamDestroy(g->device.own);
  pthread_mutex_destroy(&g->lock);
  free(g->host);
  free(g);
  m->cuda = NULL;
}

double cuda_manifold_seconds(const abut_manifold *m) { return m->cuda ? m->cuda->seconds : 0; }

/* ------------------------------------------------------------------------------------------- a part */

static part_layout lay_out(const manifold_run *a, int64_t poses) {
  const abut_manifold *m = a->m;
  const size_t elem = (size_t)m->kernels->elem_size;
  const size_t contacts = (size_t)(m->padded * MANIFOLD_CONTACT) * elem;
  part_layout l = {.each = {[PART_JOBS] = sizeof(manifold_job), [PART_CONTACTS] = contacts}};
  if (a->bars) l.each[PART_BAR] = contacts;
  for (int s = 0; a->bars && s < 2; s++) {
    const manifold_surface *surface = &m->params.surface[s];
    if (a->bars->vertices[s]) l.each[PART_VERTICES + s] = 3 * (size_t)manifold_pad(surface->nvertex) * elem;
    if (manifold_wants_parameters(a->bars, s))
      l.each[PART_PARAMETERS + s] = (size_t)sdf_parameters(&surface->sdf) * SLOTS * elem;
  }
  for (int i = 0; i < PART_COUNT; i++) {
    l.at[i] = l.bytes;
    l.bytes += round_up(l.each[i] * (size_t)poses);
  }
  return l;
}

typedef struct part_run {
  manifold_run *a;
  part_layout layout;
  int64_t first, count; /* poses */
  char *host, *device;
  atomic_llong next, failed;
} part_run;

/* Pose i's array in the block that begins at base; NULL where the caller does not ask for it. */
static char *array_of(const part_run *p, char *base, part_array which, int64_t i) {
  const part_layout *l = &p->layout;
  return l->each[which] ? base + l->at[which] + l->each[which] * (size_t)i : NULL;
}
static manifold_job *job_of(const part_run *p, int64_t i) {
  return (manifold_job *)(void *)array_of(p, p->host, PART_JOBS, i);
}
/* A runner whose arrays are pose i's in host memory. */
static void aim(const part_run *p, manifold_runner *r, int64_t i) {
  r->contacts = array_of(p, p->host, PART_CONTACTS, i);
  r->bar = array_of(p, p->host, PART_BAR, i);
  for (int s = 0; s < 2; s++) {
    r->vertex_bar[s] = array_of(p, p->host, PART_VERTICES + s, i);
    r->parameter_bar[s] = array_of(p, p->host, PART_PARAMETERS + s, i);
  }
}

static void prepare_pose(part_run *p, manifold_runner *r, int64_t i) {
  manifold_job *job = job_of(p, i);
  *job = manifold_place_pose(p->a, r, p->first + i);
  if (p->a->bars) manifold_read_bar(p->a, r, p->first + i);
  job->contacts = array_of(p, p->device, PART_CONTACTS, i);
  job->bar = array_of(p, p->device, PART_BAR, i);
  for (int s = 0; s < 2; s++) {
    job->vertex_bar[s] = array_of(p, p->device, PART_VERTICES + s, i);
    job->parameter_bar[s] = array_of(p, p->device, PART_PARAMETERS + s, i);
  }
}
static void finish_pose(part_run *p, manifold_runner *r, int64_t i) {
  manifold_place_pose(p->a, r, p->first + i);
  if (p->a->contacts) manifold_write_contacts(p->a, r, p->first + i);
  if (p->a->bars && p->a->bars->poses) manifold_write_pose(p->a, r, job_of(p, i), p->first + i);
}

/* Takes poses one by one. */
static void *for_poses(part_run *p, void (*what)(part_run *, manifold_runner *, int64_t)) {
  manifold_runner r = {0};
  r.wide = malloc((size_t)(p->a->m->padded * MANIFOLD_CONTACT) * sizeof *r.wide);
  if (!r.wide) {
    atomic_store(&p->failed, 1);
    return NULL;
  }
  for (int64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
    aim(p, &r, i);
    what(p, &r, i);
  }
  free(r.wide);
  return NULL;
}
static void *prepare_poses(void *p) { return for_poses(p, prepare_pose); }
static void *finish_poses(void *p) { return for_poses(p, finish_pose); }

static abut_status on_all_threads(part_run *p, void *(*work)(void *)) {
  atomic_store(&p->next, 0);
  manifold_on_threads(p->a->m, p->count, work, p);
  return atomic_load(&p->failed) ? abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory") : ABUT_OK;
}

/* One copy there, one launch, one copy back. */
static abut_status run_device(part_run *p) {
  const abut_manifold *m = p->a->m;
  struct cuda_manifold *g = m->cuda;
  cuda_device *c = &g->device;
  const part_layout *l = &p->layout;
  float ms = 0;
  g->batch.count = p->count;
  g->batch.jobs = (manifold_job *)(void *)array_of(p, p->device, PART_JOBS, 0);
  ABUT_TRY(cuda_to_device(c, g->batch_at, &g->batch, sizeof g->batch));
  ABUT_TRY(cuda_to_device(c, p->device, p->host, l->at[PART_CONTACTS]));
  if (l->bytes > l->at[PART_PARAMETERS])
    CK(cudaMemsetAsync(p->device + l->at[PART_PARAMETERS], 0, l->bytes - l->at[PART_PARAMETERS], c->stream));
  CK(cudaEventRecord(g->begun, c->stream));
  const int warps = p->count < g->warps ? (int)p->count : g->warps;
  ABUT_TRY(launch(c, kernel_of(m, p->a->bars ? MANIFOLD_gradient : MANIFOLD_contacts), g->batch_at, warps));
  CK(cudaEventRecord(g->ended, c->stream));
  const size_t back = l->at[PART_JOBS];
  ABUT_TRY(cuda_to_host(c, p->host + back, p->device + back, l->bytes - back));
  CK(cudaStreamSynchronize(c->stream));
  CK(cudaEventElapsedTime(&ms, g->begun, g->ended));
  g->seconds += 1e-3 * (double)ms;
  return ABUT_OK;
}

static abut_status run_part(part_run *p) {
  manifold_run *a = p->a;
  manifold_runner r = {0};
  ABUT_TRY(on_all_threads(p, prepare_poses));
  ABUT_TRY(run_device(p));
  ABUT_TRY(on_all_threads(p, finish_poses));
  for (int64_t i = 0; a->sums && i < p->count; i++) { /* in the order of poses, as on the CPU */
    aim(p, &r, i);
    manifold_add_sums(a, &r, a->sums + (p->first + i) / a->chunk * a->sum_size);
  }
  return ABUT_OK;
}

/* Room for one part of the poses, as many as fit. */
static abut_status make_room(manifold_run *a, int64_t *poses) {
  struct cuda_manifold *g = a->m->cuda;
  cuda_device *c = &g->device;
  size_t free_bytes, total;
  CK(cudaMemGetInfo(&free_bytes, &total));
  const size_t here = (free_bytes + g->part_bytes) / PART_SHARE, most = here < MOST_PART ? here : MOST_PART;
  const size_t each = lay_out(a, 1).bytes;
  int64_t fit = (int64_t)(most / each);
  fit = fit < 1 ? 1 : fit > MOST_POSES ? MOST_POSES : fit;
  *poses = a->count < fit ? a->count : fit;
  const size_t bytes = lay_out(a, *poses).bytes;
  if (bytes <= g->part_bytes) return ABUT_OK;
  char *old = g->part; /* gone even where this fails */
  g->part = NULL;
  g->part_bytes = 0;
  if (old) CK(cudaFree(old));
  free(g->host);
  g->host = malloc(bytes);
  if (!g->host) return abut_fail(ABUT_ERROR_MEMORY, "manifold: no memory for %zu bytes", bytes);
  CK(cudaMalloc((void **)&g->part, bytes));
  g->part_bytes = bytes;
  return ABUT_OK;
}

static abut_status run_parts(manifold_run *a) {
  struct cuda_manifold *g = a->m->cuda;
  int64_t poses;
  USE_DEVICE(a->m, &g->device);
  g->seconds = 0;
  ABUT_TRY(make_room(a, &poses));
  for (int64_t first = 0; first < a->count; first += poses) {
    const int64_t count = poses < a->count - first ? poses : a->count - first;
    part_run p = {.a = a, .layout = lay_out(a, count), .first = first, .count = count};
    p.host = g->host;
    p.device = g->part;
    ABUT_TRY(run_part(&p));
  }
  return ABUT_OK;
}

abut_status cuda_manifold_run(manifold_run *a) {
  if (a->count == 0) return ABUT_OK;
  pthread_mutex_lock(&a->m->cuda->lock);
  abut_status status = run_parts(a);
  pthread_mutex_unlock(&a->m->cuda->lock);
  return status;
}
#endif
