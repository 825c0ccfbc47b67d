/* test_pool.c: threads that wait for work: every piece is done once, whoever does it; idle ones sleep, forks
 * and signals do not meet them. And short calls of a batch and of a manifold on them. */
#include "host/base/pool.h"
#include "rollout.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECES = 64 };

/* Pieces of work, taken by whoever comes. */
typedef struct heap {
  atomic_int next, calls, strangers; /* strangers: calls that are not index 0's on another thread */
  atomic_int done[PIECES], index[8];
  pthread_t caller;
  int slow; /* pieces take a while, so that others come too */
} heap;

static void wait_us(int us) {
  const struct timespec t = {0, 1000L * us};
  nanosleep(&t, NULL);
}
static void take_pieces(int32_t index, void *arg) {
  heap *h = arg;
  atomic_fetch_add(&h->calls, 1);
  atomic_fetch_add(&h->index[index], 1);
  if ((index == 0) != (pthread_equal(pthread_self(), h->caller) != 0)) atomic_fetch_add(&h->strangers, 1);
  for (int i; (i = atomic_fetch_add(&h->next, 1)) < PIECES;) {
    if (h->slow) wait_us(50);
    atomic_fetch_add(&h->done[i], 1);
  }
}
/* Runs all pieces; the number of threads that came, 0 where something was not as it should be. */
static int run_heap(pool *p, int32_t threads, int slow) {
  heap h = {.caller = pthread_self(), .slow = slow};
  int right = 1;
  pool_run(p, threads, take_pieces, &h);
  for (int i = 0; i < PIECES; i++) right &= h.done[i] == 1;
  for (int i = 0; i < 8; i++) right &= h.index[i] <= (i < threads);
  right &= h.index[0] == 1 && h.strangers == 0;
  return right ? h.calls : 0;
}

TEST(every_piece_once) {
  static const int32_t threads[] = {1, 2, 7};
  for (int t = 0; t < 3; t++) {
    pool *p;
    int most = 0;
    REQUIRE(pool_create(threads[t], &p) == ABUT_OK);
    for (int i = 0; i < (test_quick() ? 300 : 3000); i++) {
      int came = run_heap(p, 1 + i % 7, i % 100 == 0);
      CHECK(came >= 1 && came <= threads[t]);
      most = came > most ? came : most;
    }
    for (int i = 0; i < 100 && most < threads[t]; i++) { /* given time, all come */
      int came = run_heap(p, threads[t], 1);
      most = came > most ? came : most;
    }
    CHECK(most == threads[t]);
    pool_destroy(p);
  }
}

TEST(a_pool_that_never_ran) {
  pool *p;
  REQUIRE(pool_create(7, &p) == ABUT_OK);
  pool_destroy(p);
  pool_destroy(NULL);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
TEST(idle_threads_sleep) {
  pool *p;
  REQUIRE(pool_create(7, &p) == ABUT_OK);
  run_heap(p, 7, 1);
  wait_us(20000);
  double start = cpu_seconds();
  for (int i = 0; i < 10; i++) wait_us(20000);
  CHECK(cpu_seconds() - start < 0.02); /* of 0.2 s */
  pool_destroy(p);
}

/* ------------------------------------------------------------------------------ callers on several threads
 */

typedef struct caller {
  pool *p;
  int right;
} caller;
static void *call_often(void *arg) {
  caller *c = arg;
  c->right = 1;
  for (int i = 0; i < 200; i++) c->right &= run_heap(c->p, 3, 0) >= 1;
  return NULL;
}
/* One has the threads, the others do their work alone. */
TEST(many_callers) {
  pool *p;
  caller callers[3];
  pthread_t threads[3];
  REQUIRE(pool_create(3, &p) == ABUT_OK);
  for (int i = 0; i < 3; i++) {
    callers[i].p = p;
    REQUIRE(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    CHECK(callers[i].right);
  }
  pool_destroy(p);
}

/* ---------------------------------------------------------------------------------------- signals, forks */

static atomic_int delivered;
static void on_signal(int number) {
  (void)number;
  atomic_fetch_add(&delivered, 1);
}
/* One that the caller's thread does not want yet waits, although others sleep. */
TEST(signals_are_for_the_callers_threads) {
  pool *p;
  struct sigaction old, ours = {.sa_handler = on_signal};
  sigset_t one, before;
  REQUIRE(pool_create(4, &p) == ABUT_OK);
  run_heap(p, 4, 1);
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigaction(SIGUSR1, &ours, &old);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  kill(getpid(), SIGUSR1);
  wait_us(20000);
  run_heap(p, 4, 1);
  CHECK(delivered == 0);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  CHECK(delivered == 1);
  sigaction(SIGUSR1, &old, NULL);
  pool_destroy(p);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK /* by that sanitizer's own rule */
#endif
#endif
#if !defined(__SANITIZE_THREAD__) && !defined(NO_THREADS_AFTER_FORK)
/* What a child answers: 0 if all went well. It has ten seconds. */
static int child_status(pid_t child) {
  int status = -1;
  for (int i = 0; i < 10000; i++) {
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    wait_us(1000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}
TEST(a_forked_process_goes_on) {
  pool *p;
  REQUIRE(pool_create(4, &p) == ABUT_OK);
  run_heap(p, 4, 1);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) {
      int right = 1;
      for (int j = 0; j < 20; j++) right &= run_heap(p, 4, j % 2) >= 1;
      pool_destroy(p);
      _exit(!right);
    }
    CHECK(run_heap(p, 4, i % 2) >= 1);
    CHECK(child_status(child) == 0);
  }
  pool_destroy(p);
}
/* A child that only throws away what it has from its parent. */
TEST(a_forked_process_destroys) {
  pool *p;
  REQUIRE(pool_create(4, &p) == ABUT_OK);
  run_heap(p, 4, 1);
  pid_t child = fork();
  if (child == 0) {
    pool_destroy(p);
    _exit(0);
  }
  CHECK(child_status(child) == 0);
  pool_destroy(p);
}

static void step(abut_batch *b, int64_t calls) {
  abut_rollout_args a = abut_default_rollout_args();
  a.nstep = 1;
  for (int64_t i = 0; i < calls; i++) CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
}
TEST(a_batch_goes_on_in_a_forked_process) {
  scene s;
  REQUIRE(scene_load("scenes/stack5.abut", &s));
  abut_options o = test_options(33);
  o.threads = 3;
  abut_batch *b = batch_of(&s, &o);
  step(b, 3);
  pid_t child = fork();
  if (child == 0) {
    step(b, 3);
    abut_batch_destroy(b);
    _exit(0);
  }
  CHECK(child_status(child) == 0);
  step(b, 3);
  abut_batch_destroy(b);
  scene_free(&s);
}
#endif

/* -------------------------------------------------------------------------------------- many short calls */

/* The state after so many calls of one step with noise. */
static void short_calls(const scene *s, int32_t threads, int64_t nenv, int64_t calls, array *qpos) {
  abut_options o = test_options(nenv);
  abut_rollout_args a = abut_default_rollout_args();
  o.threads = threads;
  abut_batch *b = batch_of(s, &o);
  array_create(qpos, 'd', 2, (int64_t[]){nenv, s->n.nq});
  if (!b) return;
  a.nstep = 1;
  a.kick = 0.05;
  for (int64_t i = 0; i < calls; i++) {
    a.kick_seed = (uint64_t)i;
    CHECK_STATUS(abut_rollout(b, &a, NULL, NULL, NULL), ABUT_OK);
  }
  CHECK_STATUS(abut_batch_get_state(b, NULL, tensor(qpos), NULL), ABUT_OK);
  abut_batch_destroy(b);
}
TEST(short_calls_on_any_number_of_threads) {
  static const int32_t threads[] = {1, 2, 7};
  const int64_t calls = test_quick() ? 10 : 100;
  scene s;
  array qpos[3];
  REQUIRE(scene_load("scenes/ant_box.abut", &s));
  for (int t = 0; t < 3; t++) short_calls(&s, threads[t], 64, calls, &qpos[t]);
  CHECK(array_same(&qpos[0], &qpos[1]) && array_same(&qpos[0], &qpos[2]));
  for (int t = 0; t < 3; t++) array_free(&qpos[t]);
  scene_free(&s);
}
