/* test_longrange_step.c: steps with long-range contact: gradients, momentum, what must not change a bit,
 * nothing passes through, shapes that are not convex. */
#include "host/batch/backend.h"
#include "bumpy.h"
#include "gradient.h"
#include "scene.h"

static abut_options longrange(int64_t nenv) {
  abut_options o = test_options(nenv);
  o.implicit.contact = ABUT_CONTACT_LONGRANGE;
  o.implicit.stiffness = 1e-6;
  return o;
}

#ifdef ABUT_HAVE_QHULL
/* A mesh geom with the given surface; convex or not. */
static void add_surface(abut_builder *b, int32_t body, const mesh *m) {
  abut_geom_def def = abut_default_geom_def();
  def.body = body;
  def.type = ABUT_GEOM_MESH;
  def.points = def.vertices = m->x;
  def.npoint = def.nvertex = m->nx;
  def.triangles = m->t;
  def.ntriangle = m->nt;
  CHECK_STATUS(abut_builder_add_geom(b, &def, NULL), ABUT_OK);
}

#endif

/* Two bumpy bodies (boxes where there is no qhull) and a ball that float towards each other, or above a
 * floor. */
static abut_model *three_bodies(double gravity) {
  abut_builder *b = scene_begin(gravity);
  if (!b) return NULL;
  if (gravity != 0) scene_floor(b);
  for (int i = 0; i < 2; i++) {
    int32_t body = scene_free_body(b, 0.26 * i, 0.02 * i, 0.16, 1, 0.004, 0.005, 0.006);
#ifdef ABUT_HAVE_QHULL
    double zero[3] = {0, 0, 0};
    mesh m = bumpy_sphere((uint64_t)(7 + i), 2, 0.1, 0.2, zero);
    add_surface(b, body, &m);
    mesh_free(&m);
#else
    scene_geom(b, body, ABUT_GEOM_BOX, 0.08, 0.09, 0.07);
#endif
  }
  scene_geom(b, scene_free_body(b, 0.1, 0.25, 0.14, 0, 0, 0, 0), ABUT_GEOM_SPHERE, 0.1, 0, 0);
  return scene_finish(b);
}

/* Adjoint of 20 steps in which the bodies meet, against differences. */
TEST(gradient) {
  for (int form = test_quick(); form < 2; form++) {
    problem p;
    abut_options o = longrange(1);
    o.implicit.form = form;
    REQUIRE(problem_create(&p, "three bodies", three_bodies(-9.81), o, test_quick() ? 3 : 10));
    p.directions = 1;
    problem_random(&p, 3, 0.5, 0);
    p.input[IN_QVEL][0] += 1;
    checked c = problem_check(&p);
    for (int i = 0; i < IN_COUNT; i++) CHECK(c.error[i] <= 1e-6);
    CHECK(c.active > 0 && c.identical == 0);
    problem_free(&p);
  }
}

/* A wide box that is fixed, one that lies on it and one that slides over that, boxes of triangles all. */
static abut_model *boxes(void) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  scene_geom(b, 0, ABUT_GEOM_BOX, 1, 1, 0.1);
  scene_geom(b, scene_free_body(b, 0.01, 0.02, 0.2, 2, 0.02, 0.02, 0.02), ABUT_GEOM_BOX, 0.15, 0.2, 0.09);
  scene_geom(b, scene_free_body(b, 0.02, -0.01, 0.355, 0.5, 0.002, 0.003, 0.002), ABUT_GEOM_BOX, 0.07, 0.06,
             0.05);
  return scene_finish(b);
}

/* Adjoint of steps in which one box slides over another, and that sticks to the table, against differences.
 */
TEST(gradient_of_friction) {
  for (int form = test_quick(); form < 2; form++) {
    problem p;
    abut_options o = longrange(1);
    o.implicit.form = form;
    o.implicit.stiffness = form == ABUT_FORM_PAPER ? 1e-5 : 1e-3; /* a millimetre or two of gap in both */
    REQUIRE(problem_create(&p, "boxes", boxes(), o, test_quick() ? 2 : 8));
    p.directions = test_quick() ? 1 : 2;
    p.input[IN_QVEL][6] = 0.8; /* the upper one, past the other's friction; it turns, too */
    p.input[IN_QVEL][7] = 0.3;
    p.input[IN_QVEL][11] = 2;
    checked c = problem_check(&p);
    for (int i = 0; i < IN_COUNT; i++) CHECK(c.error[i] <= 1e-6); /* of a gradient that is exact */
    CHECK(c.active == 3 && c.identical == 0);
    CHECK(c.largest[IN_FRICTION] > 1e-3 * c.largest[IN_QVEL]); /* friction did decide */
    problem_free(&p);
  }
}

/* The same of two balls that pass each other so far apart that all of their pairs of triangles fade. */
TEST(gradient_of_fading_friction) {
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  for (int i = 0; i < 2; i++)
    scene_geom(b, scene_free_body(b, 0.24 * i, 0.03 * i, 0, 0.2, 1e-3, 2e-3, 1e-3), ABUT_GEOM_SPHERE, 0.1, 0,
               0);
  problem p;
  abut_options o = longrange(1);
  o.implicit.stiffness = 1;
  REQUIRE(problem_create(&p, "balls", scene_finish(b), o, 3));
  p.directions = 2;
  problem_random(&p, 5, 0.5, 0);
  p.input[IN_QVEL][1] = 1;
  checked c = problem_check(&p);
  for (int i = 0; i < IN_COUNT; i++) CHECK(c.error[i] <= 1e-6); /* of a gradient that is exact */
  CHECK(c.active == 1 && c.identical == 0);
  CHECK(c.largest[IN_FRICTION] > 1e-3 * c.largest[IN_QVEL]);
  problem_free(&p);
}

/* The task's scene with 32 triangles a ball: 16 of them on a table. */
static abut_model *billiards(void) {
  abut_model *from = scene_model("scenes/tasks/billiards.abut");
  abut_builder *b = from ? scene_begin(-9.81) : NULL;
  if (!b) return NULL;
  for (int32_t i = 1; i < abut_model_get_sizes(from).nbody; i++) {
    abut_body_def body;
    CHECK_STATUS(abut_model_body(from, i, &body), ABUT_OK);
    CHECK_STATUS(abut_builder_add_body(b, &body, NULL), ABUT_OK);
  }
  for (int32_t i = 0; i < abut_model_get_sizes(from).njnt; i++) {
    abut_joint_def joint;
    CHECK_STATUS(abut_model_joint(from, i, &joint), ABUT_OK);
    CHECK_STATUS(abut_builder_add_joint(b, &joint, NULL), ABUT_OK);
  }
  for (int32_t i = 0; i < abut_model_get_sizes(from).ngeom; i++) {
    abut_geom_def geom;
    CHECK_STATUS(abut_model_geom(from, i, &geom), ABUT_OK);
    geom.tessellation = 2;
    CHECK_STATUS(abut_builder_add_geom(b, &geom, NULL), ABUT_OK);
  }
  abut_model_destroy(from);
  return scene_finish(b);
}

/* The red ball hits its neighbours within 20 steps. */
TEST(gradient_of_billiards) {
  problem p;
  abut_options o = longrange(1);
  o.timestep = 0.04;
  o.implicit.stiffness = 1e-7;
  o.implicit.form = ABUT_FORM_PAPER;
  REQUIRE(problem_create(&p, "billiards", billiards(), o, test_quick() ? 3 : 20));
  p.directions = 1;
  p.input[IN_QVEL][0] = 3; /* of the red ball */
  p.input[IN_QVEL][1] = 0.2;
  p.first[IN_FRICTION] = 2e-3; /* longer differences are no better than 2e-6 */
  checked c = problem_check(&p);
  for (int i = 0; i < IN_COUNT; i++) CHECK(c.error[i] <= 1e-6); /* of a gradient that is exact */
  CHECK(c.identical == 0);
  problem_free(&p);
}

enum { SHOT_VARIABLES = 4, SHOT_POINTS = 4 };

/* Place (x, y), then velocity (x, y), of the red ball in an environment. */
static double *shot_variable(const problem *p, inputs *of, int64_t env, int variable) {
  int input = variable < 2 ? IN_QPOS : IN_QVEL; /* the red ball is the first body */
  return (double *)of->of[input].t.data + env * p->entries[input] + variable % 2;
}

/* Speed of the fastest ball but the red one at the end of a shot. */
static double others_speed(const problem *p, const run *r) {
  const double *v = (const double *)r->out[OUT_QVEL].t.data + p->nstep * p->scene.n.nv;
  double fastest = 0;
  for (int64_t i = 6; i < p->scene.n.nv; i += 6) fastest = fmax(fastest, vec3_norm(v + i));
  return fastest;
}

/* Fourth-order differences of a shot's four variables against its cotangents. */
static void check_shot(problem *p, adjoint *one, adjoint *many) {
  static const double points[SHOT_POINTS] = {-2, -1, 1, 2}, weights[SHOT_POINTS] = {1, -8, 8, -1};
  const double h = 1e-5; /* m, m/s: 1e-4 leaves 7e-7 in the printed form, 1e-6 a digit less */
  adjoint_cotangents(one, p);
  for (int64_t e = 0; e < SHOT_VARIABLES * SHOT_POINTS; e++)
    *shot_variable(p, &many->in, e, (int)(e / SHOT_POINTS)) += h * points[e % SHOT_POINTS];
  REQUIRE(adjoint_go(one, p));
  REQUIRE(inputs_apply(&many->in, p, many->batch, &many->run.args) && run_go(&many->run, many->batch));
  CHECK(many->run.result.failed_envs == 0);
  CHECK(others_speed(p, &one->run) > 0.1); /* below 0.005 where nothing hits them */
  for (int v = 0; v < SHOT_VARIABLES; v++) {
    double difference = 0, size, exact = *shot_variable(p, &one->grad, 0, v);
    for (int64_t i = 0; i < SHOT_POINTS; i++)
      difference += weights[i] / (12 * h) * loss_of(p, &many->run, SHOT_POINTS * v + i, &one->run, &size);
    if (getenv("ABUT_VERBOSE"))
      printf("form %d, variable %d: cotangent %.12g, difference %.12g\n", p->options.implicit.form, v, exact,
             difference);
    CHECK_REL(exact, difference, 1e-6); /* of a gradient that is exact (found: 6e-9) */
    CHECK(exact != difference);
  }
}

/* The task's variables, in both forms. Other hits may end a step at one of two minima (one_of_two_ends). */
TEST(gradient_of_a_shot) {
  for (int form = test_quick(); form < 2; form++) {
    problem p;
    adjoint one, many;
    abut_options o = longrange(1);
    o.timestep = 0.04;
    o.implicit.stiffness = 1e-7;
    o.implicit.form = form;
    REQUIRE(problem_create(&p, "shot", billiards(), o, 20));
    p.input[IN_QVEL][0] = 3;
    p.input[IN_QVEL][1] = 0.2;
    p.options.threads = 2;
    if (adjoint_create(&one, &p, p.options, 1) &&
        adjoint_create(&many, &p, p.options, SHOT_VARIABLES * SHOT_POINTS))
      check_shot(&p, &one, &many);
    adjoint_free(&one);
    adjoint_free(&many);
    problem_free(&p);
  }
}

/* A cube of 0.2 m and 1 kg, an edge down, 0.06 m above a table and thrown at it. */
static int cube_on_edge(problem *p, abut_options o, double speed) {
  abut_builder *b = scene_begin(0);
  if (!b) return 0;
  scene_geom(b, 0, ABUT_GEOM_BOX, 1, 1, 0.1);
  scene_geom(b, scene_free_body(b, 0, 0, 0.3, 1, 0.0067, 0.0067, 0.0067), ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  abut_model *model = scene_finish(b);
  if (!model || !problem_create(p, "cube", model, o, 1)) return 0;
  p->input[IN_QVEL][2] = -speed;
  return 1;
}

/* Angle of the cube after a step that began tilt off its edge; NAN where that did not end at a strict
 * minimum: close enough to the edge it ends at the saddle. */
static double cube_angle(problem *p, adjoint *a, double tilt) {
  double *q = (double *)a->in.of[IN_QPOS].t.data + 3, half = 3.14159265358979 / 8 + tilt / 2;
  q[0] = cos(half);
  q[2] = sin(half);
  if (!adjoint_go(a, p) || run_status(&a->run, 0) || array_get(&a->status, 0)) return NAN;
  const double *end = (const double *)a->run.out[OUT_QPOS].t.data + p->scene.n.nq + 3;
  return 2 * atan2(end[2], end[0]);
}

/* How far apart two such steps end that began 1e-5 rad apart, where they differ most. */
static double cube_ends_apart(problem *p) {
  adjoint a;
  double tilt[2] = {-0.1, 0.09}, end[2] = {NAN, NAN}, share = 0.5;
  if (adjoint_create(&a, p, p->options, 1)) {
    adjoint_cotangents(&a, p);
    for (int i = 0; i < 2; i++) end[i] = cube_angle(p, &a, tilt[i]);
    for (int round = 0; round < 60 && tilt[1] - tilt[0] > 1e-5; round++) {
      double middle = tilt[0] + share * (tilt[1] - tilt[0]), to = cube_angle(p, &a, middle);
      share = isnan(to) ? 0.7 * share : 0.5;
      if (isnan(to)) continue;
      int i = fabs(to - end[1]) < fabs(to - end[0]);
      tilt[i] = middle;
      end[i] = to;
    }
    CHECK(tilt[1] - tilt[0] <= 1e-5);
  }
  adjoint_free(&a);
  return fabs(end[1] - end[0]);
}

/* A step may have two minima, whatever the contact (docs/step.md, section 9): left and right of an edge, from
 * where inertia would carry it in by I/(m l) = 0.047 m. */
TEST(one_of_two_ends) {
  for (int kind = 0; kind < 3; kind++)
    for (int deep = 0; deep < 2; deep++) {
      problem p;
      abut_options o = longrange(1);
      o.timestep = 0.04;
      o.implicit.form = kind == 1 ? ABUT_FORM_PAPER : ABUT_FORM_WEIGHTED;
      if (kind == 2) o.implicit.contact = ABUT_CONTACT_LOCAL;
      REQUIRE(cube_on_edge(&p, o, deep ? 3 : 2.5)); /* in by 0.061 m, by 0.041 m */
      double apart = cube_ends_apart(&p);
      if (getenv("ABUT_VERBOSE")) printf("contact %d, %s: %g rad\n", kind, deep ? "deep" : "not deep", apart);
      CHECK(deep ? apart > 0.8 : apart < 1e-3); /* found: 0.9, 7e-5 */
      problem_free(&p);
    }
}

/* On a slope a box sticks below the friction angle, and slides down with g (sin - mu cos) above. The slope is
 * gravity's. */
TEST(slope) {
  const double g = 9.81, mu = 0.3, angle[2] = {0.2, 0.4}; /* tan: 0.203 and 0.423 */
  for (int slides = 0; slides < 2; slides++) {
    double s = sin(angle[slides]), c = cos(angle[slides]), q0[7] = {0, 0, 0.205, 1}, v0[6] = {0};
    abut_builder *b = scene_begin(0);
    REQUIRE(b);
    scene_gravity(b, g * s, 0, -g * c);
    scene_geom(b, 0, ABUT_GEOM_BOX, 4, 4, 0.1);
    scene_geom(b, scene_free_body(b, 0, 0, 0.205, 1, 0.01, 0.01, 0.01), ABUT_GEOM_BOX, 0.2, 0.2, 0.1);
    abut_model *model = scene_finish(b);
    REQUIRE(model);
    abut_options o = longrange(1);
    o.friction = mu;
    o.implicit.stiffness = 1e-8;
    scene_run *r = scene_rollout(model, o, 80, q0, v0, NULL);
    REQUIRE(r);
    CHECK(r->status[0] == 0);
    double v = scene_qvel(r, 0, 80)[0], a = (v - scene_qvel(r, 0, 60)[0]) / (20 * o.timestep);
    /* what sticks creeps where w v / sqrt(v^2 + 4 e^2) holds it; planes lean by the gap over the box, 1e-3 of
     * the force */
    double creep = 2 * o.implicit.slip_velocity * s / c / sqrt(mu * mu - s * s / (c * c));
    if (slides)
      CHECK_NEAR(a, g * (s - mu * c), 1e-3 * g);
    else
      CHECK_NEAR(v, creep, 0.01 * creep);
    scene_run_free(r);
    abut_model_destroy(model);
  }
}

/* Without gravity contact changes no momentum. */
TEST(momentum) {
  abut_model *model = three_bodies(0);
  REQUIRE(model);
  double v0[18] = {2, 0, 0, 1, 2, 3, -1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 2, 0}, q0[21];
  memcpy(q0, model->qpos0, sizeof q0);
  scene_run *r = scene_rollout(model, longrange(1), 30, q0, v0, NULL);
  REQUIRE(r);
  double start[3] = {0}, end[3] = {0}, largest_change = 0;
  for (int body = 1; body <= 3; body++)
    for (int c = 0; c < 3; c++) {
      double m = model->body_mass[body], a = scene_qvel(r, 0, 0)[6 * (body - 1) + c],
             z = scene_qvel(r, 0, 30)[6 * (body - 1) + c];
      start[c] += m * a;
      end[c] += m * z;
      largest_change = fmax(largest_change, fabs(z - a));
    }
  CHECK(largest_change > 0.5); /* they did push each other */
  abut_options smooth = longrange(1);
  smooth.friction = 0;
  scene_run *slid = scene_rollout(model, smooth, 30, q0, v0, NULL);
  REQUIRE(slid);
  CHECK(fabs(scene_qvel(slid, 0, 30)[5] - scene_qvel(r, 0, 30)[5]) > 0.01); /* and rubbed: spin is less */
  scene_run_free(slid);
  for (int c = 0; c < 3; c++)
    CHECK_NEAR(start[c], end[c], 30 * 1e-6 * 0.01 + 1e-12); /* a step's tolerance x dt, 30 times */
  CHECK(r->status[0] == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* Final state of env 0 of n after nstep steps in parts of `part`. */
static void final_state(scene *s, abut_options o, int64_t nstep, int64_t part, int32_t far, run *last) {
  abut_batch *b = batch_of(s, &o);
  if (!b) return;
  if (far) {
    b->backend->close(b);
    b->room = far;
    CHECK_STATUS(b->backend->open(b), ABUT_OK);
  }
  CHECK_STATUS(abut_batch_perturb(b, NULL, 5, 0, 1e-3, 0.3), ABUT_OK);
  for (int64_t t = 0; t < nstep; t += part) {
    if (t) run_free(last);
    run_create(last, s, &o, part);
    run_go(last, b);
  }
  abut_batch_destroy(b);
}
static int same_end(run *a, run *b, const scene *s, int64_t steps_a, int64_t steps_b) {
  const double *x = (const double *)a->out[OUT_QPOS].t.data + steps_a * s->n.nq,
               *y = (const double *)b->out[OUT_QPOS].t.data + steps_b * s->n.nq;
  return !memcmp(x, y, sizeof(double) * (size_t)s->n.nq);
}

static void same_bits_of(abut_model *model, int64_t nstep, int64_t reruns) {
  scene s = {model, {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  run alone, many, parts, grown;
  final_state(&s, longrange(1), nstep, nstep, 0, &alone);
  final_state(&s, longrange(9), nstep, nstep, 0, &many);
  final_state(&s, longrange(1), nstep, nstep / 4, 0, &parts);
  final_state(&s, longrange(1), nstep, nstep, 1, &grown);
  CHECK(same_end(&alone, &many, &s, nstep, nstep));
  CHECK(same_end(&alone, &parts, &s, nstep, nstep / 4));
  CHECK(same_end(&alone, &grown, &s, nstep, nstep));
  CHECK(grown.result.reruns >= reruns && grown.result.reruns > alone.result.reruns);
  run *all[4] = {&alone, &many, &parts, &grown};
  for (int i = 0; i < 4; i++) run_free(all[i]);
  scene_free(&s);
}

/* Neither neighbours in the batch, nor where a rollout was cut, nor lists that had to grow change a bit;
 * meshes that fade and that lie on each other. */
TEST(same_bits) {
  same_bits_of(three_bodies(-9.81), 20, 6);
  same_bits_of(boxes(), 20, 4);
}

/* However many pairs of triangles a vector holds, sums are the same: but for contracted products. */
TEST(instances_agree) {
  static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512", "generic"};
  scene s = {boxes(), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = longrange(1);
  o.tolerance = 1e-10;
  run best, r;
  final_state(&s, o, 10, 10, 0, &best);
  for (int i = 0; i < 5; i++) {
    const method_kernels *k = method_kernels_find(methods[0]->instances, ABUT_F64, isas[i]);
    abut_batch *b = k ? batch_of(&s, &o) : NULL;
    if (!b) continue;
    CHECK_STATUS(batch_use_kernels(b, k), ABUT_OK);
    CHECK_STATUS(abut_batch_perturb(b, NULL, 5, 0, 1e-3, 0.3), ABUT_OK);
    run_create(&r, &s, &o, 10);
    run_go(&r, b);
    double apart = run_distance(&r, &best, OUT_QPOS);
    if (getenv("ABUT_VERBOSE")) printf("%s: %g\n", isas[i], apart);
    CHECK(apart <= 1e-9); /* rounding of 10 steps whose forces end within 1e-10 */
    run_free(&r);
    abut_batch_destroy(b);
  }
  run_free(&best);
  scene_free(&s);
}

/* Final state of env 0 of two, of which the other has friction 0.5 (mixed) or as little as the first. */
static void friction_beside(scene *s, int mixed, run *last) {
  abut_options o = longrange(2);
  abut_batch *b = batch_of(s, &o);
  if (!b) return;
  array friction;
  array_create(&friction, 'd', 2, (int64_t[]){2, s->n.ngeom});
  for (size_t i = 0; i < friction.count; i++)
    array_set(&friction, i, mixed && i >= friction.count / 2 ? 0.5 : 0);
  abut_parameters parameters = {.friction = tensor(&friction)};
  CHECK_STATUS(abut_batch_set_parameters(b, &parameters), ABUT_OK);
  CHECK_STATUS(abut_batch_perturb(b, NULL, 5, 0, 1e-3, 0.3), ABUT_OK);
  run_create(last, s, &o, 10);
  run_go(last, b);
  array_free(&friction);
  abut_batch_destroy(b);
}

/* What does not rub does not notice that its neighbour does. */
TEST(no_friction_beside_friction) {
  scene s = {boxes(), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  run none, mixed;
  friction_beside(&s, 0, &none);
  friction_beside(&s, 1, &mixed);
  CHECK(same_end(&none, &mixed, &s, 10, 10));
  const size_t half = 11 * (size_t)s.n.nq;
  CHECK(array_get(&mixed.out[OUT_QPOS], 2 * half - 7) != array_get(&none.out[OUT_QPOS], 2 * half - 7));
  run_free(&none);
  run_free(&mixed);
  scene_free(&s);
}

/* f32 follows f64 as far as its digits go. */
TEST(single_precision) {
  scene s = {three_bodies(-9.81), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  run r[2];
  for (int i = 0; i < 2; i++) {
    abut_options o = longrange(1);
    o.dtype = i ? ABUT_F32 : ABUT_F64;
    o.tolerance = 1e-3;
    final_state(&s, o, 10, 10, 0, &r[i]);
  }
  for (int32_t i = 0; i < s.n.nq; i++)
    CHECK_NEAR(array_get(&r[0].out[OUT_QPOS], (size_t)(10 * s.n.nq + i)),
               array_get(&r[1].out[OUT_QPOS], (size_t)(10 * s.n.nq + i)),
               2e-3); /* 10 steps' tolerance and rounding */
  run_free(&r[0]);
  run_free(&r[1]);
  scene_free(&s);
}

/* Thrown at a thin plate from all around at up to 50 m/s and spinning, in steps of 0.5 m: none passes. */
TEST(nothing_passes_through) {
  int64_t n = test_quick() ? 8 : 64;
  abut_builder *b = scene_begin(0);
  REQUIRE(b);
  scene_geom(b, 0, ABUT_GEOM_BOX, 2, 2, 0.005);
  scene_geom(b, scene_free_body(b, 0, 0, 1, 0, 0, 0, 0), ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double *q0 = calloc((size_t)n * 7, sizeof *q0), *v0 = calloc((size_t)n * 6, sizeof *v0);
  uint64_t seed = 4;
  for (int64_t i = 0; i < n; i++) {
    double side = i % 2 ? 1 : -1, speed = 5 + 45 * scene_random(&seed);
    q0[7 * i] = scene_random(&seed) - 0.5;
    q0[7 * i + 1] = scene_random(&seed) - 0.5;
    q0[7 * i + 2] = side * (0.25 + 0.5 * scene_random(&seed));
    scene_random_unit(&seed, 4, q0 + 7 * i + 3);
    for (int c = 0; c < 2; c++) v0[6 * i + c] = 0.2 * speed * (scene_random(&seed) - 0.5);
    v0[6 * i + 2] = -side * speed;
    for (int c = 3; c < 6; c++) v0[6 * i + c] = 20 * (scene_random(&seed) - 0.5);
  }
  scene_run *r = scene_rollout(model, longrange(n), 4, q0, v0, NULL);
  REQUIRE(r);
  int64_t turned = 0;
  for (int64_t i = 0; i < n; i++) {
    CHECK((r->status[i] & ABUT_ENV_FROZEN) == 0);
    for (int64_t t = 1; t <= 4; t++) {
      const double *x = scene_qpos(r, i, t);
      if (x[2] * q0[7 * i + 2] < 0 && fabs(x[0]) < 2 && fabs(x[1]) < 2)
        test_fail(__FILE__, __LINE__, "throw %d is on the other side after step %d", (int)i, (int)t);
    }
    turned += scene_qvel(r, i, 4)[2] * q0[7 * i + 2] > 0;
  }
  CHECK(turned > n / 2); /* they came back */
  free(q0);
  free(v0);
  scene_run_free(r);
  abut_model_destroy(model);
}

#ifdef ABUT_HAVE_QHULL /* meshes have hulls, too */
/* A ring of square section in the plane z = 0, hole of radius `inner`. */
static mesh ring(double inner, double outer, double half, int sides) {
  mesh m = {calloc((size_t)sides * 12, sizeof(double)), calloc((size_t)sides * 24, sizeof(int32_t)),
            4 * sides, 8 * sides};
  for (int i = 0; i < sides; i++)
    for (int j = 0; j < 4; j++) {
      double a = 2 * 3.14159265358979 * i / sides, r = j == 0 || j == 3 ? inner : outer,
             *x = m.x + 3 * (4 * i + j);
      x[0] = r * cos(a), x[1] = r * sin(a), x[2] = j < 2 ? -half : half;
      int next = (i + 1) % sides, k = (j + 1) % 4;
      int32_t *t = m.t + 6 * (4 * i + j);
      t[0] = 4 * i + j, t[1] = 4 * next + j, t[2] = 4 * next + k;
      t[3] = 4 * i + j, t[4] = 4 * next + k, t[5] = 4 * i + k;
    }
  return m;
}

/* A ball falls through a ring, whose hull would stop it, and a ball as wide as the ring rests on it. */
TEST(not_convex) {
  for (int wide = 0; wide < 2; wide++) {
    abut_builder *b = scene_begin(-9.81);
    REQUIRE(b);
    mesh m = ring(0.2, 0.3, 0.03, 16);
    add_surface(b, 0, &m);
    mesh_free(&m);
    double radius = wide ? 0.25 : 0.1;
    scene_geom(b, scene_free_body(b, 0.002, 0.001, 0.5, 0, 0, 0, 0), ABUT_GEOM_SPHERE, radius, 0, 0);
    abut_model *model = scene_finish(b);
    REQUIRE(model);
    double q0[7] = {0.002, 0.001, 0.5, 1}, v0[6] = {0};
    abut_options o = longrange(1);
    o.implicit.stiffness = 1e-4;
    scene_run *r = scene_rollout(model, o, 60, q0, v0, NULL);
    REQUIRE(r);
    double z = scene_qpos(r, 0, 60)[2];
    CHECK(r->status[0] == 0);
    CHECK(wide ? z > 0.05 && z < 0.4 : z < -0.3);
    scene_run_free(r);
    abut_model_destroy(model);
  }
}

/* Meshes that meet at the start cannot be told apart: the environment says so and stays where it is. */
TEST(meeting_meshes_are_refused) {
  abut_builder *b = scene_begin(0);
  double zero[3] = {0, 0, 0};
  REQUIRE(b);
  for (int i = 0; i < 2; i++) {
    mesh m = bumpy_sphere(3, 2, 0.1, 0.2, zero);
    add_surface(b, scene_free_body(b, 0.1 * i, 0, 0, 1, 1, 1, 1), &m);
    mesh_free(&m);
  }
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  double v0[12] = {0}, q0[14];
  memcpy(q0, model->qpos0, sizeof q0);
  scene_run *r = scene_rollout(model, longrange(1), 2, q0, v0, NULL);
  REQUIRE(r);
  CHECK(r->status[0] == ABUT_ENV_OVERLAP);
  CHECK(!memcmp(scene_qpos(r, 0, 2), scene_qpos(r, 0, 0), sizeof(double) * 14));
  scene_run_free(r);
  abut_model_destroy(model);
}
#endif
