/* overlap.c: the step's own search for closest points (closest.inl), one pair at a time, for the host. */
#include "kernels/shape/overlap.h"
#define ABUT_REAL 64
#define ABUT_LANES 1
#include "kernels/lane/vector.h"
#include "kernels/shape/plane.inl"
#include "kernels/shape/closest.inl"

enum { ROUNDS = 60, REFINEMENTS = 30 };

static point_set points_of(const placed_hull *h) {
  point_set set = {.shared = h->points, .num = h->num, .radius = h->radius, .weight = 1};
  return set;
}

static mat3 rotation_of(const placed_hull *h) {
  return mat(vec_splat(h->rotation), vec_splat(h->rotation + 3), vec_splat(h->rotation + 6));
}

static void put_vec3(double out[3], vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

/* Of shapes whose surfaces are drawn in, by half of `erosion` each. */
static placed_gap eroded_gap(const placed_hull *a, const placed_hull *b, double erosion) {
  point_set pa = points_of(a), pb = points_of(b);
  pa.radius -= 0.5 * erosion;
  pb.radius -= 0.5 * erosion;
  const closest found = closest_points(&pa, &pb, rotation_of(a), vec_splat(a->x), rotation_of(b),
                                       vec_splat(b->x), 1, 1 - 1e-10, ROUNDS);
  placed_gap out = {.gap = found.gap - erosion};
  put_vec3(out.normal, found.u);
  put_vec3(out.point, scale(0.5, add(found.a, found.b)));
  return out;
}

/* The search ends at the first direction that separates: where there is none, erosion makes one, the better
 * the less is eroded. */
placed_gap overlap_gap(const placed_hull *a, const placed_hull *b, double shallow) {
  placed_gap best = eroded_gap(a, b, 0);
  if (best.gap > 0) return best;
  double erosion = shallow;
  for (int i = 0; i < REFINEMENTS; i++) {
    const placed_gap found = eroded_gap(a, b, erosion);
    if (found.gap <= best.gap && i > 0) break;
    if (found.gap > best.gap) best = found;
    if (best.gap <= -shallow) break;
    erosion = -best.gap * (1 + 1e-3);
  }
  return best;
}

placed_gap overlap_plane_gap(const placed_hull *a, const double normal[3], double offset) {
  placed_gap out = {.gap = ELEM_HUGE};
  put_vec3(out.normal, vec_splat(normal));
  for (int32_t i = 0; i < a->num; i++) {
    const vec3 p = add(mat_vec(rotation_of(a), vec_splat(a->points + 3 * i)), vec_splat(a->x));
    const double gap = dot(vec_splat(normal), p) - offset - a->radius;
    if (gap >= out.gap) continue;
    out.gap = gap;
    put_vec3(out.point, p);
  }
  return out;
}
