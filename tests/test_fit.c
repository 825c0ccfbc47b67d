/* test_fit.c: surfaces: signed distances and their slopes, contact meshes, fits of clean, broken and empty
 * meshes, surfaces in .abut files. */
#include "abut/surface.h"
#include "host/base/geometry.h"
#include "host/model/model.h"
#include "host/model/model_file.h"
#include "host/shape/hull.h"
#include "host/surface/contact_mesh.h"
#include "host/surface/mesh_repair.h"
#include "test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------- surfaces */

static abut_primitive superquadric(double x, double y, double z, double a, double b, double c, double e1,
                                   double e2) {
  abut_primitive p = {.position = {x, y, z}, .quaternion = {0.8, 0.2, -0.4, 0.4}, .size = {a, b, c}};
  p.exponents[0] = e1, p.exponents[1] = e2;
  return p;
}

/* A wedge-like polyhedron of six planes. */
static double planes[6][4] = {{1, 0, 0, 0.3},  {-1, 0, 0, 0.3},    {0, 1, 0, 0.2},
                              {0, -1, 0, 0.2}, {0, 0.6, 0.8, 0.1}, {0, 0, -1, 0.1}};

static abut_primitive polyhedron(void) {
  abut_primitive p = {.kind = ABUT_PRIMITIVE_POLYHEDRON,
                      .plane_count = 6,
                      .position = {0.1, 0.2, -0.1},
                      .quaternion = {0.8, 0.2, -0.4, 0.4},
                      .size = {1, 1, 1},
                      .exponents = {1, 1}};
  return p;
}

static abut_surface surface_of(abut_primitive *list, int32_t count) {
  abut_surface s = {.primitives = list, .primitive_count = count, .tau = 0.002};
  s.planes = planes[0], s.plane_count = 6;
  return s;
}

TEST(superquadric_distance_by_hand) {
  abut_primitive sphere = superquadric(0, 0, 0, 2, 2, 2, 1, 1);
  abut_primitive box = superquadric(0, 0, 0, 1, 1, 1, 0.1, 0.1);
  const double at[3][3] = {{0, 0, 3}, {0, 0, 0}, {1, -1, 0.5}};
  double phi[3];
  abut_surface s = surface_of(&sphere, 1);
  REQUIRE(abut_surface_distance(&s, 3, at[0], phi, NULL) == ABUT_OK);
  CHECK_NEAR(phi[0], 1, 1e-15);
  CHECK_NEAR(phi[1], -2, 0);
  CHECK_NEAR(phi[2], -0.5, 1e-15);
  memcpy(box.quaternion, (double[4]){1, 0, 0, 0}, sizeof box.quaternion);
  s = surface_of(&box, 1);
  REQUIRE(abut_surface_distance(&s, 3, at[0], phi, NULL) == ABUT_OK);
  CHECK_NEAR(phi[0], 2, 1e-14);
  /* A = 2^(1/20), and 0.5^20 is all that z adds */
  double h = pow(2 + pow(0.5, 20), 1.0 / 20);
  CHECK_NEAR(phi[2], 1.5 * (1 - 1 / h), 1e-14);
}

TEST(union_swells_by_its_logarithm) {
  abut_primitive twice[2] = {superquadric(0, 0, 0, 1, 2, 3, 0.5, 1.5),
                             superquadric(0, 0, 0, 1, 2, 3, 0.5, 1.5)};
  const double at[3] = {0.3, -2, 1};
  double one, two;
  abut_surface s = surface_of(twice, 1);
  REQUIRE(abut_surface_distance(&s, 1, at, &one, NULL) == ABUT_OK);
  s.primitive_count = 2;
  REQUIRE(abut_surface_distance(&s, 1, at, &two, NULL) == ABUT_OK);
  CHECK_NEAR(two, one - s.tau * log(2), 1e-15);
}

/* Central differences at step d err by d^2 times third derivatives, which grow with the power 2/e. */
TEST(gradients_are_slopes) {
  static const double exponents[][2] = {{1, 1}, {0.3, 0.6}, {1.7, 1.2}, {2, 2}, {0.1, 0.1}};
  const double at[3] = {0.31, -0.22, 0.27};
  for (int e = -1; e < 5; e++) {
    abut_primitive list[2] = {polyhedron(), superquadric(0.2, 0.1, 0, 0.3, 0.2, 0.4, 1, 1)};
    if (e >= 0) memcpy(list[1].exponents, exponents[e], sizeof exponents[e]);
    abut_surface s = surface_of(list + (e >= 0), e >= 0 ? 1 : 2);
    if (e < 0) s.tau = 0.05;
    double phi, gradient[3];
    REQUIRE(abut_surface_distance(&s, 1, at, &phi, gradient) == ABUT_OK);
    for (int k = 0; k < 3; k++) {
      double x[2][3], both[2], d = 1e-6;
      memcpy(x[0], at, sizeof at), memcpy(x[1], at, sizeof at);
      x[0][k] += d, x[1][k] -= d;
      REQUIRE(abut_surface_distance(&s, 2, x[0], both, NULL) == ABUT_OK);
      CHECK_NEAR(gradient[k], (both[0] - both[1]) / (2 * d), 1e-7);
    }
  }
}

static double moved_phi(const abut_primitive *start, int slope, double d, const double x[3]) {
  abut_primitive p = *start;
  const double half[4] = {cos(d / 2), slope == 5 ? sin(d / 2) : 0, slope == 6 ? sin(d / 2) : 0,
                          slope == 7 ? sin(d / 2) : 0};
  if (slope < SLOPE_EXPONENT) p.size[slope] *= exp(d);
  if (slope == 3 || slope == 4) p.exponents[slope - SLOPE_EXPONENT] += d;
  if (slope >= SLOPE_TURN && slope < SLOPE_MOVE) quat_product(p.quaternion, p.quaternion, half);
  if (slope >= SLOPE_MOVE) p.position[slope - SLOPE_MOVE] += d;
  abut_surface s = surface_of(&p, 1);
  posed_primitive posed = pose_primitive(&s, 0);
  return posed_distance(&posed, x, NULL);
}

TEST(slopes_by_every_parameter) {
  const double at[3] = {0.41, -0.12, 0.37};
  for (int e = 0; e < 3; e++) {
    abut_primitive p = superquadric(0.1, 0, 0.1, 0.3, 0.2, 0.4, e ? 0.4 * e : 1.6, e ? 1.3 : 0.3);
    abut_surface s = surface_of(&p, 1);
    posed_primitive posed = pose_primitive(&s, 0);
    double gradient[3], slopes[SLOPES], d = 1e-6;
    primitive_slopes(&posed, at, gradient, slopes);
    for (int k = 0; k < SLOPES; k++)
      CHECK_NEAR(slopes[k], (moved_phi(&p, k, d, at) - moved_phi(&p, k, -d, at)) / (2 * d), 1e-8);
  }
}

TEST(distances_are_numbers_everywhere) {
  for (int e1 = 0; e1 < 4; e1++)
    for (int e2 = 0; e2 < 4; e2++) {
      static const double exponents[] = {1e-6, 0.1, 1, 2};
      abut_primitive p = superquadric(0, 0, 0, 1, 1e-3, 30, exponents[e1], exponents[e2]);
      abut_surface s = surface_of(&p, 1);
      for (int i = 0; i < 125; i++) {
        static const double coordinates[] = {0, 1e-9, 1, -1, 1e6};
        const double x[3] = {coordinates[i % 5], coordinates[i / 5 % 5], coordinates[i / 25]};
        double phi, gradient[3];
        REQUIRE(abut_surface_distance(&s, 1, x, &phi, gradient) == ABUT_OK);
        CHECK(isfinite(phi) && isfinite(gradient[0]) && isfinite(gradient[1]) && isfinite(gradient[2]));
      }
    }
}

/* Two tetrahedra that share vertex 0, and a fold; the fold goes, the second gets a vertex of its own. */
TEST(sheets_that_touch_are_parted) {
  int32_t f[10][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}, {1, 2, 5},
                      {0, 5, 4}, {0, 4, 6}, {0, 6, 5}, {4, 5, 6}, {2, 1, 5}};
  int32_t nface = 10, npoint = 7, original[9] = {0};
  REQUIRE(faces_drop_folds(f[0], &nface) == ABUT_OK);
  REQUIRE(nface == 8);
  CHECK_STATUS(mesh_check_closed(f[0], nface), ABUT_OK);
  REQUIRE(faces_part_sheets(f[0], nface, 9, &npoint, original) == ABUT_OK);
  CHECK(npoint == 8 && original[7] == 0);
  for (int i = 0; i < 8; i++) CHECK((f[i][0] == 7) == (i >= 4 && i < 7));
  CHECK_STATUS(mesh_check_closed(f[0], nface), ABUT_OK);
}

/* Two tetrahedra that share the edge 0 1: one of them gets a vertex on it. */
TEST(doubled_edges_are_split) {
  int32_t f[10][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}, {0, 4, 1}, {0, 1, 5}, {0, 5, 4}, {1, 4, 5}};
  int32_t nface = 8, npoint = 6, ends[8][2];
  REQUIRE(faces_split_doubled(f[0], 10, &nface, 8, &npoint, ends) == ABUT_OK);
  CHECK(nface == 10 && npoint == 7 && ends[6][0] == 0 && ends[6][1] == 1);
  CHECK_STATUS(mesh_check_closed(f[0], nface), ABUT_OK);
}

TEST(bad_surfaces_are_refused) {
  static const double bad[] = {0, -1, NAN, INFINITY};
  double phi;
  const double at[3] = {0, 0, 0};
  for (int i = 0; i < 4; i++)
    for (int field = 0; field < 4; field++) {
      abut_primitive p = superquadric(0, 0, 0, 1, 1, 1, 1, 1);
      if (field == 0) p.size[1] = bad[i];
      if (field == 1) p.exponents[0] = bad[i];
      if (field == 2) p.quaternion[0] = bad[i];
      abut_surface s = surface_of(&p, 1);
      if (field == 3) s.tau = bad[i];
      CHECK_STATUS(abut_surface_distance(&s, 1, at, &phi, NULL), ABUT_ERROR_MODEL);
    }
  abut_primitive p = superquadric(0, 0, 0, 1, 1, 1, 1, 2.001);
  abut_surface s = surface_of(&p, 1);
  CHECK_STATUS(abut_surface_check(&s), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "exponents[1] is 2.001") != NULL);
  p = polyhedron(), p.first_plane = 3;
  CHECK_STATUS(abut_surface_check(&s), ABUT_ERROR_MODEL);
  p = superquadric(0, 0, 0, 1, 1, 1, 1, 1), p.kind = ABUT_PRIMITIVE_POINT_CLOUD;
  CHECK_STATUS(abut_surface_check(&s), ABUT_ERROR_MODEL);
  s.primitive_count = 0;
  CHECK_STATUS(abut_surface_check(&s), ABUT_ERROR_MODEL);
}

#if defined(ABUT_HAVE_CMINPACK) && defined(ABUT_HAVE_MESHOPTIMIZER)
/* ---------------------------------------------------------------------------------------- contact mesh */

TEST(contact_mesh_is_closed_and_on_the_surface) {
  abut_primitive list[2] = {polyhedron(), superquadric(0.3, 0.1, 0, 0.3, 0.2, 0.4, 0.4, 1)};
  for (int first = 0; first < 2; first++) {
    abut_surface view = surface_of(list + first, 2 - first), *s;
    abut_fit_report gaps;
    REQUIRE(abut_surface_copy(&view, &s) == ABUT_OK);
    REQUIRE(abut_surface_make_mesh(s, 200) == ABUT_OK);
    CHECK_STATUS(mesh_check_closed(s->triangles, s->triangle_count), ABUT_OK);
    CHECK_STATUS(abut_surface_check(s), ABUT_OK);
    CHECK(s->vertex_count >= 150 && s->vertex_count <= 250);
    CHECK(2 * s->edge_count == 3 * s->triangle_count);
    CHECK(s->vertex_count - s->edge_count + s->triangle_count == 2);
    for (int32_t i = 1; i < s->edge_count; i++)
      CHECK(s->edges[2 * i] > s->edges[2 * i - 2] ||
            (s->edges[2 * i] == s->edges[2 * i - 2] && s->edges[2 * i + 1] > s->edges[2 * i - 1]));
    triangle_mesh fine;
    mesh_tree tree;
    REQUIRE(surface_march(&view, 110, &fine) == ABUT_OK);
    REQUIRE(mesh_tree_build(fine.points, fine.faces, fine.nface, &tree) == ABUT_OK);
    REQUIRE(surface_gaps(s, &tree, &gaps) == ABUT_OK);
    mesh_tree_free(&tree), triangle_mesh_free(&fine);
    /* false position ends at 1e-12 of a grid's spacing */
    CHECK(gaps.vertex_gap < 1e-12);
    /* a chord of a fillet between 200 vertices sags by its square */
    CHECK(gaps.edge_out <= gaps.largest_gap && gaps.largest_gap < 0.03);
    double moment[10];
    REQUIRE(mesh_moment(s->vertices, s->vertex_count, s->triangles, s->triangle_count, moment) == ABUT_OK);
    CHECK(moment[0] > 0);
    abut_surface_destroy(s);
  }
}

TEST(unbounded_polyhedra_have_no_mesh) {
  double open[4][4] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {0, 1, 0, 1}, {0, -1, 0, 1}};
  abut_primitive p = polyhedron();
  p.plane_count = 4;
  abut_surface view = {.primitives = &p,
                       .primitive_count = 1,
                       .planes = open[0],
                       .plane_count = 4,
                       .tau = 0.01},
               *s;
  REQUIRE(abut_surface_copy(&view, &s) == ABUT_OK);
  CHECK_STATUS(abut_surface_make_mesh(s, 200), ABUT_ERROR_MODEL);
  CHECK_STATUS(abut_surface_make_mesh(s, 3), ABUT_ERROR_ARGUMENT);
  abut_surface_destroy(s);
}

/* ---------------------------------------------------------------------------------------- fits */

static abut_fit_options quick(int32_t primitives) {
  abut_fit_options o = abut_default_fit_options();
  o.primitives = primitives;
  o.grid = 40;
  o.rounds = 0;
  o.vertices = 100;
  return o;
}

/* The fine mesh of a surface. */
static triangle_mesh mesh_of(abut_primitive *list, int32_t count, int32_t samples) {
  abut_surface s = surface_of(list, count);
  triangle_mesh mesh;
  CHECK_STATUS(surface_march(&s, samples, &mesh), ABUT_OK);
  return mesh;
}

static abut_triangles triangles_of(const triangle_mesh *m) {
  return (abut_triangles){
      .vertices = m->points, .nvertex = m->npoint, .triangles = m->faces, .ntriangle = m->nface};
}

/* Largest |phi| / |grad phi| at the mesh's points. */
static double worst_miss(const abut_surface *s, const triangle_mesh *m) {
  double worst = 0;
  for (int64_t i = 0; i < m->npoint; i++) {
    double phi, g[3];
    if (abut_surface_distance(s, 1, m->points + 3 * i, &phi, g) != ABUT_OK) return INFINITY;
    worst = fmax(worst, fabs(phi) / sqrt(dot3(g, g)));
  }
  return worst;
}

/* Sizes, sorted: the axes of an ellipsoid come in any order. */
static void sorted_sizes(const abut_primitive *p, double s[3]) {
  s[0] = fmin(p->size[0], fmin(p->size[1], p->size[2]));
  s[2] = fmax(p->size[0], fmax(p->size[1], p->size[2]));
  s[1] = p->size[0] + p->size[1] + p->size[2] - s[0] - s[2];
}

TEST(one_superquadric_is_recovered) {
  static const double exponents[][2] = {{0.5, 1.0}, {1.3, 0.6}};
  for (int i = 0; i < (test_quick() ? 1 : 2); i++) {
    abut_primitive truth = superquadric(3, -2, 1, 0.3, 0.2, 0.5, exponents[i][0], exponents[i][1]);
    triangle_mesh mesh = mesh_of(&truth, 1, 40);
    abut_triangles t = triangles_of(&mesh);
    abut_fit_options o = quick(1);
    abut_fit_report r;
    abut_surface *s = NULL;
    REQUIRE(abut_surface_fit(&t, &o, &s, &r) == ABUT_OK);
    CHECK(s->primitive_count == 1 && r.superquadrics == 1 && r.open_edges == 0 && r.nonmanifold_edges == 0);
    /* above exponent 1 there are cusps, near which phi / |grad phi| is not quite a distance */
    CHECK_NEAR(worst_miss(s, &mesh), 0, (i ? 2e-3 : 1e-3) * r.diagonal);
    CHECK_NEAR(r.surface_volume, r.mesh_volume, 0.01 * r.mesh_volume);
    double size[3], wanted[3];
    sorted_sizes(s->primitives, size), sorted_sizes(&truth, wanted);
    for (int k = 0; k < 3; k++) CHECK_REL(size[k], wanted[k], 0.01);
    for (int k = 0; k < 3; k++) CHECK_NEAR(s->primitives[0].position[k], truth.position[k], 1e-3);
    for (int k = 0; k < 2; k++) CHECK_NEAR(s->primitives[0].exponents[k], truth.exponents[k], 0.05);
    abut_surface_destroy(s);
    triangle_mesh_free(&mesh);
  }
}

TEST(two_ellipsoids_are_recovered) {
  abut_primitive truth[2] = {superquadric(0, 0, 0, 0.3, 0.2, 0.25, 1, 1),
                             superquadric(0.35, 0.1, 0, 0.15, 0.2, 0.3, 1, 1)};
  triangle_mesh mesh = mesh_of(truth, 2, 40);
  abut_triangles t = triangles_of(&mesh);
  abut_fit_options o = quick(2);
  abut_fit_report r;
  abut_surface *s = NULL;
  REQUIRE(abut_surface_fit(&t, &o, &s, &r) == ABUT_OK);
  CHECK(s->primitive_count == 2);
  /* the crease between them is the only place where the compared fields differ from the truth's */
  CHECK(worst_miss(s, &mesh) < 5e-3 * r.diagonal);
  CHECK(r.mean_distance < 1e-3 * r.diagonal);
  abut_surface_destroy(s);
  triangle_mesh_free(&mesh);
}

/* A cube of side 2 with its triangles outward. */
static const double cube[8][3] = {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1},
                                  {-1, -1, 1},  {1, -1, 1},  {-1, 1, 1},  {1, 1, 1}};
static const int32_t cube_faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                          {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};

TEST(box_is_a_superquadric_of_small_exponents) {
  abut_triangles t = {.vertices = cube[0], .nvertex = 8, .triangles = cube_faces[0], .ntriangle = 12};
  abut_fit_options o = quick(1);
  abut_fit_report r;
  abut_surface *s = NULL;
  REQUIRE(abut_surface_fit(&t, &o, &s, &r) == ABUT_OK);
  CHECK(s->primitives[0].exponents[0] < 0.3 && s->primitives[0].exponents[1] < 0.3);
  CHECK(r.mean_distance < 5e-3 * r.diagonal);
  CHECK_NEAR(r.mesh_volume, 8, 0.1);
  abut_surface_destroy(s);
}

/* What is done to a clean ball before it is fitted. */
enum { CLEAN, CAP_MISSING, FLIPPED, REPEATED, ZERO_EDGES, DAMAGES };

static void damage(triangle_mesh *m, int how) {
  int64_t count = 0, before = m->nface;
  m->faces = realloc(m->faces, 2 * 3 * (size_t)before * sizeof *m->faces);
  for (int64_t i = 0; i < before; i++) {
    int32_t *f = m->faces + 3 * i, a = f[0];
    if (how == CAP_MISSING && m->points[3 * (int64_t)f[0] + 2] > 0.15) continue;
    if (how == FLIPPED) f[0] = f[1], f[1] = a;
    memmove(m->faces + 3 * count++, f, 3 * sizeof *f);
  }
  for (int64_t i = 0; i < before && how >= REPEATED; i += 3) {
    const int32_t *f = m->faces + 3 * i;
    /* the same corners in another order, or two of them the same */
    const int32_t more[3] = {f[1], how == REPEATED ? f[0] : f[1], f[2]};
    memcpy(m->faces + 3 * count++, more, sizeof more);
  }
  m->nface = count;
}

TEST(damaged_meshes_are_fitted_and_reported) {
  abut_primitive ball = superquadric(0, 0, 0, 0.3, 0.25, 0.2, 1, 1);
  for (int how = CLEAN; how < DAMAGES; how++) {
    triangle_mesh mesh = mesh_of(&ball, 1, 24), whole = mesh_of(&ball, 1, 24);
    damage(&mesh, how);
    abut_triangles t = triangles_of(&mesh);
    abut_fit_options o = quick(1);
    o.grid = 24;
    abut_fit_report r;
    abut_surface *s = NULL;
    REQUIRE(abut_surface_fit(&t, &o, &s, &r) == ABUT_OK);
    CHECK((r.open_edges > 0) == (how == CAP_MISSING));
    CHECK(r.flipped == (how == FLIPPED));
    CHECK((r.duplicate_triangles > 0) == (how == REPEATED));
    CHECK((r.dropped_triangles > 0) == (how == ZERO_EDGES));
    /* where the cap is missing the winding number closes it by a flatter one */
    CHECK(worst_miss(s, &whole) < (how == CAP_MISSING ? 0.1 : 2e-3) * r.diagonal);
    CHECK(isfinite(r.mean_distance) && isfinite(r.hausdorff) && r.surface_volume > 0);
    abut_surface_destroy(s);
    triangle_mesh_free(&mesh), triangle_mesh_free(&whole);
  }
}

TEST(meshes_that_enclose_nothing_are_refused) {
  abut_surface *s;
  abut_fit_options o = quick(1);
  double far[8][3];
  abut_triangles t = {.vertices = cube[0], .nvertex = 8, .triangles = cube_faces[0], .ntriangle = 0};
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  CHECK(s == NULL && strstr(abut_error_message(), "empty") != NULL);
  t.ntriangle = 1;
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "encloses none") != NULL);
  t.nvertex = 2;
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  t.nvertex = 8, t.ntriangle = 12, t.vertices = far[0];
  memcpy(far, cube, sizeof cube);
  far[3][1] = NAN;
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  CHECK(strstr(abut_error_message(), "vertex 3 has coordinate nan") != NULL);
  memset(far, 0, sizeof far); /* all points are one */
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  for (int i = 0; i < 8; i++) far[i][0] = i; /* all on a line */
  CHECK_STATUS(abut_surface_fit(&t, &o, &s, NULL), ABUT_ERROR_MODEL);
  CHECK(s == NULL);
}

/* Triangles at random, in any unit and far from the origin: a result of numbers, or a refusal. */
TEST(triangle_soups_give_numbers) {
  static const double scales[] = {1, 1e-20, 1e20, 1};
  int fitted = 0;
  for (int i = 0; i < 4; i++) {
    double points[60][3];
    int32_t soup[40][3];
    uint32_t random = 12345u + (uint32_t)i;
    for (int k = 0; k < 180; k++) {
      random = random * 1664525 + 1013904223;
      points[k / 3][k % 3] = scales[i] * ((random >> 8) * 0x1p-24 + (i == 3 ? 1e6 : 0));
    }
    for (int k = 0; k < 120; k++) {
      random = random * 1664525 + 1013904223;
      soup[k / 3][k % 3] = (int32_t)((random >> 8) % 60);
    }
    abut_triangles t = {.vertices = points[0], .nvertex = 60, .triangles = soup[0], .ntriangle = 40};
    abut_fit_options o = quick(2);
    abut_fit_report r;
    abut_surface *s = NULL;
    o.grid = 20;
    if (abut_surface_fit(&t, &o, &s, &r) != ABUT_OK) continue;
    fitted++;
    CHECK_STATUS(abut_surface_check(s), ABUT_OK);
    CHECK(isfinite(r.mean_distance) && isfinite(r.hausdorff) && isfinite(r.largest_gap) && r.mesh_volume > 0);
    CHECK(r.open_edges > 0);
    abut_surface_destroy(s);
  }
  CHECK(fitted > 0);
}

TEST(bad_options_are_refused) {
  abut_triangles t = {.vertices = cube[0], .nvertex = 8, .triangles = cube_faces[0], .ntriangle = 12};
  abut_surface *s;
  abut_fit_options bad[7];
  for (int i = 0; i < 7; i++) bad[i] = quick(1);
  bad[0].primitives = 0, bad[1].primitives = 1000000, bad[2].grid = 4, bad[3].vertices = 3;
  bad[4].tau = NAN, bad[5].tau = -1, bad[6].rounds = -1;
  for (int i = 0; i < 7; i++) CHECK_STATUS(abut_surface_fit(&t, bad + i, &s, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_surface_fit(NULL, bad, &s, NULL), ABUT_ERROR_ARGUMENT);
}

TEST(same_input_same_bits) {
  abut_surface *s[2];
  abut_fit_report r[2];
  abut_triangles t = {.vertices = cube[0], .nvertex = 8, .triangles = cube_faces[0], .ntriangle = 12};
  abut_fit_options o = quick(2);
  o.grid = 24, o.rounds = 1, o.polyhedra = 1;
  for (int i = 0; i < 2; i++) REQUIRE(abut_surface_fit(&t, &o, s + i, r + i) == ABUT_OK);
  CHECK(s[0]->primitive_count == s[1]->primitive_count && s[0]->vertex_count == s[1]->vertex_count);
  CHECK(memcmp(s[0]->primitives, s[1]->primitives,
               (size_t)s[0]->primitive_count * sizeof *s[0]->primitives) == 0);
  CHECK(memcmp(s[0]->vertices, s[1]->vertices, 3 * (size_t)s[0]->vertex_count * sizeof(double)) == 0);
  CHECK(memcmp(r, r + 1, sizeof *r) == 0);
  abut_surface_destroy(s[0]), abut_surface_destroy(s[1]);
}

/* The bar for scans of real things; the fits are better by a factor of four (docs/fit.md). */
TEST(scans_are_fitted) {
  static const struct {
    const char *path;
    int32_t primitives;
  } scans[] = {{"ycb_phillips_screwdriver/phillips_screwdriver/textured.obj", 5},
               {"bunny_mujoco/bunny.obj", 18},
               {"ycb_power_drill/power_drill/textured.obj", 17},
               {"armadillo/armadillo.obj", 18}};
  const char *folder = getenv("ABUT_MODELS");
  for (int i = 0; folder && i < (test_quick() ? 1 : 4); i++) {
    char path[512];
    triangle_mesh mesh;
    snprintf(path, sizeof path, "%s/%s", folder, scans[i].path);
    if (triangle_mesh_load(path, &mesh) != ABUT_OK) continue;
    abut_triangles t = triangles_of(&mesh);
    abut_fit_options o = quick(scans[i].primitives);
    o.grid = 30, o.vertices = 600;
    abut_fit_report r;
    abut_surface *s = NULL;
    CHECK_STATUS(abut_surface_fit(&t, &o, &s, &r), ABUT_OK);
    if (s) {
      CHECK(s->primitive_count <= scans[i].primitives);
      CHECK(r.mean_distance < 0.015 * r.diagonal);
      CHECK(r.vertex_gap < 1e-9 * r.diagonal);
    }
    abut_surface_destroy(s);
    triangle_mesh_free(&mesh);
  }
}
#endif

/* ---------------------------------------------------------------------------------------- files */

/* A tetrahedron as contact mesh, so that no optional library is needed; its points need not be on phi = 0. */
static double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
static int32_t faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
static int32_t edges[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
static abut_primitive two[2];

static abut_surface small_surface(void) {
  two[0] = polyhedron(), two[1] = superquadric(0.2, 0.2, 0.2, 0.3, 0.2, 0.4, 0.4, 1);
  abut_surface s = surface_of(two, 2);
  s.vertices = corners[0], s.vertex_count = 4;
  s.edges = edges[0], s.edge_count = 6;
  s.triangles = faces[0], s.triangle_count = 4;
  return s;
}

/* A box without a surface, then a box that is moved and turned, with one. */
static abut_model *make_model(void) {
  abut_builder *b;
  abut_model *m = NULL;
  abut_surface s = small_surface();
  abut_geom_def geom = abut_default_geom_def();
  abut_body_def body = abut_default_body_def();
  geom.type = ABUT_GEOM_BOX;
  geom.size[0] = geom.size[1] = geom.size[2] = 0.5;
  CHECK_STATUS(abut_builder_create(&b), ABUT_OK);
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  geom.name = "smooth", geom.body = 1, geom.surface = &s;
  geom.pos[1] = 2, geom.quat[0] = geom.quat[3] = sqrt(0.5);
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

static unsigned char *saved_bytes(const abut_model *m, size_t *size) {
  char path[256];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/abut_%ld_surface.abut", folder ? folder : P_tmpdir, (long)getpid());
  CHECK_STATUS(abut_model_save(m, path), ABUT_OK);
  FILE *stream = fopen(path, "rb");
  unsigned char *bytes = malloc(1 << 20);
  *size = stream && bytes ? fread(bytes, 1, 1 << 20, stream) : 0;
  if (stream) fclose(stream);
  remove(path);
  return bytes;
}

TEST(surfaces_are_kept_in_files) {
  abut_model *m = make_model(), *loaded = NULL;
  size_t size, again_size;
  unsigned char *bytes = saved_bytes(m, &size), *again = NULL;
  REQUIRE(model_file_parse("memory", bytes, size, &loaded) == ABUT_OK);
  again = saved_bytes(loaded, &again_size);
  CHECK(size == again_size && memcmp(bytes, again, size) == 0);
  abut_surface view, small = small_surface();
  REQUIRE(abut_model_surface(loaded, 0, &view) == ABUT_OK);
  CHECK(view.primitive_count == 0);
  REQUIRE(abut_model_surface(loaded, 1, &view) == ABUT_OK);
  CHECK(view.primitive_count == 2 && view.plane_count == 6 && view.edge_count == 6 && view.vertex_count == 4);
  /* in the body's frame: a quarter turn about z, 2 m along y */
  double here, there;
  const double x[3] = {0.3, 0.1, 0.2}, y[3] = {-0.1, 2.3, 0.2};
  REQUIRE(abut_surface_distance(&small, 1, x, &here, NULL) == ABUT_OK);
  REQUIRE(abut_surface_distance(&view, 1, y, &there, NULL) == ABUT_OK);
  CHECK_NEAR(here, there, 1e-14);
  CHECK_STATUS(abut_model_surface(loaded, 2, &view), ABUT_ERROR_ARGUMENT);
  free(bytes), free(again);
  abut_model_destroy(m), abut_model_destroy(loaded);
}

TEST(a_surface_makes_a_scene) {
  abut_surface s = small_surface();
  abut_model *m;
  CHECK_STATUS(abut_surface_build_model(&s, "thing", 0, &m), ABUT_ERROR_ARGUMENT);
#ifdef ABUT_HAVE_QHULL
  abut_surface view;
  abut_body_def body;
  REQUIRE(abut_surface_build_model(&s, "thing", 600, &m) == ABUT_OK);
  REQUIRE(abut_model_body(m, 1, &body) == ABUT_OK);
  CHECK_REL(body.mass, 100, 1e-12);
  REQUIRE(abut_model_surface(m, 0, &view) == ABUT_OK);
  CHECK(view.primitive_count == 2);
  abut_model_destroy(m);
#endif
  s.triangle_count = s.edge_count = 0;
  CHECK_STATUS(abut_surface_build_model(&s, "thing", 600, &m), ABUT_ERROR_ARGUMENT);
}

/* Damages the arrays of a model that is otherwise fine; every damage is found. */
TEST(corrupt_surfaces_are_refused) {
  enum { CASES = 14 };
  for (int i = 0; i < CASES; i++) {
    abut_model *m = make_model(), *loaded = (abut_model *)&i;
    size_t size;
    abut_primitive *p = m->surface_primitive;
    if (i == 0) p[1].exponents[0] = 0;
    if (i == 1) p[1].exponents[1] = 2.5;
    if (i == 2) p[1].size[2] = -1;
    if (i == 3) p[1].position[0] = NAN;
    if (i == 4) p[1].quaternion[0] = 2;
    if (i == 5) p[1].kind = 7;
    if (i == 6) p[0].plane_count = 7;
    if (i == 7) p[0].first_plane = -1;
    if (i == 8) m->surface_plane[0] = 3;
    if (i == 9) m->surface_edge[3] = 4;
    if (i == 10) m->surface_facet[0] = -1;
    if (i == 11) m->surface_geom[0] = 2;
    if (i == 12) m->surface_end[2] = 1 << 30;
    if (i == 13) m->surface_tau[0] = 0;
    unsigned char *bytes = saved_bytes(m, &size);
    CHECK_STATUS(model_file_parse("memory", bytes, size, &loaded), ABUT_ERROR_MODEL);
    CHECK(loaded == NULL);
    free(bytes);
    abut_model_destroy(m);
  }
}

/* Any byte of the file, wrong and well sealed: refused or read, never worse. */
TEST(every_byte_of_a_surface_file) {
  abut_model *m = make_model();
  size_t size;
  unsigned char *bytes = saved_bytes(m, &size);
  for (size_t i = 4; i + 8 < size; i += test_quick() ? 7 : 1) {
    abut_model *loaded = NULL;
    bytes[i] ^= 0xff;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t k = 0; k + 8 < size; k++) hash = (hash ^ bytes[k]) * 0x100000001b3;
    memcpy(bytes + size - 8, &hash, sizeof hash);
    if (model_file_parse("memory", bytes, size, &loaded) != ABUT_OK) CHECK(loaded == NULL);
    abut_model_destroy(loaded);
    bytes[i] ^= 0xff;
  }
  free(bytes);
  abut_model_destroy(m);
}
