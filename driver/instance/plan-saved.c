/* driver/instance/plan-saved.c: what fields were at each step of a run: all of it kept in memory, or, where that is too
 * much, snapshots of the whole state at equal distances, from which the steps between two of them are made again. */
#include "driver/instance/gradient.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* parts: what is asked for, `bytes` altogether. state: what a run needs to go on, `all` bytes. Snapshot i, of step i *
 * every, is at snapshots[i]; rows[k] is what was asked for at step `first` + k, for the steps of the segment at hand.
 * every > steps: there are no snapshots, and one segment. */
struct Saved {
  StcPlan *p;
  int n, nstate;
  SavedPart *parts, *state;
  int64_t bytes, all, steps, every, first;
  int nsnapshots, nrows;
  char **snapshots, **rows;
};

void saved_free(Saved *s) {
  for (int i = 0; s && i < s->nsnapshots; i++)
    free(s->snapshots[i]);
  for (int i = 0; s && i < s->nrows; i++)
    free(s->rows[i]);
  if (s)
    free(s->snapshots), free(s->rows), free(s->parts), free(s->state);
  free(s);
}

/* Copies `n` parts out, one behind the other, into *out, which is made if it is NULL; or in. */
static StcStatus copy_out(StcPlan *p, int n, const SavedPart *parts, int64_t bytes, char **out) {
  StcStatus s = STC_OK;
  int64_t at = 0;
  *out = *out ? *out : malloc((size_t)bytes + 1);
  if (!*out)
    return context_error(p->w.context, "out of memory for what the gradient needs of all steps; allow it less, so that "
                                       "steps are made again (memory)"),
           STC_MEMORY;
  for (int i = 0; i < n && !s; at += parts[i++].bytes)
    s = part_get(p, &parts[i], *out + at);
  return s;
}
static StcStatus copy_in(StcPlan *p, int n, const SavedPart *parts, const char *from) {
  StcStatus s = STC_OK;
  for (int i = 0; i < n && !s; from += parts[i++].bytes)
    s = part_set(p, &parts[i], from);
  return s;
}

/* Finds what a run needs to go on: all fields that steps may change. */
static StcStatus find_state(Saved *s) {
  StcPlan *p = s->p;
  s->state = calloc((size_t)p->program->ndeclared + 1, sizeof *s->state);
  for (int i = 0; s->state && i < p->program->ndeclared; i++) {
    StcFieldInfo f;
    StcStatus status = stc_plan_field(p, i, &f);
    if (status)
      return status;
    if (!f.input && !f.temp)
      s->state[s->nstate++] = (SavedPart){i, -1, f.bytes};
  }
  for (int i = 0; i < s->nstate; i++)
    s->all += s->state[i].bytes;
  return s->state ? STC_OK : STC_MEMORY;
}

/* What memory it takes with snapshots every `every` steps. */
static double takes(const Saved *s, int64_t every) {
  int64_t snapshots = every > s->steps ? 0 : s->steps / every + 1;
  return (double)snapshots * (double)s->all + (double)(every > s->steps ? s->steps + 1 : every) * (double)s->bytes;
}

/* Chooses the distance of snapshots: none if there is room for all, else that which takes the least. */
static StcStatus choose(Saved *s, int64_t memory) {
  s->every = s->steps + 1;
  if (!memory || takes(s, s->every) <= (double)memory)
    return STC_OK;
  int64_t best = 1;
  for (int64_t k = 1; k <= s->steps; k++)
    best = takes(s, k) < takes(s, best) ? k : best;
  s->every = best;
  if (takes(s, best) <= (double)memory)
    return STC_OK;
  return context_error(
             s->p->w.context,
             "the gradient of %lld steps needs %.0f bytes of memory at least, with a snapshot every %lld steps, "
             "and all steps in memory %.0f; it may take %lld",
             (long long)s->steps, takes(s, best), (long long)best, takes(s, s->steps + 1), (long long)memory),
         STC_USAGE;
}

/* Runs the plan from step `first`, where it is, to step `last`, and keeps what it passes by and where it ends. */
static StcStatus fill_rows(Saved *s, int64_t first, int64_t last) {
  StcStatus status = copy_out(s->p, s->n, s->parts, s->bytes, &s->rows[0]);
  s->first = first;
  for (int64_t k = first; k < last && !status; k++) {
    status = stc_plan_run(s->p, 1, NULL);
    if (!status)
      status = copy_out(s->p, s->n, s->parts, s->bytes, &s->rows[k + 1 - first]);
  }
  return status;
}

/* The run, from step 0 to the last. */
static StcStatus run(Saved *s) {
  StcStatus status = STC_OK;
  if (!s->n)
    return stc_plan_run(s->p, s->steps, NULL);
  s->nsnapshots = s->every > s->steps ? 0 : (int)(s->steps / s->every + 1);
  s->nrows = (int)(s->every > s->steps ? s->steps + 1 : s->every);
  s->snapshots = calloc((size_t)s->nsnapshots + 1, sizeof *s->snapshots);
  s->rows = calloc((size_t)s->nrows + 1, sizeof *s->rows);
  if (!s->snapshots || !s->rows)
    return STC_MEMORY;
  for (int i = 0; i + 1 < s->nsnapshots && !status; i++) {
    status = copy_out(s->p, s->nstate, s->state, s->all, &s->snapshots[i]);
    if (!status)
      status = stc_plan_run(s->p, s->every, NULL);
  }
  int64_t first = s->nsnapshots ? (s->nsnapshots - 1) * s->every : 0;
  if (!status && s->nsnapshots)
    status = copy_out(s->p, s->nstate, s->state, s->all, &s->snapshots[s->nsnapshots - 1]);
  return status ? status : fill_rows(s, first, s->steps);
}

StcStatus saved_make(StcPlan *p, int n, const SavedPart *parts, int64_t steps, int64_t memory, Saved **out) {
  Saved *s = *out = calloc(1, sizeof *s);
  if (!s)
    return STC_MEMORY;
  *s = (Saved){.p = p, .n = n, .steps = steps, .first = steps + 1};
  s->parts = calloc((size_t)n + 1, sizeof *parts);
  if (!s->parts)
    return STC_MEMORY;
  memcpy(s->parts, parts, sizeof *parts * (size_t)n);
  for (int i = 0; i < n; i++)
    s->bytes += parts[i].bytes;
  StcStatus status = find_state(s);
  if (!status)
    status = choose(s, memory);
  return status ? status : run(s);
}

StcStatus saved_at(Saved *s, int64_t step, const char **out) {
  StcStatus status = STC_OK;
  if (step < s->first) {
    int64_t i = step / s->every;
    status = copy_in(s->p, s->nstate, s->state, s->snapshots[i]);
    if (status)
      return status;
    plan_begin(s->p, i * s->every);
    status = fill_rows(s, i * s->every, step);
  }
  *out = s->rows[step - s->first];
  return status;
}
