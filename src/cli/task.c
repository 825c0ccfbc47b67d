/* task.c: reads task files. */
#include "task.h"
#include <string.h>

#ifndef ABUT_HAVE_JANSSON

int task_read(task *out, const char *path) {
  (void)path;
  memset(out, 0, sizeof *out);
  return cli_error("built without jansson: optimise needs it");
}

int task_resolve(task *out, const abut_model *model) {
  (void)out, (void)model;
  return CLI_BAD_INPUT;
}

int task_options(const task *in, const cli_options *given, abut_options *out) {
  (void)in, (void)given, (void)out;
  return CLI_BAD_INPUT;
}

void task_close(task *out) { (void)out; }

#else
#include "json_node.h"
#include "task_variable.h"
#include "abut/file.h"
#include <stdlib.h>

enum { MOST_STEPS = 1000000, MOST_COUNT = 1000000 };

/* --------------------------------------------------------------------------------------------- scene */

/* "$NAME/rest" begins with an environment variable, a relative path in the folder of the task. */
static int scene_path(const json_node *top, const char *text, char **path) {
  char name[80];
  const char *folder = top->file, *rest = text;
  size_t length = 0;
  if (*text == '$') {
    length = strcspn(text + 1, "/");
    if (!length) return node_error(top, "scene", "'%.80s': no name of an environment variable after $", text);
    snprintf(name, sizeof name, "%.*s", (int)(length < 79 ? length : 79), text + 1);
    folder = getenv(name);
    rest = text + 1 + length + (text[1 + length] == '/');
    if (!folder || !*folder)
      return node_error(top, "scene", "'%.80s' needs the environment variable %s, which is not set", text,
                        name);
    length = strlen(folder);
  } else if (*text != '/') {
    const char *slash = strrchr(folder, '/');
    length = slash ? (size_t)(slash - folder) : 0;
  }
  size_t size = length + strlen(rest) + 2;
  *path = malloc(size);
  if (!*path) return cli_error("out of memory");
  snprintf(*path, size, "%.*s%s%s", (int)length, folder, length ? "/" : "", rest);
  return CLI_OK;
}

/* ----------------------------------------------------------------------------------- what needs no scene */

static int read_adam(task *out, const json_node *top) {
  json_node at;
  if (!node_has(top, "adam")) return CLI_OK;
  int code = node_child(&at, top, "adam", -1);
  if (code == CLI_OK)
    code = node_keys(&at, (const char *const[]){"rate", "beta1", "beta2", "epsilon", "clip", NULL});
  if (code == CLI_OK) code = node_number(&at, "rate", NUMBER_POSITIVE, &out->problem.rate);
  if (code == CLI_OK) code = node_number(&at, "beta1", NUMBER_BELOW_ONE, &out->problem.beta1);
  if (code == CLI_OK) code = node_number(&at, "beta2", NUMBER_BELOW_ONE, &out->problem.beta2);
  if (code == CLI_OK) code = node_number(&at, "epsilon", NUMBER_NONNEGATIVE, &out->problem.epsilon);
  if (code == CLI_OK) code = node_number(&at, "clip", NUMBER_NONNEGATIVE, &out->problem.clip);
  return code;
}

static int read_horizon(task *out, const json_node *top) {
  static const char *const follows[] = {"own", "best", NULL};
  int code = node_integer(top, "horizon", 1, MOST_STEPS, &out->horizon);
  out->apply = 1;
  if (code == CLI_OK && !out->horizon && node_has(top, "apply"))
    code = node_error(top, "apply", "needs a horizon");
  if (code == CLI_OK && !out->horizon && node_has(top, "follow"))
    code = node_error(top, "follow", "needs a horizon");
  if (code == CLI_OK) code = node_choice(top, "follow", follows, &out->follow_best);
  if (code == CLI_OK) code = node_integer(top, "apply", 1, out->horizon, &out->apply);
  out->problem.nstep = out->horizon ? out->horizon : out->steps;
  return code;
}

static int read_top(task *out, const json_node *top) {
  static const char *const known[] = {"scene",  "key",     "steps", "horizon", "apply",     "iterations",
                                      "envs",   "options", "loss",  "adam",    "variables", "keep",
                                      "follow", "seed",    "note",  NULL};
  const char *scene = NULL, *note = NULL;
  int64_t seed = 0;
  int code = node_keys(top, known);
  static const char *const needed[] = {"scene", "steps", "iterations", "loss", "variables"};
  for (size_t i = 0; code == CLI_OK && i < sizeof needed / sizeof *needed; i++)
    code = node_needs(top, needed[i]);
  if (code == CLI_OK) code = node_text(top, "note", &note);
  if (code == CLI_OK) code = node_text(top, "scene", &scene);
  if (code == CLI_OK) code = node_text(top, "key", &out->key);
  if (code == CLI_OK) code = node_integer(top, "steps", 1, MOST_STEPS, &out->steps);
  if (code == CLI_OK) code = node_integer(top, "iterations", 1, MOST_COUNT, &out->iterations);
  if (code == CLI_OK) code = node_integer(top, "envs", 1, MOST_COUNT, &out->envs);
  if (code == CLI_OK) code = node_integer(top, "seed", 0, INT64_MAX, &seed);
  out->seed = (uint64_t)seed;
  static const char *const keeps[] = {"best", "latest", NULL};
  int keep = 0;
  if (code == CLI_OK) code = node_choice(top, "keep", keeps, &keep);
  out->problem.keep_latest = keep;
  if (code == CLI_OK) code = read_horizon(out, top);
  if (code == CLI_OK) code = read_adam(out, top);
  return code == CLI_OK ? scene_path(top, scene, &out->scene) : code;
}

int task_parse(task *out, const char *name, const char *text, size_t size) {
  json_node top;
  abut_options unused = abut_default_options();
  const cli_options none = {0};
  *out = (task){.file = name, .envs = 1, .problem = abut_default_problem()};
  json_t *json;
  int code = node_parse(&json, name, text, size, JSON_REJECT_DUPLICATES);
  out->json = json;
  if (code == CLI_OK) code = node_open(&top, name, out->json);
  if (code == CLI_OK) code = read_top(out, &top);
  return code == CLI_OK ? task_options(out, &none, &unused) : code;
}

int task_read(task *out, const char *path) {
  char *text = NULL;
  size_t size = 0;
  memset(out, 0, sizeof *out);
  if (abut_file_read(path, &text, &size) != ABUT_OK) return cli_library_error();
  int code = task_parse(out, path, text, size);
  free(text);
  return code;
}

/* ------------------------------------------------------------------------------------------- options */

enum { MOST_OPTIONS = 32 };
static int check_option_names(const json_node *at) {
  const char *known[MOST_OPTIONS] = {NULL};
  int count = 0;
  for (int i = 0; cli_option(i); i++)
    if (cli_option(i)->commands & IN_TASKS && count + 1 < MOST_OPTIONS) known[count++] = cli_option(i)->name;
  return node_keys(at, known);
}

/* The value under the option's name, if it is there, into the place that it has in the batch's options. */
static int read_option(const json_node *at, const option_spec *spec, abut_options *out) {
  void *to = (char *)out + (spec->offset - offsetof(cli_options, batch));
  const char *words[MOST_WORDS];
  int64_t whole = 0;
  int code;
  if (!node_has(at, spec->name)) return CLI_OK;
  switch (spec->kind) {
  case WORD:
    cli_words(spec, words);
    return node_choice(at, spec->name, words, to);
  case WHOLE:
    code = node_integer(at, spec->name, INT32_MIN, INT32_MAX, &whole);
    if (code == CLI_OK) *(int32_t *)to = (int32_t)whole;
    return code;
  default:
    code = node_number(at, spec->name, NUMBER_ANY, to);
    if (code == CLI_OK && cli_says_nothing(spec, *(const double *)to))
      return node_error(at, spec->name, "is %g, which would stand for the default; leave it out",
                        *(const double *)to);
    return code;
  }
}

int task_options(const task *in, const cli_options *given, abut_options *out) {
  json_node top, at;
  int code = node_open(&top, in->file, in->json);
  if (code != CLI_OK || !node_has(&top, "options")) return code;
  code = node_child(&at, &top, "options", -1);
  if (code == CLI_OK) code = check_option_names(&at);
  for (int i = 0; code == CLI_OK && cli_option(i); i++) {
    const option_spec *spec = cli_option(i);
    abut_options unused = *out; /* a value is checked even where the command line's counts */
    if (spec->commands & IN_TASKS)
      code = read_option(&at, spec, cli_given(given, spec->name) ? &unused : out);
  }
  return code;
}

/* ---------------------------------------------------------------------------------------------- loss */

static int read_term(const json_node *at, const abut_model *model, abut_loss_term *out) {
  int count = 0;
  const char *body = NULL;
  *out = abut_default_loss_term();
  int code = node_keys(at, (const char *const[]){"body", "target", "tolerance", "weight", NULL});
  if (code == CLI_OK) code = node_needs(at, "body");
  if (code == CLI_OK) code = node_needs(at, "target");
  if (code == CLI_OK) code = node_text(at, "body", &body);
  if (code == CLI_OK) code = task_find(at, "body", model, 'b', body, &out->body);
  if (code == CLI_OK && out->body == 0) code = node_error(at, "body", "'%.80s' is the world", body);
  if (code == CLI_OK) code = node_numbers(at, "target", NUMBER_ANY, 2, 3, out->target, &count);
  if (count == 2) out->axes = 3; /* a place on the ground */
  if (code == CLI_OK) code = node_number(at, "tolerance", NUMBER_NONNEGATIVE, &out->tolerance);
  if (code == CLI_OK) code = node_number(at, "weight", NUMBER_POSITIVE, &out->weight);
  return code;
}

static int read_loss(task *out, const json_node *top, const abut_model *model) {
  json_node loss, term;
  int64_t count = 0;
  abut_problem *p = &out->problem;
  int code = node_child(&loss, top, "loss", -1);
  if (code == CLI_OK) code = node_keys(&loss, (const char *const[]){"final", "running", "terms", NULL});
  if (code == CLI_OK) code = node_number(&loss, "final", NUMBER_NONNEGATIVE, &p->final_weight);
  if (code == CLI_OK) code = node_number(&loss, "running", NUMBER_NONNEGATIVE, &p->running_weight);
  if (code == CLI_OK && p->final_weight + p->running_weight == 0)
    code = node_error(&loss, "final", "is 0, and so is running: there is no loss");
  if (code == CLI_OK) code = node_length(&loss, "terms", &count);
  if (code != CLI_OK) return code;
  abut_loss_term *terms = calloc((size_t)count, sizeof *terms);
  p->terms = terms;
  if (!terms) return cli_error("out of memory");
  for (int64_t i = 0; code == CLI_OK && i < count; i++) {
    code = node_child(&term, &loss, "terms", i);
    if (code == CLI_OK) code = read_term(&term, model, &terms[i]);
  }
  p->nterm = (int32_t)count;
  return code;
}

/* ----------------------------------------------------------------------------------------- variables */

static int read_variables(task *out, const json_node *top, const abut_model *model) {
  json_node at;
  int64_t count = 0;
  variable_list list = {0};
  int code = node_length(top, "variables", &count);
  for (int64_t i = 0; code == CLI_OK && i < count; i++) {
    code = node_child(&at, top, "variables", i);
    if (code == CLI_OK) code = variable_list_add(&list, &at, model, out->horizon > 0);
  }
  out->problem.variables = list.items;
  out->problem.nvariable = list.count;
  return code;
}

static int check_key(const task *in, const json_node *top, const abut_model *model) {
  const char *at;
  if (!in->key) return CLI_OK;
  for (int32_t i = 0; (at = abut_model_name(model, 'k', i)) != NULL; i++)
    if (!strcmp(at, in->key)) return CLI_OK;
  int32_t count = abut_model_get_sizes(model).nkey;
  return node_error(top, "key", "'%.80s': the scene has %d keyframe%s, none of this name", in->key, count,
                    PLURAL(count));
}

int task_resolve(task *out, const abut_model *model) {
  json_node top;
  int code = node_open(&top, out->file, out->json);
  out->problem.seed = out->seed;
  if (code == CLI_OK) code = check_key(out, &top, model);
  if (code == CLI_OK) code = read_loss(out, &top, model);
  return code == CLI_OK ? read_variables(out, &top, model) : code;
}

void task_close(task *out) {
  json_decref(out->json);
  free(out->scene);
  free((void *)out->problem.terms);
  free((void *)out->problem.variables);
  memset(out, 0, sizeof *out);
}

#endif
