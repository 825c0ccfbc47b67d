/* optimise.h: gradient descent through a batch's rollouts: variables in, a loss over bodies' places out.
 *
 * Every environment of the batch is a start of its own. One iteration makes controls and initial states from
 * the variables, records a rollout, walks it back and moves the variables by Adam:
 *
 *   abut_problem problem = abut_default_problem();   // terms, variables, steps
 *   abut_optimiser *optimiser = NULL;
 *   abut_optimiser_create(batch, &problem, &optimiser);
 *   for (int i = 0; i < 100; i++) abut_optimiser_step(optimiser, NULL, NULL, NULL);
 *   abut_optimiser_view view = abut_optimiser_get(optimiser);   // view.best_loss[view.best_env]
 *
 * Receding horizon: some steps, abut_optimiser_replay of the first action, abut_optimiser_shift, again; with
 * abut_optimiser_share before the replay and abut_optimiser_disturb at the end, all environments look for one
 * trajectory. */
#ifndef ABUT_OPTIMISE_H
#define ABUT_OPTIMISE_H
#include "abut/abut.h"

#ifdef __cplusplus
extern "C" {
#endif

/* weight * max(0, |c - target|^2 - tolerance^2): c is the body's centre of mass, along the chosen axes. */
typedef struct abut_loss_term {
  int32_t body;
  int32_t axes;     /* bit 0: x, 1: y, 2: z of the world */
  double target[3]; /* m */
  double tolerance; /* m: nearer than this the term is zero */
  double weight;    /* 1/m^2 */
} abut_loss_term;

enum {
  ABUT_VARIABLE_QPOS = 0,     /* what is added to one entry of the initial qpos; to none of a quaternion */
  ABUT_VARIABLE_QVEL = 1,     /* what is added to one entry of the initial qvel */
  ABUT_VARIABLE_SEQUENCE = 2, /* an actuator's control at every step */
  ABUT_VARIABLE_SPLINE = 3, /* a cubic B-spline in time that starts at the first knot and ends at the last */
  ABUT_VARIABLE_SINES = 4,  /* sum of amplitude * sin(2 pi frequency t + phase) */
};

/* A variable of every environment: `size` numbers, 1 of an initial state, nstep of a sequence, `count` of a
 * spline, 3 `count` of sines (amplitude, frequency, phase of the first wave, then of the second, ...).
 * The arrays of three are for those three; other kinds use the first. */
typedef struct abut_variable {
  int32_t kind;    /* ABUT_VARIABLE_* */
  int32_t index;   /* of the entry of qpos or qvel, or of the actuator; a second control of it is an error */
  int32_t count;   /* knots (from 2) or waves (from 1) */
  double start[3]; /* unit of the entry or the control; frequency in Hz, phase in rad */
  double noise[3]; /* standard deviation of the environments' starts, of which environment 0 has none; a
                      sequence or a spline is moved as a whole */
  double rate[3];  /* step of Adam; 0: the problem's */
  double min, max; /* of the numbers of QPOS, QVEL, SEQUENCE and SPLINE; controls keep to ctrlrange, too */
} abut_variable;

typedef struct abut_problem {
  int64_t nstep; /* steps of a rollout; with a receding horizon, of the part that is looked at */
  int32_t nterm;
  const abut_loss_term *terms;
  int32_t nvariable;
  const abut_variable *variables;
  double final_weight;   /* of the terms at the last step */
  double running_weight; /* of their mean over steps 1 to nstep */
  double rate;           /* of Adam, in units of the variables */
  double beta1, beta2;   /* of Adam: decay of its two means */
  double epsilon;        /* of Adam, against division by zero, in units of the gradient */
  double clip;           /* largest norm of an environment's gradient; 0: any */
  uint64_t seed;         /* of the noise */
  int32_t keep_latest; /* non-zero: the best variables are those of the last iteration that did not freeze */
} abut_problem;

ABUT_API abut_loss_term abut_default_loss_term(void); /* x, y and z, weight 1 */
ABUT_API abut_variable abut_default_variable(void);   /* no noise, no bounds */
/* rate 0.01, betas 0.9 and 0.999, epsilon 1e-16: barriers that act at a distance have tiny gradients. */
ABUT_API abut_problem abut_default_problem(void);

/* Sum of the problem's terms at every moment of poses that a rollout of the batch put out: xpos
 * [N, M, nbody, 3], xquat [N, M, nbody, 4], terms [N, M], all of the batch's dtype, M at least 1. */
ABUT_API abut_status abut_problem_terms(const abut_batch *batch, const abut_problem *problem,
                                        const abut_tensor *xpos, const abut_tensor *xquat,
                                        abut_tensor *terms);

typedef struct abut_optimiser abut_optimiser;

/* Rollouts start from the state that the batch has now. The problem is copied; the batch must outlive the
 * optimiser, which replaces the batch's state. */
ABUT_API abut_status abut_optimiser_create(abut_batch *batch, const abut_problem *problem,
                                           abut_optimiser **optimiser);
ABUT_API void abut_optimiser_destroy(abut_optimiser *optimiser);

typedef struct abut_optimiser_report {
  int64_t iteration;    /* 0 for the first since creation or shift */
  double loss;          /* of the best environment of this iteration; +inf if all failed */
  double loss_mean;     /* of those that did not fail */
  double gradient_norm; /* of that environment, before clipping */
  int64_t env;          /* that environment */
  int64_t failed_envs;  /* whose rollout froze: they go back to their best variables, at half the rate */
  int64_t reached_envs; /* whose terms are all zero at the last step */
} abut_optimiser_report;

/* One iteration: rollouts at the current variables, loss, reverse pass, Adam. report and progress may be
 * NULL. A callback that stops leaves the variables as they were. */
ABUT_API abut_status abut_optimiser_step(abut_optimiser *optimiser, abut_optimiser_report *report,
                                         abut_progress progress, void *user);

/* Views into the optimiser, row by environment, valid until its next call. Best: an iterate whose terms are
 * all zero at the last step before one whose are not, then the smaller loss. */
typedef struct abut_optimiser_view {
  int64_t nenv, nvalue;         /* nvalue: numbers of all variables, in their order */
  const double *variables;      /* [nenv, nvalue] of the last iteration's rollouts */
  const double *gradient;       /* [nenv, nvalue] of the last iteration's loss, before clipping */
  const double *loss;           /* [nenv] of the last iteration; +inf: its rollout froze */
  const double *final_terms;    /* [nenv] sum of the terms where the last step or replay ended */
  const double *best_variables; /* [nenv, nvalue] since creation or shift */
  const double *best_loss;      /* [nenv] */
  int64_t best_env;
} abut_optimiser_view;
ABUT_API abut_optimiser_view abut_optimiser_get(const abut_optimiser *optimiser);

/* Runs the first args->nstep steps (at most the problem's) of every environment's best variables from the
 * start, and leaves the batch at their end. Outputs of args are written, its inputs are ignored, but for
 * ctrl [N, nstep, nu]: where given, it receives the controls. */
ABUT_API abut_status abut_optimiser_replay(abut_optimiser *optimiser, const abut_rollout_args *args,
                                           abut_progress progress, void *user);
/* From now on rollouts start at the batch's state; sequences begin nstep later, with their last value
 * repeated at the end, from the best ones so far; Adam and the bests begin anew. Only where all variables are
 * sequences. */
ABUT_API abut_status abut_optimiser_shift(abut_optimiser *optimiser, int64_t nstep);

/* Every environment gets the best variables of the best one: where all start at one state, a replay leads all
 * to one state. */
ABUT_API abut_status abut_optimiser_share(abut_optimiser *optimiser);
/* Moves the variables of the next iteration by their noise, drawn anew for every round, but those of
 * environment 0. */
ABUT_API abut_status abut_optimiser_disturb(abut_optimiser *optimiser, uint64_t round);

#ifdef __cplusplus
}
#endif
#endif
