/* driver/view/view.c: opens and closes a view of a plan's runs. */
#include "driver/view/view.h"

#include <signal.h>
#include <stdlib.h>

/* Finds the params that pages may change. */
static bool find_sliders(StcView *v) {
  const StcPlan *p = v->plan;
  v->sliders = calloc((size_t)p->module->nscalars + 1, sizeof *v->sliders);
  for (int i = 0; i < p->module->nscalars && v->sliders; i++)
    if (plan_param_is_free(p, i))
      v->sliders[v->nsliders++] = (Slider){i, plan_param_use(p, i)};
  return v->sliders != NULL;
}

/* Finds the description of each component; these do not change while the plan exists. */
static bool find_components(StcView *v) {
  StcPlan *p = v->plan;
  int n = 0;
  for (int f = 0; f < p->program->ndeclared; f++)
    n += p->program->declared[f].ncomponents;
  v->lends = calloc((size_t)n + 1, sizeof *v->lends);
  v->infos = calloc((size_t)n + 1, sizeof *v->infos);
  for (int f = 0; f < p->program->ndeclared && v->lends && v->infos; f++)
    for (int c = 0; c < p->program->declared[f].ncomponents; c++)
      stc_plan_component(p, f, c, &v->infos[p->program->declared[f].first + c]);
  return v->lends && v->infos;
}

/* Starts the painter, with all signals blocked. */
static bool start_painter(StcView *v) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  v->painting = pthread_create(&v->painter, NULL, view_paint_main, v) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return v->painting;
}

/* Opens all parts of a view. */
static StcStatus open_all(StcView *v, const char *address) {
  if (!find_sliders(v) || !find_components(v) || !(v->info = view_info(v)))
    return context_error(v->context, "out of memory"), STC_MEMORY;
  StcStatus s = server_open(v, address ? address : "");
  if (!s && !start_painter(v))
    return context_error(v->context, "the system has no thread left to draw pictures"), STC_MEMORY;
  return s ? s : view_attach(v);
}

/* Checks that the plan is one that a view can show. */
static StcStatus check_plan(StcPlan *p) {
  StcStatus s = plan_join(p);
  if (!s && p->observers.visit)
    s = (context_error(p->w.context, "the plan has a view already"), STC_USAGE);
  if (!s && p->split && p->split_ops->has_ranks(p))
    s = (context_error(p->w.context, "a view shows runs of one process, and this one has several"), STC_USAGE);
  if (!s && p->module->grid.rank > GRID_RANK)
    s = (context_error(p->w.context,
                       "a view shows fields of up to three dimensions, and with that of members these have "
                       "four: leave the view out"),
         STC_USAGE);
  return s;
}

StcStatus stc_view_open(StcPlan *p, const char *address, StcView **out) {
  *out = NULL;
  StcStatus s = check_plan(p);
  if (s)
    return s;
  StcView *v = calloc(1, sizeof *v);
  if (!v)
    return context_error(p->w.context, "out of memory"), STC_MEMORY;
  v->plan = p;
  v->context = p->w.context;
  pthread_mutex_init(&v->lock, NULL);
  pthread_cond_init(&v->changed, NULL);
  s = open_all(v, address);
  if (s)
    stc_view_close(v);
  else
    *out = v;
  return s;
}

const char *stc_view_url(const StcView *v) { return v->url; }

/* Ends the painter. */
static void stop_painter(StcView *v) {
  pthread_mutex_lock(&v->lock);
  v->over = true;
  pthread_cond_broadcast(&v->changed);
  pthread_mutex_unlock(&v->lock);
  if (v->painting)
    pthread_join(v->painter, NULL);
}

void stc_view_close(StcView *v) {
  if (!v)
    return;
  if (v->plan->observers.visit == &v->visit) {
    pthread_mutex_lock(&v->lock);
    v->over = true;
    pthread_mutex_unlock(&v->lock);
    plan_join(v->plan);
  }
  server_close(v);
  stop_painter(v);
  view_detach(v);
  pthread_mutex_lock(&v->lock);
  view_free_values(v);
  pthread_mutex_unlock(&v->lock);
  for (int i = 0; i < MAX_WISHES; i++)
    frame_free(v->lookers[i].frame);
  for (int i = 0; i < v->nsets; i++)
    free(v->sets[i]);
  free(v->sliders);
  free(v->lends);
  free(v->infos);
  free(v->info);
  free(v->url);
  pthread_cond_destroy(&v->changed);
  pthread_mutex_destroy(&v->lock);
  free(v);
}
