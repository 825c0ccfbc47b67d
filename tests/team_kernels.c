/* team_kernels.c: the kernels as a team of 32 runs them, behind the table that the CPU backend calls. */
#define ABUT_LANES 1
#define ABUT_TEAM 32
#include <math.h>
#include "kernels.inl"
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

#define STAGE(name)                                                                                          \
  static void run_##name(const step_params *k, lane_group *g, program_io *io) {                              \
    stage_call c = {stage_##name, k, g, io};                                                                 \
    team_run(call, &c);                                                                                      \
  }
#define DECIDE(name) STAGE(name)
#include "stages.def"

#define NAME_(bits) team_kernels_f##bits
#define NAME(bits) NAME_(bits)
extern const abut_kernels NAME(ABUT_REAL);
const abut_kernels NAME(ABUT_REAL) = {
    "team",
    ABUT_LANES,
    sizeof(elem),
    {
#define STAGE(name) run_##name,
#define DECIDE(name) run_##name,
#include "stages.def"
    },
    query_plane,
    NULL, /* these run on one thread */
    {0},
    NULL,
};
