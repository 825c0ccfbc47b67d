/* bench_books.c: book stacking: twenty planks at the maximal overhang under long-range contact. How far apart
 * they lie, how much of the top plank's weight its neighbour carries, and how long they stand. They are put
 * up at a small stiffness, which rises: level planks on a softer contact may fall where leaning ones rest. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLANKS = 20, PAIRS = PLANKS * (PLANKS - 1) / 2 };
static const double HALF[3] = {1, 0.2, 0.1}, MASS = 0.16, GRAVITY = 9.81; /* of scenes/planks20.xml */
static const double TIMESTEP = 0.04, CHUNK = 0.2, TIME = 60;              /* s */
static const double RISE = 1.26, PAUSE = 4; /* the stiffness rises by this factor, every so many s */

typedef struct stack {
  job job;
  array xpos, xquat, force; /* of the last chunk: [1, T + 1, nbody, 3], [.., 4], [1, T, npair, 3] */
  int64_t steps;            /* of a chunk */
  progress *bar;
} stack;

typedef struct standing {
  double margin, force_error, time; /* m, N, s */
} standing;

static int stack_open(stack *out, const cli_options *options, double stiffness, int32_t form, progress *bar) {
  char path[512];
  abut_options wanted = scene_options(options, 1, 1);
  memset(out, 0, sizeof *out);
  out->bar = bar;
  out->steps = llround(CHUNK / TIMESTEP);
  scene_path(options, "planks20", path);
  wanted.timestep = TIMESTEP;
  wanted.implicit.contact = ABUT_CONTACT_LONGRANGE;
  wanted.implicit.form = form;
  wanted.implicit.stiffness = stiffness;
  wanted.implicit.max_separation = 1;
  wanted.implicit.gap0 =
      (form == ABUT_FORM_WEIGHTED ? 2.3 : 15) * sqrt(stiffness); /* about what they settle at */
  int code = job_load(&out->job, path, options);
  if (code == CLI_OK) code = job_create(&out->job, &wanted, 0, 0);
  int64_t nbody = out->job.sizes.nbody, npair = out->job.sizes.npair;
  if (code == CLI_OK && (nbody != PLANKS + 1 || npair != PAIRS))
    code = cli_error("%s: %lld bodies and %lld pairs are not those of %d planks", path, (long long)nbody,
                     (long long)npair, PLANKS);
  if (code == CLI_OK)
    code = array_create(&out->xpos, "xpos", ABUT_F64, 4, (int64_t[]){1, out->steps + 1, nbody, 3});
  if (code == CLI_OK)
    code = array_create(&out->xquat, "xquat", ABUT_F64, 4, (int64_t[]){1, out->steps + 1, nbody, 4});
  if (code == CLI_OK)
    code = array_create(&out->force, "force", ABUT_F64, 4, (int64_t[]){1, out->steps, npair, 3});
  return code;
}
static void stack_close(stack *in) {
  array_destroy(&in->xpos);
  array_destroy(&in->xquat);
  array_destroy(&in->force);
  job_close(&in->job);
}

/* Body of plank k, counted from the top. */
static int64_t plank(int k) { return PLANKS + 1 - k; }

/* Height of a corner of one plank above the upper face of another (side 1) or below its lower face (-1). */
static double clearance(const stack *in, int64_t corner_of, int64_t face_of, double side) {
  const int64_t last = in->steps * (PLANKS + 1);
  double q[4], p[3], up[3], d[3], along[3];
  for (int i = 0; i < 2; i++) { /* axes x and z of either plank in the world */
    int64_t body = i ? face_of : corner_of;
    for (int c = 0; c < 4; c++) q[c] = array_get(&in->xquat, 4 * (last + body) + c);
    double x[3] = {1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] + q[0] * q[3]),
                   2 * (q[1] * q[3] - q[0] * q[2])};
    double z[3] = {2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]),
                   1 - 2 * (q[1] * q[1] + q[2] * q[2])};
    for (int c = 0; c < 3; c++) {
      p[c] = array_get(&in->xpos, 3 * (last + body) + c);
      if (i) {
        up[c] = z[c];
        d[c] = along[c] - p[c];
      } else {
        along[c] = p[c] - side * (HALF[0] * x[c] + HALF[2] * z[c]);
      }
    }
  }
  return side * (d[0] * up[0] + d[1] * up[1] + d[2] * up[2]) - HALF[2];
}

/* Mean over neighbours of the gap at both ends of what lies over one another. */
static double margin(const stack *in) {
  double sum = 0;
  for (int k = 1; k < PLANKS; k++)
    sum += 0.5 * (clearance(in, plank(k), plank(k + 1), 1) + clearance(in, plank(k + 1), plank(k), -1));
  return sum / (PLANKS - 1);
}

/* |force of the neighbour on the top plank - its weight|. */
static double force_error(const stack *in) {
  const int64_t row = (in->steps - 1) * PAIRS;
  for (int32_t i = 0; i < PAIRS; i++) {
    int32_t geoms[2];
    abut_geom_def a, b;
    if (abut_model_pair(in->job.model, i, geoms) != ABUT_OK ||
        abut_model_geom(in->job.model, geoms[0], &a) != ABUT_OK ||
        abut_model_geom(in->job.model, geoms[1], &b) != ABUT_OK)
      return NAN;
    int first = a.body == plank(1) && b.body == plank(2), second = b.body == plank(1) && a.body == plank(2);
    if (!first && !second) continue;
    double f[3];
    for (int c = 0; c < 3; c++) f[c] = (first ? 1 : -1) * array_get(&in->force, 3 * (row + i) + c);
    f[2] -= MASS * GRAVITY;
    return sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
  }
  return NAN;
}

/* Fallen: a plank is lower than at first by more than half its height. */
static int stands(const stack *in) {
  const int64_t last = in->steps * (PLANKS + 1);
  for (int k = 1; k < PLANKS; k++)
    if (array_get(&in->xpos, 3 * (last + plank(k)) + 2) < HALF[2] * (2 * (PLANKS - k) + 1) - HALF[2])
      return 0;
  return 1;
}

/* One chunk; whether it ends with the stack up. */
static int stack_run(stack *in, int *up) {
  abut_rollout_args args = abut_default_rollout_args();
  abut_rollout_result result;
  args.nstep = in->steps;
  args.xpos = &in->xpos.tensor;
  args.xquat = &in->xquat.tensor;
  args.contact_force = &in->force.tensor;
  if (abut_rollout(in->job.batch, &args, &result, progress_report, in->bar) != ABUT_OK)
    return cli_library_error();
  if (progress_interrupted()) return cli_error("interrupted");
  *up = !result.failed_envs && stands(in);
  return CLI_OK;
}

static int stand(stack *in, standing *out) {
  int code = CLI_OK, up = 1;
  for (out->time = 0; out->time < TIME - 0.5 * CHUNK; out->time += CHUNK) {
    code = stack_run(in, &up);
    if (code != CLI_OK || !up) break;
    out->margin = margin(in);
    out->force_error = force_error(in);
  }
  return code;
}

static int set_stiffness(stack *in, double stiffness) {
  array values = {0};
  int code = array_create(&values, "stiffness", ABUT_F64, 2, (int64_t[]){1, 1});
  if (code != CLI_OK) return code;
  array_set(&values, 0, stiffness);
  abut_parameters parameters = {.stiffness = &values.tensor};
  if (abut_batch_set_parameters(in->job.batch, &parameters) != ABUT_OK) code = cli_library_error();
  array_destroy(&values);
  return code;
}

/* From one stiffness to another; up: whether the stack still stands. */
static int stack_rise(stack *in, double from, double to, int *up) {
  int code = CLI_OK;
  *up = 1;
  while (code == CLI_OK && *up && from < to) {
    for (double t = 0; code == CLI_OK && *up && t < PAUSE - 0.5 * CHUNK; t += CHUNK) code = stack_run(in, up);
    from = fmin(RISE * from, to);
    if (code == CLI_OK) code = set_stiffness(in, from);
  }
  return code;
}

/* Where the stack falls while the stiffness rises, what is measured is how long level planks take to fall. */
static int measure(const cli_options *options, double stiffness, int32_t form, double first, progress *bar,
                   standing *out) {
  int up = 0;
  for (int level = stiffness <= first; !up && level < 2; level++) {
    stack at;
    const double start = level ? stiffness : first;
    int code = stack_open(&at, options, start, form, bar);
    if (code == CLI_OK) code = stack_rise(&at, start, stiffness, &up);
    if (code == CLI_OK && up) code = stand(&at, out);
    stack_close(&at);
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

int bench_books_lines(bench *in) {
  static const char *const stiffness[] = {"1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10"};
  static const struct {
    const char *name;
    int32_t form;
    double first; /* stiffness at which level planks stand */
  } forms[] = {{"weighted", ABUT_FORM_WEIGHTED, 1e-9}, {"paper", ABUT_FORM_PAPER, 1e-11}};
  if (!strncmp(in->options->filter, "*", 1)) return CLI_OK; /* minutes: only for who asks */
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < 6; i++) {
      static const char *const what[] = {"stood", "margin", "force_error"};
      char names[3][NAME_SIZE];
      standing found = {NAN, NAN, 0};
      for (int l = 0; l < 3; l++)
        snprintf(names[l], NAME_SIZE, "books.%s.%s.%s", forms[f].name, stiffness[i], what[l]);
      if (!bench_any_wanted(in, names, 3)) continue;
      int code =
          measure(in->options, strtod(stiffness[i], NULL), forms[f].form, forms[f].first, &in->bar, &found);
      if (code != CLI_OK) return code;
      bench_line_if_wanted(in, names[0], found.time, "s");
      if (found.time < TIME - CHUNK) continue; /* what falls is never at rest */
      bench_line_if_wanted(in, names[1], found.margin, "m");
      bench_line_if_wanted(in, names[2], found.force_error, "N");
    }
  return CLI_OK;
}
