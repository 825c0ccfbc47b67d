/* test_hull.c: convex hulls against their definition, and the shapes that geoms become. */
#include "host/base/geometry.h"
#include "host/shape/moment.h"
#include "host/shape/geom.h"
#include "host/shape/hull.h"
#include "test.h"
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Uniform in [-1, 1], the same on every machine. */
static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-52 - 1;
}

#ifdef ABUT_HAVE_QHULL
typedef struct hull {
  double *points;
  int32_t *faces;
  int32_t npoint, nface;
} hull;

static abut_status make(const double *points, int64_t n, hull *h) {
  return hull_build(points, n, &h->points, &h->npoint, &h->faces, &h->nface);
}

static void release(hull *h) {
  free(h->points);
  free(h->faces);
}

#endif

/* Largest height of a point above a face's plane (m). */
static double outside(const double *points, const int32_t *faces, int32_t nface, const double *others,
                      int64_t n) {
  double worst = 0;
  for (int32_t f = 0; f < nface; f++) {
    const double *p[3];
    double e[2][3], normal[3];
    for (int i = 0; i < 3; i++) p[i] = points + 3 * faces[3 * f + i];
    for (int k = 0; k < 3; k++) e[0][k] = p[1][k] - p[0][k], e[1][k] = p[2][k] - p[0][k];
    cross3(normal, e[0], e[1]);
    if (!normalise(normal, 3)) return INFINITY;
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, dot3(normal, others + 3 * i) - dot3(normal, p[0]));
  }
  return worst;
}

#ifdef ABUT_HAVE_QHULL
/* A closed surface of genus 0 (Euler), convex, around all the points, whose points are among them in their
 * order. */
static void check_hull(const double *points, int64_t n, const hull *h, double tolerance) {
  double moment[10];
  CHECK_STATUS(mesh_moment(h->points, h->npoint, h->faces, h->nface, moment), ABUT_OK);
  CHECK(h->nface == 2 * h->npoint - 4);
  CHECK(outside(h->points, h->faces, h->nface, points, n) <= tolerance);
  int64_t next = 0;
  for (int32_t i = 0; i < h->npoint; i++, next++) {
    while (next < n && memcmp(points + 3 * next, h->points + 3 * i, 3 * sizeof *points) != 0) next++;
    CHECK(next < n);
  }
}

TEST(hull_of_random_points) {
  uint64_t state = 1;
  static double points[3 * 300];
  for (int trial = 0; trial < 60; trial++) {
    int n = 4 + trial * 5;
    for (int i = 0; i < 3 * n; i++) points[i] = uniform(&state) * (i % 3 == 2 ? 0.01 : 3) + (trial % 3) * 10;
    hull h;
    REQUIRE(make(points, n, &h) == ABUT_OK);
    check_hull(points, n, &h, 1e-13 * 30);
    release(&h);
  }
}

TEST(hull_drops_what_is_not_a_corner) {
  /* a grid on and in a cube: only 8 of 125 are corners, 4 faces in 5 are divided */
  double points[3 * 125];
  for (int i = 0; i < 125; i++) {
    points[3 * i] = i % 5;
    points[3 * i + 1] = i / 5 % 5;
    points[3 * i + 2] = i / 25;
  }
  hull h;
  REQUIRE(make(points, 125, &h) == ABUT_OK);
  CHECK(h.npoint == 8);
  check_hull(points, 125, &h, 0);
  release(&h);
}

TEST(hull_of_duplicates_and_prism) {
  /* large coplanar caps: merged facets become fans; every point is given twice */
  double points[2 * 3 * 40];
  for (int i = 0; i < 40; i++) {
    double *p = points + 6 * i;
    p[0] = cos(2 * pi * (i / 2) / 20);
    p[1] = sin(2 * pi * (i / 2) / 20);
    p[2] = i % 2;
    memcpy(p + 3, p, 3 * sizeof *p);
  }
  hull h;
  REQUIRE(make(points, 80, &h) == ABUT_OK);
  CHECK(h.npoint == 40);
  check_hull(points, 80, &h, 1e-14);
  release(&h);
}

static void refuse(const double *points, int64_t n, const char *part) {
  hull h;
  CHECK_STATUS(make(points, n, &h), ABUT_ERROR_MODEL);
  if (!strstr(abut_error_message(), part)) test_fail(__FILE__, __LINE__, "%s", abut_error_message());
  CHECK(h.points == NULL && h.faces == NULL && h.npoint == 0 && h.nface == 0);
}

TEST(hull_bad) {
  double points[3 * 50];
  uint64_t state = 3;
  for (int i = 0; i < 50; i++) {
    points[3 * i] = uniform(&state);
    points[3 * i + 1] = uniform(&state);
    points[3 * i + 2] = 0.3 * points[3 * i] - 2 * points[3 * i + 1] + 5;
  }
  refuse(points, 0, "hull has 0 coplanar vertices");
  refuse(points, 3, "hull has 3 coplanar vertices");
  refuse(points, 50, "hull has 50 coplanar vertices");
  for (int i = 0; i < 50; i++) points[3 * i + 1] = points[3 * i + 2] = points[3 * i];
  refuse(points, 50, "hull has 50 coplanar vertices");
  for (int i = 0; i < 150; i++) points[i] = 7;
  refuse(points, 50, "hull has 50 coplanar vertices");
  points[3 * 17 + 1] = NAN;
  refuse(points, 50, "vertex 17 has coordinate nan");
  points[3 * 17 + 1] = -INFINITY;
  refuse(points, 50, "vertex 17 has coordinate -inf");
  refuse(points, INT64_MAX / 8, "too large");
  hull h;
  CHECK_STATUS(make(NULL, 4, &h), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(hull_build(points, 4, NULL, &h.npoint, &h.faces, &h.nface), ABUT_ERROR_ARGUMENT);
}

TEST(hull_extreme_sizes) {
  uint64_t state = 5;
  double points[3 * 30];
  static const double scales[] = {1e-150, 1e-9, 1e9, 1e100};
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < 90; i++) points[i] = scales[s] * uniform(&state);
    hull h;
    /* a hull, or a refusal: no crash, no exit */
    if (make(points, 30, &h) == ABUT_OK) CHECK(h.npoint >= 4 && h.nface >= 4);
    release(&h);
  }
}

#else
TEST(hull_without_qhull) {
  static const double points[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  double *hull_points;
  int32_t *faces, npoint, nface;
  CHECK_STATUS(hull_build(points, 4, &hull_points, &npoint, &faces, &nface), ABUT_ERROR_UNSUPPORTED);
  CHECK(hull_points == NULL && strstr(abut_error_message(), "built without qhull") != NULL);
}
#endif

/* ---------------------------------------------------------------------------------------- moments */

TEST(moment_round_trip) {
  uint64_t state = 7;
  for (int trial = 0; trial < 200; trial++) {
    double ipos[3], quat[4], inertia[3], moment[10], back[10], a[3], b[4], c[3], sides[3],
        mass = 2 + uniform(&state);
    for (int k = 0; k < 4; k++) quat[k] = uniform(&state);
    for (int k = 0; k < 3; k++) ipos[k] = uniform(&state), sides[k] = 1.1 + uniform(&state);
    normalise(quat, 4);
    for (int k = 0; k < 3; k++)
      inertia[k] = mass * (sides[(k + 1) % 3] * sides[(k + 1) % 3] + sides[(k + 2) % 3] * sides[(k + 2) % 3]);
    moment_from_principal(moment, mass, ipos, quat, inertia);
    moment_to_principal(moment, a, b, c);
    moment_from_principal(back, mass, a, b, c);
    for (int k = 0; k < 10; k++) CHECK_NEAR(back[k], moment[k], 1e-13 * moment[0] * 20);
    CHECK_NEAR(c[0] + c[1] + c[2], inertia[0] + inertia[1] + inertia[2], 1e-12 * inertia[0]);
  }
}

TEST(moment_parallel_axes) {
  /* a ball of 2 kg and radius 0.5 at (3, 0, 0): about the z axis 2/5 m r^2 + m d^2 */
  static const double pos[3] = {3, 0, 0}, upright[4] = {1, 0, 0, 0}, inertia[3] = {0.2, 0.2, 0.2},
                      origin[3] = {0};
  static const double x[3] = {1, 0, 0}, z[3] = {0, 0, 1};
  double moment[10];
  moment_from_principal(moment, 2, pos, upright, inertia);
  CHECK_REL(moment_about(moment, origin, z), 18.2, 1e-14);
  CHECK_REL(moment_about(moment, origin, x), 0.2, 1e-13);
  CHECK_REL(moment_about(moment, pos, z), 0.2, 1e-13);
}

/* ---------------------------------------------------------------------------------------- shapes */

static abut_geom_def shape_def(int32_t type, double a, double b, double c) {
  abut_geom_def def = abut_default_geom_def();
  def.type = type;
  def.size[0] = a, def.size[1] = b, def.size[2] = c;
  return def;
}

/* Moments of a hull with many points approach the closed form of the true shape, at second order. */
static void check_closed_form(const abut_geom_def *def, double tolerance) {
  geom_shape shape;
  double exact[10], hulls[10];
  REQUIRE(shape_build(def, &shape) == ABUT_OK);
  CHECK_STATUS(shape_moment(def, &shape, exact), ABUT_OK);
  CHECK_STATUS(mesh_moment(shape.points, shape.npoint, shape.faces, shape.nface, hulls), ABUT_OK);
  for (int k = 0; k < 10; k++) CHECK_NEAR(hulls[k], exact[k], tolerance * exact[0]);
  CHECK(hulls[0] <= exact[0] * (1 + 1e-14));
  shape_free(&shape);
}

TEST(shape_moments_of_hulls) {
  abut_geom_def box = shape_def(ABUT_GEOM_BOX, 0.5, 1, 2);
  check_closed_form(&box, 1e-14);
  abut_geom_def cylinder = shape_def(ABUT_GEOM_CYLINDER, 0.5, 2, 0);
  cylinder.hull_points = 4096;
  check_closed_form(&cylinder, 1e-5);
}

TEST(shape_moment_of_capsule) {
  /* stacked discs: volume and mean squares by midpoint sums */
  abut_geom_def def = shape_def(ABUT_GEOM_CAPSULE, 0.3, 0.8, 0);
  geom_shape shape;
  double exact[10], volume = 0, across = 0, along = 0;
  const int slices = 20000;
  for (int i = 0; i < slices; i++) {
    double z = -1.1 + 2.2 * (i + 0.5) / slices, over = fmax(0, fabs(z) - 0.8), square = 0.09 - over * over;
    double slice = pi * square * 2.2 / slices;
    volume += slice;
    across += slice * square / 4;
    along += slice * z * z;
  }
  REQUIRE(shape_build(&def, &shape) == ABUT_OK);
  CHECK(shape.npoint == 2 && shape.radius == 0.3 && shape.points[2] == -0.8 && shape.points[5] == 0.8);
  CHECK_STATUS(shape_moment(&def, &shape, exact), ABUT_OK);
  CHECK_REL(exact[0], volume, 1e-7);
  CHECK_REL(exact[4], across, 1e-7);
  CHECK_REL(exact[6], along, 1e-7);
  shape_free(&shape);
}

/* A unit shape's hull: counts, error, and that it is convex. */
static void check_counts(int32_t type, int32_t hull_points, int32_t npoint, int32_t nface, double error) {
  abut_geom_def def = shape_def(type, 1, 1, 1);
  geom_shape shape;
  def.hull_points = hull_points;
  REQUIRE(shape_build(&def, &shape) == ABUT_OK);
  CHECK(shape.npoint == npoint && shape.nface == nface && shape.radius == 0);
  CHECK_NEAR(shape.hull_error, error, 1e-3);
  CHECK(outside(shape.points, shape.faces, shape.nface, shape.points, shape.npoint) < 1e-14);
  shape_free(&shape);
}

TEST(cylinder_counts_and_errors) {
  check_counts(ABUT_GEOM_CYLINDER, 0, 24, 44, 1 - cos(pi / 12));
  check_counts(ABUT_GEOM_CYLINDER, 6, 6, 8, 0.5);
  check_counts(ABUT_GEOM_CYLINDER, 64, 64, 124, 1 - cos(pi / 32));
}

#ifdef ABUT_HAVE_QHULL
TEST(ellipsoid_counts_and_errors) {
  check_counts(ABUT_GEOM_ELLIPSOID, 0, 42, 80, 0.0657);
  check_counts(ABUT_GEOM_ELLIPSOID, 12, 12, 20, 0.2053);
}

TEST(shape_moments_of_ellipsoids) {
  abut_geom_def ellipsoid = shape_def(ABUT_GEOM_ELLIPSOID, 0.5, 1, 2);
  ellipsoid.hull_points = 4000;
  check_closed_form(&ellipsoid, 4e-3);
  ellipsoid.hull_points = 3612;
  check_closed_form(&ellipsoid, 4e-3);
}

/* Every even number of points is kept, on the ellipsoid, and its error falls as the number grows. */
TEST(ellipsoid_any_number_of_points) {
  double before = INFINITY;
  for (int32_t n = 6; n <= 400; n = n < 60 ? n + 2 : 2 * n) {
    abut_geom_def def = shape_def(ABUT_GEOM_ELLIPSOID, 1, 2, 0.5);
    geom_shape shape;
    def.hull_points = n;
    REQUIRE(shape_build(&def, &shape) == ABUT_OK);
    CHECK(shape.npoint == n);
    for (int32_t i = 0; i < n; i++) {
      const double *p = shape.points + 3 * i;
      CHECK_REL(p[0] * p[0] + p[1] * p[1] / 4 + p[2] * p[2] * 4, 1, 1e-14);
    }
    CHECK(shape.hull_error > 0);
    if (n > 60) CHECK(shape.hull_error < 0.7 * before);
    if (n >= 60) before = shape.hull_error;
    shape_free(&shape);
  }
}

/* The default hull reaches as far as the ellipsoid along its axes. */
TEST(ellipsoid_extents) {
  abut_geom_def def = shape_def(ABUT_GEOM_ELLIPSOID, 1, 2, 0.5);
  geom_shape shape;
  REQUIRE(shape_build(&def, &shape) == ABUT_OK);
  for (int k = 0; k < 3; k++) {
    double low = 0, high = 0;
    for (int32_t i = 0; i < shape.npoint; i++) {
      low = fmin(low, shape.points[3 * i + k]);
      high = fmax(high, shape.points[3 * i + k]);
    }
    CHECK_REL(high, def.size[k], 1e-14);
    CHECK_REL(-low, def.size[k], 1e-14);
  }
  shape_free(&shape);
}

TEST(shape_of_mesh) {
  double points[27] = {0};
  abut_geom_def def = shape_def(ABUT_GEOM_MESH, 0, 0, 0);
  geom_shape shape;
  double moment[10];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) points[3 * i + k] = (i >> k & 1) ? k + 1.0 : -1.0;
  def.points = points;
  def.npoint = 9;
  def.rounding = 0.25;
  REQUIRE(shape_build(&def, &shape) == ABUT_OK);
  CHECK(shape.npoint == 8 && shape.nface == 12 && shape.radius == 0.25 && shape.hull_error == 0);
  CHECK(shape.size[0] == 1 && shape.size[1] == 1.5 && shape.size[2] == 2);
  CHECK_STATUS(shape_moment(&def, &shape, moment), ABUT_OK);
  CHECK_REL(moment[0], 24, 1e-13);
  CHECK_REL(moment[2], 24 * 0.5, 1e-13);
  shape_free(&shape);
}

#endif

TEST(shape_bad) {
  abut_geom_def def = shape_def(ABUT_GEOM_SPHERE, 0, 0, 0);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "radius is 0, must be positive") != NULL);
  def = shape_def(ABUT_GEOM_BOX, 1, -2, 1);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "half size y is -2") != NULL);
  def = shape_def(ABUT_GEOM_ELLIPSOID, 1, 1, NAN);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  def = shape_def(ABUT_GEOM_CAPSULE, 1, INFINITY, 0);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  def = shape_def(ABUT_GEOM_BOX, 1, 1, 1);
  def.rounding = -0.1;
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  def = shape_def(ABUT_GEOM_SPHERE, 1, 0, 0);
  def.rounding = 0.1;
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "only boxes and meshes") != NULL);
  def = shape_def(1, 1, 1, 1);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "type 1") != NULL);
  def = shape_def(ABUT_GEOM_MESH, 0, 0, 0);
  CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "mesh has no vertices") != NULL);
  static const int32_t wrong[] = {-2, 4, 7, 4098};
  for (int i = 0; i < 4; i++) {
    def = shape_def(ABUT_GEOM_CYLINDER, 1, 1, 0);
    def.hull_points = wrong[i];
    CHECK_STATUS(shape_check(&def), ABUT_ERROR_MODEL);
    CHECK(strstr(abut_error_message(), "hull_points is") != NULL);
  }
}
