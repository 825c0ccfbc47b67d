/* implicit.c: the implicit step: what it does, stage by stage; its options, its fields, the pairs that its
 * terms work for.
 *
 * Every environment is a small state machine that runs through these stages on its own clock: lanes of a
 * group share the instruction stream, not the step. A lane that converges early starts its next step while
 * its neighbours still iterate, so stragglers cost their own lane only. Stages leave lanes they do not work
 * for untouched, which is why a result cannot depend on who else is in the group.
 *
 * All decisions are stages too (kernels/clock, kernels/method/implicit_clock.inl), so that whoever runs a
 * program, threads here or a GPU, only repeats lists. */
#include "host/base/option.h"
#include "host/base/real.h"
#include "host/method/implicit_pairs.h"
#include "host/method/implicit_scene.h"
#include "host/method/implicit_start.h"
#define METHOD implicit
#include "host/batch/method_tables.h"
#include <math.h>

/* ---------------------------------------------------------------- programs */

#define DO_TERM(verb, term) {STAGE_##verb##_##term, TERM_##term},
#define DO_TERMS(verb) TERMS(DO_TERM, verb)

static const phase_stage all_clear[] = {DO(clear)};

static const phase_stage rollout_start[] = {
    DO(fetch), /* state, parameters and warm contacts of an environment */
    /* shapes that touch move apart, a round at a time */
    DO(arrived), DO(begin), DO(boxes), DO(separate_list), DO(gaps), DO(separate_push), DO(displace),
    /* the rest writes its first outputs */
    DO(opening), DO(begin), DO(open)};

static const phase_stage rollout_step[] = {
    /* lanes that begin a step: controls, poses at q and q-, boxes, the pair list, first planes of new pairs,
       what is lagged */
    DO(load), DO(begin), DO(boxes), DO(list_pairs), DO_TERMS(start) DO_TERMS(begin) DO(begun),
    /* all lanes: energy, gradient, Hessian with the pairs' unknowns eliminated; those within tolerance finish
     */
    DO(evaluate_open), DO_TERMS(evaluate) DO(evaluate_close), DO(judge),
    /* the others: factor, solve, steps of planes, longest feasible step */
    DO(direction_open), DO_TERMS(direction) DO(direction_close), DO(directed),
    /* lanes that finish: velocity and outputs */
    DO(energies), DO(finish), DO(finished)};

static const phase_stage rollout_search[] = {
    /* trial energy and certificate; the step is halved until it is accepted */
    DO(search),
    DO(try_open),
    DO_TERMS(try) DO(try_close),
    DO(tried),
    DO(accept),
    DO_TERMS(accept)
    /* trials that left the boxes within which the pair list is complete */
    DO(leave),
    DO(boxes_trial),
    DO(add_pairs),
    DO_TERMS(start)};

static const phase_stage reverse_start[] = {DO(back_fetch), DO(back_start), DO(reverse_start),
                                            DO(back_finished)};

static const phase_stage reverse_step[] = {
    /* the step's start as in the forward pass, then its recorded end */
    DO(back_load), DO(begin), DO_TERMS(start) DO_TERMS(begin) DO(back_end), DO(evaluate_open),
    DO_TERMS(evaluate) DO(evaluate_close),
    /* its adjoint */
    DO(reverse_open), DO_TERMS(vjp) DO(reverse_close), DO(back_store),
    /* lanes that are at the start of their rollout */
    DO(back_start), DO(reverse_start), DO(back_finished)};

/* ---------------------------------------------------------------- options */

static void implicit_defaults(abut_options *options) {
  abut_implicit_options *o = &options->implicit;
  o->reach = 1e-3;
  o->length = 1;
  o->max_separation = 5e-3;
  o->slip_velocity = 1e-4;
  o->epsilon = 0.5;
}

static abut_status check_choices(const abut_implicit_options *o) {
  OPTION_CHOICE("contact", o->contact);
  OPTION_CHOICE("overlap", o->overlap);
  OPTION_CHOICE("form", o->form);
  OPTION_CHOICE("weights", o->weights);
  OPTION_CHOICE("friction_form", o->friction_form);
  OPTION_CHOICE("solver", o->solver);
  OPTION_RANGE(o->pair_capacity >= 0, "pair_capacity", "d", o->pair_capacity);
  return ABUT_OK;
}

/* What f32 holds, and its inverse. */
static abut_status check_precision(const abut_options *options) {
  const abut_implicit_options *o = &options->implicit;
  ATTEMPT(precision_range(options, "reach", o->reach, 1e30));
  ATTEMPT(precision_range(options, "stiffness", o->stiffness, 1e30));
  ATTEMPT(precision_range(options, "length", o->length, 1e30));
  ATTEMPT(precision_range(options, "gap0", o->gap0, 1e30));
  ATTEMPT(precision_range(options, "slip_velocity", o->slip_velocity, 1e30));
  ATTEMPT(precision_range(options, "epsilon", o->epsilon, 1e30));
  if (options->dtype == ABUT_F64 || real_holds(4, o->max_separation)) return ABUT_OK;
  return fail_with(ABUT_ERROR_ARGUMENT, "option max_separation: %g is beyond single precision",
                   o->max_separation);
}

static abut_status implicit_resolve(const abut_model *model, abut_options *options) {
  abut_implicit_options *o = &options->implicit;
  ATTEMPT(implicit_check_scene(model));
  ATTEMPT(check_choices(o));
  int local = o->contact == ABUT_CONTACT_LOCAL;
  if (o->stiffness == 0) o->stiffness = local ? 1e-7 : 1e-8;
  if (o->gap0 == 0) o->gap0 = local ? 0.5 * o->reach * o->length : 1e-4;
  OPTION_RANGE(o->reach > 0 && o->reach < 0.5, "reach", "g", o->reach);
  OPTION_RANGE(o->stiffness > 0 && isfinite(o->stiffness), "stiffness", "g", o->stiffness);
  OPTION_RANGE(o->length > 0 && isfinite(o->length), "length", "g", o->length);
  OPTION_RANGE(o->gap0 > 0 && isfinite(o->gap0), "gap0", "g", o->gap0);
  OPTION_RANGE(o->max_separation >= 0 && isfinite(o->max_separation), "max_separation", "g",
               o->max_separation);
  OPTION_RANGE(o->slip_velocity > 0 && isfinite(o->slip_velocity), "slip_velocity", "g", o->slip_velocity);
  OPTION_RANGE(o->epsilon > 0 && o->epsilon <= 100, "epsilon", "g", o->epsilon);
  return check_precision(options);
}

/* ---------------------------------------------------------------- fields */

static abut_status implicit_layout(const abut_model *m, step_params *k) {
  ATTEMPT(method_fields(m, k));
  implicit_pairs(m, &k->options, (pair_info *)k->pairs, k->kind_pair);
  double *radius = (double *)k->body_radius;
  for (int32_t i = k->kind_pair[TERM_longrange]; i < k->kind_pair[TERM_longrange + 1]; i++)
    for (int j = 0; j < 2; j++) { /* triangles of round shapes turn, their points do not */
      const pair_side *s = &k->pairs[i].side[j];
      radius[s->body] = fmax(radius[s->body], s->reach);
    }
  return ABUT_OK;
}

static int32_t implicit_contacts(const abut_model *m, const abut_options *o) {
  if (o->implicit.pair_capacity) return o->implicit.pair_capacity;
  return o->implicit.contact == ABUT_CONTACT_LOCAL ? 8 + 4 * m->nbody : m->npair;
}

enum { FAR_FIRST = 1024 }; /* entries of long-range lists to begin with */
static int32_t implicit_room(const step_params *k) {
  return k->kind_pair[TERM_longrange + 1] > k->kind_pair[TERM_longrange] ? FAR_FIRST : 0;
}

static void implicit_place(placer *p, const step_params *k, int32_t lanes, size_t real, int32_t room,
                           void *own) {
  implicit_group *g = own;
  const int64_t n = room, pairs = n ? k->model->npair : 0;
  g->envelope = place(p, k->model->nv + 1, sizeof *g->envelope);
  g->far.capacity = room;
  g->far.plane = place(p, 2 * lanes * n * FAR_PLANE_VALUES, real);
  g->far.rows = place(p, n * FAR_ROW_VALUES, real);
  g->far.marks = place(p, lanes * n * FAR_MARK_VALUES, real);
  g->far.state = place(p, 2 * pairs * lanes, sizeof *g->far.state);
  g->far.pairs = place(p, 2 * lanes * n, sizeof *g->far.pairs);
  g->far.mark_pairs = place(p, lanes * n, sizeof *g->far.mark_pairs);
  g->far.marked = place(p, pairs * lanes, sizeof *g->far.marked);
}

/* ---------------------------------------------------------------- the method */

_Static_assert(sizeof(implicit_group) <= MAX_OWN, "bound of method.h");

extern const method implicit_method;
const method implicit_method = {
    .name = "implicit",
    .defaults = implicit_defaults,
    .resolve = implicit_resolve,
    .layout = implicit_layout,
    .start = implicit_start,
    .contacts = implicit_contacts,
    .room = implicit_room,
    .own_size = sizeof(implicit_group),
    .place = implicit_place,
    .forward = {.clear = PHASE(all_clear, -1),
                .start = PHASE(rollout_start, SET_separating),
                .turn = {PHASE(rollout_step, -1), PHASE(rollout_search, SET_searching)},
                .turns = 2},
    .reverse = {.clear = PHASE(all_clear, -1),
                .start = PHASE(reverse_start, -1),
                .turn = {PHASE(reverse_step, -1)},
                .turns = 1,
                .reverse = 1},
    METHOD_TABLES};
