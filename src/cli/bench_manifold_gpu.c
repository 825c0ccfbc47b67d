/* bench_manifold_gpu.c: lines of smooth contact manifolds on a GPU: the pieces and a whole pair of armadillos
 * by the device's clock, and what a call takes with arrays in host memory. */
#include "bench_armadillo.h"
#include "host/measure/measure_manifold.h"
#include <stdlib.h>
#include <string.h>

enum { POSES = ARMADILLO_POSES, RUNS = 5, EDGES_EACH = 1024 };

/* s for POSES pairs */
typedef struct gpu_cost {
  double contacts, gradient, call; /* the first two by the device's clock; gradient with its forward pass */
} gpu_cost;

/* Medians, after a run that wakes the card's clocks. */
static int time_pairs(const abut_surface *surface, const abut_manifold_options *options, const double *poses,
                      gpu_cost *cost) {
  abut_manifold *m = NULL;
  abut_manifold_counts counts;
  double contacts[RUNS], gradient[RUNS], call[RUNS];
  if (abut_manifold_create(surface, surface, options, &m) != ABUT_OK) return cli_library_error();
  abut_manifold_size(m, &counts);
  const int64_t n = POSES * counts.contacts;
  double *out = malloc((size_t)(8 * n) * sizeof *out), *ones = malloc((size_t)(8 * n) * sizeof *ones);
  double *pose_bars = malloc(12 * POSES * sizeof *pose_bars);
  int code = out && ones && pose_bars ? CLI_OK : cli_error("no memory for %lld contacts", (long long)n);
  for (int64_t i = 0; code == CLI_OK && i < 8 * n; i++) ones[i] = 1;
  abut_contacts results = {out, out + 3 * n, out + 4 * n, out + 7 * n},
                bar = {ones, ones + 3 * n, ones + 4 * n, ones + 7 * n};
  abut_manifold_bars bars = {.poses = pose_bars};
  for (int run = -1; code == CLI_OK && run < RUNS; run++) {
    const int i = run < 0 ? 0 : run;
    const double start = cli_now();
    abut_status status = abut_manifold_contacts(m, POSES, poses, &results);
    call[i] = cli_now() - start;
    contacts[i] = measure_manifold_cuda(m);
    if (status == ABUT_OK) status = abut_manifold_gradient(m, POSES, poses, &bar, &bars, NULL);
    gradient[i] = measure_manifold_cuda(m);
    if (status != ABUT_OK) code = cli_library_error();
  }
  if (code == CLI_OK)
    *cost = (gpu_cost){bench_median(contacts, RUNS), bench_median(gradient, RUNS), bench_median(call, RUNS)};
  free(out);
  free(ones);
  free(pose_bars);
  abut_manifold_destroy(m);
  return code;
}

/* The kernel's time for all poses, for the table of kernels, which has no other name for this group. */
static void kernel_line(bench *in, const char *dtype, const char *kernel, double us) {
  char name[NAME_SIZE], launches[NAME_SIZE + 16];
  snprintf(name, NAME_SIZE, "kernel.manifold.armadillo.%s.%s.cuda.n%d", dtype, kernel, POSES);
  if (!bench_wanted(in, name)) return;
  bench_line(in, name, us, "us/step");
  snprintf(launches, sizeof launches, "launches.%s", name);
  bench_line(in, launches, 1, "1/step");
}
/* manifold.WHAT.DTYPE.cuda; no DTYPE in ratios. */
static void headline(bench *in, const char *dtype, const char *what, double value, const char *unit) {
  char name[NAME_SIZE];
  if (dtype)
    snprintf(name, NAME_SIZE, "manifold.%s.%s.cuda", what, dtype);
  else
    snprintf(name, NAME_SIZE, "manifold.%s.cuda", what);
  bench_line_if_wanted(in, name, value, unit);
}

static int run_pieces(bench *in, const char *dtype, const abut_surface *s, const double *poses) {
  static const char *const pieces[2] = {"vs18", "vs18_skip"};
  double ns;
  if (measure_edges_cuda(0, in->options->batch.dtype, &ns) != ABUT_OK) return cli_library_error();
  headline(in, dtype, "ee", ns, "ns");
  kernel_line(in, dtype, "ee", 1e-3 * ns * EDGES_EACH * POSES);
  double *points = bench_armadillo_points(s, poses, POSES, s->vertex_count);
  if (!points) return cli_error("no memory for points");
  int code = CLI_OK;
  for (int skip = 0; code == CLI_OK && skip < 2; skip++) {
    if (measure_distance_cuda(0, s, POSES * (int64_t)s->vertex_count, points, skip, in->options->batch.dtype,
                              &ns) != ABUT_OK)
      code = cli_library_error();
    if (code != CLI_OK) break;
    headline(in, dtype, pieces[skip], ns, "ns");
    kernel_line(in, dtype, pieces[skip], 1e-3 * ns * (double)s->vertex_count * POSES);
  }
  free(points);
  return code;
}
static int run_pairs(bench *in, const char *dtype, const abut_surface *s, const double *poses) {
  gpu_cost cost[ARMADILLO_VARIANTS];
  int code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < ARMADILLO_VARIANTS; i++) {
    abut_manifold_options o = bench_armadillo_options((armadillo_variant)i);
    o.dtype = in->options->batch.dtype;
    o.device = ABUT_DEVICE_CUDA;
    code = time_pairs(s, &o, poses, &cost[i]);
  }
  if (code != CLI_OK) return code;
  const gpu_cost whole = cost[ARMADILLO_WHOLE];
  headline(in, dtype, "armadillo", 1e6 * whole.contacts / POSES, "us");
  headline(in, dtype, "armadillo_call", 1e6 * whole.call / POSES, "us");
  headline(in, NULL, "gradient_over_forward", (whole.gradient - whole.contacts) / whole.contacts, "1");
  headline(in, NULL, "ne_speedup", whole.contacts / cost[ARMADILLO_NO_EDGES].contacts, "1");
  headline(in, NULL, "nes_speedup", whole.contacts / cost[ARMADILLO_ONE_SIDE].contacts, "1");
  kernel_line(in, dtype, "contacts", 1e6 * whole.contacts);
  kernel_line(in, dtype, "gradient", 1e6 * whole.gradient);
  return CLI_OK;
}

int bench_manifold_gpu_lines(bench *in) {
  static const char *const kernels[] = {"ee", "vs18", "vs18_skip", "contacts", "gradient"};
  static const char *const whats[] = {"ee", "vs18", "vs18_skip", "armadillo", "armadillo_call"};
  static const char *const ratios[] = {"gradient_over_forward", "ne_speedup", "nes_speedup"};
  const char *dtype = cli_choice("dtype", in->options->batch.dtype);
  char names[13][NAME_SIZE];
  int count = 0;
  for (int i = 0; i < 5; i++)
    snprintf(names[count++], NAME_SIZE, "kernel.manifold.armadillo.%s.%s.cuda.n%d", dtype, kernels[i], POSES);
  for (int i = 0; i < 5; i++) snprintf(names[count++], NAME_SIZE, "manifold.%s.%s.cuda", whats[i], dtype);
  for (int i = 0; i < 3; i++) snprintf(names[count++], NAME_SIZE, "manifold.%s.cuda", ratios[i]);
  if (!bench_any_wanted(in, names, count)) return CLI_OK;
  armadillo_pair pair;
  int code = bench_armadillo_open(&in->bar, &pair);
  if (code == CLI_OK) code = run_pieces(in, dtype, pair.surface, pair.poses);
  if (code == CLI_OK) code = run_pairs(in, dtype, pair.surface, pair.poses);
  bench_armadillo_close(&pair);
  return code;
}
