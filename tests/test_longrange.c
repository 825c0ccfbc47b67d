/* test_longrange.c: the long-range potential of two meshes: its definition by brute force, its derivatives by
 * differences, and the properties that a contact model must have (000, section 3.2). */
#include "bumpy.h"
#include "host/shape/sphere_tree_build.h"
#include "kernels/items/items_table.h"
#include "longrange_cases.h"
#include "query.h"
#include <stdio.h>
#include <string.h>

/* Two meshes and the trees over them, which do not change when one moves. */
typedef struct pair {
  mesh a, b;
  int32_t (*tree[2])[2];
} pair;

static void pair_free(pair *p) {
  mesh_free(&p->a);
  mesh_free(&p->b);
  free(p->tree[0]);
  free(p->tree[1]);
}

static sphere_tree tree_of(const mesh *m) {
  sphere_tree t;
  CHECK_STATUS(sphere_tree_build(m->x, m->nx, m->t, m->nt, NULL, &t), ABUT_OK);
  return t;
}

/* Keeps the trees that the meshes have now. */
static void keep_trees(pair *p) {
  for (int j = 0; j < 2; j++) {
    sphere_tree t = tree_of(j ? &p->b : &p->a);
    int32_t *id = calloc((size_t)t.nodenum, sizeof *id), num = 0;
    p->tree[j] = calloc((size_t)t.nodenum, sizeof *p->tree[j]);
    for (int32_t n = 0; n < t.nodenum; n++) id[n] = t.child[n] < 0 ? ~t.child[n] : ~num++;
    for (int32_t n = 0; n < t.nodenum; n++)
      for (int c = 0; c < 2 && t.child[n] >= 0; c++) p->tree[j][~id[n]][c] = id[t.child[n] + c];
    free(id);
    sphere_tree_free(&t);
  }
}

/* Two bumpy bodies of size about 1 and `other`, their bounding balls `gap` apart. */
static pair random_pair(uint64_t seed, int fa, int fb, double bump, double other, double gap) {
  double d[3], n = 0, zero[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) d[k] = test_uniform(seed * 17 + (uint64_t)k, -1, 1);
  for (int k = 0; k < 3; k++) n += d[k] * d[k];
  for (int k = 0; k < 3; k++) d[k] *= ((1 + bump) * (1 + other) + gap) / sqrt(n);
  pair p = {bumpy_sphere(2 * seed, fa, 1, bump, d), bumpy_sphere(2 * seed + 1, fb, other, bump, zero), {0}};
  return p;
}

static abut_longrange_query query_of_pair(const pair *p, double epsilon, int32_t form) {
  abut_longrange_query q = {epsilon,
                            1,
                            form,
                            {p->a.x, p->a.nx, p->a.t, p->a.nt, NULL, 0},
                            {p->b.x, p->b.nx, p->b.t, p->b.nt, NULL, 0}};
  q.a.tree = (const int32_t(*)[2])p->tree[0];
  q.b.tree = (const int32_t(*)[2])p->tree[1];
  q.a.ntree = p->tree[0] ? (int32_t)p->a.nt - 1 : 0;
  q.b.ntree = p->tree[1] ? (int32_t)p->b.nt - 1 : 0;
  return q;
}
static abut_longrange_result ask_pair(const pair *p, double epsilon, int32_t form) {
  abut_longrange_query q = query_of_pair(p, epsilon, form);
  abut_longrange_result r = {0};
  CHECK_STATUS(abut_query_longrange(1, &q, &r, ABUT_F64), ABUT_OK);
  return r;
}

static void move_mesh(mesh *m, const double turn[3], const double shift[3]) {
  for (int64_t i = 0; i < m->nx; i++) {
    if (turn)
      move_point(m->x + 3 * i, turn, shift);
    else
      for (int k = 0; k < 3; k++) m->x[3 * i + k] += shift[k];
  }
}
static mesh mesh_copy(const mesh *m) {
  mesh c = {malloc(sizeof(double) * 3 * (size_t)m->nx), malloc(sizeof(int32_t) * 3 * (size_t)m->nt), m->nx,
            m->nt};
  memcpy(c.x, m->x, sizeof(double) * 3 * (size_t)m->nx);
  memcpy(c.t, m->t, sizeof(int32_t) * 3 * (size_t)m->nt);
  return c;
}
/* The result with a moved by the one-axis twist h e_axis. */
static abut_longrange_result moved(const pair *p, int axis, double h, double epsilon, int32_t form) {
  double v[3] = {0, 0, 0}, none[3] = {0, 0, 0};
  v[axis % 3] = h;
  pair q = {mesh_copy(&p->a), p->b, {p->tree[0], p->tree[1]}};
  move_mesh(&q.a, axis < 3 ? v : NULL, axis < 3 ? none : v);
  abut_longrange_result r = ask_pair(&q, epsilon, form);
  mesh_free(&q.a);
  return r;
}

static const int32_t forms[2] = {ABUT_FORM_WEIGHTED, ABUT_FORM_PAPER};
static const double epsilons[3] = {0.1, 0.5, 1};

/* ---------------------------------------------------------------------------------------- definition */

TEST(reference_values) {
  for (size_t i = 0; i < sizeof longrange_cases / sizeof *longrange_cases; i++) {
    const longrange_case *c = &longrange_cases[i];
    abut_longrange_result r;
    CHECK_STATUS(abut_query_longrange(1, &c->query, &r, ABUT_F64), ABUT_OK);
    CHECK_REL(r.value, c->value, 1e-12);
    check_close("gradient", r.twist_gradient, c->twist_gradient, 6, 1e-12);
    CHECK(c->exact_pairs < 0 || r.exact_pairs == c->exact_pairs);
    CHECK_STATUS(abut_query_longrange(1, &c->query, &r, ABUT_F32), ABUT_OK);
    CHECK_REL(r.value, c->value, 1e-5); /* some 50 roundings of 6e-8 */
  }
}

static double area(const mesh *m, int64_t t) {
  double u[3], v[3], c[3];
  for (int k = 0; k < 3; k++) {
    u[k] = m->x[3 * m->t[3 * t + 1] + k] - m->x[3 * m->t[3 * t] + k];
    v[k] = m->x[3 * m->t[3 * t + 2] + k] - m->x[3 * m->t[3 * t] + k];
  }
  for (int k = 0; k < 3; k++) c[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
  return 0.5 * sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
}

/* sum over all pairs of triangles, weighted: (w_i / W) (w_j / W) (U* - 12); by plane queries, one pair at a
 * time */
static double brute_force(const pair *p, double *force) {
  double total[2] = {0, 0}, sum = 0;
  for (int64_t i = 0; i < p->a.nt; i++) total[0] += area(&p->a, i);
  for (int64_t j = 0; j < p->b.nt; j++) total[1] += area(&p->b, j);
  for (int k = 0; k < 3; k++) force[k] = 0;
  for (int64_t i = 0; i < p->a.nt; i++)
    for (int64_t j = 0; j < p->b.nt; j++) {
      double xa[9], xb[9];
      for (int k = 0; k < 9; k++) {
        xa[k] = p->a.x[3 * p->a.t[3 * i + k / 3] + k % 3];
        xb[k] = p->b.x[3 * p->b.t[3 * j + k / 3] + k % 3];
      }
      question q = {.a = side_of(3, xa), .b = side_of(3, xb), .contact = ABUT_CONTACT_INVERSE, .length = 1};
      ask(&q);
      double w = area(&p->a, i) / total[0] * area(&p->b, j) / total[1];
      sum += w * (q.result.value - 12);
      for (int k = 0; k < 9; k++) force[k % 3] += w * q.grad_a[k];
    }
  return sum;
}

/* Where all blends are switched off by an epsilon so large that nothing counts as far, the hierarchy adds up
 * the triangles; rounding of two orders of summation. */
TEST(equals_brute_force_without_blends) {
  for (uint64_t seed = 0; seed < 10; seed++) {
    pair p = random_pair(seed, 2, 1, 0.2, 0.7, 0.05);
    double force[3];
    abut_longrange_query q = query_of_pair(&p, 100, ABUT_FORM_WEIGHTED);
    abut_longrange_result r = {0};
    abut_query_longrange(1, &q, &r, ABUT_F64);
    CHECK(r.exact_pairs == p.a.nt * p.b.nt && r.centred_pairs == 0);
    /* phi at (r - d1) / (100 d1) is not quite 0: (10 t^3, t < 0.1) */
    CHECK_REL(r.value, brute_force(&p, force), 2e-2);
    pair_free(&p);
  }
}

/* Separated convex pairs: a little below the brute-force sum, since points are further apart than the nearest
 * parts of what they stand for. */
TEST(value_is_near_brute_force) {
  int count = test_quick() ? 4 : 40;
  for (uint64_t seed = 0; seed < (uint64_t)count; seed++) {
    pair p = random_pair(seed, 2 + (int)(seed % 2), 2, 0, 0.5 + 0.05 * (double)seed,
                         0.1 + 0.1 * (double)(seed % 20));
    double force[3], brute = brute_force(&p, force);
    for (int e = 0; e < 3; e++) {
      abut_longrange_result r = ask_pair(&p, epsilons[e], ABUT_FORM_WEIGHTED);
      if (!(r.value > 0.6 * brute && r.value < 1.05 * brute))
        test_fail(__FILE__, __LINE__, "seed %d, epsilon %g: %g of the brute-force sum", (int)seed,
                  epsilons[e], r.value / brute);
    }
    pair_free(&p);
  }
}

/* ---------------------------------------------------------------------------------------- derivatives */

/* Gradient by differences of the value; Hessian by the symmetric part of differences of the gradient, which
 * is that in exponential coordinates. */
TEST(derivatives_are_those_of_the_value) {
  int count = test_quick() ? 6 : 100;
  double worst = 1;
  for (uint64_t seed = 0; seed < (uint64_t)count; seed++)
    for (int f = 0; f < 2; f++) {
      pair p =
          random_pair(seed, 1 + (int)(seed % 3), 2, 0.2, 0.8, seed % 4 == 0 ? 2 : 0.02 * (double)(seed % 10));
      keep_trees(&p);
      double eps = epsilons[seed % 3], h = 3e-5, grad[6], d[36], sym[36];
      abut_longrange_result r = ask_pair(&p, eps, forms[f]);
      REQUIRE(r.status == ABUT_QUERY_OK);
      for (int i = 0; i < 6; i++) { /* fourth order: h^4 of rounding at 1e-16 / h */
        abut_longrange_result q[4];
        static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
        grad[i] = 0;
        for (int j = 0; j < 6; j++) d[6 * j + i] = 0;
        for (int k = 0; k < 4; k++) {
          q[k] = moved(&p, i, at[k] * h, eps, forms[f]);
          grad[i] += weight[k] * q[k].value / h;
          for (int j = 0; j < 6; j++) d[6 * j + i] += weight[k] * q[k].twist_gradient[j] / h;
        }
      }
      for (int i = 0; i < 36; i++) sym[i] = 0.5 * (d[i] + d[6 * (i % 6) + i / 6]);
      for (int i = 0; i < 6; i++) worst = fmin(worst, fabs(grad[i] - r.twist_gradient[i]));
      check_close("gradient", r.twist_gradient, grad, 6, 1e-7);
      check_close("hessian", r.twist_hessian, sym, 36, 3e-6); /* steep where gaps are a few hundredths */
      pair_free(&p);
    }
  CHECK(worst > 0); /* differences that are bit-identical would be the same computation */
}

/* Two triangles cross d1 and d2 along a line: value, gradient and Hessian from both sides of each. The third
 * derivative is bounded there, so that they differ by no more than it times the distance. */
TEST(twice_differentiable_across_the_band) {
  for (uint64_t seed = 0; seed < 50; seed++)
    for (int f = 0; f < 2; f++) {
      double xa[9], xb[9], ca[3] = {0}, cb[3] = {0}, d1 = 0, n = 0, dir[3];
      int32_t t[3] = {0, 1, 2};
      for (int k = 0; k < 9; k++) {
        xa[k] = test_uniform(seed * 40 + (uint64_t)k, -1, 1);
        xb[k] = test_uniform(seed * 40 + 20 + (uint64_t)k, -1, 1);
        ca[k % 3] += xa[k] / 3;
        cb[k % 3] += xb[k] / 3;
      }
      double ra = 0, rb = 0;
      for (int i = 0; i < 3; i++) {
        ra = fmax(ra, hypot(hypot(xa[3 * i] - ca[0], xa[3 * i + 1] - ca[1]), xa[3 * i + 2] - ca[2]));
        rb = fmax(rb, hypot(hypot(xb[3 * i] - cb[0], xb[3 * i + 1] - cb[1]), xb[3 * i + 2] - cb[2]));
      }
      d1 = ra + rb;
      for (int k = 0; k < 3; k++) dir[k] = test_uniform(seed * 40 + 37 + (uint64_t)k, -1, 1);
      for (int k = 0; k < 3; k++) n += dir[k] * dir[k];
      double eps = epsilons[seed % 3], edge[2] = {d1, (1 + eps) * d1}, delta = 1e-10;
      for (int e = 0; e < 2; e++) {
        abut_longrange_result r[2];
        for (int side = 0; side < 2; side++) {
          double x[9], at = edge[e] + (side ? delta : -delta);
          for (int k = 0; k < 9; k++) x[k] = xa[k] - ca[k % 3] + cb[k % 3] + dir[k % 3] / sqrt(n) * at;
          abut_longrange_query q = {eps, 1, forms[f], {x, 3, t, 1, NULL, 0}, {xb, 3, t, 1, NULL, 0}};
          CHECK_STATUS(abut_query_longrange(1, &q, &r[side], ABUT_F64), ABUT_OK);
        }
        CHECK(e == 0 ? r[0].exact_pairs == 1 && r[1].centred_pairs == 0 : r[1].centred_pairs == 1);
        CHECK_REL(r[0].value, r[1].value, 1e-5);
        check_close("gradient across", r[0].twist_gradient, r[1].twist_gradient, 6, 1e-4);
        check_close("hessian across", r[0].twist_hessian, r[1].twist_hessian, 36, 1e-3 / eps);
      }
    }
}

/* ---------------------------------------------------------------------------------------- properties */

/* Finite while apart, growing without bound as the gap closes, infinite when surfaces cross. */
TEST(barrier) {
  for (int f = 0; f < 2; f++) {
    double last = 0;
    for (double gap = 1; gap > 1e-8; gap /= 10) {
      pair p = random_pair(1, 3, 3, 0, 1, gap);
      /* two vertices face each other along x */
      double zero[3] = {0, 0, 0}, d[3] = {2 + gap, 0, 0};
      pair_free(&p);
      p.a = bumpy_sphere(1, 3, 1, 0, d);
      p.b = bumpy_sphere(1, 3, 1, 0, zero);
      abut_longrange_result r = ask_pair(&p, 0.5, forms[f]);
      CHECK(r.status == ABUT_QUERY_OK && isfinite(r.value) && r.value > last);
      CHECK(r.gap > 0.3 * gap && r.gap < gap * (1 + 1e-6)); /* along planes, which lean */
      last = r.value;
      pair_free(&p);
    }
    CHECK(last > 1e6 * (f ? 1 : 1e-3)); /* about 4/gap of one pair of triangles, weighted by their areas */
    double zero[3] = {0, 0, 0}, d[3] = {1.9, 0, 0};
    pair p = {bumpy_sphere(1, 3, 1, 0, d), bumpy_sphere(1, 3, 1, 0, zero), {0}};
    abut_longrange_result r = ask_pair(&p, 0.5, forms[f]);
    CHECK(r.status == ABUT_QUERY_TOUCHING && isinf(r.value) && r.twist_gradient[3] == 0);
    pair_free(&p);
  }
}

/* The force on a points from the hull of b to that of a: seen along it, the two hulls overlap. */
static int in_cone(const mesh *a, const mesh *b, const double force[3]) {
  double n = sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]), u[3], e1[3], e2[3];
  for (int k = 0; k < 3; k++) u[k] = force[k] / n;
  int least = fabs(u[0]) < fabs(u[1]) ? 0 : 1;
  double axis[3] = {least == 0, least == 1, 0}, along = axis[0] * u[0] + axis[1] * u[1];
  for (int k = 0; k < 3; k++) e1[k] = axis[k] - along * u[k];
  for (int k = 0; k < 3; k++) e2[k] = u[(k + 1) % 3] * e1[(k + 2) % 3] - u[(k + 2) % 3] * e1[(k + 1) % 3];
  for (int i = 0; i < 360; i++) {
    double s = sin(i * 3.14159265 / 180), c = cos(i * 3.14159265 / 180), high = -INFINITY, low = INFINITY;
    for (int64_t j = 0; j < a->nx; j++)
      for (double h = 0, k = 0; k < 1; k++) {
        for (int m = 0; m < 3; m++) h += a->x[3 * j + m] * (c * e1[m] + s * e2[m]);
        high = fmax(high, h);
      }
    for (int64_t j = 0; j < b->nx; j++)
      for (double h = 0, k = 0; k < 1; k++) {
        for (int m = 0; m < 3; m++) h += b->x[3 * j + m] * (c * e1[m] + s * e2[m]);
        low = fmin(low, h);
      }
    if (high < low) return 0;
  }
  return 1;
}

/* Single triangles, where the force of the body is that of its vertices, and whole bodies; near, in the band,
 * far. */
TEST(non_prehensile) {
  for (uint64_t seed = 0; seed < 300; seed++)
    for (int f = 0; f < 2; f++) {
      pair p = random_pair(seed, 1 + (int)(seed % 2), 1, 0.1, 0.9, 0.02 + 0.02 * (double)(seed % 100));
      if (seed % 3 == 0) p.a.nt = p.b.nt = 1, p.a.nx = p.b.nx = 3;
      if (seed % 3 == 0) { /* corners 0..2 of each become the triangle */
        for (int k = 0; k < 3; k++) p.a.t[k] = p.b.t[k] = k;
      }
      abut_longrange_result r = ask_pair(&p, epsilons[seed % 3], forms[f]);
      double force[3];
      for (int k = 0; k < 3; k++) force[k] = -r.twist_gradient[3 + k];
      if (r.status == ABUT_QUERY_OK && !in_cone(&p.a, &p.b, force))
        test_fail(__FILE__, __LINE__, "seed %d form %d: force (%g %g %g) is not in the cone", (int)seed, f,
                  force[0], force[1], force[2]);
      pair_free(&p);
    }
}

/* A thousand sizes away there is still a force, and it pushes apart. */
TEST(non_vanishing) {
  for (uint64_t seed = 0; seed < 100; seed++)
    for (int f = 0; f < 2; f++) {
      pair p = random_pair(seed, 2, 2, 0.2, 1, 1000);
      abut_longrange_result r = ask_pair(&p, 0.5, forms[f]);
      double push = 0;
      for (int k = 0; k < 3; k++) push -= r.twist_gradient[3 + k] * (p.a.x[k] - p.b.x[k]);
      CHECK(r.status == ABUT_QUERY_OK && push > 0.1); /* about 12 / sqrt(r) */
      CHECK(r.visits == 1);
      pair_free(&p);
    }
}

/* At epsilon 1 the weighted force falls with the gap. */
TEST(monotone) {
  double last = INFINITY;
  for (double gap = 0.02; gap < 6; gap *= 1.1) {
    double d[3] = {2 + gap, 0, 0}, zero[3] = {0, 0, 0};
    pair p = {bumpy_sphere(1, 4, 1, 0, d), bumpy_sphere(1, 4, 1, 0, zero), {0}};
    double force = -ask_pair(&p, 1, ABUT_FORM_WEIGHTED).twist_gradient[3];
    CHECK(force > 0 && force < last);
    last = force;
    pair_free(&p);
  }
}

/* ---------------------------------------------------------------------------------------- lists */

/* The kernel with a list that holds all within margin, in `capacity` entries, doubled as long as it asks. */
static longrange_block run_block(const pair *p, double epsilon, int weighted, double margin,
                                 int32_t capacity) {
  const item_kernels *k = item_kernels_find(ABUT_F64, NULL);
  sphere_tree t[2] = {tree_of(&p->a), tree_of(&p->b)};
  longrange_block q = {.tree = {sphere_tree_view(&t[0]), sphere_tree_view(&t[1])},
                       .epsilon = epsilon,
                       .length = 1,
                       .margin = margin,
                       .weighted = weighted,
                       .order = 2};
  for (q.capacity = capacity; !q.fits; q.capacity *= 2) {
    free(q.entry);
    free(q.rows);
    q.entry = malloc((size_t)q.capacity * sizeof *q.entry);
    q.rows = malloc((size_t)q.capacity * 28 * sizeof(double));
    k->query_longrange(&q);
  }
  free(q.entry);
  free(q.rows);
  for (int j = 0; j < 2; j++) sphere_tree_free(&t[j]);
  return q;
}

/* More in the list than must be: the same bits; and so with room for one entry to begin with. */
TEST(longer_lists_change_no_bit) {
  int grown = 0;
  for (uint64_t seed = 0; seed < 30; seed++) {
    pair p = random_pair(seed, 3, 2, 0.2, 0.8, 0.1 * (double)(seed % 5));
    longrange_block exact = run_block(&p, epsilons[seed % 3], (int)(seed % 2), 0, 1);
    for (int i = 0; i < 4; i++) {
      longrange_block more = run_block(&p, epsilons[seed % 3], (int)(seed % 2), 0.1 * pow(4, i), 1 << 20);
      CHECK(more.visits >= exact.visits);
      grown += more.visits > exact.visits;
      CHECK(!memcmp(more.row, exact.row, sizeof exact.row));
      CHECK(more.exact == exact.exact);
    }
    pair_free(&p);
  }
  CHECK(grown > 60); /* of 120 */
}

/* Node pairs of two bodies a fiftieth of their size apart grow with the number of triangles. */
TEST(visits_grow_linearly) {
  int f[4] = {4, 12, 36, 112}, count = test_quick() ? 3 : 4; /* 128 to 100,352 triangles each */
  double visits[4];
  for (int i = 0; i < count; i++) {
    double d[3] = {2.04, 0, 0}, zero[3] = {0, 0, 0};
    pair p = {bumpy_sphere(1, f[i], 1, 0, d), bumpy_sphere(2, f[i], 1, 0, zero), {0}};
    visits[i] = (double)ask_pair(&p, 0.1, ABUT_FORM_WEIGHTED).visits;
    if (getenv("ABUT_VERBOSE")) printf("%lld triangles: %g visits\n", (long long)p.a.nt, visits[i]);
    pair_free(&p);
  }
  double exponent = log(visits[count - 1] / visits[0]) / (2 * log((double)f[count - 1] / f[0]));
  if (!(exponent <= 1.1)) test_fail(__FILE__, __LINE__, "visits grow like T^%g", exponent);
}

/* ---------------------------------------------------------------------------------------- odd shapes */

/* One body inside another: finite, centers may coincide. */
TEST(nested_bodies) {
  for (int f = 0; f < 2; f++) {
    double zero[3] = {0, 0, 0};
    pair p = {bumpy_sphere(1, 3, 0.3, 0, zero), bumpy_sphere(1, 3, 1, 0, zero), {0}};
    abut_longrange_result r = ask_pair(&p, 0.5, forms[f]);
    CHECK(r.status == ABUT_QUERY_OK && isfinite(r.value) && r.value > 0);
    for (int i = 0; i < 6; i++) CHECK(isfinite(r.twist_gradient[i]));
    for (int i = 0; i < 36; i++) CHECK(isfinite(r.twist_hessian[i]));
    pair_free(&p);
  }
}

/* Triangles without area, a body of one triangle, points: finite or refused. */
TEST(degenerate_triangles) {
  double x[15] = {0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 1, 1, 1}, y[9] = {0, 0, 3, 1, 0, 3, 0, 1, 3};
  int32_t line[9] = {0, 1, 2, 0, 1, 3, 0, 0, 0}, one[3] = {0, 1, 2};
  abut_longrange_query q = {0.5, 1, ABUT_FORM_PAPER, {x, 5, line, 3, NULL, 0}, {y, 3, one, 1, NULL, 0}};
  abut_longrange_result r;
  CHECK_STATUS(abut_query_longrange(1, &q, &r, ABUT_F64), ABUT_OK);
  CHECK(r.status == ABUT_QUERY_OK && isfinite(r.value));
  for (int i = 0; i < 36; i++) CHECK(isfinite(r.twist_hessian[i]));
  q.a.ntriangle = 1; /* only the line */
  CHECK_STATUS(abut_query_longrange(1, &q, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "query 0: a: its triangles have an area of 0"));
}

/* Slivers weigh nothing in the weighted form, however thin: not 0/0, and the same as a barely visible one. */
TEST(slivers_weigh_nothing) {
  static const double heights[] = {1e-40, 1e-150, 1e-200, 1e-320, 0};
  double expected = 0;
  for (int i = 0; i < 5; i++) {
    double x[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 2, 1, 0, 3, 1 + heights[i], 0};
    double y[9] = {0, 0, 3, 1, 0, 3, 0, 1, 3};
    int32_t both[6] = {0, 1, 2, 3, 4, 5}, one[3] = {0, 1, 2};
    abut_longrange_query q = {5, 1, ABUT_FORM_WEIGHTED, {x, 6, both, 2, NULL, 0}, {y, 3, one, 1, NULL, 0}};
    abut_longrange_result r;
    CHECK_STATUS(abut_query_longrange(1, &q, &r, ABUT_F64), ABUT_OK);
    CHECK(r.status == ABUT_QUERY_OK && r.value > 0 && r.exact_pairs == 2);
    for (int k = 0; k < 36; k++) CHECK(isfinite(r.twist_hessian[k]));
    if (i == 0) expected = r.value;
    CHECK_REL(r.value, expected, 1e-12);
  }
}

TEST(bad_queries_are_refused) {
  double x[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, y[9] = {0, 0, 3, 1, 0, 3, 0, 1, 3},
         bad[9] = {0, 0, NAN, 1, 0, 0, 0, 1, 0}, far[9] = {0, 0, 0, 1, 0, 0, 0, -2e60, 0},
         near[9] = {0, 0, 0, 1, 0, 0, 0, 2e9, 0};
  int32_t one[3] = {0, 1, 2}, out[3] = {0, 1, 3};
  const int32_t twice[2][2] = {{0, 0}, {0, 0}};
  const abut_longrange_query good = {
      0.5, 1, ABUT_FORM_PAPER, {x, 3, one, 1, NULL, 0}, {y, 3, one, 1, NULL, 0}};
  abut_longrange_result r;
#define REFUSED(change, text)                                                                                \
  do {                                                                                                       \
    abut_longrange_query q = good;                                                                           \
    change;                                                                                                  \
    CHECK_STATUS(abut_query_longrange(1, &q, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);                            \
    if (!strstr(abut_error_message(), text)) test_fail(__FILE__, __LINE__, "%s", abut_error_message());      \
  } while (0)
  REFUSED(q.epsilon = 0, "epsilon 0");
  REFUSED(q.epsilon = NAN, "epsilon nan");
  REFUSED(q.length = -1, "length -1");
  REFUSED(q.length = 1e31, "length 1e+31 must lie in [1e-30, 1e+30]");
  REFUSED(q.length = 1e-31, "length 1e-31");
  REFUSED(q.b.vertices = far, "query 0: b: vertex 2 has a coordinate of -2e+60, 1e+60 at most");
  REFUSED(q.form = 7, "form 7");
  REFUSED(q.a.vertices = NULL, "a has no vertices");
  REFUSED(q.b.ntriangle = 0, "b: it has no triangles");
  REFUSED(q.a.triangles = out, "triangle 0 has vertex 3, there are 3");
  REFUSED(q.b.vertices = bad, "vertex 0 has a coordinate of nan");
  REFUSED((q.a.tree = twice, q.a.ntree = 2), "its tree joins 2 pairs, 1 triangles need 0");
  abut_longrange_query wide = good; /* what fits f64 may not fit f32 */
  wide.a.vertices = near;
  CHECK_STATUS(abut_query_longrange(1, &wide, &r, ABUT_F64), ABUT_OK);
  CHECK_STATUS(abut_query_longrange(1, &wide, &r, ABUT_F32), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "a: vertex 2 has a coordinate of 2e+09, 1e+09 at most"));
  abut_longrange_query long_unit = good;
  long_unit.length = 1e7;
  CHECK_STATUS(abut_query_longrange(1, &long_unit, &r, ABUT_F64), ABUT_OK);
  CHECK_STATUS(abut_query_longrange(1, &long_unit, &r, ABUT_F32), ABUT_ERROR_ARGUMENT);
  CHECK(strstr(abut_error_message(), "length 1e+07 must lie in [1e-06, 1e+06]"));
  CHECK_STATUS(abut_query_longrange(1, &good, &r, 9), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_longrange(-1, &good, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
  CHECK_STATUS(abut_query_longrange(1, NULL, &r, ABUT_F64), ABUT_ERROR_ARGUMENT);
#undef REFUSED
}
