/* triangles.c: triangulates primitives; takes meshes as they are. */
#include "host/shape/triangles.h"
#include "host/base/status.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { ROUND_DEFAULT = 4, BOX_DEFAULT = 1 };

static abut_status allocate(geom_surface *s, int64_t npoint, int64_t nface) {
  s->points = calloc((size_t)npoint * 3, sizeof *s->points);
  s->faces = calloc((size_t)nface * 3, sizeof *s->faces);
  if (s->points && s->faces) return ABUT_OK;
  return fail_with(ABUT_ERROR_MEMORY, "no memory for %lld triangles", (long long)nface);
}

static int32_t add_point(geom_surface *s, double x, double y, double z) {
  double *p = s->points + 3 * s->npoint;
  p[0] = x, p[1] = y, p[2] = z;
  return (int32_t)s->npoint++;
}
static void add_face(geom_surface *s, int32_t a, int32_t b, int32_t c) {
  int32_t *f = s->faces + 3 * s->nface++;
  f[0] = a, f[1] = b, f[2] = c;
}
/* Two triangles of the quadrangle a b c d. */
static void add_quad(geom_surface *s, int32_t a, int32_t b, int32_t c, int32_t d) {
  add_face(s, a, b, c);
  add_face(s, a, c, d);
}

/* Rings of latitude about z, each of a number of points from angle 0; first point of ring i in ring[i]. A
 * ring of one point is a pole. */
typedef struct ring {
  int32_t first, count;
} ring;

static ring add_ring(geom_surface *s, int32_t count, double radius, double z) {
  ring r = {(int32_t)s->npoint, count};
  for (int32_t i = 0; i < count; i++)
    add_point(s, radius * cos(2 * pi * i / count), radius * sin(2 * pi * i / count), z);
  return r;
}

/* The band between two rings that share their zero angle, outward if upper is above lower. */
static void add_band(geom_surface *s, ring lower, ring upper) {
  int32_t i = 0, j = 0;
  while (i < lower.count || j < upper.count) {
    int32_t a = lower.first + i % lower.count, b = upper.first + j % upper.count;
    /* advance on the ring that lags behind; a pole never does */
    double next_i = (i + 1.0) / lower.count, next_j = (j + 1.0) / upper.count;
    if (upper.count == 1 || (lower.count > 1 && next_i <= next_j)) {
      if (i == lower.count) break;
      add_face(s, a, lower.first + (i + 1) % lower.count, b);
      i++;
    } else {
      if (j == upper.count) break;
      add_face(s, a, upper.first + (j + 1) % upper.count, b);
      j++;
    }
  }
}

/* Bands of a tube of length 2 h whose triangles are at most `slender` times as high as wide. */
static int32_t tube_bands(double radius, double h, int32_t around, double slender) {
  return (int32_t)fmin(64, fmax(1, ceil(2 * h / (slender * 2 * pi * radius / around))));
}

/* An octahedron whose edges are cut into f, blown up to a ball with the given half axes, its halves 2 h
 * apart: 8 f^2 triangles, and 8 f more for each band of the tube between the halves. */
static abut_status build_ball(geom_surface *s, const double axes[3], double h, int32_t f) {
  int32_t bands = h > 0 ? tube_bands(axes[0], h, 4 * f, 3) : 1;
  ATTEMPT(allocate(s, 4 * (int64_t)f * f + 2 + 4 * (int64_t)f * bands,
                   8 * (int64_t)f * f + 8 * (int64_t)f * bands));
  ring last = {0, 0};
  for (int half = 0; half < 2; half++)
    for (int32_t k = 0; k <= f; k++) { /* from the lower pole to the equator, then on to the upper pole */
      if (half == 1 && k == 0 && h == 0) continue;
      for (int32_t i = 1; half == 1 && k == 0 && i < bands; i++) {
        ring now = add_ring(s, 4 * f, 1, h * (2.0 * i / bands - 1) / axes[2]);
        add_band(s, last, now);
        last = now;
      }
      int32_t level = half ? f - k : k;
      double angle = 0.5 * pi * level / f, r = sin(angle), z = half ? cos(angle) : -cos(angle);
      ring now = add_ring(s, level ? 4 * level : 1, r, z + (half ? h : -h) / axes[2]);
      if (now.first > 0) add_band(s, last, now);
      last = now;
    }
  for (int64_t i = 0; i < 3 * s->npoint; i++) s->points[i] *= axes[i % 3];
  return ABUT_OK;
}

/* 4 f points around, triangles of the side about as high as wide. */
static abut_status build_cylinder(geom_surface *s, double radius, double h, int32_t f) {
  int32_t n = 4 * f, rings = tube_bands(radius, h, n, 1);
  ATTEMPT(allocate(s, (int64_t)n * (rings + 1) + 2, 2 * (int64_t)n * (rings + 1)));
  ring last = add_ring(s, 1, 0, -h);
  for (int32_t i = 0; i <= rings; i++) {
    ring now = add_ring(s, n, radius, -h + 2 * h * i / rings);
    add_band(s, last, now);
    last = now;
  }
  add_band(s, last, add_ring(s, 1, 0, h));
  return ABUT_OK;
}

/* A box's corners and f x f quadrangles a side; points of edges are shared through their position on the
 * grid. */
static abut_status build_box(geom_surface *s, const double half[3], int32_t f) {
  int64_t side = f + 1;
  int32_t *id = calloc((size_t)(side * side * side), sizeof *id);
  if (!id) return fail_with(ABUT_ERROR_MEMORY, "no memory for %d^3 points", f + 1);
  abut_status status = allocate(s, 6 * side * side, 12 * (int64_t)f * f);
  for (int axis = 0; axis < 3 && status == ABUT_OK; axis++)
    for (int upper = 0; upper < 2; upper++) {
      int u = (axis + 1) % 3, v = (axis + 2) % 3;
      for (int32_t i = 0; i <= f; i++)
        for (int32_t j = 0; j <= f; j++) {
          int32_t at[3];
          at[axis] = upper ? f : 0, at[u] = i, at[v] = j;
          int32_t *p = &id[(at[0] * side + at[1]) * side + at[2]];
          if (!*p)
            *p = 1 + add_point(s, half[0] * (2.0 * at[0] / f - 1), half[1] * (2.0 * at[1] / f - 1),
                               half[2] * (2.0 * at[2] / f - 1));
        }
      for (int32_t i = 0; i < f; i++)
        for (int32_t j = 0; j < f; j++) {
          int32_t corner[4], order[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
          for (int c = 0; c < 4; c++) {
            int32_t at[3], d = upper ? c : 3 - c;
            at[axis] = upper ? f : 0, at[u] = i + order[d][0], at[v] = j + order[d][1];
            corner[c] = id[(at[0] * side + at[1]) * side + at[2]] - 1;
          }
          add_quad(s, corner[0], corner[1], corner[2], corner[3]);
        }
    }
  free(id);
  return status;
}

static abut_status copy_faces(geom_surface *s, const double *points, int64_t npoint, const int32_t *faces,
                              int64_t nface) {
  ATTEMPT(allocate(s, npoint, nface));
  s->npoint = npoint;
  s->nface = nface;
  memcpy(s->points, points, (size_t)npoint * 3 * sizeof *points);
  memcpy(s->faces, faces, (size_t)nface * 3 * sizeof *faces);
  return ABUT_OK;
}

abut_status geom_surface_build(const abut_geom_def *def, const geom_shape *shape, geom_surface *s) {
  const double *size = def->size, r = size[0];
  int32_t f = def->tessellation            ? def->tessellation
              : def->type == ABUT_GEOM_BOX ? BOX_DEFAULT
                                           : ROUND_DEFAULT;
  *s = (geom_surface){0};
  abut_status status = ABUT_OK;
  switch (def->type) {
  case ABUT_GEOM_SPHERE:
  case ABUT_GEOM_CAPSULE:
    status = build_ball(s, (double[]){r, r, r}, def->type == ABUT_GEOM_CAPSULE ? size[1] : 0, f);
    break;
  case ABUT_GEOM_ELLIPSOID:
    status = build_ball(s, size, 0, f);
    break;
  case ABUT_GEOM_CYLINDER:
    status = build_cylinder(s, r, size[1], f);
    break;
  case ABUT_GEOM_BOX:
    status = build_box(s, size, f);
    break;
  case ABUT_GEOM_MESH:
    if (def->triangles)
      status = copy_faces(s, def->vertices, def->nvertex, def->triangles, def->ntriangle);
    else
      status = copy_faces(s, shape->points, shape->npoint, shape->faces, shape->nface);
    break;
  default:
    break;
  }
  if (status != ABUT_OK) geom_surface_free(s);
  return status;
}

void geom_surface_free(geom_surface *s) {
  free(s->points);
  free(s->faces);
  *s = (geom_surface){0};
}
