/* test_planks.c: twenty planks at the maximal harmonic overhang stand, and press where statics says they
 * must. */
#include "scene.h"
#include <stdio.h>

enum { PLANKS = 20 };
static const double g = 9.81, mass = 0.16, half_length = 1;

/* Largest distance between the planks of two states (qpos of 19 free bodies). */
static double plank_drift(const double *a, const double *b) {
  double worst = 0;
  for (int i = 0; i < PLANKS - 1; i++) {
    const double *p = a + 7 * i, *q = b + 7 * i, d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
    worst = fmax(worst, vec3_norm(d));
  }
  return worst;
}

static void planks_state(const abut_batch *batch, double *qpos) {
  int64_t shape[2] = {1, 7 * (PLANKS - 1)};
  abut_tensor t = scene_tensor(qpos, 2, 64, 2, shape);
  CHECK_STATUS(abut_batch_get_state(batch, NULL, &t, NULL), ABUT_OK);
}

/* Runs up to a minute, two seconds at a time. Whether the planks stood: no status bit, and after the first
 * two seconds nothing drifted by 5 mm. qpos: where they were last. */
static int stand(const abut_model *model, abut_options options, double *qpos) {
  abut_batch *batch = NULL;
  CHECK_STATUS(abut_batch_create(model, &options, &batch), ABUT_OK);
  if (!batch) return 0;
  double settled[7 * PLANKS];
  uint32_t status = 0;
  int64_t one[1] = {1};
  abut_tensor flag = scene_tensor(&status, 1, 32, 1, one);
  abut_rollout_args args = abut_default_rollout_args();
  args.nstep = llround(2 / options.timestep);
  args.status = &flag;
  int stands = 1;
  for (int second = 2; second <= (test_quick() ? 6 : 60) && stands; second += 2) {
    CHECK_STATUS(abut_rollout(batch, &args, NULL, NULL, NULL), ABUT_OK);
    planks_state(batch, qpos);
    if (second == 2) memcpy(settled, qpos, sizeof settled);
    stands = status == 0 && plank_drift(qpos, settled) < 5e-3;
  }
  abut_batch_destroy(batch);
  return stands;
}

static abut_options planks_local(double stiffness, double gap0) {
  abut_options o = abut_default_options();
  o.implicit.reach = 2e-4;
  o.implicit.stiffness = stiffness;
  o.implicit.gap0 = gap0;
  return o;
}

/* The gap given at the start is about what the weights will need, lest the planks bounce. */
TEST(planks_stand_with_a_short_reach) {
  abut_model *model = scene_model("scenes/planks20.abut");
  double qpos[7 * PLANKS];
  REQUIRE(model);
  CHECK(stand(model, planks_local(1e-3, 3.9e-4), qpos));
  abut_model_destroy(model);
}

/* At the default stiffness a softer contact leans further: it stands with the longer, more damped step. */
TEST(planks_stand_at_the_default_stiffness) {
  abut_model *model = scene_model("scenes/planks20.abut");
  double qpos[7 * PLANKS];
  REQUIRE(model);
  abut_options o = planks_local(0, 2.6e-4);
  o.timestep = 0.04;
  CHECK(stand(model, o, qpos));
  abut_model_destroy(model);
}

/* The inverse barrier reaches everywhere, and planks must tilt until far vertices unload: the stiffness
 * decides. The largest power of ten that stands is printed; ten times as much topples. */
TEST(planks_stand_with_the_inverse_barrier) {
  abut_model *model = scene_model("scenes/planks20.abut");
  double qpos[7 * PLANKS], found = 0;
  REQUIRE(model);
  for (int decade = -7; decade >= -12 && found == 0; decade--) {
    abut_options o = abut_default_options();
    o.implicit.contact = ABUT_CONTACT_INVERSE;
    o.implicit.stiffness = pow(10, decade);
    o.implicit.gap0 = sqrt(o.implicit.stiffness);
    o.timestep = 0.04;
    if (stand(model, o, qpos)) found = o.implicit.stiffness;
  }
  printf("planks20, inverse barrier: the largest power of ten that stands is a stiffness of %g J\n", found);
  CHECK(found > 0 && found < 1e-7);
  abut_model_destroy(model);
}

/* ---------------------------------------------------------------------------------------- pressure */

/* Points of a geom in the world. Returns how many. */
static int32_t world_points(const abut_model *model, int32_t geom, const double pose[7], double *out) {
  abut_hull hull = {0};
  CHECK_STATUS(abut_model_hull(model, geom, &hull), ABUT_OK);
  for (int32_t i = 0; i < hull.npoint; i++) pose_point(pose, pose + 3, hull.points + 3 * i, out + 3 * i);
  return hull.npoint;
}

/* Pose of the k-th plank from the top; the scene lists them from the bottom, the lowest is fixed. */
static void plank_pose(const double *qpos, int k, double pose[7]) {
  const double lowest[7] = {0, 0, 0.1, 1, 0, 0, 0};
  memcpy(pose, k == PLANKS ? lowest : qpos + 7 * (PLANKS - 1 - k), sizeof lowest);
}

/* Under the k-th plank the query finds the weight of k planks, and its centre (k + 1) mm inside the edge of
 * the next: each of the k planks above lies 2 mm further in than the overhang that would balance. */
TEST(planks_press_near_the_edges) {
  abut_model *model = scene_model("scenes/planks20.abut");
  double qpos[7 * PLANKS];
  REQUIRE(model);
  abut_options o = planks_local(1e-3, 3.9e-4);
  CHECK(stand(model, o, qpos));
  for (int k = 1; k < PLANKS; k++) {
    double upper[24], lower[24], force[24], pose[7], weight = 0, moment = 0, edge = -INFINITY;
    abut_plane_query q = {0};
    abut_plane_result r = {0};
    plank_pose(qpos, k, pose);
    q.na = world_points(model, PLANKS - k, pose, upper);
    plank_pose(qpos, k + 1, pose);
    q.nb = world_points(model, PLANKS - k - 1, pose, lower);
    q.contact = ABUT_CONTACT_LOCAL;
    q.reach = o.implicit.reach;
    q.length = o.implicit.length;
    q.a = upper;
    q.b = lower;
    r.grad_b = force;
    CHECK_STATUS(abut_query_plane(1, &q, &r, ABUT_F64), ABUT_OK);
    CHECK(r.status == ABUT_QUERY_OK && !r.out_of_reach);
    for (int i = 0; i < q.nb; i++) {
      weight += o.implicit.stiffness * force[3 * i + 2];
      moment += o.implicit.stiffness * force[3 * i + 2] * lower[3 * i];
      edge = fmax(edge, lower[3 * i]);
    }
    CHECK_NEAR(edge, pose[0] + half_length, 1e-3);
    CHECK_REL(weight, k * mass * g, 1e-3);
    CHECK_REL(edge - moment / weight, (k + 1) * 1e-3, 0.05);
  }
  abut_model_destroy(model);
}
