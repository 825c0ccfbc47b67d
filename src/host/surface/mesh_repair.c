/* mesh_repair.c: triangles that decimation left folded, or touching in a vertex. */
#include "host/surface/mesh_repair.h"
#include "host/base/status.h"
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------- folds */

typedef struct corners {
  int32_t v[3]; /* ascending */
  int32_t odd;  /* whether the face has them the other way round */
  int32_t face;
} corners;

static corners corners_of(const int32_t *f, int32_t face) {
  corners c = {.v = {f[0], f[1], f[2]}, .face = face};
  for (int pass = 0; pass < 3; pass++)
    for (int i = pass % 2; i < 2; i += 2)
      if (c.v[i] > c.v[i + 1]) {
        int32_t swap = c.v[i];
        c.v[i] = c.v[i + 1], c.v[i + 1] = swap, c.odd ^= 1;
      }
  return c;
}

static int same_corners(const corners *p, const corners *q) { return memcmp(p->v, q->v, sizeof p->v) == 0; }

static int compare_corners(const void *a, const void *b) {
  const corners *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
  return p->odd != q->odd ? p->odd - q->odd : p->face - q->face;
}

abut_status faces_drop_folds(int32_t *faces, int32_t *nface) {
  corners *list = malloc(((size_t)*nface + 1) * sizeof *list);
  char *gone = calloc((size_t)*nface + 1, 1);
  int32_t count = 0;
  if (!list || !gone) {
    free(list), free(gone);
    return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d triangles", *nface);
  }
  for (int32_t i = 0; i < *nface; i++) list[i] = corners_of(faces + 3 * i, i);
  qsort(list, (size_t)*nface, sizeof *list, compare_corners);
  for (int32_t i = 0, end; i < *nface; i = end) {
    /* even ones first: as many of them as there are odd ones go, and the odd ones */
    int32_t odd = 0;
    for (end = i; end < *nface && same_corners(list + i, list + end); end++) odd += list[end].odd;
    int32_t even = end - i - odd, pairs = even < odd ? even : odd;
    for (int32_t k = 0; k < pairs; k++) gone[list[i + k].face] = gone[list[end - 1 - k].face] = 1;
  }
  for (int32_t i = 0; i < *nface; i++)
    if (!gone[i]) memmove(faces + 3 * count++, faces + 3 * i, 3 * sizeof *faces);
  *nface = count;
  free(list), free(gone);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- sides */

/* A triangle's side by its ends in ascending order; corner: number of the corner it begins at. */
typedef struct side {
  int32_t low, high, corner;
} side;

static int compare_sides(const void *a, const void *b) {
  const side *p = a, *q = b;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return p->corner - q->corner;
}

static int32_t after(int32_t corner) { return corner % 3 == 2 ? corner - 2 : corner + 1; }

static void list_sides(const int32_t *faces, int32_t count, side *sides) {
  for (int32_t c = 0; c < count; c++) {
    int32_t a = faces[c], b = faces[after(c)];
    sides[c] = (side){a < b ? a : b, a < b ? b : a, c};
  }
  qsort(sides, (size_t)count, sizeof *sides, compare_sides);
}

/* ---------------------------------------------------------------------------------------- doubled edges */

/* Cuts the triangle of this corner in two, from a new vertex on the side that begins there. */
static void cut_triangle(int32_t *faces, int32_t *nface, int32_t corner, int32_t vertex) {
  int32_t *f = faces + 3 * (corner / 3), *g = faces + 3 * (*nface)++;
  memcpy(g, f, 3 * sizeof *f);
  faces[after(corner)] = vertex, g[corner % 3] = vertex;
}

abut_status faces_split_doubled(int32_t *faces, int32_t most_faces, int32_t *nface, int32_t most_points,
                                int32_t *npoint, int32_t (*ends)[2]) {
  int32_t count = 3 * *nface;
  side *sides = malloc(((size_t)count + 1) * sizeof *sides);
  /* a triangle is cut once at most: its other corners may move */
  char *cut = calloc((size_t)*nface + 1, 1);
  if (!sides || !cut) {
    free(sides), free(cut);
    return fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d triangles", *nface);
  }
  list_sides(faces, count, sides);
  for (int32_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && sides[end].low == sides[i].low && sides[end].high == sides[i].high;)
      end++;
    for (int32_t left = end - i; left > 2; left -= 2) {
      int32_t pair[2] = {-1, -1};
      for (int32_t k = i; k < end; k++) {
        int32_t c = sides[k].corner, back = faces[c] == sides[k].high;
        if (!cut[c / 3] && pair[back] < 0) pair[back] = c;
      }
      if (pair[0] < 0 || pair[1] < 0 || *nface + 2 > most_faces || *npoint == most_points) break;
      ends[*npoint][0] = sides[i].low, ends[*npoint][1] = sides[i].high;
      for (int k = 0; k < 2; k++) {
        cut[pair[k] / 3] = 1;
        cut_triangle(faces, nface, pair[k], *npoint);
      }
      ++*npoint;
    }
  }
  free(sides), free(cut);
  return ABUT_OK;
}

/* ---------------------------------------------------------------------------------------- sheets that touch
 */

/* The corner that stands for all that hang together with this one around their vertex. */
static int32_t root_of(int32_t *parent, int32_t corner) {
  while (parent[corner] != corner) corner = parent[corner] = parent[parent[corner]];
  return corner;
}

static void join(int32_t *parent, int32_t a, int32_t b) {
  a = root_of(parent, a), b = root_of(parent, b);
  if (a < b) parent[b] = a;
  if (b < a) parent[a] = b;
}

/* Joins the corners on both ends of every side with those of the neighbour across. */
static void join_neighbours(const int32_t *faces, int32_t count, side *sides, int32_t *parent) {
  list_sides(faces, count, sides);
  for (int32_t c = 0; c < count; c++) parent[c] = c;
  for (int32_t i = 0; i + 1 < count; i += 2) {
    int32_t c = sides[i].corner, d = sides[i + 1].corner;
    join(parent, c, after(d)), join(parent, after(c), d);
  }
}

abut_status faces_part_sheets(int32_t *faces, int32_t nface, int32_t most, int32_t *npoint,
                              int32_t *original) {
  int32_t count = 3 * nface;
  side *sides = malloc(((size_t)count + 1) * sizeof *sides);
  int32_t *parent = malloc(((size_t)count + 1) * sizeof *parent);
  int32_t *name = malloc(((size_t)count + 1) * sizeof *name); /* of a root's vertex */
  char *taken = calloc((size_t)most + 1, 1);
  abut_status status = ABUT_OK;
  if (sides && parent && name && taken) {
    join_neighbours(faces, count, sides, parent);
    for (int32_t c = 0; c < count; c++) {
      int32_t root = root_of(parent, c), v = faces[c];
      if (root == c) {
        /* the least corner of its sheet: faces before it are named already, its own vertex is not */
        int apart = taken[v] && *npoint < most;
        if (apart) original[*npoint] = v;
        name[c] = apart ? (*npoint)++ : v;
        taken[v] = 1;
      }
      faces[c] = name[root];
    }
  } else {
    status = fail_with(ABUT_ERROR_MEMORY, "surface: no memory for %d triangles", nface);
  }
  free(sides), free(parent), free(name), free(taken);
  return status;
}
