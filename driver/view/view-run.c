/* driver/view/view-run.c: the work of the run's thread for a view: it lends values, pauses, makes single steps, changes
 * params, starts the run again. It never waits for a page. */
#include "driver/files/files.h"
#include "driver/view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Milliseconds after which a paused run checks whether it must end. */
enum { LOOK_AGAIN = 50 };

/* ---------------------------------------------------------------- the state */

/* Records the number of steps, and the speed, measured over at least a quarter of a second. */
static void note_step(StcView *v, int64_t done) {
  double now = clock_seconds(), quarter = 1.0 / 4;
  v->step = done;
  if (done < v->rated_step || v->rated_at <= 0) {
    v->rated_step = done;
    v->rated_at = now;
  } else if (now - v->rated_at >= quarter) {
    v->rate = (double)(done - v->rated_step) / (now - v->rated_at);
    v->rated_step = done;
    v->rated_at = now;
  }
}

/* Changes the state and has pages told of it. */
static void set_state(StcView *v, ViewState state) {
  if (v->state != state) {
    v->state = state;
    v->rated_at = 0;
    v->rate = state == VIEW_RUNNING ? v->rate : 0;
    view_tell(v);
  }
}

/* Do pages request something for which the run must end, perhaps to continue in another way? */
static bool must_end(const StcView *v) { return v->restart || v->end || (v->nsets && !v->paused); }

/* Has the observer called after `steps` more steps. */
static void watch_behind(StcView *v, int64_t steps) {
  int64_t done = v->plan->run.done;
  v->watch->every = steps > INT64_MAX - done ? INT64_MAX : done + steps;
}

/* ---------------------------------------------------------------- waiting */

/* Waits a moment for a change. */
static void wait_a_moment(StcView *v) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_AGAIN * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_cond_timedwait(&v->changed, &v->lock, &until);
}

/* Should the paused run stay paused? */
static bool waits(const StcView *v) { return v->paused && !v->steps && !v->over && !must_end(v); }

/* Waits while the run is paused, and takes the values that pages request meanwhile; the caller holds the lock. */
static StcStatus wait_paused(StcView *v, StcPlan *p, bool values) {
  StcStatus s = STC_OK;
  double since = clock_seconds();
  if (!waits(v))
    return STC_OK;
  note_step(v, p->run.done);
  set_state(v, VIEW_PAUSED);
  while (!s && waits(v)) {
    if (values && view_lacks_values(v))
      s = view_take(v, p);
    if (!s && waits(v))
      wait_a_moment(v);
    if (!s && stop_asked(p->run.stop))
      s = STC_INTERRUPTED;
  }
  view_give_back(v);
  v->visit.held += clock_seconds() - since;
  set_state(v, VIEW_RUNNING);
  return s;
}

/* Begins the requested single steps. */
static void begin_steps(StcView *v) {
  if (!v->steps)
    return;
  watch_behind(v, v->steps);
  v->steps = 0;
  v->paused = false;
  v->stepping = true;
}

/* Waits if the run is paused; returns whether the run should go on. Requested changes of params are made first, before
 * any step. */
static StcStatus stop_here(StcView *v, StcPlan *p, bool values) {
  StcStatus s = wait_paused(v, p, values);
  if (s)
    return s;
  if (v->steps && v->nsets)
    v->paused = false;
  if (must_end(v))
    return STC_INTERRUPTED;
  begin_steps(v);
  return STC_OK;
}

/* Takes values if a picture is due, and the painter has finished with the earlier ones. */
static StcStatus show(StcView *v, StcPlan *p) {
  if (v->drawing || !view_may_draw(v) || !view_is_looked_at(v))
    return STC_OK;
  return view_has_values(v) ? STC_OK : view_take(v, p);
}

/* ---------------------------------------------------------------- callbacks of the plan */

/* In a cut grid all values are available only when the observer is called: has it called soon if somebody looks. */
static void watch_soon(StcView *v) {
  int64_t soon = (int64_t)(v->rate / MOST_PICTURES);
  if (v->paused)
    watch_behind(v, 1);
  else if (!v->stepping && view_may_draw(v) && view_is_looked_at(v))
    watch_behind(v, soon > 1 ? soon : 1);
}

/* Called between two pieces of a run (Visit.between). */
static StcStatus between(void *user, StcPlan *p, int64_t end) {
  StcView *v = user;
  pthread_mutex_lock(&v->lock);
  v->goal = end;
  note_step(v, p->run.done);
  StcStatus s = must_end(v) ? STC_INTERRUPTED : STC_OK;
  if (!s && p->split)
    watch_soon(v);
  else if (!s && p->run.done < end && !p->run.met)
    s = stop_here(v, p, true);
  if (!s && !p->split)
    s = show(v, p);
  view_tell(v);
  pthread_mutex_unlock(&v->lock);
  return s;
}

/* The observer: called after the requested number of steps, and before the first step (StcWatch). */
static StcStatus watched(void *user, StcPlan *p, int64_t step) {
  StcView *v = user;
  if (!v)
    return STC_OK;
  pthread_mutex_lock(&v->lock);
  bool counted = v->watch->every == step;
  v->watch->every = counted ? INT64_MAX : v->watch->every;
  v->paused |= counted && v->stepping;
  v->stepping &= !counted;
  note_step(v, step);
  StcStatus s = show(v, p);
  if (!s && step < v->goal)
    s = stop_here(v, p, true);
  pthread_mutex_unlock(&v->lock);
  return s;
}

/* ---------------------------------------------------------------- starting again */

/* Copies the initial values of the component; false if there is no memory. */
static bool keep_component(StcView *v, StcPlan *p, int field, int component) {
  StcFieldInfo f;
  double left, total;
  computer_room(&left, &total);
  if (stc_plan_component(p, field, component, &f) || (double)f.bytes > left / 2)
    return false;
  Given *g = calloc(1, sizeof *g);
  void *values = malloc((size_t)f.bytes + 1);
  if (!g || !values || stc_plan_get_component(p, field, component, values, (size_t)f.bytes))
    return free(g), free(values), false;
  *g = (Given){field, component, (size_t)f.bytes, values, v->given};
  v->given = g;
  return true;
}

/* Copies the scalar in launch-time array `array`; false if there is no memory. */
static bool keep_scalar(StcView *v, StcPlan *p, int array) {
  const ParamArray *a = &p->module->param_arrays[array];
  size_t bytes = (size_t)param_array_extent(a, p->scalars) * sizeof(double);
  Given *g = calloc(1, sizeof *g);
  void *values = malloc(bytes + 1);
  if (!g || !values || stc_plan_scalars(p, a->name, values, bytes))
    return free(g), free(values), false;
  *g = (Given){-1, array, bytes, values, v->given};
  v->given = g;
  return true;
}

/* Frees these copies. */
static void drop_given(StcView *v) {
  for (Given *g = v->given, *next; g; g = next) {
    next = g->next;
    free(g->values);
    free(g);
  }
  v->given = NULL;
}

/* Before the plan's first step: copies the initial fields and scalars, except series, which stay. */
static void keep_given(StcView *v, StcPlan *p) {
  bool ok = true;
  drop_given(v);
  for (int f = 0; f < p->program->ndeclared && ok; f++) {
    const Declared *d = &p->program->declared[f];
    for (int c = 0; c < d->ncomponents && ok; c++)
      if (p->bound.component_given[d->first + c] && !plan_has_series(p, f))
        ok = keep_component(v, p, f, c);
  }
  for (int i = 0; i < p->module->nparam_arrays && ok; i++)
    if (p->bound.array_given[i] && p->module->param_arrays[i].role == ARRAY_STATE)
      ok = keep_scalar(v, p, i);
  v->given_kept = ok;
}

/* The reason why this run cannot start again; NULL if it can. */
static const char *why_no_restart(const StcPlan *p, bool kept) {
  return p->run.first > 0 ? "the run goes on from a later step"
         : kept           ? NULL
                          : "there is no memory to keep its start in";
}

/* Sets the plan's values from the copy `g`. */
static StcStatus give_again(StcPlan *p, const Given *g) {
  if (g->field >= 0)
    return stc_plan_set_component(p, g->field, g->component, g->values, g->size);
  return stc_plan_set_scalars(p, p->module->param_arrays[g->component].name, g->values, g->size);
}

/* Sets the plan to step 0, with its initial fields and scalars. */
static StcStatus begin_anew(StcView *v, StcPlan *p) {
  StcStatus s = stc_plan_restart(p);
  for (const Given *g = v->given; g && !s; g = g->next)
    s = give_again(p, g);
  v->given_again = true;
  return s;
}

/* Called when a run begins (Visit.begin). */
static void begin(void *user, StcPlan *p, int64_t steps) {
  StcView *v = user;
  bool first = !p->run.inits_done && p->run.done == p->run.first;
  pthread_mutex_lock(&v->lock);
  view_give_back(v);
  v->from = p->run.done;
  v->goal = p->run.done + steps;
  v->step = p->run.done;
  set_state(v, VIEW_RUNNING);
  begin_steps(v);
  pthread_mutex_unlock(&v->lock);
  if (first && !v->given_again)
    keep_given(v, p);
  v->given_again = false;
  pthread_mutex_lock(&v->lock);
  if (!v->no_restart)
    v->no_restart = why_no_restart(p, v->given_kept);
  view_tell(v);
  pthread_mutex_unlock(&v->lock);
}

/* Sets the requested params, and reports those that are refused. */
static void take_sets(StcView *v, StcPlan *p) {
  for (int i = 0; i < v->nsets; i++) {
    const char *one = v->sets[i];
    v->said[0] = 0;
    if (plan_set_params(p, 1, &one))
      snprintf(v->said, sizeof v->said, "the program does not allow %s", one);
    free(v->sets[i]);
  }
  v->nsets = 0;
}

/* The work after a run that was ended for a request. The caller holds the lock, which is released while fields are set.
 */
static VisitEnd turn(StcView *v, StcPlan *p, StcStatus *s, int64_t *steps) {
  bool anew = v->restart;
  v->restart = false;
  take_sets(v, p);
  *s = STC_OK;
  if (anew) {
    curves_clear(v);
    v->stepping = false;
    v->watch->every = INT64_MAX;
    view_give_back(v); /* setting fields waits for loans, and for the painter */
    pthread_mutex_unlock(&v->lock);
    *s = begin_anew(v, p);
    pthread_mutex_lock(&v->lock);
    v->goal = v->asked ? p->run.first + v->asked : v->goal;
  }
  *steps = v->goal - p->run.done;
  return *s ? VISIT_ENDS : anew ? VISIT_BEGINS_ANEW : VISIT_GOES_ON;
}

/* Called when a run has ended (Visit.ended). After the last run pages still see its values, as far as the plan lends
 * them. */
static VisitEnd ended(void *user, StcPlan *p, StcStatus *s, int64_t *steps) {
  StcView *v = user;
  VisitEnd next = VISIT_ENDS;
  pthread_mutex_lock(&v->lock);
  bool asked = *s == STC_INTERRUPTED && !stop_asked(p->run.stop) && !v->end && !v->over;
  if (asked && (v->restart || v->nsets))
    next = turn(v, p, s, steps);
  if (next == VISIT_ENDS) {
    view_give_back(v);
    v->paused = v->stepping = v->restart = false;
    v->steps = 0;
    v->watch->every = INT64_MAX;
    note_step(v, p->run.done);
    set_state(v, v->stays && *s == STC_OK ? VIEW_DONE : VIEW_IDLE);
    if (!*s && view_is_looked_at(v) && (view_may_draw(v) || view_is_cheap(v, p)))
      view_take(v, p);
    view_tell(v);
  }
  pthread_mutex_unlock(&v->lock);
  return next;
}

/* ---------------------------------------------------------------- the plan's requests */

/* Finds the observer of an earlier view of the plan, or makes one. */
static StcStatus find_watch(StcView *v) {
  StcPlan *p = v->plan;
  for (v->watch = p->observers.watches; v->watch && v->watch->fn != watched; v->watch = v->watch->next)
    ;
  StcStatus s = v->watch ? STC_OK : plan_watch(p, INT64_MAX, false, watched, v);
  for (Watch *w = p->observers.watches; w && !s; w = w->next)
    v->watch = w->fn == watched ? w : v->watch;
  if (!s)
    v->watch->user = v;
  return s;
}

/* The plan will overwrite the values that it lent (Visit.recall): returns them; while the plan runs, the pictures are
 * drawn first. */
static void recall(void *user) {
  StcView *v = user;
  pthread_mutex_lock(&v->lock);
  if (v->state != VIEW_RUNNING)
    view_give_back(v);
  pthread_mutex_unlock(&v->lock);
}

/* The plan will be freed (Visit.close). */
static void close_view(void *user) { stc_view_close(user); }

StcStatus view_attach(StcView *v) {
  StcStatus s = find_watch(v);
  if (s)
    return s;
  v->visit =
      (Visit){.user = v, .begin = begin, .between = between, .ended = ended, .recall = recall, .close = close_view};
  v->plan->observers.visit = &v->visit;
  v->step = v->from = v->goal = v->plan->run.done;
  v->no_restart = v->plan->run.inits_done ? "the run had begun before the window was opened" : NULL;
  curves_attach(v);
  return STC_OK;
}

void view_detach(StcView *v) {
  if (v->plan->observers.visit != &v->visit)
    return;
  v->plan->observers.visit = NULL;
  v->watch->user = NULL;
  v->watch->every = INT64_MAX;
  curves_detach(v);
  drop_given(v);
}

void view_will_stay(StcView *v, const char *bound) {
  pthread_mutex_lock(&v->lock);
  v->stays = true;
  v->bound = bound;
  v->state = VIEW_RUNNING; /* it begins now, so that commands of pages count until it does */
  pthread_mutex_unlock(&v->lock);
}

/* ---------------------------------------------------------------- after a run */

/* Is there more to do with the plan, whose run has ended? */
static bool has_more(const StcView *v) { return v->restart || v->steps || (v->nsets && !v->paused) || !v->paused; }

/* Were there pages, and have all been closed for a while? */
static bool all_left(StcView *v, double *since) {
  double now = clock_seconds();
  *since = v->pages || !v->ever ? now : *since;
  return now - *since > LOOKS_FOR;
}

/* Waits until there is more to do; false at the end. The caller holds the lock. */
static bool wait_for_more(StcView *v, StcPlan *p) {
  double since = clock_seconds();
  v->paused = true;
  StcStatus s = STC_OK;
  while (!s && !has_more(v) && !v->end && !stop_asked(v->context->stop) && !all_left(v, &since)) {
    if (view_lacks_values(v))
      s = view_take(v, p);
    if (!s)
      wait_a_moment(v);
  }
  return !s && has_more(v) && !v->end;
}

StcStatus view_stay(StcView *v) {
  StcPlan *p = v->plan;
  StcStatus s = STC_OK;
  pthread_mutex_lock(&v->lock);
  int64_t steps = v->asked = v->goal - p->run.first, left;
  v->bound = NULL;
  set_state(v, VIEW_DONE);
  while (!s && wait_for_more(v, p)) {
    view_give_back(v);
    v->paused = false;
    turn(v, p, &s, &left);
    pthread_mutex_unlock(&v->lock);
    if (!s)
      s = stc_plan_run(p, steps, NULL);
    pthread_mutex_lock(&v->lock);
  }
  bool ends = v->end;
  pthread_mutex_unlock(&v->lock);
  return ends || s == STC_INTERRUPTED ? STC_OK : s;
}
