/* task.h: a task file: a scene, a loss, what may change, and how it is optimised. */
#ifndef ABUT_CLI_TASK_H
#define ABUT_CLI_TASK_H
#include "cli.h"
#include "abut/optimise.h"
#include <stddef.h>

typedef struct task {
  const char *file;       /* the caller's */
  void *json;             /* json_t */
  char *scene;            /* path */
  const char *key;        /* keyframe, NULL: the reference pose */
  int64_t steps;          /* of the trajectory */
  int64_t horizon, apply; /* receding horizon: steps looked at and steps applied; horizon 0: none */
  int follow_best;        /* horizons: all environments follow the best one and start anew from there */
  int64_t iterations;     /* in all, or per horizon */
  int64_t envs;
  uint64_t seed;
  abut_problem problem; /* terms and variables are the task's */
} task;

/* Reads and checks all that does not depend on the scene. */
int task_read(task *out, const char *path);
int task_parse(task *out, const char *name, const char *text, size_t size);
/* Looks up bodies, actuators and joints, and builds the problem's terms and variables. */
int task_resolve(task *out, const abut_model *model);
/* The task's options of contact and step, where the command line has none. */
int task_options(const task *in, const cli_options *given, abut_options *out);
void task_close(task *out);

#endif
