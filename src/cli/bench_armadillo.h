/* bench_armadillo.h: the pair of surfaces that lines of contact manifolds are measured on. */
#ifndef ABUT_CLI_BENCH_ARMADILLO_H
#define ABUT_CLI_BENCH_ARMADILLO_H
#include "abut/manifold.h"
#include "bench.h"

/* The paper's pair: 610 vertices against the other's distance, 18 x 18 pairs of edges with two contacts. */
enum { ARMADILLO_PRIMITIVES = 18, ARMADILLO_VERTICES = 305, ARMADILLO_EDGES = 18, ARMADILLO_POSES = 1024 };

/* The armadillo among the files of ABUT_MODELS, fitted as `abut fit` does; else, or where this build cannot
 * fit, a stand-in. And ARMADILLO_POSES pairs of poses: random turns; origins no farther apart along each axis
 * than 0.35 of the diagonal. Closed whether opening fails or not. */
typedef struct armadillo_pair {
  abut_surface *surface;
  double *poses;
} armadillo_pair;
int bench_armadillo_open(progress *bar, armadillo_pair *pair);
void bench_armadillo_close(armadillo_pair *pair);
/* The defaults with the paper's pairs of edges; without edges; without edges, one side. */
typedef enum armadillo_variant {
  ARMADILLO_WHOLE,
  ARMADILLO_NO_EDGES,
  ARMADILLO_ONE_SIDE,
  ARMADILLO_VARIANTS
} armadillo_variant;
abut_manifold_options bench_armadillo_options(armadillo_variant variant);
/* The first n vertices of the second surface in the first one's frame, at each of the first `places` pairs of
 * poses. NULL where there is no memory. */
double *bench_armadillo_points(const abut_surface *surface, const double *poses, int64_t places, int64_t n);

#endif
