/* shape_mesh.c: polytopes by their hull's faces, round shapes by a tessellated sphere, half-spaces by a quad;
 * under long-range contact all but half-spaces by the triangles of their surface. Contacts by pins. */
#include "shape_mesh.h"
#include "cli.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS = 16, SECTORS = 32 };          /* of the tessellated sphere */
static const double PLANE_HALF_SIZE = 10.0; /* m, where the scene states none */

static int allocate(shape_mesh *out, int64_t npoint, int64_t nindex) {
  out->npoint = npoint;
  out->nindex = nindex;
  out->positions = calloc((size_t)npoint, 3 * sizeof *out->positions);
  out->normals = calloc((size_t)npoint, 3 * sizeof *out->normals);
  out->indices = calloc((size_t)nindex, sizeof *out->indices);
  return out->positions && out->normals && out->indices ? CLI_OK : cli_error("out of memory");
}

void shape_mesh_destroy(shape_mesh *out) {
  free(out->positions);
  free(out->normals);
  free(out->indices);
  memset(out, 0, sizeof *out);
}

static void set_point(shape_mesh *out, int64_t i, const double position[3], const double normal[3]) {
  for (int k = 0; k < 3; k++) {
    out->positions[3 * i + k] = (float)position[k];
    out->normals[3 * i + k] = (float)normal[k];
  }
}

/* out = R(quat) v */
static void rotate(const double quat[4], const double v[3], double out[3]) {
  const double *u = quat + 1;
  double t[3] = {2 * (u[1] * v[2] - u[2] * v[1]), 2 * (u[2] * v[0] - u[0] * v[2]),
                 2 * (u[0] * v[1] - u[1] * v[0])};
  out[0] = v[0] + quat[0] * t[0] + u[1] * t[2] - u[2] * t[1];
  out[1] = v[1] + quat[0] * t[1] + u[2] * t[0] - u[0] * t[2];
  out[2] = v[2] + quat[0] * t[2] + u[0] * t[1] - u[1] * t[0];
}

static int make_plane(const abut_geom_def *def, shape_mesh *out) {
  static const double corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3};
  double normal[3];
  int code = allocate(out, 4, 6);
  if (code != CLI_OK) return code;
  rotate(def->quat, (double[]){0, 0, 1}, normal);
  for (int i = 0; i < 4; i++) {
    double at[3];
    rotate(def->quat,
           (double[]){corners[i][0] * (def->size[0] > 0 ? def->size[0] : PLANE_HALF_SIZE),
                      corners[i][1] * (def->size[1] > 0 ? def->size[1] : PLANE_HALF_SIZE), 0},
           at);
    for (int k = 0; k < 3; k++) at[k] += def->pos[k];
    set_point(out, i, at, normal);
  }
  memcpy(out->indices, triangles, sizeof triangles);
  return CLI_OK;
}

/* Every triangle has its own three points, so that it shades flat. */
static void set_triangle(shape_mesh *out, int64_t i, const double *const corner[3]) {
  double a[3], b[3];
  for (int k = 0; k < 3; k++) {
    a[k] = corner[1][k] - corner[0][k];
    b[k] = corner[2][k] - corner[0][k];
  }
  double normal[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  for (int k = 0; k < 3; k++) normal[k] = length > 0 ? normal[k] / length : k == 2;
  for (int k = 0; k < 3; k++) {
    set_point(out, 3 * i + k, corner[k], normal);
    out->indices[3 * i + k] = (uint32_t)(3 * i + k);
  }
}

int shape_mesh_triangles(const double *points, const int32_t *triangles, int64_t count, shape_mesh *out) {
  int code = allocate(out, 3 * count, 3 * count);
  for (int64_t i = 0; code == CLI_OK && i < count; i++) {
    const double *corner[3];
    for (int k = 0; k < 3; k++) corner[k] = points + 3 * (int64_t)triangles[3 * i + k];
    set_triangle(out, i, corner);
  }
  return code;
}

static int make_surface(const abut_model *model, int32_t geom, shape_mesh *out) {
  const double *from;
  int64_t count;
  if (abut_model_triangles(model, geom, &from, &count) != ABUT_OK) return cli_library_error();
  int code = allocate(out, 3 * count, 3 * count);
  for (int64_t i = 0; code == CLI_OK && i < count; i++, from += 9)
    set_triangle(out, i, (const double *const[]){from, from + 3, from + 6});
  return code;
}

static const double *support(const abut_hull *hull, const double direction[3]) {
  const double *best = hull->points;
  double most = -INFINITY;
  for (int32_t i = 0; i < hull->npoint; i++) {
    const double *p = hull->points + 3 * (size_t)i;
    double reach = p[0] * direction[0] + p[1] * direction[1] + p[2] * direction[2];
    if (reach > most) {
      most = reach;
      best = p;
    }
  }
  return best;
}

/* A sphere whose every point moves by the hull's support in its own direction: exact normals on any rounded
 * hull. */
static int make_round(const abut_hull *hull, shape_mesh *out) {
  int code = allocate(out, (RINGS + 1) * (SECTORS + 1), 6 * RINGS * SECTORS);
  if (code != CLI_OK) return code;
  const double pi = 3.14159265358979323846;
  int64_t next = 0;
  for (int i = 0; i <= RINGS; i++) {
    for (int j = 0; j <= SECTORS; j++) {
      double polar = pi * i / RINGS, turn = 2 * pi * j / SECTORS, at[3];
      double direction[3] = {sin(polar) * cos(turn), sin(polar) * sin(turn), cos(polar)};
      const double *base = support(hull, direction);
      for (int k = 0; k < 3; k++) at[k] = base[k] + hull->radius * direction[k];
      set_point(out, i * (SECTORS + 1) + j, at, direction);
    }
  }
  for (uint32_t i = 0; i < RINGS; i++) {
    for (uint32_t j = 0; j < SECTORS; j++) {
      uint32_t a = i * (SECTORS + 1) + j, b = a + SECTORS + 1;
      const uint32_t triangles[6] = {a, b, a + 1, a + 1, b, b + 1};
      memcpy(out->indices + next, triangles, sizeof triangles);
      next += 6;
    }
  }
  return CLI_OK;
}

int shape_mesh_create(const abut_model *model, int32_t geom, int contact, shape_mesh *out) {
  abut_geom_def def;
  abut_hull hull;
  memset(out, 0, sizeof *out);
  if (abut_model_geom(model, geom, &def) != ABUT_OK || abut_model_hull(model, geom, &hull) != ABUT_OK)
    return cli_library_error();
  if (hull.npoint == 0) return make_plane(&def, out);
  if (contact == ABUT_CONTACT_LONGRANGE) return make_surface(model, geom, out);
  if (hull.radius > 0 || hull.nface == 0) return make_round(&hull, out);
  return shape_mesh_triangles(hull.points, hull.faces, hull.nface, out);
}

/* ------------------------------------------------------------------------------------------ contacts */

enum {
  BALL_POINTS = 12,
  BALL_FACES = 20,
  RIM = 6,
  PIN_POINTS = BALL_POINTS + RIM + 1,
  PIN_FACES = BALL_FACES + RIM
};

/* An icosahedron, shaded as a ball. */
static void set_ball(shape_mesh *out, int64_t first, uint32_t *indices, const double at[3], double radius) {
  static const double a = 0.52573111211913361,
                      b = 0.85065080835203993; /* a : b as 1 : golden ratio, of length 1 */
  static const uint8_t faces[BALL_FACES][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                               {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                               {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                               {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
  const double corners[BALL_POINTS][3] = {{-a, b, 0}, {a, b, 0}, {-a, -b, 0}, {a, -b, 0},
                                          {0, -a, b}, {0, a, b}, {0, -a, -b}, {0, a, -b},
                                          {b, 0, -a}, {b, 0, a}, {-b, 0, -a}, {-b, 0, a}};
  for (int i = 0; i < BALL_POINTS; i++) {
    double place[3];
    for (int k = 0; k < 3; k++) place[k] = at[k] + radius * corners[i][k];
    set_point(out, first + i, place, corners[i]);
  }
  for (int i = 0; i < 3 * BALL_FACES; i++) indices[i] = (uint32_t)first + faces[i / 3][i % 3];
}

/* A cone without a base: its rim is in the ball. */
static void set_cone(shape_mesh *out, int64_t first, uint32_t *indices, const double at[3],
                     const double axis[3], double length, double radius) {
  const double pi = 3.14159265358979323846;
  int least = 0; /* axis most across */
  for (int k = 1; k < 3; k++)
    if (fabs(axis[k]) < fabs(axis[least])) least = k;
  double u[3], v[3], across = sqrt(1 - axis[least] * axis[least]);
  for (int k = 0; k < 3; k++) u[k] = ((k == least) - axis[least] * axis[k]) / across;
  for (int k = 0; k < 3; k++) v[k] = axis[(k + 1) % 3] * u[(k + 2) % 3] - axis[(k + 2) % 3] * u[(k + 1) % 3];
  for (int i = 0; i < RIM; i++) {
    double place[3], normal[3], turn = 2 * pi * i / RIM;
    for (int k = 0; k < 3; k++) normal[k] = cos(turn) * u[k] + sin(turn) * v[k];
    for (int k = 0; k < 3; k++) place[k] = at[k] + radius * normal[k];
    set_point(out, first + i, place, normal);
    const uint32_t base = (uint32_t)first,
                   corners[3] = {base + (uint32_t)i, base + (uint32_t)(i + 1) % RIM, base + RIM};
    memcpy(indices + 3 * i, corners, sizeof corners);
  }
  double tip[3];
  for (int k = 0; k < 3; k++) tip[k] = at[k] + length * axis[k];
  set_point(out, first + RIM, tip, axis);
}

int shape_mesh_pins(const double *points, const double *arrows, int64_t count, double radius,
                    shape_mesh *out) {
  int code = allocate(out, PIN_POINTS * count, 3 * PIN_FACES * count);
  for (int64_t i = 0; code == CLI_OK && i < count; i++) {
    const double *arrow = arrows + 3 * i;
    double length = sqrt(arrow[0] * arrow[0] + arrow[1] * arrow[1] + arrow[2] * arrow[2]), axis[3];
    for (int k = 0; k < 3; k++) axis[k] = length > 0 ? arrow[k] / length : k == 2;
    int64_t first = PIN_POINTS * i;
    uint32_t *indices = out->indices + 3 * PIN_FACES * i;
    set_ball(out, first, indices, points + 3 * i, radius);
    set_cone(out, first + BALL_POINTS, indices + 3 * BALL_FACES, points + 3 * i, axis, length, 0.7 * radius);
  }
  return code;
}
