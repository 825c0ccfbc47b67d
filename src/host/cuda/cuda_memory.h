/* cuda_memory.h: what of a batch lies where on its GPU, and the kernels by name. */
#ifndef ABUT_CUDA_MEMORY_H
#define ABUT_CUDA_MEMORY_H
#include "host/batch/program.h"
#include "host/cuda/cuda_context.h"

typedef struct cuda_arena {
  char *base;
} cuda_arena;

/* Device addresses; the first three are the arguments of every kernel. */
typedef struct device_batch {
  step_params *params;
  lane_group *groups; /* one of one lane per environment */
  program_io *io;
  batch_state state, next;
  parameter_array parameters[PARAM_COUNT];
  abut_model model, *model_at;
  pair_info *pairs;
  int32_t *path_adr, *path, *coupled, *tendon_dofadr, *tendon_dof;
  double *geom_box, *body_radius;
  char *own;   /* what the method has of its own in each lane group */
  char *tiles; /* arrays of lane groups, 1 or 32 of them interleaved in a tile */
  size_t tile_bytes;
} device_batch;

/* Places everything from base on (NULL: only counts) and returns the bytes that takes. team: threads per
 * environment, 1 or 32, which decides how fields lie (src/kernels/cuda.cu). */
size_t cuda_layout(const abut_batch *b, int team, char *base, device_batch *at);
/* Copies model, parameters of stages and lane groups to where they lie. */
abut_status cuda_fill(const abut_batch *b, int team, device_batch *at);

enum { STATE_COPIES = 8 };

/* The pieces of a state, in the host's mirror and on the device. */
typedef struct state_copy {
  void *host, *device;
  size_t bytes;
} state_copy;
void cuda_state_copies(const abut_batch *b, const batch_state *device, state_copy copies[STATE_COPIES]);

/* The kernels that steer a program: whether a loop goes on, its begin and end, whether a captured one may run
 * (rollout.inl: program_again, program_begin, program_commit, program_open). */
typedef enum control_id {
  CONTROL_again,
  CONTROL_begin,
  CONTROL_commit,
  CONTROL_gate,
  CONTROL_COUNT
} control_id;
const void *cuda_control(control_id which);
/* The kernel that does nothing but one operation (kernels/lane/roof.inl). */
const void *cuda_roof(int32_t dtype);

/* For tests: the host repeats rounds instead of the device; pinned buffers of so many bytes. */
void cuda_unroll(abut_batch *b);
void cuda_chunk(abut_batch *b, size_t bytes);

#endif
