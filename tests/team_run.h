/* team_run.h: 32 threads or fibres that play the threads of a GPU's warp, for kernels compiled with
 * ABUT_TEAM 32 (src/kernels/lane/team.h). */
#ifndef ABUT_TEST_TEAM_RUN_H
#define ABUT_TEST_TEAM_RUN_H
#include <stdint.h>

enum { TEAM = 32 };

/* Fibres: one thread; between two team_syncs every fibre runs once, in an order drawn from seed. A member
 * that returns while another waits at a team_sync is an error. Threads: 32 of them, a fresh barrier for each
 * team_sync, so that a missing one is not hidden by another. */
typedef enum team_mode { TEAM_FIBRES, TEAM_THREADS } team_mode;

typedef struct team_plan {
  team_mode mode;
  uint64_t seed;
  int64_t skip; /* team_sync, counted from 0 over all runs, that is left out: a planted race; -1: none */
} team_plan;

/* Sets the plan for the runs that follow; its counts begin anew. */
void team_use(team_plan plan);
/* Runs body(arg) by the whole team and returns when all have. */
void team_run(void (*body)(void *arg), void *arg);
/* team_syncs so far; and whether members parted at one. */
int64_t team_syncs(void);
int team_parted(void);

/* Called by the members. */
int team_rank(void);
void team_sync(void);

#endif
