/* driver/instance/plan-saved.c: the values of fields at each step of a run: all of them saved (plan-keep.c), or, if
 * that is too much, those of a segment of steps at a time. Each segment is recomputed from a snapshot of the whole
 * state: the last one before it. When the segments after a snapshot are done, its memory is free for another one,
 * nearer to the next segment, at the place that the schedule of A. Griewank and A. Walther ("Algorithm 799: revolve",
 * 2000) gives: no other schedule makes fewer steps with that many snapshots. */
#include "driver/instance/gradient/gradient.h"
#include "driver/instance/runner.h"
#include "driver/program/program.h"

#include <stdlib.h>
#include <string.h>

/* A snapshot of the state at the start of a segment. */
typedef struct Snapshot {
  int64_t segment;
  KeptCopy copy;
} Snapshot;

/* rows: the saved parts. state: the parts that a run needs to continue. Segment i is the `length` steps from i * length
 * on. kept[k]: the values at step `first` + k, for the present segment and `ahead` steps after it. snapshots: `depth`
 * of them, in order of segments; there may be `most`; none if there is one segment. scalars: for each of `nkept` kept
 * scalars, and after them for each reduction between steps, its values after 0 .. steps steps, width[i] numbers each:
 * one, or one for each member. fresh: nobody has waited for the copies of the segment. */
struct Saved {
  StcPlan *p;
  bool fresh;
  Keeper rows, state;
  int64_t steps, length, first, most, ahead;
  int depth;
  Snapshot *snapshots;
  KeptCopy *kept;
  int nscalars, nkept;
  int64_t **scalars, *width;
};

/* Frees the values of scalars. */
static void free_scalars(Saved *s) {
  for (int i = 0; s->scalars && i < s->nscalars; i++)
    free(s->scalars[i]);
  free(s->scalars), free(s->width);
}

void saved_free(Saved *s) {
  for (int64_t i = 0; s && s->snapshots && i < s->most; i++)
    kept_free(&s->state, &s->snapshots[i].copy);
  for (int64_t i = 0; s && s->kept && i < s->length + s->ahead; i++)
    kept_free(&s->rows, &s->kept[i]);
  if (s)
    keeper_free(&s->rows), keeper_free(&s->state), free(s->snapshots), free(s->kept), free_scalars(s);
  free(s);
}

/* Finds the parts that a run needs to continue: all fields that steps may change. */
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
    keeper_make(p, n, parts, NULL, &s->state);
  return parts ? STC_OK : STC_MEMORY;
}

/* ---- the schedule */

/* The number of ways to choose k of n, or a number greater than that of any segments. */
static double choices(int64_t n, int64_t k) {
  double c = 1;
  for (int64_t i = 1; i <= k && c < 1e15; i++)
    c = c * (double)(n - k + i) / (double)i;
  return c;
}

/* The most times that each of `n` segments is recomputed on the way to later ones, with this number of snapshots. */
static int64_t passes_of(int64_t n, int64_t snapshots) {
  int64_t t = 1;
  while (choices(snapshots + t, snapshots < t ? snapshots : t) < (double)n)
    t++;
  return t;
}

/* The total number of segments that are recomputed on the way, from the first step until all segments have been
 * processed. */
static double passed(int64_t n, int64_t snapshots) {
  int64_t t = passes_of(n, snapshots);
  return n < 2 ? 0 : (double)t * (double)n - choices(snapshots + t, snapshots + 1 < t ? snapshots + 1 : t - 1);
}

/* The segment of the next snapshot, for `n` segments with a snapshot at the start, which is one of `snapshots`. */
static int64_t next_of(int64_t n, int64_t snapshots) {
  int64_t t = passes_of(n, snapshots);
  double behind = choices(snapshots - 1 + t, snapshots - 1 < t ? snapshots - 1 : t);
  return (double)(n - 1) <= behind ? 1 : n - (int64_t)behind;
}

bool saved_choose(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out) {
  *out = (SavedChoice){.length = steps + 1};
  if ((double)(steps + 1) * row <= room)
    return true;
  double best = -1;
  for (int64_t k = 1; k <= steps && (double)(k + ahead) * row + state <= room; k++) {
    int64_t n = steps / k + 1;
    double most = ((room - (double)(k + ahead) * row) / (state > 0 ? state : 1));
    int64_t snapshots = most < (double)n ? (int64_t)most : n;
    double again = passed(n, snapshots) * (double)k;
    if (best < 0 || again < best) {
      best = again;
      *out = (SavedChoice){k, snapshots, again};
    }
  }
  return best >= 0;
}

bool saved_choose_filed(double row, double state, bool ahead, int64_t steps, double room, SavedChoice *out,
                        int64_t *in_memory) {
  bool found = saved_choose(row, state, ahead, steps, room, out);
  *in_memory = found ? out->snapshots : 0;
  if (found && (out->length > steps || out->snapshots > steps / out->length))
    return true; /* as rarely as with files */
  int64_t fewest = INT64_MAX;
  for (int64_t k = 1; k <= steps && (double)(k + ahead) * row + state <= room; k++) {
    int64_t n = steps / k + 1;
    double left = (room - (double)(k + ahead) * row) / (state > 0 ? state : 1) - 1; /* one is in flight */
    int64_t here = left < (double)n ? (int64_t)left : n;
    if (n - here > fewest)
      continue;
    fewest = n - here;
    *in_memory = here;
    *out = (SavedChoice){k, n, passed(n, n) * (double)k};
  }
  return fewest < INT64_MAX;
}

/* Chooses the length of segments and the number of snapshots. memory 0: use as much as the device and the host have. */
static StcStatus choose(Saved *s, int64_t memory) {
  double room = memory ? (double)memory : s->p->device.kind->room ? s->rows.left + s->rows.left_here : s->rows.left;
  double row = (double)s->rows.bytes, state = (double)s->state.bytes;
  SavedChoice x;
  s->state.folder = s->p->scratch;
  bool can = s->p->scratch ? saved_choose_filed(row, state, s->ahead, s->steps, room, &x, &s->state.in_memory)
                           : saved_choose(row, state, s->ahead, s->steps, room, &x);
  s->length = x.length;
  s->most = x.snapshots;
  if (can)
    return STC_OK;
  return context_error(
             s->p->w.context,
             "the gradient of %lld steps needs %.0f bytes of memory at least, where most steps are made again "
             "often, and all steps in memory %.0f; it may take %.0f",
             (long long)s->steps, row * (double)(1 + s->ahead) + state, row * (double)(s->steps + 1), room),
         STC_USAGE;
}

/* ---- the run */

/* The name of number `i` of the values that steps read and that are no fields: scalars that are kept, and after them
 * reductions between steps. NULL: there are fewer. */
static const char *number_name(const StcPlan *p, int i) {
  int n = 0;
  while (stc_program_scalar(p->program, n))
    n++;
  return i < n                            ? stc_program_scalar(p->program, i)
         : i - n < p->module->nreductions ? p->module->reductions[i - n].name
                                          : NULL;
}

/* Does a stencil or an update of `m` read the value of a reduction between steps? */
static bool body_reads_reduced(const Module *m, const Block *b) {
  bool any = false;
  for (const Op *op = b->first; op; op = op->next)
    any |= op->code == OP_SCALAR && m->scalars[op->sym].is_reduction;
  return any;
}
static bool reads_reduced(const Module *m) {
  bool any = false;
  for (int i = 0; i < m->nstencils; i++)
    for (int k = 0; k < m->stencils[i].npieces; k++)
      any |= body_reads_reduced(m, m->stencils[i].pieces[k].body);
  for (int i = 0; i < m->nupdates; i++)
    any |= body_reads_reduced(m, m->updates[i].body);
  return any;
}

/* note_scalars: saves the values of kept scalars at step `step`. put_scalars: gives them to the plan. */
static StcStatus note_scalars(Saved *s, int64_t step) {
  StcStatus status = STC_OK;
  for (int i = 0; i < s->nscalars && !status; i++) {
    int64_t *to = &s->scalars[i][step * s->width[i]];
    const char *name = number_name(s->p, i);
    const Const *reduced = i < s->nkept ? NULL : plan_reduction(s->p, name);
    if (reduced)
      memcpy(to, reduced, sizeof *to); /* its number, integer or not, begins there */
    else
      status = stc_plan_scalars(s->p, name, to, (size_t)s->width[i] * sizeof *to);
  }
  return status;
}
static StcStatus put_scalars(Saved *s, int64_t step) {
  StcStatus status = STC_OK;
  for (int i = 0; i < s->nscalars && !status; i++) {
    const int64_t *from = &s->scalars[i][step * s->width[i]];
    const char *name = number_name(s->p, i);
    Const *reduced = i < s->nkept ? NULL : plan_reduction(s->p, name);
    if (reduced)
      memcpy(reduced, from, sizeof *from);
    else
      status = stc_plan_set_scalars(s->p, name, from, (size_t)s->width[i] * sizeof *from);
  }
  return status;
}

const void *saved_scalar(const Saved *s, const char *name, size_t *bytes) {
  for (int i = 0; i < s->nscalars; i++)
    if (strcmp(number_name(s->p, i), name) == 0) {
      *bytes = (size_t)((s->steps + 1) * s->width[i]) * sizeof(int64_t);
      return s->scalars[i];
    }
  return NULL;
}

/* Allocates memory for all scalars in all steps, and saves their values before the first step. */
static StcStatus begin_scalars(Saved *s) {
  StcReduction x;
  while (stc_program_scalar(s->p->program, s->nkept))
    s->nkept++;
  s->nscalars = s->nkept + (reads_reduced(s->p->program->source) ? s->p->module->nreductions : 0);
  s->scalars = calloc((size_t)s->nscalars + 1, sizeof *s->scalars);
  s->width = calloc((size_t)s->nscalars + 1, sizeof *s->width);
  StcStatus status = s->scalars && s->width ? STC_OK : STC_MEMORY;
  for (int i = 0; i < s->nscalars && !status; i++) {
    status = i < s->nkept ? stc_plan_scalar(s->p, number_name(s->p, i), &x) : STC_OK;
    s->width[i] = !status && i < s->nkept && x.members ? x.members : 1;
    s->scalars[i] = calloc((size_t)((s->steps + 1) * s->width[i]) + 1, sizeof **s->scalars);
    status = status ? status : s->scalars[i] ? STC_OK : STC_MEMORY;
  }
  return status ? status : note_scalars(s, 0);
}

/* Makes `n` steps, and saves the scalars after each of them. */
static StcStatus make_steps(Saved *s, int64_t n) {
  if (!s->nscalars) {
    StcStatus ready = plan_join(s->p);
    s->p->back.pending = false;
    return ready ? ready : plan_run_steps(s->p, n, s->p->split != NULL, NULL); /* copies follow it */
  }
  StcStatus status = STC_OK;
  for (int64_t k = 0; k < n && !status; k++) {
    status = stc_plan_run(s->p, 1, NULL);
    if (!status)
      status = note_scalars(s, s->p->run.done);
  }
  return status;
}

/* The `n` steps of a batch (plan-batch.c); the copy of the first is number `from` of the segment's. */
typedef struct Filling {
  Saved *s;
  int64_t from, n;
} Filling;

/* Lets step number `k` of the batch write directly to the memory of its copy, as far as possible. */
static StcStatus lend_before(void *user, int64_t k) {
  const Filling *x = user;
  return kept_lend_next(&x->s->rows, plan_next_sequence(x->s->p, 1), &x->s->kept[x->from + k]);
}

/* Copies the results of step number `k` of the batch. */
static StcStatus take_behind(void *user, int64_t k) {
  const Filling *x = user;
  StcStatus s = kept_take(&x->s->rows, &x->s->kept[x->from + k], x->s->length + x->s->ahead);
  return s || k < x->n - 1 ? s : kept_lend_end(&x->s->rows, true);
}

/* Makes at most `most` steps together, and saves their results, from copy number `from` of the segment on; *made: their
 * number, 0 if copies or scalars make the host wait. */
static StcStatus fill_batch(Saved *s, int64_t from, int64_t most, int64_t *made) {
  int64_t n = s->nscalars ? 0 : plan_batch_steps(s->p, most);
  Filling x = {s, from, n};
  StepBatch b = {.most = n, .before = lend_before, .behind = take_behind, .user = &x};
  StcStatus status = STC_OK;
  *made = 0;
  for (int64_t k = 0; k < n && !status; k++) {
    KeptCopy *copy = &s->kept[from + k];
    status = kept_make_room(&s->rows, copy, s->length + s->ahead);
    n = status || kept_is_queued(&s->rows, copy, NULL, NULL) ? n : 0;
  }
  status = status || !n ? status : plan_batch(s->p, &b, made);
  StcStatus ended = kept_lend_end(&s->rows, false); /* if the batch ended early */
  return status ? status : ended;
}

/* Runs the plan from its present step `first` to step `last`, and saves the values at all of these. */
static StcStatus fill_rows(Saved *s, int64_t first, int64_t last) {
  StcStatus status = kept_take(&s->rows, &s->kept[0], s->length + s->ahead);
  int64_t made;
  s->first = first;
  for (int64_t k = first; k < last && !status; k += made) {
    status = k > first ? fill_batch(s, k + 1 - first, last - k, &made) : (made = 0, STC_OK);
    if (status || made)
      continue;
    status = make_steps(s, made = 1);
    if (!status)
      status = kept_take(&s->rows, &s->kept[k + 1 - first], s->length + s->ahead);
  }
  s->fresh = true;
  return status;
}

/* Takes a snapshot of the plan, which is at the start of segment `at`. */
static StcStatus take_snapshot(Saved *s, int64_t at) {
  Snapshot *x = &s->snapshots[s->depth++];
  x->segment = at;
  return kept_take(&s->state, &x->copy, s->most);
}

/* Moves the plan to the start of segment `to`, from the last snapshot before it, and takes further snapshots on the
 * way. */
static StcStatus seek(Saved *s, int64_t to) {
  StcStatus status = STC_OK;
  while (s->depth && s->snapshots[s->depth - 1].segment > to)
    s->depth--;
  Snapshot *last = &s->snapshots[s->depth - 1];
  status = kept_give(&s->state, &last->copy, s->p, s->state.parts);
  if (!status)
    plan_begin(s->p, last->segment * s->length);
  if (!status)
    status = put_scalars(s, last->segment * s->length);
  for (int64_t at = last->segment; at < to && !status;) {
    int64_t n = to - at + 1, left = s->most - s->depth, by = left ? next_of(n, left + 1) : n - 1;
    status = make_steps(s, by * s->length);
    at += by;
    if (!status && at < to)
      status = take_snapshot(s, at);
  }
  return status;
}

/* Makes the run, from step 0 to the last. */
static StcStatus run(Saved *s) {
  int64_t last = s->steps / s->length;
  StcStatus begun = begin_scalars(s);
  if (begun)
    return begun;
  if (!s->rows.n)
    return make_steps(s, s->steps);
  s->snapshots = calloc((size_t)s->most + 1, sizeof *s->snapshots);
  s->kept = calloc((size_t)(s->length + s->ahead) + 1, sizeof *s->kept);
  if (!s->snapshots || !s->kept)
    return STC_MEMORY;
  StcStatus status = s->most ? take_snapshot(s, 0) : STC_OK;
  if (!status && s->most)
    status = seek(s, last);
  return status ? status : fill_rows(s, last * s->length, s->steps);
}

StcStatus saved_make(StcPlan *p, int n, const SavedPart *parts, bool ahead, int64_t steps, int64_t memory,
                     SpareBlocks *spare, Saved **out) {
  Saved *s = *out = calloc(1, sizeof *s);
  SavedPart *own = calloc((size_t)n + 1, sizeof *own);
  if (!s || !own)
    return free(own), STC_MEMORY;
  *s = (Saved){.p = p, .steps = steps, .first = steps + 1, .ahead = ahead};
  memcpy(own, parts, sizeof *own * (size_t)n);
  keeper_make(p, n, own, spare, &s->rows);
  StcStatus status = find_state(s);
  if (!status)
    status = choose(s, memory);
  return status ? status : run(s);
}

/* Does later work of one plan's device follow earlier work of the other's without waiting? */
static bool in_order(StcPlan *a, StcPlan *b) {
  const DeviceKind *kind = a->device.kind;
  void *x, *y;
  return !a->split && !b->split && kind == b->device.kind && a->device.index == b->device.index && kind->stream &&
         !kind->stream(&a->device, LANE_MAIN, &x) && !kind->stream(&b->device, LANE_MAIN, &y) && x == y;
}

StcStatus saved_give(Saved *s, int64_t step, StcPlan *to, const SavedPart *parts) {
  StcStatus status = STC_OK;
  bool ordered = (s->fresh || step < s->first) && in_order(s->p, to);
  if (step < s->first) {
    if (!to->split && !to->device.kind->whole && !ordered)
      status = to->device.kind->wait(&to->device); /* it may read values that are recomputed */
    status = status ? status : seek(s, step / s->length);
    if (!status)
      status = fill_rows(s, step / s->length * s->length, step + s->ahead);
  }
  if (s->fresh && !status && !ordered)
    status = s->p->device.kind->wait(&s->p->device);
  s->fresh &= status != STC_OK;
  return status ? status : kept_lend(&s->rows, &s->kept[step - s->first], to, parts);
}

int64_t saved_there(const Saved *s, int64_t step) { return step < s->first ? 0 : step - s->first + 1; }

bool saved_are_queued(const Saved *s, int64_t step, int64_t n, const StcPlan *to, const SavedPart *now,
                      const SavedPart *later) {
  bool queued = step - n + 1 >= s->first;
  for (int64_t k = step; k > step - n && queued; k--)
    queued = kept_is_queued(&s->rows, &s->kept[k - s->first], to, now) &&
             (!later || kept_is_queued(&s->rows, &s->kept[k + 1 - s->first], to, later));
  return queued;
}

bool saved_are_lent(const Saved *s, const StcPlan *to, const SavedPart *parts) {
  return kept_are_lent(&s->rows, to, parts);
}

void saved_return(Saved *s) { kept_return(&s->rows); }
