/* query_longrange.inl: the long-range potential of one pair of trees. */

/* One query: both bodies in the world's frame. */
KERNEL void query_longrange(longrange_block *q) {
  far_pair p = {
      {q->tree[0], q->tree[1]}, mat_identity(), vec_zero(), K(q->epsilon), K(q->length), 1, q->weighted};
  far_list list = {q->entry, (elem *)q->rows, 0, 0, q->capacity, 0};
  q->fits = far_traverse(&p, &list, K(q->margin));
  q->visits = list.num;
  if (!q->fits) return;
  far_sum sum = q->order == 0 ? far_value(&p, &list) : far_evaluate(&p, &list);
  q->gap = (double)sum.gap;
  q->exact = sum.exact;
  q->centred = sum.centred;
  q->touching = sum.touching;
  for (int k = 0; k < (q->order == 0 ? 1 : FAR_ROW); k++) q->row[k] = (double)list.rows[k];
}
