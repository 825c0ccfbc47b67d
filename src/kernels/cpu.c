/* cpu.c: instantiates the stages of a method (METHOD, METHOD_KERNELS: its list of kernel bodies) for one
 * instruction set and real type (ABUT_ISA, ABUT_REAL, ABUT_LANES). */
#include <math.h>
#include METHOD_KERNELS

#define NAME_(method, isa, bits) abut_##method##_##isa##_f##bits
#define NAME(method, isa, bits) NAME_(method, isa, bits)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const stage_function stages[STAGE_NUM] = {
#define DECIDE(name) stage_##name,
#include "kernels/clock/clock.def"
#define STAGE(name) stage_##name,
#define DECIDE(name) stage_##name,
#include METHOD_DEF
};
extern const method_kernels NAME(METHOD, ABUT_ISA, ABUT_REAL);
const method_kernels NAME(METHOD, ABUT_ISA, ABUT_REAL) = {TEXT(ABUT_ISA), ABUT_LANES, sizeof(elem), stages};
