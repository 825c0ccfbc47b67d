/* test_pile_up.c: six bodies thrown at one another at once: every step converges and momentum stays. */
#include "scene.h"

enum { BODIES = 6 };

/* Boxes, spheres, capsules and a lopsided mesh that fly into each other. */
static abut_model *cloud(void) {
  __attribute__((unused)) static const double rock[] = {-0.09, -0.08, -0.07, 0.12, -0.06, -0.05, 0.02, 0.13,
                                                        -0.06, 0.01,  0.02,  0.16, -0.1,  0.06,  0.05};
  abut_builder *b = scene_begin(0);
  if (!b) return NULL;
  int32_t body[BODIES];
  for (int i = 0; i < BODIES; i++) body[i] = scene_free_body(b, 0.5 * i, 0, 0, 0, 0, 0, 0);
  scene_geom(b, body[0], ABUT_GEOM_BOX, 0.1, 0.08, 0.12);
  scene_geom(b, body[1], ABUT_GEOM_SPHERE, 0.1, 0, 0);
  scene_geom(b, body[2], ABUT_GEOM_CAPSULE, 0.06, 0.1, 0);
#ifdef ABUT_HAVE_QHULL
  scene_mesh(b, body[3], rock, 5);
#else
  scene_geom(b, body[3], ABUT_GEOM_BOX, 0.1, 0.09, 0.08);
#endif
  scene_geom(b, body[4], ABUT_GEOM_CYLINDER, 0.08, 0.1, 0);
  scene_geom(b, body[5], ABUT_GEOM_BOX, 0.07, 0.11, 0.09);
  return scene_finish(b);
}

/* Bodies on the corners of an octahedron, turned at random, on their way to its middle. */
static void cloud_state(uint64_t seed, double qpos[7 * BODIES], double qvel[6 * BODIES]) {
  for (int i = 0; i < BODIES; i++) {
    double *q = qpos + 7 * i, *v = qvel + 6 * i, side = i % 2 ? -1 : 1;
    for (int c = 0; c < 3; c++) {
      q[c] = (c == i / 2 ? 0.35 * side : 0) + 0.05 * (scene_random(&seed) - 0.5);
      v[c] = -3 * q[c] + 0.2 * (scene_random(&seed) - 0.5);
      v[3 + c] = 4 * (scene_random(&seed) - 0.5);
    }
    scene_random_unit(&seed, 4, q + 3);
  }
}

static abut_options cloud_options(int64_t nenv) {
  abut_options o = abut_default_options();
  o.nenv = nenv;
  o.friction = 0.6;
  o.tolerance = 1e-12;
  return o;
}

static void check_linear_momentum(abut_options options) {
  enum { STEPS = 60 };
  int64_t n = options.nenv;
  double *q0 = malloc((size_t)n * 7 * BODIES * sizeof *q0), *v0 = malloc((size_t)n * 6 * BODIES * sizeof *v0);
  abut_model *model = cloud();
  REQUIRE(model && q0 && v0);
  for (int64_t i = 0; i < n; i++) cloud_state(7 + (uint64_t)i, q0 + 7 * BODIES * i, v0 + 6 * BODIES * i);
  scene_run *r = scene_rollout(model, options, STEPS, q0, v0, NULL);
  REQUIRE(r);
  for (int64_t i = 0; i < n; i++) {
    double first[3], now[3], size = scene_momentum(model, r, i, 0, first), hardest = 0;
    for (int64_t t = 1; t < STEPS; t++) {
      scene_momentum(model, r, i, t, now);
      for (int c = 0; c < 3; c++) CHECK_NEAR(now[c], first[c], 1e-9 * size);
    }
    for (int64_t t = 0; t < STEPS; t++)
      for (int32_t p = 0; p < r->size.npair; p++) hardest = fmax(hardest, vec3_norm(scene_force(r, i, t, p)));
    CHECK(hardest > 10); /* they met */
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
  free(q0);
  free(v0);
}

TEST(pile_up_conserves_linear_momentum_local) { check_linear_momentum(cloud_options(test_quick() ? 2 : 16)); }

TEST(pile_up_conserves_linear_momentum_inverse) {
  abut_options o = cloud_options(test_quick() ? 2 : 8);
  o.contact = ABUT_CONTACT_INVERSE;
  check_linear_momentum(o);
}
