/* test_work.c: what abut_work counts: numbers that count compute what other numbers compute, operations of
 * the pair kernel have a budget, and a byte counts once per call and way. */
#include "host/batch/batch.h"
#include "rollout.h"
#include "work/tally.h"
#include <string.h>

/* As the compiler calls them. */
void __tsan_read8(const void *p);
void __tsan_write4(const void *p);

TEST(a_byte_counts_once_per_way_and_call) {
  double work[8] = {0}, other[2] = {0};
  abut_model m = {0};
  step_params k = {.model = &m, .work.size = 4}; /* work[0] to work[3] */
  implicit_group own = {0};
  lane_group g = {.work = work, .own = &own};
  program_io io = {0};
  for (int pass = 0; pass < 2; pass++) {
    memset(tally_stage, 0, sizeof tally_stage);
    tally_begin(&k, &g, &io, sizeof *work);
    __tsan_read8(work);
    __tsan_read8(work);
    CHECK(tally_now.bytes == 8);
    __tsan_write4(work); /* half of what was read */
    CHECK(tally_now.bytes == 12);
    __tsan_read8(work + 3);
    CHECK(tally_now.bytes == 20);
    __tsan_read8(work + 4); /* not the environment's */
    __tsan_read8(other);
    __tsan_read8(&g.live);
    CHECK(tally_now.bytes == 28);
    tally_end(STAGE_judge);
    CHECK(tally_stage[STAGE_judge].bytes == 28 && tally_stage[STAGE_judge].calls == 1);
    __tsan_read8(work); /* between calls nothing counts */
    CHECK(tally_now.bytes == 28);
  }
}

/* The joint evaluation of a Newton iteration, two cubes of 8 points, inverse barrier
 * (kernels/items/bench.inl). Every pair pays it in every iteration: fewer operations are a new budget, more
 * need a reason. */
enum { ROW = 91 + 62 + 42, POINTS = 8 };
static tally pair_work(int which) {
  double block[ROW] = {0};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < POINTS; i++) {
      double *p = block + 5 * (POINTS * side + i), sign = side ? 1 : -1;
      p[0] = (i & 1 ? 0.5 : -0.5) + 0.1 * side;
      p[1] = (i & 2 ? 0.5 : -0.5) + 0.03 * i;
      p[2] = (i & 4 ? 0.5 : -0.5) + 0.55 * sign;
      p[4] = 1;
    }
  counted_items_f64.bench_plane(3, 1, block); /* its plane */
  tally_now = (tally){0};
  counted_items_f64.bench_plane(which, 1, block);
  return tally_now;
}
TEST(the_pair_kernel_keeps_its_budget) {
  const tally budget = {.additions = 818, .multiplications = 1189, .divisions = 25, .roots = 1};
  tally t = pair_work(0), warm = pair_work(1);
  if (memcmp(&t, &budget, sizeof t) != 0)
    test_fail(__FILE__, __LINE__, "%lld additions, %lld multiplications, %lld divisions, %lld roots",
              (long long)t.additions, (long long)t.multiplications, (long long)t.divisions,
              (long long)t.roots);
  CHECK(warm.multiplications > t.multiplications + 500); /* the nested solve comes on top */
}

static int simulate(const scene *s, const method_kernels *kernels, run *r) {
  abut_options o = test_options(2);
  o.threads = 1;
  abut_batch *b = batch_of(s, &o);
  if (!b) return 0;
  CHECK_STATUS(batch_use_kernels(b, kernels), ABUT_OK);
  run_create(r, s, &o, 3);
  r->args.kick = 0.05;
  int ok = run_go(r, b);
  abut_batch_destroy(b);
  return ok;
}
TEST(numbers_that_count_compute_the_same) {
  const char *const scenes[] = {"scenes/stack5.abut", "scenes/ant_box.abut"};
  for (int i = 0; i < 2; i++) {
    scene s;
    run counted, plain;
    if (!scene_load(scenes[i], &s)) return;
    CHECK(simulate(&s, method_kernels_find(methods[0]->instances, ABUT_F64, "scalar"), &plain));
    memset(tally_stage, 0, sizeof tally_stage);
    CHECK(simulate(&s, &counted_kernels_f64, &counted));
    CHECK_NEAR(run_distance(&counted, &plain, OUT_QPOS), 0, 1e-9);
#ifdef ABUT_STRICT
    CHECK(array_same(&counted.out[OUT_QPOS], &plain.out[OUT_QPOS]));
#endif
    /* 2 environments, 3 steps; the factorisation of H divides once per row */
    const tally *hull = &tally_stage[STAGE_evaluate_hull], *floor = &tally_stage[STAGE_evaluate_halfspace];
    const tally *solve = &tally_stage[STAGE_direction_open];
    const int64_t calls = hull->calls, additions = hull->additions + floor->additions;
    CHECK(calls >= 6 && calls == floor->calls && additions > 1000 * calls);
    CHECK(hull->bytes + floor->bytes > 1000 * calls);
    CHECK(solve->calls > 0 && solve->divisions >= s.n.nv * solve->calls);
    CHECK(tally_stage[STAGE_judge].additions == 0 && tally_stage[STAGE_judge].bytes > 0);
    CHECK(tally_stage[STAGE_vjp_hull].calls == 0);
    run_free(&counted);
    run_free(&plain);
    scene_free(&s);
  }
}
