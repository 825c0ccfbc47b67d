/* fuzz_task.c: any text as a task file, resolved against a small scene; a problem that is accepted suits it.
 */
#include "fuzz.h"
#include "cli/task.h"
#include "host/optimise/problem.h"
#include <stdlib.h>

static abut_model *model;
static abut_batch *batch; /* of it */

/* A body of each kind of joint, with a servo on the slide and on the hinge. */
static abut_model *scene(void) {
  static const char *const names[] = {"free", "ball", "slide", "hinge"};
  abut_builder *b = NULL;
  abut_model *out = NULL;
  int failed = abut_builder_create(&b) != ABUT_OK;
  for (int32_t i = 0; i < 4; i++) {
    abut_body_def body = abut_default_body_def();
    abut_joint_def joint = abut_default_joint_def();
    abut_actuator_def servo = abut_default_actuator_def();
    body.name = joint.name = servo.name = names[i];
    body.mass = body.inertia[0] = body.inertia[1] = body.inertia[2] = 1;
    joint.type = i;
    failed |= abut_builder_add_body(b, &body, &joint.body) != ABUT_OK;
    failed |= abut_builder_add_joint(b, &joint, &servo.joint) != ABUT_OK;
    if (i >= ABUT_JOINT_SLIDE) failed |= abut_builder_add_actuator(b, &servo, NULL) != ABUT_OK;
  }
  failed |= abut_builder_finish(b, &out) != ABUT_OK;
  if (failed) abort();
  abut_builder_destroy(b);
  return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  task t;
  if (!model) {
    abut_options one = abut_default_options();
    model = scene();
    if (abut_batch_create(model, &one, &batch) != ABUT_OK) abort();
  }
  if (task_parse(&t, "fuzz.json", (const char *)data, size) == CLI_OK && task_resolve(&t, model) == CLI_OK &&
      problem_check(&t.problem, batch) != ABUT_OK)
    abort();
  task_close(&t);
  return 0;
}
