/* test_parameters.c: parameters that differ per environment act on theirs, by their law, and on no other. */
#include "rollout.h"
#include <stdio.h>

enum { GRAVITY, FRICTION, MASS, STIFFNESS, GAIN, BIAS, KINDS };
static const char *const names[KINDS] = {"gravity", "friction", "mass", "stiffness", "gain", "bias"};
enum { N = 5, CHANGED = 3, STEPS = 25 };

/* The model's own values, as a batch starts with. */
static array defaults(const scene *s, const abut_options *o, int kind, int64_t rows) {
  const int64_t sizes[KINDS] = {3, s->n.ngeom, s->n.nbody, 1, s->n.nu, 3 * s->n.nu};
  array a;
  array_create(&a, o->dtype == ABUT_F32 ? 'f' : 'd', 2, (int64_t[]){rows, sizes[kind]});
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < sizes[kind]; i++) {
      abut_geom_def g;
      abut_body_def b;
      abut_actuator_def u;
      double v[3], x = 0;
      if (kind == GRAVITY) scene_model_gravity(s->model, v), x = v[i];
      if (kind == FRICTION) abut_model_geom(s->model, (int32_t)i, &g), x = g.friction;
      if (kind == MASS) abut_model_body(s->model, (int32_t)i, &b), x = b.mass;
      if (kind == STIFFNESS) x = o->implicit.stiffness;
      if (kind == GAIN) abut_model_actuator(s->model, (int32_t)i, &u), x = u.gain;
      if (kind == BIAS) abut_model_actuator(s->model, (int32_t)(i / 3), &u), x = u.bias[i % 3];
      array_set(&a, (size_t)(r * sizes[kind] + i), x);
    }
  return a;
}
static abut_parameters parameters_of(int kind, const abut_tensor *t) {
  const abut_tensor *list[KINDS] = {0};
  list[kind] = t;
  return (abut_parameters){.gravity = list[GRAVITY],
                           .friction = list[FRICTION],
                           .mass = list[MASS],
                           .stiffness = list[STIFFNESS],
                           .gain = list[GAIN],
                           .bias = list[BIAS]};
}
static void set_one(abut_batch *b, int kind, array *a) {
  abut_parameters p = parameters_of(kind, tensor(a));
  CHECK_STATUS(abut_batch_set_parameters(b, &p), ABUT_OK);
}

/* The arm sweeping into the mesh on the floor: gravity, mass, contact, friction and actuators all matter. */
typedef struct sweep {
  scene s;
  abut_options o;
  abut_batch *b;
  run r;
  array u;
} sweep;
static void sweep_create(sweep *w, int dtype) {
  memset(w, 0, sizeof *w);
  REQUIRE(scene_load("scenes/arm_mesh.abut", &w->s));
  w->o = test_options(N);
  w->o.dtype = dtype;
  w->o.tolerance = dtype == ABUT_F32 ? 1e-2 : 1e-6;
  w->b = batch_of(&w->s, &w->o);
  w->o = abut_batch_get_options(w->b);
  char real = dtype == ABUT_F32 ? 'f' : 'd';
  array_create(&w->u, real, 3, (int64_t[]){1, 1, w->s.n.nu});
  for (size_t i = 0; i < w->u.count; i++) array_set(&w->u, i, i ? 0.3 : 1.5);
  CHECK_STATUS(abut_batch_reset(w->b, NULL, 0), ABUT_OK);
  run_create(&w->r, &w->s, &w->o, STEPS);
  w->r.args.ctrl = tensor(&w->u);
}
static void sweep_free(sweep *w) {
  run_free(&w->r);
  array_free(&w->u);
  abut_batch_destroy(w->b);
  scene_free(&w->s);
}
/* Runs with `factor` times parameter `kind` in environment CHANGED of `rows` rows. */
static void sweep_run(sweep *w, int dtype, int kind, int64_t rows, double factor) {
  sweep_create(w, dtype);
  if (rows) {
    array a = defaults(&w->s, &w->o, kind, rows);
    size_t n = a.count / (size_t)rows;
    for (size_t i = 0; rows == N && i < n; i++)
      array_set(&a, CHANGED * n + i, array_get(&a, CHANGED * n + i) * factor);
    set_one(w->b, kind, &a);
    array_free(&a);
  }
  run_go(&w->r, w->b);
}

static void check_kind(const sweep *plain, int dtype, int kind) {
  sweep one, all, changed;
  sweep_run(&one, dtype, kind, 1, 1);
  sweep_run(&all, dtype, kind, N, 1);
  sweep_run(&changed, dtype, kind, N, 1.5);
  for (int64_t i = 0; i < N; i++) {
    run_check_same("defaults of shape 1", &one.r, i, &plain->r, i);
    run_check_same("defaults of shape N", &all.r, i, &plain->r, i);
    if (i != CHANGED) run_check_same(names[kind], &changed.r, i, &plain->r, i);
  }
  if (!run_difference(&changed.r, CHANGED, &plain->r, CHANGED))
    test_fail(__FILE__, __LINE__, "%s had no effect", names[kind]);
  CHECK(!(run_status(&changed.r, CHANGED) & ABUT_ENV_FROZEN));
  sweep_free(&one);
  sweep_free(&all);
  sweep_free(&changed);
}

TEST(each_parameter_acts_on_its_environment_only) {
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    sweep plain;
    sweep_run(&plain, dtype, 0, 0, 1);
    CHECK(run_status(&plain.r, 0) == 0);
    for (int kind = 0; kind < KINDS; kind++) check_kind(&plain, dtype, kind);
    sweep_free(&plain);
  }
}

/* ---------------------------------------------------------------------------------------- laws */

/* A ball in free fall and a motor on a slide without gravity along it. */
static abut_model *lift_model(void) {
  abut_builder *b;
  abut_model *m = NULL;
  if (abut_builder_create(&b) != ABUT_OK) return NULL;
  abut_body_def ball = abut_default_body_def(), cart = abut_default_body_def();
  abut_geom_def sphere = abut_default_geom_def();
  abut_joint_def rod = abut_default_joint_def(), free_joint = abut_default_joint_def();
  abut_actuator_def motor = abut_default_actuator_def();
  ball.pos[2] = 5;
  cart.pos[0] = 5;
  sphere.type = ABUT_GEOM_SPHERE;
  sphere.size[0] = 0.1;
  rod.type = ABUT_JOINT_SLIDE;
  rod.axis[0] = 1, rod.axis[1] = rod.axis[2] = 0;
  free_joint.type = ABUT_JOINT_FREE;
  abut_builder_add_body(b, &ball, &free_joint.body);
  abut_builder_add_body(b, &cart, &rod.body);
  abut_builder_add_joint(b, &free_joint, NULL);
  abut_builder_add_joint(b, &rod, &motor.joint);
  sphere.body = free_joint.body;
  abut_builder_add_geom(b, &sphere, NULL);
  sphere.body = rod.body;
  abut_builder_add_geom(b, &sphere, NULL);
  motor.gear = 2;
  motor.gain = 3;
  abut_builder_add_actuator(b, &motor, NULL);
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

TEST(parameters_obey_their_laws) {
  scene s = {lift_model(), {0}};
  REQUIRE(s.model);
  s.n = abut_model_get_sizes(s.model);
  abut_options o = test_options(3);
  abut_batch *b = batch_of(&s, &o);
  o = abut_batch_get_options(b);
  array g = defaults(&s, &o, GRAVITY, 3), m = defaults(&s, &o, MASS, 3), k = defaults(&s, &o, GAIN, 3),
        c = defaults(&s, &o, BIAS, 1), u;
  double mass = array_get(&m, 2);
  array_set(&g, 3 * 1 + 2, 4); /* environment 1: gravity up, */
  array_set(&g, 3 * 1 + 1, 2); /* and aside */
  array_set(&m, 3 * 2 + 1, 7); /* environment 2: masses, */
  array_set(&m, 3 * 2 + 2, 2 * mass);
  array_set(&k, 2, 5);   /* and gain */
  array_set(&c, 0, 0.5); /* all: a constant force */
  abut_parameters p = {.gravity = tensor(&g), .mass = tensor(&m), .gain = tensor(&k), .bias = tensor(&c)};
  CHECK_STATUS(abut_batch_set_parameters(b, &p), ABUT_OK);
  array_create(&u, 'd', 3, (int64_t[]){1, 1, 1});
  array_set(&u, 0, 0.25);
  run r;
  run_create(&r, &s, &o, 10);
  r.args.ctrl = tensor(&u);
  run_go(&r, b);
  const double t = 10 * o.timestep, fall[3][2] = {{0, array_get(&g, 2)}, {2, 4}, {0, array_get(&g, 8)}};
  const double force[3] = {2 * (3 * 0.25 + 0.5), 2 * (3 * 0.25 + 0.5), 2 * (5 * 0.25 + 0.5)};
  for (size_t i = 0; i < 3; i++) {
    size_t last = (i * 11 + 10) * 7;
    for (size_t a = 0; a < 2; a++)
      CHECK_NEAR(array_get(&r.out[OUT_QVEL], last + 1 + a), fall[i][a] * t, 1e-9);
    double pushed = force[i] / (mass * (i == 2 ? 2 : 1));
    CHECK_NEAR(array_get(&r.out[OUT_QVEL], last + 6), pushed * t, 1e-9);
  }
  array *all[] = {&g, &m, &k, &c, &u};
  for (int i = 0; i < 5; i++) array_free(all[i]);
  run_free(&r);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Resting forces carry the weight: a mass that differs shows in them, and stiffness only in the gap. */
TEST(mass_and_stiffness_in_contact) {
  scene s;
  REQUIRE(scene_load("scenes/incline.abut", &s));
  abut_options o = test_options(3);
  abut_batch *b = batch_of(&s, &o);
  o = abut_batch_get_options(b);
  array mass = defaults(&s, &o, MASS, 3), stiff = defaults(&s, &o, STIFFNESS, 3),
        mu = defaults(&s, &o, FRICTION, 3);
  size_t nbody = (size_t)s.n.nbody;
  for (size_t i = 0; i < nbody; i++) array_set(&mass, nbody + i, 3 * array_get(&mass, nbody + i));
  array_set(&stiff, 2, 10 * o.implicit.stiffness);
  for (size_t i = 0; i < mu.count; i++) array_set(&mu, i, 1);
  abut_parameters p = {.friction = tensor(&mu), .mass = tensor(&mass), .stiffness = tensor(&stiff)};
  CHECK_STATUS(abut_batch_set_parameters(b, &p), ABUT_OK);
  run r;
  run_create(&r, &s, &o, 200);
  run_go(&r, b);
  double weight[3], gap[3];
  for (size_t i = 0; i < 3; i++) {
    size_t last = i * 200 + 199;
    double f[3];
    for (size_t c = 0; c < 3; c++) f[c] = array_get(&r.out[OUT_FORCE], 3 * last + c);
    weight[i] = sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
    gap[i] = array_get(&r.out[OUT_GAP], last);
    CHECK(run_status(&r, (int64_t)i) == 0);
  }
  CHECK_REL(weight[0], 9.81, 1e-3);
  CHECK_REL(weight[1], 3 * 9.81, 1e-3);
  CHECK_REL(weight[2], 9.81, 1e-3);
  CHECK(gap[1] < 0.95 * gap[0] && gap[2] > 1.05 * gap[0]);
  array *all[] = {&mass, &stiff, &mu};
  for (int i = 0; i < 3; i++) array_free(all[i]);
  run_free(&r);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* ---------------------------------------------------------------------------------------- bad input */

/* Refused by name and value; nothing of the call is taken over. */
TEST(bad_parameters_are_refused) {
  const struct {
    int kind;
    double value;
    const char *says;
  } bad[] = {{GRAVITY, NAN, "gravity[1, 2]: nan"},
             {FRICTION, -0.1, "friction[1, 2]: -0.1"},
             {MASS, 0, "mass[1, 2]: 0"},
             {MASS, -1, "mass[1, 2]: -1"},
             {MASS, INFINITY, "mass[1, 2]: inf"},
             {STIFFNESS, 0, "stiffness[1, 0]: 0"},
             {STIFFNESS, -1, "stiffness[1, 0]: -1"},
             {GAIN, NAN, "gain[1, 2]: nan"},
             {BIAS, -INFINITY, "bias[1, 2]: -inf"}};
  sweep plain, w;
  sweep_run(&plain, ABUT_F64, 0, 0, 1);
  sweep_create(&w, ABUT_F64);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    array a = defaults(&w.s, &w.o, bad[i].kind, N), good = defaults(&w.s, &w.o, GRAVITY, 1);
    size_t n = a.count / N;
    array_set(&a, n + (bad[i].kind == STIFFNESS ? 0 : 2), bad[i].value);
    array_set(&good, 2, 100);
    abut_parameters p = parameters_of(bad[i].kind, tensor(&a));
    if (bad[i].kind != GRAVITY) p.gravity = tensor(&good); /* a good array beside a bad one */
    CHECK_STATUS(abut_batch_set_parameters(w.b, &p), ABUT_ERROR_ARGUMENT);
    if (!strstr(abut_error_message(), bad[i].says))
      test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", abut_error_message(), bad[i].says);
    array_free(&a);
    array_free(&good);
  }
  run_go(&w.r, w.b);
  for (int64_t i = 0; i < N; i++) run_check_same("after refusals", &w.r, i, &plain.r, i);
  sweep_free(&plain);
  sweep_free(&w);
}

TEST(misshapen_parameters_are_refused) {
  sweep w;
  sweep_create(&w, ABUT_F64);
  for (int kind = 0; kind < KINDS; kind++) {
    array a = defaults(&w.s, &w.o, kind, N);
    abut_parameters p = parameters_of(kind, tensor(&a));
    for (int way = 0; way < 5; way++) {
      abut_tensor keep = a.t;
      int64_t shape[2] = {a.shape[0], a.shape[1]};
      if (way == 0) a.shape[0] = N - 1;
      if (way == 1) a.shape[1]++;
      if (way == 2) a.t.ndim = 1;
      if (way == 3) a.t.dtype.bits = 32;
      if (way == 4) a.t.data = NULL;
      CHECK_STATUS(abut_batch_set_parameters(w.b, &p), ABUT_ERROR_ARGUMENT);
      CHECK(strstr(abut_error_message(), names[kind]));
      a.t = keep;
      memcpy(a.shape, shape, sizeof shape);
    }
    CHECK_STATUS(abut_batch_set_parameters(w.b, &p), ABUT_OK);
    CHECK_STATUS(abut_batch_set_parameters(NULL, &p), ABUT_ERROR_ARGUMENT);
    array_free(&a);
  }
  CHECK_STATUS(abut_batch_set_parameters(w.b, NULL), ABUT_ERROR_ARGUMENT);
  sweep_free(&w);
}
