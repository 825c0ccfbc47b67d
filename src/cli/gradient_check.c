/* gradient_check.c: cotangents against central differences.
 *
 * Every direction is followed forwards and backwards over a ladder of step lengths, each point of it an
 * environment of one batch. Ridders' extrapolation picks from each ladder the value with the smallest error
 * estimate, without looking at the cotangents: too long a step crosses a change of the contacts, too short a
 * one drowns in rounding. */
#include "gradient.h"
#include "random.h"
#include "trajectory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 8, SIDES = 2, LADDER = LEVELS * SIDES };
enum { COORDINATES_MAX = 32, COORDINATES_CHOSEN = 16, RANDOM_DIRECTIONS = 8 };
static const double LADDER_RATIO = 4.0;
static const double ROUNDING = 8 * 0x1p-52; /* of a loss, relative */
/* Longest step: L0 or rad, L0/s or rad/s, units of activation and control, shares of a parameter. */
static const double first_step[INPUT_COUNT] = {1e-4, 1e-3, 1e-2, 1e-2, 1e-3, 1e-3, 1e-3, 1e-3};
/* Geom i's friction is raised by i times this share: more than the longest step, so that no pair's larger one
 * changes. */
static const double FRICTION_SPACING = 4e-3;

typedef struct direction {
  int input;
  int64_t env, entry; /* entry -1: random over all entries */
} direction;

typedef struct comparison {
  const gradient_run *run;
  double *tangent[INPUT_COUNT]; /* [N, entries]: gradients, in units of each input */
  int64_t entries[INPUT_COUNT];
  double gravity[3], gravity_size;
  double *friction, *mass; /* base values */
  double *dof;             /* L0 where a dof is a length, 1 where it is an angle */
  direction *directions;
  int64_t count;
  double *loss, *size; /* [count * LADDER]; size: sum of magnitudes, whose rounding the loss carries */
  char *broken;        /* [count * LADDER] */
} comparison;

/* ---------------------------------------------------------------------------------------- rotations */

/* out = q times the rotation by angle vector w (body side) */
static void turn(const double q[4], const double w[3], double out[4]) {
  double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  double scale = angle > 1e-8 ? sin(angle / 2) / angle : 0.5 - angle * angle / 48;
  double r[4] = {cos(angle / 2), scale * w[0], scale * w[1], scale * w[2]};
  out[0] = q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3];
  out[1] = q[0] * r[1] + q[1] * r[0] + q[2] * r[3] - q[3] * r[2];
  out[2] = q[0] * r[2] - q[1] * r[3] + q[2] * r[0] + q[3] * r[1];
  out[3] = q[0] * r[3] + q[1] * r[2] - q[2] * r[1] + q[3] * r[0];
}

/* Angle-vector entries of a quaternion cotangent: c . d(turn(q, w))/dw at 0 */
static void quaternion_tangent(const double q[4], const double c[4], double out[3]) {
  out[0] = 0.5 * (-c[0] * q[1] + c[1] * q[0] + c[2] * q[3] - c[3] * q[2]);
  out[1] = 0.5 * (-c[0] * q[2] - c[1] * q[3] + c[2] * q[0] + c[3] * q[1]);
  out[2] = 0.5 * (-c[0] * q[3] + c[1] * q[2] - c[2] * q[1] + c[3] * q[0]);
}

/* Walks the joints: calls visit with each one's type and addresses. */
typedef void (*joint_visitor)(void *user, int type, int64_t qpos, int64_t dof);

static void for_each_joint(const abut_model *model, joint_visitor visit, void *user) {
  static const int qpos_size[] = {7, 4, 1, 1}, dof_size[] = {6, 3, 1, 1};
  int64_t qpos = 0, dof = 0;
  for (int32_t i = 0; i < abut_model_get_sizes(model).njnt; i++) {
    abut_joint_def def;
    if (abut_model_joint(model, i, &def) != ABUT_OK) return;
    if (def.type == ABUT_JOINT_FREE)
      for (int k = 0; k < 3; k++) visit(user, ABUT_JOINT_SLIDE, qpos + k, dof + k);
    int after = def.type == ABUT_JOINT_FREE ? 3 : 0;
    visit(user, def.type == ABUT_JOINT_FREE ? ABUT_JOINT_BALL : def.type, qpos + after, dof + after);
    qpos += qpos_size[def.type];
    dof += dof_size[def.type];
  }
}

typedef struct pose_walk {
  const double *qpos, *in; /* in: cotangents (nq), a tangent step (nv) or L0 */
  double *out;             /* a tangent or units (nv), or the moved qpos (nq) */
} pose_walk;

static void visit_tangent(void *user, int type, int64_t qpos, int64_t dof) {
  pose_walk *walk = user;
  if (type == ABUT_JOINT_BALL)
    quaternion_tangent(walk->qpos + qpos, walk->in + qpos, walk->out + dof);
  else
    walk->out[dof] = walk->in[qpos];
}

static void visit_move(void *user, int type, int64_t qpos, int64_t dof) {
  pose_walk *walk = user;
  if (type == ABUT_JOINT_BALL)
    turn(walk->qpos + qpos, walk->in + dof, walk->out + qpos);
  else
    walk->out[qpos] = walk->qpos[qpos] + walk->in[dof];
}

/* in: L0 */
static void visit_unit(void *user, int type, int64_t qpos, int64_t dof) {
  pose_walk *walk = user;
  (void)qpos;
  for (int k = 0; k < (type == ABUT_JOINT_BALL ? 3 : 1); k++)
    walk->out[dof + k] = type == ABUT_JOINT_SLIDE ? *walk->in : 1;
}

/* ------------------------------------------------------------------------------------- base values */

static int friction_of(const gradient_run *in, int32_t geom, double *value) {
  abut_geom_def def;
  if (abut_model_geom(in->job.model, geom, &def) != ABUT_OK) return cli_library_error();
  double base = in->job.options.friction >= 0 ? in->job.options.friction : def.friction;
  *value = base * (1 + FRICTION_SPACING * geom);
  return CLI_OK;
}

int gradient_set_frictions(gradient_run *in) {
  array values = {0};
  int32_t ngeom = in->job.sizes.ngeom;
  if (ngeom == 0) return CLI_OK;
  int code = array_create(&values, "friction", in->job.options.dtype, 2, (int64_t[]){1, ngeom});
  for (int32_t i = 0; code == CLI_OK && i < ngeom; i++) {
    double value = 0;
    code = friction_of(in, i, &value);
    if (code == CLI_OK) array_set(&values, i, value);
  }
  abut_parameters parameters = {.friction = &values.tensor};
  if (code == CLI_OK && abut_batch_set_parameters(in->job.batch, &parameters) != ABUT_OK)
    code = cli_library_error();
  array_destroy(&values);
  return code;
}

static int load_base_values(comparison *out) {
  const gradient_run *run = out->run;
  abut_model_sizes sizes = run->job.sizes;
  out->friction = calloc((size_t)sizes.ngeom + 1, sizeof *out->friction);
  out->mass = calloc((size_t)sizes.nbody + 1, sizeof *out->mass);
  out->dof = calloc((size_t)sizes.nv + 1, sizeof *out->dof);
  if (!out->friction || !out->mass || !out->dof) return cli_error("out of memory");
  pose_walk walk = {NULL, &run->job.options.implicit.length, out->dof};
  for_each_joint(run->job.model, visit_unit, &walk);
  int code = CLI_OK;
  for (int32_t i = 0; code == CLI_OK && i < sizes.ngeom; i++) code = friction_of(run, i, &out->friction[i]);
  for (int32_t i = 0; i < sizes.nbody; i++) {
    abut_body_def def;
    if (abut_model_body(run->job.model, i, &def) != ABUT_OK) return cli_library_error();
    out->mass[i] = def.mass;
  }
  abut_scene_options scene;
  if (abut_model_scene(run->job.model, &scene) != ABUT_OK) return cli_library_error();
  memcpy(out->gravity, scene.gravity, sizeof out->gravity);
  for (int k = 0; k < 3; k++) out->gravity_size = fmax(out->gravity_size, fabs(out->gravity[k]));
  if (out->gravity_size == 0) out->gravity_size = 1;
  return code;
}

/* The size by which an entry is measured; 0: it is not checked. */
static double unit(const comparison *in, int input, int64_t entry) {
  switch (input) {
  case BY_GRAVITY:
    return in->gravity_size;
  case BY_FRICTION:
    return in->friction[entry];
  case BY_MASS:
    return in->mass[entry];
  case BY_STIFFNESS:
    return in->run->job.options.implicit.stiffness;
  case BY_QPOS:
  case BY_QVEL:
    return in->dof[entry];
  default:
    return 1;
  }
}

static const double *doubles(const array *from) { return from->tensor.data; }

/* --------------------------------------------------------------------------------------- directions */

static int load_tangents(comparison *out) {
  const gradient_run *run = out->run;
  abut_model_sizes sizes = run->job.sizes;
  const int64_t entries[INPUT_COUNT] = {sizes.nv, sizes.nv,    sizes.na,    run->steps * sizes.nu,
                                        3,        sizes.ngeom, sizes.nbody, 1};
  memcpy(out->entries, entries, sizeof entries);
  for (int input = 0; input < INPUT_COUNT; input++) {
    int64_t n = entries[input];
    out->tangent[input] = calloc((size_t)(run->envs * n + 1), sizeof **out->tangent);
    if (!out->tangent[input]) return cli_error("out of memory");
    for (int64_t i = 0; input != BY_QPOS && i < run->envs * n; i++)
      out->tangent[input][i] = doubles(&run->grad[input])[i] * unit(out, input, i % n);
  }
  for (int64_t env = 0; env < run->envs; env++) {
    pose_walk walk = {doubles(&run->qpos) + env * sizes.nq, doubles(&run->grad[BY_QPOS]) + env * sizes.nq,
                      out->tangent[BY_QPOS] + env * sizes.nv};
    for_each_joint(run->job.model, visit_tangent, &walk);
    for (int64_t i = 0; i < sizes.nv; i++) walk.out[i] *= out->dof[i];
  }
  return CLI_OK;
}

static void add_direction(comparison *out, int input, int64_t env, int64_t entry) {
  out->directions[out->count++] = (direction){input, env, entry};
}

/* The entries of largest magnitude, then random mixtures of all. */
static void add_chosen(comparison *out, int input, int64_t env, char *taken) {
  int64_t n = out->entries[input];
  const double *values = out->tangent[input] + env * n;
  memset(taken, 0, (size_t)n);
  for (int chosen = 0; chosen < COORDINATES_CHOSEN; chosen++) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++)
      if (!taken[i] && unit(out, input, i) > 0 && (best < 0 || fabs(values[i]) > fabs(values[best])))
        best = i;
    if (best < 0) break;
    taken[best] = 1;
    add_direction(out, input, env, best);
  }
  for (int i = 0; i < RANDOM_DIRECTIONS; i++) add_direction(out, input, env, -1 - i);
}

static int choose_directions(comparison *out) {
  int64_t largest = COORDINATES_MAX;
  for (int input = 0; input < INPUT_COUNT; input++)
    if (out->entries[input] > largest) largest = out->entries[input];
  char *taken = calloc((size_t)largest, 1);
  out->directions = calloc((size_t)out->run->envs * INPUT_COUNT * COORDINATES_MAX, sizeof *out->directions);
  if (!taken || !out->directions) {
    free(taken);
    return cli_error("out of memory");
  }
  for (int64_t env = 0; env < out->run->envs; env++)
    for (int input = 0; input < INPUT_COUNT; input++) {
      if (out->entries[input] > COORDINATES_MAX) {
        add_chosen(out, input, env, taken);
        continue;
      }
      for (int64_t i = 0; i < out->entries[input]; i++)
        if (unit(out, input, i) > 0) add_direction(out, input, env, i);
    }
  free(taken);
  return CLI_OK;
}

/* Entry i of a direction, in units of the input; random ones have length 1 on average. */
static double component(const comparison *in, const direction *along, int64_t i) {
  if (along->entry >= 0) return along->entry == i;
  double uniform =
      2 * random_uniform(~in->run->seed, (uint64_t)-along->entry, (uint64_t)along->input, (uint64_t)i) - 1;
  return uniform * sqrt(3.0 / (double)in->entries[along->input]);
}

static double predicted(const comparison *in, const direction *along) {
  int64_t n = in->entries[along->input];
  const double *values = in->tangent[along->input] + along->env * n;
  double sum = 0;
  if (along->entry >= 0) return values[along->entry];
  for (int64_t i = 0; i < n; i++) sum += component(in, along, i) * values[i];
  return sum;
}

static double step_length(int input, int64_t copy) {
  double length = first_step[input] / pow(LADDER_RATIO, (double)(copy % LADDER / SIDES));
  return copy % SIDES ? -length : length;
}

/* ----------------------------------------------------------------------------------- perturbed copies */

/* What copy m adds to entry i of an input, in the input's own unit. */
static double offset(const comparison *in, int64_t copy, int input, int64_t i) {
  const direction *along = &in->directions[copy / LADDER];
  if (along->input != input) return 0;
  return component(in, along, i) * unit(in, input, i) * step_length(input, copy);
}

static void fill_ctrl(void *user, int64_t first, array *out) {
  const comparison *in = user;
  int64_t nu = in->run->job.sizes.nu, next = 0;
  for (int64_t copy = 0; copy < out->shape[0]; copy++) {
    int64_t env = in->directions[copy / LADDER].env;
    for (int64_t step = first; step < first + out->shape[1]; step++)
      for (int64_t k = 0; k < nu; k++)
        array_set(out, next++,
                  ctrl_value(&in->run->controls, env, step, k) + offset(in, copy, BY_CTRL, step * nu + k));
  }
}

static int set_start(const comparison *in, abut_batch *batch, int64_t copies) {
  abut_model_sizes sizes = in->run->job.sizes;
  array qpos = {0}, qvel = {0}, act = {0}, step = {0};
  int code = array_create(&qpos, "qpos", ABUT_F64, 2, (int64_t[]){copies, sizes.nq});
  if (code == CLI_OK) code = array_create(&qvel, "qvel", ABUT_F64, 2, (int64_t[]){copies, sizes.nv});
  if (code == CLI_OK) code = array_create(&act, "act", ABUT_F64, 2, (int64_t[]){copies, sizes.na});
  if (code == CLI_OK) code = array_create(&step, "step", ABUT_F64, 1, (int64_t[]){sizes.nv});
  for (int64_t copy = 0; code == CLI_OK && copy < copies; copy++) {
    int64_t env = in->directions[copy / LADDER].env;
    for (int64_t k = 0; k < sizes.nv; k++) {
      array_set(&step, k, offset(in, copy, BY_QPOS, k));
      array_set(&qvel, copy * sizes.nv + k,
                array_get(&in->run->qvel, env * sizes.nv + k) + offset(in, copy, BY_QVEL, k));
    }
    for (int64_t k = 0; k < sizes.na; k++)
      array_set(&act, copy * sizes.na + k,
                array_get(&in->run->act, env * sizes.na + k) + offset(in, copy, BY_ACT, k));
    double *moved = (double *)qpos.tensor.data + copy * sizes.nq;
    memcpy(moved, doubles(&in->run->qpos) + env * sizes.nq, (size_t)sizes.nq * sizeof *moved);
    pose_walk walk = {doubles(&in->run->qpos) + env * sizes.nq, doubles(&step), moved};
    if (in->directions[copy / LADDER].input == BY_QPOS) for_each_joint(in->run->job.model, visit_move, &walk);
  }
  if (code == CLI_OK && abut_batch_set_state(batch, NULL, &qpos.tensor, &qvel.tensor) != ABUT_OK)
    code = cli_library_error();
  if (code == CLI_OK && abut_batch_set_act(batch, NULL, &act.tensor) != ABUT_OK) code = cli_library_error();
  array_destroy(&qpos);
  array_destroy(&qvel);
  array_destroy(&act);
  array_destroy(&step);
  return code;
}

static double base_value(const comparison *in, int input, int64_t i) {
  switch (input) {
  case BY_GRAVITY:
    return in->gravity[i];
  case BY_FRICTION:
    return in->friction[i];
  case BY_MASS:
    return in->mass[i];
  default:
    return in->run->job.options.implicit.stiffness;
  }
}

static int set_parameters(const comparison *in, abut_batch *batch, int64_t copies) {
  array values[INPUT_COUNT] = {0};
  int code = CLI_OK;
  for (int input = BY_GRAVITY; code == CLI_OK && input <= BY_STIFFNESS; input++) {
    int64_t n = in->entries[input];
    code = array_create(&values[input], "parameters", ABUT_F64, 2, (int64_t[]){copies, n});
    for (int64_t i = 0; code == CLI_OK && i < copies * n; i++)
      array_set(&values[input], i, base_value(in, input, i % n) + offset(in, i / n, input, i % n));
  }
  abut_parameters parameters = {.gravity = &values[BY_GRAVITY].tensor,
                                .friction = in->entries[BY_FRICTION] ? &values[BY_FRICTION].tensor : NULL,
                                .mass = &values[BY_MASS].tensor,
                                .stiffness = &values[BY_STIFFNESS].tensor};
  if (code == CLI_OK && abut_batch_set_parameters(batch, &parameters) != ABUT_OK) code = cli_library_error();
  for (int input = 0; input < INPUT_COUNT; input++) array_destroy(&values[input]);
  return code;
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Adds the segment's part of every copy's loss. */
static int add_losses(void *user, trajectory *from, int64_t first, int64_t n) {
  comparison *in = user;
  int64_t nq = in->run->job.sizes.nq, nv = in->run->job.sizes.nv, rows = in->run->steps + 1;
  for (int64_t copy = 0; copy < in->count * LADDER; copy++) {
    int64_t env = in->directions[copy / LADDER].env;
    for (int64_t step = 1; step <= n; step++) {
      int64_t at = copy * (n + 1) + step, base = env * rows + first + step;
      double by_qpos = dot(doubles(&from->qpos) + at * nq, doubles(&in->run->cot_qpos) + base * nq, nq);
      double by_qvel = dot(doubles(&from->qvel) + at * nv, doubles(&in->run->cot_qvel) + base * nv, nv);
      in->loss[copy] += by_qpos + by_qvel;
      in->size[copy] += fabs(by_qpos) + fabs(by_qvel);
    }
    /* moving shapes apart at the start is not smooth, a frozen environment has no derivative */
    int frozen = (from->env_status[copy] & ABUT_ENV_FROZEN) != 0;
    if (frozen || (first == 0 && array_get(&from->moved, copy) > 0)) in->broken[copy] = 1;
  }
  return CLI_OK;
}

static int run_copies(comparison *in, const cli_options *options, progress *bar) {
  int64_t copies = in->count * LADDER;
  const gradient_run *run = in->run;
  job probe = {.model = run->job.model, .sizes = run->job.sizes};
  abut_options asked = run->job.options;
  asked.nenv = copies;
  trajectory plan = {.job = &probe,
                     .steps = run->steps,
                     .wanted = WANT_STATE,
                     .fill_ctrl = fill_ctrl,
                     .ctrl_user = in,
                     .ctrl_envs = copies,
                     .ctrl_steps = run->steps,
                     .sink = add_losses,
                     .sink_user = in};
  in->loss = calloc((size_t)copies, sizeof *in->loss);
  in->size = calloc((size_t)copies, sizeof *in->size);
  in->broken = calloc((size_t)copies, 1);
  if (!in->loss || !in->size || !in->broken) return cli_error("out of memory");
  double extra = trajectory_plan(&plan, copies, ABUT_F64, (double)options->buffer * 0x1p20);
  int code = job_create(&probe, &asked, 1, extra);
  if (code == CLI_OK) code = set_parameters(in, probe.batch, copies);
  if (code == CLI_OK) code = set_start(in, probe.batch, copies);
  progress_part(bar, 0.2, 0.8);
  if (code == CLI_OK) code = trajectory_run(&plan, bar);
  trajectory_free(&plan);
  abut_batch_destroy(probe.batch);
  return code;
}

/* -------------------------------------------------------------------------------------- comparison */

/* Derivative from a ladder of losses; doubt: its own error estimate, never below what rounding alone would
 * do. NaN where no rung is usable. */
static double extrapolate(const double *loss, const double *size, const char *broken, double first,
                          double *doubt) {
  double rows[LEVELS][3], best = NAN;
  int height = 0; /* rungs in a row that are usable */
  *doubt = INFINITY;
  for (int level = 0; level < LEVELS; level++) {
    double length = first / pow(LADDER_RATIO, level), plus = loss[SIDES * level],
           minus = loss[SIDES * level + 1];
    if (broken[SIDES * level] || broken[SIDES * level + 1] || !isfinite(plus - minus)) {
      height = 0;
      continue;
    }
    double *row = rows[level], factor = LADDER_RATIO * LADDER_RATIO;
    row[0] = (plus - minus) / (2 * length);
    if (height == 0 && isnan(best)) best = row[0];
    for (int order = 1; order <= height && order < 3; order++, factor *= LADDER_RATIO * LADDER_RATIO) {
      row[order] = row[order - 1] + (row[order - 1] - rows[level - 1][order - 1]) / (factor - 1);
      double error = fmax(fabs(row[order] - row[order - 1]), fabs(row[order] - rows[level - 1][order - 1]));
      error = fmax(error, ROUNDING * size[SIDES * level] / length);
      if (error >= *doubt) continue;
      *doubt = error;
      best = row[order];
    }
    height++;
  }
  return best;
}

static void compare_directions(const comparison *in, gradient_check *out) {
  for (int64_t i = 0; i < in->count; i++) {
    const direction *along = &in->directions[i];
    double doubt, expected = predicted(in, along);
    double measured = extrapolate(in->loss + i * LADDER, in->size + i * LADDER, in->broken + i * LADDER,
                                  first_step[along->input], &doubt);
    double error = fabs(measured - expected);
    int input = along->input;
    out->entries[input]++;
    if (isnan(error) || error > out->error[input]) out->error[input] = error;
    out->doubt[input] = fmax(out->doubt[input], doubt);
  }
  for (int input = 0; input < INPUT_COUNT; input++)
    for (int64_t i = 0; i < in->run->envs * in->entries[input]; i++)
      out->largest[input] = fmax(out->largest[input], fabs(in->tangent[input][i]));
}

/* Pairs that push at some step, and how often one starts or stops to. */
static int count_contacts(const gradient_run *in, gradient_check *out) {
  int64_t npair = in->job.sizes.npair;
  const double *force = doubles(&in->contact_force);
  char *active = calloc((size_t)npair + 1, 1);
  if (!active) return cli_error("out of memory");
  for (int64_t env = 0; env < in->envs; env++)
    for (int64_t step = 0; step < in->steps; step++)
      for (int64_t pair = 0; pair < npair; pair++) {
        const double *f = force + 3 * ((env * in->steps + step) * npair + pair), *before = f - 3 * npair;
        int pushes = f[0] != 0 || f[1] != 0 || f[2] != 0;
        active[pair] |= (char)pushes;
        if (step) out->active_set_changes += pushes != (before[0] != 0 || before[1] != 0 || before[2] != 0);
      }
  for (int64_t pair = 0; pair < npair; pair++) out->pairs_active += active[pair];
  free(active);
  return CLI_OK;
}

int gradient_compare(const gradient_run *in, const cli_options *options, gradient_check *out, progress *bar) {
  comparison work = {.run = in};
  memset(out, 0, sizeof *out);
  int code = load_base_values(&work);
  if (code == CLI_OK) code = load_tangents(&work);
  if (code == CLI_OK) code = choose_directions(&work);
  if (code == CLI_OK) code = run_copies(&work, options, bar);
  if (code == CLI_OK) code = count_contacts(in, out);
  if (code == CLI_OK) compare_directions(&work, out);
  for (int i = 0; i < INPUT_COUNT; i++) free(work.tangent[i]);
  free(work.friction);
  free(work.mass);
  free(work.dof);
  free(work.directions);
  free(work.loss);
  free(work.size);
  free(work.broken);
  return code;
}
