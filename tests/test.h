/* test.h: the test harness. TEST(name) { CHECK(...); } defines and registers one test; test_main.c runs them.
 */
#ifndef ABUT_TEST_H
#define ABUT_TEST_H
#include "abut/abut.h"
#include <math.h>
#include <stdlib.h>

typedef struct test_case {
  const char *name;
  void (*run)(void);
  struct test_case *next;
} test_case;

/* Appends to the list that main walks. */
void test_register(test_case *test);
/* Reports a failure of the running test and marks it failed. */
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True where time is dear (sanitizers, second compilers): run fewer cases, not fewer kinds. */
static inline int test_quick(void) { return getenv("ABUT_QUICK") != NULL; }

#define TEST(name)                                                                                           \
  static void test_run_##name(void);                                                                         \
  __attribute__((constructor)) static void test_register_##name(void) {                                      \
    static test_case test = {#name, test_run_##name, NULL};                                                  \
    test_register(&test);                                                                                    \
  }                                                                                                          \
  static void test_run_##name(void)

#define CHECK(cond)                                                                                          \
  do {                                                                                                       \
    if (!(cond)) test_fail(__FILE__, __LINE__, "%s", #cond);                                                 \
  } while (0)

/* As CHECK, and leaves the test. */
#define REQUIRE(cond)                                                                                        \
  do {                                                                                                       \
    if (!(cond)) {                                                                                           \
      test_fail(__FILE__, __LINE__, "%s", #cond);                                                            \
      return;                                                                                                \
    }                                                                                                        \
  } while (0)

/* |a - b| <= tol; equal infinities pass, NaN fails. */
#define CHECK_NEAR(a, b, tol)                                                                                \
  do {                                                                                                       \
    double test_a_ = (a), test_b_ = (b), test_tol_ = (tol);                                                  \
    if (!(test_a_ == test_b_ || fabs(test_a_ - test_b_) <= test_tol_))                                       \
      test_fail(__FILE__, __LINE__, "%s = %.17g, %s = %.17g: differ by %.3g > %.3g", #a, test_a_, #b,        \
                test_b_, fabs(test_a_ - test_b_), test_tol_);                                                \
  } while (0)

/* |a - b| <= tol * max(|a|, |b|). */
#define CHECK_REL(a, b, tol)                                                                                 \
  do {                                                                                                       \
    double test_a_ = (a), test_b_ = (b), test_tol_ = (tol);                                                  \
    double test_size_ = fmax(fabs(test_a_), fabs(test_b_));                                                  \
    if (!(test_a_ == test_b_ || fabs(test_a_ - test_b_) <= test_tol_ * test_size_))                          \
      test_fail(__FILE__, __LINE__, "%s = %.17g, %s = %.17g: differ by %.3g of their size > %.3g", #a,       \
                test_a_, #b, test_b_, fabs(test_a_ - test_b_) / test_size_, test_tol_);                      \
  } while (0)

/* The call returns this abut_status. */
#define CHECK_STATUS(call, expected)                                                                         \
  do {                                                                                                       \
    int test_got_ = (int)(call), test_expected_ = (int)(expected);                                           \
    if (test_got_ != test_expected_)                                                                         \
      test_fail(__FILE__, __LINE__, "%s gave %d, not %s (%d): %s", #call, test_got_, #expected,              \
                test_expected_, abut_error_message());                                                       \
  } while (0)

#endif
