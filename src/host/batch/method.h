/* method.h: a way to make a step, as a batch and its backends know it. Methods are rows of
 * host/method/methods.def; each is a pair of files there and in kernels/method. Nothing outside them knows
 * their names. */
#ifndef ABUT_HOST_METHOD_H
#define ABUT_HOST_METHOD_H
#include "host/base/placer.h"
#include "host/base/text.h"
#include "kernels/clock/table.h"

/* kind >= 0: left out where the model has no pairs of that kind. */
typedef struct phase_stage {
  int16_t stage, kind;
} phase_stage;

/* Stages one after the other; again as long as a lane is in set `repeat`, -1: once. */
typedef struct phase {
  const phase_stage *stage;
  int32_t count, repeat;
} phase;

/* A rollout, or its reverse pass. clear: once, lanes as they were created. start: where lanes are free and
 * environments are left. turn: one turn of all lanes' state machines, phase by phase. */
enum { MAX_TURN = 2 };
typedef struct program {
  phase clear, start, turn[MAX_TURN];
  int32_t turns, reverse;
} program;

/* Bounds of any method. */
enum { MAX_STAGES = 96, MAX_OWN = 4096 };

typedef struct method {
  const char *name;
  /* Its own options: defaults, then checks and what depends on the model. */
  void (*defaults)(abut_options *options);
  abut_status (*resolve)(const abut_model *model, abut_options *options);
  /* Pairs of shapes, their kinds, and the fields; params->options are resolved. */
  abut_status (*layout)(const abut_model *model, step_params *params);
  /* Configurations that the scene starts from, rows x nq, and the pairs, as the method needs them, with a
   * line of notes for whatever it changes. */
  abut_status (*start)(const abut_model *model, step_params *params, double *starts, int32_t rows,
                       text_lines *notes);
  /* Contacts per environment that there is room for at first, and entries of the method's own lists. */
  int32_t (*contacts)(const abut_model *model, const abut_options *options);
  int32_t (*room)(const step_params *params);
  /* What lane groups have besides: own, of own_size (at most MAX_OWN) bytes, gets the places of its arrays.
   */
  size_t own_size;
  void (*place)(placer *p, const step_params *params, int32_t lanes, size_t real, int32_t room, void *own);
  program forward, reverse;
  int32_t kept; /* numbers of a contact that outlive the step */
  int32_t stages;
  const char *const *stage_names;
  const uint8_t *decides;                 /* stages that run even where no lane is live */
  const method_kernels *const *instances; /* for CPUs, widest last, NULL at the end */
  const void *const *const (*gpu)[2];     /* kernels of the stages: [f64, f32][team 1, 32]; NULL: none */
} method;

/* For resolve, of an option that kernels divide by: fails where o->dtype is f32 and it or its inverse is
 * beyond `most`. */
abut_status precision_range(const abut_options *o, const char *option, double value, double most);

/* In the order of abut_options.method. */
extern const method *const methods[];
extern const int32_t methods_num;

#endif
