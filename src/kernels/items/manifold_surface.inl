/* manifold_surface.inl: distances of either surface at points of frame 0, and points moved onto them. */
#include "kernels/items/manifold_memory.inl"

/* Distance and normal of surface `which` at x, both in frame 0. */
CALL sdf_value surface_at(const manifold_params *p, int which, const manifold_work *w, vec3 x,
                          sdf_trace trace) {
  const sdf_view *s = &p->surface[which].sdf;
  const manifold_pose *pose = &w->pose;
  if (!which) return sdf_at(s, x, own_scratch(w), trace);
  sdf_value v = sdf_at(s, mat_tvec(pose->r, sub(x, pose->t)), own_scratch(w), trace);
  v.normal = mat_vec(pose->r, v.normal);
  return v;
}

/* What reverse passes add to, for items i .. */
typedef struct manifold_bars {
  elem *sums;       /* [12][SLOTS] */
  real *parameters; /* this thread's, of one evaluation */
  elem *parameter_bar[2];
} manifold_bars;

KERNEL void keep_parameters(const manifold_bars *bars, int which, int64_t num, int i) {
  if (!bars->parameter_bar[which]) return;
  for (int64_t k = 0; k < num; k++) {
    add_slots(bars->parameter_bar[which] + k * SLOTS, i, bars->parameters[k]);
    bars->parameters[k] = zero();
  }
}
/* Cotangent of x; those of the pose and the primitives are added to the sums. normal: as surface_at gave it.
 */
OUTLINE vec3 surface_vjp(const manifold_params *p, int which, const manifold_work *w, vec3 x, vec3 normal,
                         real gphi, vec3 gn, sdf_trace trace, const manifold_bars *bars, int i) {
  const sdf_view *s = &p->surface[which].sdf;
  const manifold_pose *pose = &w->pose;
  real *parameters = bars->parameter_bar[which] ? bars->parameters : 0;
  if (all_zero(gphi) && vec_zero_everywhere(gn)) return vec_zero();
  vec3 gx;
  if (!which) {
    gx = sdf_vjp(s, x, gphi, gn, trace, parameters);
  } else {
    vec3 d = sub(x, pose->t);
    add_slots_vec(bars->sums + 3 * SLOTS, i, cross(normal, gn));
    gx = mat_vec(pose->r, sdf_vjp(s, mat_tvec(pose->r, d), gphi, mat_tvec(pose->r, gn), trace, parameters));
    add_slots_vec(bars->sums, i, scale(splat(-1), gx));
    add_slots_vec(bars->sums + 3 * SLOTS, i, cross(gx, d));
  }
  keep_parameters(bars, which, sdf_parameters(s), i);
  return gx;
}

/* A vertex of surface `which` in frame 0. */
FN vec3 vertex_at(int which, const manifold_work *w, vec3 v) {
  return which ? add(mat_vec(w->pose.r, v), w->pose.t) : v;
}

/* x moved onto the surface `which` by a fixed number of steps along its normal; where it was before each of
 * them stays in w->way. */
CALL vec3 project(const manifold_params *p, int which, const manifold_work *w, vec3 x) {
  real *way = w->way + TEAM_RANK;
  for (int i = 0; i < p->projections; i++) {
    OWN(way, 3 * i) = x.x;
    OWN(way, 3 * i + 1) = x.y;
    OWN(way, 3 * i + 2) = x.z;
    sdf_value v = surface_at(p, which, w, x, own_path(w));
    x = axpy(-v.phi, v.normal, x);
  }
  return x;
}
/* The cotangent of x from that of where project has moved it. */
CALL vec3 project_vjp(const manifold_params *p, int which, const manifold_work *w, vec3 x, vec3 g,
                      const manifold_bars *bars, int item) {
  const real *way = w->way + TEAM_RANK;
  project(p, which, w, x);
  for (int i = p->projections - 1; i >= 0; i--) {
    vec3 before = vec(OWN(way, 3 * i), OWN(way, 3 * i + 1), OWN(way, 3 * i + 2));
    sdf_value v = surface_at(p, which, w, before, own_path(w));
    g = add(g, surface_vjp(p, which, w, before, v.normal, -dot(v.normal, g), scale(-v.phi, g), own_path(w),
                           bars, item));
  }
  return g;
}
