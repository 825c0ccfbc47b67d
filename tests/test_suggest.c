/* test_suggest.c: how many vertices and edges manifolds are advised to look at: boxes, where that can be said
 * beforehand, and what it must not depend on. */
#include "abut/manifold.h"

#include "host/shape/mesh_clean.h"
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct box {
  abut_surface s;
  abut_primitive primitive;
  double planes[24], vertices[24];
  int32_t edges[24], triangles[36];
} box;

/* Half sizes x, y, z. Corner i has the sign of bit k of i along axis k. */
static void make_box(box *b, double x, double y, double z) {
  const double half[3] = {x, y, z};
  int edges = 0, triangles = 0;
  memset(b, 0, sizeof *b);
  b->primitive = (abut_primitive){.kind = ABUT_PRIMITIVE_POLYHEDRON,
                                  .plane_count = 6,
                                  .quaternion = {1, 0, 0, 0},
                                  .size = {1, 1, 1},
                                  .exponents = {1, 1}};
  for (int k = 0; k < 3; k++)
    for (int side = 0; side < 2; side++) {
      double *plane = b->planes + 4 * (2 * k + side);
      plane[k] = side ? 1 : -1;
      plane[3] = half[k];
      /* outward: counter-clockwise as seen from outside */
      int base = side << k, u = 1 << (k + 1) % 3, v = 1 << (k + 2) % 3;
      int corner[4] = {base, base + u, base + u + v, base + v};
      for (int t = 0; t < 2; t++) {
        int32_t *f = b->triangles + 3 * triangles++;
        f[0] = corner[0];
        f[1] = corner[side ? t + 1 : 3 - t];
        f[2] = corner[side ? t + 2 : 2 - t];
      }
    }
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) {
      b->vertices[3 * i + k] = (i >> k & 1 ? 1 : -1) * half[k];
      if (i >> k & 1) continue;
      b->edges[2 * edges] = i;
      b->edges[2 * edges++ + 1] = i | 1 << k;
    }
  b->s = (abut_surface){.primitives = &b->primitive,
                        .primitive_count = 1,
                        .planes = b->planes,
                        .plane_count = 6,
                        .tau = 1e-3 * fmin(x, fmin(y, z)),
                        .vertices = b->vertices,
                        .vertex_count = 8,
                        .edges = b->edges,
                        .edge_count = 12,
                        .triangles = b->triangles,
                        .triangle_count = 12};
}

static abut_manifold_options options_of(double tau) {
  abut_manifold_options o = abut_default_manifold_options();
  o.tau_pen = o.tau_near = o.tau_select = tau;
  o.w_reg = 1e-6; /* of the mean square of two lengths: the shorter edge must outweigh it */
  return o;
}
static abut_manifold_counts suggest(const box *a, const box *b, const abut_manifold_options *o,
                                    double quantile) {
  abut_manifold_sampling sampling = abut_default_manifold_sampling();
  abut_manifold_counts c = {{-1, -1}, {-1, -1}, -1};
  sampling.samples = 150; /* not a whole number of blocks */
  sampling.quantile = quantile;
  CHECK_STATUS(abut_manifold_suggest(&a->s, &b->s, o, &sampling, &c), ABUT_OK);
  CHECK(c.contacts == c.vertices[0] + c.vertices[1] + 2 * (int64_t)c.edges[0] * c.edges[1]);
  return c;
}

/* Half of the samples lay a face of the cube flat on the slab, with four corners; in the other half the cube
 * meets it with one, but for the rim of the slab, which few of them meet, and for edges that pass
 * edges of the rim from afar. */
TEST(small_cube_on_a_slab_needs_its_four_corners) {
  box cube, slab;
  make_box(&cube, 0.1, 0.1, 0.1);
  make_box(&slab, 5, 5, 0.5);
  abut_manifold_options o = options_of(0.002);
  abut_manifold_counts most = suggest(&cube, &slab, &o, 0.8), few = suggest(&cube, &slab, &o, 0.3);
  CHECK(most.vertices[0] == 4 && most.vertices[1] == 0);
  CHECK(most.edges[0] == 0 && most.edges[1] == 0);
  CHECK(few.vertices[0] == 1 && few.vertices[1] == 0);
  abut_manifold_counts other = suggest(&slab, &cube, &o, 0.8);
  CHECK(other.vertices[0] == 0 && other.vertices[1] == 4);
  /* at a threshold of 1e-6 contacts count up to 13.8 tau_pen = 0.276 m outside: all of the cube does */
  abut_manifold_sampling sampling = abut_default_manifold_sampling();
  sampling.samples = 20;
  sampling.quantile = 1;
  sampling.threshold = 1e-6;
  o.tau_pen = 0.02;
  CHECK_STATUS(abut_manifold_suggest(&cube.s, &slab.s, &o, &sampling, &few), ABUT_OK);
  CHECK(few.vertices[0] == 8);
}

/* Cubes of one size meet with edges of two faces, four each, or with fewer: those are the deepest. */
TEST(cubes_need_the_edges_of_a_face) {
  box a;
  make_box(&a, 1, 1, 1);
  abut_manifold_options o = options_of(0.01);
  abut_manifold_counts c = suggest(&a, &a, &o, 0.9);
  for (int s = 0; s < 2; s++) {
    CHECK(c.vertices[s] >= 1 && c.vertices[s] <= 4);
    CHECK(c.edges[s] >= 1 && c.edges[s] <= 4);
  }
}

/* Bars cross with long edges only, whose ends are far from the other bar: by the mean of their ends the four
 * short edges of the nearer end come before all four. Less than a quarter of the samples meet with an
 * end. */
TEST(crossed_bars_need_edges_that_are_not_the_deepest) {
  box a, b;
  make_box(&a, 5, 0.1, 0.1);
  make_box(&b, 5, 0.1, 0.1);
  abut_manifold_options o = options_of(0.002);
  abut_manifold_counts c = suggest(&a, &b, &o, 0.75);
  for (int s = 0; s < 2; s++) {
    CHECK(c.vertices[s] == 0);
    CHECK(c.edges[s] >= 5 && c.edges[s] <= 8);
  }
  o.edges[0] = o.edges[1] = 0;
  c = suggest(&a, &b, &o, 0.75);
  CHECK(c.edges[0] == 0 && c.edges[1] == 0 && c.contacts == 0);
}

/* Two cubes flat on each other, turned and moved along their faces. */
static void flat_poses(double poses[14], point_draw *draw, double tau) {
  static const double first[7] = {0, 0, 0, 1, 0, 0, 0};
  double angle = 3.141592653589793 * point_draw_next(draw);
  memcpy(poses, first, sizeof first);
  poses[7] = 1.9 * point_draw_next(draw) - 0.95;
  poses[8] = 1.9 * point_draw_next(draw) - 0.95;
  poses[9] = 2 - tau * point_draw_next(draw);
  poses[10] = cos(angle / 2);
  poses[11] = poses[12] = 0;
  poses[13] = sin(angle / 2);
}
/* How many of `count` depths are not above the largest of those that are needed. */
static int rank_of(const double *depth, const int *needed, int count) {
  double last = -INFINITY;
  int rank = 0;
  for (int i = 0; i < count; i++)
    if (needed[i]) last = fmax(last, depth[i]);
  for (int i = 0; i < count; i++) rank += depth[i] <= last;
  return rank;
}
TEST(what_is_suggested_is_enough_in_other_poses) {
  enum { POSES = 200, PAIRS = 144 };
  static const double tau = 0.01, threshold = 0.1;
  box a, b;
  make_box(&a, 1, 1, 1);
  make_box(&b, 1, 1, 1);
  abut_manifold_options o = options_of(tau);
  abut_manifold_counts k = suggest(&a, &b, &o, 1);
  abut_manifold *m = NULL;
  point_draw draw = point_draw_start(7, 0);
  int short_of = 0;
  o.edges[0] = o.edges[1] = -1;
  CHECK_STATUS(abut_manifold_create(&a.s, &b.s, &o, &m), ABUT_OK);
  for (int i = 0; i < POSES; i++) {
    double poses[14], distance[16 + 2 * PAIRS], activity[16 + 2 * PAIRS], depth[2][12];
    int vertex[16], edge[2][12] = {{0}, {0}};
    abut_contacts c = {.distance = distance, .activity = activity};
    flat_poses(poses, &draw, tau);
    CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &c), ABUT_OK);
    for (int j = 0; j < 16; j++) vertex[j] = activity[j] > threshold;
    for (int j = 0; j < PAIRS; j++)
      if (fmax(activity[16 + j], activity[16 + PAIRS + j]) > threshold) edge[0][j / 12] = edge[1][j % 12] = 1;
    for (int e = 0; e < 12; e++)
      for (int s = 0; s < 2; s++)
        depth[s][e] = 0.5 * (distance[8 * s + a.edges[2 * e]] + distance[8 * s + a.edges[2 * e + 1]]);
    int enough = 1;
    for (int s = 0; s < 2; s++)
      enough = enough && rank_of(distance + 8 * s, vertex + 8 * s, 8) <= k.vertices[s] &&
               rank_of(depth[s], edge[s], 12) <= k.edges[s];
    short_of += !enough;
  }
  CHECK(short_of <= POSES / 50);
  abut_manifold_destroy(m);
}

TEST(threads_seeds_and_scale) {
  box a, b, large[2];
  make_box(&a, 1, 0.5, 0.7);
  make_box(&b, 0.6, 0.6, 0.6);
  make_box(&large[0], 1024, 512, 1024 * 0.7);
  make_box(&large[1], 1024 * 0.6, 1024 * 0.6, 1024 * 0.6);
  abut_manifold_options o = options_of(0);
  for (int i = 0; i < 4; i++) {
    double quantile = 0.4 + 0.2 * i;
    o.threads = 1;
    abut_manifold_counts one = suggest(&a, &b, &o, quantile);
    o.threads = 3;
    abut_manifold_counts three = suggest(&a, &b, &o, quantile);
    CHECK(memcmp(&one, &three, sizeof one) == 0);
    abut_manifold_counts big = suggest(&large[0], &large[1], &o, quantile); /* scaled by a power of two */
    CHECK(memcmp(&one, &big, sizeof one) == 0);
  }
}

TEST(bad_input_is_refused) {
  box a, b;
  abut_manifold_counts c;
  make_box(&a, 1, 1, 1);
  make_box(&b, 1, 1, 1);
#define REFUSED(target, name, value)                                                                         \
  do {                                                                                                       \
    abut_manifold_options o = options_of(0.01);                                                              \
    abut_manifold_sampling sampling = abut_default_manifold_sampling();                                      \
    box bad;                                                                                                 \
    make_box(&bad, 1, 1, 1);                                                                                 \
    sampling.samples = 2;                                                                                    \
    target name = (value);                                                                                   \
    CHECK_STATUS(abut_manifold_suggest(&a.s, &bad.s, &o, &sampling, &c), ABUT_ERROR_ARGUMENT);               \
    CHECK(*abut_error_message());                                                                            \
  } while (0)
  REFUSED(sampling, .samples, 0);
  REFUSED(sampling, .quantile, NAN);
  REFUSED(sampling, .quantile, 1.01);
  REFUSED(sampling, .threshold, 0);
  REFUSED(sampling, .depth, -1);
  REFUSED(o, .tau_clip, 0);
  REFUSED(o, .dtype, 9);
  REFUSED(bad.s, .triangle_count, 0);
  REFUSED(bad, .edges[3], bad.edges[2]);
#undef REFUSED
  CHECK_STATUS(abut_manifold_suggest(NULL, &b.s, NULL, NULL, &c), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_suggest(&a.s, &b.s, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_manifold_suggest(&a.s, &b.s, NULL, NULL, &c), ABUT_OK);
}
