/* work.c: abut_work: what each kernel has to do in the scenes that `abut bench` times kernel by kernel,
 * counted by running them with numbers that count. Takes the options of `abut bench`; prints one line per
 * kernel:
 *
 *   name additions multiplications divisions roots bytes
 *
 * all per environment and step. Additions include subtractions. */
#include "cli/bench_armadillo.h"
#include "cli/bench_scene.h"
#include "host/items/manifold_parts.h"
#include "host/cuda/profile.h"
#include "tally.h"
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVIRONMENTS = 16 };

static int kernel_wanted(const cli_options *o, const regime *r, int stage, char name[NAME_SIZE]) {
  snprintf(name, NAME_SIZE, "kernel.%s.%s.%s.%s", r->scene, r->name, cli_choice("dtype", o->batch.dtype),
           stage_name(ABUT_METHOD_IMPLICIT, stage));
  return fnmatch(o->filter, name, 0) == 0;
}

static void print_kernels(const cli_options *o, const regime *r) {
  const double env_steps = (double)ENVIRONMENTS * BENCH_STEPS;
  char name[NAME_SIZE];
  for (int s = 0; s < STAGE_NUM; s++) {
    const tally *t = &tally_stage[s];
    if (t->calls && kernel_wanted(o, r, s, name))
      printf("%s %.6g %.6g %.6g %.6g %.6g\n", name, (double)t->additions / env_steps,
             (double)t->multiplications / env_steps, (double)t->divisions / env_steps,
             (double)t->roots / env_steps, (double)t->bytes / env_steps);
  }
}

static int count(const cli_options *o, const regime *r, progress *bar) {
  fixture at;
  char name[NAME_SIZE];
  int wanted = 0;
  for (int s = 0; s < STAGE_NUM; s++) wanted |= kernel_wanted(o, r, s, name);
  if (!wanted) return CLI_OK;
  const method_kernels *kernels = o->batch.dtype == ABUT_F64 ? &counted_kernels_f64 : &counted_kernels_f32;
  int code = fixture_open(&at, o, r, ENVIRONMENTS, 1, 1, bar);
  if (code == CLI_OK && batch_use_kernels(at.job.batch, kernels) != ABUT_OK) code = cli_library_error();
  if (code == CLI_OK) code = fixture_restore(&at);
  memset(tally_stage, 0, sizeof tally_stage);
  if (code == CLI_OK) code = fixture_run(&at, 0, NULL);
  fixture_close(&at);
  if (code == CLI_OK) print_kernels(o, r);
  return code;
}

/* ------------------------------------------------------------------------------------------- manifolds */

enum { PAIRS = 16, EDGES_EACH = 1024 };

/* Per pair of poses, as the lines of `abut bench`: `times` of what was called `calls` times. */
static void print_manifold(const cli_options *o, const char *kernel, const tally *t, double times) {
  char name[NAME_SIZE];
  const double of = times / (double)t->calls;
  snprintf(name, NAME_SIZE, "kernel.manifold.armadillo.%s.%s", cli_choice("dtype", o->batch.dtype), kernel);
  if (fnmatch(o->filter, name, 0) == 0)
    printf("%s %.6g %.6g %.6g %.6g %.6g\n", name, of * (double)t->additions, of * (double)t->multiplications,
           of * (double)t->divisions, of * (double)t->roots, of * (double)t->bytes);
}

static int count_pairs(const cli_options *o, const item_kernels *k, const abut_surface *s,
                       const double *poses) {
  abut_manifold_options options = bench_armadillo_options(ARMADILLO_WHOLE);
  abut_manifold *m = NULL;
  abut_manifold_counts n;
  options.dtype = o->batch.dtype;
  options.threads = 1;
  if (manifold_create_with(s, s, &options, k, &m) != ABUT_OK) return cli_library_error();
  abut_manifold_size(m, &n);
  double *ones = malloc((size_t)(8 * PAIRS * n.contacts) * sizeof *ones), bars[12 * PAIRS];
  for (int64_t i = 0; ones && i < 8 * PAIRS * n.contacts; i++) ones[i] = 1;
  abut_contacts bar = {ones, ones, ones, ones};
  abut_manifold_bars of = {.poses = bars};
  int code = ones ? CLI_OK : cli_error("out of memory");
  if (code == CLI_OK && abut_manifold_gradient(m, PAIRS, poses, &bar, &of, NULL) != ABUT_OK)
    code = cli_library_error();
  free(ones);
  abut_manifold_destroy(m);
  tally both = tally_manifold[TALLY_CONTACTS];
  both.additions += tally_manifold[TALLY_VJP].additions;
  both.multiplications += tally_manifold[TALLY_VJP].multiplications;
  both.divisions += tally_manifold[TALLY_VJP].divisions;
  both.roots += tally_manifold[TALLY_VJP].roots;
  both.bytes += tally_manifold[TALLY_VJP].bytes;
  if (code != CLI_OK) return code;
  print_manifold(o, "contacts", &tally_manifold[TALLY_CONTACTS], 1);
  print_manifold(o, "gradient", &both, 1);
  return CLI_OK;
}

static int count_distances(const cli_options *o, const item_kernels *k, const abut_surface *s,
                           const double *poses, int skip) {
  surface_view view;
  const double unit = abut_surface_diagonal(s);
  if (surface_view_create(k, s, unit, 0, &view) != ABUT_OK) return cli_library_error();
  if (!skip) view.sdf.tau = 1000; /* as measure_distance */
  double *points = bench_armadillo_points(s, poses, PAIRS, s->vertex_count);
  double x[3], phi[1], normal[3], *scratch = calloc((size_t)DISTANCE_NUMBERS(view.sdf.num), sizeof *scratch);
  int32_t *kept = calloc((size_t)DISTANCE_LISTS(view.sdf.num), sizeof *kept);
  int code = points && scratch && kept ? CLI_OK : cli_error("out of memory");
  distance_block block = {.surface = &view.sdf, .x = x, .phi = phi, .normal = normal};
  block.scratch = scratch;
  block.kept = kept;
  tally_manifold[TALLY_DISTANCE] = (tally){0};
  for (int64_t i = 0; code == CLI_OK && i < PAIRS * (int64_t)s->vertex_count; i++) {
    for (int c = 0; c < 3; c++) real_put(k, x, c, points[3 * i + c] / unit);
    k->manifold.query_distance(&block);
  }
  free(points);
  free(scratch);
  free(kept);
  surface_view_destroy(&view);
  if (code == CLI_OK)
    print_manifold(o, skip ? "vs18_skip" : "vs18", &tally_manifold[TALLY_DISTANCE], s->vertex_count);
  return code;
}

static void count_edges(const cli_options *o, const item_kernels *k) {
  const abut_manifold_options d = abut_default_manifold_options();
  double in[9], out[3];
  witness_block block = {.soft = {d.w_reg, d.tau_clip, d.tau_min, d.tau_comp, 1}, .packs = 1, .out = out};
  block.r = in;
  block.t1 = (char *)in + 3 * k->elem_size;
  block.t2 = (char *)in + 6 * k->elem_size;
  for (int i = 0; i < 9; i++) real_put(k, in, i, cos(i));
  k->manifold.query_edges(&block); /* does the same whatever the edges */
  print_manifold(o, "ee", &tally_manifold[TALLY_EDGES], EDGES_EACH);
}

static int count_manifolds(const cli_options *o, progress *bar) {
  static const char *const kernels[] = {"ee", "vs18", "vs18_skip", "contacts", "gradient"};
  const item_kernels *k = o->batch.dtype == ABUT_F64 ? &counted_items_f64 : &counted_items_f32;
  armadillo_pair pair;
  char name[NAME_SIZE];
  int wanted = 0;
  for (int i = 0; i < 5; i++) {
    snprintf(name, NAME_SIZE, "kernel.manifold.armadillo.%s.%s", cli_choice("dtype", o->batch.dtype),
             kernels[i]);
    wanted |= fnmatch(o->filter, name, 0) == 0;
  }
  if (!wanted) return CLI_OK;
  int code = bench_armadillo_open(bar, &pair);
  if (code == CLI_OK) count_edges(o, k);
  if (code == CLI_OK) code = count_distances(o, k, pair.surface, pair.poses, 0);
  if (code == CLI_OK) code = count_distances(o, k, pair.surface, pair.poses, 1);
  if (code == CLI_OK) code = count_pairs(o, k, pair.surface, pair.poses);
  bench_armadillo_close(&pair);
  return code;
}

int main(int argc, char **argv) {
  char *arguments[16] = {argv[0], "bench"};
  cli_options options;
  progress bar;
  if (argc > 14) return cli_error("%d arguments: more than abut bench has options", argc - 1);
  for (int i = 1; i < argc; i++) arguments[i + 1] = argv[i];
  int code = cli_parse(argc + 1, arguments, &options);
  if (code >= 0) return code;
  options.batch.device = ABUT_DEVICE_CPU;
  progress_begin(&bar, "work");
  code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < KERNEL_REGIMES; i++) code = count(&options, &kernel_regimes[i], &bar);
  if (code == CLI_OK) code = count_manifolds(&options, &bar);
  progress_end(&bar);
  return code == CLI_OK ? cli_flush() : code;
}
