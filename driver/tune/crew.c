/* driver/tune/crew.c: several threads that work on trials. */
#include "driver/tune/trial.h"

#include <stdatomic.h>
#include <unistd.h>

/* The trials of a crew, and the next of them. */
typedef struct Crew {
  Trial *const *trials;
  int n;
  atomic_int next;
  const CrewWork *work;
} Crew;

/* May trial number `i` still be begun? */
static bool may_begin(const Crew *c, int i) {
  const CrewWork *w = c->work;
  return !stop_asked(c->trials[i]->subject->stop) && (i < w->sure || w->until <= 0 || clock_seconds() < w->until);
}

/* Works until no trial is left. */
static void *work_on(void *arg) {
  Crew *c = arg;
  for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->n && may_begin(c, i);)
    if (!c->trials[i]->messages.first[0])
      c->work->job(c->trials[i], c->work->user);
  return NULL;
}

void trials_each(Trial *const *t, int n, int threads, const CrewWork *work) {
  Crew crew = {.trials = t, .n = n, .work = work};
  threads_run(n < threads ? n : threads, work_on, &crew);
}

/* trial_prepare as a crew's work. */
static StcStatus prepare(Trial *t, void *user) { return (void)user, trial_prepare(t); }

StcStatus crew_lower(Trial *t, void *user) {
  const LowerFor *what = user;
  return trial_lower(t, what->device, what->size);
}

void trials_prepare(Trial *const *t, int n, int threads) {
  static const CrewWork work = {.job = prepare};
  trials_each(t, n, threads, &work);
}

int crew_size(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 1 ? (int)n : 1;
}
