/* test_main.c: runs the registered tests whose names contain argv[1]; exit status 1 if one fails. */
#include "test.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static test_case *first, *last;
static int failures; /* of the running test */

void test_register(test_case *test) {
  if (last)
    last->next = test;
  else
    first = test;
  last = test;
}

void test_fail(const char *file, int line, const char *format, ...) {
  va_list args;
  printf("%s:%d: ", file, line);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  failures++;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run(const test_case *test) {
  double start = seconds();
  failures = 0;
  test->run();
  double spent = seconds() - start;
  if (failures)
    printf("%s: %d check%s failed\n", test->name, failures, failures == 1 ? "" : "s");
  else if (spent > 1)
    printf("%s: %.1f s\n", test->name, spent);
  return failures == 0;
}

/* Every test that starts from the defaults can be run on a GPU: ABUT_TEST_DEVICE=cuda, with ABUT_TEST_TEAM
 * threads per environment (tools/gpu.sh). */
abut_options __real_abut_default_options(void);
abut_options __wrap_abut_default_options(void);
abut_options __wrap_abut_default_options(void) {
  abut_options o = __real_abut_default_options();
  const char *device = getenv("ABUT_TEST_DEVICE"), *team = getenv("ABUT_TEST_TEAM");
  if (device && !strcmp(device, "cuda")) o.device = ABUT_DEVICE_CUDA;
  if (team) o.team = atoi(team);
  return o;
}

int main(int argc, char **argv) {
  const char *filter = argc > 1 ? argv[1] : "";
  int passed = 0, failed = 0;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what was printed before a crash is not lost */
  for (const test_case *test = first; test; test = test->next) {
    if (!strstr(test->name, filter)) continue;
    if (run(test))
      passed++;
    else
      failed++;
  }
  if (!first) {
    printf("skipped: built without what these tests are about\n");
    return 77;
  }
  if (!passed && !failed) printf("no test's name contains '%s'\n", filter);
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
