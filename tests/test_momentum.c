/* test_momentum.c: what collisions conserve, and that the forces of every pair are equal and opposite. */
#include "scene.h"
#include "host/batch/batch.h"
#include "kernels/method/implicit.h"

/* ---------------------------------------------------------------------------------------- the collision */

enum { BODIES = 6 };

/* Box and sphere, capsule and lopsided mesh, cylinder and box. */
static abut_model *six_bodies(void) {
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

/* Three pairs far from each other, each 0.36 m apart in a direction of its own, turned at random, closing in
 * at about 2 m/s with some spin. */
static void pairs_state(uint64_t seed, double qpos[7 * BODIES], double qvel[6 * BODIES]) {
  double d[3] = {0};
  for (int i = 0; i < BODIES; i++) {
    double *q = qpos + 7 * i, *v = qvel + 6 * i, side = i % 2 ? -1 : 1;
    if (i % 2 == 0) scene_random_unit(&seed, 3, d);
    for (int c = 0; c < 3; c++) {
      q[c] = 0.18 * side * d[c] + (c == 0 ? 1.2 * (i / 2 - 1) : 0);
      v[c] = -side * d[c] + 0.4 * (scene_random(&seed) - 0.5);
      v[3 + c] = 4 * (scene_random(&seed) - 0.5);
    }
    scene_random_unit(&seed, 4, q + 3);
  }
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

typedef void start_state(uint64_t seed, double qpos[7 * BODIES], double qvel[6 * BODIES]);

static abut_options collision_options(int64_t nenv) {
  abut_options o = abut_default_options();
  o.nenv = nenv;
  o.friction = 0.6;
  o.tolerance = 1e-12;
  return o;
}

/* least: force that some pair must reach (N), or the bodies missed each other. */
static void check_linear_momentum(abut_options options, start_state *start, double least) {
  enum { STEPS = 60 };
  int64_t n = options.nenv;
  double *q0 = malloc((size_t)n * 7 * BODIES * sizeof *q0), *v0 = malloc((size_t)n * 6 * BODIES * sizeof *v0);
  abut_model *model = six_bodies();
  REQUIRE(model && q0 && v0);
  for (int64_t i = 0; i < n; i++) start(7 + (uint64_t)i, q0 + 7 * BODIES * i, v0 + 6 * BODIES * i);
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
    CHECK(hardest > least);
  }
  CHECK(scene_failed(r) == 0);
  scene_run_free(r);
  abut_model_destroy(model);
  free(q0);
  free(v0);
}

static void check_contact(int32_t contact, int64_t nenv) {
  abut_options o = collision_options(test_quick() ? 2 : nenv);
  o.implicit.contact = contact;
  check_linear_momentum(o, pairs_state, 1);
  check_linear_momentum(o, cloud_state, 10);
}

TEST(collisions_conserve_linear_momentum_local) { check_contact(ABUT_CONTACT_LOCAL, 16); }
TEST(collisions_conserve_linear_momentum_inverse) { check_contact(ABUT_CONTACT_INVERSE, 8); }

TEST(collisions_conserve_linear_momentum_vertex_friction) {
  abut_options o = collision_options(test_quick() ? 2 : 8);
  o.implicit.friction_form = ABUT_FRICTION_VERTEX;
  check_linear_momentum(o, pairs_state, 1);
}

/* ---------------------------------------------------------------------------------------- pair by pair */

/* Entry of a field of the first lane. */
static double *work_entry(const worker *w, int32_t field) {
  return (double *)w->g.work + field * w->batch->kernels->lanes;
}

/* Runs the stages of one step of one environment to convergence and stays there, so that the test can look at
 * what every pair gave to its two bodies. */
static int solve_step(worker *w, const double *qpos, const double *qvel) {
  const abut_batch *b = w->batch;
  const method_kernels *k = b->kernels;
  const step_params *p = &b->params;
  const abut_model *m = b->model;
  lane_group *g = &w->g;
  program_io io = {.capacity = b->capacity};
#define RUN(name) k->stage[STAGE_##name](p, g, &io)
  const double *from[] = {
      qpos, qvel, m->option.gravity, m->geom_friction, m->body_mass, &b->options.implicit.stiffness};
  const int32_t to[] = {p->work.at[WORK_qpos_t],   p->work.at[WORK_qvel], p->work.at[WORK_gravity],
                        p->work.at[WORK_friction], p->work.at[WORK_mass], p->work.at[WORK_stiffness]},
                n[] = {m->nq, m->nv, 3, m->ngeom, m->nbody, 1};
  for (int i = 0; i < 6; i++)
    for (int32_t j = 0; j < n[i]; j++) *work_entry(w, to[i] + j) = from[i][j];
  RUN(clear);
  g->live = 1;
  RUN(begin), RUN(boxes), RUN(list_pairs), RUN(start_hull), RUN(begin_hull);
  for (int it = 0, spare = 4; it < 300; it++) {
    RUN(evaluate_open), RUN(evaluate_hull), RUN(evaluate_close);
    if ((g->set[SET_converged] & 1) || spare == 0) return 1;
    RUN(direction_open);
    if (!g->live) { /* again, with convex contact */
      g->live = 1;
      continue;
    }
    RUN(direction_hull), RUN(direction_close);
    spare -= g->set[SET_exhausted] &
             1; /* bodies lie still but for rounding: a few more rounds for planes and slip */
    do RUN(try_open), RUN(try_hull), RUN(try_close);
    while (!((g->set[SET_accepted] | g->set[SET_leaving]) & 1) &&
           *work_entry(w, p->work.at[WORK_step]) > 1e-15);
    if (g->set[SET_accepted] & 1) RUN(accept), RUN(accept_hull);
    if (g->set[SET_leaving] & 1) RUN(boxes_trial), RUN(add_pairs), RUN(start_hull);
  }
  return 0;
}

static void slot_values(const worker *w, int32_t slot, int32_t field, int n, double *out) {
  int32_t size = w->batch->params.slot.size, lanes = w->batch->kernels->lanes;
  for (int i = 0; i < n; i++) out[i] = ((const double *)w->g.slots)[(slot * size + field + i) * lanes];
}
static void work_values(const worker *w, int32_t field, int n, double *out) {
  for (int i = 0; i < n; i++) out[i] = *work_entry(w, field + i);
}

/* Values of a lagged point: see implicit.def, point_t. */
enum { LAGGED_POINT = 8 };

/* The frame that friction of this step is described in: origin, axes e1, e2, u. */
typedef struct rub_frame {
  double c[3], axis[3][3], weight;
} rub_frame;

static rub_frame slot_frame(const worker *w, int32_t slot) {
  rub_frame f;
  double v[7];
  slot_values(w, slot, w->batch->params.slot.at[SLOT_plane_t], 7, v);
  const double *n = v, sign = n[2] < 0 ? -1 : 1, a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
  double axes[3][3] = {{1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]},
                       {b, sign + n[1] * n[1] * a, -n[1]},
                       {n[0], n[1], n[2]}};
  memcpy(f.axis, axes, sizeof axes);
  memcpy(f.c, v + 3, sizeof f.c);
  f.weight = v[6];
  return f;
}

/* Forces and moments of one part of a pair about the middle of its contact, both bodies together and their
 * size. */
typedef struct wrench_sum {
  double force[3], moment[3], force_size, moment_size;
} wrench_sum;

static void add_force(wrench_sum *s, const rub_frame *about, const double x[3], const double f[3],
                      double lever) {
  double m[3], arm[3] = {x[0] - about->c[0], x[1] - about->c[1], x[2] - about->c[2]};
  vec3_cross(arm, f, m);
  for (int c = 0; c < 3; c++) {
    s->force[c] += f[c];
    s->moment[c] += m[c];
  }
  s->force_size += vec3_norm(f);
  s->moment_size += lever * vec3_norm(f);
}

/* Where a body carries a world point of the step's start. */
static void carried(const worker *w, int32_t body, const double y[3], double out[3]) {
  const int32_t *at = w->batch->params.work.at;
  double r0[9], x0[3], r1[9], x1[3], local[3] = {0};
  work_values(w, at[WORK_xmat_t] + 9 * body, 9, r0);
  work_values(w, at[WORK_xpos_t] + 3 * body, 3, x0);
  work_values(w, at[WORK_xmat] + 9 * body, 9, r1);
  work_values(w, at[WORK_xpos] + 3 * body, 3, x1);
  for (int c = 0; c < 3; c++)
    for (int d = 0; d < 3; d++) local[c] += r0[3 * d + c] * (y[d] - x0[d]);
  for (int c = 0; c < 3; c++) out[c] = x1[c] + vec3_dot(r1 + 3 * c, local);
}

/* Friction of a pair from its definition (docs/contact.md), not from the kernel's sums: lagged has moments at
 * the lagged points, moved at the points they were carried to. */
static void friction_wrenches(const worker *w, int32_t slot, wrench_sum *lagged, wrench_sum *moved) {
  const step_params *p = &w->batch->params;
  const pair_info *pair = &p->pairs[w->g.slot_pair[slot]];
  rub_frame frame = slot_frame(w, slot);
  double z[3], scale = p->body_radius[pair->side[0].body];
  slot_values(w, slot, p->slot.at[SLOT_motion], 3, z);
  for (int j = 0, i = 0; j < 2; j++) {
    for (int m = 0; m < pair->side[j].pointnum; m++, i++) {
      double q[4], y[3], to[3], f[3], r[2];
      slot_values(w, slot, p->slot.at[SLOT_point_t] + LAGGED_POINT * i, 4, q);
      for (int c = 0; c < 3; c++)
        y[c] = frame.c[c] + q[0] * frame.axis[0][c] + q[1] * frame.axis[1][c] + q[2] * frame.axis[2][c];
      carried(w, pair->side[j].body, y, to);
      for (int c = 0; c < 3; c++) to[c] -= y[c];
      r[0] = vec3_dot(frame.axis[0], to) / p->options.timestep - z[0] + z[2] * q[1];
      r[1] = vec3_dot(frame.axis[1], to) / p->options.timestep - z[1] - z[2] * q[0];
      double size = q[3] / p->options.timestep /
                    sqrt(r[0] * r[0] + r[1] * r[1] +
                         p->options.implicit.slip_velocity * p->options.implicit.slip_velocity);
      for (int c = 0; c < 3; c++) {
        f[c] = size * (r[0] * frame.axis[0][c] + r[1] * frame.axis[1][c]);
        to[c] += y[c];
      }
      add_force(lagged, &frame, y, f, scale);
      add_force(moved, &frame, to, f, scale);
    }
  }
}

/* All of a pair: what the kernel hands to both bodies. */
static wrench_sum total_wrench(const worker *w, int32_t slot) {
  const step_params *p = &w->batch->params;
  const pair_info *pair = &p->pairs[w->g.slot_pair[slot]];
  rub_frame frame = slot_frame(w, slot);
  wrench_sum sum = {0};
  for (int j = 0; j < 2; j++) {
    double f[3], phi[9], x[3];
    slot_values(w, slot, p->slot.at[SLOT_force] + 3 * j, 3, f);
    slot_values(w, slot, p->slot.at[SLOT_phi] + 9 * j, 9, phi);
    work_values(w, p->work.at[WORK_xpos] + 3 * pair->side[j].body, 3, x);
    add_force(&sum, &frame, x, f, p->body_radius[pair->side[j].body]);
    double own[3] = {phi[7] - phi[5], phi[2] - phi[6], phi[3] - phi[1]};
    for (int c = 0; c < 3; c++) sum.moment[c] += own[c];
  }
  return sum;
}

/* Torque of the spin floor, by which a pair of single points resists its plane's spin (docs/contact.md). */
static double floor_torque(const worker *w, int32_t slot) {
  const step_params *p = &w->batch->params;
  double z[3], r0 = 1e-4 * p->options.implicit.length; /* friction.inl: spin_radius */
  slot_values(w, slot, p->slot.at[SLOT_motion], 3, z);
  return slot_frame(w, slot).weight / p->options.timestep * r0 * r0 * z[2] /
         sqrt(r0 * r0 * z[2] * z[2] + p->options.implicit.slip_velocity * p->options.implicit.slip_velocity);
}

/* Returns 1 if the pair is in contact. Moments of friction, at the lagged points, leave the floor's torque
 * alone. */
static int check_pair(const worker *w, int32_t slot) {
  wrench_sum all = total_wrench(w, slot), lagged = {0}, moved = {0};
  if (all.force_size < 2) return 0; /* below 1 N on either body rounding is more than 1e-9 */
  friction_wrenches(w, slot, &lagged, &moved);
  if (lagged.force_size < 0.2) return 0;
  double floor = floor_torque(w, slot);
  rub_frame frame = slot_frame(w, slot);
  for (int c = 0; c < 3; c++) {
    CHECK_NEAR(all.force[c], 0, 1e-9 * all.force_size);
    CHECK_NEAR(lagged.force[c], 0, 1e-9 * all.force_size);
    CHECK_NEAR(lagged.moment[c] - floor * frame.axis[2][c], 0, 1e-9 * all.moment_size);
    CHECK_NEAR(all.moment[c] - moved.moment[c], 0, 1e-9 * all.moment_size);
  }
  return 1;
}

/* Steps that meet in contact, from rollouts that got there by themselves. */
static void check_pairs(abut_options options) {
  abut_model *model = six_bodies();
  double q0[7 * BODIES], v0[6 * BODIES];
  int pairs = 0;
  REQUIRE(model);
  for (uint64_t seed = 1; seed <= 4; seed++) {
    pairs_state(seed, q0, v0);
    scene_run *r = scene_rollout(model, options, 30, q0, v0, NULL);
    REQUIRE(r);
    worker w;
    CHECK_STATUS(worker_create(r->batch, &w), ABUT_OK);
    for (int64_t t = 5; t < 30; t++) {
      if (!(r->gap[t - 1] < 1e-3)) continue;
      CHECK(solve_step(&w, scene_qpos(r, 0, t), scene_qvel(r, 0, t)));
      for (int32_t i = 0; i < w.g.nslot; i++) pairs += check_pair(&w, w.g.order[i]);
    }
    worker_destroy(&w);
    scene_run_free(r);
  }
  CHECK(pairs >= 10);
  abut_model_destroy(model);
}

/* Positions are rounded to eps |x|, friction to that over slip velocity times dt: a larger one leaves room
 * below 1e-9. */
static abut_options pair_options(int32_t contact) {
  abut_options o = collision_options(1);
  o.implicit.contact = contact;
  o.implicit.slip_velocity = 3e-3;
  return o;
}

TEST(forces_of_a_pair_are_equal_and_opposite_local) { check_pairs(pair_options(ABUT_CONTACT_LOCAL)); }
TEST(forces_of_a_pair_are_equal_and_opposite_inverse) { check_pairs(pair_options(ABUT_CONTACT_INVERSE)); }
