/* team.h: who shares one environment. A stage is run by ABUT_TEAM threads together: one on the CPU, where
 * lanes are what is wide, and one or 32 on the GPU. Results do not depend on it: a number has one owner,
 * which adds in the same order whoever else is there.
 *
 *   TEAM_FOR(i, n)   i = 0 .. n-1, dealt out to the team
 *   OWNED(i)         this thread writes what belongs to i (a body, a row)
 *   LEADER           the one thread that does what is serial: if (LEADER) ...
 *   TEAM_SYNC()      what the others wrote before it is seen after it; all must arrive
 *
 * Conditions around a TEAM_SYNC may depend on memory only, so that all decide alike. Between two TEAM_SYNCs
 * nobody reads what another writes. */
#ifndef ABUT_TEAM_H
#define ABUT_TEAM_H
#include "kernels/lane/lane.h"

#ifndef ABUT_TEAM
#define ABUT_TEAM 1
#endif

#if ABUT_TEAM == 1
#define TEAM_RANK 0
#define TEAM_SYNC() ((void)0)
#elif defined(__CUDACC__)
#define TEAM_RANK ((int)(threadIdx.x % ABUT_TEAM))
#define TEAM_SYNC() __syncwarp()
#else /* threads or fibres of a test play the team */
int team_rank(void);
void team_sync(void);
#define TEAM_RANK team_rank()
#define TEAM_SYNC() team_sync()
#endif

#ifdef __CUDACC__
#define GATHER_AT_ONCE 0
#else
#define GATHER_AT_ONCE (ABUT_TEAM == 1)
#endif

#define TEAM_FOR(i, n) for (int i = TEAM_RANK; i < (n); i += ABUT_TEAM)
#define OWNED(i) (ABUT_TEAM == 1 || (i) % ABUT_TEAM == TEAM_RANK)
#define LEADER (TEAM_RANK == 0)

/* Shared by all environments of a program: integers, so that the order of additions is nothing. */
#ifdef __CUDACC__
FN int64_t counter_add(int64_t *p, int64_t n) {
  return (int64_t)atomicAdd((unsigned long long *)p, (unsigned long long)n);
}
FN void counter_raise(int64_t *p, int64_t n) { atomicMax((long long *)p, (long long)n); }
FN int64_t counter_get(const int64_t *p) { return *(const volatile int64_t *)p; }
#else
FN int64_t counter_add(int64_t *p, int64_t n) { return __atomic_fetch_add(p, n, __ATOMIC_RELAXED); }
FN int64_t counter_get(const int64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
FN void counter_raise(int64_t *p, int64_t n) {
  int64_t old = counter_get(p);
  while (old < n && !__atomic_compare_exchange_n(p, &old, n, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
#endif

#endif
