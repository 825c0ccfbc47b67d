/* progress.c: draws the progress bar. */
#include "progress.h"
#include "cli.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };
static const double BAR_DELAY = 2.0; /* s: shorter jobs show nothing */

static volatile sig_atomic_t interrupted;
static const double SAME = 0.2; /* s: timeout(1) and shells send a signal to the process and to its group */
static double interrupted_at;

static void on_interrupt(int number) {
  double now = cli_now();
  if (!interrupted) {
    interrupted_at = now;
    interrupted = number;
  } else if (now - interrupted_at > SAME) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

static void handle(void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}
void progress_catch_interrupt(void) { handle(on_interrupt); }
void progress_release_interrupt(void) { handle(SIG_DFL); }

int progress_interrupted(void) { return interrupted != 0; }

void progress_begin(progress *bar, const char *label) {
  *bar = (progress){.label = label, .start = cli_now(), .share = 1, .terminal = isatty(STDERR_FILENO)};
}

void progress_part(progress *bar, double done, double share) {
  bar->done = done;
  bar->share = share;
}

int progress_report(void *user, double fraction) {
  progress *bar = user;
  double elapsed = cli_now() - bar->start;
  if (!bar->terminal || elapsed < BAR_DELAY) return interrupted != 0;
  double whole = bar->done + bar->share * fraction;
  int filled = (int)(whole * BAR_WIDTH);
  char cells[BAR_WIDTH + 1];
  for (int i = 0; i < BAR_WIDTH; i++) cells[i] = i < filled ? '#' : '.';
  cells[BAR_WIDTH] = 0;
  fprintf(stderr, "\r%s [%s] %3.0f %%", bar->label, cells, 100 * whole);
  if (whole > 0.01) fprintf(stderr, "  %.0f s left  ", elapsed * (1 - whole) / whole);
  fflush(stderr);
  bar->shown = 1;
  return interrupted != 0;
}

void progress_end(progress *bar) {
  if (bar->shown) fprintf(stderr, "\r\033[K");
  bar->shown = 0;
}
