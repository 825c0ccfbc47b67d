/* pairs.c: which geoms of a scene may touch. */
#include "host/model/pairs.h"
#include "host/base/status.h"
#include <math.h>
#include <stdlib.h>

static int is_plane(const abut_model *m, int32_t geom) { return m->geom_type[geom] == ABUT_GEOM_PLANE; }

/* Without points of its own: what it cannot touch is another such one. */
static int is_ground(const abut_model *m, int32_t geom) {
  return is_plane(m, geom) || m->geom_type[geom] == ABUT_GEOM_HFIELD;
}

static int compare_int(int32_t a, int32_t b) { return (a > b) - (a < b); }

int pairs_ordered(const abut_model *model, int32_t geom1, int32_t geom2) {
  if (is_plane(model, geom1) != is_plane(model, geom2)) return is_plane(model, geom2);
  int order = compare_int(model->geom_pointnum[geom1], model->geom_pointnum[geom2]);
  return order ? order < 0 : geom1 < geom2;
}

int pairs_compare(const abut_model *model, int32_t a1, int32_t a2, int32_t b1, int32_t b2) {
  const int32_t *n = model->geom_pointnum;
  int order = is_plane(model, b2) - is_plane(model, a2);
  if (!order) order = compare_int(n[a1], n[b1]);
  if (!order) order = compare_int(n[a2], n[b2]);
  if (!order) order = compare_int(a1, b1);
  return order ? order : compare_int(a2, b2);
}

const char *pairs_obstacle(const abut_model *model, const int32_t *weldid, int32_t geom1, int32_t geom2) {
  if (is_plane(model, geom1) && is_plane(model, geom2)) return "are both planes";
  if (is_ground(model, geom1) && is_ground(model, geom2)) return "are both ground: planes or height fields";
  int32_t weld1 = weldid[model->geom_body[geom1]], weld2 = weldid[model->geom_body[geom2]];
  if (weld1 != weld2) return NULL;
  return weld1 ? "are fixed to each other" : "are both fixed to the world";
}

/* ---------------------------------------------------------------------------------------- filters */

/* A pair of ids as one key, order of the two ignored. */
static int64_t pair_key(int32_t a, int32_t b) {
  int32_t low = a < b ? a : b, high = a < b ? b : a;
  return (int64_t)low << 32 | high;
}

/* Pairs of ids, sorted by their keys; row: of explicit pairs of geoms. */
typedef struct keyed_pair {
  int64_t key;
  int32_t row;
} keyed_pair;
typedef struct key_set {
  keyed_pair *pairs;
  int32_t count;
} key_set;

static int compare_keys(const void *a, const void *b) {
  int64_t p = ((const keyed_pair *)a)->key, q = ((const keyed_pair *)b)->key;
  return (p > q) - (p < q);
}

/* NULL: not in the set. */
static const keyed_pair *key_set_find(const key_set *set, int32_t a, int32_t b) {
  keyed_pair wanted = {pair_key(a, b), 0};
  return bsearch(&wanted, set->pairs, (size_t)set->count, sizeof wanted, compare_keys);
}

static abut_status key_set_allocate(key_set *set, int32_t count) {
  set->count = count;
  set->pairs = malloc(((size_t)count + 1) * sizeof *set->pairs);
  return set->pairs ? ABUT_OK : fail_with(ABUT_ERROR_MEMORY, "contact pairs: no memory for %d", count);
}
static void key_set_sort(key_set *set) {
  qsort(set->pairs, (size_t)set->count, sizeof *set->pairs, compare_keys);
}

/* The masks, and no contact within a rigid group or between a group and the one it hangs on, unless that is
 * the world's. */
static int filter_allows(const abut_model *m, int32_t g1, int32_t g2) {
  if (!(m->geom_contype[g1] & m->geom_conaffinity[g2]) && !(m->geom_contype[g2] & m->geom_conaffinity[g1]))
    return 0;
  if (pairs_obstacle(m, m->body_weldid, g1, g2)) return 0;
  int32_t weld1 = m->body_weldid[m->geom_body[g1]], weld2 = m->body_weldid[m->geom_body[g2]];
  if (weld1 == 0 || weld2 == 0 || (m->option.disable & ABUT_DISABLE_FILTERPARENT)) return 1;
  return m->body_weldid[m->body_parent[weld1]] != weld2 && m->body_weldid[m->body_parent[weld2]] != weld1;
}

/* ---------------------------------------------------------------------------------------- friction */

/* MuJoCo's rule for two geoms: the higher priority decides alone, else the larger of condim and of friction;
 * condim 1 has none. -1: the larger friction. */
static double own_friction(const abut_model *m, int32_t g1, int32_t g2) {
  const int32_t *rank = m->geom_priority;
  double largest = fmax(m->geom_friction[g1], m->geom_friction[g2]), friction = largest;
  if (rank[g1] != rank[g2]) {
    int32_t g = rank[g1] > rank[g2] ? g1 : g2;
    friction = m->geom_condim[g] == 1 ? 0 : m->geom_friction[g];
  } else if (m->geom_condim[g1] == 1 && m->geom_condim[g2] == 1) {
    friction = 0;
  }
  return friction == largest ? -1 : friction;
}

/* The coefficient of an explicit pair: the larger of its two directions. */
static double explicit_friction(const abut_model *m, int32_t row) {
  const double *friction = m->explicit_friction + 5 * (size_t)row;
  if (m->explicit_condim[row] == 1) return 0;
  return friction[0] < 0 ? -1 : fmax(friction[0], friction[1]);
}

/* ---------------------------------------------------------------------------------------- build */

/* The model's pair arrays while they grow. */
typedef struct pair_list {
  int32_t *geom1, *geom2, *explicit;
  double *friction;
  int32_t count, capacity;
} pair_list;

static abut_status grow(pair_list *list) {
  if (list->capacity == MODEL_MOST_PAIRS)
    return fail_with(ABUT_ERROR_MODEL, "more than %d contact pairs", list->capacity);
  int32_t capacity = list->capacity ? 2 * list->capacity : 64;
  void **arrays[] = {(void **)&list->geom1, (void **)&list->geom2, (void **)&list->explicit,
                     (void **)&list->friction};
  const size_t sizes[] = {sizeof *list->geom1, sizeof *list->geom2, sizeof *list->explicit,
                          sizeof *list->friction};
  for (int i = 0; i < 4; i++) {
    void *grown = realloc(*arrays[i], (size_t)capacity * sizes[i]);
    if (!grown) return fail_with(ABUT_ERROR_MEMORY, "contact pairs: no memory for %d", capacity);
    *arrays[i] = grown;
  }
  list->capacity = capacity;
  return ABUT_OK;
}

/* Where pairs come from: the geoms in the order of pairs_ordered, those that are no planes first, and
 * the explicit and excluded ones. */
typedef struct pair_source {
  const abut_model *model;
  int32_t *geoms, nsolid;
  key_set given, excluded;
} pair_source;

/* Appends the pair if it is given, or no filter stops it. */
static abut_status consider(const pair_source *from, int32_t g1, int32_t g2, pair_list *list) {
  const abut_model *m = from->model;
  const keyed_pair *given = from->given.count ? key_set_find(&from->given, g1, g2) : NULL;
  if (!given && (!filter_allows(m, g1, g2) ||
                 (from->excluded.count && key_set_find(&from->excluded, m->geom_body[g1], m->geom_body[g2]))))
    return ABUT_OK;
  if (list->count == list->capacity) ATTEMPT(grow(list));
  list->geom1[list->count] = g1;
  list->geom2[list->count] = g2;
  list->explicit[list->count] = given ? given->row : -1;
  list->friction[list->count++] = given ? explicit_friction(m, given->row) : own_friction(m, g1, g2);
  return ABUT_OK;
}

/* One past the geoms with as many points as the one at `first`. */
static int32_t group_end(const pair_source *from, int32_t first) {
  const int32_t *n = from->model->geom_pointnum, *g = from->geoms;
  int32_t end = first;
  while (end < from->nsolid && n[g[end]] == n[g[first]]) end++;
  return end;
}

/* All pairs in the order of pairs_compare: half-spaces, then by the first's points, the second's, ids.
 */
static abut_status list_pairs(const pair_source *from, pair_list *list) {
  const int32_t *g = from->geoms;
  for (int32_t i = 0; i < from->nsolid; i++)
    for (int32_t j = from->nsolid; j < from->model->ngeom; j++) ATTEMPT(consider(from, g[i], g[j], list));
  for (int32_t a = 0, a_end; a < from->nsolid; a = a_end) {
    a_end = group_end(from, a);
    for (int32_t b = a, b_end; b < from->nsolid; b = b_end) {
      b_end = group_end(from, b);
      for (int32_t i = a; i < a_end; i++)
        for (int32_t j = a == b ? i + 1 : b; j < b_end; j++) ATTEMPT(consider(from, g[i], g[j], list));
    }
  }
  return ABUT_OK;
}

/* The explicit ones: each must be able to touch, and be given once. */
static abut_status take_given(pair_source *from, const abut_pair_def *pairs, int32_t npair) {
  const abut_model *m = from->model;
  char a[LABEL_SIZE], b[LABEL_SIZE];
  ATTEMPT(key_set_allocate(&from->given, npair));
  for (int32_t i = 0; i < npair; i++) {
    const char *why = pairs_obstacle(m, m->body_weldid, pairs[i].geom1, pairs[i].geom2);
    if (why)
      return fail_with(ABUT_ERROR_MODEL, "contact pair %d: %s and %s %s", i,
                       model_label(m, 'g', pairs[i].geom1, a), model_label(m, 'g', pairs[i].geom2, b), why);
    from->given.pairs[i] = (keyed_pair){pair_key(pairs[i].geom1, pairs[i].geom2), i};
  }
  key_set_sort(&from->given);
  for (int32_t i = 1; i < npair; i++) {
    int64_t key = from->given.pairs[i].key;
    if (key == from->given.pairs[i - 1].key)
      return fail_with(ABUT_ERROR_MODEL, "the contact pair of %s and %s is given twice",
                       model_label(m, 'g', (int32_t)(key >> 32), a),
                       model_label(m, 'g', (int32_t)(key & INT32_MAX), b));
  }
  return ABUT_OK;
}

static abut_status take_excluded(pair_source *from, const exclude_def *excludes, int32_t count) {
  ATTEMPT(key_set_allocate(&from->excluded, count));
  for (int32_t i = 0; i < count; i++)
    from->excluded.pairs[i] = (keyed_pair){pair_key(excludes[i].body1, excludes[i].body2), 0};
  key_set_sort(&from->excluded);
  return ABUT_OK;
}

/* By kind, points, id. */
static abut_status take_geoms(pair_source *from) {
  const abut_model *m = from->model;
  keyed_pair *keys = malloc(((size_t)m->ngeom + 1) * sizeof *keys);
  from->geoms = malloc(((size_t)m->ngeom + 1) * sizeof *from->geoms);
  if (keys && from->geoms) {
    for (int32_t g = 0; g < m->ngeom; g++) {
      int32_t kind = is_plane(m, g) ? INT32_MAX : m->geom_pointnum[g];
      keys[g] = (keyed_pair){(int64_t)kind << 32 | g, 0};
      from->nsolid += !is_plane(m, g);
    }
    key_set_sort(&(key_set){keys, m->ngeom});
    for (int32_t g = 0; g < m->ngeom; g++) from->geoms[g] = (int32_t)(keys[g].key & INT32_MAX);
  }
  abut_status status = keys && from->geoms
                           ? ABUT_OK
                           : fail_with(ABUT_ERROR_MEMORY, "contact pairs: no memory for %d geoms", m->ngeom);
  free(keys);
  return status;
}

/* Puts a finished list, into the model. */
static abut_status store(pair_list *list, abut_model *m) {
  if (list->capacity == 0) ATTEMPT(grow(list)); /* empty arrays of a model are not NULL */
  free(m->pair_geom1), free(m->pair_geom2), free(m->pair_explicit), free(m->pair_friction);
  m->pair_geom1 = list->geom1, m->pair_geom2 = list->geom2;
  m->pair_explicit = list->explicit, m->pair_friction = list->friction;
  m->npair = list->count;
  *list = (pair_list){0};
  return ABUT_OK;
}

abut_status pairs_build(abut_model *model, const abut_pair_def *explicit_pairs, int32_t npair,
                        const exclude_def *excludes, int32_t nexclude) {
  pair_source from = {.model = model};
  pair_list list = {0};
  abut_status status = take_given(&from, explicit_pairs, npair);
  if (status == ABUT_OK) status = take_excluded(&from, excludes, nexclude);
  if (status == ABUT_OK) status = take_geoms(&from);
  if (status == ABUT_OK) status = list_pairs(&from, &list);
  if (status == ABUT_OK) status = store(&list, model);
  free(from.given.pairs);
  free(from.excluded.pairs);
  free(from.geoms);
  free(list.geom1), free(list.geom2), free(list.explicit), free(list.friction);
  return status;
}
