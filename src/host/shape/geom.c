/* geom.c: a geom's definition as points, faces and volume. */
#include "host/shape/geom.h"
#include "host/base/geometry.h"
#include "host/shape/moment.h"
#include "host/shape/hull.h"
#include "host/base/status.h"
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

enum {
  CYLINDER_POINTS = 24,
  ELLIPSOID_POINTS = 42,
  HULL_POINTS_MIN = 6,
  HULL_POINTS_MAX = 4096,
  TESSELLATION_MAX = 100,
  ERROR_DIRECTIONS = 2000 /* in which a hull is compared with its shape, besides its faces' normals */
};

/* ---------------------------------------------------------------------------------------- check */

/* What size[i] is called; NULL where a type does not use it. */
static const char *size_name(int32_t type, int i) {
  static const char *const half[3] = {"half size x", "half size y", "half size z"};
  switch (type) {
  case ABUT_GEOM_SPHERE:
    return i == 0 ? "radius" : NULL;
  case ABUT_GEOM_CAPSULE:
  case ABUT_GEOM_CYLINDER:
    return i == 0 ? "radius" : i == 1 ? "half length" : NULL;
  case ABUT_GEOM_BOX:
    return half[i];
  case ABUT_GEOM_ELLIPSOID:
    return i == 0 ? "radius x" : i == 1 ? "radius y" : "radius z";
  default:
    return NULL;
  }
}

static abut_status check_sizes(const abut_geom_def *def) {
  for (int i = 0; i < 3; i++) {
    const char *name = size_name(def->type, i);
    if (name && !(def->size[i] > 0 && isfinite(def->size[i])))
      return fail_with(ABUT_ERROR_MODEL, "%s is %g, must be positive", name, def->size[i]);
  }
  return ABUT_OK;
}

static abut_status check_rounding(const abut_geom_def *def) {
  if (!(def->rounding >= 0 && isfinite(def->rounding)))
    return fail_with(ABUT_ERROR_MODEL, "rounding is %g, must not be negative", def->rounding);
  if (def->rounding > 0 && def->type != ABUT_GEOM_BOX && def->type != ABUT_GEOM_MESH)
    return fail_with(ABUT_ERROR_MODEL, "rounding is %g: only boxes and meshes have it", def->rounding);
  return ABUT_OK;
}

static abut_status check_hull_points(const abut_geom_def *def) {
  int32_t n = def->hull_points;
  if (def->type != ABUT_GEOM_CYLINDER && def->type != ABUT_GEOM_ELLIPSOID) return ABUT_OK;
  if (n != 0 && (n < HULL_POINTS_MIN || n > HULL_POINTS_MAX || n % 2))
    return fail_with(ABUT_ERROR_MODEL, "hull_points is %d, must be even, from %d to %d", n, HULL_POINTS_MIN,
                     HULL_POINTS_MAX);
  return ABUT_OK;
}

static abut_status check_surface(const abut_geom_def *def) {
  if (def->tessellation < 0 || def->tessellation > TESSELLATION_MAX)
    return fail_with(ABUT_ERROR_MODEL, "tessellation is %d, must lie in 1 to %d, or be 0", def->tessellation,
                     TESSELLATION_MAX);
  if (def->type != ABUT_GEOM_MESH || !def->triangles) return ABUT_OK;
  if (!def->vertices || def->nvertex < 1 || def->nvertex > INT32_MAX / 8 || def->ntriangle < 1 ||
      def->ntriangle > INT32_MAX / 8)
    return fail_with(ABUT_ERROR_MODEL, "surface of %lld triangles and %lld vertices",
                     (long long)def->ntriangle, (long long)(def->vertices ? def->nvertex : 0));
  for (int64_t i = 0; i < 3 * def->nvertex; i++)
    if (!isfinite(def->vertices[i]))
      return fail_with(ABUT_ERROR_MODEL, "surface vertex %lld has coordinate %g", (long long)(i / 3),
                       def->vertices[i]);
  for (int64_t i = 0; i < 3 * def->ntriangle; i++)
    if (def->triangles[i] < 0 || def->triangles[i] >= def->nvertex)
      return fail_with(ABUT_ERROR_MODEL, "triangle %lld has vertex %d, there are %lld", (long long)(i / 3),
                       def->triangles[i], (long long)def->nvertex);
  return ABUT_OK;
}

static abut_status check_points(const abut_geom_def *def) {
  if (def->type != ABUT_GEOM_MESH) return ABUT_OK;
  if (!def->points || def->npoint < 1) return fail_with(ABUT_ERROR_MODEL, "mesh has no vertices");
  if (def->npoint > INT32_MAX / 8)
    return fail_with(ABUT_ERROR_MODEL, "mesh of %lld vertices is too large", (long long)def->npoint);
  for (int64_t i = 0; i < 3 * def->npoint; i++)
    if (!isfinite(def->points[i]))
      return fail_with(ABUT_ERROR_MODEL, "vertex %lld has coordinate %g", (long long)(i / 3), def->points[i]);
  return ABUT_OK;
}

static abut_status check_heights(const abut_geom_def *def) {
  static const char *const names[4] = {"half extent x", "half extent y", "height", "depth"};
  if (def->type != ABUT_GEOM_HFIELD) return ABUT_OK;
  if (!def->heights || def->nrow < 2 || def->ncol < 2 || def->nrow > INT32_MAX / def->ncol)
    return fail_with(ABUT_ERROR_MODEL, "height field has %d x %d heights, at least 2 x 2",
                     def->heights ? def->nrow : 0, def->ncol);
  for (int k = 0; k < 4; k++)
    if (!(def->hfield_size[k] > 0 && isfinite(def->hfield_size[k])))
      return fail_with(ABUT_ERROR_MODEL, "%s of a height field is %g, must be positive", names[k],
                       def->hfield_size[k]);
  for (int32_t i = 0; i < def->nrow * def->ncol; i++)
    if (!(def->heights[i] >= 0 && def->heights[i] <= 1))
      return fail_with(ABUT_ERROR_MODEL, "height %d is %g, not within 0 and 1", i, def->heights[i]);
  return ABUT_OK;
}

abut_status shape_check(const abut_geom_def *def) {
  if (def->type != ABUT_GEOM_PLANE && (def->type < ABUT_GEOM_SPHERE || def->type > ABUT_GEOM_HFIELD))
    return fail_with(ABUT_ERROR_MODEL, "type %d does not exist", def->type);
  ATTEMPT(check_sizes(def));
  ATTEMPT(check_rounding(def));
  ATTEMPT(check_hull_points(def));
  ATTEMPT(check_surface(def));
  ATTEMPT(check_heights(def));
  return check_points(def);
}

/* ---------------------------------------------------------------------------------------- points */

static abut_status allocate_points(geom_shape *shape, int32_t npoint) {
  shape->points = calloc((size_t)npoint * 3, sizeof *shape->points);
  if (!shape->points) return fail_with(ABUT_ERROR_MEMORY, "no memory for %d points", npoint);
  shape->npoint = npoint;
  return ABUT_OK;
}

static abut_status allocate_faces(geom_shape *shape, int32_t nface) {
  shape->faces = calloc((size_t)nface * 3, sizeof *shape->faces);
  if (!shape->faces) return fail_with(ABUT_ERROR_MEMORY, "no memory for %d faces", nface);
  shape->nface = nface;
  return ABUT_OK;
}

static void set_face(geom_shape *shape, int32_t face, int32_t a, int32_t b, int32_t c) {
  int32_t *f = shape->faces + 3 * (size_t)face;
  f[0] = a, f[1] = b, f[2] = c;
}

static void set_point(geom_shape *shape, int32_t point, double x, double y, double z) {
  double *p = shape->points + 3 * (size_t)point;
  p[0] = x, p[1] = y, p[2] = z;
}

static abut_status build_capsule(const abut_geom_def *def, geom_shape *shape) {
  ATTEMPT(allocate_points(shape, 2));
  set_point(shape, 0, 0, 0, -def->size[1]);
  set_point(shape, 1, 0, 0, def->size[1]);
  shape->radius = def->size[0];
  return ABUT_OK;
}

/* Corner i has the positive x, y, z side where bit 0, 1, 2 of i is set. */
static abut_status build_box(const abut_geom_def *def, geom_shape *shape) {
  static const int32_t sides[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                      {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
  const double *h = def->size;
  ATTEMPT(allocate_points(shape, 8));
  ATTEMPT(allocate_faces(shape, 12));
  for (int i = 0; i < 8; i++)
    set_point(shape, i, i & 1 ? h[0] : -h[0], i & 2 ? h[1] : -h[1], i & 4 ? h[2] : -h[2]);
  for (int i = 0; i < 6; i++) {
    set_face(shape, 2 * i, sides[i][0], sides[i][1], sides[i][2]);
    set_face(shape, 2 * i + 1, sides[i][0], sides[i][2], sides[i][3]);
  }
  shape->radius = def->rounding;
  return ABUT_OK;
}

/* A prism within the cylinder: n points on each rim, from angle 0. */
static abut_status build_cylinder(const abut_geom_def *def, geom_shape *shape) {
  int32_t n = (def->hull_points ? def->hull_points : CYLINDER_POINTS) / 2;
  ATTEMPT(allocate_points(shape, 2 * n));
  ATTEMPT(allocate_faces(shape, 4 * n - 4));
  for (int32_t i = 0; i < n; i++) {
    double x = def->size[0] * cos(2 * pi * i / n), y = def->size[0] * sin(2 * pi * i / n);
    set_point(shape, i, x, y, -def->size[1]);
    set_point(shape, n + i, x, y, def->size[1]);
  }
  int32_t face = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t next = (i + 1) % n;
    set_face(shape, face++, i, next, n + next);
    set_face(shape, face++, i, n + next, n + i);
  }
  for (int32_t i = 1; i + 1 < n; i++) {
    set_face(shape, face++, 0, i + 1, i);
    set_face(shape, face++, n, n + i, n + i + 1);
  }
  return ABUT_OK;
}

/* Frequency f of the geodesic sphere with n = 10 f^2 + 2 points; 0 if there is none. */
static int32_t geodesic_frequency(int32_t n) {
  int32_t f = 1;
  while (10 * f * f + 2 < n) f++;
  return 10 * f * f + 2 == n ? f : 0;
}

/* Appends the direction p unless it is there already (neighbouring triangles share their edges' points). */
static void append_direction(double *directions, int32_t *count, const double p[3]) {
  for (int32_t i = 0; i < *count; i++) {
    const double *q = directions + 3 * (size_t)i;
    if (fabs(p[0] - q[0]) + fabs(p[1] - q[1]) + fabs(p[2] - q[2]) < 1e-9) return;
  }
  memcpy(directions + 3 * (size_t)(*count)++, p, 3 * sizeof *p);
}

/* The triangles of an icosahedron, each divided into f^2; even f has points on all six half axes. */
static void geodesic_directions(double *directions, int32_t f) {
  const double g = 0.5 * (1 + sqrt(5));
  const double corner[12][3] = {{0, 1, g},  {0, -1, g},  {0, 1, -g}, {0, -1, -g}, {1, g, 0},  {-1, g, 0},
                                {1, -g, 0}, {-1, -g, 0}, {g, 0, 1},  {g, 0, -1},  {-g, 0, 1}, {-g, 0, -1}};
  int32_t count = 0;
  for (int a = 0; a < 12; a++)
    for (int b = a + 1; b < 12; b++)
      for (int c = b + 1; c < 12; c++) {
        /* a face: three corners at mutual distance 2 (dot product g) */
        double ab = dot3(corner[a], corner[b]), bc = dot3(corner[b], corner[c]);
        if (ab < 1 || bc < 1 || dot3(corner[a], corner[c]) < 1) continue;
        for (int32_t i = 0; i <= f; i++)
          for (int32_t j = 0; i + j <= f; j++) {
            double p[3];
            for (int k = 0; k < 3; k++)
              p[k] = i * corner[a][k] + j * corner[b][k] + (f - i - j) * corner[c][k];
            normalise(p, 3);
            append_direction(directions, &count, p);
          }
      }
}

/* Direction i of n spread evenly over the sphere: a golden-angle spiral of equal areas. */
static void spiral_direction(double p[3], int32_t i, int32_t n) {
  double z = 1 - (2.0 * i + 1) / n, r = sqrt(1 - z * z), angle = pi * (3 - sqrt(5)) * i;
  p[0] = r * cos(angle);
  p[1] = r * sin(angle);
  p[2] = z;
}

/* n (even) directions: the upper half of a spiral, and their opposites. */
static void opposite_directions(double *directions, int32_t n) {
  for (int32_t i = 0; i < n / 2; i++) {
    double *up = directions + 6 * (size_t)i;
    spiral_direction(up, i, n);
    for (int k = 0; k < 3; k++) up[3 + k] = -up[k];
  }
}

/* Points on the ellipsoid: directions spread evenly over the sphere, stretched, which keeps their hull's
 * faces. */
static abut_status build_ellipsoid(const abut_geom_def *def, geom_shape *shape) {
  int32_t n = def->hull_points ? def->hull_points : ELLIPSOID_POINTS, f = geodesic_frequency(n);
  double *directions = malloc((size_t)n * 3 * sizeof *directions);
  if (!directions) return fail_with(ABUT_ERROR_MEMORY, "no memory for %d points", n);
  if (f)
    geodesic_directions(directions, f);
  else
    opposite_directions(directions, n);
  abut_status status =
      hull_build(directions, n, &shape->points, &shape->npoint, &shape->faces, &shape->nface);
  free(directions);
  if (status != ABUT_OK) return status;
  for (int32_t i = 0; i < 3 * shape->npoint; i++) shape->points[i] *= def->size[i % 3];
  return ABUT_OK;
}

static abut_status build_mesh(const abut_geom_def *def, geom_shape *shape) {
  ATTEMPT(hull_build(def->points, def->npoint, &shape->points, &shape->npoint, &shape->faces, &shape->nface));
  for (int k = 0; k < 3; k++) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 0; i < shape->npoint; i++) {
      low = fmin(low, shape->points[3 * i + k]);
      high = fmax(high, shape->points[3 * i + k]);
    }
    shape->size[k] = 0.5 * (high - low);
  }
  shape->radius = def->rounding;
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- hull error */

/* How far the true shape reaches in direction n. */
static double support(const abut_geom_def *def, const double n[3]) {
  const double *s = def->size;
  if (def->type == ABUT_GEOM_CYLINDER) return s[0] * hypot(n[0], n[1]) + s[1] * fabs(n[2]);
  return hypot(hypot(s[0] * n[0], s[1] * n[1]), s[2] * n[2]);
}

static double hull_support(const geom_shape *shape, const double n[3]) {
  double reach = -INFINITY;
  for (int32_t i = 0; i < shape->npoint; i++) reach = fmax(reach, dot3(shape->points + 3 * (size_t)i, n));
  return reach;
}

static void face_normal(const geom_shape *shape, int32_t face, double normal[3]) {
  const int32_t *f = shape->faces + 3 * (size_t)face;
  const double *a = shape->points + 3 * (size_t)f[0], *b = shape->points + 3 * (size_t)f[1],
               *c = shape->points + 3 * (size_t)f[2];
  double ab[3], ac[3];
  for (int k = 0; k < 3; k++) ab[k] = b[k] - a[k], ac[k] = c[k] - a[k];
  cross3(normal, ab, ac);
  normalise(normal, 3);
}

/* The largest distance of a convex shape from a convex hull within it is the largest difference of their
 * supports. It is taken at a face's normal unless the shape is very flat: other directions are sampled for
 * that. */
static double hull_error(const abut_geom_def *def, const geom_shape *shape) {
  double error = 0, n[3];
  for (int32_t i = 0; i < shape->nface + ERROR_DIRECTIONS; i++) {
    if (i < shape->nface)
      face_normal(shape, i, n);
    else
      spiral_direction(n, i - shape->nface, ERROR_DIRECTIONS);
    error = fmax(error, support(def, n) - hull_support(shape, n));
  }
  return error;
}

abut_status shape_build(const abut_geom_def *def, geom_shape *shape) {
  memset(shape, 0, sizeof *shape);
  memcpy(shape->size, def->size, sizeof shape->size);
  abut_status status = ABUT_OK;
  switch (def->type) {
  case ABUT_GEOM_SPHERE:
    status = allocate_points(shape, 1);
    shape->radius = def->size[0];
    break;
  case ABUT_GEOM_CAPSULE:
    status = build_capsule(def, shape);
    break;
  case ABUT_GEOM_ELLIPSOID:
    status = build_ellipsoid(def, shape);
    break;
  case ABUT_GEOM_CYLINDER:
    status = build_cylinder(def, shape);
    break;
  case ABUT_GEOM_BOX:
    status = build_box(def, shape);
    break;
  case ABUT_GEOM_MESH:
    status = build_mesh(def, shape);
    break;
  default:
    break;
  }
  if (status != ABUT_OK)
    shape_free(shape);
  else if (def->type == ABUT_GEOM_ELLIPSOID || def->type == ABUT_GEOM_CYLINDER)
    shape->hull_error = hull_error(def, shape);
  return status;
}

void shape_free(geom_shape *shape) {
  free(shape->points);
  free(shape->faces);
  memset(shape, 0, sizeof *shape);
}

/* ---------------------------------------------------------------------------------------- volume */

/* moment of a centred shape: volume and mean squares of its coordinates. */
static void set_moment(double moment[10], double volume, double xx, double yy, double zz) {
  memset(moment, 0, MOMENT_SIZE * sizeof *moment);
  moment[0] = volume;
  moment[4] = volume * xx;
  moment[5] = volume * yy;
  moment[6] = volume * zz;
}

static void capsule_moment(double moment[10], double r, double h) {
  double tube = 2 * pi * r * r * h, balls = 4.0 / 3 * pi * r * r * r;
  double across = (tube * r * r / 4 + balls * r * r / 5) / (tube + balls);
  /* a half ball's centroid is 3/8 r above its base */
  double along = (tube * h * h / 3 + balls * (r * r / 5 + h * h + 0.75 * h * r)) / (tube + balls);
  set_moment(moment, tube + balls, across, across, along);
}

abut_status shape_moment(const abut_geom_def *def, const geom_shape *shape, double moment[10]) {
  const double *s = def->size;
  switch (def->type) {
  case ABUT_GEOM_SPHERE:
    set_moment(moment, 4.0 / 3 * pi * s[0] * s[0] * s[0], s[0] * s[0] / 5, s[0] * s[0] / 5, s[0] * s[0] / 5);
    return ABUT_OK;
  case ABUT_GEOM_CAPSULE:
    capsule_moment(moment, s[0], s[1]);
    return ABUT_OK;
  case ABUT_GEOM_ELLIPSOID:
    set_moment(moment, 4.0 / 3 * pi * s[0] * s[1] * s[2], s[0] * s[0] / 5, s[1] * s[1] / 5, s[2] * s[2] / 5);
    return ABUT_OK;
  case ABUT_GEOM_CYLINDER:
    set_moment(moment, 2 * pi * s[0] * s[0] * s[1], s[0] * s[0] / 4, s[0] * s[0] / 4, s[1] * s[1] / 3);
    return ABUT_OK;
  case ABUT_GEOM_BOX:
    set_moment(moment, 8 * s[0] * s[1] * s[2], s[0] * s[0] / 3, s[1] * s[1] / 3, s[2] * s[2] / 3);
    return ABUT_OK;
  case ABUT_GEOM_MESH:
    return mesh_moment(shape->points, shape->npoint, shape->faces, shape->nface, moment);
  default:
    memset(moment, 0, MOMENT_SIZE * sizeof *moment);
    return ABUT_OK;
  }
}
