/* driver/instance/plan-watch.c: the observers of a plan's fields while it runs: they are called between two time tiles,
 * which are cut where a watch is due, and nowhere else. Also those who are asked whether the run continues. */
#include "driver/instance/instance.h"
#include "driver/program/program.h"

int64_t observers_wait(const Observers *o, int64_t done, int64_t left) {
  for (const Watch *w = o->watches; w; w = w->next) {
    int64_t due = w->every - done % w->every;
    left = due < left ? due : left;
  }
  return left;
}

bool observers_ask(const Observers *o) { return o->progress || o->visit; }

/* Must `w` be called when `done` steps are done? */
static bool is_due(const Watch *w, int64_t done) { return done % w->every == 0 && w->shown != done; }

bool observers_are_due(const Observers *o, int64_t done) {
  for (const Watch *w = o->watches; w; w = w->next)
    if (is_due(w, done))
      return true;
  return false;
}

StcStatus plan_show(StcPlan *p) {
  StcStatus s = STC_OK;
  for (Watch *w = p->observers.watches; w && !s; w = w->next) {
    if (!is_due(w, p->run.done))
      continue;
    if (!w->queued)
      s = p->device.kind->wait(&p->device);
    w->shown = p->run.done;
    if (!s)
      s = w->fn(w->user, p, p->run.done);
  }
  return s;
}

/* The arguments of the guarded function that adds a watch. */
typedef struct WatchArgs {
  StcPlan *p;
  Watch watch;
} WatchArgs;

/* Adds the watch after the existing ones. */
static StcStatus add_watch(void *arg) {
  WatchArgs *a = arg;
  Watch **last = &a->p->observers.watches;
  while (*last)
    last = &(*last)->next;
  *last = ARENA_NEW(a->p->w.arena, Watch);
  **last = a->watch;
  return STC_OK;
}

StcStatus plan_watch(StcPlan *p, int64_t every, bool queued, StcWatch fn, void *user) {
  if (every < 1)
    return context_error(p->w.context, "a watch is called after every 1 or more steps, not %lld", (long long)every),
           STC_USAGE;
  WatchArgs a = {p, {every, -1, queued, fn, user, NULL}};
  return workspace_guard(&p->w, add_watch, &a);
}

StcStatus stc_plan_watch(StcPlan *p, int64_t every, StcWatch fn, void *user) {
  return plan_watch(p, every, false, fn, user);
}

int64_t plan_next_count(int64_t count, int64_t ran, double seconds) {
  return ran >= count && seconds * 20 < 1 ? 2 * count : count;
}

StcStatus plan_ask(StcPlan *p, int64_t first, int64_t steps) {
  const Observers *o = &p->observers;
  int64_t done = p->run.done - first;
  if (o->progress && !o->progress(o->progress_user, done, p->run.met ? done : steps))
    return STC_INTERRUPTED;
  return o->visit ? o->visit->between(o->visit->user, p, first + steps) : STC_OK;
}
