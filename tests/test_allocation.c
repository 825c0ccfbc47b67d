/* test_allocation.c: every allocation of the library fails in turn, alone and with all that follow it: the
 * call says so, nothing is lost or left behind, and what was there before goes on with the same bits. */
#include "abut/surface.h"
#include "counted_allocations.h"
#include "host/batch/backend.h"
#include "manifold_cases.h"
#include "manifold_test.h"
#include "outcome.h"
#include "sled.h"
#include "host/base/status.h"
#include <stdio.h>

typedef abut_status (*deed)(void *arg);

/* Calls work with its n-th allocation refused, or all from there on. Returns whether it had that many. */
static int refuse_one(deed work, void *arg, int64_t n, int all, abut_status *status) {
  int64_t start = calls;
  fail_with(ABUT_OK, "%s", "");
  refuse_from = start + n;
  refuse_to = all ? INT64_MAX : start + n + 1;
  *status = work(arg);
  int reached = calls > refuse_from;
  refuse_from = refuse_to = INT64_MAX;
  return reached;
}

/* For work that leaves nothing behind, whether or not it succeeds: threads do without their memory. Less than
 * before is no leak: streams to memory have buffers of the C library's, which the library frees. */
static void check_in_turn(const char *name, deed work, void *arg) {
  int64_t before = live, most = 0;
  CHECK_STATUS(work(arg), ABUT_OK);
  if (live > before) test_fail(__FILE__, __LINE__, "%s leaves %lld bytes", name, (long long)(live - before));
  for (int all = 0; all < 2; all++)
    for (int64_t n = 0;; n++) {
      abut_status status;
      before = live;
      int reached = refuse_one(work, arg, n, all, &status);
      if (live > before)
        test_fail(__FILE__, __LINE__, "%s, allocation %lld refused: leaves %lld bytes", name, (long long)n,
                  (long long)(live - before));
      if (status != ABUT_OK && (status != ABUT_ERROR_MEMORY || !abut_error_message()[0]))
        test_fail(__FILE__, __LINE__, "%s, allocation %lld refused: status %d, '%s'", name, (long long)n,
                  status, abut_error_message());
      if (!reached) {
        CHECK(status == ABUT_OK);
        break;
      }
      most = n + 1;
    }
  CHECK(most > 0);
  if (getenv("ABUT_VERBOSE")) printf("%s: %lld allocations\n", name, (long long)most);
}

/* ------------------------------------------------------------------------------------------ models */

#define TRY(call)                                                                                            \
  if (status == ABUT_OK) status = (call)

static const double cube[8][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                  {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
static const int32_t cube_faces[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                                          {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};

/* Every kind of object. */
static abut_status describe(abut_builder *b) {
  static const int32_t types[] = {ABUT_GEOM_SPHERE,   ABUT_GEOM_CAPSULE, ABUT_GEOM_ELLIPSOID,
                                  ABUT_GEOM_CYLINDER, ABUT_GEOM_BOX,     ABUT_GEOM_MESH};
  abut_status status = ABUT_OK;
  abut_geom_def plane = abut_default_geom_def();
  plane.type = ABUT_GEOM_PLANE, plane.name = "floor";
  TRY(abut_builder_add_geom(b, &plane, NULL));
  for (int i = 0; i < 6; i++) {
    char name[16];
    int32_t body, joint;
    abut_body_def at = abut_default_body_def();
    snprintf(name, sizeof name, "part%d", i);
    at.name = name, at.pos[2] = 2 * i;
    TRY(abut_builder_add_body(b, &at, &body));
    abut_joint_def moves = abut_default_joint_def();
    moves.name = name, moves.body = i + 1, moves.type = i % 2 ? ABUT_JOINT_HINGE : ABUT_JOINT_FREE;
    TRY(abut_builder_add_joint(b, &moves, &joint));
    abut_geom_def shape = abut_default_geom_def();
    shape.name = name, shape.body = i + 1, shape.type = types[i];
    shape.size[0] = shape.size[1] = shape.size[2] = 0.5;
    if (types[i] == ABUT_GEOM_MESH) {
      shape.points = shape.vertices = cube[0], shape.npoint = shape.nvertex = 8;
      shape.triangles = cube_faces[0], shape.ntriangle = 12;
    }
    TRY(abut_builder_add_geom(b, &shape, NULL));
    abut_actuator_def motor = abut_default_actuator_def();
    motor.name = name, motor.joint = i;
    if (i % 2) TRY(abut_builder_add_actuator(b, &motor, NULL));
  }
  TRY(abut_builder_exclude(b, 1, 2));
  TRY(scene_pair(b, 3, 4, 0.5));
  TRY(scene_key(b, "home", NULL, NULL));
  return status;
}
static abut_status build_scene(void *arg) {
  abut_builder *b = NULL;
  abut_model *m = NULL;
  (void)arg;
  abut_status status = abut_builder_create(&b);
  TRY(describe(b));
  TRY(abut_builder_finish(b, &m));
  CHECK((status == ABUT_OK) == (m != NULL));
  abut_builder_destroy(b);
  abut_model_destroy(m);
  return status;
}
TEST(models_are_built) {
  if (build_scene(NULL) == ABUT_ERROR_UNSUPPORTED) return; /* without qhull */
  check_in_turn("builder", build_scene, NULL);
}

static abut_status load_scene(void *path) {
  abut_model *m = NULL;
  abut_status status = abut_model_load(path, NULL, &m);
  CHECK((status == ABUT_OK) == (m != NULL));
  abut_model_destroy(m);
  return status;
}
TEST(models_are_loaded) { check_in_turn("load", load_scene, "scenes/ant_box.abut"); }

/* The cube with a dent in its top, which its hull has not; and a flat plate that is looked at only. */
static const char dented[] =
    "<mujoco><asset>"
    "<mesh name='dented' vertex='0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1 .5 .5 .3' face='"
    "0 2 3 0 3 1 4 5 8 5 7 8 7 6 8 6 4 8 0 1 5 0 5 4 2 6 7 2 7 3 0 4 6 0 6 2 1 3 7 1 7 5'/>"
    "<mesh name='plate' inertia='shell' vertex='0 0 0 1 0 0 0 1 0 1 1 0' face='0 1 2 1 3 "
    "2'/></asset><worldbody>"
    "<body name='b'><freejoint/><geom name='g' type='mesh' mesh='dented'/>"
    "<geom type='mesh' mesh='dented' mass='0' contype='0' conaffinity='0'/>"
    "<geom type='mesh' mesh='plate' mass='0' contype='0' conaffinity='0'/></body></worldbody></mujoco>";

typedef struct import {
  char path[64];
  abut_model *whole; /* as it should be; NULL: not known yet */
} import;
static int same_model(const abut_model *a, const abut_model *b) {
  MODEL_SIZES(a)
#define X(name)                                                                                              \
  if (a->name != b->name) return 0;
  MODEL_COUNTS(X)
#undef X
#define X(type, name, rows, columns)                                                                         \
  if (memcmp(a->name, b->name, (size_t)(a->rows * (columns)) * sizeof(type))) return 0;
#include "kernels/tree/model.def"
#undef X
  return 1;
}
static abut_status import_scene(void *arg) {
  import *from = arg;
  abut_model *m = NULL;
  abut_status status = abut_model_load(from->path, NULL, &m);
  if (status == ABUT_OK && from->whole) CHECK(same_model(m, from->whole));
  abut_model_destroy(m);
  return status;
}
/* An import that lacks memory fails; it leaves nothing out. */
TEST(models_are_imported) {
import from = {P_tmpdir "/abut_allocation_XXXXXX", NULL };
  REQUIRE(mkdtemp(from.path));
  char folder[64];
  memcpy(folder, from.path, sizeof folder);
  strcat(from.path, "/dented.xml");
  FILE *file = fopen(from.path, "w");
  REQUIRE(file);
  fputs(dented, file);
  fclose(file);
  if (abut_model_load(from.path, NULL, &from.whole) == ABUT_OK) {
    CHECK(from.whole->ngeom == 2 && strstr(abut_model_warnings(from.whole), "plate"));
    check_in_turn("import", import_scene, &from);
    abut_model_destroy(from.whole);
  } else {
    CHECK(strstr(abut_error_message(), "built without"));
  }
  remove(from.path);
  remove(folder);
}

/* ------------------------------------------------------------------------------------------ batches */

typedef struct setting {
  scene s;
  abut_options o;
} setting;

static abut_status create_batch(void *arg) {
  const setting *with = arg;
  abut_batch *b = NULL;
  abut_status status = abut_batch_create(with->s.model, &with->o, &b);
  CHECK((status == ABUT_OK) == (b != NULL));
  abut_batch_destroy(b);
  return status;
}
TEST(batches_are_created) {
  setting with = {.o = test_options(3)};
  with.o.threads = 2;
  REQUIRE(scene_load("scenes/stack5.abut", &with.s));
  check_in_turn("batch", create_batch, &with);
  with.o.implicit.contact = ABUT_CONTACT_LONGRANGE;
  check_in_turn("batch, long range", create_batch, &with);
  scene_free(&with.s);
}

/* What is done to a batch, one call after the other, while allocations fail; `done` calls are behind it. */
typedef struct life {
  setting with;
  int32_t far; /* entries of long-range lists to begin with; 0: as usual */
  int64_t nstep;
  abut_batch *b;
  abut_snapshot *before, *after;
  array gravity, qpos, qvel;
  outcome out;
  int done;
} life;

static void life_begin(life *l) {
  l->b = batch_of(&l->with.s, &l->with.o);
  l->before = l->after = NULL;
  l->done = 0;
  if (l->far) {
    l->b->backend->close(l->b);
    l->b->room = l->far;
    CHECK_STATUS(l->b->backend->open(l->b), ABUT_OK);
  }
  CHECK_STATUS(abut_batch_perturb(l->b, NULL, 1, 0, 1e-3, 0.1), ABUT_OK);
}
static void life_end(life *l) {
  abut_snapshot_destroy(l->before);
  abut_snapshot_destroy(l->after);
  abut_batch_destroy(l->b);
}
static abut_status call_of(life *l) {
  abut_parameters p = {.gravity = tensor(&l->gravity)};
  abut_vjp_args v = abut_default_vjp_args();
  v.qpos = tensor(&l->out.bar);
  v.qpos0 = tensor(&l->out.qpos0);
  v.qvel0 = tensor(&l->out.qvel0);
  switch (l->done) {
  case 0:
    return abut_batch_snapshot(l->b, &l->before);
  case 1:
    return abut_batch_set_parameters(l->b, &p);
  case 2:
    return abut_rollout(l->b, &l->out.r.args, &l->out.result, NULL, NULL);
  case 3:
    return abut_batch_snapshot(l->b, &l->after);
  case 4:
    return abut_batch_get_state(l->b, NULL, tensor(&l->qpos), tensor(&l->qvel));
  case 5:
    return abut_batch_perturb(l->b, NULL, 2, 0, 1e-3, 0.1);
  case 6:
    return abut_batch_set_state(l->b, NULL, tensor(&l->qpos), tensor(&l->qvel));
  case 7:
    return abut_batch_reset(l->b, NULL, -1);
  case 8:
    return abut_batch_restore(l->b, l->after);
  case 9:
    return abut_batch_restore(l->b, l->before);
  case 10:
    return abut_rollout(l->b, &l->out.r.args, NULL, NULL, NULL); /* the same as the first */
  default:
    return abut_rollout_vjp(l->b, &v, NULL, NULL);
  }
}
enum { CALLS = 12 };
static abut_status live_on(void *arg) {
  life *l = arg;
  abut_status status = ABUT_OK;
  for (; status == ABUT_OK && l->done < CALLS; l->done += status == ABUT_OK) status = call_of(l);
  return status;
}

/* The batch is where it was when a call failed: with memory, that call and those that follow do what they do
 * for one that never lacked any. */
static void check_life(const char *name, life *l) {
  const int64_t n = l->with.o.nenv;
  outcome usual;
  array_create(&l->gravity, 'd', 2, (int64_t[]){1, 3});
  array_create(&l->qpos, 'd', 2, (int64_t[]){n, l->with.s.n.nq});
  array_create(&l->qvel, 'd', 2, (int64_t[]){n, l->with.s.n.nv});
  for (size_t k = 0; k < 3; k++) array_set(&l->gravity, k, k == 2 ? -9 : 0.5);
  outcome_create(&l->out, &l->with.s, &l->with.o, l->nstep);
  l->out.r.args.kick = 0;
  life_begin(l);
  CHECK_STATUS(live_on(l), ABUT_OK);
  CHECK(l->out.result.reruns > 0);
  life_end(l);
  usual = l->out;
  outcome_create(&l->out, &l->with.s, &l->with.o, l->nstep);
  l->out.r.args.kick = 0;
  int64_t most = 0;
  for (int all = 0; all < (test_quick() ? 1 : 2); all++)
    for (int64_t i = 0, reached = 1; reached; i++) {
      int64_t before = live;
      abut_status status;
      life_begin(l);
      reached = refuse_one(live_on, l, i, test_quick() ? (int)(i & 1) : all, &status);
      if (status != ABUT_OK && (status != ABUT_ERROR_MEMORY || !abut_error_message()[0]))
        test_fail(__FILE__, __LINE__, "%s, allocation %lld refused: call %d gave %d, '%s'", name,
                  (long long)i, l->done, status, abut_error_message());
      CHECK_STATUS(live_on(l), ABUT_OK);
      if (!same_outcome(&usual, &l->out))
        test_fail(__FILE__, __LINE__, "%s, allocation %lld refused: other bits afterwards", name,
                  (long long)i);
      life_end(l);
      if (live != before)
        test_fail(__FILE__, __LINE__, "%s, allocation %lld refused: leaves %lld bytes", name, (long long)i,
                  (long long)(live - before));
      most = i;
    }
  if (getenv("ABUT_VERBOSE")) printf("%s: %lld allocations\n", name, (long long)most);
  CHECK(most > 0);
  outcome_free(&usual);
  outcome_free(&l->out);
  array_free(&l->gravity), array_free(&l->qpos), array_free(&l->qvel);
}
/* Two boxes, one on the other, that all but touch: along x without a floor, or on it. */
static scene two_boxes(int floor) {
  scene s = {0};
  abut_builder *b = scene_begin(floor ? -9.81 : 0);
  if (floor) scene_floor(b);
  for (int i = 0; i < 2; i++) {
    int32_t body =
        scene_free_body(b, floor ? 0 : 0.21 * i, 0, floor ? 0.1002 + 0.2002 * i : 0, 1, 0.01, 0.01, 0.01);
    scene_geom(b, body, ABUT_GEOM_BOX, 0.1, 0.1, 0.1);
  }
  s.model = scene_finish(b);
  if (s.model) s.n = abut_model_get_sizes(s.model);
  return s;
}
TEST(batches_live_on) {
  life l = {.with = {two_boxes(1), test_options(3)}, .nstep = 2};
  l.with.o.implicit.pair_capacity = 1;
  l.with.o.threads = 2;
  REQUIRE(l.with.s.model);
  check_life("contacts", &l);
  scene_free(&l.with.s);
}
TEST(batches_of_long_range_live_on) {
  life l = {.with = {two_boxes(0), test_options(1)}, .far = 1, .nstep = 1};
  l.with.o.implicit.contact = ABUT_CONTACT_LONGRANGE;
  REQUIRE(l.with.s.model);
  check_life("long range", &l);
  scene_free(&l.with.s);
}

/* Lane groups that grew alone, for a reverse pass, may bring more contacts than records have room for. */
TEST(records_grow_with_what_lanes_bring) {
  setting with = {.o = test_options(3)};
  REQUIRE(scene_load("scenes/stack5.abut", &with.s));
  outcome of[2];
  for (int i = 0; i < 2; i++) {
    with.o.implicit.pair_capacity = i ? 1 : with.s.n.npair;
    abut_batch *b = batch_of(&with.s, &with.o);
    if (i) {
      b->backend->close(b);
      b->nslot = with.s.n.npair;
      CHECK_STATUS(b->backend->open(b), ABUT_OK);
    }
    outcome_create(&of[i], &with.s, &with.o, 2);
    outcome_go(&of[i], b);
    CHECK(of[i].forward == ABUT_OK && of[i].reverse == ABUT_OK && b->capacity >= 5);
    abut_batch_destroy(b);
  }
  CHECK(same_outcome(&of[0], &of[1]));
  for (int i = 0; i < 2; i++) outcome_free(&of[i]);
  scene_free(&with.s);
}

/* ------------------------------------------------------------------------------------------ optimisers */

static abut_status optimise(void *model) {
  abut_options o = inverse_options(2);
  abut_problem p = full_problem();
  abut_batch *b = NULL;
  abut_optimiser *optimiser = NULL;
  o.threads = 1;
  abut_rollout_args args = abut_default_rollout_args();
  abut_status status = abut_batch_create(model, &o, &b);
  TRY(abut_optimiser_create(b, &p, &optimiser));
  TRY(abut_optimiser_step(optimiser, NULL, NULL, NULL));
  TRY(abut_optimiser_replay(optimiser, &args, NULL, NULL));
  abut_optimiser_destroy(optimiser);
  abut_batch_destroy(b);
  return status;
}
TEST(optimisers) {
  abut_model *m = sled_and_box();
  REQUIRE(m);
  check_in_turn("optimiser", optimise, m);
  abut_model_destroy(m);
}

/* ------------------------------------------------------------------------------------------ manifolds,
 * queries */

static abut_status run_manifold(void *arg) {
  const abut_surface *s = arg;
  abut_manifold_options o = soft_options();
  abut_manifold *m = NULL;
  abut_manifold_counts counts = {0};
  double poses[14], grad[12], vertices[24], numbers[11];
  static double room[4][8 * 12 * 200];
  memcpy(poses, at_rest, sizeof at_rest);
  poses[7] = 1.9;
  abut_status status = abut_manifold_create(s, s, &o, &m);
  TRY(abut_manifold_size(m, &counts));
  CHECK(counts.contacts <= 200);
  abut_contacts bar = {room[0], room[0] + 600, room[0] + 800, room[0] + 1400}, out = bar;
  abut_contacts jacobian = {room[1], room[2], room[3], NULL};
  abut_manifold_bars bars = {.poses = grad, .vertices = {vertices, NULL}, .primitives = {numbers, NULL}};
  TRY(abut_manifold_contacts(m, 1, poses, &out));
  TRY(abut_manifold_gradient(m, 1, poses, &bar, &bars, NULL));
  TRY(abut_manifold_jacobian(m, 1, poses, &jacobian, NULL));
  abut_manifold_destroy(m);
  return status;
}
TEST(manifolds) {
  abut_primitive q;
  abut_surface s = case_surface(&q, (double[12]){0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0.5, 0.5}, case_body1_vertices,
                                case_body1_edges);
  check_in_turn("manifold", run_manifold, &s);
}

static abut_status ask(void *arg) {
  (void)arg;
  double a[3] = {0, 0, 0}, b[3] = {0, 0, 1}, distance, moved[8][3];
  abut_plane_query plane = {.contact = ABUT_CONTACT_INVERSE, .na = 1, .nb = 1, .a = a, .b = b, .length = 1};
  abut_plane_result result = {0};
  memcpy(moved, cube, sizeof moved);
  for (int i = 0; i < 8; i++) moved[i][0] += 1.5;
  abut_longrange_query far = {.epsilon = 0.5, .length = 1, .form = ABUT_FORM_WEIGHTED};
  far.a = (abut_triangles){.vertices = cube[0], .nvertex = 8, .triangles = cube_faces[0], .ntriangle = 12};
  far.b = far.a;
  far.b.vertices = moved[0];
  abut_longrange_result found = {0};
  abut_primitive ball = {.quaternion = {1, 0, 0, 0}, .size = {1, 1, 1}, .exponents = {1, 1}};
  abut_surface s = {.primitives = &ball, .primitive_count = 1, .tau = 0.01};
  abut_status status = abut_query_plane(1, &plane, &result, ABUT_F64);
  TRY(abut_query_longrange(1, &far, &found, ABUT_F64));
  TRY(abut_query_distance(&s, 1, b, &distance, NULL, NULL, ABUT_F64));
  return status;
}
TEST(queries) { check_in_turn("queries", ask, NULL); }
