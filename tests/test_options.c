/* test_options.c: options and arrays that cannot be right are refused by name and value, before anything is
 * written. */
#include "rollout.h"
#include <stdio.h>

/* Sets one field of the options. */
typedef struct bad_option {
  const char *says; /* name and value in the message */
  size_t at;
  char type; /* 'i' int32, 'l' int64, 'd' double */
  double value;
} bad_option;
#define BAD(name, type, value, text)                                                                         \
  { "option " #name ": " text, offsetof(abut_options, name), type, value }
#define BAD_IMPLICIT(name, type, value, text)                                                                \
  { "option " #name ": " text, offsetof(abut_options, implicit.name), type, value }

static const bad_option bad_options[] = {
    BAD(nenv, 'l', 0, "0"),
    BAD(nenv, 'l', -5, "-5"),
    BAD(nenv, 'l', 4e12, "4000000000000"),
    BAD(method, 'i', 1, "1"),
    BAD(method, 'i', -1, "-1"),
    BAD(device, 'i', 3, "3"),
    BAD(device, 'i', -1, "-1"),
    BAD(threads, 'i', -1, "-1"),
    BAD(team, 'i', 2, "2"),
    BAD(device_id, 'i', -1, "-1"),
    BAD(threads, 'i', 1 << 20, "1048576"),
    BAD(dtype, 'i', 2, "2"),
    BAD(dtype, 'i', -1, "-1"),
    BAD_IMPLICIT(contact, 'i', 3, "3"),
    BAD_IMPLICIT(contact, 'i', -1, "-1"),
    BAD_IMPLICIT(weights, 'i', 2, "2"),
    BAD_IMPLICIT(friction_form, 'i', 2, "2"),
    BAD_IMPLICIT(solver, 'i', 2, "2"),
    BAD(max_iterations, 'i', 0, "0"),
    BAD(max_iterations, 'i', -3, "-3"),
    BAD_IMPLICIT(pair_capacity, 'i', -1, "-1"),
    BAD(timestep, 'd', -0.01, "-0.01"),
    BAD(timestep, 'd', NAN, "nan"),
    BAD(timestep, 'd', INFINITY, "inf"),
    BAD_IMPLICIT(reach, 'd', 0, "0"),
    BAD_IMPLICIT(reach, 'd', -1e-3, "-0.001"),
    BAD_IMPLICIT(reach, 'd', 0.5, "0.5"),
    BAD_IMPLICIT(reach, 'd', NAN, "nan"),
    BAD_IMPLICIT(stiffness, 'd', -1e-7, "-1e-07"),
    BAD_IMPLICIT(stiffness, 'd', NAN, "nan"),
    BAD_IMPLICIT(stiffness, 'd', INFINITY, "inf"),
    BAD_IMPLICIT(length, 'd', 0, "0"),
    BAD_IMPLICIT(length, 'd', -1, "-1"),
    BAD_IMPLICIT(length, 'd', INFINITY, "inf"),
    BAD_IMPLICIT(gap0, 'd', -1e-4, "-0.0001"),
    BAD_IMPLICIT(gap0, 'd', NAN, "nan"),
    BAD_IMPLICIT(max_separation, 'd', -1, "-1"),
    BAD_IMPLICIT(max_separation, 'd', NAN, "nan"),
    BAD_IMPLICIT(max_separation, 'd', INFINITY, "inf"),
    BAD(friction, 'd', NAN, "nan"),
    BAD(friction, 'd', 1e7, "1e+07"),
    BAD_IMPLICIT(slip_velocity, 'd', 0, "0"),
    BAD_IMPLICIT(slip_velocity, 'd', -1, "-1"),
    BAD_IMPLICIT(slip_velocity, 'd', INFINITY, "inf"),
    BAD_IMPLICIT(form, 'i', 2, "2"),
    BAD_IMPLICIT(epsilon, 'd', 0, "0"),
    BAD_IMPLICIT(epsilon, 'd', NAN, "nan"),
    BAD_IMPLICIT(epsilon, 'd', 101, "101"),
    BAD(tolerance, 'd', 0, "0"),
    BAD(tolerance, 'd', NAN, "nan"),
    BAD(tolerance, 'd', -1e-6, "-1e-06"),
};

static abut_options with(const bad_option *bad) {
  abut_options o = test_options(2);
  char *at = (char *)&o + bad->at;
  if (bad->type == 'i') *(int32_t *)at = (int32_t)bad->value;
  if (bad->type == 'l') *(int64_t *)at = (int64_t)bad->value;
  if (bad->type == 'd') *(double *)at = bad->value;
  return o;
}
static void check_says(const char *what) {
  if (!strstr(abut_error_message(), what))
    test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", abut_error_message(), what);
}

TEST(options_out_of_range) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  for (size_t i = 0; i < sizeof bad_options / sizeof *bad_options; i++) {
    abut_options o = with(&bad_options[i]);
    abut_batch *b = (abut_batch *)&s;
    int64_t bytes = 17;
    if (abut_batch_create(s.model, &o, &b) != ABUT_ERROR_ARGUMENT)
      test_fail(__FILE__, __LINE__, "%s was accepted", bad_options[i].says);
    CHECK(b == NULL);
    check_says(bad_options[i].says);
    CHECK_STATUS(abut_batch_memory(s.model, &o, 1, &bytes, NULL), ABUT_ERROR_ARGUMENT);
    CHECK(bytes == 17);
  }
  scene_free(&s);
}

TEST(options_are_resolved) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = abut_default_options();
  o.timestep = 0;
  abut_batch *b = batch_of(&s, &o);
  REQUIRE(b);
  o = abut_batch_get_options(b);
  CHECK(o.timestep == 0.01 && o.implicit.stiffness == 1e-7 && o.implicit.gap0 == 0.5 * o.implicit.reach &&
        o.threads >= 1);
  abut_batch_destroy(b);
  o = abut_default_options();
  o.implicit.contact = ABUT_CONTACT_INVERSE;
  o.timestep = 0.002;
  b = batch_of(&s, &o);
  REQUIRE(b);
  o = abut_batch_get_options(b);
  CHECK(o.timestep == 0.002 && o.implicit.stiffness == 1e-8 && o.implicit.gap0 == 1e-4);
  abut_batch_destroy(b);
  scene_free(&s);
}

/* Words count up from 0, and are those of the enums. */
TEST(words_of_options) {
  const struct {
    const char *option, *word;
    int32_t value;
  } some[] = {{"method", "implicit", ABUT_METHOD_IMPLICIT},
              {"device", "cuda", ABUT_DEVICE_CUDA},
              {"dtype", "f32", ABUT_F32},
              {"contact", "longrange", ABUT_CONTACT_LONGRANGE},
              {"form", "paper", ABUT_FORM_PAPER},
              {"weights", "normalised", ABUT_WEIGHTS_NORMALISED},
              {"solver", "nested", ABUT_SOLVER_NESTED},
              {"friction_form", "vertex", ABUT_FRICTION_VERTEX}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    const char *word = abut_option_word(some[i].option, some[i].value);
    CHECK(word && !strcmp(word, some[i].word));
    CHECK(!abut_option_word(some[i].option, some[i].value + 1));
    CHECK(!abut_option_word(some[i].option, -1));
  }
  CHECK(!abut_option_word("reach", 0) && !abut_option_word("contact", 1 << 20) && !abut_option_word(NULL, 0));
}

TEST(null_arguments) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(1);
  abut_rollout_args args = abut_default_rollout_args();
  abut_batch *b = NULL;
  abut_body_def body;
#define NULL_REFUSED(call, says)                                                                             \
  CHECK_STATUS(call, ABUT_ERROR_ARGUMENT);                                                                   \
  check_says(says)
  NULL_REFUSED(abut_batch_create(NULL, &o, &b), "abut_batch_create: model is NULL");
  NULL_REFUSED(abut_batch_create(s.model, NULL, &b), "abut_batch_create: options is NULL");
  NULL_REFUSED(abut_batch_create(s.model, &o, NULL), "abut_batch_create: batch is NULL");
  abut_batch_destroy(NULL);
  b = batch_of(&s, &o);
  NULL_REFUSED(abut_rollout(NULL, &args, NULL, NULL, NULL), "abut_rollout: batch is NULL");
  NULL_REFUSED(abut_rollout(b, NULL, NULL, NULL, NULL), "abut_rollout: args is NULL");
  NULL_REFUSED(abut_rollout_vjp(b, NULL, NULL, NULL), "abut_rollout_vjp: args is NULL");
  NULL_REFUSED(abut_batch_set_parameters(b, NULL), "parameters is NULL");
  NULL_REFUSED(abut_batch_restore(b, NULL), "snapshot is NULL");
  NULL_REFUSED(abut_model_body(NULL, 0, &body), "abut_model_body: model is NULL");
  NULL_REFUSED(abut_model_body(s.model, 0, NULL), "abut_model_body: def is NULL");
  NULL_REFUSED(abut_model_save(s.model, NULL), "abut_model_save: path is NULL");
  NULL_REFUSED(abut_builder_add_body(NULL, &body, NULL), "abut_builder_add_body: builder is NULL");
  CHECK_STATUS(abut_rollout(b, &args, NULL, NULL, NULL), ABUT_OK); /* nothing asked for */
  CHECK_STATUS(abut_batch_get_state(NULL, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_set_state(NULL, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_batch_get_state(b, NULL, NULL, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_set_state(b, NULL, NULL, NULL), ABUT_OK);
  abut_batch_destroy(b);
  scene_free(&s);
}

TEST(no_cuda_device) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(1);
  o.device = ABUT_DEVICE_CUDA;
  abut_batch *b = NULL;
  int status = abut_batch_create(s.model, &o, &b);
  CHECK(status == ABUT_OK || (status == ABUT_ERROR_DEVICE && b == NULL));
  if (status != ABUT_OK) check_says("CUDA");
  abut_batch_destroy(b);
  scene_free(&s);
}

/* ---------------------------------------------------------------------------------------- arrays of a
 * rollout */

enum { INPUTS = 3 };
static const char *const tensor_names[INPUTS + OUT_COUNT] = {
    "qpos0",   "qvel0",    "ctrl",   "qpos",   "qvel",       "xpos",  "xquat",       "contact_force",
    "min_gap", "min_pair", "energy", "status", "iterations", "moved", "overlap_pair"};

/* A rollout in which every array is given. */
typedef struct call {
  scene s;
  abut_options o;
  abut_batch *b;
  array in[INPUTS];
  run r;
} call;

static array *call_array(call *c, int which) {
  return which < INPUTS ? &c->in[which] : &c->r.out[which - INPUTS];
}

static void call_create(call *c) {
  memset(c, 0, sizeof *c);
  REQUIRE(scene_load("scenes/ant_box.abut", &c->s));
  c->o = test_options(3);
  c->b = batch_of(&c->s, &c->o);
  array_create(&c->in[0], 'd', 2, (int64_t[]){3, c->s.n.nq});
  array_create(&c->in[1], 'd', 2, (int64_t[]){3, c->s.n.nv});
  array_create(&c->in[2], 'd', 3, (int64_t[]){3, 4, c->s.n.nu});
  CHECK_STATUS(abut_batch_get_state(c->b, NULL, tensor(&c->in[0]), tensor(&c->in[1])), ABUT_OK);
  memset(c->in[2].t.data, 0, c->in[2].bytes);
  run_create(&c->r, &c->s, &c->o, 4);
  c->r.args.qpos0 = tensor(&c->in[0]);
  c->r.args.qvel0 = tensor(&c->in[1]);
  c->r.args.ctrl = tensor(&c->in[2]);
}
static void call_free(call *c) {
  for (int i = 0; i < INPUTS; i++) array_free(&c->in[i]);
  run_free(&c->r);
  abut_batch_destroy(c->b);
  scene_free(&c->s);
}
static void check_refused(call *c, const char *what, const char *name) {
  abut_rollout_result result = {.reruns = -7};
  if (abut_rollout(c->b, &c->r.args, &result, NULL, NULL) != ABUT_ERROR_ARGUMENT)
    test_fail(__FILE__, __LINE__, "%s of %s was accepted", what, name);
  check_says(name);
  for (int i = 0; i < OUT_COUNT; i++)
    if (!array_untouched(&c->r.out[i]))
      test_fail(__FILE__, __LINE__, "%s of %s: output %d was written", what, name, i);
  CHECK(result.reruns == -7);
}

/* Ways in which an array can be wrong. */
static const char *const ways[] = {"rows",   "columns", "ndim",      "type code",  "bits",       "lanes",
                                   "device", "strides", "NULL data", "NULL shape", "byte_offset"};
static void spoil(array *a, int way, int64_t *strides) {
  abut_tensor *t = &a->t;
  if (way == 0) a->shape[0]++;
  if (way == 1) a->shape[t->ndim - 1] += 2;
  if (way == 2) t->ndim--;
  if (way == 3) t->dtype.code = t->dtype.code == 2 ? 0 : 2;
  if (way == 4) t->dtype.bits = t->dtype.bits == 64 ? 32 : 64;
  if (way == 5) t->dtype.lanes = 2;
  if (way == 6) t->device = (__typeof__(t->device)){2, 1}; /* a GPU, but no batch's */
  if (way == 7) t->strides = strides;
  if (way == 8) t->data = NULL;
  if (way == 9) t->shape = NULL;
  if (way == 10) t->byte_offset = 2;
}

TEST(wrong_arrays_are_refused) {
  call c;
  call_create(&c);
  int64_t strides[4] = {1, 3, 12, 48}; /* column-major */
  for (int which = 0; which < INPUTS + OUT_COUNT; which++)
    for (int way = 0; way < (int)(sizeof ways / sizeof *ways); way++) {
      array *a = call_array(&c, which), keep = *a;
      if (way == 7 && a->t.ndim == 1) strides[0] = 2;
      spoil(a, way, strides);
      check_refused(&c, ways[way], tensor_names[which]);
      *a = keep;
      strides[0] = 1;
    }
  call_free(&c);
}

/* Messages give the shape found and the shape needed. */
TEST(shape_message) {
  call c;
  call_create(&c);
  c.in[2].shape[1] = 3;
  CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  CHECK(!strcmp(abut_error_message(), "ctrl: has shape [3, 3, 12], needs [3, 4, 12]"));
  c.in[2].shape[1] = 4;
  c.in[2].t.dtype.lanes = 2;
  CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_ERROR_ARGUMENT);
  check_says("ctrl: has type code 2 with 2 lanes of 64 bits, needs code 2 with 1 lane of 64 bits");
  call_free(&c);
}

TEST(a_batch_on_the_cpu_has_no_gpu) {
  scene s;
  abut_batch *b;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(1);
  o.device = ABUT_DEVICE_CPU;
  o.device_id = 7;
  CHECK_STATUS(abut_batch_create(s.model, &o, &b), ABUT_ERROR_ARGUMENT);
  check_says("option device_id: 7");
  scene_free(&s);
}

/* Compact strides, an offset and sizes of 1 that broadcast are all fine. */
TEST(right_arrays_are_accepted) {
  call want, c;
  call_create(&want);
  call_create(&c);
  CHECK_STATUS(abut_rollout(want.b, &want.r.args, NULL, NULL, NULL), ABUT_OK);
  int64_t strides[3] = {4 * c.s.n.nu, c.s.n.nu, 1}, nq = c.s.n.nq;
  c.in[2].t.strides = strides;
  double *shifted = malloc(sizeof(double) * (size_t)(3 + nq)), *start = c.in[0].t.data;
  memcpy(shifted + 3, start, sizeof(double) * (size_t)nq);
  c.in[0].shape[0] = c.in[1].shape[0] = 1;
  c.in[0].t.data = shifted;
  c.in[0].t.byte_offset = 3 * sizeof(double);
  CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_OK);
  for (int64_t i = 0; i < 3; i++) run_check_same("broadcast", &c.r, i, &want.r, i);
  for (int64_t n = 1; n <= 3; n += 2) { /* ctrl [1 or N, 1, nu] */
    c.in[2].shape[0] = n;
    c.in[2].shape[1] = 1;
    c.in[2].t.strides = NULL;
    CHECK_STATUS(abut_rollout(c.b, &c.r.args, NULL, NULL, NULL), ABUT_OK);
    for (int64_t i = 0; i < 3; i++) run_check_same("broadcast", &c.r, i, &want.r, i);
  }
  free(shifted);
  c.in[0].t.data = start;
  call_free(&c);
  call_free(&want);
}

TEST(wrong_numbers_are_refused) {
  call c;
  call_create(&c);
  const double kicks[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; i++) {
    c.r.args.kick = kicks[i];
    check_refused(&c, "value", "kick");
  }
  c.r.args.kick = 0;
  c.r.args.nstep = -4;
  check_refused(&c, "value", "nstep -4");
  call_free(&c);
}

TEST(wrong_states_are_refused) {
  call c;
  call_create(&c);
  for (int which = 0; which < 2; which++)
    for (int way = 0; way < (int)(sizeof ways / sizeof *ways); way++) {
      array *a = &c.in[which], keep = *a;
      int64_t strides[2] = {1, 3};
      spoil(a, way, strides);
      abut_tensor *q = which ? NULL : &a->t, *v = which ? &a->t : NULL;
      CHECK_STATUS(abut_batch_set_state(c.b, NULL, q, v), ABUT_ERROR_ARGUMENT);
      check_says(which ? "qvel" : "qpos");
      CHECK_STATUS(abut_batch_get_state(c.b, NULL, q, v), ABUT_ERROR_ARGUMENT);
      *a = keep;
    }
  c.in[0].shape[0] = 1; /* one row may set all, but not hold all */
  CHECK_STATUS(abut_batch_set_state(c.b, NULL, &c.in[0].t, NULL), ABUT_OK);
  CHECK_STATUS(abut_batch_get_state(c.b, NULL, &c.in[0].t, NULL), ABUT_ERROR_ARGUMENT);
  check_says("qpos: has shape [1, 23], needs [3, 23]");
  call_free(&c);
}

/* What cannot be made a rotation is refused, naming the joint; what can is taken. Rows that the mask leaves
 * out do not matter. */
TEST(states_without_a_rotation_are_refused) {
  call c;
  call_create(&c);
  const double bad[] = {0, 1e-200, NAN, INFINITY};
  const uint8_t others[3] = {1, 0, 1};
  array *q = &c.in[0];
  int64_t quat = 2 * c.s.n.nq - 4; /* of the box in environment 1 */
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    for (int64_t k = 0; k < 4; k++) array_set(q, quat + k, k == 0 ? bad[i] : 0);
    CHECK_STATUS(abut_batch_set_state(c.b, NULL, tensor(q), NULL), ABUT_ERROR_ARGUMENT);
    check_says("qpos[1]: the quaternion of joint 'box' has norm");
    CHECK_STATUS(abut_batch_set_state(c.b, others, tensor(q), NULL), ABUT_OK);
  }
  array_set(q, quat, 2);
  CHECK_STATUS(abut_batch_set_state(c.b, NULL, tensor(q), NULL), ABUT_OK);
  c.r.args.qpos0 = c.r.args.qvel0 = NULL;
  run_go(&c.r, c.b);
  CHECK(run_status(&c.r, 1) == 0);
  call_free(&c);
}
