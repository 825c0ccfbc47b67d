/* bench_armadillo.h: the pair of surfaces that lines of contact manifolds are measured on. */
#ifndef ABUT_CLI_BENCH_ARMADILLO_H
#define ABUT_CLI_BENCH_ARMADILLO_H
#include "abut/manifold.h"
#include "bench.h"

/* The paper's pair: 610 vertices against the other's distance, 18 x 18 pairs of edges with two contacts. */
enum { ARMADILLO_PRIMITIVES = 18, ARMADILLO_VERTICES = 305, ARMADILLO_EDGES = 18, ARMADILLO_POSES = 1024 };

/* The armadillo among the files of ABUT_MODELS, fitted as `abut fit` does; else, or where this build cannot
 * fit, a stand-in. Destroyed with abut_surface_destroy. */
int bench_armadillo(progress *bar, abut_surface **surface);
/* ARMADILLO_POSES pairs: random turns; origins no farther apart along each axis than 0.35 of the diagonal. */
void bench_armadillo_poses(const abut_surface *surface, double *poses);
/* The first n vertices of the second surface in the first one's frame, at each of the first `places` pairs of
 * poses. NULL where there is no memory. */
double *bench_armadillo_points(const abut_surface *surface, const double *poses, int64_t places, int64_t n);

#endif
