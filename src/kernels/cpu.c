/* cpu.c: instantiates the stages for one instruction set and real type (ABUT_ISA, ABUT_REAL, ABUT_LANES). */
#include <math.h>
#include "kernels/kernels.inl"

#define NAME_(isa, bits) abut_implicit_##isa##_f##bits
#define NAME(isa, bits) NAME_(isa, bits)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const stage_function stages[STAGE_NUM] = {
#define DECIDE(name) stage_##name,
#include "kernels/clock/clock.def"
#define STAGE(name) stage_##name,
#define DECIDE(name) stage_##name,
#include "kernels/method/implicit.def"
};
extern const method_kernels NAME(ABUT_ISA, ABUT_REAL);
const method_kernels NAME(ABUT_ISA, ABUT_REAL) = {TEXT(ABUT_ISA), ABUT_LANES, sizeof(elem), stages};
