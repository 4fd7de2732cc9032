/* driver/view/view-values.c: the values from which pictures are drawn. If possible the plan lends them: on the CPU
 * nothing is copied, on GPUs the copy is made beside the run. Else they are copied. */
#include "driver/view/view.h"

#include <stdlib.h>
#include <string.h>

/* Does somebody look at this? While a run is paused, or there is none, pages do not ask again. */
static bool is_live(const StcView *v, const Looker *l, double now) {
  return l->used && (v->state != VIEW_RUNNING || now - l->asked < LOOKS_FOR);
}

bool view_is_looked_at(const StcView *v) {
  double now = clock_seconds();
  for (int i = 0; i < MAX_WISHES; i++)
    if (is_live(v, &v->lookers[i], now))
      return true;
  return false;
}

/* Are these the values of the wish's component, all of them or those for the wish? */
static bool serves(const Values *x, const Wish *w) {
  return x->field == w->field && x->component == w->component && (!x->some || memcmp(&x->wish, w, sizeof *w) == 0);
}

Values *view_find_values(StcView *v, const Wish *w) {
  for (int i = 0; i < v->nvalues; i++)
    if (v->values[i].there && serves(&v->values[i], w))
      return &v->values[i];
  return NULL;
}

bool view_lacks_values(const StcView *v) {
  double now = clock_seconds();
  for (int i = 0; i < MAX_WISHES; i++) {
    const Looker *l = &v->lookers[i];
    const Values *x = view_find_values((StcView *)v, &l->wish);
    if (is_live(v, l, now) && (!x || x->step != v->plan->run.done))
      return true;
  }
  return false;
}

bool view_has_values(const StcView *v) {
  for (int i = 0; i < v->nvalues; i++)
    if (v->values[i].there)
      return true;
  return false;
}

/* The description of a wish's field. */
static const StcFieldInfo *info_of(const StcView *v, const StcPlan *p, const Wish *w) {
  return &v->infos[p->program->declared[w->field].first + w->component];
}

/* Is it so long since values were taken that copying `bytes` bytes stays within the share of time for pictures? */
static bool affords(const StcView *v, double bytes) {
  double speed = 1e9; /* of copies, bytes a second at least */
  return clock_seconds() - v->taken_at >= bytes / speed * PAINT_SHARE;
}

/* The number of lines that are lent for the wish; 0: the whole component is taken. After a run no more values can be
 * taken, while pages may ask for other lines, so the whole component is taken then if that is cheap. */
static int lines_of(const StcView *v, const StcPlan *p, const Wish *w, Lines lines[1 + MAX_PINS]) {
  const StcFieldInfo *f = info_of(v, p, w);
  bool all = v->state == VIEW_IDLE && affords(v, (double)f->bytes);
  return !all && plan_can_lend_lines(p, w->field, w->component) ? wish_lines(f, w, lines) : 0;
}

/* The number of bytes that are copied for the wish. */
static double copied_for(const StcView *v, const StcPlan *p, const Wish *w) {
  Lines lines[1 + MAX_PINS];
  if (lines_of(v, p, w, lines) > 0)
    return (double)lines[0].count * (double)lines[0].length;
  return p->device.kind->stage_new || !plan_can_lend(p, w->field, w->component) ? (double)info_of(v, p, w)->bytes : 0;
}

bool view_is_cheap(const StcView *v, const StcPlan *p) {
  double bytes = 0;
  for (int i = 0; i < MAX_WISHES; i++)
    if (v->lookers[i].used)
      bytes += copied_for(v, p, &v->lookers[i].wish);
  return affords(v, bytes);
}

/* Finds memory for the values of a component. */
static Values *new_values(StcView *v, int field, int component) {
  Values *x = NULL;
  for (int i = 0; i < v->nvalues && !x; i++)
    if (!v->values[i].there && v->values[i].field == field && v->values[i].component == component)
      x = &v->values[i];
  for (int i = 0; i < v->nvalues && !x && v->nvalues == MAX_WISHES; i++)
    if (!v->values[i].there)
      x = &v->values[i];
  if (!x && v->nvalues < MAX_WISHES)
    x = &v->values[v->nvalues++];
  if (x)
    x->field = field, x->component = component;
  return x;
}

/* Copies the component's values. */
static StcStatus copy_values(StcView *v, StcPlan *p, Values *x) {
  size_t bytes = (size_t)x->info.bytes;
  if (x->room < bytes) {
    free(x->copy);
    x->room = 0;
    x->copy = malloc(bytes);
    if (!x->copy)
      return computer_no_room(v->context, "a picture of", x->info.name, (double)bytes);
    x->room = bytes;
  }
  return stc_plan_get_component(p, x->field, x->component, x->copy, bytes);
}

/* Does the plan lend the component now? On GPUs the memory for loans is allocated when the component is first looked
 * at. */
static bool is_lent(StcView *v, StcPlan *p, int field, int component) {
  signed char *lends = &v->lends[p->program->declared[field].first + component];
  if (!plan_can_lend(p, field, component))
    return false;
  if (!*lends)
    *lends = plan_may_lend(p, field, component, p->device.kind->stage_new ? 1 : 0) ? 1 : -1;
  return *lends > 0;
}

/* Takes a component's values: all, or those that the wish needs. */
static StcStatus take_one(StcView *v, StcPlan *p, const Wish *w, Values *x) {
  Lines lines[1 + MAX_PINS];
  int n = lines_of(v, p, w, lines);
  x->info = *info_of(v, p, w);
  x->wish = *w;
  x->loan = NULL;
  StcStatus s = n ? plan_lend_lines(p, x->field, x->component, n, lines, &x->loan) : STC_OK;
  x->some = x->loan != NULL;
  if (s || x->some)
    ;
  else if (is_lent(v, p, x->field, x->component))
    s = plan_lend(p, x->field, x->component, &x->loan);
  else
    s = copy_values(v, p, x);
  x->step = p->run.done;
  x->there = !s;
  return s;
}

/* Takes the values for all wishes. The caller does not hold the lock: `drawing` keeps others away. */
static StcStatus take_all(StcView *v, StcPlan *p, const Wish *wishes, int n) {
  StcStatus s = STC_OK;
  for (int i = 0; i < n && !s; i++) {
    if (view_find_values(v, &wishes[i]))
      continue;
    Values *x = new_values(v, wishes[i].field, wishes[i].component);
    if (x)
      s = take_one(v, p, &wishes[i], x);
  }
  return s;
}

StcStatus view_take(StcView *v, StcPlan *p) {
  Wish wishes[MAX_WISHES];
  int n = 0;
  double now = clock_seconds();
  view_give_back(v);
  for (int i = 0; i < MAX_WISHES; i++)
    if (is_live(v, &v->lookers[i], now))
      wishes[n++] = v->lookers[i].wish;
  v->drawing = true;
  pthread_mutex_unlock(&v->lock);
  StcStatus s = take_all(v, p, wishes, n);
  pthread_mutex_lock(&v->lock);
  v->drawing = false;
  v->held += clock_seconds() - now;
  v->cost += clock_seconds() - now;
  v->taken++;
  v->taken_at = clock_seconds();
  pthread_cond_broadcast(&v->changed);
  return s;
}

void view_give_back(StcView *v) {
  while (v->drawing)
    pthread_cond_wait(&v->changed, &v->lock);
  for (int i = 0; i < v->nvalues; i++) {
    if (v->values[i].loan)
      loan_return(v->values[i].loan);
    v->values[i].loan = NULL;
    v->values[i].there = false;
  }
}

void view_free_values(StcView *v) {
  view_give_back(v);
  for (int i = 0; i < v->nvalues; i++)
    free(v->values[i].copy);
  v->nvalues = 0;
}
