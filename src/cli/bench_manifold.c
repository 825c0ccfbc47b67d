/* bench_manifold.c: lines of smooth contact manifolds, one thread, single precision: pieces, a whole pair
 * of armadillos with its derivatives, and what leaving out edges or one side saves. */
#include "bench_armadillo.h"
#include "host/measure/measure_manifold.h"
#include <math.h>
#include <stdlib.h>

enum { POSES = ARMADILLO_POSES, JACOBIANS = 128, RUNS = 5 };

/* ---------------------------------------------------------------------------------------------- pairs */

typedef struct pair_cost {
  double forward, gradient, jacobian; /* s for POSES pairs; the latter two with their forward pass */
  double active;                      /* contacts of a pair with an activity above 1e-3 */
} pair_cost;

/* Contacts and derivatives of all poses, with room for their results. */
typedef struct pairs {
  abut_manifold *manifold;
  const double *poses;
  abut_manifold_counts counts;
  double *memory, *bar_memory, *pose_bars, *jacobian_memory;
  abut_contacts contacts, bar, jacobian; /* jacobian: of JACOBIANS pairs of poses */
} pairs;

static abut_contacts contacts_in(double *memory, int64_t n) {
  return (abut_contacts){memory, memory + 3 * n, memory + 4 * n, memory + 7 * n};
}
static void close_pairs(pairs *p) {
  abut_manifold_destroy(p->manifold);
  free(p->memory);
  free(p->bar_memory);
  free(p->pose_bars);
  free(p->jacobian_memory);
}
static int open_pairs(const abut_surface *surface, const abut_manifold_options *options, const double *poses,
                      pairs *p) {
  *p = (pairs){.poses = poses};
  if (abut_manifold_create(surface, surface, options, &p->manifold) != ABUT_OK ||
      abut_manifold_size(p->manifold, &p->counts) != ABUT_OK)
    return cli_library_error();
  const int64_t n = POSES * p->counts.contacts;
  p->memory = calloc((size_t)(8 * n), sizeof *p->memory);
  p->bar_memory = malloc((size_t)(8 * n) * sizeof *p->bar_memory);
  p->pose_bars = malloc(POSES * 12 * sizeof *p->pose_bars);
  p->jacobian_memory = calloc((size_t)(96 * JACOBIANS * p->counts.contacts), sizeof *p->jacobian_memory);
  if (!p->memory || !p->bar_memory || !p->pose_bars || !p->jacobian_memory)
    return cli_error("no memory for %lld contacts", (long long)n);
  for (int64_t i = 0; i < 8 * n; i++) p->bar_memory[i] = 1;
  p->contacts = contacts_in(p->memory, n);
  p->bar = contacts_in(p->bar_memory, n);
  p->jacobian = contacts_in(p->jacobian_memory, 12 * JACOBIANS * p->counts.contacts);
  return CLI_OK;
}

/* Medians; forward and reverse take turns, so that what else the machine does falls on both. */
static int time_pairs(const abut_surface *surface, const abut_manifold_options *options, const double *poses,
                      pair_cost *cost) {
  pairs p;
  double forward[RUNS], gradient[RUNS], jacobian[RUNS];
  int code = open_pairs(surface, options, poses, &p);
  abut_manifold_bars bars = {.poses = p.pose_bars};
  for (int run = -1; code == CLI_OK && run < RUNS; run++) { /* the first is not timed */
    double start = cli_now();
    abut_status status = abut_manifold_contacts(p.manifold, POSES, poses, &p.contacts);
    double middle = cli_now();
    if (status == ABUT_OK)
      status = abut_manifold_gradient(p.manifold, POSES, poses, &p.bar, &bars, &p.contacts);
    double end = cli_now();
    if (status == ABUT_OK) status = abut_manifold_jacobian(p.manifold, JACOBIANS, poses, &p.jacobian, NULL);
    if (status != ABUT_OK) code = cli_library_error();
    if (run < 0) continue;
    forward[run] = middle - start;
    gradient[run] = end - middle;
    jacobian[run] = (cli_now() - end) * POSES / JACOBIANS;
  }
  if (code == CLI_OK) {
    int64_t active = 0;
    for (int64_t i = 0; i < POSES * p.counts.contacts; i++) active += p.contacts.activity[i] > 1e-3;
    *cost = (pair_cost){bench_median(forward, RUNS), bench_median(gradient, RUNS),
                        bench_median(jacobian, RUNS), (double)active / POSES};
  }
  close_pairs(&p);
  return code;
}

/* ---------------------------------------------------------------------------------------------- lines */

/* At 16 poses; as many vertices as fill vectors, so that poses do not share one. */
static int run_distance_lines(bench *in, const abut_surface *s, const double *poses) {
  static const char *const names[2] = {"manifold.vs18.f32", "manifold.vs18_skip.f32"};
  enum { PLACES = 16, WIDEST = 16 };
  const int64_t n = s->vertex_count / WIDEST * WIDEST;
  double *points = bench_armadillo_points(s, poses, PLACES, n);
  if (!points) return cli_error("no memory for %lld points", (long long)(PLACES * n));
  int code = CLI_OK;
  for (int skip = 0; code == CLI_OK && skip < 2; skip++) {
    double ns;
    if (!bench_wanted(in, names[skip])) continue;
    if (measure_distance(s, PLACES * n, points, skip, ABUT_F32, &ns) != ABUT_OK)
      code = cli_library_error();
    else
      bench_line(in, names[skip], ns, "ns");
  }
  free(points);
  return code;
}

static int run_pair_lines(bench *in, const abut_surface *surface, const double *poses) {
  enum { WHOLE, GRADIENT, JACOBIAN, ACTIVE, NO_EDGES, ONE_SIDE, LINES };
  char names[LINES][NAME_SIZE] = {"manifold.armadillo.f32",
                                  "manifold.gradient_over_forward",
                                  "manifold.jacobian_over_forward",
                                  "manifold.armadillo.active",
                                  "manifold.ne_speedup",
                                  "manifold.nes_speedup"};
  pair_cost cost[ARMADILLO_VARIANTS];
  int code = CLI_OK;
  if (!bench_any_wanted(in, names, LINES)) return CLI_OK;
  for (int i = 0; code == CLI_OK && i < ARMADILLO_VARIANTS; i++) {
    abut_manifold_options o = bench_armadillo_options((armadillo_variant)i);
    o.threads = 1;
    code = time_pairs(surface, &o, poses, &cost[i]);
  }
  if (code != CLI_OK) return code;
  const pair_cost whole = cost[ARMADILLO_WHOLE];
  bench_line_if_wanted(in, names[WHOLE], 1e6 * whole.forward / POSES, "us");
  bench_line_if_wanted(in, names[GRADIENT], (whole.gradient - whole.forward) / whole.forward, "1");
  bench_line_if_wanted(in, names[JACOBIAN], (whole.jacobian - whole.forward) / whole.forward, "1");
  bench_line_if_wanted(in, names[ACTIVE], whole.active, "1");
  bench_line_if_wanted(in, names[NO_EDGES], whole.forward / cost[ARMADILLO_NO_EDGES].forward, "1");
  bench_line_if_wanted(in, names[ONE_SIDE], whole.forward / cost[ARMADILLO_ONE_SIDE].forward, "1");
  return CLI_OK;
}

int bench_manifold_lines(bench *in) {
  char names[][NAME_SIZE] = {"manifold.vs18.f32",
                             "manifold.vs18_skip.f32",
                             "manifold.armadillo.f32",
                             "manifold.gradient_over_forward",
                             "manifold.jacobian_over_forward",
                             "manifold.armadillo.active",
                             "manifold.ne_speedup",
                             "manifold.nes_speedup"};
  if (bench_wanted(in, "manifold.ee.f32")) bench_line(in, "manifold.ee.f32", measure_edges(ABUT_F32), "ns");
  if (!bench_any_wanted(in, names, (int)(sizeof names / sizeof *names))) return CLI_OK;
  armadillo_pair pair;
  int code = bench_armadillo_open(&in->bar, &pair);
  if (code == CLI_OK) code = run_distance_lines(in, pair.surface, pair.poses);
  if (code == CLI_OK) code = run_pair_lines(in, pair.surface, pair.poses);
  bench_armadillo_close(&pair);
  return code;
}
