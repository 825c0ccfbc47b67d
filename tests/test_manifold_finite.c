/* test_manifold_finite.c: contact manifolds where arithmetic could give what is no number: coincident and far
 * bodies, the least softnesses and sigmas. */
#include "manifold_cases.h"
#include "manifold_test.h"
#include "test.h"

/* Whether contacts of a surface and itself, moved, and all their derivatives are finite, activities in [0,
 * 1]. */
static int finite_at(const abut_surface *s, const abut_manifold_options *o, const double offset[3]) {
  abut_manifold *m = NULL;
  abut_manifold_counts counts = {0};
  double poses[14], grad[12];
  memcpy(poses, at_rest, sizeof poses);
  memcpy(poses + 7, offset, 3 * sizeof *offset);
  CHECK_STATUS(abut_manifold_create(s, s, o, &m), ABUT_OK);
  if (!m) return 0;
  abut_manifold_size(m, &counts);
  const int64_t n = counts.contacts, vertices = 3 * s->vertex_count, primitives = 11 * s->primitive_count;
  abut_contacts c = contacts_new(n), bar = contacts_new(n);
  for (int64_t i = 0; i < 8 * n; i++) bar.point[i] = 1;
  const int64_t numbers = vertices + primitives + 7 * s->point_count + 96 * n;
  double *memory = calloc((size_t)numbers, sizeof *memory), *at = memory + vertices + primitives;
  abut_manifold_bars bars = {
      .poses = grad, .vertices = {memory, NULL}, .primitives = {NULL, memory + vertices}};
  if (s->point_count) bars.points[1] = at;
  at += 7 * s->point_count;
  CHECK_STATUS(abut_manifold_gradient(m, 1, poses, &bar, &bars, &c), ABUT_OK);
  abut_contacts jacobian = {at, at + 36 * n, at + 48 * n, at + 84 * n};
  CHECK_STATUS(abut_manifold_jacobian(m, 1, poses, &jacobian, NULL), ABUT_OK);
  int finite = all_finite(c.point, 8 * n) && all_finite(grad, 12) && all_finite(memory, numbers);
  for (int64_t i = 0; i < n; i++) finite &= c.activity[i] >= 0 && c.activity[i] <= 1;
  free(memory);
  free(c.point);
  free(bar.point);
  abut_manifold_destroy(m);
  return finite;
}

/* Two boxes, exponents as given, exactly touching, crossing, coincident, axis-aligned, edges parallel. */
TEST(nothing_is_ever_nan) {
  static const double exponents[][2] = {{1, 1},     {0.1, 0.1}, {1e-3, 1e-3}, {2, 2},     {1.5, 0.5},
                                        {0.5, 1.5}, {2, 0.01},  {0.01, 2},    {0.125, 1}, {1.999, 1.001}};
  static const double offsets[][3] = {{0, 0, 0},      {2, 0, 0},           {0, 0, 2}, {1, 1, 0},
                                      {1e-12, 0, 0},  {1e12, -1e12, 1e12}, {0, 2, 0}, {2, 2, 2},
                                      {1e-300, 0, 0}, {0.5, 0, 0}};
  for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
    for (size_t at = 0; at < sizeof offsets / sizeof *offsets; at++)
      for (int kind = 0; kind < 8; kind++) {
        abut_primitive q = {.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}};
        memcpy(q.exponents, exponents[e], sizeof q.exponents);
        abut_surface s =
            case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, exponents[e][0], exponents[e][1]},
                         case_body1_vertices, case_body1_edges);
        double corners[8][3];
        for (int i = 0; i < 8; i++)
          for (int k = 0; k < 3; k++) corners[i][k] = (i >> (2 - k)) & 1 ? -1 : 1;
        if (kind & 4) corners[0][0] = corners[0][1] = corners[0][2] = 0; /* a vertex at the centre */
        s.vertices = corners[0];
        abut_manifold_options o = soft_options();
        o.form = kind & 1 ? ABUT_MANIFOLD_PAPER : ABUT_MANIFOLD_LINEAR;
        o.dtype = kind & 2 ? ABUT_F32 : ABUT_F64;
        o.edges[0] = o.edges[1] = -1;
        o.vertices[0] = 4;
        o.cutoff = 0;
        if (!finite_at(&s, &o, offsets[at]))
          test_fail(__FILE__, __LINE__, "exponents %g %g, offset %zu, kind %d", exponents[e][0],
                    exponents[e][1], at, kind);
      }
}

/* The least softnesses that are taken, and less of each, which is not. */
TEST(softness_has_a_limit) {
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++)
    for (int selection = ABUT_SELECT_HARD; selection <= ABUT_SELECT_SOFTSORT; selection++) {
      abut_primitive q;
      abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0.5, 0.5},
                                    case_body1_vertices, case_body1_edges);
      abut_manifold_options o = soft_options();
      o.dtype = dtype;
      o.selection = selection;
      o.form = ABUT_MANIFOLD_PAPER;
      o.edges[0] = o.edges[1] = 5;
      double *const lengths[] = {&o.tau_pen, &o.tau_near, &o.tau_select, &o.tau_union};
      for (int i = 0; i < 4; i++) *lengths[i] = 4e-9; /* the unit is 4 */
      o.eps_normal = 1.61e-17;
      o.cutoff = 1e-30;
      CHECK(finite_at(&s, &o, (double[3]){0, 0, 0}) && finite_at(&s, &o, (double[3]){2, 0, 0}));
      for (int i = 0; i < 6; i++) {
        abut_manifold_options bad = o;
        double *const each[] = {&bad.tau_pen,   &bad.tau_near,   &bad.tau_select,
                                &bad.tau_union, &bad.eps_normal, &bad.cutoff};
        abut_manifold *m = NULL;
        *each[i] *= 0.1;
        CHECK_STATUS(abut_manifold_create(&s, &s, &bad, &m), ABUT_ERROR_ARGUMENT);
        CHECK(strstr(abut_error_message(), "must be at least"));
      }
    }
}

/* Points a hundred million sigmas away: logits of 1e15, far above what rounding leaves of them. */
TEST(clouds_of_tiny_sigmas_are_finite) {
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    const double least = dtype == ABUT_F64 ? 1e-8 : 1e-4, far = dtype == ABUT_F64 ? 1e12 : 1e6;
    double points[21] = {0, 0, 1, 0, 0, 1, least, 1, 0, 0, 1, 0, 0, least, 0, 1, 0, 0, 1, 0, 3 * least};
    abut_primitive q = {.kind = ABUT_PRIMITIVE_POINT_CLOUD, .quaternion = {1, 0, 0, 0}, .plane_count = 3};
    double corners[] = {0.3, 0.2, 0.1, 0.1, 0.5, -0.2, -0.2, 0.4, 0.3};
    int32_t ends[] = {0, 1, 1, 2};
    abut_surface s = {
        .primitives = &q, .primitive_count = 1, .points = points, .point_count = 3, .tau = 0.01};
    s.vertices = corners;
    s.vertex_count = 3;
    s.edges = ends;
    s.edge_count = 2;
    abut_manifold_options o = abut_default_manifold_options();
    o.dtype = dtype;
    const double offsets[][3] = {{0, 0, 0}, {0.4, 0.1, 0}, {3, 0, 0}, {0.3 * far, -0.3 * far, 0.3 * far}};
    for (int i = 0; i < 4; i++)
      if (!finite_at(&s, &o, offsets[i])) test_fail(__FILE__, __LINE__, "f%d, offset %d", dtype ? 32 : 64, i);
    /* what is nearest in sigmas decides: (0, 0, 1) */
    double x[3] = {0, 0, 0.9}, phi = 0;
    CHECK_STATUS(abut_query_distance(&s, 1, x, &phi, NULL, NULL, dtype), ABUT_OK);
    CHECK_NEAR(phi, -0.1, 1e-6);
    abut_manifold *m = NULL;
    double poses[14];
    abut_contacts c = {.distance = &phi};
    memcpy(poses, at_rest, sizeof poses);
    poses[7] = x[0] = 2 * far;
    CHECK_STATUS(abut_query_distance(&s, 1, x, &phi, NULL, NULL, dtype), ABUT_ERROR_ARGUMENT);
    CHECK_STATUS(abut_manifold_create(&s, &s, &o, &m), ABUT_OK);
    CHECK_STATUS(abut_manifold_contacts(m, 1, poses, &c), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), "must lie within"));
    abut_manifold_destroy(m);
    points[6] = 0.2 * least;
    CHECK_STATUS(abut_manifold_create(&s, &s, &o, &m), ABUT_ERROR_ARGUMENT);
    CHECK(strstr(abut_error_message(), "sigma"));
  }
}

/* The defaults fit a body of any number of edges; without any feature there are no contacts. */
TEST(defaults_take_small_bodies) {
  abut_primitive q;
  abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0.5, 0.5}, case_body1_vertices,
                                case_body1_edges);
  abut_manifold_options o = abut_default_manifold_options();
  abut_manifold_counts counts[2];
  for (int i = 0; i < 2; i++) {
    abut_manifold *m = NULL;
    CHECK_STATUS(abut_manifold_create(&s, &s, i ? &o : NULL, &m), ABUT_OK);
    abut_manifold_size(m, &counts[i]);
    abut_manifold_destroy(m);
  }
  CHECK(counts[0].contacts == counts[1].contacts && counts[0].edges[0] == s.edge_count);
  s.vertex_count = s.edge_count = 0;
  abut_manifold *m = NULL;
  CHECK_STATUS(abut_manifold_create(&s, &s, NULL, &m), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "no contacts"));
}
