/* test_query.c: plane queries against what is known about them: closed forms, laws, differences, given cases.
 */
#include "query.h"
#include <stdio.h>

static const int32_t barriers[2] = {ABUT_CONTACT_LOCAL, ABUT_CONTACT_INVERSE};

/* ---------------------------------------------------------------------------------------- closed forms */

static question pair_of_points(int32_t n, double r, int32_t contact) {
  question q = {0};
  const double above[9] = {1, 2, 3 + r, 1, 2, 3 + r, 1, 2, 3 + r}, below[9] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  q.a = side_of(n, above);
  q.b = side_of(n, below);
  q.contact = contact;
  q.reach = 0.3;
  q.length = 1;
  return q;
}

TEST(inverse_of_points) {
  for (double r = 1e-6; r < 1e7; r *= 10) {
    question one = pair_of_points(1, r, ABUT_CONTACT_INVERSE),
             three = pair_of_points(3, r, ABUT_CONTACT_INVERSE);
    double distance = one.a.x[2] - one.b.x[2]; /* as it is represented */
    ask(&one);
    ask(&three);
    CHECK_REL(one.result.value, pow(sqrt(12) + 2 / sqrt(distance), 2), 1e-12);
    CHECK_REL(three.result.value, 12 * pow(1 + 1 / sqrt(distance), 2), 1e-12);
    CHECK(one.result.status == ABUT_QUERY_OK && three.result.status == ABUT_QUERY_OK);
    CHECK_NEAR(one.result.plane[0], 0, 1e-9);
    CHECK(one.result.plane[2] > 0);
  }
}

/* (x - s)^4 / x^5 below s */
static double local_barrier(double x, double s) { return x < s ? pow(x - s, 4) / pow(x, 5) : 0; }
static double local_value(double sigma, double r, double s, double n) {
  return local_barrier(sigma, s) + 2 * n * local_barrier((1 - sigma) * r / 2, s);
}
/* The plane between n points on each side is the middle one: one unknown is left, here by golden section. */
static double local_reference(double r, double s, double n) {
  double lo = 1e-9, hi = s, g = 0.5 * (sqrt(5) - 1);
  for (int i = 0; i < 200; i++) {
    double x = hi - g * (hi - lo), y = lo + g * (hi - lo);
    if (local_value(x, r, s, n) < local_value(y, r, s, n))
      hi = y;
    else
      lo = x;
  }
  return local_value(0.5 * (lo + hi), r, s, n);
}

TEST(local_of_points) {
  for (double r = 1e-3; r < 0.6; r *= 1.3) {
    question one = pair_of_points(1, r, ABUT_CONTACT_LOCAL), three = pair_of_points(3, r, ABUT_CONTACT_LOCAL);
    double distance = one.a.x[2] - one.b.x[2];
    ask(&one);
    ask(&three);
    CHECK_REL(one.result.value, local_reference(distance, 0.3, 1), 1e-10);
    CHECK_REL(three.result.value, local_reference(distance, 0.3, 3), 1e-10);
    CHECK(!one.result.out_of_reach && one.result.status == ABUT_QUERY_OK);
  }
}

/* Beyond 2 s / (1 - s) nothing is felt: no value, no gradients, no plane. */
TEST(local_out_of_reach) {
  const double edge = 2 * 0.3 / 0.7;
  for (double factor = 1.001; factor < 1e6; factor *= 7) {
    question q = pair_of_points(3, edge * factor, ABUT_CONTACT_LOCAL);
    q.result.plane[0] = 5;
    ask(&q);
    CHECK(q.result.out_of_reach && q.result.status == ABUT_QUERY_OK && q.result.value == 0);
    CHECK(largest(q.result.plane, 4) == 0 && largest(q.grad_a, 9) == 0 && largest(q.grad_b, 9) == 0);
  }
  question q = pair_of_points(3, edge * 0.9, ABUT_CONTACT_LOCAL);
  ask(&q);
  CHECK(!q.result.out_of_reach && q.result.value > 0);
}

/* ---------------------------------------------------------------------------------------- laws */

typedef void (*law)(uint64_t seed, question q);
/* Applies a law to random pairs at gaps around what each barrier feels. */
static void for_random_pairs(law check) {
  for (uint64_t seed = 0; seed < (test_quick() ? 20 : 150); seed++)
    for (int i = 0; i < 2; i++) {
      double gap = pow(10, test_uniform(seed, -3, -0.5));
      question q = random_question(seed, barriers[i], 0.3, 0.4, gap);
      ask(&q);
      CHECK(q.result.status == ABUT_QUERY_OK && isfinite(q.result.value));
      if (!q.result.out_of_reach) check(seed, q);
    }
}

static void no_net_force(uint64_t seed, question q) {
  double force[3] = {0}, torque[3] = {0}, size = 0;
  (void)seed;
  for (int i = 0; i < q.a.n + q.b.n; i++) {
    const double *x = i < q.a.n ? q.a.x + 3 * i : q.b.x + 3 * (i - q.a.n);
    const double *g = i < q.a.n ? q.grad_a + 3 * i : q.grad_b + 3 * (i - q.a.n);
    for (int c = 0; c < 3; c++) {
      force[c] += g[c];
      torque[c] += x[(c + 1) % 3] * g[(c + 2) % 3] - x[(c + 2) % 3] * g[(c + 1) % 3];
      size += fabs(g[c]);
    }
  }
  CHECK_NEAR(largest(force, 3) / size, 0, 1e-12);
  CHECK_NEAR(largest(torque, 3) / size, 0, 1e-12);
}
TEST(forces_and_torques_sum_to_zero) { for_random_pairs(no_net_force); }

/* Differences of values whose nested minimum is exact: they carry no trace of the formula of the gradient. */
static void differences_agree(uint64_t seed, question q) {
  question p = q;
  double size = fmax(largest(q.grad_a, 3 * q.a.n), largest(q.grad_b, 3 * q.b.n)), h = 1e-6;
  int same = 0;
  for (int k = 0; k < 4; k++) { /* a few coordinates of each pair */
    int on_b = k & 1, i = (int)(test_hash(seed * 4 + (uint64_t)k) % 24);
    double *x = (on_b ? p.b.x : p.a.x) + i, keep = *x, up, down;
    *x = keep + h;
    ask(&p);
    up = p.result.value;
    *x = keep - h;
    ask(&p);
    down = p.result.value;
    *x = keep;
    double slope = (up - down) / (2 * h), grad = (on_b ? q.grad_b : q.grad_a)[i];
    CHECK_NEAR(grad / size, slope / size, 2e-5);
    same += grad == slope && grad != 0;
  }
  CHECK(same == 0);
}
TEST(gradients_are_slopes) { for_random_pairs(differences_agree); }

static void rigid_motion(uint64_t seed, question q) {
  const double turn[3] = {test_uniform(seed, -2, 2), test_uniform(seed + 1000, -2, 2),
                          test_uniform(seed + 2000, -2, 2)};
  const double shift[3] = {3, -7, 2}, none[3] = {0, 0, 0};
  question p = q;
  for (int i = 0; i < 8; i++) {
    move_point(p.a.x + 3 * i, turn, shift);
    move_point(p.b.x + 3 * i, turn, shift);
    move_point(q.grad_a + 3 * i, turn, none);
    move_point(q.grad_b + 3 * i, turn, none);
  }
  ask(&p);
  CHECK_REL(p.result.value, q.result.value, 1e-9);
  check_close("grad_a", p.grad_a, q.grad_a, 24, 1e-7);
  check_close("grad_b", p.grad_b, q.grad_b, 24, 1e-7);
}
TEST(invariant_under_rigid_motion) { for_random_pairs(rigid_motion); }

static void swapped(uint64_t seed, question q) {
  question p = q;
  (void)seed;
  p.a = q.b;
  p.b = q.a;
  ask(&p);
  for (int c = 0; c < 4; c++) p.result.plane[c] = -p.result.plane[c];
  CHECK_REL(p.result.value, q.result.value, 1e-11);
  check_close("grad_a", p.grad_b, q.grad_a, 24, 1e-8);
  check_close("grad_b", p.grad_a, q.grad_b, 24, 1e-8);
  check_close("plane", p.result.plane, q.result.plane, 4, 1e-7);
}
TEST(sides_are_equal) { for_random_pairs(swapped); }

static void rescaled(uint64_t seed, question q) {
  question p = q;
  double unit = seed & 1 ? 1000 : 0.0254;
  for (int i = 0; i < 24; i++) {
    p.a.x[i] *= unit;
    p.b.x[i] *= unit;
    q.grad_a[i] /= unit;
    q.grad_b[i] /= unit;
  }
  p.length = unit;
  q.result.plane[3] *= unit;
  ask(&p);
  CHECK_REL(p.result.value, q.result.value, 1e-11);
  check_close("grad_a", p.grad_a, q.grad_a, 24, 1e-7);
  check_close("plane normal", p.result.plane, q.result.plane, 3, 1e-7);
  check_close("plane offset", p.result.plane + 3, q.result.plane + 3, 1, 1e-5);
}
TEST(length_is_a_unit) { for_random_pairs(rescaled); }

/* A plane reported once more as a start, and one that is far off, lead to the same answer. */
static void warm_started(uint64_t seed, question q) {
  question p = q;
  double tilted[4] = {0.02, -0.01, q.contact == ABUT_CONTACT_LOCAL ? 0.9 : 1, 1e-4}, wrong[4] = {1, 0, 0, 50};
  const double *starts[3] = {q.result.plane, tilted, wrong};
  (void)seed;
  for (int i = 0; i < 3; i++) {
    ask_as(&p, ABUT_F64, starts[i]);
    CHECK(p.result.status == ABUT_QUERY_OK);
    CHECK_REL(p.result.value, q.result.value, 1e-11);
    check_close("grad_a", p.grad_a, q.grad_a, 24, 1e-8);
    if (i == 0) CHECK(p.result.iterations <= q.result.iterations);
  }
}
TEST(start_does_not_matter) { for_random_pairs(warm_started); }

/* The reported plane separates and its value is the query's. */
static void plane_is_the_minimiser(uint64_t seed, question q) {
  const double *n = q.result.plane;
  double value = 0, length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  (void)seed;
  for (int i = 0; i < 16; i++) {
    const double *x = i < 8 ? q.a.x + 3 * i : q.b.x + 3 * (i - 8);
    double m = (i < 8 ? 1 : -1) * (n[0] * x[0] + n[1] * x[1] + n[2] * x[2] + n[3]);
    CHECK(m > 0);
    value += q.contact == ABUT_CONTACT_LOCAL ? local_barrier(m, q.reach) : 1 / m;
  }
  value += q.contact == ABUT_CONTACT_LOCAL ? local_barrier(1 - length, q.reach) : 12 / (1 - length);
  CHECK(length < 1);
  CHECK_REL(value, q.result.value, 1e-7);
}
TEST(plane_has_the_value) { for_random_pairs(plane_is_the_minimiser); }

/* A radius moves a point's surface: two balls are two points that are nearer. */
TEST(radii_shrink_distance) {
  for (int i = 0; i < 2; i++)
    for (double r = 0.01; r < 0.5; r *= 1.7) {
      question ball = pair_of_points(1, r + 0.25 + 0.125, barriers[i]),
               point = pair_of_points(1, r, barriers[i]);
      ball.a.r[0] = 0.25;
      ball.b.r[0] = 0.125;
      ask(&ball);
      ask(&point);
      CHECK_REL(ball.result.value, point.result.value, 1e-10);
      CHECK_REL(ball.grad_a[2], point.grad_a[2], 1e-9);
    }
}

/* A point given twice weighs as one of weight 2. */
static void doubled(uint64_t seed, question q) {
  question heavy = q, twice = q;
  int k = (int)(seed % 8);
  heavy.a.w[k] = 2;
  memcpy(twice.a.x + 24, q.a.x + 3 * k, 3 * sizeof(double));
  twice.a.n = 9;
  ask(&heavy);
  ask(&twice);
  CHECK_REL(heavy.result.value, twice.result.value, 1e-11);
  check_close("grad_b", heavy.grad_b, twice.grad_b, 24, 1e-8);
  for (int c = 0; c < 3; c++) twice.grad_a[3 * k + c] += twice.grad_a[24 + c];
  check_close("grad_a", heavy.grad_a, twice.grad_a, 24, 1e-8);
}
TEST(weights_count_points) { for_random_pairs(doubled); }

/* Many queries in one call, of mixed shapes, are as if asked one by one. */
TEST(batches_of_queries) {
  enum { COUNT = 60 };
  static question q[COUNT], alone[COUNT];
  static abut_plane_query queries[COUNT];
  static abut_plane_result results[COUNT];
  for (int i = 0; i < COUNT; i++) {
    q[i] = random_question((uint64_t)i, barriers[i % 7 == 0], 0.3, 0.4, 0.05);
    if (i % 11 == 0) q[i].a.n = 5;
    alone[i] = q[i];
    queries[i] = query_of(&q[i]);
    results[i] = q[i].result;
    ask(&alone[i]);
  }
  CHECK_STATUS(abut_query_plane(COUNT, queries, results, ABUT_F64), ABUT_OK);
  for (int i = 0; i < COUNT; i++) {
    CHECK(results[i].value == alone[i].result.value && results[i].iterations == alone[i].result.iterations);
    CHECK(!memcmp(q[i].grad_a, alone[i].grad_a, sizeof q[i].grad_a));
    CHECK(!memcmp(results[i].plane, alone[i].result.plane, sizeof results[i].plane));
  }
  CHECK_STATUS(abut_query_plane(0, NULL, NULL, ABUT_F64), ABUT_OK);
}

/* Single precision is near, and not double rounded. */
static void single_precision(uint64_t seed, question q) {
  question p = q;
  (void)seed;
  ask_as(&p, ABUT_F32, NULL);
  CHECK(p.result.status != ABUT_QUERY_TOUCHING);
  CHECK_REL(p.result.value, q.result.value, 2e-3);
  CHECK(p.result.value != q.result.value);
}
TEST(f32_is_near_f64) { for_random_pairs(single_precision); }

/* ---------------------------------------------------------------------------------------- the step's energy
 */

/* A body (a box, or a lying capsule) above a fixed box. */
static abut_model *rest_model(int32_t type) {
  abut_builder *b;
  abut_model *m = NULL;
  if (abut_builder_create(&b) != ABUT_OK) return NULL;
  abut_body_def top = abut_default_body_def();
  abut_geom_def box = abut_default_geom_def(), geom;
  abut_joint_def joint = abut_default_joint_def();
  joint.type = ABUT_JOINT_FREE;
  box.type = ABUT_GEOM_BOX;
  box.rounding = 0.01;
  for (int c = 0; c < 3; c++) box.size[c] = 0.2;
  abut_builder_add_geom(b, &box, NULL);
  top.pos[0] = 0.03, top.pos[1] = -0.02, top.pos[2] = type == ABUT_GEOM_BOX ? 0.421 : 0.311;
  abut_builder_add_body(b, &top, &joint.body);
  abut_builder_add_joint(b, &joint, NULL);
  geom = box;
  geom.type = type;
  geom.body = joint.body;
  geom.size[0] = type == ABUT_GEOM_BOX ? 0.15 : 0.1;
  geom.size[1] = 0.17;
  if (type == ABUT_GEOM_CAPSULE) geom.rounding = 0, geom.quat[0] = geom.quat[2] = sqrt(0.5);
  abut_builder_add_geom(b, &geom, NULL);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

/* x turned by the unit quaternion q, then shifted. */
static void place_point(double x[3], const double q[4], const double shift[3]) {
  double t[3], y[3];
  for (int c = 0; c < 3; c++) {
    int j = (c + 1) % 3, l = (c + 2) % 3;
    t[c] = 2 * (q[1 + j] * x[l] - q[1 + l] * x[j]);
  }
  for (int c = 0; c < 3; c++) {
    int j = (c + 1) % 3, l = (c + 2) % 3;
    y[c] = x[c] + q[0] * t[c] + q[1 + j] * t[l] - q[1 + l] * t[j] + shift[c];
  }
  memcpy(x, y, sizeof y);
}
/* A geom's contact shape at the last pose of a rollout of one environment. */
static side geom_at_end(const scene *s, const run *r, int32_t id, int32_t weights) {
  abut_hull hull;
  abut_geom_def geom;
  CHECK_STATUS(abut_model_hull(s->model, id, &hull), ABUT_OK);
  CHECK_STATUS(abut_model_geom(s->model, id, &geom), ABUT_OK);
  side out = side_of(hull.npoint, hull.points);
  size_t row = (size_t)r->args.nstep * (size_t)s->n.nbody + (size_t)geom.body;
  const double *x = (double *)r->out[OUT_XPOS].t.data + 3 * row,
               *q = (double *)r->out[OUT_XQUAT].t.data + 4 * row;
  for (int i = 0; i < hull.npoint; i++) {
    place_point(out.x + 3 * i, q, x);
    out.r[i] = hull.radius;
    out.w[i] = weights == ABUT_WEIGHTS_NORMALISED ? 8.0 / hull.npoint : 1;
  }
  return out;
}

/* At rest, the step's contact energy is the stiffness times the query's value at the final pose. */
static void check_step_energy(int32_t type, int32_t contact, int32_t weights) {
  scene s = {rest_model(type), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = test_options(1);
  o.implicit.contact = contact;
  o.implicit.weights = weights;
  o.implicit.stiffness = contact == ABUT_CONTACT_LOCAL ? 1e-7 : 1e-6;
  o.tolerance = 1e-8;
  abut_batch *batch = batch_of(&s, &o);
  run r;
  run_create(&r, &s, &o, 150);
  run_go(&r, batch);
  question q = {.contact = contact, .reach = o.implicit.reach, .length = o.implicit.length};
  int32_t geoms[2];
  CHECK_STATUS(abut_model_pair(s.model, 0, geoms), ABUT_OK);
  q.a = geom_at_end(&s, &r, geoms[0], weights);
  q.b = geom_at_end(&s, &r, geoms[1], weights);
  ask(&q);
  double energy = array_get(&r.out[OUT_ENERGY], 4 * 149 + 2);
  CHECK(run_status(&r, 0) == 0 && energy > 0);
  CHECK_REL(energy, o.implicit.stiffness * q.result.value, 1e-9);
  run_free(&r);
  abut_batch_destroy(batch);
  scene_free(&s);
}
TEST(step_energy_is_the_query_s) {
  for (int i = 0; i < 2; i++)
    for (int32_t weights = ABUT_WEIGHTS_UNIT; weights <= ABUT_WEIGHTS_NORMALISED; weights++) {
      check_step_energy(ABUT_GEOM_BOX, barriers[i], weights);
      check_step_energy(ABUT_GEOM_CAPSULE, barriers[i], weights);
    }
}

/* ---------------------------------------------------------------------------------------- given cases */

#ifdef ABUT_HAVE_JANSSON
#include <jansson.h>

static int32_t read_rows(const json_t *rows, double *out) {
  size_t i, c;
  const json_t *row, *x;
  json_array_foreach(rows, i, row) json_array_foreach(row, c, x) out[3 * i + c] = json_number_value(x);
  return (int32_t)json_array_size(rows);
}

static void check_given(size_t number, const json_t *given) {
  question q = {.length = 1};
  double want[3 * MAX_POINTS], plane[4];
  const json_t *expect = json_object_get(given, "expect");
  q.contact = strcmp(json_string_value(json_object_get(given, "barrier")), "local") ? ABUT_CONTACT_INVERSE
                                                                                    : ABUT_CONTACT_LOCAL;
  q.reach = json_number_value(json_object_get(given, "s"));
  double x[3 * MAX_POINTS];
  REQUIRE(json_array_size(json_object_get(given, "a")) <= MAX_POINTS);
  REQUIRE(json_array_size(json_object_get(given, "b")) <= MAX_POINTS);
  q.a = side_of(read_rows(json_object_get(given, "a"), x), x);
  q.b = side_of(read_rows(json_object_get(given, "b"), x), x);
  ask(&q);
  char name[40];
  snprintf(name, sizeof name, "case %zu: value", number);
  check_close(name, &q.result.value, (double[]){json_number_value(json_object_get(expect, "value"))}, 1,
              1e-9);
  for (size_t c = 0; c < 4; c++)
    plane[c] = json_number_value(json_array_get(json_object_get(expect, "plane"), c));
  snprintf(name, sizeof name, "case %zu: plane", number);
  check_close(name, q.result.plane, plane, 4, 1e-9);
  for (int k = 0; k < 2; k++) {
    int32_t n = read_rows(json_object_get(expect, k ? "grad_b" : "grad_a"), want);
    snprintf(name, sizeof name, "case %zu: grad_%c", number, k ? 'b' : 'a');
    check_close(name, k ? q.grad_b : q.grad_a, want, 3 * n, 1e-9);
  }
}

/* Cases computed elsewhere, where the folder is there. */
TEST(given_cases) {
  const char *folder = getenv("ABUT_CASES");
  char path[1024];
  snprintf(path, sizeof path, "%s/plane_given.json", folder ? folder : "../shared/cases");
  json_t *cases = json_load_file(path, 0, NULL), *given;
  size_t i;
  if (!cases) return;
  CHECK(json_array_size(cases) > 0);
  json_array_foreach(cases, i, given) check_given(i, given);
  json_decref(cases);
}
#endif
