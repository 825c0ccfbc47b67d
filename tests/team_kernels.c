/* team_kernels.c: the kernels as a team of 32 runs them, behind the tables that host code calls. */
#define ABUT_LANES 1
#define ABUT_TEAM 32
#include <math.h>
#include "kernels/method/implicit_kernels.inl"
#include "kernels/items/items_table.h"
#include "kernels/items/query.inl"
#include "kernels/items/manifold.inl"
#include "team_run.h"

typedef struct stage_call {
  stage_function stage;
  const step_params *k;
  lane_group *g;
  program_io *io;
} stage_call;
static void call(void *arg) {
  const stage_call *c = arg;
  c->stage(c->k, c->g, c->io);
}

typedef struct manifold_call {
  void (*kernel)(const manifold_params *, manifold_job *);
  const manifold_params *p;
  manifold_job *job;
} manifold_call;
static void call_manifold(void *arg) {
  const manifold_call *c = arg;
  c->kernel(c->p, c->job);
}
static void run_contacts(const manifold_params *p, manifold_job *job) {
  manifold_call c = {manifold_contacts, p, job};
  team_run(call_manifold, &c);
}
static void run_contacts_vjp(const manifold_params *p, manifold_job *job) {
  manifold_call c = {manifold_contacts_vjp, p, job};
  team_run(call_manifold, &c);
}

#define STAGE(name)                                                                                          \
  static void run_##name(const step_params *k, lane_group *g, program_io *io) {                              \
    stage_call c = {stage_##name, k, g, io};                                                                 \
    team_run(call, &c);                                                                                      \
  }
#define DECIDE(name) STAGE(name)
#include "kernels/clock/clock.def"
#define DECIDE(name) STAGE(name)
#include METHOD_DEF

static const stage_function stages[STAGE_NUM] = {
#define DECIDE(name) run_##name,
#include "kernels/clock/clock.def"
#define STAGE(name) run_##name,
#define DECIDE(name) run_##name,
#include METHOD_DEF
};

#define NAME_(family, bits) team_##family##_f##bits
#define NAME(family, bits) NAME_(family, bits)
extern const method_kernels NAME(kernels, ABUT_REAL);
const method_kernels NAME(kernels, ABUT_REAL) = {
    "team",
    ABUT_LANES,
    sizeof(elem),
    stages,
};
extern const item_kernels NAME(items, ABUT_REAL);
const item_kernels NAME(items, ABUT_REAL) = {
    "team",
    ABUT_LANES,
    sizeof(elem),
    query_plane,
    NULL, /* these run on one thread */
    {.primitive_size = sizeof(sdf_primitive),
     .prepare = sdf_prepare,
     .scratch = manifold_scratch,
     .contacts = run_contacts,
     .contacts_vjp = run_contacts_vjp},
    NULL,
};
