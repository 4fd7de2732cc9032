/* split-run.c: the time loop over parts: steps of all parts, and between them exchanges and what needs the whole grid.
 */
#include "driver/split/split.h"

#include <string.h>

/* Gives the parts the values that reductions have now. */
static void share_scalars(StcPlan *p) {
  for (int i = p->split->begin; i < p->split->end; i++) {
    StcPlan *q = p->split->part[i].plan;
    for (int k = 0; k < q->module->nscalars; k++) {
      const Scalar *x = &q->module->scalars[k];
      int whole = x->is_reduction ? module_find_scalar(p->module, x->name) : -1;
      if (whole >= 0)
        q->scalars[k] = p->scalars[whole];
    }
  }
}

/* Says in which part the run went wrong. */
static void name_part(const StcPlan *p, int i) {
  const Split *s = p->split;
  Str place = {.arena = p->w.arena};
  for (int d = 0; d < s->rank; d++)
    str_addf(&place, "%s%lld", d ? ", " : "", (long long)s->part[i].at[d]);
  diag_note(p->w.diags, no_loc(), "this was in part [%s] of %d, on %s", place.s, s->nparts,
            s->part[i].plan->device.description);
}

/* Has all parts make `steps` steps. */
static StcStatus run_parts(StcPlan *p, int64_t steps) {
  Split *split = p->split;
  StcStatus s = STC_OK;
  for (int i = split->begin; i < split->end && !s; i++) {
    StcPlan *q = split->part[i].plan;
    int64_t launches = q->launches;
    q->first = q->done = p->done;
    q->evaluated = true;
    if (q->ghosts)
      q->ghosts->age = split->age;
    s = plan_run_steps(q, steps, false, NULL);
    p->launches += q->launches - launches;
    if (s && s != STC_INTERRUPTED)
      name_part(p, i);
  }
  split->age += steps;
  p->done += s ? 0 : steps;
  return s;
}

/* Has all parts make `steps` steps, with exchanges before the ghost cells are too old for them. */
static StcStatus advance(StcPlan *p, int64_t steps) {
  Split *split = p->split;
  StcStatus s = STC_OK;
  for (int64_t left = steps, n; left > 0 && !s; left -= n) {
    n = left < split->every ? left : split->every;
    if (split->age && split->age + n > split->every) {
      s = split->transport->exchange(p);
      split->age = 0;
      ghosts_exchanged(p);
    }
    if (!s)
      s = run_parts(p, n);
  }
  return s;
}

/* Waits for all parts. */
static StcStatus wait_parts(StcPlan *p) {
  StcStatus s = STC_OK;
  for (int i = p->split->begin; i < p->split->end && !s; i++) {
    StcPlan *q = p->split->part[i].plan;
    s = q->device.kind->whole ? STC_OK : q->device.kind->wait(&q->device);
  }
  return s;
}

/* Is a probe due? */
static bool probe_is_due(const StcPlan *p) {
  for (int i = 0; i < p->module->nprobes; i++)
    if (p->done % p->module->probes[i].every == 0)
      return true;
  return false;
}

/* Is something due after `done` steps that needs the whole grid? */
static bool needs_whole(const StcPlan *p) {
  bool due = plan_watch_is_due(p) || probe_is_due(p);
  for (int i = 0; i < p->module->nreductions; i++)
    due |= reduction_is_due(&p->module->reductions[i], p->done);
  return due;
}

/* The steps from here to where something is due, at most `left`; where progress is asked for, few. */
static int64_t next_steps(const StcPlan *p, int64_t left, int64_t count) {
  int64_t due = module_steps_to_reduction(p->module, p->done), n = plan_steps_to_watch(p, left);
  n = due < n ? due : n;
  for (int i = 0; i < p->module->nprobes; i++) {
    due = p->module->probes[i].every - p->done % p->module->probes[i].every;
    n = due < n ? due : n;
  }
  return p->progress && n > count * p->split->every ? count * p->split->every : n;
}

/* Steps until `end`, each batch timed. *seconds: what they took. */
static StcStatus run_loop(StcPlan *p, int64_t first, int64_t end, double *seconds) {
  int64_t count = 1;
  StcStatus s = STC_OK;
  while (!s && p->done < end && !p->met) {
    double start = clock_seconds();
    s = advance(p, next_steps(p, end - p->done, count));
    if (!s)
      s = wait_parts(p);
    double took = clock_seconds() - start;
    *seconds += took;
    count = took < 0.05 ? 2 * count : count;
    if (!s && (p->done == end || needs_whole(p)))
      s = split_gather(p);
    bool due = !s && needs_whole(p);
    p->unseen = p->done + 1;
    if (due)
      s = plan_see(p);
    if (due && !s)
      s = plan_evaluate(p);
    share_scalars(p);
    if (!s && p->progress && !p->progress(p->progress_user, p->done - first, p->met ? p->done - first : end - first))
      s = STC_INTERRUPTED;
  }
  return s;
}

StcStatus split_run(StcPlan *p, int64_t steps, double *seconds) {
  int64_t first = p->done;
  StcStatus s = plan_run_whole_grid(p);
  if (!s)
    s = split_scatter(p);
  share_scalars(p);
  *seconds = 0;
  return s ? s : run_loop(p, first, first + steps, seconds);
}
