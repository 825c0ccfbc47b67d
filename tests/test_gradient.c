/* test_gradient.c: cotangents of whole scenes against differences, and what the reverse pass promises a caller. */
#include "gradient.h"

static int scene_problem(problem *p, const char *name, const char *path, abut_options o, int64_t nstep) {
  abut_model *model = NULL;
  CHECK_STATUS(abut_model_load(path, NULL, &model), ABUT_OK);
  return model && problem_create(p, name, model, o, nstep);
}

typedef struct scene_case {
  const char *path;
  int64_t nstep, directions;
  double qvel, ctrl;
} scene_case;

static const scene_case cases[] = {
    {"scenes/incline.abut", 12, 8, 0.1, 0},    {"scenes/stack5.abut", 12, 6, 0.05, 0},
    {"scenes/ant_box.abut", 12, 6, 0.3, 0.5},  {"scenes/arm_mesh.abut", 12, 8, 0.3, 0.5},
    {"scenes/pile.abut", 10, 4, 0.05, 0},      {"scenes/planks20.abut", 6, 2, 0.02, 0},
    {"scenes/chains4x8.abut", 8, 2, 0.2, 0.5},
};
enum { CASES = sizeof cases / sizeof *cases };

static checked check_case(const scene_case *c, abut_options o) {
  problem p;
  checked r = {0};
  if (!scene_problem(&p, c->path, c->path, o, c->nstep)) return r;
  p.directions = test_quick() ? 1 : c->directions;
  problem_random(&p, 1, c->qvel, c->ctrl);
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
