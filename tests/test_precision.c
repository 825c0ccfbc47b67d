/* test_precision.c: numbers that single precision does not hold are refused by name and value, not turned
 * into infinities or zeros. */
#include "abut/manifold.h"
#include "manifold_cases.h"
#include "manifold_test.h"
#include "rollout.h"
#include "sled.h"

static abut_options single(void) {
  abut_options o = test_options(1);
  o.dtype = ABUT_F32;
  return o;
}
/* The batch exists in double and is refused, with this text, in single precision. */
static void check_refused(const abut_model *m, abut_options o, abut_status status, const char *text) {
  abut_batch *b = NULL;
  o.dtype = ABUT_F64;
  CHECK_STATUS(abut_batch_create(m, &o, &b), ABUT_OK);
  abut_batch_destroy(b);
  o.dtype = ABUT_F32;
  b = NULL;
  CHECK_ERROR(abut_batch_create(m, &o, &b), status, text);
  CHECK(!b);
  abut_batch_destroy(b);
}

TEST(options_beyond_single_precision) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
#define REFUSED_IN(group, field, x, text)                                                                    \
  do {                                                                                                       \
    abut_options o = single();                                                                               \
    o.group field = x;                                                                                       \
    check_refused(m, o, ABUT_ERROR_ARGUMENT, "option " #field ": " text);                                    \
  } while (0)
#define REFUSED(field, x, text) REFUSED_IN(implicit., field, x, text)
  REFUSED_IN(, timestep, 1e39, "1e+39 is out of range");
  REFUSED_IN(, timestep, 1e-25, "1e-25 is out of range"); /* its square is 0 */
  REFUSED(reach, 1e-50, "1e-50 is out of range");
  REFUSED(stiffness, 1e39, "1e+39 is out of range");
  REFUSED(stiffness, 1e-60, "1e-60 is out of range");
  REFUSED(length, 1e39, "1e+39 is out of range");
  REFUSED(gap0, 1e39, "1e+39 is out of range");
  REFUSED(slip_velocity, 1e39, "1e+39 is out of range");
  REFUSED_IN(, tolerance, 1e-50, "1e-50 is out of range");
  REFUSED(epsilon, 1e-50, "1e-50 is out of range");
  REFUSED(max_separation, 1e39, "1e+39 is beyond single precision");
#undef REFUSED
#undef REFUSED_IN
  abut_model_destroy(m);
}

/* A ball on a slide; one number of it is not ordinary. */
typedef struct ball {
  double gravity, mass, friction, damping, z;
} ball;
static void check_ball(ball with, const char *text) {
  abut_builder *b = scene_begin(with.gravity);
  abut_body_def body = abut_default_body_def();
  body.name = "ball", body.mass = with.mass, body.pos[2] = with.z;
  body.inertia[0] = body.inertia[1] = body.inertia[2] = 0.1;
  CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  abut_joint_def slide = scene_joint_def(1, ABUT_JOINT_SLIDE, 0, 0, 1, 0);
  slide.name = "slide", slide.damping = with.damping;
  scene_joint(b, slide);
  abut_geom_def geom = abut_default_geom_def();
  geom.name = "shell", geom.body = 1, geom.size[0] = 0.1, geom.friction = with.friction;
  CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  abut_model *m = scene_finish(b);
  REQUIRE(m);
  check_refused(m, single(), text[0] == '!' ? ABUT_ERROR_ARGUMENT : ABUT_ERROR_MODEL,
                text + (text[0] == '!'));
  abut_model_destroy(m);
}
TEST(models_beyond_single_precision) {
  const ball usual = {-9.81, 1, 1, 0, 0};
  ball odd = usual;
  odd.gravity = -1e39;
  check_ball(odd, "gravity[2] is -1e+39, beyond single precision");
  odd = usual, odd.mass = 1e39;
  check_ball(odd, "body 'ball': mass is 1e+39, beyond single precision");
  odd = usual, odd.mass = 1e-50;
  check_ball(odd, "!body 'ball': mass is 1e-50, 0 in single precision");
  odd = usual, odd.friction = 1e39;
  check_ball(odd, "geom 'shell': friction is 1e+39, beyond single precision");
  odd = usual, odd.damping = 1e39;
  check_ball(odd, "joint 'slide': damping is 1e+39, beyond single precision");
  odd = usual, odd.z = 1e39;
  check_ball(odd, "body 'ball': pos is 1e+39, beyond single precision");
}

TEST(disturbances_beyond_single_precision) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options o = single();
  abut_batch *b = NULL;
  CHECK_STATUS(abut_batch_create(m, &o, &b), ABUT_OK);
  REQUIRE(b);
  abut_rollout_args args = abut_default_rollout_args();
  args.kick = 1e39;
  CHECK_ERROR(abut_rollout(b, &args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT, "kick 1e+39");
  CHECK_ERROR(abut_batch_perturb(b, NULL, 1, 0, 1e38, 0), ABUT_ERROR_ARGUMENT, "deviations 1e+38 and 0");
  CHECK_ERROR(abut_batch_perturb(b, NULL, 1, 0, 0, 1e38), ABUT_ERROR_ARGUMENT, "deviations 0 and 1e+38");
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

TEST(problems_beyond_single_precision) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  abut_options o = inverse_options(1);
  o.dtype = ABUT_F32;
  abut_batch *b = NULL;
  abut_optimiser *optimiser = NULL;
  CHECK_STATUS(abut_batch_create(m, &o, &b), ABUT_OK);
  REQUIRE(b);
  abut_problem p;
#define REFUSED(change, text)                                                                                \
  do {                                                                                                       \
    p = full_problem();                                                                                      \
    change;                                                                                                  \
    CHECK_ERROR(abut_optimiser_create(b, &p, &optimiser), ABUT_ERROR_ARGUMENT, text);                        \
    CHECK(!optimiser);                                                                                       \
  } while (0)
  REFUSED(variables[2].start[0] = 1e39, "variables[2].start[0] 1e+39: is beyond single precision");
  REFUSED(variables[3].noise[1] = 1e38, "variables[3].noise[1] 1e+38: is beyond single precision");
  REFUSED(terms[0].weight = 1e39, "terms[0].weight 1e+39: is beyond single precision");
  REFUSED(terms[1].target[0] = 1e39, "terms[1].target[0] 1e+39");
#undef REFUSED
  abut_batch_destroy(b);
  abut_model_destroy(m);
}

/* Cotangents of contacts: the array, the place and the value; the first pose's are in order. */
TEST(cotangents_of_contacts) {
  for (int f32 = 0; f32 < 2; f32++) {
    abut_primitive q;
    abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0.5, 0.5},
                                  case_body1_vertices, case_body1_edges);
    abut_manifold_options o = soft_options();
    o.dtype = f32 ? ABUT_F32 : ABUT_F64;
    abut_manifold *m = NULL;
    abut_manifold_counts counts = {0};
    CHECK_STATUS(abut_manifold_create(&s, &s, &o, &m), ABUT_OK);
    REQUIRE(m);
    abut_manifold_size(m, &counts);
    const int64_t n = 2 * counts.contacts;
    double poses[28], grad[24];
    memcpy(poses, at_rest, sizeof at_rest);
    memcpy(poses + 14, at_rest, sizeof at_rest);
    poses[8] = poses[22] = 1.9;
    abut_contacts bar = contacts_new(n);
    abut_manifold_bars bars = {.poses = grad};
    CHECK_STATUS(abut_manifold_gradient(m, 2, poses, &bar, &bars, NULL), ABUT_OK);
    const int64_t second = counts.contacts;
    struct {
      double *x, value;
      const char *text;
    } odd[] = {{bar.point + 3 * (second + 5) + 1, 1e39, "point 5 of pose 1 is 1e+39, beyond single"},
               {bar.distance + second + 2, -1e39, "distance 2 of pose 1 is -1e+39, beyond single"},
               {bar.normal + 3 * (second + 1), NAN, "normal 1 of pose 1 is nan, not finite"},
               {bar.activity + second, INFINITY, "activity 0 of pose 1 is inf, not finite"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
      *odd[i].x = odd[i].value;
      if (!f32 && isfinite(odd[i].value))
        CHECK_STATUS(abut_manifold_gradient(m, 2, poses, &bar, &bars, NULL), ABUT_OK);
      else
        CHECK_ERROR(abut_manifold_gradient(m, 2, poses, &bar, &bars, NULL), ABUT_ERROR_ARGUMENT, odd[i].text);
      *odd[i].x = 0;
    }
    free(bar.point);
    abut_manifold_destroy(m);
  }
}

/* Softnesses that are squares of lengths, for surfaces of a size at which they overflow. */
TEST(softness_of_tiny_surfaces) {
  abut_primitive q;
  abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1e-22, 1e-22, 1e-22, 0.5, 0.5},
                                case_body1_vertices, case_body1_edges);
  double small[8][3];
  for (int i = 0; i < 24; i++) small[i / 3][i % 3] = 1e-22 * case_body1_vertices[i / 3][i % 3];
  s.vertices = small[0], s.tau = 1e-24;
  abut_manifold_options o = soft_options();
  abut_manifold *m = NULL;
  o.relative = 0, o.tau_pen = o.tau_near = o.tau_select = 0;
  CHECK_STATUS(abut_manifold_create(&s, &s, &o, &m), ABUT_OK);
  abut_manifold_destroy(m);
  m = NULL;
  o.dtype = ABUT_F32;
  CHECK_ERROR(abut_manifold_create(&s, &s, &o, &m), ABUT_ERROR_ARGUMENT,
              "manifold: w_reg is 0.01, which single");
  CHECK(!m);
}

TEST(queries_beyond_single_precision) {
  double a[3] = {0, 0, 0}, b[3] = {0, 0, 1};
  abut_plane_query q = {.contact = ABUT_CONTACT_LOCAL, .na = 1, .nb = 1, .a = a, .b = b, .reach = 0.1};
  abut_plane_result r = {0};
  q.length = 1e39;
  CHECK_ERROR(abut_query_plane(1, &q, &r, ABUT_F32), ABUT_ERROR_ARGUMENT, "length 1e+39");
  q.length = 1, q.reach = 1e-50;
  CHECK_ERROR(abut_query_plane(1, &q, &r, ABUT_F32), ABUT_ERROR_ARGUMENT, "reach 1e-50");
  abut_edges_query e = {.edge1 = {{0, 0, 0}, {1, 0, 0}}, .edge2 = {{0, 0, 1}, {0, 1, 1}}};
  e.w_reg = e.tau_clip = e.tau_min = e.tau_comp = 0.01;
  const double odd[] = {1e39, NAN};
  for (int i = 0; i < 2; i++) {
    abut_edges_result bar = {0};
    abut_edges_bars bars;
    ((double *)&bar)[2] = odd[i];
    CHECK_ERROR(abut_query_edges_gradient(1, &e, &bar, &bars, ABUT_F32), ABUT_ERROR_ARGUMENT,
                "query 0: cotangent 2 is");
  }
  /* a small thing far away */
  abut_primitive ball = {.quaternion = {1, 0, 0, 0},
                         .size = {1e-25, 1e-25, 1e-25},
                         .exponents = {1, 1},
                         .position = {1e20, 0, 0}};
  double corner[3] = {1e-25, 0, 0}, at[3] = {0, 0, 0}, distance;
  abut_surface s = one_primitive(&ball);
  s.vertices = corner, s.vertex_count = 1;
  double corners[6] = {0, 0, 0, 1e-25, 0, 0};
  s.vertices = corners, s.vertex_count = 2;
  CHECK_ERROR(abut_query_distance(&s, 1, at, &distance, NULL, NULL, ABUT_F32), ABUT_ERROR_ARGUMENT,
              "primitive 0: position 1e+20");
}
