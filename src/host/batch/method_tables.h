/* method_tables.h: what of a method's struct follows from its .def, for its .c file, which first includes the
 * method's names and defines METHOD: method_fields, METHOD_TABLES, and DO and PHASE for its programs. */
#include "host/batch/layout.h"
#include "host/batch/method.h"

#define TRIANGLE(n) ((n) * ((n) + 1) / 2)

/* Where the fields lie, of an environment and of a contact. */
static abut_status method_fields(const abut_model *m, step_params *k) {
  MODEL_SIZES(m)
  __attribute__((unused)) const int64_t npt = k->npt, ntendondof = k->ntendondof;
  const int64_t work[WORK_NUM] = {
#define WORK(name, count) count,
#include "kernels/clock/clock.def"
#define WORK(name, count) count,
#include METHOD_DEF
  };
  const int64_t slot[SLOT_NUM] = {
#define SLOT(name, count) count,
#include "kernels/clock/clock.def"
#define SLOT(name, count) count,
#include METHOD_DEF
  };
  ATTEMPT(layout_work(k, work, WORK_NUM));
  return layout_slot(k, slot, SLOT_NUM);
}

static const char *const stage_names[STAGE_NUM] = {
#define DECIDE(name) #name,
#include "kernels/clock/clock.def"
#define STAGE(name) #name,
#define DECIDE(name) #name,
#include METHOD_DEF
};
static const uint8_t decides[STAGE_NUM] = {
#define DECIDE(name) 1,
#include "kernels/clock/clock.def"
#define STAGE(name) 0,
#define DECIDE(name) 1,
#include METHOD_DEF
};
_Static_assert((int)STAGE_NUM <= MAX_STAGES, "bound of method.h");

#define KERNELS__(method, isa, bits) abut_##method##_##isa##_f##bits
#define KERNELS_(method, isa, bits) KERNELS__(method, isa, bits)
/* X(instruction set, bits of real), written by cmake/Kernels.cmake, widest last */
#define X(isa, bits) extern const method_kernels KERNELS_(METHOD, isa, bits);
#include "instances.def"
#undef X
static const method_kernels *const instances[] = {
#define X(isa, bits) &KERNELS_(METHOD, isa, bits),
#include "instances.def"
#undef X
    NULL};

#ifdef ABUT_HAVE_CUDA
#define GPU__(method, bits, team) abut_##method##_stages_f##bits##_team##team
#define GPU_(method, bits, team) GPU__(method, bits, team)
extern const void *const GPU_(METHOD, 64, 1)[], *const GPU_(METHOD, 64, 32)[];
extern const void *const GPU_(METHOD, 32, 1)[], *const GPU_(METHOD, 32, 32)[];
static const void *const *const gpu[2][2] = {{GPU_(METHOD, 64, 1), GPU_(METHOD, 64, 32)},
                                             {GPU_(METHOD, 32, 1), GPU_(METHOD, 32, 32)}};
#define METHOD_GPU gpu
#else
#define METHOD_GPU NULL
#endif

/* Members of the method's struct that the .def decides. */
#define METHOD_TABLES                                                                                        \
  .kept = KEPT, .stages = STAGE_NUM, .stage_names = stage_names, .decides = decides, .instances = instances, \
  .gpu = METHOD_GPU

/* For lists of phases: a stage, and a phase of a list. */
#define DO(name)                                                                                             \
  { STAGE_##name, -1 }
#define PHASE(stages, repeat)                                                                                \
  { stages, (int32_t)(sizeof(stages) / sizeof *(stages)), repeat }
