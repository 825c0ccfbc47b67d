/* test_gradient.c: cotangents of whole scenes against differences, and what the reverse pass promises its
 * caller. */
#include "gradient.h"
#include "test.h"

typedef struct scene_case {
  const char *path;
  int64_t settle;                  /* steps before the checked ones, with zero controls */
  int64_t nstep[2], directions[2]; /* local, inverse */
  double qvel, ctrl;               /* random velocities (m/s, rad/s); share of the control range */
  double reach, stiffness;         /* local; 0: the default */
} scene_case;

static const scene_case cases[] = {
    {"scenes/incline.abut", 0, {12, 12}, {8, 8}, 0.1, 0, 0, 0},
    {"scenes/stack5.abut", 0, {12, 8}, {6, 4}, 0.2, 0, 0, 0},
    {"scenes/ant_box.abut", 0, {12, 5}, {6, 4}, 0.3, 0.5, 0, 0},
    {"scenes/arm_mesh.abut", 0, {12, 8}, {8, 6}, 0.3, 0.5, 0, 0},
    {"scenes/pile.abut", 14, {8, 2}, {4, 2}, 0.05, 0, 0, 0},
    {"scenes/planks20.abut", 0, {6, 2}, {2, 2}, 0.02, 0, 2e-4, 1e-10},
    {"scenes/chains4x8.abut", 0, {8, 1}, {3, 1}, 0.2, 0.5, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Moves the problem's start to where a rollout of nstep steps leads. */
static int settle(problem *p, int64_t nstep) {
  run r;
  run_create(&r, &p->scene, &p->options, nstep);
  abut_batch *b = batch_of(&p->scene, &p->options);
  int ok = b && run_go(&r, b);
  for (int i = 0; ok && i < 2; i++)
    memcpy(p->input[i], (const double *)r.out[i].t.data + nstep * p->entries[i],
           (size_t)p->entries[i] * sizeof(double));
  abut_batch_destroy(b);
  run_free(&r);
  return ok;
}

static int case_problem(problem *p, const scene_case *c, abut_options o) {
  abut_model *model = NULL;
  int inverse = o.contact == ABUT_CONTACT_INVERSE;
  if (!inverse && c->reach > 0) {
    o.reach = c->reach;
    o.stiffness = c->stiffness;
  }
  CHECK_STATUS(abut_model_load(c->path, NULL, &model), ABUT_OK);
  if (!model || !problem_create(p, c->path, model, o, c->nstep[inverse])) return 0;
  if (c->settle > 0 && !settle(p, c->settle)) return 0;
  p->directions = test_quick() ? 1 : c->directions[inverse];
  problem_random(p, 1, c->qvel, c->ctrl);
  return 1;
}

static checked check_case(const scene_case *c, abut_options o) {
  problem p;
  checked r = {0};
  if (!case_problem(&p, c, o)) return r;
  r = problem_check(&p);
  problem_free(&p);
  return r;
}

TEST(every_scene_local) {
  for (int i = 0; i < CASES; i++) check_case(&cases[i], test_options(1));
}

TEST(every_scene_inverse) {
  for (int i = 0; i < CASES; i++) {
    abut_options o = test_options(1);
    o.contact = ABUT_CONTACT_INVERSE;
    check_case(&cases[i], o);
  }
}
