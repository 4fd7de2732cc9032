/* driver/instance/plan-saved.c: what fields were at each step of a run: all of it kept (plan-keep.c), or, where that is
 * too much, snapshots of the whole state at equal distances, from which the steps between two of them are made again.
 */
#include "driver/instance/gradient.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* rows: of what is asked for. state: of what a run needs to go on. Snapshot i, of step i * every, is snapshots[i];
 * kept[k] is what was asked for at step `first` + k, for the steps of the segment at hand. every > steps: there are no
 * snapshots, and one segment. */
struct Saved {
  StcPlan *p;
  Keeper rows, state;
  int64_t steps, every, first;
  int nsnapshots, nkept;
  KeptCopy *snapshots, *kept;
};

void saved_free(Saved *s) {
  for (int i = 0; s && i < s->nsnapshots; i++)
    kept_free(&s->state, &s->snapshots[i]);
  for (int i = 0; s && i < s->nkept; i++)
    kept_free(&s->rows, &s->kept[i]);
  if (s)
    keeper_free(&s->rows), keeper_free(&s->state), free(s->snapshots), free(s->kept);
  free(s);
}

/* Finds what a run needs to go on: all fields that steps may change. */
static StcStatus find_state(Saved *s) {
  StcPlan *p = s->p;
  int n = 0, components = 0;
  for (int i = 0; i < p->program->ndeclared; i++)
    components += p->program->declared[i].ncomponents;
  SavedPart *parts = calloc((size_t)components + 1, sizeof *parts);
  for (int i = 0; parts && i < p->program->ndeclared; i++) {
    const Declared *d = &p->program->declared[i];
    bool apart = declared_has_parts(d) && !p->bound.homes[i].packed;
    for (int c = 0; c < (apart ? d->ncomponents : 1); c++) {
      StcFieldInfo f;
      StcStatus status = apart ? stc_plan_component(p, i, c, &f) : stc_plan_field(p, i, &f);
      if (status)
        return free(parts), status;
      if (!f.input && !f.temp)
        parts[n++] = (SavedPart){i, apart ? c : -1, f.bytes};
    }
  }
  if (parts)
    keeper_make(p, n, parts, &s->state);
  return parts ? STC_OK : STC_MEMORY;
}

/* What memory it takes with snapshots every `every` steps. */
static double takes(const Saved *s, int64_t every) {
  int64_t snapshots = every > s->steps ? 0 : s->steps / every + 1;
  return (double)snapshots * (double)s->state.bytes +
         (double)(every > s->steps ? s->steps + 1 : every) * (double)s->rows.bytes;
}

/* Chooses the distance of snapshots: none if there is room for all, else that which takes the least. memory 0: there
 * is as much as the device and this computer have, which may be more than all steps take. */
static StcStatus choose(Saved *s, int64_t memory) {
  double room = memory ? (double)memory : s->p->device.kind->room ? s->rows.left + s->rows.left_here : s->rows.left;
  s->every = s->steps + 1;
  if (takes(s, s->every) <= room)
    return STC_OK;
  int64_t best = 1;
  for (int64_t k = 1; k <= s->steps; k++)
    best = takes(s, k) < takes(s, best) ? k : best;
  s->every = best;
  if (takes(s, best) <= room)
    return STC_OK;
  return context_error(
             s->p->w.context,
             "the gradient of %lld steps needs %.0f bytes of memory at least, with a snapshot every %lld steps, "
             "and all steps in memory %.0f; it may take %.0f",
             (long long)s->steps, takes(s, best), (long long)best, takes(s, s->steps + 1), room),
         STC_USAGE;
}

/* Runs the plan from step `first`, where it is, to step `last`, and keeps what it passes by and where it ends. */
static StcStatus fill_rows(Saved *s, int64_t first, int64_t last) {
  StcStatus status = kept_take(&s->rows, &s->kept[0], s->nkept);
  s->first = first;
  for (int64_t k = first; k < last && !status; k++) {
    status = stc_plan_run(s->p, 1, NULL);
    if (!status)
      status = kept_take(&s->rows, &s->kept[k + 1 - first], s->nkept);
  }
  return status ? status : s->p->device.kind->wait(&s->p->device);
}

/* The run, from step 0 to the last. */
static StcStatus run(Saved *s) {
  StcStatus status = STC_OK;
  if (!s->rows.n)
    return stc_plan_run(s->p, s->steps, NULL);
  s->nsnapshots = s->every > s->steps ? 0 : (int)(s->steps / s->every + 1);
  s->nkept = (int)(s->every > s->steps ? s->steps + 1 : s->every);
  s->snapshots = calloc((size_t)s->nsnapshots + 1, sizeof *s->snapshots);
  s->kept = calloc((size_t)s->nkept + 1, sizeof *s->kept);
  if (!s->snapshots || !s->kept)
    return STC_MEMORY;
  for (int i = 0; i + 1 < s->nsnapshots && !status; i++) {
    status = kept_take(&s->state, &s->snapshots[i], s->nsnapshots);
    if (!status)
      status = stc_plan_run(s->p, s->every, NULL);
  }
  int64_t first = s->nsnapshots ? (s->nsnapshots - 1) * s->every : 0;
  if (!status && s->nsnapshots)
    status = kept_take(&s->state, &s->snapshots[s->nsnapshots - 1], s->nsnapshots);
  return status ? status : fill_rows(s, first, s->steps);
}

StcStatus saved_make(StcPlan *p, int n, const SavedPart *parts, int64_t steps, int64_t memory, Saved **out) {
  Saved *s = *out = calloc(1, sizeof *s);
  SavedPart *own = calloc((size_t)n + 1, sizeof *own);
  if (!s || !own)
    return free(own), STC_MEMORY;
  *s = (Saved){.p = p, .steps = steps, .first = steps + 1};
  memcpy(own, parts, sizeof *own * (size_t)n);
  keeper_make(p, n, own, &s->rows);
  StcStatus status = find_state(s);
  if (!status)
    status = choose(s, memory);
  return status ? status : run(s);
}

StcStatus saved_give(Saved *s, int64_t step, StcPlan *to, const SavedPart *parts) {
  StcStatus status = STC_OK;
  if (step < s->first) {
    int64_t i = step / s->every;
    status = kept_give(&s->state, &s->snapshots[i], s->p, s->state.parts);
    if (status)
      return status;
    plan_begin(s->p, i * s->every);
    status = fill_rows(s, i * s->every, step);
  }
  return status ? status : kept_give(&s->rows, &s->kept[step - s->first], to, parts);
}
