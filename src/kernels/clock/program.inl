/* program.inl: what steers programs on a device: their begin and end, and whether a part runs once more. The
 * same for all methods. */

/* Whether start or step has to run once more for some environment; every environment has a lane. */
FN uint32_t program_again(const program_io *io, int which) {
  int64_t done = counter_get(which == AGAIN_START ? &io->opened : &io->finished);
  return done < io->nenv && !counter_get(&io->need) && !counter_get(&io->stop);
}

/* io as the host filled it in. What follows a program whose list was too short must not run: it would start
 * from a state that is not the one it was meant for. Nor may a reverse pass whose record a replayed graph has
 * overwritten, or not written yet. */
FN void program_begin(program_io *io, const program_io *from) {
  program_tally *t = from->tally;
  *io = *from;
  if (io->enqueued && t->need)
    io->stop = STOP_ASKED;
  else if (io->reverse && t->record != io->token)
    io->stop = STOP_UNRECORDED;
  else if (io->record)
    t->record = 0; /* until it is complete */
  if (io->enqueued && io->stop == STOP_UNRECORDED) t->unrecorded++;
}

/* Nothing that the host writes meanwhile: all threads must agree. */
FN int program_complete(const program_io *io) { return io->finished == io->nenv && !io->need; }

/* One of 32 threads copies its part of a row of words. */
FN void copy_part(char *to, const char *from, int64_t row, int32_t bytes, int rank) {
  const int32_t words = bytes / 4;
  int32_t *t = (int32_t *)to + row * words;
  const int32_t *f = (const int32_t *)from + row * words;
  for (int32_t i = rank; i < words; i += 32) t[i] = f[i];
}

/* A program's end for one environment and one of its 32 threads: what a complete rollout wrote to next
 * becomes the state, where it is, since graphs that hold its address may be replayed. Sizes are in bytes, of
 * qpos, qvel, act and of a contact. */
FN void program_commit(program_io *io, int64_t env, int rank, int32_t qpos, int32_t qvel, int32_t act,
                       int32_t contact) {
  const batch_state *s = &io->state, *n = &io->next;
  program_tally *t = io->tally;
  if (env == 0 && rank == 0 && io->record && program_complete(io)) t->record = io->token;
  if (env == 0 && rank == 0 && io->enqueued) {
    if (program_complete(io)) {
      t->done++;
      t->newton_iterations += io->newton_iterations;
      t->unconverged_steps += io->unconverged_steps;
      if (t->newton_iterations_max < io->newton_iterations_max)
        t->newton_iterations_max = io->newton_iterations_max;
    } else if (io->need) {
      t->need = io->need;
      t->need_room = io->need_room;
      t->reverse = io->reverse;
    }
  }
  if (!program_complete(io) || !n->qpos) return; /* the reverse pass has no next */
  copy_part(s->qpos, n->qpos, env, qpos, rank);
  copy_part(s->qvel, n->qvel, env, qvel, rank);
  copy_part(s->act, n->act, env, act, rank);
  int32_t count = n->warm.count[env];
  int64_t first = env * io->capacity;
  copy_part((char *)(s->warm.pair + first), (const char *)(n->warm.pair + first), 0, 4 * count, rank);
  copy_part(s->warm.data + first * contact, n->warm.data + first * contact, 0, count * contact, rank);
  if (rank != 0) return;
  s->warm.count[env] = count;
  s->status[env] = n->status[env];
  s->fresh[env] = n->fresh[env];
}

/* Whether a captured program may run: not where the batch's memory moved since. */
FN uint32_t program_open(program_tally *t, int64_t generation) {
  if (t->generation != generation) t->voided++;
  return t->generation == generation;
}
