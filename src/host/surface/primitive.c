/* primitive.c: signed distances of single primitives, with derivatives; the union of several. */
#include "host/surface/primitive.h"
#include "host/base/geometry.h"

posed_primitive pose_primitive(const abut_surface *surface, int32_t primitive) {
  const abut_primitive *p = surface->primitives + primitive;
  posed_primitive posed = {.kind = p->kind,
                           .p1 = 2 / p->exponents[0],
                           .p2 = 2 / p->exponents[1],
                           .plane_count = p->plane_count,
                           .tau = surface->tau};
  if (p->plane_count) posed.planes = surface->planes + 4 * (size_t)p->first_plane;
  memcpy(posed.position, p->position, sizeof posed.position);
  memcpy(posed.size, p->size, sizeof posed.size);
  quat_matrix(posed.rotation, p->quaternion);
  return posed;
}

/* local = rotation^T (x - position) */
static void to_local(const posed_primitive *p, const double x[3], double local[3]) {
  const double d[3] = {x[0] - p->position[0], x[1] - p->position[1], x[2] - p->position[2]};
  for (int i = 0; i < 3; i++)
    local[i] = p->rotation[i] * d[0] + p->rotation[3 + i] * d[1] + p->rotation[6 + i] * d[2];
}

/* A vector of the primitive's frame in the surface's. */
static void to_world(const posed_primitive *p, const double local[3], double v[3]) {
  for (int i = 0; i < 3; i++) v[i] = dot3(p->rotation + 3 * i, local);
}

/* N = (u^p + v^p)^(1/p) of u, v >= 0, scaled by the larger so that no power over- or underflows to matter. */
typedef struct norm {
  double value;
  double du, dv; /* (u/N)^(p-1), (v/N)^(p-1) */
  double dlogp;  /* d log N / dp */
} norm;

static norm norm_of(double u, double v, double p, int slopes) {
  double most = u > v ? u : v, least = u > v ? v : u;
  norm n = {.value = most};
  if (!(most > 0)) return n;
  double s = least / most;
  double logs = s > 0 ? log(s) : -INFINITY, power = s > 0 ? exp(p * logs) : 0;
  double logsum = log1p(power); /* log((N / most)^p) */
  n.value = most * exp(logsum / p);
  if (!slopes) return n;
  double large = exp(-logsum * (p - 1) / p); /* (most / N)^(p-1) */
  /* at p = 1 both slopes are 1 even where s = 0 */
  double small = s > 0 ? large * exp((p - 1) * logs) : p > 1 ? 0 : 1;
  n.du = u > v ? large : small;
  n.dv = u > v ? small : large;
  /* d/dp [log(1 + s^p) / p] */
  n.dlogp = (s > 0 ? power * logs / (1 + power) : 0) / p - logsum / (p * p);
  return n;
}

/* What phi of a superquadric is made of. */
typedef struct gauge {
  double local[3], radius;
  double h;
  double dh[3]; /* by local */
  norm xy, xyz;
  int centre; /* h = 0: phi is a constant there */
} gauge;

static gauge gauge_of(const posed_primitive *p, const double x[3], int slopes) {
  gauge g;
  to_local(p, x, g.local);
  g.radius = sqrt(dot3(g.local, g.local));
  g.xy = norm_of(fabs(g.local[0]) / p->size[0], fabs(g.local[1]) / p->size[1], p->p2, slopes);
  g.xyz = norm_of(g.xy.value, fabs(g.local[2]) / p->size[2], p->p1, slopes);
  g.h = g.xyz.value;
  g.centre = !(g.h > 0);
  if (!slopes) return g;
  const double slope[3] = {g.xyz.du * g.xy.du, g.xyz.du * g.xy.dv, g.xyz.dv};
  for (int i = 0; i < 3; i++) g.dh[i] = slope[i] * (g.local[i] < 0 ? -1 : 1) / p->size[i];
  return g;
}

static double smallest_size(const posed_primitive *p) {
  return fmin(p->size[0], fmin(p->size[1], p->size[2]));
}

/* Gradient of phi = r (1 - 1/h) in the primitive's frame. */
static void gauge_gradient(const gauge *g, double local[3]) {
  double along = (1 - 1 / g->h) / g->radius, by_h = g->radius / (g->h * g->h);
  for (int i = 0; i < 3; i++) local[i] = along * g->local[i] + by_h * g->dh[i];
}

static double superquadric_distance(const posed_primitive *p, const double x[3], double gradient[3]) {
  gauge g = gauge_of(p, x, gradient != NULL);
  if (g.centre) {
    if (gradient) to_world(p, (double[3]){0, 0, 1}, gradient);
    return -smallest_size(p);
  }
  if (gradient) {
    double local[3];
    gauge_gradient(&g, local);
    to_world(p, local, gradient);
  }
  return g.radius * (1 - 1 / g.h);
}

double primitive_slopes(const posed_primitive *p, const double x[3], double gradient[3],
                        double slopes[SLOPES]) {
  gauge g = gauge_of(p, x, 1);
  memset(slopes, 0, SLOPES * sizeof *slopes);
  if (g.centre) {
    to_world(p, (double[3]){0, 0, 1}, gradient);
    return -smallest_size(p);
  }
  double local[3], by_h = g.radius / (g.h * g.h);
  gauge_gradient(&g, local);
  to_world(p, local, gradient);
  /* h depends on x/a: dh / d log a = -x dh/dx */
  for (int i = 0; i < 3; i++) slopes[SLOPE_SIZE + i] = -by_h * g.local[i] * g.dh[i];
  /* dp/de = -2 / e^2 = -p^2 / 2 */
  slopes[SLOPE_EXPONENT] = -by_h * g.h * g.xyz.dlogp * p->p1 * p->p1 / 2;
  slopes[SLOPE_EXPONENT + 1] = -by_h * g.xyz.du * g.xy.value * g.xy.dlogp * p->p2 * p->p2 / 2;
  /* a turn w of the frame moves the point by -w x local: slope by w = local gradient x local */
  cross3(slopes + SLOPE_TURN, local, g.local);
  for (int i = 0; i < 3; i++) slopes[SLOPE_MOVE + i] = -gradient[i];
  return g.radius * (1 - 1 / g.h);
}

/* tau log sum exp((n.x - d) / tau); gradient: mean of the normals by their shares. */
static double polyhedron_distance(const posed_primitive *p, const double x[3], double gradient[3]) {
  double local[3], most = -INFINITY, sum = 0, normal[3] = {0, 0, 0};
  to_local(p, x, local);
  for (int32_t i = 0; i < p->plane_count; i++) {
    double height = dot3(p->planes + 4 * i, local) - p->planes[4 * i + 3];
    if (height > most) most = height;
  }
  for (int32_t i = 0; i < p->plane_count; i++) {
    double height = dot3(p->planes + 4 * i, local) - p->planes[4 * i + 3];
    double share = exp((height - most) / p->tau);
    sum += share;
    for (int k = 0; k < 3; k++) normal[k] += share * p->planes[4 * i + k];
  }
  if (gradient) {
    for (int k = 0; k < 3; k++) normal[k] /= sum;
    to_world(p, normal, gradient);
  }
  return most + p->tau * log(sum);
}

double posed_distance(const posed_primitive *posed, const double x[3], double gradient[3]) {
  return posed->kind == ABUT_PRIMITIVE_POLYHEDRON ? polyhedron_distance(posed, x, gradient)
                                                  : superquadric_distance(posed, x, gradient);
}

double soft_minimum(double a, double b, double tau, double *share) {
  double least = a < b ? a : b, gap = a < b ? b - a : a - b;
  double other = exp(-gap / tau), of_least = 1 / (1 + other);
  *share = a < b ? of_least : 1 - of_least;
  return least - tau * log1p(other);
}
