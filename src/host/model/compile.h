/* compile.h: what the files share that turn a builder's definitions into a model (compile.c). */
#ifndef ABUT_COMPILE_H
#define ABUT_COMPILE_H
#include "host/model/builder.h"
#include "host/model/model.h"
#include "host/shape/geom.h"
#include "host/shape/sphere_tree_build.h"
#include <string.h>

/* Where the builder's objects are in the compiled order and back, and the geoms' shapes. */
typedef struct plan {
  int32_t *joint_of, *joint_at; /* builder's id of a compiled joint; compiled id of a builder's */
  int32_t *geom_of, *geom_at;
  geom_shape *shapes; /* by compiled geom */
  sphere_tree *trees;
  const abut_surface **surfaces; /* the builder's, by compiled geom */
  abut_pair_def *pairs;
} plan;

static inline void put(double *array, int32_t row, const double *values, int columns) {
  memcpy(array + (size_t)row * (size_t)columns, values, (size_t)columns * sizeof *values);
}

/* compile_elements.c: counts of sites, tendons, equalities, actuators, sensors and keys, then their arrays;
 * those of keys once all else is there. */
abut_status compile_count_elements(abut_model *m, const abut_builder *builder);
abut_status compile_fill_elements(abut_model *m, const abut_builder *builder, const plan *p);
abut_status compile_fill_keys(abut_model *m, const abut_builder *builder);

#endif
