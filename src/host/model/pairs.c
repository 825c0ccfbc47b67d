/* pairs.c: which geoms of a scene may touch. */
#include "host/model/pairs.h"
#include "host/base/status.h"
#include <stdlib.h>

static int is_plane(const abut_model *m, int32_t geom) { return m->geom_type[geom] == ABUT_GEOM_PLANE; }

static int compare_int(int32_t a, int32_t b) { return (a > b) - (a < b); }

int abut_pairs_ordered(const abut_model *model, int32_t geom1, int32_t geom2) {
  if (is_plane(model, geom1) != is_plane(model, geom2)) return is_plane(model, geom2);
  int order = compare_int(model->geom_pointnum[geom1], model->geom_pointnum[geom2]);
  return order ? order < 0 : geom1 < geom2;
}

int abut_pairs_compare(const abut_model *model, int32_t a1, int32_t a2, int32_t b1, int32_t b2) {
  const int32_t *n = model->geom_pointnum;
  int order = is_plane(model, b2) - is_plane(model, a2);
  if (!order) order = compare_int(n[a1], n[b1]);
  if (!order) order = compare_int(n[a2], n[b2]);
  if (!order) order = compare_int(a1, b1);
  return order ? order : compare_int(a2, b2);
}

const char *abut_pairs_obstacle(const abut_model *model, const int32_t *weldid, int32_t geom1,
                                int32_t geom2) {
  if (is_plane(model, geom1) && is_plane(model, geom2)) return "are both planes";
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

static int compare_keys(const void *a, const void *b) {
  int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
  return (p > q) - (p < q);
}

/* A sorted set of keys. */
typedef struct key_set {
  int64_t *keys;
  int32_t count;
} key_set;

static int key_set_has(const key_set *set, int64_t key) {
  return bsearch(&key, set->keys, (size_t)set->count, sizeof key, compare_keys) != NULL;
}

static abut_status key_set_allocate(key_set *set, int32_t count) {
  set->count = count;
  set->keys = malloc(((size_t)count + 1) * sizeof *set->keys);
  return set->keys ? ABUT_OK : abut_fail(ABUT_ERROR_MEMORY, "contact pairs: no memory for %d", count);
}

/* The masks, and no contact within a rigid group or between a group and the one it hangs on, unless that is
 * the world's. */
static int filter_allows(const abut_model *m, int32_t g1, int32_t g2) {
  if (!(m->geom_contype[g1] & m->geom_conaffinity[g2]) && !(m->geom_contype[g2] & m->geom_conaffinity[g1]))
    return 0;
  if (abut_pairs_obstacle(m, m->body_weldid, g1, g2)) return 0;
  int32_t weld1 = m->body_weldid[m->geom_body[g1]], weld2 = m->body_weldid[m->geom_body[g2]];
  if (weld1 == 0 || weld2 == 0) return 1;
  return m->body_weldid[m->body_parent[weld1]] != weld2 && m->body_weldid[m->body_parent[weld2]] != weld1;
}

/* ---------------------------------------------------------------------------------------- build */

typedef struct pair_entry {
  const abut_model *model; /* for the comparison */
  int32_t geom1, geom2;
  double friction;
} pair_entry;

typedef struct pair_list {
  pair_entry *entries;
  int32_t count, capacity;
} pair_list;

static abut_status push_pair(pair_list *list, const abut_model *m, int32_t g1, int32_t g2, double friction) {
  if (list->count == list->capacity) {
    if (list->capacity > INT32_MAX / 4)
      return abut_fail(ABUT_ERROR_MODEL, "more than %d contact pairs", list->capacity);
    int32_t capacity = list->capacity ? 2 * list->capacity : 64;
    pair_entry *entries = realloc(list->entries, (size_t)capacity * sizeof *entries);
    if (!entries) return abut_fail(ABUT_ERROR_MEMORY, "contact pairs: no memory for %d", capacity);
    list->entries = entries;
    list->capacity = capacity;
  }
  int ordered = abut_pairs_ordered(m, g1, g2);
  pair_entry entry = {m, ordered ? g1 : g2, ordered ? g2 : g1, friction};
  list->entries[list->count++] = entry;
  return ABUT_OK;
}

static abut_status push_explicit(pair_list *list, const abut_model *m, const abut_pair_def *pairs,
                                 int32_t npair) {
  for (int32_t i = 0; i < npair; i++) {
    const char *why = abut_pairs_obstacle(m, m->body_weldid, pairs[i].geom1, pairs[i].geom2);
    char a[ABUT_LABEL], b[ABUT_LABEL];
    if (why)
      return abut_fail(ABUT_ERROR_MODEL, "contact pair %d: %s and %s %s", i,
                       abut_model_label(m, 'g', pairs[i].geom1, a),
                       abut_model_label(m, 'g', pairs[i].geom2, b), why);
    ABUT_TRY(push_pair(list, m, pairs[i].geom1, pairs[i].geom2, pairs[i].friction));
  }
  return ABUT_OK;
}

static abut_status push_filtered(pair_list *list, const abut_model *m, const key_set *given,
                                 const key_set *excluded) {
  for (int32_t g1 = 0; g1 < m->ngeom; g1++)
    for (int32_t g2 = g1 + 1; g2 < m->ngeom; g2++) {
      if (!filter_allows(m, g1, g2) || key_set_has(given, pair_key(g1, g2))) continue;
      if (key_set_has(excluded, pair_key(m->geom_body[g1], m->geom_body[g2]))) continue;
      ABUT_TRY(push_pair(list, m, g1, g2, -1));
    }
  return ABUT_OK;
}

static int compare_entries(const void *a, const void *b) {
  const pair_entry *p = a, *q = b;
  return abut_pairs_compare(p->model, p->geom1, p->geom2, q->geom1, q->geom2);
}

/* Sorts the list and puts it into the model. */
static abut_status store_pairs(const pair_list *list, abut_model *m) {
  size_t count = (size_t)list->count;
  if (count) qsort(list->entries, count, sizeof *list->entries, compare_entries);
  int32_t *geom1 = calloc(count + 1, sizeof *geom1), *geom2 = calloc(count + 1, sizeof *geom2);
  double *friction = calloc(count + 1, sizeof *friction);
  if (!geom1 || !geom2 || !friction) {
    free(geom1), free(geom2), free(friction);
    return abut_fail(ABUT_ERROR_MEMORY, "contact pairs: no memory for %zu", count);
  }
  for (size_t i = 0; i < count; i++) {
    geom1[i] = list->entries[i].geom1;
    geom2[i] = list->entries[i].geom2;
    friction[i] = list->entries[i].friction;
  }
  free(m->pair_geom1), free(m->pair_geom2), free(m->pair_friction);
  m->pair_geom1 = geom1, m->pair_geom2 = geom2, m->pair_friction = friction;
  m->npair = list->count;
  return ABUT_OK;
}

/* Sorts a set and refuses a key that is in it twice. */
static abut_status sort_given(key_set *given, const abut_model *m) {
  qsort(given->keys, (size_t)given->count, sizeof *given->keys, compare_keys);
  for (int32_t i = 1; i < given->count; i++) {
    char a[ABUT_LABEL], b[ABUT_LABEL];
    if (given->keys[i] == given->keys[i - 1])
      return abut_fail(ABUT_ERROR_MODEL, "the contact pair of %s and %s is given twice",
                       abut_model_label(m, 'g', (int32_t)(given->keys[i] >> 32), a),
                       abut_model_label(m, 'g', (int32_t)(given->keys[i] & INT32_MAX), b));
  }
  return ABUT_OK;
}

static abut_status build(abut_model *m, const abut_pair_def *pairs, key_set *given, key_set *excluded,
                         pair_list *list) {
  ABUT_TRY(sort_given(given, m));
  qsort(excluded->keys, (size_t)excluded->count, sizeof *excluded->keys, compare_keys);
  ABUT_TRY(push_explicit(list, m, pairs, given->count));
  ABUT_TRY(push_filtered(list, m, given, excluded));
  return store_pairs(list, m);
}

abut_status abut_pairs_build(abut_model *model, const abut_pair_def *explicit_pairs, int32_t npair,
                             const abut_exclude_def *excludes, int32_t nexclude) {
  key_set given = {0}, excluded = {0};
  pair_list list = {0};
  abut_status status = key_set_allocate(&given, npair);
  if (status == ABUT_OK) status = key_set_allocate(&excluded, nexclude);
  if (status == ABUT_OK) {
    for (int32_t i = 0; i < npair; i++)
      given.keys[i] = pair_key(explicit_pairs[i].geom1, explicit_pairs[i].geom2);
    for (int32_t i = 0; i < nexclude; i++) excluded.keys[i] = pair_key(excludes[i].body1, excludes[i].body2);
    status = build(model, explicit_pairs, &given, &excluded, &list);
  }
  free(given.keys);
  free(excluded.keys);
  free(list.entries);
  return status;
}
