/* pool.c: threads that sleep until there is work. */
#include "host/base/pool.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Looks at a number that is about to change before a thread goes to sleep: some ten microseconds, less than
 * sleeping and waking up take. */
enum { LOOKS = 400 };

typedef struct member {
  pool *pool;
  int32_t index;
  unsigned seen; /* the last job it knows of */
  pthread_t thread;
} member;

struct pool {
  int32_t threads, started; /* at most, the caller included; of the others */
  pid_t process;            /* in which they were started */
  atomic_int holder;        /* the process that runs a job; 0: none */
  pthread_mutex_t lock;     /* of what follows; numbers that are atomic are also looked at without it */
  pthread_cond_t wake, done;
  atomic_uint job;   /* how many there were */
  atomic_int inside; /* threads that work on the last one, the caller aside */
  int open, ends;    /* it may still be joined; threads are to end */
  int32_t count;
  pool_work work;
  void *arg;
  member others[];
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* ---------------------------------------------------------------------------------------- the threads */

/* With the lock held, but for the time of waiting. */
static void await_job(member *m) {
  pool *p = m->pool;
  if (p->job == m->seen) {
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < LOOKS && atomic_load_explicit(&p->job, memory_order_relaxed) == m->seen; i++) relax();
    pthread_mutex_lock(&p->lock);
  }
  while (p->job == m->seen) pthread_cond_wait(&p->wake, &p->lock);
  m->seen = p->job;
}

static void *member_main(void *arg) {
  member *m = arg;
  pool *p = m->pool;
  pthread_mutex_lock(&p->lock);
  for (await_job(m); !p->ends; await_job(m)) {
    if (!p->open || m->index >= p->count) continue;
    p->inside++;
    pthread_mutex_unlock(&p->lock);
    p->work(m->index, p->arg); /* both stay as they are while somebody is inside */
    pthread_mutex_lock(&p->lock);
    if (--p->inside == 0) pthread_cond_signal(&p->done);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* Signals are for the caller's threads: none is delivered to these. */
static void start(pool *p, int32_t wanted) {
  sigset_t all, callers;
  if (p->started >= wanted) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &callers);
  for (; p->started < wanted; p->started++) {
    member *m = &p->others[p->started];
    *m = (member){.pool = p, .index = p->started + 1, .seen = p->job};
    if (pthread_create(&m->thread, NULL, member_main, m)) break;
  }
  pthread_sigmask(SIG_SETMASK, &callers, NULL);
}

/* ----------------------------------------------------------------------------------------- the caller */

/* As it was created: in a forked process nobody else has a hand on what the parent's threads may have held.
 */
static void renew(pool *p) {
  p->process = getpid();
  p->started = p->open = p->ends = 0;
  p->inside = 0;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
}

/* For one caller of one process; what another process held when it forked this one is free here. */
static int hold(pool *p) {
  const int self = (int)getpid();
  int holder = atomic_load(&p->holder);
  if (holder == self || !atomic_compare_exchange_strong(&p->holder, &holder, self)) return 0;
  if (p->process != self) renew(p);
  return 1;
}

static void open_job(pool *p, int32_t count, pool_work work, void *arg) {
  pthread_mutex_lock(&p->lock);
  p->work = work;
  p->arg = arg;
  p->count = count;
  p->open = 1;
  p->job++;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
}

static void close_job(pool *p) {
  pthread_mutex_lock(&p->lock);
  p->open = 0;
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < LOOKS && atomic_load_explicit(&p->inside, memory_order_relaxed); i++) relax();
  pthread_mutex_lock(&p->lock);
  while (p->inside) pthread_cond_wait(&p->done, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

void pool_run(pool *p, int32_t count, pool_work work, void *arg) {
  const int32_t all = !p ? 1 : count < p->threads ? count : p->threads;
  if (all < 2 || !hold(p)) {
    work(0, arg);
    return;
  }
  start(p, all - 1);
  open_job(p, all, work, arg);
  work(0, arg);
  close_job(p);
  atomic_store(&p->holder, 0);
}

abut_status pool_create(int32_t threads, pool **created) {
  const size_t others = threads > 1 ? (size_t)threads - 1 : 0;
  pool *p = calloc(1, sizeof *p + others * sizeof *p->others);
  if (!p) return fail_with(ABUT_ERROR_MEMORY, "%d thread%s: out of memory", threads, PLURAL(threads));
  p->threads = threads;
  renew(p);
  *created = p;
  return ABUT_OK;
}

/* A forked process has nothing to wait for. */
void pool_destroy(pool *p) {
  if (!p) return;
  if (p->process == getpid()) {
    pthread_mutex_lock(&p->lock);
    p->ends = 1;
    p->job++;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int32_t i = 0; i < p->started; i++) pthread_join(p->others[i].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->done);
  }
  free(p);
}
