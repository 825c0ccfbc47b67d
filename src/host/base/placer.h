/* placer.h: arrays one behind the other in one block. The same lines place them twice: once from NULL, to
 * count, once in the block. */
#ifndef ABUT_PLACER_H
#define ABUT_PLACER_H
#include <stddef.h>
#include <stdint.h>

/* Every array begins on a line of any cache, and where a GPU's loads want it. */
enum { PLACER_ALIGN = 256 };

typedef struct placer {
  char *base; /* NULL: only counts */
  size_t used;
} placer;

static inline void *place(placer *p, int64_t count, size_t element) {
  char *at = p->base ? p->base + p->used : NULL;
  p->used += ((size_t)count * element + PLACER_ALIGN - 1) / PLACER_ALIGN * PLACER_ALIGN;
  return at;
}

#endif
