/* bumpy.h: closed triangle meshes for tests: a sphere of 8 f^2 triangles whose radius varies. */
#ifndef ABUT_TEST_BUMPY_H
#define ABUT_TEST_BUMPY_H
#include "rollout.h"

typedef struct mesh {
  double *x;  /* nx x 3 */
  int32_t *t; /* nt x 3 */
  int64_t nx, nt;
} mesh;

static inline void mesh_free(mesh *m) {
  free(m->x);
  free(m->t);
  *m = (mesh){0};
}

/* Octahedron, every edge cut into f, blown up to radius 1 + bump * (a few waves); moved by shift. Corners of
 * neighbouring triangles are one vertex. */
static inline mesh bumpy_sphere(uint64_t seed, int f, double size, double bump, const double shift[3]) {
  mesh m = {calloc((size_t)(4 * f * f + 2) * 3, sizeof(double)),
            calloc((size_t)(8 * f * f) * 3, sizeof(int32_t)), 0, 0};
  int32_t *id = calloc((size_t)((2 * f + 1) * (2 * f + 1) * 2),
                       sizeof *id); /* (i, j, lower half) on the unfolded grid */
  double wave[9];
  for (int i = 0; i < 9; i++) wave[i] = test_uniform(seed * 131 + (uint64_t)i, -3, 3);
  for (int z = 0; z < 2; z++)
    for (int i = -f; i <= f; i++)
      for (int j = -f; j <= f; j++) {
        int depth = f - abs(i) - abs(j), at = ((z * (2 * f + 1)) + i + f) * (2 * f + 1) + j + f;
        if (depth < 0) continue;
        if (z == 1 && depth == 0) {
          id[at] = id[at - (2 * f + 1) * (2 * f + 1)];
          continue;
        }
        double p[3] = {i, j, z ? -depth : depth}, n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), r = 1;
        for (int k = 0; k < 3; k++) p[k] /= n;
        for (int k = 0; k < 3; k++)
          r += bump / 3 * sin(3 * (wave[3 * k] * p[0] + wave[3 * k + 1] * p[1] + wave[3 * k + 2] * p[2]));
        id[at] = (int32_t)m.nx;
        for (int k = 0; k < 3; k++) m.x[3 * m.nx + k] = size * r * p[k] + shift[k];
        m.nx++;
      }
#define ID(i, j, z) id[(((z) * (2 * f + 1)) + (i) + f) * (2 * f + 1) + (j) + f]
  for (int z = 0; z < 2; z++)
    for (int quadrant = 0; quadrant < 4; quadrant++) {
      int sx = quadrant & 1 ? -1 : 1, sy = quadrant & 2 ? -1 : 1;
      for (int i = 0; i < f; i++)
        for (int j = 0; i + j < f; j++)
          for (int k = 0; k < (i + j < f - 1 ? 2 : 1); k++) {
            int32_t *t = m.t + 3 * m.nt++;
            t[0] = k ? ID(sx * (i + 1), sy * (j + 1), z) : ID(sx * i, sy * j, z);
            t[1] = ID(sx * (i + 1), sy * j, z);
            t[2] = ID(sx * i, sy * (j + 1), z);
          }
    }
#undef ID
  free(id);
  return m;
}

#endif
