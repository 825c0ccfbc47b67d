/* gradient.c: the reverse pass of a recorded rollout. */
#include "program.h"
#include "status.h"
abut_vjp_args abut_default_vjp_args(void) { abut_vjp_args a = {0}; return a; }
abut_status abut_rollout_vjp(abut_batch *b, const abut_vjp_args *a, abut_progress p, void *u) { (void)b;(void)a;(void)p;(void)u; return abut_fail(ABUT_ERROR_UNSUPPORTED, "wip"); }
