/* progress.h: a progress bar on standard error, and the answer to an interrupt. */
#ifndef ABUT_CLI_PROGRESS_H
#define ABUT_CLI_PROGRESS_H

/* Work in parts, the running one from `done` to `done + share` of the whole. */
typedef struct progress {
  const char *label;
  double start; /* s */
  double done, share;
  int terminal, shown;
} progress;

void progress_begin(progress *bar, const char *label);
/* The next call of progress_report counts over [done, done + share]. */
void progress_part(progress *bar, double done, double share);
/* An abut_progress: user is the bar. Draws once the work has lasted two seconds; non-zero after an interrupt.
 */
int progress_report(void *user, double fraction);
/* Wipes the bar. */
void progress_end(progress *bar);

/* From now on the first interrupt asks the running rollout to stop, so that no half-written file stays. */
void progress_catch_interrupt(void);
int progress_interrupted(void);
/* From now on an interrupt ends the program at once again: while nothing is open that would stay behind. */
void progress_release_interrupt(void);

#endif
