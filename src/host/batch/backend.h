/* backend.h: where a batch lives and who runs its programs: threads here, or a GPU. Host memory (b->state)
 * holds a mirror of the state that the rest of the library reads and writes; a backend copies it when it
 * must. */
#ifndef ABUT_BACKEND_H
#define ABUT_BACKEND_H
#include "host/batch/program.h"
#include "host/batch/tensor.h"

typedef struct backend {
  /* Whether options.device_id can be used; fails with the reason. */
  abut_status (*find)(const abut_options *options);
  /* Whether a tensor that says so lies on options.device_id; NULL where none can. */
  abut_status (*holds)(const abut_options *options, const char *name, const abut_tensor *t);
  /* Kernels whose real type, lanes and rows decide sizes. */
  abut_status (*kernels)(const abut_options *options, const method_kernels **kernels);
  /* Bytes of all lane groups; on a GPU, of states and everything else that is not the record too. */
  int64_t (*lane_bytes)(const abut_batch *b);
  /* Lane groups with b->nslot slots, and room for b->capacity contacts per record, with the host's state.
   * close gives that back before another open; destroy everything, whatever a failed open left. After an open
   * that failed the batch is lost, or run opens it again. */
  abut_status (*open)(abut_batch *b);
  void (*close)(abut_batch *b);
  void (*destroy)(abut_batch *b);
  /* Memory that programs can use; read and write copy between it and the host's. */
  abut_status (*allocate)(const abut_batch *b, size_t bytes, char **memory);
  void (*release)(const abut_batch *b, void *memory);
  abut_status (*read)(const abut_batch *b, void *host, const void *from, size_t bytes);
  abut_status (*write)(const abut_batch *b, void *to, const void *host, size_t bytes);
  /* Runs a program over all environments: until they are finished, a list is too short (io->need) or
   * io->stop. io comes with the caller's pointers, those of the arrays; its counters are set. */
  abut_status (*run)(abut_batch *b, const program *p, program_io *io, const caller_array *arrays, int count,
                     program_report report);
  /* Puts a program on the batch's stream; NULL where there is none. */
  abut_status (*enqueue)(abut_batch *b, const program *p, const program_io *io);
  /* Before every call that is not enqueued: waits for those that are, and fails with what they met. result:
   * adds what they did since it was last asked for, or NULL. */
  abut_status (*settle)(abut_batch *b, abut_rollout_result *result);
  /* What the last rollout wrote to next becomes the state; b->state.status is up to date. */
  abut_status (*commit)(abut_batch *b);
  /* Settles and brings b->state up to date; push ends a call that changed it, or a parameter. */
  abut_status (*fetch)(abut_batch *b);
  abut_status (*push)(abut_batch *b);
} backend;

extern const backend backend_cpu, backend_cuda;

#endif
