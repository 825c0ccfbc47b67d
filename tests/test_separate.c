/* test_separate.c: shapes that touch at the start are moved apart just enough, or the environment says so. */
#include "scene.h"

enum { CUBES = 3 };
static const double half = 0.1;

/* Cubes in a column on a floor, each exactly on the one below. */
static abut_model *column(void) {
  abut_builder *b = scene_begin(-9.81);
  if (!b) return NULL;
  scene_floor(b);
  for (int i = 0; i < CUBES; i++)
    scene_geom(b, scene_free_body(b, 0, 0, half * (2 * i + 1), 1, 0.01, 0.01, 0.01), ABUT_GEOM_BOX, half,
               half, half);
  return scene_finish(b);
}

/* Runs one step of copies whose qpos is off by up to `noise` (m, and quaternion components); all must start,
 * with gaps of about gap0 and no body moved by much more than its share of them. */
static void check_starts(double noise, abut_options options) {
  enum { N = 64 };
  double q0[N * 7 * CUBES];
  uint64_t seed = 5;
  for (int i = 0; i < N * 7 * CUBES; i++) {
    int c = i % 7, cube = i / 7 % CUBES;
    q0[i] = (c == 2 ? half * (2 * cube + 1) : c == 3) + noise * (2 * scene_random(&seed) - 1);
  }
  abut_model *model = column();
  REQUIRE(model);
  options.nenv = N;
  scene_run *r = scene_rollout(model, options, 1, q0, NULL, NULL);
  REQUIRE(r);
  CHECK(scene_failed(r) == 0);
  for (int64_t e = 0; e < N; e++)
    for (int cube = 0; cube < CUBES; cube++) {
      double rise = scene_qpos(r, e, 0)[7 * cube + 2] - half * (2 * cube + 1);
      /* a turn by `noise` lifts a face of half width 0.1 by less than noise */
      CHECK(rise > (cube + 1) * 0.9 * options.implicit.gap0 - 2 * (cube + 1) * noise);
      CHECK(rise < (cube + 1) * 1.5 * options.implicit.gap0 + 4 * (cube + 1) * noise);
    }
  scene_run_free(r);
  abut_model_destroy(model);
}

static abut_options separate_options(int32_t contact) {
  abut_options o = abut_default_options();
  o.implicit.contact = contact;
  o.implicit.gap0 = contact == ABUT_CONTACT_LOCAL ? 5e-4 : 1e-4; /* what 0 stands for */
  return o;
}

TEST(exact_column_starts) {
  check_starts(0, separate_options(ABUT_CONTACT_LOCAL));
  check_starts(0, separate_options(ABUT_CONTACT_INVERSE));
}
TEST(column_off_by_rounding_starts) {
  check_starts(1e-15, separate_options(ABUT_CONTACT_LOCAL));
  check_starts(1e-9, separate_options(ABUT_CONTACT_LOCAL));
  check_starts(1e-9, separate_options(ABUT_CONTACT_INVERSE));
}
TEST(column_off_by_micrometres_starts) { check_starts(1e-5, separate_options(ABUT_CONTACT_LOCAL)); }

/* The limit is that of a pair: gaps may add up beyond it at the top, but no pair may need more of its own;
 * then the environment says so and stays where it was. */
TEST(limit_is_kept) {
  double q0[7 * CUBES] = {0};
  for (int i = 0; i < CUBES; i++) q0[7 * i + 2] = half * (2 * i + 1), q0[7 * i + 3] = 1;
  abut_model *model = column();
  REQUIRE(model);
  abut_options o = separate_options(ABUT_CONTACT_LOCAL);
  o.nenv = 1;
  o.implicit.max_separation = 1.01 * o.implicit.gap0;
  scene_run *r = scene_rollout(model, o, 3, q0, NULL, NULL);
  REQUIRE(r);
  CHECK(r->status[0] == 0);
  CHECK(scene_qpos(r, 0, 0)[7 * (CUBES - 1) + 2] - q0[7 * (CUBES - 1) + 2] > 2 * o.implicit.max_separation);
  scene_run_free(r);
  o.implicit.max_separation = 0.99 * o.implicit.gap0;
  r = scene_rollout(model, o, 3, q0, NULL, NULL);
  REQUIRE(r);
  CHECK(r->status[0] == ABUT_ENV_OVERLAP);
  CHECK(memcmp(scene_qpos(r, 0, 0), q0, sizeof q0) == 0);
  CHECK(memcmp(scene_qpos(r, 0, 0), scene_qpos(r, 0, 3), sizeof q0) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
}

/* A box between a floor that it does not touch and one that overlaps it from above: being pushed apart must
 * not push it into the floor, however far that was at first. */
TEST(nobody_is_pushed_into_a_bystander) {
  abut_builder *b = scene_begin(-9.81);
  REQUIRE(b);
  scene_floor(b);
  for (int i = 0; i < 2; i++)
    scene_geom(b, scene_free_body(b, 0, 0, i ? 0.2955 : 0.1035, 1, 0.01, 0.01, 0.01), ABUT_GEOM_BOX, half,
               half, half);
  abut_model *model = scene_finish(b);
  REQUIRE(model);
  abut_options o = separate_options(ABUT_CONTACT_LOCAL);
  o.nenv = 1;
  o.implicit.max_separation = 0.02;
  scene_run *r = scene_rollout(model, o, 20, NULL, NULL, NULL);
  REQUIRE(r);
  CHECK(scene_failed(r) == 0);
  CHECK(scene_qpos(r, 0, 0)[2] > half + 0.9 * o.implicit.gap0);
  for (int64_t t = 0; t < 20; t++) CHECK(r->gap[t] > 0);
  scene_run_free(r);
  abut_model_destroy(model);
}
