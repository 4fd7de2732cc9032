/* driver/view/view-curves.c: keeps the values of reductions and probes during a run, for pages. If a curve has too many
 * points, every second one is removed, and from then on only every second value is added; the last value is always
 * kept. */
#include "driver/files/files.h"
#include "driver/view/view.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of a probe's points that have a curve. */
enum { MOST_POINTS = 4 };

/* The curve of a name and a point, made when first needed; NULL if there are too many. */
static Curve *curve_of(StcView *v, const char *name, int point) {
  for (int i = 0; i < v->ncurves; i++)
    if (strcmp(v->curves[i]->name, name) == 0 && v->curves[i]->point == point)
      return v->curves[i];
  if (v->ncurves == MAX_CURVES)
    return NULL;
  Curve *c = malloc(sizeof *c);
  if (!c)
    return NULL;
  c->name = name;
  c->point = point;
  c->n = 0;
  c->stride = 1;
  c->seen = 0;
  return v->curves[v->ncurves++] = c;
}

/* Removes every second point. */
static void thin(Curve *c) {
  for (int i = 0; i < CURVE_POINTS / 2; i++) {
    c->step[i] = c->step[2 * i];
    c->value[i] = c->value[2 * i];
  }
  c->n = CURVE_POINTS / 2;
  c->stride *= 2;
}

/* Adds a value. The last value follows the kept ones, unless it is one of them. */
static void add(StcView *v, const char *name, int point, int64_t step, double value) {
  pthread_mutex_lock(&v->lock);
  Curve *c = curve_of(v, name, point);
  if (c && c->n == CURVE_POINTS)
    thin(c);
  if (c) {
    c->step[c->n] = (double)step;
    c->value[c->n] = value;
    c->n += c->seen++ % c->stride == 0;
    v->points++;
  }
  pthread_mutex_unlock(&v->lock);
}

/* Receives a reduction's value, and passes it on to the previous receiver. */
static void hear(void *user, const StcReduction *r) {
  StcView *v = user;
  if (r->member < MOST_POINTS)
    add(v, r->name, r->members ? (int)r->member : -1, r->step, r->type == STC_F64 ? r->f : (double)r->i);
  if (v->series)
    v->series(v->series_user, r);
}

/* Receives a row of a probe. */
static void hear_row(void *user, const StcProbe *row) {
  StcView *v = user;
  for (int i = 0; i < row->n && i < MOST_POINTS; i++)
    add(v, row->name, row->n > 1 ? i : -1, row->step, field_value(&(StcFieldInfo){.type = row->type}, row->values, i));
  if (v->probes)
    v->probes(v->probes_user, row);
}

void curves_attach(StcView *v) {
  StcPlan *p = v->plan;
  v->series = p->observers.series;
  v->series_user = p->observers.series_user;
  v->probes = p->observers.probes;
  v->probes_user = p->observers.probes_user;
  stc_plan_series(p, hear, v);
  if (stc_program_probe_count(p->program))
    stc_plan_probes(p, hear_row, v);
}

void curves_detach(StcView *v) {
  stc_plan_series(v->plan, v->series, v->series_user);
  if (stc_program_probe_count(v->plan->program))
    stc_plan_probes(v->plan, v->probes, v->probes_user);
  for (int i = 0; i < v->ncurves; i++)
    free(v->curves[i]);
  v->ncurves = 0;
}

void curves_clear(StcView *v) {
  for (int i = 0; i < v->ncurves; i++)
    free(v->curves[i]);
  v->ncurves = 0;
  v->cleared++;
}
