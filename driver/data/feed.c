/* driver/data/feed.c: the thread that runs the plan copies the values that are due at a step, and another thread writes
 * them while the device goes on. At most two steps wait; with a third one the first thread waits. */
#include "driver/data/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The largest number of unwritten steps. */
enum { DEPTH = 2 };

/* The values of one step, and the writers that need them. turn: the number of earlier steps; last: this is the last
 * step, which writers that have already written it search for NaN again. loans: of the sources that the plan lends;
 * data: copies of the others (malloc; reused from step to step). */
typedef struct Snapshot {
  int64_t step, turn;
  bool last;
  enum { UNWANTED, WRITTEN, LOOKED_AT } * wanted;
  void **data;
  Loan **loans;
} Snapshot;

/* The messages of the writing thread, kept until the other thread reads them. */
typedef struct Letters {
  char text[2048];
} Letters;

struct Feed {
  StcContext *context, *own; /* own: the writing thread's */
  Letters letters;
  int nwriters, nsources;
  Writer *writers;
  const Source *sources;
  bool *lent; /* by source: does the plan lend it? */
  pthread_t thread;
  bool started, ended;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Snapshot ring[DEPTH];
  int head, count; /* index of the next step to be written; number of steps */
  int64_t turns;   /* the number of steps passed to the thread */
  StcStatus status;
  const Source *nan; /* the first source with a NaN, NULL: none; its point, and the number of steps */
  int64_t nan_point, nan_step;
};

/* Keeps the first message. */
static void keep_message(void *user, const StcMessage *m) {
  Letters *l = user;
  if (!l->text[0])
    snprintf(l->text, sizeof l->text, "%s", m->text);
}

/* ---------------------------------------------------------------- the thread */

/* The arguments of a step's guarded function. */
typedef struct StepArgs {
  Writer *w;
  int64_t step;
  const void *const *data;
} StepArgs;

/* Has the format write the step. */
static StcStatus step_guarded(void *arg) {
  StepArgs *a = arg;
  Writer *w = a->w;
  return w->format->step(w, path_of_step(w->w.arena, w->path, a->step), a->step, a->data);
}

void writer_give_up(Writer *w) {
  w->failed = true;
  if (w->opened && w->format->abort)
    w->format->abort(w);
  w->opened = false;
}

/* Finds the values of the sources of writer `w`; writes pointers to them to `data`. */
static StcStatus find_values(const Feed *f, const Writer *w, const Snapshot *s, const void **data) {
  const char *why = NULL;
  for (int i = 0; i < w->nsources; i++) {
    int k = (int)(w->sources[i] - f->sources);
    data[i] = s->loans[k] ? loan_values(s->loans[k], &why) : s->data[k];
    if (why)
      return context_error(f->own, "field %s, copying from the device after %lld steps: %s", w->sources[i]->info.name,
                           (long long)s->step, why),
             STC_DEVICE;
  }
  return STC_OK;
}

/* Writes the snapshot for one writer; `data`: its values for the writer. */
static StcStatus write_one(const Feed *f, Writer *w, const Snapshot *s, const void **data) {
  StcStatus status = find_values(f, w, s, data);
  StepArgs args = {w, s->step, data};
  if (!status)
    status = workspace_guard(&w->w, step_guarded, &args);
  if (status)
    writer_give_up(w);
  w->steps += !status;
  return status;
}

/* The first NaN of a source; -1 if none is found. Searching all of a large field takes as long as some steps of two
 * cores. As NaN spreads from step to step, a part of the values is enough in between. */
static int64_t find_nan(const Source *from, const Snapshot *s, const void *data) {
  if (from->sampled)
    return ((const Sight *)(const void *)((const char *)data + source_sight(from)))->nan;
  bool look = s->last || s->turn == 0 || glance_finds_nan(&from->info, data, s->turn);
  return look ? first_nan(&from->info, data) : -1;
}

/* Records the first NaN in the values `data` of writer `w` in the snapshot: of fields, not of launch-time arrays or
 * checkpoints. */
static void look_for_nan(Feed *f, const Writer *w, const Snapshot *s, const void *const *data) {
  for (int i = 0; i < w->nsources && !f->nan && w->format->ending; i++) {
    const Source *from = w->sources[i];
    int64_t point = from->at.field < 0 ? -1 : find_nan(from, s, data[i]);
    if (point < 0)
      continue;
    f->nan = from;
    f->nan_point = point;
    f->nan_step = s->step;
  }
}

/* Writes the snapshot for all writers that need it. */
static StcStatus write_snapshot(Feed *f, const Snapshot *s) {
  StcStatus status = STC_OK;
  for (int i = 0; i < f->nwriters && !status; i++)
    if (s->wanted[i] && !f->writers[i].failed) {
      const void *data[f->writers[i].nsources];
      status =
          s->wanted[i] == WRITTEN ? write_one(f, &f->writers[i], s, data) : find_values(f, &f->writers[i], s, data);
      if (!status)
        look_for_nan(f, &f->writers[i], s, data);
    }
  return status;
}

/* Returns the loans of the snapshot to the plan. */
static void return_loans(const Feed *f, const Snapshot *s) {
  for (int i = 0; i < f->nsources; i++) {
    if (s->loans[i])
      loan_return(s->loans[i]);
    s->loans[i] = NULL;
  }
}

/* The main function of the thread: after an error it only removes steps from the ring. */
static void *feed_main(void *arg) {
  Feed *f = arg;
  pthread_mutex_lock(&f->lock);
  for (;;) {
    while (!f->count && !f->ended)
      pthread_cond_wait(&f->changed, &f->lock);
    if (!f->count)
      break;
    StcStatus s = f->status;
    pthread_mutex_unlock(&f->lock);
    s = s ? s : write_snapshot(f, &f->ring[f->head]);
    return_loans(f, &f->ring[f->head]);
    pthread_mutex_lock(&f->lock);
    f->status = s;
    f->head = (f->head + 1) % DEPTH;
    f->count--;
    pthread_cond_signal(&f->changed);
  }
  pthread_mutex_unlock(&f->lock);
  return NULL;
}

/* ---------------------------------------------------------------- taking copies */

/* Waits until at most `most` steps are unwritten; returns the first error of the thread, and reports its message.
 * Without an error it does not read the message, which the thread may be writing. */
static StcStatus wait_for_room(Feed *f, int most) {
  pthread_mutex_lock(&f->lock);
  while (f->count > most)
    pthread_cond_wait(&f->changed, &f->lock);
  StcStatus s = f->status;
  pthread_mutex_unlock(&f->lock);
  if (s && f->letters.text[0])
    context_error(f->context, "%s", f->letters.text);
  if (s)
    f->letters.text[0] = 0;
  return s;
}

/* Memory for a copy (malloc): in large pages, all of them touched, so that no copy waits for the system to provide
 * them. */
static void *stage_new(size_t bytes) {
  size_t rounded = (bytes / FILE_PAGE + 1) * FILE_PAGE;
  void *p = rounded < bytes ? NULL : aligned_alloc(FILE_PAGE, rounded);
  if (p && rounded >= FILE_LARGE)
    madvise(p, rounded, MADV_HUGEPAGE);
  if (p)
    memset(p, 0, rounded);
  return p;
}

/* Takes source `i` from the plan: borrows it or makes a copy. */
static StcStatus take_source(const Feed *f, StcPlan *plan, int i, Snapshot *s) {
  const Source *from = &f->sources[i];
  size_t bytes = (size_t)from->info.bytes;
  if (f->lent[i])
    return plan_lend(plan, from->at.field, from->at.component, &s->loans[i]);
  if (from->copy)
    return from->copy(from, plan, &s->data[i]);
  if (!s->data[i])
    s->data[i] = stage_new(bytes);
  if (!s->data[i])
    return computer_no_room(f->context, "a copy of", from->info.name, (double)bytes);
  if (from->at.array >= 0)
    return plan_get_array(plan, from->at.array, s->data[i], bytes);
  return from->at.component >= 0 ? stc_plan_get_component(plan, from->at.field, from->at.component, s->data[i], bytes)
                                 : stc_plan_get(plan, from->at.field, s->data[i], bytes);
}

/* Does one of the writers of the snapshot need source `i`? */
static bool is_needed(const Feed *f, const Snapshot *s, int i) {
  for (int k = 0; k < f->nwriters; k++)
    for (int n = 0; s->wanted[k] && n < f->writers[k].nsources; n++)
      if (f->writers[k].sources[n] == &f->sources[i])
        return true;
  return false;
}

/* Finds the writers that need the step; false if none does. */
static bool find_wanted(Feed *f, Snapshot *s, int64_t step, int64_t every) {
  bool any = false;
  for (int i = 0; i < f->nwriters; i++) {
    Writer *w = &f->writers[i];
    bool due = every > 0 ? w->every == every : every == EVERY_LAST ? w->last : w->stopped;
    bool again = every == EVERY_LAST && f->turns > 1 && w->format->ending;
    s->wanted[i] = !due ? UNWANTED : w->written != step ? WRITTEN : again ? LOOKED_AT : UNWANTED;
    any |= s->wanted[i] != UNWANTED;
    if (due)
      w->written = step;
  }
  s->step = step;
  s->last = every <= 0;
  s->turn = f->turns;
  f->turns += any;
  return any;
}

/* The snapshot behind the unwritten ones. The lock is needed because the thread changes head and count: a new head with
 * an old count would give the wrong snapshot. */
static Snapshot *next_snapshot(Feed *f) {
  pthread_mutex_lock(&f->lock);
  Snapshot *s = &f->ring[(f->head + f->count) % DEPTH];
  pthread_mutex_unlock(&f->lock);
  return s;
}

StcStatus feed_step(Feed *f, StcPlan *plan, int64_t step, int64_t every) {
  StcStatus status = wait_for_room(f, DEPTH - 1);
  Snapshot *s = next_snapshot(f);
  if (status || !find_wanted(f, s, step, every))
    return status;
  for (int i = 0; i < f->nsources && !status; i++)
    if (is_needed(f, s, i))
      status = take_source(f, plan, i, s);
  if (status)
    return return_loans(f, s), status;
  pthread_mutex_lock(&f->lock);
  f->count++;
  pthread_cond_signal(&f->changed);
  pthread_mutex_unlock(&f->lock);
  return STC_OK;
}

/* ---------------------------------------------------------------- opening and closing */

/* Calls the format's open or close of the writer `arg`. */
static StcStatus open_guarded(void *arg) { return ((Writer *)arg)->format->open(arg); }
static StcStatus close_guarded(void *arg) { return ((Writer *)arg)->format->close(arg); }

StcStatus writer_close(Writer *w) {
  StcStatus s = STC_OK;
  if (w->opened && !w->steps && w->from < 0)
    writer_give_up(w);
  else if (w->opened && w->format->close)
    s = workspace_guard(&w->w, close_guarded, w);
  if (s)
    writer_give_up(w);
  workspace_close(&w->w);
  return s;
}

/* Opens one writer. */
static StcStatus open_writer(Feed *f, Writer *w) {
  w->context = f->own;
  w->written = -1;
  if (!workspace_open(&w->w, f->own, NULL))
    return context_error(f->own, "out of memory"), STC_MEMORY;
  StcStatus s = w->format->open ? workspace_guard(&w->w, open_guarded, w) : STC_OK;
  w->opened = !s;
  w->failed = s != STC_OK;
  return s;
}

/* Does one of the writers have source `i`? Sources can belong to writers of another feed. */
static bool is_used(const Feed *f, int i) {
  bool used = false;
  for (int k = 0; k < f->nwriters; k++)
    for (int n = 0; n < f->writers[k].nsources; n++)
      used |= f->writers[k].sources[n] == &f->sources[i];
  return used;
}

/* Allocates the snapshots; if several are needed, also the memory for their copies or loans. */
static bool make_ring(Feed *f, StcPlan *plan) {
  bool ok = (f->lent = calloc((size_t)f->nsources + 1, sizeof *f->lent)) != NULL, often = false;
  for (int i = 0; i < f->nwriters; i++)
    often |= f->writers[i].every > 0;
  for (int k = 0; k < f->nsources && ok; k++)
    f->lent[k] = is_used(f, k) && !f->sources[k].copy && f->sources[k].at.array < 0 &&
                 plan_may_lend(plan, f->sources[k].at.field, f->sources[k].at.component, often ? DEPTH : 0);
  for (int i = 0; i < DEPTH; i++) {
    f->ring[i].wanted = calloc((size_t)f->nwriters + 1, sizeof *f->ring[i].wanted);
    f->ring[i].data = calloc((size_t)f->nsources + 1, sizeof(void *));
    f->ring[i].loans = calloc((size_t)f->nsources + 1, sizeof(Loan *));
    ok = ok && f->ring[i].wanted && f->ring[i].data && f->ring[i].loans;
    for (int k = 0; k < f->nsources && ok && often; k++)
      if (is_used(f, k) && !f->sources[k].copy && !f->lent[k])
        ok = (f->ring[i].data[k] = stage_new((size_t)f->sources[k].info.bytes)) != NULL;
  }
  return ok;
}

/* Opens the writers and starts the thread. */
static StcStatus start(Feed *f, StcPlan *plan) {
  if (!f->own || !make_ring(f, plan))
    return context_error(f->context, "out of memory"), STC_MEMORY;
  for (int i = 0; i < f->nwriters; i++) {
    StcStatus s = open_writer(f, &f->writers[i]);
    if (s)
      return context_error(f->context, "%s", f->letters.text), s;
  }
  f->started = pthread_create(&f->thread, NULL, feed_main, f) == 0;
  return f->started ? STC_OK : (context_error(f->context, "the system has no thread left to write files"), STC_MEMORY);
}

StcStatus feed_open(StcPlan *plan, int n, Writer *writers, int nsources, const Source *sources, Feed **out) {
  StcContext *c = plan->w.context;
  Feed *f = *out = calloc(1, sizeof *f);
  if (!f)
    return context_error(c, "out of memory"), STC_MEMORY;
  *f = (Feed){.context = c, .nwriters = n, .writers = writers, .nsources = nsources, .sources = sources};
  f->own = stc_context_new(&(StcConfig){.message = keep_message, .user = &f->letters});
  if (f->own)
    f->own->stop = f->context->stop;
  pthread_mutex_init(&f->lock, NULL);
  pthread_cond_init(&f->changed, NULL);
  StcStatus s = start(f, plan);
  if (s) {
    feed_close(f, NULL);
    *out = NULL;
  }
  return s;
}

/* Frees all that belongs to the feed. */
static void feed_free(Feed *f) {
  for (int i = 0; i < DEPTH; i++) {
    for (int k = 0; k < f->nsources && f->ring[i].data; k++)
      free(f->ring[i].data[k]);
    free(f->ring[i].data);
    free(f->ring[i].wanted);
    free(f->ring[i].loans);
  }
  free(f->lent);
  pthread_cond_destroy(&f->changed);
  pthread_mutex_destroy(&f->lock);
  if (f->own)
    stc_context_free(f->own);
  free(f);
}

StcStatus feed_close(Feed *f, int64_t *steps) {
  StcStatus status = f->started ? wait_for_room(f, 0) : STC_OK;
  pthread_mutex_lock(&f->lock);
  f->ended = true;
  pthread_cond_signal(&f->changed);
  pthread_mutex_unlock(&f->lock);
  if (f->started)
    pthread_join(f->thread, NULL);
  for (int i = 0; i < f->nwriters; i++) {
    StcStatus s = writer_close(&f->writers[i]);
    if (s && !status && f->letters.text[0])
      context_error(f->context, "%s", f->letters.text);
    status = status ? status : s;
    if (steps)
      *steps += f->writers[i].steps;
  }
  if (f->nan)
    nan_warn(f->context, f->nan->sampled ? &f->nan->all : &f->nan->info, f->nan_point, f->nan_step);
  feed_free(f);
  return status;
}
