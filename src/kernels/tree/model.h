/* model.h: the compiled scene as kernels read it. host/model makes, checks, saves and loads it. */
#ifndef ABUT_TREE_MODEL_H
#define ABUT_TREE_MODEL_H
#include "abut/surface.h"

/* X(name) of every count that sizes an array of model.def. */
#define MODEL_COUNTS(X)                                                                                      \
  X(nbody)                                                                                                   \
  X(njnt)                                                                                                    \
  X(nq)                                                                                                      \
  X(nv)                                                                                                      \
  X(nu)                                                                                                      \
  X(na)                                                                                                      \
  X(nmocap)                                                                                                  \
  X(ngeom)                                                                                                   \
  X(npoint)                                                                                                  \
  X(nface)                                                                                                   \
  X(nnode)                                                                                                   \
  X(ntriangle)                                                                                               \
  X(npair)                                                                                                   \
  X(nexplicit)                                                                                               \
  X(nsite)                                                                                                   \
  X(nhfield)                                                                                                 \
  X(nhfielddata)                                                                                             \
  X(ntendon) X(nwrap) X(neq) X(nsensor) X(nsensordata) X(nkey) X(nname) X(ntext)

/* X(letter, count, noun) of every kind of object that has names, in the order of name_adr; letters are
 * abut_model_name's. */
#define MODEL_NAMED(X)                                                                                       \
  X('b', nbody, "body")                                                                                      \
  X('j', njnt, "joint")                                                                                      \
  X('g', ngeom, "geom")                                                                                      \
  X('s', nsite, "site")                                                                                      \
  X('t', ntendon, "tendon")                                                                                  \
  X('e', neq, "equality")                                                                                    \
  X('a', nu, "actuator")                                                                                     \
  X('n', nsensor, "sensor")                                                                                  \
  X('k', nkey, "key")

/* The same of its part about surfaces, which many files do not have. */
#define MODEL_SURFACE_COUNTS(X) X(nsurface) X(nprimitive) X(nplane) X(nvertex) X(nedge) X(nfacet)

struct abut_model {
#define X(name) int32_t name;
  MODEL_COUNTS(X)
  MODEL_SURFACE_COUNTS(X)
#undef X
  int32_t warnings;          /* offset of the warnings in text */
  abut_scene_options option; /* its timestep is the file's: steps use abut_options.timestep */
#define X(type, name, rows, columns) type *name;
#include "kernels/tree/model.def"
#undef X
};

/* The counts of a model as locals of their names: rows of the .def tables (arrays, fields, parameters) are
 * written over them. 64 bits, as rows multiply them. */
#define MODEL_SIZE(name) __attribute__((unused)) const int64_t name = sized->name;
#define MODEL_SIZES(model)                                                                                   \
  const abut_model *const sized = (model);                                                                   \
  MODEL_COUNTS(MODEL_SIZE)

#endif
