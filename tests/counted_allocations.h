/* counted_allocations.h: the library's allocations, counted, and made to fail. The executable is linked with
 * --wrap, so that every allocation of the library passes through here; those of the C library itself (thread
 * stacks) do not. */
#ifndef ABUT_TEST_COUNTED_ALLOCATIONS_H
#define ABUT_TEST_COUNTED_ALLOCATIONS_H
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

/* allocations so far; bytes that are allocated now; which to refuse, counted like calls: from the first on,
 * to before the last */
static int64_t calls, live, refuse_from = INT64_MAX, refuse_to = INT64_MAX;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);

static int refused(void) {
  int64_t number = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  return number >= refuse_from && number < refuse_to;
}
static void *counted(void *p) {
  if (p) __atomic_add_fetch(&live, (int64_t)malloc_usable_size(p), __ATOMIC_RELAXED);
  return p;
}
static void released(void *p) {
  if (p) __atomic_sub_fetch(&live, (int64_t)malloc_usable_size(p), __ATOMIC_RELAXED);
}
void *__wrap_malloc(size_t n) { return refused() ? NULL : counted(__real_malloc(n)); }
void *__wrap_calloc(size_t n, size_t size) { return refused() ? NULL : counted(__real_calloc(n, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t n) {
  return refused() ? NULL : counted(__real_aligned_alloc(alignment, n));
}
void *__wrap_realloc(void *p, size_t n) {
  if (refused()) return NULL;
  released(p);
  return counted(__real_realloc(p, n));
}
void __wrap_free(void *p) {
  released(p);
  __real_free(p);
}

#endif
