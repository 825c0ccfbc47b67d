/* test_soak.c: long runs of kicked and randomly driven scenes: environments fail at most once in a million
 * steps, and no number is ever without a value. ABUT_SOAK: env-steps per scene (./run soak); else few enough
 * for a test. */
#include "rollout.h"
#include <stdio.h>

/* An episode is SEGMENTS rollouts of STEPS steps; then every environment starts anew. */
enum { ENVS = 16, STEPS = 100, SEGMENTS = 10, HOLD = 20 };
static const double most_failures = 1e-6; /* environments per env-step */

typedef struct soak {
  scene scene;
  abut_batch *batch;
  run run;
  array ctrl; /* [ENVS, STEPS, nu] */
  uint64_t episode;
  uint32_t status[ENVS]; /* of the episode */
  double env_steps, seconds, iterations;
  int64_t iterations_max, unconverged_steps, without_value;
  int64_t failed, unconverged, nonfinite, overlap; /* environments, of all episodes */
} soak;

static double wanted_steps(void) {
  const char *text = getenv("ABUT_SOAK");
  return text ? strtod(text, NULL) : ENVS * STEPS * (test_quick() ? 1 : SEGMENTS);
}

static int soak_create(soak *s, const char *path, double kick) {
  memset(s, 0, sizeof *s);
  if (!scene_load(path, &s->scene)) return 0;
  abut_options o = test_options(ENVS);
  o.threads = 0;
  s->batch = batch_of(&s->scene, &o);
  if (!s->batch) return 0;
  run_create(&s->run, &s->scene, &o, STEPS);
  array_create(&s->ctrl, 'd', 3, (int64_t[]){ENVS, STEPS, s->scene.n.nu});
  s->run.args.ctrl = s->scene.n.nu ? tensor(&s->ctrl) : NULL;
  s->run.args.kick = kick;
  return 1;
}

static void soak_free(soak *s) {
  abut_batch_destroy(s->batch);
  run_free(&s->run);
  array_free(&s->ctrl);
  scene_free(&s->scene);
}

/* Uniform in each actuator's range; new at every step, in odd environments held for HOLD steps. */
static void fill_controls(soak *s, uint64_t segment) {
  int64_t nu = s->scene.n.nu;
  for (int64_t u = 0; u < nu; u++) {
    double range[2];
    CHECK_STATUS(abut_model_ctrlrange(s->scene.model, (int32_t)u, range), ABUT_OK);
    for (int64_t row = 0; row < ENVS * STEPS; row++) {
      int64_t since = row / STEPS % 2 ? row % HOLD : 0;
      uint64_t drawn = (uint64_t)((row - since) * nu + u) + (segment << 32);
      array_set(&s->ctrl, (size_t)(row * nu + u), test_uniform(drawn, range[0], range[1]));
    }
  }
}

/* Numbers of the outputs that are NaN or infinite; a gap is infinite where nothing is near. */
static int64_t count_without_value(const run *r) {
  static const int finite[] = {OUT_QPOS, OUT_QVEL, OUT_XPOS, OUT_XQUAT, OUT_FORCE, OUT_ENERGY};
  int64_t count = 0;
  for (size_t k = 0; k < sizeof finite / sizeof *finite; k++)
    for (size_t i = 0; i < r->out[finite[k]].count; i++) count += !isfinite(array_get(&r->out[finite[k]], i));
  for (size_t i = 0; i < r->out[OUT_GAP].count; i++) count += isnan(array_get(&r->out[OUT_GAP], i)) != 0;
  return count;
}

static int run_segment(soak *s, uint64_t segment) {
  fill_controls(s, segment);
  s->run.args.kick_seed = segment;
  if (!run_go(&s->run, s->batch)) return 0;
  const abut_rollout_result *result = &s->run.result;
  s->env_steps += ENVS * STEPS;
  s->seconds += result->seconds;
  s->iterations += (double)result->newton_iterations;
  s->unconverged_steps += result->unconverged_steps;
  if (result->newton_iterations_max > s->iterations_max) s->iterations_max = result->newton_iterations_max;
  s->without_value += count_without_value(&s->run);
  for (int i = 0; i < ENVS; i++) s->status[i] |= run_status(&s->run, i);
  return 1;
}

static int run_episode(soak *s) {
  memset(s->status, 0, sizeof s->status);
  CHECK_STATUS(abut_batch_reset(s->batch, NULL, -1), ABUT_OK);
  CHECK_STATUS(abut_batch_perturb(s->batch, NULL, s->episode, 0, 1e-4, 1e-4), ABUT_OK);
  for (int i = 0; i < (test_quick() ? 1 : SEGMENTS); i++)
    if (!run_segment(s, s->episode * SEGMENTS + (uint64_t)i)) return 0;
  for (int i = 0; i < ENVS; i++) {
    s->failed += s->status[i] != 0;
    s->unconverged += (s->status[i] & ABUT_ENV_UNCONVERGED) != 0;
    s->nonfinite += (s->status[i] & ABUT_ENV_NONFINITE) != 0;
    s->overlap += (s->status[i] & ABUT_ENV_OVERLAP) != 0;
  }
  s->episode++;
  return 1;
}

static void print_so_far(const soak *s, const char *path) {
  printf("%s: %.4g env-steps, %.0f/s, %.2f iterations mean, %lld max, %lld unconverged steps, %lld numbers "
         "without a value; environments failed: %lld (unconverged %lld, nonfinite %lld, overlap %lld)\n",
         path, s->env_steps, s->env_steps / s->seconds, s->iterations / s->env_steps,
         (long long)s->iterations_max, (long long)s->unconverged_steps, (long long)s->without_value,
         (long long)s->failed, (long long)s->unconverged, (long long)s->nonfinite, (long long)s->overlap);
}

static void check_scene(const char *path, double kick) {
  soak s;
  double wanted = wanted_steps(), next = 1e6;
  REQUIRE(soak_create(&s, path, kick));
  while (s.env_steps < wanted && run_episode(&s))
    if (s.env_steps >= next && s.env_steps < wanted) {
      print_so_far(&s, path);
      next += 1e6;
    }
  print_so_far(&s, path);
  CHECK((double)s.failed <= most_failures * s.env_steps);
  CHECK(s.without_value == 0);
  soak_free(&s);
}

TEST(ant_box) { check_scene("scenes/ant_box.abut", 0); }
TEST(pile) { check_scene("scenes/pile.abut", 0.05); }
TEST(chains4x8) { check_scene("scenes/chains4x8.abut", 0.05); }
