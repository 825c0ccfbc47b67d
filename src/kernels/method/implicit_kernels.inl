/* implicit_kernels.inl: all kernel bodies of the implicit step, in the order in which they need each other.
 */
#include "kernels/lane/lane.h"
#include "kernels/lane/team.h"
#include "kernels/lane/vector.h"
#include "kernels/lane/random.h"
#include "kernels/lane/special.h"
#include "kernels/clock/table.h"
#include "kernels/method/implicit.h"
#include "kernels/clock/fields.h"

/* What a lane group has for the method. */
FN implicit_group *own(const lane_group *g) { return (implicit_group *)g->own; }

#include "kernels/shape/plane.inl"
#include "kernels/shape/closest.inl"
#include "kernels/tree/rigid.inl"
#include "kernels/tree/inertia.inl"
#include "kernels/tree/curve.inl"
#include "kernels/tree/constraint.inl"
#include "kernels/tree/link.inl"
#include "kernels/tree/wrap.inl"
#include "kernels/tree/tendon.inl"
#include "kernels/tree/actuator.inl"
#include "kernels/tree/actuation.inl"
#include "kernels/tree/equality.inl"
#include "kernels/term/pair.inl"
#include "kernels/term/friction.inl"
#include "kernels/term/halfspace.inl"
#include "kernels/term/hull.inl"
#ifdef ABUT_NO_LONGRANGE
#include "kernels/term/longrange_none.inl"
#else
#include "kernels/shape/mesh_potential.inl"
#include "kernels/shape/mesh_friction.inl"
#include "kernels/term/longrange.inl"
#endif
#include "kernels/tree/newton.inl"
#include "kernels/method/implicit.inl"
#include "kernels/method/implicit_vjp.inl"
#include "kernels/clock/slots.inl"
#include "kernels/method/separate.inl"
#include "kernels/clock/rollout.inl"
#include "kernels/clock/gradient.inl"
#include "kernels/method/implicit_clock.inl"
