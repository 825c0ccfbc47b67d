/* options.h: the values of a command line. */
#ifndef ABUT_CLI_OPTIONS_H
#define ABUT_CLI_OPTIONS_H
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

enum { COUNT_AUTO = -2 };

/* Every option's value; 0 or NULL where it was not given and has no fixed default. */
typedef struct cli_options {
  int command;
  const char *arguments[2]; /* SCENE, OUT and the like */
  int argument_count;
  uint64_t given; /* bit i: the table's option i was on the command line */
  int64_t envs, steps, threads, max_iterations, hull_points, tessellation, env, buffer, iterations,
      primitives, vertices, grid, rounds, pose;
  int64_t surface_vertices[2], surface_edges[2]; /* of either surface; -1: all, COUNT_AUTO: suggested */
  uint64_t seed;
  double dt, reach, stiffness, length, gap0, max_separation, friction, epsilon, slip, tol, perturb, gap, tau,
      density, threshold;
  int contact, form, weights, friction_form, solver, device, dtype, manifold_form,
      selection; /* indices of the choices, in abut.h's order */
  int json, check, ignore_unsupported, require_success, polyhedra, derivatives;
  const char *ctrl, *key, *out, *gltf, *filter, *scenes, *geom, *poses;
} cli_options;

/* Parses argv[1...]. Returns -1 to go on, else the exit code: help was printed, or an error was. */
int cli_parse(int argc, char **argv, cli_options *options);
/* Whether the option of this name was on the command line. */
int cli_given(const cli_options *options, const char *name);
/* The word of a choice, such as "local" for contact 0. */
const char *cli_choice(const char *option, int index);

#endif
