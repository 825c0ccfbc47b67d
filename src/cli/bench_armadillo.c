/* bench_armadillo.c: a fitted armadillo, or what stands in for it, and where two of them stand. */
#include "bench_armadillo.h"
#include "random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double uniform(int i, int what, double low, double high) {
  return low + (high - low) * random_uniform(7, (uint64_t)i, (uint64_t)what, 0);
}

/* ------------------------------------------------------------------------------------------- surface */

/* A disc of random superquadrics that hang together. */
static void stand_in_primitives(abut_primitive q[ARMADILLO_PRIMITIVES]) {
  memset(q, 0, ARMADILLO_PRIMITIVES * sizeof *q);
  for (int i = 0; i < ARMADILLO_PRIMITIVES; i++) {
    const double turn = 2.39996 * i, away = 0.08 * sqrt(i);
    double square = 0;
    q[i].position[0] = away * cos(turn);
    q[i].position[1] = away * sin(turn);
    q[i].position[2] = uniform(i, 0, -0.1, 0.1);
    for (int k = 0; k < 4; k++) {
      q[i].quaternion[k] = uniform(i, 1 + k, -1, 1);
      square += q[i].quaternion[k] * q[i].quaternion[k];
    }
    for (int k = 0; k < 4; k++) q[i].quaternion[k] /= sqrt(square);
    for (int k = 0; k < 3; k++) q[i].size[k] = uniform(i, 5 + k, 0.06, 0.15);
    for (int k = 0; k < 2; k++) q[i].exponents[k] = uniform(i, 8 + k, 0.3, 1.2);
  }
}

/* Vertices where rays from the middle leave the surface, in directions that spiral from pole to pole; those
 * 13 and 21 turns apart are neighbours. No triangles: what decimates a mesh may be missing in a build. */
enum { HALVINGS = 40, NEIGHBOUR = 13, OTHER_NEIGHBOUR = 21, STAND_IN_EDGES = 2 * ARMADILLO_VERTICES };
typedef struct ray {
  double along[3], inside, outside;
} ray;
static abut_status shoot(const abut_surface *bare, ray rays[ARMADILLO_VERTICES], double *points) {
  double distance[ARMADILLO_VERTICES];
  for (int i = 0; i < ARMADILLO_VERTICES; i++) {
    const double z = 1 - (2 * i + 1) / (double)ARMADILLO_VERTICES, turn = 2.39996322972865332 * i;
    rays[i] = (ray){{sqrt(1 - z * z) * cos(turn), sqrt(1 - z * z) * sin(turn), z}, 0, 2};
  }
  for (int step = 0; step < HALVINGS; step++) {
    for (int i = 0; i < 3 * ARMADILLO_VERTICES; i++)
      points[i] = 0.5 * (rays[i / 3].inside + rays[i / 3].outside) * rays[i / 3].along[i % 3];
    abut_status status =
        abut_query_distance(bare, ARMADILLO_VERTICES, points, distance, NULL, NULL, ABUT_F64);
    if (status != ABUT_OK) return status;
    for (int i = 0; i < ARMADILLO_VERTICES; i++) {
      double *end = distance[i] < 0 ? &rays[i].inside : &rays[i].outside;
      *end = 0.5 * (rays[i].inside + rays[i].outside);
    }
  }
  return ABUT_OK;
}
static abut_status stand_in(abut_surface **surface) {
  abut_primitive primitives[ARMADILLO_PRIMITIVES];
  ray rays[ARMADILLO_VERTICES];
  double points[3 * ARMADILLO_VERTICES];
  int32_t edges[2 * STAND_IN_EDGES], count = 0;
  stand_in_primitives(primitives);
  abut_surface bare = {.primitives = primitives, .primitive_count = ARMADILLO_PRIMITIVES, .tau = 0.002};
  abut_status status = shoot(&bare, rays, points);
  if (status != ABUT_OK) return status;
  for (int i = 0; i < ARMADILLO_VERTICES; i++)
    for (int apart = NEIGHBOUR; apart <= OTHER_NEIGHBOUR; apart += OTHER_NEIGHBOUR - NEIGHBOUR) {
      if (i + apart >= ARMADILLO_VERTICES) continue;
      edges[2 * count] = i;
      edges[2 * count++ + 1] = i + apart;
    }
  bare.vertices = points;
  bare.vertex_count = ARMADILLO_VERTICES;
  bare.edges = edges;
  bare.edge_count = count;
  return abut_surface_copy(&bare, surface);
}

static abut_status fit_armadillo(const char *path, abut_surface **surface) {
  abut_triangles *mesh = NULL;
  abut_fit_options options = abut_default_fit_options();
  options.primitives = ARMADILLO_PRIMITIVES;
  options.vertices = ARMADILLO_VERTICES;
  abut_status status = abut_triangles_load(path, NULL, &mesh);
  if (status == ABUT_OK) status = abut_surface_fit(mesh, &options, surface, NULL);
  abut_triangles_destroy(mesh);
  return status;
}

static int make_surface(progress *bar, abut_surface **surface) {
  const char *models = getenv("ABUT_MODELS");
  char path[4096];
  abut_status status = ABUT_ERROR_UNSUPPORTED;
  snprintf(path, sizeof path, "%s/armadillo/armadillo.obj", models ? models : "");
  progress_end(bar);
  *surface = NULL;
  if (models && access(path, R_OK) == 0) {
    fprintf(stderr, "abut: bench: fitting %d superquadrics to %s\n", ARMADILLO_PRIMITIVES, path);
    status = fit_armadillo(path, surface);
    if (status == ABUT_ERROR_UNSUPPORTED) fprintf(stderr, "abut: bench: %s\n", abut_error_message());
  }
  if (status == ABUT_ERROR_UNSUPPORTED) {
    fprintf(stderr, "abut: bench: %d random superquadrics stand in for ABUT_MODELS/armadillo/armadillo.obj\n",
            ARMADILLO_PRIMITIVES);
    status = stand_in(surface);
  }
  return status == ABUT_OK ? CLI_OK : cli_library_error();
}

/* ---------------------------------------------------------------------------------------------- poses */

static void make_poses(const abut_surface *surface, double *poses) {
  const double diagonal = abut_surface_diagonal(surface);
  for (int p = 0; p < ARMADILLO_POSES; p++) {
    double *first = poses + 14 * p, *second = first + 7, square = 0;
    memset(first, 0, 14 * sizeof *first);
    first[3] = 1;
    for (int k = 0; k < 7; k++) second[k] = uniform(p, 20 + k, -1, 1);
    for (int k = 0; k < 3; k++) second[k] *= 0.35 * diagonal;
    for (int k = 3; k < 7; k++) square += second[k] * second[k];
    for (int k = 3; k < 7; k++) second[k] /= sqrt(square);
  }
}

int bench_armadillo_open(progress *bar, armadillo_pair *pair) {
  *pair = (armadillo_pair){.poses = malloc(14 * ARMADILLO_POSES * sizeof *pair->poses)};
  int code =
      pair->poses ? make_surface(bar, &pair->surface) : cli_error("no memory for %d poses", ARMADILLO_POSES);
  if (code == CLI_OK) make_poses(pair->surface, pair->poses);
  return code;
}
void bench_armadillo_close(armadillo_pair *pair) {
  free(pair->poses);
  abut_surface_destroy(pair->surface);
}

abut_manifold_options bench_armadillo_options(armadillo_variant variant) {
  abut_manifold_options o = abut_default_manifold_options();
  o.edges[0] = o.edges[1] = variant == ARMADILLO_WHOLE ? ARMADILLO_EDGES : 0;
  if (variant == ARMADILLO_ONE_SIDE) o.vertices[1] = 0;
  return o;
}

double *bench_armadillo_points(const abut_surface *s, const double *poses, int64_t places, int64_t n) {
  double *points = malloc((size_t)(3 * places * n) * sizeof *points);
  for (int64_t i = 0; points && i < places * n; i++) {
    const double *pose = poses + 14 * (i / n) + 7, *q = pose + 3, *v = s->vertices + 3 * (i % n);
    double t[3]; /* v + 2 u x (u x v + w v) */
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, b = (k + 2) % 3;
      t[k] = q[1 + a] * v[b] - q[1 + b] * v[a] + q[0] * v[k];
    }
    for (int k = 0; k < 3; k++) {
      int a = (k + 1) % 3, b = (k + 2) % 3;
      points[3 * i + k] = pose[k] + v[k] + 2 * (q[1 + a] * t[b] - q[1 + b] * t[a]);
    }
  }
  return points;
}
