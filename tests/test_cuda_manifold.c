/* test_cuda_manifold.c: contact manifolds on a GPU that is none: a fake runtime runs the CPU twins of the
 * kernels by teams of 32, and fails each of its calls in turn. That they are the CPU's: test_device.c. */
#include "blended.h"
#include "host/items/manifold_cuda.h"
#include "fake_cuda.h"
#include "team_run.h"
#include <stdio.h>

static abut_manifold *manifold_on(const blended *b, int32_t dtype, int32_t selection, int32_t device) {
  abut_manifold_options o = blended_options(dtype, selection);
  o.device = device;
  abut_manifold *m = NULL;
  abut_manifold_create(&b->surface, &b->surface, &o, &m);
  return m;
}

/* More pairs of poses than the card has warps, contacts alone, twice, and none at all. */
TEST(gpu_takes_many_poses) {
  enum { POSES = 75 };
  static blended b;
  blended_make(&b);
  fake_use((fake_plan){0});
  team_use((team_plan){TEAM_FIBRES, 3, -1});
  double poses[14 * POSES];
  for (int i = 0; i < POSES; i++) {
    memcpy(poses + 14 * i, blended_poses, 14 * sizeof *poses);
    poses[14 * i + 7] += 0.01 * i;
  }
  double *distance[2] = {NULL, NULL};
  abut_manifold_counts n;
  for (int i = 0; i < 2; i++) {
    abut_manifold *m = manifold_on(&b, ABUT_F32, ABUT_SELECT_HARD, i ? ABUT_DEVICE_CUDA : ABUT_DEVICE_CPU);
    abut_manifold_size(m, &n);
    distance[i] = calloc((size_t)(POSES * n.contacts), sizeof(double));
    abut_contacts c = {.distance = distance[i]};
    CHECK_STATUS(abut_manifold_contacts(m, POSES, poses, &c), ABUT_OK);
    CHECK_STATUS(abut_manifold_contacts(m, 0, NULL, &c), ABUT_OK);
    CHECK_STATUS(abut_manifold_contacts(m, POSES, poses, &c), ABUT_OK);
    CHECK((cuda_manifold_seconds(m) > 0) == i);
    abut_manifold_destroy(m);
  }
  for (int64_t i = 0; i < POSES * n.contacts; i++) CHECK_NEAR(distance[0][i], distance[1][i], 1e-4);
  free(distance[0]);
  free(distance[1]);
  CHECK(fake_live_objects() == 0);
}

/* One after the other every call of the runtime fails: it is reported, and nothing is left. */
TEST(each_failing_call_is_reported) {
  static blended b;
  static blended_results out;
  abut_manifold_counts counts;
  int64_t calls = 1;
  blended_make(&b);
  team_use((team_plan){TEAM_FIBRES, 3, -1});
  for (int64_t at = 0; at <= calls; at++) {
    fake_use((fake_plan){.fail_at = at});
    abut_contacts c = {.distance = out.contacts};
    abut_manifold *m = manifold_on(&b, ABUT_F32, ABUT_SELECT_HARD, ABUT_DEVICE_CUDA);
    abut_status status = ABUT_ERROR_DEVICE;
    if (m) {
      abut_manifold_size(m, &counts);
      CHECK(counts.contacts <= BLENDED_NUMBERS);
      status = abut_manifold_contacts(m, 1, blended_poses, &c);
      if (status == ABUT_OK) status = abut_manifold_contacts(m, 3, blended_poses, &c); /* needs more room */
      if (status != ABUT_OK && fake_calls() >= at && at > 0) {
        CHECK(abut_manifold_contacts(m, 1, blended_poses, &c) != ABUT_OK);
        CHECK(strstr(abut_error_message(), "the manifold is lost"));
      }
    }
    if (at == 0) calls = fake_calls();
    if (status == ABUT_OK && at > 0 && strcmp(fake_failed_call(), "cudaSetDevice"))
      test_fail(__FILE__, __LINE__, "call %lld, %s, failed and nobody said so", (long long)at,
                fake_failed_call());
    abut_manifold_destroy(m);
    CHECK(fake_live_objects() == 0);
  }
  CHECK(calls > 30);
}

TEST(no_gpu_and_no_forward_mode) {
  static blended b;
  static blended_results out;
  blended_make(&b);
  fake_use((fake_plan){.no_devices = 1});
  CHECK(!manifold_on(&b, ABUT_F32, ABUT_SELECT_HARD, ABUT_DEVICE_CUDA));
  CHECK(strstr(abut_error_message(), "no CUDA device"));
  fake_use((fake_plan){0});
  abut_manifold *m = manifold_on(&b, ABUT_F32, ABUT_SELECT_HARD, ABUT_DEVICE_CUDA);
  abut_contacts c = {.distance = out.contacts};
  CHECK_STATUS(abut_manifold_jacobian(m, 1, blended_poses, &c, NULL), ABUT_ERROR_ARGUMENT);
  abut_manifold_destroy(m);
  CHECK(fake_live_objects() == 0);
  abut_manifold_options o = blended_options(ABUT_F32, ABUT_SELECT_HARD);
  o.device = 3;
  CHECK_STATUS(abut_manifold_create(&b.surface, &b.surface, &o, &m), ABUT_ERROR_ARGUMENT);
  o.device = ABUT_DEVICE_CUDA;
  o.device_id = 7;
  CHECK_STATUS(abut_manifold_create(&b.surface, &b.surface, &o, &m), ABUT_ERROR_ARGUMENT);
}
