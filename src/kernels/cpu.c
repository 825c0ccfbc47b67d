/* cpu.c: instantiates the kernels for one instruction set and real type (ABUT_ISA, ABUT_REAL, ABUT_LANES). */
#include "lane.h"
#include "vector.h"
#include "table.h"
#include "plane.inl"
#include "closest.inl"
#include "rigid.inl"
#include "actuation.inl"
#include "friction.inl"
#include "contact.inl"
#include "contact_step.inl"
#include "newton.inl"
#include "step.inl"
#include "reverse.inl"
#include "query.inl"
#include "bench.inl"

#define NAME_(isa, bits) abut_kernels_##isa##_f##bits
#define NAME(isa, bits) NAME_(isa, bits)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const abut_kernels NAME(ABUT_ISA, ABUT_REAL);
const abut_kernels NAME(ABUT_ISA, ABUT_REAL) = {
    TEXT(ABUT_ISA), ABUT_LANES,          sizeof(elem),   stage_begin,     stage_boxes,
    stage_start,    stage_friction,      stage_evaluate, stage_direction, stage_try,
    stage_accept,   stage_finish,        stage_energies, stage_gaps,      stage_displace,
    stage_reverse,  stage_reverse_start, query_plane,    bench_plane,
};
