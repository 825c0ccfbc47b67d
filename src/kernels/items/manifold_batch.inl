/* manifold_batch.inl: many pairs of poses, pairs of edges or points on a GPU, dealt out to its warps. */
#include "kernels/items/manifold.inl"

/* A warp's pairs of poses, one after the other in the same scratch: forward, and back where `reverse`. */
KERNEL void manifold_share(const manifold_batch *b, int warp, int warps, int reverse) {
  for (int64_t i = warp; i < b->count; i += warps) {
    manifold_job *job = b->jobs + i;
    if (LEADER) job->scratch = (elem *)b->scratch + b->scratch_numbers * warp;
    TEAM_SYNC();
    manifold_contacts(&b->params, job);
    if (reverse) manifold_contacts_vjp(&b->params, job);
  }
}

/* A thread's pairs of edges: closest points. */
KERNEL void edges_share(const edges_batch *b, int warp, int warps) {
  edge_soft soft = edge_soft_of(&b->soft);
  const elem *in = (const elem *)b->in;
  elem *out = (elem *)b->out;
  int n = b->count;
  for (int i = warp * ABUT_TEAM + TEAM_RANK; i < n; i += warps * ABUT_TEAM) {
    edges_witness e =
        edges_closest(&soft, load_vec(in, n, i), load_vec(in + 3 * n, n, i), load_vec(in + 6 * n, n, i));
    store_vec(out, n, i, vec(e.alpha1, e.alpha2, e.colliding));
  }
}

/* A thread's points: distances and normals. */
KERNEL void distances_share(const distances_batch *b, int warp, int warps) {
  const int num = b->surface.num, n = b->count;
  const elem *in = (const elem *)b->in;
  elem *out = (elem *)b->out;
  real *rows = (real *)b->scratch + (int64_t)DISTANCE_NUMBERS(num) * ABUT_TEAM * warp + TEAM_RANK;
  int32_t *lists = b->lists + (int64_t)DISTANCE_LISTS(num) * ABUT_TEAM * warp + TEAM_RANK;
  sdf_scratch scratch = {rows, lists};
  sdf_trace trace = {&OWN(rows, SDF_SCRATCH * num), &OWN(lists, num)};
  for (int i = warp * ABUT_TEAM + TEAM_RANK; i < n; i += warps * ABUT_TEAM) {
    sdf_value v = sdf_at(&b->surface, load_vec(in, n, i), scratch, trace);
    store(out, i, v.phi);
    store_vec(out + n, n, i, v.normal);
  }
}
