/* bench.h: what the files of `abut bench` share. */
#ifndef ABUT_CLI_BENCH_H
#define ABUT_CLI_BENCH_H
#include "bench_scene.h"
#include "json.h"

enum { NAME_SIZE = 96 };

typedef struct bench {
  const cli_options *options;
  int calibrated;
  int64_t envs;
  char suffix[32]; /* of the names of lines */
  json_writer json;
  progress bar;
} bench;

/* Whether the filter takes a line, about to be measured. */
int bench_wanted(bench *in, const char *name);
void bench_line(bench *out, const char *name, double value, const char *unit);
/* Sorts the values. */
double bench_median(double *values, int count);
/* For lines that are measured together: whether the filter takes any of them; one of them, if it does. */
int bench_any_wanted(bench *in, char names[][NAME_SIZE], int count);
void bench_line_if_wanted(bench *out, const char *name, double value, const char *unit);

/* Time per kernel with in->envs environments on a GPU, and the roofs of its card (bench_kernels.c). */
int bench_kernel_lines(bench *in);
int bench_roof_lines(bench *in);

/* Long-range contact (bench_longrange.c). */
int bench_longrange_lines(bench *in);
/* Smooth contact manifolds (bench_manifold.c). */
int bench_manifold_lines(bench *in);
int bench_manifold_gpu_lines(bench *in); /* bench_manifold_gpu.c */
/* Book stacking (bench_books.c). */
int bench_books_lines(bench *in);

#endif
