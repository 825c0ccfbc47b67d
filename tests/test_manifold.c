/* test_manifold.c: contacts between smooth surfaces: their reverse pass against differences, what they must not
 * depend on, and inputs that are hard. The reference values are in test_manifold_cases. */
#include "abut/manifold.h"

#include "test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- random shapes */

static uint64_t state = 1;
static double uniform(double low, double high) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t x = state;
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return low + (high - low) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static void random_quat(double q[4]) {
  double n = 0;
  for (int i = 0; i < 4; i++) {
    q[i] = uniform(-1, 1);
    n += q[i] * q[i];
  }
  for (int i = 0; i < 4; i++) q[i] /= sqrt(n);
}

enum { MOST_PRIMITIVES = 4, MOST_PLANES = 16, VERTICES = 20, EDGES = 24 };
typedef struct shape {
  abut_surface s;
  abut_primitive primitives[MOST_PRIMITIVES];
  double planes[4 * MOST_PLANES], points[7 * MOST_PLANES], vertices[3 * VERTICES];
  int32_t edges[2 * EDGES];
} shape;

static void random_direction(double n[3]) {
  double length;
  do {
    length = 0;
    for (int k = 0; k < 3; k++) {
      n[k] = uniform(-1, 1);
      length += n[k] * n[k];
    }
  } while (!(length > 1e-2 && length <= 1));
  for (int k = 0; k < 3; k++) n[k] /= sqrt(length);
}

/* Superquadrics about the origin, and vertices near where they end. kinds: 0 superquadrics only, 1 with a
 * polyhedron, 2 with a cloud, 3 with one that is cut out. */
static void random_shape(shape *h, int primitives, int kinds, double size) {
  memset(h, 0, sizeof *h);
  h->s = (abut_surface){.primitives = h->primitives, .primitive_count = primitives, .planes = h->planes,
                        .points = h->points, .vertices = h->vertices, .vertex_count = VERTICES, .edges = h->edges,
                        .edge_count = EDGES, .tau = 0.02 * size};
  for (int i = 0; i < primitives; i++) {
    abut_primitive *q = &h->primitives[i];
    *q = (abut_primitive){.size = {1, 1, 1}, .exponents = {1, 1}};
    random_quat(q->quaternion);
    for (int k = 0; k < 3; k++) {
      q->position[k] = size * uniform(-0.4, 0.4);
      q->size[k] = size * uniform(0.3, 1);
    }
    for (int k = 0; k < 2; k++) q->exponents[k] = i % 2 ? uniform(0.2, 1) : (double[]){1, 0.5, 0.25, 0.125}[(int)uniform(0, 4)];
  }
  abut_primitive *last = &h->primitives[primitives - 1];
  if (kinds == 1 || kinds == 2) {
    last->kind = kinds == 1 ? ABUT_PRIMITIVE_POLYHEDRON : ABUT_PRIMITIVE_POINT_CLOUD;
    last->plane_count = MOST_PLANES;
    if (kinds == 1)
      h->s.plane_count = MOST_PLANES;
    else
      h->s.point_count = MOST_PLANES;
    for (int i = 0; i < MOST_PLANES; i++) {
      double *plane = h->planes + 4 * i, *point = h->points + 7 * i;
      random_direction(plane);
      plane[3] = size * uniform(0.3, 0.6);
      memcpy(point + 3, plane, 3 * sizeof *plane);
      for (int k = 0; k < 3; k++) point[k] = 0.5 * size * plane[k];
      point[6] = 0.3 * size;
    }
  }
  if (kinds == 3 && primitives > 1) {
    last->subtracted = 1;
    for (int k = 0; k < 3; k++) last->size[k] *= 0.5;
  }
  for (int i = 0; i < VERTICES; i++) {
    double n[3];
    random_direction(n);
    for (int k = 0; k < 3; k++) h->vertices[3 * i + k] = 0.6 * size * n[k];
  }
  for (int e = 0; e < EDGES; e++) {
    h->edges[2 * e] = e % VERTICES;
    h->edges[2 * e + 1] = (e + 1 + 3 * (e / VERTICES)) % VERTICES;
  }
}
static void random_poses(double poses[14], double apart) {
  for (int s = 0; s < 2; s++) {
    for (int k = 0; k < 3; k++) poses[7 * s + k] = s * apart * uniform(-1, 1) + uniform(-1, 1);
    random_quat(poses + 7 * s + 3);
    if (s)
      for (int k = 0; k < 3; k++) poses[7 + k] = poses[k] + apart * uniform(-0.6, 0.6);
  }
}

/* ------------------------------------------------------------------------------------------- differences */

typedef struct loss {
  abut_contacts bar;
  double *memory;
} loss;

static abut_contacts contacts_new(int64_t n) {
  double *m = calloc((size_t)n * 8, sizeof *m);
  abut_contacts c = {m, m + 3 * n, m + 4 * n, m + 7 * n};
  return c;
}
static double inner(const abut_contacts *a, const abut_contacts *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < 8 * n; i++) sum += a->point[i] * b->point[i]; /* all four lie one after the other */
  return sum;
}
static double loss_at(const shape h[2], const abut_manifold_options *o, const double poses[14], const abut_contacts *bar,
                      int64_t n) {
  abut_manifold *m = NULL;
  abut_contacts c = contacts_new(n);
  CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, o, &m), ABUT_OK);
  CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &c), ABUT_OK);
  double value = inner(&c, bar, n);
  free(c.point);
  abut_manifold_destroy(m);
  return value;
}

/* A shape's pointers are into itself. */
static void shape_copy(shape *to, const shape *from) {
  *to = *from;
  to->s.primitives = to->primitives;
  to->s.planes = to->planes;
  to->s.points = to->points;
  to->s.vertices = to->vertices;
  to->s.edges = to->edges;
}
static void multiply(const double a[4], const double b[4], double out[4]) {
  out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}
/* q turned by `angle` about axis k: of its body (after it) or of the frame around it (before it). */
static void turn(double q[4], int k, double angle, int body) {
  double d[4] = {cos(angle / 2), 0, 0, 0}, out[4];
  d[1 + k] = sin(angle / 2);
  multiply(body ? q : d, body ? d : q, out);
  memcpy(q, out, sizeof out);
}
/* Moves number `which` by h: 0 .. 11 poses, then vertices of both, then primitives of both. */
static void move(shape h[2], double poses[14], int which, double by) {
  if (which < 12) {
    double *pose = poses + 7 * (which / 6);
    if (which % 6 < 3)
      pose[which % 6] += by;
    else
      turn(pose + 3, which % 6 - 3, by, 1);
    return;
  }
  which -= 12;
  if (which < 6 * VERTICES) {
    h[which / (3 * VERTICES)].vertices[which % (3 * VERTICES)] += by;
    return;
  }
  which -= 6 * VERTICES;
  abut_primitive *q = &h[which / (11 * MOST_PRIMITIVES)].primitives[which % (11 * MOST_PRIMITIVES) / 11];
  int c = which % 11;
  if (c < 3)
    q->position[c] += by;
  else if (c < 6)
    turn(q->quaternion, c - 3, by, 0);
  else if (c < 9)
    q->size[c - 6] += by;
  else
    q->exponents[c - 9] += by;
}

/* Fourth-order differences along `which`. */
static double difference(const shape h[2], const abut_manifold_options *o, const double poses[14],
                         const abut_contacts *bar, int64_t n, int which, double step) {
  static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
  double sum = 0;
  for (int i = 0; i < 4; i++) {
    shape moved[2];
    double p[14];
    shape_copy(&moved[0], &h[0]);
    shape_copy(&moved[1], &h[1]);
    memcpy(p, poses, sizeof p);
    move(moved, p, which, at[i] * step);
    sum += weight[i] * loss_at(moved, o, p, bar, n);
  }
  return sum / (12 * step);
}

typedef struct gradient {
  double poses[12], vertices[2][3 * VERTICES], primitives[2][11 * MOST_PRIMITIVES];
} gradient;

/* Largest error of the reverse pass against differences, over the largest entry of its group. */
static double check_gradient(const shape h[2], const abut_manifold_options *o, const double poses[14], int all) {
  abut_manifold *m = NULL;
  abut_manifold_counts counts;
  CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, o, &m), ABUT_OK);
  abut_manifold_size(m, &counts);
  abut_contacts bar = contacts_new(counts.contacts);
  for (int64_t i = 0; i < 8 * counts.contacts; i++) bar.point[i] = uniform(-1, 1);
  gradient g;
  memset(&g, 0, sizeof g);
  abut_manifold_bars bars = {g.poses, {g.vertices[0], g.vertices[1]}, {g.primitives[0], g.primitives[1]}};
  CHECK_STATUS(abut_manifold_gradient(m, 1, poses, &bar, &bars, NULL), ABUT_OK);
  double worst = 0, largest[3] = {1e-3, 1e-3, 1e-3};
  const double *flat = g.poses;
  int first[4] = {0, 12, 12 + 6 * VERTICES, 12 + 6 * VERTICES + 22 * MOST_PRIMITIVES};
  for (int group = 0; group < 3; group++)
    for (int i = first[group]; i < first[group + 1]; i++) largest[group] = fmax(largest[group], fabs(flat[i]));
  for (int group = 0; group < (all ? 3 : 1); group++)
    for (int i = first[group]; i < first[group + 1]; i += group ? 3 : 1) {
      int primitive = i - first[2];
      if (group == 2) {
        const shape *s = &h[primitive / (11 * MOST_PRIMITIVES)];
        int j = primitive % (11 * MOST_PRIMITIVES) / 11;
        if (j >= s->s.primitive_count || s->primitives[j].kind != ABUT_PRIMITIVE_SUPERQUADRIC) continue;
      }
      double fd = difference(h, o, poses, &bar, counts.contacts, i, 2e-5), error = fabs(fd - flat[i]) / largest[group];
      if (error > 1e-7) { /* soft sorting has kinks where two features change places: nearer, they are not met */
        fd = difference(h, o, poses, &bar, counts.contacts, i, 5e-7);
        error = fmin(error, fabs(fd - flat[i]) / largest[group]);
      }
      if (error > worst) worst = error;
      if (error > 1e-6) printf("  number %d: differences %.10g, reverse %.10g, largest %.3g\n", i, fd, flat[i], largest[group]);
    }
  free(bar.point);
  abut_manifold_destroy(m);
  return worst;
}

static abut_manifold_options soft_options(void) {
  abut_manifold_options o = abut_default_manifold_options();
  o.dtype = ABUT_F64;
  o.threads = 1;
  o.edges[0] = o.edges[1] = 6;
  o.tau_pen = o.tau_near = o.tau_select = 0.05;
  o.tau_clip = o.tau_comp = 0.1;
  o.tau_min = 0.1;
  return o;
}

TEST(reverse_pass_against_differences) {
  int rounds = test_quick() ? 12 : 60;
  for (int i = 0; i < rounds; i++) {
    shape h[2];
    double poses[14];
    random_shape(&h[0], 1 + i % MOST_PRIMITIVES, i % 4, 1);
    random_shape(&h[1], 1 + (i / 4) % MOST_PRIMITIVES, (i / 2) % 4, 1);
    random_poses(poses, 1);
    abut_manifold_options o = soft_options();
    o.form = i % 2 ? ABUT_MANIFOLD_PAPER : ABUT_MANIFOLD_LINEAR;
    o.selection = i % 3 == 2 ? ABUT_SELECT_SOFTSORT : ABUT_SELECT_HARD;
    o.vertices[0] = i % 5 ? 7 : -1;
    o.vertices[1] = i % 7 ? 9 : 0;
    o.projections = i % 4 == 1 ? 2 : 0;
    o.eps_normal = 1e-4;
    o.cutoff = 0; /* at the cut-off contacts without activity change what they say */
    double worst = check_gradient(h, &o, poses, i % 4 < 2);
    if (worst > 1e-6)
      printf("round %d: %.3g (form %d, selection %d, kinds %d %d, projections %d)\n", i, worst, o.form, o.selection,
             i % 4, (i / 2) % 4, o.projections);
    CHECK(worst < 1e-6);
  }
}
