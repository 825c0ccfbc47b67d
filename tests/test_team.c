/* test_team.c: 32 threads share an environment as a warp of a GPU does, and compute what one thread computes.
 * Fibres in random order find a missing team_sync by its results; threads under ThreadSanitizer by its
 * accesses (tests/check_race.sh runs this program with arguments for that). */
#include "host/batch/batch.h"
#include "blended.h"
#include "rollout.h"
#include "team_run.h"
#include "tendons.h"
#include <stdio.h>
#include <string.h>

extern const method_kernels team_kernels_f64;
extern const item_kernels team_items_f64;

/* A kicked rollout and its gradient with the given kernels. */
typedef struct outcome {
  run r;
  array qpos0, qvel0;
} outcome;

static int simulate(const scene *s, const method_kernels *k, int64_t nenv, int64_t nstep, int32_t contact,
                    outcome *out) {
  abut_options o = test_options(nenv);
  o.implicit.contact = contact;
  o.threads = 1;
  abut_batch *b = batch_of(s, &o);
  if (!b) return 0;
  CHECK_STATUS(batch_use_kernels(b, k), ABUT_OK);
  run_create(&out->r, s, &o, nstep);
  out->r.args.record = 1;
  out->r.args.kick = 0.05;
  array bar;
  array_create(&bar, 'd', 3, (int64_t[]){nenv, nstep + 1, s->n.nq});
  array_create(&out->qpos0, 'd', 2, (int64_t[]){nenv, s->n.nq});
  array_create(&out->qvel0, 'd', 2, (int64_t[]){nenv, s->n.nv});
  for (size_t i = 0; i < bar.count; i++) array_set(&bar, i, 1);
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos = tensor(&bar);
  v.qpos0 = tensor(&out->qpos0);
  v.qvel0 = tensor(&out->qvel0);
  int ok = run_go(&out->r, b);
  ok = ok && abut_rollout_vjp(b, &v, NULL, NULL) == ABUT_OK;
  array_free(&bar);
  abut_batch_destroy(b);
  return ok;
}
static void outcome_free(outcome *o) {
  run_free(&o->r);
  array_free(&o->qpos0);
  array_free(&o->qvel0);
}

static int same_outcome(const outcome *a, const outcome *b) {
  int same = array_same(&a->qpos0, &b->qpos0) && array_same(&a->qvel0, &b->qvel0);
  for (int i = 0; i < OUT_COUNT; i++) same &= array_same(&a->r.out[i], &b->r.out[i]);
  return same;
}

/* path NULL: the scene of tendons.h. */
static void compare(const char *path, int32_t contact, int64_t nstep) {
  scene s;
  outcome one, team[2];
  if (!(path ? scene_load(path, &s) : scene_take(tendon_scene(), &s))) return;
  CHECK(
      simulate(&s, method_kernels_find(methods[0]->instances, ABUT_F64, "scalar"), 2, nstep, contact, &one));
  for (int i = 0; i < 2; i++) {
    team_use((team_plan){TEAM_FIBRES, (uint64_t)(7 + i), -1});
    CHECK(simulate(&s, &team_kernels_f64, 2, nstep, contact, &team[i]));
    CHECK(team_syncs() > 100 && !team_parted());
  }
  CHECK(same_outcome(&team[0], &team[1]));
#ifdef ABUT_STRICT
  CHECK(same_outcome(&team[0], &one));
#endif
  CHECK_NEAR(run_distance(&team[0].r, &one.r, OUT_QPOS), 0, 1e-9); /* the compilations contract
                                                                     differently; grown over a few steps */
  outcome_free(&one);
  for (int i = 0; i < 2; i++) outcome_free(&team[i]);
  scene_free(&s);
}

TEST(team_equals_one_thread_stack5) { compare("scenes/stack5.abut", ABUT_CONTACT_LOCAL, 3); }
TEST(team_equals_one_thread_inverse) { compare("scenes/stack5.abut", ABUT_CONTACT_INVERSE, 2); }
TEST(team_equals_one_thread_longrange) { compare("scenes/stack5.abut", ABUT_CONTACT_LONGRANGE, 2); }
TEST(team_equals_one_thread_ant_box) { compare("scenes/ant_box.abut", ABUT_CONTACT_LOCAL, 3); }
TEST(team_equals_one_thread_chains4x8) { compare("scenes/chains4x8.abut", ABUT_CONTACT_LOCAL, 1); }
TEST(team_equals_one_thread_tendons) { compare(NULL, ABUT_CONTACT_LOCAL, 3); }
TEST(team_equals_one_thread_arm_mesh) { compare("scenes/arm_mesh.abut", ABUT_CONTACT_LOCAL, 2); }

TEST(team_equals_one_thread_manifolds) {
  static blended_results one, team[2];
  for (int selection = ABUT_SELECT_HARD; selection <= ABUT_SELECT_SOFTSORT; selection++) {
    CHECK(blended_run_with(item_kernels_find(ABUT_F64, "scalar"), selection, &one) > 0);
    for (int i = 0; i < 2; i++) {
      team_use((team_plan){TEAM_FIBRES, (uint64_t)(7 + i), -1});
      CHECK(blended_run_with(&team_items_f64, selection, &team[i]) > 0);
      CHECK(team_syncs() > 100 && !team_parted());
    }
    CHECK(memcmp(&team[0], &team[1], sizeof one) == 0);
#ifdef ABUT_STRICT
    CHECK(memcmp(&team[0], &one, sizeof one) == 0);
#endif
    CHECK(blended_close(&team[0], &one, 1e-10));
  }
}

/* Leaving out one team_sync must show in some order of the fibres. */
TEST(fibres_find_a_planted_race) {
  scene s;
  outcome good, bad;
  int found = 0, tries = 12;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  team_use((team_plan){TEAM_FIBRES, 1, -1});
  CHECK(simulate(&s, &team_kernels_f64, 1, 1, ABUT_CONTACT_LOCAL, &good));
  int64_t syncs = team_syncs();
  for (int i = 0; i < tries; i++) {
    team_use((team_plan){TEAM_FIBRES, (uint64_t)(100 + i), syncs * (i + 1) / (tries + 1)});
    int ok = simulate(&s, &team_kernels_f64, 1, 1, ABUT_CONTACT_LOCAL, &bad);
    found += !ok || !same_outcome(&good, &bad);
    outcome_free(&bad);
  }
  if (found < tries / 2)
    test_fail(__FILE__, __LINE__, "only %d of %d planted races were found", found, tries);
  outcome_free(&good);
  scene_free(&s);
}

TEST(fibres_find_a_planted_race_in_manifolds) {
  static blended_results good, bad;
  int found = 0, tries = 12;
  team_use((team_plan){TEAM_FIBRES, 1, -1});
  blended_run_with(&team_items_f64, ABUT_SELECT_HARD, &good);
  int64_t syncs = team_syncs();
  for (int i = 0; i < tries; i++) {
    team_use((team_plan){TEAM_FIBRES, (uint64_t)(100 + i), syncs * (i + 1) / (tries + 1)});
    blended_run_with(&team_items_f64, ABUT_SELECT_HARD, &bad);
    found += memcmp(&good, &bad, sizeof good) != 0 || team_parted();
  }
  if (found < tries / 2)
    test_fail(__FILE__, __LINE__, "only %d of %d planted races were found", found, tries);
}

/* For ThreadSanitizer: what it reports decides, not the results. */
TEST(threads_run_a_step) {
  const char *skip = getenv("ABUT_SKIP_SYNC");
  scene s;
  outcome out;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  team_use((team_plan){TEAM_THREADS, 1, skip ? atoll(skip) : -1});
  simulate(&s, &team_kernels_f64, 1, test_quick() ? 1 : 2, ABUT_CONTACT_LOCAL, &out);
  CHECK(team_syncs() > 100);
  outcome_free(&out);
  scene_free(&s);
}
TEST(threads_run_manifolds) {
  static blended_results out;
  team_use((team_plan){TEAM_THREADS, 1, -1});
  for (int selection = ABUT_SELECT_HARD; selection <= ABUT_SELECT_SOFTSORT; selection++)
    CHECK(blended_run_with(&team_items_f64, selection, &out) > 0);
}
