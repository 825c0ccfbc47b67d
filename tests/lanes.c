/* lanes.c: the functions below the stages, in every lane of one instance (ABUT_ISA, ABUT_REAL, ABUT_LANES),
 * against libm, brute force and identities. Built once per instance as test_lanes_<isa>_f<bits>. */
#include "kernels/lane/lane.h"
#include "kernels/lane/vector.h"
#include "kernels/lane/special.h"
#include "host/batch/method.h"
#include "kernels/method/implicit.h"
#include "kernels/clock/fields.h"
#include "kernels/shape/plane.inl"
#include "kernels/shape/closest.inl"
#include "kernels/tree/rigid.inl"
#include "kernels/tree/inertia.inl"
#include "test.h"
#include <float.h>
#include <string.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Whether this processor runs the instance; where it does not, tests pass at once. */
static int runs_here(void) {
  return method_kernels_find(methods[0]->instances, ABUT_REAL == 64 ? ABUT_F64 : ABUT_F32, TEXT(ABUT_ISA)) !=
         0;
}
/* A test whose body is a function of its own, so that nothing of this instance runs before the question. */
#define LANE_TEST(name)                                                                                      \
  static __attribute__((noinline)) void lanes_##name(void);                                                  \
  TEST(name) {                                                                                               \
    if (runs_here()) lanes_##name();                                                                         \
  }                                                                                                          \
  static void lanes_##name(void)

static double lane_at(const real *r, int lane) { return ((const elem *)r)[lane]; }
static real pack(const double *x) {
  real r;
  for (int l = 0; l < ABUT_LANES; l++) ((elem *)&r)[l] = (elem)x[l];
  return r;
}
static uint64_t counter;
static double uniform(double low, double high) {
  uint64_t x = counter++ * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return low + (high - low) * (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}
static real random_real(double low, double high) {
  double x[ABUT_LANES];
  for (int l = 0; l < ABUT_LANES; l++) x[l] = uniform(low, high);
  return pack(x);
}
static vec3 random_vec(double size) {
  real x = random_real(-size, size), y = random_real(-size, size), z = random_real(-size, size);
  return vec(x, y, z);
}
static quat random_quat(void) {
  vec3 v = random_vec(1);
  return quat_normalize(quat_make(random_real(0.1, 1), v));
}
static int rounds(int n) { return test_quick() ? n / 20 + 1 : n; }

/* ---------------------------------------------------------------------------------------- lanes */

LANE_TEST(masks_and_selection) {
  for (uint32_t bits = 0; bits < (1u << ABUT_LANES) && bits < 4096; bits++) {
    mask m = mask_from_bits(bits);
    real s = sel(m, splat(1), splat(2));
    CHECK(bits_from_mask(m) == bits);
    CHECK(bits_from_mask(mask_not(m)) == (~bits & ALL_LANES));
    CHECK((any(m) != 0) == (bits != 0));
    for (int l = 0; l < ABUT_LANES; l++) CHECK(lane_at(&s, l) == ((bits >> l) & 1 ? 1 : 2));
  }
  double x[ABUT_LANES];
  for (int i = 0; i < 6; i++) {
    static const double odd[6] = {NAN, INFINITY, -INFINITY, -0.0, 1, -3};
    for (int l = 0; l < ABUT_LANES; l++) x[l] = odd[(i + l) % 6];
    uint32_t finite_bits = bits_from_mask(is_finite(pack(x))), below = bits_from_mask(lt(pack(x), splat(1)));
    for (int l = 0; l < ABUT_LANES; l++) {
      CHECK(((finite_bits >> l) & 1) == (isfinite(x[l]) ? 1u : 0u));
      CHECK(((below >> l) & 1) == (x[l] < 1 ? 1u : 0u));
    }
  }
}

/* Relative to libm in double; arguments are rounded to the lane's type first. 2^x and log2 as they are used:
 * for ratios, whose logarithms reach -40. */
LANE_TEST(exponentials_and_logarithms) {
  double worst[4] = {0};
  for (int i = 0; i < rounds(4000); i++) {
    real x = random_real(-38, 38), y = random_real(0.1, 20), z = random_real(-39, 1);
    real got[4] = {exponential(x), logarithm(y), exponential2(z), logarithm2(y)};
    for (int l = 0; l < ABUT_LANES; l++) {
      double at[3] = {lane_at(&x, l), lane_at(&y, l), lane_at(&z, l)};
      double want[4] = {exp(at[0]), log(at[1]), exp2(at[2]), log2(at[1])};
      for (int k = 0; k < 4; k++) {
        double size = k % 2 ? fmax(fabs(want[k]), 0.1) : want[k]; /* near 1 a logarithm's error is absolute */
        worst[k] = fmax(worst[k], fabs(lane_at(&got[k], l) - want[k]) / size);
      }
    }
  }
  for (int k = 0; k < 4; k++) CHECK(worst[k] < 4 * (double)ELEM_EPS);
}

LANE_TEST(minimum_maximum_and_magnitude) {
  for (int i = 0; i < rounds(2000); i++) {
    real a = random_real(-1, 1), b = random_real(-1, 1), lo = rmin(a, b), hi = rmax(a, b), m = rabs(a),
         q = root(m);
    for (int l = 0; l < ABUT_LANES; l++) {
      double x = lane_at(&a, l), y = lane_at(&b, l);
      CHECK(lane_at(&lo, l) == fmin(x, y) && lane_at(&hi, l) == fmax(x, y) && lane_at(&m, l) == fabs(x));
      CHECK(lane_at(&q, l) == (elem)sqrt(fabs(x)));
    }
  }
}

LANE_TEST(reciprocal) {
  double worst = 0;
  for (int i = 0; i < rounds(20000); i++) {
    real x = random_real(-1, 1) * K(pow(10, uniform(-9, 9))), y = inverse(x);
    for (int l = 0; l < ABUT_LANES; l++) worst = fmax(worst, fabs(lane_at(&x, l) * lane_at(&y, l) - 1));
  }
  CHECK_NEAR(worst, 0, 2 * ELEM_EPS);
}

LANE_TEST(reciprocal_root) {
  double worst = 0;
  for (int i = 0; i < rounds(20000); i++) {
    real x = random_real(0.5, 2) * K(pow(10, uniform(-9, 9))), y = inverse_root(x);
    for (int l = 0; l < ABUT_LANES; l++) worst = fmax(worst, fabs(sqrt(lane_at(&x, l)) * lane_at(&y, l) - 1));
  }
  CHECK_NEAR(worst, 0, 2 * ELEM_EPS);
}

/* ---------------------------------------------------------------------------------------- functions */

static double ulp(double x) { /* of the instance's type at x */
  return ABUT_REAL == 64 ? nextafter(fabs(x), INFINITY) - fabs(x)
                         : (double)(nextafterf((float)fabs(x), INFINITY) - (float)fabs(x));
}

/* Largest errors of sine and cosine over one row of numbers. */
static double sincos_error(const double *x) {
  real in = pack(x), s, c;
  double worst = 0;
  sincos_lane(in, &s, &c);
  for (int l = 0; l < ABUT_LANES; l++) {
    long double exact = (long double)lane_at(&in, l);
    worst = fmax(worst, (double)fabsl((long double)lane_at(&s, l) - sinl(exact)));
    worst = fmax(worst, (double)fabsl((long double)lane_at(&c, l) - cosl(exact)));
  }
  return worst;
}
LANE_TEST(sine_and_cosine) {
  double worst = 0, x[ABUT_LANES];
  int dense = rounds(200000);
  for (int i = 0; i < dense;
       i++) { /* dense over four turns, then random up to 1e5, then around multiples of pi/4 */
    for (int l = 0; l < ABUT_LANES; l++) x[l] = 25.2 * (2.0 * (i + (l + 0.5) / ABUT_LANES) / dense - 1);
    worst = fmax(worst, sincos_error(x));
    for (int l = 0; l < ABUT_LANES; l++) x[l] = uniform(-1, 1) * pow(10, uniform(-8, 5));
    worst = fmax(worst, sincos_error(x));
    for (int l = 0; l < ABUT_LANES; l++)
      x[l] = 0.78539816339744830962 * floor(uniform(-1e5, 1e5)) + uniform(-1e-6, 1e-6);
    worst = fmax(worst, sincos_error(x));
  }
  CHECK_NEAR(worst, 0, 2 * ELEM_EPS);
  real s, c, zero_ = zero();
  sincos_lane(zero_, &s, &c);
  for (int l = 0; l < ABUT_LANES; l++) CHECK(lane_at(&s, l) == 0 && lane_at(&c, l) == 1);
}

LANE_TEST(arc_tangent) {
  double worst = 0;
  for (int i = 0; i < rounds(300000); i++) {
    double x[ABUT_LANES], y[ABUT_LANES];
    for (int l = 0; l < ABUT_LANES; l++) {
      double scale = pow(10, uniform(-6, 6)), angle = uniform(0, 1.5707963267948966);
      y[l] = scale * (i % 3 ? sin(angle) : pow(10, uniform(-9, 9)));
      x[l] = scale * (i % 3 ? cos(angle) : 1);
      if (i % 101 == 0) y[l] = 0;
      if (i % 101 == 1) x[l] = 0;
    }
    real py = pack(y), px = pack(x), a = atan2_quadrant(py, px);
    for (int l = 0; l < ABUT_LANES; l++) {
      long double want = atan2l((long double)lane_at(&py, l), (long double)lane_at(&px, l));
      worst = fmax(worst, (double)fabsl((long double)lane_at(&a, l) - want) / ulp((double)want));
    }
  }
  CHECK_NEAR(worst, 0, ABUT_REAL == 64 ? 2 : 4);
}

LANE_TEST(nearest_integer) {
  double limit = ABUT_REAL == 64 ? 0x1p51 : 0x1p22;
  for (int i = 0; i < rounds(50000); i++) {
    double x[ABUT_LANES];
    for (int l = 0; l < ABUT_LANES; l++) {
      x[l] = i % 2 ? uniform(-1, 1) * pow(2, uniform(0, ABUT_REAL == 64 ? 51 : 22))
                   : 0.5 * floor(uniform(-1000, 1000));
      if (fabs(x[l]) >= limit) x[l] = 0;
    }
    real in = pack(x), out = nearest(in);
    for (int l = 0; l < ABUT_LANES; l++) CHECK(lane_at(&out, l) == nearbyint(lane_at(&in, l)));
  }
}

/* exp is a unit quaternion of half the angle; log is its inverse up to a turn of pi. */
LANE_TEST(quaternion_exponential) {
  double tolerance = 8 * ELEM_EPS, worst_exp = 0, worst_log = 0, worst_norm = 0;
  for (int i = 0; i < rounds(50000); i++) {
    double x[3][ABUT_LANES], angle[ABUT_LANES];
    for (int l = 0; l < ABUT_LANES; l++) {
      double u[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)},
             n = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) + 1e-9;
      angle[l] = i % 4 == 0   ? pow(10, uniform(-9, -1))
                 : i % 4 == 1 ? 3.1415926535 - pow(10, uniform(-5, -1))
                              : uniform(0, 3.1);
      for (int c = 0; c < 3; c++) x[c][l] = u[c] / n * angle[l];
    }
    vec3 d = vec(pack(x[0]), pack(x[1]), pack(x[2])), back;
    quat q = quat_exp(d);
    real norm_ = q.w * q.w + dot(quat_vec(q), quat_vec(q));
    back = quat_log(i % 2 ? q : quat_make(-q.w, scale(splat(-1), quat_vec(q)))); /* q and -q are one turn */
    for (int l = 0; l < ABUT_LANES; l++) {
      double v[3] = {lane_at(&d.x, l), lane_at(&d.y, l), lane_at(&d.z, l)},
             t = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
      double sinc = t > 1e-9 ? sin(t / 2) / t : 0.5;
      worst_exp = fmax(worst_exp, fabs(lane_at(&q.w, l) - cos(t / 2)));
      worst_exp = fmax(worst_exp, fabs(lane_at(&q.x, l) - sinc * v[0]));
      worst_norm = fmax(worst_norm, fabs(lane_at(&norm_, l) - 1));
      double tail = fabs(lane_at(&back.x, l) - v[0]) + fabs(lane_at(&back.y, l) - v[1]) +
                    fabs(lane_at(&back.z, l) - v[2]);
      worst_log = fmax(worst_log, tail / t);
    }
  }
  CHECK_NEAR(worst_exp, 0, tolerance);
  CHECK_NEAR(worst_norm, 0, tolerance);
  CHECK_NEAR(worst_log, 0, 2 * tolerance);
  vec3 none = quat_log(quat_exp(vec_zero()));
  for (int l = 0; l < ABUT_LANES; l++)
    CHECK(lane_at(&none.x, l) == 0 && lane_at(&none.y, l) == 0 && lane_at(&none.z, l) == 0);
}

/* Normalising twice changes no bit, and the result is unit. */
LANE_TEST(quaternion_normalising) {
  for (int i = 0; i < rounds(50000); i++) {
    vec3 v = random_vec(pow(10, uniform(-3, 3)));
    quat a = quat_normalize(quat_make(random_real(-1, 1), v)), b = quat_normalize(a);
    CHECK(!memcmp(&a, &b, sizeof a));
    real norm_ = a.w * a.w + dot(quat_vec(a), quat_vec(a));
    for (int l = 0; l < ABUT_LANES; l++) CHECK_NEAR(lane_at(&norm_, l), 1, 8 * ELEM_EPS);
  }
}

/* Right-handed and orthonormal for every unit normal, the poles and the seam included. */
LANE_TEST(frames) {
  for (int i = 0; i < rounds(20000); i++) {
    vec3 n = random_vec(1), e1, e2, third;
    if (i < 6)
      n = vec(splat(i / 2 == 0 ? 1 - 2 * (i & 1) : 0), splat(i / 2 == 1 ? 1 - 2 * (i & 1) : 0),
              splat(i / 2 == 2 ? 1 - 2 * (i & 1) : 0));
    if (i % 5 == 1) n.z = random_real(-1e-6, 1e-6);
    if (i % 5 == 2) n.x = random_real(-1e-6, 1e-6), n.y = random_real(-1e-6, 1e-6);
    n = scale(splat(1) / norm(n), n);
    frame_from_normal(n, &e1, &e2);
    third = sub(cross(e1, e2), n);
    real wrong =
        rmax(max_abs(third), rmax(rabs(dot(e1, n)), rmax(rabs(dot(e1, e2)), rabs(dot(e1, e1) - K(1)))));
    for (int l = 0; l < ABUT_LANES; l++) CHECK_NEAR(lane_at(&wrong, l), 0, 16 * ELEM_EPS);
  }
}

/* ---------------------------------------------------------------------------------------- small systems */

/* L P L^T = K, and solving with it solves K x = g. */
LANE_TEST(plane_factors) {
  for (int i = 0; i < rounds(20000); i++) {
    int n = 3 + i % 2, k = 0;
    real m[4][4], a[10], l[10], x[4], g[4];
    for (int r = 0; r < n; r++)
      for (int c = 0; c < n; c++) m[r][c] = random_real(-1, 1) * K(pow(10, uniform(-2, 2)));
    for (int r = 0; r < n; r++)
      for (int c = 0; c <= r; c++, k++) { /* M M^T + diagonal */
        a[k] = r == c ? splat(K(0.1)) : zero();
        for (int j = 0; j < n; j++) a[k] = a[k] + m[r][j] * m[c][j];
      }
    for (int r = 0; r < n; r++) x[r] = g[r] = random_real(-1, 1);
    plane_factor(n, a, l);
    for (int r = 0; r < n; r++)
      for (int c = 0; c <= r; c++) {
        real wrong = -a[r * (r + 1) / 2 + c];
        for (int j = 0; j <= c; j++) {
          real pivot = splat(1) / l[j * (j + 1) / 2 + j], lr = l[r * (r + 1) / 2 + j],
               lc = l[c * (c + 1) / 2 + j];
          wrong = wrong + (j < r ? lr : splat(1)) * (j < c ? lc : splat(1)) * pivot;
        }
        wrong = wrong / root(a[r * (r + 1) / 2 + r] * a[c * (c + 1) / 2 + c]);
        for (int lane = 0; lane < ABUT_LANES; lane++) CHECK_NEAR(lane_at(&wrong, lane), 0, 64 * ELEM_EPS);
      }
    plane_solve_lower(n, l, x);
    plane_solve_upper(n, l, x);
    for (int r = 0; r < n; r++) {
      real sum = -g[r], size = rabs(g[r]);
      for (int c = 0; c < n; c++) {
        int at = r > c ? r * (r + 1) / 2 + c : c * (c + 1) / 2 + r;
        sum = sum + a[at] * x[c];
        size = size + rabs(a[at] * x[c]);
      }
      for (int lane = 0; lane < ABUT_LANES; lane++)
        CHECK_NEAR(lane_at(&sum, lane) / lane_at(&size, lane), 0, ABUT_REAL == 64 ? 1e-12 : 1e-3);
    }
  }
}

/* Where nothing is in reach the Hessian vanishes: its rows are left out, not divided by. */
LANE_TEST(plane_factor_of_nothing) {
  real a[10], l[10], x[4];
  for (int i = 0; i < 10; i++) a[i] = zero();
  a[5] = splat(4); /* only the third unknown */
  plane_factor(4, a, l);
  for (int i = 0; i < 4; i++) x[i] = splat(2);
  plane_solve_lower(4, l, x);
  plane_solve_upper(4, l, x);
  for (int i = 0; i < 4; i++)
    for (int lane = 0; lane < ABUT_LANES; lane++)
      CHECK_NEAR(lane_at(&x[i], lane), i == 2 ? 0.5 : 0, 4 * ELEM_EPS);
}

static real twist_form(block6 k, twist6 t) {
  twist6 f = block_mul(k, t);
  return dot(f.w, t.w) + dot(f.v, t.v);
}
/* A block seen from elsewhere gives the same motion the same energy; shifting back gives the block back. */
LANE_TEST(blocks_shift) {
  for (int i = 0; i < rounds(20000); i++) {
    real p[21], q[21], s[21];
    for (int j = 0; j < 21; j++) p[j] = random_real(-1, 1);
    block6 k = get_block(p), there;
    vec3 r = random_vec(2);
    twist6 t = {random_vec(1), random_vec(1)};
    there = block_shift(k, r);
    put_block(q, block_shift(there, scale(splat(-1), r)));
    put_block(s, block_shift(k, vec_zero()));
    real a = twist_form(k, twist_at(t, r)), b = twist_form(there, t), wrong = zero(), none = zero();
    for (int j = 0; j < 21; j++) {
      wrong = rmax(wrong, rabs(p[j] - q[j]));
      none = rmax(none, rabs(p[j] - s[j]));
    }
    for (int lane = 0; lane < ABUT_LANES; lane++) {
      CHECK_NEAR(lane_at(&a, lane), lane_at(&b, lane), 1000 * ELEM_EPS);
      CHECK_NEAR(lane_at(&wrong, lane), 0, 400 * ELEM_EPS);
      CHECK_NEAR(lane_at(&none, lane), 0, 0);
    }
  }
}

/* ---------------------------------------------------------------------------------------- joints */

/* One of each joint. */
static abut_model *joints_model(void) {
  static const int32_t types[] = {ABUT_JOINT_FREE, ABUT_JOINT_HINGE, ABUT_JOINT_BALL, ABUT_JOINT_SLIDE};
  abut_builder *b;
  abut_model *m = 0;
  if (abut_builder_create(&b) != ABUT_OK) return 0;
  for (int i = 0, parent = 0; i < 4; i++) {
    abut_body_def body = abut_default_body_def();
    abut_joint_def joint = abut_default_joint_def();
    body.parent = parent;
    body.pos[0] = 0.3;
    body.mass = 1;
    for (int c = 0; c < 3; c++) body.inertia[c] = 0.1;
    CHECK_STATUS(abut_builder_add_body(b, &body, &joint.body), ABUT_OK);
    joint.type = types[i];
    CHECK_STATUS(abut_builder_add_joint(b, &joint, 0), ABUT_OK);
    parent = joint.body;
  }
  CHECK_STATUS(abut_builder_finish(b, &m), ABUT_OK);
  abut_builder_destroy(b);
  return m;
}

/* difference undoes integrate, and integrate difference. */
LANE_TEST(joints_integrate_and_differ) {
  enum { NQ = 7 + 1 + 4 + 1, NV = 6 + 1 + 3 + 1 };
  abut_model *m = joints_model();
  REQUIRE(m && m->nq == NQ && m->nv == NV);
  step_params k = {.model = m, .options.timestep = 0.01};
  real q[NQ], next[NQ], again[NQ], v[NV], back[NV];
  for (int i = 0; i < rounds(5000); i++) {
    double speed = pow(10, uniform(-4, 2.3));
    for (int j = 0; j < NQ; j++) q[j] = random_real(-1, 1);
    put_quat(q + 3, random_quat());
    put_quat(q + 8, random_quat());
    for (int j = 0; j < NV; j++) v[j] = random_real(-speed, speed) * K(0.57); /* turns less than pi a step */
    integrate(&k, q, v, splat(K(k.options.timestep)), 1, next);
    difference(&k, q, next, back);
    integrate(&k, q, back, splat(K(k.options.timestep)), 1, again);
    real wrong = zero(), moved = zero();
    for (int j = 0; j < NV; j++) wrong = rmax(wrong, rabs(v[j] - back[j]));
    for (int j = 0; j < NQ; j++) moved = rmax(moved, rabs(next[j] - again[j]));
    for (int lane = 0; lane < ABUT_LANES; lane++) {
      CHECK_NEAR(lane_at(&wrong, lane), 0,
                 16 * ELEM_EPS / k.options.timestep * (1 + speed * k.options.timestep));
      CHECK_NEAR(lane_at(&moved, lane), 0, 32 * ELEM_EPS);
    }
  }
  abut_model_destroy(m);
}

/* ---------------------------------------------------------------------------------------- closest points */

enum { POINTS = 5 }; /* of each random shape */

static double segment_point(const double *p, const double *q,
                            const double *x) { /* distance of x to a segment */
  double e[3], d[3], ee = 0, t = 0, s = 0;
  for (int c = 0; c < 3; c++) e[c] = q[c] - p[c], d[c] = x[c] - p[c], ee += e[c] * e[c], t += e[c] * d[c];
  t = ee > 0 ? fmin(fmax(t / ee, 0), 1) : 0;
  for (int c = 0; c < 3; c++) s += (d[c] - t * e[c]) * (d[c] - t * e[c]);
  return sqrt(s);
}
static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross3(const double *a, const double *b, double *c) {
  for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
static double triangle_point(const double *p, const double *q, const double *r, const double *x) {
  double best = fmin(segment_point(p, q, x), fmin(segment_point(q, r, x), segment_point(r, p, x)));
  double e[3], f[3], n[3], d[3][3], at[3];
  for (int c = 0; c < 3; c++)
    e[c] = q[c] - p[c], f[c] = r[c] - p[c], d[0][c] = p[c] - x[c], d[1][c] = q[c] - x[c],
    d[2][c] = r[c] - x[c];
  cross3(e, f, n);
  double nn = dot3(n, n);
  if (!(nn > 1e-30)) return best;
  for (int i = 0; i < 3; i++) {
    double area[3];
    cross3(d[(i + 1) % 3], d[(i + 2) % 3], area);
    at[i] = dot3(area, n);
  }
  if (at[0] >= 0 && at[1] >= 0 && at[2] >= 0) best = fmin(best, fabs(dot3(d[0], n)) / sqrt(nn));
  return best;
}
static double segment_segment(const double *p, const double *q, const double *r, const double *s) {
  double best = fmin(fmin(segment_point(p, q, r), segment_point(p, q, s)),
                     fmin(segment_point(r, s, p), segment_point(r, s, q)));
  double e[3], f[3], w[3];
  for (int c = 0; c < 3; c++) e[c] = q[c] - p[c], f[c] = s[c] - r[c], w[c] = p[c] - r[c];
  double a = dot3(e, e), b = dot3(e, f), c = dot3(f, f), d = dot3(e, w), g = dot3(f, w), det = a * c - b * b;
  if (!(det > 1e-14 * a * c)) return best;
  double t = (b * g - c * d) / det, u = (a * g - b * d) / det, sum = 0;
  if (t < 0 || t > 1 || u < 0 || u > 1) return best;
  for (int i = 0; i < 3; i++) sum += (w[i] + t * e[i] - u * f[i]) * (w[i] + t * e[i] - u * f[i]);
  return fmin(best, sqrt(sum));
}
/* Distance of two disjoint hulls: over every triangle and edge that their points span. */
static double hull_distance(const double a[][3], const double b[][3], int n) {
  double best = INFINITY;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = j; k < n; k++)
        for (int l = k; l < n; l++) {
          best = fmin(best, triangle_point(b[j], b[k], b[l], a[i]));
          best = fmin(best, triangle_point(a[j], a[k], a[l], b[i]));
        }
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      for (int k = 0; k < n; k++)
        for (int l = k + 1; l < n; l++) best = fmin(best, segment_segment(a[i], a[j], b[k], b[l]));
  return best;
}

/* Points of both sides in every lane, as the kernel and as the reference see them. */
typedef struct shapes {
  real own[2][5 * POINTS];
  double x[ABUT_LANES][2][POINTS][3], radius[2];
} shapes;

/* kind: 0 solid, 1 flat, 2 a line, 3 one point, 4 pairs of equal points. Side 1 lies below, at least `gap`
 * away. */
static void random_shapes(shapes *s, int kind, double gap) {
  for (int side = 0; side < 2; side++)
    for (int l = 0; l < ABUT_LANES; l++) {
      double low = INFINITY, u[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)},
             v[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
      for (int i = 0; i < POINTS; i++) {
        double p = uniform(-1, 1), q = uniform(-1, 1), *x = s->x[l][side][i];
        for (int c = 0; c < 3; c++)
          x[c] = kind == 0   ? uniform(-1, 1)
                 : kind == 1 ? p * u[c] + q * v[c]
                 : kind == 2 ? p * u[c]
                 : kind == 3 ? u[c]
                             : uniform(-1, 1);
        if (kind == 4 && i % 2) memcpy(x, s->x[l][side][i - 1], sizeof s->x[l][side][i]);
        low = fmin(low, side ? -x[2] : x[2]);
      }
      for (int i = 0; i < POINTS; i++) s->x[l][side][i][2] += (side ? -1 : 1) * (0.5 * gap - low);
    }
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < POINTS; i++) {
      double row[ABUT_LANES];
      for (int c = 0; c < 3; c++) {
        for (int l = 0; l < ABUT_LANES; l++) row[l] = s->x[l][side][i][c];
        s->own[side][5 * i + c] = pack(row);
        for (int l = 0; l < ABUT_LANES; l++) s->x[l][side][i][c] = lane_at(&s->own[side][5 * i + c], l);
      }
      s->own[side][5 * i + 3] = splat(K(s->radius[side]));
      s->own[side][5 * i + 4] = splat(1);
    }
}
static closest closest_of(const shapes *s, mask on, elem enough) {
  point_set a = {0, s->own[0], POINTS, 0, 1}, b = {0, s->own[1], POINTS, 0, 1};
  return closest_points(&a, &b, mat_identity(), vec_zero(), mat_identity(), vec_zero(), on, enough, 200);
}
LANE_TEST(closest_points_of_hulls) {
  const double slack =
      ABUT_REAL == 64 ? 1e-9 : 2e-3; /* rounding of distances, relative to the shapes' size */
  for (int i = 0; i < rounds(400); i++) {
    shapes s;
    s.radius[0] = i % 3 == 0 ? 0 : 0.01;
    s.radius[1] = i % 3 == 1 ? 0 : 0.02;
    random_shapes(&s, i % 5, 0.05 + pow(10, uniform(-3, 0.5)));
    closest cl = closest_of(&s, mask_from_bits(ALL_LANES), K(0.999));
    for (int l = 0; l < ABUT_LANES; l++) {
      double want = hull_distance(s.x[l][0], s.x[l][1], POINTS) - s.radius[0] - s.radius[1];
      double gap = lane_at(&cl.gap, l), upper = lane_at(&cl.distance, l);
      double u[3] = {lane_at(&cl.u.x, l), lane_at(&cl.u.y, l), lane_at(&cl.u.z, l)};
      double d[3] = {lane_at(&cl.a.x, l) - lane_at(&cl.b.x, l), lane_at(&cl.a.y, l) - lane_at(&cl.b.y, l),
                     lane_at(&cl.a.z, l) - lane_at(&cl.b.z, l)};
      CHECK(gap <= want * (1 + slack) + slack);
      CHECK(gap >= 0.998 * want - slack);
      CHECK_NEAR(fmin(upper - want, 0), 0, slack * (1 + want));
      CHECK_NEAR(dot3(u, u), 1, 16 * ELEM_EPS);
      CHECK_NEAR(dot3(u, d), gap, 1e3 * ELEM_EPS);
    }
  }
}

/* A lane's answer is the same alone and among others. */
LANE_TEST(closest_points_lane_by_lane) {
  for (int i = 0; i < rounds(200); i++) {
    shapes s = {.radius = {0, 0}};
    random_shapes(&s, i % 5, 0.1);
    closest all = closest_of(&s, mask_from_bits(ALL_LANES), K(0.999));
    for (int l = 0; l < ABUT_LANES; l++) {
      closest one = closest_of(&s, mask_from_bits(1u << l), K(0.999));
      CHECK(lane_at(&one.gap, l) == lane_at(&all.gap, l) && lane_at(&one.u.x, l) == lane_at(&all.u.x, l));
      CHECK(lane_at(&one.iterations, l) == lane_at(&all.iterations, l));
    }
  }
}

/* Overlapping hulls show no gap. */
LANE_TEST(closest_points_of_overlaps) {
  for (int i = 0; i < rounds(400); i++) {
    shapes s = {.radius = {0, 0}};
    random_shapes(&s, i % 2 ? 0 : 4, 0);
    for (int c = 0; c < 3; c++) { /* a point of A moves into the middle of B's first four */
      double row[ABUT_LANES];
      for (int l = 0; l < ABUT_LANES; l++) {
        row[l] = 0;
        for (int j = 0; j < 4; j++) row[l] += 0.25 * s.x[l][1][j][c];
      }
      s.own[0][c] = pack(row);
    }
    closest cl = closest_of(&s, mask_from_bits(ALL_LANES), K(0.999));
    for (int l = 0; l < ABUT_LANES; l++) CHECK(lane_at(&cl.gap, l) <= 8 * ELEM_EPS);
  }
}
