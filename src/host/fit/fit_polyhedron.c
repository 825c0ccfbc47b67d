/* fit_polyhedron.c: a polyhedron's parameters in least squares: each plane tilts two ways and moves in or
 * out.
 *
 * Both are bounded (by tanh), so that a polyhedron that was bounded stays so: no direction is further than 55
 * degrees from an axis of its frame, and no face's normal turns by more than 27. */
#include "host/fit/fit_form.h"
#include "host/base/geometry.h"

/* tangent of the largest tilt each way; logarithm of the largest change of a plane's distance */
static const double tilt = 0.35, stretch = 0.5;

static int count(const fit_primitive *start) { return 3 * start->primitive.plane_count; }

static void encode(const fit_primitive *start, double *x) {
  for (int i = 0; i < count(start); i++) x[i] = 0;
}

/* Two unit vectors across n. */
static void across(const double n[3], double u[3], double v[3]) {
  int least = 0;
  for (int k = 1; k < 3; k++)
    if (fabs(n[k]) < fabs(n[least])) least = k;
  double axis[3] = {0, 0, 0};
  axis[least] = 1;
  cross3(u, n, axis);
  normalise(u, 3);
  cross3(v, n, u);
}

static void decode(const fit_primitive *start, const double *x, fit_primitive *moved) {
  *moved = *start;
  for (int32_t i = 0; i < start->primitive.plane_count; i++) {
    double u[3], v[3], *n = moved->planes[i];
    across(start->planes[i], u, v);
    double a = tilt * tanh(x[3 * i]), b = tilt * tanh(x[3 * i + 1]);
    for (int k = 0; k < 3; k++) n[k] += a * u[k] + b * v[k];
    normalise(n, 3);
    n[3] = start->planes[i][3] * exp(stretch * tanh(x[3 * i + 2]));
  }
}

/* phi = tau log sum exp((n.x - d) / tau): by d of a plane -share, by its normal share x. */
static double slopes_at(const fit_primitive *start, const double *x, const fit_primitive *moved,
                        const posed_primitive *posed, const double point[3], double *row) {
  double gradient[3], local[3], offset[3];
  double phi = posed_distance(posed, point, gradient);
  for (int k = 0; k < 3; k++) offset[k] = point[k] - posed->position[k];
  for (int k = 0; k < 3; k++)
    local[k] = posed->rotation[k] * offset[0] + posed->rotation[3 + k] * offset[1] +
               posed->rotation[6 + k] * offset[2];
  for (int32_t i = 0; i < moved->primitive.plane_count; i++) {
    const double *n = moved->planes[i];
    double u[3], v[3], height = dot3(n, local), share = exp((height - n[3] - phi) / posed->tau);
    across(start->planes[i], u, v);
    /* the normal was divided by its length, which leaves what is across it */
    double a = tanh(x[3 * i]), b = tanh(x[3 * i + 1]), c = tanh(x[3 * i + 2]);
    double length = sqrt(1 + tilt * tilt * (a * a + b * b));
    row[3 * i] = share * tilt * (1 - a * a) * (dot3(u, local) - dot3(u, n) * height) / length;
    row[3 * i + 1] = share * tilt * (1 - b * b) * (dot3(v, local) - dot3(v, n) * height) / length;
    row[3 * i + 2] = -share * n[3] * stretch * (1 - c * c);
  }
  return phi;
}

const fit_form fit_polyhedron = {count, encode, decode, slopes_at};

/* How far a superquadric reaches along n: the dual norm, powers q with 1/p + 1/q = 1, of the scaled normal.
 */
static double reach(const abut_primitive *p, const double n[3]) {
  double p1 = 2 / p->exponents[0], p2 = 2 / p->exponents[1];
  double q1 = p1 > 1.001 ? p1 / (p1 - 1) : 1e3, q2 = p2 > 1.001 ? p2 / (p2 - 1) : 1e3;
  double xy = pow(pow(fabs(n[0]) * p->size[0], q2) + pow(fabs(n[1]) * p->size[1], q2), 1 / q2);
  double most = fmax(xy, fabs(n[2]) * p->size[2]);
  return most * pow(pow(xy / most, q1) + pow(fabs(n[2]) * p->size[2] / most, q1), 1 / q1);
}

fit_primitive fit_planes_around(const abut_primitive *superquadric) {
  fit_primitive out = {.primitive = *superquadric};
  abut_primitive *p = &out.primitive;
  int32_t count = 0;
  for (int a = -1; a <= 1; a++)
    for (int b = -1; b <= 1; b++)
      for (int c = -1; c <= 1; c++) {
        int axes = a * a + b * b + c * c;
        if (axes != 1 && axes != 3) continue;
        double *plane = out.planes[count++], n[3] = {a / p->size[0], b / p->size[1], c / p->size[2]};
        normalise(n, 3);
        memcpy(plane, n, sizeof n);
        plane[3] = reach(superquadric, n);
      }
  p->kind = ABUT_PRIMITIVE_POLYHEDRON;
  p->plane_count = count;
  for (int k = 0; k < 3; k++) p->size[k] = 1;
  p->exponents[0] = p->exponents[1] = 1;
  return out;
}
