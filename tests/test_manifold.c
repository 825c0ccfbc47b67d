/* test_manifold.c: contacts between smooth surfaces: their reverse pass against differences, what they must
 * not depend on, and inputs that are hard. The reference values are in test_manifold_cases. */
#include "abut/manifold.h"

#include "manifold_cases.h"
#include "manifold_test.h"
#include "test.h"
#include <stdio.h>

/* ------------------------------------------------------------------------------------------- random shapes
 */

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
  h->s = (abut_surface){.primitives = h->primitives,
                        .primitive_count = primitives,
                        .planes = h->planes,
                        .points = h->points,
                        .vertices = h->vertices,
                        .vertex_count = VERTICES,
                        .edges = h->edges,
                        .edge_count = EDGES,
                        .tau = 0.02 * size};
  for (int i = 0; i < primitives; i++) {
    abut_primitive *q = &h->primitives[i];
    *q = (abut_primitive){.size = {1, 1, 1}, .exponents = {1, 1}};
    random_quat(q->quaternion);
    for (int k = 0; k < 3; k++) {
      q->position[k] = size * uniform(-0.4, 0.4);
      q->size[k] = size * uniform(0.3, 1);
    }
    for (int k = 0; k < 2; k++)
      q->exponents[k] = i % 2 ? uniform(0.2, 1) : (double[]){1, 0.5, 0.25, 0.125}[(int)uniform(0, 4)];
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

static double inner(const abut_contacts *a, const abut_contacts *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < 8 * n; i++) sum += a->point[i] * b->point[i]; /* all four lie one after the other */
  return sum;
}
static double loss_at(const shape h[2], const abut_manifold_options *o, const double poses[14],
                      const abut_contacts *bar, int64_t n) {
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
/* A unit vector's number `which` moves; the others make up for it. */
static void tilt(double n[3], int which, double by) {
  double length = 0;
  n[which] += by;
  for (int k = 0; k < 3; k++) length += n[k] * n[k];
  for (int k = 0; k < 3; k++) n[k] /= sqrt(length);
}
/* Moves number `which` by h: 0 .. 11 poses, then vertices of both, primitives of both, planes of both, points
 * of both. */
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
  if (which >= 22 * MOST_PRIMITIVES) {
    which -= 22 * MOST_PRIMITIVES;
    int points = which >= 8 * MOST_PLANES;
    if (points) which -= 8 * MOST_PLANES;
    int width = points ? 7 : 4, first = points ? 3 : 0, c = which % width; /* first: of the normal */
    double *row = points ? h[which / (7 * MOST_PLANES)].points : h[which / (4 * MOST_PLANES)].planes;
    row += which % (width * MOST_PLANES) / width * width;
    if (c >= first && c < first + 3)
      tilt(row + first, c - first, by);
    else
      row[c] += by;
    return;
  }
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
  double poses[12], vertices[2][3 * VERTICES], primitives[2][11 * MOST_PRIMITIVES],
      planes[2][4 * MOST_PLANES], points[2][7 * MOST_PLANES];
} gradient;
/* Normals stay unit where differences are taken: what is along them does not count. */
static void flatten(const shape h[2], gradient *g) {
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < MOST_PLANES; i++)
      for (int points = 0; points < 2; points++) {
        const double *n = points ? h[s].points + 7 * i + 3 : h[s].planes + 4 * i;
        double *bar = points ? g->points[s] + 7 * i + 3 : g->planes[s] + 4 * i, along = 0;
        for (int k = 0; k < 3; k++) along += bar[k] * n[k];
        for (int k = 0; k < 3; k++) bar[k] -= along * n[k];
      }
}

/* Forward mode is the reverse pass's transpose: cotangents times the Jacobian are the poses' cotangents. Both
 * are sums of some thousand terms, in different orders: 1e-11. */
static void check_transpose(const abut_manifold *m, int64_t n, const double poses[14],
                            const abut_contacts *bar, const double reverse[12]) {
  double *memory = calloc((size_t)(8 * n * 12), sizeof *memory), sum[12] = {0}, largest = 1e-3;
  abut_contacts jacobian = {memory, memory + 36 * n, memory + 48 * n, memory + 84 * n};
  CHECK_STATUS(abut_manifold_jacobian(m, 1, poses, &jacobian, NULL), ABUT_OK);
  for (int64_t i = 0; i < 8 * n; i++) /* bar's members lie in the same order */
    for (int k = 0; k < 12; k++) sum[k] += bar->point[i] * memory[12 * i + k];
  for (int k = 0; k < 12; k++) largest = fmax(largest, fabs(reverse[k]));
  for (int k = 0; k < 12; k++) {
    if (!(fabs(sum[k] - reverse[k]) <= 1e-11 * largest))
      printf("  coordinate %d: forward %.15g, reverse %.15g\n", k, sum[k], reverse[k]);
    CHECK(fabs(sum[k] - reverse[k]) <= 1e-11 * largest);
  }
  free(memory);
}

/* Largest error of the reverse pass against differences, over the largest entry of its group. */
static double check_gradient(const shape h[2], const abut_manifold_options *o, const double poses[14],
                             int all) {
  abut_manifold *m = NULL;
  abut_manifold_counts counts;
  CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, o, &m), ABUT_OK);
  abut_manifold_size(m, &counts);
  abut_contacts bar = contacts_new(counts.contacts);
  for (int64_t i = 0; i < 8 * counts.contacts; i++) bar.point[i] = uniform(-1, 1);
  gradient g;
  memset(&g, 0, sizeof g);
  abut_manifold_bars bars = {.poses = g.poses,
                             .vertices = {g.vertices[0], g.vertices[1]},
                             .primitives = {g.primitives[0], g.primitives[1]},
                             .planes = {g.planes[0], g.planes[1]},
                             .points = {g.points[0], g.points[1]}};
  CHECK_STATUS(abut_manifold_gradient(m, 1, poses, &bar, &bars, NULL), ABUT_OK);
  check_transpose(m, counts.contacts, poses, &bar, g.poses);
  flatten(h, &g);
  double worst = 0, largest[5] = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3};
  const double *flat = g.poses;
  int first[6] = {0, 12, 12 + 6 * VERTICES, 12 + 6 * VERTICES + 22 * MOST_PRIMITIVES};
  first[4] = first[3] + 8 * MOST_PLANES;
  first[5] = first[4] + 14 * MOST_PLANES;
  for (int group = 0; group < 5; group++)
    for (int i = first[group]; i < first[group + 1]; i++)
      largest[group] = fmax(largest[group], fabs(flat[i]));
  for (int group = 0; group < (all ? 5 : 1); group++)
    for (int i = first[group]; i < first[group + 1]; i += group ? 3 : 1) {
      int primitive = i - first[2], row = i - first[group];
      if (group == 3 && !h[row / (4 * MOST_PLANES)].s.plane_count) continue;
      if (group == 4 && !h[row / (7 * MOST_PLANES)].s.point_count) continue;
      if (group == 2) {
        const shape *s = &h[primitive / (11 * MOST_PRIMITIVES)];
        int j = primitive % (11 * MOST_PRIMITIVES) / 11;
        if (j >= s->s.primitive_count) continue;
        if (primitive % 11 > 5 && s->primitives[j].kind != ABUT_PRIMITIVE_SUPERQUADRIC) continue;
      }
      double fd = difference(h, o, poses, &bar, counts.contacts, i, 2e-5),
             error = fabs(fd - flat[i]) / largest[group];
      if (error >
          1e-7) { /* soft sorting has kinks where two features change places: nearer, they are not met */
        fd = difference(h, o, poses, &bar, counts.contacts, i, 5e-7);
        error = fmin(error, fabs(fd - flat[i]) / largest[group]);
      }
      if (error > worst) worst = error;
      if (error > 1e-6)
        printf("  number %d: differences %.10g, reverse %.10g, largest %.3g\n", i, fd, flat[i],
               largest[group]);
    }
  free(bar.point);
  abut_manifold_destroy(m);
  return worst;
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
      printf("round %d: %.3g (form %d, selection %d, kinds %d %d, projections %d)\n", i, worst, o.form,
             o.selection, i % 4, (i / 2) % 4, o.projections);
    CHECK(worst < 1e-6);
  }
}

/* ------------------------------------------------------------------------------------- reference values */

static double tolerance_of(int32_t dtype, double f64, double f32) { return dtype == ABUT_F64 ? f64 : f32; }

TEST(edges_cases_of_thirty_digits) {
  for (int32_t dtype = ABUT_F64;; dtype = ABUT_F32) {
    for (size_t i = 0; i < sizeof edges_cases / sizeof *edges_cases; i++) {
      const edges_case *c = &edges_cases[i];
      abut_edges_query q = {.relative = c->relative,
                            .w_reg = c->w_reg,
                            .tau_clip = c->tau_clip,
                            .tau_min = c->tau_min,
                            .tau_comp = c->tau_comp};
      abut_edges_result r;
      memcpy(q.edge1, c->e1, sizeof q.edge1);
      memcpy(q.edge2, c->e2, sizeof q.edge2);
      CHECK_STATUS(abut_query_edges(1, &q, &r, dtype), ABUT_OK);
      /* without `relative` nearly parallel short edges are badly conditioned: 6e-3 is the worst known in f32
       */
      double tol = tolerance_of(dtype, 1e-12, c->relative ? 2e-5 : 6e-3);
      CHECK_NEAR(r.alpha1, c->alpha1, tol);
      CHECK_NEAR(r.alpha2, c->alpha2, tol);
      CHECK_NEAR(r.colliding, c->colliding, tol);
    }
    if (dtype == ABUT_F32) break;
  }
}

TEST(distance_cases_of_thirty_digits) {
  for (int32_t dtype = ABUT_F64;; dtype = ABUT_F32) {
    double tol = tolerance_of(dtype, 1e-12, 2e-6), distance, out[3];
    for (size_t i = 0; i < sizeof superquadric_cases / sizeof *superquadric_cases; i++) {
      const superquadric_case *c = &superquadric_cases[i];
      abut_primitive q = {.quaternion = {1, 0, 0, 0}};
      memcpy(q.size, c->size, sizeof q.size);
      memcpy(q.exponents, c->exponents, sizeof q.exponents);
      abut_surface s = one_primitive(&q);
      CHECK_STATUS(abut_query_distance(&s, 1, c->x, &distance, out, NULL, dtype), ABUT_OK);
      CHECK_NEAR(distance, c->distance, tol);
      for (int k = 0; k < 3; k++) CHECK_NEAR(out[k], c->normal[k], tol);
    }
    for (size_t i = 0; i < sizeof polyhedron_cases / sizeof *polyhedron_cases; i++) {
      const polyhedron_case *c = &polyhedron_cases[i];
      double planes[4 * CASE_PLANES];
      abut_primitive q = {
          .kind = ABUT_PRIMITIVE_POLYHEDRON, .quaternion = {1, 0, 0, 0}, .plane_count = c->planes};
      for (int j = 0; j < c->planes; j++) {
        memcpy(planes + 4 * j, c->normals[j], sizeof c->normals[j]);
        planes[4 * j + 3] = 0;
        for (int k = 0; k < 3; k++) planes[4 * j + 3] += c->normals[j][k] * c->points[j][k];
      }
      abut_surface s = one_primitive(&q);
      s.planes = planes;
      s.plane_count = c->planes;
      s.tau = c->tau;
      CHECK_STATUS(abut_query_distance(&s, 1, c->x, &distance, NULL, out, dtype), ABUT_OK);
      CHECK_NEAR(distance, c->distance, tol);
      for (int k = 0; k < 3; k++) CHECK_NEAR(out[k], c->gradient[k], tol * (dtype == ABUT_F64 ? 1 : 10));
    }
    if (dtype == ABUT_F32) break;
  }
}

TEST(manifold_case_of_thirty_digits) {
  abut_primitive q[2];
  abut_surface s[2] = {case_surface(&q[0], case_body1_primitive, case_body1_vertices, case_body1_edges),
                       case_surface(&q[1], case_body2_primitive, case_body2_vertices, case_body2_edges)};
  for (int32_t dtype = ABUT_F64;; dtype = ABUT_F32) {
    abut_manifold_options o = {.form = ABUT_MANIFOLD_PAPER,
                               .vertices = {-1, -1},
                               .edges = {-1, -1},
                               .relative = 1,
                               .w_reg = 0.01,
                               .tau_clip = 0.02,
                               .tau_min = 0.01,
                               .tau_comp = 0.02,
                               .eps_normal = 1e-8,
                               .tau_sign = 0.1,
                               .tau_clash = 0.1,
                               .tau_pen = 0.01,
                               .tau_near = 0.02,
                               .dtype = dtype};
    abut_manifold *m = NULL;
    CHECK_STATUS(abut_manifold_create(&s[0], &s[1], &o, &m), ABUT_OK);
    enum { N = 16 + 288 };
    abut_contacts c = contacts_new(N);
    CHECK_STATUS(abut_manifold_contacts(m, 1, at_rest, &c), ABUT_OK);
    double tol = tolerance_of(dtype, 1e-12, 2e-5);
    for (int i = 0; i < 16; i++) {
      const vertex_case *v = i < 8 ? &case_vs1[i] : &case_vs2[i - 8];
      CHECK_NEAR(c.distance[i], v->distance, tol);
      for (int k = 0; k < 3; k++) CHECK_NEAR(c.normal[3 * i + k], v->normal[k], tol);
    }
    for (size_t i = 0; i < sizeof pair_cases / sizeof *pair_cases; i++) {
      const pair_case *p = &pair_cases[i];
      int first = 16 + 12 * p->k + p->l, second = first + 144;
      for (int k = 0; k < 3; k++) {
        CHECK_NEAR(c.point[3 * first + k], p->point1[k], tol);
        CHECK_NEAR(c.point[3 * second + k], p->point2[k], tol);
        CHECK_NEAR(c.normal[3 * first + k], p->normal1[k], tol);
        CHECK_NEAR(c.normal[3 * second + k], p->normal2[k], tol);
      }
      CHECK_NEAR(c.distance[first], p->distance1, tol);
      CHECK_NEAR(c.distance[second], p->distance2, tol);
      CHECK_NEAR(c.activity[first], p->activity1, tol);
      CHECK_NEAR(c.activity[second], p->activity2, tol);
    }
    free(c.point);
    abut_manifold_destroy(m);
    if (dtype == ABUT_F32) break;
  }
}

/* --------------------------------------------------------------------------------- what must not matter */

/* Contacts of `count` poses, as one allocation. */
static abut_contacts contacts_of(const shape h[2], const abut_manifold_options *o, int64_t count,
                                 const double *poses, int64_t *n) {
  abut_manifold *m = NULL;
  abut_manifold_counts counts = {.contacts = 0};
  CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, o, &m), ABUT_OK);
  abut_manifold_size(m, &counts);
  *n = counts.contacts;
  abut_contacts c = contacts_new(count * counts.contacts);
  CHECK_STATUS(abut_manifold_contacts(m, count, poses, &c), ABUT_OK);
  abut_manifold_destroy(m);
  return c;
}

TEST(batches_and_threads_change_no_bit) {
  enum { COUNT = 70 };
  shape h[2];
  double poses[14 * COUNT];
  int64_t n;
  random_shape(&h[0], 4, 0, 1);
  random_shape(&h[1], 3, 1, 1);
  for (int i = 0; i < COUNT; i++) random_poses(poses + 14 * i, 1);
  for (int f32 = 0; f32 < 2; f32++) {
    abut_manifold_options o = soft_options();
    o.dtype = f32 ? ABUT_F32 : ABUT_F64;
    abut_contacts all = contacts_of(h, &o, COUNT, poses, &n);
    o.threads = 3;
    abut_contacts threads = contacts_of(h, &o, COUNT, poses, &n);
    CHECK(memcmp(all.point, threads.point, sizeof(double) * 8 * COUNT * (size_t)n) == 0);
    abut_contacts one = contacts_of(h, &o, 1, poses + 14 * 41, &n);
    CHECK(memcmp(all.point + 3 * 41 * n, one.point, sizeof(double) * 3 * (size_t)n) == 0);
    CHECK(memcmp(all.activity + 41 * n, one.activity, sizeof(double) * (size_t)n) == 0);
    free(all.point);
    free(threads.point);
    free(one.point);
  }
}

TEST(sums_over_poses_do_not_depend_on_threads) {
  enum { COUNT = 100 };
  shape h[2];
  double poses[14 * COUNT];
  gradient g[2];
  double grads[2][12 * COUNT];
  random_shape(&h[0], 4, 0, 1);
  random_shape(&h[1], 3, 3, 1);
  for (int i = 0; i < COUNT; i++) random_poses(poses + 14 * i, 1);
  for (int run = 0; run < 2; run++) {
    abut_manifold_options o = soft_options();
    abut_manifold *m = NULL;
    abut_manifold_counts counts;
    o.threads = run ? 4 : 1;
    CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, &o, &m), ABUT_OK);
    abut_manifold_size(m, &counts);
    abut_contacts bar = contacts_new(counts.contacts * COUNT);
    for (int64_t i = 0; i < 8 * COUNT * counts.contacts; i++) bar.point[i] = 1 + (double)(i % 7);
    abut_manifold_bars bars = {.poses = grads[run],
                               .vertices = {g[run].vertices[0], g[run].vertices[1]},
                               .primitives = {g[run].primitives[0], g[run].primitives[1]}};
    memset(&g[run], 0, sizeof g[run]);
    CHECK_STATUS(abut_manifold_gradient(m, COUNT, poses, &bar, &bars, NULL), ABUT_OK);
    free(bar.point);
    abut_manifold_destroy(m);
  }
  CHECK(memcmp(grads[0], grads[1], sizeof grads[0]) == 0);
  CHECK(memcmp(&g[0], &g[1], sizeof g[0]) == 0);
}

/* Scaled, and moved as a whole, contacts scale and move with it. */
TEST(scale_and_place_do_not_matter) {
  for (int i = 0; i < 6; i++) {
    double scale = (double[]){1e-6, 1e-3, 1e3, 1e6, 1, 1}[i], far = i >= 4 ? 1e3 : 0;
    shape h[2], big[2];
    double poses[14], moved[14];
    int64_t n;
    random_shape(&h[0], 3, 0, 1);
    random_shape(&h[1], 2, 0, 1);
    random_poses(poses, 1);
    memcpy(moved, poses, sizeof moved);
    for (int s = 0; s < 2; s++) {
      shape_copy(&big[s], &h[s]);
      big[s].s.tau *= scale;
      for (int j = 0; j < big[s].s.primitive_count; j++)
        for (int k = 0; k < 3; k++) {
          big[s].primitives[j].position[k] *= scale;
          big[s].primitives[j].size[k] *= scale;
        }
      for (int k = 0; k < 3 * VERTICES; k++) big[s].vertices[k] *= scale;
      for (int k = 0; k < 3; k++) moved[7 * s + k] = scale * poses[7 * s + k] + far;
    }
    for (int f32 = 0; f32 < 2; f32++) {
      abut_manifold_options o = soft_options();
      o.tau_pen = o.tau_near = o.tau_select = 0;
      o.dtype = f32 ? ABUT_F32 : ABUT_F64;
      abut_contacts a = contacts_of(h, &o, 1, poses, &n), b = contacts_of(big, &o, 1, moved, &n);
      /* scales that are no powers of two round the vertices, and 1e3 m away doubles have 1e-13 m */
      double tol = f32 ? 3e-5 : 1e-9;
      for (int64_t j = 0; j < n; j++) {
        CHECK_NEAR(b.distance[j] / scale, a.distance[j], tol);
        CHECK_NEAR(b.activity[j], a.activity[j], 30 * tol);
        for (int k = 0; k < 3; k++) {
          CHECK_NEAR((b.point[3 * j + k] - far) / scale, a.point[3 * j + k], tol);
          CHECK_NEAR(b.normal[3 * j + k], a.normal[3 * j + k], 30 * tol);
        }
      }
      free(a.point);
      free(b.point);
    }
  }
}

/* What is not looked at would have had less than twice the cut-off; nothing else changes. */
TEST(cutoff_leaves_out_less_than_it_says) {
  for (int i = 0; i < 40; i++) {
    shape h[2];
    double poses[14];
    int64_t n;
    random_shape(&h[0], 3, 0, 1);
    random_shape(&h[1], 3, 0, 1);
    random_poses(poses, 0.8);
    abut_manifold_options o = soft_options();
    o.cutoff = 0;
    abut_contacts whole = contacts_of(h, &o, 1, poses, &n);
    o.cutoff = 1e-3;
    abut_contacts cut = contacts_of(h, &o, 1, poses, &n);
    for (int64_t j = 0; j < n; j++) {
      CHECK_NEAR(cut.activity[j], whole.activity[j], 2e-3);
      if (cut.activity[j] > 0) CHECK(cut.distance[j] == whole.distance[j]);
    }
    free(whole.point);
    free(cut.point);
  }
}

/* ------------------------------------------------------------------------------------------- hard inputs */

TEST(bad_input_is_refused) {
  shape h[2];
  random_shape(&h[0], 2, 0, 1);
  random_shape(&h[1], 2, 0, 1);
  abut_manifold *m = NULL;
#define REFUSED(target, name, value)                                                                         \
  do {                                                                                                       \
    shape bad[2];                                                                                            \
    abut_manifold_options o = soft_options();                                                                \
    (void)o;                                                                                                 \
    shape_copy(&bad[0], &h[0]);                                                                              \
    shape_copy(&bad[1], &h[1]);                                                                              \
    target name = (value);                                                                                   \
    abut_status refused = abut_manifold_create(&bad[0].s, &bad[1].s, &o, &m);                                \
    CHECK(refused == ABUT_ERROR_ARGUMENT || refused == ABUT_ERROR_MODEL);                                    \
    CHECK(m == NULL && *abut_error_message());                                                               \
  } while (0)
  REFUSED(o, .form, 7);
  REFUSED(o, .selection, -1);
  REFUSED(o, .vertices[0], VERTICES + 1);
  REFUSED(o, .edges[1], EDGES + 1);
  REFUSED(o, .edges[1], 0);
  REFUSED(o, .vertices[1], -2);
  REFUSED(o, .w_reg, 0);
  REFUSED(o, .tau_clip, NAN);
  REFUSED(o, .tau_near, -1);
  REFUSED(o, .cutoff, 1);
  REFUSED(o, .dtype, 5);
  REFUSED(o, .projections, -1);
  REFUSED(bad[0].primitives[0], .size[1], 0);
  REFUSED(bad[0].primitives[0], .exponents[0], 0);
  REFUSED(bad[0].primitives[0], .exponents[1], 2.1);
  REFUSED(bad[0].primitives[1], .exponents[1], NAN);
  REFUSED(bad[1].primitives[1], .quaternion[0], 3);
  REFUSED(bad[1].primitives[1], .kind, 9);
  REFUSED(bad[1].s, .tau, 0);
  REFUSED(bad[1].s, .primitive_count, 0);
  REFUSED(bad[0], .vertices[4], INFINITY);
  REFUSED(bad[0], .edges[4], VERTICES);
  REFUSED(bad[0], .edges[4], bad[0].edges[5]);
#undef REFUSED
  double poses[14];
  memcpy(poses, at_rest, sizeof poses);
  abut_manifold_options o = soft_options();
  CHECK_STATUS(abut_manifold_create(&h[0].s, &h[1].s, &o, &m), ABUT_OK);
  abut_contacts none = {0};
  poses[10] = 2;
  CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &none), ABUT_ERROR_ARGUMENT);
  poses[10] = NAN;
  CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &none), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_check_poses(m, 41, 1, poses), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "pose 41 of surface 2") != NULL);
  poses[10] = 1;
  CHECK_STATUS(abut_manifold_check_poses(m, 41, 1, poses), ABUT_OK);
  CHECK_STATUS(abut_manifold_check_poses(NULL, 0, 1, poses), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &none), ABUT_OK);
  CHECK_STATUS(abut_manifold_jacobian(m, 1, poses, NULL, &none), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_jacobian(m, 0, NULL, &none, NULL), ABUT_OK);
  abut_manifold_counts counts;
  abut_manifold_size(m, &counts);
  abut_contacts bar = contacts_new(counts.contacts);
  double reverse[12];
  abut_manifold_bars bars = {.poses = reverse};
  CHECK_STATUS(abut_manifold_gradient(m, 1, poses, &bar, &bars, NULL), ABUT_OK);
  bar.distance[0] = NAN;
  CHECK_STATUS(abut_manifold_gradient(m, 1, poses, &bar, &bars, NULL), ABUT_ERROR_ARGUMENT);
  free(bar.point);
  poses[7] = 1e300;
  CHECK_STATUS(abut_manifold_jacobian(m, 1, poses, &none, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_contacts(m, 0, NULL, &none), ABUT_OK);
  CHECK_STATUS(abut_manifold_contacts(m, -1, poses, &none), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_contacts(NULL, 1, poses, &none), ABUT_ERROR_ARGUMENT);
  abut_manifold_destroy(m);
  abut_manifold_destroy(NULL);
}

/* Points that no primitive uses are a surface's all the same. */
TEST(copies_share_nothing) {
  double points[7] = {1, 2, 3, 0, 0, 1, 0.1};
  abut_primitive q = {.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}, .exponents = {1, 1}};
  abut_surface s = one_primitive(&q), *copy = NULL;
  s.points = points;
  s.point_count = 1;
  CHECK_STATUS(abut_surface_copy(&s, &copy), ABUT_OK);
  CHECK(copy && copy->points != points && !memcmp(copy->points, points, sizeof points));
  abut_surface_destroy(copy);
}
