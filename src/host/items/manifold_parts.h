/* manifold_parts.h: what a manifold consists of. */
#ifndef ABUT_HOST_MANIFOLD_H
#define ABUT_HOST_MANIFOLD_H
#include "abut/manifold.h"
#include "host/items/items.h"
#include "host/surface/surface_view.h"

struct abut_manifold {
  const item_kernels *kernels;
  abut_manifold_options options; /* in force */
  double unit;                   /* of kernels' lengths: a power of two (m) */
  manifold_params params;
  surface_view view[2];
  void *vertices[2];
  int32_t *edges[2];
  int32_t group[MANIFOLD_GROUPS]; /* contacts of each */
  int64_t contacts, padded;       /* in all; with the padding of groups */
  int64_t scratch;                /* numbers of one evaluation */
  items_runner items;
  manifold_batch batch; /* what kernels on a GPU get, but for the poses of a call */
};

/* abut_manifold_create with an instance of the kernels, of the options' dtype; NULL: the widest. */
abut_status manifold_create_with(const abut_surface *surface1, const abut_surface *surface2,
                                 const abut_manifold_options *options, const item_kernels *kernels,
                                 abut_manifold **manifold);

#endif
