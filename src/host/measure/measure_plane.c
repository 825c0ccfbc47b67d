/* measure_plane.c: pairs for timing the pair kernel, and the timing: random boxes of 8 rounded points, face,
 * edge and corner contacts alike, gap 0.1 of their size (0.03 for cold), inverse barrier. */
#include "host/base/kernels.h"
#include "host/measure/measure_plane.h"
#include "host/measure/measure_time.h"
#include "kernels/items/items_table.h"
#include "kernels/lane/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 16, POINTS = 8, ROW = 91 + 62 + 42, PLANE = 80, MOVE = 88, SWEEPS = 200 };

static void put(const item_kernels *k, char *memory, int block, int field, int lane, double x) {
  size_t at = ((size_t)block * ROW + (size_t)field) * (size_t)k->lanes + (size_t)lane;
  if (k->elem_size == 8)
    ((double *)memory)[at] = x;
  else
    ((float *)memory)[at] = (float)x;
}

/* Uniform unit quaternion as a matrix. */
static void random_rotation(uint64_t seed, uint64_t pair, uint64_t side, double r[9]) {
  double q[4], n = 0;
  for (int i = 0; i < 4; i++) {
    double u = hash_uniform(seed, pair, side, (uint64_t)(2 * i)),
           v = hash_uniform(seed, pair, side, (uint64_t)(2 * i + 1));
    q[i] = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
    n += q[i] * q[i];
  }
  for (int i = 0; i < 4; i++) q[i] /= sqrt(n);
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                 2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                 2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(r, m, sizeof m);
}

/* One side: a box with half sizes in [0.25, 0.5], points jittered by a hundredth, its lowest (highest) point
 * along z at
 * +-gap/2. */
static void make_side(const item_kernels *k, char *memory, int block, int lane, uint64_t pair, int side,
                      double gap) {
  double r[9], p[POINTS][3], lowest = 1e9, sign = side ? -1 : 1;
  random_rotation(1, pair, (uint64_t)side, r);
  for (int i = 0; i < POINTS; i++) {
    double local[3];
    for (int c = 0; c < 3; c++) {
      double half = 0.25 + 0.25 * hash_uniform(2, pair, (uint64_t)side, (uint64_t)c);
      double jitter = 0.02 * (hash_uniform(3, pair, (uint64_t)side, (uint64_t)(3 * i + c)) - 0.5);
      local[c] = (i >> c & 1 ? half : -half) + jitter;
    }
    for (int c = 0; c < 3; c++)
      p[i][c] = r[3 * c] * local[0] + r[3 * c + 1] * local[1] + r[3 * c + 2] * local[2];
    lowest = fmin(lowest, sign * p[i][2]);
  }
  for (int i = 0; i < POINTS; i++) {
    p[i][2] += sign * (gap / 2 - lowest);
    for (int c = 0; c < 3; c++) put(k, memory, block, 5 * (POINTS * side + i) + c, lane, p[i][c]);
    put(k, memory, block, 5 * (POINTS * side + i) + 3, lane, 0);
    put(k, memory, block, 5 * (POINTS * side + i) + 4, lane, 1);
  }
}

static void fill(const item_kernels *k, char *memory, double gap) {
  for (int b = 0; b < BLOCKS; b++)
    for (int lane = 0; lane < k->lanes; lane++) {
      uint64_t pair = (uint64_t)(b * k->lanes + lane);
      make_side(k, memory, b, lane, pair, 0, gap);
      make_side(k, memory, b, lane, pair, 1, gap);
      double d[3], n = 0;
      for (int c = 0; c < 3; c++) {
        d[c] = hash_uniform(4, pair, 0, (uint64_t)c) - 0.5;
        n += d[c] * d[c];
      }
      for (int c = 0; c < 3; c++) put(k, memory, b, MOVE + c, lane, 0.3 * gap * d[c] / sqrt(n));
    }
}

typedef struct sweep {
  const item_kernels *kernels;
  int kind;
  char *memory;
} sweep;
static void run_sweeps(void *context) {
  const sweep *s = context;
  for (int i = 0; i < SWEEPS; i++) s->kernels->bench_plane(s->kind, BLOCKS, s->memory);
}

double measure_plane(const char *which, int dtype) {
  const item_kernels *k;
  if (item_kernels_for(dtype, &k) != ABUT_OK) return NAN;
  int kind = !strcmp(which, "joint") ? 0 : !strcmp(which, "warm") ? 1 : 2;
  size_t bytes = (size_t)BLOCKS * ROW * (size_t)k->lanes * (size_t)k->elem_size;
  char *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) return NAN;
  memset(memory, 0, bytes);
  fill(k, memory, kind == 2 ? 0.03 : 0.1);
  k->bench_plane(3, BLOCKS, memory);
  sweep all = {k, kind, memory};
  double seconds = median_seconds(run_sweeps, &all);
  free(memory);
  return 1e9 * seconds / ((double)SWEEPS * BLOCKS * k->lanes);
}
