/* manifold_run.c: contacts of many poses, forward and in reverse. Threads take poses one chunk at a time;
 * sums over poses are made chunk by chunk in order, and chunks depend on the number of poses only. */
#include "manifold.h"
#include "geometry.h"
#include "status.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_CHUNK = 16, MOST_CHUNKS = 256, COLUMNS = 6, COORDINATES = 12, SLOTS = 32 };
#define MOST_APART 1e12 /* units */

/* Memory of one thread. */
typedef struct runner {
  void *scratch, *contacts, *bar;
  void *tangents, *jacobian;
  double *wide; /* contacts, their cotangents, or their tangents, in double */
  void *vertex_bar[2], *parameter_bar[2];
  double frame[9], origin[3], other[3],
      turn[9]; /* pose of surface 1's frame; origin and rotation of the other's */
} runner;

typedef struct run {
  const abut_manifold *m;
  int64_t count, chunk;
  const double *poses;
  const abut_contacts *bar;
  abut_contacts *contacts;
  abut_manifold_bars *bars;
  abut_contacts *jacobian;
  double *sums; /* per chunk: vertices' and primitives' cotangents */
  int64_t sum_size, sum_at[4];
  atomic_llong next;
} run;

static void *aligned(int64_t n, const abut_kernels *k) {
  size_t bytes = ((size_t)n * (size_t)k->elem_size + 64) / 64 * 64;
  void *p = aligned_alloc(64, bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

static void runner_free(runner *r) {
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
static int wants_parameters(const abut_manifold_bars *bars, int surface) {
  return bars->primitives[surface] || bars->planes[surface] || bars->points[surface];
}
static int runner_create(const run *a, runner *r) {
  const abut_manifold *m = a->m;
  *r = (runner){0};
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
    if (wants_parameters(a->bars, i))
      ok = ok && (r->parameter_bar[i] = aligned(sdf_parameters(&s->sdf) * SLOTS, m->kernels));
  }
  if (!ok) runner_free(r);
  return ok;
}

/* ---------------------------------------------------------------------------------------------- frames */

/* Rows of the rotation of a quaternion that is nearly unit. */
static void rotation_of(const double q[4], double r[9]) {
  double unit[4];
  memcpy(unit, q, sizeof unit);
  abuti_normalise(unit, 4);
  abuti_quat_matrix(r, unit);
}
static void mat_vec(const double r[9], const double v[3], double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2];
}
static void mat_tvec(const double r[9], const double v[3], double out[3]) {
  for (int i = 0; i < 3; i++) out[i] = r[i] * v[0] + r[3 + i] * v[1] + r[6 + i] * v[2];
}
/* Surface 2 in surface 1's frame; what is far from the world's origin loses no digits so. */
static manifold_job job_at(const run *a, runner *r, int64_t i) {
  const double *pose = a->poses + 14 * i;
  manifold_job job = {.scratch = r->scratch,
                      .contacts = r->contacts,
                      .bar = r->bar,
                      .tangents = r->tangents,
                      .jacobian = r->jacobian};
  double apart[3];
  rotation_of(pose + 3, r->frame);
  rotation_of(pose + 10, r->turn);
  for (int k = 0; k < 3; k++) {
    r->origin[k] = pose[k];
    r->other[k] = pose[7 + k] - pose[k];
    apart[k] = r->other[k] / a->m->unit;
  }
  mat_tvec(r->frame, apart, job.translation);
  for (int j = 0; j < 3; j++)
    for (int k = 0; k < 3; k++) {
      job.rotation[3 * j + k] = 0;
      for (int l = 0; l < 3; l++) job.rotation[3 * j + k] += r->frame[3 * l + j] * r->turn[3 * l + k];
    }
  for (int j = 0; j < 2; j++) {
    job.vertex_bar[j] = r->vertex_bar[j];
    job.parameter_bar[j] = r->parameter_bar[j];
  }
  return job;
}

static void widen(const abut_kernels *k, const void *from, int64_t n, double *to) {
  if (k->elem_size == 8)
    memcpy(to, from, (size_t)n * sizeof *to);
  else
    for (int64_t i = 0; i < n; i++) to[i] = ((const float *)from)[i];
}
static void narrow(const abut_kernels *k, const double *from, int64_t n, void *to) {
  if (k->elem_size == 8)
    memcpy(to, from, (size_t)n * sizeof *from);
  else
    for (int64_t i = 0; i < n; i++) ((float *)to)[i] = (float)from[i];
}

/* From the kernels' fields to the caller's rows, frame 0 to world. */
static void write_contacts(const run *a, const runner *r, int64_t pose) {
  const abut_contacts *to = a->contacts;
  const double unit = a->m->unit, *from = r->wide;
  int64_t row = pose * a->m->contacts;
  widen(a->m->kernels, r->contacts, a->m->padded * MANIFOLD_CONTACT, r->wide);
  for (int g = 0; g < MANIFOLD_GROUPS; g++) {
    int64_t n = a->m->group[g], s = manifold_pad((int32_t)n);
    for (int64_t i = 0; to->point && i < n; i++) {
      double x[3] = {from[i], from[s + i], from[2 * s + i]}, *point = to->point + 3 * (row + i);
      mat_vec(r->frame, x, point);
      for (int c = 0; c < 3; c++) point[c] = r->origin[c] + unit * point[c];
    }
    for (int64_t i = 0; to->distance && i < n; i++) to->distance[row + i] = unit * from[3 * s + i];
    for (int64_t i = 0; to->normal && i < n; i++) {
      double x[3] = {from[4 * s + i], from[5 * s + i], from[6 * s + i]};
      mat_vec(r->frame, x, to->normal + 3 * (row + i));
    }
    if (to->activity && n > 0) memcpy(to->activity + row, from + 7 * s, (size_t)n * sizeof *from);
    row += n;
    from += MANIFOLD_CONTACT * s;
  }
}
/* The other way for their cotangents; what lies between groups stays 0. */
static void read_bar(const run *a, const runner *r, int64_t pose) {
  const abut_contacts *from = a->bar;
  const double unit = a->m->unit;
  double *to = r->wide;
  int64_t row = pose * a->m->contacts;
  memset(to, 0, (size_t)a->m->padded * MANIFOLD_CONTACT * sizeof *to);
  for (int g = 0; g < MANIFOLD_GROUPS; g++) {
    int64_t n = a->m->group[g], s = manifold_pad((int32_t)n);
    for (int64_t i = 0; from->point && i < n; i++) {
      double x[3];
      mat_tvec(r->frame, from->point + 3 * (row + i), x);
      for (int c = 0; c < 3; c++) to[c * s + i] = unit * x[c];
    }
    for (int64_t i = 0; from->distance && i < n; i++) to[3 * s + i] = unit * from->distance[row + i];
    for (int64_t i = 0; from->normal && i < n; i++) {
      double x[3];
      mat_tvec(r->frame, from->normal + 3 * (row + i), x);
      for (int c = 0; c < 3; c++) to[(4 + c) * s + i] = x[c];
    }
    if (from->activity && n > 0) memcpy(to + 7 * s, from->activity + row, (size_t)n * sizeof *to);
    row += n;
    to += MANIFOLD_CONTACT * s;
  }
  narrow(a->m->kernels, r->wide, a->m->padded * MANIFOLD_CONTACT, r->bar);
}

/* Cotangents of both poses from those of the relative one (frame 0, kernels' unit) and of the results as a
 * whole: with d from origin 1 to origin 2, relative translation R1^T d and rotation R1^T R2. */
static void write_pose(const run *a, const runner *r, const manifold_job *job, int64_t pose) {
  double *out = a->bars->poses + 12 * pose, force[3], torque[3], all_force[3], all_torque[3], lever[3],
         spin[3];
  double inv = 1 / a->m->unit;
  mat_vec(r->frame, job->force, force);
  mat_vec(r->frame, job->torque, torque);
  mat_vec(r->frame, job->out_force, all_force);
  mat_vec(r->frame, job->out_torque, all_torque);
  for (int k = 0; k < 3; k++) force[k] *= inv;
  abuti_cross3(lever, r->other, force);
  for (int k = 0; k < 3; k++) {
    out[k] = inv * all_force[k] - force[k];
    out[6 + k] = force[k];
    spin[k] = all_torque[k] - torque[k] - lever[k];
  }
  mat_tvec(r->frame, spin, out + 3);
  mat_tvec(r->turn, torque, out + 9);
}

/* How the relative pose (frame 0, kernels' unit) moves with both poses, with R = R1^T R2 and t = R1^T d: by
 * translations of the world, dt = -R1^T dx1 + R1^T dx2; by turns about own axes, dt = t x w1 and the turn
 * -w1 + R w2. */
static void chain_of(const run *a, const runner *r, const manifold_job *job,
                     double chain[COLUMNS][COORDINATES]) {
  memset(chain, 0, COLUMNS * sizeof *chain);
  for (int j = 0; j < 3; j++) {
    const double axis[3] = {j == 0, j == 1, j == 2};
    double swept[3];
    abuti_cross3(swept, job->translation, axis);
    chain[3 + j][3 + j] = -1;
    for (int i = 0; i < 3; i++) {
      chain[i][j] = -r->frame[3 * j + i] / a->m->unit;
      chain[i][6 + j] = r->frame[3 * j + i] / a->m->unit;
      chain[i][3 + j] = swept[i];
      chain[3 + i][9 + j] = job->rotation[3 * i + j];
    }
  }
}
/* out = the frame's turn of columns in; then what carries them along with pose 1: x about its origin. */
static void turn_columns(const runner *r, double in[3][COORDINATES], double factor, const double x[3],
                         double out[3 * COORDINATES]) {
  for (int j = 0; j < 3; j++) {
    const double axis[3] = {j == 0, j == 1, j == 2};
    double swept[3];
    abuti_cross3(swept, axis, x);
    for (int i = 0; i < 3; i++) in[i][3 + j] += swept[i];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < COORDINATES; j++)
      out[COORDINATES * i + j] = factor * (r->frame[3 * i] * in[0][j] + r->frame[3 * i + 1] * in[1][j] +
                                           r->frame[3 * i + 2] * in[2][j]);
}
static void write_jacobian(const run *a, const runner *r, const manifold_job *job, int64_t pose) {
  const abut_kernels *k = a->m->kernels;
  const abut_contacts *to = a->jacobian;
  const int64_t numbers = a->m->padded * MANIFOLD_CONTACT;
  int64_t row = pose * a->m->contacts, at = 0;
  double chain[COLUMNS][COORDINATES], field[MANIFOLD_CONTACT][COORDINATES];
  chain_of(a, r, job, chain);
  widen(k, r->jacobian, COLUMNS * numbers, r->wide);
  for (int g = 0; g < MANIFOLD_GROUPS; g++) {
    int64_t n = a->m->group[g], s = manifold_pad((int32_t)n);
    for (int64_t i = 0; i < n; i++, row++) {
      double x[MANIFOLD_CONTACT];
      for (int f = 0; f < MANIFOLD_CONTACT; f++) {
        const double *from = r->wide + at + f * s + i;
        x[f] = real_get(k, r->contacts, at + f * s + i);
        for (int j = 0; j < COORDINATES; j++) {
          field[f][j] = 0;
          for (int c = 0; c < COLUMNS; c++) field[f][j] += from[c * numbers] * chain[c][j];
        }
      }
      if (to->point) {
        double *point = to->point + 3 * COORDINATES * row;
        turn_columns(r, field, a->m->unit, x, point);
        for (int c = 0; c < 3; c++) point[COORDINATES * c + c] += 1;
      }
      for (int j = 0; to->distance && j < COORDINATES; j++)
        to->distance[COORDINATES * row + j] = a->m->unit * field[3][j];
      if (to->normal) turn_columns(r, field + 4, 1, x + 4, to->normal + 3 * COORDINATES * row);
      if (to->activity) memcpy(to->activity + COORDINATES * row, field[7], sizeof field[7]);
    }
    at += MANIFOLD_CONTACT * s;
  }
}

static double sum_slots(const abut_kernels *k, const void *p, int64_t at) {
  double part[SLOTS];
  for (int i = 0; i < SLOTS; i++) part[i] = real_get(k, p, at + i);
  for (int half = SLOTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}
/* Vertices' in metres, parameters' in kernels' lengths. */
static void add_sums(const run *a, runner *r, double *sums) {
  const abut_kernels *k = a->m->kernels;
  double inv = 1 / a->m->unit;
  for (int s = 0; s < 2; s++) {
    const manifold_surface *surface = &a->m->params.surface[s];
    int64_t n = surface->nvertex, stride = manifold_pad((int32_t)n), num = sdf_parameters(&surface->sdf);
    double *vertices = sums + a->sum_at[s], *parameters = sums + a->sum_at[2 + s];
    for (int64_t i = 0; r->vertex_bar[s] && i < n; i++)
      for (int c = 0; c < 3; c++) vertices[3 * i + c] += inv * real_get(k, r->vertex_bar[s], c * stride + i);
    if (!r->parameter_bar[s]) continue;
    for (int64_t i = 0; i < num; i++) parameters[i] += sum_slots(k, r->parameter_bar[s], i * SLOTS);
    memset(r->parameter_bar[s], 0, (size_t)num * SLOTS * (size_t)k->elem_size);
  }
}

static void run_pose(run *a, runner *r, int64_t i, double *sums) {
  manifold_job job = job_at(a, r, i);
  a->m->kernels->manifold.contacts(&a->m->params, &job);
  if (a->contacts) write_contacts(a, r, i);
  if (a->jacobian) {
    a->m->kernels->manifold.contacts_jacobian(&a->m->params, &job);
    write_jacobian(a, r, &job, i);
  }
  if (!a->bars) return;
  read_bar(a, r, i);
  a->m->kernels->manifold.contacts_vjp(&a->m->params, &job);
  if (a->bars->poses) write_pose(a, r, &job, i);
  if (sums) add_sums(a, r, sums);
}

static void *run_chunks(void *arg) {
  run *a = arg;
  runner r;
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
  const double most = MOST_APART * m->unit;
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

static void place_sums(run *a) {
  for (int s = 0; s < 2; s++) {
    const manifold_surface *surface = &a->m->params.surface[s];
    a->sum_at[s] = a->sum_size;
    a->sum_size += a->bars->vertices[s] ? 3 * (int64_t)surface->nvertex : 0;
    a->sum_at[2 + s] = a->sum_size;
    a->sum_size += wants_parameters(a->bars, s) ? sdf_parameters(&surface->sdf) : 0;
  }
}
/* A plane's row is (R n, d/unit + R n.x/unit), x and R the primitive's pose; R transposed takes it back. */
static void add_plane(const abut_primitive *q, double unit, const double bar[SDF_ROW], double plane[4]) {
  double r[9], g[3], own[3];
  abuti_quat_matrix(r, q->quaternion);
  for (int c = 0; c < 3; c++) g[c] = bar[c] + bar[3] * q->position[c] / unit;
  mat_tvec(r, g, own);
  for (int c = 0; c < 3; c++) plane[c] += own[c];
  plane[3] += bar[3] / unit;
}
/* A point's is ((R p + x)/unit, R n, unit^2/sigma^2). */
static void add_point(const abut_primitive *q, double unit, double sigma, const double bar[SDF_ROW],
                      double point[7]) {
  double r[9], own[3];
  abuti_quat_matrix(r, q->quaternion);
  mat_tvec(r, bar, own);
  for (int c = 0; c < 3; c++) point[c] += own[c] / unit;
  mat_tvec(r, bar + 3, own);
  for (int c = 0; c < 3; c++) point[3 + c] += own[c];
  if (sigma > 0) point[6] -= 2 * unit * unit / (sigma * sigma * sigma) * bar[6];
}
/* Kernels' lengths are 1/unit of ours: cotangents by lengths are 1/unit of theirs. */
static void write_parameters(const run *a, int s, const double *parameters) {
  const surface_view *view = &a->m->view[s];
  double *primitives = a->bars->primitives[s], *planes = a->bars->planes[s], *points = a->bars->points[s];
  const double unit = a->m->unit, *row = parameters + SDF_PARAMETERS * (int64_t)view->sdf.num;
  if (planes) memset(planes, 0, 4 * (size_t)view->num_planes * sizeof *planes);
  if (points) memset(points, 0, 7 * (size_t)view->num_points * sizeof *points);
  for (int64_t i = 0, first = 0; i < view->sdf.num; i++) {
    const abut_primitive *q = &view->primitives[i];
    for (int c = 0; primitives && c < SDF_PARAMETERS; c++)
      primitives[SDF_PARAMETERS * view->order[i] + c] =
          parameters[SDF_PARAMETERS * i + c] / (c < 3 || (c >= 6 && c < 9) ? unit : 1);
    if (q->kind == ABUT_PRIMITIVE_SUPERQUADRIC) continue;
    for (int32_t j = 0; j < q->plane_count; j++, first++)
      if (q->kind == ABUT_PRIMITIVE_POLYHEDRON && planes)
        add_plane(q, unit, row + SDF_ROW * first, planes + 4 * (int64_t)(q->first_plane + j));
      else if (q->kind == ABUT_PRIMITIVE_POINT_CLOUD && points)
        add_point(q, unit, view->sigma[first], row + SDF_ROW * first,
                  points + 7 * (int64_t)(q->first_plane + j));
  }
}
static void write_sums(const run *a, int64_t chunks) {
  double *total = a->sums; /* the first chunk's */
  for (int64_t c = 1; c < chunks; c++)
    for (int64_t i = 0; i < a->sum_size; i++) total[i] += a->sums[c * a->sum_size + i];
  for (int s = 0; s < 2; s++) {
    const size_t n = 3 * (size_t)a->m->params.surface[s].nvertex;
    if (a->bars->vertices[s]) memcpy(a->bars->vertices[s], total + a->sum_at[s], n * sizeof *total);
    if (wants_parameters(a->bars, s)) write_parameters(a, s, total + a->sum_at[2 + s]);
  }
}

static abut_status run_all(run *a) {
  ABUT_TRY(manifold_check_poses(a->m, 0, a->count, a->poses));
  int64_t threads = a->m->options.threads ? a->m->options.threads : sysconf(_SC_NPROCESSORS_ONLN);
  a->chunk = a->count / MOST_CHUNKS > LEAST_CHUNK ? (a->count + MOST_CHUNKS - 1) / MOST_CHUNKS : LEAST_CHUNK;
  int64_t chunks = (a->count + a->chunk - 1) / a->chunk;
  if (a->bars) place_sums(a);
  if (a->sum_size) a->sums = calloc((size_t)((chunks ? chunks : 1) * a->sum_size), sizeof *a->sums);
  if (a->sum_size && !a->sums) return abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory");
  if (threads > chunks) threads = chunks;
  pthread_t *others = calloc((size_t)(threads > 0 ? threads : 1), sizeof *others);
  int64_t started = 0;
  while (others && started + 1 < threads && pthread_create(&others[started], NULL, run_chunks, a) == 0)
    started++;
  run_chunks(a);
  for (int64_t i = 0; i < started; i++) pthread_join(others[i], NULL);
  free(others);
  int done = atomic_load(&a->next) >= chunks;
  if (done && a->sums) write_sums(a, chunks);
  free(a->sums);
  /* a thread without memory leaves its chunks to the others */
  return done ? ABUT_OK : abut_fail(ABUT_ERROR_MEMORY, "manifold: out of memory");
}

abut_status abut_manifold_contacts(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *contacts) {
  ABUT_REQUIRE(manifold, "manifold");
  ABUT_REQUIRE(count == 0 || poses, "poses");
  ABUT_REQUIRE(contacts, "contacts");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  run a = {.m = manifold, .count = count, .poses = poses, .contacts = contacts};
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
  run a = {.m = manifold, .count = count, .poses = poses, .bar = bar, .contacts = contacts, .bars = bars};
  return run_all(&a);
}

abut_status abut_manifold_jacobian(const abut_manifold *manifold, int64_t count, const double *poses,
                                   abut_contacts *jacobian, abut_contacts *contacts) {
  ABUT_REQUIRE(manifold, "manifold");
  ABUT_REQUIRE(count == 0 || poses, "poses");
  ABUT_REQUIRE(jacobian, "jacobian");
  if (count < 0) return abut_fail(ABUT_ERROR_ARGUMENT, "count %lld is negative", (long long)count);
  run a = {.m = manifold, .count = count, .poses = poses, .contacts = contacts, .jacobian = jacobian};
  return run_all(&a);
}
