/* options.h: the values of a command line. */
#ifndef ABUT_CLI_OPTIONS_H
#define ABUT_CLI_OPTIONS_H
#include "abut/abut.h"
#include <stdint.h>
#include <stdio.h>

/* Commands, as bits so that an option can name those that take it. */
enum {
  COMMAND_INFO = 1,
  COMMAND_CONVERT = 2,
  COMMAND_ROLLOUT = 4,
  COMMAND_GRADIENT = 8,
  COMMAND_QUERY = 16,
  COMMAND_BENCH = 32,
  COMMAND_OPTIMISE = 64,
  COMMAND_FIT = 128,
  COMMAND_MANIFOLD = 256,
};

/* Of options: task files may set it, too, by the same name. */
enum { IN_TASKS = 512 };

/* The program's own options, whose ranges the table has; then those of a batch, whose ranges the library
 * checks. */
typedef enum option_kind {
  FLAG,
  INTEGER,
  COUNTS,
  UNSIGNED,
  POSITIVE,
  NONNEGATIVE,
  CHOICE,
  TEXT,
  NUMBER,          /* double */
  NUMBER_SET,      /* double; 0 would stand for the default */
  NUMBER_OVERRIDE, /* double; a negative one would stand for the default */
  WHOLE,           /* int32 */
  WORD             /* int32: a value of abut_option_word */
} option_kind;

typedef struct option_spec {
  const char *name;
  option_kind kind;
  unsigned commands;  /* COMMAND_*, IN_TASKS */
  size_t offset;      /* in cli_options */
  double min, max;    /* INTEGER: both included; else max excluded, 0: none */
  const char *value;  /* its name in the help; CHOICE: the words, separated by |; WORD: NULL */
  const char *preset; /* value where it is not given; NULL: 0, or the library's */
  const char *note;   /* the default in words; NULL: preset, or the library's */
  const char *help;
} option_spec;

enum { COUNT_AUTO = -2 };

/* Every option's value; 0 or NULL where it was not given and has no fixed default. */
typedef struct cli_options {
  int command;
  const char *arguments[2]; /* SCENE, OUT and the like */
  int argument_count;
  uint64_t given;     /* bit i: the table's option i was on the command line */
  abut_options batch; /* the library's defaults where nothing was given; nenv is envs */
  int64_t envs, steps, hull_points, tessellation, env, buffer, iterations, primitives, vertices, grid, rounds,
      pose;
  int64_t surface_vertices[2], surface_edges[2]; /* of either surface; -1: all, COUNT_AUTO: suggested */
  uint64_t seed;
  double perturb, gap, tau, density, threshold;
  int manifold_form, selection; /* indices of the choices */
  int json, check, ignore_unsupported, require_success, polyhedra, derivatives;
  const char *ctrl, *key, *out, *gltf, *filter, *scenes, *geom, *poses;
} cli_options;

/* Parses argv[1...]. Returns -1 to go on, else the exit code: help was printed, or an error was. */
int cli_parse(int argc, char **argv, cli_options *options);
/* Whether the option of this name was on the command line. */
int cli_given(const cli_options *options, const char *name);
/* Row i of the table; NULL: there are no more. */
const option_spec *cli_option(int i);
/* Whether a number means in abut_options that the option is not given. */
int cli_says_nothing(const option_spec *spec, double value);
/* Words of a WORD, which NULL ends. */
enum { MOST_WORDS = 8 };
void cli_words(const option_spec *spec, const char *words[MOST_WORDS]);
/* The word of a choice, such as "local" for contact 0. */
const char *cli_choice(const char *option, int index);

#endif
