/* items_cpu.c: instantiates the kernels over items for one instruction set and real type (ABUT_ISA,
 * ABUT_REAL, ABUT_LANES); an object of its own, so that a change of the stages does not compile them again.
 */
#include <math.h>
#include "kernels/items/items_table.h"
#include "kernels/items/pair_kernel.inl"
#include "kernels/shape/mesh_potential.inl"
#include "kernels/items/query.inl"
#include "kernels/items/query_longrange.inl"
#include "kernels/items/manifold_forward.inl"
#include "kernels/shape/faces.inl"
#include "kernels/items/bench.inl"

#define NAME_(isa, bits) item_kernels_##isa##_f##bits
#define NAME(isa, bits) NAME_(isa, bits)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const item_kernels NAME(ABUT_ISA, ABUT_REAL);
const item_kernels NAME(ABUT_ISA, ABUT_REAL) = {
    TEXT(ABUT_ISA),
    ABUT_LANES,
    sizeof(elem),
    query_plane,
    query_longrange,
    {sizeof(sdf_primitive), sdf_prepare, manifold_scratch, manifold_contacts, manifold_contacts_vjp,
     tangents_scratch, manifold_jacobian, query_edges, query_face, query_distance},
    bench_plane,
};
