/* driver/view/view-ask.c: the requests of pages: every number is checked before it is used. */
#include "driver/view/view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- numbers */

/* Parses exactly `n` integers separated by commas; false if `s` has another form. If `s` is NULL, the integers stay
 * unchanged. */
static bool integers(const char *s, int64_t *out, int n) {
  for (int i = 0; s && i < n; i++) {
    char *end;
    errno = 0;
    out[i] = strtoll(s, &end, 10);
    if (end == s || errno || *end != (i + 1 < n ? ',' : 0))
      return false;
    s = end + 1;
  }
  return true;
}

/* Parses one integer that fits an int. */
static bool small_integer(const char *s, int *out) {
  int64_t n = *out;
  bool ok = integers(s, &n, 1) && n >= -1 && n <= 1 << 30;
  *out = ok ? (int)n : 0;
  return ok;
}

/* ---------------------------------------------------------------- pictures */

/* Parses the points to follow, "y,x;y,x". */
static bool read_pins(const char *s, int rank, Wish *w) {
  char one[128];
  while (s && *s) {
    size_t n = strcspn(s, ";");
    if (w->npins == MAX_PINS || n >= sizeof one)
      return false;
    memcpy(one, s, n);
    one[n] = 0;
    if (!integers(one, w->pins[w->npins++], rank))
      return false;
    s += n + (s[n] == ';');
  }
  return true;
}

bool ask_wish(const StcView *v, Argument argument, void *request, Wish *w) {
  StcPlan *p = v->plan;
  memset(w, 0, sizeof *w);
  w->side = MAX_SIDE;
  if (!small_integer(argument(request, "field"), &w->field) || w->field < 0 || w->field >= p->program->ndeclared)
    return false;
  const Declared *d = &p->program->declared[w->field];
  if (!small_integer(argument(request, "component"), &w->component) || w->component < 0 ||
      w->component >= d->ncomponents)
    return false;
  const StcFieldInfo *f = &v->infos[d->first + w->component];
  return !f->temp && small_integer(argument(request, "cut"), &w->cut) && integers(argument(request, "at"), &w->at, 1) &&
         integers(argument(request, "box"), w->box, 4) && small_integer(argument(request, "side"), &w->side) &&
         read_pins(argument(request, "pins"), f->rank, w) && wish_fits(f, w);
}

/* The looker for the wish: the one with the same wish, else a free one, else one that has not asked for long; NULL if
 * all are in use. */
static Looker *find_looker(StcView *v, const Wish *w, double now) {
  Looker *found = NULL;
  for (int i = 0; i < MAX_WISHES; i++) {
    Looker *l = &v->lookers[i];
    if (l->used && memcmp(&l->wish, w, sizeof *w) == 0)
      return l;
    if (!l->used || (now - l->asked > 1 && (!found || (found->used && l->asked < found->asked))))
      found = !found || found->used ? l : found;
  }
  if (!found)
    return NULL;
  frame_free(found->frame);
  *found = (Looker){.used = true, .wish = *w, .drawn = -1};
  return found;
}

ViewFrame *ask_frame(StcView *v, const Wish *w, int64_t have, bool *full) {
  double now = clock_seconds();
  Looker *l = find_looker(v, w, now);
  *full = !l;
  if (!l)
    return NULL;
  l->asked = now;
  pthread_cond_broadcast(&v->changed);
  if (!l->frame || l->number <= have)
    return NULL;
  l->frame->users++;
  return l->frame;
}

/* ---------------------------------------------------------------- commands */

/* Is the text a valid value of a param: a number, or true or false? */
static bool is_value(const char *s, Type t) {
  char *end;
  if (t == TY_BOOL)
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0;
  double x = strtod(s, &end);
  return end != s && !*end && isfinite(x) && strlen(s) < 40 && !isspace((unsigned char)*s);
}

/* Records a new value for a param; it replaces one that waits already. */
static const char *order_set(StcView *v, const char *name, const char *value) {
  const Slider *slider = NULL;
  const Module *m = v->plan->module;
  for (int i = 0; i < v->nsliders && name; i++)
    if (strcmp(m->scalars[v->sliders[i].scalar].name, name) == 0)
      slider = &v->sliders[i];
  if (!slider)
    return "there is no such param that can be changed";
  if (v->state == VIEW_IDLE)
    return "no run is under way";
  if (v->bound)
    return v->bound;
  if (!value || !is_value(value, m->scalars[slider->scalar].type))
    return "that is no value of the param";
  size_t room = strlen(name) + strlen(value) + 2, at = 0;
  char *text = malloc(room);
  if (!text)
    return "out of memory";
  snprintf(text, room, "%s=%s", name, value);
  while ((int)at < v->nsets && strncmp(v->sets[at], text, strlen(name) + 1) != 0)
    at++;
  if (at == MAX_SETS)
    return free(text), "too many params wait to be changed";
  if ((int)at < v->nsets)
    free(v->sets[at]);
  v->nsets += (int)at == v->nsets;
  v->sets[at] = text;
  return NULL;
}

/* Records that the run must start again. */
static const char *order_restart(StcView *v) {
  if (v->bound || v->no_restart)
    return v->bound ? v->bound : v->no_restart;
  v->restart = true;
  return NULL;
}

/* Records that some steps are to be made. */
static const char *order_steps(StcView *v, const char *number) {
  int64_t n = 1;
  if (!integers(number, &n, 1) || n < 1 || n > INT32_MAX)
    return "a number of steps is at least 1";
  v->paused = true;
  v->steps = n;
  return NULL;
}

/* Does what ask_order does, with the lock held. */
static const char *order(StcView *v, const char *what, Argument argument, void *request) {
  v->said[0] = 0;
  if (strcmp(what, "set") == 0)
    return order_set(v, argument(request, "name"), argument(request, "value"));
  if (strcmp(what, "end") == 0)
    return v->stays ? (v->end = true, NULL) : "the run is not this page's to end";
  if (v->state == VIEW_IDLE)
    return "no run is under way";
  if (strcmp(what, "pause") == 0)
    return v->paused = true, NULL;
  if (strcmp(what, "play") == 0)
    return v->paused = v->stepping = false, NULL;
  if (strcmp(what, "step") == 0)
    return order_steps(v, argument(request, "n"));
  return strcmp(what, "restart") == 0 ? order_restart(v) : "there is no such order";
}

const char *ask_order(StcView *v, const char *what, Argument argument, void *request) {
  pthread_mutex_lock(&v->lock);
  const char *why = order(v, what, argument, request);
  view_tell(v);
  pthread_mutex_unlock(&v->lock);
  return why;
}
