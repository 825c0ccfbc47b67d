/* options.c: one table of every option (who takes it, range, default, help), the parser and the help text. */
#include "cli.h"
#include "abut/abut.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
  SCENE_COMMANDS = COMMAND_INFO | COMMAND_CONVERT | COMMAND_ROLLOUT | COMMAND_GRADIENT | COMMAND_OPTIMISE,
  STEP_COMMANDS = COMMAND_INFO | COMMAND_ROLLOUT | COMMAND_GRADIENT | COMMAND_OPTIMISE,
  RUN_COMMANDS = COMMAND_ROLLOUT | COMMAND_GRADIENT,
  STEP_OR_TASK = STEP_COMMANDS | IN_TASKS,
};

#define AT(field) offsetof(cli_options, field)
#define IMPLICIT(field) AT(batch.implicit.field)
static const option_spec table[] = {
    {"envs", INTEGER, STEP_COMMANDS, AT(envs), 1, 1e12, "N", "1", NULL, "environments"},
    {"steps", INTEGER, RUN_COMMANDS, AT(steps), 1, 1e12, "T", "100", NULL, "steps"},
    {"method", WORD, STEP_OR_TASK, AT(batch.method), 0, 0, NULL, NULL, NULL, "how a step is made"},
    {"dt", NUMBER_SET, STEP_OR_TASK, AT(batch.timestep), 0, 0, "S", NULL, NULL, "step length (s)"},
    {"contact", WORD, STEP_OR_TASK, IMPLICIT(contact), 0, 0, NULL, NULL, NULL, "contact model"},
    {"epsilon", NUMBER, STEP_OR_TASK, IMPLICIT(epsilon), 0, 0, "E", NULL, NULL,
     "longrange: width of the blend between points and triangles"},
    {"form", WORD, STEP_OR_TASK, IMPLICIT(form), 0, 0, NULL, NULL, NULL, "longrange: form of the potential"},
    {"tessellation", INTEGER, SCENE_COMMANDS, AT(tessellation), 1, 100, "K", NULL, "4 round, 1 box",
     "longrange: parts into which edges of primitives are cut"},
    {"reach", NUMBER, STEP_OR_TASK, IMPLICIT(reach), 0, 0, "s", NULL, NULL,
     "reach of the local barrier, in units of the length scale"},
    {"stiffness", NUMBER_SET, STEP_OR_TASK, IMPLICIT(stiffness), 0, 0, "MU", NULL, "1e-7 local, else 1e-8",
     "weight of the barrier (J)"},
    {"length", NUMBER, STEP_OR_TASK, IMPLICIT(length), 0, 0, "L0", NULL, NULL, "length scale (m)"},
    {"gap0", NUMBER_SET, STEP_OR_TASK, IMPLICIT(gap0), 0, 0, "G", NULL, "half the reach local, else 1e-4",
     "gap given to shapes that touch at the start (m)"},
    {"max-separation", NUMBER, STEP_OR_TASK, IMPLICIT(max_separation), 0, 0, "D", NULL, NULL,
     "refuse to start if a body must move further than this for that gap (m)"},
    {"overlap", WORD, STEP_OR_TASK, IMPLICIT(overlap), 0, 0, NULL, NULL, NULL,
     "shapes that overlap where the scene starts: within a tree, or a tree in the ground"},
    {"friction", NUMBER_OVERRIDE, STEP_OR_TASK, AT(batch.friction), 0, 0, "F", NULL, "the scene's",
     "overrides every friction coefficient"},
    {"friction-form", WORD, STEP_COMMANDS, IMPLICIT(friction_form), 0, 0, NULL, NULL, NULL,
     "where lagged friction forces act"},
    {"slip", NUMBER, STEP_OR_TASK, IMPLICIT(slip_velocity), 0, 0, "E", NULL, NULL,
     "contact creeps below this speed (m/s)"},
    {"weights", WORD, STEP_COMMANDS, IMPLICIT(weights), 0, 0, NULL, NULL, NULL,
     "weights of a shape's points: 1 each, or 8 in all"},
    {"tol", NUMBER, STEP_OR_TASK, AT(batch.tolerance), 0, 0, "TOL", NULL, NULL,
     "gradient tolerance of a step (N)"},
    {"max-iterations", WHOLE, STEP_OR_TASK, AT(batch.max_iterations), 0, 0, "K", NULL, NULL,
     "Newton iterations a step may take"},
    {"solver", WORD, STEP_COMMANDS, IMPLICIT(solver), 0, 0, NULL, NULL, NULL,
     "planes as unknowns of the step, or solved to the end inside it (reference)"},
    {"ctrl", TEXT, RUN_COMMANDS, AT(ctrl), 0, 0, "zero|random|FILE.npy", NULL, "the key's, else zero",
     "controls: a file holds [N or 1, T or 1, nu]; random is uniform in ctrlrange"},
    {"key", TEXT, RUN_COMMANDS, AT(key), 0, 0, "NAME", NULL, "the reference pose at rest",
     "keyframe to start from"},
    {"seed", UNSIGNED, RUN_COMMANDS | COMMAND_OPTIMISE | COMMAND_FIT, AT(seed), 0, 0, "K", "0", NULL,
     "of random controls, perturbations, starts, samples"},
    {"perturb", NONNEGATIVE, RUN_COMMANDS, AT(perturb), 0, 0, "SIGMA", "0", NULL,
     "standard deviation of noise on the initial qvel and qpos"},
    {"device", WORD, STEP_COMMANDS | COMMAND_MANIFOLD | COMMAND_BENCH, AT(batch.device), 0, 0, NULL, NULL,
     NULL, "where it runs"},
    {"threads", WHOLE, STEP_COMMANDS | COMMAND_MANIFOLD, AT(batch.threads), 0, 0, "K", NULL, "all cores",
     "threads of the CPU"},
    {"dtype", WORD, STEP_COMMANDS | COMMAND_QUERY | COMMAND_MANIFOLD | COMMAND_BENCH, AT(batch.dtype), 0, 0,
     NULL, NULL, NULL, "arithmetic"},
    {"out", TEXT, COMMAND_ROLLOUT, AT(out), 0, 0, "FILE.h5", NULL, "none",
     "trajectories of every environment"},
    {"out", TEXT, COMMAND_OPTIMISE, AT(out), 0, 0, "FILE.h5", NULL, "none",
     "losses of every iteration, best trajectory"},
    {"gltf", TEXT, COMMAND_OPTIMISE, AT(gltf), 0, 0, "FILE.glb", NULL, "none",
     "animation of the best environment"},
    {"iterations", INTEGER, COMMAND_OPTIMISE, AT(iterations), 1, 1e6, "K", NULL, "the task's",
     "iterations, or those of each horizon"},
    {"require-success", FLAG, COMMAND_OPTIMISE, AT(require_success), 0, 0, NULL, NULL, NULL,
     "exit 1 where no environment has every body in its target"},
    {"gltf", TEXT, COMMAND_ROLLOUT, AT(gltf), 0, 0, "FILE.glb", NULL, "none", "animation of one environment"},
    {"env", INTEGER, COMMAND_ROLLOUT, AT(env), 0, 1e12, "I", "0", NULL, "the environment that --gltf shows"},
    {"buffer", INTEGER, RUN_COMMANDS, AT(buffer), 1, 1e9, "MIB", "256", NULL,
     "outputs held in memory before they are written (MiB)"},
    {"check", FLAG, COMMAND_GRADIENT, AT(check), 0, 0, NULL, NULL, NULL,
     "compare with central differences (f64, a millionth of --tol); exit 1 above 1e-5"},
    {"gap", POSITIVE, COMMAND_INFO, AT(gap), 0, 0, "G", "1e-3", NULL,
     "advise on stiffness and reach for this gap under the heaviest load (m)"},
    {"filter", TEXT, COMMAND_BENCH, AT(filter), 0, 0, "GLOB", "*", NULL,
     "lines to measure, such as longrange*"},
    {"scenes", TEXT, COMMAND_BENCH, AT(scenes), 0, 0, "DIR", "scenes", NULL,
     "folder of the benchmark scenes"},
    {"ignore-unsupported", FLAG, SCENE_COMMANDS, AT(ignore_unsupported), 0, 0, NULL, NULL, NULL,
     "drop what can be dropped from a scene, with a warning, instead of refusing"},
    {"hull-points", INTEGER, SCENE_COMMANDS, AT(hull_points), 4, 100000, "K", NULL, "the library's",
     "points of the hulls that replace cylinders and ellipsoids"},
    {"out", TEXT, COMMAND_FIT, AT(out), 0, 0, "FILE.abut", NULL, "none",
     "the fitted surface as a scene of one body; also -o"},
    {"primitives", INTEGER, COMMAND_FIT, AT(primitives), 1, 256, "N", "12", NULL,
     "superquadrics, or fewer where nothing is left to cover"},
    {"vertices", INTEGER, COMMAND_FIT, AT(vertices), 16, 100000, "N", "600", NULL,
     "vertices of the contact mesh"},
    {"polyhedra", FLAG, COMMAND_FIT, AT(polyhedra), 0, 0, NULL, NULL, NULL,
     "let polyhedra stand for superquadrics that fit half as well or worse"},
    {"geom", TEXT, COMMAND_FIT, AT(geom), 0, 0, "NAME", NULL, "the only mesh",
     "the geom of a scene that is fitted, or its mesh"},
    {"grid", INTEGER, COMMAND_FIT, AT(grid), 16, 400, "N", "100", NULL,
     "samples of the signed distance along the longest side"},
    {"rounds", INTEGER, COMMAND_FIT, AT(rounds), 0, 10000, "K", "12", NULL,
     "attempts to move a primitive to where it helps more"},
    {"tau", POSITIVE, COMMAND_FIT, AT(tau), 0, 0, "T", NULL, "0.002 of the diagonal",
     "width of the blend between primitives (m)"},
    {"density", POSITIVE, COMMAND_FIT, AT(density), 0, 0, "RHO", "1000", NULL,
     "density of the body (kg/m^3)"},
    {"poses", TEXT, COMMAND_MANIFOLD, AT(poses), 0, 0, "FILE.npy", NULL, "must be given",
     "[P, 2, 7]: position (m) and quaternion (w, x, y, z) of either surface"},
    {"out", TEXT, COMMAND_MANIFOLD, AT(out), 0, 0, "FILE.h5", NULL, "none",
     "active contacts of every pair of poses"},
    {"threshold", NONNEGATIVE, COMMAND_MANIFOLD, AT(threshold), 0, 1, "A", "1e-3", NULL,
     "contacts of more activity than this are active"},
    {"vertices", COUNTS, COMMAND_MANIFOLD, AT(surface_vertices), 0, 0, "K|K1,K2|all|auto", "all", NULL,
     "deepest vertices of either surface that are contacts"},
    {"edges", COUNTS, COMMAND_MANIFOLD, AT(surface_edges), 0, 0, "K|K1,K2|all|auto", NULL,
     "32, or all if fewer", "deepest edges of either surface that are paired"},
    {"form", CHOICE, COMMAND_MANIFOLD, AT(manifold_form), 0, 0, "linear|paper", "linear", NULL,
     "distance of pairs of edges"},
    {"selection", CHOICE, COMMAND_MANIFOLD, AT(selection), 0, 0, "hard|softsort", "hard", NULL,
     "how the deepest are chosen"},
    {"derivatives", FLAG, COMMAND_MANIFOLD, AT(derivatives), 0, 0, NULL, NULL, NULL,
     "write derivatives by the coordinates of both poses, too"},
    {"gltf", TEXT, COMMAND_MANIFOLD, AT(gltf), 0, 0, "FILE.glb", NULL, "none",
     "both surfaces and their active contacts at one pair of poses"},
    {"pose", INTEGER, COMMAND_MANIFOLD, AT(pose), 0, 1e12, "I", "0", NULL, "the pair that --gltf shows"},
    {"json", FLAG,
     COMMAND_INFO | RUN_COMMANDS | COMMAND_BENCH | COMMAND_OPTIMISE | COMMAND_FIT | COMMAND_MANIFOLD,
     AT(json), 0, 0, NULL, NULL, NULL, "one JSON value on standard output"},
};
enum { OPTION_COUNT = sizeof table / sizeof *table };
_Static_assert(OPTION_COUNT <= 64, "cli_options.given has a bit per option");

typedef struct command_spec {
  const char *name;
  int command;
  int min_arguments, max_arguments;
  const char *arguments, *help;
} command_spec;

static const command_spec commands[] = {
    {"info", COMMAND_INFO, 1, 1, "SCENE", "what a scene holds, the defaults in force, advice on contact"},
    {"convert", COMMAND_CONVERT, 2, 2, "SCENE OUT.abut", "compile a scene into a .abut file"},
    {"rollout", COMMAND_ROLLOUT, 1, 1, "SCENE", "simulate many copies of a scene"},
    {"gradient", COMMAND_GRADIENT, 1, 1, "SCENE", "time the reverse pass of a rollout, or check it"},
    {"optimise", COMMAND_OPTIMISE, 1, 1, "TASK.json", "gradient descent on controls and initial states"},
    {"fit", COMMAND_FIT, 1, 1, "MESH", "fit superquadrics to a mesh (.obj, .stl, or one in a scene)"},
    {"query", COMMAND_QUERY, 1, 2, "plane|longrange|ee|vf|sq|cp|manifold [FILE.json]",
     "answer contact queries: a JSON array in, one out"},
    {"manifold", COMMAND_MANIFOLD, 2, 2, "A.abut B.abut", "smooth contacts of two surfaces at many poses"},
    {"bench", COMMAND_BENCH, 0, 0, "", "measure, one `name value unit` a line"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void *slot(cli_options *options, const option_spec *spec) { return (char *)options + spec->offset; }

const option_spec *cli_option(int i) { return i < OPTION_COUNT ? &table[i] : NULL; }

int cli_says_nothing(const option_spec *spec, double value) {
  return (spec->kind == NUMBER_SET && value == 0) || (spec->kind == NUMBER_OVERRIDE && value < 0);
}

/* ------------------------------------------------------------------------------------------- words */

/* The library's word for a value; it has no dashes in names. */
static const char *library_word(const char *option, int32_t value) {
  char name[32];
  snprintf(name, sizeof name, "%s", option);
  for (char *at = name; *at; at++)
    if (*at == '-') *at = '_';
  return abut_option_word(name, value);
}

void cli_words(const option_spec *spec, const char *words[MOST_WORDS]) {
  int count = 0;
  while (count + 1 < MOST_WORDS && (words[count] = library_word(spec->name, count)) != NULL) count++;
  words[count] = NULL;
}

const char *cli_choice(const char *option, int index) {
  const char *word = library_word(option, index);
  return word ? word : "";
}

/* What stands for the value in the help. */
static const char *value_text(const option_spec *spec, char *text, size_t size) {
  const char *words[MOST_WORDS];
  if (spec->kind != WORD) return spec->value ? spec->value : "";
  cli_words(spec, words);
  text[0] = 0;
  for (int i = 0; words[i]; i++) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i ? "|" : "", words[i]);
  }
  return text;
}

int cli_given(const cli_options *options, const char *name) {
  for (int i = 0; i < OPTION_COUNT; i++)
    if (!strcmp(table[i].name, name)) return (int)(options->given >> i & 1);
  return 0;
}

/* ------------------------------------------------------------------------------------------- values */

static int parse_integer(const option_spec *spec, const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (end == text || *end || errno || (double)parsed < spec->min || (double)parsed > spec->max)
    return cli_error("--%s %s: must be an integer from %.0f to %.0f", spec->name, text, spec->min, spec->max);
  *value = parsed;
  return CLI_OK;
}

/* One count for both surfaces, or two. */
static int parse_counts(const option_spec *spec, const char *text, int64_t counts[2]) {
  const char *at = text;
  counts[0] = counts[1] = -1;
  if (!strcmp(text, "all")) return CLI_OK;
  if (!strcmp(text, "auto")) {
    counts[0] = counts[1] = COUNT_AUTO;
    return CLI_OK;
  }
  for (int i = 0; i < 2; i++) {
    char *end;
    errno = 0;
    long long parsed = strtoll(at, &end, 10);
    int last = i == 1 || *end != ',';
    if (end == at || errno || parsed < 0 || parsed > INT32_MAX || (last && *end))
      return cli_error("--%s %s: must be one or two integers from 0 to %d, all or auto", spec->name, text,
                       INT32_MAX);
    counts[i] = parsed;
    if (last && i == 0) counts[1] = parsed;
    if (last) break;
    at = end + 1;
  }
  return CLI_OK;
}

static int parse_unsigned(const option_spec *spec, const char *text, uint64_t *value) {
  char *end;
  errno = 0;
  unsigned long long parsed = strtoull(text, &end, 10);
  if (end == text || *end || errno || strchr(text, '-'))
    return cli_error("--%s %s: must be an integer from 0 to 2^64 - 1", spec->name, text);
  *value = parsed;
  return CLI_OK;
}

static int parse_real(const option_spec *spec, const char *text, double *value) {
  char *end;
  double parsed = strtod(text, &end);
  int inside = spec->kind == NONNEGATIVE ? parsed >= 0 : parsed > 0;
  if (end == text || *end || !isfinite(parsed) || !inside || (spec->max > 0 && parsed >= spec->max)) {
    const char *low = spec->kind == POSITIVE ? "above 0" : "of 0 or more";
    if (spec->max > 0)
      return cli_error("--%s %s: must be a number %s and below %g", spec->name, text, low, spec->max);
    return cli_error("--%s %s: must be a finite number %s", spec->name, text, low);
  }
  *value = parsed;
  return CLI_OK;
}

/* The library says which numbers it takes. */
static int parse_number(const option_spec *spec, const char *text, double *value) {
  char *end;
  double parsed = strtod(text, &end);
  if (end == text || *end) return cli_error("--%s %s: must be a number", spec->name, text);
  if (cli_says_nothing(spec, parsed))
    return cli_error("--%s %s: would stand for the default; leave it out", spec->name, text);
  *value = parsed;
  return CLI_OK;
}

static int parse_whole(const option_spec *spec, const char *text, int32_t *value) {
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (end == text || *end || errno || parsed < INT32_MIN || parsed > INT32_MAX)
    return cli_error("--%s %s: must be an integer of 32 bits", spec->name, text);
  *value = (int32_t)parsed;
  return CLI_OK;
}

static int parse_word(const option_spec *spec, const char *text, int32_t *value) {
  const char *words[MOST_WORDS];
  char list[96];
  cli_words(spec, words);
  for (int32_t i = 0; words[i]; i++)
    if (!strcmp(text, words[i])) {
      *value = i;
      return CLI_OK;
    }
  return cli_error("--%s %s: must be one of %s", spec->name, text, value_text(spec, list, sizeof list));
}

static int parse_choice(const option_spec *spec, const char *text, int *value) {
  const char *at = spec->value;
  for (int index = 0;; index++) {
    size_t length = strcspn(at, "|");
    if (strlen(text) == length && !strncmp(at, text, length)) {
      *value = index;
      return CLI_OK;
    }
    if (!at[length]) return cli_error("--%s %s: must be one of %s", spec->name, text, spec->value);
    at += length + 1;
  }
}

static int parse_text(const option_spec *spec, const char *text, const char **value) {
  if (!*text) return cli_error("--%s: must not be empty", spec->name);
  *value = text;
  return CLI_OK;
}

static int parse_value(const option_spec *spec, const char *text, cli_options *options) {
  void *at = slot(options, spec);
  switch (spec->kind) {
  case FLAG:
    *(int *)at = 1;
    return CLI_OK;
  case INTEGER:
    return parse_integer(spec, text, at);
  case COUNTS:
    return parse_counts(spec, text, at);
  case UNSIGNED:
    return parse_unsigned(spec, text, at);
  case POSITIVE:
  case NONNEGATIVE:
    return parse_real(spec, text, at);
  case CHOICE:
    return parse_choice(spec, text, at);
  case TEXT:
    return parse_text(spec, text, at);
  case NUMBER:
  case NUMBER_SET:
  case NUMBER_OVERRIDE:
    return parse_number(spec, text, at);
  case WHOLE:
    return parse_whole(spec, text, at);
  case WORD:
    return parse_word(spec, text, at);
  }
  return CLI_OK;
}

static void set_presets(cli_options *options) {
  memset(options, 0, sizeof *options);
  options->batch = abut_default_options();
  for (int i = 0; i < OPTION_COUNT; i++)
    if (table[i].preset) parse_value(&table[i], table[i].preset, options);
}

/* --------------------------------------------------------------------------------------------- help */

/* The value where an option is not given. */
static const char *default_text(const option_spec *spec, char *text, size_t size) {
  cli_options none;
  set_presets(&none);
  const void *at = slot(&none, spec);
  if (spec->note || spec->kind < NUMBER) return spec->note ? spec->note : spec->preset;
  if (spec->kind == WORD) return library_word(spec->name, *(const int32_t *)at);
  if (spec->kind == WHOLE)
    snprintf(text, size, "%d", *(const int32_t *)at);
  else
    snprintf(text, size, "%g", *(const double *)at);
  return text;
}

static void print_option(const option_spec *spec) {
  char left[96], value[64], preset[32];
  snprintf(left, sizeof left, "--%s %s", spec->name, value_text(spec, value, sizeof value));
  const char *not_given = default_text(spec, preset, sizeof preset);
  printf("  %-30s %s", left, spec->help);
  if (spec->kind != FLAG && not_given) printf(" [%s]", not_given);
  printf("\n");
}

static int print_command_help(const command_spec *command) {
  printf("abut %s %s [options]\n  %s\n\noptions:\n", command->name, command->arguments, command->help);
  for (int i = 0; i < OPTION_COUNT; i++)
    if (table[i].commands & (unsigned)command->command) print_option(&table[i]);
  if (command->command == COMMAND_OPTIMISE)
    printf("\n  an option that is not given is the task's, then the default\n");
  return cli_flush();
}

static int print_help(FILE *stream) {
  fprintf(stream, "abut: batched, differentiable simulation of rigid bodies in contact\n\n");
  for (int i = 0; i < COMMAND_COUNT; i++)
    fprintf(stream, "  abut %-8s %-18s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
  fprintf(stream, "\n  abut help COMMAND shows its options; abut --version the version\n"
                  "  SCENE is MJCF (.xml), URDF (.urdf) or a compiled scene (.abut)\n");
  return stream == stdout ? cli_flush() : CLI_BAD_INPUT;
}

/* -------------------------------------------------------------------------------------------- parse */

static const command_spec *find_command(const char *name) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (!strcmp(commands[i].name, name)) return &commands[i];
  return NULL;
}

static int help_about(const char *name) {
  if (!name) return print_help(stdout);
  const command_spec *command = find_command(name);
  return command ? print_command_help(command) : cli_error("unknown command '%s'", name);
}

static int find_option(const command_spec *command, const char *name, size_t length) {
  for (int i = 0; i < OPTION_COUNT; i++)
    if (table[i].commands & (unsigned)command->command && strlen(table[i].name) == length &&
        !strncmp(table[i].name, name, length))
      return i;
  return -1;
}

/* Reads the option at argv[*at], and its value, which may be the next argument. */
static int parse_option(const command_spec *command, int argc, char **argv, int *at, cli_options *options) {
  const char *name = argv[*at] + 2;
  if (!strcmp(argv[*at], "-o")) name = "out";
  const char *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  int index = find_option(command, name, length);
  if (index < 0 || (strncmp(argv[*at], "--", 2) && strcmp(argv[*at], "-o")))
    return cli_error("%s: unknown option '%s'", command->name, argv[*at]);
  const option_spec *spec = &table[index];
  const char *value = equals ? equals + 1 : NULL;
  if (spec->kind == FLAG && value) return cli_error("--%s: takes no value", spec->name);
  if (spec->kind != FLAG && !value) {
    char text[64];
    if (*at + 1 >= argc)
      return cli_error("--%s: needs a value, %s", spec->name, value_text(spec, text, sizeof text));
    value = argv[++*at];
  }
  options->given |= UINT64_C(1) << index;
  return parse_value(spec, value, options);
}

static int parse_arguments(const command_spec *command, int argc, char **argv, cli_options *options) {
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return print_command_help(command);
    if (argv[i][0] == '-' && argv[i][1]) {
      int code = parse_option(command, argc, argv, &i, options);
      if (code != CLI_OK) return code;
    } else if (options->argument_count == command->max_arguments) {
      return cli_error("%s: unexpected argument '%s'", command->name, argv[i]);
    } else {
      options->arguments[options->argument_count++] = argv[i];
    }
  }
  if (options->argument_count < command->min_arguments)
    return cli_error("%s: needs %s", command->name, command->arguments);
  return -1;
}

int cli_parse(int argc, char **argv, cli_options *options) {
  set_presets(options);
  if (argc < 2) return print_help(stderr);
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) return print_help(stdout);
  if (!strcmp(argv[1], "help")) return help_about(argc > 2 ? argv[2] : NULL);
  if (!strcmp(argv[1], "--version")) {
    printf("abut %s\n", abut_version());
    return cli_flush();
  }
  const command_spec *command = find_command(argv[1]);
  if (!command) return cli_error(argv[1][0] == '-' ? "unknown option '%s'" : "unknown command '%s'", argv[1]);
  options->command = command->command;
  return parse_arguments(command, argc, argv, options);
}
