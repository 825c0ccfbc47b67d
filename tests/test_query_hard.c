/* test_query_hard.c: plane queries on input that is degenerate, touching, far out of scale, or wrong. */
#include "query.h"
#include <stdio.h>

static const int32_t barriers[2] = {ABUT_CONTACT_LOCAL, ABUT_CONTACT_INVERSE};

/* Nothing in an answer is NaN, and it says what it must. touch: 1 the shapes meet, 0 they do not, -1 either.
 */
static void check_sane(const char *what, question *q, int touch) {
  const abut_plane_result *r = &q->result;
  int sane = !isnan(r->value) && r->iterations >= 0 && r->iterations <= 100;
  for (int c = 0; c < 4; c++) sane &= isfinite(r->plane[c]);
  for (int i = 0; i < 3 * q->a.n; i++) sane &= isfinite(q->grad_a[i]);
  for (int i = 0; i < 3 * q->b.n; i++) sane &= isfinite(q->grad_b[i]);
  if (r->status == ABUT_QUERY_TOUCHING) {
    sane &= isinf(r->value) && largest(r->plane, 4) == 0 && largest(q->grad_a, 3 * q->a.n) == 0;
    sane &= touch != 0;
  } else {
    sane &= r->value >= 0 && isfinite(r->value) && touch != 1;
  }
  if (!sane)
    test_fail(__FILE__, __LINE__, "%s: status %d, value %g, %d iterations, touch %d", what, r->status,
              r->value, r->iterations, touch);
}

static void ask_all(const char *what, question q, int touch) {
  for (int i = 0; i < 2; i++) {
    q.contact = barriers[i];
    q.reach = 0.3;
    q.length = 1;
    int too_far = largest(q.a.x, 3 * q.a.n) > 4e8 || largest(q.b.x, 3 * q.b.n) > 4e8; /* for f32 */
    for (int32_t dtype = ABUT_F64; dtype <= (too_far ? ABUT_F64 : ABUT_F32); dtype++) {
      memset(&q.result, 0x7F, sizeof q.result);
      ask_as(&q, dtype, NULL);
      check_sane(what, &q, dtype == ABUT_F32 ? (touch == 1 ? 1 : -1) : touch);
    }
  }
}

/* Random boxes at every scale and gap: never NaN; apart where they are apart by construction. */
TEST(random_shapes_at_all_scales) {
  for (uint64_t seed = 0; seed < (test_quick() ? 100 : 1500); seed++) {
    double size = pow(10, test_uniform(seed, -6, 6)), gap = size * pow(10, test_uniform(seed + 5000, -8, 3));
    question q = random_question(seed, 0, 0.3, size, gap);
    char what[80];
    snprintf(what, sizeof what, "seed %d, size %g, gap %g", (int)seed, size, gap);
    ask_all(what, q, 0);
  }
}

/* The same apart boxes in units of their own: the answer is found, not only sane. */
TEST(random_gaps_are_solved) {
  for (uint64_t seed = 0; seed < (test_quick() ? 50 : 1000); seed++)
    for (int i = 0; i < 2; i++) {
      double gap = pow(10, test_uniform(seed, -7, 1));
      question q = random_question(seed, barriers[i], 0.3, 1, gap);
      ask(&q);
      if (q.result.status != ABUT_QUERY_OK)
        test_fail(__FILE__, __LINE__, "seed %d, gap %g, barrier %d: status %d after %d iterations", (int)seed,
                  gap, i, q.result.status, q.result.iterations);
    }
}

/* Boxes pushed into each other: touching. */
TEST(random_overlaps) {
  for (uint64_t seed = 0; seed < (test_quick() ? 100 : 1500); seed++) {
    double size = pow(10, test_uniform(seed, -6, 6)),
           depth = size * pow(10, test_uniform(seed + 5000, -3, 0));
    question q = random_question(seed, 0, 0.3, size, 0);
    double middle[3] = {0, 0,
                        0}; /* bring a's lowest point to the inside of b, `depth` above its centre's height */
    int low = 0;
    for (int i = 1; i < 8; i++)
      if (q.a.x[3 * i + 2] < q.a.x[3 * low + 2]) low = i;
    for (int i = 0; i < 24; i++) middle[i % 3] += q.b.x[i] / 8;
    double shift[3];
    for (int c = 0; c < 3; c++) shift[c] = middle[c] - q.a.x[3 * low + c] - (c == 2 ? 1e-3 * depth : 0);
    for (int i = 0; i < 24; i++) q.a.x[i] += shift[i % 3];
    char what[80];
    snprintf(what, sizeof what, "seed %d, size %g", (int)seed, size);
    ask_all(what, q, 1);
  }
}

/* ---------------------------------------------------------------------------------------- by hand */

static side points(int32_t n, const double *x, double scale, const double shift[3]) {
  side s = side_of(n, x);
  for (int i = 0; i < 3 * n; i++) s.x[i] = s.x[i] * scale + shift[i % 3];
  return s;
}
static const double cube[24] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
static const double square[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
static const double line[6] = {0, 0, 0, 1, 0, 0};
static const double dot[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
static const double comb[15] = {0, 0, 0, 0.25, 0, 0, 0.5, 0, 0, 0.75, 0, 0, 1, 0, 0}; /* collinear */

typedef struct case_ {
  const char *name;
  int32_t na, nb;
  const double *a, *b;
  double shift[3]; /* of a */
  int touch;
} case_;
static const case_ cases[] = {
    {"cube on itself", 8, 8, cube, cube, {0, 0, 0}, 1},
    {"cube in a face", 8, 8, cube, cube, {0, 0, 1}, 1},
    {"cube in an edge", 8, 8, cube, cube, {1, 0, 1}, 1},
    {"cube in a corner", 8, 8, cube, cube, {1, 1, 1}, 1},
    {"cube half in", 8, 8, cube, cube, {0.5, 0.25, 0.125}, 1},
    {"cube above", 8, 8, cube, cube, {0, 0, 1.125}, 0},
    {"cube beside an edge", 8, 8, cube, cube, {1.125, 0, 1.125}, 0},
    {"cube beside a corner", 8, 8, cube, cube, {1.125, 1.125, 1.125}, 0},
    {"cube far", 8, 8, cube, cube, {1e6, 3, -4}, 0},
    {"point on point", 1, 1, dot, dot, {0, 0, 0}, 1},
    {"point in cube", 1, 8, dot, cube, {0.5, 0.5, 0.5}, 1},
    {"point on a face", 1, 8, dot, cube, {0.5, 0.5, 1}, 1},
    {"point on a corner", 1, 8, dot, cube, {1, 1, 1}, 1},
    {"point above a face", 1, 8, dot, cube, {0.5, 0.5, 1.25}, 0},
    {"three equal points", 3, 3, dot, dot, {0, 0, 0.25}, 0},
    {"crossing lines", 2, 2, line, line, {0, 0, 0}, 1},
    {"lines end to end", 2, 2, line, line, {1, 0, 0}, 1},
    {"lines in a row", 2, 2, line, line, {1.25, 0, 0}, 0},
    {"parallel lines", 2, 2, line, line, {0, 0, 0.25}, 0},
    {"collinear points apart", 5, 5, comb, comb, {0, 0.25, 0}, 0},
    {"collinear points together", 5, 5, comb, comb, {0.125, 0, 0}, 1},
    {"squares in one plane, apart", 4, 4, square, square, {1.25, 0, 0}, 0},
    {"squares in one plane, meeting", 4, 4, square, square, {0.5, 0.5, 0}, 1},
    {"squares above each other", 4, 4, square, square, {0.25, 0.25, 0.25}, 0},
    {"line through a square", 2, 4, line, square, {-0.5, 0.5, 0}, 1},
    {"line beside a cube", 2, 8, line, cube, {0, 1.25, 1.25}, 0},
};

TEST(degenerate_shapes) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (double scale = 0x1p-20; scale <= 0x1p20;
         scale *= 0x1p10) { /* powers of two: what touches still touches */
      const case_ *c = &cases[i];
      const double none[3] = {0, 0, 0},
                   at[3] = {c->shift[0] * scale, c->shift[1] * scale, c->shift[2] * scale};
      question q = {0};
      q.a = points(c->na, c->a, scale, at);
      q.b = points(c->nb, c->b, scale, none);
      ask_all(c->name, q, c->touch);
    }
}

/* Balls that touch, overlap or nearly do. */
TEST(touching_balls) {
  for (double gap = -1; gap < 1; gap = gap < -1e-9 ? gap / 7 : gap < 1e-9 ? gap + 2e-9 : gap * 7) {
    question q = {0};
    const double up[3] = {0, 0, 2}, down[3] = {0, 0, 0};
    q.a = side_of(1, up);
    q.b = side_of(1, down);
    q.a.r[0] = 1.25 - gap;
    q.b.r[0] = 0.75;
    char what[40];
    snprintf(what, sizeof what, "balls %g apart", gap);
    ask_all(what, q, 2 - q.a.r[0] - 0.75 <= 0 ? 1 : 0);
  }
}

/* A start that does not separate, or is no plane at all, is no start; the answer is the cold one. */
TEST(useless_starts) {
  question q = random_question(4, ABUT_CONTACT_INVERSE, 0.3, 0.4, 0.05), cold = q;
  ask(&cold);
  const double starts[][4] = {{0, 0, 0, 0},      {0, 0, -1, 0},  {1e300, 0, 0, 1},
                              {1e-300, 0, 0, 0}, {0, 0, 1, 1e9}, {0, 0, 5, 0}};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    ask_as(&q, ABUT_F64, starts[i]);
    check_sane("useless start", &q, 0);
    CHECK_REL(q.result.value, cold.result.value, 1e-11);
  }
}

/* Two points any distance apart that is accepted: the inverse barrier's value is (sqrt(12) + 2 sqrt(L /
 * d))^2. */
TEST(far_apart) {
  const double near[3] = {0};
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++)
    for (double d = 1; d <= (dtype == ABUT_F64 ? 1e75 : 1e9); d *= 10) {
      const double far[3] = {0.6 * d, 0, 0.8 * d};
      question q = {
          .a = side_of(1, far), .b = side_of(1, near), .contact = ABUT_CONTACT_INVERSE, .length = 1};
      ask_as(&q, dtype, NULL);
      CHECK(q.result.status == ABUT_QUERY_OK);
      CHECK_REL(q.result.value, pow(sqrt(12) + 2 / sqrt(d), 2), dtype == ABUT_F64 ? 1e-6 : 1e-3);
    }
}

/* ---------------------------------------------------------------------------------------- bad input */

typedef void (*spoiler)(abut_plane_query *q);
static double bad_numbers[3 * MAX_POINTS];
#define SPOILER(name, ...)                                                                                   \
  static void name(abut_plane_query *q) { __VA_ARGS__; }
SPOILER(no_contact, q->contact = 7)
SPOILER(no_points_a, q->na = 0)
SPOILER(no_points_b, q->nb = -3)
SPOILER(null_a, q->a = NULL)
SPOILER(null_b, q->b = NULL)
SPOILER(no_length, q->length = 0)
SPOILER(nan_length, q->length = NAN)
SPOILER(no_reach, q->contact = ABUT_CONTACT_LOCAL; q->reach = 0)
SPOILER(long_reach, q->contact = ABUT_CONTACT_LOCAL; q->reach = 1)
SPOILER(nan_point, bad_numbers[4] = NAN; q->a = bad_numbers)
SPOILER(infinite_point, bad_numbers[4] = INFINITY; q->b = bad_numbers)
SPOILER(far_point, bad_numbers[4] = 1e200; q->b = bad_numbers)
SPOILER(nan_radius, bad_numbers[0] = NAN; q->radii_a = bad_numbers)
SPOILER(negative_radius, bad_numbers[1] = -0.5; q->radii_b = bad_numbers)
SPOILER(no_weight, q->weights_a = bad_numbers)
SPOILER(nan_plane, bad_numbers[3] = NAN; q->plane = bad_numbers)

TEST(bad_queries_are_refused) {
  const struct {
    spoiler spoil;
    const char *says;
  } list[] = {{no_contact, "contact 7"},
              {no_points_a, "0 and 8"},
              {no_points_b, "8 and -3"},
              {null_a, "a is NULL"},
              {null_b, "b is NULL"},
              {no_length, "length 0"},
              {nan_length, "length nan"},
              {no_reach, "reach 0"},
              {long_reach, "reach 1"},
              {nan_point, "a[4] is nan"},
              {infinite_point, "b[4] is inf"},
              {far_point, "to 1e+200 along axis 1"},
              {nan_radius, "radii_a[0] is nan"},
              {negative_radius, "radius -0.5"},
              {no_weight, "weight 0"},
              {nan_plane, "plane[3] is nan"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    question good = random_question(1, ABUT_CONTACT_INVERSE, 0.3, 0.4, 0.1), bad = good;
    good.result.value = bad.result.value = -1;
    memset(bad_numbers, 0, sizeof bad_numbers);
    abut_plane_query queries[2] = {query_of(&good), query_of(&bad)};
    abut_plane_result results[2] = {good.result, bad.result};
    list[i].spoil(&queries[1]);
    CHECK_STATUS(abut_query_plane(2, queries, results, ABUT_F64), ABUT_ERROR_ARGUMENT);
    if (!strstr(abut_error_message(), list[i].says) || !strstr(abut_error_message(), "query 1"))
      test_fail(__FILE__, __LINE__, "'%s' does not say 'query 1' and '%s'", abut_error_message(),
                list[i].says);
    CHECK(results[0].value == -1 && results[1].value == -1); /* nothing was written */
  }
}

TEST(bad_calls_are_refused) {
  question q = random_question(1, ABUT_CONTACT_INVERSE, 0.3, 0.4, 0.1);
  abut_plane_query p = query_of(&q);
  CHECK_STATUS(abut_query_plane(-1, &p, &q.result, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_plane(1, NULL, &q.result, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_plane(1, &p, NULL, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_plane(1, &p, &q.result, 2), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_plane(1, &p, &q.result, -1), ABUT_ERROR_ARGUMENT);
  q.result.grad_a = q.result.grad_b = NULL; /* gradients are optional */
  CHECK_STATUS(abut_query_plane(1, &p, &q.result, ABUT_F64), ABUT_OK);
  CHECK(q.result.status == ABUT_QUERY_OK);
}
