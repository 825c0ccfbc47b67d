/* backend.h: where a batch lives and who runs its programs: threads here, or a GPU. Host memory (b->state)
 * holds a mirror of the state that the rest of the library reads and writes; a backend copies it when it
 * must. */
#ifndef ABUT_BACKEND_H
#define ABUT_BACKEND_H
#include "program.h"

typedef struct backend {
  /* Whether options.device_id can be used; fails with the reason. */
  abut_status (*find)(const abut_options *options);
  /* Kernels whose real type, lanes and rows decide sizes. */
  const abut_kernels *(*kernels)(const abut_options *options);
  /* Bytes of all lane groups. */
  int64_t (*lane_bytes)(const abut_batch *b);
  /* Lane groups with b->nslot slots, and room for b->capacity contacts per record. close takes what a failed
   * open left, too. */
  abut_status (*open)(abut_batch *b);
  void (*close)(abut_batch *b);
  /* Memory that programs can use; copy takes any mix of theirs and the host's. */
  abut_status (*allocate)(const abut_batch *b, size_t bytes, char **memory);
  void (*release)(const abut_batch *b, void *memory);
  abut_status (*copy)(const abut_batch *b, void *to, const void *from, size_t bytes);
  /* Runs a program over all environments: until they are finished, a list is too short (io->need) or
   * io->stop. io comes with the pointers that the caller gave; its counters are set. */
  abut_status (*run)(abut_batch *b, const program *p, program_io *io, program_report report);
  /* What the last rollout wrote to next becomes the state; b->state.status is up to date. */
  abut_status (*commit)(abut_batch *b);
  /* Brings b->state up to date; write: it will be changed. */
  abut_status (*fetch)(abut_batch *b, int write);
} backend;

extern const backend backend_cpu, backend_cuda;

#endif
