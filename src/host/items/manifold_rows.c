/* manifold_rows.c: between the kernels' frame, unit and fields and the caller's rows in the world: poses in,
 * contacts, cotangents and derivatives out. */
#include "host/items/manifold_run.h"
#include "host/base/geometry.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Rows of the rotation of a quaternion that is nearly unit. */
static void rotation_of(const double q[4], double r[9]) {
  double unit[4];
  memcpy(unit, q, sizeof unit);
  normalise(unit, 4);
  quat_matrix(r, unit);
}
/* Surface 2 in surface 1's frame; what is far from the world's origin loses no digits so. */
manifold_job manifold_place_pose(const manifold_run *a, manifold_runner *r, int64_t i) {
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
  frame_tvec(r->frame, apart, job.translation);
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

static void widen(const item_kernels *k, const void *from, int64_t n, double *to) {
  if (k->elem_size == 8)
    memcpy(to, from, (size_t)n * sizeof *to);
  else
    for (int64_t i = 0; i < n; i++) to[i] = ((const float *)from)[i];
}
/* To the kernels' real type; whether it holds all numbers, of which kernels leave out what is 0 by
 * comparisons that NaN would pass unseen. n is a multiple of eight, the counts that make vectors. */
static int narrow(const item_kernels *k, const double *restrict from, int64_t n, void *restrict to) {
  const double most = k->elem_size == 8 ? DBL_MAX : (double)FLT_MAX;
  int64_t held[8] = {0}, all = 0;
  for (int64_t i = 0; i < n; i += 8)
    for (int l = 0; l < 8; l++) held[l] += fabs(from[i + l]) <= most;
  for (int l = 0; l < 8; l++) all += held[l];
  if (all < n) return 0;
  if (k->elem_size == 8) memcpy(to, from, (size_t)n * sizeof *from);
  for (int64_t i = 0; k->elem_size == 4 && i < n; i++) ((float *)to)[i] = (float)from[i];
  return 1;
}

/* n vectors, field by field [3][stride], turned by r and scaled, with an origin added, to rows; and back. The
 * compiler makes vectors of these loops where it knows that nothing overlaps. */
static void rows_of_fields(const double r[9], double factor, const double origin[3],
                           const double *restrict from, int64_t stride, int64_t n, double *restrict to) {
  double m[9], o[3] = {origin[0], origin[1], origin[2]};
  for (int k = 0; k < 9; k++) m[k] = factor * r[k];
  for (int64_t i = 0; i < n; i++) {
    const double x = from[i], y = from[stride + i], z = from[2 * stride + i];
    to[3 * i] = o[0] + (m[0] * x + m[1] * y + m[2] * z);
    to[3 * i + 1] = o[1] + (m[3] * x + m[4] * y + m[5] * z);
    to[3 * i + 2] = o[2] + (m[6] * x + m[7] * y + m[8] * z);
  }
}
static void fields_of_rows(const double r[9], double factor, const double *restrict from, int64_t n,
                           int64_t stride, double *restrict to) {
  double m[9];
  for (int k = 0; k < 9; k++) m[k] = factor * r[k];
  for (int64_t i = 0; i < n; i++) {
    const double x = from[3 * i], y = from[3 * i + 1], z = from[3 * i + 2];
    to[i] = m[0] * x + m[3] * y + m[6] * z;
    to[stride + i] = m[1] * x + m[4] * y + m[7] * z;
    to[2 * stride + i] = m[2] * x + m[5] * y + m[8] * z;
  }
}

/* From the kernels' fields to the caller's rows, frame 0 to world. */
void manifold_write_contacts(const manifold_run *a, const manifold_runner *r, int64_t pose) {
  static const double nowhere[3] = {0, 0, 0};
  const abut_contacts *to = a->contacts;
  const double unit = a->m->unit, *from = r->wide;
  int64_t row = pose * a->m->contacts;
  widen(a->m->kernels, r->contacts, a->m->padded * MANIFOLD_CONTACT, r->wide);
  for (int g = 0; g < MANIFOLD_GROUPS; g++) {
    int64_t n = a->m->group[g], s = manifold_pad((int32_t)n);
    if (to->point) rows_of_fields(r->frame, unit, r->origin, from, s, n, to->point + 3 * row);
    for (int64_t i = 0; to->distance && i < n; i++) to->distance[row + i] = unit * from[3 * s + i];
    if (to->normal) rows_of_fields(r->frame, 1, nowhere, from + 4 * s, s, n, to->normal + 3 * row);
    if (to->activity && n > 0) memcpy(to->activity + row, from + 7 * s, (size_t)n * sizeof *from);
    row += n;
    from += MANIFOLD_CONTACT * s;
  }
}
/* Rows of fields that nobody gave, and the padding of those that somebody did. */
static void clear_fields(double *to, int fields, int64_t first, int64_t stride) {
  for (int f = 0; f < fields; f++) memset(to + f * stride + first, 0, (size_t)(stride - first) * sizeof *to);
}
/* The other way for their cotangents; what lies between groups is 0. */
void manifold_read_bar(manifold_run *a, const manifold_runner *r, int64_t pose) {
  const abut_contacts *from = a->bar;
  const double unit = a->m->unit;
  double *to = r->wide;
  int64_t row = pose * a->m->contacts;
  for (int g = 0; g < MANIFOLD_GROUPS; g++) {
    int64_t n = a->m->group[g], s = manifold_pad((int32_t)n);
    if (from->point) fields_of_rows(r->frame, unit, from->point + 3 * row, n, s, to);
    for (int64_t i = 0; from->distance && i < n; i++) to[3 * s + i] = unit * from->distance[row + i];
    if (from->normal) fields_of_rows(r->frame, 1, from->normal + 3 * row, n, s, to + 4 * s);
    if (from->activity && n > 0) memcpy(to + 7 * s, from->activity + row, (size_t)n * sizeof *to);
    clear_fields(to, 3, from->point ? n : 0, s);
    clear_fields(to + 3 * s, 1, from->distance ? n : 0, s);
    clear_fields(to + 4 * s, 3, from->normal ? n : 0, s);
    clear_fields(to + 7 * s, 1, from->activity ? n : 0, s);
    row += n;
    to += MANIFOLD_CONTACT * s;
  }
  if (narrow(a->m->kernels, r->wide, a->m->padded * MANIFOLD_CONTACT, r->bar)) return;
  memset(r->bar, 0, (size_t)(a->m->padded * MANIFOLD_CONTACT * a->m->kernels->elem_size));
  atomic_store(&a->unfit, pose + 1);
}

/* Cotangents of both poses from those of the relative one (frame 0, kernels' unit) and of the results as a
 * whole: with d from origin 1 to origin 2, relative translation R1^T d and rotation R1^T R2. */
void manifold_write_pose(const manifold_run *a, const manifold_runner *r, const manifold_job *job,
                         int64_t pose) {
  double *out = a->bars->poses + 12 * pose, force[3], torque[3], all_force[3], all_torque[3], lever[3],
         spin[3];
  double inv = 1 / a->m->unit;
  frame_vec(r->frame, job->force, force);
  frame_vec(r->frame, job->torque, torque);
  frame_vec(r->frame, job->out_force, all_force);
  frame_vec(r->frame, job->out_torque, all_torque);
  for (int k = 0; k < 3; k++) force[k] *= inv;
  cross3(lever, r->other, force);
  for (int k = 0; k < 3; k++) {
    out[k] = inv * all_force[k] - force[k];
    out[6 + k] = force[k];
    spin[k] = all_torque[k] - torque[k] - lever[k];
  }
  frame_tvec(r->frame, spin, out + 3);
  frame_tvec(r->turn, torque, out + 9);
}

/* How the relative pose (frame 0, kernels' unit) moves with both poses, with R = R1^T R2 and t = R1^T d: by
 * translations of the world, dt = -R1^T dx1 + R1^T dx2; by turns about own axes, dt = t x w1 and the turn
 * -w1 + R w2. */
static void chain_of(const manifold_run *a, const manifold_runner *r, const manifold_job *job,
                     double chain[COLUMNS][COORDINATES]) {
  memset(chain, 0, COLUMNS * sizeof *chain);
  for (int j = 0; j < 3; j++) {
    const double axis[3] = {j == 0, j == 1, j == 2};
    double swept[3];
    cross3(swept, job->translation, axis);
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
static void turn_columns(const manifold_runner *r, double in[3][COORDINATES], double factor,
                         const double x[3], double out[3 * COORDINATES]) {
  for (int j = 0; j < 3; j++) {
    const double axis[3] = {j == 0, j == 1, j == 2};
    double swept[3];
    cross3(swept, axis, x);
    for (int i = 0; i < 3; i++) in[i][3 + j] += swept[i];
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < COORDINATES; j++)
      out[COORDINATES * i + j] = factor * (r->frame[3 * i] * in[0][j] + r->frame[3 * i + 1] * in[1][j] +
                                           r->frame[3 * i + 2] * in[2][j]);
}
void manifold_write_jacobian(const manifold_run *a, const manifold_runner *r, const manifold_job *job,
                             int64_t pose) {
  const item_kernels *k = a->m->kernels;
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
