/* program_io.h: a rollout, or its reverse pass, as stages see it: plain arrays on the batch's device. Host
 * code reads it too. Arrays of reals hold the batch's type; they are [environment][...], row-major. */
#ifndef ABUT_KERNELS_PROGRAM_H
#define ABUT_KERNELS_PROGRAM_H
#include <stdint.h>

/* Contacts of one environment at one moment. */
typedef struct contact_record {
  int32_t *count; /* [rows] */
  int32_t *pair;  /* [rows][capacity] */
  char *data;     /* [rows][capacity][what the method keeps of a contact] */
} contact_record;

/* Parameters that may differ per environment: rows is 1 or N. */
typedef struct parameter_array {
  char *data;
  int64_t rows;
  int32_t n;
} parameter_array;
enum {
#define PARAMETER(name, count, initial, rule, bar) PARAM_##name,
#include "kernels/clock/parameters.def"
  PARAM_COUNT
};

/* State of every environment; a batch has two, so that a rollout commits at its end or not at all. */
typedef struct batch_state {
  char *qpos, *qvel, *act;
  contact_record warm;
  uint32_t *status;
  uint8_t *fresh; /* state was set from outside: shapes may touch, separate first */
} batch_state;

/* An input that may be shared: [rows][steps][n], rows 1 or N, steps 1 or T; data NULL: not given. */
typedef struct input_array {
  const char *data;
  int64_t rows, steps;
} input_array;

/* Everything the reverse pass needs of a recorded rollout: per step the velocity and the activations it
 * started with, the configuration it ended with, and its contacts. */
typedef struct rollout_tape {
  int64_t nstep, capacity_steps;
  char *qpos_start;            /* [N][nq] */
  char *qvel, *qpos, *act;     /* [T][N][nv], [T][N][nq], [T][N][na] */
  contact_record start, steps; /* [N], [T][N] */
  int64_t *done;               /* [N] steps that were simulated before the environment froze */
  char *ctrl;                  /* [T][N][nu] */
} rollout_tape;

/* The rollout's outputs; NULL: not wanted. */
typedef struct rollout_outputs {
#define OUTPUT(name, code, ...) char *name;
#include "kernels/clock/rollout_arrays.def"
} rollout_outputs;

/* Cotangents; NULL: zero, or not wanted. */
typedef struct cotangents {
#define GIVEN(name, code, ...) const char *name;
#define WANTED(name, code, ...) char *name;
#include "kernels/clock/vjp_arrays.def"
} cotangents;

/* What programs on a device leave to those that follow, and what enqueued ones did since the host last asked.
 */
typedef struct program_tally {
  int64_t record;     /* token of the rollout that the tape holds; 0: none */
  int64_t unrecorded; /* reverse passes of another rollout than that */
  int64_t generation; /* counts moves of the batch's memory: a graph captured before one must do nothing */
  int64_t voided;     /* replays of such graphs */
  int64_t done;       /* programs that ran to their end */
  int64_t newton_iterations, newton_iterations_max, unconverged_steps;
  int64_t need, need_room; /* of the first program whose list was too short; those that follow do nothing */
  int32_t reverse;         /* it was a reverse pass */
} program_tally;

/* Counters, next_env to stop, are shared by all lanes and only ever added to, or raised; while a program runs
 * they are read and written through counter_get and its kin alone. */
typedef struct program_io {
  int64_t nenv, nstep;
  int32_t capacity; /* contacts per row of every record */
  int32_t record;   /* write the tape */
  int32_t reverse;  /* the program walks backwards */
  int32_t exact;    /* evaluate the true Hessian everywhere, as the adjoint needs it */
  batch_state state, next;
  parameter_array parameters[PARAM_COUNT];
  rollout_tape tape;
#define INPUT(name, code, ...) input_array name;
#include "kernels/clock/rollout_arrays.def"
  double kick;
  uint64_t kick_seed;
  rollout_outputs out;
  cotangents bar;
  program_tally *tally; /* on a device */
  int64_t token;        /* of the rollout that is recorded, or walked back */
  int32_t enqueued;     /* nobody reads the counters below: they go into the tally */
  int64_t next_env;     /* environment that the next free lane takes */
  int64_t opened;       /* environments that have written their start */
  int64_t finished;     /* environments done */
  int64_t steps;        /* environment-steps done */
  int64_t newton_iterations, newton_iterations_max, unconverged_steps;
  int64_t need;      /* contacts that an environment has and its list has no room for: grow, run again */
  int64_t need_room; /* the same for entries of the method's own lists; need is raised with it */
  int64_t stop;      /* STOP_* */
} program_io;

enum { STOP_ASKED = 1, STOP_UNRECORDED = 2 }; /* by the caller; there is no such record */

/* Parts of a program that a GPU repeats (program_again). */
enum { AGAIN_CLEAR, AGAIN_START, AGAIN_STEP };

#endif
