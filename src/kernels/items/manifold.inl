/* manifold.inl: contacts between two surfaces at one pair of poses, and their reverse pass.
 *
 * Lanes are items of one pair of poses: vertices, pairs of edges. A single pair fills the lanes as well as a
 * thousand, neighbours in a mesh are neighbours in lanes, so that far primitives are skipped for all of them
 * at once, and a GPU's thread would be an item, too. Items lie field by field, [field][padded count].
 *
 *   place      vertices of either surface in the other's frame, their distances to it
 *   select     the deepest K vertices and edges, with a weight that fades before they change
 *   cross      closest points of all pairs of selected edges
 *   neighbour  how near a pair is among its row and column
 *   penetrate  how deep these points lie in the other surface, of pairs that are near enough
 *   judge      normals and contacts of pairs that may be active
 *
 * Sums over lanes are made of 32 partial sums by item number, so that they do not depend on the width. */
#include "kernels/items/manifold_pairs.inl"

KERNEL contact_out vertex_bar(const elem *group, int stride, int i) {
  contact_out g = {load_vec(group, stride, i), load_vec(group + 4 * stride, stride, i),
                   load(group + 3 * stride, i), load(group + 7 * stride, i)};
  return g;
}

KERNEL void vertex_contacts(const manifold_params *p, int which, manifold_work *w, elem *group) {
  side_work *s = &w->side[which];
  ITEMS(i, p->surface[which].kvertex) {
    real phi = load(s->v_phi, i);
    store_vec(group, s->k, i, vertex_at(which, w, load_vec(s->v, s->k, i)));
    store(group + 3 * s->k, i, phi);
    store_vec(group + 4 * s->k, s->k, i, load_vec(s->v_normal, s->k, i));
    store(group + 7 * s->k, i, load(s->vertex_gate, i) * logistic(phi * K(-1 / p->tau_penetration)));
  }
}
KERNEL void vertex_contacts_vjp(const manifold_params *p, int which, manifold_work *w, const elem *group) {
  side_work *s = &w->side[which];
  elem inv_pen = K(-1 / p->tau_penetration);
  ITEMS(i, p->surface[which].kvertex) {
    contact_out g = vertex_bar(group, s->k, i);
    real penetrating = logistic(load(s->v_phi, i) * inv_pen), gate = load(s->vertex_gate, i);
    store_vec(s->g_v, s->k, i, g.point);
    store_vec(s->g_v_normal, s->k, i, g.normal);
    store(s->g_v_phi, i, g.distance + g.activity * gate * penetrating * (splat(1) - penetrating) * inv_pen);
    store(s->g_vertex_gate, i, g.activity * penetrating);
  }
}

/* Moving all results as one rigid body, about surface 0's origin. */
KERNEL void results_vjp(const manifold_params *p, const manifold_job *job, elem *sums) {
  for (int group = 0; group < MANIFOLD_GROUPS; group++) {
    int n = manifold_group(p, group), stride = manifold_pad(n);
    const elem *out = group_at(p, job->contacts, group), *bar = group_at(p, job->bar, group);
    ITEMS(i, n) {
      contact_out c = vertex_bar(out, stride, i), g = vertex_bar(bar, stride, i);
      mask there = exists(i, n);
      add_slots_vec(sums, i, vec_sel(there, g.point, vec_zero()));
      add_slots_vec(sums + 3 * SLOTS, i,
                    vec_sel(there, add(cross(c.point, g.point), cross(c.normal, g.normal)), vec_zero()));
    }
  }
}

/* A team's threads have written what a stage makes when it returns. */
KERNEL void manifold_contacts(const manifold_params *p, manifold_job *job) {
  manifold_work *w = manifold_open(p, job);
  int edges = manifold_group(p, 2) > 0;
  for (int which = 0; which < 2; which++) {
    if (!p->side[which] && !edges) continue;
    place(p, which, w);
    if (p->side[which]) {
      select_vertices(p, which, w);
      vertex_contacts(p, which, w, group_at(p, job->contacts, which));
    }
    if (edges) select_edges(p, which, w);
    TEAM_SYNC();
  }
  if (!edges) return;
  pair_up(p, w);
  cross_edges(p, w);
  neighbour(p, w);
  list_pairs(p, w);
  penetrate(p, w);
  judge(p, w, group_at(p, job->contacts, 2), group_at(p, job->contacts, 3));
  TEAM_SYNC();
}

KERNEL void manifold_contacts_vjp(const manifold_params *p, manifold_job *job) {
  manifold_work *w = (manifold_work *)job->scratch;
  int edges = manifold_group(p, 2) > 0;
  clear_bars(job, w);
  manifold_bars bars = {w->sums,
                        (real *)w->parameters + w->num_parameters * TEAM_RANK,
                        {(elem *)job->parameter_bar[0], (elem *)job->parameter_bar[1]}};
  if (edges) {
    const elem *first = group_at(p, job->bar, 2), *second = group_at(p, job->bar, 3);
    if (w->pair.num_judged < manifold_group(p, 2)) leave_pairs_vjp(p, &w->pair, first, second);
    judge_vjp(p, w, &bars, first, second);
    penetrate_vjp(p, w, &bars);
    neighbour_vjp(p, w);
    cross_edges_vjp(p, w);
    pair_up_vjp(p, w);
  }
  for (int which = 0; which < 2; which++) {
    if (edges) select_edges_vjp(p, which, w);
    if (p->side[which]) {
      vertex_contacts_vjp(p, which, w, group_at(p, job->bar, which));
      TEAM_SYNC();
      select_vertices_vjp(p, which, w, &bars);
    }
    if (p->side[which] || edges) place_vjp(p, which, w, &bars, (elem *)job->vertex_bar[which]);
  }
  results_vjp(p, job, w->sums + 6 * SLOTS);
  TEAM_SYNC();
  double *out[] = {job->force, job->torque, job->out_force, job->out_torque};
  TEAM_FOR(i, 12) out[i / 3][i % 3] = sum_slots(w->sums + (int64_t)i * SLOTS);
  TEAM_SYNC();
}
