/* test_cuda.c: the CUDA backend without a GPU: a fake runtime runs the CPU twins of its launches, checks
 * their geometry, replays its graphs and fails each of its calls in turn. */
#include "kernels/method/implicit.h"
#include "host/batch/backend.h"
#include "host/cuda/cuda_memory.h"
#include "fake_cuda.h"
#include "outcome.h"
#include "host/cuda/profile.h"
#include "host/measure/measure_roof.h"
#include "team_run.h"
#include "tendons.h"
#include <stdio.h>
#include <string.h>

typedef struct trial {
  const char *path;                      /* NULL: the scene of tendons.h */
  int32_t dtype, contact, capacity, far; /* far: entries in long-range lists at first */
  int64_t nenv, nstep;
  int unroll, threads_each; /* threads_each: one thread for each environment */
} trial;

static int on_cpu(const scene *s, const trial *t, outcome *o) {
  abut_options options = test_options(t->nenv);
  options.dtype = t->dtype;
  options.implicit.contact = t->contact;
  outcome_create(o, s, &options, t->nstep);
  abut_batch *b = batch_of(s, &options);
  if (!b) return 0;
  if (t->dtype == ABUT_F64)
    CHECK_STATUS(batch_use_kernels(b, method_kernels_find(methods[0]->instances, ABUT_F64, "scalar")),
                 ABUT_OK);
  outcome_go(o, b);
  abut_batch_destroy(b);
  return o->reverse == ABUT_OK;
}

static int on_gpu(const scene *s, const trial *t, outcome *o) {
  abut_options options = test_options(t->nenv);
  options.dtype = t->dtype;
  options.implicit.contact = t->contact;
  options.device = ABUT_DEVICE_CUDA;
  options.implicit.pair_capacity = t->capacity;
  outcome_create(o, s, &options, t->nstep);
  options.team = t->threads_each ? 1 : 32;
  abut_batch *b = batch_of(s, &options);
  if (!b) return 0;
  if (t->far) {
    b->backend->close(b);
    b->room = t->far;
    CHECK_STATUS(b->backend->open(b), ABUT_OK);
  }
  if (t->unroll) cuda_unroll(b);
  outcome_go(o, b);
  abut_batch_destroy(b);
  return o->reverse == ABUT_OK;
}

/* The CPU's results, from every mapping, as loops and unrolled. */
static void compare(trial t) {
  scene s;
  outcome cpu, gpu[4];
  if (!(t.path ? scene_load(t.path, &s) : scene_take(tendon_scene(), &s))) return;
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 3, -1});
  CHECK(on_cpu(&s, &t, &cpu));
  for (int i = 0; i < 4; i++) {
    t.unroll = i & 1;
    t.threads_each = i >> 1;
    CHECK(on_gpu(&s, &t, &gpu[i]));
    CHECK(fake_live_objects() == 0);
    CHECK(!team_parted());
    CHECK(same_outcome(&gpu[i], &gpu[0]));
    CHECK(gpu[i].result.newton_iterations == gpu[0].result.newton_iterations);
    CHECK(gpu[i].result.failed_envs == cpu.result.failed_envs);
    CHECK(gpu[i].result.reruns > 0 || (t.capacity == 0 && t.far == 0));
  }
#ifdef ABUT_STRICT
  CHECK(same_outcome(&gpu[0], &cpu));
#endif
  CHECK_NEAR(run_distance(&gpu[0].r, &cpu.r, OUT_QPOS), 0, t.dtype == ABUT_F64 ? 1e-9 : 1e-3);
  for (int i = 0; i < 4; i++) outcome_free(&gpu[i]);
  outcome_free(&cpu);
  scene_free(&s);
}

TEST(twins_equal_the_cpu_stack5) { compare((trial){"scenes/stack5.abut", .nenv = 3, .nstep = 3}); }
TEST(twins_equal_the_cpu_f32) {
  compare((trial){"scenes/stack5.abut", .dtype = ABUT_F32, .nenv = 2, .nstep = 2});
}
TEST(twins_equal_the_cpu_ant_box) { compare((trial){"scenes/ant_box.abut", .nenv = 2, .nstep = 3}); }
TEST(twins_equal_the_cpu_tendons) { compare((trial){.nenv = 2, .nstep = 3}); }
TEST(twins_equal_the_cpu_inverse) {
  compare((trial){"scenes/incline.abut", .contact = ABUT_CONTACT_INVERSE, .nenv = 33, .nstep = 1});
}
TEST(twins_equal_the_cpu_longrange) {
  compare((trial){"scenes/stack5.abut", .contact = ABUT_CONTACT_LONGRANGE, .nenv = 2, .nstep = 2});
}
TEST(long_range_lists_grow) {
  compare((trial){"scenes/stack5.abut", .contact = ABUT_CONTACT_LONGRANGE, .nenv = 2, .nstep = 1, .far = 1});
}
TEST(lists_grow_and_the_rollout_runs_again) {
  compare((trial){"scenes/stack5.abut", .nenv = 2, .nstep = 2, .capacity = 1});
}

/* What the arena holds at first is nobody's business (and the initcheck of tools/gpu.sh can see who reads
 * it). */
TEST(no_kernel_needs_memory_of_zeros) {
  CHECK(setenv("ABUT_CUDA_UNSET", "1", 1) == 0);
  compare((trial){"scenes/stack5.abut", .nenv = 2, .nstep = 1, .capacity = 1});
  compare((trial){"scenes/stack5.abut", .contact = ABUT_CONTACT_LONGRANGE, .nenv = 2, .nstep = 1});
  CHECK(unsetenv("ABUT_CUDA_UNSET") == 0);
}

/* State goes back and forth between host and device, and rollouts follow one another. */
TEST(state_is_one_wherever_it_is) {
  scene s;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 5, -1});
  abut_options o = test_options(2);
  o.device = ABUT_DEVICE_CUDA;
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  array qpos[3];
  for (int i = 0; i < 3; i++) array_create(&qpos[i], 'd', 2, (int64_t[]){2, s.n.nq});
  abut_rollout_args a = abut_default_rollout_args();
  abut_snapshot *kept = NULL;
  a.nstep = 2;
  CHECK_STATUS(abut_batch_perturb(b, NULL, 1, 0, 0, 0.1), ABUT_OK);
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_snapshot(b, &kept), ABUT_OK);
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(b, NULL, tensor(&qpos[0]), NULL), ABUT_OK);
  int64_t before = fake_allocations();
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK(fake_allocations() == before);
  CHECK_STATUS(abut_batch_get_state(b, NULL, tensor(&qpos[1]), NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_restore(b, kept), ABUT_OK);
  CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(b, NULL, tensor(&qpos[2]), NULL), ABUT_OK);
  CHECK(array_same(&qpos[0], &qpos[2]) && !array_same(&qpos[0], &qpos[1]));
  abut_snapshot_destroy(kept);
  abut_batch_destroy(b);
  for (int i = 0; i < 3; i++) array_free(&qpos[i]);
  scene_free(&s);
  CHECK(fake_live_objects() == 0);
}

/* ---------------------------------------------------------------- time per stage */

/* A recorded, kicked rollout; with a profile or without. */
static void profiled_rollout(const scene *s, int capacity, stage_profile *profile, outcome *o) {
  abut_options options = test_options(2);
  options.device = ABUT_DEVICE_CUDA;
  options.implicit.pair_capacity = capacity;
  outcome_create(o, s, &options, 2);
  abut_batch *b = batch_of(s, &options);
  REQUIRE(b);
  batch_profile(b, profile);
  o->forward = abut_rollout(b, &o->r.args, &o->result, NULL, NULL);
  batch_profile(b, NULL);
  o->reverse = o->forward;
  CHECK(o->forward == ABUT_OK);
  abut_batch_destroy(b);
}

TEST(a_profile_changes_nothing_and_adds_up) {
  scene s;
  outcome plain, timed, grown;
  stage_profile p = {.gap = 77}, again;
  if (!scene_load("scenes/ant_box.abut", &s)) return;
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 5, -1});
  profiled_rollout(&s, 0, NULL, &plain);
  int64_t idle = 0;
  profiled_rollout(&s, 0, &p, &timed);
  CHECK(same_outcome(&plain, &timed));
  CHECK(plain.result.newton_iterations == timed.result.newton_iterations);
  for (int i = 0; i < STAGE_NUM; i++) {
    idle += p.idle[i] > 0;
    double one = 1e-6 * (FAKE_LAUNCH_TICKS + FAKE_EVENT_TICKS);
    CHECK_REL(p.seconds[i], (double)p.launches[i] * one, 1e-6);
    if (p.idle[i] > 0) CHECK_REL(p.idle[i], one, 1e-6);
    CHECK((p.idle[i] > 0) == (p.launches[i] > 0 && i != STAGE_clear));
  }
  CHECK_REL(p.gap, 1e-6 * FAKE_EVENT_TICKS, 1e-6);
  CHECK(p.launches[STAGE_clear] == 1 && p.launches[STAGE_fetch] >= 1 && p.launches[STAGE_back_load] == 0);
  CHECK(p.launches[STAGE_evaluate_hull] >= 4 && p.launches[STAGE_tried] == 2 * p.launches[STAGE_judge]);
  CHECK(idle > 20);
  profiled_rollout(&s, 1, &again, &grown); /* of the run that had room */
  CHECK(grown.result.reruns > 0 && same_outcome(&grown, &plain));
  CHECK(memcmp(&again, &p, sizeof p) == 0);
  outcome *all[] = {&plain, &timed, &grown};
  for (int i = 0; i < 3; i++) outcome_free(all[i]);
  scene_free(&s);
  CHECK(fake_live_objects() == 0);
}

TEST(roofs_are_measured) {
  gpu_roofs none;
  fake_use((fake_plan){.no_driver = 1});
  CHECK_STATUS(measure_roofs(0, ABUT_F64, &none), ABUT_ERROR_DEVICE);
  CHECK(strstr(abut_error_message(), "no CUDA driver"));
  for (int dtype = ABUT_F64; dtype <= ABUT_F32; dtype++) {
    gpu_roofs r = {0};
    fake_use((fake_plan){0});
    CHECK_STATUS(measure_roofs(1, dtype, &r), ABUT_OK);
    CHECK(fake_live_objects() == 0);
    int64_t calls = fake_calls();
    /* 2 processors, 64 blocks of 64 threads each, 8 chains: in the fake's 101 us, and 1 us for a copy */
    CHECK_REL(r.fma, 2.0 * 64 * 64 * 8 * 8192 / 101e-6, 1e-5);
    CHECK_REL(r.division, r.fma / 8, 1e-5);
    CHECK_REL(r.root, r.fma / 8, 1e-5);
    CHECK_REL(r.memory, 0x1p30 / 8 / 1e-6, 1e-5);
    for (int64_t i = 1; i <= calls; i += i < 10 ? 1 : 37) {
      fake_use((fake_plan){.fail_at = i});
      abut_status status = measure_roofs(0, dtype, &r);
      if (status == ABUT_OK && !strstr(fake_failed_call(), "Destroy") && !strstr(fake_failed_call(), "Free"))
        test_fail(__FILE__, __LINE__, "call %lld (%s) failed and nobody said so", (long long)i,
                  fake_failed_call());
      CHECK(fake_live_objects() == 0);
    }
  }
}

static int stop_at_once(void *user, double fraction) {
  CHECK(fraction == 0);
  ++*(int *)user;
  return 1;
}

/* ---------------------------------------------------------------- failures */

static abut_status create_with(const scene *s, fake_plan plan, int32_t device_id, int64_t nenv) {
  abut_batch *b = NULL;
  abut_options o = test_options(nenv);
  o.device = ABUT_DEVICE_CUDA;
  o.device_id = device_id;
  fake_use(plan);
  abut_status status = abut_batch_create(s->model, &o, &b);
  CHECK((status == ABUT_OK) == (b != NULL));
  abut_batch_destroy(b);
  CHECK(fake_live_objects() == 0);
  return status;
}

TEST(missing_drivers_and_devices_are_named) {
  scene s;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  CHECK_STATUS(create_with(&s, (fake_plan){.no_driver = 1}, 0, 1), ABUT_ERROR_DEVICE);
  CHECK(strstr(abut_error_message(), "no CUDA driver"));
  CHECK_STATUS(create_with(&s, (fake_plan){.no_devices = 1}, 0, 1), ABUT_ERROR_DEVICE);
  CHECK(strstr(abut_error_message(), "no CUDA device"));
  CHECK_STATUS(create_with(&s, (fake_plan){0}, 2, 1), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "device_id 2"));
  CHECK_STATUS(create_with(&s, (fake_plan){0}, 1, 1), ABUT_OK);
  CHECK_STATUS(create_with(&s, (fake_plan){0}, 0, 1000000), ABUT_ERROR_MEMORY);
  CHECK(strstr(abut_error_message(), "1000000 environments need ") == abut_error_message());
  scene_free(&s);
}

/* What a batch is said to take is what it takes. */
TEST(memory_estimates_count_everything_once) {
  scene s;
  if (!scene_load("scenes/ant_box.abut", &s)) return;
  fake_use((fake_plan){0});
  abut_options o = test_options(100);
  int64_t per_env, total, record;
  o.device = ABUT_DEVICE_CUDA;
  CHECK_STATUS(abut_batch_memory(s.model, &o, 0, &per_env, &total), ABUT_OK);
  CHECK_STATUS(abut_batch_memory(s.model, &o, 1, NULL, &record), ABUT_OK);
  abut_batch *b = batch_of(&s, &o);
  CHECK_NEAR((double)fake_device_bytes(), (double)total, 1024);
  CHECK_NEAR((double)per_env, (double)record / 100, 1024);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* A callback is asked at once: a program may be over before it would be asked again. */
TEST(short_programs_can_be_stopped) {
  scene s;
  outcome o;
  if (!scene_load("scenes/incline.abut", &s)) return;
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 5, -1});
  abut_options options = test_options(1);
  options.device = ABUT_DEVICE_CUDA;
  outcome_create(&o, &s, &options, 1);
  abut_batch *b = batch_of(&s, &options);
  REQUIRE(b);
  for (int unrolled = 0; unrolled < 2; unrolled++) {
    int asked = 0;
    abut_vjp_args v = abut_default_vjp_args();
    CHECK_STATUS(abut_rollout(b, &o.r.args, NULL, stop_at_once, &asked), ABUT_ERROR_ARGUMENT);
    CHECK(asked == 1 && array_untouched(&o.r.out[OUT_QPOS]));
    CHECK_STATUS(abut_rollout_vjp(b, &v, NULL, NULL), ABUT_ERROR_ARGUMENT); /* there is no record */
    CHECK_STATUS(abut_rollout(b, &o.r.args, NULL, NULL, NULL), ABUT_OK);
    CHECK_STATUS(abut_rollout_vjp(b, &v, stop_at_once, &asked), ABUT_ERROR_ARGUMENT);
    CHECK_STATUS(abut_rollout_vjp(b, &v, NULL, NULL), ABUT_OK);
    CHECK(asked == 2);
    cuda_unroll(b);
    outcome_free(&o);
    outcome_create(&o, &s, &options, 1);
  }
  outcome_free(&o);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Memory that was short has not harmed the batch: the call can be made again, and nothing leaks. */
TEST(calls_that_found_no_memory_can_be_made_again) {
  scene s;
  outcome o;
  int64_t calls = 1;
  if (!scene_load("scenes/incline.abut", &s)) return;
  team_use((team_plan){TEAM_FIBRES, 5, -1});
  abut_options options = test_options(1);
  options.device = ABUT_DEVICE_CUDA;
  outcome_create(&o, &s, &options, 1);
  for (int64_t i = 0; i <= calls; i += i > 0 && test_quick() ? 5 : 1) {
    fake_use((fake_plan){0});
    abut_batch *b = batch_of(&s, &options);
    REQUIRE(b);
    fake_use((fake_plan){.fail_at = i, .code = cudaErrorMemoryAllocation});
    outcome_go(&o, b);
    if (i == 0) calls = fake_calls();
    const char *call = fake_failed_call();
    if (strstr(call, "Malloc") || strstr(call, "Graph") || strstr(call, "Kernel")) {
      CHECK_STATUS(o.reverse, ABUT_ERROR_MEMORY);
      outcome_go(&o, b);
      CHECK_STATUS(o.reverse, ABUT_OK);
    }
    abut_batch_destroy(b);
    if (fake_live_objects() != 0) test_fail(__FILE__, __LINE__, "%s without memory leaks", call);
  }
  outcome_free(&o);
  scene_free(&s);
}

/* Everything a user does, with call number fail_at failing. Returns the number of calls. */
static int64_t fail_once(const scene *s, int64_t fail_at, int sticky, int no_loops, int *reported) {
  abut_options o = test_options(1);
  outcome out;
  abut_batch *b = NULL;
  o.device = ABUT_DEVICE_CUDA;
  o.implicit.pair_capacity = 1; /* the memory grows on the way */
  outcome_create(&out, s, &o, 1);
  fake_use((fake_plan){.fail_at = fail_at, .sticky = sticky, .no_loops = no_loops});
  abut_status status = abut_batch_create(s->model, &o, &b);
  *reported = status != ABUT_OK;
  if (b) {
    outcome_go(&out, b);
    *reported |= out.forward != ABUT_OK || out.reverse != ABUT_OK;
    if (*reported) { /* a lost batch says so from then on */
      abut_status later = abut_rollout(b, &out.r.args, NULL, NULL, NULL);
      CHECK(later == ABUT_ERROR_DEVICE);
      CHECK(strstr(abut_error_message(), "the batch is lost"));
    }
  }
  int64_t used = fake_calls();
  abut_batch_destroy(b);
  if (fake_live_objects() != 0)
    test_fail(__FILE__, __LINE__, "call %lld (%s): %lld objects leak", (long long)fail_at, fake_failed_call(),
              (long long)fake_live_objects());
  outcome_free(&out);
  return used;
}

TEST(each_failing_call_is_reported_and_leaks_nothing) {
  scene s;
  int reported;
  if (!scene_load("scenes/stack5.abut", &s)) return;
  team_use((team_plan){TEAM_FIBRES, 9, -1});
  for (int sticky = 0; sticky < 2; sticky++) {
    int64_t calls = fail_once(&s, 0, sticky, 0, &reported);
    CHECK(!reported && calls > 50);
    int64_t stride = test_quick() ? 7 : 1;
    for (int64_t i = 1; i <= calls; i += stride) {
      fail_once(&s, i, sticky, 0, &reported);
      /* a list that grows gives its old memory back: where that fails once, nothing is lost */
      int gives_back = strstr(fake_failed_call(), "Free") || strstr(fake_failed_call(), "Destroy");
      if (!reported && !gives_back)
        test_fail(__FILE__, __LINE__, "call %lld (%s) failed and nobody said so", (long long)i,
                  fake_failed_call());
    }
  }
  scene_free(&s);
}

TEST(each_failing_call_of_a_profile_is_reported) {
  scene s;
  outcome o;
  stage_profile profile;
  abut_options options = test_options(1);
  if (!scene_load("scenes/incline.abut", &s)) return;
  options.device = ABUT_DEVICE_CUDA;
  outcome_create(&o, &s, &options, 1);
  int64_t calls = 1;
  for (int64_t i = 0; i <= calls; i += i == 0 ? 1 : test_quick() ? 17 : 3) {
    abut_batch *b;
    fake_use((fake_plan){0});
    if (!(b = batch_of(&s, &options))) return;
    fake_use((fake_plan){.fail_at = i});
    batch_profile(b, &profile);
    abut_status status = abut_rollout(b, &o.r.args, NULL, NULL, NULL);
    if (i == 0) calls = fake_calls();
    CHECK(i > 0 || (status == ABUT_OK && calls > 300));
    if (i > 0 && status == ABUT_OK && !strstr(fake_failed_call(), "Destroy"))
      test_fail(__FILE__, __LINE__, "call %lld (%s) failed and nobody said so", (long long)i,
                fake_failed_call());
    if (status != ABUT_OK) { /* whoever asks for no profile learns it too */
      batch_profile(b, NULL);
      CHECK_STATUS(abut_rollout(b, &o.r.args, NULL, NULL, NULL), ABUT_ERROR_DEVICE);
    }
    abut_batch_destroy(b);
    CHECK(fake_live_objects() == 0);
  }
  outcome_free(&o);
  scene_free(&s);
}

/* A driver without conditional nodes: the host repeats rounds instead. */
TEST(old_drivers_run_unrolled) {
  scene s;
  int reported;
  if (!scene_load("scenes/incline.abut", &s)) return;
  fail_once(&s, 0, 0, 1, &reported);
  CHECK(!reported);
  scene_free(&s);
}
