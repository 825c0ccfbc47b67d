/* manifold_surface.inl: distances of either surface at points of frame 0, and points moved onto them. */
#include "manifold_memory.inl"

/* Pose of surface 1 in frame 0, which is where everything is; surface 0's pose is the identity. */
typedef struct manifold_pose {
  mat3 r;
  vec3 t;
} manifold_pose;
static manifold_pose manifold_pose_of(const manifold_job *job) {
  manifold_pose p;
  const double *r = job->rotation;
  p.r = mat(vec_splat(r), vec_splat(r + 3), vec_splat(r + 6));
  p.t = vec_splat(job->translation);
  return p;
}
/* Distance and normal of surface `which` at x, both in frame 0. */
FN sdf_value surface_at(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, sdf_scratch w,
                        sdf_trace trace) {
  const sdf_view *s = &p->surface[which].sdf;
  if (!which) return sdf_at(s, x, w, trace);
  sdf_value v = sdf_at(s, mat_tvec(pose->r, sub(x, pose->t)), w, trace);
  v.normal = mat_vec(pose->r, v.normal);
  return v;
}

/* What reverse passes add to, for items i .. */
typedef struct manifold_bars {
  elem *sums;       /* [12][SLOTS] */
  real *parameters; /* of one evaluation; NULL where nobody asks */
  elem *parameter_bar[2];
} manifold_bars;

static void keep_parameters(manifold_bars *bars, int which, int64_t num, int i) {
  if (!bars->parameter_bar[which]) return;
  for (int64_t k = 0; k < num; k++) {
    add_slots(bars->parameter_bar[which] + k * SLOTS, i, bars->parameters[k]);
    bars->parameters[k] = zero();
  }
}
/* Cotangent of x; those of the pose and the primitives are added to the sums. normal: as surface_at gave it.
 */
KERNEL vec3 surface_vjp(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, vec3 normal,
                        real gphi, vec3 gn, sdf_trace trace, manifold_bars *bars, int i) {
  const sdf_view *s = &p->surface[which].sdf;
  real *parameters = bars->parameter_bar[which] ? bars->parameters : 0;
  if (all_zero(gphi) && vec_zero_everywhere(gn)) return vec_zero();
  vec3 gx;
  if (!which) {
    gx = sdf_vjp(s, x, gphi, gn, trace, parameters);
  } else {
    vec3 d = sub(x, pose->t);
    gx = mat_vec(pose->r, sdf_vjp(s, mat_tvec(pose->r, d), gphi, mat_tvec(pose->r, gn), trace, parameters));
    add_slots_vec(bars->sums, i, scale(splat(-1), gx));
    add_slots_vec(bars->sums + 3 * SLOTS, i, sub(cross(normal, gn), cross(d, gx)));
  }
  keep_parameters(bars, which, sdf_parameters(s), i);
  return gx;
}

/* Vertices i .. of surface `which` in frame 0. */
FN vec3 vertex_at(const manifold_params *p, int which, const manifold_pose *pose, vec3 v) {
  (void)p;
  return which ? add(mat_vec(pose->r, v), pose->t) : v;
}

/* x moved onto the surface `which` by a fixed number of steps along its normal. */
FN vec3 project(const manifold_params *p, int which, const manifold_pose *pose, vec3 x,
                const manifold_work *w) {
  for (int i = 0; i < p->projections; i++) {
    sdf_value v = surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0));
    x = axpy(-v.phi, v.normal, x);
  }
  return x;
}
KERNEL vec3 project_vjp(const manifold_params *p, int which, const manifold_pose *pose, vec3 x, vec3 g,
                        const manifold_work *w, manifold_bars *bars, int i, int steps) {
  if (steps == 0) return g;
  sdf_value v = surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0));
  vec3 after = project_vjp(p, which, pose, axpy(-v.phi, v.normal, x), g, w, bars, i, steps - 1);
  if (steps > 1)
    surface_at(p, which, pose, x, w->sdf, trace_at(&w->path, 0)); /* the trace of this step again */
  return add(after, surface_vjp(p, which, pose, x, v.normal, -dot(v.normal, after), scale(-v.phi, after),
                                trace_at(&w->path, 0), bars, i));
}
