/* team_run.c: 32 threads or fibres that play the threads of a GPU's warp. */
#define _XOPEN_SOURCE 700
#include "team_run.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 512 * 1024, GENERATIONS = 1 << 12 };

static team_plan plan = {TEAM_FIBRES, 1, -1};
static int64_t syncs; /* completed, over all runs */
static int parted;

void team_use(team_plan next) {
  plan = next;
  syncs = 0;
  parted = 0;
}
int64_t team_syncs(void) { return syncs; }
int team_parted(void) { return parted; }

/* ---------------------------------------------------------------- fibres */

typedef struct fibre {
  ucontext_t context;
  char *stack;
  int done;
} fibre;
static fibre fibres[TEAM];
static ucontext_t scheduler;
static int current = -1; /* rank of the running fibre */
static void (*fibre_body)(void *);
static void *fibre_arg;

static void fibre_main(void) {
  fibre_body(fibre_arg);
  fibres[current].done = 1;
}

static uint64_t random_next(void) {
  uint64_t x = plan.seed += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  return (x ^ (x >> 27)) * 0x94d049bb133111ebull >> 32;
}

/* Every fibre runs until its next team_sync or its end. Returns how many have ended. */
static int fibres_generation(void) {
  int order[TEAM], done = 0;
  for (int i = 0; i < TEAM; i++) {
    int j = (int)(random_next() % (uint64_t)(i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  for (int i = 0; i < TEAM; i++) {
    current = order[i];
    if (!fibres[current].done) swapcontext(&scheduler, &fibres[current].context);
    done += fibres[current].done;
  }
  return done;
}

static void run_fibres(void (*body)(void *), void *arg) {
  fibre_body = body;
  fibre_arg = arg;
  for (int i = 0; i < TEAM; i++) {
    fibre *f = &fibres[i];
    if (!f->stack) f->stack = malloc(STACK);
    if (!f->stack) abort();
    f->done = 0;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = &scheduler;
    makecontext(&f->context, fibre_main, 0);
  }
  for (int done = 0; done < TEAM;) {
    done = fibres_generation();
    if (done > 0 && done < TEAM) parted = 1;
    if (done == 0) syncs++;
  }
  current = -1;
}

/* ---------------------------------------------------------------- threads */

static pthread_t threads[TEAM];
static int threads_started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int64_t job; /* counts runs */
static int working;
static void (*thread_body)(void *);
static void *thread_arg;
/* arrivals at each team_sync of a run: one object per generation */
static int arrivals[GENERATIONS];
static _Thread_local int thread_rank = -1;
static _Thread_local int64_t thread_syncs;

static void thread_barrier(int64_t generation) {
  int *count = &arrivals[generation % GENERATIONS];
  __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < TEAM) sched_yield();
}

static void *thread_main(void *arg) {
  thread_rank = (int)(intptr_t)arg;
  for (int64_t seen = 0;;) {
    pthread_mutex_lock(&lock);
    while (job == seen) pthread_cond_wait(&changed, &lock);
    seen = job;
    pthread_mutex_unlock(&lock);
    thread_syncs = 0;
    thread_body(thread_arg);
    pthread_mutex_lock(&lock);
    if (thread_rank == 0) syncs += thread_syncs;
    working--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void run_threads(void (*body)(void *), void *arg) {
  pthread_mutex_lock(&lock);
  memset(arrivals, 0, sizeof arrivals);
  thread_body = body;
  thread_arg = arg;
  working = TEAM;
  job++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  for (; threads_started < TEAM; threads_started++) {
    void *rank = (void *)(intptr_t)threads_started;
    if (pthread_create(&threads[threads_started], NULL, thread_main, rank)) abort();
  }
  pthread_mutex_lock(&lock);
  while (working > 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------- either */

void team_run(void (*body)(void *), void *arg) {
  if (plan.mode == TEAM_FIBRES)
    run_fibres(body, arg);
  else
    run_threads(body, arg);
}
int team_rank(void) { return plan.mode == TEAM_FIBRES ? current : thread_rank; }
void team_sync(void) {
  if (plan.mode == TEAM_FIBRES) {
    if (syncs == plan.skip) return;
    swapcontext(&fibres[current].context, &scheduler);
    return;
  }
  int64_t mine = thread_syncs++;
  if (syncs + mine != plan.skip) thread_barrier(mine);
}
