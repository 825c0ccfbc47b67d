/* manifold_cuda.c: poses of contact manifolds as items on a GPU: surfaces are copied when the manifold is
 * made; of poses, cotangents and results the host's threads turn the caller's rows to the kernels' fields and
 * back. No arithmetic: kernels are those of src/kernels/items/manifold.cu. */
#include "host/items/manifold_cuda.h"

double cuda_manifold_seconds(const abut_manifold *m) { return items_seconds(&m->items); }

#ifndef ABUT_HAVE_CUDA

const items_gpu_kind manifold_gpu_kind = {0};
abut_status cuda_manifold_open(abut_manifold *m) { return items_open_gpu(&m->items, m->options.device_id); }

#else

extern const void *const abut_manifold_kernels_f64_team32[MANIFOLD_COUNT];
extern const void *const abut_manifold_kernels_f32_team32[MANIFOLD_COUNT];
const void *const *cuda_manifold_kernels(int32_t dtype) {
  return dtype == ABUT_F64 ? abut_manifold_kernels_f64_team32 : abut_manifold_kernels_f32_team32;
}

/* ------------------------------------------------------------------------------------------- opening */

enum { UPLOADS = 8 };

static int list_uploads(const abut_manifold *m, manifold_params *params, items_upload list[UPLOADS]) {
  const size_t elem = (size_t)m->kernels->elem_size;
  int n = 0;
  for (int s = 0; s < 2; s++) {
    const manifold_surface *from = &m->params.surface[s];
    manifold_surface *to = &params->surface[s];
    const sdf_view *sdf = &from->sdf;
    list[n++] = (items_upload){&to->sdf.primitives, sdf->primitives,
                               (size_t)sdf->num * (size_t)m->kernels->manifold.primitive_size};
    list[n++] = (items_upload){&to->sdf.rows, sdf->rows, (size_t)sdf->num_rows * SDF_ROW * elem};
    list[n++] = (items_upload){&to->vertices, from->vertices, 3 * (size_t)manifold_pad(from->nvertex) * elem};
    list[n++] = (items_upload){(const void **)(void *)&to->edges, from->edges,
                               2 * (size_t)from->nedge * sizeof *from->edges};
  }
  return n;
}

abut_status cuda_manifold_open(abut_manifold *m) {
  items_upload list[UPLOADS];
  manifold_batch *b = &m->batch;
  b->params = m->params;
  const int n = list_uploads(m, &b->params, list);
  ATTEMPT(items_open_gpu(&m->items, m->options.device_id));
  ATTEMPT(items_share(&m->items, list, n, sizeof *b));
  ATTEMPT(items_ask(&m->items, cuda_manifold_kernels(m->options.dtype)[MANIFOLD_room], b, sizeof *b));
  return items_scratch(&m->items, (size_t)b->scratch_numbers * (size_t)m->kernels->elem_size, &b->scratch);
}

/* ------------------------------------------------------------------------------------------- a part */

enum {
  PART_BAR,
  PART_JOBS,
  PART_CONTACTS,
  PART_VERTICES,
  PART_PARAMETERS = PART_VERTICES + 2,
  PART_COUNT = PART_PARAMETERS + 2
};

static int list_arrays(void *job, items_array arrays[ITEMS_ARRAYS]) {
  const manifold_run *a = job;
  const abut_manifold *m = a->m;
  const size_t elem = (size_t)m->kernels->elem_size;
  const size_t contacts = (size_t)(m->padded * MANIFOLD_CONTACT) * elem;
  arrays[PART_BAR] = (items_array){ITEMS_IN, a->bars ? contacts : 0};
  arrays[PART_JOBS] = (items_array){ITEMS_IN_OUT, sizeof(manifold_job)};
  arrays[PART_CONTACTS] = (items_array){ITEMS_OUT, contacts};
  for (int s = 0; s < 2; s++) {
    const manifold_surface *surface = &m->params.surface[s];
    const size_t vertices = 3 * (size_t)manifold_pad(surface->nvertex),
                 parameters = (size_t)sdf_parameters(&surface->sdf) * SLOTS;
    arrays[PART_VERTICES + s] =
        (items_array){ITEMS_OUT, a->bars && a->bars->vertices[s] ? vertices * elem : 0};
    arrays[PART_PARAMETERS + s] =
        (items_array){ITEMS_ADDED, a->bars && manifold_wants_parameters(a->bars, s) ? parameters * elem : 0};
  }
  return PART_COUNT;
}

static manifold_job *job_of(const items_part *p, int64_t i) { return items_at(p, p->host, PART_JOBS, i); }
/* A runner whose arrays are pose i's in host memory. */
static void aim(const items_part *p, manifold_runner *r, int64_t i) {
  r->contacts = items_at(p, p->host, PART_CONTACTS, i);
  r->bar = items_at(p, p->host, PART_BAR, i);
  for (int s = 0; s < 2; s++) {
    r->vertex_bar[s] = items_at(p, p->host, PART_VERTICES + s, i);
    r->parameter_bar[s] = items_at(p, p->host, PART_PARAMETERS + s, i);
  }
}

static void prepare_pose(void *call, void *memory, const items_part *p, int64_t i) {
  manifold_run *a = call;
  manifold_runner *r = memory;
  manifold_job *job = job_of(p, i);
  aim(p, r, i);
  *job = manifold_place_pose(a, r, p->first + i);
  if (a->bars) manifold_read_bar(a, r, p->first + i);
  job->contacts = items_at(p, p->device, PART_CONTACTS, i);
  job->bar = items_at(p, p->device, PART_BAR, i);
  for (int s = 0; s < 2; s++) {
    job->vertex_bar[s] = items_at(p, p->device, PART_VERTICES + s, i);
    job->parameter_bar[s] = items_at(p, p->device, PART_PARAMETERS + s, i);
  }
}
static void finish_pose(void *call, void *memory, const items_part *p, int64_t i) {
  manifold_run *a = call;
  manifold_runner *r = memory;
  aim(p, r, i);
  manifold_place_pose(a, r, p->first + i);
  if (a->contacts) manifold_write_contacts(a, r, p->first + i);
  if (a->bars && a->bars->poses) manifold_write_pose(a, r, job_of(p, i), p->first + i);
}
static void add_pose(void *call, const items_part *p, int64_t i, double *sums) {
  manifold_runner r = {0};
  aim(p, &r, i);
  manifold_add_sums(call, &r, sums);
}

static const void *kernel_of(void *call) {
  const manifold_run *a = call;
  return cuda_manifold_kernels(a->m->options.dtype)[a->bars ? MANIFOLD_gradient : MANIFOLD_contacts];
}
static const void *argument_of(void *call, const items_part *p, size_t *bytes) {
  manifold_run *a = call;
  a->batch = a->m->batch;
  a->batch.count = p->count;
  a->batch.jobs = items_at(p, p->device, PART_JOBS, 0);
  *bytes = sizeof a->batch;
  return &a->batch;
}

const items_gpu_kind manifold_gpu_kind = {.arrays = list_arrays,
                                          .prepare = prepare_pose,
                                          .kernel = kernel_of,
                                          .argument = argument_of,
                                          .finish = finish_pose,
                                          .add = add_pose};
#endif
